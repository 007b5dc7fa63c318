"""Posynomials and their ratios: the arithmetic that recognises geometric programs.

A model run on :class:`Ratio` symbols returns each metric as N/D with posynomials N and D, or raises
:class:`NotPosynomial` with the reason. Nothing about a model is declared by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any

import numpy as np

from dse.models import arithmetic
from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations.arithmetics.many import Many, one_number, plain
from formulations.arithmetics.operators import Operators

Key = tuple[tuple[str, float], ...]
LEAST_DIVISOR, LARGEST_COEFFICIENT = 1e-300, 1e300
# sums are multiplied out up to here: beyond, the program would be too large to be solved
MOST_MULTIPLIED = 100
MOST_PRODUCTS = 20_000
# what names the larger of two while a model runs (formulations.arithmetics.maxima); where nothing does, it is refused
# (of one alone: what stands for it, so that a power of a sum becomes one of an unknown)
larger: ContextVar[Callable[..., Ratio] | None] = ContextVar("larger", default=None)
# what names the entry that an unknown picks, likewise
picked: ContextVar[Callable[[Sequence[Ratio]], Ratio] | None] = ContextVar("picked", default=None)


class NotPosynomial(CannotTake):
    """An operation leaves the ratios of posynomials; the text says which."""


@dataclass(frozen=True, slots=True, eq=False)
class Posynomial:
    """sum_j c_j prod_v x_v^e_v with c_j > 0; ``terms`` maps ((name, exponent), ...) to c_j.

    A c_j is a number, or those of many points (``Many``).
    """

    terms: Mapping[Key, Any]

    def __add__(self, other: Posynomial) -> Posynomial:
        total = dict(self.terms)
        for key, c in other.terms.items():
            total[key] = total.get(key, 0.0) + c
        return Posynomial(total)

    def __mul__(self, other: Posynomial) -> Posynomial:
        if self is ONE or other is ONE:
            return other if self is ONE else self
        if len(self.terms) * len(other.terms) > MOST_PRODUCTS:
            raise NotPosynomial(f"a product of sums of {len(self.terms)} and {len(other.terms)} terms")
        total: dict[Key, Any] = {}
        for key, c in self.terms.items():
            for key2, c2 in other.terms.items():
                both = _product_of_keys(key, key2)
                total[both] = total.get(both, 0.0) + c * c2
        return Posynomial(total)

    def power(self, e: float) -> Posynomial:
        """Raise a monomial to any power."""
        ((key, c),) = self.terms.items()
        return self if self is ONE else Posynomial({_key(tuple((v, x * e) for v, x in key)): c**e})

    @property
    def is_monomial(self) -> bool:
        """One term only."""
        return len(self.terms) == 1

    @property
    def is_affine(self) -> bool:
        """Each term is a constant or a multiple of one variable."""
        return all(len(k) == 0 or (len(k) == 1 and k[0][1] == 1.0) for k in self.terms)

    def same_as(self, other: Posynomial) -> bool:
        """Equal term by term; of many points raises Differ where they are at some only."""
        mine, its = self.terms, other.terms
        return mine is its or (
            mine.keys() == its.keys() and all(_same_numbers(c, its[k]) for k, c in mine.items())
        )

    def __call__(self, **values: Any) -> Any:
        """The value at a point, on any arithmetic."""
        total: Any = 0.0
        for key, c in self.terms.items():
            term: Any = c
            for v, e in key:
                term = term * (values[v] if e == 1.0 else values[v] ** e)
            total = total + term
        return total


def _same_numbers(a: Any, b: Any) -> bool:
    # that numbers of many points meet a plain one at some of them changes nothing
    same = a is b or (isinstance(a, Many) == isinstance(b, Many) and a == b)
    return same if isinstance(same, bool) else bool(np.all(same))


def _product_of_keys(a: Key, b: Key) -> Key:
    if not a or not b:
        return a or b
    exponents = dict(a)
    for v, e in b:
        exponents[v] = exponents.get(v, 0.0) + e
    return _key(tuple(sorted(exponents.items())))


def _key(exponents: Key) -> Key:
    """Exponents without those that are 0 but for rounding."""
    return tuple((v, round(e, 15)) for v, e in exponents if abs(e) > 1e-12)


def constant(c: Any) -> Posynomial:
    """A constant; zero is the empty sum. Raises NotPosynomial where an array is zero at some points only."""
    if isinstance(c, Many):
        return Posynomial({(): c} if c > 0 else {})
    if isinstance(c, float) or np.ndim(c) == 0:
        return Posynomial({(): float(c)} if c > 0 else {})
    some = c > 0
    if np.any(some) and not np.all(some):
        raise NotPosynomial("a number that is zero at some points of a grid only")
    return Posynomial({(): c} if np.all(some) else {})


ONE = constant(1.0)
DECIDED_EXPONENT = "a power with a decided exponent"


def linear_row(numerator: Posynomial, denominator: Posynomial) -> tuple[Posynomial, Posynomial]:
    """Return ``numerator <= denominator`` multiplied by one variable where that makes ``c/x <= d`` linear."""
    if set(denominator.terms) == {()} and numerator.is_monomial:
        ((key, c),) = numerator.terms.items()
        if len(key) == 1 and key[0][1] == -1.0:
            return constant(c), Posynomial({((key[0][0], 1.0),): denominator.terms[()]})
    return numerator, denominator


class Closed:
    """Whatever is done to it is refused, for a ``reason``."""

    __slots__ = ()
    reason: str

    def _refusal(self, _other: Any = None) -> Refused:
        return Refused(self.reason)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refusal
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __neg__ = _refusal


@dataclass(frozen=True, slots=True, eq=False)
class Refused(Closed, Operators):
    """What is not a ratio of posynomials, and why; it spoils only the metrics and limits that it enters."""

    reason: str

    def __bool__(self) -> bool:
        raise NotPosynomial(self.reason)


def refuses(kind: type, reason: str, *operations: Callable[[type], Any]) -> None:
    """Refuse what is asked of a kind of numbers by some operations, given as what registers them."""
    for register in operations:
        register(kind)(lambda *_: Refused(reason))


class Apart:
    """Not a ratio of posynomials, but an object that handles it itself (``formulations.arithmetics.differences``)."""

    __slots__ = ()
    reason = "a difference"


def _refusing(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Let an operation that leaves the ratios of posynomials return why instead of raising."""

    @wraps(operation)
    def run(a: Any, b: Any) -> Any:
        if isinstance(b, Refused):
            return b
        if isinstance(b, Apart) and operation.__name__.startswith("__"):
            return NotImplemented
        try:
            return operation(a, b)
        except NotPosynomial as refusal:
            return Refused(str(refusal))

    return run


class Ratio(Operators):
    """N/D with posynomials N and D; D is 1 wherever it can be."""

    __slots__ = ("denominator", "numerator")
    refusal = NotPosynomial

    def __init__(self, numerator: Posynomial, denominator: Posynomial = ONE) -> None:
        if not denominator.terms:
            raise NotPosynomial("a division by zero")
        if denominator.is_monomial:
            numerator, denominator = numerator * denominator.power(-1.0), ONE
        elif numerator.same_as(denominator):
            numerator, denominator = ONE, ONE
        self.numerator, self.denominator = numerator, denominator

    @_refusing
    def __add__(self, other: Any) -> Any:
        b = ratio(other)
        if self.denominator.same_as(b.denominator):
            return Ratio(self.numerator + b.numerator, self.denominator)
        return Ratio(
            self.numerator * b.denominator + b.numerator * self.denominator, self.denominator * b.denominator
        )

    @_refusing
    def __mul__(self, other: Any) -> Any:
        b = ratio(other)
        if b.denominator.same_as(self.numerator):
            return Ratio(b.numerator, self.denominator)
        if self.denominator.same_as(b.numerator):
            return Ratio(self.numerator, b.denominator)
        return Ratio(self.numerator * b.numerator, self.denominator * b.denominator)

    def inverse(self) -> Ratio:
        """D/N; raises NotPosynomial where N is zero."""
        return Ratio(self.denominator, self.numerator)

    @_refusing
    def __truediv__(self, other: Any) -> Any:
        return self * ratio(other).inverse()

    @_refusing
    def __rtruediv__(self, other: Any) -> Any:
        return ratio(other) * self.inverse()

    @_refusing
    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, Ratio):
            raise NotPosynomial(DECIDED_EXPONENT)
        e = one_number(exponent)
        if e < 0:
            return self.inverse() ** -e
        if self.numerator.is_monomial and self.denominator.is_monomial:
            return Ratio(self.numerator.power(e))
        if e != int(e) or e > MOST_MULTIPLIED:
            name = larger.get()
            if name is not None and self.numerator.terms:
                return name(self) ** e
            raise NotPosynomial(f"the power {e:g} of a sum of {len(self.numerator.terms)} terms")
        result = Ratio(ONE)
        for _ in range(int(e)):
            result = result * self
        return result

    def __rpow__(self, _base: Any) -> Refused:
        return Refused(DECIDED_EXPONENT)

    @_refusing
    def __sub__(self, other: Any) -> Any:
        if isinstance(other, int | float) and other <= 0:
            return self + -other
        raise NotPosynomial("a difference")

    @_refusing
    def __rsub__(self, other: Any) -> Any:
        raise NotPosynomial("a difference")

    def __neg__(self) -> Refused:
        return Refused("a negative term")


@dataclass(frozen=True, slots=True, eq=False)
class LogMonomial(Closed):
    """log2 of a monomial: affine in the logarithms of the variables."""

    monomial: Ratio

    @property
    def reason(self) -> str:  # type: ignore[override]
        """Why nothing else is made of it."""
        names = ", ".join(v for v, _ in next(iter(self.monomial.numerator.terms)))
        return f"a logarithm of {names} inside a larger expression"


def symbol(name: str) -> Ratio:
    """The unknown of that name."""
    return Ratio(Posynomial({((name, 1.0),): 1.0}))


def ratio(x: Any) -> Ratio:
    """Any number, or array of them, as a ratio; raises NotPosynomial for negative numbers and logarithms."""
    if isinstance(x, Ratio):
        return x
    if isinstance(x, Closed | Apart):
        raise NotPosynomial(x.reason)
    if isinstance(x, Many):
        if x < 0.0:
            raise NotPosynomial(f"the negative number {x.values.min():g}")
        return Ratio(constant(x))
    # most numbers are plain, and NumPy takes as long as all else
    c = x if isinstance(x, float) else np.asarray(x, dtype=float)
    if not (c >= 0 if isinstance(x, float) else np.all(c >= 0)):
        raise NotPosynomial(f"the negative number {np.min(c):g}")
    return Ratio(constant(c))


refuses(Ratio, "a logarithm or exponential of an unknown", arithmetic.log.register, arithmetic.exp.register)
refuses(Ratio, "which of two unknown quantities is the larger", arithmetic.register_reaches)
refuses(Ratio, "whether one number divides another", arithmetic.uneven.register)


@arithmetic.log.register(Closed)
@arithmetic.exp.register(Closed)
@arithmetic.log2.register(Closed)
@arithmetic.pick.register(Closed)
@arithmetic.some.register(Closed)
@arithmetic.uneven.register(Closed)
@arithmetic.at_most.register(Closed)
@arithmetic.at_least.register(Closed)
@arithmetic.register_maximum(Closed)
@arithmetic.register_minimum(Closed)
@arithmetic.register_reaches(Closed)
@arithmetic.register_differs(Closed)
def _still_refused(*values: Any) -> Refused:
    return Refused(next(x.reason for x in values if isinstance(x, Closed)))


@arithmetic.log2.register(Ratio)
def _log2(x: Ratio) -> LogMonomial | Refused:
    if not (x.numerator.is_monomial and x.denominator.is_monomial):
        return Refused("a logarithm of a sum")
    return LogMonomial(x)


@arithmetic.pick.register(Ratio)
def _pick(_which: Ratio, values: Sequence[Any]) -> Any:
    name = picked.get()
    if name is None:
        return Refused("a pick from a list")
    return next((Refused(v.reason) for v in values if isinstance(v, Closed)), None) or name(
        [ratio(v) for v in values]
    )


@arithmetic.register_differs(Ratio)
def _differs(_a: Ratio, _b: Any) -> Any:
    name = picked.get()
    return Refused("whether two picks differ") if name is None else name([ratio(1.0)])


@arithmetic.power.register(Ratio)
def _power(a: Ratio, b: Any) -> Any:
    return a**b if isinstance(b, Many) else arithmetic.power.dispatch(object)(a, b)


@arithmetic.register_maximum(Ratio)
@_refusing
def _max(a: Ratio, b: Any) -> Any:
    name = larger.get()
    if name is None:
        raise NotPosynomial("the larger of two unknown quantities")
    return name(a, ratio(b))


@arithmetic.register_minimum(Ratio)
@_refusing
def _min(a: Ratio, b: Any) -> Any:
    # both are positive: the smaller is one over the larger of their inverses
    larger_inverse = arithmetic.maximum(a.inverse(), ratio(b).inverse())
    return 1.0 / larger_inverse


@arithmetic.at_most.register(Ratio)
def _at_most(value: Ratio, bound: Any) -> Any:
    found = value / (max(bound, LEAST_DIVISOR) if np.ndim(bound) == 0 else np.maximum(bound, LEAST_DIVISOR))
    if not isinstance(found, Ratio) or not np.any(np.less(plain(bound), LEAST_DIVISOR)):
        return found
    # no design meets it, and the numbers that say so remain numbers
    terms = {key: np.minimum(c, LARGEST_COEFFICIENT) for key, c in found.numerator.terms.items()}
    return Ratio(Posynomial(terms), found.denominator)


@arithmetic.at_least.register(Ratio)
def _at_least(value: Ratio, bound: Any) -> Any:
    return (max(bound, 0.0) if np.ndim(bound) == 0 else np.maximum(bound, 0.0)) / value


@arithmetic.at_most.register(LogMonomial)
def _log_at_most(value: LogMonomial, bound: float) -> Any:
    return value.monomial / 2.0**bound


@arithmetic.at_least.register(LogMonomial)
def _log_at_least(value: LogMonomial, bound: float) -> Any:
    return 2.0**bound / value.monomial
