"""Affine forms and their ratios: the arithmetic that recognises linear and mixed-integer programs.

A model run on :class:`Linear` symbols returns each metric as N/D with N and D affine in its unknowns, or a
:class:`Refused` with the reason. A maximum, a pick from a menu, a difference of picks and an indicator become
atoms of their own, which ``formulations.programs.program`` defines by rows. Nothing about a model is declared by hand.
Coefficients may be those of many points at once (``formulations.arithmetics.many``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from dse.models import arithmetic
from dse.system.records import dataclass
from formulations.arithmetics import many
from formulations.arithmetics.forms import Affine, Differs, Entry, Maximum, Some, number
from formulations.arithmetics.operators import Operators
from formulations.arithmetics.posynomial import DECIDED_EXPONENT, NotPosynomial, Refused, refuses
from scenarios.question import Decision

ONE, NONE = number(1.0), number(0.0)
NO_PRODUCT = "a product of two things that are decided"
DIVIDED_BY_NOTHING = "a division by a quantity that is always 0"


@dataclass(frozen=True, slots=True, eq=False)
class Linear(Operators):
    """numerator/denominator, both affine; the denominator is positive wherever the metric has a meaning."""

    numerator: Affine
    denominator: Affine = ONE

    comparison = "a case that depends on what is decided"
    refusal = NotPosynomial

    @property
    def plain(self) -> bool:
        """Whether it is affine, not a ratio."""
        return self.denominator.is_constant

    @property
    def value(self) -> float | None:
        """Its number where nothing in it is decided."""
        return self.numerator.constant if self.plain and self.numerator.is_constant else None

    def __add__(self, other: Any) -> Any:
        return _add(self, other, 1.0)

    def __sub__(self, other: Any) -> Any:
        return _add(self, other, -1.0)

    def __neg__(self) -> Linear:
        return Linear(self.numerator.times(-1.0), self.denominator)

    def __mul__(self, other: Any) -> Any:
        return _multiply(self, other)

    def __truediv__(self, other: Any) -> Any:
        return _divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _divide(other, self)

    def __pow__(self, power: Any) -> Any:
        own = self.value
        if isinstance(power, Linear | Refused):
            return power if isinstance(power, Refused) else Refused(DECIDED_EXPONENT)
        if own is not None:
            return constant(own**power)
        if power == 0:
            return constant(1.0)
        if power == 1:
            return self
        return _inverse(self) if power == -1 else Refused(f"a decided quantity to the power {power:g}")

    def __rpow__(self, base: Any) -> Any:
        own = self.value
        return Refused(DECIDED_EXPONENT) if own is None else constant(base**own)


@dataclass(frozen=True)
class Product(Refused):
    """The product of two ratios of affine forms: nothing linear, but a method knows how to make it least."""

    factors: tuple[Linear, Linear]

    def _product_times(self, _other: Any = None) -> Refused:
        factor = _constant_value(_other)
        if factor is None:
            return Refused(self.reason)
        first, second = self.factors
        return Product(self.reason, (Linear(first.numerator.times(factor), first.denominator), second))

    def _divided(self, _other: Any = None) -> Refused:
        divisor = _constant_value(_other)
        return Refused(self.reason) if divisor is None else self._product_times(1.0 / divisor)

    __mul__ = __rmul__ = _product_times
    __truediv__ = _divided


arithmetic.at_most.register(Product)(arithmetic.at_most.dispatch(object))


def _constant_value(value: Any) -> float | None:
    read = _operand(value)
    return None if isinstance(read, Refused) else read.value


def constant(value: float) -> Linear:
    """A number as a form."""
    return Linear(number(value))


def symbol(d: Decision) -> Linear:
    """The form of a decided variable: itself, or its allowed values times one entry each."""
    if d.values is None:
        return Linear(Affine({d.name: 1.0}))
    return Linear(Affine({Entry(d.name, k): float(v) for k, v in enumerate(d.values)}))


def linear(value: Any) -> Linear:
    """Read a result of a model's equations; raises NotPosynomial where it is not a ratio of affine forms.

    Where 0 divides on the way to it at every design it raises ZeroDivisionError.
    """
    read = _operand(value)
    if isinstance(read, Refused):
        raise (ZeroDivisionError if read.reason == DIVIDED_BY_NOTHING else NotPosynomial)(read.reason)
    return read


def _operand(value: Any) -> Linear | Refused:
    if type(value) is Linear:
        return value
    if isinstance(value, Product):
        # in whatever is made of it a product is no longer one
        return Refused(value.reason)
    if isinstance(value, Linear | Refused):
        return value
    return constant(value)


def _of_forms(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Let an operation read both sides as forms; what is refused stays refused."""

    @wraps(operation)
    def run(a: Any, b: Any, *more: Any) -> Any:
        left, right = _operand(a), _operand(b)
        if isinstance(left, Refused):
            return left
        return right if isinstance(right, Refused) else operation(left, right, *more)

    return run


def _inverse(x: Linear) -> Linear | Refused:
    if x.numerator.is_constant and many.is_zero(x.numerator.constant):
        return Refused(DIVIDED_BY_NOTHING)
    if x.numerator.is_constant and many.may_be_zero(x.numerator.constant):
        return Refused("a division by what may be 0")
    return _over_constant_denominator(Linear(x.denominator, x.numerator))


def _over_constant_denominator(x: Linear) -> Linear:
    """A constant denominator becomes 1."""
    if not x.denominator.is_constant:
        return x
    return Linear(x.numerator.times(1.0 / x.denominator.constant))


@_of_forms
def _add(a: Linear, b: Linear, sign: float) -> Linear | Refused:
    if a.denominator is ONE and b.denominator is ONE:
        return Linear(a.numerator.plus(b.numerator, sign))
    share = b.denominator.over(a.denominator)
    if share is not None:
        return Linear(a.numerator.plus(b.numerator, sign / share), a.denominator)
    if b.value is not None:
        return Linear(a.numerator.plus(a.denominator, sign * b.value), a.denominator)
    if a.value is not None:
        return Linear(b.numerator.times(sign).plus(b.denominator, a.value), b.denominator)
    return Refused("a sum of ratios with different denominators")


@_of_forms
def _multiply(a: Linear, b: Linear) -> Linear | Refused:
    if 0.0 in (a.value, b.value):
        return constant(0.0)
    if a.denominator is ONE and b.denominator is ONE:
        # a form times a number, as nearly always
        plain = _product_with_constant(a.numerator, b.numerator)
        return Product(NO_PRODUCT, (a, b)) if plain is None else Linear(plain)
    (n1, d2, f1), (n2, d1, f2) = (
        _cancelled(a.numerator, b.denominator),
        _cancelled(b.numerator, a.denominator),
    )
    above, below = _product_with_constant(n1, n2), _product_with_constant(d1, d2)
    if above is None or below is None:
        return Product(NO_PRODUCT, (a, b))
    return _over_constant_denominator(Linear(above.times(f1 * f2), below))


@_of_forms
def _divide(a: Linear, b: Linear) -> Linear | Refused:
    divided: Linear | Refused = _multiply(a, _inverse(b))
    return divided


def _cancelled(above: Affine, below: Affine) -> tuple[Affine, Affine, float]:
    factor = above.over(below)
    return (above, below, 1.0) if factor is None else (ONE, ONE, factor)


def _product_with_constant(a: Affine, b: Affine) -> Affine | None:
    if a.is_constant:
        return b.times(a.constant)
    return a.times(b.constant) if b.is_constant else None


@arithmetic.register_maximum(Linear)
@_of_forms
def _maximum(a: Linear, other: Linear) -> Linear | Refused:
    if a.value is not None and other.value is not None:
        return constant(many.largest([a.value, other.value]))
    a, other = _over_one(a, other), _over_one(other, a)
    share = other.denominator.over(a.denominator)
    if share is None:
        return Refused("a maximum of ratios with different denominators")
    listed = (*_arguments_of_maximum(a.numerator), *_arguments_of_maximum(other.numerator.times(1.0 / share)))
    return Linear(Affine({Maximum(listed): 1.0}), a.denominator)


def _over_one(a: Linear, b: Linear) -> Linear:
    """A number over the denominator of ``b``; anything else as it stands."""
    return a if a.value is None else Linear(b.denominator.times(a.value), b.denominator)


def _arguments_of_maximum(form: Affine) -> tuple[Affine, ...]:
    """The arguments of what is nothing but a maximum, else the form itself: nested maxima are one."""
    if form.constant == 0.0 and len(form.terms) == 1:
        ((atom, c),) = form.terms.items()
        if isinstance(atom, Maximum) and c == 1.0:
            return atom.arguments
    return (form,)


@arithmetic.register_reaches(Linear)
@_of_forms
def _reaches(left: Linear, right: Linear) -> Any:
    if left.value is None or right.value is None:
        return Refused("a case that depends on what is decided")
    return constant(arithmetic.reaches(left.value, right.value))


refuses(
    Linear,
    "a logarithm or exponential of what is decided",
    arithmetic.log.register,
    arithmetic.log2.register,
    arithmetic.exp.register,
)


@arithmetic.pick.register(Linear)
def _pick(which: Linear, values: Sequence[Any]) -> Any:
    if which.value is not None:
        found = values[round(which.value) - 1]
        return found if isinstance(found, Linear | Refused) else constant(found)
    name = picker(which)
    if name is None:
        return Refused("a pick by more than one decided quantity")
    entries = {atom: values[round(c) - 1] for atom, c in which.numerator.terms.items()}
    known = {atom: c.value if isinstance(c, Linear) else c for atom, c in entries.items()}
    if any(c is None or isinstance(c, Refused) for c in known.values()):
        return Refused("a menu with an entry that is decided")
    chosen = {atom: many.number(c) for atom, c in known.items()}
    if not all(many.finite(c) for c in chosen.values()):
        return Refused("a menu with an infinite entry")
    return Linear(Affine({a: c for a, c in chosen.items() if c != 0.0}))


def picker(which: Linear) -> str | None:
    """The decided variable whose pick a form is; None where it is none."""
    names = {atom.name if isinstance(atom, Entry) else None for atom in which.numerator.terms}
    whole = which.plain and which.numerator.constant == 0.0 and len(names) == 1
    return names.pop() if whole else None


@arithmetic.at_least.register(Linear)
def _at_least(value: Linear, bound: Any) -> Any:
    # what is 0 at every design breaks it whatever else is there
    if value.value is not None and value.value == 0.0 and bound > 0:
        return Linear(ONE, NONE)
    return arithmetic.at_least.dispatch(object)(value, bound)


@arithmetic.register_differs(Linear)
@_of_forms
def _differs(a: Linear, other: Linear) -> Linear | Refused:
    if a.value is not None and other.value is not None:
        return constant(float(a.value != other.value))
    for one, two in ((a, other), (other, a)):
        if one.value is not None and picker(two) is not None:
            same = [atom for atom, c in two.numerator.terms.items() if c == one.value]
            return Linear(Affine(dict.fromkeys(same[:1], -1.0), 1.0))
    names = picker(a), picker(other)
    if names[0] is None or names[1] is None:
        return Refused("a difference of what are not picks from a menu")
    return Linear(Affine({Differs(names[0], names[1]): 1.0}))


@arithmetic.some.register(Linear)
def _some(amount: Linear) -> Linear | Refused:
    if amount.value is not None:
        return constant(float(amount.value > arithmetic.AMOUNT_ROUNDING))
    if not amount.plain:
        return Refused("whether there is any of a ratio")
    return Linear(Affine({Some(amount.numerator): 1.0}))


@arithmetic.uneven.register(Linear)
def _uneven(x: Linear) -> Linear | Refused:
    if x.value is None:
        return Refused("whether one number divides another")
    return constant(arithmetic.uneven(x.value))
