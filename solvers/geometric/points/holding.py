"""Whether some limits alone can hold together at the points of a block, whatever the objective."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from dse.system.arrays import Bools, Codes, Points
from formulations.grids import batch, over_grid
from formulations.grids.over_grid import Region
from scenarios.sweep.grids import Grid
from solvers.geometric.points.geometric import solver
from solvers.geometric.programs import geometric_conflicts
from solvers.many_points import blocks
from solvers.many_points.blocks import Block
from solvers.mechanisms.conflicts import NOT_KNOWN
from solvers.mechanisms.why import any_of


def can_hold(grid: Grid, region: Region, some: Bools, kept: Collection[str]) -> Codes:
    """Tell whether the limits ``kept``, by name, can hold together at ``some`` points of a block.

    As codes of ``solvers.mechanisms.conflicts`` in the block's shape, of other points and of what has no structure that
    it is not known.
    """
    block = Block(over_grid.spread(grid), region)
    codes = np.full(block.size, NOT_KNOWN, np.int8)

    def told(points: Points) -> Bools:
        first = batch.structure_at(block.spread, block.place(points[0]))
        shape = (len(points),)
        cases = None if first is None else batch.of_question(first, block.question(points), shape)
        if cases is None:
            return np.zeros(shape, bool)
        every, solve = np.arange(len(points)), solver(compiled=False)
        names = geometric_conflicts.limit_names(cases[0].problem)
        asked = [geometric_conflicts.Oracle(b, every, names, solve).feasible for b in cases]
        codes[points] = any_of(asked)(every, np.tile([n in kept for n in names], (len(points), 1)))
        return np.asarray(codes[points] != NOT_KNOWN)

    for group in block.alike():
        for _ in blocks.together(np.intersect1d(group, np.flatnonzero(some)), told):
            pass
    return codes.reshape(block.shape)
