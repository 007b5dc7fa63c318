"""Reference questions about one platform at a time, asked as a user asks: data/cases_choi_peapaw_roofline.csv."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import dse
from results.solution import Solution, Status

with (Path(__file__).parent / "data" / "cases_choi_peapaw_roofline.csv").open(encoding="utf-8") as table:
    CASES = {
        r["id"]: (json.loads(r["inputs_json"]), json.loads(r["answer_json"])) for r in csv.DictReader(table)
    }
with (Path(__file__).parent / "data" / "choi2014_platforms.csv").open(encoding="utf-8") as table:
    PLATFORMS = [r["platform_id"] for r in csv.DictReader(table)]
NO_DOUBLE = {"nuc_gpu", "apu_gpu", "arndale_gpu"}
REGIMES = ("flop", "cap", "memory")
# the answers are printed with ten digits
EXACT = 1e-9
# a bound within the gap of an interval search
PROVEN = 1e-6


def name(platform: str) -> str:
    return platform.replace("_", "-") + "-choi2014"


def platform(solution: Solution | None, choice: Any = None) -> str:
    """The table's name of the chosen machine."""
    chosen = str(choice if solution is None else solution.variables["machine"])
    return chosen.removesuffix("-choi2014").replace("-", "_")


def ask(**entries: Any) -> Solution:
    return dse.solve({"model": "roofline", **entries})


def best(given: dict[str, Any], goal: dict[str, str], candidates: list[str], **more: Any) -> Solution:
    decide = {"machine": {"values": [name(p) for p in candidates]}} | more.pop("decide", {})
    return ask(given=given, decide=decide, objective=goal, **more)


def ranked(solution: Solution, maximize: bool = False) -> list[tuple[str, float]]:
    """Every candidate that can do it, best first."""
    able = [(platform(None, a.choice["machine"]), a.objective) for a in solution.alternatives]
    return sorted(
        ((p, v) for p, v in able if v is not None), key=lambda item: -item[1] if maximize else item[1]
    )


@pytest.mark.parametrize(("case", "precision"), [("a01", "single"), ("a05", "double")])
def test_which_platform_takes_the_least_energy(case: str, precision: str):
    asked, wanted = CASES[case]
    candidates = [p for p in PLATFORMS if precision == "single" or p not in NO_DOUBLE]
    given = {"flops": asked["W"], "bytes": asked["Q"], "precision": precision}
    found = best(given, {"minimize": "energy"}, candidates)
    assert found.status is Status.OPTIMAL
    assert platform(found) == wanted["platform"]
    assert found.objective == pytest.approx(wanted["energy_J"], rel=EXACT)
    assert found.metrics["time"] == pytest.approx(wanted["time_s"], rel=EXACT)
    second = ranked(found)[1]
    assert second[0] == wanted["second"]
    assert second[1] == pytest.approx(wanted["second_energy_J"], rel=EXACT)
    assert len(found.alternatives) == wanted.get("candidates", 12)


@pytest.mark.parametrize("case", ["e02", "e22"])
def test_what_throttling_costs(case: str):
    asked, wanted = CASES[case]
    full, less = (
        ask(machine=name(asked["platform"]), given={"flops": 1e12, "intensity": asked["I"], "throttle": k})
        for k in (1, asked["k"])
    )
    found = {
        "relative_performance": less.metrics["performance"] / full.metrics["performance"],
        "power_W": less.metrics["power"],
        "flop_per_J": less.metrics["efficiency"],
        "relative_energy": less.metrics["energy"] / full.metrics["energy"],
    }
    assert found == pytest.approx({k: wanted[k] for k in found}, rel=EXACT)
    assert REGIMES[int(less.metrics["regime"])] == wanted["regime"]


def test_which_platform_keeps_the_largest_share_when_throttled():
    asked, wanted = CASES["e06"]
    speed = [
        dict(
            ranked(
                best(
                    {"flops": 1e12, "intensity": asked["I"], "throttle": k},
                    {"maximize": "performance"},
                    PLATFORMS,
                ),
                maximize=True,
            )
        )
        for k in (1, asked["k"])
    ]
    shares = sorted(((speed[1][p] / speed[0][p], p) for p in PLATFORMS), reverse=True)
    assert [p for _, p in shares[:2]] == [wanted["best"], wanted["second"]]
    found = [s for s, _ in shares[:2]]
    assert found == pytest.approx([wanted["best_share"], wanted["second_share"]], rel=EXACT)


def test_how_far_streaming_can_be_throttled_for_nothing():
    asked, wanted = CASES["e10"]
    machine = name(asked["platform"])
    given = {"flops": 0, "bytes": 1e12}
    full = ask(machine=machine, given=given).metrics["bandwidth"]
    found = ask(
        machine=machine,
        given=given,
        decide={"throttle": {"max": 1000}},
        objective={"maximize": "throttle"},
        limits={"bandwidth": {"min": full}},
    )
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(wanted["k"], rel=PROVEN)


def test_the_ends_of_the_capped_interval():
    asked, wanted = CASES["e14"]
    given = {"flops": 1, "bytes": 1, "throttle": asked["k"]}
    found = ask(machine=name(asked["platform"]), given=given).metrics
    assert found["balance_low"] == pytest.approx(wanted["B_minus"], rel=EXACT)
    assert found["balance"] == pytest.approx(wanted["B_tau"], rel=EXACT)
    assert (found["balance_high"] == float("inf")) == (wanted["B_plus"] is None)


def test_the_fastest_platform_under_a_node_limit():
    """A platform that could draw more than the limit is throttled to P - π1; one with π1 >= P cannot be used."""
    asked, wanted = CASES["e18"]
    found = best(
        {"flops": 1e12, "intensity": asked["I"]},
        {"maximize": "performance"},
        PLATFORMS,
        decide={"throttle": {"max": 1e6}},
        limits={"peak_power": {"max": asked["P_W"]}},
    )
    assert found.status is Status.OPTIMAL
    order = ranked(found, maximize=True)
    assert [p for p, _ in order[:2]] == [wanted["platform"], wanted["second"]]
    speeds = [v for _, v in order[:2]]
    assert speeds == pytest.approx(
        [wanted["speed_flop_per_s"], wanted["second_speed_flop_per_s"]], rel=PROVEN
    )
    assert len(order) == wanted["eligible"]
