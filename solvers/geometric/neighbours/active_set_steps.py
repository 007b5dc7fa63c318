"""One step of Newton's method for a design whose binding limits are taken to be known, compiled.

With the limits that bind as equations, design and multipliers of the next iterate solve a linear system. Its matrix is
convex after the equations' squares are added, so that it is factored as in the interior point (``rows``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from solvers.geometric.kernel.compiled import compiled
from solvers.geometric.kernel.rows import Room, back, bend, factor_free, room, wall
from solvers.geometric.neighbours.known import (
    AT_HIGH,
    AT_LOW,
    FIXED_VALUE,
    FREE,
    OFF,
    PINNED_HIGH,
    PINNED_LOW,
)

FLOOR = 1e-9
"""Curvature below which nothing tells where to go."""
DEPENDENT = 1e-12


class Rest(NamedTuple):
    """Places in ``w`` behind those of ``Room``, as arrays handed on would cost a count of who holds them.

    ``answers`` to each equation and their ``products``; what is known at the point to start from, from ``known`` on, as
    in ``Known``; exponents, log coefficients, beginnings and weights of the goals that break ties (``slopes``,
    ``terms``, ``first``, ``weights``); ``whose``: number of each limit's name. ``names``: how many there are.
    """

    answers: int
    products: int
    known: int
    y: int
    multipliers: int
    rows: int
    ends: int
    matter: int
    flat: int
    stage: int
    members: int
    witness: int
    slopes: int
    terms: int
    first: int
    weights: int
    whose: int
    names: int
    size: int


@compiled
def rooms(K: int, m: int, n: int, names: int, terms: int, stages: int) -> tuple[Room, Rest]:
    """Lay out the work space; what proofs read of the trial point and of the best so far is the iterate itself."""
    r = room(K, m, n)
    r = Room(
        r.m, r.n, r.M, r.F, r.F, r.W, r.W, r.G, r.yb, r.yb, r.yb, r.free, r.S, r.St, r.Lb, r.Lb, r.on, r.off, r.aim,
        r.dS, r.dL, r.V, r.d, r.rhs, r.scale, r.H, r.size,
    )  # fmt: skip
    q = n + m + 1
    products = r.size + q * (n + 1)
    known = products + q * (q + 1)
    y = known + 1
    rows = y + n + m
    matter = rows + m + n
    stage = matter + K + n
    witness = stage + 1 + names
    slopes = witness + names * n
    first = slopes + terms * (n + 1)
    weights = first + stages + 1
    whose = weights + terms
    return r, Rest(
        r.size, products, known, y, y + n, rows, rows + m, matter, matter + K, stage, stage + 1, witness, slopes,
        slopes + terms * n, first, weights, whose, names, whose + m,
    )  # fmt: skip


@compiled
def begin(dims: Any, w: Any, r: Room, s: Rest) -> None:
    """Put the known design and multipliers into place."""
    for v in range(len(dims)):
        w[r.y + v] = w[s.y + v]
        w[r.free + v] = 1.0 if w[s.ends + v] == FREE else 0.0
    for i in range(r.m):
        w[r.L + i] = w[s.multipliers + i]
        w[r.on + i] = 1.0 if w[s.rows + i] != OFF else 0.0


@compiled
def put_at_ends(dims: Any, lo: Any, hi: Any, w: Any, r: Room, s: Rest) -> None:
    """Put what is known to be at an end of the box there, and the rest into the box."""
    for v in range(len(dims)):
        end = w[s.ends + v]
        if end in (AT_LOW, PINNED_LOW, FIXED_VALUE):
            w[r.y + v] = lo[v]
        elif end in (AT_HIGH, PINNED_HIGH):
            w[r.y + v] = hi[v]
        else:
            w[r.y + v] = min(max(w[s.y + v], lo[v]), hi[v])


@compiled
def newton(A: Any, ptr: Any, dims: Any, w: Any, r: Room, s: Rest, weight: float) -> float:
    """Go to the next design and multipliers (``weight`` 1), or towards the least greatest limit (0).

    Returns how far; NaN where the limits that are to bind depend on each other.
    """
    least = weight == 0.0
    _matrix(A, ptr, dims, w, r, weight, least)
    count = _answers(dims, w, r, s, weight, least)
    _system(dims, w, r, s, least, count)
    if not _multipliers_solved(w, s, count):
        return np.nan
    return _longest_step(dims, w, r, s, count)


@compiled
def _matrix(A: Any, ptr: Any, dims: Any, w: Any, r: Room, weight: float, least: bool) -> None:
    n = len(dims)
    for i in range((n + 1) * (n + 1)):
        w[r.H + i] = 0.0
    for i in range(r.m + 1):
        c = weight if i == 0 else w[r.L + i - 1]
        if c != 0.0 and ptr[i + 1] - ptr[i] > 1:
            bend(A, ptr, w, r, dims, i, c)
        if i > 0 and w[r.on + i - 1] > 0:
            wall(w, r, dims, i, 1.0, least)
    for v in range(n):
        w[r.H + v * (n + 2)] += FLOOR
    factor_free(w, r, n, least)


@compiled
def _answers(dims: Any, w: Any, r: Room, s: Rest, weight: float, least: bool) -> int:
    """Answer to the equations, and to the slope of each limit that is to bind; how many limits these are."""
    n, count = len(dims), -1
    for i in range(-1, r.m):
        if i >= 0 and not w[r.on + i] > 0:
            continue
        count += 1
        for v in range(n):
            w[r.rhs + v] = -weight * w[r.G + v] if i < 0 else w[r.G + (i + 1) * n + v]
        w[r.rhs + n] = -1.0 if least else 0.0
        for k in range(r.m if i < 0 else 0):
            if w[r.on + k] > 0:
                for v in range(n):
                    w[r.rhs + v] -= w[r.F + k + 1] * w[r.G + (k + 1) * n + v]
                w[r.rhs + n] += w[r.F + k + 1] if least else 0.0
        for v in range(n):
            w[r.rhs + v] = w[r.rhs + v] if w[r.free + v] > 0 else 0.0
        back(w, r, n + 1)
        for v in range(n + 1):
            w[s.answers + count * (n + 1) + v] = w[r.d + v]
    return count


@compiled
def _system(dims: Any, w: Any, r: Room, s: Rest, least: bool, count: int) -> None:
    """Put what the answers make of the equations of the limits that are to bind."""
    n = len(dims)
    place = 0
    for i in range(r.m):
        if w[r.on + i] > 0:
            own = s.products + place * (count + 1)
            for c in range(count + 1):
                a = 0.0
                for v in range(n):
                    a += w[r.G + (i + 1) * n + v] * w[s.answers + c * (n + 1) + v]
                a -= w[s.answers + c * (n + 1) + n] if least else 0.0
                # the right-hand side comes last
                w[own + (c - 1 if c > 0 else count)] = a if c > 0 else a + w[r.F + i + 1]
            place += 1


@compiled
def _multipliers_solved(w: Any, s: Rest, count: int) -> bool:
    """Solve for the multipliers, which stand in the place of the right-hand side then."""
    width = count + 1
    for i in range(count):
        own = s.products + i * width
        if not w[own + i] > DEPENDENT:
            return False
        inverse = 1.0 / w[own + i]
        for j in range(i + 1, width):
            w[own + j] *= inverse
        for u in range(count):
            other = s.products + u * width
            if u != i:
                for j in range(i + 1, width):
                    w[other + j] -= w[other + i] * w[own + j]
    return True


@compiled
def _longest_step(dims: Any, w: Any, r: Room, s: Rest, count: int) -> float:
    n = len(dims)
    place = 0
    for i in range(r.m):
        if w[r.on + i] > 0:
            w[r.L + i] = w[s.products + place * (count + 1) + count]
            place += 1
    longest = 0.0
    for v in range(n):
        step = w[s.answers + v]
        for c in range(count):
            step -= w[s.products + c * (count + 1) + count] * w[s.answers + (c + 1) * (n + 1) + v]
        w[r.y + v] += step
        # a NaN is not lost
        longest = longest if abs(step) <= longest else abs(step)
    return longest
