"""Comparing two scenarios, two answers or two datasets, however they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import results.export.reading
import scenarios
from results.differing import answer_differences, dataset_differences, question_differences
from results.differing.differences import Difference, without
from results.export import answer_files
from results.solution import Solution
from results.stores.files.trouble import StoreError

TOLERANCE = 1e-9
NAMES = {"scenario": "a scenario", "answer": "an answer", "dataset": "a dataset"}


def diff(first: Any, second: Any, tolerance: float = TOLERANCE, ignore: Iterable[str] = ()) -> Difference:
    """Tell what differs between two things of one kind; see ``dse.diff``."""
    sides = _opened(first), _opened(second)
    kinds = [kind for kind, _ in sides]
    if kinds[0] != kinds[1]:
        told = " and ".join(NAMES[k] for k in kinds)
        raise StoreError(f"{told} cannot be compared: give two scenarios, two answers or two stores")
    (kind, one), (_, other) = sides
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
        asked = [scenarios.from_text(s.scenario, place) for s, place in told]
        yield from question_differences.differences(asked[0], asked[1], tolerance)
    yield from answer_differences.differences(one, other, tolerance)


def _opened(source: Any) -> tuple[str, Any]:
    """Return what kind of thing a source is, and the thing."""
    import xarray as xr

    if isinstance(source, xr.Dataset):
        return "dataset", source
    if isinstance(source, Solution):
        return "answer", source
    if isinstance(source, scenarios.Scenario | Mapping):
        return "scenario", source if isinstance(source, scenarios.Scenario) else scenarios.load(source)
    if results.export.reading.is_stored(source):
        return "dataset", results.export.reading.open(source)
    if Path(source).suffix == answer_files.SUFFIX:
        return "answer", answer_files.read(source)
    return "scenario", scenarios.load(source)
