"""Sums over decided quantities: of all designs those that no other one betters, however many there are.

Where everything that limits and objective are made of is a sum of one term for each decided quantity, designs are
built quantity by quantity (dynamic programming over several criteria; for one limit: Nemhauser and Ullmann 1969,
"Discrete dynamic programming and capital allocation"). Two partial designs go on in the same ways; one that is nowhere
smaller and has a larger goal than another is let go, and so is one that breaks a limit however it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formulations.many import Array

MOST = 20_000
"""Partial designs that are kept, at most."""
WORK = 4e8
"""So many times may two partial designs be compared, where there are three criteria or more: about a second."""
HUGE = 1e300
"""In place of what is infinite."""
FIRST = 64
"""Partial designs that all others are compared with before anything is sorted."""
BLOCK = 128
CERTAIN = 1e-7
"""Of an objective: what is worse by that is not tied."""
SORTED = 64
"""About so many comparisons does it cost to sort one."""

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


class TooMany(ValueError):
    """More designs than can be kept are better than all others in something."""


@dataclass(slots=True)
class Work:
    """What comparing has cost so far, in pairs of partial designs."""

    done: float = 0.0

    def spend(self, pairs: int) -> None:
        """Count pairs; raises TooMany beyond ``WORK``."""
        self.done += pairs
        if self.done > WORK:
            raise TooMany(
                "partial designs that are each better than others in something are too many to compare"
            )


@dataclass(frozen=True, slots=True)
class Stage:
    """One decided quantity and its terms in all criteria.

    ``values`` (V,) and ``terms`` (V, C) of a menu; or, with ``step`` (C,), a whole number from ``low`` to ``high`` with
    the terms ``n step``, and ``jump`` (C,) beside them where it is not 0.
    """

    name: str
    values: Array
    terms: Array
    step: Array | None = None
    jump: Array | None = None
    low: float = 0.0
    high: float = 0.0

    @property
    def per(self) -> Array:
        """The terms of one more of a count."""
        assert self.step is not None, "a menu has none"
        return self.step

    @property
    def beside(self) -> Array:
        """The terms of a count beside those of each one of it."""
        assert self.jump is not None, "a menu has none"
        return self.jump

    @property
    def least(self) -> Array:
        """The terms of the least count."""
        return self.low * self.per + (self.low > 0.0) * self.beside

    def ends(self) -> tuple[Array, Array]:
        """The least and the greatest terms."""
        if self.step is None:
            return self.terms.min(axis=0), self.terms.max(axis=0)
        with np.errstate(invalid="ignore"):
            tips = [
                np.where(self.per == 0.0, 0.0, n * self.per) + (n > 0) * self.beside for n in self.counts()
            ]
        return np.min(tips, axis=0), np.max(tips, axis=0)

    def counts(self) -> list[float]:
        """The numbers at which its terms may be least or greatest."""
        return sorted(
            {self.low, self.high, max(self.low, 1.0)}
            if self.low < 1.0 <= self.high
            else {self.low, self.high}
        )


@dataclass(frozen=True, slots=True)
class Ratio:
    """An objective that is a ratio of two criteria: the place, factor and constant of what is above, and below.

    What is below is positive, its criterion is it with the sign turned.
    """

    above: int
    above_factor: float
    above_constant: float
    below: int
    below_factor: float
    below_constant: float

    def parts(self, f: Array) -> tuple[Array, Array]:
        """What is above and what is below at criteria (K, C)."""
        above = f[:, self.above] * self.above_factor + self.above_constant
        return above, -(f[:, self.below] * self.below_factor + self.below_constant)


@dataclass(frozen=True, slots=True)
class Sums:
    """Criteria that are all to be small.

    ``cap`` (C,): beyond it no design will do; ``enough`` (C,): below it less is no better (minus infinity: it is);
    ``tight`` (C,): below it the limit holds wherever it is (infinite: it is no limit). ``goal`` (C,): the criteria of
    which the objective is made, and ``margin`` (C,) by how much less is surely better; ``ratio``: the objective, where
    it is one of two criteria; ``largest`` (C,): criteria that are no sum of their terms, but the largest of them (None:
    there are none); ``ties``: whether of designs that are as good all are kept, or one.
    """

    stages: tuple[Stage, ...]
    cap: Array
    enough: Array
    tight: Array
    goal: Mask
    margin: Array
    ratio: Ratio | None = None
    largest: Mask | None = None
    ties: bool = True

    def joined(self, a: Array, b: Array) -> Array:
        """Criteria of two parts of a design, from those of both."""
        return a + b if self.largest is None else np.where(self.largest, np.maximum(a, b), a + b)

    def total(self, parts: Array) -> Array:
        """Criteria of what all parts (P, C) make."""
        found = self.nothing
        for part in parts:
            found = self.joined(found, part)
        return found

    @property
    def nothing(self) -> Array:
        """Criteria of what has no part."""
        return np.zeros(len(self.cap)) if self.largest is None else np.where(self.largest, -np.inf, 0.0)


@dataclass(frozen=True, slots=True)
class _States:
    """Partial designs: criteria (K, C) and numbers (K, J)."""

    f: Array
    x: Array

    def take(self, which: Indices | Mask) -> _States:
        return _States(self.f[which], self.x[which])

    def moved(self, s: Sums, by: Array, j: int, n: float) -> _States:
        x = self.x.copy()
        x[:, j] += n
        return _States(s.joined(self.f, by), x)


@dataclass(frozen=True, slots=True)
class _After:
    """What is still to be added: the least and the greatest in all criteria, by which quantities; the best so far."""

    low: Array
    high: Array
    stages: tuple[Stage, ...]
    best: Incumbents | None
    work: Work

    def before(self, more: Stage) -> _After:
        """The same with one more quantity to be added."""
        low, high = more.ends()
        return replace(self, low=self.low + low, high=self.high + high, stages=(more, *self.stages))


def _both(a: _States, b: _States) -> _States:
    return _States(np.concatenate([a.f, b.f]), np.concatenate([a.x, b.x]))


def designs(s: Sums) -> Array:
    """All designs (K, J) that may be the best at some limits: between ``enough`` and ``cap``.

    Of designs that are as good all are kept. Raises TooMany.
    """
    ends = [stage.ends() for stage in s.stages]
    low, high = (np.array([e[k] for e in ends]) for k in (0, 1))
    at = _States(s.nothing[None], np.zeros((1, len(s.stages))))
    best, work = Incumbents(s) if s.goal.any() else None, Work()
    for j, stage in enumerate(s.stages):
        after = _After(s.total(low[j + 1 :]), s.total(high[j + 1 :]), s.stages[j + 1 :], best, work)
        at = _with_menu(s, at, j, stage, after) if stage.step is None else _with_count(s, at, j, stage, after)
    return at.x


def _with_menu(s: Sums, at: _States, j: int, stage: Stage, after: _After) -> _States:
    found = None
    for value, terms in zip(stage.values, stage.terms, strict=True):
        more = at.moved(s, terms, j, value)
        found = more if found is None else _both(found, more)
    assert found is not None, "a menu has entries"
    return _kept(s, found, after)


def _with_count(s: Sums, at: _States, j: int, stage: Stage, after: _After) -> _States:
    """Add any number of one kind: one more or not, two more or not, four, and so on."""
    step, jump, low = stage.per, stage.beside, stage.low
    none = None
    if low == 0.0 and jump.any():
        if stage.high < 1.0:
            return _kept(s, at, after)
        none, low = at, 1.0
    at = at.moved(s, low * step + (low > 0.0) * jump, j, low)
    rest, power = stage.high - low, 1.0
    left = 2.0 ** np.ceil(np.log2(rest + 1.0)) - 1.0
    while left > 0.0:
        at = _both(at, at.moved(s, power * step, j, power))
        left -= power
        at = at.take(at.x[:, j] <= stage.high)
        more = Stage(stage.name, stage.values, stage.terms, step, np.zeros_like(jump), 0.0, left)
        at = _kept(s, at, after.before(more) if left else after)
        if not (at.x[:, j] >= low + power).any():
            # where so many more are never better, still more are not: less of them goes with what betters the rest
            at = _kept(s, at, after)
            break
        power *= 2.0
    return at if none is None else _kept(s, _both(none, at), after)


def _kept(s: Sums, at: _States, after: _After) -> _States:
    """Partial designs that may still be the best."""
    at = at.take(~(s.joined(at.f, after.low) > s.cap).any(axis=1))
    if after.best is not None:
        at = at.take(after.best.promising(at.f, after))
    f = np.maximum(
        at.f, s.enough - (after.high if s.largest is None else np.where(s.largest, 0.0, after.high))
    )
    at = _States(f, at.x).take(undominated(f, s.goal & s.ties, s.margin, after.work))
    if len(at.x) > MOST:
        raise TooMany(f"more than {MOST} designs are each the best in something")
    return at


def undominated(f: Array, goal: Mask, margin: Array, work: Work | None = None) -> Indices:
    """Places of the rows than which no other one is better.

    Better is what is nowhere larger and has a goal that is smaller by its margin; without a goal, what comes first of
    those that are nowhere larger. ``work`` is spent; raises TooMany.
    """
    work = Work() if work is None else work
    rows = np.arange(len(f))
    some = (f != f[:1]).any(axis=0) if len(f) else np.zeros(f.shape[1], dtype=bool)
    if not some.any():
        return rows if goal.any() else rows[:1]
    f, goal, margin = f[:, some], goal[some], margin[some]
    f = np.where(np.isinf(f), np.copysign(HUGE, f), f)
    if not goal.any():
        _, rows = np.unique(f, axis=0, return_index=True)
        f, goal = f[rows], np.ones(f.shape[1], dtype=bool)
        margin = np.zeros(f.shape[1])
    kept = _first(f, goal, margin) if f.shape[1] > 2 else np.arange(len(f))
    for g in np.flatnonzero(goal):
        order = [*(c for c in range(f.shape[1]) if c != g), g]
        kept = kept[~_bettered(f[kept][:, order], float(margin[g]), work)]
    return rows[kept]


def _first(f: Array, goal: Mask, margin: Array) -> Indices:
    """Rows that none of a few good ones betters."""
    kept = np.arange(len(f))
    if len(f) < 8 * FIRST:
        return kept
    span = np.ptp(f, axis=0)
    scaled = (f - f.min(axis=0)) / np.where(span > 0.0, span, 1.0)
    weights = np.random.default_rng(len(f)).dirichlet(np.ones(f.shape[1]), FIRST)
    for row in np.unique((scaled @ weights.T).argmin(axis=0)):
        smaller = (f[row] <= f[kept]).all(axis=1)
        less = (goal & (f[row] <= f[kept] - margin) & (f[row] < f[kept])).any(axis=1)
        kept = kept[~(smaller & less)]
    return kept


def _bettered(f: Array, margin: float, work: Work) -> Mask:
    """Rows than which another one is nowhere larger and in the last column smaller, by ``margin``."""
    last = f[:, -1] - margin
    if f.shape[1] == 1:
        return np.asarray((f[:, 0].min() <= last) & (f[:, 0].min() < f[:, 0]))
    work.spend(SORTED * len(f))
    order = np.lexsort(f.T[::-1])
    f, last = f[order], last[order]
    found = np.zeros(len(f), dtype=bool)
    if f.shape[1] == 2:
        # the least so far, of those with the same first number too
        ends = np.searchsorted(f[:, 0], f[:, 0], side="right") - 1
        least = np.minimum.accumulate(f[:, 1])[ends]
        found[order] = (least <= last) & (least < f[:, 1])
        return found
    front = np.zeros((0, f.shape[1]))
    marked = np.zeros(len(f), dtype=bool)
    for start in range(0, len(f), BLOCK):
        own = slice(start, start + BLOCK)
        rivals = np.concatenate([front, f[own]])
        work.spend(len(rivals) * BLOCK)
        mine, aim = f[own], last[own]
        smaller = np.ones((len(rivals), len(mine)), dtype=bool)
        for c in range(f.shape[1] - 1):
            smaller &= rivals[:, None, c] <= mine[None, :, c]
        smaller &= (rivals[:, None, -1] <= aim[None]) & (rivals[:, None, -1] < mine[None, :, -1])
        marked[own] = smaller.any(axis=0)
        front = np.concatenate([front, mine[~marked[own]]])
    found[order] = marked
    return found


class Incumbents:
    """Whole designs met on the way, by which partial ones are let go: what they may come to is no better.

    Of the limits that are not the same everywhere one is looked at, ``along``: a partial design competes with whole
    ones that need no more of it, and meet all others wherever they are.
    """

    def __init__(self, s: Sums) -> None:
        self.s, self.ratio = s, s.ratio
        self.goal = int(np.argmax(s.goal))
        costly = np.array([any((t.ends()[1][c] > 0.0) for t in s.stages) for c in range(len(s.cap))])
        usable = np.isfinite(s.cap) & np.isfinite(s.tight) & ~s.goal & costly
        usable &= True if s.largest is None else ~s.largest
        gap = np.where(usable, np.where(usable, s.cap, 0.0) - np.where(usable, s.tight, 0.0), -1.0)
        self.along = int(gap.argmax()) if usable.any() else None
        self.need, self.value = np.zeros(0), np.zeros(0)

    def promising(self, f: Array, after: _After) -> Mask:
        """Whether a partial design may come to something that no whole one betters; learns of the whole ones."""
        every = np.ones(len(f), dtype=bool)
        if self.along is None or not len(f) or any(t.step is None for t in after.stages):
            return every
        self._learn(f, after, self.along)
        if not self.need.size:
            return every
        need = f[:, self.along] + after.low[self.along]
        place = np.searchsorted(self.need, need, side="right") - 1
        if self.ratio is None:
            hopeless = self._plainly_worse(f, need, place, after, self.along)
        else:
            above, below = self.ratio.parts(f)
            value = self.value[np.maximum(place, 0)]
            lost = above - value * below
            hopeless = lost - self._gained(f, value, after) > CERTAIN * np.abs(above)
        return ~(hopeless & (place >= 0))

    def _learn(self, f: Array, after: _After, along: int) -> None:
        """Take whole designs in: where nothing more is added than has to be."""
        whole = f + sum((t.least for t in after.stages), np.zeros(f.shape[1]))
        end = np.minimum(self.s.tight, self.s.cap)
        end[along] = self.s.cap[along]
        whole = whole[(whole <= end).all(axis=1)]
        if self.ratio is None:
            need, value = whole[:, along], whole[:, self.goal]
        else:
            above, below = self.ratio.parts(whole)
            there = below > 0.0
            need, value = whole[there, along], above[there] / below[there]
        need, value = np.concatenate([self.need, need]), np.concatenate([self.value, value])
        order = np.lexsort((value, need))
        need, value = need[order], value[order]
        first = value < np.concatenate([[np.inf], np.minimum.accumulate(value)[:-1]])
        self.need, self.value = need[first], value[first]

    def _plainly_worse(self, f: Array, need: Array, place: Indices, after: _After, along: int) -> Mask:
        """Where the goal is a sum: whether a whole design is better however much more of ``along`` is used.

        What is still to be added gains at most ``rate`` for each unit of it. Between the needs of two whole designs a
        partial one is at its best just below the second.
        """
        gain, use = (-np.array([t.per[k] for t in after.stages]) for k in (self.goal, along))
        gain, use = np.maximum(gain, 0.0), -use
        if (gain[use <= 0.0] > 0.0).any() or any((t.beside < 0.0).any() for t in after.stages):
            return np.zeros(len(f), dtype=bool)
        rate = float((gain[use > 0.0] / use[use > 0.0]).max(initial=0.0))
        ends = np.append(self.need[1:], self.s.cap[along])
        best = np.maximum.accumulate((self.value + rate * ends)[::-1])[::-1]
        worse: Mask = f[:, self.goal] + rate * need > best[np.maximum(place, 0)] + self.s.margin[self.goal]
        return worse

    def _gained(self, f: Array, value: Array, after: _After) -> Array:
        """How much ``above - value * below`` of a ratio may still fall, for each partial design."""
        assert self.ratio is not None, "this is about ratios"
        if not after.stages:
            return np.zeros(len(f))
        if any((t.beside < 0.0).any() for t in after.stages):
            return np.full(len(f), np.inf)
        steps = np.stack([t.per for t in after.stages])
        a = steps[:, self.ratio.above] * self.ratio.above_factor
        b = -steps[:, self.ratio.below] * self.ratio.below_factor
        gain = np.maximum(value[:, None] * b - a, 0.0)
        found = gain @ np.array([t.high for t in after.stages])
        for c in np.flatnonzero(np.isfinite(self.s.cap)):
            per = steps[:, c]
            with np.errstate(all="ignore"):
                best = np.where(gain > 0.0, np.where(per > 0.0, gain / per, np.inf), 0.0).max(axis=1)
                room = np.maximum(self.s.cap[c] - f[:, c] - after.low[c], 0.0)
                found = np.fmin(found, best * room)
        return found
