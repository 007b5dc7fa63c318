"""Sharpen a nearly optimal point: Newton's method on the optimality conditions of the true functions.

A gap of 1e-9 leaves the variables to 1e-4 or so; the active set found by the kernel leads to the optimiser itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations import canonical as canon
from formulations.canonical import Array, Canonical

STEPS = 6


def derivatives(c: Canonical, y: Array) -> tuple[Array, Array, Array]:
    """F (m+1,), gradients (m+1, n) and Hessians (m+1, n, n) of the true functions at y (n,)."""
    n, m1 = y.size, c.ptr.size - 1
    f = canon.values(c, y[None])[0]
    g, h = np.zeros((m1, n)), np.zeros((m1, n, n))
    t = c.logc + c.exponents @ y
    for k in range(m1):
        rows = slice(c.ptr[k], c.ptr[k + 1])
        g[k], h[k] = _moments(t[rows], c.exponents[rows])
    z = c.forms @ y
    for d in c.divisors:
        a, b = _moments(d.logc + d.coordinates @ z, d.coordinates)
        g[d.row] -= d.base + a @ c.forms
        h[d.row] -= c.forms.T @ b @ c.forms
    return f, g, h


def _moments(t: Array, a: Array) -> tuple[Array, Array]:
    """Mean and covariance of exponents a under softmax weights of t."""
    w = np.exp(t - t.max())
    w /= w.sum()
    mean = w @ a
    spread = a - mean
    return mean, (spread * w[:, None]).T @ spread


def polish(c: Canonical, y: Array, multipliers: Array, at_end: NDArray[np.bool_]) -> Array:
    """The optimiser near y: rows with a multiplier above their slack hold with equality, ``at_end`` variables stay.

    Returns y itself where Newton does not improve the optimality residual or leaves the feasible set.
    """
    f, g, h = derivatives(c, y)
    active = np.flatnonzero((multipliers > 1e-10) & (multipliers > -f[1:])) + 1
    free = ~at_end & (c.high - c.low > 1e-13)
    if not free.any():
        return y
    best, best_residual, now = y, np.inf, y.copy()
    for _ in range(STEPS):
        lam = (
            np.linalg.lstsq(g[active][:, free].T, -g[0, free], rcond=None)[0] if active.size else np.zeros(0)
        )
        residual = float(
            np.abs(g[0, free] + lam @ g[active][:, free]).max() + np.abs(f[active]).max(initial=0.0)
        )
        inside = np.all(now >= c.low - 1e-12) and np.all(now <= c.high + 1e-12)
        if not (residual < best_residual and inside and f[1:].max(initial=-np.inf) <= 1e-9):
            break
        best, best_residual = now, residual
        now = now + _newton_step(f, g, h, lam, active, free)
        f, g, h = derivatives(c, now)
    # giving back the granted slack moves the goal by the price of the limits
    moved = abs(canon.values(c, best[None])[0, 0] - canon.values(c, y[None])[0, 0])
    return best if moved < 1e-6 + 2e-9 * float(multipliers.sum()) else y


def _newton_step(
    f: Array, g: Array, h: Array, lam: Array, active: NDArray[np.intp], free: NDArray[np.bool_]
) -> Array:
    k = int(free.sum())
    lagrangian = h[0] + np.tensordot(lam, h[active], axes=1) if active.size else h[0]
    jacobian = g[active][:, free]
    system = np.zeros((k + active.size, k + active.size))
    system[:k, :k] = lagrangian[np.ix_(free, free)]
    system[:k, k:], system[k:, :k] = jacobian.T, jacobian
    right = np.concatenate([-g[0, free], -f[active]])
    step = np.zeros(free.size)
    step[free] = np.linalg.lstsq(system, right, rcond=1e-12)[0][:k]
    return step
