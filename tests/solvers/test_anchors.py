"""``within``: a limit that lies so far from its metric's own optimum."""

from typing import Any

import numpy as np
import points_alone
import pytest

import dse
import scenarios
from results.dataset import CONFLICTING, STATUS_CODES
from results.solution import Solution
from scenarios import ScenarioError

QUESTION: dict[str, Any] = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "time"},
}


def solved(**more: Any) -> Solution:
    return dse.solve(dse.load({**QUESTION, **more}))


def least(goal: str, way: str = "minimize", **more: Any) -> float:
    return solved(**more, objective={way: goal}).objective


def test_a_metric_stays_near_its_least():
    others = {"time": {"max": "10 s"}}
    anchor = least("power", limits=others)
    found = solved(limits={**others, "power": {"within": 0.05}})
    assert found.status == "optimal"
    assert found.limits["power"].bound == pytest.approx(1.05 * anchor, rel=1e-9)
    assert found.objective == pytest.approx(
        least("time", limits={**others, "power": {"max": 1.05 * anchor}}), rel=1e-7
    )
    assert "power within 5 % of its least" in found.certificate


def test_what_is_better_the_larger_it_is_stays_near_its_greatest():
    anchor = least("performance", "maximize")
    found = solved(objective={"minimize": "energy"}, limits={"performance": {"within": 0.05}})
    assert found.limits["performance"].bound == pytest.approx(0.95 * anchor, rel=1e-9)
    assert found.metrics["performance"] >= 0.95 * anchor * (1 - 1e-8)


def test_other_limits_within_play_no_part_in_an_anchor():
    """Both anchors are those of the question without either; together they cannot be."""
    found = solved(limits={"performance": {"within": 0.05}, "power": {"within": 0.05}})
    assert found.status == "infeasible"
    assert found.limits["power"].bound == pytest.approx(1.05 * least("power"), rel=1e-6)
    assert found.limits["performance"].bound == pytest.approx(
        0.95 * least("performance", "maximize"), rel=1e-6
    )


def test_the_anchor_is_the_best_of_all_choices():
    asked = {k: v for k, v in QUESTION.items() if k != "machine"}
    asked["decide"] = {**asked["decide"], "machine": {"values": ["jaketown", "balanced"]}}
    found = dse.solve(dse.load({**asked, "limits": {"energy": {"within": 0.02}}}))
    # only one of them comes so near the least of both
    best = min(least("energy", machine=name) for name in ("jaketown", "balanced"))
    assert found.limits["energy"].bound == pytest.approx(1.02 * best, rel=1e-9)
    assert [a.status for a in found.alternatives] == ["infeasible", "optimal"]


def test_where_there_is_no_anchor_its_conflict_is_told():
    found = solved(limits={"energy": {"within": 0.05}, "time": {"max": "1 ns"}})
    assert found.status == "infeasible"
    assert "time" in found.conflict


def test_a_metric_without_end_is_told_to_have_no_anchor():
    asked = {"machine": "contrived", "waive": ["replication"], "decide": {"processors": {}, "memory": {}}}
    found = solved(**asked, objective={"minimize": "energy"}, limits={"performance": {"within": 0.1}})
    assert found.status == "unbounded"
    assert "performance has no greatest that it could be within 10 % of" in found.certificate


def test_definitions_have_anchors_too():
    found = solved(
        define={"price": "9000 USD * processors + 3 USD/J * energy"}, limits={"price": {"within": 0.05}}
    )
    assert found.status == "optimal"
    assert found.metrics["price"] == pytest.approx(found.limits["price"].bound, rel=1e-7)


def test_the_share_is_swept():
    asked = {**QUESTION, "limits": {"energy": {"within": 0.05}}}
    asked["sweep"] = {"share": {"path": "limits.energy.within", "values": [1e-7, 0.001, 0.1]}}
    found = dse.sweep(dse.load(asked), progress=False)
    anchor = least("energy")
    energies, times = found["energy"].to_numpy(), found["time"].to_numpy()
    assert (energies <= anchor * (1 + found["share"].to_numpy()) * (1 + 1e-7)).all()
    assert (times[1:] <= times[:-1] * (1 + 1e-9)).all()
    assert (found["status"] == 1).all()


def test_points_of_a_sweep_have_their_anchors_together():
    asked = {**QUESTION, "limits": {"time": {"max": "10 s"}, "power": {"within": 0.05}}}
    asked["sweep"] = {
        "share": {"path": "limits.power.within", "values": [0.01, 0.05, 0.2, 0.5]},
        "deadline": {"path": "limits.time.max", "values": ["0.1 ms", "4 s", "10 s", "30 s"]},
    }
    scenario = dse.load(asked)
    found = dse.sweep(scenario, progress=False, audit=2)
    assert found.attrs["method"].startswith("first the optima that limits are within a share of")
    grid = scenarios.grid(scenario)
    places = ((0, 1), (3, 1), (1, 2), (2, 3), (0, 0), (3, 0))
    for place, alone in zip(places, points_alone.answers(grid, places), strict=True):
        here = found.isel(share=place[0], deadline=place[1])
        assert int(here.status) == STATUS_CODES[alone.status]
        if alone.objective is None:
            clash = dict(zip(here.limit.values.tolist(), here.would_do.values.tolist(), strict=True))
            assert {n: clash[n] for n in alone.conflict} == pytest.approx(dict(alone.conflict))
            conflicting = here.limit.values[here.binding.values == CONFLICTING].tolist()
            assert conflicting == list(alone.conflicts[0])
            continue
        assert float(here.objective) == pytest.approx(alone.objective, rel=1e-8)
        assert float(here.processors) == pytest.approx(alone.variables["processors"], rel=1e-6)
        state = dict(zip(here.limit.values.tolist(), here.elasticity.values.tolist(), strict=True))
        assert state["power"] == pytest.approx(alone.limits["power"].elasticity, rel=1e-4)


def test_sensitivities_go_through_the_optimum_that_a_limit_moves_with():
    """The least power P has energy E = P T at the deadline T, so 5 % more of it needs T / 1.05, whatever the work.

    Sensitivities of the power limit alone say that twice the bodies take four times as long.
    """
    limits = {"time": {"max": 10.0}, "power": {"within": 0.05}}
    found = solved(limits=limits)
    assert found.objective == pytest.approx(10.0 / 1.05, rel=1e-5)
    # what memory costs is 1e-6 of the energy
    assert found.limits["time"].elasticity == pytest.approx(1.0, abs=1e-5)
    assert found.limits["power"].elasticity == pytest.approx(-1.0, abs=1e-5)
    assert all(abs(found.parameters.get(n, 0.0)) < 1e-5 for n in QUESTION["given"])
    # so many points go together at the usual depth, and one by one at full depth
    sweep = {"bodies": {"path": "given.bodies", "values": np.linspace(1e6, 2e6, 16).tolist()}}
    for depth, way in (("limits", "first the optima"), ("full", "each point")):
        swept = dse.sweep(
            dse.load({**QUESTION, "limits": limits, "sweep": sweep}), progress=False, depth=depth
        )
        assert swept.attrs["method"].startswith(way)
        assert swept.attrs["left_over"] == "{}"
        worth = dict(zip(swept.limit.values.tolist(), swept.elasticity.values.T, strict=True))
        assert worth["time"] == pytest.approx(1.0, abs=1e-5)
        assert worth["power"] == pytest.approx(-1.0, abs=1e-5)
    felt = dict(zip(swept.given_number.values.tolist(), swept.sensitivity.values.T, strict=True))
    assert all(np.nanmax(np.abs([*felt[n], 0.0])) < 1e-5 for n in QUESTION["given"])


def test_sensitivities_go_through_what_is_better_the_larger_it_is():
    """The most performance within a power cap takes all of it, so 80 % of it take a power that moves with the cap."""
    limits = {"power": {"max": 3e4}, "performance": {"within": 0.2}}
    found = solved(objective={"minimize": "power"}, limits=limits)
    assert found.objective < 0.81 * 3e4
    # how messages are cut moves with the number of processors: 1e-4 of the power
    assert found.limits["power"].elasticity == pytest.approx(1.0, abs=1e-3)
    assert found.limits["performance"].elasticity == pytest.approx(1.0, abs=1e-3)


def test_where_whole_numbers_next_change_is_told_of_the_moving_limit_alone():
    decide = {"processors": {"max": 4096, "integer": True}, "memory": {}}
    found = solved(decide=decide, limits={"time": {"max": 10.0}, "power": {"within": 0.05}})
    assert found.limits["power"].next_change is not None
    assert found.limits["time"].next_change is None


def test_an_anchor_without_proof_leaves_no_proof(monkeypatch: pytest.MonkeyPatch):
    """Where the least power is not proved, nothing that rests on it is."""
    import dataclasses

    from results.solution import Status
    from solvers import anchors

    before = anchors.anchored
    monkeypatch.setattr(
        anchors, "anchored", lambda *a: dataclasses.replace(before(*a), proved=False) if a else None
    )
    assert solved(limits={"energy": {"within": 0.05}}).status is Status.FEASIBLE


@pytest.mark.parametrize(
    ("limits", "part"),
    [
        ({"energy": {"within": -0.05}}, "-0.05 is not a share of an optimum"),
        ({"memory": {"within": 0.05}}, "memory is not a metric"),
        ({"enrgy": {"within": 0.05}}, 'there is no metric of nbody "enrgy"'),
        ({"energy": {"within": "5 %"}}, "is not a number"),
    ],
)
def test_what_is_no_share_is_refused(limits: dict[str, Any], part: str):
    with pytest.raises(ScenarioError, match=part):
        dse.load({**QUESTION, "limits": limits})


def test_an_axis_needs_a_share_to_sweep():
    sweep = {"share": {"path": "limits.energy.within", "values": [0.1]}}
    with pytest.raises(ScenarioError, match="energy has no within to sweep"):
        dse.load({**QUESTION, "sweep": sweep})


@pytest.mark.parametrize("limit", [{"within": 0}, {"max": 40.53417469626003 * (1 + 1e-12)}])
def test_ranges_are_those_of_designs_that_are_best_by_the_objective_too(limit: dict[str, float]) -> None:
    # the least energy leaves p free, and of these designs the least time has one alone
    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "objective": {"minimize": "time"},
        "limits": {"energy": limit},
    }
    found = dse.solve(asked)
    assert found.variables["processors"] == pytest.approx(663.9004, rel=1e-5)
    assert found.ranges == {}
    few = dse.solve({**asked, "objective": {"minimize": "processors"}})
    assert "processors" not in few.ranges
