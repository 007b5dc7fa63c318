"""Machines of the roofline, PeaPaw and DVFS papers: as the tables print them, doubts and gaps included."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dse import machines, models

with (Path(__file__).parents[1] / "data" / "choi2014_platforms.csv").open(encoding="utf-8") as table:
    PLATFORMS = list(csv.DictReader(table))
COSTS = {
    "energy_per_flop": "eps_single_J_per_flop",
    "energy_per_flop_double": "eps_double_J_per_flop",
    "energy_per_byte": "eps_mem_J_per_byte",
    "energy_per_byte_L1": "eps_L1_J_per_byte",
    "energy_per_byte_L2": "eps_L2_J_per_byte",
    "energy_per_access": "eps_rand_J_per_access",
    "constant_power": "pi1_W",
    "usable_power": "delta_pi_W",
}
RATES = {
    "time_per_flop": "sust_single_flop_per_s",
    "time_per_flop_double": "sust_double_flop_per_s",
    "time_per_byte": "sust_mem_B_per_s",
    "time_per_byte_L1": "sust_L1_B_per_s",
    "time_per_byte_L2": "sust_L2_B_per_s",
    "time_per_access": "sust_rand_access_per_s",
}
# rounding of the printed energies, 0.05 pJ; one cell of L2 is 0.07 off
PICOJOULES = 0.07e-12
OPERATIONS = ("flop", "flop_double", "integer_operation", "byte_shared", "byte_L2")


@pytest.mark.parametrize("row", PLATFORMS, ids=lambda r: r["platform_id"])
def test_the_twelve_platforms_are_as_printed(row: dict[str, str]):
    """Every printed cell is there, every empty one is absent; times are reciprocals of sustained rates."""
    machine = machines.get(row["platform_id"].replace("_", "-") + "-choi2014")
    wanted = {k: float(row[c]) for k, c in COSTS.items() if row[c]}
    wanted |= {k: 1.0 / float(row[c]) for k, c in RATES.items() if row[c]}
    assert dict(machine.parameters) == pytest.approx(wanted, rel=1e-15)
    assert f"{float(row['idle_W']):g} W" in machine.notes
    assert ("asterisk" in machine.notes) == (row["idle_asterisk"] == "1")


def test_unsure_cells_keep_their_doubt():
    assert set(machines.get("gtx680").doubts) == {
        "energy_per_byte_L1",
        "energy_per_byte_L2",
        "time_per_byte_L2",
        "energy_per_access",
    }
    assert set(machines.get("gtx-titan-choi2014").doubts) == {"energy_per_byte_L2", "time_per_byte_L2"}
    arndale = machines.get("arndale-gpu")
    assert "energy_per_access" not in arndale.parameters
    assert "lost" in arndale.doubts["time_per_access"]


def test_one_device_of_two_papers_is_two_machines():
    with pytest.raises(models.UnknownName, match="gtx-titan-choi2014, gtx-titan-tang2017"):
        machines.get("gtx-titan")
    assert machines.get("arndale-gpu").name == "arndale-gpu-choi2014"
    assert machines.get("gtx_750").name == "gtx-750-tang2017"
    assert machines.get("jetson-tk1").name == "jetson-tk1-choi2016"


@pytest.mark.parametrize(
    ("name", "costs"),
    [
        ("i7-2600k-tang2017", (9.5e-12, 6.59e-11, 1.18e-10, 4.62e-10, 26.8)),
        ("i3-2100t-tang2017", (2.5e-11, 7.3e-11, 1.35e-10, 5.81e-10, 9.7)),
        ("gtx-titan-tang2017", (4e-13, 4.2e-12, 5.7e-11, 1.87e-10, 64.1)),
        ("gtx-750-tang2017", (1.9e-12, 1.48e-11, 7.8e-11, 1.69e-10, 16.4)),
    ],
)
def test_the_four_processors_of_peapaw(name: str, costs: tuple[float, ...]):
    keys = ("time_per_flop", "time_per_byte", "energy_per_flop", "energy_per_byte", "constant_power")
    assert dict(machines.get(name).parameters) == dict(zip(keys, costs, strict=True))


def test_the_sixteen_settings_follow_from_their_voltages():
    """Energies go with the square of a voltage (6), (7), constant power is linear in both (8): no slip of copying."""
    menu = machines.get("jetson-tk1").settings
    assert [s["row"] for s in menu] == list(range(1, 17))
    assert len({s["name"] for s in menu}) == 16
    assert sum(s["role"] == "training" for s in menu) == 8
    capacitance = (27.353e-12, 131.084e-12, 56.544e-12, 33.360e-12, 84.990e-12)
    for s in menu:
        for kind, c in zip(OPERATIONS, capacitance, strict=True):
            assert s[f"energy_per_{kind}"] == pytest.approx(c * s["core_voltage"] ** 2, abs=PICOJOULES)
        assert s["energy_per_byte"] == pytest.approx(369.562e-12 * s["memory_voltage"] ** 2, abs=PICOJOULES)
        leakage = 2.86813 * s["core_voltage"] + 3.80976 * s["memory_voltage"]
        assert s["constant_power"] == pytest.approx(leakage, abs=0.0575)
        assert s["name"] == f"{s['core_frequency'] / 1e6:g}-{s['memory_frequency'] / 1e6:g}"


def test_unknown_voltages_of_the_fmm_settings_stay_unknown():
    menu = {s["name"]: s for s in machines.get("fmm").settings}
    assert list(menu) == [f"S{i}" for i in range(1, 9)]
    lacking = {
        "core_voltage": {"S5", "S7"},
        "memory_voltage": {"S4", "S7"},
        "constant_power": {"S4", "S5", "S7"},
    }
    for name, without in lacking.items():
        assert {n for n, s in menu.items() if name not in s} == without
    whole = {s["name"]: s for s in machines.get("jetson-tk1").settings}
    same = {k: v for k, v in menu["S3"].items() if k not in {"name", "source"}}
    assert same == {k: v for k, v in whole["180-924"].items() if k in same}


def test_a_machine_without_settings_has_none():
    assert machines.get("jaketown").settings == ()


def test_rates_of_the_jetson_say_which_the_paper_supports():
    """192 cores with a fused multiply-add each, double precision at 1/24; the others are not in the paper."""
    jetson = machines.get("jetson-tk1")
    assert jetson.parameters["flops_per_cycle"] == 2 * 192
    assert jetson.parameters["flops_double_per_cycle"] == 384 / 24
    assert jetson.parameters["integer_operations_per_cycle"] == 192
    assert jetson.parameters["bytes_per_cycle"] * 924e6 == pytest.approx(14.8e9, rel=2e-3)
    guessed = {"integer_operations_per_cycle", "bytes_per_cycle"}
    assert set(jetson.doubts) == guessed
    assert all("not in the paper" in jetson.provenance[k] for k in guessed)
    assert set(jetson.parameters) - guessed == {"flops_per_cycle", "flops_double_per_cycle"}
