"""Answers read back from JSON, and answers as datasets of one point."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from dse.system import files
from results import dataset
from results.solution import Solution
from results.stores.files.trouble import StoreError, explained
from results.telling import fresh
from results.telling.facts import Alternative, LimitState, NextBest, Status

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import xarray as xr

KEYS = frozenset({"status", "objective", "variables", "metrics", "limits", "scenario"})
SUFFIX = ".json"


def read(path: str | os.PathLike[str]) -> Solution:
    """Read an answer that ``dse solve --json`` printed into a file; StoreError where it holds none."""
    with explained(path, "read"):
        content = files.content(Path(path))
    try:
        return from_json(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        told = f"{path} holds no answer: `dse solve FILE --json > {path}` writes one"
        raise StoreError(f"{told}; fronts and sweeps are read from .zarr and .nc") from None


def from_json(record: Mapping[str, Any]) -> Solution:
    """Make an answer again from what ``results.export.jsonable.to_json`` gave.

    What JSON does not have is missing: of a metric that stands for a sentence the sentence, of lists which
    name belongs to which row. Raises KeyError, TypeError or ValueError where the record is no answer.
    """
    if not record.keys() >= KEYS:
        raise KeyError("not an answer")
    units = {str(n): _text(u) for n, u in record.get("units", {}).items()}
    conflicts = tuple(tuple(map(_text, names)) for names in record.get("conflicts", ()))
    return Solution(
        status=Status(record["status"]),
        objective=_known(record["objective"]),
        bound=_known(record.get("bound")),
        gap=_known(record.get("gap")),
        variables={n: v if isinstance(v, str) else _number(v) for n, v in record["variables"].items()},
        metrics={n: _number(v) for n, v in record["metrics"].items()},
        limits={n: _limit(v, units.get(n, "")) for n, v in record["limits"].items()},
        conflict={n: _known(v) for n, v in record.get("conflict", {}).items()},
        conflicts=conflicts,
        ranges={n: (_number(low), _number(high)) for n, (low, high) in record.get("ranges", {}).items()},
        parameters={n: _number(v) for n, v in record.get("elasticities", {}).items()},
        one_sided=tuple(map(_text, record.get("one_sided", ()))),
        alternatives=tuple(_alternative(a) for a in record.get("alternatives", ())),
        certificate=_text(record.get("certificate", "")),
        solver=_text(record.get("solver", "")),
        seconds=_known(record.get("seconds")) or 0.0,
        message=_text(record.get("message", "")),
        objective_name=_text(record.get("objective_name", "")),
        units=units,
        title=_text(record.get("title", "")),
        scenario=_text(record["scenario"]),
        maximize=_truth(record.get("maximize", False)),
        runaway=_text(record.get("runaway", "")),
        held={n: _text(v) for n, v in record.get("held", {}).items()},
        waived=tuple(map(_text, record.get("waived", ()))),
        outside={n: _number(v) for n, v in record.get("outside", {}).items()},
        sources={n: _text(v) for n, v in record.get("sources", {}).items()},
        measure=_text(record.get("measure", "")),
        sampling=_text(record.get("sampling", "")),
        worlds=int(_number(record.get("worlds", 0))),
        world=_text(record.get("world", "")),
        spread={n: (_number(low), _number(high)) for n, (low, high) in record.get("spread", {}).items()},
        fresh=None if record.get("fresh") is None else fresh.read(record["fresh"]),
        next_best=None if record.get("next_best") is None else _next_best(record["next_best"]),
        measures={n: _text(v) for n, v in record.get("measures", {}).items()},
    )


def _next_best(record: Mapping[str, Any]) -> NextBest:
    variables = {n: v if isinstance(v, str) else _number(v) for n, v in record["variables"].items()}
    return NextBest(variables, _number(record["objective"]))


def _known(value: Any) -> float | None:
    return None if value is None else _number(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise TypeError(f"{value!r} is no number")
    return math.nan if value is None else float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _limit(told: Mapping[str, Any], unit: str) -> LimitState:
    return LimitState(
        value=_number(told["value"]),
        bound=_number(told["bound"]),
        side=_text(told["side"]),
        unit=unit,
        slack=_number(told["slack"]),
        binding=_truth(told["binding"]),
        elasticity=_known(told.get("elasticity")),
        one_sided=_truth(told.get("one_sided", False)),
        next_change=_known(told.get("next_change")),
        next_objective=_known(told.get("next_objective")),
        share=_known(told.get("share")),
    )


def _alternative(told: Mapping[str, Any]) -> Alternative:
    choice = {n: _text(v) for n, v in told["choice"].items()}
    conflict = {n: _known(v) for n, v in told.get("conflict", {}).items()}
    return Alternative(choice, Status(told["status"]), _known(told["objective"]), conflict)


def question_in(place: str) -> str:
    """Name the question that an answer holds, for messages."""
    return f"the question in {place or 'the answer'}"


def as_dataset(solution: Solution, place: str = "") -> xr.Dataset:
    """Lay out one answer as a dataset without axes, with the attributes and variables that a sweep of it has.

    ``place``: the file that it was read from. Raises ScenarioError where the question that the answer holds can no
    longer be read.
    """
    asked = scenarios.from_text(solution.scenario, question_in(place))
    plan = dataset.layout(scenarios.grid(asked), {"method": solution.certificate})
    return dataset.to_dataset(plan, dataset.to_arrays(plan, [solution], ()))
