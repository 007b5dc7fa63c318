"""Fits that are linear in constants that cannot be negative, by least squares of relative errors."""

from __future__ import annotations

import numpy as np

from dse.fitting.behaviours.nonnegative import nonnegative_least_squares
from dse.fitting.statistics import EXACT_SQUARES, quantile, scale, standard_errors
from dse.system.arrays import Array

# weights are one over the value of the model, which a few rounds settle far below the noise
_ROUNDS = 3
_ROBUST_ROUNDS = 12
_LINEAR_FOLDS = 10
# of a measured value, the least that a model's may count as
_LEAST_SHARE = 1e-3


def relative(rows: Array, values: Array, trust: Array | None = None) -> Array:
    """Return the x >= 0 whose ``rows @ x`` is closest to ``values`` in percent of the model; ``trust``: weights."""
    own = np.ones_like(values) if trust is None else trust
    weights = own / values
    found = np.zeros(rows.shape[1])
    for _ in range(_ROUNDS):
        found = nonnegative_least_squares(rows * weights[:, None], values * weights)
        weights = own / np.maximum(rows @ found, _LEAST_SHARE * values)
    return found


def robust(rows: Array, values: Array) -> Array:
    """Return log(model/measured) under a fit that gross errors hardly move: Cauchy's loss, reweighted in rounds."""
    trust = np.ones_like(values)
    error = np.zeros_like(values)
    for _ in range(_ROBUST_ROUNDS):
        model = rows @ relative(rows, values, trust)
        error = np.log(np.maximum(model, _LEAST_SHARE * values) / values)
        trust = 1 / np.sqrt(1 + (error / scale(error, rows.shape[1])) ** 2)
    return error


def intervals(rows: Array, values: Array, found: Array, confidence: float) -> tuple[Array, Array]:
    """Return the ends of the linearised intervals of constants found by ``relative``."""
    model = np.maximum(rows @ found, _LEAST_SHARE * values)
    freedom = max(1, values.size - found.size)
    variance = max(float(((rows @ found / model - values / model) ** 2).sum()) / freedom, EXACT_SQUARES)
    reach = quantile(confidence, freedom) * standard_errors(rows / model[:, None], variance)
    return np.maximum(found - reach, 0.0), found + reach


def held_out(rows: Array, values: Array) -> tuple[int, Array]:
    """Return the number of folds, and the relative error of each value by the fit to the folds it is not in."""
    count = min(_LINEAR_FOLDS, values.size)
    fold = np.arange(values.size) % count
    signed = np.zeros_like(values)
    for k in range(count):
        out = fold == k
        signed[out] = rows[out] @ relative(rows[~out], values[~out]) / values[out] - 1
    return count, signed
