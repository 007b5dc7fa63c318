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
from formulations.arithmetics import enclosures
from formulations.arithmetics.many import Many, plain
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.grids import divided
from formulations.problem import formulate
from formulations.row_keys import RowKey
from formulations.uncertainty import robust
from formulations.uncertainty.measures import WORST
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.wanted import Chance, Effort, Wanted
from formulations.uncertainty.worlds import Worlds, judged
from scenarios.question import Question, freed
from solvers import boxes, certain
from solvers.explaining import hopeless, known_designs
from solvers.geometric.kernel import gp
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts, gaps
from solvers.mechanisms.alike import apart_but_for
from solvers.mechanisms.sensitivity import with_limit
from solvers.mechanisms.why import Why, of_each, remembered
from solvers.robust.explaining import sets_searched
from solvers.robust.explaining.beyond_bounds import Beyond
from solvers.robust.explaining.robust_values import ends_of, feasible_value, gives_by_factor, nearest_value
from solvers.robust.explaining.sets_searched import of_first_point
from solvers.robust.masters import ends, failing, levels
from solvers.robust.masters.master import EASED, Master
from solvers.robust.searches import scan, worst

SETS_WORK = 3_000_000
"""Boxes times worlds that sets of limits are searched for in, all together: some fifteen seconds."""


def why(wanted: Wanted) -> Why:
    """What tells why no design holds all limits in all worlds.

    Limits on measures stand in its question like others: of several choices the value nearest to them is told.
    """
    if of_certain_limits(wanted):
        return certain.why_without_design(formulate(wanted.worlds.nominal, searched=True))
    # what may fail in no sample holds in each
    chances = tuple(c for c in wanted.chances if c.may_fail)
    # of a search for sets that goes on for ever nobody learns anything
    wanted = replace(wanted, chances=chances, effort=Effort(SETS_WORK))
    worlds, unknown = wanted.worlds, set[str]()

    together = bool(divided.shape(worlds.every))

    def of_free(free: Collection[str]) -> Why:
        own = _why(replace(wanted, worlds=worlds.changed(partial(without, names=free))))
        # each set is asked for with other gaps, too, and most follow from others
        return own if together else remembered(own)

    def nearest(name: str) -> float:
        kept = frozenset((*found.names, name)) | worlds.nominal.model.always
        return math.nan if together else nearest_value(wanted, name, kept, unknown)

    found = of_free(())
    told = gaps.with_gaps(
        found, worlds.nominal, of_free, nearest, hopeless.entering(worlds.nominal, found.names)
    )
    if told is not found and not together:
        # each set that is searched is asked for more than once
        told = remembered(told)
    lost = hopeless.broken_by_all(worlds.every, told.names, worlds.points, worlds=True)
    return replace(
        told,
        met=hopeless.unless_broken(told.met, lost),
        lost=lost,
        question=lambda points: worlds.with_caps(found.question(points)),
        ended=lambda: found.ended() | frozenset(unknown),
    )


def of_certain_limits(wanted: Wanted) -> bool:
    """Whether no limit depends on what is uncertain, at one point: then what is uncertain has no part in a conflict."""
    worlds = wanted.worlds
    if wanted.chances or worlds.caps or divided.shape(worlds.every) or not worlds.nominal.decide:
        return False
    try:
        where = boxes.space(worlds.nominal)
        x = dict(zip(where.names, enclosures.centres(where.low, where.high), strict=True))
        with np.errstate(all="ignore"):
            rows = evaluation.ratios(worlds.every, x, evaluation.metrics(worlds.every, x))
    except (ArithmeticError, CannotTake, ValueError):
        return False
    return all(np.ndim(value) == 0 for value in rows.values())


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

    def values(points: Points, wanted: Sequence[str]) -> Mapping[str, np.ndarray]:
        if together:
            return {n: np.full(points.size, np.nan) for n in wanted}
        free = replace(asked, effort=None)
        every = frozenset(names) | worlds.nominal.model.always
        return of_each(lambda n: feasible_value(free, n, every, unknown))(points, wanted)

    few, ended = conflicts.FEW_SEARCHED, lambda: frozenset(unknown)
    told = Why(names, sets_searched.met(asked, names), values, lambda _: worlds.nominal, few, ended=ended)
    listed = _why_of_listed(asked, names, told)
    if listed is not None:
        return listed
    if together:
        return told if asked.chances else _by_programs(worlds, told)
    try:
        posed = robust.posed(worlds)
        if asked.chances and levels.takes(Master(posed, WORST), asked.chances):
            return _first(why_together(posed, worlds.nominal, asked.chances), told)
    except (NotPosynomial, CannotTake):
        pass
    return told


def why_together(asked: Posed, first: Question, chances: Sequence[Chance], solve: Solver = gp.solve) -> Why:
    """What tells why points have no design, of geometric programs; ``first``: the question at the first of them."""
    worlds = asked.worlds
    names, always = breakable_limits(worlds), worlds.nominal.model.always

    def met(some: Points, kept: np.ndarray) -> Codes:
        held = frozenset(n for n, k in zip(names, kept, strict=True) if k) | always
        kinds, which = _alike(worlds.at_some(some), held)
        try:
            found = failing.hold_together(robust.kept(asked.at(some[kinds]), held), chances, solve)[0]
        except NotPosynomial:
            # which cuts there are shows where they are made
            return np.full(some.size, conflicts.NOT_KNOWN, np.int8)
        return found[which]

    def level(some: Points, name: str) -> np.ndarray:
        found, gives = np.full((2, some.size), np.inf)
        if not gives_by_factor(first, name):
            return np.full(some.size, np.nan)
        stated, every = (
            {r.key.side: r.key for r in asked.rows if r.key.name == name},
            frozenset(names) | always,
        )
        # of two ends the one gives that has to give less, and the other stays
        for side in ends_of(worlds, name):
            key = stated.get(side) or stated.get("model", RowKey(name, side))
            try:
                of_kinds, which, end = _merged(asked, first, key, some)
                best = failing.best(levels.eased(of_kinds, key, every), chances, solve, tied=False)
            except NotPosynomial:
                return np.full(some.size, np.nan)
            eased = best.x[EASED]
            # of a whole number only whole numbers do
            value = best.x.get(name, end * (eased if side == "max" else 1.0 / eased))
            sure = best.known & ~ends.any_near(first, best.x)
            # what is not known of one end is not known at all
            factor = np.select([sure, best.refuted], [eased, np.inf], -np.inf)[which]
            found = np.where(factor < gives, value[which], found)
            gives = np.minimum(gives, factor)
        return np.where(np.isneginf(gives), np.nan, found)

    return Why(
        names,
        conflicts.by_set(met),
        lambda some, wanted: {n: level(some, n) for n in wanted},
        lambda some: worlds.at_some(some).nominal,
        conflicts.FEW_SEARCHED,
    )


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


def _told(why: Why, searched: Why) -> Why:
    """The same for one question, where a search tells the values that are not known."""

    def values(points: Points, names: Sequence[str]) -> Mapping[str, np.ndarray]:
        found = dict(why.values(points, names))
        rest = [n for n, v in found.items() if np.isnan(v).any()]
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
        return known_designs.why_listed(names, found.table, levels, found.ratios)

    searched = _by_programs(worlds, searched)
    decided = frozenset(d.name for d in worlds.nominal.decide).intersection(names)
    further = Beyond(worlds, names)

    def search(points: Points, free: Collection[str]) -> Codes:
        codes = np.where(
            further.show(points, decided.intersection(free), free), conflicts.CAN_HOLD, conflicts.NOT_KNOWN
        )
        left = np.flatnonzero(codes == conflicts.NOT_KNOWN)
        rows = np.tile([n not in free for n in names], (left.size, 1))
        codes[left] = np.array(searched.met(points[left], rows), np.int8)
        return codes.astype(np.int8)

    own = hopeless.entering(worlds.nominal, names)
    listed = known_designs.why_listed(names, found.table, levels, found.ratios, decided, search, own)

    def values(points: Points, wanted: Sequence[str]) -> Mapping[str, np.ndarray]:
        bounds = [n for n in wanted if n in decided]
        return {**listed.values(points, wanted), **{n: further.value(points, n) for n in bounds}}

    return _told(replace(listed, values=values), searched)


def _by_programs(worlds: Worlds, searched: Why) -> Why:
    """The same as ``searched``, of points whose designs are judged in columns, too, first by programs if there are."""

    def in_rows(question: Question) -> Question:
        return divided.with_each_number(
            question, lambda v: Many(v.values.reshape(-1, 1)) if isinstance(v, Many) else v
        )

    if worlds.caps:
        return searched
    try:
        if divided.shape(worlds.every):
            rows = replace(worlds.changed(in_rows), near=None)
            posed = robust.posed_at_points(rows, of_first_point(worlds.nominal))
        else:
            posed = robust.posed(worlds)
        if not levels.takes(Master(posed, WORST), ()):
            return searched
    except (NotPosynomial, CannotTake):
        return searched
    return _first(why_together(posed, of_first_point(worlds.nominal), ()), searched)


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
    """The limits that a design may break: all but those that are the same for every design, or always hold."""
    middle = {
        d.name: (d.values[0] if d.values else evaluation.box(worlds.nominal, d.name).low)
        for d in worlds.nominal.decide
    }
    always = worlds.nominal.model.always
    return tuple(
        n for n in dict.fromkeys(key.name for key in judged(worlds, middle).ratios) if n not in always
    )
