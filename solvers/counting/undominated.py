"""Sums over decided quantities: of all designs those that no other one betters, however many there are.

Where everything that limits and objective are made of is a sum of one term for each decided quantity, designs are
built quantity by quantity (dynamic programming over several criteria; for one limit: Nemhauser and Ullmann 1969,
"Discrete dynamic programming and capital allocation"). Two partial designs go on in the same ways; one that is nowhere
smaller and has a larger goal than another is let go, and so is one that breaks a limit however it goes on, or that
betters no whole design met on the way whatever it may come to (``Incumbents``: branch and bound).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.many import Array
from solvers.counting.criteria import Stage, Sums, TooMany, Work
from solvers.many_points import effort

MOST_PARTIAL = 20_000
"""Partial designs that are kept, at most."""
FOR_INFINITE = 1e300
"""In place of what is infinite."""
DOMINATED_BLOCK = 128
SORTED = 64
"""About so many comparisons does it cost to sort one."""
CERTAINLY_WORSE = 1e-7
"""Of an objective: what is worse by that is not tied."""

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class After:
    """What is still to be added: the least and the greatest in all criteria, by which quantities; the best so far."""

    low: Array
    high: Array
    stages: tuple[Stage, ...]
    best: Incumbents | None
    work: Work

    def before(self, more: Stage) -> After:
        """The same with one more quantity to be added."""
        low, high = more.ends()
        return replace(self, low=self.low + low, high=self.high + high, stages=(more, *self.stages))


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

    def promising(self, f: Array, after: After) -> Mask:
        """Whether a partial design may come to something that no whole one betters; learns of the whole ones."""
        every = np.ones(len(f), dtype=bool)
        if not len(f) or self.along is None or any(t.menu for t in after.stages):
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
            hopeless = lost - self._gained(f, value, after) > CERTAINLY_WORSE * np.abs(above)
        return np.asarray(~(hopeless & (place >= 0)))

    def _learn(self, f: Array, after: After, along: int) -> None:
        """Take whole designs in: where nothing more is added than has to be."""
        whole = f + sum((t.least for t in after.stages), np.zeros(f.shape[1]))
        # below these all limits hold wherever they are; a limit on the goal holds for what is better anyway
        end = np.minimum(self.s.tight, self.s.cap)
        own = [along] if self.ratio else [along, self.goal]
        end[own] = self.s.cap[own]
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

    def _plainly_worse(self, f: Array, need: Array, place: Indices, after: After, along: int) -> Mask:
        """Where the goal is a sum: whether a whole design is better however much more of ``along`` is used.

        What is still to be added gains at most ``rate`` for each unit of it. Between the needs of two whole designs a
        partial one is at its best just below the second.
        """
        gain, use = (-np.array([t.step[k] for t in after.stages]) for k in (self.goal, along))
        gain, use = np.maximum(gain, 0.0), -use
        if (gain[use <= 0.0] > 0.0).any() or any((t.jump < 0.0).any() for t in after.stages):
            return np.zeros(len(f), dtype=bool)
        rate = float((gain[use > 0.0] / use[use > 0.0]).max(initial=0.0))
        ends = np.append(self.need[1:], self.s.cap[along])
        best = np.maximum.accumulate((self.value + rate * ends)[::-1])[::-1]
        # ``need`` holds what the least counts of all that is left use: here is what they gain
        base = f[:, self.goal] + sum(t.least[self.goal] for t in after.stages)
        worse: Mask = base + rate * need > best[np.maximum(place, 0)] + self.s.margin[self.goal]
        return worse

    def _gained(self, f: Array, value: Array, after: After) -> Array:
        """How much ``above - value * below`` of a ratio may still fall, for each partial design."""
        assert self.ratio is not None, "this is about ratios"
        if not after.stages:
            return np.zeros(len(f))
        if any((t.jump < 0.0).any() for t in after.stages):
            return np.full(len(f), np.inf)
        steps = np.stack([t.step for t in after.stages])
        a = steps[:, self.ratio.above] * self.ratio.above_factor
        b = -steps[:, self.ratio.below] * self.ratio.below_factor
        gain = np.maximum(value[:, None] * b - a, 0.0)
        found = gain @ np.array([t.high for t in after.stages])
        # what the least counts gain: the room below is what they leave
        base = gain @ np.array([t.low for t in after.stages])
        for c in np.flatnonzero(np.isfinite(self.s.cap)):
            per = steps[:, c]
            with np.errstate(all="ignore"):
                best = np.where(gain > 0.0, np.where(per > 0.0, gain / per, np.inf), 0.0).max(axis=1)
                slack = np.maximum(self.s.cap[c] - f[:, c] - after.low[c], 0.0)
                found = np.fmin(found, base + best * slack)
        return np.asarray(found)


@dataclass(frozen=True, slots=True)
class _States:
    """Partial designs: criteria (K, C) and numbers (K, J)."""

    f: Array
    x: Array

    @property
    def size(self) -> int:
        """How many numbers these are."""
        return int(self.f.size + self.x.size)

    def take(self, which: Indices | Mask) -> _States:
        return _States(self.f[which], self.x[which])

    def moved(self, s: Sums, by: Array, j: int, n: float) -> _States:
        effort.spend(self.size * effort.NUMBER)
        x = self.x.copy()
        x[:, j] += n
        return _States(s.joined(self.f, by), x)


def _joined_states(a: _States, b: _States) -> _States:
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
        after = After(s.total(low[j + 1 :]), s.total(high[j + 1 :]), s.stages[j + 1 :], best, work)
        at = _with_menu(s, at, j, stage, after) if stage.menu else _with_count(s, at, j, stage, after)
    return at.x


def _with_menu(s: Sums, at: _States, j: int, stage: Stage, after: After) -> _States:
    found = None
    for value, terms in zip(stage.values, stage.terms, strict=True):
        more = at.moved(s, terms, j, value)
        found = more if found is None else _joined_states(found, more)
    assert found is not None, "a menu has entries"
    return _still_best(s, found, after)


def _with_count(s: Sums, at: _States, j: int, stage: Stage, after: After) -> _States:
    """Add any number of one kind: one more or not, two more or not, four, and so on, and last what is left.

    Whatever is still to be added may be added to every state, as dominance supposes: none passes the upper end.
    """
    step, jump, low = stage.step, stage.jump, stage.low
    none = None
    if low == 0.0 and jump.any():
        if stage.high < 1.0:
            return _still_best(s, at, after)
        none, low = at, 1.0
    at = at.moved(s, low * step + (low > 0.0) * jump, j, low)
    left, power = stage.high - low, 1.0
    while left > 0.0:
        take = min(power, left)
        at = _joined_states(at, at.moved(s, take * step, j, take))
        left -= take
        effort.spend(SORTED * at.x.size * effort.PAIR)
        # with a last step that is not a power of two a number can be made in two ways
        at = at.take(np.sort(np.unique(at.x, axis=0, return_index=True)[1]))
        more = Stage(stage.name, stage.values, stage.terms, step, np.zeros_like(jump), 0.0, left)
        at = _still_best(s, at, after.before(more) if left else after)
        if not (at.x[:, j] >= low + take).any():
            # where so many more are never better, still more are not: less of them goes with what betters the rest
            at = _still_best(s, at, after)
            break
        power *= 2.0
    return at if none is None else _still_best(s, _joined_states(none, at), after)


def _still_best(s: Sums, at: _States, after: After) -> _States:
    """Partial designs that may still be the best."""
    effort.spend(at.size * effort.NUMBER)
    at = at.take(np.asarray((s.joined(at.f, after.low) <= s.cap).all(axis=1)))
    if after.best is not None:
        at = at.take(after.best.promising(at.f, after))
    f = np.maximum(
        at.f, s.enough - (after.high if s.largest is None else np.where(s.largest, 0.0, after.high))
    )
    at = _States(f, at.x).take(undominated(f, s.goal & s.ties, s.margin, after.work))
    if len(at.x) > MOST_PARTIAL:
        raise TooMany(f"more than {MOST_PARTIAL} designs are each the best in something")
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
    if goal.any() and not (goal & some).any():
        # nothing so far touches a goal: all are tied in it, and ties may want any of them
        return rows
    f, goal, margin = f[:, some], goal[some], margin[some]
    f = np.where(np.isinf(f), np.copysign(FOR_INFINITE, f), f)
    if not goal.any():
        rows = np.unique(f, axis=0, return_index=True)[1]
        return rows[~_dominated_rows(f[rows], 0.0, work, other=True)]
    kept = np.arange(len(f))
    for g in np.flatnonzero(goal):
        order = np.array([*(c for c in range(f.shape[1]) if c != g), g])
        kept = kept[~_dominated_rows(f[kept][:, order], float(margin[g]), work)]
    return rows[kept]


def _dominated_rows(f: Array, margin: float, work: Work, *, other: bool = False) -> Mask:
    """Rows than which another one is nowhere larger and in the last column smaller, by ``margin``.

    ``other``: of rows that are all different, those than which another one is nowhere larger.
    """
    last = f[:, -1] - margin
    if f.shape[1] == 1:
        return np.asarray((f[:, 0].min() <= last) & (f[:, 0].min() < f[:, 0]))
    work.spend(SORTED * len(f))
    order = np.lexsort(f.T[::-1])
    f, last = f[order], last[order]
    found = np.zeros(len(f), dtype=bool)
    if f.shape[1] == 2 and other:
        found[order[1:]] = np.minimum.accumulate(f[:-1, 1]) <= f[1:, 1]
        return found
    if f.shape[1] == 2:
        # the least so far, of those with the same first number too
        ends = np.searchsorted(f[:, 0], f[:, 0], side="right") - 1
        least = np.minimum.accumulate(f[:, 1])[ends]
        found[order] = (least <= last) & (least < f[:, 1])
        return found
    front = np.zeros((0, f.shape[1]))
    marked = np.zeros(len(f), dtype=bool)
    for start in range(0, len(f), DOMINATED_BLOCK):
        own = slice(start, start + DOMINATED_BLOCK)
        rivals = np.concatenate([front, f[own]])
        work.spend(len(rivals) * DOMINATED_BLOCK)
        mine, aim = f[own], last[own]
        smaller = np.ones((len(rivals), len(mine)), dtype=bool)
        for c in range(f.shape[1] - 1):
            smaller &= rivals[:, None, c] <= mine[None, :, c]
        smaller &= rivals[:, None, -1] <= aim[None]
        if other:
            np.fill_diagonal(smaller[len(front) :], False)
        else:
            smaller &= rivals[:, None, -1] < mine[None, :, -1]
        marked[own] = smaller.any(axis=0)
        front = np.concatenate([front, mine[~marked[own]]])
    found[order] = marked
    return found
