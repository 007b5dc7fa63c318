"""The few named helpers that equations may use beside ``+ - * / **``.

Each is open to further arithmetics: a package that brings a new kind of number registers it here
(``log.register``), so that models never ask what they are computing with.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np


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
def log2(x: Any) -> Any:
    """Logarithm to base 2 of a dimensionless positive number."""
    return log(x) / np.log(2.0)


@singledispatch
def at_most(value: Any, bound: float) -> Any:
    """Read ``value <= bound`` as a ratio <= 1; a bound of zero or below asks for a value of zero or below."""
    return value / bound if bound > 0 else 1.0 + value - bound


@singledispatch
def at_least(value: Any, bound: float) -> Any:
    """Read ``value >= bound`` as a ratio <= 1."""
    return bound / value if bound > 0 else 1.0 + bound - value
