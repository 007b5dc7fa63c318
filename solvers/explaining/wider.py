"""Ends that only a search has stand in no answer: what they hold in a program is asked again, farther out.

A decided quantity that neither the user nor mathematics ends has a box all the same, so that it can be searched
(``formulations.evaluation.box``). "Infeasible" and "unbounded" are said of a linear or mixed-integer program only where
a search that goes much farther says so too; in the end it is asked without any such end. Problems that are not convex
are searched far beyond these ends from the start (``formulations.evaluation.farthest``), and geometric programs again
with such ends (``solvers.geometric.structured``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dse.names import some_of
from dse.system.records import dataclass
from formulations.evaluation import box
from formulations.problem import Problem, reaching
from formulations.programs.program import Program
from results.solution import Solution, Status
from results.telling.facts import HELD_BY
from scenarios.question import Question
from solvers import judgement
from solvers.geometric.structured import Optimum
from solvers.outcome import Outcome

if TYPE_CHECKING:
    from solvers.linear.programs import Settled

STEPS = (1e3, 1e6)
"""How much farther programs are searched before they are asked without ends."""
MENTIONED = 3
DECIDED = (Status.OPTIMAL, Status.FEASIBLE)
OPEN = (Status.INFEASIBLE, Status.UNBOUNDED)


@dataclass(frozen=True, slots=True)
class Tried:
    """A problem and what a search in its box found."""

    problem: Problem
    found: Settled | Optimum

    @property
    def outcome(self) -> Outcome:
        """The method's word."""
        return self.found.outcome


def settled(first: Tried, ask: Callable[[Problem], Tried]) -> Tried:
    """What is left of an outcome without a design, or with one that runs away, when the search goes farther.

    ``ask`` searches a problem in its own box.
    """
    if first.outcome.status not in OPEN:
        return first
    last = first
    if first.outcome.status is Status.INFEASIBLE:
        surely = _impossible(first)
        if surely is not None:
            return surely
    for reach in _wider_reaches(first.problem):
        farther = reaching(first.problem, reach)
        if first.problem.program is not None and farther.program is None:
            return replace(last, found=_undecided(last, farther.refusal))
        now = ask(farther)
        if now.outcome.status in DECIDED and not _vague(now):
            return now
        if now.outcome.status not in OPEN:
            return replace(last, found=_undecided(last, now.outcome.message))
        last = now
    return last


def held(question: Question, solution: Solution) -> dict[str, str]:
    """Variables at an end of their domain that no limit, bound or listed value ends, each with the side of that end.

    What may be 0, or picks from a menu, has no end worth telling.
    """
    x = {n: v for n, v in solution.variables.items() if isinstance(v, float) and n not in solution.ranges}
    sides = {n: int(code) for n, code in judgement.ends_that_hold(question, x).items()}
    return {n: HELD_BY[code - 1] for n, code in sides.items() if code}


def _wider_reaches(problem: Problem) -> Iterator[float]:
    program = problem.program
    if program is not None and np.isfinite(program.high[program.boxed]).any():
        yield from (*STEPS, math.inf)


def farthest(problem: Problem) -> float:
    """How far the ends go that a search asks last before it says that nothing is there."""
    return max([problem.question.reach, *_wider_reaches(problem)])


def ended(problem: Problem) -> list[Callable[[], Program | None]]:
    """The programs of a question with the ends of its search farther and farther out, each made when it is asked for.

    The nearest first: HiGHS takes minutes for some rows over whole numbers of 1e10, which few answers need.
    """

    def at(reach: float) -> Program | None:
        return reaching(problem, reach).program

    return [cache(partial(at, reach)) for reach in (1.0, *STEPS)]


def _impossible(first: Tried) -> Tried | None:
    """The proof, by a linear program without ends, that no design is there; None where it does not say so."""
    program = first.problem.program
    if program is None or not np.isfinite(program.high[program.boxed]).any():
        return None
    endless = reaching(first.problem, math.inf)
    if endless.program is None:
        return None
    from solvers.linear import programs

    outcome = programs.impossible(endless.program)
    return None if outcome is None else Tried(endless, programs.Settled(outcome, {}))


def _vague(tried: Tried) -> bool:
    """Whether a design says nothing, since nothing says which amounts are there."""
    program = tried.problem.program
    return program is not None and program.open


def _undecided(last: Tried, why: str) -> Settled | Optimum:
    """What was searched, where going farther decides nothing."""
    question = last.problem.question
    decided = [v.name for v in last.problem.variables if not v.auxiliary]
    ends = [f"{n} up to {box(question, n).high:g}" for n in decided if box(question, n).searched[1]]
    word = "no design" if last.outcome.status is Status.INFEASIBLE else "no optimum"
    message = f"{word} with {some_of(ends, MENTIONED)}; what is beyond is not known" + (
        f": {why}" if why else ""
    )
    return replace(last.found, outcome=Outcome(Status.ERROR, solver=last.outcome.solver, message=message))
