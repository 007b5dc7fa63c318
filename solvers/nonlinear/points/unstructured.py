"""Questions in an arithmetic without structure (a logarithm of the processors): all points of a block together.

What a question alone asks of interval branch and bound or an enumeration, with the same proofs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices, Points
from formulations import evaluation, handover
from formulations.grids import divided, over_grid
from formulations.problem import formulate
from scenarios.question import Question, without
from scenarios.sweep.grids import Grid
from solvers import boxes, designs, enumeration
from solvers.explaining import least_values, subsets
from solvers.geometric.programs import kinks
from solvers.judgement import judge
from solvers.many_points import blocks, claims
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import Offer
from solvers.mechanisms import conflicts
from solvers.mechanisms.alike import each_once
from solvers.mechanisms.along_bounds import along_bounds
from solvers.mechanisms.why import Why
from solvers.nonlinear import feasibility, methods, search
from solvers.nonlinear.methods import SHORT_SEARCH
from solvers.outcome import INFEASIBLE, OPTIMAL

UNSURE = "a search over intervals that ended without a proof"
KIND = "an arithmetic without structure"
BOXES_POWER = 2
"""Boxes of a point grow by about this power of the number of its variables."""
POINTS_TOGETHER = 4096
"""Points of a piece: each has a few boxes open."""


def way(grid: Grid) -> Offer:
    """Return this way if intervals are the way of every point alone: an arithmetic that shows no structure."""
    return claims.offered_by_group(grid, KIND, _by_intervals, over)


def _by_intervals(question: Question) -> bool:
    """Whether intervals find what a question alone has: nothing shows structure, or all values have gaps between."""
    if not methods.in_reach_of_intervals(question):
        return False
    return not designs.free(question) or not formulate(question).structured


def over(grid: Grid) -> ByGroup:
    """Return the way over a grid; its declared work grows with the number of decided variables."""
    first = next(iter(grid.bases.values()))
    name = "point" if designs.free(first) else "listed point"
    return ByGroup(
        over_grid.spread(grid),
        _answer_by_intervals,
        POINTS_TOGETHER,
        "interval branch and bound, all points of a chunk together",
        "search",
        {f"interval {name}": float(len(first.decide) ** BOXES_POWER)},
    )


def _answer_by_intervals(answers: BlockAnswers, block: Block, question: Question, points: Points) -> Bools:
    """Answer some points: optimum, bound, conflicts, and what limits are worth."""
    # intervals and designs are arrays, with which numbers of many points are arrays too
    question, count = divided.flat(evaluation.farthest(question)), points.size
    where = boxes.spaces(question, count)
    found = search.minimise(question, where, SHORT_SEARCH)
    good = np.zeros(count, bool)
    none = np.flatnonzero(found.status == INFEASIBLE)
    # an end that is only there to have one proves nothing
    none = none[feasibility.nothing_beyond(divided.at(question, none), none.size)] if none.size else none
    good |= blocks.told_why(answers, points, none, lambda now: why(divided.at(question, now), now.size))
    best = np.flatnonzero(found.status == OPTIMAL)
    if best.size:
        asked, names = divided.at(question, best), where.names
        bound = evaluation.to_minimise(asked, found.bound[best])
        x = dict(zip(names, found.x[best].T.copy(), strict=True))
        judged = judge(asked, x, bound, (best.size,))
        good[best] = judged.good & (search.runaways(question, where, found, SHORT_SEARCH)[best] < 0)
        for d, ends in enumeration.open_powers(asked):
            good[best] &= ~np.isin(x[d.name], ends)
        # what changes by leaps has no rate
        elasticities = {} if where.discrete.any() else kinks.without_structure(judged, numbers=False).limits
        answers.put(points[best], judged, good[best], elasticities)
    handover.hand_over(UNSURE, int(np.count_nonzero(~good)))
    return good


def why(question: Question, count: int) -> Why:
    """What tells why so many points of a question, flat, have no design: intervals."""
    names = subsets.limit_names(question)

    def met(some: Indices, kept: Bools) -> Codes:
        left_out = [n for n, k in zip(names, kept, strict=True) if not k]
        asked = without(divided.at(question, some), left_out)
        return feasibility.anywhere(asked, boxes.spaces(asked, some.size))

    def values(some: Indices, conflict: Sequence[str]) -> Mapping[str, Array]:
        # as far as one question alone is searched, which is asked again where this ends early
        least = partial(least_values.least_by_intervals, most=subsets.SUBSET_BOXES)
        found = dict[str, Array]()
        for name, asked, first, which in each_once(divided.at(question, some), some.size, conflict):
            found[name] = least_values.feasible_values(asked, first.size, name, least)[which]
        return found

    along = along_bounds(met, question, names, count)
    at, always = partial(divided.at, question), question.model.always
    return Why(names, along, values, at, conflicts.FEW_SEARCHED, always=always)
