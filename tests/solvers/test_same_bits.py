"""A point's numbers are the same bits in every batch: those of the kernel, and those of grids however they are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_posynomials import random_programs

import dse
import results.dataset
import scenarios
from formulations.grids import over_grid
from solvers.geometric.kernel import compiled_batch, gp
from solvers.geometric.points import geometric
from solvers.geometric.programs import branch
from solvers.linear.points import linear
from solvers.many_points.blocks import ByGroup
from solvers.robust import samples


@pytest.mark.parametrize("absent", [False, True], ids=["all terms", "absent terms"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_program_has_the_same_bits_in_every_batch(n: int, absent: bool):
    """Programs of which some lack a term are started in another way, and change nothing for those beside them."""
    A, logc, ptr, lo, hi = random_programs(6, n, 60)
    if absent:
        logc[::3, ptr[1]] = -np.inf
    batch = gp.solve(A, logc, ptr, lo, hi)
    for size in (1, 2, 7):
        for i in range(0, 60 - size, size + 3):
            part = gp.solve(A, logc[i : i + size], ptr, lo, hi)
            for name in ("y", "value", "bound", "multipliers", "iterations"):
                np.testing.assert_array_equal(getattr(part, name), getattr(batch, name)[i : i + size], name)


def test_compiled_programs_with_exponents_of_their_own_have_the_same_bits_in_every_batch():
    """The kernel's start does not come from the first program of a batch."""
    A, logc, ptr, lo, hi = random_programs(6, 2, 60)
    own = A + np.random.default_rng(5).uniform(-0.3, 0.3, (60, *A.shape))
    batch = compiled_batch.solve(own, logc, ptr, lo, hi)
    for i in range(57):
        some = slice(i, i + 1 + i % 3)
        part = compiled_batch.solve(own[some], logc[some], ptr, lo, hi)
        for name in ("y", "value", "bound", "multipliers", "iterations"):
            np.testing.assert_array_equal(getattr(part, name), getattr(batch, name)[some], name)


def _assert_same_bits(way: ByGroup, most: tuple[int, ...]) -> None:
    """Answer blocks drawn by lot, and every point alone, and compare every bit with the grid at once."""
    plan, shape = results.dataset.layout(way.grid), way.grid.shape
    every, left = way.solve(plan, over_grid.whole(way.grid))
    assert not left.any()
    dice = np.random.default_rng(7)
    first = [tuple(int(dice.integers(0, n)) for n in shape) for _ in most]
    blocks = [tuple(slice(a, a + size) for a in at) for at, size in zip(first, most, strict=True)]
    blocks += [tuple(slice(i, i + 1) for i in place) for place in np.ndindex(*shape)]
    for block in blocks:
        some, _ = way.solve(
            plan, tuple(slice(s.start, min(s.stop, n)) for s, n in zip(block, shape, strict=True))
        )
        for name, values in some.items():
            if name != "seconds":
                assert values.tobytes() == every[name][block].tobytes(), (name, block)


def test_geometric_programs_have_the_same_bits_however_the_grid_is_cut():
    data = dse.load("nbody_clock_decided").model_dump(exclude_none=True, exclude_defaults=True)
    paths = ("limits.time.max", "given.bodies")
    for seed in (3, 5, 9):
        dice = np.random.default_rng(seed)
        axes = {f"a{i}": {"path": p, "factors": _drawn(dice)} for i, p in enumerate(paths)}
        of = scenarios.grid(dse.Scenario(**data, sweep=axes))
        _assert_same_bits(geometric.over(of, compiled=False), (2, 3))


@pytest.mark.parametrize("compiled", [False, True], ids=["arrays", "compiled"])
@pytest.mark.parametrize("measure", [{"measure": "mean"}, {"cvar": 0.8}], ids=["mean", "worst fifth"])
def test_means_of_ratios_over_samples_have_the_same_bits_however_the_grid_is_cut(
    measure: dict[str, Any], compiled: bool
):
    asked: dict[str, Any] = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "uncertain": {
            "machine.time_per_word": {"loguniform": [156e-12, 1.56e-9]},
            "machine.leakage_power": {"uniform": [0.5, 5]},
            "sampling": {"samples": 16},
        },
        "objective": {"minimize": "power", **measure},
        "limits": {"time": {"max": 0.1}},
        "sweep": {
            "a": {"path": "limits.time.max", "values": [0.03, 0.1, 0.4]},
            "b": {"path": "given.bodies", "values": [3e5, 1e6]},
        },
    }
    grid = scenarios.grid(dse.load(asked))
    _assert_same_bits(samples._over_grid(grid, grid if compiled else None), (2, 2))


@pytest.mark.parametrize("message", [{}, {"values": [10, 100, 1000]}], ids=["one", "several"])
def test_whole_numbers_have_the_same_bits_however_the_grid_is_cut(message: dict[str, Any]):
    """Programs with whole numbers, of which some points have no design: a branch and bound over all points together."""
    decide: dict[str, Any] = {"processors": {"max": 65536, "integer": True}, "memory": {}}
    asked: dict[str, Any] = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e4, "flops_per_pair": 10},
        "decide": decide | ({"machine.max_message": message} if message else {}),
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1.0}},
        "sweep": {
            "a": {"path": "limits.time.max", "values": [1e-3, 1e-2, 0.4, 7.0]},
            "b": {"path": "given.bodies", "values": [123.0, 2345.0, 34567.0]},
        },
    }
    _assert_same_bits(geometric.over(scenarios.grid(dse.load(asked)), compiled=False), (2, 3))


def _drawn(dice: np.random.Generator) -> list[float]:
    return sorted(np.exp(dice.uniform(-1.5, 1.5, 5)).tolist())


def test_what_a_point_takes_out_of_its_ratio_does_not_depend_on_its_neighbours(
    monkeypatch: pytest.MonkeyPatch,
):
    """One monomial or two divide the ratio without a remainder, which depends on a number along an axis."""
    monkeypatch.setattr(branch, "NODES_BEFORE_DIVISION", 1)
    size = "(processors / 100)"
    asked: dict[str, Any] = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "growing": 1.0, "fixed": 1.0, "falling": 2.0},
        "define": {
            "quotient": f"(0.02 * {size} ** 2 + growing * {size} + fixed + falling / {size}) / ({size} + 1)"
        },
        "decide": {"memory": {}, "processors": {"max": 65536}},
        "objective": {"minimize": "time"},
        "limits": {"quotient": {"max": 1e-3}},
        "sweep": {
            "a": {"path": "given.growing", "values": [0.5, 0.9, 1.5]},
            "b": {"path": "given.fixed", "values": [0.3, 1.2, 1.7]},
        },
    }
    of = scenarios.grid(dse.load(asked))
    _assert_same_bits(geometric.over(of, compiled=False), (2, 3))


@pytest.mark.parametrize("goal", ["energy", "time"])
def test_mixed_programs_have_the_same_bits_however_the_grid_is_cut(goal: str):
    """Whole and shared regions, of which some points have no design: a branch and bound over all points together."""
    dice = np.random.default_rng(4)
    asked: dict[str, Any] = {
        "model": "partition",
        "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {
            "regions": [
                {"flops": float(f) * 1e9, "bytes": float(b) * 1e9, "divisible": i == 1}
                for i, (f, b) in enumerate(dice.uniform(1, 40, (6, 2)))
            ]
        },
        "objective": {"minimize": goal},
        "limits": {"time": {"max": 1.0}, "energy": {"max": 90.0}},
        "sweep": {
            "a": {"path": "limits.time.max", "values": [0.3, 0.9, 2.5]},
            "b": {"path": "given.regions.2.flops", "values": np.sort(dice.uniform(1e9, 9e10, 3)).tolist()},
        },
    }
    _assert_same_bits(linear.over(scenarios.grid(dse.load(asked))), (2, 3))


def test_what_is_the_same_number_at_one_point_changes_no_bits():
    """A budget of 1 J beside a 1 in the equations, and two given numbers that meet on the diagonal."""
    asked: dict[str, Any] = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "fixed": 1.0, "moving": 1.0},
        "define": {"quotient": "time * (processors + fixed) / (processors + moving)"},
        "decide": {"memory": {"max": 1e9}, "processors": {"max": 65536}},
        "objective": {"minimize": "quotient"},
        "limits": {"energy": {"max": 1.0}},
        "sweep": {
            "a": {"path": "limits.energy.max", "values": [1.0, 100.0, 300.0]},
            "b": {"path": "given.fixed", "values": [1e3, 1e4]},
            "c": {"path": "given.moving", "values": [1e3, 1e4]},
        },
    }
    _assert_same_bits(geometric.over(scenarios.grid(dse.load(asked)), compiled=False), (2, 3))


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("nbody_deadline", ("limits.time.max", "given.bodies")),
        ("station_least_cost", ("given.card_power_limit", "given.power_step")),
        ("fft_least_time_power", ("machine.time_per_flop", "machine.energy_per_flop")),
        ("roofline_platform_node_power", ("given.intensity", "given.flops")),
    ],
)
def test_a_point_has_the_same_bits_in_a_small_grid_as_in_a_large_one(name: str, paths: tuple[str, str]):
    data = dse.load(name).model_dump(exclude_none=True, exclude_defaults=True)
    data.pop("sweep", None)
    factors = [0.7, 0.8, 0.9, 1.0, 1.1, 1.2]

    def swept(*some: list[float]) -> Any:
        axes = {f"a{i}": {"path": p, "factors": f} for i, (p, f) in enumerate(zip(paths, some, strict=True))}
        return dse.sweep(dse.Scenario(**data, sweep=axes), progress=False, audit=0, workers=1)

    large, small = swept(factors, factors), swept(factors[2:3], factors[3:5])
    assert small.attrs["method"] == large.attrs["method"]
    for v in ("status", "objective", "bound"):
        assert large[v].values[2:3, 3:5].tobytes() == small[v].values.tobytes(), v
