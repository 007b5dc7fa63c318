"""Questions whose model takes maxima: every way the maxima can come out is a problem of its own, and the best wins."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from formulations import evaluation
from formulations.problem import TIES, Problem
from results.solution import Status
from scenarios.question import Question
from solvers import methods, scan, structured
from solvers.outcome import Outcome
from solvers.structured import Optimum, Place

TIE = 2e-9
SAME = 1e-6
DECIDED = {Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE}


def apply_to(problem: Problem) -> bool:
    """Whether the cases are the way: there are some, and a scan of all designs is not the shorter one."""
    if not problem.cases:
        return False
    count = scan.enumerable(problem.question)
    return count is None or count > methods.ENUMERATED


def optimise(problem: Problem) -> Optimum:
    """Solve every case; the best design is the answer, the best of the bounds its bound.

    Where some case could not be closed, the methods that need no structure are asked as well.
    """
    question = problem.question
    found = [(case, structured.optimise(case)) for case in problem.cases]
    for _, one in found:
        if one.outcome.status is Status.UNBOUNDED:
            return one
    alive = [(case, one) for case, one in found if one.outcome.status is not Status.INFEASIBLE]
    if not alive:
        outcome = found[0][1].outcome
        return Optimum(dataclasses.replace(outcome, certificate=_proof(outcome.certificate, len(found))))
    best = _best(question, alive, len(found))
    if best is None or not _closed(question, best.outcome):
        other = methods.unstructured(question)
        if best is None or best.outcome.x is None or other.status is not Status.FEASIBLE:
            return Optimum(other)
        return best if _better(question, best.outcome, other) else Optimum(other)
    return best


def _proof(text: str, count: int) -> str:
    return text if count == 1 else f"{count} cases, one for each term that can be a maximum: {text}"


def _best(question: Question, alive: Sequence[tuple[Problem, Optimum]], count: int) -> Optimum | None:
    """The case that wins, by the tie rule among those that are equally good; None where no case has a design."""
    sign = -1.0 if question.objectives and question.objectives[0].maximize else 1.0
    designs = [(case, one, _design(case, one)) for case, one in alive if one.outcome.x is not None]
    if not designs:
        return None
    reached = [_objective(question, x) * sign for *_, x in designs]
    least = min(reached)
    tied = [d for d, value in zip(designs, reached, strict=True) if value - least <= TIE * abs(least)]
    _, one, x = tied[0]
    for other in tied[1:]:
        if _precedes(question, other[2], x):
            _, one, x = other
    bounds = [o.outcome.bound for _, o in alive if o.outcome.bound is not None]
    known = len(bounds) == len(alive)
    bound = sign * min(sign * b for b in bounds) if known else None
    sure = all(o.outcome.status in DECIDED for _, o in alive)
    status = one.outcome.status if known and sure else Status.FEASIBLE
    outcome = dataclasses.replace(
        one.outcome, status=status, x=x, bound=bound, certificate=_proof(one.outcome.certificate, count)
    )
    places = tuple(
        Place(c, o.y, o.known)
        for c, o, there in tied
        if o.y is not None and all(math.isclose(there[n], x[n], rel_tol=SAME) for n in x)
    )
    return Optimum(outcome, one.y, _ranges(tied, x), None, places)


def _design(case: Problem, one: Optimum) -> dict[str, float]:
    """The decided numbers, without what stands for maxima."""
    x = one.outcome.x or {}
    return {v.name: x[v.name] for v in case.variables if not v.auxiliary}


def _ranges(
    tied: Sequence[tuple[Problem, Optimum, Mapping[str, float]]], x: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Lowest and highest optimal value of what is not unique, over all cases that are equally good."""
    found: dict[str, tuple[float, float]] = {}
    for n in x:
        ends = [(one.ranges or {}).get(n, (there[n], there[n])) for _, one, there in tied]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        if high > low * (1 + SAME):
            found[n] = (low, high)
    return found


def _precedes(question: Question, a: Mapping[str, float], b: Mapping[str, float]) -> bool:
    """Whether the tie rule puts design a before b: less time, energy, cost, then smaller numbers in file order."""
    at = [{**x, **_metrics(question, x)} for x in (a, b)]
    for name in (*TIES, *a):
        left, right = (float(m.get(name, 0.0)) for m in at)
        if not math.isclose(left, right, rel_tol=SAME):
            return left < right
    return False


def _metrics(question: Question, x: Mapping[str, float]) -> dict[str, float]:
    with np.errstate(all="ignore"):
        return evaluation.metrics(question, {n: np.float64(v) for n, v in x.items()})


def _objective(question: Question, x: Mapping[str, float]) -> float:
    if not question.objectives:
        return 0.0
    return float(evaluation.objective(question, x, _metrics(question, x)))


def _closed(question: Question, outcome: Outcome) -> bool:
    """Whether the outcome settles the question, as the re-evaluation will see it."""
    if not question.objectives:
        return True
    if outcome.bound is None or outcome.x is None:
        return False
    value = _objective(question, outcome.x)
    return abs(value - outcome.bound) <= question.gap * max(abs(value), 1e-12)


def _better(question: Question, ours: Outcome, other: Outcome) -> bool:
    assert ours.x is not None, "only designs are compared"
    sign = -1.0 if question.objectives[0].maximize else 1.0
    return sign * _objective(question, ours.x) <= sign * _objective(question, dict(other.x or {}))
