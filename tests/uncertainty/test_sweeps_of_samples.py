"""Sweeps of one design for many samples, each a geometric program: answered together, and each point as by itself."""

import tomllib
from functools import cache
from typing import Any

import numpy as np
import points_alone
import pytest
from make_expected import LIBRARY
from one_home import GONE, gone

import dse
import scenarios
from dse.system.arrays import Array
from formulations import handover
from formulations.grids import over_grid
from formulations.uncertainty import robust
from results.dataset import STATUS_CODES, Arrays, Layout, layout, to_arrays
from results.solution import Status
from solvers import feasible_values, paths
from solvers.answer import answer
from solvers.geometric.kernel import gp
from solvers.many_points import Path
from solvers.mechanisms import conflicts
from solvers.patterns import Bools
from solvers.robust import decide_now, samples, tables
from solvers.robust.masters import failing, master

TIMES = {
    "machine.time_per_flop": {"uniform": ["2.52 ps/flop", "4.11 ps/flop"]},
    "machine.time_per_word": {"loguniform": ["156 ps/word", "1.25 ns/word"]},
}
ENERGY = {"machine.energy_per_flop": {"uniform": ["185 pJ/flop", "378 pJ/flop"]}}
NO_END = {"machine.energy_per_flop": {"lognormal": ["279 pJ/flop", 1.8]}}
QUESTION: dict[str, Any] = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"max": 65536}, "memory": {}},
    "uncertain": {**TIMES, **ENERGY, "sampling": {"samples": 64}},
    "objective": {"minimize": "energy", "measure": "mean"},
    "limits": {"time": {"max": "100 ms"}},
    "sweep": {
        "deadline": {"path": "limits.time.max", "start": 0.05, "stop": 0.5, "num": 5, "spacing": "log"},
        "n": {"path": "given.bodies", "start": 5e5, "stop": 2e6, "num": 4, "spacing": "log"},
    },
}
CASES: dict[str, dict[str, Any]] = {
    "mean energy": {},
    "mean energy of the worst tenth": {"objective": {"minimize": "energy", "cvar": 0.9}},
    "worst of the samples": {
        "objective": {"minimize": "energy", "measure": "worst"},
        "uncertain": {**TIMES, **NO_END, "sampling": {"samples": 64}},
    },
    "mean time": {
        "objective": {"minimize": "time", "measure": "mean"},
        "limits": {"energy": {"max": "20 kJ"}},
    },
    "as slow as most samples allow": {
        "objective": {"minimize": "processors", "measure": "mean"},
        "limits": {"time": {"max": "100 ms"}, "energy": {"max": "6 kJ"}},
    },
    "the larger of two powers": {
        "define": {"used": "maximum(energy, 60 kW * time) + maximum(1 kW * time, 200 J)"},
        "limits": {"used": {"max": "6.3 kJ"}, "time": {"max": "100 ms"}},
    },
    "a cap on average power": {"limits": {"time": {"max": "100 ms"}, "power": {"max": "100 kW"}}},
    "whole processors": {
        "decide": {"processors": {"max": 4096, "integer": True}, "memory": {"max": 1e6}},
        "objective": {"minimize": "time", "cvar": 0.8},
        "limits": {"time": {"max": "100 ms"}, "energy": {"max": "8 kJ"}},
    },
    "listed processors": {"decide": {"processors": {"values": [16, 64, 256, 1024, 4096]}, "memory": {}}},
    "a deadline that may fail": {"limits": {"time": {"max": "100 ms", "probability": 0.7}}},
    "a deadline that may fail, whole processors": {
        "decide": {"processors": {"max": 400, "integer": True}, "memory": {"max": 1e6}},
        "limits": {"time": {"max": "100 ms", "probability": 0.8}},
    },
    "a deadline that may fail, and an end of whole processors": {
        "decide": {"processors": {"max": 400, "integer": True}, "memory": {"max": 1e6}},
        "limits": {"time": {"max": "100 ms", "probability": 0.8}},
        "sweep": {
            "deadline": {
                "path": "limits.time.max",
                "start": "30 ms",
                "stop": "1 s",
                "num": 8,
                "spacing": "log",
            },
            "most": {"path": "decide.processors.max", "values": [60, 120, 200, 400]},
        },
    },
    "two limits that may fail together": {
        "objective": {"minimize": "processors", "measure": "mean"},
        "limits": {
            "time": {"max": "100 ms"},
            "energy": {"max": "6.5 kJ"},
            "joint": {"of": ["time", "energy"], "probability": 0.8},
        },
    },
    "mean power": {
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "objective": {"minimize": "power", "measure": "mean"},
    },
    "power of the worst half, whole processors": {
        "decide": {"processors": {"max": 400, "integer": True}, "memory": {}},
        "objective": {"minimize": "power", "cvar": 0.5},
    },
    "two limits that may fail": {
        "objective": {"minimize": "processors", "measure": "mean"},
        "limits": {
            "time": {"max": "100 ms", "probability": 0.8},
            "energy": {"max": "6 kJ", "probability": 0.7},
        },
    },
}


def asked(name: str) -> scenarios.Grid:
    """The grid of a case; its first axis is along a limit that the case has."""
    source = QUESTION | CASES[name]
    if "time" not in source["limits"]:
        axis = {"path": "limits.energy.max", "start": 2e3, "stop": 1e5, "num": 5, "spacing": "log"}
        source = source | {"sweep": source["sweep"] | {"deadline": axis}}
    return scenarios.grid(dse.load(source))


@cache
def whole_of(name: str) -> tuple[scenarios.Grid, Layout, Path, Arrays, Bools]:
    """A case's grid, layout and way, and all points answered together, which two tests look at."""
    grid = asked(name)
    plan, path = layout(grid), paths.chosen(grid).path
    assert path is not None
    return grid, plan, path, *path.solve(plan, over_grid.whole(grid))


@pytest.mark.parametrize("name", CASES)
def test_points_are_answered_together_as_each_by_itself(name: str):
    grid, plan, path, every, left = whole_of(name)
    assert path.method == samples.METHOD
    region = over_grid.whole(grid)
    arrays = {n: v.copy() for n, v in every.items()}
    assert left.mean() <= 0.1
    with handover.collected() as tally:
        feasible_values.complete(grid, plan, region, arrays, left)
    assert feasible_values.ALONE not in tally.reasons
    # a fourth of the points, in every row and column: each takes up to a second by itself
    some = np.indices(grid.shape).sum(axis=0) % 4 == 0
    alone = points_alone.answers(grid, map(tuple, np.argwhere(some)))
    told = to_arrays(plan, alone, (len(alone),))
    assert (arrays["status"][~left] > 0).all()
    for v in plan.variables:
        if v.name not in {"seconds", "message", "gap"}:
            ours = np.asarray(arrays[v.name][some & ~left], float)
            its = np.asarray(told[v.name][~left[some]], float)
            tolerance = 1e-4 if v.role == "elasticity" else 1e-6
            np.testing.assert_allclose(ours, its, rtol=tolerance, atol=1e-9, err_msg=v.name)


@pytest.mark.parametrize("name", CASES)
def test_a_point_has_the_same_bits_however_the_grid_is_cut(name: str):
    _, plan, path, every, missed = whole_of(name)
    blocks = [(slice(0, 3), slice(1, 4)), (slice(2, 5), slice(0, 1))]
    blocks += [(slice(i, i + 1), slice(j, j + 1)) for i, j in ((0, 1), (2, 3), (4, 1))]
    for block in blocks:
        some, left = path.solve(plan, block)
        np.testing.assert_array_equal(left, missed[block])
        for variable, values in some.items():
            if variable != "seconds":
                assert values.tobytes() == every[variable][block].tobytes(), (variable, block)


def test_a_quantile_is_answered_together_as_by_itself():
    """Alone one of the equally good designs is told, here that of the tie rule."""
    changed = {
        "objective": {"minimize": "energy", "quantile": 0.9},
        "decide": {"processors": {"max": 500}, "memory": {}},
    }
    grid = scenarios.grid(dse.load(QUESTION | changed))
    plan, path = layout(grid), paths.chosen(grid).path
    assert path is not None
    assert path.method == samples.METHOD
    arrays, left = path.solve(plan, over_grid.whole(grid))
    assert not left.any()
    codes = set()
    places = list(np.ndindex(grid.shape))
    for place, alone in zip(places, points_alone.answers(grid, places), strict=True):
        assert arrays["status"][place] == STATUS_CODES[alone.status]
        codes.add(alone.status)
        if alone.objective is not None:
            assert arrays["objective"][place] == pytest.approx(alone.objective, rel=1e-6)
            assert arrays["bound"][place] <= min(alone.objective, arrays["objective"][place]) * (1 + 1e-9)
    assert codes == {Status.OPTIMAL, Status.INFEASIBLE}


def test_a_sweep_says_which_way_it_goes_and_is_checked():
    found = dse.sweep(dse.load(QUESTION), progress=False, audit=2)
    assert found.attrs["method"].startswith(samples.METHOD)
    assert (found.status == STATUS_CODES["optimal"]).all()
    assert int(found.attrs["points_solved_singly"]) == 0


@pytest.mark.parametrize("name", ["add", "cut", "problem", "above"])
def test_what_a_master_holds_has_one_home(name: str, monkeypatch: pytest.MonkeyPatch):
    """Where it is taken away, neither one point nor many are answered."""
    grid = asked("mean energy of the worst tenth")
    plan, path = layout(grid), paths.chosen(grid).path
    assert path is not None
    monkeypatch.setattr(master.Master, name, gone)
    alone = answer(grid.question((0, 0)), neighbours=False)
    assert alone.status is Status.ERROR
    assert GONE in alone.message
    with pytest.raises(RuntimeError, match=GONE):
        path.solve(plan, over_grid.whole(grid))


def test_whether_limits_that_may_fail_can_hold_has_one_home(monkeypatch: pytest.MonkeyPatch):
    """Deadlines that too few samples meet with processors that some budget allows."""
    limits = {"time": {"max": "1 ms", "probability": 0.8}, "energy": {"max": "1 kJ"}}
    sweep = {"deadline": {"path": "limits.time.max", "start": 1e-4, "stop": 1e-3, "num": 12}}
    grid = scenarios.grid(dse.load(QUESTION | {"limits": limits, "sweep": sweep}))
    plan, path = layout(grid), paths.chosen(grid).path
    assert path is not None
    assert answer(grid.question((0,)), neighbours=False).status is Status.INFEASIBLE
    monkeypatch.setattr(failing, "_search_tree", gone)
    assert GONE in answer(grid.question((0,)), neighbours=False).message
    with pytest.raises(RuntimeError, match=GONE):
        path.solve(plan, over_grid.whole(grid))


def test_whether_limits_that_may_fail_can_hold_is_told_by_a_first_design():
    """It is sought before the node that is all there is shrinks to where one may be, which takes more programs."""
    question = asked("two limits that may fail together").question((4, 0))
    posed, solved = robust.posed(decide_now.sampled(question)), []

    def solve(A: Array, logc: Array, *rest: Any, **how: Any) -> gp.Result:
        solved.append(len(logc))
        return gp.solve(A, logc, *rest, **how)

    codes, y = failing.hold_together(posed, tables.failing_allowed(question), solve)
    assert codes == [conflicts.CAN_HOLD]
    assert np.isfinite(y).all()
    assert sum(solved) <= 6, solved


def test_a_limit_on_what_has_a_distribution_alone_has_its_place_in_the_dataset() -> None:
    """Requests arrive only as samples say: the model's limit on them was in answers, and not in the store."""
    source = tomllib.loads((LIBRARY / "serving_nodes_for_uncertain_load.toml").read_text(encoding="utf-8"))
    most = {"r": {"path": "decide.replicas.max", "values": [12, 60]}}
    grid = scenarios.grid(dse.load(source | {"sweep": most}))
    assert "served" in layout(grid).limits
