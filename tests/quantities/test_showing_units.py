"""SI numbers shown for people can be read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.quantities import show, to_si
from results import axes


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12300.0, "W", "12.3 kW"),
        (75e9, "flop/J", "75 GFLOPS/W"),
        (3.968e11, "flop/s", "396.8 GFLOPS"),
        (1.5e-4, "s", "150 µs"),
        (3600.0, "s", "3600 s"),
        (99_999.0, "s", "99999 s"),
        (2_592_000.0, "s", "30 day"),
        (0.622657, "USD", "0.622657 USD"),
        (1.29453e6, "USD", "1.29453 MUSD"),
        (-3.57316e6, "s", "-41.356 day"),
        (1.5e8, "s", "4.75321 yr"),
        (2.0**32, "word", "4.29497 Gword"),
        (999.9999, "W", "1 kW"),
        (999.999, "W", "999.999 W"),
        (1.44355e-9, "W/word", "1.44355 nW/word"),
        (-3e-6, "J", "-3 µJ"),
        (0.0, "s", "0 s"),
        (65536.0, "", "65536"),
        (663.900414938, "", "663.9"),
        (2.5, "byte", "2.5 B"),
        (3.27884e-28, "J/flop", "3.27884e-28 J/flop"),
        (1e-27, "W/word", "1e-27 W/word"),
        (1e-12, "s", "1 ps"),
        (9.9e-13, "s", "990 fs"),
        (2.5e20, "flop", "250 Eflop"),
        (2.5e21, "flop", "2.5e+21 flop"),
        (5.24e-3, "message", "0.00524 message"),
        (0.5, "word", "0.5 word"),
        (0.2 / 3.6e6, "USD/J", "0.2 USD/kWh"),
        (4.14e-8, "USD/J", "0.14904 USD/kWh"),
        (1e-7, "kg/J", "360 g/kWh"),
    ],
)
def test_numbers_are_shown_with_a_fitting_prefix(value: float, unit: str, text: str):
    assert show(value, unit) == text


@pytest.mark.parametrize(("value", "text"), [(1000.0, "1000 s"), (86_412.0, "86400 s"), (-7260.0, "-7260 s")])
def test_seconds_below_a_day_have_no_powers_of_ten_in_few_digits(value: float, text: str):
    assert show(value, "s", 3) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (5.0, "1/s", "5 1/s"),
        (2.5e4, "1/s", "25000 1/s"),
        (2.5e4, "Hz", "25 kHz"),
        (1.0 / 3.6e12, "failure/s", "1 FIT"),
        (2.5e4 / 3.6e12, "failure/s", "25 kFIT"),
    ],
)
def test_only_a_declared_failure_rate_is_shown_in_fit(value: float, unit: str, text: str):
    """One FIT is one failure in 1e9 hours; a rate of anything else keeps the unit of its own."""
    assert show(value, unit) == text


def test_the_axis_of_a_picture_counts_failures_in_fit_too():
    """The factor of an axis is that of the text, which is not a power of ten for a failure rate."""
    assert axes.prefix_of([0.1 / 3.6e6, 0.2 / 3.6e6], "USD/J") == (pytest.approx(3.6e6), "USD/kWh")
    assert axes.prefix_of([0.4 / 3.6e6], "kg/J") == (pytest.approx(3.6e9), "g/kWh")
    rates = [5e3 / 3.6e12, 25e3 / 3.6e12]
    factor, unit = axes.prefix_of(rates, "failure/s")
    assert unit == "kFIT"
    # a factor of two roundings, from a number shown to 15 digits
    assert [r * factor for r in rates] == pytest.approx([5.0, 25.0], rel=1e-14)
    assert axes.prefix_of([5.0, 2e4], "1/s") == (1.0, "1/s")


@given(
    st.floats(1e-28, 1e28),
    st.sampled_from(["s", "J", "W", "flop", "word", "flop/s", "flop/J", "J*s", "1/s", "Hz", "failure/s", ""]),
)
def test_what_is_shown_can_be_read_again(value: float, unit: str):
    # six digits are shown
    assert to_si(show(value, unit), unit) == pytest.approx(value, rel=1e-5)


@given(st.floats(1e-25, 1e25))
def test_seventeen_digits_lose_nothing_but_rounding(value: float):
    assert to_si(show(value, "W", digits=17), "W") == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.14e-4, "814 mm^2"),
        (1e-9, "0.001 mm^2"),
        (0.0, "0 m^2"),
        (0.5, "0.5 m^2"),
        (7.0e-2, "0.07 m^2"),
        (2e-7, "0.2 mm^2"),
    ],
)
def test_areas_are_in_square_millimetres(value: float, text: str):
    """A prefix before m^2 is squared: 814 µm^2 is no 8.14e-4 m^2."""
    assert show(value, "m^2") == text
    assert to_si(text, "m^2") == pytest.approx(value)
    factor, unit = axes.prefix_of([value], "m^2")
    assert unit in {"mm^2", "m^2"}
    assert value * factor == pytest.approx(float(text.split(maxsplit=1)[0]))


@pytest.mark.parametrize(
    ("seconds", "shown"), [(28.5 * 86_400.0, 28.5), (4.0 * 31_557_600.0, 4.0), (9e4, 9e4)]
)
def test_an_axis_of_long_times_has_the_numbers_of_its_unit(seconds: float, shown: float):
    """Days and years are no power of a thousand: 28.5 days stood at 2.46 of an axis in days."""
    factor, unit = axes.prefix_of([0.1 * seconds, seconds], "s")
    assert unit == {28.5: "day", 4.0: "yr", 9e4: "s"}[shown]
    assert factor * seconds == pytest.approx(shown, rel=1e-12)
