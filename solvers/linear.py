"""LP and MILP by HiGHS through Pyomo, with an LP's bound worked out again from its multipliers.

A lower bound by weak duality needs no trust in the solver: any multipliers >= 0 give one, bad ones a weak
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.contrib.solver.common.factory import SolverFactory

from formulations.problem import Kind, Problem, linear_goal, linear_rows
from formulations.pyomo_model import linear_model, row_size
from results.solution import Status
from solvers import boxes, scan
from solvers.boxes import FEASIBLE, Array
from solvers.outcome import Outcome

SOLVER = "HiGHS"
GAP = 1e-9
AT_ZERO = 1e-9
ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class Matrix:
    """Minimise ``cost @ u + offset`` where ``rows @ u <= right`` and ``low <= u <= high``, in the model's units."""

    cost: Array
    offset: float
    rows: Array
    right: Array
    low: Array
    high: Array

    def bound(self, multipliers: Array) -> float:
        """Least possible objective by weak duality (minus infinity where the multipliers prove nothing)."""
        weight = np.maximum(multipliers, 0.0)
        slope = self.cost + weight @ self.rows
        # a slope that is zero but for rounding must not meet an open end
        noise = ROUNDING * (np.abs(self.cost) + weight @ np.abs(self.rows))
        slope = np.where(np.abs(slope) <= noise, 0.0, slope)
        with np.errstate(invalid="ignore"):
            least = np.where(slope > 0, slope * self.low, np.where(slope < 0, slope * self.high, 0.0))
        return float(
            self.offset - weight @ self.right + least.sum() - ROUNDING * (weight @ np.abs(self.right))
        )


def solve(problem: Problem, *, seconds: float = 60.0) -> Outcome:
    """Solve a problem of class LP or MILP; raises ValueError for any other class.

    LP: bound from weak duality in floats. MILP: HiGHS' own bound (relative gap 1e-9). "Infeasible" is passed
    on when multipliers (LP) or intervals or enumeration (MILP) prove it, and is an ``error`` otherwise.
    """
    if problem.kind not in {Kind.LP, Kind.MILP}:
        raise ValueError(f"a problem of class {problem.kind} is not linear")
    model = linear_model(problem)
    result, point = _run(model, seconds)
    if point is None:
        return _no_point(problem, model, str(result.termination_condition.name), seconds)
    where = boxes.space(problem.question)
    found = where.point(
        np.array([[max(point[v.name] * model.scale[v.name], v.low) for v in problem.variables]])
    )
    x = dict(zip(where.names, map(float, found[0]), strict=True))
    worst, _ = boxes.measured(problem.question, found)
    if not worst[0] <= 1 + FEASIBLE:
        return Outcome(
            Status.ERROR, solver=SOLVER, message=f"HiGHS' design breaks a limit by {worst[0] - 1:.1e}"
        )
    if problem.goal is None:
        return Outcome(Status.FEASIBLE, x, certificate="a design that meets all limits", solver=SOLVER)
    if problem.kind is Kind.MILP:
        text, low = "bound of HiGHS' branch and bound", float(result.objective_bound)
    else:
        m = matrix(problem, model)
        low = m.bound(_multipliers(result, model))
        text = "linear; lower bound from the multipliers by weak duality"
        held = _held_at_zero(problem, m, result, model, point)
        if held:
            return Outcome(
                Status.UNBOUNDED, x, certificate=f"less {held} is always better", solver=SOLVER, runaway=held
            )
    value = float(pyo.value(model.objective)) if low > -np.inf else np.inf
    closed = abs(value - low) <= problem.question.gap * max(abs(value), 1e-12)
    bound = problem.goal.sign * low * model.goal_scale if np.isfinite(low) else None
    return Outcome(Status.OPTIMAL if closed else Status.FEASIBLE, x, bound, text, SOLVER)


def _run(model: pyo.ConcreteModel, seconds: float) -> tuple[Any, dict[str, float] | None]:
    """Solve and load the point into the model; None where HiGHS has none."""
    result = SolverFactory("highs").solve(
        model,
        threads=1,
        rel_gap=GAP,
        abs_gap=0.0,
        time_limit=seconds,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        solver_options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.incumbent_objective is None:
        return result, None
    result.solution_loader.load_vars()
    return result, {name: float(v.value) for name, v in model.x.items()}


def matrix(problem: Problem, model: pyo.ConcreteModel) -> Matrix:
    """Collect the numbers of an LP in the units of its Pyomo model."""
    names = [v.name for v in problem.variables]
    table, right = [], []
    for _, numerator, denominator in linear_rows(problem):
        size = row_size(numerator, denominator, model.scale)
        plus, minus = (dict(p.terms) for p in (numerator, denominator))
        table.append(
            [(plus.get(_key(n), 0.0) - minus.get(_key(n), 0.0)) * model.scale[n] / size for n in names]
        )
        right.append((minus.get((), 0.0) - plus.get((), 0.0)) / size)
    goal = dict(linear_goal(problem.goal).terms) if problem.goal else {}
    return Matrix(
        np.array([goal.get(_key(n), 0.0) * model.scale[n] / model.goal_scale for n in names]),
        goal.get((), 0.0) / model.goal_scale,
        np.array(table).reshape(len(table), len(names)),
        np.array(right),
        np.array([model.x[n].lb for n in names], dtype=float),
        np.array([np.inf if model.x[n].ub is None else model.x[n].ub for n in names], dtype=float),
    )


def _key(name: str) -> tuple[tuple[str, float], ...]:
    return ((name, 1.0),)


def _multipliers(result: Any, model: pyo.ConcreteModel) -> Array:
    duals = result.solution_loader.get_duals(list(model.limits.values()))
    # Pyomo gives <= rows of a minimisation multipliers <= 0
    return np.array([-duals[c] for c in model.limits.values()], dtype=float)


def _held_at_zero(
    problem: Problem, m: Matrix, result: Any, model: pyo.ConcreteModel, point: dict[str, float]
) -> str:
    """Name the variable that only the end of its box keeps from falling further (empty: none)."""
    slope = m.cost + np.maximum(_multipliers(result, model), 0.0) @ m.rows
    for v, s in zip(problem.variables, slope, strict=True):
        free = not v.real_low and not v.decision.minimum and v.decision.values is None
        if free and point[v.name] <= AT_ZERO and s > AT_ZERO:
            return v.name
    return ""


def _no_point(problem: Problem, model: pyo.ConcreteModel, word: str, seconds: float) -> Outcome:
    """Prove infeasibility by other means than HiGHS' word, or report an error."""
    least = _least_violation(problem, model, seconds)
    if least > FEASIBLE:
        text = f"linear; weak duality: every design breaks some limit by {least:.1e} of its size or more"
        return Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER)
    if boxes.tighten(problem.question, boxes.space(problem.question)) is None:
        text = "interval arithmetic: no part of the box can meet all limits"
        return Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER)
    count = scan.enumerable(problem.question)
    if count is not None and count <= scan.LARGEST:
        return scan.scan(problem.question)
    return Outcome(Status.ERROR, solver=SOLVER, message=f"HiGHS: {word}, and nothing else proves it")


def _least_violation(problem: Problem, model: pyo.ConcreteModel, seconds: float) -> float:
    """Proven lower bound on the largest violation of any row, over all designs with whole numbers relaxed."""
    m = matrix(problem, model)
    elastic = pyo.ConcreteModel()
    elastic.scale = model.scale
    elastic.x = pyo.Var(list(model.scale), bounds=lambda _, n: (model.x[n].lb, model.x[n].ub))
    elastic.t = pyo.Var(bounds=(0.0, None))
    u = list(elastic.x.values())
    elastic.limits = pyo.Constraint(range(len(m.right)))
    for i, right in enumerate(m.right):
        elastic.limits[i] = sum(a * v for a, v in zip(m.rows[i], u, strict=True)) - elastic.t <= right
    elastic.objective = pyo.Objective(expr=elastic.t)
    result, point = _run(elastic, seconds)
    if point is None:
        return 0.0
    count = len(m.right)
    with_t = Matrix(
        np.append(np.zeros_like(m.cost), 1.0),
        0.0,
        np.column_stack([m.rows, -np.ones(count)]),
        m.right,
        np.append(m.low, 0.0),
        np.append(m.high, np.inf),
    )
    return with_t.bound(_multipliers(result, elastic))
