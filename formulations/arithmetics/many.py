"""Many given numbers in the place of one: a question at many points at once, written and evaluated like a single one.

``Many`` goes through any arithmetic that a float goes through, so that a model's equations, and the program that is
made of them, come out with numbers for all points. What depends on a number (is it 0, which sign has it) must come out
the same at all of them: where it does not, ``Differ`` says at which it holds, and whoever asked goes on with those and
the others apart. Each point so gets the numbers that it has by itself.

What meets an array (decided quantities) becomes an array and follows its rules: division by zero is infinite there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from dse.models import arithmetic
from dse.system.arrays import Bools
from formulations.arithmetics.later import Later

COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}


class Differ(Exception):
    """Points that must be told apart: where ``holds``, and the others."""

    def __init__(self, holds: Bools) -> None:
        super().__init__("what was asked holds at some points and not at others")
        self.holds = holds


class Many(NDArrayOperatorsMixin):
    """Numbers of many points along the first dimension; further ones have the length 1, for what they are met with."""

    __slots__ = ("values",)
    between = False

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, dtype=float)

    def __array_ufunc__(self, made: np.ufunc, method: str, *of: Any) -> Any:
        """Return many numbers from many and plain ones, an array where one is one; of a comparison one answer."""
        numbers, given = [plain(x) for x in of], all(map(is_given_number, of))
        if made in COMPARISONS:
            # of an array, and of what is no number, nothing is asked at each point
            one = given and not any(map(_is_array, of))
            return same(made(*numbers)) if one else made is np.not_equal
        if method != "__call__" or not given:
            return NotImplemented
        if made is np.divide and not _is_array(of[1]) and same(np.equal(numbers[1], 0.0)):
            raise ZeroDivisionError("division by a given quantity that is 0")
        if made is np.multiply and any(isinstance(x, int | float) and x == 0 for x in of):
            # nothing of a number is the plain 0, of which a model works nothing out
            return 0.0 if np.isfinite(self.values).all() else self.after(made, *of)
        return self.after(made, *of)

    def after(self, function: Callable[..., Any], *of: Any) -> Any:
        """Return what a function makes of numbers at each point: an array where one of them is one, else many."""
        found = function(*map(plain, of))
        return found if any(map(_is_array, of)) else Many(found)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)


def plain(value: Any) -> Any:
    """Return the array behind many numbers; anything else as it is."""
    return value.values if isinstance(value, Many) else value


def number(value: Any) -> Any:
    """Return a float, or many of them."""
    return value if isinstance(value, Many) else float(value)


def one_number(value: Any) -> float:
    """Return a number that is the same at all points; raises Differ where it is not."""
    if not isinstance(value, Many):
        return arithmetic.number(value)
    every = np.unique(value.values)
    if len(every) > 1:
        raise Differ(value.values < every[len(every) // 2])
    return float(every[0])


def is_between(value: Any) -> bool:
    """Whether a number is known to lie between two ends only (``formulations.arithmetics.between``)."""
    return isinstance(value, Many) and value.between


def is_zero(value: Any) -> bool:
    """Whether a number is 0, at all points; one between two ends is if both are."""
    return not value.values.any() if is_between(value) else bool(value == 0.0)


def may_be_zero(value: Any) -> bool:
    """Whether 0 lies between the two ends of a number that has such."""
    return is_between(value) and bool((np.multiply(*np.split(value.values, 2)) <= 0.0).any())


def finite(value: Any) -> bool:
    """Whether a number is finite; of many numbers, whether all are."""
    return math.isfinite(value) if isinstance(value, float) else bool(np.isfinite(plain(value)).all())


def largest(values: Iterable[Any]) -> Any:
    """Return the largest of some numbers, at each point."""
    return reduce(arithmetic.maximum, values)


def close(a: Any, b: Any, within: float) -> bool:
    """Whether two numbers agree to a relative difference."""
    if not isinstance(a, Many) and not isinstance(b, Many):
        return math.isclose(a, b, rel_tol=within)
    left, right = plain(a), plain(b)
    return same(np.abs(left - right) <= within * np.maximum(np.abs(left), np.abs(right)))


def same(holds: Any) -> bool:
    """Return what is true of all points; raises Differ where it is true of some."""
    if np.ndim(holds) == 0:
        return bool(holds)
    if holds.all():
        return True
    if not holds.any():
        return False
    raise Differ(holds)


def is_given_number(value: object) -> bool:
    """Whether a value is a number, many numbers or an array of them, and nothing that is decided."""
    return isinstance(value, Many | Later | int | float | np.ndarray)


def _is_array(value: object) -> bool:
    # NumPy makes an array without dimensions of a number
    return isinstance(value, Later) or (isinstance(value, np.ndarray) and value.ndim > 0)


@arithmetic.register_per(Many)
def _per(b: Many, a: Any) -> Any:
    # of ends at 0 the reciprocal reaches infinity
    return math.inf if is_zero(b) else a / b


@arithmetic.register_reaches(Many)
def _reaches(a: Any, b: Any) -> Any:
    return _compared(arithmetic.reaches, a, b) if _both_given(a, b) else arithmetic.reaches_unknown(a, b)


@arithmetic.register_differs(Many)
def _differs(a: Any, b: Any) -> Any:
    return _compared(arithmetic.differs, a, b) if _both_given(a, b) else arithmetic.differs(b, a)


def _both_given(a: Any, b: Any) -> bool:
    return is_given_number(a) and is_given_number(b)


def _compared(how: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    many: Many = a if isinstance(a, Many) else b
    return many.after(how, a, b)


@arithmetic.some.register(Many)
def _some(amount: Many) -> Any:
    return amount.after(arithmetic.some, amount)


@arithmetic.uneven.register(Many)
def _uneven(x: Many) -> Any:
    return x.after(arithmetic.uneven, x)


@arithmetic.fractional_power.register(Many)
def _fractional_power(base: Many, exponent: float, size: Callable[[], Any]) -> Any:
    return base.after(lambda x: arithmetic.fractional_power(x, exponent, lambda: plain(size())), base)


@arithmetic.pick.register(Many)
def _pick(which: Many, values: Sequence[Any]) -> Any:
    return which.after(lambda place, *every: arithmetic.pick(place, every), which, *values)


def packed(numbers: list[Any]) -> np.ndarray[Any, Any]:
    """An array of numbers; of many points the first dimension is theirs."""
    if not any(isinstance(c, Many) for c in numbers):
        return np.array(numbers, dtype=float)
    return np.stack(np.broadcast_arrays(*(plain(c) for c in numbers)), axis=-1)
