"""A structured problem with one limit elsewhere, or as its goal."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from formulations import canonical as canon
from formulations import evaluation
from formulations.arithmetics import posynomial
from formulations.problem import Goal, Problem, Row, moved
from formulations.row_keys import RowKey
from scenarios.question import Question
from solvers.mechanisms import sensitivity


def of_difference(problem: Problem, key: RowKey) -> bool:
    """Whether a limit is one on a difference, whose row does not say by how much it is missed."""
    return bool(sensitivity.of_differences((problem.cases or (problem,))[0], [key]))


def limit_as_goal(
    problem: Problem, key: RowKey, extra: Sequence[Row] = (), points: int | None = None
) -> canon.Canonical | None:
    """The problem that makes one limit as strict as can be, with what limits the same name on its other side.

    ``points``: so many times over.
    """
    row = next((r for r in problem.rows or () if r.key == key), None)
    if row is None:
        return None
    others = [r for r in problem.rows or () if r.key.name == key.name and r.key != key]
    goal, free = Goal(key.name, row.numerator, row.denominator), frozenset([key.name])
    shape = () if points is None else (points,)
    return canon.canonical(problem, goal, extra=[*others, *extra], drop=free, relax_sets=False, shape=shape)


def parts_with_limit_at(problem: Problem, key: RowKey, limit: Any) -> list[Problem]:
    """The problem with a limit elsewhere (one, an array of them, or None), case by case."""
    question = sensitivity.with_limit(problem.question, key, limit)
    return [_relimited(part, question, key) for part in problem.cases or (problem,)]


def _relimited(problem: Problem, question: Question, key: RowKey) -> Problem:
    """Return a structured problem with the limit ``key`` as ``question`` has it, and all else as it is."""
    assert problem.rows is not None, "only structured problems have rows"
    side = key.side == "max"
    then, now = (evaluation.bounds(q)[key.name][side] for q in (problem.question, question))
    rows = problem.rows
    if now is not None and of_difference(problem, key):
        _, rows = moved(problem, question)
    elif then and now is not None and np.all(now != 0):
        factor = posynomial.constant(then / now if side else now / then)
        rows = tuple(
            dataclasses.replace(r, numerator=r.numerator * factor) if r.key == key else r for r in rows
        )
    else:
        rows = tuple(r for r in rows if r.key != key)
    own = {d.name: d for d in question.decide}
    variables = tuple(
        v if v.auxiliary else dataclasses.replace(v, decision=own[v.name]) for v in problem.variables
    )
    return dataclasses.replace(problem, question=question, variables=variables, rows=rows)
