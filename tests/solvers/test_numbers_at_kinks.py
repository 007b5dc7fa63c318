"""Given numbers at which a model has a kink, or jumps: beside questions that are asked again on either side."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dse
from dse.system.arrays import Array, Indices
from results.solution import Solution, Status
from solvers.mechanisms import two_sides
from solvers.mechanisms.sensitivity import jumps_told

STEP = 1e-4


def training(node: float = 8.0, **given: float | str) -> dict[str, Any]:
    """A transformer on at most one node of 8, where links between stages or devices are those of the node."""
    return {
        "model": "transformer_training",
        "machine": {"base": "dgx-h100-bf16", "processors_per_node": node},
        "given": {
            "layers": 24,
            "hidden": 2048,
            "heads": 16,
            "sequence": 2048,
            "global_batch": 64,
            "recomputation": "full",
            **given,
        },
        "decide": {"machine.time_per_byte": {"min": "0.1 ps/byte", "max": "10 ps/byte"}},
        "objective": {"maximize": "machine.time_per_byte"},
        "limits": {"step_time": {"max": "6 s"}},
        # a little more than 8 devices divide nothing
        "waive": ["memory_capacity", "heads_split", "layers_split"],
    }


def slopes(at: Solution, behind: Solution, ahead: Solution) -> tuple[float, float]:
    """Percent of the objective per percent of a number that is STEP less, and STEP more."""
    assert {at.status, behind.status, ahead.status} == {Status.OPTIMAL}
    now, less, more = (float(found.objective or np.nan) for found in (at, behind, ahead))
    return (1.0 - less / now) / STEP, (more / now - 1.0) / STEP


def test_no_sensitivity_is_told_where_the_model_jumps_and_the_certificate_names_the_numbers():
    """Eight stages fill a node: one processor less in it, or a little more of a stage, and links are the network."""
    found = dse.solve(training(pipeline_parallel=8))
    less, more = (dse.solve(training(8.0 * k, pipeline_parallel=8)) for k in (1.0 - STEP, 1.0 + STEP))
    behind, ahead = slopes(found, less, more)
    assert abs(ahead) < 1e-6
    assert behind > 10
    jumps = {"machine.processors_per_node", "pipeline_parallel", "tensor_parallel", "data_parallel"}
    assert set(jumps_told(found.certificate)) == jumps
    assert not jumps & found.parameters.keys()
    longer = [dse.solve(training(pipeline_parallel=8, sequence=2048 * k)) for k in (1.0 - STEP, 1.0 + STEP)]
    assert slopes(found, *longer) == pytest.approx([found.parameters["sequence"]] * 2, rel=1e-3)


def test_at_a_kink_the_sensitivity_is_that_of_the_better_side_and_says_so():
    """A layer on all eight devices of a node: a ring of more of them, or of fewer in a node, crosses between nodes."""
    found = dse.solve(training(tensor_parallel=8))
    by_number = {
        "machine.processors_per_node": [training(8.0 * k, tensor_parallel=8) for k in (1 - STEP, 1 + STEP)],
        "tensor_parallel": [training(tensor_parallel=8.0 * k) for k in (1 - STEP, 1 + STEP)],
    }
    for name, moved in by_number.items():
        behind, ahead = slopes(found, *map(dse.solve, moved))
        assert abs(ahead - behind) > 0.1
        # the greatest is asked for: less of what has a negative slope, more of what has a positive one
        better = ahead if ahead >= max(-behind, 0.0) else min(behind, 0.0)
        assert found.parameters[name] == pytest.approx(better, abs=2e-4)
        assert name in found.one_sided
    assert not jumps_told(found.certificate)
    # what has one slope is not marked
    assert "sequence" in found.parameters
    assert "sequence" not in found.one_sided


def mix(**cpu: float) -> dict[str, Any]:
    """A region shared out over two processors, on the first of which flops and bytes take the same time."""
    costs = {"energy_per_flop": 3e-11, "energy_per_byte": 6e-11, "constant_power": 50.0}
    first = {"time_per_flop": 1e-12, "time_per_byte": 2e-12, **costs, **cpu}
    second = {"time_per_flop": 5e-13, "time_per_byte": 2e-12, **costs}
    return {
        "model": "partition",
        "machine": {"cpu": first, "gpu": second},
        "given": {"regions": [{"name": "r", "flops": 2e12, "bytes": 1e12}]},
        "objective": {"minimize": "time"},
    }


@pytest.mark.parametrize("name", ["time_per_flop", "time_per_byte"])
def test_numbers_of_linear_programs_have_two_sides_too(name: str):
    found = dse.solve(mix())
    value = {"time_per_flop": 1e-12, "time_per_byte": 2e-12}[name]
    behind, ahead = slopes(found, *(dse.solve(mix(**{name: value * k})) for k in (1 - STEP, 1 + STEP)))
    assert ahead > 0.1
    assert abs(behind) < 1e-9
    # less of it helps nothing
    assert found.parameters[f"machine.cpu.{name}"] == 0.0
    assert f"machine.cpu.{name}" in found.one_sided


def test_points_of_a_sweep_have_what_each_has_alone():
    asked = training(tensor_parallel=8) | {
        "sweep": {"stages": {"path": "given.tensor_parallel", "values": [4.0, 8.0]}}
    }
    swept = dse.sweep(dse.load(asked), depth="full")
    alone = dse.solve(training(tensor_parallel=8))
    at = swept.isel(stages=1)
    for name in ("machine.processors_per_node", "tensor_parallel", "sequence"):
        assert float(at["sensitivity"].sel(given_number=name)) == pytest.approx(
            alone.parameters[name], rel=1e-6
        )
        assert bool(at["sensitivity_one_sided"].sel(given_number=name)) == (name in alone.one_sided)
    jumping = training(pipeline_parallel=8) | {
        "sweep": {"deadline": {"path": "limits.step_time.max", "values": ["4 s", "5 s", "6 s"]}}
    }
    swept = dse.sweep(dse.load(jumping), depth="full")
    for k, deadline in enumerate(("4 s", "5 s", "6 s")):
        question = copy.deepcopy(jumping)
        del question["sweep"]
        question["limits"]["step_time"]["max"] = deadline
        alone = dse.solve(question)
        assert jumps_told(str(swept["certificate"].values[k])) == jumps_told(alone.certificate) != []
        told = swept["sensitivity"].isel(deadline=k)
        assert np.isnan(told.sel(given_number="machine.processors_per_node"))
        assert float(told.sel(given_number="sequence")) == pytest.approx(
            alone.parameters["sequence"], rel=1e-6
        )


def _of(f: Any) -> two_sides.Sides:
    def at(factors: Array, which: Indices) -> Array:
        return np.array([[[f(x)] for _ in which] for x in factors])

    return two_sides.sides(at, np.array([f(1.0)]), 1, STEP)


def test_slopes_of_functions_in_closed_form():
    log = np.log
    smooth = _of(lambda x: 3.0 * log(x) + log(1.0 + x**2))
    assert smooth.behind[0, 0] == smooth.ahead[0, 0] == pytest.approx(4.0, rel=1e-7)
    kink = _of(lambda x: max(2.0 * log(x), -log(x)))
    assert (kink.behind[0, 0], kink.ahead[0, 0]) == pytest.approx((-1.0, 2.0), rel=1e-6)
    # nearer than the first values, but not here
    near = _of(lambda x: max(0.0, x - 1.0 - 3e-5))
    assert (near.behind[0, 0], near.ahead[0, 0]) == pytest.approx((0.0, 0.0), abs=1e-9)
    jump = _of(lambda x: 2.0 * log(x) + 1e-3 * (x < 1.0) - 1.0)
    assert np.isnan(jump.behind[0, 0])
    assert jump.ahead[0, 0] == pytest.approx(2.0, rel=1e-6)
    assert jump.leaps.all()
    assert not jump.broken.any()
    assert _of(lambda x: -0.5 + (x > 1.0)).broken.all()
    for still in (-np.inf, 2.0):
        found = _of(lambda x, still=still: still)
        assert not found.leaps.any()


@pytest.mark.parametrize("factor", [1.2027644472944439, 1.202764447294444])
def test_a_kink_is_seen_from_either_side_of_the_last_digit(factor: float):
    """The intensity at which two parts of the time are as long; a search left a slack of 1.00000003e-7 there."""

    def least(more: float) -> Solution:
        machine = {"base": "gtx-titan-choi2014", "energy_per_byte": 267e-12 * factor * more}
        return dse.solve(
            {
                "model": "roofline",
                "machine": machine,
                "given": {"flops": 1e15},
                "decide": {"intensity": {"max": 1000}},
                "objective": {"minimize": "intensity"},
                "limits": {"efficiency": {"min": 1e10}},
            }
        )

    found = least(1.0)
    behind, ahead = slopes(found, least(1.0 - STEP), least(1.0 + STEP))
    assert (behind, ahead) == pytest.approx((0.384, 1.0), abs=1e-3)
    assert found.parameters["machine.energy_per_byte"] == pytest.approx(behind, abs=1e-3)
    assert "machine.energy_per_byte" in found.one_sided
