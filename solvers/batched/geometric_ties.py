"""The tie rule for many points at once: ``solvers.ties`` where the program is geometric and nothing is discrete.

Points whose optimum rests on the same terms have the same face, so they move inside it together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.batch import Batch, Table
from formulations.tolerances import TIE
from solvers import gp
from solvers.gp_terms import Array
from solvers.patterns import Bools, groups
from solvers.ties import null, tie_goals

Solver = Callable[..., gp.Result]

FORCE = 1e-7
TIGHT = 1e-6
PUSHED = 1e-7
LIFT = 1e-11


@dataclass(frozen=True, slots=True)
class Stages:
    """What ties are broken by, in order, as tables; and the goal's own."""

    batch: Batch
    goal: Table
    rows: Table
    stages: tuple[Table, ...]
    solve: Solver


def stages(batch: Batch, solve: Solver) -> Stages | None:
    """Prepare the tie rule; None where something that it asks for is no posynomial over a monomial."""
    problem = batch.problem
    assert problem.goal is not None, "a batch has a goal"
    wanted = tie_goals(problem, problem.goal.name)
    if not all(g.denominator.is_monomial for g in wanted):
        return None
    t = batch.table
    first = int(t.ptr[1])
    goal = Table(t.exponents[:first], t.logc[:, :first], t.ptr[:2])
    rows = Table(t.exponents[first:], t.logc[:, first:], t.ptr[1:] - first)
    return Stages(batch, goal, rows, tuple(batch.of([(g.numerator, g.denominator)]) for g in wanted), solve)


def choose(s: Stages, points: NDArray[np.intp], r: gp.Result) -> tuple[Array, Bools]:
    """Return the designs of ``points`` by the tie rule, and which of them could be settled.

    ``r``: the optima of these points.
    """
    t, low, high = s.batch.table.take(points), s.batch.low[points], s.batch.high[points]
    stiff = matter(t, r.y, r.multipliers)
    pushed = (r.lower_multipliers > PUSHED) | (r.upper_multipliers > PUSHED) | (high - low < 1e-13)
    y, done = r.y.copy(), np.ones(points.size, bool)
    n = y.shape[1]
    basis = np.concatenate([t.exponents, np.eye(n)])
    for which, kind in groups(np.concatenate([stiff, pushed], axis=1)):
        flat = null(basis[kind])
        if flat.shape[1]:
            y[which], done[which] = _descend(s, points[which], y[which], r.value[which], flat, 0)
    return y, done


def taken(r: gp.Result, where: Any) -> gp.Result:
    """Return the answers of a choice of points."""
    return gp.Result(*(getattr(r, name)[where] for name in gp.Result.__slots__))


def matter(t: Table, y: Array, multipliers: Array) -> Bools:
    """Which terms matter to the optimum (see ``solvers.ties.stiff``)."""
    values, weights = gp.both(t.exponents, t.logc, t.ptr, y)
    force = np.concatenate([np.ones((len(y), 1)), multipliers], axis=1)
    counted = force * (force > FORCE)
    counted[:, 1:] *= -values[:, 1:] < TIGHT
    found: Bools = counted[:, t.row] * weights > TIE
    return found


def deciding(s: Stages, flat: Array, number: int = 0) -> int | None:
    """Return the first stage from ``number`` on that changes along some direction of ``flat``."""
    there = range(number, len(s.stages))
    return next((i for i in there if np.abs(s.stages[i].exponents @ flat).max(initial=0.0) >= 1e-12), None)


def _descend(
    s: Stages, points: NDArray[np.intp], y: Array, value: Array, flat: Array, number: int
) -> tuple[Array, Bools]:
    """Move inside the face to what the stages from ``number`` on ask for."""
    done = np.ones(len(y), bool)
    found = deciding(s, flat, number)
    if found is None:
        return y, done
    number = found
    t = _in_face(s, points, y, value, flat, s.stages[number])
    low, high = s.batch.low[points], s.batch.high[points]
    span = (high - low).max(1) * np.sqrt(y.shape[1]) + 1.0
    if flat.shape[1] == 1:
        along = _along(t, span)
        if along is not None:
            return y + along[:, None] @ flat.T, done
    ends = np.repeat(span[:, None], flat.shape[1], axis=1)
    r = s.solve(t.exponents, t.logc, t.ptr, -ends, ends)
    done = r.status == gp.OPTIMAL
    moved = y + r.y @ flat.T
    for which, kind in groups(matter(t, r.y, r.multipliers)):
        rest = flat @ null(t.exponents[kind])
        if rest.shape[1]:
            again = _descend(s, points[which], moved[which], value[which], rest, number + 1)
            moved[which], done[which] = again[0], done[which] & again[1]
    return moved, done


def _along(t: Table, span: Array) -> Array | None:
    """Where on a line the first row is least, if every row has but one slope there (None: some row bends)."""
    slopes = t.exponents[t.ptr[:-1], 0]
    if np.abs(t.exponents[:, 0] - slopes[t.row]).max() > 1e-12:
        return None
    low, high = -span, span.copy()
    heights = np.logaddexp.reduceat(t.logc, t.ptr[:-1], axis=1)
    for k in range(1, slopes.size):
        if abs(slopes[k]) > 1e-12:
            end = -heights[:, k] / slopes[k]
            if slopes[k] > 0:
                high = np.minimum(high, end)
            else:
                low = np.maximum(low, end)
    return low if slopes[0] > 0 else high


def _in_face(s: Stages, points: NDArray[np.intp], y: Array, value: Array, flat: Array, stage: Table) -> Table:
    """The stage over the limits, the goal kept, the box as rows; in coordinates of the face (y + flat t)."""
    low, high = s.batch.low[points], s.batch.high[points]
    parts = [stage.take(points), s.rows.take(points), s.goal.take(points)]
    n = y.shape[1]
    free = (high - low > 1e-13).any(0)
    sides = np.concatenate([np.eye(n)[free], -np.eye(n)[free]])
    exponents = np.concatenate([*(p.exponents for p in parts), sides])
    ptr = np.cumsum([0, *(k for p in parts for k in np.diff(p.ptr)), *(1 for _ in sides)])
    row = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    over = (
        gp.evaluate(s.rows.exponents, parts[1].logc, s.rows.ptr, y)
        if s.rows.ptr.size > 1
        else np.zeros((len(y), 0))
    )
    keep = parts[2].logc - (value[:, None] + TIE)
    lift = np.concatenate([np.zeros((len(y), 1)), np.maximum(over, 0.0) + LIFT], axis=1)
    inner = (
        np.concatenate([parts[0].logc, parts[1].logc], axis=1)
        - lift[:, row[: stage.row.size + s.rows.row.size]]
    )
    ends = np.concatenate([(y - high)[:, free], (low - y)[:, free]], axis=1)
    shifted = y @ exponents[: ptr[-1] - len(sides)].T
    logc = np.concatenate(
        [np.concatenate([inner, keep - LIFT], axis=1) + shifted, np.minimum(ends, -LIFT)], axis=1
    )
    inside = exponents @ flat
    for k in range(1, ptr.size - 1):
        rows = slice(ptr[k], ptr[k + 1])
        if np.abs(inside[rows]).max() < 1e-12:
            # it cannot change along the face, and holds already
            logc[:, rows] = -np.inf
    return Table(inside, logc, ptr)
