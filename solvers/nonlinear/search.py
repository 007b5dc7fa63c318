"""Interval branch and bound over boxes of many points, in any number of variables; one question is one point.

Boxes are bounded by interval arithmetic and, in logarithms, by the mean-value form with interval slopes. What certainly
breaks a limit or cannot beat the best design of its point is cut off, the rest is cut into parts, of each point its
most promising boxes first. Designs come from boxes and from a local search. Slow where many variables have to be cut,
never wrong. What is found at a point depends on that point alone, not on those that are searched beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices, Integers
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics import enclosures
from formulations.grids.divided import at
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers import boxes, designs
from solvers.boxes import Space
from solvers.nonlinear.weighted_limits import certainly_conflict, with_limits_weighed
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL
from solvers.patterns import Rows, joined, keep_least, ranks
from solvers.sampling import descent

BOXES_AT_ONCE = 512
"""Boxes of a point that are cut in a round, at most."""
BOXES_TOGETHER = 8192
"""Boxes that are cut together: those of whole points, so that none depends on the others."""
PARTS, PARTS_OF_ANY = (2, 16), (4, 512)
"""How often a box is halved before its parts are bounded (at least once), and as long as a point has fewer of them.

The second where any design will do, be it that none is found after ``UNSUCCESSFUL_BOXES``: all boxes may be refuted.
"""
UNSUCCESSFUL_BOXES = 2000
NARROWED, AT_BOX_END = 1e3, 1e-6
HELD_WITHIN, HELD_TO_ROUNDING = 1e-10, 1e-15
"""How far designs may miss limits without the slack: by what searches leave, and by what rounding alone does."""
PART_OF_GAP, PART_WITH_SLACK = 0.01, 0.1
"""To which part of the gap a box is closed: beside a design that holds its limits, and one that needs their slack."""
MORE_WORK = 4
"""How many times the boxes so far are examined before designs are followed downhill again."""
BETTER = 1e-9
"""Relative: a design that is better by this than the last one that was followed downhill is followed, too."""
FEASIBLE_BOXES = 6000
"""Boxes of a point, at most, where only whether its limits can hold together is asked."""


@dataclass(frozen=True, slots=True)
class Boxes(Rows):
    """Boxes (rows, variables): whose they are, a lower bound of what is minimised there, and how steep it is."""

    point: Indices
    low: Array
    high: Array
    key: Array
    steep: Array


@dataclass(frozen=True, slots=True)
class Found:
    """What came of N points: status, the best design ``x`` (N, n), what is minimised there, and its bound.

    ``value`` is infinite where there is no design. ``ends`` (2, N, n): where every variable is discrete, the least and
    greatest values of designs as good; else ``x``. ``work``: boxes examined.
    """

    status: Codes
    x: Array
    ends: Array
    value: Array
    bound: Array
    work: Integers

    @property
    def met(self) -> Bools:
        """Where there is a design."""
        return np.isfinite(self.value)


@dataclass(slots=True)
class _Search:
    """State of a search; ``value``, ``slack`` and ``closed`` are values of what is minimised, (N,).

    ``x`` holds its limits to rounding; ``slack_x`` is the best design that needs the slack of ``HOLDS``, and becomes
    ``x`` where there is no other (not ``strict``). ``followed``: the value from which a local search last began.
    ``tied``: where every variable is discrete, designs that may be as good as the best.
    """

    question: Question
    where: Space
    most: int
    x: Array
    slack_x: Array
    value: Array
    slack: Array
    closed: Array
    followed: Array
    strict: Bools
    failed: Bools
    held: float
    work: Integers
    descend_at: Integers
    tied: list[Boxes] = field(default_factory=list)

    @property
    def wanted(self) -> bool:
        """Whether there is something to minimise."""
        return bool(self.question.objectives)

    @property
    def listed(self) -> bool:
        """Whether every variable has allowed values only."""
        return bool(self.where.discrete.all())

    @property
    def slack_counts(self) -> bool:
        """Whether a design that needs the slack is as good as any other."""
        return self.listed or not self.wanted

    def margin(self, point: Indices) -> Array:
        """The slack that boxes are granted: all of it as long as infeasibility may have to be proved."""
        exact = self.strict[point] & (not self.slack_counts)
        return np.where(exact, self.held, HOLDS)

    def cutoff(self, point: Indices) -> Array:
        """What a box must be able to go below; infinite where there is no design yet."""
        best = self.value[point]
        if not self.wanted:
            # any design will do
            return np.where(np.isfinite(best), -np.inf, np.inf)
        if self.listed:
            return np.asarray(designs.as_good_as(best))
        share = np.where(self.strict[point], PART_OF_GAP, PART_WITH_SLACK) * self.question.gap
        return best - share * np.abs(np.where(np.isfinite(best), best, 0.0))


def minimise(
    question: Question,
    where: Space,
    most: int,
    first: Boxes | None = None,
    known: tuple[Array, Array] | None = None,
    held: float = HELD_WITHIN,
) -> Found:
    """Minimise the objective of N points (or what ``to_minimise`` says); without one find any design.

    ``question``: with plain numbers, or arrays along the points; ``where``: their boxes (N, n), see ``boxes.spaces``.
    ``most``: boxes of a point, at most. ``first``: the boxes to search, if not all; ``known``: a design of each point
    to begin with, and a bound outside these boxes. ``held``: how far designs miss limits, where any met does no more.
    """
    count, n = where.low.shape
    none, far = np.full((count, n), np.nan), np.full(count, np.inf)
    work, no = np.zeros(count, np.int64), np.zeros(count, bool)
    s = _Search(
        question, where, most, none, none.copy(), far, far.copy(), far.copy(), far.copy(), no, no.copy(), held, work,
        work + (1 if question.objectives else BOXES_AT_ONCE),
    )  # fmt: skip
    if known is not None:
        _try(s, np.arange(count), known[0])
        _take_slack(s, np.isfinite(s.slack))
        s.closed = known[1].copy()
    now = _examined(s, whole(where, bounded=s.wanted) if first is None else first)
    while now.point.size:
        _take_slack(s, s.work > UNSUCCESSFUL_BOXES)
        now = _open_boxes(s, now)
        now = now.take(np.lexsort((now.key, now.point)))
        if _descend(s, now):
            now = _open_boxes(s, now)
        chosen = ranks(now.point) < (BOXES_AT_ONCE if s.wanted else FEASIBLE_BOXES)
        parts = [_examined(s, _parts(s, group)) for group in _groups(now.take(chosen))]
        now = joined([now.take(~chosen), *parts])
    _take_slack(s, np.ones(count, bool))
    if s.listed and s.tied:
        return _found(s, _settle_by_order(s))
    _follow(s, np.flatnonzero(s.value * (1 + BETTER) < s.followed))
    return _found(s, np.array([s.x, s.x]))


def runaways(question: Question, where: Space, found: Found, most: int) -> Indices:
    """Return the place of the variable whose artificial box end alone holds the optimum of each point (-1: none)."""
    runs = np.full(len(found.x), -1)
    for j, (bottom, top) in enumerate(where.ends):
        x, low, high = found.x[:, j], where.low[:, j], where.high[:, j]
        below = found.met & bottom & (x <= low * (1 + AT_BOX_END))
        above = found.met & top & (x >= high * (1 - AT_BOX_END)) & ~below
        some = np.flatnonzero((below | above) & (runs < 0))
        if not some.size:
            continue
        inner = where.at(some)
        inner.low[:, j] = np.where(below[some], low[some] * NARROWED, low[some])
        inner.high[:, j] = np.where(above[some], high[some] / NARROWED, high[some])
        again = minimise(at(question, some), inner, most)
        runs[some[again.bound > found.value[some] + question.gap * np.abs(found.value[some])]] = j
    return runs


def whole(where: Space, *, bounded: bool = True) -> Boxes:
    """Return the whole box of each of N points; not ``bounded``: with nothing to minimise."""
    count = len(where.low)
    key = np.full(count, -np.inf if bounded else 0.0)
    found = Boxes(np.arange(count), where.low, where.high, key, np.ones_like(where.low))
    return found.take((where.low <= where.high).all(axis=1))


def _groups(now: Boxes) -> Iterator[Boxes]:
    """Cut boxes, sorted by point, into groups that are examined together; none holds a part of a point."""
    start, size = 0, now.point.size
    while start < size:
        end = min(start + BOXES_TOGETHER, size)
        if end < size:
            end = int(np.searchsorted(now.point, now.point[end]))
        if end <= start:
            end = int(np.searchsorted(now.point, now.point[start], side="right"))
        yield now.take(slice(start, end))
        start = end


def _examined(s: _Search, now: Boxes) -> Boxes:
    """Bound boxes, cut off what is certainly of no use, try designs of the rest."""
    now = snapped(s.where, now)
    np.add.at(s.work, now.point, 1)
    if not now.point.size:
        return now
    e = boxes.enclose(at(s.question, now.point), now.low, now.high)
    margin, met = s.margin(now.point), np.isfinite(s.value[now.point])
    possible = ~np.any(e.low[: len(e.keys)] > 1.0 + margin, axis=0)
    possible &= met if met.all() else met | ~certainly_conflict(e, margin)
    # of listed designs those that are as good are kept, which rows alone tell
    rows = with_limits_weighed(e, margin) if s.wanted and not s.listed else e
    cuts, key = np.tile(1.0 + margin, (len(rows.low), 1)), now.key
    if s.wanted:
        best = s.cutoff(now.point) if s.listed else s.value[now.point]
        cuts[len(e.keys) :], key = best, np.fmax(key, rows.low[-1])
    low, high = enclosures.contract(rows, now.low, now.high, cuts)
    # as long as there is no design the question is whether limits hold
    now = snapped(s.where, Boxes(now.point, low, high, key, enclosures.steepness(e, met)).take(possible))
    tried = np.concatenate([enclosures.centres(now.low, now.high), now.low, now.high])
    reached = _try(s, np.tile(now.point, 3), tried)
    if s.listed:
        # a single design is what it is, and none where it breaks a limit
        single = (now.low >= now.high).all(axis=1)
        now = replace(now, key=np.where(single, reached[: single.size], now.key))
    return now


def snapped(where: Space, now: Boxes) -> Boxes:
    """Boxes shrunk to the allowed values inside; empty ones go."""
    low, high = where.snap(now.low, now.high)
    return replace(now, low=low, high=high).take((low <= high).all(axis=1))


def _try(s: _Search, point: Indices, x: Array) -> Array:
    """Evaluate designs in plain floats, keep the best of each point, and return what they reach (infinite: none)."""
    x = s.where.at(point).point(x.copy())
    worst, goal = boxes.measured(at(s.question, point), x)
    goal = np.where(np.isfinite(goal) & (worst <= 1.0 + HOLDS), goal, np.inf)
    exact = np.where(worst > 1.0 + (HOLDS if s.slack_counts else s.held), np.inf, goal)
    keep_least(s.value, s.x, point, exact, x)
    keep_least(s.slack, s.slack_x, point, goal, x)
    s.strict[point[np.isfinite(exact)]] = True
    if s.listed and s.wanted:
        tied = goal <= s.cutoff(point)
        s.tied.append(Boxes(point[tied], x[tied], x[tied], goal[tied], x[tied]))
    return goal


def _take_slack(s: _Search, which: Bools) -> None:
    """Take the best designs that need slack where the search has met no other: the designs may be a single point."""
    which = which & ~s.strict & (s.slack < s.value)
    s.value[which], s.x[which] = s.slack[which], s.slack_x[which]


def _open_boxes(s: _Search, now: Boxes) -> Boxes:
    """Close boxes that hold nothing better or cannot be cut, and all of a point whose work is done."""
    cutoff = s.cutoff(now.point)
    better = now.key <= cutoff if s.listed else ~(now.key >= cutoff)
    alone = np.where(
        s.where.discrete,
        now.low >= now.high,
        s.where.at(now.point).width(now.low, now.high) <= boxes.SMALLEST,
    ).all(axis=1)
    s.failed[now.point[better & ~alone & (s.work[now.point] >= s.most)]] = True
    kept = better & ~alone & ~s.failed[now.point]
    # what is closed stays in the proof
    np.minimum.at(s.closed, now.point[~kept], now.key[~kept])
    return now.take(kept)


def _descend(s: _Search, now: Boxes) -> bool:
    """Search locally from the most promising box of each point, and from its best design, now and then."""
    if s.listed or not s.wanted:
        return False
    first = np.flatnonzero(np.diff(now.point, prepend=-1))
    due = now.take(first[s.work[now.point[first]] >= s.descend_at[now.point[first]]])
    if not due.point.size:
        return False
    met = np.isfinite(s.value[due.point])
    # at first the best design is of the same box
    fresh = due.take(~met | (s.descend_at[due.point] > 1))
    s.descend_at[due.point] = MORE_WORK * s.work[due.point] + BOXES_AT_ONCE
    middle = s.where.at(fresh.point).point(enclosures.centres(fresh.low, fresh.high))
    best = due.point[met]
    _follow(s, np.concatenate([fresh.point, best]), np.concatenate([middle, s.x[best]]))
    return True


def _follow(s: _Search, point: Indices, x: Array | None = None) -> None:
    """Follow designs (the best of their points) downhill, whole numbers held."""
    if s.listed or not point.size:
        return
    found = descent.descents(at(s.question, point), s.where.at(point), s.x[point] if x is None else x)
    _try(s, point, found)
    s.followed[point] = s.value[point]


def _parts(s: _Search, now: Boxes) -> Boxes:
    """Halve boxes along the variable that moves their numbers most, again where a point has few parts."""
    count, done = np.bincount(now.point)[now.point], []
    any_will_do = np.isinf(s.value) & (s.work > (UNSUCCESSFUL_BOXES if s.wanted else -1))
    along = boxes.cut_along(s.where.at(now.point), now.low, now.high, now.steep)
    for i in range(1, PARTS_OF_ANY[0] + 1):
        low, high = boxes.halves(s.where.at(now.point), now.low, now.high, along)
        low, high = s.where.snap(low, high)
        # of what has one value there is no second half
        there = (low <= high).all(axis=1)
        twice = np.tile(np.arange(along.size), 2)[there]
        now = replace(now.take(twice), low=low[there], high=high[there])
        along, count = along[twice], 2 * count[twice]
        halvings, most = np.where(any_will_do[now.point, None], PARTS_OF_ANY, PARTS).T
        again = (count < most) & (i < halvings)
        done.append(now.take(~again))
        now, along, count = now.take(again), along[again], count[again]
    return joined(done)


def _settle_by_order(s: _Search) -> Array:
    """Of designs that are tied, hand out the first by the order of ties, and then the smaller one.

    Returns the ends (2, N, n) of those that are tied.
    """
    every = joined(s.tied)
    every = every.take(every.key <= designs.as_good_as(s.value[every.point]))
    ends = np.stack([np.full(s.x.shape, np.inf), np.full(s.x.shape, -np.inf)])
    np.minimum.at(ends[0], every.point, every.low)
    np.maximum.at(ends[1], every.point, every.low)
    x = dict(zip(s.where.names, every.low.T.copy(), strict=True))
    with np.errstate(all="ignore"):
        known = {**evaluation.metrics(at(s.question, every.point), x), **x}
    order = dict.fromkeys((*(n for n in s.question.tie_order if n in known), *s.where.names))
    levels = [np.broadcast_to(known[name], every.point.shape) for name in order]
    far = _at_searched_ends(s.where.at(every.point), every.low)
    if far.any():
        levels = [_without_runaways(level, every.point, far) for level in levels]
    which = designs.first_of_tied(every.point, len(s.x), levels)
    s.x[which >= 0] = every.low[which[which >= 0]]
    return ends


def _at_searched_ends(where: Space, x: Array) -> Bools:
    """Which designs have a number at an upper end that only a search has."""
    own = np.stack([np.broadcast_to(top, len(x)) for _, top in where.ends], axis=-1)
    return np.asarray((own & (x >= where.high * (1 - AT_BOX_END))).any(axis=1))


def _without_runaways(level: Array, point: Indices, far: Bools) -> Array:
    """What settles ties; 0 at points where it is least at an end of the search alone: what has no end settles none."""
    least = np.full((2, int(point.max()) + 1), np.inf)
    np.minimum.at(least, (far.astype(int), point), level)
    runs = (least[1] < least[0]) & np.isfinite(least[0])
    return np.where(runs[point], 0.0, level)


def _found(s: _Search, ends: Array) -> Found:
    """Tell what came of it."""
    bound, met = np.minimum(s.closed, s.value), np.isfinite(s.value)
    with np.errstate(invalid="ignore"):
        proved = s.value - bound <= s.question.gap * np.abs(s.value)
    none = ~met & ~s.failed & np.isinf(s.closed) & (s.closed > 0)
    status = np.select([met & proved, none], [OPTIMAL, INFEASIBLE], FAILED).astype(np.int8)
    return Found(status, s.x, ends, s.value, bound, s.work)
