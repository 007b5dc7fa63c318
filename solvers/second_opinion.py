"""Another answer to the same question: a Pyomo model of it, solved by SCIP, beside nothing of our own methods.

It is an opinion, to be held against an answer that has a proof: SCIP computes in floating point, and its
"infeasible" alone proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formulations import evaluation
from formulations.problem import Kind, Problem, formulate
from formulations.program import Program, branch_count
from results.solution import Status
from scenarios.question import Question, combinations
from solvers import scip
from solvers.boxes import FEASIBLE

MOST_BRANCHES = 64
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Opinion:
    """What came out: ``optimal``, ``feasible``, ``infeasible``, ``evaluated``, or ``error`` where nothing did.

    ``metrics``: only where nothing is decided.
    """

    status: Status
    objective: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    message: str = ""


def ask(question: Question, seconds: float) -> Opinion:
    """Answer a question by other means than ``solvers.answer``, within about so many seconds.

    Solves in this process: whoever calls must be able to end it. Never raises: what fails is an ``error``.
    """
    try:
        found = [_ask(q, seconds) for _, q in combinations(question)]
    except Exception as problem:  # whatever it is, there is no opinion then
        return Opinion(Status.ERROR, message=f"{type(problem).__name__}: {problem}")
    unsure = next((o for o in found if o.status is Status.ERROR), None)
    if len(found) == 1 or unsure is not None:
        return unsure or found[0]
    return _best(question, found)


def _best(question: Question, found: list[Opinion]) -> Opinion:
    """Return the best of the opinions on each choice among names."""
    designs = [o for o in found if o.status is not Status.INFEASIBLE]
    if not designs:
        return found[0]
    maximize = bool(question.objectives) and question.objectives[0].maximize
    values = [-math.inf if o.objective is None else o.objective * (1 if maximize else -1) for o in designs]
    best = designs[int(np.argmax(values))]
    return Opinion(Status.OPTIMAL, best.objective) if best.status is Status.EVALUATED else best


def _ask(question: Question, seconds: float) -> Opinion:
    problem = formulate(question)
    if problem.kind is Kind.EVALUATION:
        return _evaluated(question)
    if problem.kind is Kind.BLACK_BOX:
        return Opinion(Status.ERROR, message="a black box has no model")
    if problem.program is not None:
        return _of_program(problem.program, seconds)
    if problem.kind in {Kind.LP, Kind.MILP}:
        return _linear(problem, seconds)
    outcome = scip.solve(question, seconds=seconds, isolated=False)
    if outcome.x is None:
        word = f"SCIP: {outcome.message}"
        told = outcome.status is Status.INFEASIBLE or "Infeasible" in outcome.message
        return Opinion(Status.INFEASIBLE if told else Status.ERROR, message=word)
    x = {name: np.float64(value) for name, value in outcome.x.items()}
    at = evaluation.metrics(question, x)
    value = float(evaluation.objective(question, x, at)) if question.objectives else None
    return Opinion(outcome.status, value)


def _evaluated(question: Question) -> Opinion:
    """Evaluate in plain floats."""
    with np.errstate(all="ignore"):
        at = {n: float(v) for n, v in evaluation.metrics(question, {}).items()}
        ratios = evaluation.ratios(question, {}, at)
        worst = max((float(r) for r in ratios.values() if not math.isnan(float(r))), default=0.0)
        value = float(evaluation.objective(question, {}, at)) if question.objectives else None
    status = Status.EVALUATED if worst <= 1 + FEASIBLE else Status.INFEASIBLE
    return Opinion(status, value, at)


def _of_program(p: Program, seconds: float) -> Opinion:
    """Solve every branch of a program; the least is the optimum."""
    from formulations.program_model import is_ratio, pyomo_program

    count = branch_count(p)
    if count > MOST_BRANCHES:
        return Opinion(Status.ERROR, message=f"the best of {count} programs: too many for a second opinion")
    found = [_solved(pyomo_program(p, i), seconds) for i in range(count)]
    costs = [cost for status, cost in found if status is Status.OPTIMAL]
    if any(status is Status.ERROR for status, _ in found):
        return Opinion(Status.ERROR, message="SCIP did not finish")
    if not costs:
        return Opinion(Status.INFEASIBLE)
    if p.goal is None or p.under is None:
        return Opinion(Status.FEASIBLE)
    least = min(costs)
    if is_ratio(p):
        return Opinion(Status.OPTIMAL, 1 / least if p.sign < 0 else least)
    # where only the denominator is decided, minus its reciprocal is minimised
    below = bool(p.under[:-1].any())
    value = -least if below else least
    return Opinion(Status.OPTIMAL, 1 / value if below != (p.sign < 0) else value)


def _linear(problem: Problem, seconds: float) -> Opinion:
    from formulations.pyomo_model import linear_model

    status, cost = _solved(linear_model(problem), seconds)
    if status is not Status.OPTIMAL:
        return Opinion(status, message="SCIP did not finish" if status is Status.ERROR else "")
    if problem.goal is None:
        return Opinion(Status.FEASIBLE)
    return Opinion(Status.OPTIMAL, problem.goal.sign * cost)


def _solved(model: Any, seconds: float) -> tuple[Status, float]:
    """Solve a Pyomo model by SCIP: its status and its objective in units of the model's ``goal_scale``, times that."""
    import pyomo.environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory

    assert pyo, "Pyomo's solvers are registered by importing its environment"
    result = SolverFactory("scip_direct").solve(
        model,
        time_limit=seconds,
        threads=1,
        rel_gap=TOLERANCE,
        abs_gap=0.0,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        solver_options={"numerics/feastol": TOLERANCE},
    )
    word = result.termination_condition.name
    if "nfeasible" in word:
        return Status.INFEASIBLE, math.nan
    if word != "convergenceCriteriaSatisfied" or result.incumbent_objective is None:
        return Status.ERROR, math.nan
    return Status.OPTIMAL, float(result.incumbent_objective) * float(getattr(model, "goal_scale", 1.0))
