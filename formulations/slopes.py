"""Intervals that know how fast they move: values over a box with their logarithmic slopes.

For a quantity v of inputs x the slope along input k is d log v / d log x_k. In these terms a product's slopes
add and a monomial's are exact constants, so p * (n / p) costs nothing in sharpness, and a sum's slopes are
averages of those of its terms. With them the mean-value form bounds a quantity to second order in the width
of the box.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.models import arithmetic
from formulations import intervals
from formulations.intervals import Array, Interval

ZERO = Interval(0.0, 0.0)
ONE = Interval(1.0, 1.0)
ANY = Interval(-np.inf, np.inf)
ROUNDING = 1e-14


class Slope:
    """A value over a box (``value``) with its logarithmic slope along every input (``slopes``).

    Holds for quantities of either sign in the sense dv/dlog x = v * slope; where v may be zero and the slope
    is unknown it is infinite, and only ``value`` tells something.
    """

    __array_ufunc__ = None
    __slots__ = ("slopes", "value")

    def __init__(self, value: Interval, slopes: tuple[Interval, ...]) -> None:
        self.value = value
        self.slopes = slopes

    @staticmethod
    def inputs(lo: Array, hi: Array) -> list[Slope]:
        """One Slope per input for boxes given as arrays of shape (boxes, inputs)."""
        k = lo.shape[1]
        return [
            Slope(Interval(lo[:, j], hi[:, j]), tuple(ONE if i == j else ZERO for i in range(k)))
            for j in range(k)
        ]

    def of(self, x: Any) -> Slope:
        """``x`` as a Slope over the same inputs: itself, or a constant."""
        return x if isinstance(x, Slope) else Slope(Interval.of(x), (ZERO,) * len(self.slopes))

    def __bool__(self) -> bool:
        raise TypeError("a comparison of intervals has no single answer")

    def __lt__(self, other: Any) -> bool:
        return bool(self)

    __le__ = __gt__ = __ge__ = __lt__

    def __neg__(self) -> Slope:
        return Slope(-self.value, self.slopes)

    def __add__(self, other: Any) -> Slope:
        if not isinstance(other, Slope) and np.all(np.asarray(other) == 0):
            return self
        b = self.of(other)
        value = self.value + b.value
        if self.value.positive() and b.value.positive():
            low, high = _share(self.value, b.value)
            return Slope(
                value, tuple(_average(low, high, p, q) for p, q in zip(self.slopes, b.slopes, strict=True))
            )
        moves = (self.value * p + b.value * q for p, q in zip(self.slopes, b.slopes, strict=True))
        return Slope(value, tuple(_divided(move, value) for move in moves))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Slope:
        return Slope.__add__(self, -other)

    def __rsub__(self, other: Any) -> Slope:
        return Slope.__add__(-self, other)

    def __mul__(self, other: Any) -> Slope:
        if not isinstance(other, Slope):
            return Slope(self.value * other, self.slopes)
        return Slope(self.value * other.value, _added(self.slopes, other.slopes))

    __rmul__ = __mul__

    def reciprocal(self) -> Slope:
        """One divided by the quantity."""
        return Slope(self.value.reciprocal(), tuple(-s for s in self.slopes))

    def __truediv__(self, other: Any) -> Slope:
        return self * (other.reciprocal() if isinstance(other, Slope) else Interval.of(other).reciprocal())

    def __rtruediv__(self, other: Any) -> Slope:
        return self.of(other) * self.reciprocal()

    def __pow__(self, exponent: Any) -> Slope:
        if isinstance(exponent, Slope):
            return exp(exponent * log(self))
        e = float(exponent)
        return Slope(self.value**e, tuple(s if s is ZERO else s * e for s in self.slopes))

    def __rpow__(self, base: Any) -> Slope:
        return exp(self * float(np.log(base)))


def _added(a: tuple[Interval, ...], b: tuple[Interval, ...]) -> tuple[Interval, ...]:
    return tuple(q if p is ZERO else p if q is ZERO else p + q for p, q in zip(a, b, strict=True))


def _share(a: Interval, b: Interval) -> tuple[Array, Array]:
    """Return the least and the largest share of a in a + b, for a and b not negative."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        low, high = a.lo / (a.lo + b.hi), a.hi / (a.hi + b.lo)
    low, high = np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), 1.0, high)
    return np.maximum(low * (1 - ROUNDING), 0.0), np.minimum(high * (1 + ROUNDING), 1.0)


def _average(low: Array, high: Array, p: Interval, q: Interval) -> Interval:
    """Slope of a sum: share * p + (1 - share) * q, which is extreme at an end of the share."""
    if p is ZERO and q is ZERO:
        return ZERO
    with np.errstate(invalid="ignore"):
        lo = np.minimum(_mix(low, p.lo, q.lo), _mix(high, p.lo, q.lo))
        hi = np.maximum(_mix(low, p.hi, q.hi), _mix(high, p.hi, q.hi))
    pad = ROUNDING * np.maximum(np.abs(lo), np.abs(hi))
    return Interval(np.where(np.isnan(lo), -np.inf, lo - pad), np.where(np.isnan(hi), np.inf, hi + pad))


def _mix(share: Array, p: Array, q: Array) -> Array:
    return np.where(share == 0, 0.0, share * p) + np.where(share == 1, 0.0, (1 - share) * q)


def _divided(move: Interval, value: Interval) -> Interval:
    if move is ZERO or not (np.any(move.lo) or np.any(move.hi)):
        return ZERO
    found = move / value
    unknown = (value.lo <= 0) & (value.hi >= 0)
    return Interval(np.where(unknown, -np.inf, found.lo), np.where(unknown, np.inf, found.hi))


def log(x: Slope) -> Slope:
    """Natural logarithm."""
    value = intervals.log(x.value)
    return Slope(value, tuple(_divided(s, value) for s in x.slopes))


def exp(x: Slope) -> Slope:
    """Exponential."""
    return Slope(intervals.exp(x.value), tuple(s if s is ZERO else x.value * s for s in x.slopes))


def maximum(a: Any, b: Any) -> Slope:
    """Take the larger of two; where either may be the larger, its slope is any between theirs."""
    first = a if isinstance(a, Slope) else b
    a, b = first.of(a), first.of(b)
    above, below = a.value.lo >= b.value.hi, b.value.lo >= a.value.hi
    slopes = tuple(
        ZERO
        if p is ZERO and q is ZERO
        else Interval(
            np.where(above, p.lo, np.where(below, q.lo, np.minimum(p.lo, q.lo))),
            np.where(above, p.hi, np.where(below, q.hi, np.maximum(p.hi, q.hi))),
        )
        for p, q in zip(a.slopes, b.slopes, strict=True)
    )
    return Slope(intervals.maximum(a.value, b.value), slopes)


arithmetic.log.register(Slope)(log)
arithmetic.exp.register(Slope)(exp)
arithmetic.register_maximum(Slope)(maximum)
