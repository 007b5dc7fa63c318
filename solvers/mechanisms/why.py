"""Why questions have no design: what each class of problem brings, and how it is told.

A class of problem says which limits may be in conflict, whether some of them can hold together, and which value of one
is feasible (``Why``); the sets are found by ``conflicts.minimal_conflicts``. If a category is decided, limits can hold
together if they can under some choice (``over_choices``): a set conflicts only if it does under every choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import plain
from scenarios.define import composed
from scenarios.question import Question
from solvers import side_by_side
from solvers.mechanisms.conflicts import (
    CAN_HOLD,
    CANNOT_HOLD,
    FEW_LIMITS,
    NOT_KNOWN,
    ONE,
    Feasible,
    Minimal,
    minimal_conflicts,
)
from solvers.outcome import Conflicts
from solvers.patterns import groups

ASKED = 2
"""Of a set: it has yet to be asked."""
Values = Callable[[Indices, Sequence[str]], Mapping[str, Array]]
"""The feasible values for some limits at some points: infinite where none does, NaN where that is not known."""
Entering = Callable[[Collection[str], Collection[str]], frozenset[str]]
"""Which of some decided numbers enter some limits, both by name, or limits that nothing may break."""


def any_may(free: Collection[str], _: Collection[str]) -> frozenset[str]:
    """Any number may enter any limit: nothing is known of it (an ``Entering``)."""
    return frozenset(free)


@dataclass(frozen=True, slots=True)
class Why:
    """What tells why questions without a design have none, at one point or at many.

    ``names``: the limits that may be in conflict, in the order of the file. ``question``: the question at some of the
    points. ``few``: limits up to which all minimal sets are named. ``whole``: names that stand for whole numbers alone;
    they are told only where the other limits can hold together. ``of_every_set``: whether the values are wanted of all
    limits in any set, not of the first set alone. ``ended``: limits for whose value the search ended early. ``always``:
    names of what makes a design; they are in conflict only where no design meets all of these. ``lost`` (N, L): limits
    that no design holds whatever else gives, as far as they are known.
    """

    names: tuple[str, ...]
    met: Feasible
    values: Values
    question: Callable[[Indices], Question]
    few: int = FEW_LIMITS
    whole: frozenset[str] = frozenset()
    of_every_set: bool = False
    ended: Callable[[], frozenset[str]] = frozenset
    always: frozenset[str] = frozenset()
    lost: Bools | None = None


def of_each(value: Callable[[str], float | None]) -> Values:
    """The feasible values for one question, of each limit by itself; None where none does."""

    def values(points: Indices, names: Sequence[str]) -> Mapping[str, Array]:
        found = side_by_side.run([partial(value, n) for n in names])
        return {n: np.array([math.inf if v is None else v]) for n, v in zip(names, found, strict=True)}

    return values


def remembered(why: Why) -> Why:
    """The same for one question, with no set asked that follows from those asked before, and every value asked once.

    A subset of what can hold together can, too, and a superset of a conflict conflicts.
    """
    none = np.zeros((0, len(why.names)), bool)
    found = {CAN_HOLD: none, CANNOT_HOLD: none, NOT_KNOWN: none}
    known: dict[str, Array] = {}

    def met(points: Indices, kept: Bools) -> Codes:
        answers = np.full(len(kept), ASKED, np.int8)
        answers[(found[NOT_KNOWN][None] == kept[:, None]).all(axis=2).any(axis=1)] = NOT_KNOWN
        answers[_any_within(~kept, ~found[CAN_HOLD])] = CAN_HOLD
        answers[_any_within(kept, found[CANNOT_HOLD])] = CANNOT_HOLD
        rows = np.flatnonzero(answers == ASKED)
        if rows.size:
            answers[rows] = np.asarray(why.met(points[rows], kept[rows]), np.int8)
            for code, sets in found.items():
                found[code] = np.concatenate([sets, kept[rows][answers[rows] == code]])
        return answers

    def values(points: Indices, names: Sequence[str]) -> Mapping[str, Array]:
        known.update(why.values(points, [n for n in names if n not in known]))
        return {n: known[n] for n in names}

    return replace(why, met=met, values=values)


def _any_within(kept: Bools, some: Bools) -> Bools:
    """Which of the sets ``kept`` hold all of one of ``some`` sets."""
    holds = ~some[None] | kept[:, None]
    return np.asarray(np.any(np.all(holds, axis=2), axis=1))


def explained(why: Why, *, first: bool = False) -> Conflicts:
    """The conflicts of one question by name, with the feasible values; ``first``: of the first conflict alone."""
    if why.whole:
        # where even divisible numbers do not help, whole numbers are not part of any set
        rows = [n not in why.whole for n in why.names]
        if np.asarray(why.met(ONE, np.array([rows])))[0] == CANNOT_HOLD:
            why = _fewer(why, tuple(itertools.compress(why.names, rows)))
    all_sets = why.of_every_set or not first
    found = minimal_sets(why, 1, every=all_sets)
    closed = bool(found.owner.size or found.sure[0])
    if not closed:
        # that all of them conflict is known, even where this search leaves it open
        found = minimal_sets(why, 1, every=False, refuted=True)
        found = replace(found, sure=np.zeros(1, bool))
    minimal = found.names(why.names)
    wanted = tuple(dict.fromkeys(itertools.chain(*(minimal if why.of_every_set else minimal[:1]))))
    every, sure = bool(found.every[0]), bool(found.sure[0])
    # no value of a limit does that some conflict leaves out
    asked = [n for n in wanted if all(n in one for one in minimal)]
    values = {n: float(v[0]) for n, v in why.values(ONE, asked).items()} if asked else {}
    feasible = {n: values[n] if math.isfinite(values.get(n, math.inf)) else None for n in wanted}
    if not sure:
        # what is no relaxation comes of a design that the search itself had not found
        question = why.question(ONE)
        gives = {
            n: relaxation_factor(question, n, np.array([v])) > 1.0
            for n, v in feasible.items()
            if v is not None
        }
        feasible = {n: v if gives.get(n, False) else None for n, v in feasible.items()}
    # of the first conflict alone nobody reads which others there are
    if closed and not every and not first:
        more = tuple(_in_the_way(why, minimal, [n for n, v in feasible.items() if v is None]))
        minimal, sure = (*minimal, *(one for one, _ in more)), sure and all(known for _, known in more)
    ended = why.ended()
    return Conflicts(minimal, feasible, sure, every, tuple(n for n in wanted if n in ended))


def minimal_sets(why: Why, count: int, *, every: bool, refuted: bool = False) -> Minimal:
    """Find the minimal sets of limits that conflict at so many points; see ``conflicts.minimal_conflicts``.

    ``refuted``: that all of them conflict is known.
    """
    always = np.array([n in why.always for n in why.names], bool)

    def within(points: Indices, kept: Bools) -> Codes:
        rows = np.ones((len(kept), always.size), bool)
        rows[:, ~always] = kept
        return np.asarray(why.met(points, rows), np.int8)

    user = np.ones((count, int(np.count_nonzero(~always))), bool)
    known = user if refuted else None
    lost = None if why.lost is None else why.lost[:, ~always]
    found = minimal_conflicts(count, user.shape[1], within, every=every, within=known, few=why.few, lost=lost)
    members = np.zeros((found.owner.size, always.size), bool)
    members[:, ~always] = found.members
    found = replace(found, members=members)
    # where nothing else conflicts, what makes a design does
    none = found.owner[~members.any(axis=1)] if always.any() else found.owner[:0]
    if not none.size:
        return found

    def at_these(points: Indices, kept: Bools) -> Any:
        return why.met(none[points], kept)

    theirs = minimal_conflicts(none.size, always.size, at_these, every=every, few=why.few)
    kept = ~np.isin(found.owner, none)
    owner = np.concatenate([found.owner[kept], none[theirs.owner]])
    members = np.concatenate([members[kept], theirs.members])
    order = np.argsort(owner, kind="stable")
    every_known, sure = found.every.copy(), found.sure.copy()
    every_known[none], sure[none] = theirs.every, theirs.sure
    return Minimal(owner[order], members[order], every_known, sure)


def _in_the_way(
    why: Why, known: Sequence[tuple[str, ...]], names: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """For each limit without a feasible value: a minimal conflict without it where none is known, and if it is sure."""
    named = list(known)
    for name in names:
        if all(name in one for one in named):
            rest = _fewer(why, tuple(n for n in why.names if n != name))
            more = minimal_sets(rest, 1, every=False)
            named += [one for one in more.names(rest.names) if one]
            yield from ((one, bool(more.sure[0])) for one in named[len(known) :])
            known = tuple(named)


def _fewer(why: Why, names: tuple[str, ...]) -> Why:
    """The same about some of the limits, without the others."""
    lost = None if why.lost is None else why.lost[:, [why.names.index(n) for n in names]]
    return replace(why, names=names, met=in_columns(why.met, names, why.names), lost=lost)


def in_columns(met: Feasible, names: Sequence[str], own: Sequence[str]) -> Feasible:
    """Ask about the limits ``names`` what knows the limits ``own``; those that only one of them has play no part."""
    mine = [i for i, n in enumerate(own) if n in names]
    theirs = [names.index(own[i]) for i in mine]

    def asked(points: Indices, kept: Bools) -> Codes:
        rows = np.zeros((len(kept), len(own)), bool)
        rows[:, mine] = kept[:, theirs]
        return np.asarray(met(points, rows), np.int8)

    return asked


def first_of(quick: Why, slow: Why) -> Why:
    """What tells why one question has no design, first by ``quick``, and what that leaves open by ``slow``."""

    def met(points: Indices, kept: Bools) -> Codes:
        codes = np.array(quick.met(points, kept), np.int8)
        left = np.flatnonzero(codes == NOT_KNOWN)
        if left.size:
            codes[left] = in_columns(slow.met, quick.names, slow.names)(points[left], kept[left])
        return codes

    def values(points: Indices, names: Sequence[str]) -> Mapping[str, Array]:
        found = dict(quick.values(points, names))
        left = [n for n in names if n in quick.ended() and n in slow.names]
        told = slow.values(points, left) if left else {}
        return found | {n: np.where(np.isfinite(v), v, found[n]) for n, v in told.items()}

    return remembered(replace(quick, met=met, values=values, ended=lambda: quick.ended() & slow.ended()))


def any_of(every: Sequence[Feasible]) -> Feasible:
    """Limits can hold together where they can in one of several cases."""

    def feasible(points: Indices, kept: Bools) -> Codes:
        found = np.array(every[0](points, kept), np.int8)
        # a design of the first case says enough
        left = np.flatnonzero(found != CAN_HOLD)
        if left.size and len(every) > 1:
            tasks = [partial(ask, points[left], kept[left]) for ask in every[1:]]
            answers = np.stack([found[left], *side_by_side.run(tasks)])
            # what one case leaves open is open unless another one has a design
            found[left] = np.where(
                (answers == CAN_HOLD).any(0),
                CAN_HOLD,
                np.where((answers == CANNOT_HOLD).all(0), CANNOT_HOLD, NOT_KNOWN),
            )
        return found

    return feasible


def over_choices(every: Sequence[Why]) -> Why:
    """Why a question has no design under any choice: limits conflict where they do under every one of them.

    The feasible value is the loosest: of all choices the one for which the limit has to give the least.
    """
    if len(every) == 1:
        return every[0]
    names = merged([w.names for w in every])

    def values(points: Indices, wanted: Sequence[str]) -> Mapping[str, Array]:
        found = side_by_side.run([partial(_where_it_helps, w, points, wanted) for w in every])
        asked = [w.question(points) for w in every]
        return {n: loosest(n, [(q, own[n]) for q, own in zip(asked, found, strict=True)]) for n in wanted}

    whole = {n for n in names if all(n in w.whole for w in every if n in w.names)}
    always = {n for n in names if all(n in w.always for w in every if n in w.names)}
    return Why(
        names,
        any_of([in_columns(w.met, names, w.names) for w in every]),
        values,
        every[0].question,
        min(w.few for w in every),
        frozenset(whole),
        any(w.of_every_set for w in every),
        lambda: frozenset[str]().union(*(w.ended() for w in every)),
        frozenset(always),
    )


def _where_it_helps(why: Why, points: Indices, wanted: Sequence[str]) -> dict[str, Array]:
    """The feasible values under one choice; infinite where the other limits conflict anyway."""
    found = {n: np.full(points.size, np.inf) for n in wanted}
    own = [n for n in wanted if n in why.names]
    if not own:
        return found
    others = np.array([[m != n for m in why.names] for n in own])
    met = why.met(np.repeat(points, len(own)), np.tile(others, (points.size, 1)))
    helps = np.asarray(met).reshape(points.size, len(own)).T != CANNOT_HOLD
    for which, some in groups(helps):
        if some.any():
            names = [own[i] for i in which]
            values = why.values(points[some], names)
            for n in names:
                found[n][some] = values[n]
    return found


def merged(every: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """All names, each behind those that some list has before it."""
    found: list[str] = []
    for names in every:
        place = 0
        for n in names:
            if n not in found:
                found.insert(place, n)
            place = found.index(n) + 1
    return tuple(found)


def loosest(name: str, found: Sequence[tuple[Question, Array]]) -> Array:
    """Of the feasible values under several choices the one for which the limit has to give the least.

    NaN where one of them is not known. Each with the question at the points of the values, whose limit may be looser
    than that of the points for which it is asked: of values that it allows the one farthest inside.
    """
    least_end, most_end = evaluation.bounds(found[0][0]).get(name, (None, None))
    inwards = -1.0 if least_end is not None and most_end is None else 1.0
    best, least = (np.full_like(found[0][1], np.inf) for _ in range(2))
    unknown = np.isnan([v for _, v in found]).any(0)
    for question, values in found:
        given = np.where(np.isfinite(values), relaxation_factor(question, name, values), np.inf)
        better = (given < least) | ((given == least) & (inwards * values < inwards * best))
        best, least = np.where(better, values, best), np.where(better, given, least)
    return np.where(unknown, np.nan, best)


def relaxation_factor(question: Question, name: str, values: Array) -> Array:
    """The factor by which a limit gives where it has these values (inverse of ``value_at``); 1 within its bounds.

    A list gives by how far a value is off the nearest one listed.
    """
    if any(own.name == name for own in question.model.limits):
        return values
    found = np.ones_like(values)
    for end, sign in zip(evaluation.bounds(question).get(name, (None, None)), (-1.0, 1.0), strict=True):
        if end is None:
            continue
        bound = np.ravel(np.asarray(plain(end), dtype=float))
        with np.errstate(all="ignore"):
            factor = np.where(bound > 0, (values / bound) ** sign, 1.0 + sign * (values - bound))
            if composed.may_be_negative(question.model, name):
                factor = 1.0 + sign * (values - bound) / np.where(bound == 0.0, 1.0, np.abs(bound))
        found = np.where(sign * (values - bound) > 0, factor, found)
    listed = next((d.values for d in question.decide if d.name == name and d.values is not None), None)
    return found if listed is None else np.maximum(found, _beside_list(np.array(listed, float), values))


def _beside_list(listed: Array, values: Array) -> Array:
    """The factor by which values are off the nearest one of a list; 1 for what is listed."""
    with np.errstate(all="ignore"):
        apart = np.abs(np.log(values[:, None] / listed[None]))
        return np.asarray(np.exp(np.nan_to_num(apart, nan=np.inf).min(axis=1)))
