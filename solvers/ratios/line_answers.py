"""The answers of many questions that decide one number: optimum, bound, conflicts, and what limits are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations import evaluation
from formulations.grids import divided
from formulations.tolerances import HOLDS
from scenarios.question import Decision, Question
from solvers.boxes import Array, Space
from solvers.explaining import subsets
from solvers.geometric import kinks
from solvers.geometric.kernel import gp
from solvers.judgement import judge
from solvers.many_points.block_answers import BlockAnswers
from solvers.mechanisms import conflicts
from solvers.mechanisms.conflicts import CANNOT_HOLD, NOT_KNOWN, Codes
from solvers.mechanisms.why import Why
from solvers.nonlinear import box_search
from solvers.nonlinear.interval import AT_BOX_END
from solvers.ratios import line_search
from solvers.ratios.line_search import Found

Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]


def answered(answers: BlockAnswers, question: Question, count: int, points: NDArray[np.int64]) -> Bools:
    """Answer the points of a piece, which have the numbers ``points`` in their block; tells which are answered."""
    question = evaluation.farthest(question)
    found = _searched_line(question, count)
    good = np.zeros(count, bool)
    none = np.flatnonzero(found.status == gp.INFEASIBLE)
    # an end that is only there to have one proves nothing
    none = none[box_search.nothing_beyond(divided.at(question, none), none.size)] if none.size else none
    if none.size:
        good[none] = _put_conflicts(answers, divided.at(question, none), points[none])
    best = np.flatnonzero(found.status == gp.OPTIMAL)
    if best.size:
        asked, x = divided.at(question, best), found.x[best]
        (d,) = asked.decide
        bound = 1.0 / found.bound[best] if asked.objectives[0].maximize else found.bound[best]
        judged = judge(asked, {d.name: x}, bound, (best.size,))
        good[best] = judged.good & ~_at_edge(asked, x)
        # what changes by leaps has no rate
        elasticities = {} if _has_gaps(d) else kinks.without_structure(judged, numbers=False).limits
        answers.put(points[best], judged, good[best], elasticities)
    return good


def _has_gaps(d: Decision) -> bool:
    return d.integer or d.values is not None


def _searched_line(question: Question, count: int) -> Found:
    return line_search.minimise(question, *_space(question, count))


def _space(question: Question, count: int) -> tuple[Space, Array, Array]:
    """Draw the boxes of all points (see ``solvers.boxes.space``), and what is allowed anywhere."""
    (d,) = question.decide
    box = evaluation.box(question, d.name)
    low, high = (np.full(count, end) for end in (box.low, box.high))
    if d.minimum is not None:
        asked = np.asarray(d.minimum) * (1 - HOLDS)
        low = np.where(asked > 0, asked, low)
    if d.maximum is not None:
        high = np.broadcast_to(np.asarray(d.maximum) * (1 + HOLDS), (count,)).copy()
    if d.values is not None:
        low = np.maximum(low if d.minimum is not None else d.values[0], d.values[0])
        high = np.minimum(high if d.maximum is not None else d.values[-1], d.values[-1])
        low, high = np.broadcast_to(low, (count,)).copy(), np.broadcast_to(high, (count,)).copy()
    if d.integer:
        low = np.maximum(low, 1.0)
    values = None if d.values is None else np.array(d.values, dtype=float)
    own = np.array([d.integer])
    # the ends of the whole space are of no account here: each point has its own
    return (
        Space((d.name,), low.min(keepdims=True), high.max(keepdims=True), own, (values,), ((False, False),)),
        low,
        high,
    )


def _at_edge(question: Question, x: Array) -> Bools:
    """Whether the box alone may hold an optimum."""
    (d,) = question.decide
    box = evaluation.box(question, d.name)
    found = np.zeros(len(x), bool)
    if d.values is not None and not d.endless:
        return found
    if box.searched[0] and d.minimum is None:
        found |= x <= (box.low if d.values is None else d.values[0]) * (1 + AT_BOX_END)
    if box.searched[1] and d.maximum is None:
        found |= x >= (box.high if d.values is None else d.values[-1]) * (1 - AT_BOX_END)
    return found


def _put_conflicts(answers: BlockAnswers, question: Question, points: NDArray[np.int64]) -> Bools:
    """Tell why the points of a question have no design: the first minimal conflict of each; tells for which."""
    names = subsets.limit_names(divided.at(question, np.zeros(1, np.intp)))

    def met(some: Indices, kept: Bools) -> Codes:
        left_out = [n for n, k in zip(names, kept, strict=True) if not k]
        fewer = subsets.without(divided.at(question, some), left_out)
        where, low, high = _space(fewer, some.size)
        told = box_search.feasible(fewer, where, low[:, None], high[:, None])
        out = np.flatnonzero(told == CANNOT_HOLD)
        told[out[~box_search.nothing_beyond(divided.at(fewer, out), out.size)]] = NOT_KNOWN
        return told

    def values(some: Indices, conflict: Sequence[str]) -> Mapping[str, Array]:
        asked = divided.at(question, some)
        return {name: _would_do(asked, some.size, name) for name in conflict}

    few = conflicts.FEW_SEARCHED
    why = Why(names, conflicts.by_set(met), values, lambda some: divided.at(question, some), few)
    return answers.conflicts(points, why)


def _would_do(question: Question, count: int, name: str) -> Array:
    """The feasible value of a limit (see ``feasible_values`` and ``subsets.feasible_value``)."""
    found, open_ones = np.full(count, np.inf), np.arange(count)
    for relaxed, goal in subsets.relaxations(question, name):
        if not open_ones.size:
            break
        asked = replace(divided.at(relaxed, open_ones), objectives=(goal,))
        searched = _searched_line(asked, open_ones.size)
        met = np.flatnonzero(searched.status == gp.OPTIMAL)
        if met.size:
            there, x = divided.at(asked, met), {asked.decide[0].name: searched.x[met]}
            value = evaluation.objective(there, x, evaluation.metrics(there, x))
            found[open_ones[met]] = np.broadcast_to(np.asarray(value, float), met.shape)
        found[open_ones[searched.status == gp.FAILED]] = np.nan
        open_ones = open_ones[searched.status == gp.INFEASIBLE]
    return found
