"""Sweeps of few designs that are decided now: answered together, as each point by itself, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import points_alone
import pytest

import dse
import scenarios
from dse.sweeping.checks import checking
from dse.sweeping.points import chunk_work
from formulations.grids import over_grid
from formulations.uncertainty import wanted as wanted_designs
from formulations.uncertainty import worlds
from formulations.uncertainty.wanted import Wanted
from results.dataset import layout, to_arrays
from scenarios.question import Question
from solvers import feasible_values, paths
from solvers.answer import answer
from solvers.robust import tables

NAMES: dict[str, Any] = {
    "model": "roofline",
    "given": {"flops": 1e12, "intensity": 4.0},
    "decide": {"machine": {"values": ["gtx-titan-choi2014", "gtx680-choi2014", "arndale-gpu-choi2014"]}},
    "uncertain": {"intensity": {"loguniform": [0.25, 64]}, "sampling": {"samples": 256}},
}
COUNTS: dict[str, Any] = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"min": 1, "max": 40, "integer": True}, "memory": {"values": [1e5, 1e6, 1e7]}},
    "uncertain": {
        "machine.time_per_flop": {"uniform": ["2.52 ps/flop", "4.11 ps/flop"]},
        "machine.energy_per_flop": {"lognormal": ["279 pJ/flop", 1.5]},
        "sampling": {"samples": 256},
    },
}
FLOPS = {"path": "given.flops", "factors": [0.5, 1.0, 3.0]}
DEADLINE = {"path": "limits.time.max", "values": ["0.5 s", "2 s", "20 s", "1000 s"]}
BODIES = {"path": "given.bodies", "factors": [0.5, 1.0, 2.0]}
ASKED = {
    "a mean": {
        **NAMES,
        "objective": {"minimize": "energy", "measure": "mean"},
        "sweep": {"flops": FLOPS},
    },
    "levels of a tail": {
        **NAMES,
        "objective": {"minimize": "energy", "cvar": 0.9},
        "sweep": {"flops": FLOPS, "level": {"path": "objective.cvar", "values": [0.0, 0.5, 0.9]}},
    },
    "a quantile and a deadline": {
        **NAMES,
        "objective": {"minimize": "energy", "quantile": 0.9},
        "limits": {"time": {"max": "1 s"}},
        "sweep": {"flops": FLOPS, "deadline": DEADLINE},
    },
    "whole numbers within limits": {
        **COUNTS,
        "objective": {"minimize": "energy", "measure": "mean"},
        "limits": {"time": {"max": "2 s"}, "power": {"max": "20 kW"}},
        "sweep": {"bodies": BODIES, "deadline": DEADLINE},
    },
    "a limit that may fail": {
        **COUNTS,
        "objective": {"minimize": "energy", "measure": "mean"},
        "limits": {"time": {"max": "2 s", "probability": 0.8, "confidence": 0}},
        "sweep": {"bodies": BODIES, "deadline": DEADLINE},
    },
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_points_are_answered_together_as_each_by_itself(asked: dict[str, Any]):
    grid = scenarios.grid(dse.load(asked))
    offer = tables.way(grid)
    assert offer.path is not None
    plan = layout(grid)
    arrays, left = offer.path.solve(plan, over_grid.whole(grid))
    assert left.mean() < 0.5
    places = list(map(tuple, np.argwhere(~left).tolist()))
    for place, alone in zip(places, points_alone.answers(grid, places), strict=True):
        wanted = to_arrays(plan, [alone], (1,))
        told = {"status", "binding", "would_do"} if alone.status == "infeasible" else set(wanted)
        for name in told - {"seconds", "gap"}:
            values = wanted[name]
            if values.dtype.kind == "f":
                # on the way a value that is known not to exist is infinite
                here = np.where(np.isinf(arrays[name][place]), np.nan, arrays[name][place])
                np.testing.assert_allclose(here, values[0], rtol=1e-9, err_msg=f"{name} at {place}")
            else:
                np.testing.assert_array_equal(arrays[name][place], values[0], f"{name} at {place}")


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_points_have_the_same_bits_however_the_grid_is_cut(asked: dict[str, Any]):
    grid = scenarios.grid(dse.load(asked))
    path, plan = tables.way(grid).path, layout(grid)
    assert path is not None
    every, left = path.solve(plan, over_grid.whole(grid))
    for place in np.ndindex(*grid.shape):
        region = tuple(slice(i, i + 1) for i in place)
        one, missed = path.solve(plan, region)
        assert bool(missed.all()) == bool(left[place])
        for name, values in one.items():
            if name != "seconds" and not left[place]:
                assert values.tobytes() == every[name][region].tobytes(), (name, place)


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_stored_number_that_is_wrong_is_found_at_its_point(asked: dict[str, Any]):
    at = chunk_work.ready(scenarios.grid(dse.load(asked)))
    arrays, everywhere = chunk_work.everything(at), over_grid.whole(at.grid)
    assert checking.check(at.spread, at.plan, everywhere, arrays).wrong == 0
    place = tuple(int(i) for i in np.argwhere(~np.isnan(arrays["objective"]))[-1])
    changed = ["energy", "time", "objective", *(["kept"] if "kept" in arrays else [])]
    for name in changed:
        wrong = {n: a.copy() for n, a in arrays.items()}
        wrong[name][place] *= 0.99
        found = checking.check(at.spread, at.plan, everywhere, wrong)
        assert {e.place for e in found.examples} == {place}, name
    # a design that breaks its limits, and is not worth what is said
    wrong = {n: a.copy() for n, a in arrays.items()}
    decided = next(v.name for v in at.plan.variables if v.role == "decided")
    wrong[decided][place] = 1 if wrong[decided][place] != 1 else 0
    found = checking.check(at.spread, at.plan, everywhere, wrong)
    assert {e.place for e in found.examples} == {place}


def test_what_one_limit_forbids_at_some_points_and_another_at_the_rest_leaves_no_points_over():
    # some probability of waiting ends below what floats hold: only what surely breaks a limit may have such a number
    asked = dse.load("serving_nodes_for_uncertain_load").model_dump(exclude_none=True, exclude_defaults=True)
    asked["sweep"] = {
        "longest": {"path": "limits.time_per_output_token.max", "values": ["25 ms", "80 ms", "250 ms"]},
        "width": {"path": "given.activation_bytes", "values": [0.7, 2.0, 6.0]},
    }
    grid = scenarios.grid(dse.load(asked))
    at = chunk_work.ready(grid)
    assert at.path is not None
    assert at.path.method == tables.METHOD
    _, left = at.path.solve(at.plan, over_grid.whole(grid))
    # where there is no design, boxes tell of the point what other batches would do
    assert not left.any()


def test_limits_are_judged_in_all_samples_only_where_a_design_may_be_the_best(
    monkeypatch: pytest.MonkeyPatch,
):
    asked = ASKED["whole numbers within limits"]
    path = tables.way(scenarios.grid(dse.load(asked))).path
    assert path is not None
    judged: list[int] = []

    def counted(wanted: Wanted, x: dict[str, Any]) -> wanted_designs.Reached:
        found = reached(wanted, x)
        judged.append(np.size(found.goal))
        return found

    reached = wanted_designs.reached
    monkeypatch.setattr(wanted_designs, "reached", counted)
    grid = path.spread.grid
    path.solve(layout(grid), over_grid.whole(grid))
    # 120 designs at 12 points
    assert sum(judged) < 120 * grid.size / 6


def test_designs_are_judged_in_fresh_samples_once_for_all_limits(monkeypatch: pytest.MonkeyPatch):
    asked = {
        **ASKED["whole numbers within limits"],
        "sweep": {"deadline": {"path": "limits.time.max", "values": [f"{100 + k} s" for k in range(20)]}},
    }
    path = tables.way(scenarios.grid(dse.load(asked))).path
    assert path is not None
    runs: list[int] = []

    def counted(question: Question, x: dict[str, Any]) -> dict[str, Any]:
        runs.append(1)
        return metrics(question, x)

    metrics = worlds.metrics
    monkeypatch.setattr(worlds, "metrics", counted)
    arrays, left = path.solve(layout(path.spread.grid), over_grid.whole(path.spread.grid))
    assert not left.any()
    assert np.unique(arrays["processors"]).size == 1
    assert len(runs) == 1


def values_as_alone(asked: dict[str, Any], rtol: float) -> int:
    """Answer a grid together, hold what it says of conflicts against each point alone; how many values are told."""
    grid = scenarios.grid(dse.load(asked))
    path, plan = tables.way(grid).path, layout(grid)
    assert path is not None
    arrays, left = path.solve(plan, over_grid.whole(grid))
    assert not left.any()
    feasible_values.complete(grid, plan, over_grid.whole(grid), arrays, left, answer)
    places = list(np.ndindex(*grid.shape))
    told = 0
    for place, alone in zip(places, points_alone.answers(grid, places), strict=True):
        wanted = to_arrays(plan, [alone], (1,))
        assert arrays["status"][place] == wanted["status"][0], place
        np.testing.assert_array_equal(arrays["binding"][place], wanted["binding"][0], str(place))
        there = np.isfinite(wanted["would_do"][0])
        np.testing.assert_array_equal(np.isfinite(arrays["would_do"][place]), there)
        np.testing.assert_allclose(arrays["would_do"][place][there], wanted["would_do"][0][there], rtol=rtol)
        told += int(there.sum())
    return told


def test_why_points_have_no_design_is_what_each_by_itself_says():
    asked = {
        **COUNTS,
        "limits": {"time": {"max": "0.05 s"}, "power": {"max": "2 kW"}},
        "objective": {"minimize": "energy"},
        "sweep": {
            "many": {"path": "given.bodies", "factors": [0.1, 1.0, 10.0]},
            "cap": {"path": "limits.power.max", "factors": [0.01, 0.3, 10.0]},
        },
    }
    assert values_as_alone(asked, 1e-9)


def test_bounds_that_do_are_told_at_many_points_as_at_each():
    # a batch that is not listed, and more replicas than allowed, are searched for at few points of a row alone
    asked = dse.load("serving_nodes_for_uncertain_load").model_dump(exclude_none=True, exclude_defaults=True)
    asked["given"]["layers"] = 250
    asked["uncertain"] = {
        "request_rate": {"loguniform": ["50 1/s", "200 1/s"]},
    }
    asked["uncertain"]["sampling"] = {"samples": 16}
    asked["sweep"] = {
        "first": {"path": "limits.time_to_first_token.max", "values": ["300 ms", "3 s"]},
        "most": {"path": "decide.replicas.max", "values": [60, 100]},
        "width": {"path": "given.tensor_parallel", "values": [6, 8]},
    }
    # of eight points; searches by boxes end within a gap
    assert values_as_alone(asked, 1e-7) >= 4


def test_an_axis_that_changes_how_many_samples_may_fail_is_named_as_what_stands_in_the_way():
    ends = {"path": "decide.processors.max", "start": 1, "stop": 40, "num": 40}
    question = ASKED["a limit that may fail"] | {"sweep": {"most": ends}}
    choice = paths.chosen(scenarios.grid(dse.load(question)))
    assert choice.path is None
    assert any("sweep.most changes a bound" in reason for reason in choice.reasons)
