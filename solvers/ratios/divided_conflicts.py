"""Why there is no design, for many points that divide by sums: the first minimal set of limits that no design meets.

What ``solvers.mechanisms.conflicts`` does for one point; whether limits can hold together is told by the same search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.grids import divided
from formulations.grids.divided import Divided, Indices
from formulations.tolerances import SLACK
from scenarios.question import Decision
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts

Bools = NDArray[np.bool_]


def first_minimal(
    d: Divided, points: Indices, solve: Solver, discrete: Mapping[int, Decision]
) -> Iterator[tuple[Indices, tuple[str, ...]]]:
    """Find the first minimal conflict of points, by size and then by the order of the limits.

    Yields points that share one, and its names; only points whose limits conflict also with the slack they are
    granted, and far out of the box.
    """
    names = limit_names(d, discrete)
    if not points.size:
        return
    every = np.ones(len(names), bool)
    points = points[_met(d, points, names, every, solve, discrete, far=True) == gp.INFEASIBLE]

    def ask(own: Indices, kept: Bools) -> conflicts.Codes:
        found = _met(d, points[own], names, kept, solve, discrete)
        none = np.flatnonzero(found == gp.INFEASIBLE)
        if none.size:
            # an end that is only there to have one proves nothing
            found[none] = _met(d, points[own[none]], names, kept, solve, discrete, far=True)
        return conflicts.codes(found)

    found = conflicts.minimal_conflicts(
        points.size, len(names), conflicts.by_set(ask), every=False, few=conflicts.FEW_SEARCHED
    )
    for members, conflict in found.certain(names):
        yield points[members], conflict


def limit_names(d: Divided, discrete: Mapping[int, Decision]) -> tuple[str, ...]:
    """Names of all limits; that a variable is discrete goes under its own name."""
    own = [d.problem.variables[i].name for i in discrete]
    return tuple(dict.fromkeys([*(key.name for key in d.arrays.keys), *own]))


def _met(
    d: Divided,
    points: Indices,
    names: tuple[str, ...],
    kept: Bools,
    solve: Solver,
    discrete: Mapping[int, Decision],
    *,
    far: bool = False,
) -> NDArray[np.int8]:
    """Whether the limits kept can hold together, whatever the objective and the bounds of the box (status).

    ``far``: also with the slack that limits are granted, and with the ends of the box that are only there to have one
    far away.
    """
    wanted = {n for n, k in zip(names, kept, strict=True) if k}
    c = divided.any_design(divided.take(d.arrays, points))
    c = divided.kept(c, [key.name in wanted for key in c.keys])
    whole = {i: x for i, x in discrete.items() if d.problem.variables[i].name in wanted}
    low, high = (end[points] for end in d.box(far=far))
    bounded = tuple(end[points] for end in d.box(own=True, far=True)) if far else (c.low, c.high)
    for i in whole:
        low[:, i], high[:, i] = bounded[0][:, i], bounded[1][:, i]
    c = divided.eased(c, np.log1p(SLACK)) if far else c
    return branch.search(replace(c, low=low, high=high), solve, whole, any_design=True).status
