"""The Pyomo model of a question, as its user takes it to a solver: the one builder of all who solve through Pyomo.

Decided variables stand under the user's own names in both forms, each with its unit in ``doc``:

- ``plain``: limits and objective are written in these variables. Products of powers are exponentials of sums of
  logarithms, which solvers bound as well as a form in logarithms: with the powers themselves, numbers of 1e-12 beside
  1e9 are below their tolerances.
- ``log``: every quantity has a logarithm ``y`` beside it, in which geometric programs are convex.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import pyomo.environ as pyo

import formulations.pyomo_models.pyomo_model  # noqa: F401  (teaches the helpers what a Pyomo expression is)
from dse.names import some_of
from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.forms import Entry
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.linear_forms import program_of
from formulations.problem import Kind, Problem
from formulations.programs.program import Program
from formulations.pyomo_models import user_variables
from formulations.pyomo_models.log_data import Swept
from formulations.pyomo_models.log_models import LogWriter
from formulations.pyomo_models.log_program import log_program
from formulations.pyomo_models.program_model import form as linear_form
from formulations.pyomo_models.program_model import labels, pyomo_program
from formulations.pyomo_models.user_variables import NoModel
from scenarios.question import Question

PLAIN, LOG = "plain", "log"
FORMS = (PLAIN, LOG)
NAMES = 3


@dataclass(frozen=True, slots=True)
class Slope:
    """How the rows of a program follow an axis, or, with ``inverse``, one over it."""

    rows: Array
    inverse: bool = False

    def read(self, axis: Any) -> Any:
        """Return what the rows follow, of a number or of a parameter."""
        return 1.0 / axis if self.inverse else axis


@dataclass(frozen=True, slots=True)
class Open:
    """What stays open in a model: axes, each a mutable parameter under its name.

    ``swept``: where they stand; ``slopes``: of a program, how its rows follow each; ``at``: SI value of each now;
    ``docs``: what each is, with its unit.
    """

    swept: Swept = field(default_factory=Swept)
    slopes: Mapping[str, Slope] = field(default_factory=dict)
    at: Mapping[str, float] = field(default_factory=dict)
    docs: Mapping[str, str] = field(default_factory=dict)


def user_model(
    problem: Problem,
    form: str = PLAIN,
    box: Mapping[str, tuple[float, float]] | None = None,
    opened: Open | None = None,
    *,
    disjunctions: bool = False,
    ratio: float | None = None,
) -> pyo.ConcreteModel:
    """Build the model of a question without choices among names.

    ``box``: SI bounds of decided variables where limits make them tighter than domain and bounds do. ``opened``: what
    is left open. ``disjunctions``: maxima that something profits from stand as ``pyomo.gdp.Disjunction``. ``ratio``:
    see ``program_model.pyomo_program``.

    The model has a variable under every decided name (``decided`` holds them by name), ``limits[name, side]``,
    ``objective``, scaled, and ``objective_value``, what was asked in its own unit. Raises NoModel.
    """
    if form not in FORMS:
        raise NoModel(f"there is no form {form!r}: take {' or '.join(map(repr, FORMS))}")
    question = problem.question
    refusal = _refusal(problem)
    if refusal:
        raise NoModel(refusal)
    left = opened or Open()
    if problem.program is not None and form == LOG:
        none = some_of([d.name for d in question.decide], NAMES)
        raise NoModel(f"{none} may be 0, and 0 has no logarithm: take form 'plain'")
    program = program_of(problem)
    if program is not None and form == PLAIN and (problem.program is not None or not left.at):
        return _of_program(program, left, ratio, disjunctions=disjunctions)
    try:
        return _of_logarithms(question, form, box, left, disjunctions=disjunctions)
    except NotPosynomial as found:
        raise NoModel(f"it depends on {found}, which cannot be written as a formula for solvers") from None
    except (ArithmeticError, TypeError) as found:
        raise NoModel(f"its equations do not run on formulas ({found})") from None


def _refusal(problem: Problem) -> str:
    if problem.kind is Kind.EVALUATION:
        return "nothing is decided, so there is nothing to optimise: dse solve and dse sweep evaluate it"
    if problem.kind is Kind.BLACK_BOX:
        return f"it {problem.question.model.black_box}, so there are no formulas to write"
    return ""


def _axis_parameters(m: pyo.ConcreteModel, left: Open) -> dict[str, Any]:
    """Add a mutable parameter for every open axis, and ``m.axes``, all of them by name."""
    found = {}
    for name, value in left.at.items():
        parameter = pyo.Param(initialize=value, mutable=True, doc=left.docs.get(name, ""))
        m.add_component(user_variables.free_name(m, name), parameter)
        found[name] = parameter
    m.axes = found
    return found


def _of_logarithms(
    question: Question,
    form: str,
    box: Mapping[str, tuple[float, float]] | None,
    left: Open,
    *,
    disjunctions: bool,
) -> pyo.ConcreteModel:
    program = log_program(question, box, left.swept, exact=False)
    m = pyo.ConcreteModel()
    decided = {d.name for d in question.decide}
    ends = {v.name: (math.exp(v.low), math.exp(v.high)) for v in program.variables if v.name in decided}
    user_variables.add(m, question, {d.name: _rounded_ends(ends[d.name], d.integer) for d in question.decide})
    # solvers take a small number for zero, which has no logarithm
    middle = {name: math.sqrt(low) * math.sqrt(high) for name, (low, high) in left.swept.ranges.items()}
    axes = {n: pyo.log(p / middle[n]) + math.log(middle[n]) for n, p in _axis_parameters(m, left).items()}
    written = LogWriter(m, program, m.decided, axes, plain=form == PLAIN, disjunctions=disjunctions)
    written.write()
    user_variables.objective_value(m, question, written.value(plain=form == PLAIN))
    return m


def _rounded_ends(ends: tuple[float, float], whole: bool) -> tuple[float, float]:
    return (float(round(ends[0])), float(round(ends[1]))) if whole else ends


def _of_program(p: Program, left: Open, ratio: float | None, *, disjunctions: bool) -> pyo.ConcreteModel:
    m, names = pyo.ConcreteModel(), labels(p)
    axes = _axis_parameters(m, left)
    moves = [(s.read(axes[n]) - s.read(left.at[n]), s.rows) for n, s in left.slopes.items()]
    pyomo_program(p, ratio, moves, m, disjunctions=disjunctions)
    si = {names[i]: m.u[names[i]] * m.scale[names[i]] for i in range(len(names))}
    question = p.question
    user_variables.add(m, question, {d.name: _ends_of_variable(question, d.name) for d in question.decide})
    for d in question.decide:
        if d.values is not None:
            places = [names[p.columns.index(Entry(d.name, k))] for k in range(len(d.values))]
            value = sum(v * m.u[name] for v, name in zip(d.values, places, strict=True))
        else:
            value = si[d.name]
        user = m.decided[d.name]
        m.add_component(f"value of {d.name}", pyo.Constraint(expr=user.variable == value / user.unit))
    user_variables.objective_value(m, question, _quotient(p, [si[n] for n in names]))
    return m


def _ends_of_variable(question: Question, name: str) -> tuple[float, float]:
    """Return SI ends of a variable as its domain and values have them; a searched end is none."""
    box = evaluation.box(question, name)
    values = next(d.values for d in question.decide if d.name == name)
    if values is not None:
        return min(values), max(values)
    return (-math.inf if box.searched[0] else box.low), (math.inf if box.searched[1] else box.high)


def _quotient(p: Program, columns: list[Any]) -> Any:
    """What the user asked for, SI, over the columns of a program."""
    if p.goal is None or p.under is None:
        return 0.0 * columns[0]
    top, bottom = (p.under, p.goal) if p.sign < 0 else (p.goal, p.under)
    return linear_form(top, columns) / linear_form(bottom, columns)
