"""The bounds of optima proved once more, from nothing but what is stored of them.

In logarithms a geometric program is convex, so that for any weights w >= 0 of its limits the Lagrangian L = log f +
sum of w times the logarithms of the limits' ratios lies above its tangent at the stored design, and the least value of
that tangent over the box of the variables is a bound of the objective (weak duality). As weights serve the stored
elasticities, and of a model's own limits, which have none, what makes L flattest; whether they are the right ones
shows in the bound, which is never wrong, only loose. The slopes are
central differences of the model's own numbers: their error, times the width of the box, is below 1e-8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from formulations import evaluation, handover
from formulations.problem import Kind, formulate
from scenarios.question import HALVINGS, Question, fixed
from scenarios.sweep.grids import Grid

DIFFERENCE_STEP = 1e-5
"""Of the central difference, in logarithms: what it cuts off is about its square, what rounds off 1e-16 over it."""
BOUND_ROUNDING = 2e-8
END = 1e-6
"""Within this, in logarithms, a variable is at an end of its box, and a limit binds."""

Array = np.ndarray[Any, Any]


def convex(grid: Grid, place: tuple[int, ...], chosen: Mapping[str, str]) -> bool:
    """Tell whether the question at a place, with these choices made, is a geometric program."""
    question = fixed(grid.question(place), chosen)
    if not question.objectives or question.objectives[0].name == HALVINGS.name:
        return False
    with handover.guarded("the structure of a question to be checked", 1, handover.ARITHMETIC):
        return formulate(question).kind is Kind.GP
    return False


def gaps(question: Question, x: Mapping[str, Any], weights: Mapping[str, Any]) -> Array:
    """Return the relative gap that is proved at each design (NaN: none).

    ``question``: its numbers as arrays along the designs ``x``. ``weights``: of each limit by its label; where one is
    NaN, it is chosen so that the Lagrangian is as flat as can be.
    """
    names = [d.name for d in question.decide]
    logs = {name: np.log(np.asarray(x[name], float)) for name in names}
    with np.errstate(all="ignore"):
        here = _logs(question, logs)
        slopes = []
        for name in names:
            up, down = (_logs(question, {**logs, name: logs[name] + s * DIFFERENCE_STEP}) for s in (1, -1))
            slopes.append((up - down) / (2 * DIFFERENCE_STEP))
        # objective and limits, designs, variables
        slope: Array = np.stack(slopes, -1)
        y = np.stack([logs[name] for name in names], -1)
        low, high = (
            np.stack(ends, -1) for ends in zip(*(_log_box(question, n, y[:, 0]) for n in names), strict=True)
        )
        weight = _weights(question, weights, here, slope, free=(y - low > END) & (high - y > END))
        held = weight > 0
        least = here[0] + np.sum(np.where(held, weight * here[1:], 0.0), 0)
        tilt = slope[0] + np.sum(np.where(held[..., None], weight[..., None] * slope[1:], 0.0), 0)
        least = least + np.sum(np.minimum(tilt * (low - y), tilt * (high - y)), -1)
        return np.asarray(-np.expm1(least - here[0]))


def _logs(question: Question, logs: Mapping[str, Any]) -> Array:
    """Return the logarithms of what is minimised and of every limit's ratio: one row each."""
    x = {name: np.exp(y) for name, y in logs.items()}
    at = evaluation.metrics(question, x)
    value = np.log(np.asarray(evaluation.objective(question, x, at), float))
    rows = [-value if question.objectives[0].maximize else value]
    rows += [np.log(np.asarray(r, float)) for r in evaluation.ratios(question, x, at).values()]
    return np.stack(np.broadcast_arrays(*rows, next(iter(logs.values())))[:-1])


def _weights(question: Question, told: Mapping[str, Any], here: Array, slope: Array, free: Array) -> Array:
    """Return the weight of every limit at every design: as told, else by least squares where the limit binds.

    ``free``: which variables are not at an end of the box, where the Lagrangian need not be flat.
    """
    x = {d.name: np.float64(1.0) for d in question.decide}
    keys = evaluation.ratios(question, x, evaluation.metrics(question, x))
    known = np.stack([np.broadcast_to(np.abs(told[evaluation.label(k, keys)]), here[0].shape) for k in keys])
    open_ = np.isnan(known) & (np.abs(here[1:]) <= END)
    weight = np.where(np.isnan(known), 0.0, known)
    if open_.any():
        tilt = slope[0] + np.sum(np.where(weight[..., None] > 0, weight[..., None] * slope[1:], 0.0), 0)
        columns = np.where(open_[..., None] & free, slope[1:], 0.0)
        away = np.where(free, -tilt, 0.0)
        best = np.linalg.pinv(np.moveaxis(columns, 0, -1)) @ away[..., None]
        weight = np.where(open_, np.maximum(np.moveaxis(best[..., 0], -1, 0), 0.0), weight)
    return np.asarray(weight)


def _log_box(question: Question, name: str, like: Array) -> tuple[Any, Any]:
    """Return the logarithms of the ends of a variable's box."""
    d = next(d for d in question.decide if d.name == name)
    box = evaluation.box(question, name)
    ends = (
        box.low if d.minimum is None else np.maximum(box.low, d.minimum),
        box.high if d.maximum is None else np.minimum(box.high, d.maximum),
    )
    return np.log(np.broadcast_to(ends[0], like.shape)), np.log(np.broadcast_to(ends[1], like.shape))
