"""A linear or mixed-integer program as arrays, and what solving it gave, whoever solves it."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass

Array = NDArray[np.float64]

ENDS_PASSES = 4
OPEN, OPEN_SHARE = 1e300, 1e-100
"""In place of an infinite end, and of it: what sums are less that have none."""
WHOLE_ENDS_ROUNDING = 1e-6
"""Of an end that rows imply: a whole number that is so near is not beyond it."""


class End(StrEnum):
    """How a solve ended."""

    FOUND = "found"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Numbers:
    """Rows ``rows . u <= 0`` (or = 0 where ``equal``), u between ``low`` and ``high`` and ending with a constant 1.

    ``low``, ``high`` and ``integer`` are without the constant. ``indicators``: the columns that say whether there is
    any of an amount, where that is known.
    """

    rows: Array
    equal: NDArray[np.bool_]
    low: Array
    high: Array
    integer: NDArray[np.bool_]
    indicators: NDArray[np.bool_] | None = None

    def with_rows(self, *more: Array) -> Numbers:
        """The same with further rows <= 0."""
        added = np.concatenate([np.atleast_2d(m) for m in more]) if more else self.rows[:0]
        equal = np.concatenate([self.equal, np.zeros(len(added), dtype=bool)])
        return replace(self, rows=np.concatenate([self.rows, added]), equal=equal)

    def relaxed(self) -> Numbers:
        """The same without whole numbers."""
        return replace(self, integer=np.zeros_like(self.integer))

    def fixed(self, u: Array) -> Numbers:
        """The linear program that is left when whole numbers keep their values at ``u``."""
        whole = np.round(u[:-1])
        low = np.where(self.integer, whole, self.low)
        high = np.where(self.integer, whole, self.high)
        return Numbers(self.rows, self.equal, low, high, np.zeros_like(self.integer))


def constant_column(size: int) -> Array:
    """The row whose value is 1 at every point ``u``."""
    found = np.zeros(size)
    found[-1] = 1.0
    return found


def upper_ends(
    rows: Array, low: Array, high: Array, integer: NDArray[np.bool_], *, passes: int = ENDS_PASSES
) -> Array:
    """Upper ends with what rows (m, n + 1) imply, of one set of columns (n,) or of several (S, n).

    An upper end below the lower one proves that no point meets the rows.
    """
    a, k = rows[:, :-1], rows[:, -1]
    up, down = np.maximum(a, 0.0).T, np.minimum(a, 0.0).T
    column, row = np.nonzero(up)
    ended, first = np.unique(column, return_index=True)
    for _ in range(passes if ended.size else 0):
        with np.errstate(all="ignore"):
            # what is open makes a sum larger than any number
            least = np.clip(low, -OPEN, OPEN) @ up + np.clip(high, -OPEN, OPEN) @ down + k
            room = np.where(np.abs(least) < OPEN * OPEN_SHARE, -least, np.inf)[..., row] / up[column, row]
        implied = np.full(high.shape, np.inf)
        implied[..., ended] = low[..., ended] + np.minimum.reduceat(room, first, axis=-1)
        slack = WHOLE_ENDS_ROUNDING * np.maximum(1.0, np.abs(implied))
        implied = np.where(integer, np.floor(implied + slack), implied)
        now = np.maximum(np.minimum(high, implied), low - 1.0)
        if (now == high).all():
            break
        high = now
    return high


@dataclass(frozen=True, slots=True)
class Result:
    """``u``: the best point, ending with 1; ``value`` and proven lower ``bound`` of what was minimised.

    ``multipliers`` of the rows (LP only), >= 0 for rows that hold as <=. ``ray``: a direction in which an
    unbounded program falls without end. ``sole``: whether it is proved that no other point is as good.
    """

    end: End
    u: Array | None = None
    value: float = math.inf
    bound: float = -math.inf
    multipliers: Array | None = None
    ray: Array | None = None
    sole: bool = False
