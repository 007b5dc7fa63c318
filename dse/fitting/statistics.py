"""Figures about a fit: errors as the papers report them, confidence intervals, and what cannot be separated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass

# the median size of a normal error is this part of its standard deviation
_NORMAL_MEDIAN = 0.6745
# measurements are no more alike than this
_LEAST_SPREAD = 1e-3
# below this mean square of relative errors, runs count as exact
EXACT_SQUARES = 1e-18
DEPENDENT_DIRECTION = 1e-6
INVOLVED = 0.05


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors |model - measured|/measured: mean, standard deviation, least, greatest; ``bias``: signed mean."""

    runs: int
    mean: float
    std: float
    least: float
    greatest: float
    bias: float


def errors(model: Array, measured: Array) -> Errors:
    """Summarise the relative errors of a model, as Choi et al. 2016 do (section II.D)."""
    return summary(model / measured - 1)


def summary(signed: Array) -> Errors:
    """Summarise signed relative errors."""
    size = np.abs(signed)
    std = float(size.std(ddof=1)) if size.size > 1 else 0.0
    return Errors(
        size.size, float(size.mean()), std, float(size.min()), float(size.max()), float(signed.mean())
    )


def scale(residuals: Array, parameters: int) -> float:
    """Return the standard deviation of relative residuals by their median size, which gross errors hardly move.

    ``parameters``: how many were fitted. At least 0.1 %.
    """
    n = residuals.size
    wide = float(np.median(np.abs(residuals))) / _NORMAL_MEDIAN * np.sqrt(n / max(1, n - parameters))
    return float(max(wide, _LEAST_SPREAD))


def quantile(confidence: float, freedom: float) -> float:
    """Return how many standard errors a two-sided interval reaches to each side (Student's t)."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def standard_errors(jacobian: Array, variance: float) -> Array:
    """Return the linearised standard errors of least-squares parameters, columns of unlike size allowed."""
    inverse, size = _inverse_of_scaled(jacobian)
    found: Array = np.sqrt(variance) * np.linalg.norm(inverse, axis=1) / size
    return found


def _inverse_of_scaled(jacobian: Array) -> tuple[Array, Array]:
    """Return the pseudoinverse with columns divided by their sizes, and these sizes."""
    size = np.linalg.norm(jacobian, axis=0)
    size[size == 0] = 1.0
    return np.linalg.pinv(jacobian / size), size


def correlations(jacobian: Array) -> Array:
    """Return the linearised correlations of least-squares parameters, a square matrix."""
    inverse, _ = _inverse_of_scaled(jacobian)
    covariance = inverse @ inverse.T
    wide = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
    found: Array = covariance / np.outer(wide, wide)
    return found


def correlated(jacobian: Array, names: Sequence[str]) -> tuple[tuple[str, str, float], ...]:
    """Return the correlations of least-squares parameters by pairs of names, to four digits.

    ``names``: of the columns. One of zeros, which no run shows, has none.
    """
    shown = np.flatnonzero(np.abs(jacobian).max(axis=0) > 0)
    found = correlations(jacobian[:, shown])
    pairs = combinations(range(shown.size), 2)
    return tuple((names[shown[i]], names[shown[j]], round(float(found[i, j]), 4)) for i, j in pairs)


def unseen(columns: Array, least: float = DEPENDENT_DIRECTION) -> tuple[Array, Array]:
    """Return the directions, one a row, in which columns divided by their sizes come to nothing, and these sizes."""
    size = np.linalg.norm(columns, axis=0)
    size[size == 0] = 1.0
    # all directions are wanted, and of many runs not the square matrix on the other side
    wide = columns.shape[0] < columns.shape[1]
    _, values, directions = np.linalg.svd(columns / size, full_matrices=wide)
    values = np.concatenate([values, np.zeros(columns.shape[1] - values.size)])
    return directions[values <= least * values[0]], size


def dependent(
    columns: Array, names: Sequence[str], least: float = DEPENDENT_DIRECTION
) -> list[tuple[str, ...]]:
    """Return the groups of columns that determine each other, by name; none where all are independent.

    ``least``: a direction counts as none where its singular value is a smaller part of the greatest.
    """
    null, _ = unseen(columns, least)
    # columns belong together where the null space ties them, whatever basis of it was found
    tie = np.abs(null.T @ null) > INVOLVED**2
    groups: list[set[int]] = []
    for i in np.flatnonzero(tie.diagonal()):
        mates = {int(j) for j in np.flatnonzero(tie[i])}
        joined = [g for g in groups if g & mates]
        groups = [g for g in groups if not g & mates] + [mates.union(*joined)]
    return [tuple(names[i] for i in sorted(g)) for g in groups]
