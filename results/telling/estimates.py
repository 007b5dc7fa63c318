"""What samples say about the world: intervals of shares, means and quantiles, and how many samples may fail.

A share of samples (a limit held in 9 431 of 10 000) gets the interval of Clopper and Pearson (Biometrika 26, 1934),
which covers the true probability at least as often as it says, whatever that probability is. Means and quantiles get
bootstrap intervals (Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993), which cover about as often as
they say once there are some hundred samples. All of them are for independent samples: Sobol points and Latin
hypercubes spread more evenly, so that their errors are mostly smaller than these intervals say, without a promise.

A design that was chosen to fail in few of the samples fails in more of the world. How many samples may fail is
therefore counted (Campi and Garatti, *A sampling-and-discarding approach to chance-constrained optimization*, J.
Optim. Theory Appl. 148, 2011): see ``may_fail``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from results.telling.fresh import Estimate
from scenarios.uncertainty.promises import least_samples

ESTIMATE_LEVEL = 0.95
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles that are told of what is distributed."""
MEAN_DRAWS = 1000
MOST_BOOTSTRAPPED = 5000
"""Of more values what resampling leaves to chance is more than what its expansion leaves out."""
FAIL_CONFIDENCE = 0.99
COUNTED_AT_ONCE = 200_000
"""Numbers that a bootstrap draws at once: they stay in a cache of a few MB."""

Array = npt.NDArray[Any]


@lru_cache(maxsize=10_000)
def share(count: int, of: int, level: float = ESTIMATE_LEVEL) -> Estimate:
    """Return the share of ``count`` among ``of`` independent samples, with its Clopper-Pearson interval.

    The ends are quantiles of beta distributions, Beta(h, n-h+1) and Beta(h+1, n-h); with h = 0 the low end is 0, with
    h = n the high end is 1. The interval covers the true probability in at least ``level`` of all studies. NaN without
    any sample.

    Raises ValueError unless 0 <= count <= of.
    """
    from scipy.special import betaincinv

    if not 0 <= count <= of:
        raise ValueError(f"{count} of {of} is not a share")
    if not of:
        return Estimate(math.nan, 0.0, 1.0)
    outside = (1.0 - level) / 2.0
    low = float(betaincinv(count, of - count + 1, outside)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1.0 - outside)) if count < of else 1.0
    return Estimate(count / of, low, high)


def mean(values: Array, level: float = ESTIMATE_LEVEL, draws: int = MEAN_DRAWS, seed: int = 0) -> Estimate:
    """Return the mean of independent samples with its bootstrap interval (bias-corrected and accelerated, BCa).

    ``draws`` resamples of the same size are drawn; the percentiles of their means that are taken allow for a skewed
    distribution: acceleration a = skewness / (6 sqrt n), which is what the jackknife gives for a mean. The same
    values and seed give the same interval. Of more than MOST_BOOTSTRAPPED values nothing is drawn: the percentiles are
    those of endless resamples by their Edgeworth expansion, with the bias a and the quantile z + a (z² - 1) (Hall, *The
    Bootstrap and Edgeworth Expansion*, 1992). ``values``: shape (n,). Of values that are all equal the interval is that
    value, of a single one it is endless; NaN without any. Where a value is not finite neither are mean and ends.
    """
    from scipy.special import ndtr, ndtri

    values = np.asarray(values, dtype=float).ravel()
    size = values.size
    if not size:
        return Estimate(math.nan, math.nan, math.nan)
    # what is infinite both ways has no mean
    with np.errstate(invalid="ignore"):
        found = float(values.mean())
    if size == 1:
        return Estimate(found, -math.inf, math.inf)
    if not math.isfinite(found):
        return Estimate(found, found, found)
    apart = values - found
    spread = math.sqrt((apart * apart).mean())
    if spread <= 1e-15 * abs(found):
        return Estimate(found, found, found)
    apart /= spread
    skewed = float((apart * apart * apart).mean()) / (6.0 * math.sqrt(size))
    z = float(ndtri(0.5 + level / 2.0)) * np.array([-1.0, 1.0])
    if size > MOST_BOOTSTRAPPED:
        z = skewed + (skewed + z) / (1.0 - skewed * (skewed + z))
        low, high = found + spread / math.sqrt(size) * (z + skewed * (z * z - 1.0))
        return Estimate(found, float(low), float(high))
    means = _resamples(size, draws, seed) @ values / size
    # of a few values many resamples have the very mean, but for rounding
    same = np.abs(means - found) <= 1e-12 * abs(found)
    below = (np.count_nonzero((means < found) & ~same) + 0.5 * np.count_nonzero(same)) / draws
    bias = float(ndtri(min(max(below, 0.5 / draws), 1.0 - 0.5 / draws)))
    z = bias + z
    low, high = np.quantile(means, ndtr(bias + z / (1.0 - skewed * z)))
    return Estimate(found, float(low), float(high))


def quantiles(values: Array, of: Sequence[float], level: float = ESTIMATE_LEVEL) -> list[Estimate]:
    """Return quantiles of independent samples with intervals between order statistics, whatever the distribution.

    What a bootstrap of a quantile comes to with endless resamples: the values x(l) and x(u) of which a binomial count
    B(n, q) says that P(B < l) and P(B >= u) are at most half of what is left of the level. Infinite where there are too
    few samples for an end, NaN without any.
    """
    size = len(values)
    if not size:
        return [Estimate(math.nan, math.nan, math.nan) for _ in of]
    inside, found = [_ranks(size, q, level) for q in of], []
    around = {math.floor(q * (size - 1)) + k for q in of for k in (0, 1)}
    asked = sorted(k for k in {*around, *(r - 1 for ends in inside for r in ends)} if 0 <= k < size)
    # only what is asked for is put in its place
    ordered = np.partition(values, np.array(asked, dtype=int))
    for q, (first, last) in zip(of, inside, strict=True):
        value = _between(ordered, q * (size - 1))
        low = float(ordered[first - 1]) if first >= 1 else -math.inf
        high = float(ordered[last - 1]) if last <= size else math.inf
        found.append(Estimate(value, low, high))
    return found


def quantile(values: Array, q: float) -> float:
    """Return a quantile as ``np.quantile`` has it, but infinite, not NaN, where the values there are infinite."""
    ordered = np.sort(values)
    return math.nan if np.isnan(ordered[-1]) else _between(ordered, q * (len(ordered) - 1))


def _between(ordered: Array, place: float) -> float:
    """The number at a place between those of an ordered list, as ``np.quantile`` has it, which sorts them again."""
    last = math.floor(place)
    below, above = float(ordered[last]), float(ordered[min(last + 1, len(ordered) - 1)])
    part = place - last
    if below == above or not math.isfinite(above - below):
        return below if below == above or not part else below + above
    return above - (above - below) * (1.0 - part) if part >= 0.5 else below + (above - below) * part


def tail(values: Array, beyond: float) -> Estimate:
    """Return the mean of the greatest 1 - ``beyond`` of independent samples, with its bootstrap interval.

    With q the quantile ``beyond`` of the samples it is the mean of q + max(x - q, 0) / (1 - beyond) (Rockafellar and
    Uryasev, Journal of Risk 2, 2000); that q is estimated as well moves it by less than its error, since it is the
    least over all q.
    """
    q = float(np.sort(values)[rank(len(values), beyond) - 1])
    return mean(q + np.maximum(np.asarray(values, float) - q, 0.0) / (1.0 - beyond))


def rank(count: int, of: float) -> int:
    """Return which of ``count`` values in order is their quantile ``of``: ceil(of count), at least the first.

    A share that is a whole number but for rounding (0.95 of 200) is that number.
    """
    return min(max(math.ceil(of * count - 1e-9 * count), 1), count)


def plainly(count: int, probability: float) -> int:
    """Return how many of ``count`` samples may fail where just these samples are meant, not the world."""
    return count - rank(count, probability)


@lru_cache(maxsize=64)
def may_fail(
    count: int, probability: float, decided: int, confidence: float = FAIL_CONFIDENCE, choices: int = 1
) -> int | None:
    """Return how many of ``count`` samples may fail so that the design holds with ``probability`` in the world.

    The largest k with

        choices · C(k+d-1, k) · Σ_{i ≤ k+d-1} C(N, i) ε^i (1-ε)^{N-i} ≤ 1 - confidence,      ε = 1 - probability

    for N = ``count`` independent samples and d = ``decided`` quantities (Campi and Garatti, 2011, theorem 2.1). What is
    decided in ``choices`` ways (names, whole numbers) counts as that many programs, each of which must not go wrong
    (a union bound), and with d = 0 nothing else is decided: Σ_{i ≤ k}. It holds for limits that are convex in the
    decided quantities or in their logarithms, whichever k samples are discarded; the objective may not depend on
    the same samples unless it is one more limit, with one more decided quantity for its level. None where not even
    0 may fail: see ``samples_needed``.
    """
    if not _may_fail_so_often(count, 0, probability, decided, confidence, choices):
        return None
    return (
        _first_that_holds(
            0, count, lambda k: not _may_fail_so_often(count, k, probability, decided, confidence, choices)
        )
        - 1
    )


def samples_needed(
    probability: float, decided: int, confidence: float = FAIL_CONFIDENCE, choices: int = 1
) -> int:
    """Return the least number of samples of which none may fail: the inverse of ``may_fail``.

    With confidence 0 the least number whose plain share may leave out one: 1 / (1 - probability).

    Raises ValueError unless 0 <= probability < 1.
    """
    if not 0.0 <= probability < 1.0:
        raise ValueError(f"probability {probability:g} needs more samples than there are: it lies below 1")
    return least_samples(probability, confidence, decided, choices)


def _first_that_holds(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number after ``low`` for which something holds that then goes on holding, at most ``high``."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _may_fail_so_often(
    count: int, failing: int, probability: float, decided: int, confidence: float, choices: int
) -> bool:
    """Whether ``failing`` of ``count`` samples may fail; falls with ``failing`` and grows with ``count``."""
    from scipy.special import gammaln
    from scipy.stats import binom

    support = max(decided - 1, 0)
    if failing + support >= count:
        return False
    ways = gammaln(failing + support + 1) - gammaln(failing + 1) - gammaln(support + 1)
    tail = binom.logcdf(failing + support, count, 1.0 - probability)
    return bool(math.log(choices) + ways + tail <= math.log1p(-confidence))


@lru_cache(maxsize=1)
def _resamples(size: int, draws: int, seed: int) -> Array:
    """How often each of so many values is drawn in each resample, (draws, size): the same whatever the values are."""
    random = np.random.default_rng(seed)
    found = np.empty((draws, size))
    step = max(COUNTED_AT_ONCE // size, 1)
    for at in range(0, draws, step):
        some = min(step, draws - at)
        drawn = random.integers(0, size, (some, size)) + size * np.arange(some)[:, None]
        found[at : at + some] = np.bincount(drawn.ravel(), minlength=some * size).reshape(some, size)
    return found


@lru_cache(maxsize=64)
def _ranks(size: int, of: float, level: float) -> tuple[int, int]:
    """The places, from 1 on, of the order statistics between which a quantile lies; see ``quantiles``."""
    from scipy.stats import binom

    outside = (1.0 - level) / 2.0
    return int(binom.ppf(outside, size, of)), int(binom.ppf(1.0 - outside, size, of)) + 1
