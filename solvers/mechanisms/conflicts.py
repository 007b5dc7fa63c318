"""Why there is no design: minimal sets of limits that cannot hold together, and what each would have to give.

``minimal_conflicts`` is the one search for such sets: for one question and for many, whatever tells which limits can
hold together (see ``solvers.mechanisms.why``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.arrays import Array, Bools, Codes, Indices
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import plain
from formulations.row_keys import RowKey
from formulations.tolerances import NEXT_TO
from scenarios.define import composed
from scenarios.question import HALVINGS, Decision, Question
from solvers.geometric.kernel import gp
from solvers.judgement import relaxed
from solvers.mechanisms import smallest_sets
from solvers.patterns import groups

FEW_LIMITS, FEW_SEARCHED = 10, 8
"""Limits up to which all minimal sets are named; the fewer where whether some hold together is itself searched for."""
SETS_TOGETHER, ROWS_ASKED_TOGETHER = 4096, 16_384
"""Rows that are asked together: of how many sets by size, and at most."""
CAN_HOLD, CANNOT_HOLD, NOT_KNOWN = 1, 0, -1
TO_NOTHING = np.finfo(float).max
"""The factor by which a lower limit gives where only 0 would do."""
ONE = np.zeros(1, dtype=np.intp)
"""The points of one question."""

Feasible = Callable[[Indices, Bools], Any]
"""Whether limits hold together, by rows: whose (R,), limits kept (R, L). Truth, or CAN_HOLD, CANNOT_HOLD, NOT_KNOWN."""


@dataclass(frozen=True, slots=True)
class Minimal:
    """Minimal sets of limits in conflict, of N points.

    ``owner`` (S,) and ``members`` (S, L): the sets by point, then size, then the order of the limits. ``every`` (N,):
    whether these are all there are. ``sure`` (N,): False where some set could neither be met nor refuted; it counts as
    met.
    """

    owner: Indices
    members: Bools
    every: Bools
    sure: Bools

    def names(self, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The sets by name."""
        return tuple(tuple(n for n, k in zip(names, kept, strict=True) if k) for kept in self.members)

    def certain(self, names: Sequence[str]) -> Iterator[tuple[Indices, tuple[str, ...]]]:
        """Go through the points that share a set and are sure of it, and its names; with one set for each point."""
        good = np.flatnonzero(self.sure[self.owner])
        for which, kind in groups(self.members[good]):
            yield self.owner[good[which]], tuple(n for n, k in zip(names, kind, strict=True) if k)


def in_both(near: Feasible, far: Feasible) -> Feasible:
    """Limits cannot hold together where they cannot with the ends that only a search has far away.

    What is left open there may be found in the box that is searched.
    """

    def feasible(points: Indices, kept: Bools) -> Codes:
        found = np.array(far(points, kept), np.int8)
        rest = np.flatnonzero(found == NOT_KNOWN)
        if rest.size:
            found[rest[near(points[rest], kept[rest]) == CAN_HOLD]] = CAN_HOLD
        return found

    return feasible


def minimal_conflicts(
    points: int,
    names: int,
    feasible: Feasible,
    *,
    every: bool,
    within: Bools | None = None,
    met: Sequence[Bools] = (),
    few: int = FEW_LIMITS,
    lost: Bools | None = None,
) -> Minimal:
    """Find the minimal sets of limits that cannot hold together, of many points at once.

    ``every``: all of them, else the smallest, of these the first in the order of the limits. ``within`` (points,
    names): limits that are known to conflict together (default: all, which is asked). ``met``: of some designs, which
    limits (points, names) they meet; a design that meets none tells nothing. ``lost`` (points, names): limits known to
    conflict by themselves.

    A limit without which there is a design is in every conflict; where these alone conflict there is no other. Else
    sets are asked by size, up to ``few`` limits; of more limits the smallest set alone is found (``smallest_sets``).
    Subsets of what can hold together can, too, and supersets of a conflict conflict. Where some conflict is known and
    one is wanted, single limits are asked before all this: many points need no more.
    """
    inside = np.ones((points, names), bool) if within is None else within
    settled = np.full(points, every and names <= few)
    state = _State(
        inside,
        within is not None,
        np.zeros_like(inside),
        met,
        feasible,
        settled,
        np.ones(points, bool),
        [],
        [],
    )
    open_ones, sizes = np.arange(points), range(names + 1)
    if lost is not None and lost.any() and not (every and names <= few):
        open_ones = _by_themselves(state, lost)
    if within is not None and not every:
        open_ones = _by_size(state, state.alone(open_ones), sizes[1:2], every=False)
        sizes = sizes[2:]
    # of many limits most play no part, and go many at a time
    if names <= few or within is not None:
        state.needed[open_ones] = _necessary_limits(state, open_ones)
    open_ones = state.alone(open_ones, least=sizes.start)
    if names > few:
        _smallest(state, open_ones)
    else:
        _by_size(state, open_ones, sizes, every=every)
    owner, members = np.concatenate(state.owners), np.concatenate(state.members)
    order = np.argsort(owner, kind="stable")
    return Minimal(owner[order], members[order], state.every, state.sure)


@dataclass(slots=True)
class _State:
    """What is known while sets are asked; ``refuted``: that all limits ``inside`` conflict together."""

    inside: Bools
    refuted: bool
    needed: Bools
    met: Sequence[Bools]
    feasible: Feasible
    every: Bools
    sure: Bools
    owners: list[Indices]
    members: list[Bools]

    def add(self, owner: Indices, members: Bools) -> None:
        self.owners.append(owner)
        self.members.append(members)

    def asked(self, owner: Indices, kept: Bools) -> Codes:
        found = np.full(owner.size, CAN_HOLD, np.int8)
        clash = (kept >= self.inside[owner]).all(1) & self.refuted
        found[clash] = CANNOT_HOLD
        rest = np.flatnonzero(~clash)
        for met in self.met:
            there = met[owner[rest]]
            rest = rest[(kept[rest] & ~there).any(1) | ~there.any(1)]
        for start in range(0, rest.size, ROWS_ASKED_TOGETHER):
            part = rest[start : start + ROWS_ASKED_TOGETHER]
            found[part] = self.feasible(owner[part], kept[part])
        return found

    def conflict(self, owner: Indices, kept: Bools) -> Bools:
        """Whether sets conflict; points of which that cannot be told are marked."""
        found = self.asked(owner, kept)
        self.sure[owner[found == NOT_KNOWN]] = False
        return np.asarray(found == CANNOT_HOLD)

    def alone(self, points: Indices, least: int = 0) -> Indices:
        """Settle points whose needed limits conflict alone, and return the others; fewer than ``least`` do not."""
        needed = self.needed[points]
        clash = (needed == self.inside[points]).all(1) & self.refuted
        rest = np.flatnonzero(~clash & (needed.sum(1) >= least))
        clash[rest] = self.conflict(points[rest], needed[rest])
        self.add(points[clash], needed[clash])
        # what could not be told of smaller sets does not matter: they lack a needed limit
        self.every[points[clash]] = self.sure[points[clash]] = True
        return np.asarray(points[~clash])


def _by_themselves(state: _State, lost: Bools) -> Indices:
    """Settle points where a limit is ``lost`` by the first one that conflicts by itself, and return the others."""
    some, alone = np.flatnonzero(lost.any(1)), np.eye(lost.shape[1], dtype=bool)
    # where not even nothing can hold that is the smallest set
    some = some[~state.conflict(some, np.zeros((some.size, len(alone)), bool))]
    first = lost[some].argmax(1)
    point, limit = np.nonzero(np.arange(len(alone)) < first[:, None])
    clash = state.conflict(some[point], alone[limit])
    np.minimum.at(first, point[clash], limit[clash])
    state.add(some, alone[first])
    return np.setdiff1d(np.arange(len(lost)), some)


def _necessary_limits(state: _State, points: Indices) -> Bools:
    """The limits without which the others can hold together."""
    # what is in every conflict is in the one that is known
    left_out, place = np.nonzero(state.inside[points].T)
    kept = np.ones((place.size, state.inside.shape[1]), bool)
    kept[np.arange(place.size), left_out] = False
    found = np.zeros((points.size, state.inside.shape[1]), bool)
    found[place, left_out] = state.asked(points[place], kept) == CAN_HOLD
    return found


def _by_size(state: _State, open_ones: Indices, sizes: Iterable[int], *, every: bool) -> Indices:
    """Ask the sets of these sizes; the points without such a conflict, or with ``every`` all points."""
    count = state.inside.shape[1]
    for size in sizes:
        sets = itertools.combinations(range(count), size)
        while open_ones.size:
            some = list(itertools.islice(sets, max(SETS_TOGETHER // open_ones.size, 1)))
            if not some:
                break
            kept = np.zeros((len(some), count), bool)
            for row, chosen in zip(kept, some, strict=True):
                row[list(chosen)] = True
            clash, sets_kept = _new_conflicts(state, open_ones, kept, every=every)
            if not every:
                clash, first = np.unique(clash, return_index=True)
                sets_kept = sets_kept[first]
                open_ones = np.setdiff1d(open_ones, clash)
            state.add(clash, sets_kept)
    return open_ones


def _new_conflicts(state: _State, points: Indices, sets: Bools, *, every: bool) -> tuple[Indices, Bools]:
    """Those of some sets of one size that conflict at each point, and no subset of them; else up to the first known."""
    owner, kept = np.tile(points, len(sets)), np.repeat(sets, points.size, axis=0)
    needed = state.needed[owner]
    # the needed ones alone were asked before
    asked = (needed <= kept).all(1) & (kept != needed).any(1)
    known = (sets[:, None] == state.inside[points]).all(2) & state.refuted
    if every:
        for owners, members in zip(state.owners, state.members, strict=True):
            for point, clash in zip(owners, members, strict=True):
                asked &= (owner != point) | ~(clash <= kept).all(1)
    else:
        # of sets after a known conflict none is wanted
        asked &= (np.cumsum(known, axis=0) <= known).ravel()
    found = asked & known.ravel()
    rest = np.flatnonzero(asked & ~found)
    found[rest] = state.conflict(owner[rest], kept[rest])
    return owner[found], kept[found]


def _smallest(state: _State, open_ones: Indices) -> None:
    """The smallest set of each point among many limits; all points ask side by side."""
    clash = open_ones
    if not state.refuted:
        clash = open_ones[state.conflict(open_ones, state.inside[open_ones])]
    found = np.zeros((clash.size, state.inside.shape[1]), bool)
    running = {
        row: smallest_sets.smallest(range(found.shape[1]), np.flatnonzero(needed).tolist())
        for row, needed in enumerate(state.needed[clash])
    }
    answers: dict[int, bool | None] = dict.fromkeys(running)
    while running:
        waiting: dict[int, tuple[frozenset[int], bool]] = {}
        for row, run in list(running.items()):
            try:
                # None begins it
                waiting[row] = run.send(answers[row])
            except StopIteration as end:
                found[row, list(end.value)] = True
                del running[row]
        if not running:
            break
        kept = np.zeros((len(waiting), found.shape[1]), bool)
        for asked, (limits, _) in zip(kept, waiting.values(), strict=True):
            asked[list(limits)] = True
        owner = clash[list(waiting)]
        told = state.asked(owner, kept)
        rests_on = np.array([counts for _, counts in waiting.values()])
        state.sure[owner[rests_on & (told == NOT_KNOWN)]] = False
        answers = {
            row: None if code == NOT_KNOWN else bool(code == CANNOT_HOLD)
            for row, code in zip(waiting, told, strict=True)
        }
    state.add(clash, found)


def codes(status: NDArray[Any]) -> Codes:
    """What the status of a search says (as in ``solvers.geometric.kernel.gp``)."""
    return np.select(
        [status == gp.INFEASIBLE, status == gp.FAILED], [CANNOT_HOLD, NOT_KNOWN], CAN_HOLD
    ).astype(np.int8)


def singly(ask: Callable[[Bools], Any]) -> Feasible:
    """Answer rows of one point, one by one."""
    return lambda points, kept: np.array([int(ask(row)) for row in kept], np.int8)


def by_set(ask: Callable[[Indices, Bools], Any]) -> Feasible:
    """Answer rows by the sets that they keep; ``ask``: some points, and the limits (L,) that all of them keep."""

    def feasible(points: Indices, kept: Bools) -> Codes:
        found = np.full(len(kept), NOT_KNOWN, np.int8)
        for which, kind in groups(kept):
            found[which] = ask(points[which], kind)
        return found

    return feasible


Factor = Callable[[int], Array]
"""The least ratio of a limit (by its place among the keys), which is 1 today, over all designs that meet the others, at
every point: infinite where there is none, NaN where that is not known."""


def common_conflicts(clashes: Sequence[Bools], nowhere: Bools) -> tuple[Indices, Bools]:
    """Which part's set of limits (a combination's, a case's) is in conflict in all of them, and where none is.

    ``clashes`` (points, limits): the smallest set of each part. No set of the whole is smaller than any of these, and
    one that holds all of them conflicts everywhere.
    """
    every = np.logical_or.reduce(clashes)
    holds_all = np.stack([(c == every).all(axis=-1) for c in clashes])
    return holds_all.argmax(axis=0), nowhere & ~holds_all.any(axis=0)


def feasible_values(
    question: Question,
    keys: Sequence[RowKey | None],
    names: Iterable[str],
    factor: Factor,
    *,
    minded: bool = False,
) -> dict[str, Array]:
    """The feasible values of some limits, by name, at all points that the question is about.

    A limit is relaxed by making it the objective, with all other limits kept; how that is minimised is ``factor``.
    ``keys``: the limits as rows. Of a name with two sides that counts which has to give less. A discrete variable gets
    a value that it may have. ``minded``: ``factor`` minds that itself; what it gives beside such values is none of
    them.
    """
    return {name: _of_name(question, keys, name, factor, minded) for name in names}


def _of_name(
    question: Question, keys: Sequence[RowKey | None], name: str, factor: Factor, minded: bool
) -> Array:
    sides = sorted((key, k) for k, key in enumerate(keys) if key is not None and key.name == name)
    factors = np.stack([factor(k) for _, k in sides])
    # what is not known of one side is not known at all, and argmin finds it
    least = factors.argmin(0)
    values = np.stack(
        [value_at(question, key, f, minded=minded) for (key, _), f in zip(sides, factors, strict=True)]
    )
    found = np.where(np.isfinite(factors), values, factors)
    return np.asarray(np.take_along_axis(found, least[None], axis=0)[0])


def allowed(d: Decision, side: str, values: Array) -> Array:
    """The nearest values on the generous side that a discrete variable may have; as they are where there is none."""
    up = side == "max"
    low, high = values * (1 - 1e-9), values * (1 + 1e-9)
    if d.values is None:
        return np.ceil(low) if up else np.floor(high)
    listed = np.array(d.values, dtype=float)
    if up:
        at = np.searchsorted(listed, low)
        return np.where(at < listed.size, listed[np.minimum(at, listed.size - 1)], values)
    at = np.searchsorted(listed, high, side="right") - 1
    return np.where(at >= 0, listed[np.maximum(at, 0)], values)


def value_at(question: Question, key: RowKey, factor: Array, *, minded: bool = False) -> Array:
    """The factor by which a limit would have to give as the value that it would need, of one question or of many.

    ``value * factor`` of an upper limit, ``value / factor`` of a lower one; of a model's own limit the factor. A
    discrete variable gets a value that it may have; where the factor ``minded`` that, only one that is next to it.
    """
    if key.side == "model":
        return factor
    low, high = evaluation.bounds(question)[key.name]
    up = key.side == "max"
    bound = np.ravel(np.asarray(plain(high if up else low), dtype=float))
    toward = 1.0 if up else -1.0
    with np.errstate(all="ignore"):
        if key.name == HALVINGS.name:
            return np.asarray(bound + toward * np.log(factor) / math.log(2.0))
        if composed.may_be_negative(question.model, key.name):
            # a row of what may be negative is linear in it (``evaluation.ratios``)
            return np.asarray(relaxed(question, key, factor))
        found = np.where(bound > 0, bound * factor**toward, bound + (factor - 1.0) * toward)
    found = found if up else np.where(factor == TO_NOTHING, 0.0, found)
    own = next((d for d in question.decide if d.name == key.name and (d.integer or d.values)), None)
    if own is None:
        return found
    there = allowed(own, key.side, found)
    return np.where(np.isclose(there, found, rtol=NEXT_TO, atol=0.0), there, found) if minded else there
