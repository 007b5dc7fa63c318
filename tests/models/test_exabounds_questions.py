"""Questions about systems: decided counts, clocks and voltages beside enumeration; what cannot be asked, in words."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import oracle_exabounds as loops
import pytest

import dse
from dse import machines, models
from dse.models.described import units_of_equations
from dse.models.model import sparing
from dse.papers.sources import table
from dse.quantities import show, to_si
from results.export.answer_files import from_json
from results.export.jsonable import to_json
from scenarios.language.errors import ScenarioError

CONTRIVED = dict(machines.get("contrived-exabounds").parameters)
GIVEN = {"instructions": 120e12, "overhead_work.rack": 1e9, "lifetime": 1.5e8, "miss_rate.L1D": 0.05}
APPLICATION = {"control_share": 0.15, "data_share.core": 0.5, "parallelism.core": 4.0}


def question(**changes: Any) -> dict[str, Any]:
    asked = {"title": "a system", "model": "exabounds", "machine": "contrived-exabounds", "given": GIVEN}
    return asked | changes


def counted(**counts: float) -> tuple[float, float, float]:
    """Return time, power and cost of the contrived system with other counts, by loops."""
    m = CONTRIVED | {f"count.{level}": float(n) for level, n in counts.items()}
    g = GIVEN | APPLICATION
    return loops.run_time(m, g), loops.tower(m, g, 1.0)[-1], sum(loops.bill(m, g).values())


def test_the_cheapest_counts_are_those_of_enumeration():
    """Sockets on a card and units in a rack, within a deadline and a cap on power."""
    answer = dse.solve(
        question(
            decide={
                "machine.count.card": {"integer": True, "max": 8},
                "machine.count.rack": {"integer": True, "max": 6},
            },
            objective={"minimize": "cost"},
            limits={"time": {"max": "25 s"}, "power": {"max": "10 kW"}},
        )
    )
    best = min(
        cost
        for card, rack in product(range(1, 9), range(1, 7))
        for time, power, cost in [counted(card=card, rack=rack)]
        if time <= 25 and power <= 10e3
    )
    assert answer.status == "optimal"
    assert answer.objective == pytest.approx(best, rel=1e-6)


def test_the_most_throughput_within_a_cap_on_power():
    """Whole racks of the contrived system within 10 kW: as many as fit, and one more would not."""
    answer = dse.solve(
        question(
            decide={"machine.count.rack": {"integer": True, "max": 100}},
            objective={"maximize": "performance"},
            limits={"power": {"max": "10 kW"}},
        )
    )
    fitting = [n for n in range(1, 101) if counted(rack=n)[1] <= 10e3]
    assert answer.variables["machine.count.rack"] == max(fitting)


def test_clock_and_voltage_of_least_energy_are_certified():
    """The clock's limit (18) is a posynomial, so this is convex; beside a scan of clocks at their least voltage."""
    answer = dse.solve(
        question(
            decide={
                "machine.frequency": {"min": "0.5 GHz", "max": "3 GHz"},
                "machine.voltage": {"min": "0.4 V", "max": "1.2 V"},
            },
            objective={"minimize": "energy"},
            limits={"time": {"max": "60 s"}},
        )
    )
    volts = np.linspace(0.4, 1.2, 20001)
    fastest = 5e9 * (volts - 0.35) ** 1.3 / volts
    energies = []
    for v, f in zip(volts, fastest, strict=True):
        m = CONTRIVED | {"voltage": float(v), "frequency": float(f)}
        time = loops.run_time(m, GIVEN | APPLICATION)
        if 0.5e9 <= f <= 3e9 and time <= 60:
            energies.append(time * loops.tower(m, GIVEN | APPLICATION, 1.0)[-1])
    assert answer.status == "optimal"
    assert "convex in log variables" in answer.certificate
    assert answer.objective == pytest.approx(min(energies), rel=1e-6)
    assert answer.objective <= min(energies) * (1 + 1e-9)


def test_pins_are_split_between_supply_and_signals():
    """Least ohmic loss takes all pins that the signals leave: 1000 less 300."""
    answer = dse.solve(
        question(
            decide={"machine.supply_pins.socket": {"integer": True, "max": 2000}},
            objective={"minimize": "power_ohmic"},
        )
    )
    assert answer.variables["machine.supply_pins.socket"] == 700


def base(**changes: Any) -> dict[str, Any]:
    return question(machine={"base": "contrived-exabounds", **changes})


def power7(**changes: Any) -> dict[str, Any]:
    return question(machine="power7-exabounds2012", **changes)


DIES = {"machine.count.die": {"integer": True, "max": 8}}
NO_POWER = "has no voltage, dynamic_capacitance, which exabounds needs for power, energy"
OF_POWER = (
    power7(decide=DIES, objective={"minimize": "energy"}),
    power7(decide=DIES, objective={"weights": {"time": "1 1/s", "cost": "1 1/USD"}}),
    power7(decide=DIES, objective={"maximize": "1 / energy"}),
    power7(limits={"power": {"max": "100 W"}}),
    power7(limits={"power.socket": {"max": "100 W"}}),
    power7(define={"warmth": "2 * power_added.die"}),
    power7(
        limits={"power": {"max": "1 W"}},
        sweep={"cap": {"path": "limits.power.max", "values": ["1 W", "2 W"]}},
    ),
)


def test_a_machine_without_a_voltage_has_its_stack_of_cycles():
    """Table 4's POWER7 with miss rates of our own, each part typed again from the printed table."""
    chip = {row["symbol"]: float(row["value_SI"]) for row in table("exabounds2012/table4_power7")}
    rates = {"miss_rate.L1I": 0.01, "miss_rate.ITLB": 1e-4, "miss_rate.L1D": 0.05, "miss_rate.L2": 0.01}
    given = {"instructions": 1e12, "misprediction_rate": 0.05} | APPLICATION | rates
    answer = dse.solve(power7(given=given))
    l2, dram = chip["T_0_dmo"], chip["T_2_dmo"]
    # the capacity of the pipeline over a width of 6 is its length
    refilled = chip["n_0_pipe"] / 6 + (chip["n_0_front"] + chip["n_0_ROB"]) / 4
    stack = {
        "base": 1 / 4,
        "icache": l2 * 0.01 + dram * 1e-4,
        "branch": refilled * 0.15 * 0.05,
        "l1data": l2 * 0.05 * 0.5,
        "l2data": 0.01 * 0.5 * (dram - chip["n_0_ROB"] / 4),
        "bandwidth": 0.0,
    }
    m = answer.metrics
    assert {part: m[f"cpi.{part}"] for part in stack} == pytest.approx(stack, rel=1e-9)
    assert m["cpi"] == pytest.approx(sum(stack.values()), rel=1e-9)
    assert m["time"] == pytest.approx(1e12 / chip["n_1_cor"] * sum(stack.values()) / chip["f_0"], rel=1e-9)
    absent = {"power", "energy", "efficiency", "cost", "max_frequency", "power.die", "power_added.core"}
    assert not absent & set(m)


def test_what_is_left_out_leaves_the_rest_as_it_is():
    """With a voltage and a capacitance all other metrics are the same, and only power and its like are added."""
    told = dse.solve(power7())
    words = "power, energy, total cost and the fastest clock: the machine has no voltage and no dynamic_capacitance"
    assert words in " ".join(str(told).split())
    assert from_json(to_json(told)).left_out == told.left_out == words
    alone = told.metrics
    supplied = {"base": "power7-exabounds2012", "voltage": "1.1 V", "dynamic_capacitance": "1 nF"}
    whole = dse.solve(question(machine=supplied)).metrics
    assert {n: whole[n] for n in alone} == pytest.approx(dict(alone), rel=1e-12)
    assert {"power", "energy", "cost", "cost_energy"} <= set(whole) - set(alone)
    assert not dse.solve(question(machine=supplied)).left_out
    asked = dse.solve(power7(decide=DIES, objective={"minimize": "time"}))
    assert asked.status == "optimal"
    assert asked.variables["machine.count.die"] == 8


def test_a_voltage_alone_is_held_to_its_threshold():
    machine = {"base": "power7-exabounds2012", "voltage": "0.3 V", "threshold_voltage": "0.35 V"}
    with pytest.raises(ScenarioError, match="dynamic_capacitance, which exabounds needs for power"):
        dse.solve(question(machine=machine, limits={"power": {"max": "1 W"}}))
    answer = dse.solve(question(machine=machine))
    assert answer.status == "infeasible"
    assert answer.limits["threshold"].value > 1


def test_units_agree_without_power():
    less = sparing(models.get("exabounds"), (), ())
    machine = tuple(q for q in less.machine if q.name not in {"voltage", "dynamic_capacitance"})
    assert not units_of_equations.wrong(replace(less, machine=machine))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (base(**{"count.die": 0}), r"machine\.count\.die: 0 is too small.*cores of one die\) is at least 1"),
        (base(count={"die": 0.5}), r"machine\.count\.die: 0\.5 is too small"),
        (question(given=GIVEN | {"parallelism.core": 0.5}), r"given\.parallelism\.core: 0\.5 is too small"),
        (question(given=GIVEN | {"parallelism": {"die": 0}}), r"given\.parallelism\.die: 0 is too small"),
        (question(given=GIVEN | {"miss_rate.L1D": 1.5}), r"miss_rate\.L1D.* is at most 1"),
        (base(**{"power_efficiency.card": 0.0}), r"power_efficiency\.card .* at least 0\.01"),
        (base(**{"failure_rate.socket": "100"}), r"has no unit: a failure rate .*write \"100 FIT\""),
        (base(**{"failure_rate.socket": "100 W"}), r"is a power \(W\), but a failure rate"),
        *((asked, NO_POWER) for asked in OF_POWER),
        (question(machine="wimpy-exabounds2012"), "has no frequency, which exabounds needs\n"),
        (
            question(given=GIVEN | {"count.die": 8}),
            r'count\.die is a machine parameter.*write machine = \{ base = "…", "count\.die" = … \}',
        ),
    ],
)
def test_what_cannot_be_asked_is_said_in_words(asked: dict[str, Any], words: str):
    with pytest.raises(ScenarioError, match=f"(?s){words}"):
        dse.solve(asked)


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"voltage": "0.3 V"}, "threshold"),
        ({"frequency": "4 GHz"}, "clock"),
        ({"supply_pins.socket": 900}, "pins.socket"),
        ({"repair_time.socket": "3e7 h"}, "failover.card"),
        ({"die_area": "10 mm^2", "transistor_density": "2e12 1/m^2"}, "area"),
    ],
)
def test_what_no_machine_can_be_is_infeasible_by_the_limit_that_says_so(changes: dict[str, Any], limit: str):
    answer = dse.solve(base(**changes))
    assert answer.status == "infeasible"
    assert limit in str(answer)


STACK = {
    "frequency": "2 GHz",
    "voltage": "1 V",
    "dynamic_capacitance": "0.5 nF",
    "count.core": 4,
    "die_area": "100 mm^2",
    "transistor_density": "2e12 1/m^2",
    "transistors.core": 10e6,
    "signal_via_share": 0.05,
}


def test_a_stack_whose_vias_take_more_than_its_area_holds_nothing():
    """100 n (0.95 - 0.06 n) mm² is greatest at 8 dies, where 75 cores of 5 mm² fit; from 16 dies on it is negative."""
    asked = question(
        machine=STACK,
        given={"instructions": 1e12},
        define={"machine.power_via_share": "0.06 * machine.stacked_dies"},
        decide={
            "machine.stacked_dies": {"integer": True, "max": 16},
            "machine.count.die": {"integer": True, "max": 160},
        },
        objective={"maximize": "performance"},
    )
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert found.variables == {"machine.stacked_dies": 8.0, "machine.count.die": 75.0}
    assert found.limits["machine.stacked_dies"].next_change is None


def test_what_vias_may_take_of_an_area_is_what_circuits_leave():
    """Cores of 5 mm² each leave 0.95 - 0.05 n of 100 mm²."""
    asked = question(
        machine=STACK | {"count.die": 8},
        given={"instructions": 1e12},
        define={"taken": "machine.power_via_share * 1"},
        decide={"machine.power_via_share": {"max": 1}},
        objective={"maximize": "taken"},
    )
    swept = dse.sweep(asked | {"sweep": {"counted": {"path": "machine.count.die", "values": [4, 8, 16, 20]}}})
    assert swept.taken.values[:3] == pytest.approx([0.75, 0.55, 0.15])
    assert swept.status.values[3] == 3
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(0.55)


def test_units_that_are_all_under_repair_do_no_work_in_less_than_no_time():
    """λ MTTR may be above 1 by the slack of a limit; from there on no unit works."""
    asked = base(**{"failure_rate.core": "1e-3 failure/s"})
    asked["given"] = {"instructions": 1e12}
    asked["objective"] = {"minimize": "time"}
    asked["decide"] = {"machine.repair_time.core": {"values": ["100 s", "1000.000005 s"]}}
    assert dse.solve(asked).variables == {"machine.repair_time.core": 100.0}
    asked["decide"] = {"machine.repair_time.core": {"min": "10 s", "max": "2000 s"}}
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert found.variables["machine.repair_time.core"] == pytest.approx(10.0)


def test_a_cap_that_is_too_low_names_what_would_do():
    answer = dse.solve(
        question(
            decide={"machine.count.card": {"integer": True, "max": 4}},
            objective={"minimize": "cost"},
            limits={"power": {"max": "10 W"}},
        )
    )
    assert answer.status == "infeasible"
    assert "(asked: ≤ 10 W)" in str(answer)


def test_failures_are_counted_in_fit_or_by_the_hour():
    assert to_si("100 FIT", "failure/s") == pytest.approx(100e-9 / 3600, rel=1e-15)
    assert to_si("1e-7 1/h", "failure/s") == pytest.approx(to_si("100 FIT", "failure/s"), rel=1e-15)
    assert show(to_si("100 FIT", "failure/s"), "failure/s") == "100 FIT"
    assert show(to_si("25 kFIT", "failure/s"), "failure/s") == "25 kFIT"
    assert to_si("8 clk", "cycle") == 8
    assert to_si("120e12 instr", "instruction") == 120e12


def test_a_tie_that_improves_without_end_settles_nothing():
    """Efficiency does not depend on the number of racks, and time falls with each: 1e37 racks were handed out."""
    asked = dse.load("platforms_most_performance_in_10_kw").model_dump(
        exclude_none=True, exclude_defaults=True
    )
    for key in ("limits", "sweep"):
        asked.pop(key, None)
    asked |= {
        "machine": "platform-atom",
        "decide": {"machine.count.rack": {"integer": True}},
        "objective": {"maximize": "efficiency"},
    }
    found = dse.solve(asked)
    assert found.status == "optimal"
    assert found.variables == {"machine.count.rack": 1.0}
    assert found.ranges["machine.count.rack"] == (1.0, math.inf)
