"""Geometric programs of a whole grid, compiled: what ``solvers.geometric.kernel.gp.solve`` does, but faster.

Each point is solved by itself, so its numbers do not depend on the points beside it; threads may work side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Integers
from solvers.geometric.kernel import formulas, gp, iteration, rows
from solvers.geometric.kernel.compiled import compiled, loop_of_parts, stamp
from solvers.geometric.kernel.formulas import ANY, FEASIBLE, FIXED, TINY
from solvers.geometric.kernel.gp_steps import SMALL_GAP
from solvers.geometric.kernel.iteration import close, iterate
from solvers.geometric.kernel.rows import Room, proven, room, values
from solvers.outcome import FAILED, INFEASIBLE

USUAL_VARIABLES = 2


def solve(
    A: Array,
    logc: Array,
    ptr: Integers,
    lo: Array,
    hi: Array,
    *,
    tol: float = 1e-9,
    max_iterations: int = 200,
    hurried: bool = False,
    content: Bools | None = None,
    enough: Array | None = None,
) -> gp.Result:
    """Solve N geometric programs as ``solvers.geometric.kernel.gp.solve`` does, which also tries failures once more.

    ``tol``: of the gap; from 10 on (``ANY``) it is only asked whether the limits can be met.
    ``hurried``: what fails is tried once more for a short time only; those ``content`` (N,) with a gap of 1e-4 are not
    tried again. ``enough``: as there.
    """
    N, n = len(np.atleast_2d(logc)), A.shape[-1]
    if not N:
        return gp.solve(A, logc, ptr, lo, hi)
    till = np.full(N, np.nan) if enough is None else enough
    result = compiled_only(A, logc, ptr, lo, hi, tol=tol, max_iterations=max_iterations, enough=till)
    again = np.flatnonzero((result.status == FAILED) & ~_near(result, content) & ~(result.bound >= till))
    if again.size:
        own = A if A.ndim == 2 else A[again]
        rest = [np.broadcast_to(x, (N, n))[again] for x in (lo, hi)]
        logc, till = np.atleast_2d(logc)[again], till[again]
        second = gp.solve(
            own, logc, ptr, *rest,
            tol=tol, max_iterations=max_iterations, hurried=hurried, enough=till,
        )  # fmt: skip
        result.put(again, second)
    return result


def _near(r: gp.Result, content: Bools | None) -> Bools:
    """Where a bound that is not quite closed will do."""
    none = np.zeros(len(r.value), bool)
    return none if content is None else content & (r.violation <= FEASIBLE) & (r.value - r.bound <= SMALL_GAP)


def compiled_only(
    A: Array,
    logc: Array,
    ptr: Integers,
    lo: Array,
    hi: Array,
    *,
    tol: float = 1e-9,
    max_iterations: int = 200,
    enough: Array | None = None,
) -> gp.Result:
    """Do the same without a second try for what fails."""
    n, m, shared = A.shape[-1], len(ptr) - 2, A.ndim == 2
    every = (A if A.ndim == 3 else A[None], *map(np.atleast_2d, (logc, lo, hi)))
    # what may be written: of what may not it would be compiled anew
    A, logc, low, high = (np.require(x, float, ["C", "W"]) for x in every)
    # a tuple tells the compiler how many variables there are: two are the most usual, others are compiled once for all
    dims: Any = (0, 0) if n == USUAL_VARIABLES else np.zeros(n, np.int8)
    till = np.full(len(logc), np.nan) if enough is None else np.require(enough, float, ["C", "W"])
    out = np.zeros((len(logc), 6 + 3 * n + m))
    # of programs with exponents of their own each has its own, as if it were alone
    guess = np.linalg.pinv(A) if shared else np.linalg.solve(gp.squares(A), A.swapaxes(1, 2))
    _all(
        A, logc, np.require(ptr, np.int64, ["C", "W"]), low, high, guess, dims, tol, max_iterations, till, out
    )
    value, bound, status, violation, proof, iterations = out[:, :6].T
    y, lower, upper, multipliers = np.split(out[:, 6:], [n, 2 * n, 3 * n], axis=1)
    return gp.Result(
        y, value, bound, multipliers, lower, upper, (status % 10).astype(np.int8), violation, proof,
        iterations.astype(np.int64), status >= 10,
    )  # fmt: skip


@compiled
def _solve_point(
    A: Any,
    b: Any,
    ptr: Any,
    lo: Any,
    hi: Any,
    guess: Any,
    dims: Any,
    tol: float,
    limit: int,
    enough: float,
    w: Any,
    r: Room,
    out: Any,
) -> None:
    """Solve one point into ``out``: value, bound, status (+ 10: penalised), violation, proof, iterations, rest."""
    n, m = len(dims), ptr.size - 2
    crossed = -np.inf
    for v in range(n):
        w[r.free + v] = 1.0 if hi[v] - lo[v] > FIXED else 0.0
        crossed = max(crossed, lo[v] - hi[v])
        w[r.y + v] = w[r.yb + v] = 0.5 * (lo[v] + hi[v])
    _switch_off_decided(A, b, ptr, dims, w, r)
    infeasible, penalised, slight, count = True, False, 0.0, 0
    if crossed <= 0:
        for attempt in range(2):
            for v in range(n):
                if attempt == 0 and w[r.free + v] > 0:
                    w[r.y + v] = 0.0
                    for j in range(b.size):
                        w[r.y + v] -= guess[v, j] * b[j] if b[j] > -np.inf else 0.0
                else:
                    w[r.y + v] = 0.5 * (lo[v] + hi[v])
            infeasible, settled, penalised, slight, more = iterate(
                A, b, ptr, dims, lo, hi, w, r, tol, limit, enough
            )
            count += more
            if settled:
                break
    for v in range(n):
        w[r.yb + v] = min(max(w[r.yb + v], lo[v]), hi[v]) if crossed <= 0 else w[r.yb + v]
    _judge(A, b, ptr, dims, lo, hi, w, r, infeasible, slight, crossed, tol, out)
    out[5] = count
    out[2] += 10.0 if penalised else 0.0
    for v in range(n):
        out[6 + v] = w[r.yb + v]
        out[6 + n + v], out[6 + 2 * n + v] = w[r.Lb + m + 1 + v], w[r.Lb + m + 1 + n + v]
    for k in range(m):
        out[6 + 3 * n + k] = w[r.Lb + k]


@compiled
def _switch_off_decided(A: Any, b: Any, ptr: Any, dims: Any, w: Any, r: Room) -> None:
    """Switch off the limits without a free variable, which their value decides in the end."""
    for k in range(r.M):
        w[r.Lb + k] = w[r.L + k] = w[r.on + k] = 0.0
    for v in range(len(dims)):
        w[r.on + r.m + 1 + v] = w[r.on + r.m + 1 + r.n + v] = w[r.free + v]
        for k in range(r.m):
            for j in range(ptr[k + 1], ptr[k + 2]):
                if w[r.free + v] > 0 and b[j] > -np.inf and A[j, v] != 0.0:
                    w[r.on + k] = 1.0


@compiled
def _judge(
    A: Any, b: Any, ptr: Any, dims: Any, lo: Any, hi: Any, w: Any, r: Room, infeasible: bool, slight: float,
    crossed: float, tol: float, out: Any,
) -> None:  # fmt: skip
    """Judge the final point by the rows as they stand."""
    values(A, b, ptr, dims, w, r.yb, r.Ft, r.Wt)
    violation, decided, total = -np.inf, -np.inf, 0.0
    for k in range(r.m):
        violation = max(violation, w[r.Ft + k + 1])
        decided = max(decided, w[r.Ft + k + 1]) if w[r.on + k] == 0 else decided
    for k in range(r.m):
        if decided > FEASIBLE:
            w[r.Lb + k] = 1.0 if w[r.on + k] == 0 and w[r.Ft + k + 1] == decided else 0.0
        total += w[r.Lb + k]
    infeasible = infeasible or decided > FEASIBLE
    value = w[r.Ft]
    bound = proven(A, b, ptr, w, r, dims, lo, hi, 0.0 if infeasible else 1.0)
    status, proof = float(FAILED), 0.0
    if infeasible:
        miss = crossed if crossed > 0 else bound / max(total, TINY)
        status, proof, bound = (float(INFEASIBLE), miss, -np.inf) if miss > 0 else (status, 0.0, -np.inf)
    elif violation <= FEASIBLE:
        # limits that miss by less than the tolerance are accepted: the bound beyond the value is that slip
        if tol >= ANY or slight > 0 or close(value - bound, total, tol):
            bound = min(bound, value)
        status = 0.0 if tol >= ANY or close(value - bound, total, tol) else status
    out[0], out[1], out[2], out[3], out[4] = value, bound, status, violation, proof


def _solving_loop(sources: int) -> Any:
    """Make the loop over points; ``sources``: the stamp of all that is compiled into it, never 0."""

    @loop_of_parts
    def every(
        A: Any, logc: Any, ptr: Any, lo: Any, hi: Any, guess: Any, dims: Any, tol: float, limit: int,
        enough: Any, out: Any,
    ) -> None:  # fmt: skip
        r = room(logc.shape[1], ptr.size - 2, len(dims))
        w = np.zeros(r.size)
        for i in range(logc.shape[0] if sources else 0):
            k, low, high = i % A.shape[0], lo[i % lo.shape[0]], hi[i % hi.shape[0]]
            _solve_point(A[k], logc[i], ptr, low, high, guess[k], dims, tol, limit, enough[i], w, r, out[i])

    return every


_all = _solving_loop(1 + stamp(formulas.__name__, rows.__name__, iteration.__name__, __name__))
