"""One point of a grid from the answer of another nearby, compiled: Newton's method, then the same proofs as ever.

What binds at the known point is taken to bind here too. That settles the design by a few equations, and multipliers
with it; whether the guess was right shows in what is then proved at the point itself: the limits hold and the others
have room, multipliers are positive, the Lagrangian bound meets the value, and the tie rule's own conditions hold. So a
poor guess costs time and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from solvers.batched import near_steps, rows
from solvers.batched.compiled import compiled, loop, stamp
from solvers.batched.kernel import UNROLLED
from solvers.batched.near_steps import (
    AT_HIGH,
    AT_LOW,
    BINDS,
    CONFLICT,
    FIXED,
    FREE,
    NOTHING,
    OFF,
    OPTIMUM,
    PINNED,
    PINNED_HIGH,
    PINNED_LOW,
    Known,
    Rest,
    begin,
    newton,
    rooms,
)
from solvers.batched.rows import Room, proven, slopes, values

__all__ = [
    "AT_HIGH",
    "AT_LOW",
    "BINDS",
    "CONFLICT",
    "FIXED",
    "FREE",
    "NOTHING",
    "OFF",
    "OPTIMUM",
    "PINNED",
    "PINNED_HIGH",
    "PINNED_LOW",
    "Known",
    "run",
]

STEPS = 6
LONGEST = 2.0
"""A step longer than a factor of e^2 leaves what is known behind."""
CONVERGED = 1e-6
"""Newton's error is about the square of its step."""
MET, FEASIBLE, GAP = 1e-10, 1e-9, 1e-9
CLEARLY = 1e-5
"""Room of a limit that does not bind, multiplier of one that does: neither is left in doubt."""
NONE = 1e-8
"""Multiplier of what only the tie rule holds."""
STRAINED = 1e3
INSIDE = 1e-6
FORCE, TIGHT, TIE = 1e-7, 1e-6, 1e-9
"""As in ``geometric_ties``: which terms matter to an optimum."""


def run(
    table: Any, boxes: Any, ease: float, known: Known, which: Any, stages: Any, whose: Any, out: Any
) -> None:
    """Settle the points of a table (``formulations.batch.Table``) from known ones.

    ``boxes``: lower and upper ends (N, n) of the box, without the user's bounds, and far out. ``ease``: the slack, in
    logarithms, that limits are granted. ``which`` (N, tries): the known points to start from, -1 for none.
    ``stages``: exponents, log coefficients and beginnings of the goals that break ties. ``whose``: number of the name
    of each limit. ``out`` (N, 3 + n + m), zeros: gets kind, known point, bound, design and multipliers.
    """
    n = table.exponents.shape[1]
    dims: Any = (0,) * n if n <= UNROLLED else np.zeros(n, np.int8)
    ptr = np.asarray(table.ptr, np.int64)
    _every(table.exponents, table.logc, ptr, dims, boxes, ease, known, which, stages, whose, out)


@compiled
def _settled(
    A: Any, b: Any, ptr: Any, dims: Any, lo: Any, hi: Any, ease: float, k: Known, a: int, st: Any, w: Any, r: Room,
    s: Rest,
) -> float:  # fmt: skip
    """Return the bound of the optimum, or by how much the limits in conflict miss; NaN where neither is proved.

    ``lo``, ``hi``, ``ease``: for a conflict those of the far box, and the slack that limits are granted.
    """
    weight = 1.0 if k.kind[a] == OPTIMUM else 0.0
    begin(k, a, dims, lo, hi, w, r)
    length = np.inf
    for step in range(STEPS + 1):
        values(A, b, ptr, dims, w, r.y, r.F, r.W)
        slopes(A, ptr, dims, w, r)
        if weight == 0.0:
            total = _conflicting(w, r, ease)
        elif length <= CONVERGED and not _holds(ptr, dims, lo, hi, w, r, k, a, st, s):
            return np.nan
        if step > 0 and (weight == 0.0 or length <= CONVERGED):
            bound: float = proven(A, b, ptr, w, r, dims, lo, hi, weight)
            if weight == 0.0 and bound > FEASIBLE * total:
                return bound
            if weight == 1.0:
                return min(bound, w[r.F]) if abs(w[r.F] - bound) <= GAP else np.nan
        length = newton(A, ptr, dims, w, r, s, weight)
        if not length <= LONGEST:
            return np.nan
        for v in range(len(dims)):
            w[r.y + v] = min(max(w[r.y + v], lo[v]), hi[v])
    return np.nan


@compiled
def _conflicting(w: Any, r: Room, ease: float) -> float:
    """Grant the limits their slack, and make weights of the multipliers; their sum."""
    total = 0.0
    for i in range(r.m):
        w[r.F + i + 1] -= ease
        w[r.L + i] = max(w[r.L + i], 0.0)
        total += w[r.L + i]
    return total


@compiled
def _holds(
    ptr: Any, dims: Any, lo: Any, hi: Any, w: Any, r: Room, k: Known, a: int, st: Any, s: Rest
) -> bool:
    """Whether the design is what the known one is: of the limits, of the box, of the terms that matter, of ties."""
    for i in range(r.m):
        if not _as_known(w[r.F + i + 1], w[r.L + i], k.rows[a, i]):
            return False
        w[r.L + i] = w[r.L + i] if k.rows[a, i] == BINDS else 0.0
    for v in range(len(dims)):
        tilt = w[r.G + v]
        for i in range(r.m):
            tilt += w[r.L + i] * w[r.G + (i + 1) * len(dims) + v]
        if not _in_place(w[r.y + v], lo[v], hi[v], tilt, k.ends[a, v]):
            return False
    for i in range(r.m + 1):
        force = 1.0 if i == 0 else w[r.L + i - 1]
        counts = force > FORCE and (i == 0 or -w[r.F + i] < TIGHT)
        for j in range(ptr[i], ptr[i + 1]):
            if (counts and force * w[r.W + j] > TIE) != (k.matter[a, j] != 0):
                return False
    return k.stage[a] < 0 or _tied(dims, st, k, a, w, r, s)


@compiled
def _as_known(value: float, force: float, role: int) -> bool:
    """Whether a limit binds, and with a multiplier, or does not, as it is known to."""
    if role == OFF:
        return value < -CLEARLY
    right = CLEARLY < force < STRAINED if role == BINDS else abs(force) <= NONE
    return abs(value) <= MET and right


@compiled
def _in_place(y: float, lo: float, hi: float, tilt: float, end: int) -> bool:
    """Whether a variable is within the box, or pushed to an end, as it is known to be."""
    if end == FREE:
        return lo + INSIDE < y < hi - INSIDE
    if end == AT_LOW:
        return tilt > CLEARLY
    if end == AT_HIGH:
        return -tilt > CLEARLY
    return end == FIXED or abs(tilt) <= NONE


@compiled
def _tied(dims: Any, st: Any, k: Known, a: int, w: Any, r: Room, s: Rest) -> bool:
    """Whether what decides the tie falls along the optima towards the limit that the design is pinned to."""
    A, b, ptr = st
    n = len(dims)
    first, last = ptr[k.stage[a]], ptr[k.stage[a] + 1]
    top, total, fall, pin = -np.inf, 0.0, 0.0, 0.0
    for j in range(first, last):
        z = b[j]
        for v in range(n):
            z += A[j, v] * w[r.y + v]
        w[s.weights + j] = z
        top = max(top, z)
    for j in range(first, last):
        e = np.exp(w[s.weights + j] - top)
        total += e
        for v in range(n):
            fall -= k.flat[a, v] * A[j, v] * e
    for v in range(n):
        for i in range(r.m):
            pin += k.flat[a, v] * w[r.G + (i + 1) * n + v] if k.rows[a, i] == PINNED else 0.0
        end = k.ends[a, v]
        pin += k.flat[a, v] * (1.0 if end == PINNED_HIGH else -1.0 if end == PINNED_LOW else 0.0)
    return fall / (total * pin) > CLEARLY


@compiled
def _needed(
    A: Any, b: Any, ptr: Any, dims: Any, lo: Any, hi: Any, k: Known, a: int, whose: Any, w: Any, r: Room
) -> bool:
    """Whether each limit of a known conflict is part of every conflict here: without it there is a design."""
    for name in range(k.members.shape[1]):
        if k.members[a, name]:
            for v in range(len(dims)):
                w[r.y + v] = k.witness[a, name, v]
                if not lo[v] <= w[r.y + v] <= hi[v]:
                    return False
            values(A, b, ptr, dims, w, r.y, r.F, r.W)
            for i in range(r.m):
                if whose[i] != name and not w[r.F + i + 1] <= FEASIBLE:
                    return False
    return True


def _loop(sources: int) -> Any:
    """Make the loop over points; ``sources``: the stamp of all that is compiled into it, never 0."""

    @loop
    def every(
        A: Any, logc: Any, ptr: Any, dims: Any, boxes: Any, ease: float, known: Known, which: Any, stages: Any,
        whose: Any, out: Any,
    ) -> None:  # fmt: skip
        n, m = len(dims), ptr.size - 2
        As, bs, ps = stages
        low, high, bare_low, bare_high, far_low, far_high = boxes
        r, s = rooms(logc.shape[1], m, n, As.shape[0])
        w = np.zeros(s.size)
        for i in range(logc.shape[0] if sources else 0):
            for attempt in range(which.shape[1]):
                a = which[i, attempt]
                kind = known.kind[a] if a >= 0 else NOTHING
                if kind == NOTHING:
                    continue
                best = kind == OPTIMUM
                if not best and not _needed(
                    A, logc[i], ptr, dims, bare_low[i], bare_high[i], known, a, whose, w, r
                ):
                    continue
                lo, hi = (low[i], high[i]) if best else (far_low[i], far_high[i])
                found = _settled(
                    A, logc[i], ptr, dims, lo, hi, 0.0 if best else ease, known, a, (As, bs[i], ps), w, r, s
                )
                if not np.isnan(found):
                    out[i, 0], out[i, 1], out[i, 2] = kind, a, found
                    for v in range(n):
                        out[i, 3 + v] = w[r.y + v]
                    for j in range(m):
                        out[i, 3 + n + j] = w[r.L + j]
                    break

    return every


_every = _loop(1 + stamp(compiled.__module__, rows.__name__, near_steps.__name__, __name__))
