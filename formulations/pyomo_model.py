"""Any question as a Pyomo model with variables of order one and constraints under the user's names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numvalue import NumericValue

from dse.models import arithmetic
from formulations.log_models import log_model
from formulations.logprogram import log_program
from formulations.posynomial import NotPosynomial, Posynomial
from formulations.problem import Kind, Problem, linear_goal, linear_rows, typical_size
from formulations.program import Program, branch_count
from formulations.program_model import goal_in_si, is_ratio, pyomo_program

MOST_FILES = 100
FORMATS = {"lp": "cpxlp", "nl": "nl", "gams": "gams"}


class NotLinear(ValueError):
    """A format for linear problems was asked for one that is not."""


def pyomo_model(problem: Problem) -> pyo.ConcreteModel:
    """Build the problem as a Pyomo model.

    LP and MILP have variables ``x``, each in units of ``scale`` (SI per unit); those over amounts that may be 0
    are as ``program_model.pyomo_program`` says; all others have log variables ``y``, the decided ones under their
    own names. Limits are ``limits[name, side]`` in all. Raises ValueError where nothing is decided.
    """
    if problem.kind is Kind.EVALUATION:
        raise ValueError("nothing is decided: there is no model to optimise")
    if problem.program is not None:
        return pyomo_program(problem.program)
    if problem.kind in {Kind.LP, Kind.MILP}:
        return linear_model(problem)
    return log_model(log_program(problem.question))


def write(problem: Problem, path: Path, form: str, ratio: float | None = None) -> tuple[Path, ...]:
    """Write the problem as "lp", "nl" or "gams"; returns the files written.

    A program of several branches is one file for each ("x-1.lp", "x-2.lp", …), the least of whose optima is the
    optimum. ``ratio``: see ``program_model.pyomo_program``.

    Raises ValueError for another form and for a problem that has none, and NotLinear where "lp" is asked of a
    problem that is not linear, OSError where the file cannot be written.
    """
    if form not in FORMATS:
        raise ValueError(f"no format {form!r}: there are {', '.join(FORMATS)}")
    if form == "lp" and problem.kind not in {Kind.LP, Kind.MILP}:
        raise NotLinear(
            f"lp holds linear problems only and this is one of class {problem.kind}: use nl or gams"
        )
    if problem.program is not None:
        return _write_branches(problem.program, path, form, ratio)
    try:
        model = pyomo_model(problem)
    except NotPosynomial as refusal:
        raise ValueError(f"the problem cannot be written: it turns on {refusal}") from None
    note = {"lp": written_goal, "gams": logarithmic}.get(form)
    _to_file(model, path, form, note(problem) if note else "")
    return (path,)


def written_goal(problem: Problem, ratio: float | None = None) -> str:
    """How the objective in SI follows from that of a written file, which is scaled; empty where it does not."""
    if problem.program is not None:
        return goal_in_si(problem.program, ratio)
    if problem.kind not in {Kind.LP, Kind.MILP} or problem.goal is None:
        return ""
    size = problem.goal.sign * linear_model(problem).goal_scale
    return f"objective in SI = {size!r} * that of the file"


def logarithmic(problem: Problem) -> str:
    """How the objective in SI follows from that of a written log program; empty for other problems."""
    if problem.program is not None or problem.kind in {Kind.LP, Kind.MILP}:
        return ""
    program = log_program(problem.question)
    if not program.goal:
        return ""
    value = f"{'-' if program.sign < 0 else ''}(that of the file)"
    if program.plain:
        return f"the variables y of the file are natural logarithms of SI numbers; objective in SI = {value}"
    return f"the objective in the file is a natural logarithm: objective in SI = exp({value})"


def _write_branches(p: Program, path: Path, form: str, ratio: float | None) -> tuple[Path, ...]:
    if form == "lp" and is_ratio(p) and ratio is None:
        raise NotLinear("lp holds linear problems only and this objective is a ratio: use nl or gams")
    count = branch_count(p)
    if count > MOST_FILES:
        text = f"the problem is the best of {count} programs, and more than {MOST_FILES} files are of no use"
        raise ValueError(text)
    files = [path.with_stem(f"{path.stem}-{i + 1}") for i in range(count)] if count > 1 else [path]
    note = goal_in_si(p, ratio) if form == "lp" else ""
    for i, file in enumerate(files):
        _to_file(pyomo_program(p, i, ratio if form == "lp" else None), file, form, note)
    return tuple(files)


def _to_file(model: pyo.ConcreteModel, path: Path, form: str, note: str) -> None:
    """Write a model; ``note``: what a comment at the top of an lp or gams file says (nl has no such line)."""
    # the GAMS writer fails on itself where it cannot open the file: what the system says is said here
    path.open("a", encoding="utf-8").close()
    model.write(str(path), format=FORMATS[form], io_options={"symbolic_solver_labels": True})
    if note:
        comment = f"* {note}\n" if form == "gams" else f"\\* {note} *\\\n"
        path.write_text(comment + path.read_text(encoding="utf-8"), encoding="utf-8")


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
        ends = (v.low if d.minimum is None else d.minimum, v.high if d.maximum is None else d.maximum)
        whole = _whole(m, v.name, d.integer, d.values, ends)
        if whole is not None:
            m.add_component(f"whole {v.name}", pyo.Constraint(expr=m.x[v.name] == whole / unit))
    m.limits = pyo.Constraint([tuple(key) for key, _, _ in rows])
    for key, numerator, denominator in rows:
        factor = 1 / row_size(numerator, denominator, m.scale)
        body = _sum(numerator, si, factor) - _sum(denominator, si, factor)
        # a row without variables must still be a row
        m.limits[tuple(key)] = body + 0.0 * m.x[names[0]] <= 0.0
    if problem.goal is None:
        m.goal_scale, expression = 1.0, 0.0 * m.x[names[0]]
    else:
        goal = linear_goal(problem.goal)
        m.goal_scale = max(abs(c) * math.prod(m.scale[v] for v, _ in k) for k, c in goal.terms.items())
        expression = _sum(goal, si, 1 / m.goal_scale)
    m.objective = pyo.Objective(expr=expression)
    return m


def row_size(numerator: Posynomial, denominator: Posynomial, scale: Mapping[str, float]) -> float:
    """Return the largest term of a row at variables of their typical size: what the row is divided by."""
    terms = [*numerator.terms.items(), *denominator.terms.items()]
    return float(max(c * math.prod(scale[v] for v, _ in key) for key, c in terms))


def _sum(p: Posynomial, si: Mapping[str, Any], factor: float) -> Any:
    return Posynomial({key: c * factor for key, c in p.terms.items()})(**si)


def _whole(
    m: pyo.ConcreteModel,
    name: str,
    integer: bool,
    values: tuple[float, ...] | None,
    ends: tuple[float, float],
) -> Any:
    """Give what a discrete variable equals, SI, over new integer variables; None where it is continuous."""
    if values is not None:
        choice = pyo.Var(range(len(values)), within=pyo.Binary)
        m.add_component(f"choice {name}", choice)
        m.add_component(f"one {name}", pyo.Constraint(expr=sum(choice.values()) == 1))
        return sum(value * choice[i] for i, value in enumerate(values))
    if integer:
        number = pyo.Var(within=pyo.Integers, bounds=ends)
        m.add_component(f"number {name}", number)
        return number
    return None


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


@arithmetic.some.register(NumericValue)
def _some(amount: NumericValue) -> Any:
    return pyo.Expr_if(amount > arithmetic.NONE, 1.0, 0.0)


@arithmetic.pick.register(NumericValue)
def _pick(which: NumericValue, values: Sequence[Any]) -> Any:
    chosen = values[-1]
    for place in range(len(values) - 1, 0, -1):
        chosen = pyo.Expr_if(which <= place + 0.5, values[place - 1], chosen)
    return chosen


@arithmetic.register_differs(NumericValue)
def _differs(a: Any, b: Any) -> Any:
    return pyo.Expr_if((a - b) ** 2 >= 0.25, 1.0, 0.0)
