"""Whole-number programs in which at most a few of several things may be there: branch and bound on which ones.

Rows "at most k of these indicators are 1" hold a relaxation back hardly at all, since an indicator of an amount
needs to be no more than the amount over the most it can be. So the choice is branched on here: a thing is taken in
or left out, what follows from that is fixed, and each part is bounded by its linear program. Only where all is
chosen does the mixed-integer solver see what is left, a few columns.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.programs.row_ends import upper_ends
from solvers.linear.linear_program import Array, End, Numbers, Result

MOST_SUPPORT_NODES = 400
SUPPORT_PASSES = 6
LARGE_AMOUNT = 1000.0
SUPPORT_WHOLE = 1e-6
ROW_ROUNDING = 1e-9
SUPPORT_GAP = 1e-9
NEEDED_ABOVE = 1e-9

Solve = Callable[["Numbers", "Array"], "Result"]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Group:
    """Indicator columns of which at most ``most`` may be 1."""

    columns: NDArray[np.int64]
    most: int


@dataclass(frozen=True, slots=True)
class Smaller:
    """A program without the columns that have one value left; ``kept`` tells which of the old ones it has."""

    numbers: Numbers
    cost: Array
    kept: Mask
    fixed: Array

    def whole(self, u: Array) -> Array:
        """A point of it as a point of the program that it was made of."""
        found = np.append(self.fixed, 1.0)
        found[:-1][self.kept] = u[:-1]
        return found


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the designs, between these ends, with the point of its relaxation."""

    low: Array
    high: Array
    u: Array


def groups(n: Numbers) -> list[Group]:
    """The rows of a program that allow at most so many of some indicators, where they allow not all of them."""
    flags = n.integer & (n.low == 0.0) & (n.high == 1.0)
    if n.indicators is not None:
        # what is no indicator of an amount bounds a relaxation well enough
        flags &= n.indicators
    found = []
    for row in n.rows[~n.equal]:
        used = np.flatnonzero(row[:-1])
        if len(used) < 2 or not flags[used].all():
            continue
        size = row[used[0]]
        if size > 0.0 and (row[used] == size).all():
            most = math.floor(-row[-1] / size + SUPPORT_WHOLE)
            if 0 < most < len(used):
                found.append(Group(used, most))
    return found if any(_bounds_hardly(n, int(j)) for g in found for j in g.columns) else []


def _bounds_hardly(n: Numbers, flag: int) -> bool:
    """Whether an indicator may be of so large an amount that a relaxation needs hardly any of it."""
    rows = n.rows[n.rows[:, flag] < 0.0]
    most = np.where(rows[:, :-1] > 0.0, rows[:, :-1] * n.high, 0.0).sum(axis=1)
    return bool((np.minimum(-rows[:, flag], most) > LARGE_AMOUNT).any())


def minimise(
    n: Numbers, cost: Array, gap: float, among: list[Group], relaxation: Solve, whole: Solve
) -> Result | None:
    """Minimise ``cost . u``; None where the parts are too many, or a relaxation has no end.

    ``relaxation`` and ``whole`` solve one part, with and without divisible numbers.
    """
    return _Search(n, cost, gap, among, relaxation, whole).run()


class _Search:
    """Parts still to be looked at, by their bounds, and the best design so far."""

    def __init__(
        self, n: Numbers, cost: Array, gap: float, among: list[Group], relaxation: Solve, whole: Solve
    ) -> None:
        self.n, self.cost, self.gap, self.among = n, cost, gap, among
        self.relaxation, self.whole = relaxation, whole
        self.best: Result | None = None
        self.bounds: list[float] = []
        self.open: list[tuple[float, int, Node]] = []
        self.number = itertools.count()
        self.stuck = False

    def run(self) -> Result | None:
        self._enter(self.n.low, self.n.high)
        while self.open and not self.stuck:
            bound, _, node = heapq.heappop(self.open)
            if next(self.number) > MOST_SUPPORT_NODES:
                return None
            if bound >= self._enough():
                self.bounds.append(bound)
                break
            self._branch(node, bound)
        return None if self.stuck else self._result()

    def _enough(self) -> float:
        """A bound from which on a part has nothing better."""
        if self.best is None:
            return math.inf
        return self.best.value - max(self.gap, SUPPORT_GAP * abs(self.best.value))

    def _result(self) -> Result:
        if self.best is None:
            return Result(End.INFEASIBLE)
        return replace(self.best, bound=min([*self.bounds, self.best.value]))

    def _enter(self, low: Array, high: Array, of: Node | None = None, bound: float = -math.inf) -> None:
        """Bound a part; what cannot be better than the best is left out.

        A part of a part ``of`` with this ``bound`` that has the amounts of its point keeps that bound.
        """
        made = smaller(replace(self.n, low=low, high=high), self.cost)
        if made is None:
            return
        low, high = made.fixed.copy(), made.fixed.copy()
        low[made.kept], high[made.kept] = made.numbers.low, made.numbers.high
        if of is not None and self._has_amounts(of.u[:-1], low, high):
            u = np.append(np.clip(of.u[:-1], low, high), 1.0)
        else:
            found = self.relaxation(made.numbers.relaxed(), made.cost)
            if found.u is None:
                self.stuck |= found.end is not End.INFEASIBLE
                return
            u, bound = made.whole(found.u), found.bound
        if bound >= self._enough():
            self.bounds.append(bound)
        elif all(g.most >= np.count_nonzero(high[g.columns] > 0.0) for g in self.among):
            self._settle(made)
        else:
            heapq.heappush(self.open, (bound, next(self.number), Node(low, high, u)))

    def _has_amounts(self, u: Array, low: Array, high: Array) -> bool:
        """Whether a point is between these ends but for what says whether a thing is there."""
        amounts = np.ones(len(u), dtype=bool)
        for g in self.among:
            amounts[g.columns] = False
        beyond = np.maximum(low - u, u - high)
        return bool((beyond <= ROW_ROUNDING * np.maximum(1.0, np.abs(u)))[amounts].all())

    def _settle(self, made: Smaller) -> None:
        """Solve a part in which nothing is left to choose from."""
        found = self.whole(made.numbers, made.cost)
        if found.u is None:
            self.stuck |= found.end is not End.INFEASIBLE
            return
        self.bounds.append(found.bound)
        if self.best is None or found.value < self.best.value:
            self.best = replace(found, u=made.whole(found.u), multipliers=None)

    def _branch(self, node: Node, bound: float) -> None:
        group, member = self._choice(node)
        low, high = node.low.copy(), node.high.copy()
        low[member] = 1.0
        taken = low[group.columns] > 0.0
        if np.count_nonzero(taken) >= group.most:
            high[group.columns[~taken]] = 0.0
        self._enter(low, high, node, bound)
        without = node.high.copy()
        without[member] = 0.0
        self._enter(node.low, without)

    def _choice(self, node: Node) -> tuple[Group, int]:
        """The group to branch on, and its member: where too many are there, else where one is, the largest first."""
        needed = self._needed(node.u)
        waiting = []
        for g in self.among:
            free = g.columns[(node.low[g.columns] == 0.0) & (node.high[g.columns] > 0.0)]
            if np.count_nonzero(node.high[g.columns] > 0.0) > g.most:
                there = int(np.count_nonzero(needed[g.columns] > NEEDED_ABOVE))
                member = int(free[np.argmax(needed[free])])
                waiting.append((there - g.most, needed[member] > 0.0, g, member))
        *_, group, member = max(waiting, key=lambda w: w[:2])
        return group, member

    def _needed(self, u: Array) -> Array:
        """What each indicator has to be at least, by the rows that it can make room in, at a point."""
        found = np.zeros(len(u) - 1)
        for member in {int(c) for g in self.among for c in g.columns}:
            column = self.n.rows[:, member]
            rows = self.n.rows[column < 0.0]
            if len(rows):
                missing = rows @ u - rows[:, member] * u[member]
                found[member] = max(0.0, float(np.max(missing / -rows[:, member])))
        return found


def smaller(n: Numbers, cost: Array) -> Smaller | None:
    """Fix what follows from the rows, and what nothing gains from being larger; None where no design is left."""
    a, k, whole = n.rows[:, :-1], n.rows[:, -1], n.integer
    low, high = n.low, n.high
    size = np.abs(a).max(axis=1, initial=0.0) + np.abs(k)
    rows = np.ones(len(a), dtype=bool)
    for _ in range(SUPPORT_PASSES):
        before = high, np.count_nonzero(rows)
        nearer = _nearer_ends(n.rows[rows], low, high, whole)
        if nearer is None:
            return None
        with np.errstate(invalid="ignore"):
            most = np.where(a > 0, a * nearer, np.where(a < 0, a * low, 0.0)).sum(axis=1) + k
        rows &= n.equal | ~(most <= 0.0)
        gains = (a[rows] < 0).any(axis=0) | (a[rows & n.equal] != 0).any(axis=0) | (cost[:-1] < 0)
        high = np.where(gains | ~np.isfinite(low), nearer, low)
        if (before[0] == high).all() and before[1] == np.count_nonzero(rows):
            break
    kept = high > low
    fixed = np.where(kept, 0.0, low)
    right = k + a @ fixed
    empty = rows & ~(a[:, kept] != 0).any(axis=1)
    if (right[empty] > ROW_ROUNDING * size[empty]).any() or (
        np.abs(right[empty & n.equal]) > ROW_ROUNDING
    ).any():
        return None
    rows &= ~empty
    left = np.column_stack([a[rows][:, kept], right[rows]])
    made = Numbers(left, n.equal[rows], low[kept], high[kept], whole[kept])
    return Smaller(made, np.append(cost[:-1][kept], cost[-1] + cost[:-1] @ fixed), kept, fixed)


def _nearer_ends(rows: Array, low: Array, high: Array, whole: Mask) -> Array | None:
    """The upper ends that rows imply, of whole numbers and of what must be at its lower end; None: no design left."""
    ends = upper_ends(rows, low, high, whole, passes=1)
    if (ends < low - ROW_ROUNDING * np.maximum(1.0, np.abs(low)) - np.where(whole, 0.5, 0.0)).any():
        return None
    return np.where(whole | (ends <= low), np.maximum(ends, low), high)
