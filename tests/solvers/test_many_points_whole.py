"""Whole numbers at many points at once: what the single path gives, all its numbers; and stations beside the oracle."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import oracle_listed as listed
import oracle_station as station
import pytest
from make_expected import LIBRARY

import dse
import results.dataset
import scenarios
from results.dataset import STATUS_CODES
from results.solution import Status
from solvers import paths
from solvers.answer import answer
from solvers.counting import least, whole
from solvers.counting.least import NotLeast, Row
from solvers.many_points import blocks

OPTIMAL, INFEASIBLE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]
AXES = {
    "demand": ("limits.throughput.min", "8e12 op/s", "70e12 op/s"),
    "cap": ("limits.power.max", "3 kW", "20 kW"),
    # the second is 0.7 % beyond: two levels of one type would do it, and sockets without a card
    "near": ("limits.throughput.min", "66e12 op/s", "72.9e12 op/s"),
    "price": ("given.energy_price", "0.02 USD/kWh", "0.9 USD/kWh"),
    "failing": ("given.socket_failures", "1 FIT", "1e4 FIT"),
}


def swept(name: str, **points: int) -> dict[str, Any]:
    asked = tomllib.loads((LIBRARY / f"{name}.toml").read_text(encoding="utf-8"))
    asked.pop("sweep", None)
    asked["sweep"] = {
        axis: dict(zip(("path", "start", "stop"), AXES[axis], strict=True)) | {"num": n, "spacing": "log"}
        for axis, n in points.items()
    }
    return asked


@pytest.mark.parametrize(
    ("name", "points", "infeasible"),
    [
        ("station_least_cost_in_10_kw", {"demand": 3, "cap": 3}, True),
        # the structure of a conflict holds at a single point here
        ("station_least_cost_in_10_kw", {"demand": 2, "cap": 2}, True),
        ("station_least_cost", {"demand": 2, "price": 2}, False),
        ("station_least_power", {"demand": 3, "failing": 2}, False),
        ("station_longest_mttf_in_10_kw", {"failing": 2, "demand": 2}, False),
        ("station_longest_mttf_in_10_kw", {"near": 2}, True),
        ("station_most_throughput_in_10_kw", {"cap": 2}, False),
    ],
)
def test_stations_are_what_each_is_by_itself(
    name: str, points: dict[str, int], infeasible: bool, as_alone: Any
):
    arrays, left = as_alone(swept(name, **points), whole.over)
    assert not left.any()
    assert (arrays["status"] == OPTIMAL).any()
    assert (arrays["status"] == INFEASIBLE).any() == infeasible


def test_the_most_throughput_is_found_to_the_last_socket():
    """At once and alone, beside the oracle: one search of HiGHS stops one socket short at some of these caps."""
    source = swept("station_most_throughput_in_10_kw", cap=8)
    grid = scenarios.grid(dse.load(source))
    arrays, left = whole.over(grid).solve(results.dataset.layout(grid), (slice(0, 8),))
    assert not left.any()
    for i in (2, 3, 5):
        wanted = station.answer(listed.at_point(source, (i,))).objective
        alone = answer(grid.question((i,)), neighbours=False).objective
        # a socket more is a part in a million
        assert (arrays["objective"][i], alone) == pytest.approx((wanted, wanted), rel=1e-12)


def test_a_sweep_of_ten_thousand_stations_takes_this_way_and_agrees_with_the_oracle():
    grid = scenarios.grid(scenarios.load(LIBRARY / "station_cost_sweep.toml"))
    assert grid.size == 10_000
    way = paths.chosen(grid).path
    assert way is not None
    assert way.method == whole.METHOD
    plan = results.dataset.layout(grid)
    # optima and bounds are compared here, feasible values of fewer stations above
    plan = results.dataset.only(plan, {v.name for v in plan.variables if v.role != "would_do"})
    # a sweep asks block by block: two of them, at the ends of every axis
    source = tomllib.loads((LIBRARY / "station_cost_sweep.toml").read_text(encoding="utf-8"))
    generator = np.random.default_rng(1)
    for block in (
        tuple(slice(0, n // 4) for n in grid.shape),
        tuple(slice(n - n // 4, n) for n in grid.shape),
    ):
        arrays, left = way.solve(plan, block)
        assert not left.any()
        for _ in range(6):
            place = tuple(int(generator.integers(n)) for n in left.shape)
            at = tuple(s.start + i for s, i in zip(block, place, strict=True))
            value = station.answer(listed.at_point(source, at)).objective
            assert (arrays["status"][place] == OPTIMAL) == (value is not None)
            if value is not None:
                assert arrays["objective"][place] == pytest.approx(value, rel=1e-9)
                assert arrays["bound"][place] == pytest.approx(value, rel=1e-9)


def test_the_sweep_itself_tells_the_same():
    asked = swept("station_least_cost_in_10_kw", demand=5, cap=5)
    found = dse.sweep(asked, workers=1, progress=False)
    assert found.attrs["method"] == whole.METHOD
    place = {"demand": 2, "cap": 4}
    alone = dse.solve(
        {k: v for k, v in asked.items() if k != "sweep"}
        | {
            "limits": {
                "throughput": {"min": float(found["demand"][2])},
                "power": {"max": float(found["cap"][4])},
            }
        }
    )
    assert float(found["cost"].isel(place)) == pytest.approx(alone.objective, rel=1e-9)


def test_a_group_of_points_is_told_apart_where_a_number_decides():
    asked = swept("station_least_cost_in_10_kw", demand=3, cap=3)
    asked["sweep"]["idle"] = {"path": "given.idle_share", "values": [0.0, 0.2]}
    grid = scenarios.grid(dse.load(asked))
    block = blocks.Block(grid, tuple(slice(0, n) for n in grid.shape))
    sizes = []

    def answer(question: Any, points: Any) -> Any:
        sizes.append(len(points))
        return np.full(len(points), question.given["idle_share"] != 0.0)

    left = block.answered(answer, 100)
    assert left[..., 0].all()
    assert not left[..., 1].any()
    # all together, which could not be, then apart
    assert sizes == [18, 9, 9]


def brute(rows: list[Row], cost: Row, top: int, p: int) -> float:
    """The least cost over all whole numbers 0 to ``top`` of three numbers, at one point."""
    u = dict(zip("abc", np.meshgrid(*[np.arange(top + 1.0)] * 3, indexing="ij"), strict=True))

    def at(form: Row) -> Any:
        return form.constant[p] + sum((c * u[n] for n, c in form.terms.items()), np.zeros_like(u["a"]))

    good = np.all([at(r) <= 1e-9 for r in rows], axis=0)
    return float(at(cost)[good].min()) if good.any() else np.inf


@pytest.mark.parametrize("seed", range(25))
def test_least_designs_are_those_of_enumeration(seed: int):
    """Random rows in which at most one number gains, and a cap: every point beside all combinations of 0 to 9."""
    generator = np.random.default_rng(seed)
    count, names = 12, "abc"
    rows = []
    for _ in range(4):
        gains = generator.integers(3)
        terms = {
            n: float(generator.integers(0, 3)) * (-3.0 if i == gains else 1.0) for i, n in enumerate(names)
        }
        rows.append(Row({n: c for n, c in terms.items() if c}, many(generator.integers(-4, 9, count) / 2)))
    rows.append(Row(dict.fromkeys(names, 1.0), many(-generator.integers(2, 20, count) / 1.0)))
    sign = -1.0 if seed % 5 == 0 else 1.0
    cost = Row(
        {"b": -1.0} if sign < 0 else {n: float(generator.integers(1, 5)) for n in names},
        many(np.zeros(count)),
    )
    found = least.best(rows, cost, dict.fromkeys(names, (0.0, 9.0)), count)
    for p in range(count):
        wanted = brute([plain(r) for r in rows], plain(cost), 9, p)
        if found.near[p]:
            continue
        assert found.there[p] == np.isfinite(wanted)
        if found.there[p]:
            assert found.value[p] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_least_ratios_are_those_of_enumeration(seed: int):
    """More of c costs some b and room under a cap; the ratio of what a and b cost to 1 + c."""
    generator = np.random.default_rng(seed)
    count, names = 60, "abc"
    rows = [
        Row({"a": -1.0}, many(generator.integers(0, 5, count) / 1.0)),
        Row({"b": -2.0, "c": 1.0}, many(generator.integers(-9, 2, count) / 1.0)),
        Row({"a": 1.0, "b": 2.0, "c": 1.0}, many(-generator.integers(2, 25, count) / 1.0)),
    ]
    above, below = Row({"a": 1.0, "b": 1.0}, 1.0), Row({"c": 3.0}, 1.0)
    found = least.best_ratio(rows, above, below, dict.fromkeys(names, (0.0, 9.0)), count)
    every = np.stack(np.meshgrid(*[np.arange(10.0)] * 3, indexing="ij")).reshape(3, -1)
    ratio = (every[0] + every[1] + 1.0) / (3.0 * every[2] + 1.0)
    sure = 0
    for p in range(count):
        met = np.all(
            [
                sum(r.terms.get(n, 0.0) * u for n, u in zip(names, every, strict=True)) + r.constant.values[p]
                <= 0.0
                for r in rows
            ],
            axis=0,
        )
        if found.near[p]:
            continue
        sure += 1
        assert found.there[p] == met.any()
        if met.any():
            assert found.value[p] == pytest.approx(ratio[met].min())
    assert sure


def many(values: Any) -> Any:
    from formulations.arithmetics.many import Many

    return Many(values)


def plain(row: Row) -> Row:
    return Row(row.terms, row.constant.values)


def test_where_costs_and_earnings_mix_there_is_no_least_design():
    with pytest.raises(NotLeast):
        least.best([], Row({"a": 1.0, "b": -1.0}, 0.0), {"a": (0.0, 9.0), "b": (0.0, 9.0)}, 3)
