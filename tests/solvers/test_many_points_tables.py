"""Few designs at many points: every number of every point is what the single path gives."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decoders import LLAMA_70B

import dse
import results.dataset
import scenarios
from results.dataset import CONFLICTING, STATUS_CODES
from results.solution import Status
from solvers import paths
from solvers.answer import answer
from solvers.counting import narrowed, tables, whole
from solvers.explaining import least_values
from solvers.nonlinear import feasibility

LIBRARY = Path(scenarios.__file__).parent / "library"
OPTIMAL, NONE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]


def whole_regions(
    seed: int, goal: str, limits: dict[str, Any], count: int = 4, points: int = 3
) -> dict[str, Any]:
    """Ask where a few whole regions go, over a workload and a machine axis (and the deadline)."""
    generator = np.random.default_rng(seed)
    asked: dict[str, Any] = {
        "model": "partition",
        "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {
            "regions": [
                {"flops": float(f) * 1e9, "bytes": float(b) * 1e9, "divisible": False}
                for f, b in generator.uniform(1, 40, (count, 2))
            ]
        },
        "objective": {"maximize" if goal in {"performance", "efficiency"} else "minimize": goal},
        "limits": limits,
        "sweep": {
            "work": {"path": "given.regions.2.flops", "start": 1e9, "stop": 9e10, "num": points},
            "byte": {"path": "machine.gpu.time_per_byte", "start": 1e-11, "stop": 1e-10, "num": points},
        },
    }
    if "time" in limits:
        asked["sweep"]["deadline"] = {"path": "limits.time.max", "start": 0.2, "stop": 2.0, "num": 4}
    return asked


def way_of(grid: scenarios.Grid) -> str:
    """The method of the way that a grid goes."""
    found = paths.chosen(grid).path
    return "" if found is None else found.method


@pytest.mark.parametrize(
    ("goal", "limits"),
    [
        ("energy", {"time": {"max": 1.0}}),
        ("time", {}),
        ("efficiency", {"time": {"max": 1.0}}),
        ("energy", {"time": {"max": 1.0}, "energy_dynamic": {"max": 12.0}}),
        ("power", {"performance": {"min": 9e10}}),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_whole_regions_are_what_each_point_is_by_itself(
    seed: int, goal: str, limits: dict[str, Any], as_alone: Any
):
    arrays, left = as_alone(whole_regions(seed, goal, limits), tables.over)
    assert not left.any()
    assert (arrays["status"] == OPTIMAL).any() or "energy_dynamic" in limits


def test_equal_regions_are_tied_and_the_smaller_shares_come_first(as_alone: Any):
    asked = whole_regions(0, "time", {})
    asked["given"]["regions"] = [{"flops": 2e10, "bytes": 4e9, "divisible": False}] * 4
    asked["sweep"] = {"byte": {"path": "machine.gpu.time_per_byte", "start": 1e-11, "stop": 9e-10, "num": 6}}
    arrays, left = as_alone(asked, tables.over)
    assert not left.any()
    shares = arrays["share"][:, :, 0]
    # of regions that are all the same those at the end go to the first processor
    assert (np.diff(shares, axis=1) >= 0).all()
    assert 0 < shares.mean() < 1


def test_a_processor_may_be_chosen_too(as_alone: Any):
    asked = whole_regions(4, "energy", {"time": {"max": 1.0}}, count=3, points=2)
    asked["machine"] = {"cpu": "i3-2100t-tang2017"}
    asked["decide"] = {"machine.gpu": {"values": ["gtx-750-tang2017", "gtx-titan-tang2017"]}}
    asked["sweep"].pop("byte")
    arrays, left = as_alone(asked, tables.over)
    assert not left.any()
    assert set(arrays["machine.gpu"].ravel().tolist()) <= {-1, 0, 1}


def test_of_a_large_table_few_designs_are_compared_and_nothing_else_changes(as_alone: Any):
    limits = {"time": {"max": 1.0}, "energy_dynamic": {"max": 60.0}}
    asked = whole_regions(2, "energy", limits, count=11, points=2)
    asked["sweep"]["deadline"] |= {"start": 1.0, "stop": 9.0}
    arrays, left = as_alone(asked, tables.over)
    assert not left.any()
    assert {OPTIMAL, NONE} <= set(arrays["status"].ravel().tolist())


def test_of_a_large_table_points_have_only_designs_that_fixed_limits_leave(
    as_alone: Any, monkeypatch: pytest.MonkeyPatch
):
    looked_at = []
    made = narrowed._by_kinds

    def spy(x: Any, asked: Any, kinds: Any, size: int, take: Any) -> None:
        looked_at.append(size)
        made(x, asked, kinds, size, take)

    monkeypatch.setattr(narrowed, "_by_kinds", spy)
    asked = tomllib.loads((LIBRARY / "training_power_cap_for_energy.toml").read_text())
    asked["sweep"] = {
        "core": {"path": "machine.core_time_per_word", "factors": [0.5, 2.0]},
        "states": {"path": "given.optimiser_bytes", "factors": [0.5, 2.0]},
    }
    _, left = as_alone(asked, tables.over)
    assert not left.any()
    # of 336 000 only plans for 512 devices
    assert looked_at
    assert max(looked_at) < 10_000


def test_a_large_table_declares_the_work_of_designs_that_fixed_limits_leave():
    asked = tomllib.loads((LIBRARY / "training_power_cap_for_energy.toml").read_text())
    axes = {"core": "machine.core_time_per_word", "states": "given.optimiser_bytes"}
    factors = np.linspace(0.5, 2.0, 32).tolist()
    asked["sweep"] = {name: {"path": path, "factors": factors} for name, path in axes.items()}
    grid = scenarios.grid(dse.load(asked))
    # of all 336 000 plans it would be 30 s, and sixteen chunks; it takes half a second
    assert 0.1 <= tables.over(grid).work * grid.size <= 2.0


def test_grids_of_whole_regions_go_this_way_and_regions_without_end_do_not():
    for count, taken in ((4, True), (24, False)):
        grid = scenarios.grid(dse.load(whole_regions(1, "energy", {"time": {"max": 1.0}}, count)))
        assert (way_of(grid) == tables.METHOD) == taken


def test_a_choice_of_platforms_alone(as_alone: Any):
    asked = {
        "model": "roofline",
        "given": {"flops": "1 Tflop"},
        "decide": {"machine": {"values": ["nehalem-choi2014", "nuc-gpu-choi2014", "arndale-gpu-choi2014"]}},
        "objective": {"maximize": "efficiency"},
        "sweep": {
            "intensity": {"path": "given.intensity", "start": 0.125, "stop": 512, "num": 9, "spacing": "log"},
            "throttle": {"path": "given.throttle", "values": [1, 2, 8]},
        },
    }
    arrays, left = as_alone(asked, tables.over)
    assert not left.any()
    assert len(set(arrays["machine"].ravel().tolist())) > 1
    assert way_of(scenarios.grid(dse.load(asked))) == tables.METHOD


def test_where_a_sampler_is_asked_for_nothing_is_answered_at_once():
    asked = whole_regions(1, "energy", {"time": {"max": 1.0}}) | {"search": {"sampler": "TPE"}}
    assert paths.chosen(scenarios.grid(dse.load(asked))).path is None


@pytest.mark.parametrize("way", ["a table", "whole numbers"])
def test_a_points_numbers_are_the_same_bits_however_the_grid_is_cut(way: str):
    """One point, a line, a block or all of the grid: what is answered beside a point plays no part in its numbers."""
    asked = whole_regions(3, "energy", {"time": {"max": 1.0}, "energy": {"max": 60.0}}, points=4)
    if way == "whole numbers":
        asked = tomllib.loads((LIBRARY / "station_least_cost_in_10_kw.toml").read_text(encoding="utf-8"))
        asked["sweep"] = {
            "demand": {"path": "limits.throughput.min", "start": 1e13, "stop": 1e14, "num": 3},
            "cap": {"path": "limits.power.max", "start": 3e3, "stop": 3e4, "num": 3},
        }
    grid = scenarios.grid(dse.load(asked))
    path, plan = (
        (whole.over if way == "whole numbers" else tables.over)(grid),
        results.dataset.layout(grid),
    )
    every, left = path.solve(plan, tuple(slice(0, n) for n in grid.shape))
    assert not left.any()
    assert len(np.unique(every["status"])) > 1
    generator = np.random.default_rng(5)
    for _ in range(6):
        ends = [np.sort(generator.choice(n + 1, 2, replace=False)).tolist() for n in grid.shape]
        region = tuple(slice(a, b) for a, b in ends)
        part, _ = path.solve(plan, region)
        for name in set(part) - {"seconds"}:
            np.testing.assert_array_equal(part[name], every[name][region], err_msg=name)


def test_whole_halvings_are_what_each_point_is_by_itself(as_alone: Any):
    """From an efficiency that the machine has, without any halving, to one that twelve of each do not reach.

    More of them would, which no list says: these values are searched for by intervals, of all points together.
    """
    asked = tomllib.loads((LIBRARY / "matmul_machine_for_75_gflops_per_watt.toml").read_text("utf-8"))
    asked["sweep"] = {
        "least": {"path": "limits.efficiency.min", "factors": [0.02, 0.1, 1.0, 40.0, 300.0]},
        "order": {"path": "given.order", "factors": [0.5, 1.0]},
    }
    arrays, left = as_alone(asked, tables.over)
    assert not left.any()
    assert set(np.unique(arrays["status"])) == {OPTIMAL, NONE}
    assert 0.0 in arrays["objective"]


def test_lists_that_are_a_part_of_a_conflict_leave_no_point_over(as_alone: Any):
    """Given up, they leave linear programs, where intervals find neither a design nor a proof."""
    asked = tomllib.loads((LIBRARY / "roofline_regions_on_an_fpga.toml").read_text(encoding="utf-8"))
    asked["sweep"] = {
        "room": {"path": "limits.circuits.max", "factors": [0.33, 1.0]},
        "slower": {"path": "machine.time_per_byte", "factors": [0.8, 2.0]},
    }
    arrays, left = as_alone(asked, tables.over, within=1e-6)
    assert not left.any()
    assert set(arrays["status"].ravel().tolist()) == {OPTIMAL, NONE}


def test_beside_rules_of_divisors_a_sweep_names_the_lists_that_a_conflict_needs():
    """With any batch the power could be kept to: the list is a part of the conflict, as it is of one question."""
    asked = tomllib.loads((LIBRARY / "serving_power_cap.toml").read_text(encoding="utf-8"))
    asked["given"]["prompt"] = 5000
    asked["limits"]["power_per_device"] = {"max": "405 W"}
    alone = dse.solve(asked, depth="limits")
    cap = {"path": "limits.power_per_device.max", "values": ["405 W", "300 W"]}
    swept = dse.sweep({**asked, "sweep": {"cap": cap}})
    told = swept["binding"].values[0] == CONFLICTING
    assert swept.attrs["left_over"] == "{}"
    assert frozenset(swept["limit"].values[told].tolist()) in set(map(frozenset, alone.conflicts))


def test_beside_rules_of_divisors_a_sweep_names_no_list_that_other_numbers_far_from_it_do_without():
    """A batch of 4, or of 12, has this time: a quarter of the least that is listed."""
    asked = {
        "model": "transformer_inference",
        "machine": {"base": "a100-sxm-40gb", "launch_time": "4.66 us", "constant_power": 63},
        "given": {
            **LLAMA_70B,
            "prompt": 1000,
            "output": 250,
            "tensor_parallel": 8,
        },
        "decide": {"throttle": {"values": [1.0, 1.5, 2.0, 2.5, 3.0]}, "batch": {"values": [16, 32, 64, 256]}},
        "objective": {"minimize": "memory"},
        "limits": {"power_per_device": {"max": 135}, "time_per_output_token": {"max": "50 ms"}},
        "sweep": {"t": {"path": "limits.time_per_output_token.max", "values": [0.02, 0.05, 0.1, 0.15]}},
    }
    swept = dse.sweep(asked)
    time = "time_per_output_token"
    named = [set(swept["limit"].values[b == CONFLICTING]) for b in swept["binding"].values]
    assert named == [{time}, {time, "batch"}, {"power_per_device", time, "batch"}, set()]
    grid = scenarios.grid(dse.load(asked))
    assert [{*answer(grid.question((i,))).conflict} for i in (1, 2)] == named[1:3]


def test_affine_limits_over_lists_ask_no_intervals(monkeypatch: pytest.MonkeyPatch):
    """Which picks meet a deadline, and which value would do, linear programs tell in a hundredth of the time."""

    def search(*_: Any) -> Any:
        raise AssertionError("an interval search")

    monkeypatch.setattr(least_values, "least_by_intervals", search)
    monkeypatch.setattr(feasibility, "feasible", search)
    asked = tomllib.loads((LIBRARY / "roofline_regions_on_an_fpga.toml").read_text(encoding="utf-8"))
    asked["sweep"] = {
        "deadline": {"path": "limits.both.max", "factors": [0.3, 0.7, 1.0]},
        "slower": {"path": "machine.time_per_byte", "factors": [0.4, 1.0, 3.0]},
    }
    found = dse.sweep(dse.load(asked), progress=False)
    assert found.attrs["left_over"] == "{}"
    assert set(found.status.values.ravel().tolist()) == {OPTIMAL, NONE}


def test_points_at_which_no_number_of_the_list_is_possible_are_told_at_once():
    """60 heads, or half of one, cannot share 8 heads of keys, whatever is decided."""
    asked = dse.load("serving_replicas_by_request_rate_sweep").model_dump(
        exclude_none=True, exclude_defaults=True
    )
    asked["sweep"] = {
        "joules": {"path": "machine.energy_per_flop", "factors": [0.5, 1.0, 2.0]},
        "heads": {"path": "given.heads", "values": [60, 64, 20.5]},
    }
    grid = scenarios.grid(dse.load(asked))
    found = dse.sweep(dse.load(asked), progress=False)
    assert way_of(grid) == tables.METHOD
    assert found.attrs["left_over"] == "{}"
    assert (found.status.values == [NONE, OPTIMAL, NONE]).all()
    for i in (0, 2):
        at = found.isel(joules=0, heads=i)
        named = {str(n) for n in at.limit.values[at.binding.values == CONFLICTING]}
        alone = answer(grid.question((0, i)))
        assert tuple(named) in alone.conflicts


def test_a_rule_that_the_first_point_cannot_break_may_be_in_conflict_at_others():
    """8 devices share 64 heads, 22.72 do not; the limit on power, which holds there, was called the conflict."""
    asked = dse.load("serving_power_cap").model_dump(exclude_none=True, exclude_defaults=True)
    asked["sweep"] = {"split": {"path": "given.tensor_parallel", "values": [8, 22.72, 7, 16, 3]}}
    grid = scenarios.grid(dse.load(asked))
    assert way_of(grid) == tables.METHOD
    found = dse.sweep(dse.load(asked), progress=False)
    for i in range(5):
        at, alone = found.isel(split=i), answer(grid.question((i,)))
        assert int(at.status) == STATUS_CODES[alone.status]
        named = tuple(str(n) for n in at.limit.values[at.binding.values == CONFLICTING])
        assert named in (alone.conflicts or ((),))


def test_lists_of_powers_beside_other_designs_leave_no_point_over_where_nothing_holds():
    text = """
model = "exabounds"
[machine]
frequency = "2 GHz"
voltage = "1 V"
dynamic_capacitance = "0.5 nF"
"count.core" = 4
"cache.L1D" = "32 KiB"
"latency.L2" = "10 cycle"
"latency.DRAM" = "80 ns"
reorder_buffer = 48
"cache.L2" = "256 KiB"
"package_pins.socket" = 1366
"supply_resistance.socket" = "300 mohm"
"bit_rate.socket" = "10 Gbit/s"
[given]
instructions = 36e12
data_reuse = [{ name = "same beam", distance = "16 KiB", share = 1.0 }]
[decide]
"machine.count.die" = { values = [37.0] }
"machine.supply_pins.socket" = { integer = true, max = 1275 }
"machine.io_pins.socket" = { powers_of = 3, max = 636 }
[limits]
power = { max = 36.633 }
[objective]
minimize = "cost"
[sweep]
a = { path = "given.instructions", values = [30e12, 36e12] }
"""
    found = dse.sweep(dse.load(tomllib.loads(text)), progress=False)
    assert (found.status.values == NONE).all()
    assert found.attrs["left_over"] == "{}"


@pytest.mark.parametrize("executions", [("CP", "CO"), ("CP", "DP", "CO")])
def test_where_nothing_is_decided_at_a_point_it_is_evaluated_beside_others(
    executions: tuple[str, ...],
) -> None:
    """A table called its only design optimal; a way of whole numbers failed on points without any."""
    asked = {
        "model": "partition",
        "machine": {"cpu": "i7-2600k-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {"regions": [{"name": "a", "flops": 4e10, "bytes": 1e10, "divisible": False}]},
        "objective": {"minimize": "energy"},
    }
    axis = {"path": "execution", "values": list(executions)}
    found = dse.sweep({**asked, "sweep": {"e": axis}}, progress=False)
    for place, execution in enumerate(executions):
        alone = dse.solve({**asked, "given": {**asked["given"], "execution": execution}})
        assert found["status"].values[place] == STATUS_CODES[alone.status]
        assert np.isnan(found["bound"].values[place]) == (alone.bound is None)
        assert found["objective"].values[place] == pytest.approx(alone.objective, rel=1e-9)
