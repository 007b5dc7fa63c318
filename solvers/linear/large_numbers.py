"""Whole numbers so large that one more hardly matters: a whole design near the divisible optimum, bounded by it.

HiGHS' tolerances are absolute, and rows over numbers of 1e9 cannot be met to 1e-10 in floats: its search then never
ends. So the linear program is solved first, and a whole design is sought in a window around its optimum, in the
distances from there, which are small numbers. The linear program's bound stands behind what is found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dse.system.arrays import Array
from formulations.programs.row_ends import upper_ends
from solvers.linear.linear_program import End, Result

if TYPE_CHECKING:
    from solvers.linear.linear_program import Numbers

LARGE = 1e6
"""Whole numbers up to this are searched as they stand."""
HUGE = 1e8
"""Of larger ones no search ends: what the window holds is taken, with its bound, and nothing where it holds nothing."""
WINDOW_CLOSED = 1e-9
"""Relative gap at which a design in the window needs no search beyond it."""
WINDOW = 64.0
"""How far from the divisible optimum a large whole number is sought."""
SMALL_ADDED = 1000.0
"""A number that is not large may double, and be this much more."""

FAR_WHOLE, FAR_PASSES, NEAR_WHOLE = 1e9, 40, 1e6
"""From where on ends of whole numbers are drawn in before a search, how often, and the end of a search for a point."""
MULTIPLES, MULTIPLE_ROUNDING = np.arange(1.0, 101.0), 1e-6
"""A row has a common unit where some part of its least number (a half, a third, ... a hundredth) divides all others."""
THIN_STRIP, STRIP_END = 1e-6, 1e5
"""How far apart, relative, the rows of both ends of a limit are that leave one value; how far it is searched."""
NEAR_MISS = 1e-6
"""Of the size of every row: a point that misses one by more is missed for sure."""
ROUGHLY = 1e-6
"""Of the sizes of all that a point costs: so much less it may cost for what solvers let rows be missed by."""

Solve = Callable[["Numbers", "Array"], "Result"]


def nearer(n: Numbers) -> Numbers:
    """The same with upper ends that no point is beyond that misses every row by less than ``NEAR_MISS`` of its size.

    Where all rows may give, the search would have no ends but those far out.
    """
    rows = n.rows.copy()
    rows[:, -1] -= NEAR_MISS * n.sizes
    return replace(n, high=upper_ends(rows, n.low, n.high, n.integer))


def with_implied_ends(n: Numbers, cost: Array, near: Callable[[Numbers], Result]) -> Numbers:
    """Return whole numbers up to where the rows, and the cost of a near point, let them.

    ``near``: finds a point that meets the rows, if it can. Its cost ends what only costs.
    From ends of 1e14 HiGHS' presolve has not come back, nor from some of 1e10 its search.
    """
    rows = n.rows
    for known in (False, True):
        far = n.integer & (n.high > FAR_WHOLE)
        if not far.any():
            break
        if known:
            found = near(
                with_near_switches(replace(n, high=np.minimum(n.high, np.maximum(NEAR_WHOLE, n.low))))
            )
            if found.u is None:
                break
            no_more = found.value + ROUGHLY * float(np.abs(cost) @ np.abs(found.u))
            rows = np.vstack([rows, cost - no_more * np.eye(len(cost))[-1]])
        ends = np.maximum(upper_ends(rows, n.low, n.high, n.integer, passes=FAR_PASSES), n.low)
        n = replace(n, high=np.where(far, ends, n.high))
    return n


def with_near_switches(n: Numbers) -> Numbers:
    """The same program where a flag that lets an amount be there lets no more of it than its ends do.

    Before a factor of 1e9 a share of a flag that solvers count as 0 lets some of it be there.
    """
    a, flags = n.rows[:, :-1], n.integer & (n.low == 0.0) & (n.high == 1.0)
    with np.errstate(invalid="ignore"):
        ends = np.where(a > 0.0, a * n.high, np.where(a < 0.0, a * n.low, 0.0))
        most = np.where(flags, 0.0, ends).sum(axis=1) + n.rows[:, -1]
    alone = ~n.equal & (np.count_nonzero(a[:, flags], axis=1) == 1) & (most > 0.0)
    sharper = alone[:, None] & flags & (a < -most[:, None])
    return replace(n, rows=np.insert(np.where(sharper, -most[:, None], a), a.shape[1], n.rows[:, -1], axis=1))


def in_a_strip(n: Numbers) -> bool:
    """Whether limits hold a sum of whole numbers of both signs to one value, and nothing ends these near by.

    HiGHS then tightens their bounds one by one, for hours, and looks at no clock: also where both rows have a slack
    variable, but not where the numbers of a row have a common unit (cards of four sockets), which it finds.
    """
    # ends that follow from the rows take longer, and are asked where the rows as they stand are such a pair
    return _is_held(n, n.high) and _is_held(n, upper_ends(n.rows, n.low, n.high, n.integer))


def _is_held(n: Numbers, high: Array) -> bool:
    """The same, for upper ends that are known."""
    far = n.integer & (high > STRIP_END)
    if np.count_nonzero(far) < 2:
        return False
    rows = n.rows[~n.equal]
    counts, divisible = np.where(n.integer, rows[:, :-1], 0.0), rows[:, :-1][:, ~n.integer]
    size = np.abs(counts).max(axis=1, initial=0.0)
    least = np.where(counts != 0.0, np.abs(counts), np.inf).min(axis=1, initial=np.inf)
    of_least = MULTIPLES[:, None, None] * (counts / least[:, None])
    multiples = (np.abs(of_least - np.round(of_least)) <= MULTIPLE_ROUNDING).all(axis=2).any(axis=0)
    held = (divisible <= 0.0).all(axis=1) & ~multiples
    held &= (counts[:, far] > 0.0).any(axis=1) & (counts[:, far] < 0.0).any(axis=1)
    counts, constant = counts[held] / size[held, None], rows[held, -1] / size[held]
    apart = np.abs(counts[:, None] + counts[None]).max(axis=2, initial=0.0)
    width = np.abs(constant[:, None] + constant[None])
    return bool(((apart <= THIN_STRIP) & (width <= THIN_STRIP * np.maximum(np.abs(constant), 1.0))).any())


def in_near_strip(n: Numbers, cost: Array, near: Solve, linear: Solve) -> Result:
    """Minimise ``cost . u`` where ``in_a_strip``: up to ``STRIP_END``, and bounded by divisible numbers beyond it.

    ``near``: minimises within near ends. Where the rows, and that nothing costs more, end what is far there, its bound
    is that of all.
    """
    found = near(
        replace(n, high=np.where(n.integer, np.minimum(n.high, np.maximum(STRIP_END, n.low)), n.high)), cost
    )
    if found.u is None:
        return Result(End.FAILED)
    no_more = found.value + ROUGHLY * float(np.abs(cost) @ np.abs(found.u))
    rows = np.vstack([n.rows, cost - no_more * np.eye(len(cost))[-1]])
    ends = upper_ends(rows, n.low, n.high, n.integer, passes=FAR_PASSES)
    if not cost[:-1].any() or (ends[n.integer] <= np.maximum(STRIP_END, n.low[n.integer])).all():
        return found
    return replace(found, bound=min(found.bound, linear(n.relaxed(), cost).bound))


def minimise(n: Numbers, cost: Array, gap: float, linear: Solve, whole: Solve) -> Result | None:
    """Minimise ``cost . u``; None where no number is large there, or the search itself may find something better.

    ``gap``: absolute gap that is enough beside the relative one.
    """
    if not (n.high[n.integer] > LARGE).any():
        return None
    relaxed = linear(n.relaxed(), cost)
    if relaxed.u is None:
        return None
    at = np.where(n.integer, np.floor(relaxed.u[:-1]), 0.0)
    large = n.integer & (at > LARGE)
    if not large.any():
        return None
    base = np.where(large, np.maximum(at - WINDOW, n.low), 0.0)
    most = np.where(large, at + WINDOW + 1.0, np.where(n.integer, 2.0 * at + SMALL_ADDED, np.inf))
    low, high = np.where(large, 0.0, n.low), np.minimum(n.high, most) - base
    near = replace(n, rows=_rows_by_distances(n.rows, base), low=low, high=high)
    found = whole(near, _rows_by_distances(cost, base))
    if found.u is None:
        return Result(End.FAILED) if at.max() > HUGE else None
    open_gap = found.value - relaxed.bound
    if at.max() <= HUGE and open_gap > max(gap, WINDOW_CLOSED * abs(found.value)):
        return None
    bound = min(relaxed.bound, found.value)
    return replace(found, u=found.u + np.append(base, 0.0), bound=bound, multipliers=None)


def may_be_searched(n: Numbers, has_point: Callable[[Numbers], bool]) -> bool:
    """Whether a program has points among which a search over whole numbers is exact.

    ``has_point``: whether divisible numbers meet the rows of a program, whole ones of which are at most ``HUGE``.
    """
    ends = np.where(n.integer, np.minimum(n.high, np.maximum(HUGE, n.low)), n.high)
    return bool((ends == n.high).all()) or has_point(replace(n, high=ends))


def _rows_by_distances(rows: Array, base: Array) -> Array:
    """Rows over the distances from ``base``."""
    found = rows.copy()
    found[..., -1] += rows[..., :-1] @ base
    return found
