"""Upper ends of the columns of linear programs that follow from their rows."""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array, Bools

ENDS_PASSES = 4
FOR_OPEN, SUM_WITHOUT_OPEN = 1e300, 1e200
"""In place of an infinite end, and what sums are below that have none."""
SUM_ROUNDING = 1e-12
"""Of the sizes of what a row adds up: less is rounding."""
WHOLE_ENDS_ROUNDING = 1e-6
"""Of an end that rows imply: a whole number that is so near is not beyond it."""


def least_of_terms(a: Array, low: Array, high: Array) -> Array:
    """The least that each number of rows adds between its ends; what a row does not hold adds nothing, however far."""
    with np.errstate(invalid="ignore"):
        return np.where(a > 0.0, a * low, np.where(a < 0.0, a * high, 0.0))


def upper_ends(rows: Array, low: Array, high: Array, integer: Bools, *, passes: int = ENDS_PASSES) -> Array:
    """Upper ends with what rows (m, n + 1) imply, of one set of columns (n,) or of several (S, n).

    Each set may have rows of its own (S, m, n + 1).

    An upper end below the lower one proves that no point meets the rows.
    """
    a, k = rows[..., :-1], rows[..., -1]
    up, down = np.maximum(a, 0.0), np.minimum(a, 0.0)
    column, row = np.nonzero(up.any(axis=tuple(range(up.ndim - 2))).T)
    steps = up[..., row, column]
    ended, first = np.unique(column, return_index=True)
    high = high + np.zeros((*rows.shape[:-2], 1))
    for _ in range(passes if ended.size else 0):
        with np.errstate(all="ignore"):
            # what is open makes a sum larger than any number
            ends = (np.clip(e, -FOR_OPEN, FOR_OPEN) for e in (low, high))
            least = (
                sum(np.einsum("...ij,...j->...i", *pair) for pair in zip((up, down), ends, strict=True)) + k
            )
            room = np.where(np.abs(least) < SUM_WITHOUT_OPEN, -least, np.inf)[..., row] / steps
            room = np.where(steps > 0.0, room, np.inf)
        implied = np.full(high.shape, np.inf)
        implied[..., ended] = np.maximum(low, -FOR_OPEN)[..., ended] + np.minimum.reduceat(
            room, first, axis=-1
        )
        slack = WHOLE_ENDS_ROUNDING * np.maximum(1.0, np.abs(implied))
        implied = np.where(integer, np.floor(implied + slack), implied)
        now = np.maximum(np.minimum(high, implied), low - 1.0)
        if (now == high).all():
            break
        high = now
    return high


def refuted(rows: Array, low: Array, high: Array, integer: Bools) -> bool:
    """Whether rows (m, n + 1) prove by the ends that they imply that no point meets them, by more than rounding."""
    # where an end that a row implies is below the lower one, that row is broken at the lower ones, too
    ends = np.maximum(upper_ends(rows, low, high, integer), low)
    parts = least_of_terms(rows[:, :-1], low, ends)
    least, size = parts.sum(axis=1) + rows[:, -1], np.abs(parts).sum(axis=1) + np.abs(rows[:, -1])
    return bool((high < low).any() or (least > SUM_ROUNDING * size).any())


def sufficient_ends(rows: Array, equal: Bools, low: Array, high: Array, integer: Bools) -> Array:
    """Upper ends beyond which no point is needed: those that rows imply, or up to which a column can be of use.

    A column that no row holds down is of use until all rows that it helps are met whatever the others are.
    """
    ends = upper_ends(rows, low, high, integer)
    a, k = rows[:, :-1], rows[:, -1]
    for j in np.flatnonzero((ends >= high) & (a <= 0.0).all(axis=0) & ~(a[equal] != 0.0).any(axis=0)):
        helped = a[:, j] < 0.0
        others, both = np.delete(a[helped], j, axis=1), (np.delete(e, j) for e in (low, ends))
        total = k[helped] - least_of_terms(-others, *both).sum(axis=1)
        ends[j] = min(high[j], np.ceil(np.max(total / -a[helped, j], initial=max(low[j], 1.0))))
    return ends
