"""Compiled parts of the batched kernel: rows of log-sum-exp terms at one point, what they prove, and Newton's matrix.

The inequalities of a point stand in one list: the m limits, the elastic t >= 0, the n lower and the n upper ends.
``dims`` has the length n; where it is a tuple the compiler knows n and unrolls the loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from solvers.geometric.kernel.compiled import compiled
from solvers.geometric.kernel.formulas import TINY

EPS = 2.220446049250313e-16


class Room(NamedTuple):
    """Where in the one array ``w`` that a thread works in each of its vectors begins.

    One array, because each array that a compiled function is handed costs it a count of who holds it. ``m``, ``n``:
    limits and variables; ``M``: inequalities. ``F``, ``W``, ``G``: values, softmax weights and slopes of the rows at
    ``y``; ``S``, ``L``: slacks and multipliers of the inequalities, ``V``: 1/S, ``on``: 1 for those that exist,
    ``off``: what the true slack is beyond the carried one; ``d``, ``dS``, ``dL``: a step; names ending in ``t``: at the
    end of a trial step; in ``b``: the best so far; ``free``: 1 for variables that may move.
    """

    m: int
    n: int
    M: int
    F: int
    Ft: int
    W: int
    Wt: int
    G: int
    y: int
    yt: int
    yb: int
    free: int
    S: int
    St: int
    L: int
    Lb: int
    on: int
    off: int
    aim: int
    dS: int  # noqa: N815
    dL: int  # noqa: N815
    V: int
    d: int
    rhs: int
    scale: int
    H: int
    size: int


@compiled
def room(K: int, m: int, n: int) -> Room:
    """Lay out the vectors for K terms, m limits and n variables."""
    M = m + 1 + 2 * n
    W = 2 * (m + 1)
    G = W + 2 * K
    y = G + (m + 1) * n
    S = y + 4 * n
    d = S + 10 * M
    H = d + 3 * (n + 1)
    return Room(
        m, n, M, 0, m + 1, W, W + K, G, y, y + n, y + 2 * n, y + 3 * n,
        S, S + M, S + 2 * M, S + 3 * M, S + 4 * M, S + 5 * M, S + 6 * M, S + 7 * M, S + 8 * M, S + 9 * M,
        d, d + n + 1, d + 2 * (n + 1), H, H + (n + 1) * (n + 1),
    )  # fmt: skip


@compiled
def values(A: Any, b: Any, ptr: Any, dims: Any, w: Any, y: int, F: int, W: int) -> None:
    """Put the rows' values at the point that begins at y to F, and their softmax weights to W."""
    for k in range(ptr.size - 1):
        first, last = ptr[k], ptr[k + 1]
        top = -np.inf
        for j in range(first, last):
            z = b[j]
            for v in range(len(dims)):
                z += A[j, v] * w[y + v]
            w[W + j] = z
            top = max(top, z)
        if top == -np.inf:
            w[F + k] = -np.inf
            for j in range(first, last):
                w[W + j] = 0.0
        elif last - first == 1:
            w[F + k], w[W + first] = top, 1.0
        else:
            total = 0.0
            for j in range(first, last):
                e = np.exp(w[W + j] - top)
                w[W + j] = e
                total += e
            w[F + k] = top + np.log(total)
            for j in range(first, last):
                w[W + j] /= total


@compiled
def slopes(A: Any, ptr: Any, dims: Any, w: Any, r: Room) -> None:
    """Put the rows' gradients at y into G."""
    for k in range(ptr.size - 1):
        for v in range(len(dims)):
            g = 0.0
            for j in range(ptr[k], ptr[k + 1]):
                g += w[r.W + j] * A[j, v]
            w[r.G + k * len(dims) + v] = g


@compiled
def slacks(w: Any, r: Room, F: int, y: int, t: float, lo: Any, hi: Any, S: int) -> None:
    """Put the true slacks of all inequalities to S; 1 for those that do not exist."""
    for k in range(r.m):
        w[S + k] = t - w[F + k + 1] if w[r.on + k] > 0 else 1.0
    w[S + r.m] = t if w[r.on + r.m] > 0 else 1.0
    lower = r.m + 1
    for v in range(r.n):
        fixed = w[r.on + lower + v] == 0
        w[S + lower + v] = 1.0 if fixed else w[y + v] - lo[v]
        w[S + lower + r.n + v] = 1.0 if fixed else hi[v] - w[y + v]


@compiled
def curvature(w: Any, r: Room, a: float) -> float:
    """Return how far, at most, limits are above what was foreseen after the part ``a`` of a step."""
    most = 0.0
    for k in range(r.m):
        if w[r.on + k] > 0:
            most = max(most, w[r.S + k] + a * w[r.dS + k] - w[r.St + k])
    return most


@compiled
def greatest_limit(w: Any, r: Room) -> float:
    """Return the greatest of the limits that take part: above 0 one is broken."""
    greatest = -np.inf
    for k in range(r.m):
        if w[r.on + k] > 0:
            greatest = max(greatest, w[r.F + k + 1])
    return greatest


@compiled
def recentre(w: Any, r: Room, mu: float) -> None:
    """Make all products of slack and multiplier alike."""
    for k in range(r.M):
        w[r.L + k] = mu / w[r.S + k] if w[r.on + k] > 0 else 0.0


@compiled
def products(w: Any, r: Room) -> tuple[float, float, float]:
    """Sum and greatest of slack times multiplier, and how many there are."""
    total, most, count = 0.0, 0.0, 0.0
    for k in range(r.M):
        if w[r.on + k] > 0:
            total += w[r.S + k] * w[r.L + k]
            most = max(most, w[r.S + k] * w[r.L + k])
            count += 1.0
    return total, most, max(count, 1.0)


@compiled
def certificates(w: Any, r: Room, dims: Any, lo: Any, hi: Any) -> tuple[float, float, float]:
    """Lower bound of F_0, least miss of the limits (where positive), worst limit: all from values at hand."""
    m, n = r.m, len(dims)
    total, limits, worst = 0.0, 0.0, -np.inf
    for k in range(m):
        if w[r.on + k] > 0:
            total += w[r.L + k]
            limits += w[r.L + k] * w[r.F + k + 1]
            worst = max(worst, w[r.F + k + 1])
    bound, proof = w[r.F] + limits, limits
    for v in range(len(dims)):
        g = 0.0
        for k in range(m):
            if w[r.on + k] > 0:
                g += w[r.L + k] * w[r.G + (k + 1) * n + v]
        down, up = lo[v] - w[r.y + v], hi[v] - w[r.y + v]
        proof += min(g * down, g * up)
        g += w[r.G + v]
        bound += min(g * down, g * up)
    return bound, proof / max(total, TINY), worst


@compiled
def proven(A: Any, b: Any, ptr: Any, w: Any, r: Room, dims: Any, lo: Any, hi: Any, weight: float) -> float:
    """Least value over the box of the tangent, at yb, of weight * F_0 + sum Lb_k F_k, less what rounding may add.

    ``Ft`` and ``Wt`` hold values and weights there (see ``solvers.geometric.kernel.gp_terms.lagrangian``).
    """
    least, slip = 0.0, 0.0
    for k in range(ptr.size - 1):
        c = weight if k == 0 else w[r.Lb + k - 1]
        if c > 0.0 and w[r.Ft + k] > -np.inf:
            least += c * w[r.Ft + k]
            slip += abs(c * w[r.Ft + k]) + c
            for j in range(ptr[k], ptr[k + 1]):
                if w[r.Wt + j] > 0.0:
                    size = abs(b[j])
                    for v in range(len(dims)):
                        size += abs(A[j, v] * w[r.yb + v])
                    slip += c * w[r.Wt + j] * size
    for v in range(len(dims)):
        g = 0.0
        for k in range(ptr.size - 1):
            c = weight if k == 0 else w[r.Lb + k - 1]
            if c > 0.0:
                for j in range(ptr[k], ptr[k + 1]):
                    g += c * w[r.Wt + j] * A[j, v]
        reach = min(g * (lo[v] - w[r.yb + v]), g * (hi[v] - w[r.yb + v]))
        least += reach
        slip += abs(reach)
    return least - 4.0 * EPS * slip


@compiled
def matrix(A: Any, ptr: Any, w: Any, r: Room, dims: Any, weight: float, elastic: bool) -> None:
    """Put the Cholesky factor of the condensed Newton matrix, scaled to a unit diagonal, into H."""
    n, m = len(dims), r.m
    for i in range((n + 1) * (n + 1)):
        w[r.H + i] = 0.0
    for k in range(m + 1):
        c = weight if k == 0 else w[r.L + k - 1]
        if c > 0.0 and ptr[k + 1] - ptr[k] > 1:
            bend(A, ptr, w, r, dims, k, c)
        if k > 0 and w[r.on + k - 1] > 0:
            wall(w, r, dims, k, w[r.L + k - 1] * w[r.V + k - 1], elastic)
    for v in range(n):
        lower, upper = m + 1 + v, m + 1 + n + v
        w[r.H + v * (n + 2)] += w[r.L + lower] * w[r.V + lower] + w[r.L + upper] * w[r.V + upper]
    w[r.H + n * (n + 2)] += w[r.L + m] * w[r.V + m]
    factor_free(w, r, n, elastic)


@compiled
def factor_free(w: Any, r: Room, n: int, elastic: bool) -> None:
    """Factor the matrix in H without the variables that are fixed, and without t unless it takes part."""
    for v in range(n):
        if not w[r.free + v] > 0:
            for u in range(n + 1):
                w[r.H + v * (n + 1) + u] = w[r.H + u * (n + 1) + v] = 0.0
            w[r.H + v * (n + 2)] = 1.0
    if not elastic:
        w[r.H + n * (n + 2)] = 1.0
    factor(w, r, n + 1)


@compiled
def bend(A: Any, ptr: Any, w: Any, r: Room, dims: Any, k: int, c: float) -> None:
    """Add c times the curvature of row k to the lower half of H."""
    n = len(dims)
    for j in range(ptr[k], ptr[k + 1]):
        # centred exponents: a sum of squares stays one in floating point
        share = c * w[r.W + j]
        for u in range(n):
            a = share * (A[j, u] - w[r.G + k * n + u])
            for v in range(u + 1):
                w[r.H + u * (n + 1) + v] += a * (A[j, v] - w[r.G + k * n + v])


@compiled
def wall(w: Any, r: Room, dims: Any, k: int, stiff: float, elastic: bool) -> None:
    """Add what keeps the slack of row k positive."""
    n = len(dims)
    for u in range(n):
        a = stiff * w[r.G + k * n + u]
        for v in range(u + 1):
            w[r.H + u * (n + 1) + v] += a * w[r.G + k * n + v]
        if elastic:
            w[r.H + n * (n + 1) + u] -= a
    if elastic:
        w[r.H + n * (n + 2)] += stiff


@compiled
def factor(w: Any, r: Room, size: int) -> None:
    """Put the Cholesky factor of H, whose lower half is there, in its place; ``scale`` makes its diagonal 1."""
    for u in range(size):
        w[r.scale + u] = 1.0 / np.sqrt(w[r.H + u * size + u])
    for u in range(size):
        row = r.H + u * size
        for v in range(u):
            a = w[row + v] * w[r.scale + u] * w[r.scale + v]
            for q in range(v):
                a -= w[row + q] * w[r.H + v * size + q]
            w[row + v] = a / w[r.H + v * size + v]
        a = 1.0 + 1e-14
        for q in range(u):
            a -= w[row + q] * w[row + q]
        # a direction that the others span already: no move along it
        w[row + u] = np.sqrt(a) if a > 1e-14 else 1e150


@compiled
def step(w: Any, r: Room, dims: Any, weight: float, rho: float, elastic: bool) -> float:
    """Put the step that brings slack times multiplier to ``aim`` into d, dS, dL; return how the barrier falls."""
    n, m = len(dims), r.m
    for v in range(n):
        w[r.rhs + v] = -weight * w[r.G + v]
    w[r.rhs + n] = -rho
    for k in range(m + 1 + 2 * n):
        # what draws each slack to where it should be
        pull = (w[r.aim + k] - w[r.L + k] * w[r.off + k]) * w[r.V + k]
        if pull != 0.0 and w[r.on + k] > 0:
            if k > m:
                w[r.rhs + (k - m - 1) % n] += pull if k <= m + n else -pull
                continue
            w[r.rhs + n] += pull
            if k < m:
                for v in range(n):
                    w[r.rhs + v] -= w[r.G + (k + 1) * n + v] * pull
    for v in range(n):
        w[r.rhs + v] = w[r.rhs + v] if w[r.free + v] > 0 else 0.0
    w[r.rhs + n] = w[r.rhs + n] if elastic else 0.0
    back(w, r, n + 1)
    fall = 0.0
    for u in range(n + 1):
        fall += w[r.rhs + u] * w[r.d + u]
    _slide(w, r, dims, elastic)
    return fall


@compiled
def back(w: Any, r: Room, size: int) -> None:
    """Solve for d with the factor in H."""
    for u in range(size):
        a = w[r.scale + u] * w[r.rhs + u]
        for q in range(u):
            a -= w[r.H + u * size + q] * w[r.d + q]
        w[r.d + u] = a / w[r.H + u * size + u]
    for back in range(size):
        u = size - 1 - back
        a = w[r.d + u]
        for q in range(u + 1, size):
            a -= w[r.H + q * size + u] * w[r.d + q]
        w[r.d + u] = a / w[r.H + u * size + u]
    for u in range(size):
        w[r.d + u] *= w[r.scale + u]


@compiled
def _slide(w: Any, r: Room, dims: Any, elastic: bool) -> None:
    """Steps of slacks and multipliers that belong to the step d."""
    n, m = len(dims), r.m
    lift = w[r.d + n] if elastic else 0.0
    for k in range(m):
        if w[r.on + k] > 0:
            a = lift + w[r.off + k]
            for v in range(n):
                a -= w[r.G + (k + 1) * n + v] * w[r.d + v]
            w[r.dS + k] = a
    w[r.dS + m] = lift + w[r.off + m]
    for v in range(n):
        w[r.dS + m + 1 + v] = w[r.d + v] + w[r.off + m + 1 + v]
        w[r.dS + m + 1 + n + v] = -w[r.d + v] + w[r.off + m + 1 + n + v]
    for k in range(r.M):
        if w[r.on + k] > 0:
            w[r.dL + k] = (w[r.aim + k] - w[r.L + k] * w[r.dS + k]) * w[r.V + k] - w[r.L + k]
