"""Forms that users write: what they mean, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.fitting import FittingError
from dse.fitting.behaviours.forms import parse, sum_of

COLUMNS = ("m", "n", "k")


def terms(text: str) -> list[tuple[float, str, dict[str, float], int]]:
    return [(t.factor, t.coefficient, dict(t.exponents), t.group) for t in parse(text, COLUMNS).terms]


def test_a_sum_is_multiplied_out_and_terms_share_their_coefficient():
    assert terms("a + b * m * n * k + c * (m * k + 2 * k * n)") == [
        (1.0, "a", {}, 0),
        (1.0, "b", {"m": 1, "n": 1, "k": 1}, 0),
        (1.0, "c", {"m": 1, "k": 1}, 0),
        (2.0, "c", {"k": 1, "n": 1}, 0),
    ]
    assert parse("a + b * m * n * k", COLUMNS).coefficients == ("a", "b")


def test_powers_quotients_and_numbers():
    assert terms("a * m^2 / n ** 0.5 * k^(-1/2)") == [(1.0, "a", {"m": 2, "n": -0.5, "k": -0.5}, 0)]
    assert terms("1e3 * a / (4 * m) * n * k") == [(250.0, "a", {"m": -1, "n": 1, "k": 1}, 0)]


def test_a_maximum_has_a_group_for_each_argument():
    found = parse("a + max(b * m, c * n + d * k)", COLUMNS)
    assert found.form == "max"
    assert [(t.coefficient, t.group) for t in found.terms] == [("a", 0), ("b", 1), ("c", 2), ("d", 2)]
    assert parse("softmax(b * m, c * n * k)", COLUMNS).form == "softmax"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a - b * m * n * k", "cannot contain a minus"),
        ("a + b * m * n", "does not use k"),
        ("a + m * n * k", "has no coefficient to be fitted: write a * m * n * k"),
        ("a * b * m * n * k", "one coefficient for each term"),
        (
            "a + b * size * m * n * k",
            "one coefficient for each term; every name that is not among --of is a coefficient",
        ),
        ("a + b * m * n * k / size", "size cannot be divided by; every name that is not among --of"),
        ("a * (m + n)^2 * k", "a sum cannot be raised"),
        ("a / (m + n) * k", "a sum cannot be divided by"),
        ("a^2 * m * n * k", "coefficient a cannot be raised"),
        ("a + max(b * m, max(c * n, d * k))", "one max or softmax only"),
        ("m * max(b * m, c * n * k)", "can be added to other terms, not multiplied"),
        ("max(b * m * n * k)", "at least two arguments"),
        ("a + b * m * n * k)", "')' is one too many"),
        ("a + maximum(b * m, c * n * k)", "there is no function maximum: write max(…, …)"),
        ("sqrt(a) * m * n * k", "there is no function sqrt"),
        ("a * k * m(n + 1)", "a factor is missing between them: write m * ( … )"),
        ("a + b * (m * n * k", "')' is missing at the end"),
        ("a + b * m * n * k ^ m", "an exponent is a number"),
        ("a + b * m * n * k ^ 99", "between -30 and 30"),
        ("a + ; import os", "cannot be read"),
        ("", "something is missing"),
        ("a * __import__('os') * m * n * k", "cannot be read"),
        ("(" * 50 + "a", "nests more than"),
        ("a * " + " * ".join(["(m + n + k + m * n)"] * 8), "more than 100 terms"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str):
    with pytest.raises(FittingError) as caught:
        parse(text, COLUMNS)
    assert said in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="amnk+-*/^(). 123,max", max_size=40))
def test_any_text_is_read_or_refused(text: str):
    try:
        found = parse(text, COLUMNS)
    except FittingError:
        return
    assert found.terms
    assert all(t.coefficient and t.factor > 0 for t in found.terms)


def test_a_quantity_that_follows_has_numbers_for_coefficients():
    (t,) = sum_of("2 * m * n * k / latency", (*COLUMNS, "latency"))
    assert (t.factor, dict(t.exponents)) == (2.0, {"m": 1, "n": 1, "k": 1, "latency": -1})
    with pytest.raises(FittingError, match="there is no q"):
        sum_of("2 * q", COLUMNS)
