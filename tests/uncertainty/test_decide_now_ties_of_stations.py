"""One design of a station for all samples: of those that are as good the tie rule takes the cheapest."""

from __future__ import annotations

from typing import Any

import pytest

import dse

STATION: dict[str, Any] = {
    "model": "sockets",
    "machine": {
        "a": {
            "integer_rate": 3e8,
            "energy_per_integer_operation": 1.5e-10,
            "idle_energy_per_integer_operation": 1.5e-11,
            "cost_per_integer_rate": 1.5e-08,
        }
    },
    "given": {
        "levels": [{"name": "full", "frequency": 1.0, "voltage": 1.0}],
        "cards": [
            {"name": "c4", "sockets": 4, "cost": 25.4, "power": 0.49},
            {"name": "c8", "sockets": 8, "cost": 9.0, "power": 0.2},
        ],
        "power_step": 1.9,
        # steps of power cost nothing: their number alone has no end
        "cost_per_power_step": 0.0,
        "supply_efficiency": 0.8,
    },
    "decide": {f"sockets.a.full.{card}": {"max": 24} for card in ("c4", "c8")},
}


@pytest.mark.parametrize("ties", [{}, {"ties": ["cost"]}])
@pytest.mark.parametrize("aim", [{"maximize": "types"}, {"minimize": "cards"}])
def test_what_costs_nothing_and_has_no_end_hides_no_cheaper_design(
    aim: dict[str, str], ties: dict[str, list[str]]
):
    uncertain = {
        "uncertain": {"machine.a.integer_rate": {"values": [3e8]}},
        "objective": aim | ties | {"measure": "mean"},
    }
    for asked in (STATION | {"objective": aim | ties}, STATION | uncertain):
        found = dse.solve(asked)
        assert found.status == "optimal"
        # one socket (4.5 USD) on the cheaper card (9 USD), by hand
        assert found.metrics["cost"] == pytest.approx(13.5, rel=1e-9)
        assert {name for name, value in found.variables.items() if value} == {
            "sockets.a.full.c8",
            "cards.a.full.c8",
            "power_steps",
        }
