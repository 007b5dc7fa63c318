"""Definitions without a value: refused where they never have one, kept where they have one by a limit."""

import math
from typing import Any

import pytest

import dse
from scenarios import ScenarioError

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "50 s"}},
}


def defined(text: str, goal: str = "energy", **more: Any) -> dict[str, Any]:
    return {**NBODY, "define": {"odd": text}, "objective": {"minimize": goal}, **more}


@pytest.mark.parametrize(
    ("text", "goal", "told"),
    [
        ("1 / (processors - processors)", "energy", "divides by 0"),
        ("1 / (processors - 64)", "odd", "no best value"),
        ("2 + 1 / (64 - processors)", "odd", "no best value"),
    ],
)
def test_what_never_has_a_value_or_a_best_one_is_refused(text: str, goal: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=told) as problem:
        dse.load(defined(text, goal))
    assert problem.value.problems[0].key == "define.odd"


@pytest.mark.parametrize("text", ["sqrt(0.5 - processors)", "log(-processors)", "(0.2 - processors)**1.5"])
def test_a_root_without_a_value_is_proved_to_have_none(text: str) -> None:
    found = dse.solve(defined(text))
    assert (found.status.value, list(found.conflict)) == ("infeasible", ["odd.defined"])


def test_a_root_with_a_value_in_a_narrow_place_only_is_no_mistake() -> None:
    # none of a few hundred designs tried is between 998.5 and 1002.5
    found = dse.solve(defined("sqrt(4 - (processors - 1000.5)**2)"))
    assert found.status.value == "optimal"
    assert 998.5 - 1e-4 <= found.variables["processors"] <= 1002.5 + 1e-4


@pytest.mark.parametrize("whole", [{"min": 1, "max": 9, "integer": True}, {"values": [1, 2, 3, 4, 9]}])
def test_a_pole_between_whole_numbers_leaves_a_best_value(whole: dict[str, Any]) -> None:
    asked = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 2},
        "decide": {"x": whole},
        "define": {"odd": "2 + 1 / (x - 3.5)"},
        "objective": {"minimize": "odd"},
    }
    found = dse.solve(asked)
    assert (found.status.value, found.variables["x"], found.objective) == ("optimal", 3, 0.0)


def test_without_decisions_the_one_value_counts() -> None:
    fixed = {**NBODY, "decide": {}, "given": {**NBODY["given"], "processors": 8, "memory": 2e4}}
    with pytest.raises(ScenarioError, match="has no value: it divides by 0"):
        dse.load({**fixed, "define": {"odd": "1 / (processors - 8)"}})
    with pytest.raises(ScenarioError, match="root or a logarithm"):
        dse.load({**fixed, "define": {"odd": "sqrt(processors - 9)"}})


def test_a_root_that_is_defined_for_some_designs_becomes_a_limit() -> None:
    # the least energy is reached from 25.8 processors on: the definition leaves those from 64 on
    found = dse.solve(
        defined("sqrt(processors - 64)", objective={"minimize": "energy", "ties": ["processors"]})
    )
    assert found.status.value == "optimal"
    assert found.limits["odd.defined"].binding
    assert found.variables["processors"] == pytest.approx(64, rel=1e-6)
    assert math.isfinite(found.metrics["odd"])


def test_a_domain_that_no_design_meets_is_named_in_the_conflict() -> None:
    short = defined("sqrt(64 - processors)", limits={"time": {"max": "100 ms"}})
    found = dse.solve(short)
    assert found.status.value == "infeasible"
    assert "odd.defined" in found.conflict


def test_what_has_a_value_everywhere_stays_as_it_is() -> None:
    found = dse.solve(defined("(processors + 1)**0.5 / (memory / 1 word)"))
    assert "odd.defined" not in found.limits
    power = defined(
        "((processors - 0.5) / 2)**1.3", decide={"processors": {"min": 1, "max": 64}, "memory": {}}
    )
    assert "odd.defined" not in dse.solve(power).limits


def test_no_value_at_the_best_design_is_an_error_for_one_point_and_for_many() -> None:
    asked = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 2},
        "decide": {"x": {"values": [1, 2, 3]}},
        "define": {"far": "(x - 2)**2", "odd": "1 / (x - 2)"},
        "objective": {"minimize": "far"},
    }
    found = dse.solve(asked)
    assert (found.status.value, "odd has no value" in found.message) == ("error", True)
    swept = {**asked, "sweep": {"size": {"path": "given.flops", "start": 1e9, "stop": 2e9, "num": 24}}}
    for kept in (None, ["energy"]):
        made = dse.sweep(swept, progress=False, audit=0, metrics=kept)
        assert set(made["status"].values.tolist()) == {5}


def test_a_parameter_that_only_a_definition_needs_is_its_own_fault() -> None:
    fixed = {**NBODY, "decide": {}, "given": {**NBODY["given"], "processors": 8, "memory": 2e4}}
    with pytest.raises(ScenarioError, match=r"has no usable_power, which define\.y uses"):
        dse.load({**fixed, "define": {"y": "machine.usable_power * time"}})
    partial = {"base": "balanced", "time_per_flop": "1 ps/flop"}
    assert dse.load({**fixed, "machine": partial}) is not None
