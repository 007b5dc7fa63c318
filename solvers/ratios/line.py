"""One decided number, whatever the arithmetic (a logarithm of the processors): all points of a block searched together.

What the single path asks interval branch and bound or an enumeration, with the same proofs: intervals over boxes, many
points at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import evaluation, handover
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
from solvers.ratios.line_answers import answered

WAY = "intervals over boxes of many points"
UNSURE = "a search over intervals that ended without a proof"
KIND = "one decided number"
LINES_TOGETHER = 4096
"""Points of a piece: each has a few boxes open."""


def way(grid: Grid) -> Offer:
    """Return this way if one number is decided at every point, in an arithmetic that shows no structure."""
    if not all(_decides_one_by_intervals(question) for question in blocks.kinds(grid)):
        return OTHER_KIND
    if grid.size < FEWEST_POINTS:
        return too_few(KIND)
    found = Line(batch.apart(grid, _made))
    if found.spread.runs * OF_A_STRUCTURE > grid.size:
        return cut_up(KIND)
    return blocks.offered(found, Line(batch.apart(blocks.thinned(grid), _made)))


def _decides_one_by_intervals(question: Question) -> bool:
    """Whether one number is decided and intervals are the single path's way, too."""
    if (
        len(question.decide) != 1
        or len(question.objectives) != 1
        or question.idle
        or question.model.black_box
    ):
        return False
    (d,) = question.decide
    if d.choices is not None or d.base is not None or any(x <= 0 for x in d.values or ()):
        return False
    if HALVINGS.name in {question.objectives[0].name, *(x.name for x in question.limits)} or is_linear(
        question
    ):
        return False
    problem = formulate(question)
    return problem.rows is None and problem.program is None and not problem.cases


@dataclass(frozen=True, slots=True)
class Line:
    """The way itself; see ``solvers.paths.Path``."""

    spread: Spread
    method: str = "interval branch and bound along the one decided number, all points of a chunk together"
    kind: str = "search"

    @property
    def grid(self) -> Grid:
        """The grid that is answered."""
        return self.spread.grid

    @property
    def work(self) -> float:
        """Declared seconds of a point."""
        return work.seconds("line point")

    def solve(self, plan: Layout, region: Region) -> tuple[Arrays, NDArray[np.bool_]]:
        """Answer a block: the arrays of its dataset, and the points left to be solved one by one."""
        if self.spread.scattered:
            return over_grid.in_order(self, plan, region)
        shape = tuple(s.stop - s.start for s in region)
        answers, left = BlockAnswers(plan, shape), np.ones(shape, bool)
        for piece in batch.pieces(self.spread, region, LINES_TOGETHER):
            points = over_grid.numbered(piece, region)
            with handover.guarded(WAY, len(points), handover.ARITHMETIC):
                question = _made(self.spread, piece)
                good = answered(answers, question, len(points), points)
                handover.hand_over(UNSURE, int(np.count_nonzero(~good)))
                left.reshape(-1)[points] = ~good
        return answers.arrays, left


def _made(spread: Spread, piece: Region) -> Question:
    """Return the question at a piece, with arrays along its points; raises where its arithmetic does not take them."""
    question = divided.flat(batch.asked(spread, piece), tuple(s.stop - s.start for s in piece))
    few = divided.at(question, np.arange(min(2, math.prod(s.stop - s.start for s in piece))))
    (d,) = few.decide
    box = evaluation.box(few, d.name)
    sides = [np.full((_count_of_points(few), 1), end) for end in (box.low, box.high)]
    boxes.enclose(few, *sides)
    return question


def _count_of_points(question: Question) -> int:
    held: list[Any] = [*question.limits, *question.decide]
    every = [*question.given.values(), *(end for x in held for end in (x.minimum, x.maximum))]
    return next((len(v) for v in every if isinstance(v, np.ndarray)), 1)
