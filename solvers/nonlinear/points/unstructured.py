"""Questions in an arithmetic without structure (a logarithm of the processors): all points of a block together.

What a question alone asks of interval branch and bound or an enumeration, with the same proofs.
"""

from __future__ import annotations

import math

import numpy as np

from formulations import handover
from formulations.grids import batch, divided, over_grid
from formulations.grids.over_grid import Region, Spread
from formulations.problem import formulate
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from solvers import boxes, designs, work
from solvers.many_points import by_piece
from solvers.many_points.block_answers import BlockAnswers, Mask
from solvers.many_points.by_piece import ByPiece, Piece
from solvers.many_points.offers import FEWEST_POINTS, Offer
from solvers.nonlinear import methods
from solvers.nonlinear.methods import SHORT_SEARCH
from solvers.nonlinear.points.unstructured_answers import answered

UNSURE = "a search over intervals that ended without a proof"
KIND = "an arithmetic without structure"
BOXES_POWER, LISTED_POWER = 4, 2
"""Boxes of a point grow by about this power of the number of its variables; the second where all have gaps."""
POINTS_TOGETHER = 4096
"""Points of a piece: each has a few boxes open."""


def way(grid: Grid) -> Offer:
    """Return this way if intervals are the way of every point alone: an arithmetic that shows no structure."""
    return by_piece.offered(grid, KIND, _by_intervals, _made, over, FEWEST_POINTS, over)


def _by_intervals(question: Question) -> bool:
    """Whether intervals find what a question alone has: nothing shows structure, or all values have gaps between."""
    if not methods.in_reach_of_intervals(question):
        return False
    if not designs.free(question):
        return True
    problem = formulate(question)
    return problem.rows is None and problem.program is None and not problem.cases


def over(spread: Spread) -> ByPiece:
    """Return the way over a grid; its declared work grows with the number of decided variables."""
    first = next(iter(spread.grid.bases.values()))
    power = BOXES_POWER if designs.free(first) else LISTED_POWER
    return ByPiece(
        spread,
        _made,
        _answer_by_intervals,
        POINTS_TOGETHER,
        "interval branch and bound, all points of a chunk together",
        "search",
        work.seconds("interval point", float(len(first.decide) ** power)),
    )


def _answer_by_intervals(answers: BlockAnswers, piece: Piece) -> Mask:
    """Answer the points of a piece."""
    good = answered(answers, piece.made, piece.points.size, piece.points, SHORT_SEARCH)
    handover.hand_over(UNSURE, int(np.count_nonzero(~good)))
    return good


def _made(spread: Spread, piece: Region) -> Question:
    """Return the question at a piece, with arrays along its points; raises where its arithmetic does not take them."""
    question = divided.flat(batch.asked(spread, piece), over_grid.sides(piece))
    few = np.arange(min(2, math.prod(over_grid.sides(piece))))
    asked = divided.at(question, few)
    where = boxes.spaces(asked, few.size)
    boxes.enclose(asked, where.low, where.high)
    return question
