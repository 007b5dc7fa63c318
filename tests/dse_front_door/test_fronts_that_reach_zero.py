"""Fronts of objectives that are 0 at an end, where limits hold within a part of what cancels."""

import numpy as np
import pytest

import dse
from results.along_fronts.along import knee


def asked(first: str, second: str, decide: tuple[str, ...] = ("x",), side: str = "minimize") -> dict:
    return {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 4},
        "decide": {n: {"min": 1, "max": 5} for n in decide},
        "define": {"p1": first, "p2": second},
        "objective": {side: ["p1", "p2"]},
    }


def test_the_end_of_an_objective_that_can_be_zero_is_its_best_design() -> None:
    front = dse.front(asked("x - 3", "(x - 2)**2"), points=5)
    assert set(front["status"].values) == {1}
    assert float(front["p2"][-1]) == 0.0
    assert float(front["p1"][-1]) == pytest.approx(-1.0, abs=1e-12)


def test_points_are_spread_evenly_where_an_objective_ends_at_zero() -> None:
    """Every step is about as long: none is spent on the last tenths of a percent before 0."""
    front = dse.front(asked("x - 3", "(x - 2)**2"), points=5)
    steps = np.hypot(np.diff(np.log(-front["p1"].values) / np.log(2.0)), np.diff(front["p2"].values))
    assert steps.max() < 1.6 * steps.min()


def test_of_designs_that_reach_zero_the_end_is_the_best_for_the_other() -> None:
    front = dse.front(asked("1 / x", "maximum(0, x - 3)"), points=4)
    assert set(front["status"].values) == {1}
    assert float(front["p2"][-1]) == pytest.approx(0.0, abs=1e-14)
    assert float(front["x"][-1]) == pytest.approx(3.0, rel=1e-7)


def test_the_scale_of_a_front_is_even_where_slack_alone_keeps_an_end_from_zero() -> None:
    """What is proved of the end in two numbers that are as good all along a line takes too long."""
    front = dse.front(asked("1 / x + 1 / y", "maximum(0, x + y - 4)", ("x", "y")), points=5)
    assert front["p2"].values[:-1] == pytest.approx([6.0, 4.3, 2.7, 1.2], rel=0.1)
    assert float(front["p1"][-1]) == pytest.approx(1.0, rel=1e-6)


def test_a_front_between_two_zeros_that_are_left_of_rounding_is_found() -> None:
    """Each least value is 1 - 1, whose bound is of rounding and says nothing relative to 0."""
    first, second = (f"1 - exp(-((x - {at})**2 + (y - {at})**2))" for at in (2, 4))
    front = dse.front(asked(first, second, ("x", "y")), points=3)
    assert set(front["status"].values) == {1}
    assert front["p1"].values[[0, -1]] == pytest.approx([0.0, 1.0 - np.exp(-8.0)], abs=1e-9)
    assert front["p2"].values[[0, -1]] == pytest.approx([1.0 - np.exp(-8.0), 0.0], abs=1e-9)


def test_a_least_value_of_zero_is_proved_by_intervals_alone() -> None:
    question = asked("1 - exp(-((x - 2)**2 + (y - 2)**2))", "x", ("x", "y"))
    found = dse.solve({**question, "objective": {"minimize": "p1"}})
    assert (found.status.value, found.objective, found.bound) == ("optimal", 0.0, 0.0)
    assert "leave 0, but for rounding" in found.certificate


def test_a_square_that_is_zero_but_for_the_last_bit_of_a_number_is_zero() -> None:
    question = asked("(x - 2.1)**2 + (y - 2.3)**2", "x", ("x", "y"))
    found = dse.solve({**question, "objective": {"minimize": "p1"}})
    assert (found.status.value, found.objective, found.bound) == ("optimal", 0.0, 0.0)
    assert found.solver == "interval branch and bound"


def test_the_knee_of_a_front_that_ends_at_rounding_of_zero_is_not_found_in_logarithms() -> None:
    first = np.linspace(1.0, 2.0, 11)
    second = (2.0 - first) ** 2
    at_zero = knee(first, second)
    second[-1] = 1e-17
    assert knee(first, second) == at_zero
