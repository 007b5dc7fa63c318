"""Which of many optimal designs to hand out, and how far the others reach: what decides, in which order.

Whole numbers and forms that divisors depend on are settled by branching, the rest in the optimal face
(``solvers.geometric.programs.optimal_face``).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from formulations import canonical as canon
from formulations.arithmetics.maxima import names_in, split
from formulations.arithmetics.posynomial import Posynomial
from formulations.canonical import Canonical
from formulations.grids.batch import Batch, Table
from formulations.grids.divided import goal_at, take
from formulations.problem import Goal, Problem, Row, symbols
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from solvers.geometric.kernel import gp
from solvers.geometric.programs import multipliers, nudges, optimal_face
from solvers.geometric.programs.nudges import SETTLED_WIDTH
from solvers.geometric.programs.optimal_face import Chosen, Solver, Stages
from solvers.outcome import ENUMERATION

Box = tuple[Array, Array]
WHOLE_WIDTH = 1e-12
"""In logs: whole numbers that reach no farther are settled."""
NEXT, NEXT_AFTER_FIRST = 0.1, 1e-3
"""What a stage counts beside the one before it, and where the first one would give up something for it."""
FIRST_LOST = 1e-5
"""In logs: what the first stage may give up for later ones; designs are sharper than searches for them."""
EVERYWHERE = math.log(1e30)
"""A stage that gives way to an earlier one may grow by any factor."""
UNSETTLED = "ties were not settled: where other designs are as good, any of them may be handed out"
"""What an answer says of a search or a method that did not go by the order of ties."""
UNRANGED = "how far the designs reach that are as good was not settled: optimal ranges may be wider"
"""What an answer says where a search for the ends of its ranges was not closed."""


def tie_goals(problem: Problem, optimised: str) -> list[Goal]:
    """What ties go to, in order (``Question.tie_order``), then smaller decided quantities in file order."""
    goals = []
    unknowns = {v.name for v in problem.variables}
    known = problem.known or symbols(problem.question)
    for name in dict.fromkeys((*problem.question.tie_order, *(v.name for v in problem.variables))):
        r = None if name == optimised else known.get(name)
        if (
            r is None
            or not r.numerator.terms
            or (name in problem.question.ties and not r.denominator.is_monomial)
        ):
            continue
        pair = split((r.numerator, r.denominator))
        # a maximum that this problem does not hold decides no tie
        if names_in(pair) <= unknowns:
            goals.append(Goal(name, *pair))
    return goals


def unsettled(problem: Problem, solver: str) -> tuple[str, ...]:
    """Return the names in the file's order of ties by which ``solver`` could not settle the ties of this problem."""
    question = problem.question
    goal = question.objectives[0].name if question.objectives else ""
    asked = [name for name in question.ties if name != goal]
    if not asked or solver == ENUMERATION:
        return ()
    if problem.program is not None:
        settled = {name for name, *_ in problem.program.ties}
    elif problem.rows is None and not problem.cases:
        settled = set()
    else:
        settled = {g.name for case in problem.cases or (problem,) for g in tie_goals(case, goal)}
    return tuple(name for name in asked if name not in settled)


def no_worse(goal: Goal, log_value: float) -> Row:
    """A row that keeps the goal at its optimum, within TIE."""
    scale = Posynomial({(): float(np.exp(-(log_value + TIE)))})
    return Row(RowKey("optimum", "model"), goal.numerator * scale, goal.denominator)


def choose(
    batch: Batch,
    points: Indices,
    y: Array,
    stages: Sequence[Goal],
    solve: Solver,
    known: gp.Result | None = None,
    *,
    rule: Stages | None = None,
    after: int | None = 0,
    within: Box | None = None,
) -> Chosen:
    """Break ties among the designs of ``points`` that are as good as ``y``; ``stages``: what decides.

    ``known``: what the kernel says of the optima, with the whole numbers of ``y`` held, where that is at hand.
    ``rule``: the stages as tables, if they are at hand. ``after``: see ``optimal_face.choose``; beside whole numbers
    and forms that are not unique the range of each number is two searches. ``within``: see ``optima.settled``.

    Whole numbers and the forms that make a problem signomial are settled first by branching (of all points of the
    batch), the rest in the face.
    """
    count, ranged = len(y), after is not None
    sure, tied = np.ones(count, bool), np.zeros(count, bool)
    reached: nudges.Ends | None = None
    if batch.arrays.allowed or batch.arrays.divisors:
        y, tied, sure, reached = _settled_by_branching(
            batch, points, stages, y, solve, within, ranged=ranged, all_tied=after == 0
        )
        if known is not None and tied.any():
            moved, known = np.flatnonzero(tied), known.take(np.arange(count))
            known.put(moved, _known(batch, points[moved], y[moved], solve))
    found = in_face(batch, points, y, stages, solve, known, rule=rule, after=after)
    for i in np.flatnonzero(tied) if batch.arrays.divisors else ():
        at = points[[i]]
        found.y[[i]] = nudges.to_the_end(
            batch, take(batch.arrays, at), found.y[[i]], partial(_tables, batch, at, stages), solve
        )
    if reached is None:
        return dataclasses.replace(found, sure=found.sure & sure)
    # a face is a part of the designs that are as good, where whole numbers and forms are not unique
    told = reached.wide | ~np.isnan(found.low) & ~np.isnan(reached.ends[0])
    least, most = np.fmin(reached.ends[0], found.y), np.fmax(reached.ends[1], found.y)
    low = np.where(told, np.fmin(least, found.low), found.low)
    high = np.where(told, np.fmax(most, found.high), found.high)
    now = np.where(np.isnan([low, high]), found.y, [low, high])
    least, most = nudges.beyond(reached.outer, now)
    floors = found.floors
    if after == 0 and not sure.all():
        floors = _floors(batch, points, stages, y, reached.outer[0], solve, tied & ~sure)
    return dataclasses.replace(
        found, sure=found.sure & sure, low=low, high=high, least=least, most=most, floors=floors
    )


def _floors(
    batch: Batch, points: Indices, stages: Sequence[Goal], y: Array, low: Array, solve: Solver, some: Bools
) -> Array:
    """What stages are proved not to be below (N, stages) at ``some`` of N points, in logs; ``low``: least numbers."""
    c, floors = take(batch.arrays, points), np.full((len(y), len(stages)), -np.inf)
    for k, goal in enumerate(stages):
        if not (goal.numerator.is_monomial and goal.denominator.is_monomial):
            continue
        table = _table(batch, goal).take(points)
        way = table.exponents[0]
        of = np.flatnonzero(way)
        if of.size == 1 and way[of[0]] == 1.0 and not np.isnan(low[some, of[0]]).any():
            least = low[:, of[0]]
        else:
            least = nudges.reaches(batch, c, y, way[None], solve, some[:, None], sharp=True).outer[0, :, 0]
        floors[some, k] = (least + table.logc[:, 0])[some]
    return floors


def in_face(
    batch: Batch,
    points: Indices,
    y: Array,
    stages: Sequence[Goal],
    solve: Solver,
    known: gp.Result | None = None,
    *,
    rule: Stages | None = None,
    after: int | None = 0,
) -> Chosen:
    """Break ties in the optimal faces (see ``choose``): whole numbers and the divisors' forms stay as they are."""
    r = _known(batch, points, y, solve) if known is None else known
    if rule is None or batch.arrays.divisors or batch.arrays.allowed:
        c = multipliers.held_whole(take(batch.arrays, points), y)
        rule, points = _rule(batch, c, points, stages, y, solve), np.arange(len(y))
    return optimal_face.choose(rule, points, dataclasses.replace(r, y=y), after=after)


def _known(batch: Batch, points: Indices, y: Array, solve: Solver) -> gp.Result:
    """What the kernel says of optima, with their whole numbers held."""
    return multipliers.at(multipliers.held_whole(take(batch.arrays, points), y), y, solve)[0]


def _rule(
    batch: Batch, c: Canonical, points: Indices, stages: Sequence[Goal], y: Array, solve: Solver
) -> Stages:
    """The tie rule at optima y of points, whose arrays are ``c``; the divisors' forms keep their value.

    Those of stages are their tangents there.
    """
    tables = _tables(batch, points, stages, y)
    return optimal_face.stages(
        dataclasses.replace(batch, arrays=canon.forms_held(c, y)), tables, solve, c.forms
    )


def _tables(batch: Batch, points: Indices, stages: Sequence[Goal], y: Array) -> list[Table]:
    """Stages at points of a batch as tables; what divides by a sum is right at the design ``y`` (1, n)."""
    return [_table(batch, stage, y).take(points) for stage in stages]


def _table(batch: Batch, stage: Goal, y: Array | None = None) -> Table:
    if stage.denominator.is_monomial:
        return batch.of([(stage.numerator, stage.denominator)])
    assert y is not None, "the stages of many points have monomial divisors"
    one = canon.canonical(dataclasses.replace(batch.problem, rows=()), stage, shape=(1,))
    a, b = canon.restriction(one, y)
    return Table(a[0], b, one.ptr)


def of_batch(batch: Batch, solve: Solver) -> Stages | None:
    """The tie rule of many optima; None where something that it asks for is not a posynomial over a monomial."""
    wanted = tie_goals(batch.problem, batch.problem.aim.name)
    if not all(g.denominator.is_monomial for g in wanted):
        return None
    return optimal_face.stages(batch, [_table(batch, g) for g in wanted], solve)


def _settled_by_branching(
    batch: Batch,
    points: Indices,
    stages: Sequence[Goal],
    y: Array,
    solve: Solver,
    within: Box | None,
    *,
    ranged: bool,
    all_tied: bool,
) -> tuple[Array, Bools, Bools, nudges.Ends | None]:
    """Where whole numbers and forms are not unique, the tie rule by branching; also tells where that is, and is proved.

    ``ranged``: find how far the numbers reach there. Unless ``all_tied``, where what is as good for the goal is not
    enough, that is not known.
    """
    c = take(batch.arrays, points)
    directions = np.array([*np.eye(y.shape[1])[list(c.allowed)], *c.forms])
    apart = np.where(np.arange(len(directions)) < len(c.allowed), WHOLE_WIDTH, SETTLED_WIDTH)
    near, loose = c, np.ones((len(y), len(directions)), bool)

    def by_rule_in(box: Canonical, some: Indices) -> tuple[Array, Bools]:
        if not some.size:
            return y[some], np.ones(0, bool)
        return by_rule(
            take(box, some), y[some], [goal_at(g, batch.shape, points[some]) for g in stages], solve
        )

    if within is not None:
        near = dataclasses.replace(c, low=np.minimum(within[0], y), high=np.maximum(within[1], y))
        z_low, z_high = canon.form_box(dataclasses.replace(near, forms=directions), near.low, near.high)
        loose = z_high - z_low > apart
    if not ranged and within is not None:
        # nobody asks how far they reach: the rule is asked whether it moves them at all, near by where that takes
        # fewer nodes
        some = np.flatnonzero(loose.any(1))
        by, proved = by_rule_in(near if c.divisors else c, some)
        loose[some] &= (np.abs(np.einsum("pi,qi->pq", by - y[some], directions)) > apart).any(1)[:, None]
        if not c.divisors:
            tied, sure, moved = np.asarray(loose.any(1)), np.ones(len(y), bool), loose[some].any(1)
            y = y.copy()
            y[some[moved]], sure[some[moved]] = by[moved], proved[moved]
            return y, tied, sure, None
    ends: nudges.Ends | None = None
    if ranged or within is not None:
        reached = nudges.reaches(batch, near, y, directions, solve, loose, sharp=ranged and all_tied)
        loose = reached.outer[1] - reached.outer[0] > apart
        if ranged and all_tied:
            ends = nudges.ends_of(batch, near, y, solve, directions, reached, loose)
        elif ranged:
            ends = nudges.unsearched(batch, near, np.asarray(loose.any(1)))
    y, sure, tied = y.copy(), np.ones(len(y), bool), np.asarray(loose.any(1))
    y[tied], sure[tied] = by_rule_in(c, np.flatnonzero(tied))
    return y, tied, sure, ends


def by_rule(c: Canonical, y: Array, stages: Sequence[Goal], solve: Solver) -> tuple[Array, Bools]:
    """Search the designs that the tie rule wants, from optimal designs ``y``; ``stages``: what ties go to.

    Also returns where they are proved to be those of a nudged goal. Where any nudge costs more than a tie may, ``y``
    stays. All stages together nudge it; where that gave up something of the first one for later ones, these have no
    more to say than ``NEXT_AFTER_FIRST``.
    """
    with_stages, start, powers = _with_stages(c, y, [g for g in stages if g.denominator.is_monomial])
    places = np.arange(len(powers))

    def nudged(some: Indices, at: Array, by: Array, *, held: bool = False) -> tuple[Array, Bools]:
        own = take(with_stages, some)
        own, free = (multipliers.held_whole(own, at), True) if held else (own, nudges.is_free(c))
        return _nudged(own, take(c, some), y[some], at, by, solve, free=free)

    found, sure = nudged(np.arange(len(y)), start, NEXT**places @ powers)
    if len(powers) > 1:
        again = np.flatnonzero((found - start) @ powers[0] > FIRST_LOST)
        if again.size:
            found[again], sure[again] = nudged(again, start[again], powers[0])
        # with its whole numbers held such a goal cannot change, and no nudge has to be tiny
        held = bool(c.divisors) and _is_of_whole(c)
        again = np.arange(len(y)) if held else again
        if again.size:
            both, known = nudged(again, found[again], NEXT_AFTER_FIRST**places @ powers, held=held)
            kept = (both - found[again]) @ powers[0] <= FIRST_LOST
            found[again[kept]], sure[again[kept]] = both[kept], known[kept]
    return found[:, : y.shape[1]], sure


def _nudged(
    with_stages: Canonical, c: Canonical, y: Array, start: Array, powers: Array, solve: Solver, *, free: bool
) -> tuple[Array, Bools]:
    """Search the designs of which the goal times ``powers`` of their numbers is least, by the largest nudge that costs
    no more than a tie may against ``y``; also returns where that is proved. Where there is none ``start`` stays.

    ``free``: the goal cannot change, so that any nudge costs nothing.
    """  # noqa: D205
    found, sure, left = start.copy(), np.zeros(len(y), bool), np.arange(len(y))
    for nudge in nudges.NUDGES:
        if not left.size:
            break
        nudged = nudges.goal_times_powers(take(with_stages, left), powers * (1.0 if free else nudge))
        r = nudges.least_nudged(nudged, start[left], solve)
        good = np.flatnonzero(nudges.as_good(take(c, left), y[left], r.y))
        if not good.size:
            continue
        there, some = r.y[good], left[good]
        sharp, *_ = multipliers.sharpened(take(nudged, good), there, solve)
        found[some] = np.where(nudges.as_good(take(c, some), y[some], sharp)[:, None], sharp, there)
        sure[some] = r.status[good] == gp.OPTIMAL
        left = np.delete(left, good)
    return found, sure


def _is_of_whole(c: Canonical) -> bool:
    """Whether the goal is made of numbers with gaps alone, and something else is decided, too."""
    goal = set(np.flatnonzero(c.exponents[: c.ptr[1]].any(0)))
    return goal <= set(c.allowed) < set(range(c.low.shape[1])) and all(d.row > 0 for d in c.divisors)


def _with_stages(c: Canonical, y: Array, stages: Sequence[Goal]) -> tuple[Canonical, Array, Array]:
    """Add a variable above each stage that is a sum; also the powers (stages, n) of variables that stages are."""
    count, n = y.shape
    sums = [g for g in stages if not g.numerator.is_monomial]
    more = {g.name: Posynomial({((f"least {g.name}", 1.0),): 1.0}) for g in sums}
    names, powers = (*c.names[:n], *(f"least {g.name}" for g in sums)), np.zeros((len(stages), n + len(sums)))
    for k, g in enumerate(stages):
        ((term, _),) = (more.get(g.name) or g.numerator * g.denominator.power(-1.0)).terms.items()
        for name, exponent in term:
            powers[k, names.index(name)] += exponent
    if not sums:
        return c, y, powers
    point = dict(zip(c.names, np.exp(y).T, strict=True))
    # a stage of numbers alone is one number for all points
    now = np.stack(
        [np.log(np.broadcast_to(g.numerator(**point) / g.denominator(**point), (count,))) for g in sums], 1
    )
    pairs = [(g.numerator, g.denominator * more[g.name]) for g in sums]
    keys = tuple(RowKey(name, "model") for name in names[n:])
    added = canon.arrays(names, pairs, keys, now - EVERYWHERE, now + EVERYWHERE, {}, (count,))
    return _joined(c, added), np.column_stack([y, now]), powers


def _joined(c: Canonical, added: Canonical) -> Canonical:
    """The arrays of a problem with more variables, behind its own, and more rows."""
    n, wide = len(added.names) - added.low.shape[1], len(c.names)
    at = np.full(added.low.shape[1], n)
    rows = np.pad(added.exponents, ((0, 0), (0, wide - n)))
    return dataclasses.replace(
        c,
        names=(*added.names, *c.names[n:]),
        exponents=np.concatenate([np.insert(c.exponents, at, 0.0, axis=1), rows]),
        logc=np.concatenate([c.logc, added.logc], axis=1),
        ptr=np.concatenate([c.ptr, c.ptr[-1] + added.ptr[1:]]),
        keys=(*c.keys, *added.keys),
        low=np.concatenate([c.low[:, :n], added.low, c.low[:, n:]], axis=1),
        high=np.concatenate([c.high[:, :n], added.high, c.high[:, n:]], axis=1),
        divisors=tuple(dataclasses.replace(d, base=np.insert(d.base, at, 0.0)) for d in c.divisors),
        forms=np.insert(c.forms, at, 0.0, axis=1),
        tighter=None if c.tighter is None else _joined(c.tighter, added),
    )
