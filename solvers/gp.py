"""Geometric programs in log variables, solved and certified, for many instances in one call.

``min F_0(y)  subject to  F_k(y) <= 0,  lo <= y <= hi`` with ``F_k(y) = log sum_j exp(logc_j + A_j . y)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.gp_steps import FAILED, FEASIBLE, INFEASIBLE, OPTIMAL, Bools, run
from solvers.gp_terms import (
    LOG_ZERO,
    Array,
    Terms,
    evaluate,
    gradients,
    lagrangian,
    lagrangian_bound,
    present,
    terms,
    weights,
)

__all__ = [
    "FAILED", "INFEASIBLE", "OPTIMAL", "Result", "evaluate", "gradients", "lagrangian_bound", "solve", "weights",
]  # fmt: skip

FIXED = 1e-11  # a narrower interval counts as one value
BLOCK = 512  # instances in step: their arrays stay in cache


@dataclass(frozen=True, slots=True)
class Result:
    """Answers of N geometric programs with n variables and m limits; nothing is NaN.

    ``value``: F_0 at y. ``bound``: proven lower bound of F_0 (for infeasible instances it means nothing).
    ``multipliers``: of the limits, d F_0 / d (right-hand side) with the sign turned; ``lower_multipliers`` and
    ``upper_multipliers``: of the box. ``status``: 0 optimal, 2 infeasible, 3 failed. ``violation``: max F_k at y
    (-inf without limits). ``proof``: for status 2 the number > 0 by which the limits miss, at least, at every point
    of the box. ``penalised``: the limits have no common interior and multipliers are artefacts of the penalty.
    """

    y: Array
    value: Array
    bound: Array
    multipliers: Array
    lower_multipliers: Array
    upper_multipliers: Array
    status: NDArray[np.int8]
    violation: Array
    proof: Array
    iterations: NDArray[np.int64]
    penalised: Bools


def solve(
    A: Array,
    logc: Array,
    ptr: NDArray[np.int64],
    lo: Array,
    hi: Array,
    *,
    start: Array | None = None,
    tol: float = 1e-9,
    max_iterations: int = 200,
) -> Result:
    """Solve N geometric programs.

    ``A``: exponents, (K, n) shared or (N, K, n). ``logc``: log coefficients (N, K), -inf for an absent term; a limit
    without terms is absent. ``ptr``: (m+2,) row offsets into the K terms, row 0 the objective. ``lo``, ``hi``: the
    finite box, (n,) or (N, n); equal ends fix a variable, and a row without a free variable is decided by its value.
    ``start``: (n,) or (N, n), a guess. An instance is optimal when ``|value - bound| <= tol`` and no limit is
    violated by more than 1e-9. Raises ValueError when the arrays do not fit together.
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
    result = Result(
        np.zeros((N, n)), np.zeros(N), np.zeros(N), np.zeros((N, m)), np.zeros((N, n)), np.zeros((N, n)),
        np.zeros(N, np.int8), np.zeros(N), np.zeros(N), np.zeros(N, np.int64), np.zeros(N, bool),
    )  # fmt: skip
    with np.errstate(all="ignore"):
        for which, free in _patterns(hi - lo > FIXED):
            for k in range(0, len(which), BLOCK):
                block = which[k : k + BLOCK]
                part = T if len(block) == N else T.take(block)
                g = None if guess is None else guess[block]
                _solve_block(result, block, part, lo[block], hi[block], free, g, tol, max_iterations)
    return result


def _patterns(free: Bools) -> list[tuple[NDArray[np.int64], Bools]]:
    """Instances grouped by which variables are free."""
    if free.all():
        return [(np.arange(len(free)), free[0])] if len(free) else []
    kinds, where = np.unique(free, axis=0, return_inverse=True)
    where = where.reshape(-1)
    return [(np.flatnonzero(where == k), kind) for k, kind in enumerate(kinds)]


def _solve_block(
    r: Result, block: NDArray[np.int64], T: Terms, lo: Array, hi: Array, free: Bools,
    guess: Array | None, tol: float, limit: int,
) -> None:  # fmt: skip
    """Solve instances with the same free variables and write the answers into r."""
    middle = 0.5 * (lo + hi)
    m, n = len(T.starts) - 1, len(free)
    R, dead, worst = _reduce(T, middle, free)
    y, lam = middle.copy(), np.zeros((len(block), m))
    box = np.zeros((len(block), 2 * n))
    status = np.zeros(len(block), np.int8)
    slight = np.zeros(len(block))
    wrong = (worst > FEASIBLE) | (lo > hi).any(1)
    status[wrong] = INFEASIBLE
    if free.any() and not wrong.all():
        live = np.flatnonzero(~wrong)
        R = R if len(live) == len(block) else R.take(live)
        a, b = lo[live][:, free], hi[live][:, free]
        found = run(R, a, b, _guess(R) if guess is None else guess[live][:, free], tol, limit)
        y[np.ix_(live, np.flatnonzero(free))] = found.y
        lam[live] = found.L[:, :m]
        box[np.ix_(live, np.flatnonzero(np.r_[free, free]))] = found.L[:, m + 1 :]
        status[live], slight[live] = np.where(found.infeasible, INFEASIBLE, OPTIMAL), found.slight
        r.iterations[block[live]], r.penalised[block[live]] = found.iterations, found.penalised
    dead_now = dead & (wrong[:, None])
    lam[dead_now] = np.where(worst[:, None] == T.at(y)[0][:, 1:], 1.0, 0.0)[dead_now]
    _write(r, block, T, lo, hi, y, lam, box, status, slight, tol)


def _reduce(T: Terms, y: Array, free: Bools) -> tuple[Terms, Bools, Array]:
    """Put in the fixed variables; rows left without a variable are judged and switched off.

    Returns the smaller table, the rows (B, m) that were decided, and their worst value (B,).
    """
    if free.all():
        live_term = np.abs(T.A).max(-1) > 0
        logc = T.logc
    else:
        live_term = np.abs(T.A[..., free]).max(-1, initial=0.0) > 0
        logc = np.maximum(Terms(T.A[..., ~free], T.logc, *T_rest(T)).exponents(y[:, ~free]), LOG_ZERO)
    there = (T.logc > 0.1 * LOG_ZERO) & live_term
    dead = ~np.logical_or.reduceat(there, T.starts, axis=1)[:, 1:] & present(T)[:, 1:]
    if free.all() and not dead.any():
        return T, dead, np.full(len(y), -np.inf)
    worst = np.where(dead, T.at(y)[0][:, 1:], -np.inf).max(1, initial=-np.inf)
    off = np.concatenate([np.zeros((len(y), 1), bool), dead], axis=1)[:, T.row_of]
    return Terms(T.A[..., free], np.where(off, LOG_ZERO, logc), *T_rest(T)), dead, worst


def T_rest(T: Terms) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """The row layout."""
    return T.starts, T.row_of, T.member


def _guess(T: Terms) -> Array:
    """The point where all terms are nearest to 1, least squares."""
    there = T.logc > 0.1 * LOG_ZERO
    logc = np.where(there, T.logc, 0.0)
    n = T.A.shape[-1]
    if T.A.ndim == 2 and there.all():
        M = T.A.T @ T.A
        return -logc @ T.A @ np.linalg.inv(M + (1e-9 * np.trace(M) + 1e-30) * np.eye(n))
    X = T.A * there[:, :, None]
    M = X.swapaxes(1, 2) @ X
    M += (1e-9 * np.einsum("bii->b", M) + 1e-30)[:, None, None] * np.eye(n)
    return -np.linalg.solve(M, (logc[:, None, :] @ X).swapaxes(1, 2))[:, :, 0]


def _write(
    r: Result, block: NDArray[np.int64], T: Terms, lo: Array, hi: Array, y: Array, lam: Array, box: Array,
    status: NDArray[np.int8], slight: Array, tol: float,
) -> None:  # fmt: skip
    """Judge the final points by the original rows and store them."""
    n = y.shape[1]
    F = T.at(y)[0]
    on = present(T)[:, 1:]
    lam = np.where(on, lam, 0.0)
    value = F[:, 0]
    violation = np.where(on, F[:, 1:], -np.inf).max(1, initial=-np.inf)
    bound = lagrangian(T, lo, hi, y, lam, 1.0)
    # limits that miss by less than the tolerance are accepted, and then no finite bound is too high
    bound = np.where((slight > 0) & (violation <= FEASIBLE), np.minimum(bound, value), bound)
    total = lam.sum(1)
    proof = lagrangian(T, lo, hi, y, lam, 0.0) / np.maximum(total, 1e-300)
    crossed = (lo > hi).any(1)
    proof = np.where(crossed, (lo - hi).max(1), proof)
    rounding = 2e-14 * total
    good = (np.abs(value - bound) <= tol + rounding) & (violation <= FEASIBLE) & ~crossed
    verdict = np.where(good, OPTIMAL, np.where((status == INFEASIBLE) & (proof > 0), INFEASIBLE, FAILED))
    r.y[block], r.value[block], r.bound[block], r.multipliers[block] = y, value, bound, lam
    r.lower_multipliers[block], r.upper_multipliers[block] = box[:, :n], box[:, n:]
    r.status[block], r.violation[block] = verdict, violation
    r.proof[block] = np.where(verdict == INFEASIBLE, proof, 0.0)
