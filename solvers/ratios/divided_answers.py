"""The answers of a block of questions that divide by sums: what the single path does after its search, as arrays.

The variables that the divisors' shapes depend on are settled by the search; with these held the rest is a geometric
program, whose ties are broken by the rule in its optimal face. What limits are worth comes from the program whose
divisors are their tangents at the design. Wherever the single path has a case of its own, a point is left to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations import canonical as canon
from formulations import handover
from formulations.canonical import Array, Canonical
from formulations.grids import divided
from formulations.grids.batch import Batch
from formulations.grids.divided import Indices
from formulations.problem import Variable
from formulations.tolerances import BINDS, TIE
from solvers.explaining import structured_conflicts
from solvers.geometric import kinks
from solvers.geometric.kernel import gp
from solvers.geometric.points import beside, geometric_whole
from solvers.geometric.points.geometric_answers import (
    AT_EDGE,
    CONFLICT,
    IN_DOUBT,
    MISSED,
    NO_COMMON_INTERIOR,
    NOT_FINITE,
    OTHER_TIES,
    TIED,
    UNSOLVED,
    WHOLE,
    Reasons,
    asked,
)
from solvers.geometric.programs import branch, multipliers, optimal_face, ties
from solvers.geometric.programs.branch import Searched
from solvers.geometric.programs.crossover import doubtful
from solvers.geometric.programs.nodes import values_beside
from solvers.geometric.programs.optima import STRAINED
from solvers.geometric.programs.optimal_face import Solver, Stages
from solvers.geometric.programs.polishing import UNCLEAR
from solvers.geometric.programs.ties import SETTLED_WIDTH
from solvers.geometric.programs.unbounded import held_by_box
from solvers.judgement import judge
from solvers.many_points.block_answers import BlockAnswers
from solvers.mechanisms import sensitivity

Bools = NDArray[np.bool_]

FAR_APART = "designs equally good that lie far from each other"
AGREES = 2e-8
"""In logs: the optimum of the tangent program, and the design that it is the tangent program of."""


def answered(answers: BlockAnswers, d: Batch, points: NDArray[np.int64], solve: Solver) -> Bools:
    """Answer the points of a piece, which have the numbers ``points`` in their block; tells which are answered."""
    sound = np.flatnonzero(np.isfinite(d.arrays.logc).all(1))
    found = branch.search(divided.take(d.arrays, sound), solve)
    good, why = np.zeros(d.size, bool), np.full(d.size, NOT_FINITE, object)
    why[sound] = np.where(found.status == gp.INFEASIBLE, CONFLICT, UNSOLVED)
    none = sound[found.status == gp.INFEASIBLE]
    if none.size:
        none = none[structured_conflicts.hopeless(d, none, solve)]
        why_not = structured_conflicts.of_points(d, none, solve)
        good[none] = answers.conflicts(points[none], why_not)
        if answers.plan.full:
            names, met, few = why_not.names, why_not.met, why_not.few
            good[none] &= beside.put_conflicts(answers, points[none], d.problem.kind, names, met, few)
    best = np.flatnonzero(found.status == gp.OPTIMAL)
    if best.size:
        own = sound[best]
        good[own], why[own] = _optima(answers, d, own, points, _rows_of_found(found, best), solve)
    for reason, count in Counter(why[~good]).items():
        handover.hand_over(reason, count)
    return good


def _rows_of_found(found: Searched, which: Indices) -> Searched:
    return Searched(*(getattr(found, name)[which] for name in Searched.__slots__))


def _optima(
    answers: BlockAnswers,
    d: Batch,
    own: Indices,
    points: NDArray[np.int64],
    found: Searched,
    solve: Solver,
) -> tuple[Bools, Reasons]:
    """Settle the design of points ``own`` that have an optimum, and say what it is worth; tells for which, and why not
    for the others.
    """  # noqa: D205
    why = np.full(own.size, "", object)
    d, goal = divided.part(d, own), d.problem.goal
    assert goal is not None, "it has a goal"
    c, stages = d.arrays, ties.tie_goals(d.problem, goal.name)
    if not all(g.denominator.is_monomial for g in stages):
        return np.zeros(own.size, bool), np.full(own.size, OTHER_TIES, object)
    y, *_ = multipliers.sharpened(c, found.y, solve)
    full, every = answers.plan.full, np.arange(own.size)
    if full and c.allowed:
        # of whole numbers it is also told where they next change
        return np.zeros(own.size, bool), np.full(own.size, beside.UNEXPLAINED, object)
    ranges = np.full((2, *y.shape), np.nan)
    if full:
        chosen = ties.choose(d, every, y, stages, solve)
        y, clear, ranges = chosen.y, chosen.sure.copy(), np.array([chosen.low, chosen.high])
    else:
        y, clear = _chosen_by_ties(d, y, found, solve)
        _mark(why, clear, FAR_APART)
    if c.allowed:
        y, settled = _settled_whole(d, y, clear, found.value, solve)
        clear &= settled
    elif not full:
        chosen = ties.in_face(d, every, y, stages, solve, after=None)
        y, clear = chosen.y, clear & chosen.sure
    _mark(why, clear, WHOLE if c.allowed else TIED)
    force, rates = _multipliers_at(d.problem.variables, c, y, solve, clear, why)
    x = {v.name: canon.si_values(v, y[:, i]) for i, v in enumerate(d.problem.variables)}
    judged = judge(d.question, x, goal.to_user(found.bound), (own.size,))
    # what changes by leaps has no rate
    elasticities = {} if c.allowed else sensitivity.elasticities(judged, c.keys, rates)
    good = judged.good & clear
    answers.put(points[own], judged, good, elasticities)
    if full:
        beside.put_optima(answers, points[own], d, judged, y, force, ranges, good, found.nodes)
    _mark(why, good, MISSED)
    return good, why


def _mark(why: Reasons, good: Bools, reason: str) -> None:
    """Note the first reason for which points are not answered."""
    why[(why == "") & ~good] = reason


def _settled_whole(d: Batch, y: Array, clear: Bools, best: Array, solve: Solver) -> tuple[Array, Bools]:
    """Choose the whole number with the variables of the forms held, then beside it; tells where that is certain."""
    held = _held(d, y, ())
    rule = ties.of_batch(held, solve)
    assert rule is not None, "its stages have monomial divisors"
    t, y, sure = held.table, y.copy(), np.zeros(len(y), bool)
    r = solve(t.exponents, t.logc, t.ptr, held.low, held.high)
    some = np.flatnonzero(clear & (r.status == gp.OPTIMAL))
    y[some], _, sure[some] = geometric_whole.settled(rule, some, optimal_face.taken(r, some))
    for v in d.arrays.allowed:
        _beside(d, rule, y, best, solve, v)
    return y, sure


def _held(d: Batch, y: Array, others: Sequence[int]) -> Batch:
    """Geometric programs: the variables of the divisors' forms, and others by place, held at their values of ``y``."""
    c, held = canon.forms_held(d.arrays, y), [*_places(d.arrays), *others]
    low, high = c.low.copy(), c.high.copy()
    low[:, held] = high[:, held] = y[:, held]
    return replace(d, arrays=replace(c, low=low, high=high))


def _places(c: Canonical) -> Indices:
    """The variables that the divisors' shapes depend on: each form is one alone."""
    return np.asarray(np.argmax(c.forms != 0, axis=1))


def _beside(d: Batch, rule: Stages, y: Array, best: Array, solve: Solver, v: int) -> None:
    """Move designs to a neighbouring value of variable ``v`` where that is as good and the tie rule prefers it.

    What the variables of the forms give up for it is too little to count.
    """
    c = d.arrays
    for up in (1, 0):
        aside = values_beside(c.allowed[v], y[:, v] + (1e-8 if up else -1e-8), c.low[:, v], c.high[:, v])[up]
        tried = np.flatnonzero(np.abs(aside - y[:, v]) > 1e-13)
        own, there = divided.take(c, tried), y[tried]
        there[:, v] = aside[tried]
        r, _ = multipliers.at(multipliers.held_whole(own, there), y[tried], solve)
        tied = np.flatnonzero((r.status == gp.OPTIMAL) & (r.value <= best[tried] + TIE))
        some = tried[tied]
        if not some.size:
            continue
        held = _held(divided.part(d, some), r.y[tied], (v,))
        at_it = ties.of_batch(held, solve)
        assert at_it is not None, "the same stages as before"
        t = held.table
        r = solve(t.exponents, t.logc, t.ptr, held.low, held.high)
        settled = optimal_face.choose(at_it, np.arange(some.size), r)
        better = settled.sure & (r.status == gp.OPTIMAL)
        better &= optimal_face.precedes(rule, some, settled.y, y[some])
        y[some[better]] = settled.y[better]


def _chosen_by_ties(d: Batch, y: Array, found: Searched, solve: Solver) -> tuple[Array, Bools]:
    """Choose by the tie rule where designs are equally good that lie far apart along some form; tells where it is
    certain.
    """  # noqa: D205
    sure, places = np.ones(len(y), bool), _places(d.arrays)
    some = np.flatnonzero((found.high - found.low)[:, places].max(1) > SETTLED_WIDTH)
    if some.size:
        # the search has proved that no design outside is as good
        low, high = d.low.copy(), d.high.copy()
        low[:, places] = np.minimum(found.low, y)[:, places]
        high[:, places] = np.maximum(found.high, y)[:, places]
        near = replace(d.arrays, low=low, high=high)
        ends = ties.reaches(divided.take(near, some), y[some], near.forms, solve)
        some = some[(ends[1] - ends[0] > SETTLED_WIDTH).any(1)]
    if some.size:
        own = divided.part(d, some)
        stages = ties.tie_goals(own.problem, own.problem.goal.name if own.problem.goal else "")
        y[some], sure[some] = ties.by_rule(own.arrays, y[some], stages, solve)
    return y, sure


def _multipliers_at(
    variables: Sequence[Variable],
    c: Canonical,
    y: Array,
    solve: Solver,
    clear: Bools,
    why: Reasons,
) -> tuple[Array, Array]:
    """Some multipliers of the limits, and what these are worth, NaN where that has no end; takes points off ``clear``
    where that is in doubt, and notes ``why``.
    """  # noqa: D205
    r, _ = multipliers.at(multipliers.held_whole(c, y), y, solve)
    pull = np.maximum(r.lower_multipliers, r.upper_multipliers)
    # what is held at a whole number is pulled by nothing else
    pull[:, list(c.allowed)] = np.inf
    clear &= ~held_by_box(variables, (c.low, c.high), y, pull).any(1)
    _mark(why, clear, AT_EDGE)
    if c.allowed:
        return r.multipliers, r.multipliers
    f = canon.values(c, y)
    clear &= kinks.proved(r) & (np.abs(r.value - f[:, 0]) <= AGREES)
    _mark(why, clear, UNSOLVED)
    clear &= ~r.penalised & (r.multipliers.max(1, initial=0.0) <= STRAINED)
    _mark(why, clear, NO_COMMON_INTERIOR)
    # a limit of the model has no rate: of it only is told whether it binds
    open_ones = doubtful(-f[:, 1:], r.multipliers, UNCLEAR) & (asked(c.keys) | (f[:, 1:] < -BINDS))
    clear &= ~open_ones.any(1)
    _mark(why, clear, IN_DOUBT)
    _, d = kinks.at_rows(c, y, r.multipliers, wanted=asked(c.keys), proved=clear)
    return r.multipliers, np.where(d.known[:, None], d.value, np.nan)
