"""Blocks of a grid answered piece by piece: all points of a piece are one question, or one program, with arrays.

The frame of every way whose questions keep one structure along their axes: whether it is offered, how a block is cut,
and where the answers go. A way brings what makes a piece (``maker``) and what answers it (``answer``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dse.system.records import dataclass
from formulations import handover
from formulations.arithmetics.many import Array, Points
from formulations.grids import batch, over_grid
from formulations.grids.batch import Maker
from formulations.grids.over_grid import Region, Spread
from results.dataset import Arrays, Layout
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from solvers import work
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers, Mask
from solvers.many_points.blocks import OverGrid
from solvers.many_points.offers import OF_A_STRUCTURE, OTHER_KIND, Offer, cut_up, too_few


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a block: its ``region``, what was ``made`` of it, and which ``points`` of the block it has.

    ``below``: objectives at its points that something else reaches; what is surely worse may be left over with a bound
    that proves it (NaN: nothing is known; None: of no point).
    """

    spread: Spread
    region: Region
    made: Any
    points: Points
    below: Array | None = None


Answer = Callable[[BlockAnswers, Piece], Mask]
"""Puts the answers of a piece where they belong, and tells which of its points are answered."""


@dataclass(frozen=True, slots=True)
class ByPiece(OverGrid):
    """A way to answer many points piece by piece.

    ``maker``: runs the model's arithmetic for a piece; None where that is not the same as for one point. ``most``:
    points of a piece. ``units``: what a point is of each work (see ``solvers.work``).
    """

    maker: Maker
    answer: Answer
    most: int
    method: str
    kind: str
    units: Mapping[str, float]
    threads: bool = False
    explains: bool = False

    @property
    def work(self) -> float:
        """Declared seconds of a point."""
        return work.total(self.units)

    def solve(self, plan: Layout, region: Region, below: Array | None = None) -> tuple[Arrays, Mask]:
        """Answer a block: the arrays of its dataset, and the points left to be solved one by one.

        ``below``: objectives at the points of the block; see ``Piece``.
        """
        if self.spread.scattered:
            return over_grid.in_order(self, plan, region)
        answers = BlockAnswers(plan, over_grid.sides(region))
        left = np.ones(over_grid.sides(region), bool)

        def answer(piece: Region) -> None:
            points = over_grid.numbered(piece, region)
            made = batch.made(self.maker, self.spread, piece)
            if made is not None:
                with handover.guarded(self.method, points.size, handover.ARITHMETIC):
                    reached = None if below is None else below.reshape(-1)[points]
                    good = self.answer(answers, Piece(self.spread, piece, made, points, reached))
                    left.reshape(-1)[points] = ~good

        # the compiler has a lock: a thread that waits for it finds what the other one compiled
        crowd = threads() if self.threads else 1
        handover.side_by_side(answer, batch.pieces(self.spread, region, self.most), crowd)
        return answers.arrays, left


def offered(
    grid: Grid,
    kind: str,
    fits: Callable[[Question], object],
    maker: Maker,
    way: Callable[[Spread], ByPiece],
    fewest: int,
    of_few: Callable[[Spread], ByPiece] | None = None,
) -> Offer:
    """Offer a way if every question of a grid ``fits`` it (is not None or False), and enough points have one structure.

    ``fewest``: points from which it is offered. ``of_few``: the same way for a few points, of which it is told how
    many it answers (default: that is not tried).
    """
    spread = over_grid.spread(grid)
    firsts = (tuple(slice(i, i + 1) for i in index) for index in grid.kinds())
    if not all(batch.of_first(spread, first, fits) for first in firsts):
        return OTHER_KIND
    if grid.size < fewest:
        return too_few(kind, fewest)
    if spread.runs * OF_A_STRUCTURE > grid.size:
        return too_few(
            kind, OF_A_STRUCTURE, " for each combination of names, machines and word sizes on the axes"
        )
    found = way(batch.apart(grid, maker, spread))
    if found.spread.runs * OF_A_STRUCTURE > grid.size:
        # most of the work would be in setting up blocks of a few points
        return cut_up(kind)
    if of_few is None:
        return Offer(found)
    return blocks.offered(found, of_few(batch.apart(blocks.thinned(grid), maker)))


def threads() -> int:
    """How many threads may work side by side: a worker's own, in another process one for each core."""
    if "distributed.worker" in sys.modules:
        from distributed import get_worker

        try:
            return int(get_worker().state.nthreads)
        except ValueError:  # no worker is at work in this thread
            pass
    from dask.system import CPU_COUNT

    return int(CPU_COUNT)
