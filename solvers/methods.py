"""Questions whose arithmetic is no ratio of posynomials: which method answers them, surest first."""

from __future__ import annotations

import dataclasses
import math

from formulations.evaluation import RowKey
from formulations.problem import Problem
from results.solution import LimitState, Solution, Status
from scenarios.question import Limit, Objective, Question
from solvers import interval, scan
from solvers.outcome import Outcome
from solvers.sensitivity import with_limit

ENUMERATED = scan.LARGEST


def unstructured(question: Question) -> Outcome:
    """Enumeration where all is discrete, interval branch and bound where a proof is within reach, else a sampler."""
    count = scan.enumerable(question)
    if count is not None and count <= ENUMERATED:
        return scan.scan(question)
    found = interval.solve(question)
    if found.status in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED):
        return found
    return _sampled(question, found)


def _sampled(question: Question, partial: Outcome) -> Outcome:
    """The last resort, which says so: global solver with a bound, then a sampler."""
    from solvers import sampler, scip

    tried = scip.solve(question)
    if tried.status is Status.OPTIMAL:
        return tried
    guess = sampler.solve(question)
    known = [o for o in (partial, tried, guess) if o.x is not None]
    bound = next((o.bound for o in (partial, tried) if o.bound is not None), None)
    if not known:
        return dataclasses.replace(guess, message=f"{partial.message}; {tried.message}; {guess.message}")
    return dataclasses.replace(known[0], bound=bound)


def next_change(problem: Problem, solution: Solution, _state: LimitState, key: RowKey) -> tuple[float, float] | None:
    """Where relaxing a limit first lets a better design in: the least limit value over all better designs."""
    question = problem.question
    wanted, now = question.objectives[0], solution.objective
    assert now is not None, "there is an objective"
    step = question.gap * max(abs(now), 1e-12)
    better = Limit(wanted.name, minimum=now + step) if wanted.maximize else Limit(wanted.name, maximum=now - step)
    open_question = with_limit(question, key, None)
    asked = dataclasses.replace(
        open_question,
        limits=(*open_question.limits, better),
        objectives=(Objective(key.name, maximize=key.side == "min"),),
    )
    count = scan.enumerable(asked)
    if count is None or count > ENUMERATED:
        return None
    found = scan.scan(asked)
    if found.status is not Status.OPTIMAL or found.bound is None:
        return None
    relaxed = scan.scan(with_limit(question, key, found.bound))
    return None if relaxed.bound is None or not math.isfinite(relaxed.bound) else (found.bound, relaxed.bound)
