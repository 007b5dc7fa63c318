"""Questions whose model takes maxima: every way the maxima can come out is a problem of its own, and the best wins."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from formulations.problem import Problem
from formulations.tolerances import TIE
from results.solution import Status
from scenarios.question import Question
from solvers import designs, enumeration, judgement, side_by_side
from solvers.designs import Grid
from solvers.geometric import structured
from solvers.geometric.points import best_cases
from solvers.geometric.programs import branch
from solvers.geometric.programs.optima import CASE_TIED, EQUAL_DESIGNS
from solvers.geometric.structured import Optimum, Searched
from solvers.judgement import Judged
from solvers.nonlinear import methods
from solvers.outcome import Outcome

# each case is within TIE of its own optimum
EQUAL = 2 * TIE


def scanned(problem: Problem) -> Grid | None:
    """All designs of a problem that has cases, where a scan of them is the shorter way; None of others."""
    known = problem.program is not None or problem.rows is not None
    if not problem.cases or known or designs.few(problem.question) is not None:
        return None
    every = designs.grid(problem.question)
    return every if every is not None and every.size <= enumeration.MOST_ENUMERATED else None


def optimise(problem: Problem, *, ties: bool = True) -> Optimum:
    """Solve every case; the best design is the answer, the best of the bounds its bound.

    ``ties``: whether anybody asks which of the best designs it is.

    Where some case could not be closed, the methods that need no structure are asked as well.
    """
    searches = _searched_cases(problem)
    found = _settled_over_cases(problem, searches, ties)
    return (
        found
        if ties
        else dataclasses.replace(found, tied=partial(_settled_over_cases, problem, searches, True))
    )


def _settled_over_cases(problem: Problem, searches: Sequence[Searched], ties: bool) -> Optimum:
    question = problem.question
    for one in searches:
        if one.status is Status.UNBOUNDED:
            return structured.settle(one)
    alive = [one for one in searches if one.status is not Status.INFEASIBLE]
    if not alive:
        outcome = structured.settle(searches[0]).outcome
        return Optimum(
            dataclasses.replace(outcome, certificate=_proof_of_cases(outcome.certificate, len(searches)))
        )
    best = _winning_case(question, alive, len(searches), ties)
    if best is None or not _is_closed(question, best.outcome):
        return _with_other(question, best, methods.unstructured(question))
    return best


def _with_other(question: Question, best: Optimum | None, other: Outcome) -> Optimum:
    """What the methods without structure add where some case could not be closed: a design or a bound."""
    if best is None or other.x is None or other.status is not Status.FEASIBLE or not question.objectives:
        return Optimum(other) if best is None or other.status is Status.OPTIMAL else best
    bounds = [question.sign * b for b in (best.outcome.bound, other.bound) if b is not None]
    bound = question.sign * max(bounds) if bounds else None
    there, here = (_of_outcome(question, outcome).objective[0] for outcome in (other, best.outcome))
    if question.sign * there < question.sign * here:
        return Optimum(dataclasses.replace(other, bound=bound))
    return dataclasses.replace(best, outcome=dataclasses.replace(best.outcome, bound=bound))


def _searched_cases(problem: Problem) -> list[Searched]:
    """Search every case; once there is a design, only for what is as good."""
    # without an objective each case looks for its own design by the tie rule
    reached = branch.Reached(slack=EQUAL) if problem.cases[0].goal is not None else None
    return side_by_side.run([partial(structured.search, case, reached) for case in problem.cases])


def _proof_of_cases(text: str, count: int) -> str:
    return text if count == 1 else f"{count} cases, one for each term that can be a maximum: {text}"


def _winning_case(question: Question, alive: Sequence[Searched], count: int, ties: bool) -> Optimum | None:
    """The case that wins, by the tie rule among those that are equally good; None where no case has a design."""
    least = min(one.value for one in alive)
    if not math.isfinite(least):
        return None
    close = [one for one in alive if not question.objectives or one.value - least <= CASE_TIED]
    settle = partial(structured.settle, tied=ties)
    settled = side_by_side.run([partial(settle, one) for one in close])
    good = [one for one in settled if one.outcome.x is not None]
    if not good:
        return None
    judged = [_of_outcome(question, one.outcome) for one in good]
    values = np.stack([question.sign * j.objective if question.objectives else np.zeros(1) for j in judged])
    which, tied, there = (found[..., 0] for found in best_cases.handed_out(question, judged, values))
    if which < 0:
        return None
    best, x = good[which].outcome, {n: float(v) for n, v in judged[which].x.items()}
    bounds = [one.outcome.bound for one in settled] + [_losing_bound(s) for s in alive if s not in close]
    known = [b for b in bounds if b is not None]
    closed = len(known) == len(bounds)
    sure = closed and all(one.status is not Status.ERROR for one in alive)
    outcome = dataclasses.replace(
        best,
        status=best.status if sure else Status.FEASIBLE,
        x=x,
        judged=judged[which],
        bound=question.sign * min(question.sign * b for b in known) if closed else None,
        certificate=_proof_of_cases(best.certificate, count),
    )
    places = tuple(place for one, at in zip(good, there, strict=True) if at for place in one.places)
    every = [(one.ranges or {}, j.x) for one, j, at in zip(good, judged, tied, strict=True) if at]
    return Optimum(outcome, _ranges_over_cases(every, x), places)


def _losing_bound(s: Searched) -> float | None:
    """The bound of a case that does not win, in the user's sense."""
    if s.done is not None:
        return s.done.outcome.bound
    bound, goal = np.inf if s.part is None else s.part.found.bound.min(initial=np.inf), s.problem.goal
    return float(goal.to_user(bound)) if goal is not None and math.isfinite(bound) else None


def _ranges_over_cases(
    tied: Sequence[tuple[Mapping[str, tuple[float, float]], Mapping[str, float]]], x: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Lowest and highest optimal value of what is not unique, over the ranges and designs of cases equally good."""
    found: dict[str, tuple[float, float]] = {}
    for n in x:
        ends = [ranges.get(n, (float(there[n]), float(there[n]))) for ranges, there in tied]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        if high > low * (1 + EQUAL_DESIGNS):
            found[n] = (low, high)
    return found


def _is_closed(question: Question, outcome: Outcome) -> bool:
    """Whether the gap is closed, as the re-evaluation will see it."""
    return not question.objectives or (
        outcome.bound is not None and bool(_of_outcome(question, outcome).closed[0])
    )


def _of_outcome(question: Question, outcome: Outcome) -> Judged:
    """A design as the re-evaluation will see it."""
    assert outcome.x is not None, "there is a design"
    x = {d.name: np.float64(outcome.x[d.name]) for d in question.decide}
    return judgement.judge(question, x, outcome.bound, known=outcome.judged)
