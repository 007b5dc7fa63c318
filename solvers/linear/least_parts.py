"""Whole-number programs in which a few sets of things may be there: the least design of each set, all sets at once.

A row ``a . u + k <= 0`` with at most one negative coefficient holds for the smaller of two points, column by column, if
it holds for both. Where all rows are like that, the points have a least one, reached from the lowest ends by raising
what a row asks to be raised; nothing that costs something in every column is better. If instead one column alone earns
something, its greatest value is found by halving, the others being the least that go with it. Rows of another kind are
left aside: the best without them is the optimum where it meets them. Which sets there are is listed before
(``solvers.linear.whole_parts``), so that the best of all is the optimum and its own bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.row_ends import upper_ends
from solvers.linear.linear_program import Array, End, Numbers, Result

MOST_SET_NUMBERS = 500_000
"""Sets times rows times columns that are looked at together."""
RAISING_ROUNDS = 60
VALUES_APART = 3e-9
"""Relative distance of values beyond which no tolerance makes them equal."""
ROW_MET = 1e-10
"""Of the sizes of what a row adds up: less is rounding, as for HiGHS."""
ROW_CLOSE = 1e-9
"""Of the sizes of what a row adds up: what breaks a row by less is left to another method."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Sets:
    """Rows (m, n), (m,), and of each set the ends (S, n) of the columns.

    ``raised`` (S, m): the column that a row raises, -1 for none; ``aside`` (S, m): rows that ask for one of several.
    """

    a: Array
    k: Array
    low: Array
    high: Array
    raised: NDArray[np.intp]
    aside: Mask

    def take(self, which: Mask) -> _Sets:
        """Some of the sets."""
        ends = self.low[which], self.high[which]
        return _Sets(self.a, self.k, *ends, self.raised[which], self.aside[which])

    def over(self, u: Array) -> tuple[Array, Array]:
        """How far rows are broken at a point of each set (S, m), and the sizes of what they add up."""
        return u @ self.a.T + self.k, np.abs(u) @ np.abs(self.a).T + np.abs(self.k)


def minimise(n: Numbers, cost: Array, sets: Array) -> Result | None:
    """Minimise ``cost . u``; None where some set has no least design.

    ``sets`` (S, n): the values of the columns that are known in each set; NaN for the others.
    """
    count = len(sets) * n.rows.size
    if (
        n.equal.any()
        or not n.integer.all()
        or not np.isfinite(n.high).all()
        or not 0 < count <= MOST_SET_NUMBERS
    ):
        return None
    given = ~np.isnan(sets)
    s = _read(n, np.where(given, sets, n.low), np.where(given, sets, n.high))
    s = s.take(np.asarray((s.low <= s.high).all(axis=1)))
    price, free = cost[:-1], s.low < s.high
    earning = free & (price < 0.0)
    if not earning.any():
        found = _least(s, s.low)
    elif (earning.sum(axis=1) <= 1).all() and not (free & (price > 0.0)).any():
        found = _greatest(s, earning)
    else:
        return None
    if found is None:
        return None
    u, met = found
    if not met.any():
        return Result(End.INFEASIBLE)
    value = np.where(met, u @ price + cost[-1], np.inf)
    best = int(value.argmin())
    over, size = s.over(u[[best]])
    if (over > ROW_MET * size).any():
        # without the rows left aside this is no more than a bound
        return None
    least = float(value[best])
    other = float(np.delete(value, best).min(initial=np.inf))
    # any other design of the set has more of something
    more = float(np.where(free[best], price, np.inf).min(initial=np.inf))
    sole = min(other - least, more) > VALUES_APART * abs(least)
    return Result(End.FOUND, np.append(u[best], 1.0), least, least, sole=sole)


def _read(n: Numbers, low: Array, high: Array) -> _Sets:
    """The sets with the ends that the rows imply."""
    a, k = n.rows[:, :-1], n.rows[:, -1]
    up, down = np.maximum(a, 0.0), np.minimum(a, 0.0)
    high = upper_ends(n.rows, low, high, n.integer)
    most = low @ down.T + high @ up.T + k
    gains = (a < 0.0) & (low < high)[:, None]
    # a row that holds whatever the rest may be asks for nothing
    count = np.where(most <= 0.0, 0, gains.sum(axis=2))
    return _Sets(a, k, low, high, np.where(count == 1, gains.argmax(axis=2), -1), count > 1)


Found = tuple[Array, Mask]


def _least(s: _Sets, start: Array) -> Found | None:
    """The least point of each set from ``start`` on, and whether there is one; None where rounding would decide."""
    u = start.copy()
    met: Mask = np.asarray((start <= s.high).all(axis=1))
    step = -np.take_along_axis(s.a[None], np.maximum(s.raised, 0)[:, :, None], axis=2)[:, :, 0]
    for _ in range(RAISING_ROUNDS):
        over, size = s.over(u)
        broken = (over > ROW_MET * size) & met[:, None] & ~s.aside
        if (broken & (over <= ROW_CLOSE * size)).any():
            return None
        met &= ~np.asarray((broken & (s.raised < 0)).any(axis=1))
        which, row = np.nonzero(broken & met[:, None])
        if not len(which):
            return u, met
        column, missing = s.raised[which, row], (over - ROW_MET * size)[which, row] / step[which, row]
        np.maximum.at(u, (which, column), np.ceil(u[which, column] + missing))
        met &= np.asarray((u <= s.high).all(axis=1))
    return None


def _greatest(s: _Sets, earning: Mask) -> Found | None:
    """The point of each set with most of the column that earns something, by halving."""
    found = _least(s, s.low)
    if found is None:
        return None
    u, met = found
    every = np.arange(len(u))
    column = earning.argmax(axis=1)
    low = u[every, column]
    high = np.where(met & earning.any(axis=1), s.high[every, column], low)
    while (low < high).any():
        middle, start = np.ceil((low + high) / 2.0), u.copy()
        start[every, column] = middle
        tried = _least(s, start)
        if tried is None:
            return None
        more = tried[1] & (low < high)
        u[more] = tried[0][more]
        high = np.where(more, high, middle - 1.0)
        low = np.where(more, u[every, column], low)
        high = np.maximum(high, low)
    return u, met
