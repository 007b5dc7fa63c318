"""Where no user ends how many there may be, no answer rests on how far a search goes."""

from __future__ import annotations

import itertools
import math
import tomllib
from typing import Any

import numpy as np
import pytest
from make_expected import LIBRARY

import dse
import scenarios
from dse.models.model import Model
from dse.quantities import Quantity
from formulations import evaluation
from results.dataset import STATUS_CODES
from results.solution import Solution, Status

WAYS_TO_COUNT = {"whole": {"integer": True}, "powers": {"powers_of": 2}, "any": {}}
"""No user ends how many processors there may be; the box of a first search ends at 1e15 of them."""


def solved(source: dict[str, Any]) -> Solution:
    return dse.solve(dse.load(source))


def bodies(way: str, goal: str, **limits: str) -> dict[str, Any]:
    return {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e30, "flops_per_pair": 10},
        "decide": {"processors": WAYS_TO_COUNT[way], "memory": {}},
        "objective": {"minimize": goal},
        "limits": {n: {"max": end} for n, end in limits.items()},
    }


def transform(way: str, **limits: str | float) -> dict[str, Any]:
    return {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 2.0**100},
        "decide": {"processors": WAYS_TO_COUNT[way]},
        "objective": {"minimize": "energy"},
        "limits": {n: {"max": end} for n, end in limits.items()},
    }


def at(source: dict[str, Any], **decided: Any) -> dict[str, Any]:
    question = scenarios.grid(dse.load(source)).question(())
    return evaluation.metrics(question, decided)


@pytest.mark.parametrize("way", WAYS_TO_COUNT)
def test_a_design_of_more_than_1e18_processors_is_found(way: str) -> None:
    source = bodies(way, "energy", time="1e25 s")
    # within the range of perfect scaling more processors need no more energy
    least = at(source, processors=2.0**150, memory=np.geomspace(1.0, 2e7, 200_001))["energy"].min()
    found = solved(source)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(least, rel=1e-6)
    assert float(found.variables["processors"]) > 1e35
    fastest = solved(bodies(way, "time", time="1e25 s"))
    assert fastest.status is Status.OPTIMAL
    assert fastest.objective is not None
    # at most n² processors hold one copy in one word each
    every = 2.0 ** np.arange(150, 200) if way == "powers" else np.array([1e60])
    every = every[every <= 1e60]
    assert fastest.objective == pytest.approx(
        at(source, processors=every, memory=1e30 / every**0.5)["time"].min(), rel=1e-6
    )


@pytest.mark.parametrize("way", WAYS_TO_COUNT)
def test_a_feasible_value_is_not_held_by_the_box(way: str) -> None:
    source = bodies(way, "time", energy="1e25 J")
    least = at(source, processors=2.0**150, memory=np.geomspace(1.0, 2e7, 200_001))["energy"].min()
    found = solved(source)
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("energy",),)
    assert found.conflict["energy"] == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize(
    ("way", "swept"),
    [*itertools.product(WAYS_TO_COUNT, ["energy"]), ("whole", "power"), ("any", "power")],
)
def test_feasible_values_of_many_points_are_not_held_by_the_box(way: str, swept: str) -> None:
    """The least power is the least energy over all the time there may be, as designs may take any time."""
    source = bodies(way, "time") if swept == "energy" else bodies(way, "energy", time="1e25 s")
    least = at(source, processors=2.0**150, memory=np.geomspace(1.0, 2e7, 200_001))["energy"].min()
    least /= 1.0 if swept == "energy" else 1e25
    limits = {**source["limits"], swept: {"max": 1e10}}
    along = {"path": f"limits.{swept}.max", "values": [1e8, 1e9, 1e10]}
    many = dse.sweep(dse.load({**source, "limits": limits, "sweep": {"cap": along}}), workers=1)
    assert (many.status.values == STATUS_CODES[Status.INFEASIBLE]).all()
    assert many.would_do.sel(limit=swept).values == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("way", WAYS_TO_COUNT)
def test_without_structure_more_than_1e18_processors_are_searched(way: str) -> None:
    p = 2.0 ** np.arange(101) if way == "powers" else np.geomspace(1.0, 2.0**100, 400_001)
    source = transform(way, time=1e5)
    every = at(source, processors=p)
    found = solved(source)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(every["energy"][every["time"] <= 1e5].min(), rel=1e-6)
    none = solved(transform(way, time=1e-4))
    assert none.status is Status.INFEASIBLE
    assert none.conflicts == (("time",),)
    assert none.conflict["time"] == pytest.approx(every["time"].min(), rel=1e-6)


@pytest.mark.parametrize("way", WAYS_TO_COUNT)
def test_many_points_search_beyond_1e18_processors(way: str) -> None:
    source = transform(way)
    deadlines = {"path": "limits.time.max", "start": 1e-4, "stop": 1e4, "num": 40, "spacing": "log"}
    swept = dse.sweep(
        dse.load({**source, "limits": {"time": {"max": 1.0}}, "sweep": {"deadline": deadlines}}), workers=1
    )
    p = 2.0 ** np.arange(101) if way == "powers" else np.geomspace(1.0, 2.0**100, 400_001)
    every = at(source, processors=p)
    for end, energy, status in zip(
        swept.deadline.values, swept.energy.values, swept.status.values, strict=True
    ):
        met = every["time"] <= end * (1 + 1e-9)
        assert status == STATUS_CODES[Status.OPTIMAL if met.any() else Status.INFEASIBLE]
        assert not met.any() or energy == pytest.approx(every["energy"][met].min(), rel=1e-4)


def transform_in_samples(way: str, points: float, **limits: float) -> dict[str, Any]:
    source = transform(way, **limits)
    return {
        **source,
        "given": {"points": points},
        "objective": {"minimize": "time" if not limits else "energy", "measure": "mean"},
        "uncertain": {
            "sampling": {"samples": 3, "seed": 1},
            "machine.time_per_flop": {"uniform": ["9e-12 s/flop", "11e-12 s/flop"]},
        },
    }


@pytest.mark.parametrize("points", [2.0**55, 2.0**62, 2.0**100])
def test_one_design_for_many_samples_may_have_more_than_1e18_processors(points: float) -> None:
    """As whole numbers of this size are next to each other, the best of any numbers is the best of them."""
    whole, free = (solved(transform_in_samples(way, points)) for way in ("whole", "any"))
    assert whole.status is free.status is Status.OPTIMAL
    assert whole.objective == pytest.approx(free.objective, rel=1e-6)
    fastest = float(whole.objective or math.nan)
    for way in ("whole", "any"):
        none = solved(transform_in_samples(way, points, time=fastest / 50))
        assert none.status is Status.INFEASIBLE
        # in every sample within the limit: at least the mean, and times differ by less than the costs of a flop do
        assert none.conflict["time"] is not None
        assert fastest * (1 - 1e-5) <= none.conflict["time"] <= fastest * 1.25


def own(**more: Any) -> dict[str, Any]:
    """A question of two numbers of its own."""
    fft = {"model": "fft", "machine": "balanced"}
    return {**fft, "given": {"points": 1024, "all_to_all": "tree", "processors": 1}, **more}


def test_a_conflict_of_a_lower_limit_on_a_sum_is_told() -> None:
    """By hand: 1 ≥ a + b leaves a + 3 b at most 3."""
    answer = solved(
        own(
            decide={"x": {"min": 1e-6, "max": 1e6}, "y": {"min": 1e-6, "max": 1e6}},
            define={"both": "x + y", "much": "x + 3 * y"},
            objective={"minimize": "both"},
            limits={"both": {"max": 1.0}, "much": {"min": 10.0}},
        )
    )
    assert answer.status is Status.INFEASIBLE, answer.message
    assert answer.conflicts == (("both", "much"),)
    assert answer.conflict["much"] == pytest.approx(3, rel=1e-5)
    assert answer.conflict["both"] == pytest.approx(10 / 3, rel=1e-5)


@pytest.fixture
def three_numbers() -> str:
    """A model of three numbers whose search ends at 1e6, the farther one at 1e31."""
    every = tuple(Quantity(n, n, "", "a number", "", minimum=0.0, floor=1e-6, ceiling=1e6) for n in "abc")
    total = Quantity("total", "t", "", "their product", "")
    dse.register(
        Model("three_numbers", "", "", (), every, (total,), (), lambda g: {"total": g.a * g.b * g.c})
    )
    return "three_numbers"


def test_what_the_user_asks_for_beyond_the_search_is_searched(three_numbers: str) -> None:
    """a = 1e32 with b = 1e71 holds both limits: 1e71 log(1e32) / 1e32 = 7e40."""
    asked = {
        "model": three_numbers,
        "given": {"c": 1.0},
        "decide": {"a": {"min": 1e32, "max": 1e40}, "b": {}},
        "define": {"much": "b * log(2 + a) / a", "few": "a / b", "spent": "log(2 + a) * b"},
        "objective": {"minimize": "spent"},
        "limits": {"much": {"min": 1e40}, "few": {"max": 1e3}},
    }
    found = solved(asked)
    assert found.status is not Status.INFEASIBLE
    # the least b that holds the first limit, at the least a
    assert found.objective == pytest.approx(1e40 * 1e32, rel=1e-3)


def test_what_falls_until_floats_end_is_unbounded(three_numbers: str, nodes_of_trees: list[int]) -> None:
    """f falls with b without end, and a far enough to hold the limits is always there.

    Neither of a case that another one beats nor of what has no end is found out how far the best designs reach.
    """
    asked = {
        "model": three_numbers,
        "decide": {"a": {"max": 8.586}, "b": {}, "c": {"min": 0.158, "max": 5.665}},
        "define": {
            "f": "minimum(0.248 / a * b**2 + 0.065 / a * b / c + 0.037 / a**0.5 * b / c, 0.076 * a * b**2)",
            "large": "minimum(1.996 / a**0.5 * b**2 / c**2 + 0.378 / a**2 / c**0.5 + 26.003 * a**2 * b / c**0.5, "
            "23.035 / a / b + 12.027 * b)",
            "small": "minimum(0.802 * b**0.5 + 0.185 / a * b**0.5 * c**2, 0.999 * a**2 / b**0.5 * c)",
        },
        "objective": {"minimize": "f"},
        "limits": {"large": {"min": 33.169}, "small": {"max": 1.4344}},
    }
    found = solved(asked)
    assert found.status is Status.UNBOUNDED, found.message
    assert max(nodes_of_trees) <= 100


@pytest.mark.parametrize("way", WAYS_TO_COUNT)
def test_no_power_is_below_the_domain(way: str) -> None:
    """In a farther box 64th parts of a processor were found, with which everything is slow enough."""
    source = {
        "model": "matmul",
        "machine": "dgx-h100-bf16",
        "given": {"order": 8192},
        "decide": {"processors": WAYS_TO_COUNT[way], "memory": {}},
        "objective": {"minimize": "messages"},
        "limits": {"time": {"min": 0.0387, "max": 0.05}},
        "waive": ["replication"],
    }
    found = solved(source)
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("time", "one_copy"),)
    would = found.conflict["time"]
    assert would is not None
    assert would < 0.0387
    again = solved(source | {"limits": {"time": {"min": would * (1 - 1e-6), "max": 0.05}}})
    assert again.status is Status.OPTIMAL
    assert again.variables["processors"] == pytest.approx(1.0)


@pytest.mark.parametrize(("most", "count"), [("10 kW", 2.0**18), ("1 W", 32.0)])
def test_a_list_of_powers_in_a_program_is_picked_from_as_it_is(most: str, count: float) -> None:
    """Its largest entry is 1e30: a solver took a part of that, too small to be seen, and two sockets for 524 288."""
    source = tomllib.loads((LIBRARY / "station_most_flops_in_10_kw.toml").read_text(encoding="utf-8"))
    sockets = {"sockets.socket.high.of 128": {"powers_of": 2}}
    asked = {
        **source,
        "machine": {"socket": "tms320c5515"},
        "decide": sockets,
        "limits": {"power": {"max": most}},
    }
    found = solved(asked)
    assert found.status is Status.OPTIMAL, found.message
    assert found.variables["sockets.socket.high.of 128"] == count
    state = found.limits["power"]
    assert state.next_change is not None
    assert state.value <= state.bound < state.next_change < 2.01 * state.value


def test_what_only_an_exponential_takes_plays_no_part_in_a_conflict() -> None:
    """From above 0 an exponential is a positive number, as far out as it overflows, too."""
    machine = dict.fromkeys(("time_per_flop", "energy_per_flop", "time_per_byte", "energy_per_byte"), 1e-12)
    source = {
        "model": "roofline",
        "machine": {**machine, "constant_power": 1.0},
        "given": {"flops": 1.0, "bytes": 1.0},
        "decide": {
            "flow": {"min": 0.1, "max": 10.0},
            "hot": {"min": 40.0, "max": 105.0},
            "clock": {"min": 2.0, "max": 3.0},
        },
        "define": {
            "draw": "15 * exp((hot - 60) / 43) + 86 * clock**2 + 0.3 * flow**3",
            "fan": "0.3 * flow**3",
        },
        "objective": {"minimize": "fan"},
        "limits": {"draw": {"max": 265.0}},
    }
    found = solved(source)
    assert found.conflicts == (("draw", "clock"),)
    # 15 exp(-20/43) + 86 c^2 + 0.3 * 0.1^3 = 265
    least = (265.0 - 15.0 * math.exp(-20.0 / 43.0) - 0.3e-3) / 86.0
    assert found.conflict["clock"] == pytest.approx(math.sqrt(least), rel=1e-5)
