"""Intervals and counts of samples, beside tables, closed forms and repeated studies of a known truth.

``PYTHONPATH=. python tests/uncertainty/test_estimates.py`` repeats each study 1000 times and prints what was covered;
the suite repeats them fewer times with wider bounds.
"""

from __future__ import annotations

import itertools
import math
import sys
from math import comb

import numpy as np
import pytest

from results.telling import estimates


def test_shares_as_the_f_distribution_gives_them():
    # Clopper and Pearson's ends by their other formula, through the F distribution (Leemis and Trivedi, 1996)
    from scipy.stats import f

    for h, n in ((1, 10), (7, 10), (9431, 10000), (50, 1000)):
        low = 1.0 / (1.0 + (n - h + 1) / (h * f.ppf(0.025, 2 * h, 2 * (n - h + 1))))
        high = 1.0 / (1.0 + (n - h) / ((h + 1) * f.ppf(0.975, 2 * (h + 1), 2 * (n - h))))
        assert estimates.share(h, n) == pytest.approx((h / n, low, high), rel=1e-9)
    # the rule of three: with no failure the end is 1 - (alpha/2)^(1/n)
    assert estimates.share(0, 100).low == 0.0
    assert estimates.share(0, 100).high == pytest.approx(1.0 - 0.025 ** (1 / 100), rel=1e-12)
    assert estimates.share(100, 100).high == 1.0
    with pytest.raises(ValueError, match="11 of 10"):
        estimates.share(11, 10)


def test_every_true_probability_is_covered_exactly():
    """The coverage of shares is a sum over what may come out, so it is computed and not sampled."""
    for n in (20, 200):
        ends = [estimates.share(h, n) for h in range(n + 1)]
        for truth in (0.01, 0.05, 0.3, 0.5, 0.95, 0.999):
            chance = [comb(n, h) * truth**h * (1 - truth) ** (n - h) for h in range(n + 1)]
            covered = sum(c for c, e in zip(chance, ends, strict=True) if e.low <= truth <= e.high)
            assert covered >= 0.95


def test_which_sample_in_order_is_a_quantile():
    assert estimates.rank(200, 0.95) == 190  # 10 of 200 exceed it
    assert estimates.rank(200, 0.951) == 191
    assert estimates.rank(200, 0.0) == 1
    assert estimates.rank(200, 1.0) == 200
    assert estimates.plainly(200, 0.95) == 10
    assert estimates.plainly(19, 0.95) == 0


def test_the_interval_of_a_quantile_is_about_what_resampling_comes_to():
    random = np.random.default_rng(5)
    values = random.lognormal(size=60)
    k = estimates.rank(60, 0.7)
    drawn = np.sort(values[random.integers(0, 60, (40000, 60))], axis=1)[:, k - 1]
    low, high = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf")
    (found,) = estimates.quantiles(values, (0.7,))
    # between order statistics: at most two samples wider than resampling at either end
    order = list(np.sort(values))
    assert 0 <= order.index(low) - order.index(found.low) <= 2
    assert 0 <= order.index(found.high) - order.index(high) <= 2
    # the ends hold the quantile with at least 95 % by the binomial sum, written out
    first, last = order.index(found.low) + 1, order.index(found.high) + 1
    chance = [comb(60, i) * 0.7**i * 0.3 ** (60 - i) for i in range(61)]
    assert sum(chance[first:last]) >= 0.95
    # too few samples for an end
    assert estimates.quantiles(values, (0.99,))[0].high == math.inf


def test_a_mean_without_spread_and_with_what_is_not_finite():
    assert estimates.mean(np.full(7, 0.1)) == pytest.approx((0.1, 0.1, 0.1))
    assert math.isinf(estimates.mean(np.array([1.0, np.inf])).value)
    assert math.isnan(estimates.mean(np.array([])).value)
    assert estimates.mean(np.ones(1)).interval == (-math.inf, math.inf)
    many = np.random.default_rng(1).exponential(size=estimates.MOST_BOOTSTRAPPED + 1)
    few = estimates.mean(many[:-1])
    assert estimates.mean(many).interval == pytest.approx(few.interval, rel=5e-3)


def test_quantiles_beside_infinite_values_are_those_of_the_order():
    some = np.array([math.inf, 3.0, 1.0, math.inf, 2.0])
    assert [q.value for q in estimates.quantiles(some, (0.25, 0.5, 0.6, 1.0))] == [
        2.0,
        3.0,
        math.inf,
        math.inf,
    ]
    assert estimates.quantiles(-some, (0.1,))[0].value == -math.inf
    every = estimates.quantiles(np.full(500, math.inf), (0.05, 0.5))
    assert all(q == (math.inf, math.inf, math.inf) for q in every)


def test_the_expansion_is_what_many_resamples_of_a_skewed_sample_come_to(monkeypatch: pytest.MonkeyPatch):
    values = np.random.default_rng(2).lognormal(size=400)
    wide = values.std() / 20.0
    drawn = estimates.mean(values, draws=40_000)
    monkeypatch.setattr(estimates, "MOST_BOOTSTRAPPED", 100)
    found = estimates.mean(values)
    assert found.value == drawn.value
    # skewness moves both ends up by some tenths of a standard error
    assert found.low - found.value > -1.9 * wide
    assert found.interval == pytest.approx(drawn.interval, abs=0.06 * wide)


def test_the_number_that_may_fail_is_the_largest_by_the_sum_written_out():
    def bound(n: int, k: int, d: int, e: float) -> float:
        tail = sum(comb(n, i) * e**i * (1 - e) ** (n - i) for i in range(k + d))
        return comb(k + d - 1, k) * tail

    for n, d, e in itertools.product((100, 500, 1024), (1, 2, 5), (0.05, 0.1)):
        k = estimates.may_fail(n, 1 - e, d)
        if k is None:
            assert bound(n, 0, d, e) > 0.01
            continue
        assert bound(n, k, d, e) <= 0.01 < bound(n, k + 1, d, e)
    # one quantity: the binomial tail of a quantile's one-sided interval
    assert estimates.may_fail(1024, 0.95, 1) == 35
    assert estimates.may_fail(20, 0.95, 2) is None
    # choices share the risk
    assert estimates.may_fail(1024, 0.95, 1, choices=100) < 35


def test_the_least_number_of_samples_by_hand():
    # nothing may fail, one quantity: (1-e)^N <= beta, so N = log(0.01)/log(0.95)
    assert estimates.samples_needed(0.95, 1) == math.ceil(math.log(0.01) / math.log(0.95)) == 90
    n = estimates.samples_needed(0.95, 2)
    assert estimates.may_fail(n, 0.95, 2) == 0
    assert estimates.may_fail(n - 1, 0.95, 2) is None
    assert estimates.samples_needed(0.95, 2, confidence=0.0) == 20
    with pytest.raises(ValueError, match="below 1"):
        estimates.samples_needed(1.0, 2)


# -- repeated studies of a known truth --

LOGNORMAL = math.exp(0.5 * 0.5**2)  # the mean of exp(0.5 Z)


def studies(times: int, seed: int) -> dict[str, float]:
    """Return how often each interval covered the truth, of ``times`` studies."""
    from scipy.special import ndtri

    random = np.random.default_rng(seed)
    covered = dict.fromkeys(
        ("share 0.95", "share 0.5", "mean normal", "mean lognormal", "median", "quantile 0.95"), 0
    )
    for study in range(times):
        hits = random.binomial(1000, 0.95)
        covered["share 0.95"] += _in(estimates.share(int(hits), 1000), 0.95)
        covered["share 0.5"] += _in(estimates.share(int(random.binomial(100, 0.5)), 100), 0.5)
        z = random.standard_normal(500)
        covered["mean normal"] += _in(estimates.mean(z, seed=study), 0.0)
        covered["mean lognormal"] += _in(estimates.mean(np.exp(0.5 * z), seed=study), LOGNORMAL)
        covered["median"] += _in(estimates.quantiles(z, (0.5,))[0], 0.0)
        covered["quantile 0.95"] += _in(estimates.quantiles(z, (0.95,))[0], float(ndtri(0.95)))
    return {name: hits / times for name, hits in covered.items()}


def kept(times: int, seed: int) -> float:
    """Return in which share of studies the design that ``may_fail`` allows keeps its probability in the world.

    Least a + b with a >= u and b >= v in all but k of 500 samples of two independent uniform numbers: the design
    (a, b) holds in the world with probability a b. All pairs of samples' values are tried.
    """
    random = np.random.default_rng(seed)
    k = estimates.may_fail(500, 0.95, 2)
    assert k is not None
    good = 0
    for _ in range(times):
        u, v = random.random((2, 500))
        good += _least_pair(u, v, k) >= 0.95
    return good / times


def _least_pair(u: np.ndarray, v: np.ndarray, k: int) -> float:
    """Return a b of the least a + b that covers all but k samples: for each a, the b that the others need."""
    order = np.argsort(u)[::-1]
    best = (math.inf, 0.0)
    for dropped in range(k + 1):
        a = u[order[dropped]]
        rest = np.sort(v[order[dropped:]])[::-1]
        b = rest[k - dropped]
        best = min(best, (a + b, a * b))
    return best[1]


def _in(found: estimates.Estimate, truth: float) -> bool:
    return found.low <= truth <= found.high


def test_intervals_cover_what_they_say():
    # 150 studies of a true 95 % cover 90-99 % but for one in some thousand
    for name, covered in studies(150, 1).items():
        assert covered >= 0.90, name
        assert covered <= 1.0 if "share" in name else covered <= 0.995, name


def test_designs_that_may_fail_in_so_many_samples_keep_their_probability():
    # 99 % confidence: of 100 studies at most 4 may go wrong, but for one in 250
    assert kept(100, 2) >= 0.96


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for name, covered in studies(times, 7).items():
        print(f"{name:16} {100 * covered:.1f} % of {times} studies covered")
    print(f"probability kept {100 * kept(times, 8):.1f} % of {times} studies")
