"""Grids of which many points have no design: what would do is told at all points together, and leaves nothing open."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest
from make_expected import LIBRARY

import dse
import results.dataset
import scenarios
from formulations.row_keys import RowKey
from results.dataset import CONFLICTING, STATUS_CODES, Arrays
from results.solution import Status
from solvers import boxes
from solvers.counting import whole
from solvers.linear.points import linear, mixed
from solvers.nonlinear import interval, search
from solvers.nonlinear.points import unstructured
from solvers.nonlinear.weighted_limits import with_limits_weighed

INFEASIBLE = STATUS_CODES[Status.INFEASIBLE]
KERNELS = {
    "machine": "jaketown",
    "kernels": [
        {
            "name": "forces",
            "model": "nbody",
            "given": {"bodies": 1e6, "flops_per_pair": 20},
            "repeat": 10,
        },
        {"name": "product", "model": "matmul", "given": {"order": 2e4}},
        {"name": "spectrum", "model": "fft", "given": {"points": 1e9}, "repeat": 3},
    ],
    "decide": {"processors": {"max": 4096}, "forces.memory": {}, "product.memory": {}},
    "limits": {"power": {"max": "20 kW"}},
    "objective": {"minimize": "time"},
}


def library(name: str) -> dict[str, Any]:
    return tomllib.loads((LIBRARY / f"{name}.toml").read_text(encoding="utf-8"))


def at_once(asked: dict[str, Any], of: Any) -> tuple[results.dataset.Layout, Arrays, np.ndarray]:
    grid = scenarios.grid(dse.load(asked))
    plan = results.dataset.layout(grid)
    arrays, left = of.over(grid).solve(plan, tuple(slice(0, n) for n in grid.shape))
    return plan, arrays, left


def told(arrays: Arrays) -> np.ndarray:
    """The values of all limits in conflict."""
    return arrays["would_do"][arrays["binding"] == CONFLICTING]


def test_how_many_types_would_do_is_told_where_many_designs_have_as_few():
    """Thousands of designs of two types meet the other limits, and any of them tells it."""
    asked = library("station_least_cost_in_10_kw")
    asked["limits"] = asked["limits"] | {"mttf": {"min": "268386.7478626757 s"}}
    asked["sweep"] = {"demand": {"path": "limits.throughput.min", "values": [36228946570556.27]}}
    plan, arrays, left = at_once(asked, whole)
    assert not left.any()
    types = list(plan.limits).index("one_way.socket")
    assert arrays["binding"][0, types] == CONFLICTING
    assert arrays["would_do"][0, types] == 2.0


def test_programs_that_conflict_by_far_and_their_values_leave_no_point_over():
    asked = library("dvfs_switching_cost")
    asked["limits"] = {"power": {"max": "11 W"}, "time": {"max": "9 s"}}
    asked["sweep"] = {
        "cap": {"path": "limits.power.max", "start": 7, "stop": 10, "num": 4, "spacing": "log"},
        "switching": {"path": "switch_time", "values": [0.001, 1.0]},
    }
    _, arrays, left = at_once(asked, linear)
    assert (arrays["status"] == INFEASIBLE).all()
    assert not left.any()
    assert np.isfinite(told(arrays)).all()
    # what a cap has to be does not depend on what it is
    assert (arrays["would_do"][:, :, 0] == arrays["would_do"][:1, :, 0]).all()
    value = arrays["would_do"][0, 0, 0]
    for share, status in ((1e-7, Status.OPTIMAL), (-1e-6, Status.INFEASIBLE)):
        limits = asked["limits"] | {"power": {"max": value * (1.0 + share)}}
        one = asked | {"limits": limits, "given": asked["given"] | {"switch_time": 0.001}, "sweep": {}}
        assert dse.solve(one, depth="limits").status is status


def test_a_value_whose_search_ends_early_is_not_said_to_be_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mixed, "MOST_NODE_NUMBERS", 1.0)
    asked = library("dvfs_switching_cost")
    asked["limits"] = {"power": {"max": "7 W"}, "time": {"max": "9 s"}}
    asked["sweep"] = {"switching": {"path": "switch_time", "values": [0.001, 0.1]}}
    _, arrays, _ = at_once(asked, linear)
    assert not np.isinf(arrays["would_do"]).any()


def test_the_value_of_a_limit_is_searched_once_for_points_that_differ_in_its_bound(
    monkeypatch: pytest.MonkeyPatch,
):
    searched = list[tuple[str, int]]()
    minimise = search.minimise

    def counted(question: Any, where: Any, *rest: Any) -> search.Found:
        searched.extend((goal.name, len(where.low)) for goal in question.objectives)
        return minimise(question, where, *rest)

    monkeypatch.setattr(search, "minimise", counted)
    asked = KERNELS | {"limits": {"power": {"max": "20 kW"}, "time": {"max": 1.0}}}
    asked["objective"] = {"minimize": "energy"}
    asked["sweep"] = {"deadline": {"path": "limits.time.max", "values": [0.2, 0.5, 1.0]}}
    plan, arrays, left = at_once(asked, unstructured)
    assert not left.any()
    assert (arrays["status"] == INFEASIBLE).all()
    assert np.isfinite(told(arrays)).all()
    assert searched.count(("time", 1)) == 1
    assert ("time", 3) not in searched
    assert np.unique(arrays["would_do"][:, list(plan.limits).index("time")]).size == 1


def test_an_optimum_at_a_limit_that_binds_is_proved_by_intervals():
    """Rows of the limit and of the objective by themselves leave more boxes beside it the smaller these are."""
    question = scenarios.grid(dse.load(KERNELS)).question(())
    found = interval.solve(question, work=20_000)
    assert found.status is Status.OPTIMAL


def test_weights_of_limits_prove_what_rows_by_themselves_do_not():
    """On a box of designs about the best one no limit is certainly broken, and together they bound the time."""
    question = scenarios.grid(dse.load(KERNELS)).question(())
    best = interval.solve(question, work=20_000)
    assert best.x is not None
    assert best.bound is not None
    x = np.array([[best.x[d.name] for d in question.decide]])
    e = boxes.enclose(question, x * 0.999, x * 1.001)
    more = with_limits_weighed(e, np.full(1, 1e-8))
    assert RowKey("power", "max") in e.keys
    missed, weighed = (1.0 - row.low[-1, 0] / best.bound for row in (e, more))
    assert 0.0 < weighed < 0.01 * missed
