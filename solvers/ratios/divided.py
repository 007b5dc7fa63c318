"""Ratios of sums (a cap on average power): all points of a block searched together, each with its own certificate.

What the limits and the objective divide by may be a sum of one or two variables' powers; nothing else is asked of the
model. Large grids are worth a compiler, smaller ones are solved by the same kernel in NumPy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import handover
from formulations.grids import batch, divided, over_grid
from formulations.grids.over_grid import Region, Spread
from results.dataset import Arrays, Layout
from scenarios.sweep.grids import Grid
from solvers import work
from solvers.geometric.kernel import gp
from solvers.geometric.points.geometric import threads
from solvers.geometric.programs.optimal_face import Solver
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.offers import FEWEST_POINTS, OF_A_STRUCTURE, OTHER_KIND, Offer, cut_up, pays, too_few
from solvers.ratios.divided_answers import answered

WAY = "ratios of sums searched together"
KIND = "ratios of sums"
DIVIDED_TOGETHER = 2048
"""Points of a piece: each has a dozen nodes open, with exponents of their own."""


def way(grid: Grid) -> Offer:
    """Return this way if every point's question divides by sums of few variables, and most have plain answers."""
    if not _structured(grid):
        return OTHER_KIND
    if grid.size < FEWEST_POINTS:
        return too_few(KIND)
    found = Divided(
        batch.apart(grid, divided.divided), pays(Divided(over_grid.spread(grid), compiled=False), grid)
    )
    if found.spread.runs * OF_A_STRUCTURE > grid.size:
        # most of the work would be in setting up blocks of a few points
        return cut_up(KIND)
    few = Divided(batch.apart(blocks.thinned(grid), divided.divided), compiled=False)
    return blocks.offered(found, few)


def _structured(grid: Grid) -> bool:
    """Whether the question has this structure at the first point, for all names and machines."""
    return all(divided.structure(grid.question(index)) is not None for index in grid.kinds())


@dataclass(frozen=True, slots=True)
class Divided:
    """The way itself; see ``solvers.paths.Path``."""

    spread: Spread
    compiled: bool
    kind: str = "search"
    threads: bool = True

    @property
    def grid(self) -> Grid:
        """The grid that is answered."""
        return self.spread.grid

    @property
    def method(self) -> str:
        """How, in words."""
        how = "compiled interior point" if self.compiled else "interior point"
        return f"branch and bound with monomial secants, {how} over all nodes of all points of a chunk"

    @property
    def work(self) -> float:
        """Declared seconds of a point: so much for each term of its relaxations."""
        how = "compiled" if self.compiled else "numpy"
        return work.seconds(f"divided {how} term", work.terms(work.first_problem(self.grid)))

    def solve(self, plan: Layout, region: Region) -> tuple[Arrays, NDArray[np.bool_]]:
        """Answer a block: the arrays of its dataset, and the points left to be solved one by one."""
        if self.spread.scattered:
            return over_grid.in_order(self, plan, region)
        shape = tuple(s.stop - s.start for s in region)
        answers, left = BlockAnswers(plan, shape), np.ones(shape, bool)

        def answer(piece: Region) -> None:
            points = over_grid.numbered(piece, region)
            left.reshape(-1)[points] = ~self._answered(answers, piece, points)

        # the compiler has a lock: a thread that waits for it finds what the other one compiled
        handover.side_by_side(answer, batch.pieces(self.spread, region, DIVIDED_TOGETHER), threads())
        return answers.arrays, left

    def _answered(self, answers: BlockAnswers, piece: Region, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        good, made = np.zeros(points.size, bool), None
        with handover.guarded(batch.NOT_ARRAYS, points.size, handover.ARITHMETIC):
            made = divided.divided(self.spread, piece)
            if made is None:
                handover.hand_over(batch.NOT_ARRAYS, points.size)
        if made is not None:
            with handover.guarded(WAY, points.size):
                good = answered(answers, made, points, self._solver())
        return good

    def _solver(self) -> Solver:
        if not self.compiled:
            return gp.solve
        from solvers.geometric.kernel import compiled_batch as kernel

        return kernel.solve
