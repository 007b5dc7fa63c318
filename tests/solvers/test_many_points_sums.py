"""Whole numbers, menus and names at many points: every number of every point is what the single path gives."""

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
from solvers.counting import tables
from solvers.geometric.points import geometric, holding
from solvers.linear.points import linear
from solvers.many_points import by_choice

OPTIMAL, NONE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]
KINDS = {
    "gtx_titan": "gtx-titan-choi2014",
    "xeon_phi": "xeon-phi-choi2014",
    "nuc_gpu": "nuc-gpu-choi2014",
    "arndale_gpu": "arndale-gpu-choi2014",
}


def axis(path: str, start: float, stop: float, num: int) -> dict[str, Any]:
    return {"path": path, "start": start, "stop": stop, "num": num, "spacing": "log"}


def mix(goal: str, kinds: int, given: dict[str, Any], limits: dict[str, Any], *axes: Any) -> dict[str, Any]:
    """Ask for blocks of a few kinds."""
    return {
        "model": "blocks",
        "machine": dict(list(KINDS.items())[-kinds:]),
        "given": {"flops": 1e16, **given},
        "objective": {"maximize" if goal in {"performance", "efficiency"} else "minimize": goal},
        "limits": limits,
        "sweep": {f"axis{i}": a for i, a in enumerate(axes)},
    }


POWER = axis("limits.nameplate_power.max", 20.0, 700.0, 4)
WORK = axis("given.intensity", 0.25, 64.0, 2)


@pytest.mark.parametrize(
    ("goal", "limits", "more"),
    [
        ("performance", {}, {}),
        ("energy", {"time": {"max": 2e4}}, {}),
        ("energy", {"block_types": {"max": 1}}, {"fixed_power": 150.0}),
        ("time", {"block_power": {"max": 300.0}, "performance": {"min": 2e12}}, {}),
        ("power", {"performance": {"min": 5e12}}, {}),
        ("energy_delay", {"blocks": {"max": 20}}, {}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value,
)
def test_mixes_of_blocks(goal: str, limits: dict[str, Any], more: dict[str, Any], as_alone: Any):
    asked = mix(goal, 3, {"intensity": 1.0, **more}, {"nameplate_power": {"max": 1.0}, **limits}, POWER, WORK)
    if goal == "energy_delay":
        assert paths.chosen(scenarios.grid(dse.load(asked))).path is None
        return
    arrays, left = as_alone(asked, linear.over)
    assert not left.any()
    assert (arrays["status"] == OPTIMAL).any()


@pytest.mark.parametrize("seed", range(4))
def test_random_mixes(seed: int, as_alone: Any):
    """Any two axes, limits that hold, bind, and cannot hold; kinds of which two are the same are tied."""
    generator = np.random.default_rng(seed)
    limit, other = generator.choice(
        ["nameplate_power.max", "block_power.max", "time.max", "energy.max"], 2, replace=False
    )
    ends = {
        "nameplate_power.max": (15.0, 500.0),
        "block_power.max": (15.0, 500.0),
        "time.max": (2e3, 1e5),
        "energy.max": (3e5, 3e6),
    }
    limits: dict[str, Any] = {"nameplate_power": {"max": 300.0}}
    for name in (limit, other):
        metric, side = name.split(".")
        limits[metric] = {side: float(np.sqrt(np.prod(ends[name])))}
    given = {
        "intensity": float(generator.uniform(0.2, 20.0)),
        "fixed_power": float(generator.choice([0.0, 40.0])),
    }
    goal = str(generator.choice(["performance", "energy", "power", "nameplate_power"]))
    along = axis(f"limits.{limit}", *ends[limit], 4)
    second = WORK if seed % 2 else axis(f"limits.{other}", *ends[other], 3)
    asked = mix(goal, 3, given, limits, along, second)
    if seed == 3:
        asked["machine"]["twin"] = asked["machine"]["arndale_gpu"]
    as_alone(asked, linear.over)


def phases(goal: str, limits: dict[str, Any], *axes: Any) -> dict[str, Any]:
    """Ask for a setting of each of three phases."""
    return {
        "model": "dvfs",
        "machine": "jetson-tk1-choi2016",
        "given": {
            "phases": [
                {"name": "tree", "integer_operations": 8e10, "bytes": 6e9},
                {"name": "far", "flops": 3e10, "integer_operations": 1.5e10, "bytes": 4e10},
                {"name": "near", "flops": 7e11, "integer_operations": 2e11, "bytes": 3e9},
            ]
        },
        "objective": {"minimize": goal},
        "limits": limits,
        "sweep": {f"axis{i}": a for i, a in enumerate(axes)},
    }


@pytest.mark.parametrize(
    ("goal", "limit", "ends"),
    [("energy", "time", (4.5, 8.0)), ("time", "energy", (30.0, 70.0)), ("time", "phase_power", (6.0, 14.0))],
)
def test_a_setting_for_each_phase(goal: str, limit: str, ends: tuple[float, float], as_alone: Any):
    asked = phases(goal, {limit: {"max": 1.0}}, axis(f"limits.{limit}.max", *ends, 5))
    asked["sweep"]["work"] = axis("given.phases.near.flops", 3e11, 9e11, 2)
    arrays, left = as_alone(asked, linear.over)
    assert not left.any()
    assert {OPTIMAL, NONE} == set(arrays["status"].ravel().tolist())


def racks(limits: dict[str, Any], goal: dict[str, str], *axes: Any) -> dict[str, Any]:
    """Ask for a platform and how many of it."""
    return {
        "model": "exabounds",
        "given": {
            "instructions": 36e12,
            "data_reuse": [
                {"name": "near", "distance": "1 KiB", "share": 0.9},
                {"name": "far", "distance": "128 KiB", "share": 0.0992},
                {"name": "new", "share": 0.0008},
            ],
        },
        "decide": {
            "machine": {"values": ["platform-gpu", "platform-atom", "platform-cortex-a8"]},
            "machine.count.rack": {"integer": True, "max": 1e6},
        },
        "objective": goal,
        "limits": limits,
        "sweep": {f"axis{i}": a for i, a in enumerate(axes)},
    }


def test_platforms_and_how_many_of_them(as_alone: Any):
    asked = racks(
        {"performance": {"min": 1e13}},
        {"maximize": "mtbf"},
        axis("limits.performance.min", 1e13, 1e14, 4),
        axis("given.instructions", 1e13, 1e14, 2),
    )
    arrays, left = as_alone(asked, lambda grid: by_choice.way(grid, [geometric.way], holding.can_hold).path)
    assert not left.any()
    assert (arrays["machine"] >= 0).all()


def die(limits: dict[str, Any], *axes: Any, **decide: Any) -> dict[str, Any]:
    """Ask for cores and the size of their caches on a die (exabounds, no program)."""
    found = racks(limits, {"maximize": "performance"}, *axes)
    found["machine"] = {
        "frequency": 2e9, "voltage": 1.0, "dynamic_capacitance": 5e-10, "count.core": 4, "cache.L1D": 262144,
        "latency.L2": "10 cycle", "latency.DRAM": 8e-8, "reorder_buffer": 48, "bandwidth.socket": "25.6 GB/s",
        "die_area": "200 mm^2", "transistor_density": 2e12, "transistors.core": 5e6, "functional_units.INT": 4,
        "unit_transistors.INT": 250e3, "cache_transistors.L1D": 48, "cache_transistors.L2": 48,
    }  # fmt: skip
    found["decide"] = {
        "machine.count.die": {"integer": True, "max": 64},
        "machine.cache.L2": {"values": ["32 KiB", "256 KiB", "2 MiB"]},
        **decide,
    }
    return found


def test_sizes_of_a_die_and_why_none_will_do(as_alone: Any):
    asked = die(
        {"time": {"max": 1e3}},
        axis("limits.time.max", 1e3, 8e3, 3),
        axis("machine.die_area", 2e-5, 1e-4, 2),
    )
    arrays, left = as_alone(asked, tables.over)
    assert not left.any()
    assert {OPTIMAL, NONE} == set(arrays["status"].ravel().tolist())
    grid = scenarios.grid(dse.load(asked))
    plan = results.dataset.layout(grid)
    # the same bits whatever is asked beside a point
    for k in range(2):
        part, _ = tables.over(grid).solve(plan, (slice(1, 3), slice(k, k + 1)))
        for name, values in part.items():
            if name not in {"seconds", "message"}:
                np.testing.assert_array_equal(values, arrays[name][1:3, k : k + 1])
