"""Grids of geometric programs answered at once: at every point what the question alone is answered with."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from geometric_grids import FREE, assert_alike, at_once, grid, log, share

import dse
from results.dataset import STATUS_CODES
from results.solution import Status
from solvers.answer import answer
from solvers.geometric.points import geometric
from solvers.many_points import blocks

OVERLAPPED = """
[define]
longest = "maximum(machine.time_per_flop * flops, machine.time_per_word * words, machine.time_per_message * messages)"
spent   = "machine.energy_per_flop * flops + machine.energy_per_word * words + machine.energy_per_message * messages"
drawn   = "(machine.memory_power_per_word * memory + machine.leakage_power) * longest"
overlapped_energy = "processors * (spent + drawn)"
overlapped_power = "overlapped_energy / longest"
"""
CLOCKS = """
[define]
core_voltage              = "0.54 V + 0.57 V/GHz * core_clock"
memory_voltage            = "0.74 V + 0.285 V/GHz * memory_clock"
"machine.time_per_flop"   = "1 / (384 flop/cycle * core_clock)"
"machine.time_per_byte"   = "1 / (16 byte/cycle * memory_clock)"
"machine.energy_per_flop" = "27.35 pJ/V**2/flop * core_voltage**2"
"machine.energy_per_byte" = "369.6 pJ/V**2/byte * memory_voltage**2"
"machine.constant_power"  = "2.87 W/V * core_voltage + 3.81 W/V * memory_voltage"
"""
GRIDS = {
    "deadline": grid(
        {
            "limits.time.max": log("1 ms", "10 s", 12),
            "given.bodies": "values = [1e4, 1e5, 1e6]",
            "decide.processors.max": "values = [1, 10, 65536]",
        },
        limits='time = { max = "1 s" }',
    ),
    "energy and time of matmul": grid(
        {
            "limits.time.max": log("1 ms", "1000 s", 10),
            "machine.energy_per_word": "factors = [0.1, 1, 10, 0]",
            "given.order": "values = [1e3, 1e4, 1e5]",
        },
        model="matmul",
        given="order = 1e4",
        limits='time = { max = "1 s" }',
    ),
    "an exponent is swept": grid(
        {
            "limits.time.max": log("1 ms", "1000 s", 8),
            "given.exponent": "values = [2.2, 2.5, 2.807]",
            "limits.energy.max": log(1.0, 1e7, 8),
        },
        model="strassen",
        given="order = 1e4",
        objective='minimize = "energy_delay"',
        limits='energy = { max = "1e4 J" }\ntime = { max = "1 s" }',
    ),
    "a limit waived, no bound on processors": grid(
        {"limits.time.max": log("1 ms", "10 s", 10), "decide.memory.max": "values = [1e2, 1e4, 1e6]"},
        waive='waive = ["replication"]',
        decide="processors = {}\nmemory = { max = 1e9 }",
        limits='time = { max = "1 s" }',
    ),
    "limits that say nothing": grid(
        {
            "limits.performance.min": "values = [0, 1e6, 1e10, 1e12]",
            "decide.processors.min": "values = [1, 5, 1000]",
            "limits.time.max": log("10 ms", "10 s", 5),
        },
        decide="processors = { min = 1, max = 65536 }\nmemory = {}",
        limits='performance = { min = 1 }\ntime = { max = "1 s" }',
    ),
    "costs of nothing": grid(
        {
            "limits.energy.max": log(1.0, 1e5, 8),
            "machine.leakage_power": "factors = [0, 1, 10]",
            "machine.time_per_message": "factors = [0, 1, 5]",
        },
        objective='minimize = "time"',
        limits='energy = { max = "100 J" }',
    ),
    "most efficient": grid(
        {"limits.time.max": log("1 ms", "10 s", 10), "machine.leakage_power": "factors = [0, 1, 10]"},
        objective='maximize = "efficiency"',
        limits='time = { max = "1 s" }',
    ),
    "least memory": grid(
        {"limits.time.max": log("1 ms", "10 s", 8), "limits.energy.max": log(10.0, 1e6, 6)},
        objective='minimize = "memory"',
        limits='time = { max = "1 s" }\nenergy = { max = 1e4 }',
    ),
    "most processors": grid(
        {"limits.time.max": log("1 ms", "10 s", 8), "limits.energy.max": log(10.0, 1e6, 6)},
        decide="processors = {}\nmemory = {}",
        objective='maximize = "processors"',
        limits='time = { max = "1 s" }\nenergy = { max = 1e4 }',
    ),
    "two levels": grid(
        {"limits.time.max": log("1 ms", "1000 s", 8), "machine.energy_per_flop": "factors = [0.1, 1, 10]"},
        model="matmul_two_level",
        machine="""{ time_per_flop = 1e-9, energy_per_flop = 2e-10, leakage_power = 0.05,
            node_time_per_word = 4e-8, node_energy_per_word = 3e-6, node_memory_power_per_word = 2e-6,
            core_time_per_word = 4e-9, core_energy_per_word = 5e-8, core_memory_power_per_word = 2e-5 }""".replace(
            "\n", " "
        ),
        given="order = 8192\ncores = 16",
        decide="nodes = { max = 4096 }\nnode_memory = {}\ncore_memory = {}",
        limits='time = { max = "50 ms" }\nnode_copies = { min = 1 }\nnode_replication = { max = 1 }\n'
        "core_replication = { max = 1 }",
    ),
    # on the paper's own machine one processor is best: two limits meet there, with multipliers of about 1e-6
    "two limits that hardly matter": grid(
        {"limits.time.max": log("100 ms", "10 s", 8), "given.bodies": log(3e4, 3e5, 8)},
        machine='"jaketown"',
        decide="processors = { max = 300 }\nmemory = {}",
        limits='time = { max = "0.36 s" }',
    ),
    "a deadline and a limit that hardly matter": grid(
        {"limits.time.max": log("1 s", "1000 s", 12), "given.order": log(3e3, 3e5, 12)},
        model="lu",
        machine='"jaketown"',
        given="order = 3e4",
        limits='time = { max = "10 s" }',
    ),
    "limits that hardly matter beside one that does": grid(
        {"limits.efficiency.min": log("1 GFLOPS/W", "10 GFLOPS/W", 8), "given.bodies": log(3e4, 3e5, 8)},
        machine='"jaketown"',
        decide=FREE
        + "\n".join(
            f'\n"machine.{n}" = {{ max_halvings = 10 }}'
            for n in ("energy_per_flop", "energy_per_word", "memory_power_per_word")
        ),
        objective='minimize = "halvings"',
        limits='efficiency = { min = "3 GFLOPS/W" }',
    ),
    # a term of 0 is none of those that the maximum is the largest of
    "the longest of several times": grid(
        {
            "limits.longest.max": log("1 ms", "10 s", 8),
            "given.bodies": log(1e4, 1e6, 6),
            "machine.time_per_word": "factors = [0, 1, 100]",
        },
        objective='minimize = "overlapped_energy"',
        limits='longest = { max = "1 s" }' + OVERLAPPED,
    ),
    "clocks and voltages of a roofline": grid(
        {"given.intensity": log(0.1, 1000.0, 12), "limits.time.max": log("1 s", "100 s", 8)},
        model="roofline",
        machine='"jetson-tk1@852-924"',
        given='flops = "1 Tflop"\nintensity = 4',
        decide='core_clock = { min = "180 MHz", max = "852 MHz" }\nmemory_clock = { min = "204 MHz", max = "924 MHz" }',
        limits='time = { max = "10 s" }' + CLOCKS,
    ),
    "machine parameters are decided": grid(
        {"limits.efficiency.min": log("1 GFLOPS/W", "1000 GFLOPS/W", 10)},
        decide=FREE
        + "\n".join(
            f'\n"machine.{n}" = {{ max_halvings = 10 }}'
            for n in ("energy_per_flop", "energy_per_word", "memory_power_per_word")
        ),
        objective='minimize = "halvings"',
        limits='efficiency = { min = "10 GFLOPS/W" }',
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_every_number_is_that_of_the_question_alone(name: str):
    _, left = assert_alike(GRIDS[name], sample=25, seed=1)
    assert left.mean() < 0.05


def test_these_grids_hold_all_there_is():
    """Optimal and infeasible points, and limits in all states."""
    names = ["deadline", "energy and time of matmul", "an exponent is swept", "costs of nothing"]
    for name in [*names, "the longest of several times", "clocks and voltages of a roofline"]:
        _, arrays, _ = at_once(GRIDS[name])
        assert share(arrays, Status.OPTIMAL) > 0.2
        assert share(arrays, Status.INFEASIBLE) > 0.1
        states = set(np.unique(arrays["binding"]).tolist())
        assert {-1, 0, 1, 2} <= states


def test_what_runs_away_is_unbounded_at_every_point():
    asked = grid(
        {"limits.energy.max": log(10.0, 1e6, 8)},
        waive='waive = ["replication", "one_copy"]',
        decide="processors = {}\nmemory = {}",
        objective='minimize = "time"',
        limits="energy = { max = 1e4 }",
    )
    arrays, left = assert_alike(asked, sample=8, seed=1)
    assert not left.any()
    assert share(arrays, Status.UNBOUNDED) > 0.5


def test_blocks_give_what_the_whole_gives():
    """A point's status and limits do not depend on the block it is in, its numbers not beyond rounding."""
    asked = GRIDS["deadline"]
    way = geometric.over(asked, compiled=False)
    plan, whole, left = at_once(asked)
    for corner in itertools.product((0, 7), (1,), (0, 2)):
        region = tuple(slice(c, c + 2) for c in corner)
        region = tuple(slice(s.start, min(s.stop, n)) for s, n in zip(region, asked.shape, strict=True))
        part, apart = way.solve(plan, region)
        np.testing.assert_array_equal(apart, left[region])
        for name, values in part.items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(values, whole[name][region], rtol=1e-7, atol=1e-9, err_msg=name)
            else:
                np.testing.assert_array_equal(values, whole[name][region], err_msg=name)


def test_compiled_and_by_threads_it_is_the_same(monkeypatch: pytest.MonkeyPatch):
    """The compiled kernel, pieces of a few points, several threads: the same states and numbers."""
    asked = GRIDS["deadline"]
    plan, whole, left = at_once(asked)
    monkeypatch.setattr(geometric, "PIECE", 10)
    monkeypatch.setattr(blocks, "threads", lambda: 4)
    way = geometric.over(asked, compiled=True)
    arrays, apart = way.solve(plan, tuple(slice(0, n) for n in asked.shape))
    both = ~(left | apart)
    assert both.mean() > 0.95
    for name, values in arrays.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(values[both], whole[name][both], rtol=3e-5, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(values[both], whole[name][both], err_msg=name)
    np.testing.assert_allclose(arrays["objective"][both], whole["objective"][both], rtol=1e-8)


def test_of_many_points_next_to_none_is_left_over():
    """8000 deadlines, sizes and machines, a third of them at the deadline: all certified."""
    asked = grid(
        {
            "limits.time.max": log("1 ms", "1000 s", 20),
            "given.bodies": log(1e4, 1e6, 20),
            "machine.energy_per_word": log(3e-7, 3e-5, 20),
        },
        limits='time = { max = "1 s" }',
    )
    assert geometric.way(asked).path is not None
    plan, arrays, left = at_once(asked)
    assert left.sum() <= 2
    assert np.nanmax(arrays["gap"]) <= 1e-6
    assert (arrays["binding"][..., plan.limits.index("time")] == 1).mean() > 0.2
    assert share(arrays, Status.INFEASIBLE) > 0.05


def test_two_whole_numbers_go_another_way():
    asked = grid(
        {"limits.time.max": log("1 ms", "10 s", 600)},
        decide="processors = { max = 65536, integer = true }\nmemory = { integer = true }",
        limits='time = { max = "1 s" }',
    )
    assert geometric.way(asked).path is None


def test_a_power_cap_goes_by_a_search():
    path = geometric.way(
        grid({"limits.power.max": log("1 W", "1 kW", 600)}, limits='power = { max = "1 W" }')
    ).path
    assert path is not None
    assert path.kind == "search"


def test_a_power_over_the_longest_time_goes_by_cases():
    """A longer time would do it good: which of the terms it is may be another one at every point."""
    asked = grid(
        {"limits.overlapped_power.max": log("1 W", "1 kW", 600)},
        objective='minimize = "overlapped_energy"',
        limits='overlapped_power = { max = "1 W" }' + OVERLAPPED,
    )
    assert geometric.way(asked).path is not None
    _, arrays, left = at_once(asked)
    assert not left.any()
    for i in (0, 200, 599):
        alone = answer(asked.question((i,)), neighbours=False)
        assert arrays["status"][i] == STATUS_CODES[alone.status]
        if alone.objective is not None:
            assert arrays["objective"][i] == pytest.approx(alone.objective, rel=1e-8)


@pytest.mark.parametrize("sizes", [2, 3, 5])
def test_few_points_of_each_machine_go_together(sizes: int):
    machines = 'values = ["balanced", "jaketown"]'
    offer = geometric.way(grid({"machine": machines, "given.bodies": log(1e4, 1e5, sizes)}))
    assert offer.path is not None
    assert not offer.reason


def test_few_points_go_together_and_many_are_compiled_for():
    """By what NumPy would take, and so by the grid alone."""
    few, many = (
        geometric.way(grid({"limits.time.max": log("1 ms", "10 s", n)}, limits='time = { max = "1 s" }')).path
        for n in (8, 100_000)
    )
    assert few is not None
    assert many is not None
    assert not few.method.startswith("compiled")
    assert many.method.startswith("compiled")


@pytest.mark.parametrize("worst", ["time", "maximum(time, 1 s / processors)"])
def test_a_whole_number_that_needs_the_slack_of_a_limit_is_the_same_at_one_point_and_at_many(worst: str):
    """A limit holds where it is missed by 1e-8 at most, whichever way finds the number."""
    asked = {
        "model": "nbody",
        "decide": {
            "machine": {"values": ["balanced", "contrived"]},
            "processors": {"integer": True, "max": 1e6},
        },
        "given": {"bodies": 1e5, "flops_per_pair": 10, "memory": 2e4},
        "define": {"price": "3 * processors", "worst": worst},
        "objective": {"minimize": "worst"},
        "limits": {"price": {"max": 30}},
    }
    caps = [30.0, 30 * (1 - 5e-9), 30 * (1 - 9e-9), 30 * (1 - 2e-8)]
    swept = dse.sweep({**asked, "sweep": {"cap": {"path": "limits.price.max", "values": caps}}})
    assert swept["processors"].values.tolist() == [10, 10, 10, 9]
    for cap, processors in zip(caps, swept["processors"].values, strict=True):
        alone = dse.solve({**asked, "limits": {"price": {"max": cap}}})
        assert alone.variables["processors"] == processors
