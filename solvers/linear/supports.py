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
    best, bounds, number = Result(End.INFEASIBLE), list[float](), itertools.count()
    waiting: list[tuple[float, int, Array, Array, Array]] = []
    parts = [(n.low, n.high)]
    while parts or waiting:
        # from this bound on a part has nothing better
        enough = best.value if best.u is None else best.value - max(gap, SUPPORT_GAP * abs(best.value))
        if not parts:
            bound, _, *node = heapq.heappop(waiting)
            if next(number) > MOST_SUPPORT_NODES:
                return None
            if bound >= enough:
                bounds.append(bound)
                break
            parts = _parts(n, among, *node)
        low, high = parts.pop(0)
        made = smaller(replace(n, low=low, high=high), cost)
        if made is None:
            continue
        found = relaxation(made.numbers.relaxed(), made.cost)
        low, high = made.fixed.copy(), made.fixed.copy()
        low[made.kept], high[made.kept] = made.numbers.low, made.numbers.high
        better = found.u is not None and found.bound < enough
        chosen = all(g.most >= np.count_nonzero(high[g.columns] > 0.0) for g in among)
        if better and chosen:
            # nothing is left to choose from
            found = whole(made.numbers, made.cost)
        if found.u is None:
            if found.end is not End.INFEASIBLE:
                return None
        elif better and not chosen:
            heapq.heappush(waiting, (found.bound, next(number), low, high, made.whole(found.u)))
        else:
            bounds.append(found.bound)
            if better and found.value < best.value:
                best = replace(found, u=made.whole(found.u), multipliers=None)
    return best if best.u is None else replace(best, bound=min([*bounds, best.value]))


def _parts(n: Numbers, among: list[Group], low: Array, high: Array, u: Array) -> list[tuple[Array, Array]]:
    """Both parts of a node, between these ends and with this point of its relaxation: one thing is there, or is not.

    It is of the group of which too many are there, else of one that is there, and the largest of it.
    """
    needed, waiting = _needed(n, among, u), []
    for g in among:
        free = g.columns[(low[g.columns] == 0.0) & (high[g.columns] > 0.0)]
        if np.count_nonzero(high[g.columns] > 0.0) > g.most:
            there = int(np.count_nonzero(needed[g.columns] > NEEDED_ABOVE))
            first = int(free[np.argmax(needed[free])])
            waiting.append((there - g.most, needed[first] > 0.0, g, first))
    *_, group, member = max(waiting, key=lambda w: w[:2])
    with_it, beside, without = low.copy(), high.copy(), high.copy()
    with_it[member], without[member] = 1.0, 0.0
    taken = with_it[group.columns] > 0.0
    if np.count_nonzero(taken) >= group.most:
        beside[group.columns[~taken]] = 0.0
    return [(with_it, beside), (low, without)]


def _needed(n: Numbers, among: list[Group], u: Array) -> Array:
    """What each indicator has to be at least, by the rows that it can make room in, at a point."""
    found = np.zeros(len(u) - 1)
    for member in {int(c) for g in among for c in g.columns}:
        column = n.rows[:, member]
        rows = n.rows[column < 0.0]
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
