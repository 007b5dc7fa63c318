"""Definitions without a value: refused where they never have one, kept where they have one by a limit."""

import math
import re
from typing import Any

import numpy as np
import pytest

import dse
from results.dataset import STATUS_CODES
from results.solution import Status
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


FIXED = {**NBODY, "given": {**NBODY["given"], "processors": 16, "memory": 1e4}, "limits": {}}


def of_x(text: str, x: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The least value of a definition of x alone."""
    return {**FIXED, "decide": {"x": x}, "define": {"odd": text}, "objective": {"minimize": "odd"}, **more}


@pytest.mark.parametrize("power", ["-2", "(-2)", "(1 - 3)", "(-4 / 2)"])
def test_a_negative_whole_power_of_what_is_negative_has_a_value(power: str) -> None:
    for values in ({"values": [1, 4, 7]}, {"min": 1, "max": 4.5}):
        found = dse.solve(of_x(f"1 + (x - 5)**{power}", values))
        assert (found.status.value, found.variables["x"]) == ("optimal", pytest.approx(1))
        assert found.objective == pytest.approx(1 + 1 / 16)


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("x + sqrt(x - 5)", 5.0),
        ("x + 1e4 * sqrt(x - 5)", 5.0),
        ("x + 1000 * (x - 5)**0.1", 5.0),
        ("0.001 + sqrt(x - 5)", 0.001),
    ],
)
def test_a_root_has_a_value_at_the_end_of_its_domain(text: str, least: float) -> None:
    """sqrt(0) is 0. The end holds as a limit does, within 1e-8 of its terms."""
    found = dse.solve(of_x(text, {"min": 1, "max": 9}))
    assert found.status.value == "optimal"
    assert found.objective == pytest.approx(least, rel=1e-7)
    assert found.bound <= least * (1 + 1e-9)


@pytest.mark.parametrize("most", [5.0, 5.001, 5.2])
def test_a_limit_that_holds_at_the_end_of_a_domain_alone_can_be_held(most: float) -> None:
    limited = of_x("x + 100 * sqrt(x - 5)", {"min": 1, "max": 9}, limits={"odd": {"max": most}})
    found = dse.solve({**limited, "objective": {"minimize": "x"}})
    assert (found.status.value, found.message) == ("optimal", "")
    assert found.variables["x"] == pytest.approx(5, rel=1e-7)


@pytest.mark.parametrize("x", [{"values": [1, 4, 7, 9]}, {"min": 1, "max": 9}])
def test_a_domain_that_ends_at_some_points_of_a_grid_is_a_limit_wherever_they_are(x: dict[str, Any]) -> None:
    """No point is at the first, the middle or the last place of its axis."""
    values = [0.1, 5, 0.2, 8, 0.3, 12, 0.4, 4, 0.5]
    asked = of_x("x + sqrt(x - ga)", x, given={**FIXED["given"], "ga": 1})
    swept = dse.sweep({**asked, "sweep": {"g": {"path": "ga", "values": values}}})
    for k, value in enumerate(values):
        alone = dse.solve({**asked, "given": {**asked["given"], "ga": value}})
        point = swept.isel(g=k)
        assert alone.status.value == ("infeasible" if value > 9 else "optimal")
        assert int(point["status"]) == STATUS_CODES[alone.status]
        assert ("odd.defined" in alone.conflict) == (value > 9)
        if alone.objective is not None:
            assert float(point["objective"]) == pytest.approx(alone.objective, rel=1e-8)


@pytest.mark.parametrize("text", ["sqrt(k) + x", "k**1.5 + x", "k**(x / 2) + x"])
def test_a_root_of_a_given_number_below_0_conflicts_and_is_no_failure(text: str) -> None:
    asked = of_x(text, {"values": [1, 3, 5]}, given={**FIXED["given"], "k": -4})
    assert list(dse.solve(asked).conflict) == ["odd.defined"]
    swept = dse.sweep({**asked, "sweep": {"kk": {"path": "k", "values": [-4, 4, 9]}}})
    states = [Status.INFEASIBLE, Status.OPTIMAL, Status.OPTIMAL]
    assert swept["status"].values.tolist() == [STATUS_CODES[s] for s in states]


@pytest.mark.parametrize("order", [1, -1])
def test_a_domain_that_only_some_machine_leaves_is_a_limit_whichever_stands_first(order: int) -> None:
    machines = ["gtx-titan-choi2014", "arndale-gpu-choi2014"][::order]
    asked = {
        "model": "roofline",
        "given": {"flops": 1e9, "intensity": 2},
        "decide": {"machine": {"values": machines}, "x": {"min": 1, "max": 200}},
        "define": {"odd": "sqrt(machine.constant_power / 1 W - 10) + x"},
        "objective": {"minimize": "odd"},
    }
    found = dse.solve(asked)
    assert (found.status.value, found.variables["machine"]) == ("optimal", "gtx-titan-choi2014")
    other = next(a for a in found.alternatives if a.choice["machine"] != found.variables["machine"])
    assert (other.status.value, list(other.conflict)) == ("infeasible", ["odd.defined"])


def test_a_domain_that_ends_at_one_of_many_points_is_a_limit_there() -> None:
    asked = of_x("x + sqrt(x - ga)", {"values": [1, 4, 7, 9]}, given={**FIXED["given"], "ga": 1})
    values = [0.1 + k / 1e3 for k in range(500)]
    values[377] = 12.0
    swept = dse.sweep({**asked, "sweep": {"g": {"path": "ga", "values": values}}})
    assert np.flatnonzero(swept["status"].values == STATUS_CODES[Status.INFEASIBLE]).tolist() == [377]
    assert not (swept["status"].values == STATUS_CODES[Status.ERROR]).any()


@pytest.mark.parametrize("x", [{"values": [1, 4, 5, 9]}, {"integer": True, "min": 1, "max": 9}])
def test_a_listed_number_at_the_end_of_a_domain_is_the_same_at_one_point_and_at_many(
    x: dict[str, Any],
) -> None:
    """9.00000001 is the end of the domain, missed by less than limits are granted."""
    asked = of_x("x + sqrt(x - k)", x, given={**FIXED["given"], "k": 9.00000001})
    assert (dse.solve(asked).status.value, dse.solve(asked).objective) == ("optimal", 9.0)
    swept = dse.sweep({**asked, "sweep": {"kk": {"path": "k", "values": [9.00000001, 3.0]}}})
    assert swept["objective"].values[0] == 9.0


EVALUATED = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e12, "intensity": 4, "x": 1},
    "define": {"odd": "energy / maximum(0, x - 2)", "twice": "2 * odd", "logish": "log(x - 1)"},
    "objective": {"minimize": "odd"},
    "sweep": {"axis": {"path": "given.x", "values": [0.5, 1, 2, 3, 4]}},
}


def test_a_point_that_is_only_evaluated_is_an_error_where_a_single_question_is_refused() -> None:
    swept = dse.sweep(EVALUATED, progress=False)
    words = swept.status.attrs["flag_meanings"].split()
    statuses = [words[code] for code in swept.status.values]
    assert statuses == ["infeasible", "error", "error", "evaluated", "evaluated"]
    assert not np.isinf(swept.odd.values).any()
    single = {k: v for k, v in EVALUATED.items() if k != "sweep"}
    told = r'"energy / maximum\(0, x - 2\)" has no value: it divides by 0'
    with pytest.raises(ScenarioError, match=told):
        dse.solve(single | {"given": {**EVALUATED["given"], "x": 2}})
    assert re.fullmatch(f"define.odd: {told}", str(swept.message.values[2]))
    assert "it takes the logarithm of 0" in str(swept.message.values[1])


def test_what_is_infinite_as_the_model_has_it_has_a_value() -> None:
    """A run without any flop per byte takes forever."""
    asked = {k: EVALUATED[k] for k in ("model", "machine")} | {"given": {"flops": 1e12, "intensity": 0}}
    asked["define"] = {"odd": "2 * time", "pace": "time / (clock + 1 s)", "clock": "3 * time"}
    axis = {"path": "given.intensity", "values": [0, 4]}
    swept = dse.sweep(asked | {"sweep": {"axis": axis}}, progress=False)
    words = swept.status.attrs["flag_meanings"].split()
    assert [words[code] for code in swept.status.values] == ["evaluated"] * 2
    assert np.isinf(swept.odd.values).tolist() == np.isinf(swept.time.values).tolist() == [True, False]
    single = dse.solve(asked)
    assert (single.status.value, single.metrics["odd"]) == ("evaluated", math.inf)


@pytest.mark.parametrize(
    "more",
    [
        {"limits": {"time": {"max": 10, "probability": 0.8}}},
        {"limits": {"time": {"max": 10, "worst": True}}},
        {"objective": {"minimize": "odd", "measure": "mean"}},
    ],
)
def test_so_it_is_where_one_answer_stands_for_all_samples(more: dict[str, Any]) -> None:
    uncertain = {"machine.energy_per_flop": {"uniform": ["300 pJ/flop", "400 pJ/flop"]}}
    axis = {"path": "given.x", "values": [2, 3]}
    asked = {k: EVALUATED[k] for k in ("model", "machine", "given")} | {
        "define": {"odd": "energy / (x - 2)"},
        "uncertain": uncertain | {"sampling": {"samples": 128}},
        "sweep": {"axis": axis},
    }
    swept = dse.sweep(asked | more, progress=False)
    words = swept.status.attrs["flag_meanings"].split()
    assert [words[code] for code in swept.status.values] == ["error", "evaluated"]
    assert str(swept.message.values[0]) == 'define.odd: "energy / (x - 2)" has no value: it divides by 0'


def test_so_it_is_where_equations_raise_what_arrays_let_pass() -> None:
    given = {"order": 8192, "processors": 64, "memory": 1e6, "x": 1}
    asked = {"model": "matmul", "machine": "jaketown", "given": given, "define": {"odd": "energy / (x - 1)"}}
    swept = dse.sweep(asked | {"sweep": {"axis": {"path": "given.x", "values": [1, 2]}}}, progress=False)
    assert str(swept.message.values[0]) == 'define.odd: "energy / (x - 1)" has no value: it divides by 0'
