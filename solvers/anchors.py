"""Limits that stand within a share of a metric's own optimum: the optimum is found first, and is then a plain limit.

``power = { within = 0.05 }`` asks for at most 5 % more than the least power that all other limits allow, those with
``within`` left aside, whatever is chosen among names. Towards which side a metric is better ``better.larger`` says.

What another number is worth goes through such a limit, too: as it moves the optimum a, the limit moves with it, so

    d log objective / d log number = (the same with a held) + d log objective / d log limit * d log a / d log number.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dse.quantities import show
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations import evaluation
from formulations.evaluation import bounds, label
from formulations.row_keys import RowKey
from results.solution import Solution, Status
from scenarios.better import larger
from scenarios.question import Limit, Objective, Question
from scenarios.sizes import unit_in_question
from solvers.mechanisms.sensitivity import LEAST_SENSITIVITY, jumps_told

PROVED = (Status.OPTIMAL, Status.EVALUATED)
CANCELLED_RATES = 1e-6
"""Of two rates, as a part of them: what is left of their sum is what multipliers and differences are off by."""


@dataclass(frozen=True, slots=True)
class Anchored:
    """A question with plain limits only; ``words``: where its anchors lie, ``proved``: whether all of them are proved.

    ``optima``: the answers that its limits move with, by the limits' names. ``refusal``: instead, the answer to the
    question for an optimum that is not there: without it no design is.
    """

    question: Question
    optima: Mapping[str, Solution] = dataclasses.field(default_factory=dict)
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
    found: dict[str, Solution] = {}
    words: list[str] = []
    proved = True
    for limit in (x for x in question.limits if x.within is not None):
        maximize = larger(question, limit.name)
        best = solve(alone(question, limit.name))
        value = best.objective
        if best.status not in (*PROVED, Status.FEASIBLE) or value is None or not math.isfinite(value):
            return Anchored(question, refusal=_answer_without_anchor(limit, maximize, best))
        proved &= best.status in PROVED
        found[limit.name] = best
        words.append(_anchor_text(question, limit, value, maximize, best))
    plain = written(question, lambda name: found[name].objective)
    others = {RowKey(name, "max") for name, (_, high) in bounds(plain).items() if high is not None}
    moving = {label(key, others): found[key.name] for key in _tied_ends(question, plain)}
    return Anchored(plain, moving, "; ".join(words), proved)


def _tied_ends(question: Question, plain: Question) -> list[RowKey]:
    """The ends of limits that move with an optimum: not those where an end of the limit itself is stricter."""
    sides = [("min" if larger(question, x.name) else "max") for x in question.limits]
    return [
        RowKey(old.name, side)
        for old, new, side in zip(question.limits, plain.limits, sides, strict=True)
        if old.within is not None and _end(new, side) != _end(old, side)
    ]


def _end(limit: Limit, side: str) -> float | None:
    return limit.minimum if side == "min" else limit.maximum


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
    question: Question,
    solve: Callable[[Question], Solution],
    last: Callable[[Question], Solution],
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
    return _with_moving_limits(at, dataclasses.replace(solution, status=status, certificate=text))


def _with_moving_limits(at: Anchored, solution: Solution) -> Solution:
    """Return an answer whose sensitivities are those of the question: its limits move with their optima.

    Where the answer next changes is told of the limits that move only: of others it was found with these in place.
    """
    if not at.optima or solution.objective is None:
        return solution
    limits, labels, names = dict(solution.limits), list(solution.limits), list(solution.parameters)
    names += [n for best in at.optima.values() for n in best.parameters if n not in names]
    worth, parameters = _rates_of_limits(solution, labels), _rates_of_numbers(solution, names)
    for tied, best in at.optima.items():
        moving = worth.at([labels.index(tied)])
        worth = through(worth, moving, _rates_of_limits(best, labels), relaxed=True)
        parameters = through(parameters, moving, _rates_of_numbers(best, names), relaxed=False)
    for name, rate, apart in zip(labels, worth.value.tolist(), worth.apart.tolist(), strict=True):
        told = dataclasses.replace(
            limits[name], elasticity=None if math.isnan(rate) else rate, one_sided=apart
        )
        moves = name in at.optima
        limits[name] = told if moves else dataclasses.replace(told, next_change=None, next_objective=None)
    felt = {n: v for n, v in zip(names, parameters.value.tolist(), strict=True) if abs(v) > LEAST_SENSITIVITY}
    one_sided = tuple(
        n for n, apart in zip(names, parameters.apart.tolist(), strict=True) if apart and n in felt
    )
    return dataclasses.replace(solution, limits=limits, parameters=felt, one_sided=one_sided)


@dataclass(frozen=True, slots=True)
class Rates:
    """Percent of an objective per percent of some numbers (..., N), NaN where unknown.

    ``apart``: where that holds one way only, for relaxing a limit or for what betters the objective.
    """

    value: Array
    apart: Bools

    def at(self, places: Sequence[int]) -> Rates:
        """Return those of some numbers."""
        return Rates(self.value[..., places], self.apart[..., places])


def through(own: Rates, tied: Rates, optimum: Rates, *, relaxed: bool) -> Rates:
    """Add to rates of a question with its limits in place what goes through a limit that moves with an optimum.

    ``tied`` (..., 1): of that limit; ``optimum``: of what it moves with. ``relaxed``: the numbers are limits, and
    what holds one way only is meant for relaxing all of them; else it may be meant for opposite changes. NaN where the
    limit itself would have to be moved the other way.
    """
    felt = (tied.value != 0) & (optimum.value != 0)
    opposite = tied.apart if relaxed else tied.apart | own.apart | optimum.apart
    with np.errstate(invalid="ignore"):
        moved = tied.value * optimum.value
        value = np.where(felt, own.value + moved, own.value)
        nothing = np.abs(value) <= CANCELLED_RATES * np.abs(moved)
    value = np.where(felt & nothing, 0.0, value)
    return Rates(np.where(felt & opposite, np.nan, value), own.apart | (felt & optimum.apart))


def _rates_of_limits(solution: Solution, labels: Sequence[str]) -> Rates:
    """Those of limits, 0 of one that the question does not have."""
    states = [solution.limits.get(name) for name in labels]
    value = [0.0 if s is None else math.nan if s.elasticity is None else s.elasticity for s in states]
    return Rates(np.array(value), np.array([s is not None and s.one_sided for s in states], bool))


def _rates_of_numbers(solution: Solution, names: Sequence[str]) -> Rates:
    """Those of given numbers, 0 of those that are not felt."""
    known = solution.parameters or any(s.elasticity is not None for s in solution.limits.values())
    jumps = jumps_told(solution.certificate)
    value = [solution.parameters.get(n, 0.0 if known and n not in jumps else math.nan) for n in names]
    return Rates(np.array(value), np.array([n in solution.one_sided for n in names], bool))
