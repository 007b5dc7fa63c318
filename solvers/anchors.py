"""Limits that stand within a share of a metric's own optimum: the optimum is found first, and is then a plain limit.

``power = { within = 0.05 }`` asks for at most 5 % more than the least power that all other limits allow, those with
``within`` left aside, whatever is chosen among names. Towards which side a metric is better ``better.larger`` says.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from dse.quantities import show
from dse.system.records import dataclass
from formulations import evaluation
from results.solution import Solution, Status
from scenarios.better import larger
from scenarios.question import Limit, Objective, Question
from scenarios.sizes import unit_in_question

PROVED = (Status.OPTIMAL, Status.EVALUATED)


@dataclass(frozen=True, slots=True)
class Anchored:
    """A question with plain limits only; ``words``: where its anchors lie, ``proved``: whether all of them are proved.

    ``refusal``: instead, the answer to the question for an optimum that is not there: without it no design is.
    """

    question: Question
    words: str = ""
    proved: bool = True
    refusal: Solution | None = None


def has_anchors(question: Question) -> bool:
    """Tell whether any limit is within a share of an optimum."""
    return any(x.within is not None for x in question.limits)


def anchored(question: Question, solve: Callable[[Question], Solution]) -> Anchored:
    """Find the optimum of each metric that a limit is tied to, by ``solve``, and write the limits with numbers."""
    if not has_anchors(question):
        return Anchored(question)
    found: dict[str, float] = {}
    words: list[str] = []
    proved = True
    for limit in (x for x in question.limits if x.within is not None):
        maximize = larger(question, limit.name)
        best = solve(alone(question, limit.name))
        value = best.objective
        if best.status not in (*PROVED, Status.FEASIBLE) or value is None or not math.isfinite(value):
            return Anchored(question, refusal=_answer_without_anchor(limit, maximize, best))
        proved &= best.status in PROVED
        found[limit.name] = value
        words.append(_anchor_text(question, limit, value, maximize, best))
    return Anchored(written(question, found.__getitem__), "; ".join(words), proved)


def alone(question: Question, name: str) -> Question:
    """Return the question whose optimum a limit is tied to: its metric under the limits that are tied to nothing."""
    others = tuple(x for x in question.limits if x.within is None)
    return dataclasses.replace(
        question, limits=others, objectives=(Objective(name, larger(question, name)),), search=None
    )


def written(question: Question, optimum: Callable[[str], Any]) -> Question:
    """Return a question with the optima that its limits are tied to, numbers or arrays of them, in these limits."""
    limits = (
        x if x.within is None else _limit_within(x, optimum(x.name), larger(question, x.name))
        for x in question.limits
    )
    return dataclasses.replace(question, limits=tuple(limits))


def _limit_within(limit: Limit, value: Any, maximize: bool) -> Limit:
    assert limit.within is not None, "only such limits are tied"
    own, other = (limit.minimum, limit.maximum) if maximize else (limit.maximum, limit.minimum)
    end = value - limit.within * abs(value) if maximize else value + limit.within * abs(value)
    if own is not None and math.isfinite(own):
        end = max(end, own) if maximize else min(end, own)
    return Limit(limit.name, minimum=end, maximum=other) if maximize else Limit(limit.name, other, end)


def _anchor_text(question: Question, limit: Limit, value: float, maximize: bool, best: Solution) -> str:
    unit = unit_in_question(question, limit.name, evaluation.quantity(question.model, limit.name).unit)
    side = "greatest" if maximize else "least"
    doubt = "" if best.status in PROVED else ", which is not proved"
    return f"{limit.name} within {100 * (limit.within or 0.0):g} % of its {side}, {show(value, unit)}{doubt}"


def _answer_without_anchor(limit: Limit, maximize: bool, best: Solution) -> Solution:
    """Return the answer to a question whose anchor is not there, and say that it is the anchor that is missing."""
    if best.status is not Status.UNBOUNDED:
        return best
    side = "greatest" if maximize else "least"
    text = f"{limit.name} has no {side} that it could be within {100 * (limit.within or 0.0):g} % of"
    return dataclasses.replace(best, certificate="; ".join(t for t in (text, best.certificate) if t))


def answered(
    question: Question, solve: Callable[[Question], Solution], last: Callable[[Question], Solution]
) -> Solution:
    """Answer a question with such limits: ``solve`` for each anchor, ``last`` for the question itself."""
    at = anchored(question, solve)
    if at.refusal is not None:
        return dataclasses.replace(at.refusal, objective=None, bound=None, gap=None)
    return promised(at, last(at.question))


def promised(at: Anchored, solution: Solution) -> Solution:
    """Return an answer with where the anchors lie; it promises no more than they do."""
    text = "; ".join(t for t in (solution.certificate, at.words) if t)
    status = solution.status
    if not at.proved and status in (Status.OPTIMAL, Status.INFEASIBLE):
        # another anchor would be another question
        status = Status.FEASIBLE if status is Status.OPTIMAL else Status.ERROR
    return dataclasses.replace(solution, status=status, certificate=text)
