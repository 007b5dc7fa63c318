"""Local search.

A sequence of linear programs in log variables, each trusted only as far as the last one proved right.

Works on any question whose slopes intervals can tell; gives designs, never proofs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dse.system.records import dataclass
from scenarios.question import Question
from solvers import boxes
from solvers.boxes import Array, Space

DIFFERENCE = 1e-5
"""Step of a central difference in logarithms: its error and that of rounding are then both about 1e-10."""
STEEPEST_SLOPE = 1e4  # a slope that only a step has
DESCENT_PENALTY = 1e3
FIRST_STEP = 0.5
LAST_STEP = 1e-10
DESCENT_ROUNDS = 100
NOTHING_SHARE = 1e-3
TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, slots=True)
class _Point:
    """Log variables with the logarithms of rows (limits, then goal) and their slopes there."""

    u: Array
    value: Array
    slope: Array
    merit: float


def tangent(question: Question, x: Array, numbers: boxes.Numbers = boxes.numbers) -> tuple[Array, Array]:
    """Return the logarithms of all limit ratios and of what is minimised at one design, and their slopes.

    ``numbers``: how ratios and objective are worked out, where not by the model's equations alone.

    Slopes by central differences in the logarithms of the variables, the mean of both sides at a kink; 0 along a
    variable that is 0, and where a step leaves nothing to say.
    """
    count = x.size
    points = np.repeat(x[None], 2 * count + 1, axis=0)
    each = np.arange(count)
    points[1 + each, each] *= math.exp(DIFFERENCE)
    points[1 + count + each, each] *= math.exp(-DIFFERENCE)
    with np.errstate(all="ignore"):
        rows, goal = numbers(question, {d.name: points[:, j] for j, d in enumerate(question.decide)})
        found = list(rows.values())
        if question.objectives:
            found.append(1.0 / np.asarray(goal, float) if question.objectives[0].maximize else goal)
        table = [np.broadcast_to(np.asarray(v, float), (len(points),)) for v in found]
        value = np.log(np.maximum(np.stack(table) if table else np.empty((0, len(points))), 1e-300))
        now, more, less = value[:, :1], value[:, 1 : 1 + count], value[:, 1 + count :]
        slope = (more - less) / (2 * DIFFERENCE)
        for side in ((more - now) / DIFFERENCE, (now - less) / DIFFERENCE):
            # beyond the end of a domain there is nothing
            slope = np.where(np.isfinite(slope), slope, side)
    slope = np.where(np.isfinite(slope) & (np.abs(slope) < STEEPEST_SLOPE), slope, 0.0)
    return np.clip(np.nan_to_num(now[:, 0], nan=700.0), -700.0, 700.0), slope


def descend(
    question: Question,
    where: Space,
    start: Array,
    rounds: int = DESCENT_ROUNDS,
    numbers: boxes.Numbers = boxes.numbers,
) -> Array | None:
    """Go downhill from ``start`` (SI) within the box, discrete variables held.

    None where no variable is free. ``numbers``: see ``tangent``.

    Minimises the objective plus a penalty on the worst limit, so that a start outside the limits is led
    inside.
    """
    free = np.flatnonzero(~where.discrete & (where.low < where.high))
    if not free.size:
        return None
    # a variable that may be 0 is followed down to next to nothing, and is 0 there
    least = np.where(where.low > 0, where.low, where.nothing * NOTHING_SHARE)
    low, high = np.log(least[free]), np.log(where.high[free])
    with np.errstate(divide="ignore"):
        whole = np.log(start)

    def look(u: Array) -> _Point:
        x = whole.copy()
        x[free] = u
        value, slope = tangent(question, np.exp(x), numbers)
        if not question.objectives:
            value, slope = np.append(value, 0.0), np.vstack([slope, np.zeros(len(start))])
        return _Point(
            u,
            value,
            slope[:, free],
            float(value[-1] + DESCENT_PENALTY * max(value[:-1].max(initial=0.0), 0.0)),
        )

    now, step = look(np.clip(whole[free], low, high)), FIRST_STEP
    for _ in range(rounds):
        if step < LAST_STEP:
            break
        move, expected = _move(now, now.value[:-1], low, high, step)
        if not now.merit - expected > 1e-14:
            break
        then = look(now.u + move)
        if then.merit >= now.merit:
            # curved limits: aim again from what they were at the far end
            seen = then.value[:-1] - now.slope[:-1] @ move
            again, _ = _move(now, seen, low, high, step)
            then = look(now.u + again)
        good = (now.merit - then.merit) / (now.merit - expected)
        step = min(2 * step, 2.0) if good > 0.75 else step if good > 0.25 else 0.3 * step
        now = then if then.merit < now.merit else now
    x = start.copy()
    x[free] = np.clip(np.exp(now.u), where.low[free], where.high[free])
    x[(where.low == 0) & (x <= least * (1 + NOTHING_SHARE))] = 0.0
    return x


def _move(now: _Point, limits: Array, low: Array, high: Array, step: float) -> tuple[Array, float]:
    """Find the best move by the tangents, and the merit they expect there.

    The program is in units of the step.
    """
    from scipy.optimize import linprog  # slow to import, and most questions never come here

    rows = np.column_stack([now.slope[:-1], -np.ones(len(limits))])
    cost = np.append(now.slope[-1], DESCENT_PENALTY)
    ends: Any = [
        *zip(np.maximum(low - now.u, -step) / step, np.minimum(high - now.u, step) / step, strict=True),
        (0.0, None),
    ]
    found: Any = linprog(cost, rows, -limits / step, bounds=ends, options=TIGHT)
    if found.x is None:
        return np.zeros_like(low), now.merit
    move = np.asarray(found.x, dtype=float) * step
    return move[:-1], float(now.value[-1] + cost @ move)
