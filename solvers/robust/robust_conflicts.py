"""Why no design holds in all of many worlds: minimal sets of limits, and for each limit the feasible value."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Codes, Points
from formulations import evaluation
from formulations.arithmetics.many import Many, plain
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.grids import divided
from formulations.programs.program import is_linear
from formulations.row_keys import RowKey
from formulations.uncertainty import robust
from formulations.uncertainty.measures import WORST, Measured, Quantile
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.wanted import Chance, Effort, Wanted, end_that_does, reached
from formulations.uncertainty.worlds import Worlds, judged
from results.solution import Status
from scenarios.define import composed
from scenarios.question import HALVINGS, Decision, Objective, Question, freed
from solvers.explaining import subsets
from solvers.explaining.least_values import without_gaps
from solvers.geometric.kernel import gp
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts, gaps
from solvers.mechanisms.sensitivity import with_limit
from solvers.mechanisms.why import Why, apart_but_for, of_each, remembered
from solvers.outcome import Outcome
from solvers.robust import scan, worst
from solvers.robust.masters import ends, failing, levels, robust_program
from solvers.robust.masters.master import EASED, Master
from solvers.robust.robust_ways import of_some_limits

SETS_WORK = 3_000_000
"""Boxes times worlds that sets of limits are searched for in, all together: some fifteen seconds."""


def why(wanted: Wanted) -> Why:
    """What tells why no design holds all limits in all worlds.

    Limits on measures stand in its question like others: of several choices the value nearest to them is told.
    """
    # what may fail in no sample holds in each
    chances = tuple(c for c in wanted.chances if c.may_fail)
    # of a search for sets that goes on for ever nobody learns anything
    wanted = replace(wanted, chances=chances, effort=Effort(SETS_WORK))
    # lists of what divides, or is divided, stay: numbers between those listed would not divide
    worlds, unknown = wanted.worlds.changed(subsets.with_menus), set[str]()

    def of_free(free: Collection[str]) -> Why:
        return _why(replace(wanted, worlds=worlds.changed(partial(without, names=free))))

    def nearest(name: str) -> float:
        kept = frozenset((*found.names, name))
        return math.nan if divided.shape(worlds.every) else _nearest_value(wanted, name, kept, unknown)

    found = of_free(())
    told = gaps.with_gaps(found, worlds.nominal, of_free, nearest)
    if told is not found and not divided.shape(worlds.every):
        # each set that is searched is asked for more than once
        told = remembered(told)
    return replace(
        told,
        question=lambda points: worlds.with_caps(found.question(points)),
        ended=lambda: found.ended() | frozenset(unknown),
    )


def _nearest_value(wanted: Wanted, name: str, names: frozenset[str], unknown: set[str]) -> float:
    """The value of a listed or whole number that would do if any were allowed; infinite where none does."""
    (asked,) = (d for d in wanted.worlds.nominal.decide if d.name == name)
    for free, goal in without_gaps(asked):

        def opened(question: Question, free: Decision = free, goal: Objective = goal) -> Question:
            decide = tuple(free if d.name == name else d for d in question.decide)
            return replace(question, decide=decide, objectives=(goal,))

        try:
            found = of_some_limits(Wanted(wanted.worlds.changed(opened), WORST, wanted.chances, names))
        except (NotPosynomial, CannotTake, OverflowError):
            found = Outcome(Status.ERROR)
        unknown.update([name] if found.status not in (Status.OPTIMAL, Status.INFEASIBLE) else [])
        if found.x is not None and found.status in (Status.OPTIMAL, Status.FEASIBLE):
            return found.x[name]
    return math.inf


def without(question: Question, names: Collection[str]) -> Question:
    """Return a question without bounds, gaps and limits of these decided numbers."""
    decide = (freed(d) if d.name in names else d for d in question.decide)
    limits = tuple(x for x in question.limits if x.name not in names)
    return replace(question, decide=tuple(decide), limits=limits)


def _why(wanted: Wanted) -> Why:
    worlds = wanted.worlds.changed(lambda q: replace(q, objectives=()))
    # where nothing is to be best every measure asks the same
    asked = replace(wanted, worlds=worlds, measure=WORST)
    names, unknown, together = breakable_limits(worlds), set[str](), bool(divided.shape(worlds.every))

    known = worst.Known(worlds, names)

    def met(points: Points, rows: np.ndarray) -> Codes:
        if together:
            # asked point by point
            return np.full(points.size, conflicts.NOT_KNOWN, np.int8)
        return np.array([_met_by(asked, known, row) for row in rows], np.int8)

    def values(points: Points, wanted: Sequence[str]) -> Mapping[str, np.ndarray]:
        if together:
            return {n: np.full(points.size, np.nan) for n in wanted}
        free = replace(asked, effort=None)
        return of_each(lambda n: _feasible_value(free, n, frozenset(names), unknown))(points, wanted)

    few, ended = conflicts.FEW_SEARCHED, lambda: frozenset(unknown)
    told = Why(names, met, values, lambda _: worlds.nominal, few, ended=ended)
    listed = _why_of_listed(asked, names, told)
    if listed is not None:
        return listed
    if together:
        found = told if asked.chances else _by_programs(worlds, told)
        if found is told:
            raise CannotTake("what may fail, or has two ends, is explained point by point")
        return found
    try:
        posed = robust.posed(worlds)
        if asked.chances and levels.takes(Master(posed, WORST), asked.chances):
            return _first(why_together(posed, worlds.nominal, asked.chances), told)
    except (NotPosynomial, CannotTake):
        pass
    return told


def _met_by(asked: Wanted, known: worst.Known, row: np.ndarray) -> int:
    """Whether some of the limits can hold together; of what is decided the others are bounds that do not count."""
    if known.holds(row):
        return conflicts.CAN_HOLD
    kept = frozenset(n for n, k in zip(known.names, row, strict=True) if k)
    free = frozenset(known.names) - kept

    def beyond(question: Question) -> Question:
        decide = (replace(d, minimum=None, maximum=None) if d.name in free else d for d in question.decide)
        own = {d.name for d in question.decide} & free
        return replace(
            question, decide=tuple(decide), limits=tuple(x for x in question.limits if x.name not in own)
        )

    try:
        found = of_some_limits(replace(asked, worlds=asked.worlds.changed(beyond), kept=kept))
    except (NotPosynomial, CannotTake, OverflowError):
        return conflicts.NOT_KNOWN
    if found.status in (Status.OPTIMAL, Status.FEASIBLE):
        known.learn({n: np.array([v]) for n, v in (found.x or {}).items()})
        return conflicts.CAN_HOLD
    return conflicts.CANNOT_HOLD if found.status is Status.INFEASIBLE else conflicts.NOT_KNOWN


def why_together(asked: Posed, first: Question, chances: Sequence[Chance], solve: Solver = gp.solve) -> Why:
    """What tells why points have no design, of geometric programs; ``first``: the question at the first of them."""
    worlds = asked.worlds
    names = breakable_limits(worlds)

    def met(some: Points, kept: np.ndarray) -> Codes:
        held = frozenset(n for n, k in zip(names, kept, strict=True) if k)
        kinds, which = _alike(worlds.at_some(some), held)
        try:
            found = failing.hold_together(robust.kept(asked.at(some[kinds]), held), chances, solve)[0]
        except NotPosynomial:
            # which cuts there are shows where they are made
            return np.full(some.size, conflicts.NOT_KNOWN, np.int8)
        return found[which]

    def level(some: Points, name: str) -> np.ndarray:
        found, left = np.full(some.size, np.nan), np.arange(some.size)
        if not _gives_by_factor(first, name):
            return found
        stated = {r.key.side: r.key for r in asked.rows if r.key.name == name}
        # of two ends one gives and the other stays
        for side in ends_of(worlds, name):
            points, key = some[left], stated.get(side) or stated.get("model", RowKey(name, side))
            try:
                of_kinds, which, end = _merged(asked, first, key, points)
                best = failing.best(levels.eased(of_kinds, key, frozenset(names)), chances, solve, tied=False)
            except NotPosynomial:
                found[left] = np.nan
                break
            factor = best.x[EASED] if side == "max" else 1.0 / best.x[EASED]
            # of a whole number only whole numbers do
            value = best.x.get(name, end * factor)
            sure = best.known & ~ends.any_near(first, best.x)
            found[left] = np.select([sure, best.refuted], [value, np.inf], np.nan)[which]
            left = left[best.refuted[which]]
            if not left.size:
                break
        return found

    return Why(
        names,
        conflicts.by_set(met),
        lambda some, wanted: {n: level(some, n) for n in wanted},
        lambda some: worlds.at_some(some).nominal,
        conflicts.FEW_SEARCHED,
    )


def _gives_by_factor(question: Question, name: str) -> bool:
    """Whether the factor by which a limit has to give is that of its end: of a difference or a logarithm it is not."""
    return name != HALVINGS.name and not composed.may_be_negative(question.model, name)


def _alike(worlds: Worlds, names: Collection[str]) -> tuple[Points, Points]:
    """Tell points apart by what is given and by these limits (see ``divided.alike``)."""
    ends = {f"{n} {side}": end for n in names for side, end in ends_of(worlds, n).items()}
    return divided.alike(worlds.nominal, {**ends, "": np.zeros(worlds.points)})


def _merged(asked: Posed, first: Question, key: RowKey, points: Points) -> tuple[Posed, Points, Array]:
    """Points without those that differ in one limit only, posed once (see ``apart_but_for``).

    Also which of them each point is like, and the bounds at these.
    """
    worlds = asked.worlds.at_some(points)
    end, found = ends_of(worlds, key.name).get(key.side, 1.0), apart_but_for(worlds.nominal, key)
    if found is None:
        return asked.at(points), np.arange(points.size), np.broadcast_to(plain(end), points.size)
    _, kinds, which = found
    worlds = worlds.changed(partial(with_limit, key=key, value=Many(np.ones_like(plain(end)))))
    own = robust.posed_at_points(worlds.at_some(kinds), with_limit(first, key, 1.0))
    return own, which, np.ones(kinds.size)


def _told(why: Why, searched: Why, but: Collection[str] = ()) -> Why:
    """The same for one question, where a search tells the values that are not known, and those of ``but``."""

    def values(points: Points, names: Sequence[str]) -> Mapping[str, np.ndarray]:
        found = dict(why.values(points, names))
        rest = [n for n, v in found.items() if np.isnan(v).any() or n in but]
        return {**found, **searched.values(points, rest)}

    return replace(why, values=values, ended=searched.ended)


def _why_of_listed(wanted: Wanted, names: tuple[str, ...], searched: Why) -> Why | None:
    """The same of few designs, each judged once in every world; None where one number does not judge a limit.

    ``searched``: what tells of designs beyond the bounds on what is decided, of one point.
    """
    worlds = wanted.worlds
    two_ends = any(len(ends_of(worlds, x.name)) > 1 for x in worlds.nominal.limits)
    if wanted.chances or two_ends or not scan.few(worlds):
        return None
    try:
        found = worst.worst(worlds)
    except OverflowError:
        # whether it matters for some of the limits is asked set by set
        return None
    levels = {k.name: v for k, v in found.levels.items()}
    if found.beyond:
        return subsets.why_listed(names, found.table, levels, found.ratios)

    def search(points: Points, free: Collection[str]) -> Codes:
        rows = np.tile([n not in free for n in names], (points.size, 1))
        return np.array(searched.met(points, rows), np.int8)

    searched = _by_programs(worlds, searched)
    decided = frozenset(d.name for d in worlds.nominal.decide).intersection(names)
    listed = subsets.why_listed(names, found.table, levels, found.ratios, decided, search)
    return _told(listed, searched, decided)


def _by_programs(worlds: Worlds, searched: Why) -> Why:
    """The same as ``searched``, of points whose designs are judged in columns, too, first by programs if there are."""

    def in_rows(question: Question) -> Question:
        return divided.with_each_number(
            question, lambda v: Many(v.values.reshape(-1, 1)) if isinstance(v, Many) else v
        )

    def first(question: Question) -> Question:
        return divided.with_each_number(
            question, lambda v: float(v.values.flat[0]) if isinstance(v, Many) else v
        )

    if worlds.caps:
        return searched
    try:
        if divided.shape(worlds.every):
            rows = replace(worlds.changed(in_rows), near=None)
            posed = robust.posed_at_points(rows, first(worlds.nominal))
        else:
            posed = robust.posed(worlds)
        if not levels.takes(Master(posed, WORST), ()):
            return searched
    except (NotPosynomial, CannotTake):
        return searched
    return _first(why_together(posed, first(worlds.nominal), ()), searched)


def _first(programs: Why, searched: Why) -> Why:
    """The same by programs, and what these leave open by ``searched``."""

    def met(points: Points, rows: np.ndarray) -> Codes:
        found = np.array(programs.met(points, rows), np.int8)
        left = np.flatnonzero(found == conflicts.NOT_KNOWN)
        if left.size:
            found[left] = searched.met(points[left], rows[left])
        return found

    return replace(_told(programs, searched), met=met)


def breakable_limits(worlds: Worlds) -> tuple[str, ...]:
    """The limits that a design may break: all but those that are the same for every design."""
    middle = {
        d.name: (d.values[0] if d.values else evaluation.box(worlds.nominal, d.name).low)
        for d in worlds.nominal.decide
    }
    return tuple(dict.fromkeys(key.name for key in judged(worlds, middle).ratios))


def _feasible_value(wanted: Wanted, name: str, names: frozenset[str], unknown: set[str]) -> float | None:
    """The value of one limit at which, all else kept, some design holds in every world.

    Of two ends one gives and the other stays: the upper one first, as for a question without worlds. Where a search
    decides nothing, or less than the best, the name joins ``unknown``.
    """
    ends_of_limit = ends_of(wanted.worlds, name)
    groups = [wanted.chances[g] for g in wanted.failing(name)]
    by_itself = not groups or (len(groups) == 1 and groups[0].names == (name,) and len(ends_of_limit) == 1)
    asked = replace(wanted, kept=names)
    for side, end in ends_of_limit.items():
        try:
            value, status = (
                _best_level(wanted, name, names, side)
                if by_itself
                else _eased_end(asked, RowKey(name, side), end)
            )
        except (NotPosynomial, CannotTake, OverflowError):
            # beyond a bound that gives, designs may leave the range of floats
            value, status = None, Status.ERROR
        unknown.update([name] if status not in (Status.OPTIMAL, Status.INFEASIBLE) else [])
        if value is not None:
            return value
    return None


def ends_of(worlds: Worlds, name: str) -> dict[str, float]:
    """The ends of a limit by their sides; a limit of the model is a ratio of at most 1."""
    cap = next((c for c in worlds.caps if c.name == name), None)
    if cap is not None:
        return {cap.side: cap.end}
    low, high = evaluation.bounds(worlds.nominal).get(name, (None, 1.0))
    return {side: end for side, end in (("max", high), ("min", low)) if end is not None}


def with_level_as_goal(question: Question, name: str, side: str) -> Question:
    """Return a question whose objective is what one end of a limit holds, without that end."""
    goal = Objective(name, maximize=side == "min")
    return replace(with_limit(question, RowKey(name, side), None), objectives=(goal,))


def _best_level(wanted: Wanted, name: str, names: frozenset[str], side: str) -> tuple[float | None, Status]:
    """The best that what one end of a limit holds can be where everything else holds."""
    worlds = wanted.worlds
    loose = worlds.changed(lambda q: with_level_as_goal(q, name, side))
    if name in worlds.wide:
        loose = replace(loose, counted=None, limited=worlds.count_of(""))
    measure: Measured = next((c.measure for c in worlds.caps if c.name == name), WORST)
    for g in wanted.failing(name):
        measure = Quantile(1.0 - wanted.chances[g].may_fail / worlds.measured)
    others = tuple(c for c in wanted.chances if name not in c.names)
    kept = names if len(ends_of(worlds, name)) > 1 else names - {name}
    if _is_own_of_program(wanted, name):
        # nobody can set it: what no master of programs finds of it, as of a ratio of sums, is not searched for
        found = robust_program.minimise(loose, WORST, kept=kept, weigh=False, tied=False).outcome
    else:
        found = of_some_limits(Wanted(loose, measure, others, kept))
    if found.x is None or found.status not in (Status.OPTIMAL, Status.FEASIBLE):
        return None, found.status
    level = judged(loose, found.x).objective
    assert level is not None, "it is the objective"
    # at least 0 is no limit
    return float(measure.value(level, maximize=side == "min")) or None, found.status


def _is_own_of_program(wanted: Wanted, name: str) -> bool:
    """Whether a limit is the model's own, in samples that are programs of shares and counts, of many designs."""
    nominal = wanted.worlds.nominal
    own = any(x.name == name for x in nominal.model.limits)
    return own and is_linear(nominal) and not wanted.chances and not scan.few(wanted.worlds)


def _eased_end(wanted: Wanted, key: RowKey, end: float) -> tuple[float | None, Status]:
    """The value at which an end of a limit would do that may fail, together with its other end or other limits."""
    eased = replace(wanted, eased=key)
    found = of_some_limits(eased)
    if found.status is Status.OPTIMAL and found.x is not None:
        if not _gives_by_factor(wanted.worlds.nominal, key.name):
            value = end_that_does(eased, found.x)
            if end or not value:
                return value, Status.OPTIMAL
            # beside 0 a difference is measured by its parts, which are not alike for all designs
            changed = wanted.worlds.changed(lambda q: with_limit(q, key, value))
            return _eased_end(replace(wanted, worlds=changed), key, value)
        factor = float(reached(eased, found.x).goal[0])
        return end * factor if key.side == "max" else end / factor, Status.OPTIMAL
    # whether nothing does or nothing was found is known only where the other limits are refuted
    loose = wanted.worlds.changed(lambda q: with_limit(q, key, None))
    rest = of_some_limits(replace(wanted, worlds=loose)).status
    return None, rest if rest is Status.INFEASIBLE else Status.ERROR
