"""Limits that hold a metric of whole numbers to one value, which no design has: the search for one comes to an end."""

from __future__ import annotations

import pytest

import dse

BLOCKS = {
    "model": "blocks",
    "machine": {
        "a": {
            "time_per_flop": 4e-11,
            "time_per_byte": 4.8e-10,
            "energy_per_flop": 2e-10,
            "energy_per_byte": 1.3e-10,
            "constant_power": 49.8,
        },
        "b": {
            "time_per_flop": 1e-11,
            "time_per_byte": 2.32e-10,
            "energy_per_flop": 3.62e-11,
            "energy_per_byte": 1e-10,
            "constant_power": 1.04,
            "usable_power": 5.0,
        },
    },
    "given": {"flops": 6.9e9, "bytes": 3.1e9, "fixed_power": 84.0, "throttle": 2},
    "decide": {"count.a": {"max": 12}, "count.b": {"max": 8}},
    "objective": {"maximize": "bandwidth"},
}
STATION = {
    "model": "sockets",
    "machine": {
        "a": {
            "integer_rate": 2.1e9,
            "energy_per_integer_operation": 2.6e-11,
            "idle_energy_per_integer_operation": 7.8e-12,
            "cost_per_integer_rate": 8e-8,
        }
    },
    "given": {
        "levels": [
            {"name": "full", "frequency": 1.0, "voltage": 1.0},
            {"name": "low", "frequency": 0.75, "voltage": 0.8},
        ],
        "cards": [{"name": "c4", "sockets": 1, "cost": 30.0, "power": 4.2}],
        "power_step": 12.0,
        "cost_per_power_step": 0.0,
        "supply_efficiency": 0.9,
    },
    "decide": {f"sockets.a.{level}.c4": {"max": 12} for level in ("full", "low")},
    "objective": {"minimize": "types"},
}


@pytest.mark.parametrize(
    ("asked", "metric", "value"),
    [
        (BLOCKS, "energy", 25.364138156028364),
        (BLOCKS, "energy", 25.0),
        (STATION, "efficiency", 372212870.0292212),
        (STATION, "efficiency", 4e8),
    ],
)
def test_a_value_that_no_design_has_is_impossible_and_another_is_named(
    asked: dict[str, object], metric: str, value: float
):
    """It took minutes, or did not end: HiGHS drew in the ends of counts one by one where their bounds may give."""
    found = dse.solve({**asked, "limits": {metric: {"min": value, "max": value}}})
    assert found.status == "infeasible"
    enough = found.conflict[metric]
    assert enough is not None
    low, high = sorted((value, enough))
    assert dse.solve({**asked, "limits": {metric: {"min": low, "max": high}}}).status == "optimal"


def test_a_value_that_a_design_has_is_met_however_far_counts_may_go():
    """One socket alone has it; nothing bounds their number."""
    exactly = {"efficiency": {"min": 334991583.026299, "max": 334991583.026299}}
    found = dse.solve({**STATION, "decide": {}, "objective": {"minimize": "cost"}, "limits": exactly})
    assert found.status == "optimal"
    assert found.metrics["efficiency"] == pytest.approx(334991583.026299, rel=1e-8)
    # a card of 30 USD, and 2.1e9 op/s at 8e-8 USD s/op
    assert found.objective == pytest.approx(198.0, rel=1e-12)
