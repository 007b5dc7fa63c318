"""Definitions that go to infinity at the end of their own domain: no design is the best, or one inside is."""

import math
from typing import Any

import pytest

import dse
from results.dataset import STATUS_CODES
from results.solution import Status

X: dict[str, Any] = {"x": {"min": 1, "max": 3}}
TWO = {**X, "y": {"min": 1, "max": 3}}


def asked(goal: str, sense: str = "minimize", decide: dict[str, Any] = X, **more: Any) -> dict[str, Any]:
    return {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 4},
        "decide": decide,
        "define": {"goal": goal},
        "objective": {sense: "goal"},
        **more,
    }


@pytest.mark.parametrize(
    ("goal", "sense", "decide"),
    [
        ("log(x - 1)", "minimize", X),
        ("log(3 - x) + x", "minimize", X),
        ("log(minimum(x, 2) - 1)", "minimize", X),
        ("log(2 - x) + 10 * x", "minimize", X),
        ("log(4 - x * x) + x", "minimize", X),
        ("log((2 - x)**2) + x", "minimize", X),
        ("0 - log(x - 1.5)", "maximize", X),
        ("(2 - x)**(-1.5)", "maximize", X),
        ("1 / (x - 1)", "maximize", X),
        ("1 / (3 - x)", "maximize", X),
        ("1 / (x - 2)**2 + x", "maximize", X),
        ("log(2 - x) + y", "minimize", TWO),
        ("x / (y - 1)", "maximize", TWO),
        ("log(x * y - 1)", "minimize", TWO),
        ("x * log(x - 1)", "minimize", X),
        ("-1 / (3 - x)", "minimize", X),
    ],
)
def test_what_goes_to_infinity_has_no_best_design(goal: str, sense: str, decide: dict[str, Any]) -> None:
    found = dse.solve(asked(goal, sense, decide))
    assert (found.status.value, found.objective, found.bound) == ("unbounded", None, None)
    assert "where goal has no value" in found.certificate


def test_a_pole_that_limits_keep_away_leaves_a_best_design() -> None:
    found = dse.solve(asked("log(2 - x) + 10 * x", limits={"goal": {"min": 9}}))
    assert found.status.value == "optimal"
    assert found.objective == pytest.approx(9, rel=1e-7)
    near = dse.solve(asked("log(2 - x) + 10 * x", decide={"x": {"min": 1, "max": 1.5}}))
    assert (near.status.value, near.objective) == ("optimal", pytest.approx(10, rel=1e-9))


@pytest.mark.parametrize(
    ("goal", "decide", "least", "x"),
    [
        ("(x - 1) * log(x - 1)", X, -math.exp(-1), 1 + math.exp(-1)),
        ("(2 - x) * log(2 - x)", X, -math.exp(-1), 2 - math.exp(-1)),
        ("0 - log(2 - x) - 3 * x", X, math.log(3) - 5, 5 / 3),
        ("1 / (3 - x)", X, 1 / 2, 1),
        ("x + 1 / (3 - x)", X, 3 / 2, 1),
        ("1 / (x - 1)", X, 1 / 2, 3),
        ("1 / (3 - x) + 1 / (x - 1)", X, 2, 2),
        ("x * y / (3 - x)", TWO, 1 / 2, 1),
    ],
)
def test_the_best_design_may_be_inside(goal: str, decide: dict[str, Any], least: float, x: float) -> None:
    found = dse.solve(asked(goal, decide=decide))
    assert found.status.value == "optimal"
    assert found.objective == pytest.approx(least, rel=1e-7)
    assert found.variables["x"] == pytest.approx(x, rel=1e-3)


def test_a_best_value_that_no_design_has_is_told_and_not_called_optimal() -> None:
    """It is 0, and at x = 2 itself there is no value."""
    found = dse.solve(asked("(2 - x) * log(2 - x)", "maximize", {"x": {"min": 1.5, "max": 3}}))
    assert (found.status.value, found.bound) == ("feasible", None)
    assert "no design is the best" in found.certificate
    assert found.objective == pytest.approx(0, abs=1e-9)


def test_so_it_is_at_each_point_of_a_sweep() -> None:
    """The pole enters the bounds at 1; before, x = 1 is best."""
    swept = dse.sweep(
        {
            **asked("log(x - a) + 10 * x", given={"flops": 1e9, "intensity": 4, "a": 1}),
            "sweep": {"end": {"path": "given.a", "values": [0.5, 0.8, 1.0, 1.25, 2.0]}},
        },
        progress=False,
    )
    states = [Status.OPTIMAL] * 2 + [Status.UNBOUNDED] * 3
    assert swept["status"].values.tolist() == [STATUS_CODES[s] for s in states]
    best = [10 + math.log(0.5), 10 + math.log(0.2)]
    assert swept["objective"].values[:2].tolist() == pytest.approx(best, rel=1e-7)


FLAT = {"near": "1 / (x - 1)", "goal": "maximum(x, 2) + y"}


def test_of_designs_as_good_one_at_which_all_definitions_have_a_value_is_handed_out() -> None:
    """All x from 1 to 2 are as good, and at 1, which ties would choose, a definition that nobody asks for has none."""
    found = dse.solve({**asked("x", decide=TWO), "define": FLAT})
    assert (found.status.value, found.objective) == ("optimal", pytest.approx(3, rel=1e-9))
    assert found.metrics["near"] == pytest.approx(1 / (found.variables["x"] - 1))
    assert "near has no value" in found.certificate


def test_so_it_is_along_a_sweep_and_on_a_front() -> None:
    source = {**asked("x", decide=TWO), "define": {**FLAT, "other": "4 / y + x / 100"}}
    sweep = {"ends": {"path": "decide.y.max", "values": [2, 3]}}
    swept = dse.sweep({**source, "sweep": sweep}, progress=False)
    assert swept["status"].values.tolist() == [STATUS_CODES[Status.OPTIMAL]] * 2
    front = dse.front({**source, "objective": {"minimize": ["goal", "other"]}}, points=3, progress=False)
    assert set(front["status"].values.tolist()) == {STATUS_CODES[Status.OPTIMAL]}
    assert bool((front["near"] > 0).all())


def test_a_pole_on_a_bound_that_a_minimum_passes_over_leaves_a_best_design() -> None:
    """At x = 1 the part 1/(x - 1)**2 has no value, and the least of it and of x would be x; the best is next to it."""
    question = asked(
        "x", define={"goal": "x", "capped": "minimum(1 / (x - 1)**2, x)"}, limits={"capped": {"max": 7}}
    )
    found = dse.solve(question)
    assert found.status is Status.OPTIMAL
    assert 1 < found.variables["x"] <= 1 + 1e-6
    assert (
        dse.evaluate({**question, "given": {**question["given"], **found.variables}, "decide": {}})
        is not None
    )
