"""Exchange rates and knees of fronts whose shape is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.along_fronts.along import exchange_rates, exchanges, knee


@given(st.floats(0.2, 5.0), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_a_power_law_has_its_exponent_as_exchange_rate_whatever_the_units(
    power: float, unit_a: float, unit_b: float
):
    a = np.geomspace(1.0, 100.0, 7)
    rates = exchange_rates(unit_a * a, unit_b * a**-power)
    # logarithms of numbers near 1e6 carry 1e-16 of about 14, over steps of 0.77
    assert rates[:-1] == pytest.approx(np.full(6, -power), rel=1e-12)
    assert np.isnan(rates[-1])


def test_where_nothing_changes_or_a_sign_forbids_logarithms_there_is_no_rate():
    assert np.isnan(exchange_rates([1.0, 1.0, 2.0], [3.0, 2.0, -1.0])).all()
    assert np.isnan(exchanges([1.0, 1.0, 2.0], [3.0, 2.0, -1.0])).all()


def test_a_step_from_zero_or_to_it_has_no_rate():
    """Its logarithm is infinite, and the slope over it was told as 0."""
    for first, second in (([0.0, 1.0], [2.0, 1.0]), ([2.0, 1.0], [0.0, 1.0]), ([1.0, 0.0], [1.0, 2.0])):
        assert np.isnan(exchange_rates(first, second)).all()
        assert np.isnan(exchanges(first, second)).all()


@given(st.floats(1e-3, 1.0), st.floats(1e-3, 0.999))
def test_what_one_percent_brings_is_never_more_than_all_and_never_more_than_the_next_point_has(
    more: float, less: float
):
    (of_first, of_second), last = exchanges([1.0, 1.0 + more], [1.0, 1.0 - less])
    assert -100.0 < of_second < 0.0
    if of_first == 1.0:
        # followed from 1.01 to the next point, the same slope arrives there
        steps = np.log1p(more) / np.log(1.01)
        assert (1.0 + of_second / 100.0) ** steps == pytest.approx(1.0 - less, rel=1e-9)
    else:
        assert [of_first, of_second] == pytest.approx([100.0 * more, -100.0 * less], rel=1e-9)
    assert np.isnan(last).all()


def test_where_the_next_point_is_nearer_than_a_percent_the_step_is_told_however_steep():
    # the second and third designs of the ready front of clocks: 0.082 % more energy, 6.4 % less time
    near, steep, usual, _ = exchanges([94.618, 94.6956, 94.9, 100.0], [7.857, 7.354, 5.5, 5.0])
    assert near == pytest.approx([0.082, -6.4], rel=1e-2)
    assert steep == pytest.approx([0.2158, -25.21], rel=1e-3)
    assert usual == pytest.approx([1.0, 100.0 * (1.01 ** (np.log(5.0 / 5.5) / np.log(100.0 / 94.9)) - 1.0)])


def test_the_knee_is_the_corner():
    # in logarithms the corner (1, 1) of an L is farthest from the line between its ends
    a, b = [1.0, 1.0, 1.0, 10.0, 100.0], [100.0, 10.0, 1.0, 1.0, 1.0]
    assert knee(a, b) == 2


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0, 2.0], [2.0, 1.0]),
        ([1.0, 10.0, 100.0], [100.0, 10.0, 1.0]),
        ([1.0, np.nan, 3.0], [3.0, 2.0, 1.0]),
    ],
    ids=["two points", "a straight line in logarithms", "a missing number"],
)
def test_without_a_bend_there_is_no_knee(a: list[float], b: list[float]):
    assert knee(a, b) is None


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_the_knee_does_not_depend_on_units(unit_a: float, unit_b: float):
    a = np.array([1.0, 2.0, 5.0, 20.0, 100.0])
    b = np.array([50.0, 20.0, 4.0, 2.0, 1.0])
    assert knee(a * unit_a, b * unit_b) == knee(a, b)


def test_no_knee_is_marked_on_what_a_picture_shows_as_straight():
    a = np.linspace(1.0, 9.0, 30)
    assert knee(a, 10.0 - a) is None, "straight as it is"
    assert knee(a, 1.0 / a) is None, "straight in logarithms"
    assert knee(a, 1.0 / a**2 + 0.1) is not None
