"""Fronts of which an objective has a limit of its own that it cannot pass: of all designs there the best one is told.

Energy of an n-body step depends on memory alone, and with least power it keeps one copy of the data (Demmel V): of
each energy the least power is a closed form, and all designs lie on a line.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from balanced_nbody import FIXED, LEAST, LINK, F, N, energy, time

import dse
from dse.fronts import front_search
from results.solution import Solution, Status

LINE: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": N, "flops_per_pair": 10},
    "decide": {"processors": {"max": 2000}, "memory": {}},
}
FLOOR = 60.0
ENDS = {"minimize": ["energy", "power"]}
# limits hold to 1e-8, and what is best within them moves by so much more
EXACT = 1e-6
MEMORY = np.geomspace(N / 2000, N, 200_001)


def asked(objective: dict[str, Any], **limits: dict[str, float]) -> dict[str, Any]:
    return LINE | {"objective": objective, "limits": limits}


def power(memory: Any, processors: Any = None) -> Any:
    """Power of one copy of the data, or of so many processors, W."""
    p = N / memory if processors is None else processors
    return energy(memory) / time(p, memory)


def memories_at(floor: float) -> list[float]:
    """Both memories with which the energy is the floor, the smaller one first."""
    return sorted(np.roots([2e-5 * 1e-9 * F, FIXED - floor / N**2, LINK]))


def undominated(found: xr.Dataset, names: list[str]) -> None:
    at = np.stack([found[n].values for n in names], axis=1)
    for row in at:
        as_good = (at <= row * (1 + 1e-8)).all(1)
        assert not (as_good & (at < row * (1 - 1e-6)).any(1)).any(), f"{row} is dominated in {at}"


def test_a_front_begins_at_the_best_design_on_its_floor():
    found = dse.front(asked(ENDS, energy={"min": FLOOR}), points=3)
    assert (found.status == 1).all()
    undominated(found, ENDS["minimize"])
    assert found.energy.values[0] == pytest.approx(FLOOR, rel=EXACT)
    assert found.power.values[0] == pytest.approx(power(memories_at(FLOOR)[1]), rel=EXACT)
    assert found.power.values[-1] == pytest.approx(power(MEMORY).min(), rel=EXACT)
    for e, p in zip(found.energy.values, found.power.values, strict=True):
        allowed = (energy(MEMORY) >= FLOOR) & (energy(MEMORY) <= e)
        assert p <= power(MEMORY)[allowed].min(initial=np.inf) * (1 + EXACT)


@pytest.mark.parametrize("names", [["energy", "power"], ["power", "energy"]])
def test_one_design_is_best_for_both_whichever_is_named_first(names: list[str]):
    """Within a deadline power is at least the floor over the deadline, and a design at the floor just meets it."""
    found = dse.front(asked({"minimize": names}, energy={"min": FLOOR}, time={"max": 0.5}))
    assert found.attrs["method"] == "one design is the best for both objectives"
    assert found.energy.values == pytest.approx([FLOOR], rel=EXACT)
    assert found.power.values == pytest.approx([FLOOR / 0.5], rel=EXACT)


@pytest.mark.parametrize("names", [["energy", "power"], ["power", "energy"]])
def test_floors_of_both_objectives_that_one_design_attains(names: list[str]):
    found = dse.front(asked({"minimize": names}, energy={"min": FLOOR}, power={"min": 4.0}))
    assert found.attrs["method"] == "one design is the best for both objectives"
    assert found.energy.values == pytest.approx([FLOOR], rel=EXACT)
    assert found.power.values == pytest.approx([4.0], rel=EXACT)


def test_a_cap_on_what_is_to_be_large_is_a_floor_as_well():
    """Efficiency times energy is the work: its cap is a floor of energy, where the slowest run has one copy."""
    work = 10 * N**2
    found = dse.front(asked({"maximize": ["efficiency", "time"]}, efficiency={"max": work / FLOOR}), points=2)
    assert (found.status == 1).all()
    large = memories_at(FLOOR)[1]
    assert found.efficiency.values[0] == pytest.approx(work / FLOOR, rel=EXACT)
    assert found.time.values[0] == pytest.approx(time(N / large, large), rel=EXACT)


@pytest.mark.parametrize("kind", [{"integer": True, "max": 2000}, {"values": [8, 16, 32, 64, 128, 1024]}])
def test_whole_and_listed_numbers_beside_a_divisible_one(kind: dict[str, Any]):
    question = asked(ENDS, energy={"min": FLOOR}) | {"decide": {"processors": kind, "memory": {}}}
    found = dse.front(question, points=2)
    designs = [
        power(m, p)
        for m in memories_at(FLOOR)
        for p in kind.get("values") or range(1, 2001)
        if N / m <= p <= (N / m) ** 2
    ]
    assert found.energy.values[0] == pytest.approx(FLOOR, rel=EXACT)
    assert found.power.values[0] == pytest.approx(min(designs), rel=EXACT)
    undominated(found, ENDS["minimize"])


def test_fronts_over_a_swept_floor_have_their_own_beginnings():
    floors = [LEAST / 2, FLOOR]
    swept = {"floor": {"path": "limits.energy.min", "values": floors}}
    found = dse.front(asked(ENDS, energy={"min": FLOOR}) | {"sweep": swept}, points=2)
    for k, floor in enumerate(floors):
        at = found.isel(floor=k)
        undominated(at.isel(front=slice(int(at.front_points))), ENDS["minimize"])
        assert float(at.energy[0]) == pytest.approx(max(floor, LEAST), rel=EXACT)
        if floor > LEAST:
            assert float(at.power[0]) == pytest.approx(power(memories_at(floor)[1]), rel=EXACT)


def test_three_objectives_hold_no_design_that_is_only_as_good_as_the_floor():
    names = ["energy", "power", "processors"]
    found = dse.front(asked({"minimize": names}, energy={"min": FLOOR}), points=4)
    undominated(found, names)
    # at the floor power and processors are least with the same memory
    assert float(found.power[0]) == pytest.approx(power(memories_at(FLOOR)[1]), rel=EXACT)


def test_one_question_tells_how_far_designs_at_a_floor_reach():
    """Least energy as such leaves all designs of the floor, of which the fastest one is handed out."""
    found = dse.solve(asked({"minimize": "energy"}, energy={"min": FLOOR}))
    small, large = memories_at(FLOOR)
    assert found.status is Status.OPTIMAL
    assert found.ranges["memory"] == pytest.approx((small, large), rel=1e-4)
    assert found.ranges["processors"] == pytest.approx((N / large, 2000), rel=1e-4)
    assert found.variables["processors"] == pytest.approx(2000, rel=EXACT)


@pytest.mark.parametrize("status", [Status.ERROR, Status.INFEASIBLE, Status.FEASIBLE])
def test_an_end_whose_second_question_has_no_answer_is_not_called_optimal(
    status: Status, monkeypatch: pytest.MonkeyPatch
):
    """Another design may be as good and better for the second objective: nothing says that none is."""
    real = front_search.answer

    def answered(question: Any, **how: Any) -> Solution:
        limited = any(x.name == "energy" and x.maximum is not None for x in question.limits)
        if limited and question.objectives[0].name == "power":
            found = real(question, **how)
            return (
                replace(found, status=status, bound=None) if status is Status.FEASIBLE else Solution(status)
            )
        return real(question, **how)

    monkeypatch.setattr(front_search, "answer", answered)
    found = dse.front(asked(ENDS, energy={"min": FLOOR}), points=2)
    assert found.status.values.tolist() == [2, 1]
    assert "one design" not in found.attrs["method"]


def test_what_is_best_on_a_floor_is_asked_for_on_it(monkeypatch: pytest.MonkeyPatch):
    """No band as narrow as limits hold is searched, which takes many times as long."""
    asked_for: list[tuple[float | None, float | None]] = []
    at_level = front_search.at_level

    def seen(*arguments: Any) -> Any:
        question = at_level(*arguments)
        asked_for.extend((x.minimum, x.maximum) for x in question.limits if x.name == "p1")
        return question

    monkeypatch.setattr(front_search, "at_level", seen)
    found = dse.front(
        {
            "model": "roofline",
            "machine": "gtx-titan-choi2014",
            "given": {"flops": 1e9, "intensity": 4},
            "decide": {"x": {"min": 1, "max": 5}, "y": {"min": 1, "max": 5}},
            "define": {"p1": "x + y", "p2": "1 / x + 1 / y**2"},
            "objective": {"minimize": ["p1", "p2"]},
            "limits": {"p1": {"min": 4, "max": 6}},
        },
        points=2,
    )
    assert (found.status == 1).all()
    assert found.p1.values == pytest.approx([4.0, 6.0], rel=1e-8)
    assert found.p2.values[0] == pytest.approx(0.75, rel=1e-8)
    assert (4.0, 4.0) in asked_for
    assert all(low == high or high > low * (1 + 1e-6) for low, high in asked_for)
