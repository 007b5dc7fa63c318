"""Whether one number divides another: right on numbers, certain on intervals, refused on symbols."""

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.models.arithmetic import divides, uneven
from dse.quantities import registry
from formulations.arithmetics import posynomial
from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.many import Many
from formulations.arithmetics.slopes import Slope
from formulations.pyomo_models import pyomo_model


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_what_divides_is_at_most_the_whole(part: int, whole: int) -> None:
    ratio = divides(float(part), float(whole))
    assert (ratio <= 1) == (whole % part == 0)
    assert (ratio > 1 + 1e-7) == (whole % part != 0)
    assert divides(np.array([part], float), np.array([whole], float))[0] == ratio
    assert divides(Many(np.array([float(part)])), float(whole)).values[0] == ratio


@given(st.integers(1, 200), st.integers(0, 200), st.integers(1, 500))
def test_intervals_hold_every_case_inside(low: int, more: int, whole: int) -> None:
    box = Interval(np.array([float(low)]), np.array([float(low + more)]))
    found = divides(box, float(whole))
    each = [divides(float(k), float(whole)) for k in range(low, low + more + 1)]
    assert found.lo[0] <= min(each)
    assert max(each) <= found.hi[0]


def test_an_interval_without_a_whole_quotient_breaks_the_limit() -> None:
    assert uneven(Interval(np.array([2.1, 2.1]), np.array([2.9, 3.0]))).lo.tolist() == [1.0, 0.0]
    inside = Slope.inputs(np.array([[33.0]]), np.array([[40.0]]), np.array([[60.0]]))[0]
    # 64 over 33 to 60 is 1.07 to 1.94
    assert divides(inside, 64.0).value.lo[0] > 1.0
    assert (
        divides(Slope.inputs(np.array([[30.0]]), np.array([[31.0]]), np.array([[60.0]]))[0], 64.0).value.lo[0]
        < 1
    )


def test_units_do_not_hinder() -> None:
    ureg: Any = registry()
    assert uneven(ureg.Quantity(6.0, "byte") / ureg.Quantity(2.0, "byte")) == 0.0
    assert uneven(ureg.Quantity(7.0, "byte") / ureg.Quantity(2.0, "byte")) == 1.0


def test_symbols_say_why_they_cannot() -> None:
    with pytest.raises(posynomial.NotPosynomial, match="whether one number divides another"):
        posynomial.ratio(divides(posynomial.symbol("t"), 64.0))


@given(st.integers(1, 500), st.integers(1, 5000))
def test_formulas_of_pyomo_have_the_same_value(part: int, whole: int) -> None:
    assert pyomo_model, "it says what helpers mean on expressions of Pyomo"
    m = pyo.ConcreteModel()
    m.t = pyo.Var(initialize=float(part))
    assert pyo.value(divides(m.t, float(whole))) == pytest.approx(divides(float(part), float(whole)))
