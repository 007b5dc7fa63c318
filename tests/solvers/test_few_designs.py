"""Programs of few designs: trying them all says what HiGHS' branch and bound says, and needs no search."""

from typing import Any

import pytest

import dse
import scenarios
from formulations.problem import formulate
from formulations.pyomo_models.explain import explain
from results.solution import Solution
from solvers import boxes, designs
from solvers.linear import highs

REGIONS = [("a", 35, 3), ("b", 8, 32), ("c", 57, 187), ("d", 455, 84), ("e", 7, 19)]
# HiGHS closes its gap to 1e-9
CLOSE = 1e-8


def asked(goal: str, cap: float) -> dict[str, Any]:
    """Five whole regions on three processors, 243 designs, under a power cap."""
    regions = [{"name": n, "flops": f * 1e9, "bytes": b * 1e9, "divisible": False} for n, f, b in REGIONS]
    return {
        "model": "partition",
        "machine": {
            "cpu": "i3-2100t-tang2017",
            "gpu": "gtx-750-tang2017",
            "big": "gtx-titan-tang2017",
        },
        "given": {"regions": regions},
        "objective": {"minimize": goal},
        "limits": {"power": {"max": f"{cap} W"}},
    }


def close(mine: float | None, theirs: float | None) -> bool:
    return mine == theirs or mine == pytest.approx(theirs, rel=CLOSE)


def alike(mine: Solution, theirs: Solution) -> None:
    assert mine.status == theirs.status
    assert close(mine.objective, theirs.objective)
    assert mine.variables == pytest.approx(theirs.variables, abs=CLOSE)
    assert {n: pytest.approx(r, abs=CLOSE) for n, r in mine.ranges.items()} == dict(theirs.ranges)
    assert mine.conflicts == theirs.conflicts
    assert {n: pytest.approx(v, rel=CLOSE) for n, v in mine.conflict.items()} == dict(theirs.conflict)
    for name, limit in theirs.limits.items():
        assert close(mine.limits[name].next_change, limit.next_change)
        assert close(mine.limits[name].next_objective, limit.next_objective)


# below the least power there is, and where several designs are equally fast
@pytest.mark.parametrize("cap", [20.0, 102.0])
@pytest.mark.parametrize("goal", ["time", "power"])
def test_trying_all_says_what_branch_and_bound_says(
    goal: str, cap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = dse.solve(asked(goal, cap))
    monkeypatch.setattr(designs, "few", lambda _: None)
    searched = dse.solve(asked(goal, cap))
    assert (tried.solver, searched.solver) == ("enumeration", "HiGHS")
    alike(tried, searched)


@pytest.mark.parametrize("cap", [20.0, 110.0])
@pytest.mark.parametrize("goal", ["time", "energy_delay"])
def test_few_designs_need_no_search(goal: str, cap: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("243 designs are tried, not searched")

    monkeypatch.setattr(highs, "minimise", never)
    monkeypatch.setattr(boxes, "tighten", never)
    found = dse.solve(asked(goal, cap))
    assert found.status.value == ("infeasible" if cap < 100 else "optimal"), found.message


def test_explain_says_that_all_are_tried() -> None:
    question = scenarios.grid(dse.load(asked("time", 110.0))).question(())
    text = explain(formulate(question), designs=designs.few(question))
    # two shares for each of five regions; those of which both are 1 break a limit
    assert "enumeration: every one of 1024 combinations is tried" in text
    assert "enumeration" not in explain(formulate(question))
