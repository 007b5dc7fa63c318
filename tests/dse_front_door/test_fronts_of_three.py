"""Fronts of three objectives over listed designs: each is looked at once, and no better one is missing."""

import itertools
import json
import tomllib
from typing import Any

import numpy as np
import pytest

import dse
from dse.fronts import front_grids, front_search
from results.solution import Solution, Status
from solvers import certain

GOALS = ("time", "devices", "energy")
# relative; designs are judged in floats, limits hold to 1e-9
EXACT = 1e-8


def test_three_objectives_of_training_plans_on_several_machines():
    """Points are the best of one objective within the other two, asked one by one; the ends are there."""
    told = tomllib.loads(dse.load("training_70b_machine_of_four").text)
    several = told | {"objective": {"minimize": list(GOALS)}}
    found = dse.front(several)
    assert found.attrs["method"].startswith("complete non-dominated set: all")
    at = np.stack([found[n].values for n in GOALS], axis=1)
    assert len(at) > 5
    for row, name in zip(at[::8], itertools.cycle(GOALS), strict=False):
        within = {n: {"max": float(v) * (1 + EXACT)} for n, v in zip(GOALS, row, strict=True)}
        limited = told | {"limits": told["limits"] | within, "objective": {"minimize": name}}
        assert dse.solve(limited).objective == pytest.approx(row[GOALS.index(name)], rel=EXACT)
    alone = [dse.solve(told | {"objective": {"minimize": n}}).objective for n in GOALS]
    assert at.min(axis=0) == pytest.approx(alone, rel=EXACT)
    np.testing.assert_array_equal(found.bound, found.time)

    few = dse.front(several, points=4)
    assert few.attrs["method"].startswith(f"4 of the {len(at)} points of the complete non-dominated set")
    mine = np.stack([few[n].values for n in GOALS], axis=1)
    assert {tuple(row) for row in mine} <= {tuple(row) for row in at}
    assert mine.min(axis=0) == pytest.approx(alone, rel=EXACT)


def test_one_design_that_is_the_best_for_all_three_is_the_front():
    found = dse.front(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": {"bodies": 1e5, "flops_per_pair": 10},
            "decide": {"processors": {"max": 65536}, "memory": {}},
            "define": {"twice": "2 * energy", "thrice": "3 * energy"},
            "objective": {"minimize": ["energy", "twice", "thrice"]},
        },
        points=9,
    )
    assert found.sizes["front"] == 1
    assert found.attrs["method"] == "one design is the best for all objectives"
    assert found.status.values.tolist() == [1]


NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 65536}, "memory": {}},
}


def curve_of_designs(count: int) -> list[tuple[float, float]]:
    """Processors and words of designs that none betters in energy, time and memory: no other ones are such."""
    most, n = 65536, 1e5
    replicated = [(p, n / np.sqrt(p)) for p in np.geomspace(664, most, count)]
    return replicated + [(most, m) for m in np.geomspace(n / most, n / np.sqrt(most), count)]


@pytest.mark.parametrize("order", list(itertools.permutations(("energy", "time", "memory"))))
def test_no_part_of_a_front_of_three_is_far_from_all_points(order: tuple[str, str, str]):
    """Whichever objective is the first, and with no more questions than two for each point and the ends."""
    count = 12
    found = dse.front({**NBODY, "objective": {"minimize": list(order)}}, points=count)
    given = [{"processors": float(p), "memory": float(m)} for p, m in curve_of_designs(20)]
    one = {k: v for k, v in NBODY.items() if k != "decide"}
    told = [dse.solve(one | {"given": NBODY["given"] | g}).metrics | g for g in given]
    true = np.log([[t[n] for n in order] for t in told])
    mine = np.log(np.stack([found[n].values for n in order], axis=1))
    scale = true.max(axis=0) - true.min(axis=0)
    apart = np.linalg.norm((true[:, None] - mine[None]) / scale, axis=2).min(axis=1)
    assert len(mine) == count
    assert apart.max() < 0.3
    assert found.attrs["solves"] <= 2 * count + 6
    assert (found.status == 1).all()


def test_points_that_are_equal_in_the_first_objective_go_by_the_second():
    """Energy is the same for all numbers of processors, but for rounding."""
    decide = {"processors": {"min": 40, "max": 1000}}
    told = NBODY | {"given": NBODY["given"] | {"memory": 3000}, "decide": decide}
    found = dse.front(told | {"objective": {"minimize": ["energy", "time", "processors"]}}, points=8)
    np.testing.assert_allclose(found.energy, found.energy[0], rtol=1e-9)
    assert found.sizes["front"] == 8
    assert (np.diff(found.time.values) > 0).all()


def test_why_limits_that_only_search_a_front_cannot_hold_is_not_looked_for(monkeypatch: pytest.MonkeyPatch):
    """Of a program that takes many more questions than the front itself; why there is no front is told."""
    station: dict[str, Any] = {
        "model": "sockets",
        "given": {
            "levels": [
                {"name": "full", "frequency": 1, "voltage": 1},
                {"name": "low", "frequency": 0.6, "voltage": 0.8},
            ],
            "cards": [{"name": "of 64", "sockets": 64, "cost": 37.6, "power": 0.082}],
            "socket_failures": "100 FIT",
        },
        "decide": {"machine.socket": {"values": ["tms320c5515", "imx515"]}},
        "define": {"failure_rate": "1 / mttf"},
        "limits": {"throughput": {"min": 1e12}},
        "objective": {"minimize": ["cost", "power", "failure_rate"]},
    }
    none = dse.front(station | {"limits": station["limits"] | {"power": {"max": 1}}})
    assert none.attrs["status"] == "infeasible"
    assert set(json.loads(none.attrs["conflict"])) >= {"power", "throughput"}

    def refused(*_: Any) -> None:
        raise AssertionError("why there is no design was asked for")

    monkeypatch.setattr(certain, "why_without_design", refused)
    found = dse.front(station, points=9)
    assert found.attrs["method"].startswith("complete non-dominated set")
    assert found.attrs["failed_solves"] == 0
    assert found.sizes["front"] == 4


def nbody(processors: int, goals: list[str]) -> dict[str, Any]:
    """Ask for several goals of the n-body problem on up to so many processors."""
    return {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": processors}, "memory": {}},
        "objective": {"minimize": goals},
    }


def test_a_question_that_fails_is_not_asked_again(monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []
    ask_all = front_search.Search.ask_all

    def first_fails(self: Any, goal: Any, limits: Any) -> Any:
        found = ask_all(self, goal, limits)
        asked.append((goal.name, json.dumps({n: list(v) for n, v in limits.items()})))
        return [Solution(Status.ERROR, message="failed")] * len(found) if asked[-1] == asked[0] else found

    monkeypatch.setattr(front_search.Search, "ask_all", first_fails)
    found = dse.front(dse.load(nbody(65536, ["energy", "time", "memory"])), points=6)
    assert found.sizes["front"] == 6
    assert len(asked) == len(set(asked))


def test_points_that_are_equal_but_for_rounding_are_in_the_order_of_the_next_objective():
    at = np.array(
        [[2.0, 1.0, 5.0], [1.0 + 3e-16, 7.0, 1.0], [1.0, 9.0, 1.0], [1.0 + 2e-16, 7.0, 0.5], [1.1, 0.0, 9.0]]
    )
    assert front_grids.in_order([0, 1, 2, 3, 4], at) == [3, 1, 2, 4, 0]
    found = dse.front(dse.load(nbody(256, ["energy", "time", "power"])), points=6)
    rows = [(float(f"{e:.9g}"), t) for e, t in zip(found.energy.values, found.time.values, strict=True)]
    assert rows == sorted(rows)
    assert len({e for e, _ in rows}) < len(rows)
