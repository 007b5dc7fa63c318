"""Ties and ranges of linear problems: the same rule as in ``ties``, by linear programs in the original variables."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from formulations.evaluation import RowKey
from formulations.posynomial import ONE, Posynomial, constant
from formulations.problem import Goal, Problem, Row
from results.solution import Status
from solvers import linear, ties

KEEP = 1e-12
APART = 1e-6


def choose(
    problem: Problem, goal: Goal, x: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Break ties among the designs that are as good as ``x``: the design handed out, and the ranges of the others."""
    kept = [_no_worse(goal, x)]
    ranges = {}
    for v in problem.variables:
        low = _best(problem, Goal(v.name, _one(v.name), ONE), kept)
        high = _best(problem, Goal(v.name, _falling(v.name, x[v.name]), ONE), kept)
        if low and high and high[v.name] > low[v.name] * (1 + APART):
            ranges[v.name] = (low[v.name], high[v.name])
    if not ranges:
        return dict(x), {}
    for stage in ties.tie_goals(problem, goal.name):
        linear = _straight(stage, x)
        if linear is None:
            continue
        x = _best(problem, linear, kept) or x
        kept.append(_no_worse(linear, x))
    return dict(x), ranges


def _straight(stage: Goal, x: Mapping[str, float]) -> Goal | None:
    """A linear goal with the same order: the stage itself, or for c/v the growth of v; None where there is none."""
    if stage.numerator.is_affine and stage.denominator.same_as(ONE):
        return stage
    if stage.numerator.is_monomial and stage.denominator.same_as(ONE):
        ((key, _),) = stage.numerator.terms.items()
        if len(key) == 1 and key[0][1] < 0:
            return Goal(stage.name, _falling(key[0][0], x[key[0][0]]), ONE)
    return None


def _best(problem: Problem, goal: Goal, kept: list[Row]) -> Mapping[str, float] | None:
    outcome = linear.solve(dataclasses.replace(problem, goal=goal, rows=(*(problem.rows or ()), *kept)))
    return outcome.x if outcome.status in (Status.OPTIMAL, Status.FEASIBLE) else None


def _no_worse(goal: Goal, x: Mapping[str, float]) -> Row:
    key = RowKey(f"best {goal.name}", "model")
    if goal.sign < 0:
        return Row(key, constant(float(goal.denominator(**x)) * (1 - KEEP)), goal.denominator)
    return Row(key, goal.numerator, constant(float(goal.numerator(**x)) * (1 + KEEP)))


def _one(name: str) -> Posynomial:
    return Posynomial({((name, 1.0),): 1.0})


def _falling(name: str, size: float) -> Posynomial:
    """Something affine that falls as the variable grows (its constant only sets the scale)."""
    return Posynomial({(): 2.0 * size, ((name, 1.0),): -1.0})
