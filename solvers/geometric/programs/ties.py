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
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch, multipliers, optimal_face
from solvers.geometric.programs.optimal_face import RANGE, Chosen, Solver, Stages
from solvers.outcome import ENUMERATION

Box = tuple[Array, Array]
SETTLED_WIDTH, WHOLE_WIDTH = 1e-2, 1e-12
"""In logs: forms and whole numbers that reach no farther are settled."""
NUDGE = 1e-7
NUDGES = tuple(NUDGE * 10.0 ** (-k / 2) for k in range(5))
"""Where a nudge moves the goal by more than a tie may differ by, a smaller one is tried."""
NEXT, NEXT_AFTER_FIRST = 0.1, 1e-3
"""What a stage counts beside the one before it, and where the first one would give up something for it."""
FIRST_LOST = 1e-5
"""In logs: what the first stage may give up for later ones; designs are sharper than searches for them."""
TIED_GAP = NUDGE * SETTLED_WIDTH / 10
"""What a nudge has to show through."""
EVERYWHERE = math.log(1e30)
"""A stage that gives way to an earlier one may grow by any factor."""
MOST_TIE_NODES = 300
UNSETTLED = "ties were not settled: where other designs are as good, any of them may be handed out"
"""What an answer says of a search or a method that did not go by the order of ties."""


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
    ``rule``: the stages as tables, if they are at hand. ``after``: see ``optimal_face.choose``; ranges of whole
    numbers and forms are two searches each. ``within``: see ``optima.settled``.

    Whole numbers and the forms that make a problem signomial are settled first by branching (of all points of the
    batch), the rest in the face.
    """
    ends, sure = np.full((2, *y.shape), np.nan), np.ones(len(y), bool)
    if batch.arrays.allowed or batch.arrays.divisors:
        ranges = None if after is None else ends
        y, loose, sure = _settled_by_branching(batch, points, stages, y, solve, ranges, within)
        if known is not None and loose.any():
            moved, known = np.flatnonzero(loose), known.take(np.arange(len(y)))
            known.put(moved, _known(batch, points[moved], y[moved], solve))
    found = in_face(batch, points, y, stages, solve, known, rule=rule, after=after)
    # a search ends a little before the last of the equally good designs
    low = np.where(np.isnan(found.low), np.minimum(ends[0], found.y), found.low)
    high = np.where(np.isnan(found.high), np.maximum(ends[1], found.y), found.high)
    return dataclasses.replace(found, sure=found.sure & sure, low=low, high=high)


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
    tables = [_table(batch, stage, y).take(points) for stage in stages]
    return optimal_face.stages(
        dataclasses.replace(batch, arrays=canon.forms_held(c, y)), tables, solve, c.forms
    )


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
    ends: Array | None,
    within: Box | None,
) -> tuple[Array, Bools, Bools]:
    """Where whole numbers and forms are not unique, the tie rule by branching; also tells where that is, and is proved.

    ``ends`` (2, N, n): takes the ranges of those that are single variables; None: nobody asks for ranges.
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
    if ends is None and within is not None:
        # nobody asks how far they reach: the rule is asked whether it moves them at all, near by where that takes
        # fewer nodes
        some = np.flatnonzero(loose.any(1))
        by, proved = by_rule_in(near if c.divisors else c, some)
        loose[some] &= (np.abs(np.einsum("pi,qi->pq", by - y[some], directions)) > apart).any(1)[:, None]
        if not c.divisors:
            tied, sure, moved = np.asarray(loose.any(1)), np.ones(len(y), bool), loose[some].any(1)
            y = y.copy()
            y[some[moved]], sure[some[moved]] = by[moved], proved[moved]
            return y, tied, sure
    if ends is not None or within is not None:
        reached = reaches(near, y, directions, solve, loose)
        loose = reached[1] - reached[0] > apart
    for i, direction in enumerate(directions):
        alone = np.flatnonzero(direction)
        if ends is not None and alone.size == 1:
            ends[:, loose[:, i], alone[0]] = reached[:, loose[:, i], i]
    y, sure, tied = y.copy(), np.ones(len(y), bool), np.asarray(loose.any(1))
    y[tied], sure[tied] = by_rule_in(c, np.flatnonzero(tied))
    return y, tied, sure


def reaches(c: Canonical, y: Array, directions: Array, solve: Solver, asked: Bools) -> Array:
    """The ends (2, N, q) of linear forms (q, n) over the designs that are as good as ``y`` (N, n), at many points.

    Where they are not ``asked`` for (N, q) they are those of ``y``.
    The goal is nudged by a tiny power of the form: unlike a row that holds the goal at its optimum this leaves the
    feasible set as wide as it is. Where nothing is to be minimised, the form itself is.
    """

    def least(direction: Array, points: Bools) -> Array:
        ends, left = y.copy(), np.flatnonzero(points)
        for nudge in NUDGES:
            if not left.size:
                break
            own, free = take(c, left), _is_free(c)
            gap = RANGE / 10 if free else nudge * SETTLED_WIDTH / 10
            nudged = _goal_times_powers(own, direction * (1.0 if free else nudge))
            there = _least_nudged(nudged, y[left], solve, gap).y
            good = _as_good(own, y[left], there)
            ends[left[good]] = there[good]
            left = left[~good]
        return np.asarray(np.einsum("pi,i->p", ends, direction))

    each = [(sign * d, k) for d, k in zip(directions, asked.T, strict=True) for sign in (1.0, -1.0)]
    found = side_by_side.run([partial(least, d, k) for d, k in each])
    ends = np.array(found).reshape(len(directions), 2, len(y)) * np.array([1.0, -1.0])[:, None]
    return np.moveaxis(ends, 0, 2)


def reach_of_all(batch: Batch, y: Array, solve: Solver) -> tuple[Array, Array]:
    """The ends (N, n) of each variable over all designs that meet the limits; NaN of one that has one value.

    ``batch``: with nothing to minimise. ``y``: a design of each point.
    """
    own = np.eye(y.shape[1])
    low, high = reaches(batch.arrays, y, own, solve, np.ones(y.shape, bool))
    alone = high - low <= RANGE
    return np.where(alone, np.nan, low), np.where(alone, np.nan, high)


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
        own, free = (multipliers.held_whole(own, at), True) if held else (own, _is_free(c))
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
    for nudge in NUDGES:
        if not left.size:
            break
        nudged = _goal_times_powers(take(with_stages, left), powers * (1.0 if free else nudge))
        r = _least_nudged(nudged, start[left], solve)
        good = np.flatnonzero(_as_good(take(c, left), y[left], r.y))
        if not good.size:
            continue
        there, some = r.y[good], left[good]
        sharp, *_ = multipliers.sharpened(take(nudged, good), there, solve)
        found[some] = np.where(_as_good(take(c, some), y[some], sharp)[:, None], sharp, there)
        sure[some] = r.status[good] == gp.OPTIMAL
        left = np.delete(left, good)
    return found, sure


def _least_nudged(c: Canonical, y: Array, solve: Solver, gap: float = TIED_GAP) -> branch.Searched:
    return branch.search(c, solve, value_only=True, gap=gap, most=MOST_TIE_NODES, start=y)


def _as_good(c: Canonical, y: Array, other: Array) -> Bools:
    """Whether other designs (N, n or more) lose no more against ``y`` than a tie may."""
    return np.asarray(canon.values(c, other[:, : y.shape[1]])[:, 0] - canon.values(c, y)[:, 0] <= TIE)


def _is_free(c: Canonical) -> bool:
    """Whether nothing is to be minimised."""
    return not c.exponents[: c.ptr[1]].any() and all(d.row > 0 for d in c.divisors)


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


def _goal_times_powers(c: Canonical, powers: Array) -> Canonical:
    """Return the same problem with its goal times powers of its first variables."""
    exponents = c.exponents.copy()
    exponents[: c.ptr[1], : powers.size] += powers
    tighter = None if c.tighter is None else _goal_times_powers(c.tighter, powers)
    return dataclasses.replace(c, exponents=exponents, tighter=tighter)
