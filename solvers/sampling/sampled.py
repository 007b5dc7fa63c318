"""Answers of a sampler: what it found, never called optimal, and how far that is from what is proved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

from dse.quantities import show
from formulations import evaluation
from results.solution import Alternative, Solution, Status
from scenarios.question import Question, Search, combinations
from scenarios.sizes import unit_in_question
from solvers.judgement import relative_gap
from solvers.outcome import NO_PROOF, Outcome
from solvers.sampling import sampler, studies
from solvers.sampling.sampler import Found, Tried
from solvers.sampling.trials import MOST_COMBINATIONS

EQUAL_TO_BOUND = 1e-6
PROOF_DIGITS = 6


def answer(
    question: Question,
    checked: Callable[[Question, Outcome], Solution],
    certified: Callable[[Question], Solution],
) -> Solution:
    """Answer a question by a sampler.

    ``checked`` re-evaluates an outcome in plain floats; ``certified`` answers a question by a method that proves
    what it says. Raises StudyError where the trials cannot be kept where it is asked.
    """
    asked = question.search or Search()
    found = studies.search(question, asked)
    best = sampler.polished(question, found)
    compare = asked.compare and not question.model.black_box
    if best is None or best.score.violation > 0:
        # what intervals have proved, a certified method explains
        explained = compare or found.empty
        return nothing(question, found, certified(replace(question, search=None)) if explained else None)
    text = f"{NO_PROOF}{effort(question, found)}"
    if question.ties:
        text += f"; among designs as good any is handed out: a search by sampling does not look at {question.ties[0]}"
    left = best.design.question
    solution = checked(
        replace(left, search=None), Outcome(Status.FEASIBLE, best.design.x, None, text, found.solver)
    )
    variables = {**best.design.chosen, **solution.variables}
    solution = replace(solution, variables=variables, alternatives=_alternatives(question, found))
    if not compare or not question.objectives or solution.status is Status.ERROR:
        return solution
    return beside(question, solution, certified(replace(question, search=None)))


def effort(question: Question, found: Found, *, polished: bool = True) -> str:
    """Say what was done, and why no proof was tried; ``polished``: whether a local search followed."""
    near = "" if question.model.black_box or not polished else ", and a local search from the best"
    box = f"; the model is a black box (it {question.model.black_box})" if question.model.black_box else ""
    return found.effort + near + box


def nothing(question: Question, found: Found, proof: Solution | None) -> Solution:
    """Say that no design was found, or, where a certified method says so, that there is none."""
    message = f"no design that meets all limits in {effort(question, found)}"
    if found.empty:
        message = "interval arithmetic: no part of the box can meet all limits"
    if found.failed == found.trials and found.failed:
        message = f"the model could not be evaluated at any of {found.trials} designs: {found.failure}"
    if proof is not None and proof.status is Status.INFEASIBLE:
        tried = f"; {found.solver} found no design either" if found.trials else ""
        return replace(proof, certificate=proof.certificate + tried)
    if proof is not None and proof.status in (Status.OPTIMAL, Status.FEASIBLE):
        message += f"; there is one, found by {proof.solver}: leave [search] out"
    return Solution(Status.ERROR, solver=found.solver, message=message, certificate="nothing was proved")


def beside(question: Question, solution: Solution, proof: Solution) -> Solution:
    """Say how far a sampler's answer is from a certified one, whose bound it takes over; it stays ``feasible``."""
    text = f"{solution.certificate}; {distance(question, solution.objective, proof)}"
    if proof.bound is None or solution.objective is None:
        return replace(solution, certificate=text)
    gap = relative_gap(solution.objective, proof.bound)
    return replace(solution, bound=proof.bound, gap=float(gap), certificate=text)


def distance(question: Question, reached: float | None, proof: Solution) -> str:
    """Say how far what a sampler reached is from a certified answer, in words."""
    by = f" ({proof.solver})" if proof.solver else ""
    if proof.bound is None or reached is None or proof.status not in (Status.OPTIMAL, Status.FEASIBLE):
        return f"no certified method gives a bound to compare with{by}"
    goal = question.objectives[0]
    unit = unit_in_question(question, goal.name, evaluation.quantity(question.model, goal.name).unit)
    what = "certified optimum" if proof.status is Status.OPTIMAL else "certified bound"
    than = f"the {what} {show(proof.bound, unit, PROOF_DIGITS)}{by}"
    apart = reached - proof.bound
    if abs(apart) <= EQUAL_TO_BOUND * abs(proof.bound):
        return f"equal to {than} to within {EQUAL_TO_BOUND:g}"
    side = "above" if apart > 0 else "below"
    if proof.bound == 0 or not math.isfinite(proof.bound):
        return f"{show(abs(apart), unit, PROOF_DIGITS)} {side} {than}"
    wrong = "" if (apart > 0) != goal.maximize else ", which contradicts it: please report this"
    percent = 100 * abs(apart / proof.bound)
    return (
        f"{percent:.0f} % {side} {than}{wrong}" if percent >= 100 else f"{percent:.2g} % {side} {than}{wrong}"
    )


def _alternatives(question: Question, found: Found) -> tuple[Alternative, ...]:
    """The best that was found of every combination of choices among names."""
    if not any(d.choices is not None for d in question.decide):
        return ()
    best: dict[tuple[str, ...], Tried] = {}
    for tried in sorted(found.held, key=sampler.rank):
        best.setdefault(tuple(tried.design.chosen.values()), tried)
    alternatives: list[Alternative] = []
    for choice, _ in itertools.islice(combinations(question), MOST_COMBINATIONS):
        mine = best.get(tuple(choice.values()))
        value = mine.score.goals[0] if mine is not None and question.objectives else None
        alternatives.append(Alternative(choice, Status.ERROR if mine is None else Status.FEASIBLE, value))
    return tuple(alternatives)
