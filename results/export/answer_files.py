"""Answers read back from JSON, and answers as datasets of one point."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from dse.system import files
from results import dataset
from results.asked import question_of
from results.export.documents import WHY_INFEASIBLE
from results.solution import Solution
from results.stores.files.trouble import StoreError, explained
from results.telling import fresh, render
from results.telling.facts import Alternative, LimitState, NextBest, Status
from results.wording import units_of, words_of
from scenarios.questions import question

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import xarray as xr

KEYS = frozenset({"status", "objective", "variables", "metrics", "limits", "scenario"})
SUFFIX = ".json"


def read(path: str | os.PathLike[str]) -> Solution:
    """Read an answer that ``dse solve --json`` printed into a file; StoreError where it holds none."""
    with explained(path, "read"):
        content = files.content(Path(path), files.MOST_NUMBERS)
    try:
        return from_json(json.loads(content))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        told = f"{path} holds no answer: `dse solve FILE --json > {path}` writes one"
        raise StoreError(f"{told}; fronts and sweeps are read from .zarr and .nc") from None


def from_json(record: Mapping[str, Any]) -> Solution:
    """Make an answer again from what ``results.export.jsonable.to_json`` gave.

    Words that JSON does not have (names of menus, rows of lists, sentences that numbers stand for) are those of the
    question in it; where that can no longer be read they are missing. Raises KeyError, TypeError or ValueError where
    the record is not an answer.
    """
    if not record.keys() >= KEYS:
        raise KeyError("not an answer")
    if record.get("infinite"):
        record = copy.deepcopy(dict(record))
        for place in record["infinite"]:
            _put_infinite(record, place)
    units = {str(n): _checked_text(u) for n, u in record.get("units", {}).items()}
    conflicts = tuple(tuple(map(_checked_text, names)) for names in record.get("conflicts", ()))
    found = Solution(
        status=Status(record["status"]),
        objective=_number_or_none(record["objective"]),
        bound=_number_or_none(record.get("bound")),
        gap=_number_or_none(record.get("gap")),
        variables={n: v if isinstance(v, str) else _number_or_nan(v) for n, v in record["variables"].items()},
        metrics={n: _number_or_nan(v) for n, v in record["metrics"].items()},
        limits={n: _limit_state(v, units.get(n, "")) for n, v in record["limits"].items()},
        conflict={n: _number_or_none(v) for n, v in record.get("conflict", {}).items()},
        conflicts=conflicts,
        ranges={
            n: (_number_or_nan(low), _number_or_nan(high))
            for n, (low, high) in record.get("ranges", {}).items()
        },
        parameters={n: _number_or_nan(v) for n, v in record.get("elasticities", {}).items()},
        one_sided=tuple(map(_checked_text, record.get("one_sided", ()))),
        alternatives=tuple(_alternative(a) for a in record.get("alternatives", ())),
        certificate=_checked_text(record.get("certificate", "")),
        solver=_checked_text(record.get("solver", "")),
        seconds=_number_or_none(record.get("seconds")) or 0.0,
        message=_checked_text(record.get("message", "")),
        objective_name=_checked_text(record.get("objective_name", "")),
        units=units,
        bytes_per_word={n: _number_or_nan(v) for n, v in record.get("bytes_per_word", {}).items()},
        title=_checked_text(record.get("title", "")),
        scenario=_checked_text(record["scenario"]),
        tables={
            table: {path: tuple(map(_number_or_nan, column)) for path, column in columns.items()}
            for table, columns in record.get("tables", {}).items()
        },
        maximize=_truth(record.get("maximize", False)),
        runaway=_checked_text(record.get("runaway", "")),
        held={n: _checked_text(v) for n, v in record.get("held", {}).items()},
        waived=tuple(map(_checked_text, record.get("waived", ()))),
        outside={n: _number_or_nan(v) for n, v in record.get("outside", {}).items()},
        fractions=tuple(map(_checked_text, record.get("fractions", ()))),
        left_out=_checked_text(record.get("left_out", "")),
        sources={n: _checked_text(v) for n, v in record.get("sources", {}).items()},
        measure=_checked_text(record.get("measure", "")),
        sampling=_checked_text(record.get("sampling", "")),
        worlds=int(_number_or_nan(record.get("worlds", 0))),
        world=_checked_text(record.get("world", "")),
        spread={
            n: (_number_or_nan(low), _number_or_nan(high))
            for n, (low, high) in record.get("spread", {}).items()
        },
        fresh=None if record.get("fresh") is None else fresh.read(record["fresh"]),
        next_best=None if record.get("next_best") is None else _next_best(record["next_best"]),
        measures={n: _checked_text(v) for n, v in record.get("measures", {}).items()},
        not_worst=tuple(map(_checked_text, record.get("not_worst", ()))),
    )
    try:
        asked = question(question_of(found))
        # in JSON the units of limits stand among the others
        return words_of(asked, replace(found, units=units_of(asked)))
    except (KeyError, ValueError, scenarios.ScenarioError):
        return found


def _put_infinite(record: Any, place: Any) -> None:
    """Put an infinite number where JSON has none; ``place``: the keys that lead there, and its sign."""
    *keys, name, sign = place
    for key in keys:
        record = record[key]
    if record[name] is not None or sign not in {"inf", "-inf"}:
        raise ValueError("no infinite number stands there")
    record[name] = float(sign)


def _next_best(record: Mapping[str, Any]) -> NextBest:
    variables = {n: v if isinstance(v, str) else _number_or_nan(v) for n, v in record["variables"].items()}
    return NextBest(variables, _number_or_nan(record["objective"]))


def _number_or_none(value: Any) -> float | None:
    return None if value is None else _number_or_nan(value)


def _number_or_nan(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise TypeError(f"{value!r} is not a number")
    return math.nan if value is None else float(value)


def _checked_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _limit_state(told: Mapping[str, Any], unit: str) -> LimitState:
    return LimitState(
        value=_number_or_nan(told["value"]),
        bound=_number_or_nan(told["bound"]),
        side=_checked_text(told["side"]),
        unit=unit,
        slack=_number_or_nan(told["slack"]),
        binding=_truth(told["binding"]),
        elasticity=_number_or_none(told.get("elasticity")),
        one_sided=_truth(told.get("one_sided", False)),
        next_change=_number_or_none(told.get("next_change")),
        next_objective=_number_or_none(told.get("next_objective")),
        share=_number_or_none(told.get("share")),
    )


def _alternative(told: Mapping[str, Any]) -> Alternative:
    choice = {n: _checked_text(v) for n, v in told["choice"].items()}
    conflict = {n: _number_or_none(v) for n, v in told.get("conflict", {}).items()}
    return Alternative(choice, Status(told["status"]), _number_or_none(told["objective"]), conflict)


def question_in(place: str) -> str:
    """Name the question that an answer holds, for messages."""
    return f"the question in {place or 'the answer'}"


def as_dataset(solution: Solution, place: str = "") -> xr.Dataset:
    """Lay out one answer as a dataset without axes, with the attributes and variables that a sweep of it has.

    ``place``: the file that it was read from. Raises ScenarioError where the question that the answer holds can no
    longer be read.
    """
    asked = question_of(solution, question_in(place))
    why = [[p.heading, p.columns, p.rows] for p in render.refusals(solution)]
    told = {"method": solution.certificate} | ({WHY_INFEASIBLE: json.dumps(why)} if why else {})
    plan = dataset.layout(scenarios.grid(asked), told)
    return dataset.to_dataset(plan, dataset.to_arrays(plan, [solution], ()))
