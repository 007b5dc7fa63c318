"""Sockets on cards against the station worked out by hand, an independent enumeration, and what must hold."""

from __future__ import annotations

import copy
import math
from typing import Any

import oracle_reading as reading
import oracle_station
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse import machines, models
from dse.models.model import Model
from dse.models.platforms.sockets import SOCKETS
from dse.models.shared.structure import Parts, Row
from results.solution import Status

LIBRARY = reading.ROOT / "scenarios" / "library"
SINGLE = sorted(
    p.stem
    for p in LIBRARY.glob("station_*.toml")
    if not any(word in p.stem for word in ("mix", "sweep", "checkpoint"))
)
# printed with the paper's own rounding, or typed by hand below
CLOSE = 1e-12
HOURS = 131400.0
SITE = {
    "supply_efficiency": 0.92,
    "card_power_limit": 40.0,
    "power_step": 1000.0,
    "cost_per_power_step": 200.0,
    "lifetime": HOURS * 3600.0,
    "peak_share": 0.8,
    "idle_share": 0.2,
    "energy_price": 0.15 / 3.6e6,
    "socket_failures": 100e-9 / 3600.0,
    "card_failures": 200e-9 / 3600.0,
    "power_step_failures": 1000e-9 / 3600.0,
}
LEVELS = {"full": (1.0, 1.0), "least": (0.4, 0.7)}
CARDS = {"of 4": (4.0, 13.6, 0.052), "of 128": (128.0, 63.2, 0.114)}
TYPES = ("tms320c5515", "imx515")


def expanded(types: tuple[str, ...] = TYPES) -> Model:
    assert SOCKETS.expand is not None
    rows = {"levels": tuple(map(Row, LEVELS)), "cards": tuple(map(Row, CARDS))}
    return SOCKETS.expand(Parts(rows=rows, machines=types))


def run(counts: dict[str, tuple[float, float]], steps: float, **changed: Any) -> dict[str, Any]:
    """All metrics and limits of so many (sockets, cards) by way, such as "imx515.full.of 4"."""
    model = expanded()
    x: dict[str, Any] = {**SITE, "power_steps": steps}
    for t in TYPES:
        x |= {f"machine.{t}.{k}": v for k, v in machines.get(f"{t}-exabounds2012").parameters.items()}
    for name, (f, v) in LEVELS.items():
        x |= {f"levels.{name}.frequency": f, f"levels.{name}.voltage": v}
    for name, (sockets, cost, power) in CARDS.items():
        x |= {f"cards.{name}.sockets": sockets, f"cards.{name}.cost": cost, f"cards.{name}.power": power}
    for unknown in model.unknowns:
        family, _, way = unknown.name.partition(".")
        if way:
            x[unknown.name] = counts.get(way, (0.0, 0.0))[family == "cards"]
    return dict(models.evaluate(model, x | changed))


def test_the_station_of_300000_sockets_by_hand():
    """C5515 at the full level on cards for 128: 26.4 mW of 120e6 op/s each, of which 0.144 mW leak."""
    found = run({"tms320c5515.full.of 128": (300_000, 2344)}, 9)
    power = (300_000 * 0.0264 + 2344 * 0.114) / 0.92
    idle = (300_000 * 0.000144 + 2344 * 0.114) / 0.92
    assert found["throughput"] == pytest.approx(36e12, rel=CLOSE)
    assert found["power"] == pytest.approx(power, rel=CLOSE)
    assert found["idle_power"] == pytest.approx(idle, rel=CLOSE)
    assert found["cost_sockets"] == pytest.approx(300_000 * 12.0, rel=CLOSE)
    assert found["cost_cards"] == pytest.approx(2344 * 63.2, rel=CLOSE)
    assert found["cost_supply"] == pytest.approx(1800.0, rel=CLOSE)
    energy = (0.8 * power + 0.2 * idle) / 1e3 * HOURS * 0.15
    assert found["cost_energy"] == pytest.approx(energy, rel=CLOSE)
    assert found["cost_spares"] == pytest.approx(3.6e6 * 100e-9 * HOURS, rel=CLOSE)
    assert found["cost"] == pytest.approx(3.6e6 * 1.01314 + 2344 * 63.2 + 1800 + energy, rel=CLOSE)
    failing = 100 * 300_000 + 200 * 2344 + 1000 * 9
    assert found["mttf"] / 3600.0 == pytest.approx(1e9 / failing, rel=CLOSE)
    assert found["types"] == 1
    assert found["powered"] <= 1 >= found["started"]


def test_levels_scale_switching_by_f_v_squared_and_leakage_by_v():
    """i.MX515: 0.504 W at peak, of which 0.656 mW leak; at the least level f = 0.4 and V = 0.7."""
    found = run({"imx515.least.of 4": (4, 1)}, 1)
    peak = (0.504 - 0.000656) * 0.4 * 0.49 + 0.000656 * 0.7
    assert found["power.imx515"] == pytest.approx(4 * peak, rel=CLOSE)
    assert found["throughput"] == pytest.approx(4 * 320e6, rel=CLOSE)
    assert found["card_power.imx515.least.of 4"] == pytest.approx((4 * peak + 0.052) / 40.0, rel=CLOSE)
    assert found["card_power.imx515.full.of 128"] == 0.0


@pytest.mark.parametrize(
    ("sockets", "cards", "steps", "broken"),
    [
        (128, 1, 1, set()),
        (129, 1, 1, {"housed"}),
        (129, 2, 1, set()),
        (128, 2, 1, {"needed"}),
        (0, 1, 1, {"needed", "any_socket"}),
        (0, 0, 0, {"any_socket"}),
        (128, 1, 0, {"powered"}),
        (128, 1, 2, {"started"}),
    ],
)
def test_cards_and_steps_are_as_many_as_needed(sockets: float, cards: float, steps: float, broken: set[str]):
    found = run({"tms320c5515.full.of 128": (sockets, cards)}, steps)
    limits = {limit.name for limit in expanded().limits}
    assert {n.partition(".")[0] for n in limits if found[n] > 1 + 1e-12} == broken


def test_a_type_runs_in_one_way_and_a_full_card_stays_below_its_limit():
    mixed = run({"imx515.full.of 4": (4, 1), "imx515.least.of 4": (4, 1)}, 1)
    assert mixed["one_way.imx515"] == 2
    assert mixed["one_way.tms320c5515"] == 0
    assert mixed["types"] == 1
    hot = run({"imx515.full.of 128": (1, 1)}, 1)
    assert hot["card_power.imx515.full.of 128"] == pytest.approx((128 * 0.504 + 0.114) / 40.0, rel=CLOSE)


def test_without_failures_there_is_no_end_and_without_a_limit_no_row():
    sure = dict.fromkeys(("socket_failures", "card_failures", "power_step_failures"), 0.0)
    assert run({"imx515.full.of 4": (4, 1)}, 1, **sure)["mttf"] == math.inf
    assert expanded(("imx515",)).limits
    free = {k: v for k, v in SITE.items() if k != "card_power_limit"}
    assert not any(n.startswith("card_power.") for n in _bare(free))


def _bare(site: dict[str, float]) -> dict[str, Any]:
    model = expanded(("imx515",))
    x = {q: 1.0 for q in model.parameters() if q not in SITE} | site
    return dict(models.evaluate(model, x))


ways = st.sampled_from([f"{t}.{level}.{card}" for t in TYPES for level in LEVELS for card in CARDS])
systems = st.dictionaries(ways, st.tuples(st.integers(1, 10**6), st.integers(1, 10**4)), min_size=1)


@settings(max_examples=30, deadline=None)
@given(counts=systems, steps=st.integers(1, 1000), factor=st.floats(1.0, 10.0), more=st.integers(1, 1000))
def test_what_must_rise_rises(counts: Any, steps: int, factor: float, more: int):
    """Cost never falls with the price of energy, lifetime or failures; more sockets do more and fail sooner."""
    now = run(counts, steps)
    for name in ("energy_price", "lifetime", "socket_failures", "cost_per_power_step"):
        assert run(counts, steps, **{name: SITE[name] * factor})["cost"] >= now["cost"] * (1 - 1e-12)
    way = next(iter(counts))
    larger = run({**counts, way: (counts[way][0] + more, counts[way][1])}, steps)
    assert larger["throughput"] > now["throughput"]
    assert larger["power"] > now["power"] > now["idle_power"]
    assert larger["mttf"] < now["mttf"]
    assert larger["efficiency"] == pytest.approx(larger["throughput"] / larger["power"], rel=CLOSE)


@settings(max_examples=30, deadline=None)
@given(counts=systems, steps=st.integers(1, 1000))
def test_parts_add_up(counts: Any, steps: int):
    found = run(counts, steps)
    parts = ("cost_sockets", "cost_cards", "cost_supply", "cost_energy", "cost_spares")
    assert sum(found[n] for n in parts) == pytest.approx(found["cost"], rel=CLOSE)
    for name in ("sockets", "throughput"):
        assert sum(found[f"{name}.{t}"] for t in TYPES) == pytest.approx(found[name], rel=CLOSE)
    assert found["sockets"] == sum(n for n, _ in counts.values())
    assert found["types"] == len({way.partition(".")[0] for way in counts})


def test_there_must_be_types_levels_and_cards():
    assert SOCKETS.expand is not None
    with pytest.raises(ValueError, match="at least one machine"):
        SOCKETS.expand(Parts(rows={"levels": (Row("full"),)}, machines=TYPES))


@pytest.mark.parametrize("name", SINGLE)
def test_alternatives_are_the_best_of_each_type(name: str):
    """Each type's best objective, or its conflict, is what every level, card and number of sockets gives."""
    source = reading.load(LIBRARY / f"{name}.toml")
    solution = dse.solve(LIBRARY / f"{name}.toml")
    assert len(solution.alternatives) == len(source["decide"]["machine.socket"]["values"])
    for told in solution.alternatives:
        alone = copy.deepcopy(source)
        alone["decide"]["machine.socket"]["values"] = list(told.choice.values())
        expected = oracle_station.answer(alone)
        assert told.status == ("infeasible" if expected.objective is None else "optimal")
        if expected.objective is None:
            assert (frozenset(told.conflict),) == expected.conflicts
        else:
            assert told.objective == pytest.approx(expected.objective, rel=1e-9)


@settings(max_examples=4, deadline=None)
@given(
    cap=st.floats(2e3, 1e5),
    demand=st.floats(1e12, 2e14),
    price=st.floats(0.02, 1.0),
    goal=st.sampled_from(["cost", "power", "mttf"]),
)
def test_other_sites_are_answered_as_the_enumeration_does(cap: float, demand: float, price: float, goal: str):
    source = reading.load(LIBRARY / "station_least_cost_in_10_kw.toml")
    source["given"]["energy_price"] = f"{price!r} USD/kWh"
    source["decide"]["machine.socket"]["values"] = ["tms320c5515", "at91sam9m10", "imx515"]
    source["objective"] = {"maximize" if goal == "mttf" else "minimize": goal}
    source["limits"] = {"throughput": {"min": f"{demand!r} op/s"}, "power": {"max": f"{cap!r} W"}}
    expected, found = oracle_station.answer(source), dse.solve(source)
    assert found.status == ("infeasible" if expected.objective is None else "optimal")
    if expected.objective is not None:
        assert found.objective == pytest.approx(expected.objective, rel=1e-8)


@pytest.mark.parametrize("limits", [{}, {"power": {"max": "10 kW"}}])
def test_the_most_efficient_station_has_a_socket(limits: dict[str, Any]) -> None:
    """Without one its efficiency would be 0 over 0. A full card at the lowest level is best, of the best type."""
    asked = reading.load(LIBRARY / "station_most_throughput_in_10_kw.toml")
    asked |= {"objective": {"maximize": "efficiency"}, "limits": limits}
    asked["decide"]["machine.socket"]["values"] = ["tms320c5515", "imx515"]
    found = dse.solve(dse.load(asked))
    assert found.status in (Status.OPTIMAL, Status.FEASIBLE)
    m = machines.get("tms320c5515-exabounds2012").parameters
    rate, idle = m["integer_rate"], m["idle_energy_per_integer_operation"]
    leakage = idle * rate * 0.7
    power = (m["energy_per_integer_operation"] - idle) * rate * 0.4 * 0.7**2 + leakage
    assert found.variables["machine.socket"] == "tms320c5515"
    assert found.objective == pytest.approx(0.92 * 128 * 0.4 * rate / (128 * power + 0.114), rel=1e-9)


def test_a_station_out_of_reach_names_what_was_asked_and_no_place_for_sockets() -> None:
    """That every socket has a place, and that supplies suffice, is what a station is: only rules may be in conflict."""
    limits = {"throughput": {"min": 1.36e15}, "power": {"max": 267.7e3}, "cost": {"max": 2.18e8}}
    asked = reading.load(LIBRARY / "station_least_cost_in_10_kw.toml")
    asked |= {"objective": {"maximize": "mttf"}, "limits": limits}
    asked["decide"]["machine.socket"]["values"] = ["tms320c5515"]
    told = dse.solve(dse.load(asked))
    assert told.status is Status.INFEASIBLE
    assert set(limits) <= set(told.conflict) <= {*limits, "one_way.socket"}
    for name, entry in limits.items():
        value = told.conflict[name]
        assert value is not None
        enough = {**limits, name: dict.fromkeys(entry, value)}
        assert dse.solve(dse.load({**asked, "limits": enough})).status is Status.OPTIMAL


def test_the_machines_state_what_the_table_prints():
    """Per operation what the table states per 1e18 of them; OMAP's idle power as corrected, with its doubt."""
    for name, (rate, _) in oracle_station.RATES.items():
        assert machines.get(f"{name}-exabounds2012").parameters["integer_rate"] == rate
    table = oracle_station.listed.table("exabounds2012_table1_processors.csv", "short")
    names = {short: name for name, (_, short) in oracle_station.RATES.items()}
    names |= {"PXA": "pxa32x", "BGL": "bluegene-l", "PEN": "poweren"}
    assert names.keys() == table.keys()
    for short, row in table.items():
        m = machines.get(f"{names[short]}-exabounds2012")
        idle = float(row["idle_power_1e18_intop_W_corrected"]) / 1e18
        assert m.parameters["idle_energy_per_integer_operation"] == pytest.approx(idle, rel=CLOSE)
        assert m.parameters["energy_per_integer_operation"] == pytest.approx(
            float(row["energy_per_intop_J"]), rel=CLOSE
        )
        price = row["device_cost_1e18_intop_USD"]
        stated = m.parameters.get("cost_per_integer_rate")
        assert (stated is None) == (price == "")
        if stated is not None:
            assert stated == pytest.approx(float(price) / 1e18, rel=CLOSE)
        assert bool(m.doubts) == (row["dubious"] == "1")
        printed = {
            "energy_per_double_operation": float(row["energy_per_dpflop_J"]),
            "idle_energy_per_double_operation": float(row["idle_power_1e18_dpflop_W"]) / 1e18,
        }
        if price:
            printed["cost_per_double_rate"] = float(row["device_cost_1e18_dpflop_USD"]) / 1e18
            rate = m.parameters["double_rate"] * m.parameters["energy_per_double_operation"]
            # at peak a socket draws the same power on either kind
            assert rate == pytest.approx(
                m.parameters["integer_rate"] * float(row["energy_per_intop_J"]), rel=1e-11
            )
        for name, value in printed.items():
            assert m.parameters[name] == pytest.approx(value, rel=CLOSE), name


def test_counts_without_ends_do_not_keep_a_search_from_ending() -> None:
    """No socket does more than 1 / 1.64e-9 operations for a joule; 21 of the first do 30 Gop/s."""
    joules = {"t0": (1.44e9, 1.64e-9, 1.15e-10), "t1": (3.69e9, 3.62e-9, 7.57e-10)}
    said = {
        "model": "sockets",
        "given": {
            "power_step": 45.1,
            "levels": [{"name": "full", "frequency": 1, "voltage": 1}],
            "cards": [{"name": "s", "sockets": 4, "power": 0.00274}],
        },
        "machine": {
            name: {
                "integer_rate": rate,
                "energy_per_integer_operation": busy,
                "idle_energy_per_integer_operation": idle,
                "cost_per_integer_rate": 1e-9,
            }
            for name, (rate, busy, idle) in joules.items()
        },
        "objective": {"minimize": "power"},
        "limits": {"throughput": {"min": 3e10}, "efficiency": {"min": 7e8}},
    }
    found = dse.solve(said)
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("efficiency",),)
    best = dse.solve({**said, "limits": {"throughput": {"min": 3e10}}})
    assert best.objective == pytest.approx(21 * 1.44e9 * 1.64e-9 + 6 * 0.00274, rel=1e-9)
