"""What limits are worth at designs that boxes or secants prove best: beside the difference of two optima."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dse

QUESTION: dict[str, Any] = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"max": 2048}, "memory": {}},
    "uncertain": {
        "machine.time_per_flop": {"uniform": ["2.52 ps/flop", "4.11 ps/flop"]},
        "machine.energy_per_flop": {"uniform": ["185 pJ/flop", "378 pJ/flop"]},
        "machine.time_per_word": {"loguniform": ["156 ps/word", "1.25 ns/word"]},
        "sampling": {"samples": 128},
    },
}
MEAN_POWER = {"mean_power": {"of": "power", "measure": "mean"}}
STEP = 1.002


def solved(objective: dict[str, Any], limits: dict[str, Any], **more: Any) -> Any:
    return dse.solve(dse.load({**QUESTION, "objective": objective, "limits": limits, **more}))


@pytest.mark.parametrize(
    ("objective", "limits"),
    [
        ({"minimize": "power", "measure": "mean"}, {"time": {"max": 0.05}, "energy": {"max": "20 kJ"}}),
        ({"minimize": "power", "cvar": 0.9}, {"time": {"max": 0.05}}),
        ({"minimize": "time", "measure": "mean", "measures": MEAN_POWER}, {"mean_power": {"max": 2e4}}),
        (
            {"maximize": "performance", "measure": "mean", "measures": MEAN_POWER},
            {"mean_power": {"max": 2e4}},
        ),
    ],
)
def test_a_limit_is_worth_what_relaxing_it_brings(objective: dict[str, Any], limits: dict[str, Any]) -> None:
    found = solved(objective, limits)
    assert found.status == "optimal"
    assert "sensitivities from the first-order conditions at the design" in found.certificate
    assert "one of the equally good designs is reported" in found.certificate
    for name in limits:
        eased = {**limits, name: {"max": found.limits[name].bound * STEP}}
        rate = math.log(solved(objective, eased).objective / found.objective) / math.log(STEP)
        assert found.limits[name].elasticity == pytest.approx(rate, abs=1e-3)
    assert any(abs(found.limits[n].elasticity) > 0.5 for n in limits)


def test_relaxing_a_probable_limit_brings_at_least_what_it_is_worth() -> None:
    goal, level = {"minimize": "time", "measure": "mean"}, {"probability": 0.9, "confidence": 0}
    found = solved(goal, {"power": {"max": 2e4, **level}})
    assert found.status == "optimal"
    assert "for a fixed set of failing samples" in found.certificate
    assert found.limits["power"].one_sided
    eased = solved(goal, {"power": {"max": 2e4 * STEP, **level}})
    rate = math.log(eased.objective / found.objective) / math.log(STEP)
    assert -1.1 < found.limits["power"].elasticity < -0.9
    assert rate <= found.limits["power"].elasticity + 3e-3


def test_whole_numbers_have_none_and_the_answer_says_so() -> None:
    decide = {"processors": {"max": 2048, "integer": True}, "memory": {}}
    limits = {"power": {"max": 2e4, "probability": 0.9, "confidence": 0}}
    found = solved({"minimize": "time", "measure": "mean"}, limits, decide=decide)
    assert found.limits["power"].elasticity is None
    assert "no sensitivities: whole numbers and listed values change by jumps" in found.certificate


def test_a_limit_that_is_worth_nothing_relaxed_and_something_tightened_is_told_one_way() -> None:
    question: dict[str, Any] = {
        "model": "matmul",
        "machine": "h100-sxm-bf16",
        "given": {"order": 35000},
        "uncertain": {
            "machine.energy_per_word": {"values": ["335.9375 pJ/word", "378.024 pJ/word"]},
            "sampling": {"samples": 64},
        },
        "decide": {"processors": {"min": 1, "max": 1024}, "memory": {"max": "64 GiB"}},
        "objective": {"minimize": "energy", "measure": "mean"},
    }
    found = dse.solve(dse.load(question))
    limit = found.limits["processors.min"]
    assert limit.binding
    assert limit.elasticity == pytest.approx(0, abs=1e-6)
    assert limit.one_sided
    tightened = {"processors": {"min": 1.01, "max": 1024}, "memory": {"max": "64 GiB"}}
    assert dse.solve(dse.load({**question, "decide": tightened})).objective > found.objective * (1 + 1e-4)
