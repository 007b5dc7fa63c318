"""Intervals: what a model's equations give over a whole box of inputs, with certainty.

Ends are arrays (one entry per box) and are rounded outwards, so that the true range lies inside whatever the
floats do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dse.models import arithmetic
from dse.models.arithmetic import CannotTake, number
from dse.system.arrays import Array, Integers
from formulations.arithmetics.operators import Operators

LIBRARY_ERROR = 1e-15
"""Relative error granted to the mathematical library in powers, logarithms and exponentials (about 4 ulp)."""


MENU_ROUNDING = 1e-6
"""How far from a whole number a number still picks that entry of a menu."""


MANY = 1000
"""So many numbers are rounded outwards by their bits; of fewer NumPy's own function is faster."""
INFINITE = np.float64(np.inf).view(np.int64)
LARGEST = np.finfo(np.float64).max


class Enclosure(Operators):
    """What holds a range of numbers."""

    __slots__ = ()
    comparison = "a comparison of intervals has no single answer"

    def __truediv__(self: Any, other: Any) -> Any:
        return self * self.of(other).reciprocal()

    def __rtruediv__(self: Any, other: Any) -> Any:
        return self.of(other) * self.reciprocal()

    def __rpow__(self: Any, base: Any) -> Any:
        return arithmetic.exp(self * number(np.log(base)))


class Interval(Enclosure):
    """All numbers from ``lo`` to ``hi``, element by element (arrays of one shape or scalars).

    A comparison of intervals has no single answer and raises CannotTake. Where an operation has no finite
    answer (division by an interval around zero) the ends are infinite: wide, never wrong.
    """

    __slots__ = ("_positive", "hi", "lo")

    def __init__(self, lo: Any, hi: Any, positive: Any = None) -> None:
        self.lo: Array = np.asarray(lo, dtype=np.float64)
        self.hi: Array = np.asarray(hi, dtype=np.float64)
        self._positive = positive

    @staticmethod
    def of(x: Any) -> Interval:
        """``x`` itself, or the interval that holds just the number (or array) ``x``."""
        if isinstance(x, Interval):
            return x
        number = np.asarray(x, dtype=np.float64)
        return Interval(number, number, True if isinstance(x, float) and x >= 0.0 else None)

    def __repr__(self) -> str:
        return f"Interval({self.lo!r}, {self.hi!r})"

    def positive(self) -> Any:
        """Whether no element reaches below zero: True, or an array that tells which do not.

        What comes of an element must not depend on those beside it.
        """
        if self._positive is None:
            found = self.lo >= 0
            self._positive = True if found.all() else found
        return self._positive

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __add__(self, other: Any) -> Interval:
        b = Interval.of(other)
        low, high = self.lo + b.lo, self.hi + b.hi
        positive = both(self.positive(), b.positive())
        found = _outward(low, high, positive)
        if positive is True:
            return found
        # a sum of floats that is 0 is exact: rounded outwards, what is divided by it might have either sign
        return Interval(np.where(low == 0.0, low, found.lo), np.where(high == 0.0, high, found.hi))

    def __mul__(self, other: Any) -> Interval:
        b = Interval.of(other)
        positive = both(self.positive(), b.positive())
        with np.errstate(invalid="ignore", over="ignore"):
            if positive is True:
                low, high = _numbers([self.lo * b.lo, self.hi * b.hi])
                return _outward(low, high, True)
            if self.lo is self.hi or b.lo is b.hi:
                # a number times an interval has two corners
                one, two = (self, b) if self.lo is self.hi else (b, self)
                corners = _numbers([one.lo * q for q in (two.lo, two.hi)])
            else:
                corners = _numbers([p * q for p in (self.lo, self.hi) for q in (b.lo, b.hi)])
        return _outward(reduce(np.minimum, corners), reduce(np.maximum, corners), positive)

    def reciprocal(self) -> Interval:
        """One divided by the interval; infinite towards a zero that lies inside or at an end."""
        if (self.lo > 0).all():
            return _outward(1.0 / self.hi, 1.0 / self.lo, True)
        with np.errstate(divide="ignore"):
            lo, hi = 1.0 / self.hi, 1.0 / self.lo
        # 1/0 takes the sign of the zero, so ends that touch zero are written out
        lo = np.where(self.hi == 0, -np.inf, lo)
        hi = np.where(self.lo == 0, np.inf, hi)
        lo = np.where((self.lo == 0) & (self.hi == 0), np.inf, lo)
        astride = (self.lo < 0) & (self.hi > 0)
        return _outward(np.where(astride, -np.inf, lo), np.where(astride, np.inf, hi), self.positive())

    def __pow__(self, exponent: Any) -> Interval:
        if isinstance(exponent, Interval) or np.ndim(exponent):
            return exp(log(self) * exponent)
        e = number(exponent)
        if e == 0:
            return Interval(np.ones_like(self.lo), np.ones_like(self.hi))
        if e == 1:
            return self
        if e < 0:
            return (self**-e).reciprocal()
        if not e.is_integer():
            return _library(lambda x: np.power(np.maximum(x, 0.0), e), self)
        found = _library(lambda x: np.power(x, e), self)
        positive = self.positive()
        if positive is True or e % 2 == 1:
            return found
        even = _even_power(self, found)
        return Interval(np.where(positive, found.lo, even.lo), np.where(positive, found.hi, even.hi))


def _even_power(x: Interval, ends: Interval) -> Interval:
    """Take an even power of intervals that may reach below zero; ``ends``: the power of the two ends."""
    low = np.where((x.lo <= 0) & (x.hi >= 0), 0.0, np.minimum(ends.lo, ends.hi))
    pad = 1.0 + 4 * LIBRARY_ERROR
    return Interval(np.minimum(low / pad, LARGEST), np.maximum(ends.lo, ends.hi) * pad)


def _numbers(corners: list[Array]) -> list[Array]:
    """Products of ends; an end at infinity times zero is zero: no number inside is infinite."""
    # where the sum of all is no number, some corner may be none
    if not math.isnan(np.add.reduce(reduce(np.add, corners), axis=None)):
        return corners
    return [np.where(np.isnan(c), 0.0, c) for c in corners]


def both(a: Any, b: Any) -> Any:
    """Return where both hold, each True or an array."""
    return a if b is True else b if a is True else a & b


def _outward(lo: Array, hi: Array, positive: Any) -> Interval:
    """Round outwards; the lower ends of what is ``positive`` (True, or an array) do not fall below zero."""
    if positive is True:
        if lo.size < MANY:
            return Interval(np.nextafter(lo, 0.0), np.nextafter(hi, np.inf), True)
        return Interval(towards_zero(lo), _away_from_zero(hi).view(np.float64), True)
    if lo.size < MANY:
        below, up = np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf)
    else:
        below, up = -above(-lo), above(hi)
    return Interval(np.where(positive & (below < 0.0), 0.0, below), up)


def above(x: Array) -> Array:
    """Return ``np.nextafter(x, np.inf)``, several times as fast: floats are in the order of their bits."""
    bits = _away_from_zero(x)
    negative = bits < 0
    # what went up in size has to go down in size
    bits -= negative
    bits -= negative
    return bits.view(np.float64)


def towards_zero(x: Array) -> Array:
    """Return ``np.nextafter(x, 0.0)`` of numbers that are not negative, as ``above`` does."""
    bits = (x + 0.0).view(np.int64)  # without -0.0, whose bits are the least of all
    bits -= bits != 0
    return bits.view(np.float64)


def _away_from_zero(x: Array) -> Integers:
    bits = (x + 0.0).view(np.int64)
    bits += bits < INFINITE
    return bits


def _library(function: Callable[[Array], Array], x: Interval) -> Interval:
    """Apply an increasing library function, its ends widened by what the library may be wrong."""
    with np.errstate(all="ignore"):
        least, most = function(x.lo), function(x.hi)
        lo, hi = least - np.abs(least) * LIBRARY_ERROR, most + np.abs(most) * LIBRARY_ERROR
        if np.isnan(lo.sum() + hi.sum()):
            # what overflows is at least the largest number that there is
            lo = np.where(np.isposinf(least), LARGEST, np.where(np.isnan(lo), -np.inf, lo))
            hi = np.where(np.isnan(hi), np.inf, hi)
    return Interval(lo, hi)


@arithmetic.log.register(Interval)
def log(x: Interval) -> Interval:
    """Natural logarithm; minus infinity where the interval reaches zero or below."""
    return _library(lambda v: np.log(np.maximum(v, 0.0)), x)


@arithmetic.exp.register(Interval)
def exp(x: Interval) -> Interval:
    """Exponential."""
    return _library(np.exp, x)


@arithmetic.register_maximum(Interval)
def maximum(a: Any, b: Any) -> Interval:
    """Take the larger of two intervals (or of an interval and a number)."""
    a, b = Interval.of(a), Interval.of(b)
    return Interval(np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi))


@arithmetic.register_reaches(Interval)
def _reaches(a: Any, b: Any) -> Interval:
    """Return 1 where a >= b for certain, 0 where certainly not, else all between."""
    a, b = Interval.of(a), Interval.of(b)
    return Interval(
        1.0 * (a.lo >= arithmetic.reached_from(b.hi)), 1.0 * (a.hi >= arithmetic.reached_from(b.lo))
    )


@arithmetic.at_most.register(Interval)
def _at_most(value: Interval, bound: Any) -> Interval:
    # an array of bounds reads like one bound where all of them have its sign
    found: Interval = value / bound if np.all(np.asarray(bound) > 0) else 1.0 + value - _none_positive(bound)
    return found


@arithmetic.at_least.register(Interval)
def _at_least(value: Interval, bound: Any) -> Interval:
    found: Interval = bound / value if np.all(np.asarray(bound) > 0) else 1.0 + _none_positive(bound) - value
    return found


def _none_positive(bound: Any) -> Any:
    if np.any(np.asarray(bound) > 0):
        raise CannotTake("limits above 0 and others read differently: ask for them apart")
    return bound


@arithmetic.uneven.register(Interval)
def uneven(x: Interval) -> Interval:
    """Return 1 where an interval holds no whole number for certain, and anything between 0 and 1 elsewhere."""
    none = np.ceil(x.lo * (1 - 2 * arithmetic.QUOTIENT_ROUNDING)) > np.floor(
        x.hi * (1 + 2 * arithmetic.QUOTIENT_ROUNDING)
    )
    return Interval(1.0 * none, np.ones(np.shape(none)))


@arithmetic.pick.register(Interval)
def _pick(which: Interval, values: Sequence[Any]) -> Interval:
    """From the least to the largest entry whose number lies in the interval."""
    lo, hi = np.full(which.lo.shape, np.inf), np.full(which.lo.shape, -np.inf)
    for n, value in enumerate(values, start=1):
        entry, inside = Interval.of(value), (which.lo - MENU_ROUNDING <= n) & (n <= which.hi + MENU_ROUNDING)
        lo = np.where(inside, np.minimum(lo, entry.lo), lo)
        hi = np.where(inside, np.maximum(hi, entry.hi), hi)
    # between two numbers there is none to pick
    none = lo > hi
    return Interval(np.where(none, -np.inf, lo), np.where(none, np.inf, hi))


@arithmetic.register_differs(Interval)
def _differs(a: Any, b: Any) -> Interval:
    a, b = Interval.of(a), Interval.of(b)
    apart, same = (a.hi < b.lo) | (b.hi < a.lo), (a.lo == a.hi) & (b.lo == b.hi) & (a.lo == b.lo)
    return Interval(1.0 * apart, 1.0 - same)


@arithmetic.some.register(Interval)
def _some(amount: Interval) -> Interval:
    return Interval(
        1.0 * (amount.lo > arithmetic.AMOUNT_ROUNDING), 1.0 * (amount.hi > arithmetic.AMOUNT_ROUNDING)
    )
