"""The few named helpers that equations and definitions may use beside ``+ - * / **``.

Each is open to further arithmetics: a package that brings a new kind of number registers it here
(``log.register``), so that models never ask what they are computing with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce, singledispatch
from operator import add
from typing import Any

import numpy as np

from dse.system.tolerance import LIMIT_HOLDS


class CannotTake(ArithmeticError, TypeError, ValueError):
    """An arithmetic, or a way to an answer, does not take what it is given, and says so: no mistake in a program.

    Where Python has a type for it (a comparison: TypeError, a number: ValueError) it is one of that type, too.
    """


def number(x: Any) -> float:
    """Return a plain number as a float; raises CannotTake for numbers of many points, symbols and the like."""
    try:
        return float(x)
    except (TypeError, ValueError) as problem:
        raise CannotTake(f"one number is wanted: {problem}") from problem


# shares, counts and rates of this size are rounding
AMOUNT_ROUNDING = 1e-7
# an end of a domain holds as far as a limit does, and rounding of its own
DOMAIN_SLACK = 1.01 * LIMIT_HOLDS


@singledispatch
def log(x: Any) -> Any:
    """Natural logarithm of a dimensionless positive number."""
    return np.log(x)


@singledispatch
def exp(x: Any) -> Any:
    """Exponential of a dimensionless number."""
    return np.exp(x)


@singledispatch
def _maximum(a: Any, b: Any) -> Any:
    return _maximum.dispatch(type(b))(b, a) if _knows(b) and not _knows(a) else np.maximum(a, b)


def _knows(x: Any) -> bool:
    return _maximum.dispatch(type(x)) is not _maximum.dispatch(object)


def maximum(a: Any, b: Any, *more: Any) -> Any:
    """Return the largest of two or more numbers, element by element."""
    for c in (b, *more):
        a = _maximum(a, c)
    return a


register_maximum = _maximum.register


@singledispatch
def _minimum(a: Any, b: Any) -> Any:
    return _minimum.dispatch(type(b))(b, a) if _least_known(b) and not _least_known(a) else -maximum(-a, -b)


def _least_known(x: Any) -> bool:
    return _minimum.dispatch(type(x)) is not _minimum.dispatch(object)


def minimum(a: Any, b: Any, *more: Any) -> Any:
    """Return the smallest of two or more numbers, element by element."""
    for c in (b, *more):
        a = _minimum(a, c)
    return a


register_minimum = _minimum.register


@singledispatch
def _amount_times(amount: Any, each: Any) -> Any:
    with np.errstate(invalid="ignore"):
        found = amount * each
    if isinstance(found, float):
        return 0.0 if math.isnan(found) and amount == 0 and each == math.inf else found
    if isinstance(found, np.ndarray) and np.isnan(found).any():
        return np.where(np.equal(amount, 0) & np.equal(each, math.inf), 0.0, found)
    return found


def amount_times(amount: Any, each: Any) -> Any:
    """Return amount × each; of none, what is infinite of each is nothing."""
    plain = _amount_times.dispatch(object)
    made = _amount_times.dispatch(type(amount))
    return (_amount_times.dispatch(type(each)) if made is plain else made)(amount, each)


register_amount_times = _amount_times.register


@singledispatch
def _difference(a: Any, b: Any) -> Any:
    if _difference.dispatch(type(b)) is not _difference.dispatch(object):
        return _difference.dispatch(type(b))(a, b)
    return a - b


def difference(a: Any, b: Any) -> Any:
    """Return a - b; what has no negative numbers may keep the two apart, to be compared with a limit."""
    return _difference(a, b)


register_difference = _difference.register


@singledispatch
def not_negative(value: Any, size: Callable[[], Any]) -> Any:
    """Read ``value >= 0`` as a ratio <= 1; ``size``: returns what the value is measured by."""
    return 1.0 - value / size()


@singledispatch
def power(a: Any, b: Any) -> Any:
    """Return a**b where both may vary; what knows no such power of its own takes exp(b log a)."""
    if isinstance(a, float) and a < 0 and (_has_logarithm(b) or (isinstance(b, float) and b % 1)):
        return math.nan
    if isinstance(b, int | float) or not (_has_logarithm(a) or _has_logarithm(b)):
        return a**b
    return exp(b * log(a))


def _has_logarithm(x: Any) -> bool:
    """Tell whether x is of an arithmetic that was registered here; plain numbers, arrays and units are not."""
    return log.dispatch(type(x)) is not log.dispatch(object)


@singledispatch
def fractional_power(base: Any, exponent: float, size: Callable[[], Any]) -> Any:
    """Return base**exponent for an exponent that is no whole number; of less than nothing it has no value (NaN).

    What is below 0 by no more than limits are granted of its ``size`` counts as 0: an end of the domain holds as a
    limit does.
    """
    if isinstance(base, int | float):
        if base < 0:
            base = 0.0 if base >= -DOMAIN_SLACK * size() else math.nan
        return base**exponent if base or exponent > 0 else math.inf
    if isinstance(base, np.ndarray):
        below = base < 0
        if below.any():
            base = np.where(below, np.where(base >= -DOMAIN_SLACK * size(), 0.0, math.nan), base)
    return base**exponent


@singledispatch
def _reaches(a: Any, b: Any) -> Any:
    if _reaches.dispatch(type(b)) is not _reaches.dispatch(object):
        return _reaches.dispatch(type(b))(a, b)
    return _flag(a >= reached_from(b))


def _flag(holds: Any) -> Any:
    # half the time of 1.0 * holds, which casts piece by piece
    return holds.astype(float) if isinstance(holds, np.ndarray) else 1.0 * holds


# how far below a number counts as the number itself, relative: 0.3 / 0.1 is 3
STEP_ROUNDING = 1e-12


def reached_from(b: Any) -> Any:
    """Return from where on a number (or an array of them) counts as reached: below it by rounding, 1e-12 of it."""
    if isinstance(b, float | int):
        return b * (1.0 - STEP_ROUNDING if b > 0 else 1.0 + STEP_ROUNDING)
    return b * (1.0 - STEP_ROUNDING * np.sign(b))


def reaches(a: Any, b: Any) -> Any:
    """Return 1 where a >= b (up to 1e-12 of b) and 0 elsewhere, element by element: which case holds, as a number."""
    return _reaches(a, b)


def reaches_unknown(a: Any, b: Any) -> Any:
    """Return the same as the arithmetic of b has it."""
    return _reaches.dispatch(type(b))(a, b)


register_reaches = _reaches.register


@singledispatch
def log2(x: Any) -> Any:
    """Logarithm to base 2 of a dimensionless positive number."""
    return log(x) / np.log(2.0)


def per(a: Any, b: Any) -> Any:
    """Return a/b, infinite where b is the plain number zero: no cost at all, not a mistake."""
    return _per(b, a)


@singledispatch
def _per(b: Any, a: Any) -> Any:
    return a / b


@_per.register(int)
@_per.register(float)
def _per_number(b: float, a: Any) -> Any:
    return a / b if b != 0 else math.inf


@_per.register(np.ndarray)
def _per_array(b: Any, a: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b


register_per = _per.register


@singledispatch
def at_most(value: Any, bound: Any) -> Any:
    """Read ``value <= bound`` as a ratio <= 1; a bound of zero or below asks for a value of zero or below."""
    if isinstance(bound, np.ndarray):
        positive = bound > 0
        return np.where(positive, value / np.where(positive, bound, 1.0), 1.0 + value - bound)
    return value / bound if bound > 0 else 1.0 + value - bound


@singledispatch
def at_least(value: Any, bound: Any) -> Any:
    """Read ``value >= bound`` as a ratio <= 1; a value of 0 or below is infinitely far below a bound above 0."""
    if isinstance(bound, np.ndarray):
        positive = bound > 0
        ratio = np.where(positive, np.where(positive, bound, 1.0) / value, 1.0 + bound - value)
        return np.where(positive & np.less_equal(value, 0.0), math.inf, ratio)
    if bound <= 0:
        return 1.0 + bound - value
    if isinstance(value, float | int):
        return math.inf if value <= 0 else bound / value
    return np.where(value <= 0, math.inf, bound / value) if isinstance(value, np.ndarray) else bound / value


@singledispatch
def pick(which: Any, values: Sequence[Any]) -> Any:
    """Return entry number ``which`` (counted from 1) of ``values``, element by element.

    The values may be arrays too; they and ``which`` broadcast.
    """
    return reduce(add, (1.0 * (which == place) * value for place, value in enumerate(values, 1)))


@pick.register(int)
@pick.register(float)
def _pick_one(which: float, values: Sequence[Any]) -> Any:
    return values[int(which) - 1]


@pick.register(np.ndarray)
def _pick_each(which: Any, values: Sequence[Any]) -> Any:
    place = which.astype(np.int64) - 1
    if all(np.ndim(v) == 0 for v in values):
        return np.asarray(values, float)[place]
    shape = np.broadcast_shapes(place.shape, *(np.shape(v) for v in values))
    stacked = np.stack([np.broadcast_to(v, shape) for v in values])
    return np.take_along_axis(stacked, np.broadcast_to(place, shape)[np.newaxis], 0)[0]


@singledispatch
def _differs(a: Any, b: Any) -> Any:
    if _differs.dispatch(type(b)) is not _differs.dispatch(object):
        return _differs.dispatch(type(b))(b, a)
    return _flag(a != b)


def differs(a: Any, b: Any) -> Any:
    """Return 1 where two picks are not the same and 0 elsewhere, element by element."""
    return _differs(a, b)


register_differs = _differs.register


# what is left of a whole is rounding below this: shares are found to about as much
REST_ROUNDING = 1e-14


@singledispatch
def sharp(part: Any) -> Any:
    """Return a part of a whole, element by element: 0 where it is rounding (1e-14)."""
    return part


@sharp.register(float)
@sharp.register(np.ndarray)
def _sharp_number(part: Any) -> Any:
    # no negative zero
    return part * (abs(part) > REST_ROUNDING) + 0.0


def rest(taken: Any) -> Any:
    """Return what is left of 1, element by element: 0 where it is rounding."""
    return sharp(1.0 - taken)


@singledispatch
def some(amount: Any) -> Any:
    """Return 1 where there is any of an amount >= 0 and 0 where there is none (up to 1e-7), element by element."""
    return _flag(amount > AMOUNT_ROUNDING)


# how far a quotient of whole numbers may be from a whole one by rounding, relative
QUOTIENT_ROUNDING = 1e-9


@singledispatch
def uneven(x: Any) -> Any:
    """Return 0 where a positive number is whole (to 1e-9 of it) and 1 elsewhere, element by element.

    ``b / a + uneven(b / a)`` of whole numbers is at most 1 only where b divides a: see ``divides``.
    """
    return _flag(abs(x - np.rint(x)) > QUOTIENT_ROUNDING * abs(x))


def divides(part: Any, whole: Any) -> Any:
    """Return part/whole where it divides the whole, and more than 1 elsewhere: a ratio of a limit."""
    return part / whole + uneven(whole / part)


def only_where(flag: Any, value: Any, most: Any) -> Any:
    """Return a value >= 0 where a flag is 1, and 0 where it is 0, element by element; the value is at most ``most``.

    A product of the two that is affine in both, but for a maximum.
    """
    return maximum(0.0 * most, value - most * (1.0 - flag))
