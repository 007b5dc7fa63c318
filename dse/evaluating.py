"""All metrics of a scenario over its grid at once, as arrays: no loop over the points.

An input on an axis becomes an array along its own dimension. The equations spread it only as far as the other
inputs they meet it with, and a metric keeps the shape they give it: what depends on few axes costs few numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import results.dataset
import scenarios
from formulations import evaluation
from results.dataset import LIMIT
from scenarios import Grid, Scenario

if TYPE_CHECKING:
    import xarray as xr

    from results.dataset import Layout, Variable
    from scenarios.question import Question

Array = np.ndarray[Any, Any]
Metrics = Mapping[str, Any]


def evaluate(asked: Scenario) -> xr.Dataset:
    """Compute all metrics of a scenario in which nothing is decided, over its grid if it has one.

    Limits play no part. The arrays are read-only, since those of metrics that do not depend on every axis
    repeat fewer numbers than they show (and some share theirs): ``copy(deep=True)`` makes arrays to write to.

    Raises ScenarioError where something is decided.
    """
    grid = scenarios.grid(asked)
    decided = grid.decided()
    if decided:
        wrong = f"{', '.join(decided)} is to be decided, and nothing is when a scenario is evaluated"
        right = "give it a value under [given], or use dse.solve or dse.sweep"
        raise scenarios.ScenarioError([scenarios.Problem(asked.file, "decide", wrong, right)])
    plan = _metrics_only(results.dataset.layout(grid, {"method": "evaluated as arrays"}))
    keys = [n for v in plan.variables for n in (v.elements.values() if v.elements else (v.key,))]
    # names and whole machines differ in more than one number: one call for each of them
    apart = [not a.numeric or t.structural for a, t in zip(grid.axes, grid.targets, strict=True)]
    found = _joined(grid, keys, apart) if any(apart) else _at(grid, (0,) * len(apart), apart)
    # a view: nothing is copied, whatever the shape
    arrays = {v.name: np.broadcast_to(_values(v, found, plan), plan.shape_of(v)) for v in plan.variables}
    return results.dataset.to_dataset(plan, arrays)


def _metrics_only(plan: Layout) -> Layout:
    further = {name: n for name, n in plan.further.items() if name != LIMIT}
    return replace(
        plan,
        coordinates=tuple(c for c in plan.coordinates if c.name != LIMIT),
        variables=tuple(v for v in plan.variables if v.role in {"metric", "family"}),
        limits=(),
        further=further,
    )


def _values(variable: Variable, found: Metrics, plan: Layout) -> Any:
    """Return the numbers of a variable in as small a shape as they have; a family is put together."""
    if not variable.elements:
        return found[variable.key]
    numbers = {place: np.asarray(found[name]) for place, name in variable.elements.items()}
    points = np.broadcast_shapes((1,) * len(plan.shape), *(v.shape for v in numbers.values()))
    whole: Array = np.full((*points, *plan.beyond(variable)), np.nan)
    for place, values in numbers.items():
        at: tuple[Any, ...] = (..., *place)
        whole[at] = values
    return whole


def _joined(grid: Grid, keys: Sequence[str], apart: Sequence[bool]) -> dict[str, Array]:
    """Evaluate once for each combination of the axes that stand ``apart``, into arrays of the whole grid."""
    arrays = {key: np.empty(grid.shape) for key in keys}
    for region in _regions(grid.shape, apart):
        # an axis that stands apart keeps its dimension, of length 1
        found = _at(grid, tuple(s.start for s in region), apart)
        for key in keys:
            arrays[key][region] = found.get(key, np.nan)
    return arrays


def _regions(shape: Sequence[int], apart: Sequence[bool]) -> Iterator[tuple[slice, ...]]:
    pieces = [
        [slice(i, i + 1) for i in range(n)] if alone else [slice(0, n)]
        for n, alone in zip(shape, apart, strict=True)
    ]
    return itertools.product(*pieces)


def _at(grid: Grid, start: tuple[int, ...], apart: Sequence[bool]) -> Metrics:
    """Evaluate the question at ``start`` with every axis that is not ``apart`` opened up to all its values.

    Beside the metrics stands what was given: families may have elements of both kinds.
    """
    question: Question = grid.question(start)
    given: dict[str, Any] = dict(question.given)
    for i, (axis, aim) in enumerate(zip(grid.axes, grid.targets, strict=True)):
        if aim.kind == "given" and not apart[i]:
            shape = [1] * len(apart)
            shape[i] = -1
            given[aim.name] = np.asarray(axis.values, float).reshape(shape)
    return given | evaluation.metrics(replace(question, given=given), {})
