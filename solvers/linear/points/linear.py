"""Linear programs of many points: written once with all their numbers, solved by the dual simplex method, proved again.

Each optimum comes with multipliers, from which its bound follows by weak duality; each point without a design with the
multipliers that prove it, the limits in conflict, and what each would have to give. What the tableau cannot say for
certain (a limit that binds at a degenerate vertex, an end that is only there to have one) is left to be solved point by
point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Integers, Points
from formulations import evaluation
from formulations.arithmetics.many import plain
from formulations.grids import divided, over_grid
from formulations.programs import row_ends
from formulations.programs.program import (
    Program,
    branch_count,
    branches,
    is_inverse,
    is_linear,
    is_ratio,
    linear_cost,
    program,
)
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from solvers import designs, work
from solvers.judgement import bound_of, judge
from solvers.linear import milp, milp_conflicts, milp_ties
from solvers.linear.linear_program import (
    constant_column,
    left_of_rows,
    multiple,
    no_worse,
    ratio_at,
    weak_duality,
)
from solvers.linear.milp_explained import RATE_ROUNDING
from solvers.linear.points import linear_conflicts, mixed
from solvers.linear.points.lp import NotLinear, Rows, Vertices, along, to_user
from solvers.many_points import claims
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import Offer
from solvers.outcome import INFEASIBLE, OPTIMAL

KIND = "linear program"
METHOD = "linear programs solved together by the dual simplex method; bounds from their multipliers"
MIXED = "linear programs of the parts of a branch and bound, solved together; bounds from their multipliers"
FEWEST_COMPILED, FEWEST_WHOLE = 300, 50
"""Points of a grid below which loading the compiled code takes longer than solving them one by one."""
PROGRAMS_TOGETHER = 16_384
"""Points written and solved together."""
MIXED_TOGETHER = 1024
"""Points with whole numbers that are solved together."""
MOST_BRANCHES_SOLVED = 16
"""Ways in which maxima may be held that are still all tried."""
AWAY = 1e-7
"""Of a number's size: less from its end it may be at it, and the vertex degenerate."""


def way(grid: Grid) -> Offer:
    """Return this way where most points of a grid are linear programs."""
    gaps = any(d.integer or d.values is not None for q in claims.kinds(grid) for d in q.decide)
    return claims.offered_by_group(grid, KIND, is_program, over, FEWEST_WHOLE if gaps else FEWEST_COMPILED)


def over(grid: Grid) -> ByGroup:
    """Return the way over a grid; its declared work is so much for each number of the rows of a point's program.

    What is searched costs so much for each point beside.
    """
    problem = work.first_problem(grid)
    p = None if problem is None else problem.program
    numbers = 1.0 if p is None else math.prod(p.rows.shape[-2:]) * branch_count(p)
    whole = p is not None and bool(p.integer.any())
    return ByGroup(
        over_grid.spread(grid),
        answered,
        MIXED_TOGETHER if whole else PROGRAMS_TOGETHER,
        MIXED if whole else METHOD,
        "batch",
        {"mixed point": 1.0, "mixed number": numbers} if whole else {"linear number": numbers},
    )


def is_program(question: Question) -> bool:
    """Whether a question is a linear program at all, told before anything is compiled."""
    if not question.decide or question.idle:
        return False
    if any(d.choices is not None for d in question.decide):
        return False
    if not is_linear(question):
        return False
    try:
        p = program(question)
    except (ValueError, ArithmeticError):
        return False
    return branch_count(p) <= MOST_BRANCHES_SOLVED


def answered(answers: BlockAnswers, block: Block, question: Question, points: Points) -> Bools:
    """Answer some points; tells which are answered."""
    p = _searched_to_rows(program(question))
    _check(p)
    made = _branches(p)
    found, levels, reached = [], [], np.full(len(points), np.inf)
    for b in made:
        aims, under = _aims(b)
        now = mixed.solved(b.rows, b.equal, b.low, b.high, b.integer, aims, len(points), reached, under)
        if p.exact:
            value = (aims[0] * now.u).sum(axis=-1)
            reached = np.where(now.end == OPTIMAL, np.minimum(reached, value), reached)
            levels.append([ratio_at(a, d, now.u) for a, d in zip(aims, under, strict=True)])
        found.append(now)
    which, least = (
        _best_branches(made, found, levels) if p.exact else (np.where(found[0].end == OPTIMAL, 0, -1), None)
    )
    good = np.zeros(len(points), dtype=bool)
    for k, (b, f) in enumerate(zip(made, found, strict=True)):
        own = which == k
        if own.any():
            tree = f.bound if least is None else least
            bound = None if tree is None else tree[own]
            good[own] = _optimal(answers, b, question, points, f, own, bound, len(p.keys))
    none = np.all([f.end == INFEASIBLE for f in found], axis=0)
    names = milp_conflicts.limit_names(p.question, p.keys)
    # that a number is whole may be a part of why there is no design
    if none.any() and all(any(k is not None and k.name == n for k in p.keys) for n in names):
        good[none] = linear_conflicts.told(answers, question, _without_limits_of_amounts, points, none)
    return good


def _searched_to_rows(p: Program) -> Program:
    """A program in which no end of a search is nearer than the ends that rows imply, where these are known."""
    # of an amount of which it is asked whether there is any, rows hold the end of the search
    if p.amounts or not p.boxed.any():
        return p
    implied = row_ends.upper_ends(p.rows, p.low, p.endless, p.integer)
    # what rows hold is not at an end twice as far
    far = p.boxed & np.isfinite(implied) & (implied > p.high)
    return replace(p, high=np.where(far, 2.0 * implied, p.high))


def _without_limits_of_amounts(question: Question) -> list[Program]:
    p = _searched_to_rows(program(question))
    return _branches(linear_conflicts.amounts_without_limits(p) if p.amounts else p)


def _branches(p: Program) -> list[Program]:
    return [_with_rows(p, extra) for extra in branches(p)] if p.exact else [p]


def _check(p: Program) -> None:
    """Raise NotLinear where a program is of another kind."""
    if p.others or branch_count(p) > MOST_BRANCHES_SOLVED:
        raise NotLinear("too many terms of which one must be the largest")
    if p.open:
        raise NotLinear("whether there is any of an amount that only limits end")
    if p.goal is None or p.under is None:
        raise NotLinear("nothing is to be least")
    if p.exact and is_ratio(p.goal, p.under):
        raise NotLinear("a ratio of two things that are decided, with a maximum that is one of its terms")


def _aims(p: Program) -> tuple[list[Array], list[Array | None]]:
    """What is minimised, what settles ties, and every decided quantity, in order of importance; and what divides each.

    A ratio that settles ties is none where one of its two forms has one value where the objective is least.
    """
    first = linear_cost(*milp.objective(p), 0.0)
    aims: list[Array] = []
    divisors: list[Array | None] = []
    for goal, under in (milp.objective(p), *(step[:2] for step in milp_ties.tie_steps(p))):
        ratio = is_ratio(goal, under)
        known = bool(aims) and ratio and divisors[0] is None
        if known and _is_multiple(goal, first):
            aims.append(-under)
        else:
            aims.append(linear_cost(goal, under, 0.0))
        told = known and (_is_multiple(goal, first) or _is_multiple(under, first))
        divisors.append(under if ratio and not told else None)
    return aims, divisors


def _is_multiple(form: Array, of: Array) -> bool:
    """Whether the terms of one form are the same multiple of another's, at each point."""
    return not np.isnan(multiple(form[..., :-1], of[..., :-1])).any()


def _best_branches(
    made: Sequence[Program], found: Sequence[Vertices], levels: Sequence[Sequence[Array]]
) -> tuple[Integers, Array]:
    """Where a maximum must be one of its terms: which branch is the best at each point, and the bound of all.

    ``levels``: of each branch what is least, then what settles ties. -1 where there is none, or two that are as good
    differ in their designs and a limit binds, which may be worth something in one of them alone.
    """
    count = len(found[0].end)
    values, bounds = np.empty((2, len(made), count))
    binds = np.empty((len(made), count), bool)
    for k, (b, f) in enumerate(zip(made, found, strict=True)):
        n = Rows(b, np.ones(count, dtype=bool))
        met, none = f.end == OPTIMAL, f.end == INFEASIBLE
        far = np.where(b.boxed, np.inf, n.high)
        nothing = weak_duality(n.rows, n.equal, n.low, far, np.zeros_like(n.cost), f.y) > 0.0
        values[k], bounds[k], _ = n.bounded(f.u, f.y)
        values[k] = np.where(met, values[k], np.inf)
        if f.bound is not None:
            bounds[k] = f.bound
        if not b.integer.any():
            # of a branch that an end of the search holds nothing is known: there may be better beyond it
            known = met & ~milp.at_searched_end(b, f.u, n.high).any(axis=1)
            bounds[k] = np.where(known, bounds[k], np.where(none & nothing, np.inf, -np.inf))
        binds[k] = (left_of_rows(n.rows, f.u)[:, [key is not None for key in b.keys]] <= AWAY).any(axis=1)
    low = values.min(axis=0)
    tied = np.isfinite(values) & (values <= designs.as_good_as(low))
    branch, point = np.nonzero(tied)
    first = designs.first_of_tied(
        point, count, (np.stack(own)[branch, point] for own in zip(*levels, strict=True))
    )
    which = np.where(first < 0, -1, branch[first]) if branch.size else first
    u = np.stack([f.u for f in found])
    apart = np.abs(u - u[which, np.arange(count)]).max(axis=2) > AWAY
    several = (apart & tied).any(axis=0) & (binds & tied).any(axis=0)
    return np.where(several, -1, which), bounds.min(axis=0)


def _with_rows(p: Program, extra: Array) -> Program:
    """A program with further rows, that are not limits, and no maxima to be held."""
    zeros = np.zeros_like(extra)
    shape = np.broadcast_shapes(p.numerators.shape[:-2], p.denominators.shape[:-2], extra.shape[:-2])

    def more(rows: Array, of: Array) -> Array:
        both = (np.broadcast_to(a, (*shape, *a.shape[-2:])) for a in (rows, of))
        return np.concatenate(list(both), axis=-2)

    count = extra.shape[-2]
    return replace(
        p,
        keys=(*p.keys, *(None for _ in range(count))),
        numerators=more(p.numerators, extra),
        denominators=more(p.denominators, zeros),
        equal=np.append(p.equal, np.zeros(count, dtype=bool)),
        exact=(),
    )


def _optimal(
    answers: BlockAnswers,
    p: Program,
    question: Question,
    points: Points,
    found: Vertices,
    mask: Bools,
    least: Array | None,
    rows: int,
) -> Bools:
    """Judge and take over the points with an optimum.

    ``least``: a bound that holds beside that of the multipliers, if any; ``rows``: how many rows are the program's own.
    """
    u, y = found.u[mask], found.y[mask]
    n = Rows(p, mask)
    good = ~milp.at_searched_end(p, u, n.high).any(axis=1)
    y, least = n.divide(u, y, least)
    n.keep(p.integer, u)
    value, bound, closed = n.bounded(u, y, least)
    good &= closed & _enclosed(p, n, mask, value, rows)
    rates: dict[str, Array] = {}
    asked = divided.at(question, mask)
    if answers.wants_rates:
        rates, sure = _rates(p, asked, n, u, y, value, rows)
        good &= sure
    user_bound = to_user(np.minimum(bound, value), p.sign, over=is_inverse(*n.ratio))
    judged = judge(asked, p.designs(u), user_bound, (len(u),))
    good &= judged.good
    answers.put(points[mask], judged, good, rates)
    return good


def _enclosed(p: Program, n: Rows, mask: Bools, value: Array, count: int) -> Bools:
    """Of which points no better design of whole numbers is beyond an end that only a search has.

    The first ``count`` rows hold whichever term of a maximum is the largest.
    """
    boxed = p.boxed
    if not (p.integer.any() and boxed.any()):
        return np.ones(len(value), dtype=bool)
    stays = np.flatnonzero(~linear_conflicts.of_amounts(p)[:count])
    low, high, own = (along(e, mask, 1) for e in (p.low, p.endless, p.high))
    found = np.zeros(len(value), dtype=bool)
    for k, (rows, cost) in enumerate(zip(n.rows[:, stays], n.cost, strict=True)):
        as_good = no_worse(cost, constant_column(len(cost)), value[k])
        ends = row_ends.sufficient_ends(
            np.vstack([rows, as_good]),
            np.append(n.equal[stays], False),
            low[k],
            high[k],
            p.integer,
        )
        found[k] = (ends <= own[k])[boxed].all()
    return found


def _rates(
    p: Program, question: Question, n: Rows, u: Array, y: Array, value: Array, own: int
) -> tuple[dict[str, Array], Bools]:
    """Elasticities of the objective by limit (see ``solvers.linear.milp_explained.rates``), and where they are certain.

    Relaxing and tightening a limit that binds are mirrors of each other where the vertex is not degenerate. Rows beyond
    the first ``own`` turn others of them round.
    """
    keys = [k for k in p.keys if k is not None]
    whole = bool(p.integer.any())
    if whole and not any(isinstance(c, str) and not i for c, i in zip(p.columns, p.integer, strict=True)):
        return {}, np.ones(len(u), dtype=bool)
    left = left_of_rows(n.rows, u)
    size = np.maximum(np.abs(u[:, :-1]), 1e-3)
    at_low, at_high = u[:, :-1] - n.low <= AWAY * size, n.high - u[:, :-1] <= AWAY * size
    at_end = at_low | at_high
    held = left[:, :own] <= AWAY
    terms = n.rows[:, :own, :-1]
    if whole:
        # rows that only say again what whole numbers leave of others
        high = row_ends.upper_ends(n.rows, n.low, n.high, np.zeros_like(p.integer))
        terms = terms * (high - n.low > AWAY * size)[:, None]
        held &= terms.any(axis=2)
    # of one number, a row that is no limit only says again what its end says
    none = np.flatnonzero([key is None for key in p.keys[:own]])
    terms = terms[:, none]
    again = (((terms < 0.0) & at_low[:, None]) | ((terms > 0.0) & at_high[:, None])).any(axis=2)
    held[:, none] &= ~again | (np.count_nonzero(terms, axis=2) > 1)
    # as many rows and ends hold with equality as there are numbers: no more, or the vertex is degenerate
    tight = held.sum(axis=1) + at_end.sum(axis=1)
    simple = tight == u.shape[1] - 1
    found: dict[str, Array] = {}
    by = -value if is_inverse(*milp.objective(p)) else value
    # of what may be below zero nothing is worth a percentage
    sure = by > 0.0
    for i, key in enumerate(p.keys):
        if key is None or key.side == "model":
            continue
        active = left[:, i] <= RATE_ROUNDING
        denominators = np.einsum("pj,pj->p", n.denominators[:, i], u)
        change = -y[:, i] * denominators
        rate = (-1.0 if key.side == "min" else 1.0) * p.sign * change / by
        told = active & (np.abs(rate) >= RATE_ROUNDING)
        rate = np.where(told, rate, np.nan if whole else 0.0)
        bound = np.asarray(plain(bound_of(question, key)), dtype=float)
        found[evaluation.label(key, keys)] = np.where(bound == 0.0, np.nan, rate)
        sure &= ~active | simple
        sure &= active | (left[:, i] > AWAY)
    return found, sure
