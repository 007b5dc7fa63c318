"""Limits on whole numbers that the best design meets exactly: a value that an answer told is asked as a limit."""

from __future__ import annotations

from typing import Any

import pytest

import dse

SHARED = {
    "lifetime": 1e8,
    "peak_share": 0.8,
    "idle_share": 0.2,
    "energy_price": 4e-8,
    "card_failures": 2e-9,
    "power_step_failures": 1e-8,
}
FULL, LOW = (
    {"name": "full", "frequency": 1, "voltage": 1},
    {"name": "low", "frequency": 0.6, "voltage": 0.8},
)


def _type(rate: float, energy: float, idle: float, cost: float = 8e-8) -> dict[str, float]:
    return {
        "integer_rate": rate,
        "energy_per_integer_operation": energy,
        "idle_energy_per_integer_operation": idle,
        "cost_per_integer_rate": cost,
    }


def _card(name: str, sockets: int, cost: float, power: float) -> dict[str, Any]:
    return {"name": name, "sockets": sockets, "cost": cost, "power": power}


# machines, what is given, upper ends, what is made greatest, the limit, and the greatest of all designs tried
EXACT = {
    "efficiency of one socket": (
        {"a": _type(1e8, 1e-10, 5e-11), "b": _type(4e8, 1.2e-9, 2.4e-10)},
        {"power_step": 0.25, "cost_per_power_step": 25.0, "socket_failures": 1e-9, "supply_efficiency": 1}
        | {"levels": [FULL], "cards": [_card("k4", 1, 3, 0)]},
        {"a.full.k4": 8, "b.full.k4": 8},
        "cost",
        {"efficiency": {"min": 1020408163.2653061}},
        813.1904,
    ),
    "failures of eighteen cards": (
        {"a": _type(2e8, 2e-10, 0.0)},
        {"power_step": 0.5, "cost_per_power_step": 25.0, "socket_failures": 0, "supply_efficiency": 0.92}
        | {"levels": [FULL], "cards": [_card("k4", 3, 0, 0.2)]},
        {"a.full.k4": 60},
        "cards",
        {"mttf": {"min": 6024096.385542168}},
        18.0,
    ),
    "idle power of several cards": (
        {"a": _type(5e8, 2e-10, 4.0000000000000004e-11), "b": _type(1e8, 2e-9, 4.0000000000000007e-10, 4e-8)},
        {"power_step": 1.0, "cost_per_power_step": 0, "socket_failures": 1e-10, "supply_efficiency": 0.92}
        | {"levels": [FULL], "cards": [_card("k4", 1, 3, 0.05), _card("k8", 8, 15, 0.1)]},
        dict.fromkeys(("a.full.k4", "a.full.k8", "b.full.k4", "b.full.k8"), 8),
        "power",
        {"idle_power": {"max": 0.6086956521739131}},
        2.1739130434782608,
    ),
    "efficiency that was called impossible": (
        {"a": _type(2e8, 1.2e-9, 6e-10)},
        {"power_step": 1.0, "cost_per_power_step": 0, "socket_failures": 1e-9, "supply_efficiency": 0.5}
        | {"lifetime": 0, "energy_price": 0, "card_failures": 0}
        | {"levels": [FULL, LOW], "cards": [_card("k4", 3, 0, 0), _card("k8", 8, 4, 0.1)]},
        dict.fromkeys(("a.full.k4", "a.full.k8", "a.low.k4", "a.low.k8"), 24),
        "cards",
        {"efficiency": {"min": 422297297.2972973}},
        8.0,
    ),
}


@pytest.mark.parametrize("case", EXACT)
def test_the_best_design_may_meet_a_limit_exactly(case: str):
    machine, given, ends, goal, limits, greatest = EXACT[case]
    asked = {
        "model": "sockets",
        "machine": machine,
        "given": SHARED | given,
        "decide": {f"sockets.{name}": {"max": most} for name, most in ends.items()},
        "objective": {"maximize": goal},
        "limits": limits,
    }
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(greatest, rel=1e-12)
    assert all(state.slack is None or state.slack >= -1e-9 for state in found.limits.values())


def test_a_ratio_may_be_best_where_a_limit_is_met_exactly():
    """Dollars per throughput: a bound of 167.1n was told, which this design breaks."""
    found = dse.solve(
        {
            "model": "sockets",
            "machine": {
                "a": _type(4e8, 5e-10, 1.0000000000000002e-10, 2e-8),
                "b": _type(4e8, 5e-10, 5e-10, 2e-8),
            },
            "given": SHARED
            | {"power_step": 0.25, "cost_per_power_step": 25.0, "energy_price": 0, "supply_efficiency": 0.5}
            | {
                "socket_failures": 1e-10,
                "levels": [FULL],
                "cards": [_card("k4", 4, 10, 0.2)],
                "card_power_limit": 1.0,
            },
            "decide": {f"sockets.{name}.full.k4": {"max": 24} for name in "ab"},
            "define": {"spent": "cost / throughput"},
            "objective": {"maximize": "spent"},
            "limits": {"efficiency": {"min": 7.5e8}},
        }
    )
    assert found.status == "optimal"
    # the greatest of all designs within the limit, tried one by one
    assert found.objective == pytest.approx(1.7436666666666667e-07, rel=1e-12)
    assert found.bound == pytest.approx(found.objective, rel=1e-12)
