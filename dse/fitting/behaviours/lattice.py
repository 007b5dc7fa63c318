"""Sums of monomials by non-negative least squares: coefficients of given terms, terms found on a lattice.

Residuals are relative to the prediction, (measured - modelled)/modelled, which is reached by weighting again and again;
relative to what was measured they would pull the fit down, and give small values unbounded leverage.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from dse.fitting.behaviours import gram
from dse.fitting.behaviours.logfit import HUBER, LEAST_SPREAD, MAD, ROUNDED_CORNER, TUKEY, Loss
from dse.system.arrays import Array, Indices

EXPONENTS = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
MOST_CANDIDATES = 800
# columns that a term of a lattice may have at once
MOST_TOGETHER = 3
REWEIGHTINGS, HUBER_ROUNDS = 15, 5
LATTICE_SETTLED = 1e-6
SEEN_SHARE = 1e-5
# of what was measured: a prediction below weighs no more
LEAST_PREDICTED = 1e-3


def candidates(columns: int) -> Array:
    """Return the exponents of a wide lattice (terms, columns), the constant first; narrower for many columns."""
    for values in (
        EXPONENTS,
        (-1.0, -0.5, 0.0, 0.5, 1.0, 2.0),
        (-1.0, 0.0, 0.5, 1.0),
        (-1.0, 0.0, 1.0),
        (0.0, 1.0),
    ):
        for together in range(min(MOST_TOGETHER, columns), 0, -1):
            found = list(_lattice_points(columns, values, together))
            if len(found) <= MOST_CANDIDATES:
                return np.array(sorted(found, key=lambda e: (sum(map(abs, e)), e)))
    return np.concatenate([np.zeros((1, columns)), np.eye(columns)])


def _lattice_points(columns: int, values: Sequence[float], together: int) -> Iterator[tuple[float, ...]]:
    others = [v for v in values if v]
    for many in range(together + 1):
        for chosen in itertools.combinations(range(columns), many):
            for exponents in itertools.product(others, repeat=many):
                point = [0.0] * columns
                for c, e in zip(chosen, exponents, strict=True):
                    point[c] = e
                yield tuple(point)


def coefficients(
    terms: Array,
    y: Array,
    loss: Loss = "huber",
    weight: Array | None = None,
    near: Array | None = None,
    rounds: int = REWEIGHTINGS,
) -> Array:
    """Return the coefficients >= 0 of ``terms`` (runs, terms) that fit ``y`` best, in relative residuals.

    ``weight``: of each run; ``near``: coefficients to begin from. The columns are scaled by what was measured, so that
    sizes do not matter.
    """
    scaled = terms / y[:, None]
    weight = np.ones(len(y)) if weight is None else weight
    size = np.sqrt(np.average(scaled**2, axis=0, weights=weight))
    size[size == 0] = 1.0
    scaled /= size
    before = np.full(len(y), np.inf)
    predicted = np.ones(len(y))
    if near is not None:
        before, predicted = predicted, np.maximum(terms @ near / y, LEAST_PREDICTED)
    c = np.zeros(terms.shape[1])
    for done in range(rounds):
        # far runs are told from near ones only by a fit that they have not spoilt
        far = loss in ("tukey", "error")
        now: Loss = "huber" if far and near is None and done < HUBER_ROUNDS else loss
        c = least_squares(scaled, weight * weights(predicted, now if np.isfinite(before[0]) else "squares"))
        before, predicted = predicted, np.maximum(scaled @ c, LEAST_PREDICTED)
        if now == loss and np.abs(predicted / before - 1).max() < LATTICE_SETTLED:
            break
    return np.asarray(c / size)


def weights(predicted: Array, loss: Loss) -> Array:
    """Return how much (modelled/measured - 1)^2 of each run counts, by the loss; ``predicted``: modelled/measured.

    Residuals are (measured - modelled)/modelled, and their spread is taken from their median; for the loss "error" they
    are relative to what was measured.
    """
    residual = 1 / predicted - 1
    if loss == "squares":
        return 1 / predicted**2
    spread = max(MAD * float(np.median(np.abs(residual))), LEAST_SPREAD)
    z = np.abs(residual) / spread
    if loss == "error":
        return np.where(z < TUKEY, 1 / np.hypot((predicted - 1) / spread, ROUNDED_CORNER), 0.0)
    if loss == "huber":
        return np.minimum(1.0, HUBER / np.maximum(z, LEAST_SPREAD)) / predicted**2
    return np.asarray(np.maximum(1 - (z / TUKEY) ** 2, 0.0) ** 2 / predicted**2)


def least_squares(rows: Array, weight: Array) -> Array:
    """Return the x >= 0 that minimises sum of weight (rows x - 1)^2, by the active set of its normal equations."""
    from scipy.optimize import nnls

    if len(rows) <= rows.shape[1]:
        # their normal equations are singular
        root = np.sqrt(weight)
        return np.asarray(nnls(rows * root[:, None], root, maxiter=50 * rows.shape[1])[0])
    normal, right = gram.normal(rows, weight), gram.right(rows, weight)
    # the factor of the normal equations stands for the rows; a grain of the diagonal keeps it definite
    grain = 1e-12 * np.trace(normal) / len(normal)
    factor = np.linalg.cholesky(normal + grain * np.eye(len(normal)))
    return np.asarray(nnls(factor.T, np.linalg.solve(factor, right), maxiter=50 * len(normal))[0])


def found(x: Array, y: Array, most: int, loss: Loss = "huber") -> list[Array]:
    """Return sums of 1, 2, … up to ``most`` terms of the lattice, each the exponents of its terms.

    ``x``: logarithms of the columns, counted from their middle; ``y``: what was measured. All of the lattice is fitted
    at once, then the term that is missed least is taken away, again and again.
    """
    from threadpoolctl import threadpool_limits

    # beside other processes the threads of a factorisation of a few hundred rows wait far longer than they compute
    with threadpool_limits(1, "blas"):
        return _sums_on_lattice(x, y, most, loss)


def _sums_on_lattice(x: Array, y: Array, most: int, loss: Loss) -> list[Array]:
    lattice = candidates(x.shape[1])
    terms = np.exp(x @ lattice.T)
    c = coefficients(terms, y, loss)
    kept = _visible(terms, c, np.arange(len(lattice)))
    sums: list[Array] = []
    while len(kept):
        if len(kept) <= most:
            sums.append(lattice[kept])
        if len(kept) == 1:
            break
        kept = _without_one(terms, y, kept, loss)
    return sums[::-1]


def _visible(terms: Array, c: Array, kept: Indices) -> Indices:
    share = terms[:, kept] * c[kept]
    share /= share.sum(1, keepdims=True)
    return np.asarray(kept[share.max(0) > SEEN_SHARE], np.intp)


def _without_one(terms: Array, y: Array, kept: Indices, loss: Loss) -> Indices:
    """Take the term away whose loss raises the residuals least; each is tried where there are few."""
    c = coefficients(terms[:, kept], y, loss)
    predicted = terms[:, kept] @ c
    scaled = terms[:, kept] / y[:, None]
    weight = weights(predicted / y, loss)
    worst = []
    for i in range(len(kept)):
        rest = np.delete(scaled, i, axis=1)
        there = least_squares(rest, weight)
        worst.append(float(np.sum(weight * (rest @ there - 1) ** 2)))
    return np.delete(kept, int(np.argmin(worst)))
