"""In which units a linear program goes to HiGHS: what it would take for 0 there is seen, or stands in no bound."""

from __future__ import annotations

import math

import numpy as np

from dse.system.arrays import Array
from solvers.linear.linear_program import Numbers

SCALING_PASSES = 4
MOST_RAISED = 2.0**20
"""How far a row is multiplied beyond what brings its largest number near 1."""
LEAST_SHARE_OF_COLUMN = 1e6
"""So much smaller than the unit of its column the end of a number may be: slack is 1e-10 of that unit."""
LEAST_ENTRY = 1e-12
"""HiGHS takes smaller numbers of balanced rows for 0: as small as it lets us, 1e-9 lost sockets in a limit of 1e20."""
LEAST_IN_SEARCH = 2e-9
"""Of numbers before whole numbers its search takes those below 1e-9 for 0, whatever it is told."""
LEAST_COST = 1e-7
"""Of the largest cost; HiGHS' tolerances are 1e-10 of the unit of costs."""


def least_entry(n: Numbers) -> float:
    """What a number of a balanced row is to be at least, for HiGHS to see it."""
    return LEAST_IN_SEARCH if n.integer.any() else LEAST_ENTRY


def unit_of_costs(costs: Array) -> float:
    """What costs are divided by: the largest, or less of it where the least would be lost in HiGHS' tolerances."""
    most = float(costs.max(initial=0.0)) or 1.0
    least = float(costs[costs > 0.0].min(initial=most)) / most
    return most * max(math.sqrt(least), LEAST_COST) if least < LEAST_COST else most


def balance(n: Numbers) -> tuple[Array, Array]:
    """Factors of rows and continuous columns that bring the numbers near 1; whole numbers stay as they are."""
    size = np.abs(n.rows[:, :-1])
    row, column = np.ones(len(size)), np.ones(size.shape[1])
    shared = np.count_nonzero(size, axis=1) > 1
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(shared[:, None] | (size == 0.0), 0.0, size / np.abs(n.rows[:, -1:]))
    # of its least end a column must not be so small a part that slack is larger
    alone = np.where(np.isfinite(ends), ends, 0.0).max(axis=0, initial=0.0)
    for _ in range(SCALING_PASSES):
        row = _reciprocal((size * column).max(axis=1, initial=0.0))
        # a row of one number is an end of it, whatever its unit
        wide = (size * row[:, None])[shared].max(axis=0, initial=0.0)
        wide = np.where((wide == 0.0) | (alone > LEAST_SHARE_OF_COLUMN * wide), np.maximum(alone, wide), wide)
        column = np.where(n.integer, 1.0, _reciprocal(wide))
    row = _reciprocal((size * column).max(axis=1, initial=0.0))
    return row, column


def raised(n: Numbers, row: Array, column: Array, least: float, slack: float) -> Array:
    """Row factors with which a solver that takes entries below ``least`` for 0 loses none that counts, if it can.

    An entry counts where its column can change its row by more than ``slack``.
    """
    size = np.abs(n.rows[:, :-1]) * column * row[:, None]
    with np.errstate(invalid="ignore"):
        most = size * np.maximum(np.abs(n.low), np.abs(n.high)) / column
    lost = (size < least) & (size * MOST_RAISED >= least) & (most > slack)
    found = np.where(lost, size, least).min(axis=1, initial=least)
    return np.asarray(row * 2.0 ** np.ceil(np.log2(least / found)))


def seen(matrix: Array, low: Array, high: Array, least: float) -> tuple[Array, Array, Array]:
    """The entries that a solver sees which takes those below ``least`` for 0; what the others add at least, at most."""
    lost = (matrix != 0.0) & (np.abs(matrix) < least)
    if not lost.any():
        return matrix, np.zeros(len(matrix)), np.zeros(len(matrix))
    with np.errstate(invalid="ignore"):
        ends = np.where(lost, np.stack([matrix * low, matrix * high]), 0.0)
    return np.where(lost, 0.0, matrix), ends.min(0).sum(1), ends.max(0).sum(1)


def _reciprocal(size: Array) -> Array:
    # powers of two, so that nothing is rounded
    with np.errstate(divide="ignore"):
        found = 2.0 ** -np.round(np.log2(size))
    found[size <= 0.0] = 1.0
    return np.asarray(found)
