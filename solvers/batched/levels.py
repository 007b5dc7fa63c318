"""One objective at many limits on the others: geometric programs solved together, each an answer of its own.

The model's arithmetic runs once with arrays for the limits. What the vectorised path leaves over (see
``solvers.batched.geometric_answers``) is left over here too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations import batch, evaluation, handover
from formulations.batch import Batch
from formulations.evaluation import RowKey
from formulations.problem import Kind, Problem, formulate
from formulations.tolerances import BINDS
from results.dataset import STATUS_CODES
from results.solution import LimitState, Solution, Status
from scenarios.question import HALVINGS, Limit, Objective, Question
from solvers import gp
from solvers.answer import called_by_name, units
from solvers.batched import parameters
from solvers.batched.geometric_answers import Answers, answered, elasticity, slack
from solvers.gp_terms import Array
from solvers.structured import PROOFS

SOLVER = "dse interior point"
STEEP = 1e6
"""Largest slope of a front: a miss of 1e-12 in a limit then moves the objective by 1e-6."""
TOGETHER = "solved together with others of its kind"


@dataclass(frozen=True, slots=True)
class Support:
    """A straight line that nothing passes: ``weight . u >= least`` for every design, ``u`` what is to be small.

    ``u``: of each objective its logarithm (of halvings: what they are times log 2), with the sign turned where it is
    maximised. ``weight``: by the names of the objectives, that of the goal is 1.
    """

    weight: Mapping[str, float]
    least: float


@dataclass(frozen=True, slots=True)
class Found:
    """An answer; ``support`` where the problem is convex in logarithms."""

    solution: Solution
    support: Support | None


NOTHING = Found(Solution(Status.INFEASIBLE, certificate="no design meets all limits", solver=SOLVER), None)


@dataclass(frozen=True, slots=True)
class Levels:
    """A question with several objectives, ready to be asked for ``goal`` with limits on others (``bounded``)."""

    question: Question
    first: Problem
    goal: Objective
    bounded: tuple[Objective, ...]
    units: Mapping[str, str]

    @property
    def convex(self) -> bool:
        """Whether the problem is convex in logarithms: no decision is discrete."""
        return not any(v.discrete for v in self.first.variables)

    def at(self, limits: Mapping[str, Array]) -> list[Found | None]:
        """Answer at every limit; None where that is left over. ``limits``: an array for each bounded objective.

        Where no design meets them the answer only says so, not why.
        """
        began = time.perf_counter()
        size = len(next(iter(limits.values()))) if limits else 1
        asked = _asked(self.question, self.goal, self.bounded, limits)
        made = found = None
        with handover.guarded(TOGETHER, size, handover.ARITHMETIC):
            made = batch.of_question(self.first, asked, (size,))
        if made is not None:
            with handover.guarded(TOGETHER, size):
                found = answered(made, gp.solve, why=False, strained=STEEP)
        if made is None or found is None:
            return [None] * size
        worth = parameters.elasticities(self.first, made, found)
        return _told(self, made, found, limits, worth, (time.perf_counter() - began) / size)


def levels(question: Question, goal: Objective, bounded: tuple[Objective, ...]) -> Levels | None:
    """Prepare a question; None where it is no geometric program, or one of several cases.

    ``bounded``: the objectives that will have limits.
    """
    numbers = all(d.choices is None and all(x > 0 for x in d.values or ()) for d in question.decide)
    if not numbers or not question.decide or question.model.black_box or question.search is not None:
        return None
    if sum(d.integer or d.values is not None for d in question.decide) > 1:
        return None
    # any positive number shows the structure
    asked = _asked(question, goal, bounded, {g.name: 1.0 for g in bounded})
    problem = formulate(asked)
    if problem.rows is None and len(problem.cases) == 1:
        problem = problem.cases[0]
    if problem.kind not in (Kind.GP, Kind.MIGP) or problem.goal is None or not problem.goal.numerator.terms:
        return None
    return Levels(question, problem, goal, bounded, units(question))


def _asked(
    question: Question, goal: Objective, bounded: tuple[Objective, ...], at: Mapping[str, Any]
) -> Question:
    """The question for one objective; the stricter of its own limits and those on objectives hold."""
    limits = {x.name: x for x in question.limits}
    for other in bounded:
        own, value = limits.get(other.name, Limit(other.name)), at[other.name]
        if other.maximize:
            own = replace(own, minimum=value if own.minimum is None else np.maximum(value, own.minimum))
        else:
            own = replace(own, maximum=value if own.maximum is None else np.minimum(value, own.maximum))
        limits[other.name] = own
    return replace(question, objectives=(goal,), limits=tuple(limits.values()))


def _told(
    asked: Levels,
    made: Batch,
    found: Answers,
    at: Mapping[str, Array],
    worth: Mapping[str, Array],
    seconds: float,
) -> list[Found | None]:
    """Turn arrays into answers; ``worth``: of the given numbers, ``seconds``: what each answer took."""
    question, size = asked.question, made.size
    good = np.flatnonzero(found.status == STATUS_CODES[Status.OPTIMAL])
    states = _limits(made, found)
    own = {m.name for m in question.model.limits}
    metrics = {n: _full(v, size) for n, v in found.at.items() if n not in own}
    decided = [d.name for d in question.decide]
    text = f"{PROOFS[asked.first.kind]}; {TOGETHER}"
    answers: list[Found | None] = [
        NOTHING if code == STATUS_CODES[Status.INFEASIBLE] else None for code in found.status
    ]
    for i in map(int, good):
        limits = {n: _at(s, i) for n, s in states.items()}
        here = _asked(question, asked.goal, asked.bounded, {n: float(v[i]) for n, v in at.items()})
        solution = Solution(
            Status.OPTIMAL,
            float(found.objective[i]),
            float(found.bound[i]),
            float(found.gap[i]),
            {n: float(found.x[n][i]) for n in decided},
            {n: float(v[i]) for n, v in metrics.items()},
            limits,
            parameters=parameters.of_point(worth, i),
            certificate=text,
            solver=SOLVER,
            seconds=seconds,
        )
        support = _support(asked, made, found, i) if asked.convex else None
        answers[i] = Found(called_by_name(here, solution, asked.units), support)
    return answers


def _limits(made: Batch, found: Answers) -> dict[str, dict[str, Any]]:
    """State of every limit, as arrays by field."""
    states: dict[str, dict[str, Any]] = {}
    bounds = evaluation.bounds(made.question)
    whole = made.discrete is not None
    for key, ratio in found.ratios.items():
        room = slack(made, key, ratio, found.at)
        state: dict[str, Any] = {"slack": room, "binding": np.abs(room) <= BINDS, "elasticity": None}
        if key.side == "model":
            state |= {"value": ratio, "bound": 1.0, "side": "max", "unit": ""}
        else:
            low, high = bounds[key.name]
            state |= {"value": _value(made, found, key), "bound": high if key.side == "max" else low}
            state |= {"side": key.side, "unit": evaluation.quantity(made.question.model, key.name).unit}
            state["elasticity"] = None if whole else elasticity(made, found, key)
        states[evaluation.label(key, found.ratios)] = {
            n: v if v is None or isinstance(v, str) else _full(v, made.size) for n, v in state.items()
        }
    return states


def _value(made: Batch, found: Answers, key: RowKey) -> Any:
    if key.name in found.at:
        return found.at[key.name]
    return found.x[key.name] if key.name in found.x else made.question.given.get(key.name, np.nan)


def _at(state: Mapping[str, Any], i: int) -> LimitState:
    number = {n: float(state[n][i]) for n in ("value", "bound", "slack")}
    worth = None if state["elasticity"] is None else float(state["elasticity"][i])
    known = worth is not None and np.isfinite(worth)
    return LimitState(
        number["value"],
        number["bound"],
        state["side"],
        state["unit"],
        number["slack"],
        bool(state["binding"][i]),
        worth if known else None,
    )


def _support(asked: Levels, made: Batch, found: Answers, i: int) -> Support | None:
    """The dual bound as a line: with the multipliers held it moves with the limits as they move."""
    weight, least = {asked.goal.name: 1.0}, small(asked.goal, float(found.bound[i]))
    bounds = evaluation.bounds(made.question)
    for other in asked.bounded:
        key = RowKey(other.name, "min" if other.maximize else "max")
        if key not in made.keys:
            return None
        low, high = bounds[other.name]
        level = float(_full(low if other.maximize else high, made.size)[i])
        force = float(found.multipliers[i, made.keys.index(key)])
        weight[other.name] = force
        least += force * small(other, level)
    return Support(weight, least) if np.isfinite(least) else None


def small(goal: Objective, value: float) -> float:
    """An objective as what a geometric program makes small."""
    number = value * np.log(2.0) if goal.name == HALVINGS.name else np.log(value)
    return float(-number if goal.maximize else number)


def _full(values: Any, size: int) -> NDArray[np.float64]:
    return np.broadcast_to(np.asarray(values, float), (size,))
