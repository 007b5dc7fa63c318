"""Grids with several numbers that have gaps, beside real ones: listed values are chosen beforehand, as names are."""

from __future__ import annotations

from typing import Any

import numpy as np
import points_alone
import pytest

import dse
import results.dataset
import scenarios
from formulations import handover
from formulations.grids import over_grid
from results.dataset import CONFLICTING, STATUS_CODES, Arrays
from results.solution import Status
from scenarios.sweep.grids import Grid
from solvers import paths
from solvers.answer import answer
from solvers.many_points.by_anchor import ByAnchor
from solvers.many_points.by_choice import ByChoice

OPTIMAL, INFEASIBLE = STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE]


def ready(name: str, axes: dict[str, list[float]], **changes: Any) -> Grid:
    """A ready question with axes of factors."""
    asked = dse.load(name).model_dump(exclude_none=True, exclude_defaults=True)
    sweep = {f"axis{i}": {"path": p, "factors": f} for i, (p, f) in enumerate(axes.items())}
    return scenarios.grid(dse.load({**asked, **changes, "sweep": sweep}))


def at_once(of: Grid) -> tuple[Arrays, np.ndarray, handover.Tally]:
    way = paths.chosen(of).path
    assert isinstance(way, ByChoice)
    with handover.collected() as tally:
        arrays, left = way.solve(results.dataset.layout(of), over_grid.whole(of))
    return arrays, left, tally


@pytest.mark.parametrize(
    ("name", "limit", "factors"),
    [
        ("platforms_least_power", "limits.performance.min", [0.3, 1.0, 1e9]),
        ("platforms_least_cost_15_years", "limits.performance.min", [0.3, 1.0, 3.0]),
        ("platforms_most_performance_in_10_kw", "limits.power.max", [1e-6, 0.85, 1.64]),
    ],
)
def test_voltages_from_a_list_are_what_each_point_is_by_itself(name: str, limit: str, factors: list[float]):
    of = ready(name, {limit: factors, "given.instructions": [0.31, 0.7, 1.0, 3.0]})
    arrays, left, tally = at_once(of)
    assert not left.any()
    assert not tally.reasons
    plan = results.dataset.layout(of)
    points_alone.completed(of, plan, arrays, left)
    # why there is no design takes seconds for all platforms
    for status, some in ((OPTIMAL, 2), (INFEASIBLE, 1)):
        places = np.argwhere(arrays["status"] == status)
        points_alone.assert_same(of, plan, arrays, points_alone.drawn(places, some, seed=1), rtol=1e-6)
    assert (arrays["status"] == OPTIMAL).sum() >= 8
    voltages = set(np.unique(arrays["machine.voltage"][arrays["status"] == OPTIMAL]))
    assert voltages <= {0.7, 0.9, 1.1, 1.3}


@pytest.mark.parametrize("kept", [None, {"status", "objective", "bound", "gap", "machine.voltage"}])
def test_listed_values_that_are_tied_are_chosen_by_the_order_of_ties(kept: set[str] | None):
    """The voltage makes no difference to the least time at a clock that all of them allow."""
    decide = {
        "machine": {"values": ["platform-atom", "platform-server-x86"]},
        "machine.count.rack": {"integer": True, "max": 1000},
        "machine.voltage": {"values": [0.9, 1.1, 1.3]},
        "machine.frequency": {"max": 1e8},
    }
    work = {"given.instructions": np.geomspace(0.1, 10.0, 12).tolist()}
    of = ready("platforms_least_power", work, decide=decide, objective={"minimize": "time"}, limits={})
    way, plan = paths.chosen(of).path, results.dataset.layout(of)
    assert isinstance(way, ByChoice)
    arrays, left = way.solve(plan if kept is None else results.dataset.only(plan, kept), over_grid.whole(of))
    assert not left.any()
    assert (arrays["status"] == OPTIMAL).all()
    alone = answer(of.question((3,)), neighbours=False)
    assert (arrays["machine.voltage"] == alone.variables["machine.voltage"]).all()
    if kept is None:
        points_alone.assert_same(of, plan, arrays, [(3,)], rtol=1e-6)


STATION = {
    "machine": {"values": ["platform-atom", "platform-cortex-a8"]},
    "machine.count.rack": {"integer": True, "max": 1e6},
    "machine.voltage": {"values": [0.9, 1.1, 1.3]},
    "machine.frequency": {"min": 1e7, "max": 5e9},
}


def test_listed_values_are_axes_of_the_grid_of_each_choice_among_names():
    """One run of the model's arithmetic and one call of the kernel do for all voltages of a machine."""
    of = ready(
        "platforms_least_power", {"given.instructions": np.geomspace(0.3, 3.0, 12).tolist()}, decide=STATION
    )
    way = paths.chosen(of).path
    assert isinstance(way, ByChoice)
    assert [part.names for part in way.parts] == [{"machine": n} for n in STATION["machine"]["values"]]
    assert [part.count for part in way.parts] == [3, 3]
    assert "the best of 6 choices" in way.method


def test_listed_values_beside_a_limit_near_an_optimum():
    limits = {"performance": {"min": 1e12}, "power": {"within": 0.2}}
    axes = {"given.instructions": np.geomspace(0.3, 3.0, 12).tolist()}
    changed = {"decide": STATION, "objective": {"minimize": "time"}, "limits": limits}
    of = ready("platforms_least_power", axes, **changed)
    way, plan = paths.chosen(of).path, results.dataset.layout(of)
    assert isinstance(way, ByAnchor)
    assert isinstance(way.last, ByChoice)
    arrays, left = way.solve(plan, over_grid.whole(of))
    assert (arrays["status"][~left] == OPTIMAL).sum() > 6
    points_alone.assert_same(of, plan, arrays, [(3,)], rtol=1e-6)


@pytest.mark.parametrize(
    ("axis", "factors"),
    [
        ("limits.time.max", [0.5, 0.9, 1.0, 3.0]),
        # no clock of the list is allowed, those are with which it takes too long, some others are, all are
        ("machine.gpu.clock_max", [0.3, 0.5, 0.8, 1.1]),
        # where the vertex of one choice has several multipliers
        ("machine.cpu.clock_max", [0.3, 0.5, 0.8, 1.1]),
    ],
)
def test_with_clocks_from_lists_a_divided_region_is_linear(axis: str, factors: list[float]):
    """Energy holds a clock to the power of 2.5, so that all lists are chosen from beforehand; nothing has a rate."""
    of = ready(
        "partition_clocks_on_both_sides",
        {axis: factors, "machine.gpu.energy_per_byte": np.geomspace(0.3, 3.0, 10).tolist()},
    )
    arrays, left, tally = at_once(of)
    assert not left.any()
    assert not tally.reasons
    assert np.isnan(arrays["elasticity"]).all()
    plan = results.dataset.layout(of)
    points_alone.completed(of, plan, arrays, left)
    for status in (OPTIMAL, INFEASIBLE):
        places = np.argwhere(arrays["status"] == status)
        assert len(places)
        points_alone.assert_same(of, plan, arrays, points_alone.drawn(places, 2, seed=1), rtol=1e-6)


@pytest.mark.parametrize("platforms", [("platform-c55x",), ("platform-gpu", "platform-c55x")])
def test_a_list_that_a_conflict_needs_is_named(platforms: tuple[str, ...]) -> None:
    """Throughput, power and cost hold together between the listed voltages, so that they are no conflict alone."""
    changes: dict[str, Any] = {
        "decide": {
            "machine": {"values": list(platforms)},
            "machine.count.rack": {"integer": True, "max": 1e6},
            "machine.voltage": {"values": ["0.7 V", "0.9 V"]},
            "machine.frequency": {"min": "10 MHz", "max": "5 GHz"},
        },
        "limits": {
            "performance": {"min": "36e12 instruction/s"},
            "power.core": {"max": 0.00354385},
            "cost": {"max": 7324770},
        },
    }
    of = ready("platforms_least_power", {"limits.power.core.max": [1.0, 10 / 9]}, **changes)
    plan = results.dataset.layout(of)
    arrays, left, _ = at_once(of)
    assert not left.any()
    singles = [answer(of.question((place,))) for place in range(2)]
    for place, single in enumerate(singles):
        named = {n for n, k in zip(plan.limits, arrays["binding"][place], strict=True) if k == CONFLICTING}
        assert "machine.voltage" in named
        assert named in [set(c) for c in single.conflicts]
    # what limits would have to be is the same with the list in the set
    points_alone.completed(of, plan, arrays, left)
    first = singles[0]
    told = dict(zip(plan.limits, arrays["would_do"][0], strict=True))
    for name in ("performance", "power.core", "cost"):
        assert told[name] == pytest.approx(first.conflict[name], rel=1e-6)
