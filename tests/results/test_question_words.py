"""A question in one sentence."""

from typing import Any

import pytest

import scenarios
from results.summaries.question_words import sentence

NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"min": 2, "max": 64, "integer": True}, "memory": {}},
    "objective": {"minimize": ["energy", "time"]},
    "limits": {"time": {"max": "1 s"}, "power": {"max": "1 kW", "min": "1 W"}},
    "sweep": {
        "deadline": {"path": "limits.time.max", "values": ["10 ms", "1 s"]},
        "bodies": {"path": "given.bodies", "start": 1e4, "stop": 1e6, "num": 20},
    },
}


def test_it_says_what_is_wanted_decided_limited_and_swept():
    told = sentence(scenarios.grid(scenarios.load(NBODY)), {"": "balanced"})
    assert told == (
        "Least energy and least time of nbody (Direct n-body problem, replicating data) on balanced; "
        "decided: processors (whole number, 2 to 64), memory; "
        "within time ≤ deadline, power ≥ 1 W and ≤ 1 kW; "
        "for every deadline (10 ms, 1 s) × bodies (10000 to 1000000, 20 values)."
    )


def test_lists_that_are_decided_alike_are_told_together():
    grid = scenarios.grid(scenarios.load("partition_energy_time_front_whole"))
    assert "decided: 12 × share (whole number)." in sentence(grid, {})


def test_a_swept_bound_of_a_decision_is_told_as_its_axis():
    asked = NBODY | {
        "sweep": {"most": {"path": "decide.memory.max", "values": ["1 MB", "1 GB"]}},
        "decide": {"processors": {}, "memory": {"min": "1 kB", "max": "1 MB"}},
    }
    told = sentence(scenarios.grid(scenarios.load(asked)), {})
    assert "memory (1 kB to most)" in told
    assert "for every most (1 MB, 1 GB)" in told


def test_what_is_picked_from_many_names_is_shortened():
    grid = scenarios.grid(scenarios.load("roofline_platform_least_energy"))
    assert "machine among nehalem-choi2014, nuc-cpu-choi2014, … arndale-gpu-choi2014 (12)" in sentence(
        grid, {}
    )


def test_a_grid_that_decides_nothing_asks_for_its_metrics():
    asked = {
        "model": "roofline",
        "machine": "h100-sxm",
        "given": {"flops": 1e12},
        "sweep": {"ai": {"path": "intensity", "values": [1, 10]}},
    }
    assert sentence(scenarios.grid(scenarios.load(asked)), {}).startswith("The metrics of roofline")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"powers_of": 2, "max": 4096}, "processors among 1, 2, … 4096 (13)"),
        ({"powers_of": 2, "min": 8, "max": 40}, "processors among 8, 16, 32"),
        ({"powers_of": 2}, "processors among 1, 2, 4, 8, …"),
        ({"powers_of": 10, "integer": True}, "processors among 1, 10, 100, 1000, …"),
        ({"values": [1, 2, 4, 8], "max": 5}, "processors among 1, 2, 4"),
    ],
)
def test_a_list_is_told_as_far_as_the_bounds_leave_it(entry: dict[str, Any], told: str):
    asked = {k: v for k, v in NBODY.items() if k != "sweep"} | {"decide": {"processors": entry, "memory": {}}}
    assert f"decided: {told}, memory; " in sentence(scenarios.grid(scenarios.load(asked)), {})


def test_powers_that_fall_without_end_too_are_told_as_such():
    asked = {k: v for k, v in NBODY.items() if k != "sweep"} | {
        "decide": {"processors": {}, "memory": {}, "machine.leakage_power": {"powers_of": 2}},
    }
    told = sentence(scenarios.grid(scenarios.load(asked)), {})
    assert "leakage power among powers of 2; " in told


def test_a_swept_bound_of_a_list_is_told_as_its_axis():
    asked = NBODY | {
        "decide": {"processors": {"powers_of": 2, "max": 64, "integer": True}, "memory": {}},
        "sweep": {"most": {"path": "decide.processors.max", "values": [16, 64]}},
    }
    told = sentence(scenarios.grid(scenarios.load(asked)), {})
    assert "processors among 1, 2, 4, 8, … up to most" in told
