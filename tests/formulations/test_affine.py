"""Affine arithmetic is the model's own arithmetic: the same numbers at every point, and honest where it ends."""

import math
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.models.arithmetic import differs, exp, log, maximum, per, pick, reaches, some
from formulations.arithmetics.affine import Linear, constant, linear, picker, symbol
from formulations.arithmetics.forms import Affine, Differs, Entry, Maximum, Some, atoms, number
from formulations.arithmetics.posynomial import NotPosynomial, Refused
from scenarios.question import Decision

MENU = (1.0, 2.0, 3.0, 4.0)
X, Y = Decision("x"), Decision("y")
A, B = (Decision(n, integer=True, values=MENU) for n in "ab")
DECIDED = {"x": X, "y": Y, "a": A, "b": B}
REAL = st.floats(-8.0, 8.0).map(lambda v: round(v, 3))


def at(form: Affine, point: Mapping[str, float]) -> float:
    """The value of a form at a point, each atom by what its name promises."""
    return form.constant + sum(c * atom_at(atom, point) for atom, c in form.terms.items())


def atom_at(atom: Any, point: Mapping[str, float]) -> float:
    match atom:
        case str():
            return point[atom]
        case Entry(name, place):
            return float(point[name] == MENU[place])
        case Differs(one, other):
            return float(point[one] != point[other])
        case Maximum(arguments):
            return max(at(f, point) for f in arguments)
        case Some(inner):
            return float(at(inner, point) > 1e-9)
    raise AssertionError(atom)


def value(x: Any, point: Mapping[str, float]) -> float:
    r = linear(x)
    return at(r.numerator, point) / at(r.denominator, point)


def form() -> st.SearchStrategy[Callable[[Any], Any]]:
    """Functions that only use what an affine model may use."""
    leaves: st.SearchStrategy[Callable[[Any], Any]] = st.one_of(
        st.sampled_from([lambda g: g.x, lambda g: g.y, lambda g: 2.0 * g.x + g.y]),
        REAL.map(lambda c: lambda g: c + 0.0 * g.x),
        st.lists(REAL, min_size=4, max_size=4).flatmap(
            lambda v: st.sampled_from([lambda g: pick(g.a, v), lambda g: pick(g.b, v)])
        ),
        st.just(lambda g: differs(g.a, g.b)),
        st.just(lambda g: differs(g.b, 2.0)),
        st.sampled_from([lambda g: some(g.x), lambda g: some(g.x + 2.0 * g.y)]),
    )

    def more(inner: st.SearchStrategy[Callable[[Any], Any]]) -> st.SearchStrategy[Callable[[Any], Any]]:
        two = st.tuples(inner, inner)
        return st.one_of(
            two.map(lambda p: lambda g: p[0](g) + p[1](g)),
            two.map(lambda p: lambda g: p[0](g) - p[1](g)),
            two.map(lambda p: lambda g: maximum(p[0](g), p[1](g))),
            st.tuples(inner, REAL).map(lambda p: lambda g: p[1] * p[0](g)),
            st.tuples(inner, REAL.filter(bool)).map(lambda p: lambda g: p[0](g) / p[1]),
            inner.map(lambda f: lambda g: -f(g)),
        )

    return st.recursive(leaves, more, max_leaves=12)


POINT = st.fixed_dictionaries(
    {
        "x": st.just(0.0) | st.floats(1e-3, 10.0),
        "y": st.just(0.0) | st.floats(1e-3, 10.0),
        "a": st.sampled_from(MENU),
        "b": st.sampled_from(MENU),
    }
)


def symbols() -> SimpleNamespace:
    return SimpleNamespace(**{n: symbol(d) for n, d in DECIDED.items()})


@settings(max_examples=150, deadline=None)
@given(f=form(), point=POINT)
def test_a_form_is_what_the_function_gives_on_floats(
    f: Callable[[Any], Any], point: dict[str, float]
) -> None:
    floats = float(f(SimpleNamespace(**point)))
    assert value(f(symbols()), point) == pytest.approx(floats, rel=1e-9, abs=1e-7)


@settings(max_examples=100, deadline=None)
@given(f=form(), g=form(), point=POINT, c=REAL)
def test_ratios_add_scale_invert_and_take_maxima(
    f: Callable[[Any], Any], g: Callable[[Any], Any], point: dict[str, float], c: float
) -> None:
    """time = W/rate and energy = (...)/rate share their denominator, and power = energy/time loses it."""

    def both(s: Any) -> list[Any]:
        rate = 3.0 + 2.0 * s.x + pick(s.a, (1.0, 2.0, 5.0, 7.0))
        time, energy = per(4.0, rate), per(f(s), rate)
        return [
            energy,
            energy + c,
            c - energy,
            energy + 2.0 * time,
            energy - per(g(s), rate),
            per(energy, time),
            per(1.0, time),
            maximum(energy, time),
            maximum(c * time, energy, per(g(s), rate)),
            energy * rate,
            c * energy,
        ]

    for symbolic, plain in zip(both(symbols()), both(SimpleNamespace(**point)), strict=True):
        assert value(symbolic, point) == pytest.approx(float(plain), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda g: g.x * g.y, "a product of two things that are decided"),
        (lambda g: (g.x + 1.0) * pick(g.a, MENU), "a product of two things that are decided"),
        (lambda g: g.x / g.y + 1.0 / g.x, "a sum of ratios with different denominators"),
        (lambda g: maximum(g.x / g.y, 1.0 / g.x), "a maximum of ratios with different denominators"),
        (lambda g: g.x**0.5, "a decided quantity to the power 0.5"),
        (lambda g: 2.0**g.x, "a power with a decided exponent"),
        (lambda g: log(g.x) + exp(g.y), "a logarithm or exponential of what is decided"),
        (lambda g: reaches(g.x, 1.0), "a case that depends on what is decided"),
        (lambda g: pick(g.x, MENU), "a pick by more than one decided quantity"),
        (lambda g: pick(g.a + g.b, MENU), "a pick by more than one decided quantity"),
        (lambda g: pick(g.a, (1.0, math.inf, 1.0, 1.0)), "a menu with an infinite entry"),
        (lambda g: differs(g.x, g.y), "a difference of what are not picks from a menu"),
        (lambda g: differs(g.x, 1.0), "a difference of what are not picks from a menu"),
        (lambda g: some(1.0 / (g.x + 1.0)), "whether there is any of a ratio"),
    ],
)
def test_what_is_not_affine_is_refused_with_its_reason(refused: Callable[[Any], Any], reason: str) -> None:
    found = refused(symbols())
    assert isinstance(found, Refused)
    assert found.reason == reason
    with pytest.raises(NotPosynomial, match=re.escape(reason)):
        linear(found)


@pytest.mark.parametrize("op", [lambda r, s: r + s, lambda r, s: s * r, lambda r, s: maximum(s, r)])
def test_a_refusal_stays_one_in_whatever_is_made_of_it(op: Callable[[Any, Any], Any]) -> None:
    g = symbols()
    assert isinstance(op(g.x * g.y, g.x), Refused)
    for helper in (lambda r: pick(r, MENU), some, lambda r: differs(r, g.a), lambda r: reaches(r, 1.0)):
        assert isinstance(helper(g.x * g.y), Refused)


def test_a_branch_in_the_equations_is_no_answer() -> None:
    with pytest.raises(NotPosynomial, match="case that depends"):
        bool(symbol(X) < 1.0)


def test_what_is_always_nothing_divides_by_zero_where_it_is_asked_for() -> None:
    divided = per(1.0, 0.0 * symbol(X)) + 1.0
    assert isinstance(divided, Refused)
    with pytest.raises(ZeroDivisionError):
        linear(divided)


def test_numbers_stay_numbers() -> None:
    c = constant(4.0)
    assert (c**0.5).value == 2.0
    assert (2.0**c).value == 16.0
    assert maximum(c, 3.0).value == 4.0
    assert pick(constant(2.0), (5.0, 6.0)).value == 6.0
    assert differs(c, 4.0).value == 0.0
    assert some(constant(1e-10)).value == 0.0
    assert reaches(c, 4.0).value == 1.0
    assert (symbol(X) * 0.0).value == 0.0
    assert (symbol(X) ** 1).numerator.terms == {"x": 1.0}
    assert (symbol(X) ** 0).value == 1.0


def test_nested_maxima_are_one_and_the_same_maximum_cancels() -> None:
    x, y = symbol(X), symbol(Y)
    inner = maximum(x, y)
    (outer,) = maximum(inner, 2.0 * x).numerator.terms
    assert isinstance(outer, Maximum)
    assert len(outer.arguments) == 3
    assert (inner - inner).value == 0.0
    assert ((3.0 * inner) / inner).value == pytest.approx(3.0)


def test_atoms_come_once_each_and_inner_ones_first() -> None:
    x, y = symbol(X), symbol(Y)
    link = some(maximum(x - y, y - x))
    total = maximum(2.0 * link + x, y)
    found = atoms([total.numerator, (total + link).numerator])
    assert [type(a).__name__ for a in found] == ["str", "str", "Maximum", "Some", "Maximum"]
    for i, atom in enumerate(found):
        inner = (
            atom.arguments if isinstance(atom, Maximum) else (atom.amount,) if isinstance(atom, Some) else ()
        )
        assert all(found.index(a) < i for f in inner for a in f.terms)


@given(c=st.floats(1e-9, 1e9), k=st.floats(1e-6, 1e6))
def test_a_multiple_is_known_with_its_factor(c: float, k: float) -> None:
    base = Affine({"x": c, "y": 2.0}, 1.0)
    assert base.times(k).over(base) == pytest.approx(k, rel=1e-13)
    assert base.plus(number(1.0)).over(base) is None
    assert Affine({"x": c}).over(base) is None


def test_pickers_are_the_plain_picks_only() -> None:
    g = symbols()
    assert picker(g.a) == "a"
    assert picker(g.a + 1.0) is None
    assert picker(g.x) is None
    assert isinstance(g.a, Linear)
