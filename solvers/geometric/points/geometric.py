"""Geometric programs: all points of a block solved together, each with its own certificate.

The model's arithmetic runs once with arrays for coefficients; an interior-point kernel then solves point after point.
Large grids are worth a compiler, smaller ones are solved by the same method in NumPy.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import handover
from formulations.grids import batch, over_grid
from formulations.grids.batch import Batch
from formulations.grids.over_grid import Region, Spread
from results.dataset import STATUS_CODES, Arrays, Layout
from results.solution import Status
from scenarios.sweep.grids import Grid
from solvers import work
from solvers.geometric.kernel import gp
from solvers.geometric.neighbours import neighbour_proofs
from solvers.geometric.neighbours.neighbour_proofs import Anchors, Found
from solvers.geometric.points import beside
from solvers.geometric.points.geometric_answers import OTHER_TIES, Answers, answered, elasticities
from solvers.geometric.programs import relaxed_limits, ties
from solvers.geometric.programs.optimal_face import Solver, Stages
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.offers import OF_A_STRUCTURE, OTHER_KIND, Offer, cut_up, pays, too_few
from solvers.patterns import groups

WAY = "geometric programs solved together"
KIND = "geometric program"
PIECE = 50_000
"""Points of a piece: setting up the arithmetic takes some ms, and two of them make a chunk."""
FEWEST_NEAR = 8
"""Points for each that is answered in full from which the others start from those."""


def way(grid: Grid) -> Offer:
    """Return this way if every point's question is a geometric program."""
    if not _structured(grid):
        return OTHER_KIND
    if grid.size < OF_A_STRUCTURE:
        return too_few(KIND, OF_A_STRUCTURE)
    found = Geometric(batch.apart(grid), pays(Geometric(over_grid.spread(grid), compiled=False), grid))
    if found.spread.runs * OF_A_STRUCTURE > max(grid.size, 1):
        # most of the work would be in setting up blocks of a few points
        return cut_up(KIND)
    return Offer(found)


def _structured(grid: Grid) -> bool:
    """Whether the question is a geometric program at the first point, for all names and machines."""
    return all(batch.structure(grid.question(index)) is not None for index in grid.kinds())


@dataclass(frozen=True, slots=True)
class Geometric:
    """The way itself; see ``solvers.paths.Path``."""

    spread: Spread
    compiled: bool
    kind: str = "batch"
    threads: bool = True
    explains: bool = True

    @property
    def method(self) -> str:
        """How, in words."""
        how = "compiled interior point" if self.compiled else "interior point"
        return f"{how} over all points of a chunk, each with its own bound; what that leaves over one by one"

    @property
    def work(self) -> float:
        """Declared seconds of a point: so much for each term of its program."""
        first = work.first_problem(self.spread.grid)
        problem = None if first is None else batch.only_case(first)
        whole = problem is not None and any(v.discrete for v in problem.variables)
        how = "compiled" if self.compiled else "numpy"
        return work.seconds(f"geometric {how}{' whole' * whole} term", work.terms(problem))

    def solve(self, plan: Layout, region: Region) -> tuple[Arrays, NDArray[np.bool_]]:
        """Answer a block: the arrays of its dataset, and the points left to be solved one by one."""
        if self.spread.scattered:
            return over_grid.in_order(self, plan, region)
        shape = tuple(s.stop - s.start for s in region)
        answers, left = BlockAnswers(plan, shape), np.ones(shape, bool)

        def answer(piece: Region) -> None:
            points = over_grid.numbered(piece, region)
            with handover.guarded(WAY, points.size):
                made = self._batch(piece)
                if made is None:
                    return
                # near others it is proved what is optimal, not what else is
                found = self._answered(made, None if plan.full else self._anchors(piece), ranged=plan.full)[0]
                if found is None:
                    handover.hand_over(OTHER_TIES, points.size)
                    return
                if plan.full:
                    known = beside.put(answers, points, made, found, self._solver(made))
                    found.why[(found.status > 0) & ~known], found.status[~known] = beside.UNEXPLAINED, 0
                _put_answers(answers, points, made, found, self._solver(made))
                for reason, count in Counter(found.why[found.status == 0]).items():
                    handover.hand_over(reason, count)
                left.reshape(-1)[points] = found.status == 0

        # the compiler has a lock: a thread that waits for it finds what the other one compiled
        handover.side_by_side(answer, batch.pieces(self.spread, region, PIECE), threads())
        return answers.arrays, left

    def _batch(self, piece: Region) -> Batch | None:
        """Run the model's arithmetic for a piece; None, with a reason, where that is not the same as for one point."""
        size = math.prod(
            len(range(*s.indices(n))) for s, n in zip(piece, self.spread.grid.shape, strict=True)
        )
        made = None
        with handover.guarded(batch.NOT_ARRAYS, size, handover.ARITHMETIC):
            made = batch.batch(self.spread, piece)
            if made is None:
                handover.hand_over(batch.NOT_ARRAYS, size)
        return made

    def _anchors(self, piece: Region, steps: tuple[int, ...] | None = None) -> Anchors | None:
        """Answer a few points around a piece, for the others to start from; None where that is not worth it.

        ``steps``: how far these are from each other. They are settled from fewer ones still in their turn.
        """
        shape, alone = self.spread.grid.shape, self.spread.apart
        steps = steps or neighbour_proofs.strides(shape, alone)
        if not self.compiled or math.prod(steps) < FEWEST_NEAR:
            return None
        region, which = neighbour_proofs.places(piece, batch.runs(self.spread, piece), steps)
        made = self._batch(region)
        if made is None or made.discrete is not None:
            return None
        farther = neighbour_proofs.farther(steps, shape)
        start = None if farther is None else self._anchors(region, farther)
        found, rule, near = self._answered(made, start)
        if found is None or rule is None:
            return None
        best, conflicting = (found.status == STATUS_CODES[s] for s in (Status.OPTIMAL, Status.INFEASIBLE))
        best &= found.plain
        conflict = found.conflict & conflicting[:, None]
        settled = None if start is None or near is None else (start, near)
        return Anchors(
            neighbour_proofs.known(rule, best, found.y, found.multipliers, conflict, settled), which
        )

    def _answered(
        self, made: Batch, start: Anchors | None, *, ranged: bool = False
    ) -> tuple[Answers | None, Stages | None, Found | None]:
        """Answer a batch, as far as that goes from what is known near by."""
        rule = ties.of_batch(made, self._solver(made))
        if rule is None:
            return None, None, None
        near = None if start is None else neighbour_proofs.settled(rule, start)
        return answered(made, rule.solve, rule=rule, near=near, ranged=ranged), rule, near

    def _solver(self, made: Batch) -> Solver:
        if not self.compiled:
            return gp.solve
        from solvers.geometric.kernel import compiled_batch as kernel

        return partial(kernel.solve, width=made.low.shape[1])


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


def _put_answers(
    answers: BlockAnswers, points: NDArray[np.int64], made: Batch, found: Answers, solve: Solver
) -> None:
    """Put the answers of a piece where they belong; what is left over stays blank."""
    best, endless, none = (
        found.status == STATUS_CODES[s] for s in (Status.OPTIMAL, Status.UNBOUNDED, Status.INFEASIBLE)
    )
    answers.put(points, found.judged, best, elasticities(made, found))
    answers.status(points[endless], Status.UNBOUNDED)
    if not none.any():
        return
    members = found.conflict & none[:, None]
    values = np.full(members.shape, np.nan)
    if answers.wants_values:
        values = relaxed_limits.of_batch(made, found.names, members, solve)
    for which, kind in groups(found.conflict[none]):
        own = np.flatnonzero(none)[which]
        answers.none(points[own], {found.names[i]: values[own, i] for i in np.flatnonzero(kind)})
