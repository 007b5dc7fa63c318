"""Comparing two scenarios, two answers or two datasets, however they are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import scenarios
from results.asked import question_of
from results.differing import answer_differences, dataset_differences, question_differences
from results.differing.differences import Difference, without
from results.export import answer_files, reading
from results.solution import Solution
from results.stores.files.trouble import StoreError

TOLERANCE = 1e-9
NAMES = {"scenario": "a scenario", "answer": "an answer", "dataset": "a dataset"}


def diff(first: Any, second: Any, tolerance: float = TOLERANCE, ignore: Iterable[str] = ()) -> Difference:
    """Tell what differs between two things of one kind; see ``dse.diff``."""
    one: Any = reading.opened(first)
    other: Any = reading.opened(second)
    kind, other_kind = _kind(one), _kind(other)
    if kind != other_kind:
        told = f"{NAMES[kind]} and {NAMES[other_kind]}"
        raise StoreError(f"{told} cannot be compared: give two scenarios, two answers or two stores")
    if kind == "scenario":
        rows = question_differences.differences(one, other, tolerance)
    elif kind == "answer":
        rows = _answers(one, other, [_file(first), _file(second)], tolerance)
    else:
        rows = dataset_differences.differences(one, other, tolerance)
    return Difference(kind, without(rows, ignore))


def _file(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else ""


def _answers(one: Solution, other: Solution, files: Sequence[str], tolerance: float) -> Any:
    """Compare two answers, and what they were asked."""
    if one.scenario != other.scenario:
        told = zip((one, other), map(answer_files.question_in, files), strict=True)
        asked = [question_of(s, place) for s, place in told]
        yield from question_differences.differences(asked[0], asked[1], tolerance)
    yield from answer_differences.differences(one, other, tolerance)


def _kind(thing: Any) -> str:
    if isinstance(thing, scenarios.Scenario):
        return "scenario"
    return "answer" if isinstance(thing, Solution) else "dataset"
