"""The dual simplex method on many small linear programs, compiled: one tableau per point, aims in order of importance.

Minimise the first row of ``costs``, among the optima the second, and so on, where ``rows . u + right <= 0`` (= 0 where
``equal``) and u lies between finite ends. It starts from the corner of the box that is best without rows, so every
tableau is optimal for what it knows and no first phase is needed: each pivot repairs one broken row. A program ends at
a vertex with its multipliers, or with a row that nothing can repair; both are proofs that need no trust in this code.
Which points are solved together changes nothing.

Importing this module imports numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numba
import numpy as np

from solvers.geometric.kernel.compiled import compiled, kept
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL

PIVOT = 1e-9
ZERO = 1e-11
ROW_BROKEN = 1e-11
PIVOTS_PER_ROW = 40
BALANCING_PASSES = 3


exactly = partial(compiled, fastmath=False)
"""What is compiled adds up as it is written."""


@exactly
def _largest(numbers: Any, factors: Any) -> float:
    """Return the largest size of the first numbers times their factors; no arrays, which cost more than the sums."""
    most = 0.0
    for k in range(factors.size):
        most = max(most, abs(numbers[k] * factors[k]))
    return most


@exactly
def _reduced_cost(later: Any, T: Any, basic: Any, free: Any, k: int, j: int) -> float:
    """Return what one of the ``later`` aims, near 1, changes by with column j: worked out only where it decides."""
    own, shared, column, sizes = later
    aim = own[k] if k < len(own) else shared[k - len(own)]
    n = column.size
    if sizes[k] == 0.0:
        size = _largest(aim, column)
        sizes[k] = size if size > 0.0 else 1.0
    total = aim[free[j]] * column[free[j]] if free[j] < n else 0.0
    for i in range(basic.size):
        if basic[i] < n:
            total += aim[basic[i]] * column[basic[i]] * T[i, j]
    return float(total / sizes[k])


@exactly
def _first_aim_sign(d: Any, later: Any, T: Any, basic: Any, free: Any, j: int) -> float:
    """Return the sign of the first aim that a step of column j moves."""
    change = d[j]
    for k in range(later[3].size + 1):
        if change > ZERO:
            return 1.0
        if change < -ZERO:
            return -1.0
        if k < later[3].size:
            change = _reduced_cost(later, T, basic, free, k, j)
    return 0.0


@exactly
def _sooner(
    d: Any,
    later: Any,
    T: Any,
    basic: Any,
    free: Any,
    r: int,
    at_high: Any,
    j: int,
    other: int,
) -> bool:
    """Whether column j spoils the aims less than another one that repairs row r as well.

    The first aim that a column moves becomes worse; what is worth less than that may become better.
    """
    row = T[r]
    one, two = d[j], d[other]
    for k in range(later[3].size + 1):
        a, b = one / abs(row[j]), two / abs(row[other])
        a, b = -a if at_high[j] else a, -b if at_high[other] else b
        if a < b - ZERO * (1.0 + abs(b)):
            return True
        if a > b + ZERO * (1.0 + abs(b)):
            return False
        if k < later[3].size:
            one = _reduced_cost(later, T, basic, free, k, j)
            two = _reduced_cost(later, T, basic, free, k, other)
    return bool(abs(row[j]) > abs(row[other]))


@exactly
def _worst_row(beta: Any, basic: Any, low: Any, high: Any) -> int:
    """Return the row that is broken most; -1: none is."""
    found, most = -1, ROW_BROKEN
    for i in range(beta.size):
        v = basic[i]
        missing = max(low[v] - beta[i], beta[i] - high[v]) / (1.0 + abs(beta[i]))
        if missing > most:
            found, most = i, missing
    return found


@exactly
def _entering(
    d: Any,
    later: Any,
    T: Any,
    basic: Any,
    free: Any,
    r: int,
    up: bool,
    at_high: Any,
    low: Any,
    high: Any,
) -> int:
    """Return the column that repairs row r and keeps all aims in order; -1: none."""
    found = -1
    for j in range(T.shape[1]):
        v = free[j]
        if low[v] == high[v] or abs(T[r, j]) <= PIVOT:
            continue
        rises = (T[r, j] > 0.0) != at_high[j]
        if rises == up and (found < 0 or _sooner(d, later, T, basic, free, r, at_high, j, found)):
            found = j
    return found


@exactly
def _pivot(T: Any, d: Any, r: int, e: int) -> None:
    """Exchange the variable of row r for that of column e."""
    p = 1.0 / T[r, e]
    for j in range(T.shape[1]):
        T[r, j] *= -p
    T[r, e] = p
    for i in range(T.shape[0]):
        c = T[i, e]
        if i != r and c != 0.0:
            for j in range(T.shape[1]):
                T[i, j] += c * T[r, j]
            T[i, e] = c * p
    c = d[e]
    if c != 0.0:
        for j in range(T.shape[1]):
            d[j] += c * T[r, j]
            if abs(d[j]) < 1e-15:
                d[j] = 0.0
        d[e] = c * p


@exactly
def _read_tableau(
    beta: Any, basic: Any, free: Any, at_high: Any, d: Any, low: Any, high: Any, u: Any, y: Any
) -> None:
    """Read point and multipliers off a tableau."""
    n = u.size
    for j in range(n):
        if free[j] < n:
            u[free[j]] = high[free[j]] if at_high[j] else low[free[j]]
        else:
            y[free[j] - n] = d[j]
    for i in range(y.size):
        if basic[i] < n:
            u[basic[i]] = min(max(beta[i], low[basic[i]]), high[basic[i]])


@exactly
def _read_conflict(T: Any, r: int, up: bool, basic: Any, free: Any, y: Any) -> None:
    """Read the multipliers with which the rows add up to row r, that nothing can repair."""
    n, s = free.size, 1.0 if up else -1.0
    for j in range(n):
        if free[j] >= n:
            y[free[j] - n] = -s * T[r, j]
    if basic[r] >= n:
        y[basic[r] - n] = s


@exactly
def one(T: Any, b: Any, d: Any, later: Any, low: Any, high: Any, u: Any, y: Any) -> int:
    """Solve one program; ``low`` and ``high`` are those of its columns, then of its rows' slacks.

    ``T``: minus its rows, and ``d`` its first aim, both of which change. ``later``: the other aims in the old sizes,
    those of this program and those that all share, by what their columns are multiplied, and their own sizes (0: not
    known yet). ``u`` and ``y`` receive the point and the multipliers of the rows (of the broken row where there is no
    point).
    """
    m, n = T.shape
    free, basic = np.arange(n), np.arange(n, n + m)
    at_high = np.zeros(n, np.bool_)
    beta = -b
    for j in range(n):
        at_high[j] = _first_aim_sign(d, later, T, basic, free, j) < 0.0
        start = high[j] if at_high[j] else low[j]
        if not np.isfinite(start):
            return FAILED
        for i in range(m):
            beta[i] += T[i, j] * start
    for _ in range(PIVOTS_PER_ROW * (m + n)):
        r = _worst_row(beta, basic, low, high)
        if r < 0:
            _read_tableau(beta, basic, free, at_high, d, low, high, u, y)
            return OPTIMAL
        up = beta[r] < low[basic[r]]
        e = _entering(d, later, T, basic, free, r, up, at_high, low, high)
        if e < 0:
            _read_conflict(T, r, up, basic, free, y)
            return INFEASIBLE
        out, into = basic[r], free[e]
        step = ((low[out] if up else high[out]) - beta[r]) / T[r, e]
        for i in range(m):
            beta[i] += T[i, e] * step
        beta[r] = (high[into] if at_high[e] else low[into]) + step
        _pivot(T, d, r, e)
        basic[r], free[e] = into, out
        at_high[e] = not up
    return FAILED


@exactly
def _nearest_power_of_two(size: float) -> float:
    """Return the power of two that brings a size near 1, so that nothing is rounded."""
    if size <= 0.0:
        return 1.0
    part, exponent = math.frexp(size)
    return math.ldexp(1.0, -exponent if part >= math.sqrt(0.5) else 1 - exponent)


@exactly
def balanced(
    rows: Any, first: Any, own: Any, shared: Any, low: Any, high: Any, equal: Any, u: Any, y: Any
) -> int:
    """Bring rows, columns and aims near 1, solve, and say the answer in the old sizes."""
    m, n = rows.shape[0], rows.shape[1] - 1
    row, column = np.ones(m), np.ones(n)
    for _ in range(BALANCING_PASSES):
        for i in range(m):
            row[i] = _nearest_power_of_two(_largest(rows[i], column))
        for j in range(n):
            column[j] = _nearest_power_of_two(_largest(rows[:, j], row))
    ends = np.zeros((2, n + m))
    for j in range(n):
        ends[0, j], ends[1, j] = low[j] / column[j], high[j] / column[j]
    T, right, cost = np.empty((m, n)), np.empty(m), np.empty(n)
    for i in range(m):
        row[i] = _nearest_power_of_two(_largest(rows[i], column))
        ends[1, n + i] = 0.0 if equal[i] else np.inf
        right[i] = rows[i, n] * row[i]
        for j in range(n):
            T[i, j] = -(rows[i, j] * row[i] * column[j])
    size = _largest(first, column)
    size = size if size > 0.0 else 1.0
    for j in range(n):
        cost[j] = first[j] * column[j] / size
    later = (own, shared, column, np.zeros(len(own) + len(shared)))
    end: int = one(T, right, cost, later, ends[0], ends[1], u, y)
    for j in range(n):
        u[j] = min(max(u[j] * column[j], low[j]), high[j])
    for i in range(m):
        y[i] *= row[i] * (size if end == OPTIMAL else 1.0)
    return end


@partial(kept, parallel=True)
def every(
    rows: Any, first: Any, own: Any, shared: Any, low: Any, high: Any, equal: Any, u: Any, y: Any, end: Any
) -> None:
    """Solve all programs: rows (points, m, n + 1), first and other aims (points, [k,] n + 1), ends (points, n).

    Of an array that all programs share there is one; ``shared`` (l, n + 1): aims that come after their ``own``.
    """
    for place in numba.prange(end.size):
        p = np.int64(place)
        end[p] = balanced(
            rows[min(p, len(rows) - 1)],
            first[min(p, len(first) - 1)],
            own[min(p, len(own) - 1)],
            shared,
            low[min(p, len(low) - 1)],
            high[min(p, len(high) - 1)],
            equal,
            u[p],
            y[p],
        )


def solve(on_all_cores: bool, *arrays: Any) -> None:
    """Solve all programs (see ``every``), on all cores where that is wanted."""
    threads = numba.get_num_threads()
    numba.set_num_threads(threads if on_all_cores else 1)
    try:
        cast("Callable[..., None]", every)(*arrays)
    finally:
        numba.set_num_threads(threads)
