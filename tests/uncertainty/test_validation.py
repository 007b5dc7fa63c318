"""A fixed design on fresh samples, beside closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from plain_roofline import RUN
from scipy.special import ndtr, ndtri

import dse
import scenarios
from formulations.uncertainty import worlds
from scenarios.uncertainty.promises import Promise
from solvers.robust import validation

# two inputs of the roofline model: time = maximum(flops * time_per_flop, bytes * time_per_byte)
QUESTION = {
    **RUN,
    "given": {"flops": 1e12, "intensity": 1000.0},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "1.2 s"}},
}


def fresh(spread: float, count: int, seed: int) -> worlds.Worlds:
    question = scenarios.grid(dse.Scenario(**QUESTION)).question(())
    steps = np.random.default_rng(seed).standard_normal(count)
    values = {"machine.time_per_flop": 1e-12 * np.exp(math.log(spread) * steps)}
    return worlds.of_values(question, values)


def test_the_probability_of_a_limit_and_the_quantiles_of_the_objective():
    # time = 1 s times a lognormal number; energy = 10 J + 0.1 J + 10 W * time
    (found,) = validation.validated(fresh(1.2, 10_000, 7), {}, [Promise(("time",), 0.8, 0.99)], 7)
    (kept,) = found.limits
    truth = float(ndtr(1.0))  # log 1.2 / log 1.2 standard deviations
    assert kept.held.low <= truth <= kept.held.high
    assert not kept.broken
    assert found.mean is not None
    s = math.log(1.2)
    assert found.mean.low <= 10.1 + 10.0 * math.exp(s * s / 2) <= found.mean.high
    for of, told in found.quantiles.items():
        assert told.low <= 10.1 + 10.0 * math.exp(s * float(ndtri(of))) <= told.high


def test_a_promise_that_fresh_samples_contradict():
    (found,) = validation.validated(fresh(1.2, 10_000, 6), {}, [Promise(("time",), 0.9, 0.99)], 6)
    assert [k.names for k in found.broken] == [("time",)]
    assert found.broken[0].words.startswith("time holds in 83.8 % of fresh samples")
    assert found.broken[0].words.endswith("90.0 % was asked")
    assert found.told()["limits"][0]["broken"]


def test_limits_together_and_limits_that_nobody_asked_a_probability_of():
    question = {**QUESTION, "limits": {"time": {"max": "1.2 s"}, "energy": {"max": "20 J"}}}
    nominal = scenarios.grid(dse.Scenario(**question)).question(())
    random = np.random.default_rng(7)
    values = {
        "machine.time_per_flop": 1e-12 * np.exp(0.1 * random.standard_normal(4000)),
        "machine.energy_per_flop": 1e-11 * np.exp(0.1 * random.standard_normal(4000)),
    }
    fresh_ones = worlds.of_values(nominal, values)
    at = worlds.judged(fresh_ones, {})
    both = (at.metrics["time"] <= 1.2) & (at.metrics["energy"] <= 20.0)
    (found,) = validation.validated(fresh_ones, {}, [Promise(("time", "energy"), 0.5, 0.99)], 7)
    joint, *alone = found.limits
    assert joint.held.value == pytest.approx(float(both.mean()))
    assert {k.names for k in alone} == {("time",), ("energy",)}
    assert all(k.asked is None and not k.broken for k in alone)
