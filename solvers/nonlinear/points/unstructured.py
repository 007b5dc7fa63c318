"""Questions in an arithmetic without structure (a logarithm of the processors): all points of a block together.

What a question alone asks of interval branch and bound or an enumeration, with the same proofs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import handover
from formulations.grids import batch, divided, over_grid
from formulations.grids.over_grid import Region, Spread
from formulations.problem import formulate
from formulations.program import is_linear
from results.dataset import Arrays, Layout
from scenarios.question import HALVINGS, Question
from scenarios.sweep.grids import Grid
from solvers import boxes, work
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.offers import FEWEST_POINTS, OF_A_STRUCTURE, OTHER_KIND, Offer, cut_up, too_few
from solvers.nonlinear.methods import FEW_FREE, SHORT_SEARCH
from solvers.nonlinear.points.unstructured_answers import answered

WAY = "intervals over boxes of many points"
UNSURE = "a search over intervals that ended without a proof"
KIND = "an arithmetic without structure"
BOXES_POWER = 4
"""Boxes of a point grow by about this power of the number of its variables."""
POINTS_TOGETHER = 4096
"""Points of a piece: each has a few boxes open."""


def way(grid: Grid) -> Offer:
    """Return this way if intervals are the way of every point alone: an arithmetic that shows no structure."""
    if not all(map(_by_intervals, blocks.kinds(grid))):
        return OTHER_KIND
    if grid.size < FEWEST_POINTS:
        return too_few(KIND)
    found = Unstructured(batch.apart(grid, _made))
    if found.spread.runs * OF_A_STRUCTURE > grid.size:
        return cut_up(KIND)
    return blocks.offered(found, Unstructured(batch.apart(blocks.thinned(grid), _made)))


def _by_intervals(question: Question) -> bool:
    """Whether a question alone is first asked of intervals, too."""
    if not question.decide or len(question.objectives) != 1 or question.idle or question.model.black_box:
        return False
    if any(
        d.choices is not None or d.base is not None or any(x <= 0 for x in d.values or ())
        for d in question.decide
    ):
        return False
    if HALVINGS.name in {question.objectives[0].name, *(x.name for x in question.limits)} or is_linear(
        question
    ):
        return False
    if sum(1 for d in question.decide if not d.integer and d.values is None) > FEW_FREE:
        return False
    problem = formulate(question)
    return problem.rows is None and problem.program is None and not problem.cases


@dataclass(frozen=True, slots=True)
class Unstructured:
    """The way itself; see ``solvers.paths.Path``."""

    spread: Spread
    method: str = "interval branch and bound, all points of a chunk together"
    kind: str = "search"

    @property
    def grid(self) -> Grid:
        """The grid that is answered."""
        return self.spread.grid

    @property
    def work(self) -> float:
        """Declared seconds of a point."""
        decided = len(next(iter(self.grid.bases.values())).decide)
        return work.seconds("interval point", float(decided**BOXES_POWER))

    def solve(self, plan: Layout, region: Region) -> tuple[Arrays, NDArray[np.bool_]]:
        """Answer a block: the arrays of its dataset, and the points left to be solved one by one."""
        if self.spread.scattered:
            return over_grid.in_order(self, plan, region)
        shape = tuple(s.stop - s.start for s in region)
        answers, left = BlockAnswers(plan, shape), np.ones(shape, bool)
        for piece in batch.pieces(self.spread, region, POINTS_TOGETHER):
            points = over_grid.numbered(piece, region)
            with handover.guarded(WAY, len(points), handover.ARITHMETIC):
                question = _made(self.spread, piece)
                good = answered(answers, question, len(points), points, SHORT_SEARCH)
                handover.hand_over(UNSURE, int(np.count_nonzero(~good)))
                left.reshape(-1)[points] = ~good
        return answers.arrays, left


def _made(spread: Spread, piece: Region) -> Question:
    """Return the question at a piece, with arrays along its points; raises where its arithmetic does not take them."""
    question = divided.flat(batch.asked(spread, piece), tuple(s.stop - s.start for s in piece))
    few = divided.at(question, np.arange(min(2, math.prod(s.stop - s.start for s in piece))))
    where = boxes.spaces(few, _count_of_points(few))
    boxes.enclose(few, where.low, where.high)
    return question


def _count_of_points(question: Question) -> int:
    held: list[Any] = [*question.limits, *question.decide]
    every = [*question.given.values(), *(end for x in held for end in (x.minimum, x.maximum))]
    return next((len(v) for v in every if isinstance(v, np.ndarray)), 1)
