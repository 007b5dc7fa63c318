"""One point of a grid from the answer of another nearby, compiled: Newton's method, then the same proofs as ever.

What binds at the known point is taken to bind here too. That settles the design by a few equations, and multipliers
with it; whether the guess was right shows in what is then proved at the point itself: the limits hold and the others
have room, multipliers are positive, the Lagrangian bound meets the value, and the tie rule's own conditions hold. So a
poor guess costs time and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations.tolerances import TIE
from solvers.geometric.kernel import formulas, rows
from solvers.geometric.kernel.compiled import compiled, loop_of_parts, stamp
from solvers.geometric.kernel.formulas import FEASIBLE
from solvers.geometric.kernel.rows import Room, proven, slopes, values
from solvers.geometric.neighbours import active_set_steps
from solvers.geometric.neighbours.active_set_steps import Rest, begin, newton, put_at_ends, rooms
from solvers.geometric.neighbours.known import (
    AS_BINDING,
    AT_HIGH,
    AT_LOW,
    FIXED_VALUE,
    FREE,
    NO_FORCE,
    NOTHING,
    OFF,
    OPTIMUM,
    PINNED_HIGH,
    PINNED_LIMIT,
    PINNED_LOW,
    Known,
)
from solvers.geometric.programs import optimal_face
from solvers.geometric.programs.optimal_face import FACE_TIGHT, FORCE

STEPS_FROM_NEIGHBOUR = 6
LONGEST = 2.0
"""A step longer than a factor of e^2 leaves what is known behind."""
NEWTON_CONVERGED = 1e-6
"""Newton's error is about the square of its step."""
MET, NEIGHBOUR_GAP = 1e-10, 1e-9
CLEARLY = 1e-5
"""Room of a limit that does not bind, slope along which a tie is decided: neither is left in doubt."""
UNROLLED = 3
"""Variables of which loops are unrolled: their number is then known to the compiler."""
NONE = 1e-8
"""Multiplier of what only the tie rule holds."""
STRAINED = 1e3
STRICTLY_INSIDE = 1e-6


def run(
    table: Any, boxes: Any, ease: float, known: Known, which: Any, stages: Any, whose: Any, out: Any
) -> None:
    """Settle the points of a table (``formulations.grids.batch.Table``) from known ones.

    ``boxes``: lower and upper ends (N, n) of the box, without the user's bounds, and far out. ``ease``: the slack, in
    logarithms, that limits are granted. ``which`` (N, tries): the known points to start from, -1 for none.
    ``stages``: exponents, log coefficients and beginnings of the goals that break ties. ``whose``: number of the name
    of each limit. ``out`` (N, 3 + n + m), zeros: gets kind, known point, bound, design and multipliers.
    """
    n = table.exponents.shape[1]
    dims: Any = (0,) * n if n <= UNROLLED else np.zeros(n, np.int8)
    ptr = np.asarray(table.ptr, np.int64)
    packed = np.concatenate([np.reshape(x, (len(known.kind), -1)).astype(float) for x in known], axis=1)
    _every(table.exponents, table.logc, ptr, dims, boxes, ease, packed, which, stages, whose, out)


@compiled
def _proved_bound(
    A: Any,
    b: Any,
    ptr: Any,
    dims: Any,
    lo: Any,
    hi: Any,
    ease: float,
    weight: float,
    w: Any,
    r: Room,
    s: Rest,
) -> float:
    """Return the bound of the optimum, or by how much the limits in conflict miss; NaN where neither is proved.

    ``weight``: of the objective; 0 for a conflict: ``lo``, ``hi`` are then those of the far box, and ``ease`` the slack
    that limits are granted.
    """
    begin(dims, w, r, s)
    if weight == 1.0:
        put_at_ends(dims, lo, hi, w, r, s)
    length = np.inf
    for step in range(STEPS_FROM_NEIGHBOUR + 1):
        values(A, b, ptr, dims, w, r.y, r.F, r.W)
        slopes(A, ptr, dims, w, r)
        if weight == 0.0:
            total = _conflicting(w, r, ease)
        elif length <= NEWTON_CONVERGED and not _same_active_set(ptr, dims, lo, hi, w, r, s):
            return np.nan
        if weight == 0.0 or length <= NEWTON_CONVERGED:
            bound: float = proven(A, b, ptr, w, r, dims, lo, hi, weight)
            if weight == 0.0 and bound > FEASIBLE * total:
                return bound
            if weight == 1.0:
                return min(bound, w[r.F]) if abs(w[r.F] - bound) <= NEIGHBOUR_GAP else np.nan
        if weight == 0.0 and step == 0:
            # the known proof did not do as it stands
            put_at_ends(dims, lo, hi, w, r, s)
            continue
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
def _same_active_set(ptr: Any, dims: Any, lo: Any, hi: Any, w: Any, r: Room, s: Rest) -> bool:
    """Whether the design is what the known one is: of the limits, of the box, of the terms that matter, of ties."""
    for i in range(r.m):
        if not _as_known(w[r.F + i + 1], w[r.L + i], w[s.rows + i]):
            return False
        w[r.L + i] = w[r.L + i] if w[s.rows + i] == AS_BINDING else 0.0
    for v in range(len(dims)):
        tilt = w[r.G + v]
        for i in range(r.m):
            tilt += w[r.L + i] * w[r.G + (i + 1) * len(dims) + v]
        if not _in_place(w[r.y + v], lo[v], hi[v], tilt, w[s.ends + v]):
            return False
    for i in range(r.m + 1):
        force = 1.0 if i == 0 else w[r.L + i - 1]
        counted = force if force > FORCE and (i == 0 or -w[r.F + i] < FACE_TIGHT) else 0.0
        for j in range(ptr[i], ptr[i + 1]):
            if (1.0 if counted * w[r.W + j] > TIE else 0.0) != w[s.matter + j]:
                return False
    return w[s.stage] < 0 or _tie_holds_at_limit(dims, w, r, s)


@compiled
def _as_known(value: float, force: float, role: float) -> bool:
    """Whether a limit binds, and with a multiplier, or does not, as it is known to."""
    if role == OFF:
        return value < -CLEARLY
    right = NO_FORCE < force < STRAINED if role == AS_BINDING else abs(force) <= NONE
    return abs(value) <= MET and right


@compiled
def _in_place(y: float, lo: float, hi: float, tilt: float, end: float) -> bool:
    """Whether a variable is within the box, or pushed to an end, as it is known to be."""
    if end == FREE:
        return lo + STRICTLY_INSIDE < y < hi - STRICTLY_INSIDE
    if end == AT_LOW:
        return tilt > NO_FORCE
    if end == AT_HIGH:
        return -tilt > NO_FORCE
    return end == FIXED_VALUE or abs(tilt) <= NONE


@compiled
def _tie_holds_at_limit(dims: Any, w: Any, r: Room, s: Rest) -> bool:
    """Whether what decides the tie falls along the optima towards the limit that the design is pinned to."""
    n = len(dims)
    first = s.first + int(w[s.stage])
    top, total, fall, pin = -np.inf, 0.0, 0.0, 0.0
    for j in range(int(w[first]), int(w[first + 1])):
        z = w[s.terms + j]
        for v in range(n):
            z += w[s.slopes + j * n + v] * w[r.y + v]
        w[s.weights + j] = z
        top = max(top, z)
    for j in range(int(w[first]), int(w[first + 1])):
        e = np.exp(w[s.weights + j] - top)
        total += e
        for v in range(n):
            fall -= w[s.flat + v] * w[s.slopes + j * n + v] * e
    for v in range(n):
        for i in range(r.m):
            pin += w[s.flat + v] * w[r.G + (i + 1) * n + v] if w[s.rows + i] == PINNED_LIMIT else 0.0
        end = w[s.ends + v]
        pin += w[s.flat + v] * (1.0 if end == PINNED_HIGH else -1.0 if end == PINNED_LOW else 0.0)
    return fall / (total * pin) > CLEARLY


@compiled
def _each_limit_needed(
    A: Any, b: Any, ptr: Any, dims: Any, lo: Any, hi: Any, w: Any, r: Room, s: Rest
) -> bool:
    """Whether each limit of a known conflict is part of every conflict here: without it there is a design."""
    for name in range(s.names):
        if w[s.members + name] > 0:
            for v in range(len(dims)):
                w[r.y + v] = w[s.witness + name * len(dims) + v]
                if not lo[v] <= w[r.y + v] <= hi[v]:
                    return False
            values(A, b, ptr, dims, w, r.y, r.F, r.W)
            for i in range(r.m):
                if w[s.whose + i] != name and not w[r.F + i + 1] <= FEASIBLE:
                    return False
    return True


@compiled
def _put(w: Any, at: int, rows: Any, i: int) -> None:
    """Put a row of an array into ``w``."""
    for j in range(rows.shape[1]):
        w[at + j] = rows[i, j]


@compiled
def _tell(out: Any, i: int, kind: float, a: int, found: float, w: Any, r: Room) -> None:
    """Put what was found of point number i, from the known point a, where it is asked for."""
    out[i, 0], out[i, 1], out[i, 2] = kind, a, found
    for v in range(r.n):
        out[i, 3 + v] = w[r.y + v]
    for j in range(r.m):
        out[i, 3 + r.n + j] = w[r.L + j]


def _proving_loop(sources: int) -> Any:
    """Make the loop over points; ``sources``: the stamp of all that is compiled into it, never 0."""

    @loop_of_parts
    def every(
        A: Any, logc: Any, ptr: Any, dims: Any, boxes: Any, ease: float, known: Any, which: Any, stages: Any,
        whose: Any, out: Any,
    ) -> None:  # fmt: skip
        n, m, K = len(dims), ptr.size - 2, logc.shape[1]
        low, high, bare_low, bare_high, far_low, far_high = boxes
        directions, terms, first = stages
        names = (known.shape[1] - 2 - 3 * n - 2 * m - K) // (n + 1)
        r, s = rooms(K, m, n, names, directions.shape[0], first.size - 1)
        w = np.zeros(s.size)
        # views of each point's rows would cost more than copies
        b, lo, hi = np.empty(K), np.empty(n), np.empty(n)
        for j in range(directions.shape[0]):
            _put(w, s.slopes + j * n, directions, j)
        for j in range(first.size):
            w[s.first + j] = first[j]
        for j in range(m):
            w[s.whose + j] = whose[j]
        for i in range(logc.shape[0] if sources else 0):
            _put(w, s.terms, terms, i)
            _put(b, 0, logc, i)
            for attempt in range(which.shape[1]):
                a = which[i, attempt]
                if a < 0 or known[a, 0] == NOTHING:
                    continue
                _put(w, s.known, known, a)
                kind = w[s.known]
                best = kind == OPTIMUM
                _put(lo, 0, low if best else bare_low, i)
                _put(hi, 0, high if best else bare_high, i)
                if not best:
                    if not _each_limit_needed(A, b, ptr, dims, lo, hi, w, r, s):
                        continue
                    _put(lo, 0, far_low, i)
                    _put(hi, 0, far_high, i)
                found = _proved_bound(A, b, ptr, dims, lo, hi, ease, 1.0 if best else 0.0, w, r, s)
                if not np.isnan(found):
                    _tell(out, i, kind, a, found, w, r)
                    break

    return every


_every = _proving_loop(
    1
    + stamp(
        formulas.__name__,
        optimal_face.__name__,
        rows.__name__,
        active_set_steps.__name__,
        Known.__module__,
        __name__,
    )
)
