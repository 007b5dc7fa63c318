"""Elasticities, ranges and next changes: what stands beside an optimal design."""

from __future__ import annotations

import dataclasses
from functools import partial

from formulations import canonical as canon
from formulations import evaluation
from formulations.evaluation import RowKey
from formulations.problem import Problem
from results.solution import Solution, Status
from scenarios.question import Question
from solvers import kinks, methods, next_changes, sensitivity, side_by_side
from solvers.structured import Optimum


def explained(problem: Problem, solution: Solution, found: Optimum, neighbours: bool) -> Solution:
    """The solution with what its limits and parameters are worth."""
    solution = dataclasses.replace(solution, ranges=found.ranges or {})
    if not problem.question.objectives or solution.status is not Status.OPTIMAL:
        return solution
    if not found.places:
        # whatever answered went another way
        problem = dataclasses.replace(problem, cases=())
    goals = [c.goal for c in (problem, *problem.cases) if c.goal is not None]
    if any(not goal.numerator.terms for goal in goals):
        return solution
    if any(v.discrete for v in problem.variables):
        return _with_next_changes(problem, solution) if neighbours else solution
    if found.places:
        return _with_worth(
            problem.question, solution, kinks.worth(problem.question, _numbers(solution), found.places)
        )
    if problem.rows is None and not all(_numbers(solution).values()):
        # percent of nothing is no rate
        return solution
    if problem.rows is None or found.y is None:
        d = sensitivity.numeric_duals(problem.question, _numbers(solution))
        return _with_elasticities(problem, solution, d) if d.known else solution
    c = canon.canonical(problem, problem.goal)
    return _with_elasticities(problem, solution, sensitivity.duals(c, found.y, found.known))


def _with_worth(question: Question, solution: Solution, known: kinks.Worth) -> Solution:
    solution = _with_limits(question, solution, known.duals)
    return dataclasses.replace(solution, parameters=known.parameters, one_sided=known.one_sided)


def _with_elasticities(problem: Problem, solution: Solution, d: sensitivity.Duals) -> Solution:
    parameters = sensitivity.parameter_elasticities(problem.question, _numbers(solution), d)
    return dataclasses.replace(_with_limits(problem.question, solution, d), parameters=parameters)


def _with_limits(question: Question, solution: Solution, d: sensitivity.Duals) -> Solution:
    x, limits = _numbers(solution), dict(solution.limits)
    for key, lam, one_sided in zip(d.keys, d.value, d.one_sided, strict=True):
        label = evaluation.label(key, d.keys)
        if key.side == "model" or not d.known:
            continue
        e = sensitivity.limit_elasticity(question, x, key, float(lam)) if limits[label].binding else 0.0
        limits[label] = dataclasses.replace(limits[label], elasticity=e, one_sided=bool(one_sided))
    return dataclasses.replace(solution, limits=limits)


def _numbers(solution: Solution) -> dict[str, float]:
    return {n: float(v) for n, v in solution.variables.items()}


def _with_next_changes(problem: Problem, solution: Solution) -> Solution:
    """For whole-number problems: the limit value at which the answer next changes, and the objective there."""
    limits = dict(solution.limits)
    asked = evaluation.bounds(problem.question)
    keys = [
        RowKey(n, side)
        for n, ends in asked.items()
        for side, end in zip(("min", "max"), ends, strict=True)
        if end
    ]
    effort = next_changes.Effort()

    def change(key: RowKey) -> tuple[float, float] | None:
        state = limits[evaluation.label(key, keys)]
        if problem.rows is None and not problem.cases:
            return methods.next_change(problem, solution, state, key)
        return next_changes.next_change(problem, solution, state, key, effort)

    found = side_by_side.run([partial(change, key) for key in keys])
    for label, changed in zip([evaluation.label(key, keys) for key in keys], found, strict=True):
        if changed is not None:
            limits[label] = dataclasses.replace(
                limits[label], next_change=changed[0], next_objective=changed[1]
            )
    return dataclasses.replace(solution, limits=limits)
