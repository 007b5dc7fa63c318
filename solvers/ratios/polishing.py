"""Sharpen nearly optimal points: Newton's method on the optimality conditions of the true functions.

A gap of 1e-9 leaves the variables to 1e-4 or so; the active set found by the kernel leads to the optimiser itself.
Points with the same active set go together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Array, Canonical
from formulations.grids.divided import take
from solvers.geometric.programs.crossover import doubtful
from solvers.patterns import Bools, groups

POLISHING_STEPS = 6
SMALL_MULTIPLIER = 1e-10
"""A row with a smaller multiplier is not held."""
SHARP_RESIDUAL = 1e-9
"""Slope of the Lagrangian function at which a point is sharp."""
UNCLEAR = 1e-5
"""A slack and a multiplier that are both smaller do not tell whether a row holds with equality."""


@dataclass(frozen=True, slots=True)
class Polished:
    """Points ``y`` (N, n), the multipliers of their active rows (N, m), and how far from optimal they are.

    ``residual``: the slope of the Lagrangian function that is left, and the values of rows that should be 0.
    """

    y: Array
    multipliers: Array
    residual: Array


def polish(c: Canonical, y: Array, multipliers: Array, at_end: Bools) -> Polished:
    """Find the optimisers near ``y`` (N, n): rows with a multiplier above their slack hold with equality, ``at_end``
    variables stay.

    ``c``: of many points, with a row of coefficients for each. A point is y itself where Newton does not improve the
    optimality residual or leaves the feasible set.
    """  # noqa: D205
    f = canon.values(c, y)
    active = (multipliers > SMALL_MULTIPLIER) & (multipliers > -f[:, 1:])
    free = ~at_end & (c.high - c.low > 1e-13)
    first = _polished_on_rows(c, y, active, free)
    # multiplier and slack of a limit that is hardly felt are both small: it is also taken to hold, if that fits better
    unclear = doubtful(-f[:, 1:], multipliers, UNCLEAR) & ~active & (first.residual > SHARP_RESIDUAL)[:, None]
    some = np.flatnonzero(unclear.any(1))
    if some.size:
        other = _polished_on_rows(take(c, some), y[some], (active | unclear)[some], free[some])
        fits = (other.residual < first.residual[some]) & (other.multipliers.min(1) >= 0)
        for name in Polished.__slots__:
            getattr(first, name)[some[fits]] = getattr(other, name)[fits]
    # giving back the granted slack moves the goal by the price of the limits
    change = np.abs(canon.values(c, first.y)[:, 0] - f[:, 0])
    near = change < 1e-6 + 2e-9 * multipliers.sum(1)
    residual = np.where(near, first.residual, np.inf)
    return Polished(np.where(near[:, None], first.y, y), first.multipliers, residual)


def _polished_on_rows(c: Canonical, y: Array, active: Bools, free: Bools) -> Polished:
    """Points with the rows ``active`` held and the variables ``free`` moving; as they are where none moves."""
    found = Polished(y.copy(), np.zeros(active.shape), np.zeros(len(y)))
    for which, kind in groups(np.concatenate([active, free], axis=1)):
        rows, moves = np.flatnonzero(kind[: active.shape[1]]), kind[active.shape[1] :]
        if moves.any():
            own = take(c, which)
            found.y[which], found.multipliers[np.ix_(which, rows)], found.residual[which] = _newton(
                own, y[which], rows, moves
            )
    return found


def _newton(c: Canonical, y: Array, rows: NDArray[np.intp], free: Bools) -> tuple[Array, Array, Array]:
    """Go on while the residual falls and all limits hold: the best points, their multipliers and residuals."""
    count = len(y)
    best, force, least = y.copy(), np.zeros((count, rows.size)), np.full(count, np.inf)
    each, now = np.arange(count), y.copy()
    for _ in range(POLISHING_STEPS):
        f, g, h = _derivatives(take(c, each), now)
        g, h = g[:, :, free], h[:, :, free][:, :, :, free]
        own = g[:, 1 + rows]
        lam = -np.einsum("pir,pi->pr", np.linalg.pinv(own), g[:, 0])
        left = g[:, 0] + np.einsum("pr,pri->pi", lam, own)
        residual = np.abs(left).max(1) + np.abs(f[:, 1 + rows]).max(1, initial=0.0)
        inside = ((now >= c.low[each] - 1e-12) & (now <= c.high[each] + 1e-12)).all(1)
        good = (residual < least[each]) & inside & (f[:, 1:].max(1, initial=-np.inf) <= 1e-9)
        at = each[good]
        best[at], force[at], least[at] = now[good], lam[good], residual[good]
        each, now = at, now[good]
        if not at.size:
            break
        now[:, free] += _saddle_step(f[good], g[good], h[good], lam[good], rows)
    return best, force, least


def _saddle_step(f: Array, g: Array, h: Array, lam: Array, rows: NDArray[np.intp]) -> Array:
    k, m = g.shape[2], rows.size
    own = g[:, 1 + rows]
    system = np.zeros((len(f), k + m, k + m))
    system[:, :k, :k] = h[:, 0] + np.einsum("pr,prij->pij", lam, h[:, 1 + rows])
    system[:, k:, :k], system[:, :k, k:] = own, own.swapaxes(1, 2)
    right = np.concatenate([-g[:, 0], -f[:, 1 + rows]], axis=1)
    # least squares, so that nothing moves along an optimal face
    return np.asarray(np.einsum("pij,pj->pi", np.linalg.pinv(system, rcond=1e-12)[:, :k], right))


def _derivatives(c: Canonical, y: Array) -> tuple[Array, Array, Array]:
    """F (N, m+1), gradients (N, m+1, n) and Hessians (N, m+1, n, n) of the true functions at y (N, n)."""
    f = canon.values(c, y)
    t = c.logc + np.einsum("pi,ki->pk", y, c.exponents)
    g, h = np.zeros((*f.shape, y.shape[1])), np.zeros((*f.shape, y.shape[1], y.shape[1]))
    for k in range(f.shape[1]):
        rows = slice(c.ptr[k], c.ptr[k + 1])
        g[:, k], h[:, k] = _moments(t[:, rows], c.exponents[rows])
    z = np.einsum("pi,qi->pq", y, c.forms)
    for d in c.divisors:
        a, b = _moments(d.logc + np.einsum("pq,tq->pt", z, d.coordinates), d.coordinates)
        g[:, d.row] -= d.base + np.einsum("pq,qi->pi", a, c.forms)
        h[:, d.row] -= np.einsum("pqr,qi,rj->pij", b, c.forms, c.forms)
    return f, g, h


def _moments(t: Array, a: Array) -> tuple[Array, Array]:
    """Mean and covariance of exponents a (K, n) under softmax weights of t (N, K)."""
    w = np.exp(t - t.max(1, keepdims=True))
    w /= w.sum(1, keepdims=True)
    mean = np.einsum("pk,ki->pi", w, a)
    spread = a - mean[:, None]
    return mean, np.einsum("pk,pki,pkj->pij", w, spread, spread)
