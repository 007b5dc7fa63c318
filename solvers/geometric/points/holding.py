"""Whether some limits alone can hold together at the points of a block, whatever the objective, and why not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices, Points
from formulations.grids import batch, over_grid
from formulations.grids.batch import Batch
from formulations.grids.over_grid import Region
from scenarios.sweep.grids import Grid
from solvers.geometric.explaining import geometric_conflicts, relaxed_limits
from solvers.geometric.explaining.geometric_conflicts import Oracle
from solvers.geometric.points.geometric import solver
from solvers.many_points import blocks
from solvers.many_points.blocks import Block
from solvers.mechanisms.conflicts import NOT_KNOWN
from solvers.mechanisms.why import Why, any_of


def can_hold(grid: Grid, region: Region, some: Bools, kept: Collection[str]) -> Codes:
    """Tell whether the limits ``kept``, by name, can hold together at ``some`` points of a block.

    As codes of ``solvers.mechanisms.conflicts`` in the block's shape, of other points and of what has no structure that
    it is not known.
    """
    block = Block(over_grid.spread(grid), region)
    codes = np.full(block.size, NOT_KNOWN, np.int8)

    def told(points: Points) -> Bools:
        cases = _cases(block, points)
        if cases is None:
            return np.zeros(len(points), bool)
        every, asked = np.arange(len(points)), _oracles(cases)
        names = asked[0].names
        codes[points] = any_of([ask.feasible for ask in asked])(
            every, np.tile([n in kept for n in names], (len(points), 1))
        )
        return np.asarray(codes[points] != NOT_KNOWN)

    for group in block.alike():
        for _ in blocks.together(np.intersect1d(group, np.flatnonzero(some)), told):
            pass
    return codes.reshape(block.shape)


def why(block: Block, points: Points) -> Why | None:
    """What tells why some points of a block have no design; None of what has no structure."""
    cases = _cases(block, points)
    if cases is None:
        return None
    asked, names = _oracles(cases), geometric_conflicts.limit_names(cases[0].problem)

    def values(some: Indices, wanted: Sequence[str]) -> Mapping[str, Array]:
        members = np.zeros((len(points), len(names)), bool)
        members[some] = [n in wanted for n in names]
        found = relaxed_limits.of_batch(cases, names, members, solver(compiled=False))
        return {n: found[some, names.index(n)] for n in wanted}

    met, few = any_of([ask.feasible for ask in asked]), min(ask.few for ask in asked)
    return Why(names, met, values, lambda some: block.question(points[some]), few)


def _cases(block: Block, points: Points) -> tuple[Batch, ...] | None:
    """The programs of some points of a block; None where they have none."""
    first = batch.structure_at(block.spread, block.place(points[0]))
    return None if first is None else batch.of_question(first, block.question(points), (len(points),))


def _oracles(cases: Sequence[Batch]) -> list[Oracle]:
    """What tells of each case which limits can hold together, under the names of the first one."""
    names, solve = geometric_conflicts.limit_names(cases[0].problem), solver(compiled=False)
    return [Oracle(b, np.arange(b.size), names, solve) for b in cases]
