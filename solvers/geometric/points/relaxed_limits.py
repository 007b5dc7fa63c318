"""How far one limit would have to give, the others kept: geometric programs and ratios of sums, many points together.

A limit is a row ``F(y) <= 0`` in logs; with the row as the goal, exp of its least value is the least ratio of the limit
(see ``conflicts.feasible_values``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Array, Canonical
from formulations.grids import divided, quotients
from formulations.grids.batch import Batch
from formulations.grids.divided import Divided, Indices
from scenarios.question import Decision, Question
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch
from solvers.geometric.programs.geometric_conflicts import neighbours
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts

Bools = NDArray[np.bool_]
Box = tuple[Array, Array]
AT_OPEN_END = 1e-6
"""In logs: what is this near to an end of its box may be held by it."""
NODES_BEFORE_DIVISION = 40
"""Nodes of a point after which its ratio is looked at."""
FEASIBLE_VALUE_GAP = 1e-7
"""In logs of the feasible value: what is named is what a design has, and at most so much less might do, too."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """The limits of some points as rows; ``low``, ``high``: their boxes without the user's bounds.

    ``far``: the boxes with the user's bounds whose other ends are far away, and those without.
    """

    question: Question
    c: Canonical
    low: Array
    high: Array
    far: tuple[Box, Box]
    discrete: Mapping[int, Decision]
    solve: Solver


def of_batch(batch: Batch, names: tuple[str, ...], members: Bools, solve: Solver) -> Array:
    """The feasible values (points, names) for geometric programs; ``members``: which names are in conflict."""
    found = np.full(members.shape, np.nan)
    for i, name in enumerate(names):
        points = np.flatnonzero(members[:, i])
        if points.size:
            found[points, i] = _feasible_sides(_geometric(batch, points, solve), [name])[name]
    return found


def of_divided(
    d: Divided, points: Indices, names: Iterable[str], solve: Solver, discrete: Mapping[int, Decision]
) -> dict[str, Array]:
    """The feasible values at points whose conflict has these names, for ratios of sums."""
    low, high = (end[points] for end in d.box())
    far = _far_boxes(d, points)
    asked = divided.at(d.question, points)
    return _feasible_sides(
        _Rows(asked, divided.take(d.arrays, points), low, high, far, discrete, solve), names
    )


def _far_boxes(of: Batch | Divided, points: Indices) -> tuple[Box, Box]:
    with_bounds, without = (of.box(own=own, far=True) for own in (True, False))
    return (with_bounds[0][points], with_bounds[1][points]), (without[0][points], without[1][points])


def _geometric(batch: Batch, points: Indices, solve: Solver) -> _Rows:
    variables, v = batch.problem.variables, batch.discrete
    c = divided.take(batch.arrays, points)
    low, high = (end[points] for end in batch.box(own=False))
    asked = divided.at(divided.flat(batch.question, batch.shape), points)
    return _Rows(
        asked, c, low, high, _far_boxes(batch, points), {} if v is None else {v: variables[v].decision}, solve
    )


def _feasible_sides(rows: _Rows, names: Iterable[str]) -> dict[str, Array]:
    limits = {key.name for key in rows.c.keys}
    sides = [n for n in names if n in limits]
    found = conflicts.feasible_values(
        rows.question, rows.c.keys, sides, lambda k: _least_factor_of_rows(rows, k)
    )
    return found | {n: _least_value(rows, n) for n in names if n not in limits}


def _least_factor_of_rows(rows: _Rows, which: int) -> Array:
    """The least ratio of a limit (see ``conflicts.Factor``).

    A limit on a decided variable takes its bounds with it, and only where no allowed value helps that it is discrete.
    """
    name = rows.c.keys[which].name
    own = rows.c.names.index(name) if name in rows.c.names else -1
    goal = divided.aimed(rows.c, which)
    found, open_ones = np.full(len(rows.c.logc), np.inf), np.arange(len(rows.c.logc))
    for kept in (rows.discrete, {i: d for i, d in rows.discrete.items() if i != own}):
        found[open_ones] = _least_log_goal(rows, goal, open_ones, own, kept)
        open_ones = open_ones[np.isposinf(found[open_ones])]
        if own not in rows.discrete or not open_ones.size:
            break
    return np.asarray(np.exp(found))


def _least_value(rows: _Rows, name: str) -> Array:
    """The least value that a variable, no more discrete, has in a design; infinite where there is none."""
    own = rows.c.names.index(name)
    goal = divided.any_design(rows.c)
    goal.exponents[0, own] = 1.0
    kept = {i: d for i, d in rows.discrete.items() if i != own}
    return np.asarray(np.exp(_least_log_goal(rows, goal, np.arange(len(goal.logc)), own, kept)))


def _least_log_goal(
    rows: _Rows, goal: Canonical, points: Indices, own: int, discrete: Mapping[int, Decision]
) -> Array:
    """The least log goal at points, variable ``own`` (-1: none) without bounds.

    Infinite where there is no design, NaN where the search was not closed. Where an end that is only there to have a
    box may be to blame, it is searched again without such ends.
    """
    c = divided.take(goal, points)
    near = _without_own_bounds((c.low, c.high), (rows.low[points], rows.high[points]), own)
    bounded, wide = ((low[points], high[points]) for low, high in rows.far)
    far = _without_own_bounds(bounded, wide, own)
    status, value, y = _least_in_box(rows, c, near, own, discrete)
    held = (y - near[0] < AT_OPEN_END) & (far[0] < near[0]) | (near[1] - y < AT_OPEN_END) & (far[1] > near[1])
    open_box = ((far[0] < near[0]) | (far[1] > near[1])).any(axis=1)
    again = np.flatnonzero(held.any(axis=1) | (status == gp.INFEASIBLE) & open_box)
    if again.size:
        there = far[0][again], far[1][again]
        status[again], value[again], _ = _least_in_box(rows, divided.take(c, again), there, own, discrete)
    return np.select([status == gp.OPTIMAL, status == gp.INFEASIBLE], [value, np.inf], np.nan)


def _without_own_bounds(box: Box, wide: Box, own: int) -> Box:
    low, high = box[0].copy(), box[1].copy()
    if own >= 0:
        low[:, own], high[:, own] = wide[0][:, own], wide[1][:, own]
    return low, high


def _least_in_box(
    rows: _Rows, c: Canonical, box: Box, own: int, discrete: Mapping[int, Decision]
) -> tuple[NDArray[np.int8], Array, Array]:
    """Status, least log goal and design of every point in a box."""
    low, high = box
    if own in discrete:
        everywhere = np.full(len(low), -np.inf), np.full(len(low), np.inf)
        low[:, own] = neighbours(discrete[own], low[:, own], *everywhere)[1]
        high[:, own] = neighbours(discrete[own], high[:, own], *everywhere)[0]
    if c.divisors or discrete:
        return _relaxed_searches(replace(c, low=low, high=high), rows.solve, discrete)
    plain = rows.solve(c.exponents, c.logc, c.ptr, low, high)
    return plain.status.astype(np.int8), plain.value.copy(), plain.y


def _relaxed_searches(
    c: Canonical, solve: Solver, discrete: Mapping[int, Decision]
) -> tuple[NDArray[np.int8], Array, Array]:
    """Status, the least log goal and a design of every point.

    Where many nodes are open after a while the goal hardly depends on the design; what divides without a remainder is
    then taken out of its ratio, which needs one more variable, and fewer nodes.
    """
    r = branch.search(c, solve, discrete, value_only=True, most=NODES_BEFORE_DIVISION, gap=FEASIBLE_VALUE_GAP)
    status, value, y = r.status, r.value, r.y
    some = np.flatnonzero(status == gp.FAILED)
    if some.size:
        own = divided.take(c, some)
        r = branch.search(quotients.apart(own), solve, discrete, value_only=True, gap=FEASIBLE_VALUE_GAP)
        y[some] = r.y[:, : len(c.names)]
        status[some], value[some] = r.status, canon.values(own, y[some])[:, 0]
    return status, value, y
