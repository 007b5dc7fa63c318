"""Whole designs met on the way, by which partial ones are let go (branch and bound beside ``undominated``)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.many import Array
from solvers.counting.criteria import Stage, Sums, Work

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
        if not len(f) or any(t.step is None for t in after.stages):
            return every
        if self.along is None:
            return every if self.ratio else self._below_the_best(f, after)
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

    def _below_the_best(self, f: Array, after: After) -> Mask:
        """Where no limit has a cost: whether the goal is not beyond that of some design that meets all limits."""
        whole = f + sum((t.least for t in after.stages), np.zeros(f.shape[1]))
        met = whole[(whole <= self._ends()).all(axis=1), self.goal]
        self.value = np.array([min([*self.value, *met], default=np.inf)])
        own = f[:, self.goal] + after.low[self.goal]
        if after.stages and after.low[self.goal] == 0.0 and not any(t.beside.any() for t in after.stages):
            own = own + self._still_missing(f, np.stack([t.per for t in after.stages]))
        return np.asarray(own <= self.value[0] + self.s.margin[self.goal])

    def _ends(self) -> Array:
        """Below these all limits hold wherever they are; a limit on the goal holds for what is better anyway."""
        found = np.minimum(self.s.tight, self.s.cap)
        if self.ratio is None:
            found[self.goal] = self.s.cap[self.goal]
        return found

    def _still_missing(self, f: Array, steps: Array) -> Array:
        """What the goal rises by at least until each limit is met, by the cheapest way to meet it."""
        found = np.zeros(len(f))
        for c in np.flatnonzero(np.isfinite(self.s.cap)):
            useful = steps[steps[:, c] < 0.0]
            if len(useful):
                price = float((useful[:, self.goal] / -useful[:, c]).min())
                found = np.maximum(found, np.maximum(f[:, c] - self.s.cap[c], 0.0) * price)
        return found

    def _learn(self, f: Array, after: After, along: int) -> None:
        """Take whole designs in: where nothing more is added than has to be."""
        whole = f + sum((t.least for t in after.stages), np.zeros(f.shape[1]))
        end = self._ends()
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

    def _plainly_worse(self, f: Array, need: Array, place: Indices, after: After, along: int) -> Mask:
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
        # ``need`` holds what the least counts of all that is left use: here is what they gain
        base = f[:, self.goal] + sum(t.least[self.goal] for t in after.stages)
        worse: Mask = base + rate * need > best[np.maximum(place, 0)] + self.s.margin[self.goal]
        return worse

    def _gained(self, f: Array, value: Array, after: After) -> Array:
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
        # what the least counts gain: the room below is what they leave
        base = gain @ np.array([t.low for t in after.stages])
        for c in np.flatnonzero(np.isfinite(self.s.cap)):
            per = steps[:, c]
            with np.errstate(all="ignore"):
                best = np.where(gain > 0.0, np.where(per > 0.0, gain / per, np.inf), 0.0).max(axis=1)
                slack = np.maximum(self.s.cap[c] - f[:, c] - after.low[c], 0.0)
                found = np.fmin(found, base + best * slack)
        return np.asarray(found)
