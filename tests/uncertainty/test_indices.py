"""Sobol' indices beside closed forms and SciPy's own."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import sobol_indices

from results.uncertainty import indices

Function = Callable[[np.ndarray], np.ndarray]


def values_of(f: Function, d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u = indices.matrices(n, d, seed)
    y = f(u.reshape(-1, d)).reshape(d + 2, n)
    return y[0], y[1], y[2:]


def ishigami(u: np.ndarray) -> np.ndarray:
    x = math.pi * (2 * u - 1)
    return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


A, B = 7.0, 0.1
V = 0.5 + A**2 / 8 + B * math.pi**4 / 5 + B**2 * math.pi**8 / 18
V1, V2 = 0.5 * (1 + B * math.pi**4 / 5) ** 2, A**2 / 8
V13 = B**2 * math.pi**8 * (1 / 18 - 1 / 50)
ISHIGAMI = ((V1 / V, V2 / V, 0.0), ((V1 + V13) / V, V2 / V, V13 / V))

G = (0.0, 1.0, 4.5, 9.0)


def g_function(u: np.ndarray) -> np.ndarray:
    return np.prod([(np.abs(4 * u[:, i] - 2) + a) / (1 + a) for i, a in enumerate(G)], axis=0)


def g_indices() -> tuple[list[float], list[float]]:
    partial = [1 / (3 * (1 + a) ** 2) for a in G]
    whole = math.prod(1 + p for p in partial) - 1
    total = [p * math.prod(1 + q for j, q in enumerate(partial) if j != i) for i, p in enumerate(partial)]
    return [p / whole for p in partial], [t / whole for t in total]


@pytest.mark.parametrize(("f", "d", "truth"), [(ishigami, 3, ISHIGAMI), (g_function, 4, g_indices())])
def test_known_indices_lie_within_their_intervals(
    f: Function, d: int, truth: tuple[list[float], list[float]]
):
    found = indices.of(*values_of(f, d, 2048, 1))
    assert found is not None
    for told, known in zip(found[:2], truth, strict=True):
        for estimate, value in zip(told, known, strict=True):
            # the interval, and what 2048 rows are good for
            assert estimate.low - 1e-12 <= value <= estimate.high + 1e-12
            assert estimate.value == pytest.approx(value, abs=0.03)


def test_the_same_numbers_as_scipy():
    a, b, ab = values_of(ishigami, 3, 512, 3)
    found = indices.of(a, b, ab)
    theirs = sobol_indices(func={"f_A": a[None], "f_B": b[None], "f_AB": ab[:, None]}, n=512)
    assert found is not None
    assert [e.value for e in found[0]] == pytest.approx(
        theirs.first_order.ravel().tolist(), rel=1e-9, abs=1e-12
    )
    assert [e.value for e in found[1]] == pytest.approx(theirs.total_order.ravel().tolist(), rel=1e-9)
    bootstrap = theirs.bootstrap(n_resamples=400)
    widths = np.array([e.high - e.low for e in found[1]])
    interval = bootstrap.total_order.confidence_interval
    assert widths == pytest.approx((interval.high - interval.low).ravel(), rel=0.25)


def test_groups_of_rows_give_the_intervals_of_rows(monkeypatch: pytest.MonkeyPatch):
    rows = values_of(ishigami, 3, 1024, 4)
    alone = indices.of(*rows)
    monkeypatch.setattr(indices, "BLOCKS", 128)
    grouped = indices.of(*rows)
    assert alone is not None
    assert grouped is not None
    for one, other in zip(alone[0] + alone[1], grouped[0] + grouped[1], strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-12)
        assert one.high - one.low == pytest.approx(other.high - other.low, rel=0.3)


def test_intervals_cover_independent_samples_about_as_often_as_they_say():
    random, hits = np.random.default_rng(5), 0
    for study in range(60):
        u = random.random((2, 200, 3))
        both = np.repeat(u[:1], 5, axis=0)
        both[1] = u[1]
        for i in range(3):
            both[i + 2, :, i] = u[1, :, i]
        y = ishigami(both.reshape(-1, 3)).reshape(5, 200)
        found = indices.of(y[0], y[1], y[2:], seed=study)
        assert found is not None
        hits += found[1][1].low <= ISHIGAMI[1][1] <= found[1][1].high
    # 95 % of 60 is 57; fewer than 50 or so happens once in ten thousand
    assert hits >= 50


def test_what_does_not_vary_has_no_indices():
    assert indices.of(np.ones(8), np.ones(8), np.ones((2, 8))) is None


def test_of_a_number_that_varies_in_one_row_the_interval_says_nothing():
    """Most resamples of the rows have no variance then: neither a division by zero nor a narrow interval."""
    y = np.full((4, 256), 3.0)
    y[0, 17] = 4.0
    with np.errstate(all="raise"):
        found = indices.of(y[0], y[1], y[2:])
    assert found is not None
    assert all(e.interval == (0.0, 1.0) for estimates in found[:2] for e in estimates)
    assert all(math.isfinite(e.value) for estimates in found[:2] for e in estimates)


@pytest.mark.parametrize("centre", [0.0, 1.0, -7e12])
def test_a_number_that_does_not_vary_has_none(centre: float):
    y = np.full((4, 256), centre)
    assert indices.of(y[0], y[1], y[2:]) is None
    y[0, 17] += 1e-9 * centre
    assert indices.of(y[0], y[1], y[2:]) is None


@pytest.mark.parametrize("seed", range(1, 7))
def test_what_acts_once_in_thousands_may_share_any_part(seed: int):
    """A burst of 100 with probability 1e-4 has 92.6 % of the variance; in 1024 rows it may not be drawn at all."""
    u = indices.matrices(1024, 2, seed)
    burst, scale = np.where(u[..., 0] > 0.9999, 100.0, 1.0), 0.5 + u[..., 1]
    y = burst * scale
    found = indices.of(y[0], y[1], y[2:], moved=np.array([burst[0] != burst[1], scale[0] != scale[1]]))
    assert found is not None
    for (rare, other), (one, rest) in zip(found[:2], [(0.855, 0.074), (0.926, 0.145)], strict=True):
        assert rare.low <= one <= rare.high
        assert other.low <= rest <= other.high


def test_what_is_drawn_in_all_rows_and_acts_in_none_has_no_share():
    u = indices.matrices(256, 2, 1)
    found = indices.of(u[0, :, 0], u[1, :, 0], u[2:, :, 0])
    assert found is not None
    assert found[1][1] == (0.0, 0.0, 0.0)
