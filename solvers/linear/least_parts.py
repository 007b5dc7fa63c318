"""Whole numbers with a least design: of all that meet the rows, one that is smallest in every number at once.

A row ``a . u + k <= 0`` with at most one negative coefficient holds for the smaller of two points, column by column, if
it holds for both. Where all rows are like that, the points have a least one, reached from the lowest ends by raising
what a row asks to be raised; nothing that costs something in every column is better, and a tie goes to it. If instead
one column alone earns something, its greatest value is found by halving, the others being the least that go with it.
Rows of another kind are left aside: the best without them bounds what is possible with them, and is the optimum where
it meets them.

``best`` takes many cases at once, of points of a grid or of sets of things that may be there, as the last dimension of
its arrays, which has the length 1 where they are alike. Sets of a program are listed before
(``solvers.linear.whole_parts``), so that the best of all is the optimum and its own bound.
"""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.programs.row_ends import upper_ends
from solvers.linear.linear_program import End, Numbers, Result

MOST_SET_NUMBERS = 500_000
"""Sets times rows times columns that are looked at together."""
RAISING_ROUNDS = 60
VALUES_APART = 3e-9
"""Relative distance of values beyond which no tolerance makes them equal."""
ROW_MET = 1e-10
"""Of the sizes of what a row adds up: less is rounding, as for HiGHS."""
ROW_CLOSE = 1e-9
"""Of the sizes of what a row adds up: what breaks a row by less is left to another method."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best points ``u`` (n, C) of C cases.

    ``lost``: by how much of its size a row is broken (0: there is a point; infinite: none by far), rows left aside not
    counted; ``met``: whether these hold as well; ``near``: whether rounding may decide, or no least point is the best.
    """

    u: Array
    lost: Array
    met: Bools
    near: Bools

    @property
    def there(self) -> Bools:
        """Where there is a point, rows left aside not counted."""
        return np.asarray(self.lost == 0.0)


@dataclass(frozen=True, slots=True)
class _Cases:
    """Rows (m, n, C), (m, C) and upper ends (n, C).

    ``raising`` (m, C): rows that ask for more of one column, by its ``place`` in points that are laid flat, of which
    ``step`` lifts the row; ``aside`` (m, C): rows that ask for one of several.
    """

    a: Array
    k: Array
    high: Array
    raising: Bools
    place: Indices
    step: Array
    aside: Bools

    def least(self, start: Array) -> Found:
        """The least point of each case from ``start`` on."""
        u, count = start.copy(), start.shape[1]
        flat, ends = u.reshape(-1), self.high.reshape(-1) + 1.0
        sizes, near = (np.abs(self.a), np.abs(self.k)), np.zeros(count, dtype=bool)
        for _ in range(RAISING_ROUNDS):
            over, size = _sums(self.a, u) + self.k, _sums(sizes[0], np.abs(u)) + sizes[1]
            broken = over > ROW_MET * size
            asking = np.flatnonzero(broken & self.raising)
            place, slack = self.place.take(asking), (ROW_MET * size).take(asking)
            missing, now = over.take(asking), flat.take(place)
            near[asking[missing <= ROW_CLOSE / ROW_MET * slack] % count] = True
            # beyond its end there is no point, and no need to go on
            asked = np.minimum(np.ceil(now + (missing - slack) / self.step.take(asking)), ends.take(place))
            more = asked > now
            if not more.any():
                break
            np.maximum.at(flat, place, asked)
        near[asking[more] % count] = True
        broken &= ~self.aside
        near |= (broken & (over <= ROW_CLOSE * size)).any(axis=0)
        lost = np.where(broken, over / np.where(broken, size, 1.0), 0.0).max(axis=0, initial=0.0)
        lost = np.where((u > self.high).any(axis=0), np.inf, lost)
        met = ~np.asarray((self.aside & (over > ROW_MET * size)).any(axis=0))
        return Found(u, lost, met, near)

    def greatest(self, low: Array, earning: Bools) -> Found:
        """The point of each case with most of the column that earns something, by halving."""
        found, every = self.least(low), np.arange(low.shape[1])
        column, near = earning.argmax(axis=0), found.near
        good = found.u[column, every]
        bad = np.where(found.there & earning.any(axis=0), self.high[column, every], good) + 1.0
        while (bad - good > 1.0).any():
            middle, start = np.floor((good + bad) / 2.0), found.u.copy()
            start[column, every] = middle
            tried = self.least(start)
            fits, near = tried.there, near | tried.near
            u, lost = np.where(fits, tried.u, found.u), np.where(fits, tried.lost, found.lost)
            found = Found(u, lost, np.where(fits, tried.met, found.met), near)
            good, bad = np.where(fits, middle, good), np.where(fits, bad, middle)
        return found


def most(a: Array, k: Array, low: Array, high: Array) -> Array:
    """What rows come to at most: one that this does not break asks for nothing."""
    return _sums(np.maximum(a, 0.0), high) + _sums(np.minimum(a, 0.0), low) + k


def best(a: Array, k: Array, low: Array, high: Array, price: Array) -> Found:
    """Minimise ``price . u`` over whole numbers between their ends that meet the rows, in each case."""
    count = max(x.shape[-1] for x in (a, k, low, high, price))
    ahead = most(a, k, low, high) > 0.0
    rows = ahead.any(axis=1)
    a, k, ahead = a[rows], k[rows], ahead[rows]
    gains = (a < 0.0) & (low < high)
    several, column = gains.sum(axis=1), gains.argmax(axis=1)
    step = -np.take_along_axis(a, column[:, None], axis=1)[:, 0]
    place = column * count + np.arange(count)
    low, high, price = (np.broadcast_to(x, (len(low), count)) for x in (low, high, price))
    raising, aside = ahead & (several == 1), ahead & (several > 1)
    shape = (len(a), count)
    wide = (np.broadcast_to(x, shape) for x in (raising, place, step, aside))
    cases = _Cases(a, k, high, *wide)
    earning = (low < high) & (price < 0.0)
    if not earning.any():
        return cases.least(low)
    mixed = (earning.sum(axis=0) > 1) | (earning.any(axis=0) & ((low < high) & (price > 0.0)).any(axis=0))
    found = cases.greatest(low, earning & ~mixed)
    return Found(found.u, found.lost, found.met, found.near | mixed)


def _sums(a: Array, u: Array) -> Array:
    """Rows times points; the cases go last, so that what comes of one does not depend on those beside it."""
    return np.asarray(np.einsum("ijc,jc->ic", a, u))


def minimise(n: Numbers, cost: Array, sets: Array) -> Result | None:
    """Minimise ``cost . u`` of a program; None where some set has no least design.

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
    low, high = (np.where(np.isnan(sets), end, sets) for end in (n.low, n.high))
    high = upper_ends(n.rows, low, high, n.integer)
    some = (low <= high).all(axis=1)
    if not some.any():
        return Result(End.INFEASIBLE)
    low, high, price = low[some].T, high[some].T, cost[:-1]
    found = best(n.rows[:, :-1, None], n.rows[:, -1:], low, high, price[:, None])
    if found.near.any():
        return None
    if not found.there.any():
        return Result(End.INFEASIBLE)
    value = np.where(found.there, price @ found.u + cost[-1], np.inf)
    first = int(value.argmin())
    if not found.met[first]:
        # without the rows left aside this is no more than a bound
        return None
    least = float(value[first])
    other = float(np.delete(value, first).min(initial=np.inf))
    # any other design of the set has more of something
    more = float(np.where(low < high, price[:, None], np.inf)[:, first].min(initial=np.inf))
    sole = min(other - least, more) > VALUES_APART * abs(least)
    return Result(End.FOUND, np.append(found.u[:, first], 1.0), least, least, sole=sole)
