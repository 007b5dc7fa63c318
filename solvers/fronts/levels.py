"""One objective at many limits on the others: geometric programs solved together, each an answer of its own.

The model's arithmetic runs once with arrays for the limits. What the vectorised path leaves over (see
``solvers.geometric.points.geometric_answers``) is left over here too.

A design that is best for one of two objectives is also the best for the other one on a front that is convex in
logarithms (``stated``): the dual bound is a line that no design passes, so it bounds either objective where the other
one is given, and its slope is the sensitivity of a limit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Indices
from dse.system.records import dataclass
from formulations import evaluation, handover
from formulations.grids import batch, divided
from formulations.grids.batch import Batch
from formulations.problem import Kind, Problem
from formulations.row_keys import RowKey
from results.dataset import STATUS_CODES
from results.solution import LimitState, Solution, Status
from results.telling.limits import base_name
from results.wording import called_by_name, units_of
from scenarios.question import Objective, Question
from solvers.certain import checked
from solvers.fronts.asking import at_level, in_logs
from solvers.geometric.kernel import gp
from solvers.geometric.points.geometric_answers import PROOFS, Answers, answered
from solvers.geometric.programs import kinks
from solvers.geometric.programs.kinks import Attained, Sensitivities
from solvers.judgement import Judged, judge
from solvers.outcome import Outcome

SOLVER = "dse interior point"
STEEP = 1e6
"""Largest slope of a front: a miss of 1e-12 in a limit then moves the objective by 1e-6."""
TOGETHER = "solved together with others of its kind"
MOVED = "the sensitivity to given numbers at many points at once"


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
        asked = at_level(self.question, self.goal, limits)
        made = found = None
        with handover.guarded(TOGETHER, size, handover.ARITHMETIC):
            made = batch.of_question((self.first,), asked, (size,))
        if made is not None:
            with handover.guarded(TOGETHER, size):
                found = answered(made[0], gp.solve, why=False, strained=STEEP, ranged=True)
        if made is None or found is None:
            return [None] * size
        return _answers_at_level(self, made[0], found, limits, (time.perf_counter() - began) / size)


def levels(question: Question, goal: Objective, bounded: tuple[Objective, ...]) -> Levels | None:
    """Prepare a question; None where it is not a geometric program, or one of several cases.

    ``bounded``: the objectives that will have limits.
    """
    # any positive number shows the structure
    asked = at_level(question, goal, {g.name: 1.0 for g in bounded})
    cases = None if question.search is not None else batch.structure(asked)
    if cases is None or len(cases) > 1 or cases[0].kind not in (Kind.GP, Kind.MIGP):
        return None
    return Levels(question, cases[0], goal, bounded, units_of(question))


def _answers_at_level(
    asked: Levels,
    made: Batch,
    found: Answers,
    at: Mapping[str, Array],
    seconds: float,
) -> list[Found | None]:
    """Turn arrays into answers; ``seconds``: what each of them took."""
    answers: list[Found | None] = [
        NOTHING if code == STATUS_CODES[Status.INFEASIBLE] else None for code in found.status
    ]
    text = f"{PROOFS[asked.first.kind]}; {TOGETHER}"
    good = np.flatnonzero((found.status == STATUS_CODES[Status.OPTIMAL]) & found.plain)
    x = {n: v[good] for n, v in found.judged.x.items()}
    judged = judge(divided.at(made.question, good), x, found.judged.bound[good], (good.size,))
    felt = _sensitivities(asked.first, made, found, good, judged)
    for k, (i, solution) in enumerate(zip(good.tolist(), judged.solutions(Status.OPTIMAL), strict=True)):
        here = at_level(asked.question, asked.goal, {n: float(v[i]) for n, v in at.items()})
        told = replace(
            solution if felt is None else felt.beside(solution, k),
            ranges={
                v.name: (float(np.exp(low)), float(np.exp(high)))
                for v, low, high in zip(made.problem.variables, *found.ranges[:, i], strict=True)
                # what is as small as can be has one value
                if low < high and v.name != asked.goal.name and not v.auxiliary
            },
            certificate="; ".join(t for t in (text, felt.note(k) if felt else "") if t),
            solver=SOLVER,
            seconds=seconds,
        )
        support = _support(asked, made, found, i) if asked.convex else None
        answers[i] = Found(called_by_name(here, told, asked.units), support)
    return answers


def _sensitivities(
    first: Problem, made: Batch, found: Answers, good: Indices, judged: Judged
) -> Sensitivities | None:
    """Sensitivities of limits and given numbers at the ``good`` points, as far as that is known."""
    if made.arrays.allowed or not good.size:
        # discrete decisions have no rates
        return None
    own = divided.take(made.arrays, good)
    at = [Attained(first, found.y[good], *kinks.at_rows(own, found.y[good], found.multipliers[good]))]
    told = None
    # a number may be an exponent, or decide how a model goes on: others know a way
    with handover.guarded(MOVED, made.size, handover.ARITHMETIC):
        told = kinks.weighed(judged, at)
    return told or kinks.weighed(judged, at, numbers=False)


def _support(asked: Levels, made: Batch, found: Answers, i: int) -> Support | None:
    """The dual bound as a line: with the multipliers held it moves with the limits as they move."""
    weight, least = {asked.goal.name: 1.0}, in_logs(asked.goal).small(float(found.judged.bound[i]))
    bounds = evaluation.bounds(made.question)
    for other in asked.bounded:
        key = RowKey(other.name, "min" if other.maximize else "max")
        if key not in made.keys:
            return None
        low, high = bounds[other.name]
        level = float(found.judged.full(low if other.maximize else high)[i])
        force = float(found.multipliers[i, made.keys.index(key)])
        weight[other.name] = force
        least += force * in_logs(other).small(level)
    return Support(weight, least) if np.isfinite(least) else None


def stated(question: Question, found: Found, goal: Objective, other: Objective) -> Solution | None:
    """The answer for ``goal`` with ``other`` limited to what it is at a design found as best for ``other``.

    None where the slope of the front is too small there to bound ``goal`` well enough.
    """
    support, design = found.support, found.solution
    if support is None or design.status is not Status.OPTIMAL or not support.weight[goal.name] > 0:
        return None
    numbers = {**design.variables, **design.metrics}
    level = float(numbers[other.name])
    # what the line leaves of the goal's coordinate where the other objective has this value
    rest = support.least - support.weight[other.name] * in_logs(other).small(level)
    bound = float(in_logs(goal).values(rest / support.weight[goal.name]))
    asked = at_level(question, goal, {other.name: level})
    x = {n: float(v) for n, v in design.variables.items()}
    solution = checked(asked, Outcome(Status.OPTIMAL, x, bound, design.certificate, SOLVER))
    if solution.status is not Status.OPTIMAL:
        return None
    given = _limit_label(design, goal.name, "min" if goal.maximize else "max")
    slope = None if given is None else design.limits[given].elasticity
    if not slope:
        return solution
    return replace(
        solution,
        limits=_elasticities_along_front(solution, design, other, slope, given),
        parameters={n: -e / slope for n, e in design.parameters.items()},
        seconds=design.seconds,
    )


def _elasticities_along_front(
    solution: Solution, design: Solution, other: Objective, slope: float, given: str | None
) -> dict[str, LimitState]:
    """Elasticities with the other objective held in place of the goal: the chain rule along the front.

    ``given``: the limit on the goal that the design was found with, ``slope`` its sensitivity.
    """
    limits = dict(solution.limits)
    held = _limit_label(solution, other.name, "min" if other.maximize else "max")
    for name, state in limits.items():
        elasticity = design.limits[name].elasticity if name in design.limits else None
        if name == given and not state.binding:
            # a limit of the user's own on the goal, which the design was not held by
            limits[name] = replace(state, elasticity=0.0)
        elif elasticity is not None and name not in (held, given):
            limits[name] = replace(state, elasticity=-elasticity / slope + 0.0 if state.binding else 0.0)
    if held is not None:
        limits[held] = replace(limits[held], elasticity=1.0 / slope)
    return limits


def _limit_label(found: Solution, name: str, side: str) -> str | None:
    """How an answer calls the limit on one side of a name."""
    return next((n for n, s in found.limits.items() if base_name(n) == name and s.side == side), None)
