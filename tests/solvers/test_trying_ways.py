"""Which way a grid goes is decided with little work, however large its question: what is tried is counted and ends."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from dse.sweeping import grid_way
from dse.sweeping.points import chunk_work
from formulations import handover
from formulations.grids import over_grid
from results.dataset import blank, layout, to_arrays
from solvers import enumeration, paths, work
from solvers.answer import NO_REASON, answer, answers
from solvers.counting import tables
from solvers.geometric.kernel import gp
from solvers.linear.points import linear
from solvers.many_points import by_choice, claims, effort
from solvers.many_points.by_choice import ByChoice
from solvers.many_points.offers import Choice
from solvers.mechanisms import conflicts

SEVEN = [
    f"{name}-choi2014" for name in ("nehalem", "nuc-cpu", "nuc-gpu", "apu-cpu", "apu-gpu", "gtx580", "gtx680")
]


def blocks(entries: int, decided: int = 0) -> Any:
    """Ask for blocks of so many kinds, of which the first few are each chosen among seven platforms."""
    return dse.load(
        {
            "model": "blocks",
            "machine": {f"m{i}": SEVEN[i % 7] for i in range(decided, entries)},
            "given": {"flops": 1e15, "intensity": 4.0},
            "decide": {f"machine.m{i}": {"values": SEVEN} for i in range(decided)},
            "objective": {"maximize": "performance"},
            "limits": {"block_power": {"max": 200.0}},
            "sweep": {
                "cap": {"path": "limits.block_power.max", "values": [140, 170, 210, 287]},
                "intensity": {"path": "given.intensity", "start": 0.125, "stop": 512, "num": 13},
            },
        }
    )


def test_more_choices_than_can_be_gone_through_are_counted_not_gone_through():
    choice = paths.chosen(scenarios.grid(blocks(10, decided=10)))
    assert choice.path is None
    assert any(
        f"more than {by_choice.MOST_CHOICES_ANSWERED} combinations of names" in reason
        for reason in choice.reasons
    )


def test_who_only_asks_is_told_what_was_not_tried(monkeypatch: pytest.MonkeyPatch):
    grid = scenarios.grid(blocks(2))
    tried = paths.chosen(grid)
    assert tried.path is not None
    assert tried.path.method == linear.MIXED
    assert not tried.untried
    monkeypatch.setattr(effort, "QUICK", 1e-9)
    with effort.quickly():
        at = chunk_work.ready(grid)
    assert at.choice.untried
    assert "the sweep tries a few points first" in grid_way.words(grid_way.told(at))
    # a sweep tries longer, and decides as before
    assert not paths.chosen(grid).untried


def test_a_trial_that_costs_too_much_is_no_reason_for_the_dearer_way(monkeypatch: pytest.MonkeyPatch):
    grid = scenarios.grid(blocks(2))
    monkeypatch.setattr(claims, "SHARE_TRIED", 1.0)
    monkeypatch.setattr(effort, "_most", type("Most", (), {"get": staticmethod(lambda: 1e-9)}))
    monkeypatch.setattr(effort, "TRIAL_SECONDS", 1e-9)
    declared = linear.over
    cheap, dear = ({"linear number": seconds / work.seconds("linear number")} for seconds in (1e-3, 1e3))
    monkeypatch.setattr(linear, "over", lambda grid: replace(declared(grid), units=cheap))
    assert paths.chosen(grid).untried
    monkeypatch.setattr(linear, "over", lambda grid: replace(declared(grid), units=dear))
    choice = paths.chosen(grid)
    assert choice.path is None or choice.path.method != linear.MIXED


@pytest.mark.parametrize("name", ["platforms_mtbf_alike_sweep", "platforms_repair_sweep"])
def test_few_points_are_not_answered_from_a_table_of_a_million_designs(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    """Three points of up to a million cards on six platforms: programs of one whole number for each of these."""
    tabulated, table = [0], enumeration.numbers

    def counted(*values: Any, **named: Any) -> Any:
        tabulated[0] += 1
        return table(*values, **named)

    monkeypatch.setattr(enumeration, "numbers", counted)
    choice = paths.chosen(scenarios.grid(dse.load(name)))
    assert isinstance(choice.path, ByChoice)
    assert tabulated == [0]


def test_choices_of_programs_go_before_a_table_that_is_more_work():
    """Up to 20 000 cards on six platforms: 120 000 designs at a point, or six programs of one whole number."""
    asked = dse.load("platforms_least_cost_per_performance").model_dump(
        exclude_none=True, exclude_defaults=True
    )
    names = ("given.lifetime", "given.data_reuse.same beam.distance")
    asked["sweep"] = {
        f"axis_{i}": {"path": n, "factors": np.linspace(0.3, 3.0, 6)} for i, n in enumerate(names)
    }
    grid = scenarios.grid(dse.load(asked))
    path = paths.chosen(grid).path
    assert isinstance(path, ByChoice)
    assert path.work < 0.1 * tables.over(grid).work
    plan = layout(grid)
    arrays, left = path.solve(plan, over_grid.whole(grid))
    assert not left.any()
    for place in ((0, 0), (3, 5)):
        told = to_arrays(plan, [answer(grid.question(place), neighbours=False)], ())
        for name in ("status", "objective", "machine", "machine.count.rack"):
            np.testing.assert_allclose(arrays[name][place], told[name], rtol=1e-12, err_msg=name)


def test_searches_for_what_conflicts_count_too(monkeypatch: pytest.MonkeyPatch):
    """Where there are room and time enough every point has a design, and what is counted is less."""
    spent, told = [0.0], effort.spend

    def counted(seconds: float) -> None:
        spent[-1] += seconds
        told(seconds)

    monkeypatch.setattr(effort, "spend", counted)
    for room, end in ((30, 4), (0.3, 0.4)):
        asked = dse.load("roofline_regions_on_an_fpga").model_dump(exclude_none=True, exclude_defaults=True)
        asked["sweep"] = {
            "room": {"path": "limits.circuits.max", "start": room, "stop": 3 * room, "num": 8},
            "end": {"path": "limits.both.max", "start": end, "stop": 10 * end, "num": 8},
        }
        at = chunk_work.ready(scenarios.grid(dse.load(asked)))
        spent.append(0.0)
        at.path.solve(at.plan, (slice(0, 8), slice(0, 8)))
    _, enough, little = spent
    assert little > 1.5 * enough


def test_what_is_counted_ends_a_trial_and_nothing_else():
    effort.spend(1e-3)
    with effort.trial() as trial:
        effort.spend(1e-3)
        assert not trial.ended
        with pytest.raises(effort.TooLong):
            effort.spend(1e2)
    assert trial.ended
    effort.spend(1e-3)


def power_cap(start: float, num: int) -> Any:
    """Ask for the least energy within power caps from ``start`` on, some of which no design meets."""
    return dse.load(
        {
            "model": "matmul",
            "machine": "balanced",
            "given": {"order": 8192},
            "decide": {"processors": {"max": 65536}, "memory": {}},
            "objective": {"minimize": "energy"},
            "limits": {"power": {"max": start}},
            "sweep": {
                "cap": {"path": "limits.power.max", "start": start, "stop": 4000.0, "num": num},
                "order": {"path": "given.order", "start": 4096, "stop": 16384, "num": num},
            },
        }
    )


def test_a_trial_seeks_no_feasible_values(monkeypatch: pytest.MonkeyPatch):
    def sought(*_: Any, **__: Any) -> Any:
        raise AssertionError("a trial asks which points are answered, not what would do")

    monkeypatch.setattr(conflicts, "feasible_values", sought)
    ready = chunk_work.ready(scenarios.grid(power_cap(100.0, 8)))
    assert ready.path is not None
    assert "secants" in ready.path.method
    with pytest.raises(AssertionError, match="not what would do"):
        ready.path.solve(ready.plan, (slice(0, 8), slice(0, 8)))


def test_many_infeasible_power_caps_take_few_programs(monkeypatch: pytest.MonkeyPatch):
    """What jams is given up, and tangents that leave nothing are not asked again (69 calls, 2350 iterations before).

    Of 64 calls and 2225 iterations three and some 150 are of infeasible points, which are asked once more far out of
    the box; what is left with an open bound is tried with a higher penalty.
    """
    ready = chunk_work.ready(scenarios.grid(power_cap(100.0, 5)))
    spent, solve = [0, 0], gp.solve

    def counted(*values: Any, **named: Any) -> gp.Result:
        found = solve(*values, **named)
        spent[0], spent[1] = spent[0] + 1, spent[1] + int(found.iterations.max(initial=0))
        return found

    monkeypatch.setattr(gp, "solve", counted)
    assert ready.path is not None
    _, left = ready.path.solve(ready.plan, (slice(0, 5), slice(0, 5)))
    assert not left.any()
    calls, iterations = spent
    assert calls < 67
    assert iterations < 2300


def test_what_a_swept_number_is_0_times_in_is_nothing():
    """Without a reorder buffer nothing of a wait is hidden: that of many points kept the grid from going at once."""
    asked = dse.load("platforms_least_power").model_dump(exclude_none=True, exclude_defaults=True)
    asked["sweep"] = {
        "rate": {"path": "limits.performance.min", "start": 1e13, "stop": 1e14, "num": 16},
        "parallelism": {"path": "given.parallelism.core", "start": 1.25, "stop": 12.5, "num": 16},
    }
    with effort.quickly():
        assert paths.chosen(scenarios.grid(dse.Scenario(**asked))).path is not None


def test_choices_are_tried_together_what_one_leaves_over_and_another_beats_is_no_work():
    source = tomllib.loads(dse.load("partition_clocks_on_both_sides").text)
    factors = {"factors": [0.3, 0.5, 0.8, 1.2, 2.0, 3.0]}
    axes = {
        "watts": {"path": "machine.gpu.constant_power", **factors},
        "least": {"path": "machine.gpu.clock_min", **factors},
    }
    grid = scenarios.grid(dse.load({**source, "sweep": axes}))
    choice = paths.chosen(grid)
    assert isinstance(choice.path, ByChoice)
    assert choice.left == 0.0
    _, left = choice.path.solve(layout(grid), tuple(slice(0, n) for n in grid.shape))
    assert not left.any()


@pytest.mark.parametrize("name", [n for n in scenarios.library() if n.endswith("_sweep")][::4])
def test_a_way_is_chosen_by_what_it_declares_not_by_what_a_trial_comes_to(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    """A trial tells the time; which way answers the points is the same without one."""
    grid = scenarios.grid(dse.load(name))
    told = paths.chosen(grid)
    monkeypatch.setattr(claims, "tried", lambda offer: Choice(offer.path))
    again = paths.chosen(grid)
    assert told.reasons == again.reasons
    assert (told.path is None) == (again.path is None)
    assert told.path is None or told.path.method == again.path.method


def test_what_one_way_leaves_over_goes_to_the_next_and_in_the_end_to_each_point_by_itself():
    grid = scenarios.grid(power_cap(100.0, 6))
    plan, region = layout(grid), over_grid.whole(grid)
    way = paths.chosen(grid).path
    whole, left = way.solve(plan, region)
    assert not left.any()
    asked: list[Any] = []

    class Blind:
        """The way, but for every so many points."""

        method = way.method

        def __init__(self, every: int) -> None:
            self.every = every

        def solve(self, *wanted: Any) -> Any:
            asked.append(wanted[2])
            arrays, missed = way.solve(*wanted)
            blind = (np.arange(missed.size).reshape(missed.shape) % self.every) == 0
            here = blind if wanted[2] is None else blind & wanted[2]
            handover.hand_over(f"blind at {self.every}", int(np.count_nonzero(here)))
            return arrays, missed | blind

    def apart(points: Any) -> Any:
        asked.append(points)
        return [answer(grid.question(tuple(p)), neighbours=False) for p in np.argwhere(points)]

    arrays, alone, why = answers(grid, plan, region, [Blind(2), Blind(3)], apart)
    numbers = np.arange(36).reshape(6, 6)
    assert asked[0] is None
    assert (asked[1] == (numbers % 2 == 0)).all()
    assert (asked[2] == (numbers % 6 == 0)).all()
    assert alone == 6
    assert list(why.reasons) == ["blind at 3"]
    for name in ("status", "objective", "processors"):
        np.testing.assert_allclose(arrays[name], whole[name], rtol=1e-8, err_msg=name)


def test_an_exception_of_one_way_is_logged_and_the_next_one_says_why_it_leaves_points(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv(handover.STRICT, "0")
    grid = scenarios.grid(power_cap(100.0, 3))

    class Broken:
        method = "broken"

        def solve(self, *_: Any) -> Any:
            raise ValueError("boom")

    class Silent:
        method = "silent"

        def solve(self, plan: Any, region: Any, *_: Any) -> Any:
            left = np.zeros(grid.shape, bool)
            left[0, 0] = True
            return blank(plan, grid.shape), left

    apart = [answer(grid.question((0, 0)), neighbours=False)]
    _, alone, why = answers(
        grid, layout(grid), over_grid.whole(grid), [Broken(), Silent()], lambda left: apart[: left.sum()]
    )
    assert alone == 1
    assert why.reasons == {NO_REASON: 1}
    assert "boom" in caplog.text
