"""Reference questions about mixes, partitions and settings, asked as a user asks.

From data/cases_choi_peapaw_systems.csv.
"""

from __future__ import annotations

from typing import Any

import pytest
from choi_cases import CASES, PLATFORMS, blocks, partition, settings

import dse
from results.solution import Solution, Status

# the answers are printed with ten digits; an optimum is proved to 1e-9 or better
EXACT = 1e-8


def optimal(scenario: dict[str, Any], wanted: float) -> Solution:
    """The answer, which must be the wanted one, proved."""
    found = dse.solve(scenario)
    assert found.status is Status.OPTIMAL, found.message
    assert found.gap is not None
    assert found.gap <= 1e-9
    assert found.objective == pytest.approx(wanted, rel=EXACT)
    return found


def counts(found: Solution) -> dict[str, int]:
    """How many blocks of each kind are on, those of which there are none left out."""
    named = {n.partition(".")[2]: v for n, v in found.variables.items() if n.startswith("count.")}
    return {n: int(v) for n, v in named.items() if v}


def test_least_energy_of_a_mix_within_a_nameplate_budget():
    asked, wanted = CASES["a09"]
    given = {"flops": asked["W"], "bytes": asked["Q"], "fixed_power": asked["P0_W"]}
    question = blocks(PLATFORMS, given, {"minimize": "energy"}, nameplate_power=asked["budget_W"])
    found = optimal(question, wanted["energy_J"])
    assert counts(found) == wanted["counts"]
    assert found.metrics["time"] == pytest.approx(wanted["time_s"], rel=EXACT)
    assert found.metrics["nameplate_power"] == pytest.approx(wanted["nameplate_W"], rel=EXACT)


def test_least_energy_of_a_mix_within_budget_and_deadline():
    asked, wanted = CASES["a13"]
    given = {"flops": asked["W"], "bytes": asked["Q"]}
    names = ["gtx_titan", "gtx680", "xeon_phi", "arndale_gpu", "nuc_gpu"]
    limits = {"nameplate_power": asked["budget_W"], "time": asked["deadline_s"]}
    found = optimal(blocks(names, given, {"minimize": "energy"}, **limits), wanted["energy_J"])
    assert counts(found) == wanted["counts"]
    assert found.metrics["time"] == pytest.approx(wanted["time_s"], rel=EXACT)


def test_greatest_speed_of_a_mix_within_a_nameplate_budget():
    asked, wanted = CASES["b03"]
    goal = {"maximize": "performance"}
    question = blocks(PLATFORMS, {"intensity": asked["I"]}, goal, nameplate_power=asked["budget_W"])
    found = optimal(question, wanted["speed_flop_per_s"])
    assert counts(found) == wanted["counts"]
    assert found.metrics["nameplate_power"] == pytest.approx(wanted["nameplate_W"], rel=EXACT)


def test_greatest_speed_of_a_mix_within_actual_power():
    asked, wanted = CASES["b07"]
    names = ["gtx_titan", "gtx680", "xeon_phi", "nuc_gpu", "arndale_gpu"]
    goal = {"maximize": "performance"}
    question = blocks(names, {"intensity": asked["I"]}, goal, block_power=asked["budget_W"])
    found = optimal(question, wanted["speed_flop_per_s"])
    assert counts(found) == wanted["counts"]
    assert found.metrics["block_power"] == pytest.approx(wanted["power_W"], rel=EXACT)


def test_one_kind_of_throttled_block_under_a_power_limit():
    """Lowering the usable power of equal blocks is free sharing under that limit."""
    asked, wanted = CASES["b11"]
    given = {"intensity": asked["I"], "sharing": "free"}
    limits = {"block_power": asked["P_W"], "block_types": 1.0}
    question = blocks(asked["candidates"], given, {"maximize": "performance"}, **limits)
    found = optimal(question, wanted["speed_flop_per_s"])
    assert counts(found) == {wanted["platform"]: wanted["n"]}


@pytest.mark.parametrize("case", ["c01", "c05", "c09", "c13", "c17", "c37"])
def test_divided_regions(case: str):
    asked, wanted = CASES[case]
    goal = "energy" if "energy_J" in wanted else "time"
    found = optimal(partition(asked, goal), wanted["energy_J" if goal == "energy" else "time_s"])
    assert found.metrics["time"] == pytest.approx(wanted["time_s"], rel=EXACT)
    for i, share in enumerate(wanted.get("x_cpu", [])):
        # printed with nine decimals
        assert found.variables[f"share.{i + 1}.cpu"] == pytest.approx(share, abs=1e-8)


@pytest.mark.parametrize("case", ["c21", "c25", "c29", "c33"])
def test_whole_regions(case: str):
    asked, wanted = CASES[case]
    found = optimal(partition(asked, "time", whole=True), wanted["time_s"])
    assert found.metrics["energy"] == pytest.approx(wanted["energy_J"], rel=EXACT)
    assert [i for i in range(12) if found.variables[f"share.{i + 1}.cpu"] == 1] == wanted["cpu_regions"]


def rows(found: Solution, asked: dict[str, Any]) -> list[int]:
    return [int(found.variables[f"setting.{phase}"]) for phase in asked["phases_s_d_i_b"]]


def test_one_setting_for_all_phases():
    asked, wanted = CASES["d01"]
    found = optimal(settings(asked, "energy", decide={"setting": {}}), wanted["energy_J"])
    assert found.variables["setting"] == wanted["row"]
    assert found.metrics["time"] == pytest.approx(wanted["time_s"], rel=EXACT)


def test_a_setting_per_phase_within_a_deadline():
    asked, wanted = CASES["d05"]
    found = optimal(
        settings(asked, "energy", limits={"time": {"max": asked["deadline_s"]}}), wanted["energy_J"]
    )
    assert rows(found, asked) == wanted["rows_example"]
    assert found.metrics["time"] == pytest.approx(wanted["time_s"], rel=EXACT)


def test_a_setting_per_phase_within_an_energy_budget():
    asked, wanted = CASES["d09"]
    limits = {"energy": {"max": asked["energy_budget_J"]}}
    found = optimal(settings(asked, "time", limits=limits), wanted["time_s"])
    least = wanted["least_energy_at_that_time_J"]
    assert found.metrics["energy"] == pytest.approx(least, rel=EXACT)


def test_a_power_cap_on_every_phase():
    asked, wanted = CASES["d13"]
    found = optimal(settings(asked, "time", limits={"phase_power": {"max": 12.0}}), wanted["time_s"])
    assert found.metrics["energy"] == pytest.approx(wanted["energy_J"], rel=EXACT)


def test_what_racing_to_halt_loses():
    asked, wanted = CASES["d17"]
    counts = {"only": [asked["I"] * asked["b"], 0, 0, asked["b"]]}
    question = settings({"phases_s_d_i_b": counts}, "energy", decide={"setting": {}})
    found = optimal(question, wanted["least_energy_J"])
    assert found.variables["setting"] == wanted["frugal_row"]
    loss = 100 * (found.metrics["race_energy"] / found.metrics["energy"] - 1)
    assert loss == pytest.approx(wanted["loss_percent"], rel=EXACT)
