"""Models of several choices among names as one, with a ``pyomo.gdp.Disjunction`` over them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyomo.environ as pyo
from pyomo import gdp

from formulations.pyomo_models import user_variables
from formulations.pyomo_models.user_variables import Named
from scenarios.question import Question


def disjunctive(question: Question, models: Sequence[Any]) -> pyo.ConcreteModel:
    """Put the models of all choices of a question into one: ``choice[i]`` is the disjunct of model number i.

    The user's variables are those of the chosen model; ``objective_value`` is its own. What is minimised is ``goal``.
    """
    m = pyo.ConcreteModel()
    m.decided = {}
    logarithm = all("goal" in (getattr(x, "y", None) or ()) for x in models)
    names = dict.fromkeys(n for x in models for n in x.decided)
    for name in names:
        every = [x.decided[name] for x in models if name in x.decided]
        _shared(m, name, every)
    m.goal = pyo.Var(initialize=0.0)
    m.choice = gdp.Disjunct(range(len(models)))
    for i, inner in enumerate(models):
        wanted = inner.y["goal"] if logarithm else inner.objective_value * question.sign
        inner.del_component(inner.objective)
        disjunct = m.choice[i]
        disjunct.inner = inner
        disjunct.least = pyo.Constraint(expr=wanted <= m.goal)
        disjunct.ties = pyo.Constraint(list(inner.decided))
        for name, own in inner.decided.items():
            disjunct.ties[name] = m.decided[name].variable == own.variable * (own.unit / m.decided[name].unit)
    m.one = gdp.Disjunction(expr=[m.choice[i] for i in range(len(models))])
    if logarithm:
        m.goal.setlb(min(x.y["goal"].lb for x in models))
        m.goal.setub(max(x.y["goal"].ub for x in models))
    m.objective = pyo.Objective(expr=m.goal)
    value = m.goal * question.sign
    user_variables.objective_value(m, question, pyo.exp(value) if logarithm else value)
    return m


def _shared(m: pyo.ConcreteModel, name: str, every: Sequence[Named]) -> None:
    """Add one variable for those of that name in all models, over all their ends."""
    unit = max(n.unit for n in every)
    ends = [(n.variable.lb, n.variable.ub, n.unit / unit) for n in every]
    low = None if any(e[0] is None for e in ends) else min(e[0] * e[2] for e in ends)
    high = None if any(e[1] is None for e in ends) else max(e[1] * e[2] for e in ends)
    same = next(n for n in every if n.unit == unit)
    whole = all(not n.variable.is_continuous() for n in every)
    v = pyo.Var(within=pyo.Integers if whole else pyo.Reals, bounds=(low, high), doc=same.variable.doc)
    m.add_component(user_variables.free_name(m, name), v)
    m.decided[name] = Named(v, unit)


def chosen(m: Any, choices: Sequence[Mapping[str, str]]) -> Mapping[str, str] | None:
    """Return the choice that a solved disjunctive model made; None where none is made."""
    for i, choice in enumerate(choices):
        value = m.choice[i].binary_indicator_var.value
        if value is not None and math.isclose(value, 1.0, abs_tol=1e-6):
            return choice
    return None
