"""Steps of a power supply that one design has for all samples: enough in the worst one, more than others need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

import dse
from results.solution import Status

SAMPLES = 16
EFFICIENCIES = 0.85 + 0.1 * qmc.Sobol(1, scramble=True, rng=np.random.default_rng(0)).random(SAMPLES)[:, 0]
"""The uniform efficiencies of the supply that the questions draw."""
STEP, PRICE, SOCKETS, CARD, CARD_COST, CARD_POWER = 1e3, 200.0, 64, "of 64", 37.6, 0.082


def asked(objective: dict[str, Any], limits: dict[str, Any], *, uncertain: bool = True) -> dict[str, Any]:
    return {
        "model": "sockets",
        "machine": {"omap3503": "omap3503"},
        "given": {
            "supply_efficiency": float(EFFICIENCIES.min()),
            "power_step": STEP,
            "cost_per_power_step": PRICE,
            "levels": [{"name": "full", "frequency": 1.0, "voltage": 1.0}],
            "cards": [{"name": CARD, "sockets": SOCKETS, "cost": CARD_COST, "power": CARD_POWER}],
        },
        "objective": objective,
        "limits": limits,
    } | (
        {"uncertain": {"supply_efficiency": {"uniform": [0.85, 0.95]}, "sampling": {"samples": SAMPLES}}}
        if uncertain
        else {}
    )


@pytest.mark.parametrize("least", [5e12, 2e13])
def test_a_supply_for_the_worst_sample_is_no_conflict(least: float):
    """The station is that of the least efficient sample; its last step may be idle in all others."""
    limits = {"throughput": {"min": least}}
    found = dse.solve(asked({"minimize": "cost", "measure": "mean"}, limits))
    worst = dse.solve(asked({"minimize": "cost"}, limits, uncertain=False))
    assert found.status is worst.status is Status.OPTIMAL
    assert found.variables == worst.variables
    assert found.objective == pytest.approx(worst.objective, rel=1e-9)
    drawn = worst.metrics["power"] * EFFICIENCIES.min()
    steps = [math.ceil(drawn / e / STEP - 1e-9) for e in EFFICIENCIES]
    assert found.variables["power_steps"] == max(steps) > min(steps)
    assert "started is no limit here" in found.certificate
    assert not found.waived


def test_the_most_throughput_of_a_station_is_not_held_back_by_its_supply():
    """Within a mean power: as many sockets as have it, though the steps for them are not all needed in each sample."""
    found = dse.solve(
        asked(
            {
                "maximize": "throughput",
                "measure": "mean",
                "measures": {"mean_power": {"of": "power", "measure": "mean"}},
            },
            {"mean_power": {"max": 2.99e3}},
        )
    )
    alone = dse.solve(asked({"maximize": "throughput"}, {"power": {"max": 990.0}}, uncertain=False))
    # power is proportional to sockets and their cards
    per_socket = alone.metrics["power"] * EFFICIENCIES.min() / alone.metrics["sockets"]
    mean = per_socket * (1 / EFFICIENCIES).mean()
    assert found.status is Status.OPTIMAL
    assert found.metrics["sockets"] == pytest.approx(2.99e3 / mean, rel=2e-3)


def test_a_mean_that_is_the_same_in_every_sample_is_a_limit_like_others():
    """The MTTF depends on the number of sockets alone: its mean is met, and broken, as it is itself."""
    failing = {"socket_failures": 2.8e-10, "card_failures": 5.6e-11}
    several: dict[str, Any] = {}
    for name, measures in (("mttf", {}), ("mean_mttf", {"mean_mttf": {"of": "mttf", "measure": "mean"}})):
        for least in (1e5, 1e7):
            goal = {"minimize": "cost", "measure": "mean"} | ({"measures": measures} if measures else {})
            question = asked(goal, {"throughput": {"min": 1e12}, name: {"min": least}})
            several[name, least] = dse.solve(question | {"given": question["given"] | failing})
    for least in (1e5, 1e7):
        plain, mean = several["mttf", least], several["mean_mttf", least]
        assert plain.status is mean.status
        assert plain.variables == mean.variables
        renamed = [tuple(n.removeprefix("mean_") for n in names) for names in mean.conflicts]
        assert renamed == list(plain.conflicts)
    assert several["mean_mttf", 1e5].status is Status.OPTIMAL
    assert several["mean_mttf", 1e7].conflicts == (("throughput", "mean_mttf"),)


@pytest.mark.parametrize("may_fail", [{}, {"probability": 0.5, "confidence": 0}])
def test_the_cost_that_would_do_does_where_a_type_runs_at_one_of_two_levels(may_fail: dict[str, Any]):
    """Sockets of two levels at once would be cheaper, and are no design."""
    question = asked({"minimize": "power", "measure": "mean"}, {"throughput": {"min": 1.386e10}})
    levels = [
        {"name": "low", "frequency": 0.6, "voltage": 0.8},
        {"name": "full", "frequency": 1.0, "voltage": 1.0},
    ]
    given = {"levels": levels, "power_step": 20.0, "lifetime": 4.73e8, "energy_price": 4.17e-8}
    shares = {"peak_share": 0.8, "idle_share": 0.2}
    question |= {
        "given": question["given"] | given | shares,
        "uncertain": {
            "machine.omap3503.energy_per_integer_operation": {"uniform": [1.68e-9, 3.36e-9]},
            "sampling": {"samples": 8, "seed": 72},
        },
    }

    def told(most: float) -> Any:
        return dse.solve(question | {"limits": question["limits"] | {"cost": {"max": most, **may_fail}}})

    found = told(300.0)
    assert found.conflicts == (("throughput", "cost"),)
    cost = found.conflict["cost"]
    assert cost is not None
    assert told(cost * (1 + 1e-7)).status is Status.OPTIMAL
    assert told(cost * (1 - 1e-6)).status is Status.INFEASIBLE


def test_the_least_power_is_found_whatever_steps_the_supply_has():
    """Nothing ends the steps above, and nothing asks for few: HiGHS never came back from its search."""
    chip = {
        "base": "imx515",
        "integer_rate": 1139500100.321553,
        "energy_per_integer_operation": 2.113306451414611e-09,
        "idle_energy_per_integer_operation": 5.569659314306385e-10,
    }
    levels = [("full", 1.0, 1.0), ("low", 0.6, 0.8)]
    plain: dict[str, Any] = {
        "model": "sockets",
        "machine": {"a": chip},
        "given": {
            "levels": [{"name": n, "frequency": f, "voltage": v} for n, f, v in levels],
            "cards": [{"name": "s", "sockets": 2, "cost": 5.0, "power": 0.5}],
            "supply_efficiency": 0.9,
            "power_step": 20.0,
        },
        "objective": {"minimize": "power"},
        "limits": {"throughput": {"min": 5548903860.542033}},
    }
    least = dse.solve(plain)
    spread = {"sampling": {"samples": SAMPLES}, "supply_efficiency": {"uniform": [0.85, 0.95]}}
    found = dse.solve(plain | {"objective": {"minimize": "power", "measure": "mean"}, "uncertain": spread})
    assert found.status is Status.OPTIMAL
    # whatever the efficiency is, the same sockets draw the least power
    assert found.objective == pytest.approx(least.objective * 0.9 * (1 / EFFICIENCIES).mean(), rel=1e-9)
