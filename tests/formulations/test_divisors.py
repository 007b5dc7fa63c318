"""Divisors that are sums, in many worlds at once: as parts of one number for each term, or world by world."""

from __future__ import annotations

import numpy as np
import pytest

from dse.system.arrays import Array
from formulations.canonical import Divisor

COORDINATES = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])


def _in_worlds(
    part: Array, top: Array, z_low: Array, z_high: Array
) -> tuple[Divisor, list[Divisor], Array, Array]:
    together = Divisor(0, np.zeros(2), COORDINATES, top[None, None], part[None])
    with np.errstate(divide="ignore"):
        alone = [Divisor(0, np.zeros(2), COORDINATES, top + np.log(one)) for one in part]
    slope, cut = together.secant(z_low[None, None], z_high[None, None])
    return together, alone, slope[0], cut[0]


def test_a_divisor_in_many_worlds_has_secants_and_tangents_of_each_world():
    rng = np.random.default_rng(0)
    part, top = rng.uniform(0.1, 1.0, (50, 3)), np.array([1.0, -3.0, 2.0])
    low, high = np.array([-2.0, -1.0]), np.array([1.0, 3.0])
    together, alone, slope, cut = _in_worlds(part, top, low, high)
    touching = together.tangent(low[None, None])
    for w, one in enumerate(alone):
        for found, wanted in zip((slope[w], cut[w]), one.secant(low, high), strict=True):
            assert found == pytest.approx(wanted, rel=1e-12)
        for found, wanted in zip((touching[0][0, w], touching[1][0, w]), one.tangent(low), strict=True):
            assert found == pytest.approx(wanted, rel=1e-12)


def test_a_secant_lies_above_where_the_largest_term_is_in_other_worlds_only():
    # the second world has nothing but the first term, 1e800 times smaller than the second one is elsewhere
    part, top = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]), np.zeros(3)
    low, high = np.array([-1.0, -1.0]), np.array([2000.0, 1.0])
    _, (_, alone), slope, cut = _in_worlds(part, top, low, high)
    assert np.isfinite(slope).all()
    assert np.isfinite(cut).all()
    for z in np.linspace(low, high, 9):
        assert slope[1] @ z + cut[1] >= alone.height(z) - 1e-9
