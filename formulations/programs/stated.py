"""A question whose arithmetic is affine, in affine forms: what a program is made of."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.affine import Linear, linear, symbol
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.row_keys import RowKey
from scenarios.question import Question


@dataclass(frozen=True, slots=True)
class Stated:
    """A question in affine forms: decided variables, limits, what is minimised (and its sign), ties, other goals."""

    x: Mapping[str, Linear]
    limits: Mapping[RowKey, Linear]
    goal: Linear | None
    sign: int
    ties: Mapping[str, Linear]
    others: list[tuple[Linear, int]]


@dataclass(frozen=True, slots=True)
class Run:
    """What a model's equations come to in affine forms of what is decided, whatever the limits are."""

    x: Mapping[str, Linear]
    at: Mapping[str, Any]


def run(question: Question) -> Run:
    """Run the model on affine forms."""
    x = {d.name: symbol(d) for d in question.decide}
    return Run(x, evaluation.metrics(question, x))


_last: ContextVar[tuple[Question, Run] | None] = ContextVar("_last", default=None)


def run_again(question: Question) -> Run:
    """Run the model on affine forms, unless the question asked before (of plain numbers) differs in limits only."""
    before = _last.get()
    if before is not None and _is_run_alike(before[0], question):
        return before[1]
    made = run(question)
    _last.set((question, made))
    return made


def _is_run_alike(one: Question, other: Question) -> bool:
    decided = [[(d.name, d.values, d.base) for d in q.decide] for q in (one, other)]
    return one.model is other.model and one.given == other.given and decided[0] == decided[1]


def stated(question: Question, known: Run | None = None) -> Stated:
    """Read limits and objectives in affine forms; raises NotPosynomial where the arithmetic is not affine.

    ``known``: what ``run`` returned for the same given and decided quantities.
    """
    made = known or run(question)
    x, at = made.x, made.at
    goals = [_minimised_form(question, x, at, i) for i in range(len(question.objectives))]
    goal, sign = goals.pop(0) if goals else (None, 1)
    every = {**x, **at}
    ties = {n: every[n] for n in question.tie_order if isinstance(every.get(n), Linear)}
    return Stated(x, limits(question, made), goal, sign, ties, goals)


def limits(question: Question, made: Run) -> dict[RowKey, Linear]:
    """Return the limits in affine forms; raises NotPosynomial."""
    return {
        key: _named(f"the limit {key.name} ({key.side})", value)
        for key, value in evaluation.ratios(question, made.x, made.at).items()
    }


def _minimised_form(
    question: Question, x: Mapping[str, Linear], at: Mapping[str, Any], which: int
) -> tuple[Linear, int]:
    """What of an objective is minimised, and its sign."""
    wanted = question.objectives[which]
    goal = _named(f"the objective {wanted.name}", evaluation.objective(question, x, at, which))
    # what is 0 at every design has no reciprocal, and nothing to be greatest
    nothing = goal.numerator.is_constant and goal.numerator.constant == 0.0
    return (Linear(goal.denominator, goal.numerator), -1) if wanted.maximize and not nothing else (goal, 1)


def _named(what: str, value: object) -> Linear:
    """Read a number of a question; a refusal says ``what`` it is."""
    try:
        return linear(value)
    except NotPosynomial as refusal:
        raise NotPosynomial(f"{what} holds {refusal}") from None
