"""Elasticities, ranges and next changes: what stands beside an optimal design."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial

from formulations import evaluation
from formulations.problem import Problem
from formulations.row_keys import RowKey
from results.solution import Solution, Status
from solvers import designs, judgement, side_by_side
from solvers.explaining import listed_changes, next_changes
from solvers.geometric import kinks
from solvers.geometric.structured import Optimum, Place
from solvers.outcome import ENUMERATION


def explained(problem: Problem, solution: Solution, found: Optimum, neighbours: bool) -> Solution:
    """The solution with the sensitivities of its limits and parameters."""
    solution = dataclasses.replace(solution, ranges=found.ranges or {})
    if not problem.question.objectives or solution.status is not Status.OPTIMAL:
        return solution
    if not found.places and designs.free(problem.question):
        # whatever answered went another way
        problem = dataclasses.replace(problem, cases=())
    goals = [c.goal for c in (problem, *problem.cases) if c.goal is not None]
    if any(not goal.numerator.terms for goal in goals):
        return solution
    if any(v.discrete for v in problem.variables):
        return _with_next_changes(problem, solution) if neighbours else solution
    places = found.places
    if problem.rows is not None and found.y is not None and not places:
        places = (Place(problem, found.y, found.known),)
    if not places and not all(_variable_values(solution).values()):
        # percent of nothing is not a rate
        return solution
    judged = judgement.judge(problem.question, _variable_values(solution))
    told = kinks.of_places(judged, places) if places else kinks.without_structure(judged)
    return told.beside(solution, 0)


def _variable_values(solution: Solution) -> dict[str, float]:
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
    if solution.solver == ENUMERATION and solution.objective is not None:
        together = listed_changes.next_changes(problem.question, solution.objective, keys)
        if together is not None:
            return _changed(solution, {evaluation.label(k, keys): v for k, v in together.items()})

    def change(key: RowKey) -> tuple[float, float] | None:
        if solution.solver == ENUMERATION or (problem.rows is None and not problem.cases):
            assert solution.objective is not None, "there is an objective"
            return listed_changes.next_change(problem.question, solution.objective, key)
        state = limits[evaluation.label(key, keys)]
        return next_changes.next_change(problem, solution, state, key, effort)

    found = side_by_side.run([partial(change, key) for key in keys])
    return _changed(solution, {evaluation.label(k, keys): v for k, v in zip(keys, found, strict=True)})


def _changed(solution: Solution, found: Mapping[str, tuple[float, float] | None]) -> Solution:
    limits = dict(solution.limits)
    for label, changed in found.items():
        if changed is not None:
            value, objective = changed
            limits[label] = dataclasses.replace(limits[label], next_change=value, next_objective=objective)
    return dataclasses.replace(solution, limits=limits)
