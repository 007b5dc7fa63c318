"""Whole numbers with a least design: of all that meet the rows, one that is smallest in every number at once.

A row ``a . u + k <= 0`` in which at most one number gains (has a negative coefficient) holds for the smaller of two
designs, number by number, if it holds for both. Where all rows are like that the designs have a least one, reached
from the lowest ends by raising what a row asks to be raised; it is best for whatever costs something in every number,
and a tie goes to it. Where instead one number alone earns something, the greatest that it can be is found by halving,
the others being the least that go with it. Rows of another kind are left aside and looked at afterwards: what is found
without them bounds what is possible with them.

Many searches run at once, with the same rows or rows of their own: the points of a grid (``solvers.counting.counts``),
or the sets of things that may be there in a program (``of_sets``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from solvers.linear.linear_program import Array, End, Numbers, Result, upper_ends

MOST_SET_NUMBERS = 500_000
"""Sets times rows times columns that are looked at together."""
LEAST_ROUNDS, HALVINGS = 60, 60
SUM_ROUNDING = 1e-12
"""Of the sizes of what a row adds up: rounding."""
NEARLY_MET = 1e-9
"""Rows that are broken by less are another method's to judge, whose tolerances are not ours."""
VALUES_APART = 3e-9
"""Relative distance of values beyond which no tolerance makes them equal."""

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Found:
    """The design of each search.

    ``u`` (R, n); ``lost`` (R,): by how much of its size a row is broken (0: there is a design; infinite: there is none
    by far); ``met``: whether the rows left aside hold as well; ``near``: whether rounding may decide between this
    design and another, or none.
    """

    u: Array
    lost: Array
    met: Mask
    near: Mask

    @property
    def there(self) -> Mask:
        """Where there is a design, rows left aside not counted."""
        return np.asarray(self.lost == 0.0)


@dataclass(frozen=True, slots=True)
class Searches:
    """Rows ``a . u + k <= 0`` (R, m, n), (R, m) of R searches, and the ends (R, n) of their numbers.

    ``raised`` (R, m): the number that a row raises, -1 for none, in steps of ``step``; ``aside`` (R, m): rows that ask
    for one of several. What all searches share stands there once.
    """

    a: Array
    k: Array
    low: Array
    high: Array
    raised: Indices
    step: Array
    aside: Mask

    def broken(self, u: Array) -> tuple[Indices, Indices, Array, Array]:
        """Which searches break which rows at their designs (R, n), by how much, and the sizes of what they add up."""
        over = sums(self.a, self.k, u)
        which, row = np.nonzero(over > 0.0)
        size = (np.abs(_at(self.a, which, row)) * np.abs(u[which])).sum(axis=1)
        size += np.abs(_at(self.k, which, row))
        clear = over[which, row] > SUM_ROUNDING * size
        which, row = which[clear], row[clear]
        return which, row, over[which, row], size[clear]


def _at(numbers: NDArray[Any], which: Indices, row: Indices) -> NDArray[Any]:
    """Numbers of rows (R, m, ...) in some searches, or those that all share."""
    return np.asarray(numbers[which if len(numbers) > 1 else 0, row])


def sums(a: Array, k: Array, u: Array) -> Array:
    """The values of affine forms (R, m, n), (R, m) at designs (R, n)."""
    return np.asarray(np.matmul(a, u[..., None])[..., 0] + k)


def searches(a: Array, k: Array, low: Array, high: Array) -> Searches:
    """Tell what rows (R, m, n), (R, m) ask for between ends (R, n)."""
    gains = (a < 0.0) & (low < high)[:, None]
    most = sums(np.minimum(a, 0.0), k, low) + sums(np.maximum(a, 0.0), np.zeros_like(k), high)
    # a row that holds whatever the numbers are asks for nothing
    count = np.where(most <= 0.0, 0, gains.sum(axis=2))
    raised = np.where(count == 1, gains.argmax(axis=2), -1)
    of = np.arange(len(raised))[:, None] if len(a) > 1 else 0
    step = np.where(raised >= 0, -a[of, np.arange(a.shape[1]), raised], 1.0)
    return Searches(a, k, low, high, raised, step, count > 1)


def mixed(s: Searches, price: Array) -> Mask:
    """Where some numbers cost something and others earn something, or several earn something: nothing is least."""
    free = s.low < s.high
    earning, costing = (free & (price < 0.0)).sum(axis=1), (free & (price > 0.0)).any(axis=1)
    return np.asarray((earning > 1) | ((earning == 1) & costing))


def best(s: Searches, price: Array) -> Found:
    """Minimise ``price . u`` (R, n) in each search, where it is not ``mixed``."""
    count = max(len(x) for x in (s.a, s.k, s.low, price))
    start = np.broadcast_to(s.low, (count, s.low.shape[1]))
    earning = np.broadcast_to((s.low < s.high) & (price < 0.0), start.shape)
    return _greatest(s, start, earning) if earning.any() else _least(s, start)


def _least(s: Searches, start: Array) -> Found:
    """The least design from ``start`` (R, n) on."""
    u, high = start.copy(), np.broadcast_to(s.high, start.shape)
    moves = np.zeros(0, dtype=bool)
    for _ in range(LEAST_ROUNDS):
        which, row, over, size = s.broken(u)
        column = _at(s.raised, which, row)
        missing = (over - SUM_ROUNDING * size) / _at(s.step, which, row)
        # beyond its end there is no design, and no need to go on
        asked = np.minimum(np.ceil(u[which, column] + missing), high[which, column] + 1.0)
        moves = (column >= 0) & (asked > u[which, column])
        if not moves.any():
            break
        np.maximum.at(u, (which[moves], column[moves]), asked[moves])
    aside, lost, met = _at(s.aside, which, row), np.zeros(len(u)), np.ones(len(u), dtype=bool)
    met[which[aside]] = False
    kept = ~aside & (column < 0)
    np.maximum.at(lost, which[kept], (over / size)[kept])
    near = (lost > 0.0) & (lost < NEARLY_MET)
    near[which[moves]] = True
    lost[(u > high).any(axis=1)] = np.inf
    return Found(u, lost, met, near)


def _greatest(s: Searches, start: Array, earning: Mask) -> Found:
    """The design of each search with most of the number that earns something, and the least of all others."""
    every, column, some = np.arange(len(start)), earning.argmax(axis=1), earning.any(axis=1)
    found = _least(s, start)
    u, high = found.u, np.broadcast_to(s.high, start.shape)[every, column]
    bad = np.where(found.there & some, high, u[every, column]) + 1.0

    def with_number(number: Array) -> Found:
        more = u.copy()
        more[every, column] = np.maximum(u[every, column], number)
        return _least(s, more)

    for _ in range(HALVINGS):
        middle = np.floor((u[every, column] + bad) / 2.0)
        if not (middle > u[every, column]).any():
            break
        tried = with_number(middle)
        fits = tried.there & (middle > u[every, column])
        bad = np.where(fits, bad, np.minimum(bad, np.maximum(middle, u[every, column] + 1.0)))
        u = np.where(fits[:, None], tried.u, u)
    # whether one more fits may be a matter of rounding
    near = found.near | (with_number(u[every, column] + 1.0).near & some)
    settled = _least(s, u)
    return Found(u, settled.lost, settled.met, near | settled.near)


def of_sets(n: Numbers, cost: Array, sets: Array) -> Result | None:
    """Minimise ``cost . u`` over a program of whole numbers; None where some set has no least design.

    ``sets`` (S, n): the values of the columns that are known in each set; NaN for the others. The best of all sets is
    the optimum and its own bound.
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
    low = np.where(given, sets, n.low)
    high = upper_ends(n.rows, low, np.where(given, sets, n.high), n.integer)
    open_ones = (low <= high).all(axis=1)
    if not open_ones.any():
        return Result(End.INFEASIBLE)
    s = searches(n.rows[None, :, :-1], n.rows[None, :, -1], low[open_ones], high[open_ones])
    if mixed(s, cost[None, :-1]).any():
        return None
    found = best(s, cost[None, :-1])
    if found.near.any():
        return None
    if not found.there.any():
        return Result(End.INFEASIBLE)
    value = np.where(found.there, found.u @ cost[:-1] + cost[-1], np.inf)
    first = int(value.argmin())
    if not found.met[first]:
        # without the rows left aside this is no more than a bound
        return None
    least = float(value[first])
    other = float(np.delete(value, first).min(initial=np.inf))
    # any other design of the set has more of something
    more = float(np.where(s.low[first] < s.high[first], cost[:-1], np.inf).min(initial=np.inf))
    sole = min(other - least, more) > VALUES_APART * abs(least)
    return Result(End.FOUND, np.append(found.u[first], 1.0), least, least, sole=sole)
