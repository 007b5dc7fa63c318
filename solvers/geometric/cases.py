"""Questions whose model takes maxima: every way the maxima can come out is a problem of its own, and the best wins."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from formulations import evaluation
from formulations.problem import Problem
from formulations.tolerances import TIE
from results.solution import Status
from scenarios.question import Question
from solvers import designs, enumeration, side_by_side
from solvers.designs import Grid
from solvers.geometric import structured
from solvers.geometric.programs import branch
from solvers.geometric.programs.optima import CASE_TIED, EQUAL_DESIGNS
from solvers.geometric.structured import Optimum, Place, Searched
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
        if one.outcome.status is Status.UNBOUNDED:
            return Optimum(one.outcome)
    alive = [one for one in searches if one.outcome.status is not Status.INFEASIBLE]
    if not alive:
        outcome = searches[0].outcome
        return Optimum(
            dataclasses.replace(outcome, certificate=_proof_of_cases(outcome.certificate, len(searches)))
        )
    best = _winning_case(question, alive, len(searches), ties)
    if best is None or not _is_settled_by(question, best.outcome):
        return _with_other(question, best, methods.unstructured(question))
    return best


def _with_other(question: Question, best: Optimum | None, other: Outcome) -> Optimum:
    """What the methods without structure add where some case could not be closed: a design or a bound."""
    if best is None or other.x is None or other.status is not Status.FEASIBLE or not question.objectives:
        return Optimum(other) if best is None or other.status is Status.OPTIMAL else best
    sign = -1.0 if question.objectives[0].maximize else 1.0
    bounds = [sign * b for b in (best.outcome.bound, other.bound) if b is not None]
    bound = sign * max(bounds) if bounds else None
    if sign * _objective_at(question, other.x) < sign * _objective_at(question, best.outcome.x or {}):
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
    sign = -1.0 if question.objectives and question.objectives[0].maximize else 1.0
    least = min(one.value for one in alive)
    if not math.isfinite(least):
        return None
    close = [one for one in alive if not question.objectives or one.value - least <= CASE_TIED]
    settle = partial(structured.settle, tied=ties)
    optima = side_by_side.run([partial(settle, one) for one in close])
    settled = [(one.problem, there) for one, there in zip(close, optima, strict=True)]
    good = [(case, one, _decided_numbers(case, one)) for case, one in settled if one.outcome.x is not None]
    if not good:
        return None
    reached = [_objective_at(question, x) * sign for *_, x in good]
    tied = [d for d, v in zip(good, reached, strict=True) if v - min(reached) <= CASE_TIED * abs(v)]
    numbers = [{n: np.array([v]) for n, v in {**x, **_metrics(question, x)}.items()} for *_, x in tied]
    every = np.ones((len(tied), 1), bool)
    _, one, x = tied[int(designs.first_by_rule(question, numbers, every, EQUAL_DESIGNS)[0])]
    bounds = [o.outcome.bound for _, o in settled] + [_losing_bound(s) for s in alive if s not in close]
    known = [b for b in bounds if b is not None]
    bound = sign * min(sign * b for b in known) if len(known) == len(bounds) else None
    sure = all(o.outcome.status is not Status.ERROR for o in alive) and len(known) == len(bounds)
    outcome = dataclasses.replace(
        one.outcome,
        status=one.outcome.status if sure else Status.FEASIBLE,
        x=x,
        bound=bound,
        certificate=_proof_of_cases(one.outcome.certificate, count),
    )
    places = tuple(
        Place(c, o.y, o.known)
        for c, o, there in tied
        if o.y is not None and all(math.isclose(there[n], x[n], rel_tol=EQUAL_DESIGNS) for n in x)
    )
    return Optimum(outcome, one.y, _ranges_over_cases(tied, x), None, places)


def _losing_bound(s: Searched) -> float | None:
    """The bound of a case that does not win, in the user's sense."""
    if s.found is None or s.goal is None or not math.isfinite(s.found.bound):
        return s.outcome.bound
    return float(s.goal.to_user(s.found.bound))


def _decided_numbers(case: Problem, one: Optimum) -> dict[str, float]:
    """The decided numbers, without what stands for maxima."""
    x = one.outcome.x or {}
    return {v.name: x[v.name] for v in case.variables if not v.auxiliary}


def _ranges_over_cases(
    tied: Sequence[tuple[Problem, Optimum, Mapping[str, float]]], x: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Lowest and highest optimal value of what is not unique, over all cases that are equally good."""
    found: dict[str, tuple[float, float]] = {}
    for n in x:
        ends = [(one.ranges or {}).get(n, (there[n], there[n])) for _, one, there in tied]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        if high > low * (1 + EQUAL_DESIGNS):
            found[n] = (low, high)
    return found


def _metrics(question: Question, x: Mapping[str, float]) -> dict[str, float]:
    with np.errstate(all="ignore"):
        return evaluation.metrics(question, {n: np.float64(v) for n, v in x.items()})


def _objective_at(question: Question, x: Mapping[str, float]) -> float:
    if not question.objectives:
        return 0.0
    return float(evaluation.objective(question, x, _metrics(question, x)))


def _is_settled_by(question: Question, outcome: Outcome) -> bool:
    """Whether the outcome settles the question, as the re-evaluation will see it."""
    if not question.objectives:
        return True
    if outcome.bound is None or outcome.x is None:
        return False
    value = _objective_at(question, outcome.x)
    return abs(value - outcome.bound) <= question.gap * max(abs(value), 1e-12)
