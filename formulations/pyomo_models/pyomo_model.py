"""An LP or MILP of positive quantities as a Pyomo model, and what a model's helpers are of Pyomo's expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numvalue import NumericValue

from dse.models import arithmetic
from formulations.arithmetics.posynomial import Posynomial
from formulations.linear_forms import linear_goal, linear_rows, typical_size
from formulations.problem import Problem
from formulations.pyomo_models.user_variables import picked, whole


def linear_model(problem: Problem) -> pyo.ConcreteModel:
    """Build an LP or MILP in the original variables, each in units of its own size.

    The goal is in units of ``goal_scale``.
    """
    m = pyo.ConcreteModel()
    names = [v.name for v in problem.variables]
    rows = linear_rows(problem)
    m.scale = {name: typical_size(problem, name) for name in names}
    m.x = pyo.Var(names, within=pyo.NonNegativeReals)
    si = {n: m.x[n] * m.scale[n] for n in names}
    for v in problem.variables:
        d, unit = v.decision, m.scale[v.name]
        # an end that is only there to have a box would be a number of 1e30: left open
        m.x[v.name].setlb(v.low / unit if v.real_low else 0.0)
        m.x[v.name].setub(v.high / unit if v.real_high else None)
        if d.values is not None or d.integer:
            ends = (v.low if d.minimum is None else d.minimum, v.high if d.maximum is None else d.maximum)
            taken = whole(m, v.name, ends) if d.values is None else picked(m, v.name, d.values)
            m.add_component(f"whole {v.name}", pyo.Constraint(expr=m.x[v.name] == taken / unit))
    m.limits = pyo.Constraint([tuple(key) for key, _, _ in rows])
    for key, numerator, denominator in rows:
        factor = 1 / row_size(numerator, denominator, m.scale)
        body = _pyomo_posynomial(numerator, si, factor) - _pyomo_posynomial(denominator, si, factor)
        # a row without variables must still be a row
        m.limits[tuple(key)] = body + 0.0 * m.x[names[0]] <= 0.0
    if problem.goal is None:
        m.goal_scale, expression = 1.0, 0.0 * m.x[names[0]]
    else:
        goal = linear_goal(problem.goal)
        m.goal_scale = max(abs(c) * math.prod(m.scale[v] for v, _ in k) for k, c in goal.terms.items())
        expression = _pyomo_posynomial(goal, si, 1 / m.goal_scale)
    m.objective = pyo.Objective(expr=expression)
    return m


def row_size(numerator: Posynomial, denominator: Posynomial, scale: Mapping[str, float]) -> float:
    """Return the largest term of a row at variables of their typical size: what the row is divided by."""
    terms = [*numerator.terms.items(), *denominator.terms.items()]
    return float(max(c * math.prod(scale[v] for v, _ in key) for key, c in terms))


def _pyomo_posynomial(p: Posynomial, si: Mapping[str, Any], factor: float) -> Any:
    return Posynomial({key: c * factor for key, c in p.terms.items()})(**si)


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
    return pyo.Expr_if(a >= b, 1.0, 0.0)


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
