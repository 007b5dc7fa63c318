"""Linear programs of many points: the kernel beside HiGHS, and whole blocks beside each point by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from formulations.grids import over_grid
from results.dataset import STATUS_CODES, layout
from results.solution import Status
from solvers import outcome, paths
from solvers.answer import answer
from solvers.linear import highs
from solvers.linear.linear_program import Numbers, weak_duality
from solvers.linear.points import linear, lp, mixed

OPTIMAL, NONE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]


def regions(generator: np.random.Generator, count: int) -> list[dict[str, float]]:
    return [
        {"flops": float(f) * 1e9, "bytes": float(b) * 1e9} for f, b in generator.uniform(1, 40, (count, 2))
    ]


def partition(
    seed: int, goal: str, limits: dict[str, Any], points: int = 3, count: int = 4
) -> dict[str, Any]:
    """Ask about a random partition over a workload and two machine axes."""
    return {
        "model": "partition",
        "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {"regions": regions(np.random.default_rng(seed), count)},
        "objective": {"maximize" if goal in {"performance", "efficiency"} else "minimize": goal},
        "limits": limits,
        "sweep": {
            "work": {"path": "given.regions.2.flops", "start": 1e9, "stop": 9e10, "num": points},
            "byte": {"path": "machine.gpu.time_per_byte", "start": 1e-11, "stop": 1e-10, "num": points},
            "idle": {"path": "machine.cpu.constant_power", "start": 0.0, "stop": 30.0, "num": points},
        },
    }


def way_of(grid: scenarios.Grid) -> str:
    """The method of the way that a grid goes."""
    found = paths.chosen(grid).path
    return "" if found is None else found.method


@pytest.mark.parametrize(
    ("goal", "limits"),
    [
        ("energy", {}),
        ("time", {}),
        ("energy", {"time": {"max": 0.35}}),
        ("performance", {"energy": {"max": 18.0}}),
        ("energy", {"time": {"max": 0.5}, "energy_dynamic": {"max": 14.0}}),
    ],
)
def test_a_block_is_what_each_point_is_by_itself(goal: str, limits: dict[str, Any], as_alone: Any):
    arrays, left = as_alone(partition(0, goal, limits), linear.over)
    # some vertices are degenerate, and then two elasticities are possible
    assert left.mean() < 0.3
    assert np.isin(arrays["status"][~left], [OPTIMAL, NONE]).all()


@pytest.mark.parametrize(
    ("goal", "limits"),
    [("energy", {"time": {"max": 0.5}, "power": {"max": 70.0}}), ("time", {"power": {"max": 60.0}})],
)
def test_caps_on_average_power_try_every_term_of_the_time(goal: str, limits: dict[str, Any], as_alone: Any):
    """A longer time makes the power smaller, so that the time must be held to one of its terms."""
    arrays, left = as_alone(partition(2, goal, limits), linear.over)
    assert left.mean() < 0.5
    assert np.isin(arrays["status"][~left], [OPTIMAL, NONE]).all()


@pytest.mark.parametrize("others", ["given.regions.viscous_fluxes.flops", "machine.gpu.time_per_byte"])
def test_terms_of_the_time_that_are_as_good_are_settled_by_the_order_of_ties(others: str, as_alone: Any):
    """Beyond the cap either processor may be the one that takes longest, and the least energy decides."""
    asked = dse.load("partition_twelve_regions_power_cap").model_dump(
        exclude_none=True, exclude_defaults=True
    )
    asked["sweep"] = {
        "cap": {"path": "limits.power.max", "factors": [0.9, 1.5, 3.0]},
        "other": {"path": others, "factors": [0.4, 1.0, 2.5]},
    }
    arrays, left = as_alone(asked, linear.over)
    assert not left.any()
    assert (arrays["status"] == OPTIMAL).sum() >= 5


def test_some_are_out_of_reach_and_say_why(as_alone: Any):
    asked = partition(3, "energy", {"time": {"max": 0.3}, "energy": {"max": 60.0}})
    asked["sweep"].pop("idle")
    asked["sweep"]["deadline"] = {"path": "limits.time.max", "start": 0.1, "stop": 1.5, "num": 4}
    arrays, left = as_alone(asked, linear.over)
    found = set(arrays["status"][~left].tolist())
    assert found == {OPTIMAL, NONE}


def test_of_three_processors_and_a_swept_deadline(as_alone: Any):
    asked = partition(5, "energy", {"time": {"max": 0.4}}, count=3)
    asked["machine"]["other"] = "i7-2600k-tang2017"
    asked["sweep"] = {
        "deadline": {"path": "limits.time.max", "start": 0.05, "stop": 0.6, "num": 5},
        "work": {"path": "given.regions.1.flops", "start": 1e9, "stop": 5e10, "num": 3},
    }
    _, left = as_alone(asked, linear.over)
    assert left.mean() < 0.3


def test_a_large_grid_of_linear_programs_goes_this_way_and_a_small_one_does_not():
    for points, taken in ((7, True), (4, False)):
        grid = scenarios.grid(dse.load(partition(1, "energy", {"time": {"max": 0.35}}, points)))
        assert (way_of(grid) == linear.METHOD) == taken


def test_a_point_is_the_same_whatever_block_it_is_in():
    asked = partition(1, "energy", {"time": {"max": 0.35}}, 4)
    grid = scenarios.grid(dse.load(asked))
    import results.dataset

    plan, way = results.dataset.layout(grid), linear.over(grid)
    whole, _ = way.solve(plan, (slice(0, 4),) * 3)
    part, _ = way.solve(plan, (slice(1, 3), slice(2, 4), slice(0, 4)))
    for name in set(whole) - {"message"}:
        np.testing.assert_array_equal(whole[name][1:3, 2:4], part[name], err_msg=name)


@pytest.mark.parametrize("seed", range(2))
def test_random_programs_beside_highs(seed: int):
    """Optima, multipliers and proofs that there is none, of sparse random rows, one of them an equality."""
    generator = np.random.default_rng(seed)
    count, m, n = 60, 6, 9
    rows = generator.normal(size=(count, m, n + 1)) * (generator.random((count, m, n + 1)) < 0.7)
    rows[..., -1] -= 1.0
    # badly scaled on purpose: some rows and columns in other units
    rows *= 10.0 ** generator.integers(-4, 5, (count, m, 1))
    cost = np.append(generator.normal(size=(count, n)), np.zeros((count, 1)), axis=1)
    low, high = np.zeros(n), generator.uniform(0.5, 3, (count, n))
    equal = np.arange(m) == m - 1
    found = lp.solved(rows, equal, low, high, [cost], count)
    bound = weak_duality(rows, equal, low, high, cost, found.y)
    none = weak_duality(rows, equal, low, high, np.zeros(n + 1), found.y)
    for p in range(count):
        numbers = Numbers(rows[p], equal, low, high[p], np.zeros(n, dtype=bool))
        best = highs.minimise(numbers, cost[p])
        assert found.end[p] == (outcome.INFEASIBLE if best.u is None else outcome.OPTIMAL)
        if best.u is None:
            assert none[p] > 0
            continue
        size = np.abs(rows[p]).max(axis=1)
        # HiGHS is allowed 1e-10 in every row of order one
        assert cost[p] @ found.u[p] == pytest.approx(best.value, abs=1e-8)
        assert bound[p] == pytest.approx(best.value, abs=1e-8)
        assert ((rows[p] @ found.u[p]) / size).max() < 1e-9
    assert (found.end == outcome.OPTIMAL).any()
    assert (found.end == outcome.INFEASIBLE).any()


def test_random_mixed_programs_beside_highs():
    """Optima, their bounds, and proofs that there is none, where half of the numbers are whole."""
    generator = np.random.default_rng(5)
    count, m, n = 40, 4, 8
    rows = generator.normal(size=(count, m, n + 1))
    rows[..., -1] += generator.uniform(-4, 2, (count, 1))
    cost = np.append(generator.normal(size=(count, n)), np.zeros((count, 1)), axis=1)
    low, high = np.zeros(n), np.full(n, 4.0)
    equal, whole = np.zeros(m, dtype=bool), np.arange(n) % 2 == 0
    found = mixed.solved(rows, equal, low, high, whole, [cost], count)
    assert found.bound is not None
    for p in range(count):
        best = highs.minimise(Numbers(rows[p], equal, low, high, whole), cost[p])
        assert found.end[p] == (outcome.INFEASIBLE if best.u is None else outcome.OPTIMAL)
        if best.u is None:
            assert found.bound[p] == np.inf
            continue
        value = float(cost[p] @ found.u[p])
        assert value == pytest.approx(best.value, abs=1e-8)
        assert found.bound[p] == pytest.approx(value, abs=1e-8)
        assert (found.u[p, :-1][whole] % 1.0 == 0.0).all()
        assert (rows[p] @ found.u[p]).max() < 1e-9
    assert (found.end == outcome.OPTIMAL).any()
    assert (found.end == outcome.INFEASIBLE).any()


def test_whole_regions_beside_shared_ones(as_alone: Any):
    """A branch and bound at all points together is what each point is by itself, cases of a maximum included."""
    asked = partition(3, "energy", {"power": {"max": 40.0}}, points=3)
    for place in (0, 2):
        asked["given"]["regions"][place]["divisible"] = False
    _, left = as_alone(asked, linear.over)
    assert left.mean() < 0.2


def test_later_aims_settle_what_earlier_ones_leave_open():
    """Least a + b >= 1 leaves a segment: then least a, then least b."""
    rows = np.array([[-1.0, -1.0, 1.0]])
    low, high = np.zeros(2), np.ones(2)
    first, a, b = np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    for aims, wanted in (([first, a], [0.0, 1.0]), ([first, b], [1.0, 0.0])):
        found = lp.solved(rows, np.zeros(1, dtype=bool), low, high, aims, 1)
        np.testing.assert_array_equal(found.u[0], [*wanted, 1.0])
        np.testing.assert_array_equal(found.y[0], [1.0])


def test_parts_that_are_not_searched_bound_nothing(monkeypatch: pytest.MonkeyPatch):
    """Where the nodes of a point run out, another term of a maximum must not count as the best of all."""
    monkeypatch.setattr(mixed, "MOST_LINEAR_NODES", 0)
    rows, cost = np.array([[-2.0, -2.0, 3.0]]), np.array([1.0, 1.0, 0.0])
    found = mixed.solved(
        rows, np.zeros(1, dtype=bool), np.zeros(2), np.full(2, 4.0), np.ones(2, dtype=bool), [cost], 1
    )
    assert found.bound is not None
    assert (found.end[0], found.bound[0]) == (outcome.FAILED, -np.inf)


def few_kinds(times: list[float], watts: list[float]) -> dict[str, Any]:
    """Ask how many blocks of one of two kinds reach a deadline, however many that takes."""
    return {
        "model": "blocks",
        "machine": {"gtx_titan": "gtx-titan-choi2014", "arndale_gpu": "arndale-gpu-choi2014"},
        "given": {"flops": 1e15, "intensity": 4.0, "sharing": "free"},
        "objective": {"maximize": "performance"},
        "limits": {"block_types": {"max": 1}, "time": {"max": 1.0}, "block_power": {"max": 300.0}},
        "sweep": {
            "deadline": {"path": "limits.time.max", "values": times},
            "watts": {"path": "limits.block_power.max", "values": watts},
        },
    }


def test_how_many_there_may_be_is_not_what_a_limit_says_that_is_left_out(as_alone: Any):
    """A single point writes its amounts with ends that its limits imply; without the limit there may be more."""
    arrays, left = as_alone(few_kinds([1.0], [300.0]), linear.over)
    assert not left.any()
    assert (arrays["status"] == NONE).all()
    assert np.isfinite(arrays["would_do"]).sum() == 2


def test_a_search_that_ends_is_no_reason_why_limits_conflict(as_alone: Any):
    """In 10 us no more blocks than are searched reach the deadline, but there is no limit on how many there are."""
    _, left = as_alone(few_kinds([1e-5, 1.0], [300.0, 600.0]), linear.over)
    assert left.tolist() == [[True, True], [False, False]]


def test_what_a_later_aim_gains_counts_where_the_first_is_tied():
    """Two numbers spoil the first aim alike, and one of them makes the second better: it is the one that repairs."""
    rows = np.array([[-1.0, -1.0, 1.0]])
    aims = [np.array([1.0, 1.0, 0.0]), np.array([1.0, -5.0, 0.0])]
    for order in ([0, 1, 2], [1, 0, 2]):
        found = lp.solved(rows, np.zeros(1, dtype=bool), np.zeros(2), np.ones(2), [a[order] for a in aims], 1)
        np.testing.assert_array_equal(found.u[0], np.array([0.0, 1.0, 1.0])[order])


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("dvfs_phase_power_cap", ("limits.phase_power.max", "given.phases.tree.integer_operations")),
        ("dvfs_race_to_halt", ("machine.852-924.energy_per_flop", "given.phases.tree.integer_operations")),
        ("blocks_one_kind_throttled", ("limits.block_power.max", "given.flops")),
        ("blocks_titan_or_arndale_sweep", ("limits.block_types.max", "given.flops")),
    ],
)
def test_menus_and_amounts_go_by_branch_and_bound(name: str, axes: tuple[str, str]) -> None:
    """No point is left over, and a point tells what a single question tells."""
    asked = dse.load(name).model_dump(exclude_none=True, exclude_defaults=True)
    if name == "blocks_titan_or_arndale_sweep":
        asked["limits"] = {**asked["limits"], "block_power": {"max": "210 W"}}
        asked["given"] = {**asked["given"], "intensity": 16.0}
    asked["sweep"] = {f"axis_{i}": {"path": a, "factors": [0.4, 1.0, 2.5]} for i, a in enumerate(axes)}
    grid = scenarios.grid(dse.load(asked))
    way, plan = linear.over(grid), layout(grid)
    arrays, left = way.solve(plan, over_grid.whole(grid))
    assert not left.any()
    for place in ((0, 0), (1, 2)):
        one = answer(grid.question(place), neighbours=False)
        assert arrays["status"][place] == STATUS_CODES[one.status]
        if one.objective is not None:
            assert arrays["objective"][place] == pytest.approx(one.objective, rel=1e-9)


def test_ends_that_rows_say_again_make_no_vertex_degenerate(as_alone: Any) -> None:
    """Of a processor without work both a row and an end say that it takes no time; the cap on power binds beside."""
    asked = dse.load("partition_switched_off").model_dump(exclude_none=True, exclude_defaults=True)
    paths_of = ("machine.small.energy_per_flop", "machine.small.time_per_byte")
    asked["sweep"] = {
        f"axis_{i}": {"path": path, "factors": [0.4, 1.9, 3.1]} for i, path in enumerate(paths_of)
    }
    arrays, left = as_alone(asked, linear.over)
    assert not left.any()
    assert (np.abs(arrays["elasticity"]) > 1e-3).any()
