"""Grids in an arithmetic without structure (FFT): as by themselves, as a dense scan, and however they are cut."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import oracle_scans
import points_alone
import pytest
from method_questions import FFT

import dse
import results.dataset
import scenarios
from formulations import evaluation
from results.dataset import STATUS_CODES, Arrays
from results.solution import Status
from scenarios.sweep.grids import Grid
from solvers import boxes, outcome
from solvers.answer import answer
from solvers.many_points.blocks import ByGroup
from solvers.nonlinear import search
from solvers.nonlinear.points import unstructured

OPTIMAL, INFEASIBLE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]
FREE, WHOLE, POWERS = ({"processors": d} for d in ({}, {"integer": True, "max": 1e6}, {"powers_of": 2}))
LEAST_TIME, LEAST_ENERGY = {"minimize": "time"}, {"minimize": "energy"}


def log(start: float, stop: float, num: int) -> list[float]:
    return np.geomspace(start, stop, num).tolist()


def grid(axes: dict[str, list[float]], objective: dict[str, str], decide: dict[str, Any] = FREE) -> Grid:
    """Transforms on a machine, with an axis of values for each path."""
    named = [p.split(".") for p in axes if p.startswith("limits.")]
    question = {
        "model": "fft",
        "machine": FFT,
        "given": {"points": 2.0**20},
        "decide": decide,
        "objective": objective,
        "limits": {name: {side: 1.0} for _, name, side in named},
        "sweep": {f"axis{i}": {"path": p, "values": v} for i, (p, v) in enumerate(axes.items())},
    }
    return scenarios.grid(dse.load(question))


def at_once(of: Grid) -> tuple[Arrays, np.ndarray]:
    """All points together."""
    way = unstructured.way(of).path
    assert isinstance(way, ByGroup)
    return way.solve(results.dataset.layout(of), tuple(slice(0, n) for n in of.shape))


FORCES_AND_SPECTRA = scenarios.grid(
    dse.load(
        {
            "machine": "balanced",
            "kernels": [
                {
                    "name": "forces",
                    "model": "nbody",
                    "given": {"bodies": 1e4, "flops_per_pair": 10},
                    "repeat": 50,
                },
                {"name": "spectrum", "model": "fft", "given": {"points": 1e7}, "repeat": 4},
            ],
            "decide": {"processors": {"max": 65536}, "forces.memory": {}},
            "objective": LEAST_ENERGY,
            "limits": {"time": {"max": 2.0}},
            "sweep": {
                "deadline": {"path": "limits.time.max", "values": log(0.002, 20.0, 6)},
                "word": {"path": "machine.energy_per_word", "values": log(1e-11, 1e-6, 4)},
            },
        }
    )
)


def ready(name: str, axes: dict[str, list[float]]) -> Grid:
    """A ready question, with axes of factors."""
    asked = dse.load(name).model_dump(exclude_none=True, exclude_defaults=True)
    sweep = {f"axis{i}": {"path": p, "factors": f} for i, (p, f) in enumerate(axes.items())}
    return scenarios.grid(dse.load({**asked, "sweep": sweep}))


SIZES = {"given.points": log(1e4, 1e8, 5)}
ASKED = {
    "least power, a machine that leaks": grid(
        {"limits.time.max": log(1e-6, 1.0, 12), "machine.leakage_power": [0.0, 0.1, 1.0, 10.0, 100.0]},
        {"minimize": "power"},
    ),
    "most efficient, a floor that may say nothing": grid(
        {"limits.power.max": log(1.0, 1e6, 20), "limits.performance.min": [0.0, 1e10, 1e11]},
        {"maximize": "efficiency"},
    ),
    "whole processors": grid({"limits.power.max": log(10.0, 1e7, 12), **SIZES}, LEAST_TIME, WHOLE),
    "two numbers": FORCES_AND_SPECTRA,
    "whole numbers, more than a table has, and a maximum": ready(
        "hardware_cores_by_pins_and_bandwidth",
        {"limits.power_ohmic.max": [1e-6, 0.44, 3.0], "given.instructions": log(0.3, 3.0, 4)},
    ),
    "whole numbers and a list, steps and a maximum": ready(
        "gemm_cheapest_tokens", {"limits.layer.max": log(0.01, 3.0, 5), "given.k": [0.5, 1.0, 2.0]}
    ),
}


@cache
def whole_of(name: str) -> tuple[Arrays, np.ndarray]:
    """A grid at once, which two tests look at."""
    return at_once(ASKED[name])


@pytest.mark.parametrize("name", ASKED)
def test_every_number_is_that_of_the_question_alone(name: str):
    """Compare every variable of the dataset, at points drawn by lot, with the answer to the point's question."""
    of = ASKED[name]
    plan = results.dataset.layout(of)
    arrays, left = whole_of(name)
    arrays = {n: v.copy() for n, v in arrays.items()}
    assert left.mean() < 0.05
    assert not points_alone.completed(of, plan, arrays, left)
    for status in (OPTIMAL, INFEASIBLE):
        places = np.argwhere(~left & (arrays["status"] == status))
        # each closes its gap to 1e-7 at least; of one processor's logarithm only rounding is left
        chosen = points_alone.drawn(places, 1, seed=2)
        points_alone.assert_same(of, plan, arrays, chosen, rtol=1e-6, atol=1e-3)


def _time_and_energy(p: np.ndarray, n: float) -> tuple[np.ndarray, np.ndarray]:
    """Of a transform that exchanges along a tree, by hand: F, W, S, then T and E."""
    flops, words, messages = n * math.log2(n) / p, n / p * np.log2(p), np.log2(p)
    m = FFT
    time = m["time_per_flop"] * flops + m["time_per_word"] * words + m["time_per_message"] * messages
    energy = m["energy_per_flop"] * flops + m["energy_per_word"] * words + m["energy_per_message"] * messages
    kept = m["memory_power_per_word"] * n / p + m["leakage_power"]
    return time, p * (energy + kept * time)


def _scanned(n: float, cap: float, allowed: Callable[[np.ndarray], np.ndarray]) -> float:
    """Least time under a cap on average power; NaN where there is no design."""

    def scan(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = allowed(np.exp(y))
        time, energy = _time_and_energy(p, n)
        return time, np.log(np.maximum(energy / time / cap, p / n))

    best = oracle_scans.refine(scan, 0.0, math.log(n), maximize=False, points=20_001)
    return math.nan if best is None else float(scan(np.array([best]))[0][0])


@pytest.mark.parametrize(
    ("decide", "allowed"),
    [
        (FREE, lambda p: p),
        (WHOLE, lambda p: np.maximum(np.floor(p * (1 + 1e-12)), 1.0)),
        (POWERS, lambda p: 2.0 ** np.floor(np.log2(p) + 1e-12)),
    ],
    ids=["real", "whole", "powers of two"],
)
def test_a_dense_scan_of_all_designs_finds_the_same(decide: dict[str, Any], allowed: Any):
    """Caps that rule out everything, that bind, and that do not; transforms that fit on one processor and not."""
    caps, sizes = log(30.0, 1e6, 13), [2.0**10, 2.0**14, 1e5, 2.0**20]
    of = grid({"limits.power.max": caps, "given.points": sizes}, LEAST_TIME, decide)
    arrays, left = at_once(of)
    assert not left.any()
    best = np.array([[_scanned(n, cap, allowed) for n in sizes] for cap in caps])
    assert np.array_equal(np.isnan(best), arrays["status"] == INFEASIBLE)
    found = ~np.isnan(best)
    np.testing.assert_allclose(arrays["objective"][found], best[found], rtol=1e-6)
    assert (arrays["bound"][found] <= best[found] * (1 + 1e-9)).all()
    assert (arrays["gap"][found] <= 1e-6).all()
    assert 0.05 < (~found).mean() < 0.6


@pytest.mark.parametrize("name", ASKED)
def test_a_points_numbers_are_the_same_bits_however_the_grid_is_cut(name: str):
    """Solve blocks drawn by lot, down to single points, and compare every bit with the grid at once."""
    of = ASKED[name]
    plan = results.dataset.layout(of)
    way = unstructured.way(of).path
    assert way is not None
    every, left = whole_of(name)
    dice = np.random.default_rng(3)
    for most in (1, 3):
        first = [int(dice.integers(0, n)) for n in of.shape]
        block = tuple(slice(a, min(a + most, n)) for a, n in zip(first, of.shape, strict=True))
        some, alone = way.solve(plan, block)
        assert np.array_equal(alone, left[block])
        for variable, values in some.items():
            if variable != "seconds":
                assert values.tobytes() == every[variable][block].tobytes(), (variable, block)


def test_points_at_which_several_limits_bind_are_answered_together():
    """A deadline, and the least performance that the best design within it has: both bind at every cap on power."""
    within = grid({"limits.time.max": [2.5e-5, 5e-5]}, LEAST_ENERGY)
    best = answer(within.question((0,)), neighbours=False)
    assert best.limits["time"].binding
    axes = {"limits.power.max": log(1e9, 1e10, 40), "limits.time.max": [2.5e-5]}
    of = grid({**axes, "limits.performance.min": [float(best.metrics["performance"])]}, LEAST_ENERGY)
    arrays, left = at_once(of)
    assert not left.any()
    alone = answer(of.question((0, 0, 0)), neighbours=False)
    assert [n for n, s in alone.limits.items() if s.binding] == ["time", "performance"]
    # each holds what the other would let go: relaxing one alone buys nothing
    assert [alone.limits[n].elasticity for n in ("time", "performance")] == pytest.approx(
        [0.0, 0.0], abs=1e-9
    )
    assert np.nansum(np.abs(arrays["elasticity"]), axis=-1) == pytest.approx(0.0, abs=1e-5)


def test_a_sweep_goes_this_way_and_is_verified(tmp_path: Any):
    asked = {
        "model": "fft",
        "machine": FFT,
        "given": {"points": 1e6},
        "decide": FREE,
        "objective": LEAST_ENERGY,
        "limits": {"time": {"max": 1.0}},
        "sweep": {"deadline": {"path": "limits.time.max", "values": log(1e-5, 1.0, 60)}},
    }
    dataset = dse.sweep(dse.load(asked), tmp_path / "store", progress=False, audit=0)
    assert "all points of a chunk together" in dataset.attrs["method"]
    assert dse.verify(tmp_path / "store", audit=0).passed


def test_boxes_of_quantities_that_have_gaps_are_cut_into_few_parts():
    """Rows of a product and devices: with parts as fine as those of what is divisible it took 49 boxes."""
    asked = evaluation.farthest(scenarios.grid(dse.load("gemm_cheapest_tokens")).question(()))
    found = search.minimise(asked, boxes.spaces(asked, 1), 1000)
    assert found.status.tolist() == [outcome.OPTIMAL]
    assert found.work[0] <= 40


def test_two_whole_numbers_are_two_boxes_where_any_design_will_do():
    """Each breaks the limit, and only a number between them would not: what has one value is not cut again."""
    asked = dse.load(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": {"bodies": 1e4, "flops_per_pair": 10, "memory": 3e3},
            "define": {"off": "maximum(5.5 - processors, processors - 3.5)"},
            "decide": {"processors": {"min": 4, "max": 5, "integer": True}},
            "objective": {"minimize": "energy"},
            "limits": {"off": {"max": 1.2}},
        }
    )
    question = dataclasses.replace(scenarios.grid(asked).question(()), objectives=())
    found = search.minimise(question, boxes.spaces(question, 1), 1000)
    assert found.status.tolist() == [outcome.INFEASIBLE]
    assert found.work[0] == 3


def test_what_is_made_greatest_may_be_negative_at_some_designs_of_a_grid() -> None:
    """Of 1 over it the least would be the one that is negative and nearest to 0."""
    question = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"flops_per_pair": 10},
        "decide": {"processors": {"max": 1e6, "integer": True}},
        "define": {"goal": "5 - log(processors)"},
        "objective": {"maximize": "goal"},
        "sweep": {
            "bodies": {"path": "given.bodies", "values": [1e5, 2e5, 4e5]},
            "memory": {"path": "given.memory", "values": [500.0, 1000.0]},
        },
    }
    arrays, left = at_once(scenarios.grid(dse.load(question)))
    least = np.array([[1e5, 2e5, 4e5]]).T / [500.0, 1000.0]
    assert not left.any()
    assert arrays["objective"] == pytest.approx(5 - np.log(least), rel=1e-9)
