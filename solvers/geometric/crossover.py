"""Crossover: from the interior point at which a kernel ends to the vertex or face that it comes close to.

Near the end of an interior point method slack times multiplier is about 1e-12 for every limit. Where both are small,
it is not told which of the two is 0: whether the limit binds. An active-set method settles that. It takes a set of
limits and box ends as binding, ``F_W(y) = 0``, and goes by Newton's method to the solution of

    grad F_0(y) + sum_{k in W} l_k grad F_k(y) = 0,   F_k(y) = 0 for k in W

(least-norm steps, so that nothing moves along an optimal face). A limit with a negative multiplier then leaves the
set, one that is violated enters it. The set is right where the conditions of Karush, Kuhn and Tucker hold with
positive multipliers on it. Points with the same set go together. Reference: Nocedal and Wright, Numerical
Optimization, 2nd edition, sections 16.5 and 18.1.

The same steps sharpen a design whose set is known (``polish``): a gap of 1e-9 leaves the variables to 1e-4 or so. Rows
may divide by sums there, whose true functions are meant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations import canonical as canon
from formulations.batch import Table
from formulations.canonical import Canonical
from solvers.geometric import gp
from solvers.geometric.formulas import FEASIBLE
from solvers.geometric.gp_terms import Array
from solvers.patterns import Bools, groups

UNCLEAR, SURELY = 1e-3, 1e-9
"""Where a multiplier and its slack are both between these, it is not told which of the two is 0: their product is about
1e-12."""
ROUNDS = 5
"""Sets that are tried at each point: limits that come close to an optimum are few, and most first sets are right."""
STEPS = 3
"""Newton steps for a set: the kernel ends within 1e-3, and each step squares the distance."""
STATIONARY = 1e-10
"""Slope of the Lagrangian function that counts as 0: a tenth of the smallest multiplier that counts as positive."""
MET = 1e-12
"""Value of a limit that counts as 0: some roundings of sums of logarithms of up to 1e3."""
NEARBY = 1e-2
"""A set whose solution is farther away than this (in logs) is not that of the optimum that the kernel found."""
FLAT = 1e-9
"""Curvature, as a part of the largest, that counts as none (as ``tolerances.TIE`` counts)."""
FORCED = 1e-10
"""Multiplier of a limit that a design is sharpened along."""
INSIDE = 1e-12
LOST = 1e-6
"""How far the goal may move where a design is sharpened, beside what the slack that it gives back is worth."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """What sets of binding limits lead to: points ``y``, multipliers and values (limits, lower, upper ends)."""

    y: Array
    multipliers: Array
    values: Array
    good: Bools


def doubtful(slack: Array, multipliers: Array, unclear: float = UNCLEAR) -> Bools:
    """Tell for which limits it is not clear whether they bind."""
    found: Bools = (np.maximum(multipliers, slack) < unclear) & (np.minimum(multipliers, slack) > SURELY)
    return found


def crossover(t: Table, low: Array, high: Array, r: gp.Result) -> tuple[gp.Result, Bools]:
    """Settle which limits bind at the optima ``r``; return the optima with that, and where it is settled.

    ``low``, ``high``: the boxes (N, n). Where nothing is in doubt the optimum is handed back as it is.
    """
    limits = doubtful(-gp.evaluate(t.exponents, t.logc, t.ptr, r.y)[:, 1:], r.multipliers)
    told = np.logical_not(np.logical_or.reduce(limits, axis=1))
    some = np.flatnonzero(~told)
    if not some.size:
        return r, told
    part, lo, hi = t.take(some), low[some], high[some]
    values = _values(part, lo, hi, r.y[some])
    every = np.concatenate([r.multipliers, r.lower_multipliers, r.upper_multipliers], axis=1)[some]
    binds = (every > -values) | doubtful(-values, every)
    found = {n: np.array(getattr(r, n)) for n in gp.Result.__slots__}
    m, n = r.multipliers.shape[1], r.y.shape[1]
    start, each = r.y[some], np.arange(some.size)
    for _ in range(ROUNDS):
        tried = _tried(part.take(each), lo[each], hi[each], start[each], binds[each])
        done = each[tried.good]
        at = some[done]
        told[at] = True
        found["y"][at] = tried.y[tried.good]
        for name, columns in _split(m, n).items():
            found[name][at] = tried.multipliers[tried.good][:, columns]
        rest = ~tried.good
        each = each[rest]
        if not each.size:
            break
        binds[each] = _next(binds[each], tried.values[rest], tried.multipliers[rest])
    at = some[told[some]]
    t = t.take(at)
    y, lam = found["y"][at], found["multipliers"][at]
    values = gp.evaluate(t.exponents, t.logc, t.ptr, y)
    found["value"][at], found["violation"][at] = values[:, 0], values[:, 1:].max(1)
    bound = gp.lagrangian_bound(t.exponents, t.logc, t.ptr, low[at], high[at], y, lam)
    found["bound"][at] = np.maximum(found["bound"][at], bound)
    return gp.Result(**found), told


def polish(c: Canonical, y: Array, multipliers: Array, at_end: Bools) -> Array:
    """The optimiser near y: rows with a multiplier above their slack hold with equality, ``at_end`` variables stay.

    Returns y itself where Newton's method does not improve the optimality residual, or leaves the feasible set.
    """
    start, before = y[None], canon.values(c, y[None])[0]
    rows = np.flatnonzero((multipliers > FORCED) & (multipliers > -before[1:]))
    free = ~at_end & (c.high - c.low > 1e-13)
    if not free.any():
        return y
    program = Table(c.exponents, c.logc[None], c.ptr), c.low[None], c.high[None]
    _, _, first = _newton(*program, start, rows, free, c, steps=0)
    found, _, left = _newton(*program, start, rows, free, c)
    after = canon.values(c, found)[0]
    better = left + np.abs(after[1 + rows]).max(initial=0.0) < first + np.abs(before[1 + rows]).max(
        initial=0.0
    )
    inside = ((c.low - INSIDE <= found) & (found <= c.high + INSIDE)).all()
    met = after[1:].max(initial=-np.inf) <= FEASIBLE
    near = abs(after[0] - before[0]) < LOST + 2 * FEASIBLE * float(multipliers.sum())
    return found[0] if better[0] and inside and met and near else y


def _split(m: int, n: int) -> dict[str, slice]:
    """Where in the list of all inequalities the limits and the ends stand."""
    return {
        "multipliers": slice(0, m),
        "lower_multipliers": slice(m, m + n),
        "upper_multipliers": slice(m + n, m + 2 * n),
    }


def _values(t: Table, low: Array, high: Array, y: Array) -> Array:
    """Values (N, m + 2n) of limits, lower and upper ends: at most 0 where they hold."""
    return np.concatenate([gp.evaluate(t.exponents, t.logc, t.ptr, y)[:, 1:], low - y, y - high], axis=1)


def _next(binds: Bools, values: Array, multipliers: Array) -> Bools:
    """The set to try next: without the limit that pulls most the wrong way, else with the one missed most."""
    wrong = np.where(binds, multipliers, np.inf)
    missed = np.where(binds, -np.inf, values)
    each = np.arange(len(binds))
    found = binds.copy()
    leave, enter = wrong.argmin(1), missed.argmax(1)
    drops = wrong[each, leave] <= SURELY
    found[each[drops], leave[drops]] = False
    adds = ~drops & (missed[each, enter] > MET)
    found[each[adds], enter[adds]] = True
    return found


def _tried(t: Table, low: Array, high: Array, start: Array, binds: Bools) -> _Tried:
    """Solve the equations of each point's set, and judge whether it is the set of the optimum."""
    y, multipliers = start.copy(), np.zeros(binds.shape)
    slope = np.full(len(y), np.inf)
    fixed = high - low <= gp.FIXED
    for which, kind in groups(np.concatenate([binds, fixed], axis=1)):
        rows, free = np.flatnonzero(kind[: binds.shape[1]]), ~kind[binds.shape[1] :]
        y[which], multipliers[np.ix_(which, rows)], slope[which] = _newton(
            t.take(which), low[which], high[which], start[which], rows, free
        )
    with np.errstate(invalid="ignore"):
        values = _values(t, low, high, y)
        near = np.abs(y - start).max(1) < NEARBY
        apart = (
            (values < -SURELY)
            | (np.abs(values) <= MET)
            | np.concatenate([np.zeros_like(binds[:, : -2 * y.shape[1]]), fixed, fixed], axis=1)
        )
        good = (
            near
            & (slope < STATIONARY)
            & np.where(binds, (multipliers > SURELY) & (np.abs(values) <= MET), apart).all(1)
        )
    return _Tried(np.clip(y, low, high), multipliers, values, good)


def _newton(
    t: Table,
    low: Array,
    high: Array,
    y: Array,
    rows: NDArray[np.intp],
    free: Bools,
    divided: Canonical | None = None,
    *,
    steps: int = STEPS,
) -> tuple[Array, Array, Array]:
    """Go to where the inequalities ``rows`` hold with equality and the Lagrangian function is flat in the free
    variables; return the points, the multipliers of the rows there, and the largest slope that is left.

    ``divided``: of one point, the program whose rows may divide by sums.
    """  # noqa: D205
    n, m, count = y.shape[1], t.ptr.size - 2, int(free.sum())
    squares = np.einsum("ki,kj->kij", t.exponents[:, free], t.exponents[:, free]).reshape(-1, count * count)
    ends = np.concatenate([-np.eye(n), np.eye(n)])[:, free]
    limits, sides = rows[rows < m], rows[rows >= m] - m
    multipliers = np.zeros((len(y), rows.size))
    size = count + rows.size
    for step in range(steps + 1):
        _, weights = gp.both(t.exponents, t.logc, t.ptr, y)
        over = gp.gradients(t.exponents, t.logc, t.ptr, y)[:, :, free]
        slopes, bends = (over, []) if divided is None else _below(divided, y[0], over, free)
        every = _values(t, low, high, y) if divided is None else canon.values(divided, y)[:, 1:]
        values = every[:, rows]
        sided = np.broadcast_to(ends[sides], (len(y), sides.size, count))
        own = np.concatenate([slopes[:, 1:][:, limits], sided], axis=1)
        if not step or step == steps:
            multipliers = -np.einsum("pji,pj->pi", np.linalg.pinv(own, rcond=FLAT), slopes[:, 0])
        if step == steps:
            break
        force = np.zeros((len(y), m + 1))
        force[:, 0], force[:, 1 + limits] = 1.0, multipliers[:, : limits.size]
        curved = np.einsum("pk,ka->pa", force[:, t.row] * weights, squares).reshape(-1, count, count)
        curved -= np.einsum("pr,pri,prj->pij", force, over, over)
        for row, bend in bends:
            curved[0] -= force[0, row] * bend
        system = np.zeros((len(y), size, size))
        system[:, :count, :count] = curved
        system[:, count:, :count], system[:, :count, count:] = own, own.swapaxes(1, 2)
        right = -np.concatenate([slopes[:, 0], values], axis=1)
        moved = np.einsum("pij,pj->pi", np.linalg.pinv(system, rcond=FLAT, hermitian=True), right)
        y = y.copy()
        y[:, free] += np.clip(moved[:, :count], -NEARBY, NEARBY)
        multipliers = moved[:, count:]
    left = slopes[:, 0] + np.einsum("pi,pij->pj", multipliers, own)
    return y, multipliers, np.abs(left).max(1, initial=0.0)


def _below(c: Canonical, y: Array, over: Array, free: Bools) -> tuple[Array, list[tuple[int, Array]]]:
    """The slopes of a point's rows less those of the divisors that are sums, and by row what these bend."""
    slopes, bends, forms = over.copy(), [], c.forms[:, free]
    for d in c.divisors:
        z = d.logc + d.coordinates @ (c.forms @ y)
        weights = np.exp(z - z.max())
        weights /= weights.sum()
        mean = weights @ d.coordinates
        spread = (d.coordinates - mean) * np.sqrt(weights)[:, None]
        slopes[0, d.row] -= d.base[free] + mean @ forms
        bends.append((d.row, (spread @ forms).T @ (spread @ forms)))
    return slopes, bends
