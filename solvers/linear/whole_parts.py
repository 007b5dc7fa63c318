"""All whole parts that may meet the rows of a program, where those are few: built column by column.

A part of the columns is let go as soon as some row is broken whatever the rest may be. Columns of which exactly one is
1 (the entries of a menu) are taken together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.programs.row_ends import WHOLE_ENDS_ROUNDING, least_of_terms, upper_ends
from solvers.linear import linear_program
from solvers.linear.linear_program import Numbers

MOST_PARTS = 4000
"""Parts that are kept at a time."""
AT_A_TIME = 100_000
"""Sums of parts and options that are added up at a time: they stay in the cache, and of too many it is seen early."""
WIDE_LIST = 100.0
"""Factor between the largest and the smallest entry of a list from which on one search is not believed."""
MOST_VALUES = 1000
"""Values of one whole number that are all tried."""
ROOM = 1e-10
"""Of the sizes of what a row adds up: rounding."""
NO_REDUCED_COST = 1e-9
"""What of the sizes of what it adds up a reduced cost may be and still counts as none."""
MANY_WHOLE_VALUES = 1000.0
"""Whole numbers of more values are searched twice: at tight tolerances HiGHS may cut off the best of them."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """Columns that are chosen together, and what they may be (options, columns)."""

    columns: Indices
    options: Array


def whole_parts(n: Numbers) -> Array | None:
    """The values of all columns (parts, columns), those that can be divided at their lower ends; None of too many.

    Every point of the program has one of these whole parts; whether the rest meets the rows is not asked.
    """
    high = np.where(n.integer, upper_ends(n.rows, n.low, n.high, n.integer), n.high)
    if (high < n.low).any():
        return np.zeros((0, len(n.low)))
    units = _units(n, high)
    if units is None:
        return None
    a = np.concatenate([n.rows, -n.rows[n.equal]])
    rest = [(u.options @ a[:, u.columns].T) for u in units]
    divisible = least_of_terms(a[:, :-1], n.low, n.high)[:, ~n.integer].sum(axis=1)
    least = divisible + a[:, -1] + sum((r.min(axis=0) for r in rest), np.zeros(len(a)))
    size = np.abs(a[:, :-1]) @ np.where(n.integer, np.maximum(np.abs(n.low), np.abs(high)), 0.0) + np.abs(
        a[:, -1]
    )
    # what each unit adds beyond the least that it can
    more = [r - r.min(axis=0) for r in rest]
    # few rows are moved by several units: only these have to be added up
    shared = sum((m.any(axis=0).astype(int) for m in more), np.zeros(len(a), int)) > 1
    if units and (least > ROOM * size).any():
        return np.zeros((0, len(n.low)))
    sums, picked = least[None, shared], np.zeros((1, 0), int)
    for added in more:
        allowed = np.flatnonzero(((least + added <= ROOM * size) | shared).all(axis=1))
        joined = _joined(sums, added[allowed][:, shared], ROOM * size[shared])
        if joined is None:
            return None
        part, option = joined
        sums = sums[part] + added[allowed[option]][:, shared]
        picked = np.column_stack([picked[part], allowed[option]])
    found = np.zeros((len(picked), len(n.low)))
    for unit, option in zip(units, picked.T, strict=True):
        found[:, unit.columns] = unit.options[option]
    return np.where(n.integer, found, n.low)


def _joined(sums: Array, added: Array, room: Array) -> tuple[Indices, Indices] | None:
    """Which of the parts and which of the options may be together; None where that are more than MOST_PARTS."""
    # rows that no option moves hold as before
    moved = added.any(axis=0)
    sums, added, room = sums[:, moved], added[:, moved], room[moved]
    step = max(AT_A_TIME // max(added.size, 1), 1)
    pairs, count = [np.zeros((2, 0), int)], 0
    for k in range(0, len(sums), step):
        part, option = np.nonzero((sums[k : k + step, None] + added <= room).all(axis=2))
        pairs.append(np.stack([part + k, option]))
        count += len(part)
        if count > MOST_PARTS:
            return None
    part, option = np.concatenate(pairs, axis=1)
    return part, option


def narrowed(n: Numbers, cost: Array, y: Array | None) -> Numbers:
    """The same with nearer ends of its whole numbers: those that no point with ``cost . u <= 0`` is beyond.

    ``y``: multipliers of the rows, best those of the optimum of divisible numbers. What has no reduced cost with them
    is told by the rows that have a multiplier: a combination of these is that column alone, and with enough of ``y``
    and the costs its multipliers have the right sign. All ends are by weak duality.
    """
    if y is None:
        return n
    weight = np.where(n.equal, y, np.maximum(y, 0.0))
    size = np.abs(cost[:-1]) + np.abs(weight) @ np.abs(n.rows[:, :-1])
    slope, _ = linear_program.reduced_costs(n.rows, n.equal, cost, y)
    flat, used = np.abs(slope[:-1]) <= NO_REDUCED_COST * size, (weight != 0.0) | n.equal
    asked = np.flatnonzero(n.integer & (n.low < n.high))
    alone = np.zeros((len(flat), len(n.rows)))
    alone[np.ix_(flat, used)] = np.linalg.pinv(n.rows[used][:, :-1][:, flat])
    alone = alone[asked]
    ends = np.eye(len(cost))[asked]
    rows, equal = np.vstack([n.rows, cost]), np.append(n.equal, False)
    both = []
    for sign in (1.0, -1.0):
        with np.errstate(all="ignore"):
            needed = np.where(n.equal | (sign * alone <= 0.0), 0.0, sign * alone / weight)
            pull = np.where(flat[asked], needed.max(axis=1, initial=0.0), np.abs(1.0 / slope[asked]))
        multipliers = np.column_stack([pull[:, None] * weight - sign * alone, pull])
        both.append(linear_program.weak_duality(rows, equal, n.low, n.high, sign * ends, multipliers))
    low, high = n.low.copy(), n.high.copy()
    # of multipliers that are no numbers nothing follows
    low[asked] = np.fmax(n.low[asked], np.ceil(both[0] - WHOLE_ENDS_ROUNDING))
    high[asked] = np.fmin(n.high[asked], np.floor(WHOLE_ENDS_ROUNDING - both[1]))
    return replace(n, low=low, high=high)


def picks(equalities: Array, flags: Bools) -> Iterator[Indices]:
    """Columns, all ``flags`` of 0 or 1, of which exactly one is 1 by one of the equalities (m, n + 1)."""
    free = flags.copy()
    for row in equalities:
        used = np.flatnonzero(row[:-1])
        if len(used) and free[used].all() and (row[used] == -row[-1]).all() and row[-1] != 0.0:
            yield used
            free[used] = False


def has_many_values(n: Numbers) -> bool:
    """Whether some whole number may have many values, between ends that are its own or follow from the rows."""
    if (n.high - n.low)[n.integer].max() <= MANY_WHOLE_VALUES:
        return False
    high = upper_ends(n.rows, n.low, n.high, n.integer)
    return bool((high - n.low)[n.integer].max() > MANY_WHOLE_VALUES)


def has_wide_lists(n: Numbers) -> bool:
    """Whether the entries of a list differ widely in some row."""
    size = np.abs(n.rows[:, :-1])
    for of in picks(n.rows[n.equal], n.integer & (n.low >= 0.0) & (n.high <= 1.0)):
        own = size[:, of]
        least = np.where(own > 0.0, own, np.inf).min(axis=1)
        if (own.max(axis=1) > WIDE_LIST * least).any():
            return True
    return False


def _units(n: Numbers, high: Array) -> list[_Unit] | None:
    """What is chosen together, few options first; None where one has too many."""
    found: list[_Unit] = []
    free = n.integer.copy()
    for used in picks(n.rows[n.equal], n.integer & (n.low >= 0.0) & (high <= 1.0)):
        options = np.eye(len(used))
        allowed = ((options >= n.low[used]) & (options <= high[used])).all(axis=1)
        found.append(_Unit(used, options[allowed]))
        free[used] = False
    for j in np.flatnonzero(free):
        if high[j] - n.low[j] >= MOST_VALUES:
            return None
        values = np.arange(n.low[j], high[j] + 0.5)
        found.append(_Unit(np.array([j]), values[:, None]))
    if any(not len(u.options) for u in found):
        return []
    return sorted(found, key=lambda u: len(u.options))
