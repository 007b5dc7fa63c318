"""Which of two quantities is the larger, as a number: on floats, arrays, intervals, symbols and Pyomo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulations.pyomo_models.pyomo_model  # noqa: F401  (teaches the helpers what a Pyomo expression is)
from dse.models.arithmetic import maximum, reaches
from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.posynomial import NotPosynomial, Refused, symbol
from formulations.arithmetics.slopes import Slope
from formulations.problem import formulate
from formulations.pyomo_models.log_program import log_program
from formulations.pyomo_models.model_files import write
from scenarios import load
from scenarios.questions import question

NUMBERS = st.floats(0.1, 10.0)


@settings(max_examples=100, deadline=None)
@given(st.lists(NUMBERS, min_size=2, max_size=2), st.lists(NUMBERS, min_size=2, max_size=2), NUMBERS, NUMBERS)
def test_intervals_hold_every_answer(a: list[float], b: list[float], s: float, t: float):
    """Whatever the two numbers are inside their intervals, the step of them lies in the step of the intervals."""
    (a0, a1), (b0, b1) = sorted(a), sorted(b)
    x, y = min(max(s, a0), a1), min(max(t, b0), b1)
    found = reaches(Interval(a0, a1), Interval(b0, b1))
    assert found.lo <= reaches(x, y) <= found.hi
    assert found.lo in (0.0, 1.0)
    assert found.hi in (0.0, 1.0)


def test_equal_numbers_reach_each_other():
    assert reaches(2.0, 2.0) == 1.0
    np.testing.assert_array_equal(reaches(np.array([1.0, 2.0, 3.0]), 2.0), [0.0, 1.0, 1.0])


def test_rounding_decides_no_step():
    """Three tenths are 0.3, and a part of a size that is just the other size reaches it, on intervals as well."""
    assert reaches(3 * 0.1, 0.3) == reaches(0.3, 3 * 0.1) == 1.0
    assert reaches(-0.3, -3 * 0.1) == reaches(-3 * 0.1, -0.3) == 1.0
    assert reaches(0.3 * (1 - 1e-9), 0.3) == 0.0
    np.testing.assert_array_equal(reaches(np.inf, np.array([np.inf, 1.0])), [1.0, 1.0])
    (x,) = Slope.inputs(*np.full((3, 1, 1), 2.0))
    found = reaches(2097152.0 / x, 1048576.0)
    assert found.value.lo == found.value.hi == 1.0


def test_what_no_step_is_left_of_is_flat_even_where_it_is_nothing():
    (x,) = Slope.inputs(np.array([[2.0]]), np.array([[3.0]]), np.array([[4.0]]))
    found = 1.0 - reaches(x, 1.0)
    np.testing.assert_allclose(found.value.hi, 0.0, atol=1e-15)
    np.testing.assert_array_equal([found.slopes[0].lo, found.slopes[0].hi], 0.0)


def test_nothing_moves_along_what_has_one_value():
    """However steep the step along it may be."""
    x, y = Slope.inputs(*(np.array([[0.3, end]]) for end in (1.0, 1.5, 2.0)))
    np.testing.assert_array_equal([x.reach.lo[0], x.reach.hi[0]], 0.0)
    assert y.reach.hi[1] > 0.2


def test_a_step_has_no_slope_only_where_it_may_step():
    (x,) = Slope.inputs(np.array([[1.0], [3.0]]), np.array([[2.0], [4.0]]), np.array([[3.0], [5.0]]))
    found = reaches(x, 2.5)
    np.testing.assert_array_equal(found.value.lo, [0.0, 1.0])
    np.testing.assert_array_equal(found.value.hi, [1.0, 1.0])
    np.testing.assert_array_equal(found.slopes[0].hi, [np.inf, 0.0])
    flipped = reaches(2.5, x)
    np.testing.assert_array_equal(flipped.value.hi, [1.0, 0.0])


def test_symbols_refuse_and_spoil_only_what_they_enter():
    assert isinstance(reaches(symbol("x"), 1.0), Refused)
    assert isinstance(1.0 + reaches(2.0, symbol("x")), Refused)
    assert isinstance(reaches(1.0, Refused("no")), Refused)


def test_pyomo_evaluates_steps_and_maxima_to_the_last_digit():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(initialize=1e-3)
    assert pyo.value(reaches(m.x, 1.0)) == 0.0
    assert pyo.value(reaches(1.0, m.x)) == 1.0
    assert pyo.value(maximum(m.x, 1e20) - 1e20) == 0.0
    assert pyo.value(maximum(m.x, 1e-20)) == 1e-3


ROOFLINE = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e12},
    "decide": {"intensity": {"min": 0.1, "max": 100}},
    "objective": {"minimize": "energy"},
}


def test_a_step_keeps_out_of_log_programs_that_do_not_turn_on_it(tmp_path: Path):
    program = log_program(question(load(ROOFLINE)))
    assert len(program.maxima) == 2
    turning = question(load(ROOFLINE | {"limits": {"regime": {"max": 1}}}))
    with pytest.raises(NotPosynomial, match="step"):
        log_program(turning)
    with pytest.raises(ValueError, match="it depends on a step"):
        write(formulate(turning), tmp_path / "turning.nl", "nl")


def test_the_larger_of_something_and_nothing_is_that_thing():
    """Streaming alone: the time of the flops is zero, which has no logarithm."""
    streaming = {
        "given": {"flops": 0, "bytes": 1e12},
        "decide": {"machine.time_per_byte": {"min": 1e-12, "max": 1e-9}},
    }
    program = log_program(question(load(ROOFLINE | streaming)))
    assert len(program.maxima) == 1
