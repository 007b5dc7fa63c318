"""What the helpers of a model's equations are of Pyomo's expressions: importing this module teaches them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numvalue import NumericValue

from dse.models import arithmetic


@arithmetic.log.register(NumericValue)
def _log(x: NumericValue) -> Any:
    return pyo.log(x)


@arithmetic.exp.register(NumericValue)
def _exp(x: NumericValue) -> Any:
    return pyo.exp(x)


@arithmetic.register_maximum(NumericValue)
def _maximum(a: NumericValue, b: Any) -> Any:
    # exact in every direction, unlike an epigraph, and to the last digit, unlike a sum with |a - b|
    return pyo.Expr_if(a >= b, a, b)


@arithmetic.register_reaches(NumericValue)
def _reaches(a: Any, b: Any) -> Any:
    # of what is decided a solver's own tolerance is wider
    start = b if isinstance(b, NumericValue) else arithmetic.reached_from(b)
    return pyo.Expr_if(a >= start, 1.0, 0.0)


@arithmetic.uneven.register(NumericValue)
def _uneven(x: NumericValue) -> Any:
    # squares, for a distance that may be negative
    return pyo.Expr_if((x - pyo.floor(x + 0.5)) ** 2 > (arithmetic.QUOTIENT_ROUNDING * x) ** 2, 1.0, 0.0)


@arithmetic.some.register(NumericValue)
def _some(amount: NumericValue) -> Any:
    return pyo.Expr_if(amount > arithmetic.AMOUNT_ROUNDING, 1.0, 0.0)


@arithmetic.pick.register(NumericValue)
def _pick(which: NumericValue, values: Sequence[Any]) -> Any:
    chosen = values[-1]
    for place in range(len(values) - 1, 0, -1):
        chosen = pyo.Expr_if(which <= place + 0.5, values[place - 1], chosen)
    return chosen


@arithmetic.register_differs(NumericValue)
def _differs(a: Any, b: Any) -> Any:
    return pyo.Expr_if((a - b) ** 2 >= 0.25, 1.0, 0.0)
