"""Intervals hold every value, and slopes every rate of change, whatever the equations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_questions import fft, nbody

from dse.models import arithmetic
from formulations import evaluation
from formulations.arithmetics import intervals
from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.slopes import Slope, work_out
from scenarios.question import Question

NUMBERS = st.floats(-1e3, 1e3).map(lambda x: round(x, 6))
SHARES = st.floats(0, 1)


def inside(x: Interval, value: float) -> bool:
    return bool(x.lo <= value <= x.hi)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, SHARES, SHARES)
def test_sums_products_and_quotients_hold_every_value(
    a: float, b: float, c: float, d: float, s: float, t: float
) -> None:
    x, y = Interval(min(a, b), max(a, b)), Interval(min(c, d), max(c, d))
    p = float(np.clip(x.lo + s * (x.hi - x.lo), x.lo, x.hi))
    q = float(np.clip(y.lo + t * (y.hi - y.lo), y.lo, y.hi))
    assert inside(x + y, p + q)
    assert inside(x - y, p - q)
    assert inside(x * y, p * q)
    assert inside(arithmetic.maximum(x, y), max(p, q))
    if q != 0:
        assert inside(x / y, p / q)
    for e in (2, 3):
        assert inside(x**e, p**e)


@given(st.floats(1e-6, 1e6), st.floats(1, 1e3), SHARES, st.sampled_from([0.5, -1.5, 2 / 3, -2, 2.8073549]))
def test_powers_and_logarithms_of_positive_intervals_hold_every_value(
    low: float, width: float, s: float, e: float
) -> None:
    x = Interval(low, low * width)
    p = float(np.clip(low * width**s, x.lo, x.hi))
    assert inside(x**e, p**e)
    assert inside(arithmetic.log(x), math.log(p))
    assert inside(arithmetic.exp(arithmetic.log(x)), p)


@given(st.floats(1e-6, 1e6), st.floats(0, 1e3))
def test_a_sum_that_is_exactly_zero_is_not_rounded(x: float, more: float) -> None:
    """A sum of floats is 0 only where it is exactly 0: what is divided by it has one sign beside it."""
    above = Interval(x, x + more) + -x
    below = Interval(x - more, x) + -x
    assert above.lo == 0.0 <= above.hi
    assert below.lo <= 0.0 == below.hi


def test_many_numbers_are_rounded_as_few_are() -> None:
    """Both ways of rounding outwards give the next float, also at zeros, infinities and the ends of each binade."""
    edges = np.array([0.0, 5e-324, 2.0**-1022, 1.0, 2.0, np.finfo(float).max, np.inf, np.nan])
    dice = np.random.default_rng(0)
    some = dice.normal(size=intervals.MANY) * 2.0 ** dice.integers(-1074, 1000, intervals.MANY)
    every = np.concatenate([edges, -edges, some])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(intervals.above(every), np.nextafter(every, np.inf))
        np.testing.assert_array_equal(intervals.towards_zero(np.abs(every)), np.nextafter(np.abs(every), 0.0))
        for sign in (1.0, -1.0):
            many, other = Interval.of(sign * np.abs(some)), Interval.of(np.abs(some[::-1]))
            found = many + other
            np.testing.assert_array_equal(found.hi, np.nextafter(many.hi + other.hi, np.inf))
            np.testing.assert_array_equal(
                found.lo, np.nextafter(many.lo + other.lo, 0.0 if sign > 0 else -np.inf)
            )


def test_a_quotient_by_an_interval_around_zero_is_all_numbers() -> None:
    found = Interval(1.0, 2.0) / Interval(-1.0, 1.0)
    assert found.lo == -np.inf
    assert found.hi == np.inf


def test_a_comparison_of_intervals_is_refused() -> None:
    with pytest.raises(TypeError, match="no single answer"):
        assert Interval(1.0, 2.0) < 3.0


QUESTIONS = [fft("energy_delay"), fft("time", exchange="naive"), nbody("power", time=(None, 1.0))]


@pytest.mark.parametrize("question", QUESTIONS, ids=["fft tree", "fft naive", "nbody"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_model_run_on_a_box_holds_its_values_and_slopes_inside(
    question: Question, data: st.DataObject
) -> None:
    names = [d.name for d in question.decide]
    low = np.array([data.draw(st.floats(1.5, 1e4)) for _ in names])
    high = low * np.array([data.draw(st.floats(1, 100)) for _ in names])
    x = np.clip(low * (high / low) ** np.array([data.draw(SHARES) for _ in names]), low, high)
    box = evaluation.metrics(
        question,
        dict(zip(names, Slope.inputs(low[None], np.sqrt(low * high)[None], high[None]), strict=True)),
    )
    at = evaluation.metrics(question, dict(zip(names, x, strict=True)))
    step = 1e-6
    for j, name in enumerate(names):
        near = evaluation.metrics(question, {**dict(zip(names, x, strict=True)), name: x[j] * math.exp(step)})
        for metric, found in box.items():
            if not isinstance(found, Slope):
                continue
            assert inside(found.value, at[metric]), metric
            rate = (math.log(near[metric]) - math.log(at[metric])) / step
            # a difference quotient is good to about 1e-9 / step + step
            assert found.slopes[j].lo - 2e-3 <= rate <= found.slopes[j].hi + 2e-3, (metric, name)


def test_slopes_of_products_are_exact_where_plain_intervals_lose_everything() -> None:
    (p,) = Slope.inputs(np.array([[1.0]]), np.array([[1e3]]), np.array([[1e6]]))
    found = p * (7.0 / p)
    assert found.slopes[0].lo == pytest.approx(0, abs=1e-12)
    assert found.slopes[0].hi == pytest.approx(0, abs=1e-12)
    assert found.value.hi > 1e6


def test_what_equations_ask_of_an_input_again_is_worked_out_once():
    """Four measured products take the same powers of their rows."""
    (x,) = Slope.inputs(np.array([[1.0]]), np.array([[2.0]]), np.array([[4.0]]))
    assert (x / 3.0) ** 0.3 is (x / 3.0) ** 0.3
    assert (x / 3.0) ** 0.3 is not (x / 3.0) ** 0.4
    assert x / 3.0 is not x / 4.0
    assert inside((x**2.0).value, 16.0)


def test_an_exponential_beyond_the_largest_number_is_at_least_that() -> None:
    found = intervals.exp(Interval(np.array([1.0, 1e6]), np.array([2.0, 1e9])))
    assert inside(Interval(found.lo[0], found.hi[0]), math.exp(1.5))
    assert found.lo[1] == np.finfo(float).max
    assert found.hi[1] == np.inf


def test_quantities_that_nobody_asks_for_are_not_worked_out():
    """A search needs a few of a model's metrics; what several of these need is worked out once."""
    (x,) = Slope.inputs(np.array([[1.0]]), np.array([[2.0]]), np.array([[4.0]]))
    asked: list[str] = []

    def noted(name: str) -> Slope:
        return Slope(lambda a: asked.append(name) or (a.at, a.slopes), x.reach, x)

    shared, other = noted("shared"), noted("other")
    wanted = [shared * 2.0 + 1.0, shared * shared]
    unwanted = other + shared
    assert not asked
    work_out(wanted)
    assert asked == ["shared"]
    assert float(unwanted.value.hi[0]) == pytest.approx(8.0)
    assert "other" in asked
    assert [float(s.value.hi[0]) for s in wanted] == pytest.approx([9.0, 16.0])


def test_a_sum_of_thousands_of_terms_is_worked_out():
    (x,) = Slope.inputs(np.array([[1.0]]), np.array([[2.0]]), np.array([[4.0]]))
    total = sum((x for _ in range(5000)), start=x)
    assert float(total.value.hi[0]) == pytest.approx(5001 * 4.0)
    assert float(np.max(total.slopes[0].hi)) == pytest.approx(1.0)
