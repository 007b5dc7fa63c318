"""Many given numbers in the place of one: a question at many points at once, written and evaluated like a single one.

``Many`` goes through any arithmetic that a float goes through, so that a model's equations, and the program that is
made of them, come out with numbers for all points. What depends on a number (is it 0, which sign has it) must come out
the same at all of them: where it does not, ``Differ`` says at which it holds, and whoever asked goes on with those and
the others apart. Each point so gets the numbers that it has by itself.

What meets an array (decided quantities) becomes an array and follows its rules: division by zero is infinite there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models import arithmetic

Array = NDArray[np.float64]
Points = NDArray[np.int64]


class Differ(Exception):
    """Points that must be told apart: where ``holds``, and the others."""

    def __init__(self, holds: NDArray[np.bool_]) -> None:
        super().__init__("what was asked holds at some points and not at others")
        self.holds = holds


class Many:
    """Numbers of many points along the first dimension; further ones have the length 1, for what they are met with."""

    __slots__ = ("values",)
    __array_ufunc__ = None

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, dtype=float)

    def __add__(self, other: Any) -> Any:
        return _many_from_both(np.add, self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _many_from_both(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _many_from_both(np.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return _many_from_both(np.multiply, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return _checked_quotient(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _checked_quotient(other, self)

    def __pow__(self, other: Any) -> Any:
        return _many_from_both(np.power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _many_from_both(np.power, other, self)

    def __neg__(self) -> Many:
        return Many(-self.values)

    def __abs__(self) -> Many:
        return Many(np.abs(self.values))

    def __eq__(self, other: object) -> bool:
        return _equal_everywhere(np.equal, self, other)

    def __ne__(self, other: object) -> bool:
        return not _equal_everywhere(np.equal, self, other)

    def __lt__(self, other: Any) -> bool:
        return _equal_everywhere(np.less, self, other)

    def __le__(self, other: Any) -> bool:
        return _equal_everywhere(np.less_equal, self, other)

    def __gt__(self, other: Any) -> bool:
        return _equal_everywhere(np.greater, self, other)

    def __ge__(self, other: Any) -> bool:
        return _equal_everywhere(np.greater_equal, self, other)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)


def plain(value: Any) -> Any:
    """Return the array behind many numbers; anything else as it is."""
    return value.values if isinstance(value, Many) else value


def number(value: Any) -> Any:
    """Return a float, or many of them."""
    return value if isinstance(value, Many) else float(value)


def finite(value: Any) -> bool:
    """Whether a number is finite; of many numbers, whether all are."""
    return bool(np.isfinite(plain(value)).all())


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


def _many_from_both(made: Any, a: Any, b: Any) -> Any:
    """Many numbers from many numbers and plain ones; an array where one of them is one."""
    if not (_is_given_number(a) and _is_given_number(b)):
        return NotImplemented
    found = made(plain(a), plain(b))
    return found if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else Many(found)


def _checked_quotient(a: Any, b: Any) -> Any:
    if not isinstance(b, np.ndarray) and _is_given_number(b) and same(np.equal(plain(b), 0.0)):
        raise ZeroDivisionError("division by a given quantity that is 0")
    return _many_from_both(np.divide, a, b)


def _equal_everywhere(made: Any, a: Any, b: Any) -> bool:
    return same(made(plain(a), plain(b))) if isinstance(b, Many | int | float) else False


def _is_given_number(value: object) -> bool:
    return isinstance(value, Many | int | float | np.ndarray)


@arithmetic.log.register(Many)
def _log(x: Many) -> Many:
    return Many(np.log(x.values))


@arithmetic.exp.register(Many)
def _exp(x: Many) -> Many:
    return Many(np.exp(x.values))


@arithmetic.register_per(Many)
def _per(b: Many, a: Any) -> Any:
    return a / b if b != 0.0 else math.inf


@arithmetic.register_maximum(Many)
def _maximum(a: Many, b: Any) -> Any:
    # another arithmetic knows what many numbers are to it
    return _many_from_both(np.maximum, a, b) if _is_given_number(b) else arithmetic.maximum(b, a)


@arithmetic.register_reaches(Many)
def _reaches(a: Any, b: Any) -> Any:
    return _flags(a, b, np.greater_equal)


@arithmetic.register_differs(Many)
def _differs(a: Any, b: Any) -> Any:
    return (
        _flags(a, b, np.not_equal)
        if _is_given_number(b) and _is_given_number(a)
        else arithmetic.differs(b, a)
    )


def _flags(a: Any, b: Any, made: Any) -> Any:
    found = made(plain(a), plain(b)).astype(float)
    return found if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else Many(found)


@arithmetic.some.register(Many)
def _some(amount: Many) -> Many:
    return Many(amount.values > arithmetic.AMOUNT_ROUNDING)


@arithmetic.uneven.register(Many)
def _uneven(x: Many) -> Many:
    return Many(arithmetic.uneven(x.values))


@arithmetic.pick.register(Many)
def _pick(which: Many, values: Sequence[Any]) -> Many:
    return Many(arithmetic.pick(which.values, [plain(v) for v in values]))


def packed(numbers: list[Any]) -> np.ndarray[Any, Any]:
    """An array of numbers; of many points the first dimension is theirs."""
    if not any(isinstance(c, Many) for c in numbers):
        return np.array(numbers, dtype=float)
    return np.stack(np.broadcast_arrays(*(plain(c) for c in numbers)), axis=-1)
