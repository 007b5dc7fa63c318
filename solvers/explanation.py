"""Elasticities, ranges and next changes: what stands beside an optimal design."""

from __future__ import annotations

import dataclasses
import math

from formulations import canonical as canon
from formulations import evaluation
from formulations.evaluation import RowKey
from formulations.problem import Problem, formulate
from results.solution import LimitState, Solution, Status
from scenarios.question import Question
from solvers import branch, sensitivity, ties
from solvers.structured import Optimum

CHANGED = 1e-9
STEPS = 24


def explained(problem: Problem, solution: Solution, found: Optimum, neighbours: bool) -> Solution:
    """The solution with what its limits and parameters are worth."""
    assert found.y is not None, "only a design can be explained"
    solution = dataclasses.replace(solution, ranges=found.ranges or {})
    if problem.goal is None or solution.status is not Status.OPTIMAL:
        return solution
    if any(v.discrete for v in problem.variables):
        return _with_next_changes(problem, solution) if neighbours else solution
    c = canon.canonical(problem, problem.goal)
    d = sensitivity.duals(c, found.y)
    limits = dict(solution.limits)
    for key, lam, one_sided in zip(d.keys, d.value, d.one_sided, strict=True):
        label = evaluation.label(key, d.keys)
        if key.side == "model" or not d.known:
            continue
        e = sensitivity.limit_elasticity(problem, found.y, key, float(lam))
        limits[label] = dataclasses.replace(limits[label], elasticity=e, one_sided=bool(one_sided))
    parameters = sensitivity.parameter_elasticities(problem, found.y, d)
    return dataclasses.replace(solution, limits=limits, parameters=parameters)


def _with_next_changes(problem: Problem, solution: Solution) -> Solution:
    """For whole-number problems: the limit value at which the answer next changes, and the objective there."""
    goal = problem.goal
    assert goal is not None and problem.rows is not None, "only structured problems with a goal get here"
    limits = dict(solution.limits)
    keys = [r.key for r in problem.rows]
    for row in problem.rows:
        if row.key.side != "model":
            label = evaluation.label(row.key, keys)
            changed = next_change(problem, solution, limits[label], row.key)
            if changed is not None:
                limits[label] = dataclasses.replace(
                    limits[label], next_change=changed[0], next_objective=changed[1]
                )
    return dataclasses.replace(solution, limits=limits)


def next_change(
    problem: Problem, solution: Solution, state: LimitState, key: RowKey
) -> tuple[float, float] | None:
    """Relax one limit until another choice of the discrete values is better; None where none ever is.

    Bisection on the limit's logarithm, each step a certified branch and bound.
    """
    question = problem.question
    names = [v.name for v in problem.variables if v.discrete]
    now = tuple(solution.variables[n] for n in names)
    free = _best(sensitivity.with_limit(question, key, None))
    if free is None or free[0] == now or not _better(problem, free[1], solution.objective):
        return None
    sign = 1.0 if key.side == "max" else -1.0
    far = free[2].get(key.name)
    if key.name == "halvings" or far is None or not far > 0 or state.bound <= 0:
        return None
    low, high = 0.0, abs(math.log(far) - math.log(state.bound)) + 1e-9
    there = free
    for _ in range(STEPS):
        middle = (low + high) / 2
        best = _best(sensitivity.with_limit(question, key, state.bound * math.exp(sign * middle)))
        if best is None or best[0] == now:
            low = middle
        else:
            high, there = middle, best
        if high - low < 1e-7:
            break
    return state.bound * math.exp(sign * high), there[1]


def _better(problem: Problem, objective: float, now: float | None) -> bool:
    goal = problem.goal
    assert goal is not None and now is not None, "there is an objective"
    return goal.sign * (now - objective) > CHANGED * max(abs(now), 1e-12)


def _best(question: Question) -> tuple[tuple[float, ...], float, dict[str, float]] | None:
    """Discrete values, objective and all named values of the best design, ties by the rule; None where there is none."""
    problem = formulate(question)
    goal = problem.goal
    assert goal is not None, "only problems with a goal get here"
    found = branch.minimise(canon.canonical(problem, goal))
    if found.y is None:
        return None
    chosen = ties.choose(problem, goal, found.y)
    x = {v.name: math.exp(t) for v, t in zip(problem.variables, chosen.y, strict=True)}
    discrete = tuple(_exact(v.decision.values, x[v.name]) for v in problem.variables if v.discrete)
    return discrete, goal.to_user(found.value), _named(question, x)


def _exact(values: tuple[float, ...] | None, x: float) -> float:
    return float(round(x)) if values is None else min(values, key=lambda v: abs(v / x - 1))


def _named(question: Question, x: dict[str, float]) -> dict[str, float]:
    at = evaluation.metrics(question, x)
    return x | {n: float(v) for n, v in at.items()}
