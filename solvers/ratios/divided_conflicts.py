"""Why there is no design, for many points that divide by sums: the first minimal set of limits that no design meets.

What ``solvers.mechanisms.conflicts`` does for one point; whether limits can hold together is told by the same search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.grids import divided
from formulations.grids.batch import Batch
from formulations.grids.divided import Indices
from formulations.tolerances import SLACK
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch
from solvers.geometric.programs.geometric_conflicts import limit_names
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts

Bools = NDArray[np.bool_]


def first_minimal(d: Batch, points: Indices, solve: Solver) -> Iterator[tuple[Indices, tuple[str, ...]]]:
    """Find the first minimal conflict of points, by size and then by the order of the limits.

    Yields points that share one, and its names; only points whose limits conflict also with the slack they are
    granted, and far out of the box.
    """
    names = limit_names(d.problem)
    if not points.size:
        return
    every = np.ones(len(names), bool)
    points = points[_met(d, points, names, every, solve, far=True) == gp.INFEASIBLE]

    def ask(own: Indices, kept: Bools) -> conflicts.Codes:
        return conflicts.codes(_met(d, points[own], names, kept, solve))

    found = conflicts.minimal_conflicts(
        points.size, len(names), conflicts.by_set(ask), every=False, few=conflicts.FEW_SEARCHED
    )
    for members, conflict in found.certain(names):
        yield points[members], conflict


def _met(
    d: Batch,
    points: Indices,
    names: tuple[str, ...],
    kept: Bools,
    solve: Solver,
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
    whole = {i: x for i, x in c.allowed.items() if c.names[i] in wanted}
    low, high = (end[points] for end in d.box(own=False, far=far))
    for i in whole:
        low[:, i], high[:, i] = c.low[:, i], c.high[:, i]
    c = divided.eased(c, np.log1p(SLACK)) if far else c
    return branch.search(replace(c, low=low, high=high, allowed=whole), solve, any_design=True).status
