"""The answers of many questions without structure: optimum, bound, conflicts, and what limits are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from formulations import evaluation
from formulations.grids import divided
from scenarios.question import Question
from solvers import boxes, enumeration
from solvers.boxes import Array
from solvers.explaining import subsets
from solvers.geometric import kinks
from solvers.judgement import judge
from solvers.many_points.block_answers import BlockAnswers
from solvers.mechanisms import conflicts
from solvers.mechanisms.along_bounds import along_bounds
from solvers.mechanisms.conflicts import Codes
from solvers.mechanisms.why import Why
from solvers.nonlinear import feasibility, search
from solvers.outcome import INFEASIBLE, OPTIMAL
from solvers.patterns import Bools, Indices


def answered(
    answers: BlockAnswers, question: Question, count: int, points: NDArray[np.int64], most: int
) -> Bools:
    """Answer the points of a piece, which have the numbers ``points`` in their block; tells which are answered.

    ``most``: boxes of a point, at most.
    """
    question = evaluation.farthest(question)
    where = boxes.spaces(question, count)
    found = search.minimise(question, where, most)
    good = np.zeros(count, bool)
    none = np.flatnonzero(found.status == INFEASIBLE)
    # an end that is only there to have one proves nothing
    none = none[feasibility.nothing_beyond(divided.at(question, none), none.size)] if none.size else none
    if none.size:
        good[none] = _put_conflicts(answers, divided.at(question, none), points[none], most)
    best = np.flatnonzero(found.status == OPTIMAL)
    if best.size:
        asked, names = divided.at(question, best), where.names
        bound = 1.0 / found.bound[best] if asked.objectives[0].maximize else found.bound[best]
        x = dict(zip(names, found.x[best].T.copy(), strict=True))
        judged = judge(asked, x, bound, (best.size,))
        good[best] = judged.good & (search.runaways(question, where, found, most)[best] < 0)
        for d, ends in enumeration.open_powers(asked):
            good[best] &= ~np.isin(x[d.name], ends)
        # what changes by leaps has no rate
        elasticities = {} if where.discrete.any() else kinks.without_structure(judged, numbers=False).limits
        answers.put(points[best], judged, good[best], elasticities)
    return good


def _put_conflicts(answers: BlockAnswers, question: Question, points: NDArray[np.int64], most: int) -> Bools:
    """Tell why the points of a question have no design: the first minimal conflict of each; tells for which."""
    names = subsets.limit_names(divided.at(question, np.zeros(1, np.intp)))

    def met(some: Indices, kept: Bools) -> Codes:
        left_out = [n for n, k in zip(names, kept, strict=True) if not k]
        return feasibility.anywhere(subsets.without(divided.at(question, some), left_out), some.size)

    def least(asked: Question, size: int) -> tuple[NDArray[np.int8], Array]:
        found = search.minimise(asked, boxes.spaces(asked, size), most)
        return found.status, found.x

    def values(some: Indices, conflict: Sequence[str]) -> Mapping[str, Array]:
        asked = divided.at(question, some)
        return {name: subsets.feasible_values(asked, some.size, name, least) for name in conflict}

    few = conflicts.FEW_SEARCHED
    along = along_bounds(met, question, names, points.size)
    why = Why(names, along, values, lambda some: divided.at(question, some), few)
    return answers.conflicts(points, why)
