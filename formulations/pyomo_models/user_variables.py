"""What a Pyomo model has for its user: decided variables under their own names, and the objective as it was asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyomo.environ as pyo

from dse.models.model import Model
from dse.system.records import dataclass
from formulations import evaluation
from scenarios.question import Decision, Question

UNIT_STEP = 3.0
"""Units of small quantities go down by a thousand: pJ, not 3.8e-10 J."""


# what our models hold beside the user's variables
OWN = frozenset(
    [
        "axes",
        "choice",
        "decided",
        "definitions",
        "equations",
        "goal",
        "goal_scale",
        "limits",
        "objective",
        "objective_value",
        "one",
        "origin",
        "scale",
        "sums",
        "u",
        "y",
    ]
)


class NoModel(ValueError):
    """A question, or part of it, cannot be written as a Pyomo model; says why."""


@dataclass(frozen=True, slots=True)
class Named:
    """A decided variable of a model; SI value = ``unit`` * ``variable``."""

    variable: Any
    unit: float

    @property
    def log(self) -> Any:
        """The natural logarithm of the SI value, as an expression."""
        return pyo.log(self.variable) + math.log(self.unit)


def add(m: pyo.ConcreteModel, question: Question, ends: Mapping[str, tuple[float, float]]) -> None:
    """Add every decided variable of a question under its own name, and ``m.decided``, all of them by name.

    ``ends``: SI bounds, infinite where there are none. A name that Pyomo keeps for itself gets a "_" at its end.
    Solvers take numbers below about 1e-9 for zero: a quantity that is small everywhere has a smaller unit than SI
    has, as its ``doc`` says.
    """
    m.decided = {}
    for d in question.decide:
        low, high = ends[d.name]
        unit = 1.0 if d.integer or (d.values is not None and high >= 1) else unit_of(high)
        v = pyo.Var(
            within=pyo.Integers if d.integer else pyo.Reals,
            bounds=(_finite_end(low / unit), _finite_end(high / unit)),
            doc=doc(question.model, d, unit),
        )
        m.add_component(free_name(m, d.name), v)
        m.decided[d.name] = Named(v, unit)


def picked(m: pyo.ConcreteModel, name: str, values: Sequence[float]) -> Any:
    """Return one of some numbers, by a binary variable for each."""
    choice = pyo.Var(range(len(values)), within=pyo.Binary)
    m.add_component(f"choice {name}", choice)
    m.add_component(f"one {name}", pyo.Constraint(expr=sum(choice.values()) == 1))
    return sum(value * choice[i] for i, value in enumerate(values))


def whole(m: pyo.ConcreteModel, name: str, ends: tuple[float, float]) -> Any:
    """Return a new whole number."""
    number = pyo.Var(within=pyo.Integers, bounds=ends)
    m.add_component(f"number {name}", number)
    return number


def _finite_end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def unit_of(high: float) -> float:
    """Return SI per unit for a quantity of at most ``high``: 1, or the power of a thousand below it."""
    if not 0 < high < 1:
        return 1.0
    return float(10.0 ** (UNIT_STEP * math.floor(math.log10(high) / UNIT_STEP)))


def doc(model: Model, d: Decision, unit: float) -> str:
    """Say what a decided variable is, and in which unit."""
    q = evaluation.quantity(model, d.name)
    if q.menu:
        return f"{q.meaning}: {', '.join(f'{i} = {name}' for i, name in enumerate(q.menu, 1))}"
    return f"{q.meaning} [{f'{unit:g} ' * (unit != 1.0)}{q.unit or '1'}]"


def free_name(m: pyo.ConcreteModel, name: str) -> str:
    """Return a name that the model has free: this one, or with "_" at its end."""
    while name in OWN or hasattr(m, name) or m.component(name) is not None:
        name += "_"
    return name


def objective_value(m: pyo.ConcreteModel, question: Question, value: Any) -> None:
    """Add what the user asked to be least or greatest, in its own unit; 0 where nothing was asked."""
    text = "nothing is minimised"
    if question.objectives:
        wanted = question.objectives[0]
        q = evaluation.quantity(question.model, wanted.name)
        verb = "maximised" if wanted.maximize else "minimised"
        text = f"{wanted.name}, {verb}: {q.meaning} [{q.unit or '1'}]"
    m.objective_value = pyo.Expression(expr=value, doc=text)
