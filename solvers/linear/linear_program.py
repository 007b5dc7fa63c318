"""A linear or mixed-integer program as arrays, and what solving it gave, whoever solves it."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass

Array = NDArray[np.float64]


class End(StrEnum):
    """How a solve ended."""

    FOUND = "found"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Numbers:
    """Rows ``rows . u <= 0`` (or = 0 where ``equal``), u between ``low`` and ``high`` and ending with a constant 1.

    ``low``, ``high`` and ``integer`` are without the constant.
    """

    rows: Array
    equal: NDArray[np.bool_]
    low: Array
    high: Array
    integer: NDArray[np.bool_]

    def with_rows(self, *more: Array) -> Numbers:
        """The same with further rows <= 0."""
        added = np.concatenate([np.atleast_2d(m) for m in more]) if more else self.rows[:0]
        return Numbers(
            np.concatenate([self.rows, added]),
            np.concatenate([self.equal, np.zeros(len(added), dtype=bool)]),
            self.low,
            self.high,
            self.integer,
        )

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


@dataclass(frozen=True, slots=True)
class Result:
    """``u``: the best point, ending with 1; ``value`` and proven lower ``bound`` of what was minimised.

    ``multipliers`` of the rows (LP only), >= 0 for rows that hold as <=. ``ray``: a direction in which an
    unbounded program falls without end.
    """

    end: End
    u: Array | None = None
    value: float = math.inf
    bound: float = -math.inf
    multipliers: Array | None = None
    ray: Array | None = None
