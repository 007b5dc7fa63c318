"""Differences of posynomials: a limit on one is a ratio of sums, and so may be a geometric program.

``plus - minus <= bound`` is ``plus / (minus + bound) <= 1`` where the bound is positive, and so on: no minus is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.models import arithmetic
from dse.system.records import dataclass
from formulations.arithmetics.operators import Operators
from formulations.arithmetics.posynomial import (
    Apart,
    LogMonomial,
    NotPosynomial,
    Ratio,
    Refused,
    ratio,
    refuses,
)


@dataclass(frozen=True, slots=True, eq=False)
class Difference(Apart, Operators):
    """plus - minus, both ratios of posynomials: no posynomial itself, but a limit on it is a ratio of posynomials.

    Only what asks for it by ``arithmetic.difference`` gets one (definitions of a scenario do).
    """

    plus: Ratio
    minus: Ratio

    refusal = NotPosynomial

    def _with(self, plus: Any, minus: Any) -> Any:
        refused = [x for x in (plus, minus) if isinstance(x, Refused)]
        return refused[0] if refused else Difference(plus, minus)

    def __neg__(self) -> Difference:
        return Difference(self.minus, self.plus)

    def __add__(self, other: Any) -> Any:
        b = _as_difference(other)
        return b if isinstance(b, Refused) else self._with(self.plus + b.plus, self.minus + b.minus)

    def __sub__(self, other: Any) -> Any:
        return self + -_as_difference(other)

    def __mul__(self, other: Any) -> Any:
        b = _as_difference(other)
        if isinstance(b, Refused):
            return b
        return self._with(
            self.plus * b.plus + self.minus * b.minus, self.plus * b.minus + self.minus * b.plus
        )

    def __truediv__(self, other: Any) -> Any:
        b = _as_difference(other)
        if isinstance(b, Refused):
            return b
        if b.minus.numerator.terms:
            return self._divided() if b.plus.numerator.terms else -self / b.minus
        return self._with(self.plus / b.plus, self.minus / b.plus)

    def _divided(self, _other: Any = None) -> Refused:
        return Refused("a division by a difference")

    __rtruediv__ = _divided

    def __pow__(self, exponent: Any) -> Any:
        if exponent not in (1, 2, 3):
            return Refused("a difference")
        found: Any = self
        for _ in range(int(exponent) - 1):
            found = found * self
        return found

    def __rpow__(self, _base: Any) -> Refused:
        return Refused("a difference")


def _as_difference(x: Any) -> Difference | Refused:
    """Read anything as a difference: a negative number is nothing less it."""
    if isinstance(x, Difference | Refused):
        return x
    if isinstance(x, Ratio):
        return Difference(x, ratio(0.0))
    if isinstance(x, LogMonomial):
        return Refused(x.reason)
    c = np.asarray(x, dtype=float)
    try:
        return Difference(ratio(np.maximum(c, 0.0)), ratio(np.maximum(-c, 0.0)))
    except NotPosynomial as refusal:
        return Refused(str(refusal))


@arithmetic.register_difference(Ratio)
@arithmetic.register_difference(Difference)
def _subtracted(a: Any, b: Any) -> Any:
    found: Any = _as_difference(a) - _as_difference(b)
    nothing = isinstance(found, Difference) and not found.minus.numerator.terms
    return found.plus if nothing else found


@arithmetic.at_most.register(Difference)
def _difference_at_most(value: Difference, bound: Any) -> Any:
    """Plus - minus <= bound, whatever their signs, as a ratio of sums."""
    end = _as_difference(bound)
    if isinstance(end, Refused):
        return end
    return (value.plus + end.minus) / (value.minus + end.plus)


@arithmetic.at_least.register(Difference)
def _difference_at_least(value: Difference, bound: Any) -> Any:
    return _difference_at_most(-value, -_as_difference(bound))


@arithmetic.not_negative.register(Difference)
def _plus_over_minus(value: Difference, _size: Any) -> Any:
    return value.minus / value.plus


@arithmetic.not_negative.register(Ratio)
def _never_negative(_value: Ratio, _size: Any) -> float:
    return 0.0


refuses(
    Difference,
    "a logarithm or exponential of a difference",
    arithmetic.log.register,
    arithmetic.log2.register,
    arithmetic.exp.register,
)
refuses(Difference, "whether one number divides another", arithmetic.uneven.register)
refuses(
    Difference,
    "the larger of differences",
    arithmetic.register_maximum,
    arithmetic.register_minimum,
    arithmetic.register_reaches,
)
