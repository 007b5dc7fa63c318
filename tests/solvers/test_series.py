"""Answers looked up along a limit are the answers that solving each point by itself gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
from formulations.row_keys import RowKey
from results.solution import Solution, Status
from scenarios.question import Question
from scenarios.questions import question
from solvers import many_points, paths
from solvers.answer import answer
from solvers.fronts import front_points
from solvers.mechanisms.sensitivity import with_limit

REGIONS = ((0.0, 6e8), (1.2e9, 1.44e10), (3.5e9, 7e9), (2e10, 2.5e9), (6.4e10, 1e9), (8e8, 6.4e9))
# both are solved to 1e-9 or better
EXACT = 1e-9


def asked(whole: int, goal: str, limit: str, value: float, side: str = "max") -> Question:
    regions = [{"flops": f, "bytes": b, "divisible": i >= whole} for i, (f, b) in enumerate(REGIONS)]
    way = "maximize" if goal in {"performance", "efficiency"} else "minimize"
    return question(
        dse.load(
            {
                "model": "partition",
                "machine": {"cpu": "i3-2100t", "gpu": "gtx-750-tang2017"},
                "given": {"regions": regions},
                "objective": {way: goal},
                "limits": {limit: {side: value}},
            }
        )
    )


def along(start: Question, key: RowKey, values: list[float]) -> list[Solution | None]:
    front = front_points.front(start, key)
    assert front is not None
    return front_points.along(front, start, key, values)


@pytest.mark.parametrize("whole", [0, 3, 6])
@pytest.mark.parametrize(
    ("goal", "limit", "low", "high"), [("energy", "time", 0.2, 0.9), ("time", "energy", 20.0, 32.0)]
)
def test_each_is_what_solving_it_gives(whole: int, goal: str, limit: str, low: float, high: float):
    key, values = RowKey(limit, "max"), [float(v) for v in np.linspace(low, high, 25)]
    start = asked(whole, goal, limit, values[0])
    found = along(start, key, values)
    statuses = set()
    for value, quick in zip(values, found, strict=True):
        alone = answer(with_limit(start, key, value), neighbours=False)
        if quick is None:
            assert alone.status is Status.INFEASIBLE
            assert alone.conflicts != ((limit,),)
            continue
        statuses.add(quick.status)
        assert quick.status is alone.status
        if quick.status is Status.INFEASIBLE:
            assert quick.conflicts == alone.conflicts == ((limit,),)
            assert quick.conflict == pytest.approx(alone.conflict, rel=EXACT)
            assert quick.limits.keys() == alone.limits.keys()
            assert quick.limits[limit].bound == alone.limits[limit].bound == value
            assert quick.certificate.startswith(f"every design breaks {limit}")
            continue
        assert quick.status is Status.OPTIMAL
        assert quick.objective == pytest.approx(alone.objective, rel=EXACT)
        assert quick.gap is not None
        assert quick.gap <= EXACT
        assert quick.limits[limit].bound == value
        assert quick.limits[limit].binding == alone.limits[limit].binding
        assert quick.limits[limit].slack >= -1e-8
        assert quick.metrics == pytest.approx(alone.metrics, rel=1e-6, abs=1e-9)
    # some values are out of reach, else the last assertion says little
    assert Status.INFEASIBLE in statuses
    assert Status.OPTIMAL in statuses


def test_rates_along_a_divisible_front_are_those_of_the_linear_program():
    key, values = RowKey("time", "max"), [float(v) for v in np.linspace(0.28, 0.45, 25)]
    start = asked(0, "energy", "time", values[0])
    found = along(start, key, values)
    felt = 0
    for value, quick in zip(values, found, strict=True):
        alone = answer(with_limit(start, key, value), neighbours=False)
        if quick is not None and quick.status is Status.OPTIMAL:
            rate = alone.limits["time"].elasticity
            assert rate is not None
            assert quick.limits["time"].elasticity == pytest.approx(rate, rel=1e-6, abs=1e-9)
            felt += rate != 0
    assert felt > 3


def test_a_lower_limit_is_followed_too():
    key, values = RowKey("performance", "min"), [float(v) for v in np.linspace(1e11, 4e11, 12)]
    start = asked(6, "energy", "performance", values[0], "min")
    found = along(start, key, values)
    for value, quick in zip(values, found, strict=True):
        alone = answer(with_limit(start, key, value), neighbours=False)
        if quick is None:
            assert alone.status is Status.INFEASIBLE
            assert set(alone.conflict) > {"performance"}
            continue
        assert quick.status is alone.status
        if quick.status is Status.INFEASIBLE:
            assert quick.conflict == pytest.approx(alone.conflict, rel=EXACT)
        else:
            assert quick.objective == pytest.approx(alone.objective, rel=EXACT)


@pytest.mark.parametrize(
    "why",
    [
        {"given": {"bodies": 1e5, "flops_per_pair": 10}, "model": "nbody", "machine": "balanced"},
        {"goal is the limit": True},
    ],
)
def test_where_nothing_is_gained_it_says_so(why: dict[str, Any]):
    key = RowKey("time", "max")
    if "model" in why:
        start = question(
            dse.load(
                {
                    **why,
                    "objective": {"minimize": "energy"},
                    "limits": {"time": {"max": 1}},
                    "decide": {"processors": {}, "memory": {}},
                }
            )
        )
    else:
        start = asked(6, "time" if "goal is the limit" in why else "energy", "time", 0.5)
    assert front_points.front(start, key) is None


def test_a_sweep_over_a_deadline_uses_it_and_keeps_the_order():
    regions = [
        {"name": f"r{i}", "flops": f, "bytes": b, "divisible": False} for i, (f, b) in enumerate(REGIONS)
    ]
    base = {
        "model": "partition",
        "machine": {"cpu": "i3-2100t", "gpu": "gtx-750-tang2017"},
        "given": {"regions": regions},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1}},
    }
    axes = {
        "deadline": {"path": "limits.time.max", "start": 0.2, "stop": 0.9, "num": 8},
        "cpu": {"path": "machine.cpu", "values": ["i3-2100t", "i7-2600k"]},
    }
    found = dse.sweep(base | {"sweep": axes}, workers=1)
    assert found.objective.dims == ("deadline", "cpu")
    for i, deadline in enumerate(found.deadline.values):
        for j, cpu in enumerate(found.cpu.values):
            machine = {"cpu": str(cpu), "gpu": "gtx-750-tang2017"}
            alone = dse.solve(base | {"machine": machine, "limits": {"time": {"max": float(deadline)}}})
            there = float(found.objective[i, j])
            if alone.status is Status.INFEASIBLE:
                assert np.isnan(there)
            else:
                assert there == pytest.approx(alone.objective, rel=EXACT)


def test_points_of_several_chunks_share_one_front(monkeypatch: pytest.MonkeyPatch):
    begun = []
    whole = front_points.front

    def counted(start: Question, key: RowKey) -> Any:
        begun.append(start)
        return whole(start, key)

    monkeypatch.setattr(front_points, "front", counted)
    # so few placements are a table otherwise
    monkeypatch.setattr(paths, "chosen", lambda grid: many_points.Choice())
    regions = [{"flops": f, "bytes": b, "divisible": False} for f, b in REGIONS]
    found = dse.sweep(
        {
            "model": "partition",
            "machine": {"cpu": "i3-2100t", "gpu": "gtx-750-tang2017"},
            "given": {"regions": regions},
            "objective": {"minimize": "energy"},
            "sweep": {"deadline": {"path": "limits.time.max", "start": 0.35, "stop": 0.9, "num": 60}},
        },
        workers=1,
    )
    assert np.isfinite(found.objective.values[-30:]).all()
    assert len(begun) == 1
