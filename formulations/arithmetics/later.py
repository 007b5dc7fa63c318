"""Numbers that are worked out when they are asked for, and not at all where nobody asks.

Of a model's metrics a question over many samples needs few: its objective, and what is limited. Equations that run on
``Later`` note what is to be done; whoever asks for a number has it, and what it follows from, done as arrays do it, to
the same bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from dse.models import arithmetic

PLAIN = (int, float, np.ndarray, np.generic)


def _operator(made: np.ufunc, *, turned: bool = False) -> Callable[[Any, Any], Any]:
    """Return an operator that asks no ufunc first who is to answer it: equations have thousands of them."""

    def of_two(self: Later, other: Any) -> Any:
        if not isinstance(other, TAKEN):
            return NotImplemented
        return Later(made, other, self) if turned else Later(made, self, other)

    return of_two


class Later(NDArrayOperatorsMixin):
    """What ``made`` makes of some numbers; ``users``: how many others still wait for it, after which it is dropped."""

    __slots__ = ("_found", "_made", "_of", "users")

    def __init__(self, made: Callable[..., Any], *of: Any) -> None:
        self._made, self._of, self._found, self.users = made, of, None, 0
        for x in of:
            if isinstance(x, Later):
                x.users += 1

    @property
    def values(self) -> NDArray[Any]:
        """The numbers as an array."""
        waiting = [self]
        with np.errstate(all="ignore"):
            # no recursion: a sum may have a thousand terms
            while waiting:
                now = waiting[-1]
                missing = [x for x in now._of if isinstance(x, Later) and x._found is None]
                if now._found is None and missing:
                    waiting += missing
                    continue
                waiting.pop()
                if now._found is None:
                    now._found = now._made(*(x._found if isinstance(x, Later) else x for x in now._of))
                    now._drop()
        return np.asarray(self._found)

    def _drop(self) -> None:
        for x in self._of:
            if isinstance(x, Later):
                x.users -= 1
                if not x.users:
                    x._found = None

    def __array_ufunc__(self, made: np.ufunc, method: str, *of: Any, **more: Any) -> Any:
        """Return the same later; numbers of another arithmetic decide themselves what comes of both."""
        for x in of:
            if not isinstance(x, TAKEN):
                return NotImplemented
        if method != "__call__" or (more and more.get("out") != (self,)):
            return getattr(made, method)(*(x.values if isinstance(x, Later) else x for x in of), **more)
        return Later(made, *of)

    __add__, __radd__ = _operator(np.add), _operator(np.add, turned=True)
    __sub__, __rsub__ = _operator(np.subtract), _operator(np.subtract, turned=True)
    __mul__, __rmul__ = _operator(np.multiply), _operator(np.multiply, turned=True)
    __truediv__, __rtruediv__ = _operator(np.divide), _operator(np.divide, turned=True)

    def __pow__(self, exponent: Any) -> Any:
        # arrays have squares and roots of their own
        return Later(operator.pow, self, exponent) if isinstance(exponent, TAKEN) else NotImplemented

    def __rpow__(self, base: Any) -> Any:
        return Later(operator.pow, base, self) if isinstance(base, PLAIN) else NotImplemented

    def astype(self, kind: Any) -> Later:
        """Return the numbers as those of another type."""
        return Later(lambda v: v.astype(kind), self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.values, name)

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __float__(self) -> float:
        return float(self.values)


TAKEN = (Later, *PLAIN)


def later(values: NDArray[Any]) -> Later:
    """Return an array from which others follow when they are asked for."""
    return Later(np.asarray, values)


def kept(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return numbers that may be asked for at any time, or by several: none of them is dropped."""
    for value in found.values():
        if isinstance(value, Later):
            value.users += 1
    return found


@arithmetic.pick.register(Later)
def _pick(which: Later, values: Sequence[Any]) -> Later:
    return Later(lambda place, *every: arithmetic.pick(place, every), which, *values)


@arithmetic.fractional_power.register(Later)
def _fractional_power(base: Later, exponent: float, size: Callable[[], Any]) -> Later:
    return Later(lambda x, of: arithmetic.fractional_power(x, exponent, lambda: of), base, size())


@arithmetic.sharp.register(Later)
def _sharp(part: Later) -> Later:
    return Later(arithmetic.sharp, part)


@arithmetic.register_amount_times(Later)
def _amount_times(amount: Any, each: Any) -> Later:
    return Later(arithmetic.amount_times, amount, each)
