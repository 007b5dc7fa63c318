"""Quantiles of what may be negative, or has no value at some designs: bounded as they stand, and proved."""

from __future__ import annotations

import numpy as np
import pytest

import dse
from results.solution import Status


@pytest.mark.parametrize(("goal", "most"), [("maximize", 1000.0), ("maximize", 5.0), ("minimize", 1000.0)])
def test_a_quantile_of_what_may_be_negative_is_proved(goal: str, most: float) -> None:
    """No logarithm bounds it. Fewer than five units bring less than they cost, whatever the price."""
    machine = dict.fromkeys(("time_per_flop", "energy_per_flop", "time_per_byte", "energy_per_byte"), 1e-12)
    sign = 1.0 if goal == "maximize" else -1.0
    source = {
        "model": "roofline",
        "machine": {**machine, "constant_power": 1.0},
        "given": {"flops": 1.0, "bytes": 1.0, "fac": 1.0},
        "decide": {
            "units": {"integer": True, "min": 1.0, "max": most},
            "ask_price": {"min": 50.0, "max": 2000.0},
        },
        "define": {
            "sold": "units * (ask_price / 100)**1.7 / 4.7e4",
            "gain": f"{sign} * (units * ask_price - (1.54e+04 + 60 * units) * fac)",
        },
        "objective": {goal: "gain", "quantile": 0.75},
        "limits": {"sold": {"max": 1.0}},
        "uncertain": {"fac": {"lognormal": [1.0, 1.08]}, "sampling": {"samples": 24, "method": "random"}},
    }
    found = dse.solve(dse.load(source))
    assert found.status is Status.OPTIMAL
    assert found.objective is not None
    units, price = (float(found.variables[n]) for n in ("units", "ask_price"))
    cost = (units * price - sign * found.objective) / (15_400 + 60 * units)
    every = np.arange(1.0, most + 1.0)
    prices = np.minimum(100.0 * (4.7e4 / every) ** (1 / 1.7), 2000.0)
    best = (every * prices - (15_400 + 60 * every) * cost).max()
    assert sign * found.objective == pytest.approx(best, rel=1e-7)


def test_a_quantile_of_what_has_no_value_everywhere_is_proved() -> None:
    """A root of a difference is a number at a part of the designs only, and large at the best ones."""
    machine = dict.fromkeys(("time_per_flop", "energy_per_flop", "time_per_byte", "energy_per_byte"), 1e-12)
    source = {
        "model": "roofline",
        "machine": {**machine, "constant_power": 1.0},
        "given": {"flops": 1.0, "bytes": 1.0, "fac_0": 1.0, "fac_1": 1.0},
        "decide": {n: {"min": 1.0, "max": 50.0} for n in ("aa", "bb")},
        "define": {"spend": "(aa * 2.69 + bb * 1.36) * fac_1", "use": "sqrt(aa**2 - bb**2) * fac_0 * bb"},
        "objective": {"maximize": "use", "quantile": 0.75},
        "limits": {"spend": {"max": 124.8}},
        "uncertain": {
            "fac_0": {"lognormal": [1.0, 1.08]},
            "fac_1": {"uniform": [0.85, 1.15]},
            "sampling": {"samples": 24, "method": "random"},
        },
    }
    found = dse.solve(dse.load(source))
    assert found.status is Status.OPTIMAL
    assert found.objective is not None
    # spend holds in the dearest sample, and the level of the first factor is the same at every design
    aa, bb = (float(found.variables[n]) for n in ("aa", "bb"))
    level, budget = found.objective / (np.sqrt(aa**2 - bb**2) * bb), 2.69 * aa + 1.36 * bb
    b = np.linspace(1.0, 50.0, 200_001)
    a = (budget - 1.36 * b) / 2.69
    assert found.objective == pytest.approx(
        np.nanmax(np.sqrt(np.maximum(a**2 - b**2, 0.0)) * b) * level, rel=1e-6
    )
