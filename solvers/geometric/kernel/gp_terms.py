"""Rows of log-sum-exp terms, many instances at once: values, softmax weights, gradients, Lagrangian bound.

Row k of an instance is ``F_k(y) = log sum_j exp(logc_j + A_j . y)`` over its terms j: the logarithm of a
posynomial in the logarithms of its variables.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from dse.system.arrays import Array, Bools, Integers
from dse.system.records import dataclass

LOG_ZERO = -1e30
"""Stands for log 0 inside the kernel: finite, so that no difference of two of them is NaN."""


@dataclass(slots=True)
class Terms:
    """The terms of B instances: exponents A, (K, n) shared or (B, K, n), and log coefficients, (B, K).

    ``sums``: rows of more than one term, the only ones that are no straight lines; ``added``: their terms, which begin
    at ``begins`` among these; ``sum_of``: their rows. ``A_first``, ``A_added``: exponents of the first terms of rows,
    and of those of sums.
    """

    A: Array
    logc: Array
    starts: Integers
    row_of: Integers
    sums: Integers
    added: Integers
    begins: Integers
    sum_of: Integers
    A_first: Array
    A_added: Array

    def take(self, keep: Integers | Bools) -> Terms:
        """Return the same rows for a choice of instances."""
        A = self.A, self.A_first, self.A_added
        own, first, added = A if self.A.ndim == 2 else (x[keep] for x in A)
        return Terms(
            own, self.logc[keep], self.starts, self.row_of, self.sums, self.added, self.begins, self.sum_of,
            first, added,
        )  # fmt: skip

    def of(self, A: Array, logc: Array) -> Terms:
        """Return the same rows with other exponents and coefficients."""
        first, added = A.take(self.starts, axis=-2), A.take(self.added, axis=-2)
        return replace(self, A=A, logc=logc, A_first=first, A_added=added)

    def exponents(self, y: Array) -> Array:
        """Return the log of every term at y, (B, K)."""
        if self.A.ndim == 2:
            # a BLAS product over all instances adds up in an order that depends on how many there are
            heights: Array = np.einsum("bn,kn->bk", y, self.A)
            return self.logc + heights
        return self.logc + (self.A @ y[:, :, None])[:, :, 0]

    def at(self, y: Array) -> tuple[Array, Array]:
        """Values F (B, m+1) and softmax weights (B, K)."""
        Z = self.exponents(y)
        top = np.maximum.reduceat(Z, self.starts, axis=1)
        # taken, not indexed: half the time
        E = np.exp(Z - top.take(self.row_of, axis=1))
        total = np.add.reduceat(E, self.starts, axis=1)
        return top + np.log(total), E / total.take(self.row_of, axis=1)

    def known(self, y: Array) -> tuple[Array, Array]:
        """The same, -inf and 0 for absent terms."""
        with np.errstate(all="ignore"):
            F, W = self.at(y)
        F[F < 0.1 * LOG_ZERO] = -np.inf
        W[self.logc <= 0.1 * LOG_ZERO] = 0.0
        return F, W

    def slopes(self, W: Array) -> Array:
        """Gradients (B, m+1, n) of all rows from the weights."""
        found: Array = W.take(self.starts, axis=1)[:, :, None] * self.A_first
        parts = W.take(self.added, axis=1)[:, :, None] * self.A_added
        found[:, self.sums] = np.add.reduceat(parts, self.begins, axis=1)
        return found


def terms(A: Array, logc: Array, ptr: Integers) -> Terms:
    """Check the shapes of a table of terms and prepare it; ValueError when it does not fit together."""
    # in C order, as of one instance alone: sums and products add up by how arrays lie in memory
    A = np.ascontiguousarray(A, float)
    logc = np.atleast_2d(np.ascontiguousarray(logc, float))
    K = logc.shape[1]
    starts, row_of, sums, added, begins, sum_of = _layout(
        np.asarray(ptr, np.int64).tobytes(), np.ndim(ptr), K
    )
    if A.ndim not in (2, 3) or A.shape[-2] != K or (A.ndim == 3 and len(A) != len(logc)):
        raise ValueError(f"A of shape {A.shape} does not fit logc of shape {logc.shape}")
    if not np.isfinite(A).all() or not (logc < np.inf).all():
        raise ValueError("A must be finite, logc below +inf")
    first, more = A.take(starts, axis=-2), A.take(added, axis=-2)
    return Terms(A, np.maximum(logc, LOG_ZERO), starts, row_of, sums, added, begins, sum_of, first, more)


@lru_cache(maxsize=256)
def _layout(offsets: bytes, axes: int, K: int) -> tuple[Integers, ...]:
    """What follows of a table of K terms from its row offsets alone: a search asks for the same again and again."""
    ptr = np.frombuffer(offsets, np.int64)
    if axes != 1 or len(ptr) < 2 or ptr[0] != 0 or ptr[-1] != K or np.any(np.diff(ptr) < 1):
        raise ValueError(f"ptr {ptr} is not a list of row offsets into {K} terms, one term or more per row")
    counts = np.diff(ptr)
    row_of, sums = np.repeat(np.arange(len(counts)), counts), np.flatnonzero(counts > 1)
    added, begins = np.flatnonzero(counts[row_of] > 1), np.cumsum(counts[sums]) - counts[sums]
    return ptr[:-1], row_of, sums, added, begins, row_of[added]


def evaluate(A: Array, logc: Array, ptr: Integers, y: Array) -> Array:
    """Values F (N, m+1) at y (N, n); -inf for a row whose terms are all absent."""
    return both(A, logc, ptr, y)[0]


def both(A: Array, logc: Array, ptr: Integers, y: Array) -> tuple[Array, Array]:
    """Values F (N, m+1) and softmax weights (N, K) at y (N, n); for absent terms -inf and 0."""
    return terms(A, logc, ptr).known(np.atleast_2d(y))


def gradients(A: Array, logc: Array, ptr: Integers, y: Array) -> Array:
    """Gradients (N, m+1, n) of the rows at y; 0 for an absent row."""
    return terms(A, logc, ptr).slopes(both(A, logc, ptr, y)[1])


def lagrangian(T: Terms, lo: Array, hi: Array, y: Array, lam: Array, objective: float) -> Array:
    """Return the least value over the box of the tangent, at y, of objective * F_0 + sum_k lam_k F_k.

    Every F_k is convex, so this is a lower bound of the sum. What rounding may have added is taken off.
    """
    return _least_of_tangent(T, lo, hi, y, lam, objective)[0]


def _least_of_tangent(
    T: Terms, lo: Array, hi: Array, y: Array, lam: Array, objective: float
) -> tuple[Array, Array]:
    """The same, and the slopes (B, n) of the tangent."""
    F, W = T.at(y)
    coefficients = np.concatenate([np.full((len(y), 1), objective), lam], axis=1)
    used = coefficients > 0
    share = np.where(used, coefficients, 0.0)[:, T.row_of] * W
    g = (T.A.swapaxes(-1, -2) @ share[:, :, None])[:, :, 0]
    value = np.where(used, coefficients * F, 0.0)
    # every sum loses digits in proportion to the size of what it adds up
    size = np.abs(T.logc) + (np.abs(T.A) @ np.abs(y)[:, :, None])[:, :, 0]
    reach = np.minimum(g * (lo - y), g * (hi - y))
    slip = (share * size).sum(1) + np.abs(value).sum(1) + share.sum(1) + np.abs(reach).sum(1)
    return value.sum(1) + reach.sum(1) - 4 * np.finfo(float).eps * slip, g


def lagrangian_bound(
    A: Array, logc: Array, ptr: Integers, lo: Array, hi: Array, y: Array, multipliers: Array
) -> Array:
    """Proven lower bound (N,) of F_0 subject to F_k <= 0 in the box, from any y and any multipliers >= 0.

    ``F_0 + sum l_k F_k`` is convex and below F_0 wherever the limits hold; its tangent at y is minimised over
    the box in closed form. No solver is trusted: bad y or multipliers give a weak bound, never a wrong one.
    """
    T = terms(A, logc, ptr)
    y = np.atleast_2d(y)
    lam = np.where(present(T)[:, 1:], np.maximum(np.atleast_2d(multipliers), 0.0), 0.0)
    with np.errstate(all="ignore"):
        return lagrangian(T, np.broadcast_to(lo, y.shape), np.broadcast_to(hi, y.shape), y, lam, 1.0)


def ends_at_level(
    A: Array,
    logc: Array,
    ptr: Integers,
    lo: Array,
    hi: Array,
    y: Array,
    multipliers: Array,
    level: Array,
) -> tuple[Array, Array]:
    """Ends (N, n) between which all points of the box lie where the limits hold and F_0 is at most ``level`` (N,).

    The tangent of ``lagrangian_bound`` is least at one end of each variable, and rises with its slope from there: a
    variable is no farther from that end than what the level is above the least value, over the slope.
    """
    T = terms(A, logc, ptr)
    lam = np.where(present(T)[:, 1:], np.maximum(multipliers, 0.0), 0.0)
    with np.errstate(all="ignore"):
        least, g = _least_of_tangent(T, lo, hi, y, lam, 1.0)
        far = np.fmax(level - least, 0.0)[:, None] / np.abs(g) * (1.0 + 1e-9)
        # what tells nothing is not a number
        return np.where(g < 0, np.fmax(lo, hi - far), lo), np.where(g > 0, np.fmin(hi, lo + far), hi)


def present(T: Terms) -> Bools:
    """Rows (B, m+1) with at least one term."""
    return np.maximum.reduceat(T.logc, T.starts, axis=1) > 0.1 * LOG_ZERO
