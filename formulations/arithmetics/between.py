"""Given numbers that are known to lie between two ends: what a program's coefficients are over boxes of other numbers.

``Between`` goes wherever ``Many`` goes. The program that a question then comes to has for each box a point with the
least coefficients, and after those of all boxes one with the greatest. What depends on a number (is it 0, which sign
has it) must be certain, and the same, in all boxes; else ``CannotTake`` is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dse.models import arithmetic
from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array
from formulations.arithmetics import intervals
from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.many import COMPARISONS, Many, is_given_number

OPERATIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.divide: lambda a, b: a / b,
    np.power: lambda a, b: a**b,
    np.negative: lambda a: -a,
    np.absolute: lambda a: intervals.maximum(a, -a),
    np.maximum: intervals.maximum,
    np.minimum: lambda a, b: -intervals.maximum(-a, -b),
    np.log: intervals.log,
    np.exp: intervals.exp,
}
UNCERTAIN = "what depends on a number that is not the same everywhere"


class Between(Many):
    """Numbers of N boxes that lie between two ends (N,); ``values`` (2 N,): the lower ends, then the upper ones."""

    __slots__ = ()
    between = True

    def __array_ufunc__(self, made: np.ufunc, method: str, *of: Any) -> Any:
        """Return what lies between two ends of what does; of a comparison one answer, where there is one."""
        if made in COMPARISONS and not all(map(is_given_number, of)):
            return made is np.not_equal
        if made in COMPARISONS:
            return _compared(made, *map(_ends_of, of))
        if method != "__call__" or not all(map(is_given_number, of)):
            return NotImplemented
        if made not in OPERATIONS:
            raise CannotTake(f"{made.__name__} of a number between two ends")
        if made is np.multiply and any(not isinstance(x, Many) and np.ndim(x) == 0 and x == 0.0 for x in of):
            # rounded outwards it might be anything
            return 0.0
        with np.errstate(all="ignore"):
            if made is np.power:
                return _between(_ends_of(of[0]) ** arithmetic.number(of[1]))
            return self.after(OPERATIONS[made], *of)

    def after(self, function: Callable[..., Any], *of: Any) -> Between:
        """Return what a function makes of the intervals between ends."""
        return _between(function(*map(_ends_of, of)))


def between(low: Array, high: Array) -> Between:
    """Numbers between ends (N,)."""
    return Between(np.concatenate([low, high]))


def _ends_of(x: Any) -> Interval:
    if isinstance(x, Between):
        return Interval(*np.split(x.values, 2))
    if np.ndim(x):
        raise CannotTake("numbers of points beside numbers between two ends")
    return Interval.of(arithmetic.number(x))


def _between(found: Any) -> Between:
    found = Interval.of(found)
    if np.isnan(found.lo).any() or np.isnan(found.hi).any():
        raise CannotTake("what is no number somewhere")
    return between(*np.broadcast_arrays(found.lo, found.hi))


def _compared(made: np.ufunc, a: Interval, b: Interval) -> bool:
    """What a comparison says in every box; raises CannotTake where it is not certain."""
    pairs = (a.lo, a.hi), (b.lo, b.hi)
    corners = [made(x, y) for x in pairs[0] for y in pairs[1]]
    # between ends that are not the same there is more than the ends
    alike = made in {np.equal, np.not_equal}
    if alike and not ((a.hi < b.lo) | (b.hi < a.lo) | ((a.lo == a.hi) & (b.lo == b.hi))).all():
        raise CannotTake(UNCERTAIN)
    every = np.stack(np.broadcast_arrays(*corners))
    if not (every.all() or not every.any()):
        raise CannotTake(UNCERTAIN)
    return bool(every.all())
