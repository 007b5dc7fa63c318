"""Roofline questions with several decided numbers: proved optimal, and no search of the oracle's finds better."""

from __future__ import annotations

import copy
import itertools
import math
from typing import Any

import numpy as np
import oracle_reading as reading
import oracle_roofline_search as oracle
import points_alone
import pytest

import dse
import scenarios
from results.solution import Solution, Status
from solvers.answer import answer

NAME = "gtx-titan-choi2014"
TITAN = reading.machine(NAME)
PROVEN = 1e-6
MORE = {"performance", "efficiency", "bandwidth"}
GOALS = ("energy", "time", "power", "efficiency", "performance", "peak_power", "energy_delay")
DECIDED = ("throttle", "intensity", *(f"machine.{n}" for n in TITAN if n in oracle.OWN))


def question(seed: int, limits: int) -> dict[str, Any]:
    """Two to five decided numbers and limits near what some design reaches."""
    random = np.random.default_rng(seed)
    names = [str(n) for n in random.choice(DECIDED, int(random.integers(2, 6)), replace=False)]
    goal = str(random.choice(GOALS))
    source: dict[str, Any] = {
        "model": "roofline",
        "machine": {"base": NAME},
        "given": {"flops": 1e12},
        "decide": {n: _ends(n, random) for n in names},
        "objective": {"maximize" if goal in MORE else "minimize": goal},
        "limits": {},
    }
    if "intensity" not in names:
        source["given"]["intensity"] = float(np.exp(random.uniform(np.log(0.25), np.log(64))))
    asked = oracle.search(source)
    at = asked.at(random.uniform(asked.low, asked.high))
    others = [n for n in (*GOALS, "bandwidth") if n != goal]
    for name in random.choice(others, int(random.integers(0, limits + 1)), replace=False):
        room = float(np.exp(random.normal(0.3, 0.3)))
        low = name in MORE
        source["limits"][str(name)] = {"min" if low else "max": at[name] / room if low else at[name] * room}
    return source


def _ends(name: str, random: np.random.Generator) -> dict[str, float]:
    low, high = (float(v) for v in random.uniform(1.2, 5, 2))
    if name == "throttle":
        return {"min": 1.0, "max": 5.0 * high}
    if name == "intensity":
        return {"min": 1.0 / low, "max": 10.0 * high}
    now = TITAN[name.removeprefix("machine.")]
    return {"min": now / low, "max": now * high}


def agrees(source: dict[str, Any], found: Solution) -> None:
    """The design is what it is said to be, proved, and the oracle's search has none better."""
    asked = oracle.search(source)
    best, y = oracle.best(asked)
    if found.status is Status.INFEASIBLE:
        assert y is None
        return
    ((sense, goal),) = source["objective"].items()
    sign = -1.0 if sense == "maximize" else 1.0
    assert found.status is Status.OPTIMAL, found.message
    assert found.gap is not None
    assert found.gap <= PROVEN
    assert set(found.variables) == set(source["decide"])
    assert set(found.ranges) <= set(source["decide"])
    there = np.log([float(found.variables[n]) for n in asked.names])
    assert asked.at(there)[goal] == pytest.approx(found.objective, rel=1e-9)
    assert asked.miss(there) <= 1e-8
    if y is not None:
        assert sign * (found.objective - best) <= PROVEN * abs(best)


@pytest.mark.parametrize("seed", range(12))
def test_random_questions_agree_with_the_oracle(seed: int) -> None:
    source = question(seed, 3)
    agrees(source, dse.solve(source))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 112))
def test_many_random_questions_agree_with_the_oracle(seed: int) -> None:
    source = question(seed, 4)
    agrees(source, dse.solve(source))


FOUR: dict[str, Any] = {
    "model": "roofline",
    "machine": {"base": NAME},
    "given": {"flops": 1e12},
    "decide": {
        "intensity": {"min": 0.125, "max": 64.0},
        "throttle": {"min": 1.0, "max": 10.0},
        "machine.usable_power": {"min": 20.0, "max": 300.0},
        "machine.time_per_flop": {"min": 1e-13, "max": 1e-11},
    },
}


@pytest.mark.parametrize(
    ("objective", "limits"),
    [
        ({"minimize": "energy"}, {"performance": {"min": 5e11}}),
        ({"minimize": "time"}, {"power": {"max": 200.0}, "energy": {"max": 200.0}}),
        ({"minimize": "power"}, {"performance": {"min": 5e11}}),
        ({"maximize": "performance"}, {"power": {"max": 200.0}}),
        ({"maximize": "efficiency"}, {"peak_power": {"max": 200.0}}),
        ({"minimize": "peak_power"}, {"time": {"max": 1.0}}),
        ({"minimize": "energy"}, {"power": {"min": 150.0}}),
        ({"minimize": "machine.usable_power"}, {"performance": {"min": 5e11}, "efficiency": {"min": 5e9}}),
    ],
)
def test_every_side_of_every_metric(objective: dict[str, str], limits: dict[str, Any]) -> None:
    source = FOUR | {"objective": objective, "limits": limits}
    agrees(source, dse.solve(source))


def test_three_decided_numbers_against_a_dense_grid() -> None:
    """No point of a fine grid that meets the limits is better than the bound, and the best comes near."""
    decide = {n: FOUR["decide"][n] for n in ("intensity", "throttle", "machine.usable_power")}
    source = FOUR | {
        "decide": decide,
        "objective": {"minimize": "energy"},
        "limits": {"power": {"max": 180.0}, "time": {"max": 4.0}},
    }
    found = dse.solve(source)
    assert found.status is Status.OPTIMAL
    axes = [np.geomspace(e["min"], e["max"], 101) for e in decide.values()]
    x = dict(zip(decide, np.meshgrid(*axes, indexing="ij"), strict=True))
    at = oracle.metrics(x, source["given"], TITAN)
    met = np.all([s <= 0 for s in oracle.slacks(source, at)], axis=0)
    best = float(at["energy"][met].min())
    assert found.bound is not None
    assert found.bound <= best
    assert best <= found.objective * 1.05


def test_whole_numbers_among_the_decided_ones() -> None:
    """Listed and whole values beside a real one: the best over all of them, each solved by the oracle."""
    source: dict[str, Any] = {
        "model": "roofline",
        "machine": {"base": NAME},
        "given": {"flops": 1e12},
        "decide": {
            "throttle": {"min": 3.0, "max": 6.0, "integer": True},
            "machine.usable_power": {"values": [60.0, 90.0]},
            "intensity": {"min": 0.5, "max": 64.0},
        },
        "objective": {"minimize": "power"},
        "limits": {"performance": {"min": 4e11}, "efficiency": {"min": 2.5e9}},
    }
    found = dse.solve(source)
    assert found.status is Status.OPTIMAL
    values = []
    for k, cap in itertools.product(range(3, 7), (60.0, 90.0)):
        ends = {"throttle": k, "machine.usable_power": cap}
        fixed = {n: {"min": v, "max": v * (1 + 1e-12)} for n, v in ends.items()}
        # one number is left: two starts are enough
        asked = oracle.search(source | {"decide": source["decide"] | fixed})
        values.append(oracle.best(asked, starts=2)[0])
    assert found.objective == pytest.approx(min(values), rel=PROVEN)
    state = found.limits["performance"]
    assert state.next_change is not None
    # a little before the next change the old whole numbers are still the best, a little behind it they are not
    picks = {n: found.variables[n] for n in ("throttle", "machine.usable_power")}
    for factor, same in ((1 + 1e-4, True), (1 - 1e-4, False)):
        limit = {"performance": {"min": state.next_change * factor}}
        moved = scenarios.load(source | {"limits": source["limits"] | limit})
        again = answer(scenarios.grid(moved).question(()), neighbours=False)
        product = {n: again.variables[n] for n in picks}
        assert (product == picks) is same


def _solved(sources: list[dict[str, Any]]) -> list[float | None]:
    """The best of each question, all answered side by side; None where there is none."""
    found = points_alone.briefly(sources)
    return [s.objective if s.status is Status.OPTIMAL else None for s in found]


STEPS = (1 + 1e-4, 1 - 1e-4)


def _moved(source: dict[str, Any], name: str, side: str, factor: float) -> dict[str, Any]:
    """The question with another end of a limit, number of the machine, or given number."""
    other = copy.deepcopy(source)
    if side:
        other["limits"][name][side] *= factor
    elif name.startswith("machine."):
        own = name.removeprefix("machine.")
        other["machine"][own] = TITAN[own] * factor
    else:
        other["given"][name] *= factor
    return other


@pytest.mark.parametrize("seed", [1, 3, 12])
def test_worth_equals_what_solving_again_gives(seed: int) -> None:
    """Elasticities of limits and parameters against differences of answers; 2e-3 leaves room for curvature."""
    source = question(seed, 3)
    found = dse.solve(source)
    assert found.status is Status.OPTIMAL
    limits = {name: state.side for name, state in found.limits.items() if name in source["limits"]}
    numbers = [*source["given"], *(f"machine.{n}" for n in oracle.OWN)]
    moved = limits | {name: "" for name in numbers if name not in source["decide"]}
    values = _solved([_moved(source, name, side, f) for name, side in moved.items() for f in STEPS])
    # percent of the objective per percent of a number, upward and downward, by solving again
    each = [
        None if v is None else math.log(v / found.objective) / math.log(f)
        for v, f in zip(values, STEPS * len(moved), strict=True)
    ]
    slopes = dict(zip(moved, zip(each[::2], each[1::2], strict=True), strict=True))
    for name, side in limits.items():
        up, down = slopes.pop(name)
        relaxed = up if side == "max" else down
        assert found.limits[name].elasticity == pytest.approx(relaxed, abs=2e-3, rel=2e-3)
    better = -1 if "maximize" in source["objective"] else 1
    for name, (up, down) in slopes.items():
        worth = found.parameters.get(name, 0.0)
        if name in found.one_sided:
            assert worth == pytest.approx(up if better * worth < 0 else down, abs=2e-3, rel=2e-3)
        elif worth:
            assert [worth] * 2 == pytest.approx([up, down], abs=2e-3, rel=2e-3)
        else:
            assert up is None or better * up > -2e-3
            assert down is None or better * down < 2e-3


def test_how_far_many_best_designs_reach_takes_few_nodes(nodes_of_trees: list[int]) -> None:
    """What is left of them is searched along each number by itself."""
    found = dse.solve(question(3, 3))
    assert found.status is Status.OPTIMAL
    assert 200 < max(nodes_of_trees) <= 400


def kinked(**entries: Any) -> dict[str, Any]:
    """A run exactly at the machine's balance, where flops and bytes take equally long."""
    balance = TITAN["time_per_byte"] / TITAN["time_per_flop"]
    return {
        "model": "roofline",
        "machine": {"base": NAME, "usable_power": 400.0},
        "given": {"flops": 1e12, "intensity": balance},
        **entries,
    }


def test_at_a_kink_a_parameter_is_worth_what_bettering_it_buys() -> None:
    """Faster flops alone buy nothing, slower ones cost: nothing is said of either, and of others all."""
    found = dse.solve(kinked(decide={"throttle": {"max": 2.0}}, objective={"minimize": "time"}))
    assert found.status is Status.OPTIMAL
    assert not {"machine.time_per_flop", "machine.time_per_byte"} & set(found.parameters)
    assert found.parameters["flops"] == pytest.approx(1.0, abs=1e-6)


def test_at_a_kink_that_helps_both_ways_are_better_and_the_larger_is_told() -> None:
    """Most time: slower flops or slower bytes, either alone lengthens the run."""
    found = dse.solve(kinked(decide={"throttle": {"max": 1.5}}, objective={"maximize": "time"}, limits={}))
    assert found.status is Status.OPTIMAL
    assert found.parameters["machine.time_per_flop"] == pytest.approx(1.0, abs=1e-6)
    assert {"machine.time_per_flop", "machine.time_per_byte"} <= set(found.one_sided)
    assert "only for more of it" in str(found)


def test_limits_that_cannot_hold_together_are_named_with_what_would_do() -> None:
    """A speed and a power that no throttle joins; each alone can be had."""
    source = FOUR | {
        "objective": {"minimize": "energy"},
        "limits": {
            "performance": {"min": 2e12},
            "power": {"max": 150.0},
            "efficiency": {"min": 1e9},
            "peak_power": {"max": 500.0},
        },
    }
    found = dse.solve(source)
    assert found.status is Status.INFEASIBLE
    assert {frozenset(names) for names in found.conflicts} == {frozenset(("performance", "power"))}
    for name, side in (("performance", "min"), ("power", "max")):
        would_do = found.conflict[name]
        assert would_do is not None
        sign = 1 if side == "max" else -1
        ends = [would_do * (1 + 1e-6 * sign), would_do * (1 - 1e-5 * sign)]
        there, beyond = _solved([source | {"limits": source["limits"] | {name: {side: x}}} for x in ends])
        assert there is not None
        assert beyond is None


def test_what_runs_away_is_a_decided_number() -> None:
    """The constant power may fall for ever, and its energy with it; the time beside it is a maximum."""
    source = FOUR | {
        "decide": {"machine.constant_power": {}, "intensity": {"min": 1.0, "max": 9.0}},
        "objective": {"minimize": "energy_constant"},
    }
    found = dse.solve(source)
    assert found.status is Status.UNBOUNDED
    assert found.runaway == "machine.constant_power"
    assert found.message == "machine.constant_power falls without limit"


def test_more_ways_than_are_tried_go_the_way_without_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formulations.arithmetics.maxima.MOST_ALTERNATIVES", 1)
    source = FOUR | {
        "decide": {n: FOUR["decide"][n] for n in ("intensity", "throttle")},
        "objective": {"minimize": "power"},
        "limits": {"performance": {"min": 5e11}},
    }
    found = dse.solve(source)
    assert found.status is Status.OPTIMAL
    assert "interval" in found.solver
    monkeypatch.undo()
    assert dse.solve(source).objective == pytest.approx(found.objective, rel=PROVEN)
