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
from formulations.grids import over_grid
from formulations.row_keys import RowKey
from results.dataset import STATUS_CODES
from results.solution import Status
from solvers import paths
from solvers.answer import answer
from solvers.counting import counts, sets, whole
from solvers.linear import least_parts
from solvers.many_points import blocks

OPTIMAL, INFEASIBLE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]
AXES = {
    "demand": ("limits.throughput.min", "8e12 op/s", "70e12 op/s"),
    "cap": ("limits.power.max", "3 kW", "20 kW"),
    # the second is 0.7 % beyond: two levels of one type would do it, and sockets without a card
    "near": ("limits.throughput.min", "66e12 op/s", "72.9e12 op/s"),
    "price": ("given.energy_price", "0.02 USD/kWh", "0.9 USD/kWh"),
    "failing": ("given.socket_failures", "1 FIT", "1e4 FIT"),
    # what a card holds then differs between points, whether there is a card or not does not
    "room": ("given.cards.of 16.sockets", "5", "50"),
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
        ("station_most_throughput_in_10_kw", {"room": 3}, False),
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


def test_most_throughput_at_an_end_that_a_limit_implies_is_proved_in_every_batch():
    """Where the number of sockets is capped, the most of them are as many: alone, such a point was left over."""
    asked = swept("station_most_throughput_in_10_kw")
    asked["given"] |= {"cards": asked["given"]["cards"][-1:], "levels": asked["given"]["levels"][:1]}
    asked["sweep"] = {"most": {"path": "limits.sockets.max", "values": [500, 900]}}
    grid = scenarios.grid(dse.load(asked | {"limits": asked["limits"] | {"sockets": {"max": 500}}}))
    plan, way = results.dataset.layout(grid), whole.over(grid)
    for block in (slice(0, 2), slice(0, 1), slice(1, 2)):
        arrays, left = way.solve(plan, (block,))
        assert not left.any()
        assert arrays["sockets"].tolist() == [500.0, 900.0][block]


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
    asked["sweep"]["idle"] = {"path": "given.idle_share", "values": [0.1, 0.2]}
    grid = scenarios.grid(dse.load(asked))
    block = blocks.Block(over_grid.spread(grid), over_grid.whole(grid))
    sizes = []

    def answer(question: Any, points: Any) -> Any:
        sizes.append(len(points))
        return np.full(len(points), question.given["idle_share"] != 0.1)

    left = block.answered(answer, 100)
    assert left[..., 0].all()
    assert not left[..., 1].any()
    # all together, which could not be, then apart
    assert sizes == [18, 9, 9]


def brute(rows: np.ndarray, cost: np.ndarray, top: int) -> float:
    """The least cost over all whole numbers 0 to ``top`` of three numbers, by rows that end with their constant."""
    u = np.stack([*np.meshgrid(*[np.arange(top + 1.0)] * 3, indexing="ij"), np.ones([top + 1] * 3)])
    good = (np.tensordot(rows, u, 1) <= 1e-9).all(axis=0)
    return float((np.tensordot(cost, u[:-1], 1))[good].min(initial=np.inf))


@pytest.mark.parametrize("seed", range(25))
def test_least_designs_are_those_of_enumeration(seed: int):
    """Random rows in which at most one number gains, and a cap: every point beside all combinations of 0 to 9."""
    generator = np.random.default_rng(seed)
    a, k = np.ones((5, 3, 1)), np.zeros((5, 12))
    for i in range(4):
        a[i, :, 0] = generator.integers(0, 3, 3)
        a[i, generator.integers(3)] *= -3.0
        k[i] = generator.integers(-4, 9, 12) / 2
    k[4] = -generator.integers(2, 20, 12)
    price = np.array([0.0, -1.0, 0.0]) if seed % 5 == 0 else generator.integers(1, 5, 3).astype(float)
    found = least_parts.best(a, k, np.zeros((3, 1)), np.full((3, 1), 9.0), price[:, None])
    for p in range(12):
        wanted = brute(np.append(a[:, :, 0], k[:, [p]], axis=1), price, 9)
        if found.near[p]:
            continue
        assert found.there[p] == np.isfinite(wanted)
        if found.there[p]:
            assert price @ found.u[:, p] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_least_ratios_are_those_of_enumeration(seed: int):
    """More of c costs some b and room under a cap; the ratio of what a and b cost to 1 + c."""
    generator, count = np.random.default_rng(seed), 60
    a = np.array([[-1.0, 0.0, 0.0], [0.0, -2.0, 1.0], [1.0, 2.0, 1.0]])
    k = np.stack(
        [generator.integers(0, 5, count), generator.integers(-9, 2, count), -generator.integers(2, 25, count)]
    ).astype(float)
    columns = np.arange(3)
    limits = tuple(
        counts.Limit(
            RowKey(f"row {i}", "max"), counts.Forms(columns, a[[i], :, None], k[[i]]), None, only=False
        )
        for i in range(3)
    )
    above = counts.Forms(columns, np.array([[[1.0], [1.0], [0.0]]]), np.ones((1, 1)))
    below = counts.Forms(columns, np.array([[[0.0], [0.0], [3.0]]]), np.ones((1, 1)))
    nothing = np.zeros((0, 3), dtype=bool)
    every = counts.Counts(
        None,
        count,
        tuple("abc"),
        (),
        np.zeros(3),
        np.full(3, 9.0),
        nothing,
        limits,
        above,
        (),
        1,
        False,
        below,
    )
    found = sets.best(every)
    u = np.stack(np.meshgrid(*[np.arange(10.0)] * 3, indexing="ij")).reshape(3, -1)
    ratio = (u[0] + u[1] + 1.0) / (3.0 * u[2] + 1.0)
    assert not found.unsure.all()
    for p in np.flatnonzero(~found.unsure):
        met = (a @ u + k[:, [p]] <= 0.0).all(axis=0)
        assert found.value[p] == pytest.approx(ratio[met].min(initial=np.inf))


def test_where_costs_and_earnings_mix_nothing_is_said_to_be_the_best():
    some = np.zeros((0, 2, 1)), np.zeros((0, 1)), np.zeros((2, 1)), np.full((2, 1), 9.0)
    assert least_parts.best(*some, np.array([[1.0], [-1.0]])).near.all()
    assert not least_parts.best(*some, np.array([[1.0], [0.0]])).near.any()


@pytest.mark.parametrize("seed", range(10))
def test_where_one_of_several_may_do_the_best_is_that_of_enumeration(seed: int):
    """Of a and b so much is needed together, within a cap on all three; no design is the least of all."""
    generator, count = np.random.default_rng(seed), 30
    a = np.array([[-2.0, -3.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, -1.0]])
    k = np.stack(
        [
            generator.integers(0, 30, count),
            -generator.integers(2, 25, count),
            -generator.integers(0, 3, count),
        ]
    ).astype(float)
    cost = generator.integers(1, 9, 3).astype(float)
    columns = np.arange(3)
    limits = tuple(
        counts.Limit(
            RowKey(f"row {i}", "max"), counts.Forms(columns, a[[i], :, None], k[[i]]), None, only=False
        )
        for i in range(3)
    )
    goal = counts.Forms(columns, cost[None, :, None], np.zeros((1, 1)))
    nothing, low, high = np.zeros((0, 3), dtype=bool), np.zeros(3), np.full(3, 9.0)
    found = sets.best(
        counts.Counts(None, count, tuple("abc"), (), low, high, nothing, limits, goal, (), 1, False)
    )
    assert not found.unsure.any()
    wanted = [brute(np.column_stack([a, k[:, p]]), cost, 9) for p in range(count)]
    assert np.isinf(wanted).any() or seed
    assert found.value == pytest.approx(np.array(wanted), rel=1e-12)
    # a bound is never above what enumeration finds
    assert (found.bound <= np.array(wanted) * (1 + 1e-9)).all()


def two_types(**limits: str) -> dict[str, Any]:
    asked = swept("station_cheapest_mix_in_10_kw")
    asked["limits"] = {"throughput": {"min": limits["demand"]}, "power": {"max": limits["cap"]}}
    return {**asked, "limits": asked["limits"] | {"types": {"max": 2}}}


def test_a_station_of_two_types_has_an_answer_however_many_sockets_its_power_feeds():
    """So many of the least ones that no number in a program can stand for "any"; it took minutes, and ended in none."""
    asked = two_types(demand="42.8e12 op/s", cap="40 kW")
    found = dse.solve(asked)
    assert found.status is Status.OPTIMAL
    assert found.gap <= 1e-9
    # more power, and no fewer operations, than a question that a program states
    near = dse.solve(two_types(demand="42.8e12 op/s", cap="14 kW"), depth="limits")
    assert found.objective <= near.objective
    state = found.limits["throughput"]
    assert state.next_change < 42.8e12
    eased = dse.solve(two_types(demand=f"{state.next_change!r} op/s", cap="40 kW"), depth="limits")
    assert eased.objective == pytest.approx(state.next_objective, rel=1e-9)
    assert eased.objective < found.objective * (1 - 1e-9)
    between = (state.next_change + 42.8e12) / 2
    same = dse.solve(two_types(demand=f"{between!r} op/s", cap="40 kW"), depth="limits")
    assert same.objective == pytest.approx(found.objective, rel=1e-9)


def test_what_would_do_for_a_station_of_two_types_does_and_less_does_not():
    found = dse.solve(two_types(demand="420e12 op/s", cap="40 kW"))
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("throughput", "power"),)
    for name in ("throughput", "power"):
        value, worse = found.conflict[name], -1e-6 if name == "power" else 1e-6
        for share, status in ((0.0, Status.OPTIMAL), (worse, Status.INFEASIBLE)):
            demand, cap = (
                value * (1 + share) if name == n else v for n, v in (("throughput", 420e12), ("power", 40e3))
            )
            asked = two_types(demand=f"{demand!r} op/s", cap=f"{cap!r} W")
            assert dse.solve(asked, depth="limits").status is status


def test_a_sweep_tells_how_many_types_would_do():
    """Without that limit too many sets of things are there to be listed: one more type is allowed at a time.

    That there is no type contradicts itself, whatever the station is to do.
    """
    asked = two_types(demand="36e12 op/s", cap="10 kW")
    asked["sweep"] = {
        "kinds": {"path": "limits.types.max", "values": [0, 2]},
        "demand": {"path": "limits.throughput.min", "start": 30e12, "stop": 36e12, "num": 2},
    }
    grid = scenarios.grid(dse.load(asked))
    plan = results.dataset.layout(grid)
    arrays, left = whole.over(grid).solve(plan, (slice(0, 2), slice(0, 2)))
    assert not left.any()
    assert arrays["status"].tolist() == [[INFEASIBLE] * 2, [OPTIMAL] * 2]
    for clash, values in zip(
        arrays["binding"][0] == results.dataset.CONFLICTING, arrays["would_do"][0], strict=True
    ):
        assert np.flatnonzero(clash).tolist() == [2]
        assert values[2] == 1.0
    assert tuple(asked["limits"]) == ("throughput", "power", "types")
    one = asked["limits"] | {"types": {"max": 1}}
    assert dse.solve(asked | {"limits": one, "sweep": {}}, depth="limits").status is Status.OPTIMAL


def test_within_a_budget_that_one_type_breaks_two_would_do():
    asked = two_types(demand="36e12 op/s", cap="10 kW")
    budget = asked["limits"] | {"cost": {"max": 3.7e6}}
    one = scenarios.grid(dse.load(asked | {"limits": budget | {"types": {"max": 1}}})).question(())
    why = whole.why_alone(one)
    assert why is not None
    assert why.values(np.zeros(1, np.intp), ("types",))["types"].tolist() == [2.0]
    assert dse.solve(asked | {"limits": budget}, depth="limits").status is Status.OPTIMAL


def test_a_pair_of_types_that_takes_many_nodes_is_searched_with_the_others():
    asked = two_types(demand="11384199576606 op/s", cap="10 kW")
    asked["machine"] = {n: n for n in ("at91sam9m10", "imx515", "omap3503")}
    asked["sweep"] = {"drawn": {"path": "given.card_power_limit", "values": ["12.65 W", "17.6 W"]}}
    grid = scenarios.grid(dse.load(asked))
    arrays, left = whole.over(grid).solve(results.dataset.layout(grid), (slice(0, 2),))
    assert not left.any()
    alone = answer(grid.question((0,)), neighbours=False)
    assert arrays["cost"][0] == pytest.approx(alone.objective, rel=1e-9)


def test_points_that_allow_the_same_sets_and_ask_the_same_of_their_numbers_are_searched_once(
    monkeypatch: pytest.MonkeyPatch,
):
    """What a card may draw only says which sets are there: it took as many searches as there are values of it."""
    asked = two_types(demand="36e12 op/s", cap="10 kW")
    asked["sweep"] = {"drawn": {"path": "given.card_power_limit", "values": ["39 W", "40 W", "41 W"]}}
    grid, searched, best = scenarios.grid(dse.load(asked)), [], sets._best
    monkeypatch.setattr(sets, "_best", lambda c, there: searched.append(c.count) or best(c, there))
    arrays, left = whole.over(grid).solve(results.dataset.layout(grid), (slice(0, 3),))
    assert not left.any()
    assert searched == [1]
    alone = answer(grid.question((1,)), neighbours=False)
    assert arrays["objective"].tolist() == [alone.objective] * 3


def test_points_at_which_being_there_costs_something_else_are_told_apart():
    """One of a or of b has to be there, and is paid for by being there."""
    columns, prices = np.arange(2), np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 3.0]])
    one = counts.Forms(columns, np.full((1, 2, 1), -1.0), np.ones((1, 1)))
    limits = (counts.Limit(RowKey("one", "min"), one, None, only=False),)
    paid = counts.Forms(columns + 2, prices[None], np.zeros((1, 1)))
    ends = np.zeros(4), np.array([9.0, 9.0, 1.0, 1.0])
    found = sets.best(
        counts.Counts(None, 3, ("a", "b"), (), *ends, np.eye(2, dtype=bool), limits, paid, (), 1, False)
    )
    assert not found.unsure.any()
    assert found.value.tolist() == [1.0, 1.0, 1.0]
    assert found.u["a"].tolist() == [1.0, 0.0, 1.0]
