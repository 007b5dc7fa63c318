"""A clock that machines state, and machines at one of their settings, as questions see them."""

from __future__ import annotations

import copy
import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse import machines
from dse.names import UnknownName
from scenarios import ScenarioError

# two proofs of one question, each to 1e-6 at worst and 1e-9 in practice
CLOSE = 1e-7
POWER = {"clock_reference": "2 GHz", "clock_min": "0.5 GHz", "clock_max": "2.5 GHz", "clock_exponent": 3}
LINE = {k: v for k, v in POWER.items() if k != "clock_exponent"} | {
    "voltage_base": "0.6 V",
    "voltage_slope": "0.2 V/GHz",
}
NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": {"base": "balanced", **POWER},
    "given": {"bodies": 1e6, "flops_per_pair": 20, "memory": 1000},
    "decide": {"processors": {"max": 1e5}, "clock": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "500 ms"}},
}


def changed(source: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return copy.deepcopy(source) | changes


@pytest.mark.parametrize(
    ("stated", "grows"),
    [
        (POWER, "(clock / 2 GHz)**2"),
        (LINE, "((0.6 V + 0.2 V/GHz * clock) / 1 V)**2"),
    ],
)
def test_a_stated_clock_is_what_definitions_of_it_are(stated: dict[str, Any], grows: str):
    by_machine = dse.solve(changed(NBODY, machine={"base": "balanced", **stated}))
    by_file = changed(NBODY, machine="balanced")
    by_file["decide"]["clock"] = {"min": "0.5 GHz", "max": "2.5 GHz"}
    by_file["define"] = {
        "machine.time_per_flop": "machine.time_per_flop * 2 GHz / clock",
        "machine.energy_per_flop": f"machine.energy_per_flop * {grows}",
    }
    written = dse.solve(by_file)
    assert by_machine.status == written.status == "optimal"
    assert by_machine.objective == pytest.approx(written.objective, rel=1e-9)
    assert by_machine.variables["clock"] == pytest.approx(written.variables["clock"], rel=1e-4)
    assert by_machine.certificate == written.certificate


def test_a_given_clock_is_an_input_like_others():
    source = changed(NBODY, given={**NBODY["given"], "processors": 1e4, "clock": "1 GHz"}, decide={})
    half, full = (
        dse.solve(source),
        dse.solve(
            changed(
                source, machine="balanced", given={k: v for k, v in source["given"].items() if k != "clock"}
            )
        ),
    )
    at = machines.get("balanced").parameters
    slower = 1e4 * at["energy_per_flop"] * full.metrics["flops"] * 0.75
    assert half.metrics["time"] - full.metrics["time"] == pytest.approx(
        at["time_per_flop"] * full.metrics["flops"], rel=1e-9
    )
    drawn = 1e4 * (at["leakage_power"] + 1000 * at["memory_power_per_word"])
    longer = drawn * (half.metrics["time"] - full.metrics["time"])
    assert half.metrics["energy"] == pytest.approx(full.metrics["energy"] - slower + longer, rel=1e-9)


def test_of_machines_to_choose_from_each_keeps_its_own_range(tmp_path: Path):
    """The better machine at every clock of its range, by a scan."""
    files = {}
    for name, least, most in (("slow", "0.5 GHz", "0.7 GHz"), ("fast", "1 GHz", "2 GHz")):
        own = {**machines.get("balanced").parameters, "leakage_power": 1.0 if name == "slow" else 0.5}
        own |= {"clock_reference": 2e9, "clock_exponent": 3.0}
        lines = [f"[parameters.{k}]\nvalue = {v!r}" for k, v in own.items()]
        lines += [f'[parameters.clock_{k}]\nvalue = "{v}"' for k, v in (("min", least), ("max", most))]
        files[name] = tmp_path / f"{name}.toml"
        files[name].write_text("\n".join(lines), encoding="utf-8")
    source = {k: v for k, v in NBODY.items() if k != "machine"}
    source["given"] = {**NBODY["given"], "processors": 1e4}
    source["decide"] = {"clock": {}, "machine": {"values": [str(f) for f in files.values()]}}
    source["limits"] = {}
    found = dse.solve(source)
    energies = {}
    for name, (low, high) in {"slow": (0.5e9, 0.7e9), "fast": (1e9, 2e9)}.items():
        m = machines.get(str(files[name])).parameters
        f = np.geomspace(low, high, 200_001)
        F, W = 20e12 / 1e4, 1e12 / 1e4 / 1000
        S = W / m["max_message"]
        T = m["time_per_flop"] * F * 2e9 / f + m["time_per_word"] * W + m["time_per_message"] * S
        spent = (
            m["energy_per_flop"] * (f / 2e9) ** 2 * F + m["energy_per_word"] * W + m["energy_per_message"] * S
        )
        energies[name] = (1e4 * (spent + (1000 * m["memory_power_per_word"] + m["leakage_power"]) * T)).min()
    assert found.objective == pytest.approx(min(energies.values()), rel=1e-6)
    told = {Path(a.choice["machine"]).stem: a.objective for a in found.alternatives}
    assert told == pytest.approx(energies, rel=1e-6)


def test_a_file_that_defines_the_costs_has_the_last_word():
    """Its own clock is a number of its own, whatever the machine states."""
    source = changed(NBODY, define={"machine.time_per_flop": "1 / (2 flop/cycle * clock)"})
    source["decide"]["clock"] = {"min": "0.8 GHz", "max": "9 GHz"}
    plain = changed(source, machine="balanced")
    assert dse.solve(source).objective == pytest.approx(dse.solve(plain).objective, rel=CLOSE)


def test_several_kernels_have_one_clock():
    kernel = {"model": "nbody", "given": {"bodies": 1e6, "flops_per_pair": 20, "memory": 1000}}
    source = {k: v for k, v in NBODY.items() if k not in ("model", "given")}
    source["kernels"] = [{"name": "a", **kernel}, {"name": "b", **kernel}]
    source["limits"] = {"time": {"max": "1 s"}}
    assert dse.solve(source).objective == pytest.approx(2 * dse.solve(NBODY).objective, rel=CLOSE)


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"machine": "balanced"}, "machine", "does not say how its costs follow the clock"),
    (
        {"machine": {"base": "balanced", **{k: v for k, v in POWER.items() if k != "clock_exponent"}}},
        "machine",
        "does not say how the energy of a flop follows the clock",
    ),
    ({"machine": {"base": "balanced", **POWER, **LINE}}, "machine", "says twice"),
    (
        {"machine": {"base": "balanced", **{k: v for k, v in POWER.items() if k != "clock_max"}}},
        "machine",
        "has no clock_max",
    ),
    ({"machine": {"base": "balanced", **POWER, "clock_max": "3 s"}}, "machine.clock_max", "3 s"),
    ({"decide": {"processors": {}, "clock": {"max": "9 GHz"}}}, "decide.clock.max", "too large"),
    (
        {"machine": {"base": "balanced", **POWER, "clock_min": "3 GHz", "clock_max": "2 GHz"}},
        "machine",
        "is more than its clock_max",
    ),
    (
        {"decide": {"processors": {}}, "given": {**NBODY["given"], "clock": "9 GHz"}},
        "given.clock",
        "too large",
    ),
]


@pytest.mark.parametrize(("changes", "key", "wrong"), BAD)
def test_what_is_wrong_with_a_clock_is_said(changes: dict[str, Any], key: str, wrong: str):
    with pytest.raises(ScenarioError) as caught:
        dse.load(changed(NBODY, **changes))
    (problem,) = caught.value.problems
    assert problem.key == key
    assert wrong in problem.wrong


def rows() -> list[dict[str, str]]:
    path = Path(__file__).parents[1] / "data" / "choi2016_jetson_tk1_settings.csv"
    return list(csv.DictReader(path.open(encoding="utf-8")))


@pytest.mark.parametrize("row", rows(), ids=lambda r: r["row"])
def test_a_machine_at_a_setting_costs_what_the_table_says(row: dict[str, str]):
    """Energies and power of Table I, times by rates per cycle; it is fit for the roofline."""
    found = machines.get(f"jetson-tk1@{row['core_MHz']}-{row['mem_MHz']}").parameters
    names = {
        "energy_per_flop": "eps_SP_J",
        "energy_per_flop_double": "eps_DP_J",
        "energy_per_byte": "eps_mem_J_per_byte",
        "energy_per_byte_L2": "eps_L2_J_per_byte",
        "constant_power": "const_power_W",
    }
    assert {k: found[k] for k in names} == pytest.approx(
        {k: float(row[v]) for k, v in names.items()}, rel=1e-12
    )
    assert found["time_per_flop"] == pytest.approx(1 / (384 * float(row["core_Hz"])), rel=1e-12)
    assert found["time_per_byte"] == pytest.approx(1 / (16 * float(row["mem_Hz"])), rel=1e-12)


@pytest.mark.parametrize("name", ["jetson-tk1@9", "jaketown@852-924", "jetson-tk1@"])
def test_an_unknown_setting_is_said_to_be_none(name: str):
    with pytest.raises(UnknownName, match="no setting of"):
        machines.get(name)
    with pytest.raises(ScenarioError, match="no setting of"):
        dse.load({"model": "roofline", "machine": name, "given": {"flops": 1, "bytes": 1}})


def test_both_processors_may_be_chosen_among_settings():
    """Every pair is tried; a share of the region at each end of what the deadline leaves is the oracle's."""
    names = ("jetson-tk1@852-924", "jetson-tk1@396-528", "jetson-tk1@180-924")
    source = {
        "model": "partition",
        "given": {"regions": [{"name": "a", "flops": 1e9, "bytes": 1e7}]},
        "decide": {f"machine.{x}": {"values": list(names)} for x in ("one", "two")},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "4 ms"}},
    }
    best = math.inf
    for m in (machines.get(n).parameters for n in names):
        for o in (machines.get(n).parameters for n in names):
            alone = [max(1e9 * c["time_per_flop"], 1e7 * c["time_per_byte"]) for c in (m, o)]
            spent = [1e9 * c["energy_per_flop"] + 1e7 * c["energy_per_byte"] for c in (m, o)]
            x = np.linspace(0, 1, 100_001)
            x = np.append(x, alone[1] / sum(alone))
            T = np.maximum(x * alone[0], (1 - x) * alone[1])
            E = x * spent[0] + (1 - x) * spent[1] + (m["constant_power"] + o["constant_power"]) * T
            best = min(best, E[T <= 4e-3].min(initial=math.inf))
    assert dse.solve(source).objective == pytest.approx(best, rel=1e-5)


def test_a_machine_may_state_costs_that_the_model_does_not_have():
    """The catalogue's machine states flops in double precision and caches too, which a partition knows nothing of."""
    work = {"regions": [{"name": "a", "flops": 1e12, "bytes": 1e9}], "share.a.gpu": 1.0}
    titan = {"base": "gtx-titan-choi2014", **POWER}
    asked = {"model": "partition", "machine": {"gpu": titan, "cpu": "i7-2600k"}}
    at, slow = (dse.solve({**asked, "given": {**work, "clock.gpu": f}}).metrics for f in ("2 GHz", "1 GHz"))
    assert slow["time"] == pytest.approx(2 * at["time"], rel=1e-12)
    plain = dse.solve({**asked, "machine": {"gpu": titan["base"], "cpu": "i7-2600k"}, "given": work})
    assert {n: at[n] for n in plain.metrics} == pytest.approx(plain.metrics, rel=1e-12)


def test_a_decided_clock_beside_a_maximum_says_what_other_numbers_are_worth():
    """W ε (f/f0)² + π W τ f0/f is least at f³ = f0³ π τ/(2 ε); the exponent has no slope, the others have."""
    machine = {"base": "dgx-h100-bf16", "clock_reference": 1.8e9, "clock_min": 1e9, "clock_max": 3e9,
               "clock_exponent": 3, "energy_per_flop": 1e-13}  # fmt: skip
    question = {"model": "roofline", "machine": machine, "given": {"flops": 1e15, "bytes": 1e9}}
    found = dse.solve(question | {"decide": {"clock": {}}, "objective": {"minimize": "energy"}})
    p = machines.get("dgx-h100-bf16").parameters
    best = 1.8e9 * (p["constant_power"] * p["time_per_flop"] / 2e-13) ** (1 / 3)
    assert found.status == "optimal"
    assert found.variables["clock"] == pytest.approx(best, rel=1e-6)
    # two parts of the energy fall and rise with the clock, as 2 to 1
    assert found.parameters["machine.constant_power"] == pytest.approx(2 / 3, abs=1e-3)
    assert "machine.clock_exponent" not in found.parameters


@pytest.mark.parametrize(
    ("more", "place", "role"),
    [
        (
            {"decide": {"machine.energy_per_flop": {"max_halvings": 2}}},
            "decide.machine.energy_per_flop",
            "decided",
        ),
        (
            {"sweep": {"x": {"path": "machine.energy_per_flop", "values": [1e-11, 2e-11]}}},
            "sweep.x.path",
            "swept",
        ),
    ],
)
def test_a_cost_that_follows_the_clock_has_no_other_role(more: dict[str, Any], place: str, role: str):
    """The file has no [define] from which it could be taken out."""
    asked = changed(NBODY, decide=NBODY["decide"] | more.get("decide", {}), sweep=more.get("sweep", {}))
    with pytest.raises(ScenarioError) as told:
        dse.sweep(asked) if "sweep" in more else dse.solve(asked)
    (problem,) = told.value.problems
    assert problem.key == place
    assert problem.wrong.startswith(f"machine.energy_per_flop is {role}, and follows clock, as ")
    assert "[define]" not in problem.right
