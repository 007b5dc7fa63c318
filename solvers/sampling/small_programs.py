"""Small linear programs, many at once: the step of a local search at each of its designs.

The bounded dual simplex method in dense arrays: each program is pivoted by itself, so that its solution does not depend
on the others. It takes as many rounds as the longest of them.
"""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from solvers.patterns import Rows

BROKEN, FLAT = 1e-12, 1e-12
"""A bound broken by less holds, and a coefficient smaller than this is none."""
PIVOTS = 10
"""Pivots for each row and column, at most: a program that takes more ends where it is."""


@dataclass(slots=True)
class _Tableau(Rows):
    """Programs (M): basic variables (M, m) as ``rows`` (M, m, n) times nonbasic ones ``x`` (M, n), which are at bounds.

    ``cost``: of nonbasic variables. ``low``, ``high``: bounds of all variables by number; ``outside``, ``basic``: their
    numbers.
    """

    rows: Array
    cost: Array
    x: Array
    low: Array
    high: Array
    outside: Indices
    basic: Indices


def minimise(cost: Array, penalty: float, rows: Array, least: Array, low: Array, high: Array) -> Array:
    """Return d (M, n) with the least of ``cost`` d + ``penalty`` max(0, ``rows`` d + ``least``).

    ``low`` and ``high`` are its ends; the maximum is over the rows (M, m, n) of each program.
    """
    count, m, n = rows.shape
    # one more variable t >= 0 stands for the maximum: rows d - t <= -least
    t = _Tableau(
        np.concatenate([rows, np.full((count, m, 1), -1.0)], axis=2),
        np.concatenate([cost, np.full((count, 1), penalty)], axis=1),
        np.concatenate([np.where(cost >= 0, low, high), np.zeros((count, 1))], axis=1),
        np.concatenate([low, np.zeros((count, 1)), np.full((count, m), -np.inf)], axis=1),
        np.concatenate([high, np.full((count, 1), np.inf), -least], axis=1),
        np.tile(np.arange(n + 1), (count, 1)),
        np.tile(np.arange(n + 1, n + 1 + m), (count, 1)),
    )
    found, open_ones = np.where(cost >= 0, low, high), np.arange(count)
    for _ in range(PIVOTS * (m + n)):
        going = _pivoted(t)
        if not going.all():
            found[open_ones[~going]] = _values(t.take(~going))[:, :n]
            t, open_ones = t.take(going), open_ones[going]
        if not open_ones.size:
            break
    else:
        found[open_ones] = _values(t)[:, :n]
    return np.asarray(np.clip(found, low, high))


def products(rows: Array, x: Array) -> Array:
    """Return the rows (M, m, n) times x (M, n), each sum in one order however many there are."""
    total = rows[..., 0] * x[:, :1]
    for j in range(1, x.shape[1]):
        total = total + rows[..., j] * x[:, j : j + 1]
    return np.asarray(total)


def _values(t: _Tableau) -> Array:
    """Return all variables by number."""
    found = np.empty_like(t.low)
    np.put_along_axis(found, t.outside, t.x, axis=1)
    np.put_along_axis(found, t.basic, products(t.rows, t.x), axis=1)
    return found


def _pivoted(t: _Tableau) -> Bools:
    """Take the basic variable that breaks its bound most out of each basis; tells where there was one."""
    count, m = t.rows.shape[:2]
    if not m:
        return np.zeros(count, bool)
    every, value = np.arange(count), products(t.rows, t.x)
    over = value - np.take_along_axis(t.high, t.basic, axis=1)
    under = np.take_along_axis(t.low, t.basic, axis=1) - value
    r = np.maximum(over, under).argmax(axis=1)
    going: Bools = np.maximum(over, under)[every, r] > BROKEN
    high = over[every, r] > under[every, r]
    row, gone = t.rows[every, r], t.basic[every, r]
    move = np.where(high[:, None], row, -row)
    low, top = (np.take_along_axis(side, t.outside, axis=1) for side in (t.low, t.high))
    # what is at its lower bound can rise only, at its upper one only fall
    free = (low < top) & np.where(t.x <= low, move < -FLAT, move > FLAT)
    with np.errstate(all="ignore"):
        ratio = np.where(free, np.abs(t.cost) / np.abs(row), np.inf)
        q = ratio.argmin(axis=1)
        going &= free[every, q]
        pivot = row[every, q][:, None]
        column = t.rows[every, :, q]
        # the row solved for what enters, and put into the others
        fresh = -row / pivot
        fresh[every, q] = 1.0 / pivot[:, 0]
        column[every, r] = 0.0
        t.rows[every, :, q] = np.where(going[:, None], 0.0, t.rows[every, :, q])
        t.rows[every, r] = np.where(going[:, None], 0.0, row)
        added = column[:, :, None] * fresh[:, None, :]
        entering = t.cost[every, q][:, None]
        t.cost[every, q] = np.where(going, 0.0, t.cost[every, q])
        t.rows += np.where(going[:, None, None], added, 0.0)
        t.rows[every, r] = np.where(going[:, None], fresh, row)
        t.cost += np.where(going[:, None], entering * fresh, 0.0)
    bound = np.where(high, t.high[every, gone], t.low[every, gone])
    t.basic[every, r] = np.where(going, t.outside[every, q], gone)
    t.outside[every, q] = np.where(going, gone, t.outside[every, q])
    t.x[every, q] = np.where(going, bound, t.x[every, q])
    return going
