"""Crossover: from the interior point at which a kernel ends to the vertex or face that it comes close to.

Near the end of an interior point method slack times multiplier is about 1e-12 for every limit. Where both are small,
it is not told which of the two is 0: whether the limit binds. An active-set method settles that. It takes a set of
limits and box ends as binding, ``F_W(y) = 0``, and goes by Newton's method to the solution of

    grad F_0(y) + sum_{k in W} l_k grad F_k(y) = 0,   F_k(y) = 0 for k in W

(least-norm steps, so that nothing moves along an optimal face). A limit with a negative multiplier then leaves the
set, one that is violated enters it. The set is right where the conditions of Karush, Kuhn and Tucker hold with
positive multipliers on it. Points with the same set go together. Reference: Nocedal and Wright, Numerical
Optimization, 2nd edition, sections 16.5 and 18.1.
"""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.grids.batch import Table
from solvers.geometric.kernel import gp
from solvers.geometric.programs import newton
from solvers.patterns import groups

UNCLEAR_BELOW, SURELY = 1e-3, 1e-9
"""Where a multiplier and its slack are both between these, it is not told which of the two is 0: their product is about
1e-12."""
WORKING_SETS = 5
"""Sets that are tried at each point: limits that come close to an optimum are few, and most first sets are right."""
NEWTON_STEPS = 3
"""Newton steps for a set at most: the kernel ends within 1e-3, and each step squares the distance."""
STATIONARY = SURELY
"""Slope of the Lagrangian function that counts as 0: that of a limit whose multiplier does not count as positive."""
LIMIT_ROUNDING = 1e-12
"""Value of a limit that counts as 0: some roundings of sums of logarithms of up to 1e3."""
NEARBY_SOLUTION = 1e-2
"""A set whose solution is farther away than this (in logs) is not that of the optimum that the kernel found."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """What sets of binding limits lead to: points ``y``, multipliers and values (limits, lower, upper ends)."""

    y: Array
    multipliers: Array
    values: Array
    good: Bools


def doubtful(slack: Array, multipliers: Array, unclear: float = UNCLEAR_BELOW) -> Bools:
    """Tell for which limits it is not clear whether they bind."""
    found: Bools = (np.maximum(multipliers, slack) < unclear) & (np.minimum(multipliers, slack) > SURELY)
    return found


def crossover(t: Table, low: Array, high: Array, r: gp.Result) -> tuple[gp.Result, Bools]:
    """Settle which limits bind at the optima among ``r``; return these with that, and where it is settled.

    ``low``, ``high``: the boxes (N, n). Where nothing is in doubt the optimum is handed back as it is.
    """
    limits = doubtful(-gp.evaluate(t.exponents, t.logc, t.ptr, r.y)[:, 1:], r.multipliers)
    best, unclear = r.status == gp.OPTIMAL, np.logical_or.reduce(limits, axis=1)
    known, some = best & ~unclear, np.flatnonzero(best & unclear)
    if not some.size:
        return r, known
    part, lo, hi = t.take(some), low[some], high[some]
    values = _inequality_values(part, lo, hi, r.y[some])
    every = np.concatenate([r.multipliers, r.lower_multipliers, r.upper_multipliers], axis=1)[some]
    binds = (every > -values) | doubtful(-values, every)
    found, (m, n) = r.take(np.arange(len(r.y))), (r.multipliers.shape[1], r.y.shape[1])
    start, each = r.y[some], np.arange(some.size)
    for _ in range(WORKING_SETS):
        tried = _judged_sets(part.take(each), lo[each], hi[each], start[each], binds[each])
        at = some[each[tried.good]]
        known[at], found.y[at] = True, tried.y[tried.good]
        found.multipliers[at], found.lower_multipliers[at], found.upper_multipliers[at] = np.split(
            tried.multipliers[tried.good], [m, m + n], axis=1
        )
        rest = ~tried.good
        each = each[rest]
        if not each.size:
            break
        binds[each] = _next(binds[each], tried.values[rest], tried.multipliers[rest])
    at = some[known[some]]
    t, y, lam = t.take(at), found.y[at], found.multipliers[at]
    values = gp.evaluate(t.exponents, t.logc, t.ptr, y)
    found.value[at], found.violation[at] = values[:, 0], values[:, 1:].max(1)
    bound = gp.lagrangian_bound(t.exponents, t.logc, t.ptr, low[at], high[at], y, lam)
    found.bound[at] = np.maximum(found.bound[at], bound)
    return found, known


def _inequality_values(t: Table, low: Array, high: Array, y: Array) -> Array:
    """Values (N, m + 2n) of limits, lower and upper ends: at most 0 where they hold."""
    return np.concatenate([gp.evaluate(t.exponents, t.logc, t.ptr, y)[:, 1:], low - y, y - high], axis=1)


def _next(binds: Bools, values: Array, multipliers: Array) -> Bools:
    """The set to try next: without the limit that pulls most the wrong way, else with the one missed most.

    Where all pull the right way and none is missed, but not all can hold with equality, without the one farthest off.
    """
    wrong = np.where(binds, multipliers, np.inf)
    missed = np.where(binds, -np.inf, values)
    each = np.arange(len(binds))
    found = binds.copy()
    leave, enter = wrong.argmin(1), missed.argmax(1)
    drops = wrong[each, leave] <= SURELY
    found[each[drops], leave[drops]] = False
    adds = ~drops & (missed[each, enter] > LIMIT_ROUNDING)
    found[each[adds], enter[adds]] = True
    slack = np.where(binds, values, np.inf)
    farthest = slack.argmin(1)
    apart = ~drops & ~adds & (slack[each, farthest] < -LIMIT_ROUNDING)
    found[each[apart], farthest[apart]] = False
    return found


def _judged_sets(t: Table, low: Array, high: Array, start: Array, binds: Bools) -> _Tried:
    """Solve the equations of each point's set, and judge whether it is the set of the optimum."""
    y, multipliers = start.copy(), np.zeros(binds.shape)
    off = np.full(len(y), np.inf)
    fixed = high - low <= gp.FIXED
    for which, kind in groups(np.concatenate([binds, fixed], axis=1)):
        rows, free = np.flatnonzero(kind[: binds.shape[1]]), ~kind[binds.shape[1] :]
        y[which], multipliers[np.ix_(which, rows)], off[which] = newton.settled(
            gp.terms(t.exponents, t.logc[which], t.ptr), low[which], high[which], start[which], rows, free,
            NEWTON_STEPS + 1, longest=NEARBY_SOLUTION,
        )  # fmt: skip
    with np.errstate(invalid="ignore"):
        values = _inequality_values(t, low, high, y)
        near = np.abs(y - start).max(1) < NEARBY_SOLUTION
        apart = (
            (values < -SURELY)
            | (np.abs(values) <= LIMIT_ROUNDING)
            | np.concatenate([_still(t, fixed), fixed, fixed], axis=1)
        )
        good = (
            near
            & (off < STATIONARY)
            & np.where(binds, (multipliers > SURELY) & (np.abs(values) <= LIMIT_ROUNDING), apart).all(1)
        )
    return _Tried(np.clip(y, low, high), multipliers, values, good)


def _still(t: Table, fixed: Bools) -> Bools:
    """Tell at each point (N, m) which limits nothing that is free can move: they bind by what is given, or do not."""
    moves = np.logical_or.reduceat(t.exponents != 0.0, t.ptr[1:-1], axis=0)
    return np.asarray(~(moves & ~fixed[:, None]).any(axis=2))
