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

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Canonical
from formulations.grids.batch import Table
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.formulas import FEASIBLE
from solvers.geometric.kernel.gp_terms import Array, Terms
from solvers.patterns import Bools, groups

UNCLEAR_BELOW, SURELY = 1e-3, 1e-9
"""Where a multiplier and its slack are both between these, it is not told which of the two is 0: their product is about
1e-12."""
WORKING_SETS = 5
"""Sets that are tried at each point: limits that come close to an optimum are few, and most first sets are right."""
NEWTON_STEPS = 3
"""Newton steps for a set: the kernel ends within 1e-3, and each step squares the distance."""
STATIONARY = 1e-10
"""Slope of the Lagrangian function that counts as 0: a tenth of the smallest multiplier that counts as positive."""
LIMIT_ROUNDING = 1e-12
"""Value of a limit that counts as 0: some roundings of sums of logarithms of up to 1e3."""
NEARBY_SOLUTION = 1e-2
"""A set whose solution is farther away than this (in logs) is not that of the optimum that the kernel found."""
NO_CURVATURE = 1e-9
"""Curvature, as a part of the largest, that counts as none (as ``tolerances.TIE`` counts)."""
FORCED = 1e-10
"""Multiplier of a limit that a design is sharpened along."""
ON_THE_BOX = 1e-12
SETTLED = 1e-13
"""Residual of the conditions of optimality that no step makes less."""
LOST = 1e-6
"""How far the goal may move where a design is sharpened, beside what the slack that it gives back is worth."""


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
    """Settle which limits bind at the optima ``r``; return the optima with that, and where it is settled.

    ``low``, ``high``: the boxes (N, n). Where nothing is in doubt the optimum is handed back as it is.
    """
    limits = doubtful(-gp.evaluate(t.exponents, t.logc, t.ptr, r.y)[:, 1:], r.multipliers)
    known = np.logical_not(np.logical_or.reduce(limits, axis=1))
    some = np.flatnonzero(~known)
    if not some.size:
        return r, known
    part, lo, hi = t.take(some), low[some], high[some]
    values = _inequality_values(part, lo, hi, r.y[some])
    every = np.concatenate([r.multipliers, r.lower_multipliers, r.upper_multipliers], axis=1)[some]
    binds = (every > -values) | doubtful(-values, every)
    found = {n: np.array(getattr(r, n)) for n in gp.Result.__slots__}
    m, n = r.multipliers.shape[1], r.y.shape[1]
    start, each = r.y[some], np.arange(some.size)
    for _ in range(WORKING_SETS):
        tried = _judged_sets(part.take(each), lo[each], hi[each], start[each], binds[each])
        done = each[tried.good]
        at = some[done]
        known[at] = True
        found["y"][at] = tried.y[tried.good]
        for name, columns in _inequality_slices(m, n).items():
            found[name][at] = tried.multipliers[tried.good][:, columns]
        rest = ~tried.good
        each = each[rest]
        if not each.size:
            break
        binds[each] = _next(binds[each], tried.values[rest], tried.multipliers[rest])
    at = some[known[some]]
    t = t.take(at)
    y, lam = found["y"][at], found["multipliers"][at]
    values = gp.evaluate(t.exponents, t.logc, t.ptr, y)
    found["value"][at], found["violation"][at] = values[:, 0], values[:, 1:].max(1)
    bound = gp.lagrangian_bound(t.exponents, t.logc, t.ptr, low[at], high[at], y, lam)
    found["bound"][at] = np.maximum(found["bound"][at], bound)
    return gp.Result(**found), known


def polish(c: Canonical, y: Array, multipliers: Array, at_end: Bools) -> Array:
    """The optimiser near y: rows with a multiplier above their slack hold with equality, ``at_end`` variables stay.

    Returns y itself where Newton's method does not improve the optimality residual, or leaves the feasible set.
    """
    free = ~at_end & (c.high - c.low > 1e-13)
    if not free.any():
        return y
    before = canon.values(c, y[None])[0]
    rows = np.flatnonzero((multipliers > FORCED) & (multipliers > -before[1:]))
    T, now, best, goal, least = gp.terms(c.exponents, c.logc, c.ptr), y, y, before[0], np.inf
    for _ in range(NEWTON_STEPS + 1):
        s = _inequality_slopes(T, c.low[None], c.high[None], now[None], rows, free, c)
        lam = _fitted(s)
        left = np.abs(_left(s, lam)).max() + np.abs(s.values[0, rows]).max(initial=0.0)
        inside = ((c.low - ON_THE_BOX <= now) & (now <= c.high + ON_THE_BOX)).all()
        if not (left < least and inside and s.values[0].max(initial=-np.inf) <= FEASIBLE):
            break
        best, goal, least = now, s.goal[0], left
        if left < SETTLED:
            break
        now = now.copy()
        now[free] += _newton_step(T, s, rows, lam, free)[0][0]
    # giving back the granted slack moves the goal by the price of the limits
    near = abs(goal - before[0]) < LOST + 2 * FEASIBLE * float(multipliers.sum())
    return best if near else y


def _inequality_slices(m: int, n: int) -> dict[str, slice]:
    """Where in the list of all inequalities the limits and the ends stand."""
    return {
        "multipliers": slice(0, m),
        "lower_multipliers": slice(m, m + n),
        "upper_multipliers": slice(m + n, m + 2 * n),
    }


def _inequality_values(t: Table, low: Array, high: Array, y: Array) -> Array:
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
    adds = ~drops & (missed[each, enter] > LIMIT_ROUNDING)
    found[each[adds], enter[adds]] = True
    return found


def _judged_sets(t: Table, low: Array, high: Array, start: Array, binds: Bools) -> _Tried:
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
        values = _inequality_values(t, low, high, y)
        near = np.abs(y - start).max(1) < NEARBY_SOLUTION
        apart = (
            (values < -SURELY)
            | (np.abs(values) <= LIMIT_ROUNDING)
            | np.concatenate([np.zeros_like(binds[:, : -2 * y.shape[1]]), fixed, fixed], axis=1)
        )
        good = (
            near
            & (slope < STATIONARY)
            & np.where(binds, (multipliers > SURELY) & (np.abs(values) <= LIMIT_ROUNDING), apart).all(1)
        )
    return _Tried(np.clip(y, low, high), multipliers, values, good)


def _newton(
    t: Table, low: Array, high: Array, y: Array, rows: NDArray[np.intp], free: Bools
) -> tuple[Array, Array, Array]:
    """Go to where the inequalities ``rows`` hold with equality and the Lagrangian function is flat in the free
    variables; return the points, the multipliers of the rows there, and the largest slope that is left.
    """  # noqa: D205
    T = gp.terms(t.exponents, t.logc, t.ptr)
    s = _inequality_slopes(T, low, high, y, rows, free)
    multipliers = _fitted(s)
    for _ in range(NEWTON_STEPS):
        moved, multipliers = _newton_step(T, s, rows, multipliers, free)
        y = y.copy()
        y[:, free] += np.clip(moved, -NEARBY_SOLUTION, NEARBY_SOLUTION)
        s = _inequality_slopes(T, low, high, y, rows, free)
    multipliers = _fitted(s)
    return y, multipliers, np.abs(_left(s, multipliers)).max(1, initial=0.0)


@dataclass(frozen=True, slots=True)
class _Slopes:
    """At N points: the ``goal``, ``values`` of limits (and of ends, where rows are some), softmax ``weights``.

    In the free variables: slopes ``over`` of the terms above, ``all`` of goal and limits, ``own`` of the inequalities
    that are to hold with equality; ``bends``: by row, how the sums below curve at the one point.
    """

    goal: Array
    values: Array
    weights: Array
    over: Array
    all: Array
    own: Array
    bends: list[tuple[int, Array]]


def _inequality_slopes(
    T: Terms,
    low: Array,
    high: Array,
    y: Array,
    rows: NDArray[np.intp],
    free: Bools,
    divided: Canonical | None = None,
) -> _Slopes:
    """Evaluate the inequalities at points; ``divided``: of one point, the program whose rows divide by sums."""
    F, weights = T.known(y)
    over = T.slopes(weights)[:, :, free]
    slopes, bends = over, []
    if divided is not None and divided.divisors:
        slopes, forms = over.copy(), divided.forms[:, free]
        for d in divided.divisors:
            z = d.logc + d.coordinates @ (divided.forms @ y[0])
            w = np.exp(z - z.max())
            total = w.sum()
            w /= total
            mean = w @ d.coordinates
            spread = (d.coordinates - mean) * np.sqrt(w)[:, None] @ forms
            F[0, d.row] -= d.base @ y[0] + z.max() + np.log(total)
            slopes[0, d.row] -= d.base[free] + mean @ forms
            bends.append((d.row, spread.T @ spread))
    m, n = F.shape[1] - 1, y.shape[1]
    sides = rows[rows >= m] - m
    own, values = slopes[:, 1 + rows[rows < m]], F[:, 1:]
    if sides.size:
        ends = np.concatenate([-np.eye(n), np.eye(n)])[sides][:, free]
        own = np.concatenate([own, np.broadcast_to(ends, (len(y), *ends.shape))], axis=1)
        values = np.concatenate([values, low - y, y - high], axis=1)
    return _Slopes(F[:, 0], values, weights, over, slopes, own, bends)


def _fitted(s: _Slopes) -> Array:
    """The multipliers that leave the Lagrangian function flattest."""
    found: Array = -np.einsum("pji,pj->pi", np.linalg.pinv(s.own, rcond=NO_CURVATURE), s.all[:, 0])
    return found


def _left(s: _Slopes, multipliers: Array) -> Array:
    """The slopes of the Lagrangian function."""
    found: Array = s.all[:, 0] + np.einsum("pi,pij->pj", multipliers, s.own)
    return found


def _newton_step(
    T: Terms, s: _Slopes, rows: NDArray[np.intp], multipliers: Array, free: Bools
) -> tuple[Array, Array]:
    """One step of Newton's method: by how much the free variables move, and the multipliers there."""
    count, limits = int(free.sum()), rows[rows < len(T.starts) - 1]
    size = count + rows.size
    A = T.A[:, free]
    force = np.zeros(s.all.shape[:2])
    force[:, 0], force[:, 1 + limits] = 1.0, multipliers[:, : limits.size]
    squares = np.einsum("ki,kj->kij", A, A).reshape(-1, count * count)
    curved = np.einsum("pk,ka->pa", force[:, T.row_of] * s.weights, squares).reshape(-1, count, count)
    curved -= np.einsum("pr,pri,prj->pij", force, s.over, s.over)
    for row, bend in s.bends:
        curved[0] -= force[0, row] * bend
    system = np.zeros((len(curved), size, size))
    system[:, :count, :count] = curved
    system[:, count:, :count], system[:, :count, count:] = s.own, s.own.swapaxes(1, 2)
    right = -np.concatenate([s.all[:, 0], s.values[:, rows]], axis=1)
    moved = np.einsum("pij,pj->pi", np.linalg.pinv(system, rcond=NO_CURVATURE, hermitian=True), right)
    return moved[:, :count], moved[:, count:]
