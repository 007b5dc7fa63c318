"""Geometric programs in log variables, solved and certified, for many instances in one call.

``min F_0(y)  subject to  F_k(y) <= 0,  lo <= y <= hi`` with ``F_k(y) = log sum_j exp(logc_j + A_j . y)``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Integers
from dse.system.records import dataclass
from solvers.geometric.kernel.formulas import ANY, FEASIBLE, FIXED, TINY, close
from solvers.geometric.kernel.gp_steps import run
from solvers.geometric.kernel.gp_terms import (
    LOG_ZERO,
    Terms,
    both,
    evaluate,
    gradients,
    lagrangian,
    lagrangian_bound,
    present,
    terms,
)
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL
from solvers.patterns import Rows, groups

__all__ = [
    "FAILED",
    "FIXED",
    "INFEASIBLE",
    "OPTIMAL",
    "Result",
    "both",
    "evaluate",
    "gradients",
    "lagrangian_bound",
    "solve",
    "terms",
]

BLOCK, EXPONENTS_AT_ONCE = 1024, 1 << 22
"""Instances in step: what one step costs beside the arithmetic is shared; the most exponents that these have."""


@dataclass(frozen=True, slots=True)
class Result(Rows):
    """Answers of N geometric programs with n variables and m limits; nothing is NaN.

    ``value``: F_0 at y. ``bound``: proven lower bound of F_0 (means nothing where infeasible).
    ``multipliers``: of the limits, minus the change of the optimum per change of the right-hand side;
    ``lower_multipliers``, ``upper_multipliers``: of the box. ``status``: 0 optimal, 2 infeasible, 3 failed.
    ``violation``: max F_k at y (-inf without limits). ``proof``: for status 2 a number > 0 by which the
    limits miss, at least, at every point of the box (``multipliers`` are then its weights). ``penalised``:
    the limits have no common interior, and the multipliers are artefacts of the penalty.
    """

    y: Array
    value: Array
    bound: Array
    multipliers: Array
    lower_multipliers: Array
    upper_multipliers: Array
    status: Codes
    violation: Array
    proof: Array
    iterations: Integers
    penalised: Bools


def solve(
    A: Array,
    logc: Array,
    ptr: Integers,
    lo: Array,
    hi: Array,
    *,
    start: Array | None = None,
    tol: float = 1e-9,
    max_iterations: int = 200,
    apart: bool = True,
    content: Bools | None = None,
    hurried: bool = False,
    enough: Array | None = None,
) -> Result:
    """Solve N geometric programs.

    ``A``: exponents, (K, n) shared or (N, K, n). ``logc``: log coefficients (N, K), -inf for an absent term;
    a limit without terms is absent. ``ptr``: (m+2,) row offsets into the K terms, row 0 the objective.
    ``lo``, ``hi``: the finite box, (n,) or (N, n); equal ends fix a variable, and a row without a free
    variable is decided by its value. ``start``: (n,) or (N, n), a guess. ``apart``: instances with other free variables
    go one kind after the other, each in arrays of its size; else all in step, which is faster for a few, and what jams
    is given up sooner, since all others wait for it; those ``content`` (N,) with a gap of 1e-4 are not tried again.
    ``hurried``: what jams is given up sooner in any case. ``enough`` (N,): bounds from which nothing more is asked, NaN
    where there is none; an instance that has one ends there (and may not be optimal), or unsharpened with its gap
    closed.

    An instance is optimal when no limit is violated by more than 1e-9 and ``|value - bound| <= tol`` (a bit
    more, 1e-13 of the multipliers' sum, where limits without interior make that sum huge; see ``close``). An
    infeasible box (lo > hi) or instance has status 2. Raises ValueError when the arrays do not fit together.
    """
    T = terms(A, logc, ptr)
    N, n = len(T.logc), T.A.shape[-1]
    lo, hi = (np.broadcast_to(np.asarray(x, float), (N, n)) for x in (lo, hi))
    if not (np.isfinite(lo).all() and np.isfinite(hi).all()):
        raise ValueError("the box must be finite")
    if not present(T)[:, 0].all():
        raise ValueError("an objective without terms is log 0")
    m = len(T.starts) - 1
    guess = None if start is None else np.broadcast_to(np.asarray(start, float), (N, n))
    result = nothing(N, n, m)
    with np.errstate(all="ignore"):
        free = hi - lo > FIXED
        for which in (own for own, _ in groups(free)) if apart else [np.arange(N)]:
            together = max(1, min(BLOCK, EXPONENTS_AT_ONCE // max(T.A.shape[-2] * n, 1)))
            for k in range(0, len(which), together):
                block = which[k : k + together]
                part = T if len(block) == N else T.take(block)
                g = None if guess is None else guess[block]
                kept = np.zeros(len(block), bool) if content is None else content[block]
                wish = None if apart and not hurried else kept
                till = np.full(len(block), np.nan) if enough is None else enough[block]
                found = _solve_block(
                    part, lo[block], hi[block], free[block], g, tol, max_iterations, wish, till
                )
                result.put(block, found)
    return result


def nothing(N: int, n: int, m: int) -> Result:
    """Room for the results of N programs of n variables and m limits."""
    return Result(
        np.zeros((N, n)), np.zeros(N), np.zeros(N), np.zeros((N, m)), np.zeros((N, n)), np.zeros((N, n)),
        np.zeros(N, np.int8), np.zeros(N), np.zeros(N), np.zeros(N, np.int64), np.zeros(N, bool),
    )  # fmt: skip


def of_first(r: Result, n: int) -> Result:
    """What there is of the first n variables; the others are fixed and stand in no term."""
    lower, upper = r.lower_multipliers[:, :n], r.upper_multipliers[:, :n]
    return replace(r, y=r.y[:, :n], lower_multipliers=lower, upper_multipliers=upper)


def _solve_block(
    T: Terms,
    lo: Array,
    hi: Array,
    free: Bools,
    guess: Array | None,
    tol: float,
    limit: int,
    content: Bools | None,
    enough: Array,
) -> Result:
    """Solve instances in step; ``free`` (B, n) says which variables each may move; the rest: as in ``run``."""
    B, m, n = len(lo), len(T.starts) - 1, free.shape[1]
    middle = 0.5 * (lo + hi)
    R, decided, worst = _reduce(T, middle, free)
    infeasible = (worst > FEASIBLE) | (lo > hi).any(1)
    y, box = middle, np.zeros((B, 2 * n))
    lam = np.where(infeasible[:, None], decided == worst[:, None], 0.0)
    slight, count, penalised = np.zeros(B), np.zeros(B, np.int64), np.zeros(B, bool)
    live = np.flatnonzero(~infeasible & free.any(1))
    if len(live):
        R = R if len(live) == B else R.take(live)
        columns = np.flatnonzero(free.any(0))
        moves = free[live][:, columns]
        # what is fixed in some instances only moves there in an interval of its own, and nothing feels it
        low, high = np.where(moves, lo[live][:, columns], -1.0), np.where(moves, hi[live][:, columns], 1.0)
        start = _guess(R) if guess is None else np.where(moves, guess[live][:, columns], 0.0)
        content = None if content is None else content[live]
        found = run(R, low, high, start, tol, limit, enough[live], content)
        y[np.ix_(live, columns)] = np.where(moves, found.y, middle[live][:, columns])
        ends = np.where(np.tile(moves, 2), found.L[:, m + 1 :], 0.0)
        box[np.ix_(live, np.concatenate([columns, n + columns]))] = ends
        lam[live], infeasible[live], slight[live] = found.L[:, :m], found.infeasible, found.slight
        count[live], penalised[live] = found.iterations, found.penalised
    return judged(T, lo, hi, y, lam, box, infeasible, slight, count, penalised, tol)


def _reduce(T: Terms, y: Array, free: Bools) -> tuple[Terms, Array, Array]:
    """Put in the fixed variables; rows left without a variable are decided by their value and switched off.

    Returns the smaller table, the values (B, m) of the decided limits (-inf elsewhere) and the worst (B,).
    """
    columns = free.any(0)
    A = T.A.compress(columns, axis=-1)
    alike = bool(free[:, columns].all())
    if not alike:
        A = A * free[:, None, columns]
    moving = (np.abs(A).max(-1, initial=0.0) > 0) & (T.logc > 0.1 * LOG_ZERO)
    dead = ~np.logical_or.reduceat(moving, T.starts, axis=1)[:, 1:] & present(T)[:, 1:]
    if free.all() and not dead.any():
        return T, np.full(dead.shape, -np.inf), np.full(len(y), -np.inf)
    decided = np.where(dead, T.at(y)[0][:, 1:], -np.inf)
    still = T.of(T.A[..., ~columns], T.logc) if alike else T
    logc = still.exponents(y[:, ~columns] if alike else np.where(free, 0.0, y))
    off = np.concatenate([np.zeros((len(y), 1), bool), dead], axis=1)[:, T.row_of]
    logc = np.where(off | (T.logc <= 0.1 * LOG_ZERO), LOG_ZERO, logc)
    return T.of(A, logc), decided, decided.max(1, initial=-np.inf)


def _guess(T: Terms) -> Array:
    """Find the point where all terms are nearest to 1, least squares."""
    there = T.logc > 0.1 * LOG_ZERO
    X, found = T.A, np.empty((len(there), T.A.shape[-1]))
    alike = np.asarray(there.all(1) & (X.ndim == 2))
    if alike.any():
        # a BLAS product over all instances adds up in an order that depends on how many there are
        found[alike] = -np.einsum("bk,kn->bn", T.logc[alike], X @ np.linalg.inv(squares(X)))
    if not alike.all():
        rest = T.take(~alike)
        X = rest.A * there[~alike][:, :, None]
        logc = np.where(there[~alike], rest.logc, 0.0)
        found[~alike] = -np.linalg.solve(squares(X), X.swapaxes(1, 2) @ logc[:, :, None])[:, :, 0]
    return found


def squares(X: Array) -> Array:
    """The matrices of least squares, a little off where they would be singular."""
    M = X.swapaxes(-1, -2) @ X
    ridge = 1e-9 * np.trace(M, axis1=-2, axis2=-1) + 1e-30
    return np.asarray(M + ridge[..., None, None] * np.eye(M.shape[-1]))


def judged(
    T: Terms,
    lo: Array,
    hi: Array,
    y: Array,
    lam: Array,
    box: Array,
    infeasible: Bools,
    slight: Array,
    iterations: Integers,
    penalised: Bools,
    tol: float,
) -> Result:
    """Judge the final points by the original rows."""
    n, crossed = y.shape[1], (lo > hi).any(1)
    y = np.where(lo <= hi, np.clip(y, lo, hi), y)
    F = T.at(y)[0]
    on = present(T)[:, 1:]
    lam = np.where(on, lam, 0.0)
    total, value = lam.sum(1), F[:, 0]
    violation = np.where(on, F[:, 1:], -np.inf).max(1, initial=-np.inf)
    met = (violation <= FEASIBLE) & ~crossed
    bound = lagrangian(T, lo, hi, y, lam, 1.0)
    # limits that miss by less than the tolerance are accepted: the bound beyond the value is that slip
    slip = met & ((slight > 0) | (tol >= ANY) | close(value - bound, total, tol))
    bound = np.where(slip, np.minimum(bound, value), bound)
    proof = lagrangian(T, lo, hi, y, lam, 0.0) / np.maximum(total, TINY)
    proof = np.where(crossed, (lo - hi).max(1), proof)
    status = np.where(met & ((tol >= ANY) | close(value - bound, total, tol)), OPTIMAL, FAILED)
    status = np.where(infeasible & (proof > 0), INFEASIBLE, status)
    proof = np.where(status == INFEASIBLE, proof, 0.0)
    return Result(
        y, value, bound, lam, box[:, :n], box[:, n:], status, violation, proof, iterations, penalised
    )
