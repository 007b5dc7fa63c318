"""The answers of a block of geometric programs or ratios of sums: status, design, bound and sensitivities, as arrays.

The kernel or a branch and bound over it minimises, ``optima`` settles the designs by the tie rule, ``judgement``
evaluates them and ``sensitivity`` has the elasticities of limits. What the end of the search box alone holds or
forbids is solved again in a far larger box. Of many points, what stays in doubt (a limit about to bind) is left over,
with the reason. A single question is a block of one (``solvers.geometric.structured``): it has nobody to be left over
to, is searched more closely, and what it would leave in doubt is told as the feasible design that it is.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dse.system.arrays import Array, Bools, Codes, Indices, Integers
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE
from formulations.canonical import Canonical
from formulations.evaluation import LARGEST_CALCULABLE
from formulations.grids import divided
from formulations.grids.batch import Batch, of_problem
from formulations.problem import Kind
from formulations.row_keys import RowKey
from formulations.tolerances import BINDS
from results.solution import Status
from results.variables import STATUS_CODES
from solvers.geometric.explaining import geometric_conflicts
from solvers.geometric.explaining.geometric_conflicts import Oracle, first_minimal
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch, kinks, multipliers, optima, ties
from solvers.geometric.programs.branch import Reached, Searched
from solvers.geometric.programs.crossover import doubtful
from solvers.geometric.programs.optima import STRAINED
from solvers.geometric.programs.optimal_face import Solver, Stages
from solvers.geometric.programs.polishing import UNCLEAR
from solvers.geometric.programs.unbounded import at_open_ends, held_by_box, runaway
from solvers.judgement import Judged, judge
from solvers.many_points.blocks import BEATEN
from solvers.mechanisms import sensitivity

if TYPE_CHECKING:
    from solvers.geometric.neighbours.neighbour_proofs import Found

Reasons = NDArray[np.object_]

PROOFS = {
    Kind.LP: "convex in log variables; lower bound from Lagrangian duality, independent of any solver's tolerance",
    Kind.GP: "convex in log variables; lower bound from Lagrangian duality, independent of any solver's tolerance",
    Kind.MILP: "branch and bound on discrete values; lower bounds from Lagrangian duality",
    Kind.MIGP: "branch and bound on discrete values; lower bounds from Lagrangian duality",
    Kind.NLP: "branch and bound, monomial secants; lower bounds from Lagrangian duality",
    Kind.MINLP: "branch and bound on discrete values, monomial secants; lower bounds from Lagrangian duality",
}
NO_DESIGN = "no design meets all limits; "
NOT_FINITE = "a coefficient that is not a finite number"
UNSOLVED = "the interior point ended without a proof"
CONFLICT = "a conflict that was not proved to be minimal, or that an end of the search box has part in"
AT_EDGE = "an optimum held by an end of the search box"
IN_DOUBT = "limits of which it is not settled whether they bind"
TIED = "designs equally good between which the tie rule did not decide"
OTHER_TIES = "a tie rule that asks for what is not a posynomial"
MISSED = "a design that misses a limit, or a gap that is not closed"
SURELY_WORSE = 2e-6
"""Of the objective: what is worse by this is no part of the answer, whatever ties are granted."""
NODES_BEFORE_PINNED = 400
"""Nodes of one question after which it is asked whether a limit leaves only the designs that attain it."""
NODES_OF_STRAINED = 4 * NODES_BEFORE_PINNED
"""Nodes of one question of which a limit is at the least value that it can have: more narrow no gap."""
AGREES = 2e-8
"""In logs: the optimum of the tangent program, and the design that it is the tangent program of."""


def of_search(proof: str, nodes: int) -> str:
    """Return what proves an optimum, with the nodes that it took if it was searched for."""
    return proof + (f"; {nodes} nodes" if nodes > 1 else "")


@dataclass(slots=True)
class Answers:
    """What is known of the N points of a block, filled in as they are answered.

    ``status``: its code at each point, 0 where the point is left over. At points that are optimal: their designs ``y``
    in logs (N, n), a bound ``value`` in logs, and ``multipliers`` (N, limits); ``elasticity``: of the user's limits the
    least of these where they are not unique, NaN where they have no end. ``plain``: where the bound follows from these
    multipliers and the limits as they stand. ``ranges`` (2, N, n): ends in logs of what is not unique, NaN elsewhere.
    ``beyond``: what nothing as good lies beyond, where these ends are not proved. ``tied``: where the tie rule is known
    to have decided; of one question ``floors``: see ``Chosen``.
    ``nodes``: how many the search took. ``why``: for what reason a point is left over. ``runs``: where a number runs
    away, which one, and whether it falls. ``conflict``: (N, names) the limits of ``names`` that stand in the conflict
    of an infeasible point. ``judged``: the designs by the model's own equations.
    """

    status: Codes
    y: Array
    value: Array
    multipliers: Array
    elasticity: Array
    plain: Bools
    ranges: Array
    beyond: Array
    tied: Bools
    nodes: Integers
    why: Reasons
    runs: Reasons
    names: tuple[str, ...] = field(init=False)
    conflict: Bools = field(init=False)
    judged: Judged = field(init=False)
    floors: Array = field(init=False)


@dataclass(frozen=True, slots=True)
class Part:
    """Optima that are ``found`` of some ``points`` of a batch, before it is settled which designs are handed out.

    ``rule``: the tie rule of many points (None: of one question, whose stages may divide by sums). ``known``: what the
    kernel says of the optima, where that was asked.
    """

    batch: Batch
    rule: Stages | None
    points: Indices
    found: Searched
    known: gp.Result | None

    def take(self, good: Bools) -> Part:
        """Return some of the optima."""
        known = None if self.known is None else self.known.take(good)
        return replace(self, points=self.points[good], found=self.found.take(good), known=known)


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
    s = blank(batch)
    if near is not None:
        s.status[near.conflicting] = STATUS_CODES[Status.INFEASIBLE]
        s.status[near.best] = STATUS_CODES[Status.OPTIMAL]
        s.y[near.best], s.value[near.best], s.multipliers[near.best] = near.y, near.bound, near.multipliers
        s.elasticity[near.best] = near.multipliers
    points = np.flatnonzero(np.isfinite(batch.table.logc).all(1) & (s.status == 0))
    slack = optima.granted(batch.problem)
    own = batch if slack is batch.problem else of_problem(slack, slack.goal, batch.shape)
    assert own is not None, "slack changes coefficients alone"
    part, none = searched(s, own, rule, points, solve, tied=tied)
    if below is not None:
        part = _unbeaten(s, part, below)
    settle(s, part, solve, strained, ranged=ranged, tied=tied)
    s.names, s.conflict = _refuted(batch, none, solve, s.status, why=why)
    if near is not None:
        s.conflict[near.conflicting] = near.members
    again = to_ask_farther(s, points)
    if again.size:
        far = of_problem(optima.eased(batch.problem), batch.problem.goal, batch.shape)
        there = None if far is None else ties.of_batch(far, solve)
        if far is not None and there is not None:
            part, _ = searched(s, far, there, again, solve, last=True, tied=tied)
            settle(s, part, solve, strained, ranged=ranged, tied=tied)
            s.plain[again] = False
    judge_designs(batch, s, alone=alone)
    return s


def blank(batch: Batch) -> Answers:
    """Nothing is known yet of the points of a block."""
    t, n, m = batch.table, batch.low.shape[1], len(batch.keys)
    count = len(t.logc)
    return Answers(
        np.zeros(count, np.int8), np.full((count, n), np.nan), np.full(count, np.nan),
        np.zeros((count, m)), np.zeros((count, m)), np.ones(count, bool), np.full((2, count, n), np.nan),
        np.full((2, count, n), np.nan), np.ones(count, bool),
        np.ones(count, np.int64), np.full(count, NOT_FINITE, object), np.full(count, None, object),
    )  # fmt: skip


def to_ask_farther(s: Answers, points: Indices) -> Indices:
    """Points of which an end of the search box alone holds the optimum, or forbids a design for all that is known."""
    found: Indices = points[
        (s.why[points] == AT_EDGE) | ((s.why[points] == CONFLICT) & (s.status[points] == 0))
    ]
    return found


def searched(
    s: Answers,
    batch: Batch,
    rule: Stages | None,
    points: Indices,
    solve: Solver,
    *,
    last: bool = False,
    stated: bool = True,
    tied: bool = True,
    reached: Reached | None = None,
) -> tuple[Part, Indices]:
    """Search points; note in ``s`` what has no end or is in doubt. Returns the optima, and points without a design.

    ``last``: the ends of the search box are as far away as they go. ``stated``: the goal is the user's, not only what
    ties go to. ``tied``: see ``answered``. ``reached``: see ``branch.closely``, of one question.
    """
    c = divided.take(batch.arrays, points)
    if rule is None:
        few = NODES_BEFORE_PINNED if reached is None and c.divisors and not c.allowed else branch.MOST_NODES
        most = few if reached is None or reached.most is None else reached.most
        r = branch.closely(c, reached=reached, reach=tied, most=most)
        if few < branch.MOST_NODES and r.status[0] == gp.FAILED:
            # the slack of a limit at the least value that it can have is worth more than any gap that closes
            tight = not np.isnan(r.y).any() and optima.is_strained(batch, points, r.y, solve)
            if not (tight and optima.is_pinned(batch, points, r.y, solve, r.bound)):
                most = NODES_OF_STRAINED if tight else branch.MOST_NODES
                r = branch.closely(c, reached=reached, reach=tied, most=most)
        met = ~np.isnan(r.y[:, 0])
    else:
        r = branch.search(c, solve, value_only=not tied)
        met = r.status == gp.OPTIMAL
    s.nodes[points], s.why[points] = r.nodes, np.where(r.status == gp.INFEASIBLE, CONFLICT, UNSOLVED)
    # what is not solved may be proved to be worse than something else all the same
    open_ones = r.status == gp.FAILED
    s.value[points[open_ones]] = r.bound[open_ones]
    none: Indices = points[r.status == gp.INFEASIBLE]
    c, r = divided.take(c, met), r.take(met)
    known = r.alone
    if known is None and met.any() and not c.allowed:
        known = multipliers.at(c, r.y, solve)[0]
    part = Part(batch, rule, points[met], r, known)
    if stated and met.any():
        part = part.take(~_without_end(s, part, c, solve, last=last))
    return part, none


def _without_end(s: Answers, part: Part, c: Canonical, solve: Solver, *, last: bool) -> Bools:
    """Which optima are none: their goal has no end, or is held by an end of the search box alone. ``s`` takes which."""
    variables, points, y, box = part.batch.problem.variables, part.points, part.found.y, (c.low, c.high)
    way = None if c.divisors else runaway(part.batch.arrays, variables)
    if way is not None:
        s.status[points] = STATUS_CODES[Status.UNBOUNDED]
        for i in points:
            s.runs[i] = way
        return np.ones(points.size, bool)
    held = np.zeros(y.shape, bool)
    if at_open_ends(variables, box, y).any():
        r = part.known or multipliers.at(c, y, solve)[0]
        held = held_by_box(variables, box, y, np.maximum(r.lower_multipliers, r.upper_multipliers))
    # of what ran away before a design where floats end tells nothing
    before = np.array([run is not None for run in s.runs[points]])
    lost = before & last & (np.abs(y) > math.log(LARGEST_CALCULABLE)).any(1)
    gone = held.any(1) | lost
    s.why[points[gone]] = AT_EDGE
    for i in np.flatnonzero(gone & ~lost):
        k = int(held[i].argmax())
        s.runs[points[i]] = (c.names[k], bool(y[i, k] - c.low[i, k] < c.high[i, k] - y[i, k]))
    if last:
        s.status[points[gone]] = STATUS_CODES[Status.UNBOUNDED]
    return gone


def settle(
    s: Answers,
    part: Part,
    solve: Solver,
    strained: float = STRAINED,
    *,
    ranged: bool = False,
    tied: bool = True,
    sharp: bool = False,
) -> None:
    """Put designs by the tie rule, bounds and multipliers of optima into place, or why there are none.

    ``strained``, ``tied``: see ``optima.settled``. ``ranged``: see ``answered``. ``sharp``: sharpen the designs, as
    those of searches and of one question always are.
    """
    batch, best, found, one = part.batch, part.points, part.found, part.rule is None
    if not best.size:
        return
    own, searched = divided.take(batch.arrays, best), found.alone is None
    # of whole numbers that may yet lose against other choices only the value is asked, which the search proves
    sharp = (sharp or searched or one) and not (one and own.allowed and not tied)
    there = optima.settled(
        batch, best, found.y, solve, part.known,
        rule=part.rule, sharp=sharp, tied=tied, after=0 if ranged else None, strained=strained,
        within=(found.low, found.high) if searched and tied else None, bound=found.bound,
    )  # fmt: skip
    known, chosen, sure = there.known, there.chosen, there.crossed
    if own.allowed:
        # of whole numbers nobody is told what limits are worth
        sure = np.ones(best.size, bool)
    elif searched and not one:
        known, sure = _multipliers_at_designs(own, chosen.y, solve)
    s.y[best], s.plain[best], bound = chosen.y, ~there.pinned, found.bound
    if known is not None:
        s.multipliers[best], bound = known.multipliers, bound if searched else known.bound
    s.value[best] = np.where(there.pinned, there.bound, bound)
    s.ranges[:, best], s.beyond[:, best] = (chosen.low, chosen.high), (chosen.least, chosen.most)
    s.tied[best], s.floors = chosen.sure, chosen.floors
    if known is not None and not (own.allowed or one):
        proved = sure if searched else None
        _, d = kinks.at_rows(own, chosen.y, known.multipliers, wanted=asked(batch.keys), proved=proved)
        s.elasticity[best] = np.where(d.known[:, None], d.value, np.nan)
    s.why[best] = np.where(sure | there.pinned, TIED, IN_DOUBT)
    # one question has nobody to be left over to
    good = (sure | there.pinned) & chosen.sure | one
    code = np.where(
        (found.status == gp.OPTIMAL) | there.pinned,
        STATUS_CODES[Status.OPTIMAL],
        STATUS_CODES[Status.FEASIBLE],
    )
    s.status[best[good]] = code[good]


def _unbeaten(s: Answers, part: Part, below: Array) -> Part:
    """Leave out the optima whose bound (in logs) proves that every design is worse than an objective."""
    goal, points, bound = part.batch.problem.aim, part.points, part.found.bound
    beaten = part.batch.question.sign * (goal.to_user(bound) - below[points]) > SURELY_WORSE * np.abs(
        below[points]
    )
    s.value[points[beaten]], s.why[points[beaten]] = bound[beaten], BEATEN
    return part.take(~beaten)


def _multipliers_at_designs(c: Canonical, y: Array, solve: Solver) -> tuple[gp.Result, Bools]:
    """What the kernel says of the programs with their divisors' tangents at designs; where it is clear what binds."""
    r, _ = multipliers.at(c, y, solve)
    f = canon.values(c, y)
    # a limit of the model has no rate: of it only is told whether it binds
    open_ones = doubtful(-f[:, 1:], r.multipliers, UNCLEAR) & (asked(c.keys) | (f[:, 1:] < -BINDS))
    free = r.penalised | (r.multipliers.max(1, initial=0.0) > STRAINED)
    sure = kinks.proved(r) & (np.abs(r.value - f[:, 0]) <= AGREES) & ~free & ~open_ones.any(1)
    return r, sure


def _refuted(
    batch: Batch, points: Indices, solve: Solver, status: Codes, *, why: bool
) -> tuple[tuple[str, ...], Bools]:
    """Call points infeasible that are so with the slack limits are granted, and without the edges of the box."""
    names = geometric_conflicts.limit_names(batch.problem)
    if not points.size:
        return names, np.zeros((batch.size, len(names)), bool)
    first, which = geometric_conflicts.alike(batch, points)
    members, found = (x[which] for x in first_minimal([Oracle(batch, points[first], names, solve)], why=why))
    conflict = np.zeros((batch.size, len(names)), bool)
    status[points[found]] = STATUS_CODES[Status.INFEASIBLE]
    conflict[points[found]] = members[found]
    return names, conflict


def judge_designs(batch: Batch, s: Answers, *, alone: bool = True) -> None:
    """Re-evaluate the model at the designs and judge them by that alone; ``alone``: see ``answered``."""
    shape = batch.shape
    x = {
        v.name: canon.si_values(v, s.y[:, i]).reshape(shape)
        for i, v in enumerate(batch.problem.variables)
        if not v.auxiliary
    }
    s.judged = judge(batch.question, x, batch.problem.aim.to_user(s.value).reshape(shape), shape)
    good = s.judged.good if alone else s.judged.sound & ~s.judged.beside_pole()
    missed = (s.status == STATUS_CODES[Status.OPTIMAL]) & ~good
    s.status[missed], s.why[missed] = 0, MISSED


def elasticities(batch: Batch, a: Answers) -> dict[str, Array]:
    """Elasticities of the user's limits, by their labels; whole numbers have no rate."""
    if batch.arrays.allowed:
        return {}
    shares = sensitivity.shares_of_bounds(batch.problem, a.judged, a.y, batch.keys)
    return sensitivity.elasticities(a.judged, batch.keys, a.elasticity * shares)


def asked(keys: tuple[RowKey, ...]) -> Bools:
    """Which limits are the user's."""
    return np.array([key.side not in ("model", SIDE) for key in keys], dtype=bool)
