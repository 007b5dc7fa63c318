"""How far off a fit is on runs that it has not seen: folds of rows or of whole groups, errors, intervals, deciles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dse.models.described.fitted import QUANTILES
from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass

FOLDS = 5
LEAST_IN_DECILES = 20
COVERAGE_SLACK = 0.01


@dataclass(frozen=True, slots=True)
class Decile:
    """Held-out errors of the runs between two values of the model: mean |modelled/measured - 1|, and bias (signed)."""

    low: float
    high: float
    runs: int
    mean: float
    bias: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Errors of runs that were held out.

    ``split``: how, in words; ``mean``, ``median``, ``greatest``: of |modelled/measured - 1|; ``low``, ``high``: what
    measured/modelled lies between with the ``confidence``; ``coverage``: what share of held-out runs lies there, where
    the interval is made of the other folds; ``residuals``: log(measured/modelled) of each run.
    """

    split: str
    mean: float
    median: float
    greatest: float
    confidence: float
    low: float
    high: float
    coverage: float
    residuals: Array
    modelled: Array
    deciles: tuple[Decile, ...]

    def quantiles(self) -> tuple[float, ...]:
        """Return evenly spaced quantiles of the residuals, from the least to the greatest."""
        return quantiles(self.residuals)


def quantiles(residuals: Array) -> tuple[float, ...]:
    """Return evenly spaced quantiles of log(measured/modelled) as a model file has them, from least to greatest."""
    return tuple(np.quantile(residuals, np.linspace(0, 1, QUANTILES)).tolist())


def folds(groups: Indices, count: int = FOLDS, seed: int = 0) -> Indices:
    """Return the number of the fold of each run; the runs of a group are in one fold, folds of about one size."""
    labels, sizes = np.unique(groups, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    of, filled = np.empty(len(labels), np.intp), np.zeros(min(count, len(labels)))
    for i in order:
        of[i] = int(filled.argmin())
        filled[of[i]] += sizes[i]
    return np.asarray(of[np.searchsorted(labels, groups)])


def held_out(
    measured: Array,
    fold: Indices,
    groups: Indices,
    fit: Callable[[Bools], Callable[[Bools], Array]],
    split: str,
    confidence: float,
) -> HeldOut:
    """Fit without each fold in turn and judge the fit on it.

    ``fit`` takes which runs to fit and returns a function of which runs to predict, log values. ``groups``: what was
    held out together; the fewer there are, the wider the interval.
    """
    predicted = np.empty(len(measured))
    for f in range(int(fold.max()) + 1):
        out = fold == f
        predicted[out] = fit(~out)(out)
    residuals = np.log(measured) - predicted
    many = len(np.unique(groups))
    low, high = interval(residuals, groups, confidence)
    inside = np.zeros(len(measured), bool)
    for f in range(int(fold.max()) + 1):
        out = fold == f
        ends = interval(residuals[~out], groups[~out], confidence) if many > 1 else (low, high)
        inside[out] = (residuals[out] >= ends[0]) & (residuals[out] <= ends[1])
    error = np.abs(np.expm1(-residuals))
    return HeldOut(
        split,
        float(error.mean()),
        float(np.median(error)),
        float(error.max()),
        confidence,
        float(np.exp(low)),
        float(np.exp(high)),
        float(inside.mean()),
        residuals,
        np.exp(predicted),
        _deciles(np.exp(predicted), residuals),
    )


def interval(residuals: Array, groups: Indices, confidence: float) -> tuple[float, float]:
    """Return what a residual of a new run, of a new group, lies between with this confidence.

    Groups differ from each other, and there are few: the share that an interval of quantiles leaves out is shrunk, to
    half at most, until it holds enough of the runs even where the mean over groups is one standard error lower.
    """
    labels, number = np.unique(groups, return_inverse=True)
    order = np.sort(residuals)
    size = np.bincount(number).astype(float)
    for outside in np.linspace(1.0, 0.5, 6) * (1 - confidence):
        low, high = _quantiles(order, float(outside))
        held = np.bincount(number, (residuals >= low) & (residuals <= high)) / size
        mean = float(np.average(held, weights=size))
        spread = float(np.sqrt(np.average((held - mean) ** 2, weights=size) / max(_effective(size) - 1, 1.0)))
        if mean - spread >= confidence - COVERAGE_SLACK or len(labels) == len(residuals):
            break
    return low, high


def _effective(size: Array) -> float:
    return float(size.sum() ** 2 / (size**2).sum())


def _quantiles(order: Array, outside: float) -> tuple[float, float]:
    # of n runs and a new one each has the same chance to be the least: the ends move out by one in n
    n = len(order)
    low = min(max(outside / 2 * (n + 1) - 1, 0.0), n - 1)
    return float(np.interp(low, np.arange(n), order)), float(np.interp(n - 1 - low, np.arange(n), order))


def _deciles(modelled: Array, residuals: Array) -> tuple[Decile, ...]:
    parts = 10 if len(modelled) >= LEAST_IN_DECILES else 1
    found = []
    for place in np.array_split(np.argsort(modelled, kind="stable"), parts):
        signed = np.expm1(-residuals[place])
        ends = float(modelled[place].min()), float(modelled[place].max())
        found.append(Decile(*ends, len(place), float(np.abs(signed).mean()), float(signed.mean())))
    return tuple(found)
