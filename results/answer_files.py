"""Answers read back from JSON, and answers as datasets of one point."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results.facts import Alternative, LimitState, Status
from results.solution import Solution
from results.trouble import StoreError, explained

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import xarray as xr

KEYS = frozenset({"status", "objective", "variables", "metrics", "limits", "scenario"})


def read(path: str | os.PathLike[str]) -> Solution:
    """Read an answer that ``dse solve --json`` printed into a file; StoreError where it holds none."""
    with explained(path, "read"):
        text = Path(path).read_text(encoding="utf-8")
    try:
        return from_json(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError):
        told = f"{path} holds no answer: `dse solve FILE --json > {path}` writes one"
        raise StoreError(f"{told}; fronts and sweeps are read from .zarr and .nc") from None


def from_json(record: Mapping[str, Any]) -> Solution:
    """Make an answer again from what ``results.jsonable.to_json`` gave.

    What JSON does not have is missing: of a metric that stands for a sentence the sentence, of lists which
    name belongs to which row. Raises KeyError, TypeError or ValueError where the record is no answer.
    """
    if not record.keys() >= KEYS:
        raise KeyError("not an answer")
    units = record.get("units", {})
    return Solution(
        status=Status(record["status"]),
        objective=record["objective"],
        bound=record.get("bound"),
        gap=record.get("gap"),
        variables=dict(record["variables"]),
        metrics={n: _number(v) for n, v in record["metrics"].items()},
        limits={n: _limit(v, units.get(n, "")) for n, v in record["limits"].items()},
        conflict=dict(record.get("conflict", {})),
        conflicts=tuple(tuple(names) for names in record.get("conflicts", ())),
        ranges={n: (_number(low), _number(high)) for n, (low, high) in record.get("ranges", {}).items()},
        parameters=dict(record.get("elasticities", {})),
        one_sided=tuple(record.get("one_sided", ())),
        alternatives=tuple(_alternative(a) for a in record.get("alternatives", ())),
        certificate=record.get("certificate", ""),
        solver=record.get("solver", ""),
        seconds=record.get("seconds") or 0.0,
        message=record.get("message", ""),
        objective_name=record.get("objective_name", ""),
        units=dict(units),
        title=record.get("title", ""),
        scenario=record["scenario"],
        maximize=record.get("maximize", False),
        runaway=record.get("runaway", ""),
        waived=tuple(record.get("waived", ())),
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _limit(told: Mapping[str, Any], unit: str) -> LimitState:
    return LimitState(
        value=_number(told["value"]),
        bound=_number(told["bound"]),
        side=told["side"],
        unit=unit,
        slack=_number(told["slack"]),
        binding=told["binding"],
        elasticity=told.get("elasticity"),
        one_sided=told.get("one_sided", False),
        next_change=told.get("next_change"),
        next_objective=told.get("next_objective"),
    )


def _alternative(told: Mapping[str, Any]) -> Alternative:
    return Alternative(
        dict(told["choice"]), Status(told["status"]), told["objective"], dict(told.get("conflict", {}))
    )


def as_dataset(solution: Solution) -> xr.Dataset:
    """Lay out one answer as a dataset without axes, with the attributes and variables that a sweep of it has.

    Raises ScenarioError where the question that the answer holds can no longer be read.
    """
    import scenarios
    from results import dataset

    asked = scenarios.from_text(solution.scenario)
    plan = dataset.layout(scenarios.grid(asked), {"method": solution.certificate})
    return dataset.to_dataset(plan, dataset.to_arrays(plan, [solution], ()))
