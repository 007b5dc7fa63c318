"""Stations that cannot be: a sweep names the limits in conflict itself, without asking each point alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dse
import scenarios
from results.dataset import CONFLICTING
from results.solution import Status
from solvers.answer import answer


def test_a_limit_alone_is_shown_to_hold_although_the_other_one_forbids_that_many_things():
    asked = dse.load("station_least_cost_in_10_kw").model_dump(exclude_none=True, exclude_defaults=True)
    ends = {"path": "limits.throughput.min", "factors": [1.0, 3.0, 4.0, 5.0, 6.0, 8.0]}
    cards = {"path": "given.card_power_limit", "factors": [0.5, 1.0, 2.0]}
    grid = scenarios.grid(dse.Scenario(**asked, sweep={"asked_for": ends, "card_limit": cards}))
    swept = dse.sweep(dse.Scenario(**asked, sweep={"asked_for": ends, "card_limit": cards}))
    words = swept["status"].attrs["flag_meanings"].split()
    assert [words[int(v)] for v in swept["status"].values[4]] == ["infeasible"] * 3
    assert json.loads(swept.attrs.get("left_over", "{}")) == {}
    found = answer(grid.question((4, 2)))
    clash = swept["binding"].values[4, 2] == CONFLICTING
    assert set(swept["limit"].values[clash]) == set(found.conflicts[0]) == {"throughput", "power"}
    values = dict(zip(swept["limit"].values[clash], swept["would_do"].values[4, 2][clash], strict=True))
    for name, value in values.items():
        # HiGHS minimises within 1e-6 of what a row adds up
        assert value == pytest.approx(found.conflict[name], rel=1e-5)


def test_a_type_that_no_card_takes_is_impossible_however_many_there_are():
    """No limit ends the numbers of a station at least cost: the proof is that a card of that type draws too much."""
    asked = dse.load("station_least_cost").model_dump(exclude_none=True, exclude_defaults=True)
    asked["given"]["card_power_limit"] = "6.7 W"
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert {a.choice["machine.socket"]: a.status for a in found.alternatives}["atom-n450"] == "infeasible"


def _station(throughput: float, most: float) -> dict[str, Any]:
    return {
        "model": "sockets",
        "machine": {"imx": "imx515-exabounds2012"},
        "given": {
            "operations": "integer",
            "levels": [{"name": "full", "frequency": 1, "voltage": 1}],
            "cards": [{"name": "of_16", "sockets": 16}],
        },
        "decide": {"sockets.imx.full.of_16": {"max": most}},
        "objective": {"minimize": "power"},
        "limits": {"throughput": {"min": throughput}},
    }


@pytest.mark.parametrize(("throughput", "most"), [(1e12, 1e3), (1e17, 1e7), (1e20, 1e10)])
def test_the_users_bound_on_what_counts_things_stands_in_the_conflict(throughput: float, most: float):
    """800 Mop/s a socket: neither alone is out of reach, also where a first search ends at 1e8 sockets."""
    found = dse.solve(_station(throughput, most))
    assert found.status == "infeasible"
    assert found.conflicts == (("throughput", "sockets.imx.full.of_16"),)
    assert found.conflict == pytest.approx(
        {"throughput": 8e8 * most, "sockets.imx.full.of_16": throughput / 8e8}, rel=1e-7
    )


def test_a_sweep_names_that_bound_too():
    asked = _station(1e12, 1e3)
    asked["sweep"] = {"most": {"path": "decide.sockets.imx.full.of_16.max", "values": [500, 1000, 2000]}}
    swept = dse.sweep(asked)
    clash = (swept["binding"].values[1] == CONFLICTING).tolist()
    assert swept["limit"].values[clash].tolist() == ["throughput", "sockets.imx.full.of_16"]
    assert swept["would_do"].values[1][clash].tolist() == pytest.approx([8e11, 1250])


def test_a_small_question_of_counts_without_ends_comes_back():
    """One socket on one card has the least efficiency; from ends of 1e14 a search of HiGHS did not end."""
    source = {
        "model": "sockets",
        "machine": {"a": "tms320c5515", "b": "imx515"},
        "given": {
            "levels": [{"name": "full", "frequency": 1.0, "voltage": 1.0}],
            "cards": [{"name": "of 64", "sockets": 64.0, "cost": 37.6, "power": 0.082}],
        },
        "objective": {"minimize": "cost"},
        "limits": {"sockets": {"min": 1.0}, "efficiency": {"max": 1e9}},
    }
    found = dse.solve(dse.load(source))
    assert found.status is Status.INFEASIBLE
    # 120 Mop/s of 26.4 mW beside 82 mW of a card (ExaBounds 2012, table 1)
    assert found.conflict["efficiency"] == pytest.approx(1.2e8 / (0.0264 + 0.082), rel=1e-6)


OF_64: dict[str, Any] = {
    "model": "sockets",
    "machine": {"socket": "imx515"},
    "given": {
        "power_step": "1 kW",
        "levels": [{"name": "full", "frequency": 1.0, "voltage": 1.0}],
        "cards": [{"name": "of 64", "sockets": 64}],
    },
}


def test_large_stations_that_cannot_be_are_told_by_sets_of_things() -> None:
    """At most 9.27e6 sockets of a level and a card: HiGHS did not come back with the values that would do."""
    asked = OF_64 | {
        "objective": {"minimize": "power"},
        "limits": {"throughput": {"min": 8.58e15}, "sockets": {"max": 9.27e6}},
    }
    found = dse.solve(asked)
    assert found.status == "infeasible"
    for name, goal in (("throughput", {"maximize": "throughput"}), ("sockets", {"minimize": "sockets"})):
        others = {n: v for n, v in asked["limits"].items() if n != name}
        best = dse.solve(asked | {"objective": goal, "limits": others})
        assert best.status == "optimal"
        assert found.conflict[name] == pytest.approx(best.objective, rel=1e-6)


def test_what_only_an_end_of_a_search_forbids_is_not_infeasible_in_a_sweep() -> None:
    """1e15 sockets are more than any search holds: single questions said so, and points were "infeasible"."""
    asked = OF_64 | {
        "objective": {"minimize": "cost"},
        "sweep": {"t": {"path": "limits.throughput.min", "values": [1e18, 1e24]}},
    }
    found = dse.sweep(dse.load(asked), progress=False)
    codes = found["status"].attrs["flag_meanings"].split()
    told = [codes[found["status"].attrs["flag_values"].index(int(v))] for v in found["status"].values]
    assert told[0] == "optimal"
    assert told[1] == "error"


def _two_types(efficiency: float) -> dict[str, Any]:
    """Two types on cards of eight, as many as one likes: twice the station is no more efficient."""
    base = {"integer_rate": 1.32e9, "energy_per_integer_operation": 4.833e-11}
    other = {"integer_rate": 1.382e9, "energy_per_integer_operation": 2.872e-10}
    return {
        "model": "sockets",
        "machine": {
            "a": other | {"idle_energy_per_integer_operation": 3.391e-12, "cost_per_integer_rate": 6.284e-8},
            "b": base | {"idle_energy_per_integer_operation": 1.574e-11, "cost_per_integer_rate": 8.899e-9},
        },
        "given": {
            "levels": [
                {"name": "full", "frequency": 1.0, "voltage": 1.0},
                {"name": "low", "frequency": 0.6, "voltage": 0.8},
            ],
            "cards": [{"name": "c8", "sockets": 8, "cost": 25.0, "power": 0.9}],
            "supply_efficiency": 0.9,
            "power_step": 100.0,
            "lifetime": 2e8,
        },
        "objective": {"minimize": "power"},
        "limits": {"throughput": {"min": 3.3625e10}, "efficiency": {"min": efficiency}},
    }


def test_the_best_ratio_of_stations_without_end_is_told():
    """A full card of the better type at full clock has it: 8 sockets, with the card's own power, behind the supply."""
    found = dse.solve(_two_types(7.4088e9))
    assert found.status == "infeasible"
    assert found.conflicts == (("efficiency",),)
    value, rate = found.conflict["efficiency"], 8 * 1.32e9
    assert value == pytest.approx(0.9 * rate / (rate * 4.833e-11 + 0.9), rel=1e-8)
    assert dse.solve(_two_types(value)).status == "optimal"
    assert dse.solve(_two_types(value * (1 + 1e-6))).status == "infeasible"


def _of_full_cards(given: dict[str, Any], machine: dict[str, float]) -> float:
    """The best efficiency of a card that is full of one type, of all levels and cards that its limit leaves.

    Energy and leakage of a socket by (17) and (19) of Stanley-Marbell 2012, written out here.
    """
    rate, energy = machine["integer_rate"], machine["energy_per_integer_operation"]
    idle, found = machine["idle_energy_per_integer_operation"], 0.0
    for level in given["levels"]:
        f, v = level["frequency"], level["voltage"]
        one = (energy - idle) * rate * f * v**2 + idle * rate * v
        for card in given["cards"]:
            drawn = (card["sockets"] * one + card["power"]) / given["supply_efficiency"]
            if drawn <= given["card_power_limit"]:
                found = max(found, card["sockets"] * rate * f / drawn)
    return found


def test_a_card_that_may_not_be_full_is_no_part_of_a_better_ratio():
    """Divisible numbers would let a part of a card be there that draws too much when it is full."""
    machine = {
        "integer_rate": 1e9,
        "energy_per_integer_operation": 5e-9,
        "idle_energy_per_integer_operation": 2e-9,
        "cost_per_integer_rate": 1e-8,
    }
    given: dict[str, Any] = {
        "levels": [
            {"name": "full", "frequency": 1.0, "voltage": 1.0},
            {"name": "low", "frequency": 0.6, "voltage": 0.8},
        ],
        "cards": [
            {"name": "of 4", "sockets": 4, "cost": 13.6, "power": 0.5},
            {"name": "of 16", "sockets": 16, "cost": 18.4, "power": 0.6},
        ],
        "supply_efficiency": 0.92,
        "card_power_limit": 40.0,
        "power_step": 1000.0,
        "lifetime": 4e8,
    }
    asked = {
        "model": "sockets",
        "machine": {"a": machine},
        "given": given,
        "objective": {"maximize": "efficiency"},
    }
    best = _of_full_cards(given, machine)
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best, rel=1e-9)
    assert "-0.0" not in map(str, found.variables.values())
    beyond = dse.solve({**asked, "limits": {"efficiency": {"min": best * (1 + 1e-6)}}})
    assert beyond.status == "infeasible"
    assert beyond.conflict["efficiency"] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("of_the_best", [1.0, 0.9, 0.5])
@pytest.mark.parametrize("socket", ["msp430f2274", "imx515"])
def test_a_station_that_grows_at_the_same_efficiency_has_no_greatest(socket: str, of_the_best: float):
    """Two stations of one kind do twice the work for twice the power; a search for the best of them does not end."""
    asked = dse.load("station_most_throughput_in_10_kw").model_dump(exclude_none=True, exclude_defaults=True)
    asked |= {"machine": {"socket": socket}, "limits": {}}
    del asked["decide"]["machine.socket"]
    best = dse.solve({**asked, "objective": {"maximize": "efficiency"}}).objective
    assert best is not None
    limits = {"efficiency": {"min": of_the_best * best}}
    for name in ("throughput", "cost"):
        found = dse.solve({**asked, "limits": limits, "objective": {"maximize": name}})
        assert (found.status, found.objective) == ("unbounded", None), name
