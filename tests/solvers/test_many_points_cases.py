"""Questions whose maxima can be held in several ways: every case of all points together, as for a question alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
import results.dataset
import scenarios
from results.dataset import STATUS_CODES
from results.solution import Status
from solvers import paths
from solvers.geometric.points import geometric

OVERLAP = {
    "longest": "maximum(machine.time_per_flop * flops, machine.time_per_word * words,"
    " machine.time_per_message * messages)",
    "spent": "machine.energy_per_flop * flops + machine.energy_per_word * words"
    " + machine.energy_per_message * messages",
    "drawn": "(machine.memory_power_per_word * memory + machine.leakage_power) * longest",
    "overlapped": "processors * (spent + drawn)",
    "mean_power": "overlapped / longest",
}


def log(start: float, stop: float, num: int) -> dict[str, Any]:
    return {"start": start, "stop": stop, "num": num, "spacing": "log"}


def throttled(objective: dict[str, str], limits: dict[str, Any], axes: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": "t",
        "model": "roofline",
        "machine": "gtx580-choi2014",
        "given": {"flops": 1e12, "intensity": 4},
        "decide": {"throttle": {"max": 50}, "machine.usable_power": {"min": 20, "max": 300}},
        "objective": objective,
        "limits": limits,
        "sweep": {f"axis{i}": {"path": path, **values} for i, (path, values) in enumerate(axes.items())},
    }


def overlapping(processors: dict[str, Any]) -> dict[str, Any]:
    """Words are sent while processors compute, within a mean power: energy by the longest of three times."""
    return {
        "title": "t",
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": processors, "memory": {}},
        "define": OVERLAP,
        "objective": {"minimize": "overlapped"},
        "limits": {"longest": {"max": 0.03}, "mean_power": {"max": 500}},
        "sweep": {
            "deadline": {"path": "limits.longest.max", **log(1e-3, 1, 5)},
            "cap": {"path": "limits.mean_power.max", **log(1, 5000, 5)},
        },
    }


INTENSITY = {"given.intensity": log(0.5, 64, 5)}
QUESTIONS = {
    "most efficient": throttled(
        {"maximize": "efficiency"},
        {"peak_power": {"max": 200}, "time": {"max": 1}},
        {"limits.peak_power.max": log(100, 400, 5), **INTENSITY},
    ),
    "least peak power": throttled(
        {"minimize": "peak_power"},
        {"time": {"max": 1}, "peak_power": {"max": 280}},
        {"limits.time.max": log(0.1, 10, 5), **INTENSITY},
    ),
    "overlapping": overlapping({"max": 4096}),
    "whole processors": overlapping({"max": 4096, "integer": True}),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_cases_are_answered_together_as_alone(name: str, as_alone: Any):
    arrays, left = as_alone(QUESTIONS[name], lambda grid: paths.chosen(grid).path)
    assert not left.any()
    assert {STATUS_CODES[s] for s in (Status.OPTIMAL, Status.INFEASIBLE)} == set(arrays["status"].flat)


@pytest.mark.parametrize("name", ["most efficient", "overlapping"])
def test_a_point_has_the_same_bits_in_every_block(name: str):
    grid = scenarios.grid(dse.load(QUESTIONS[name]))
    way = geometric.over(grid, compiled=False)
    plan = results.dataset.layout(grid)
    whole, _ = way.solve(plan, (slice(0, 5), slice(0, 5)))
    for part in ((slice(1, 4), slice(2, 5)), (slice(3, 4), slice(0, 1))):
        some, _ = way.solve(plan, part)
        for variable, values in some.items():
            if variable != "seconds":
                np.testing.assert_array_equal(values, whole[variable][part], err_msg=variable)


def test_a_term_that_is_largest_at_other_points_only_is_a_case(as_alone: Any):
    """Full speed draws the most at the first points, whatever is decided; at the last ones the cap on power does."""
    asked = throttled(
        {"minimize": "peak_power"}, {"time": {"max": 10}}, {"machine.usable_power": log(1, 1e4, 9)}
    )
    del asked["decide"]["machine.usable_power"]
    _, left = as_alone(asked, lambda grid: paths.chosen(grid).path)
    assert not left.any()
