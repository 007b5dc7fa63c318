"""The answers of a block of geometric programs or ratios of sums: status, design, bound and sensitivities, as arrays.

The kernel or a branch and bound over it minimises, ``optima`` settles the designs by the tie rule, ``judgement``
evaluates them and ``sensitivity`` has the elasticities of limits, as for a single question. What the end of the search
box alone holds or forbids is solved again in a far larger box. What stays in doubt (a limit about to bind) is left
over, with the reason.
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE
from formulations.canonical import Canonical
from formulations.grids import divided
from formulations.grids.batch import Batch, of_problem, without_divisors
from formulations.grids.divided import Indices
from formulations.row_keys import RowKey
from formulations.tolerances import BINDS
from results.dataset import STATUS_CODES
from results.solution import Status
from solvers.geometric import kinks
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_terms import Array
from solvers.geometric.neighbours.neighbour_proofs import Found
from solvers.geometric.points import geometric_whole
from solvers.geometric.programs import branch, geometric_conflicts, multipliers, optima, ties
from solvers.geometric.programs.branch import Searched
from solvers.geometric.programs.crossover import doubtful
from solvers.geometric.programs.geometric_conflicts import first_minimal
from solvers.geometric.programs.optima import STRAINED
from solvers.geometric.programs.optimal_face import Solver, Stages
from solvers.geometric.programs.polishing import UNCLEAR
from solvers.geometric.programs.unbounded import held_by_box, runaway
from solvers.judgement import Judged, judge
from solvers.mechanisms import sensitivity

Bools = NDArray[np.bool_]
Reasons = NDArray[np.object_]

NOT_FINITE = "a coefficient that is not a finite number"
UNSOLVED = "the interior point ended without a proof"
CONFLICT = "a conflict that was not proved to be minimal, or that an end of the search box has part in"
NO_COMMON_INTERIOR = "limits without a common interior"
AT_EDGE = "an optimum held by an end of the search box"
IN_DOUBT = "limits of which it is not settled whether they bind"
TIED = "designs equally good between which the tie rule did not decide"
OTHER_TIES = "a tie rule that asks for what is not a posynomial"
WHOLE = "whole numbers that one branching does not settle"
MISSED = "a design that misses a limit, or a gap that is not closed"
BEATEN = "a bound that proves it worse than what is known beside it"
WORSE = 2e-6
"""Of the objective: what is worse by this is no part of the answer, whatever ties are granted."""
AGREES = 2e-8
"""In logs: the optimum of the tangent program, and the design that it is the tangent program of."""


@dataclass(slots=True)
class Answers:
    """What is known of the N points of a block, filled in as they are answered.

    ``status``: its code at each point, 0 where the point is left over. At points that are optimal: their designs ``y``
    in logs (N, n), a bound ``value`` in logs, and ``multipliers`` (N, limits); ``elasticity``: of the user's limits the
    least of these where they are not unique, NaN where they have no end. ``plain``: where the bound follows from these
    multipliers and the limits as they stand. ``ranges`` (2, N, n): ends in logs of what is not unique, NaN elsewhere.
    ``nodes``: how many the search took. ``why``: for what reason a point is left over. ``conflict``: (N, names) the
    limits of ``names`` that stand in the conflict of an infeasible point. ``judged``: the designs by the model's own
    equations.
    """

    status: NDArray[np.int8]
    y: Array
    value: Array
    multipliers: Array
    elasticity: Array
    plain: Bools
    ranges: Array
    nodes: NDArray[np.int64]
    why: Reasons
    names: tuple[str, ...] = field(init=False)
    conflict: Bools = field(init=False)
    judged: Judged = field(init=False)


def answered(
    batch: Batch,
    solve: Solver,
    *,
    why: bool = True,
    rule: Stages | None = None,
    near: Found | None = None,
    strained: float = STRAINED,
    ranged: bool = False,
    alone: bool = True,
    below: Array | None = None,
    tied: bool = True,
) -> Answers | None:
    """Answer the points of a block; None where the tie rule asks for what is not a posynomial over a monomial.

    ``why``: find out for points without a design which limits are in conflict. ``rule``: the tie rule, if it is at
    hand. ``near``: points that are settled already. ``strained``: see ``optima.settled``. ``ranged``: find out how far
    variables range that are not unique. ``alone``: not one of several cases, whose optimum a design may better.
    ``below`` (N,): objectives that something else reaches (NaN: none); what is surely worse is left with its bound.
    ``tied``: hand out the design that the tie rule wants, otherwise any of the best.
    """
    rule = rule or ties.of_batch(batch, solve)
    if rule is None:
        return None
    t, n, m = batch.table, batch.low.shape[1], len(batch.keys)
    s = Answers(
        np.zeros(batch.size, np.int8), np.full((batch.size, n), np.nan), np.full(batch.size, np.nan),
        np.zeros((batch.size, m)), np.zeros((batch.size, m)), np.ones(batch.size, bool),
        np.full((2, batch.size, n), np.nan), np.ones(batch.size, np.int64), np.full(batch.size, NOT_FINITE, object),
    )  # fmt: skip
    if near is not None:
        s.status[near.conflicting] = STATUS_CODES[Status.INFEASIBLE]
        s.status[near.best] = STATUS_CODES[Status.OPTIMAL]
        s.y[near.best], s.value[near.best], s.multipliers[near.best] = near.y, near.bound, near.multipliers
        s.elasticity[near.best] = near.multipliers
    points = np.flatnonzero(np.isfinite(t.logc).all(1) & (s.status == 0))
    none = _put_optima(s, rule, points, strained, ranged=ranged, below=below, tied=tied)
    s.names, s.conflict = _refuted(batch, none, solve, s.status, why=why)
    if near is not None:
        s.conflict[near.conflicting] = near.members
    again = points[(s.why[points] == AT_EDGE) | ((s.why[points] == CONFLICT) & (s.status[points] == 0))]
    if again.size and batch.discrete is None:
        fits = divided.by_few_forms if batch.arrays.divisors else without_divisors
        far = of_problem(optima.eased(batch.problem), batch.problem.goal, batch.shape, fits)
        there = None if far is None else ties.of_batch(far, solve)
        if there is not None:
            _put_optima(s, there, again, strained, ranged=ranged, last=True, tied=tied)
            s.plain[again] = False
    judge_designs(batch, s, alone=alone)
    return s


def _put_optima(
    s: Answers,
    rule: Stages,
    points: Indices,
    strained: float,
    *,
    ranged: bool,
    last: bool = False,
    below: Array | None = None,
    tied: bool,
) -> Indices:
    """Solve points and put what is optimal or unbounded into place; returns the points that have no design.

    ``last``: the ends of the search box are as far away as they go.
    """
    b, c = rule.batch, divided.take(rule.batch.arrays, points)
    r = branch.search(c if c.divisors else replace(c, allowed={}), rule.solve, value_only=not tied)
    s.nodes[points], s.why[points] = r.nodes, np.where(r.status == gp.INFEASIBLE, CONFLICT, UNSOLVED)
    none: Indices = points[r.status == gp.INFEASIBLE]
    good = r.status == gp.OPTIMAL
    best, c, r = points[good], divided.take(c, good), r.take(good)
    if not c.divisors and runaway(b.arrays, b.problem.variables):
        s.status[best] = STATUS_CODES[Status.UNBOUNDED]
    elif best.size:
        known = r.alone or multipliers.at(multipliers.held_whole(c, r.y), r.y, rule.solve)[0]
        pull = np.maximum(known.lower_multipliers, known.upper_multipliers)
        if c.divisors:
            # what is held at a whole number is pulled by nothing else
            pull[:, list(c.allowed)] = np.inf
        held = held_by_box(b.problem.variables, (c.low, c.high), r.y, pull).any(1)
        s.why[best] = np.where(held, AT_EDGE, "")
        if last:
            s.status[best[held]] = STATUS_CODES[Status.UNBOUNDED]
        kept = ~held
        if below is not None:
            beaten = kept & _beaten(b, r.bound, below[best])
            s.value[best[beaten]], s.why[best[beaten]] = r.bound[beaten], BEATEN
            kept &= ~beaten
        best, regular = best[kept], known.take(kept)
        if c.allowed and not c.divisors:
            _put_whole(s, rule, best, regular, strained)
        else:
            _put_settled(s, rule, best, r.take(kept), regular, strained, ranged=ranged, tied=tied)
    return none


def _beaten(batch: Batch, bound: Array, below: Array) -> Bools:
    """Where a bound (in logs) proves that every design is worse than an objective."""
    goal = batch.problem.goal
    assert goal is not None, "a batch has a goal"
    sign = -1.0 if batch.question.objectives[0].maximize else 1.0
    return np.asarray(sign * (goal.to_user(bound) - below) > WORSE * np.abs(below))


def _put_whole(s: Answers, rule: Stages, best: Indices, regular: gp.Result, strained: float) -> None:
    """Put designs and bounds of optima with a whole number into place, or why there are none; it has no ranges."""
    free = regular.penalised | (regular.multipliers.max(1, initial=0.0) > strained)
    s.why[best] = np.where(free, NO_COMMON_INTERIOR, WHOLE)
    best, regular = best[~free], regular.take(~free)
    s.y[best], value, clear = geometric_whole.settled(rule, best, regular)
    # what one branching does not settle is not below its relaxation
    s.value[best] = np.where(clear, value, regular.bound)
    s.status[best[clear]] = STATUS_CODES[Status.OPTIMAL]


def _put_settled(
    s: Answers,
    rule: Stages,
    best: Indices,
    found: Searched,
    regular: gp.Result,
    strained: float,
    *,
    ranged: bool,
    tied: bool,
) -> None:
    """Put designs by the tie rule, bounds and multipliers of the optima ``best`` into place, or why there are none."""
    own = divided.take(rule.batch.arrays, best)
    searched = bool(own.divisors)
    there = optima.settled(
        rule.batch, best, found.y, rule.solve, regular,
        rule=rule, sharp=searched, tied=tied, after=0 if ranged else None, strained=strained,
        within=(found.low, found.high) if searched and tied else None,
    )  # fmt: skip
    known, chosen, sure = there.known, there.chosen, there.crossed
    if searched:
        known, sure = _multipliers_at_designs(own, chosen.y, rule.solve)
    s.y[best], s.multipliers[best], s.plain[best] = chosen.y, known.multipliers, ~there.pinned
    bound = found.bound if searched else known.bound
    s.value[best] = np.where(there.pinned, chosen.first, bound)
    s.ranges[:, best] = chosen.low, chosen.high
    if not own.allowed:
        proved = sure if searched else None
        _, d = kinks.at_rows(own, chosen.y, known.multipliers, wanted=asked(rule.batch.keys), proved=proved)
        s.elasticity[best] = np.where(d.known[:, None], d.value, np.nan)
    settled = sure | there.pinned
    s.why[best] = np.where(settled, TIED, IN_DOUBT)
    s.status[best[settled & chosen.sure]] = STATUS_CODES[Status.OPTIMAL]


def _multipliers_at_designs(c: Canonical, y: Array, solve: Solver) -> tuple[gp.Result, Bools]:
    """What the kernel says of the programs whose divisors are their tangents at designs; where it is clear what binds.

    Of whole numbers nobody is told what limits are worth.
    """
    r, _ = multipliers.at(multipliers.held_whole(c, y), y, solve)
    f = canon.values(c, y)
    # a limit of the model has no rate: of it only is told whether it binds
    open_ones = doubtful(-f[:, 1:], r.multipliers, UNCLEAR) & (asked(c.keys) | (f[:, 1:] < -BINDS))
    free = r.penalised | (r.multipliers.max(1, initial=0.0) > STRAINED)
    sure = kinks.proved(r) & (np.abs(r.value - f[:, 0]) <= AGREES) & ~free & ~open_ones.any(1)
    return r, sure | bool(c.allowed)


def _refuted(
    batch: Batch, points: Indices, solve: Solver, status: NDArray[np.int8], *, why: bool
) -> tuple[tuple[str, ...], Bools]:
    """Call points infeasible that are so with the slack limits are granted, and without the edges of the box."""
    names = geometric_conflicts.limit_names(batch.problem)
    members, found = first_minimal(geometric_conflicts.oracle(batch, points, names, solve), why=why)
    conflict = np.zeros((batch.size, len(names)), bool)
    status[points[found]] = STATUS_CODES[Status.INFEASIBLE]
    conflict[points[found]] = members[found]
    return names, conflict


def judge_designs(batch: Batch, s: Answers, *, alone: bool = True) -> None:
    """Re-evaluate the model at the designs and judge them by that alone; ``alone``: see ``answered``."""
    goal, shape = batch.problem.goal, batch.shape
    assert goal is not None, "a batch has a goal"
    x = {
        v.name: canon.si_values(v, s.y[:, i]).reshape(shape)
        for i, v in enumerate(batch.problem.variables)
        if not v.auxiliary
    }
    s.judged = judge(batch.question, x, goal.to_user(s.value).reshape(shape), shape)
    good = s.judged.good if alone else s.judged.sound
    missed = (s.status == STATUS_CODES[Status.OPTIMAL]) & ~good
    s.status[missed], s.why[missed] = 0, MISSED


def elasticities(batch: Batch, a: Answers) -> dict[str, Array]:
    """Elasticities of the user's limits, by their labels; whole numbers have no rate."""
    return {} if batch.discrete is not None else sensitivity.elasticities(a.judged, batch.keys, a.elasticity)


def asked(keys: tuple[RowKey, ...]) -> Bools:
    """Which limits are the user's."""
    return np.array([key.side not in ("model", SIDE) for key in keys], dtype=bool)
