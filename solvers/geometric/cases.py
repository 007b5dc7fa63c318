"""Structured questions: where the model takes maxima, every way they can come out is a problem, and the best wins."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from formulations.grids import batch
from formulations.problem import Problem
from formulations.tolerances import TIE
from results.solution import Status
from scenarios.question import Question
from solvers import designs, enumeration, judgement, side_by_side
from solvers.designs import Grid
from solvers.geometric import structured
from solvers.geometric.points import best_cases
from solvers.geometric.programs import branch, nudges, ties
from solvers.geometric.programs.optima import CASE_TIED
from solvers.geometric.structured import Optimum, Searched
from solvers.judgement import Judged
from solvers.mechanisms import parts
from solvers.nonlinear import methods
from solvers.outcome import Outcome

# each case is within TIE of its own optimum
EQUAL = 2 * TIE
FARTHER = math.exp(nudges.SETTLED_WIDTH)
"""How far beyond those of a range outer ends may lie that are no others: a search may be wrong by that."""
NODES_BEFORE_INTERVALS = 600
"""Nodes of a case, half a second of them, after which a question of few numbers is asked by intervals."""


def scanned(problem: Problem) -> Grid | None:
    """All designs of a problem that has cases, where a scan of them is the shorter way; None of others."""
    known = problem.program is not None or problem.rows is not None
    if not problem.cases or known or designs.few(problem.question) is not None:
        return None
    every = designs.grid(problem.question)
    return every if every is not None and every.size <= enumeration.MOST_ENUMERATED else None


def optimise(problem: Problem, *, ties: bool = True) -> Optimum:
    """Solve a structured problem, or every case of it: the best design is the answer, the least bound its bound.

    The design is unique by the tie rule, unless nobody asks for ``ties``. Where some case could not be closed, the
    methods that need no structure are asked as well: intervals, where they are in reach, after a few nodes.
    """
    near = bool(problem.cases) and methods.in_reach_of_intervals(problem.question)
    searches = _searched_cases(problem, NODES_BEFORE_INTERVALS if near else branch.MOST_NODES)
    if near and any(one.answers.nodes[0] >= NODES_BEFORE_INTERVALS for one in searches):
        known = methods.short_answer(problem.question)
        if known is not None:
            return Optimum(known, ranges=dict(known.ranges))
        searches = _searched_cases(problem, branch.MOST_NODES)
    found = _settled_over_cases(problem, searches, ties)
    return (
        found
        if ties
        else dataclasses.replace(found, tied=partial(_settled_over_cases, problem, searches, True))
    )


def _settled_over_cases(problem: Problem, searches: Sequence[Searched], tied: bool) -> Optimum:
    question, count = problem.question, len(searches)
    if not problem.cases:
        found = structured.settle(searches[0], tied=tied)
        before = found.settled or _comes_first(_of_outcome(question, found.outcome), found.floors)
        return _with_doubts(dataclasses.replace(found, settled=before))
    first = min(searches, key=lambda one: parts.WITHOUT_DESIGN.get(one.status, 0.0))
    if first.status in (Status.UNBOUNDED, Status.INFEASIBLE):
        outcome = structured.settle(first).outcome
        return Optimum(dataclasses.replace(outcome, certificate=_proof_of_cases(outcome.certificate, count)))
    best = _winning_case(question, searches, tied)
    if best is None or not _is_closed(question, best.outcome):
        return _with_other(question, best, methods.unstructured(question))
    return _with_doubts(best)


def _with_doubts(found: Optimum) -> Optimum:
    """The same with what is not known of the designs that are as good said in its certificate."""
    if found.outcome.status is not Status.OPTIMAL:
        return found
    x, ranges, said = found.outcome.x or {}, found.ranges or {}, [found.outcome.certificate]
    ends = [(beyond, ranges.get(n, (x[n], x[n]))) for n, beyond in found.beyond.items()]
    farther = [low * FARTHER < a or high > b * FARTHER for (low, high), (a, b) in ends]
    said += [] if found.settled else [ties.UNSETTLED]
    said += [ties.UNRANGED] if any(farther) else []
    return dataclasses.replace(found, outcome=dataclasses.replace(found.outcome, certificate="; ".join(said)))


def _with_other(question: Question, best: Optimum | None, other: Outcome) -> Optimum:
    """What the methods without structure add where some case could not be closed: a design or a bound."""
    if best is None or other.status is Status.OPTIMAL:
        return Optimum(other)
    if other.x is None or other.status is not Status.FEASIBLE or not question.objectives:
        return best
    found = methods.best_tried(question, [best.outcome, other])
    return dataclasses.replace(best, outcome=found) if found.x is best.outcome.x else Optimum(found)


def _searched_cases(problem: Problem, most: int) -> list[Searched]:
    """Search every case, in so many nodes each; once there is a design, only for what is as good."""
    # without an objective each case looks for its own design by the tie rule
    reached = (
        branch.Reached(EQUAL, most=most) if problem.cases and problem.cases[0].goal is not None else None
    )
    return side_by_side.run([partial(structured.search, case, reached) for case in batch.cases(problem)])


def _proof_of_cases(text: str, count: int) -> str:
    return text if count == 1 else f"{count} cases, one for each term that can be a maximum: {text}"


def _winning_case(question: Question, searches: Sequence[Searched], ties: bool) -> Optimum | None:
    """The case that wins, by the tie rule among those that are equally good; None where no case has a design."""
    least = min(one.value for one in searches)
    settled = side_by_side.run(
        [
            partial(structured.settle, one, tied=ties)
            if one.done is not None or not question.objectives or one.value - least <= CASE_TIED
            else partial(_lost, one)
            for one in searches
        ]
    )
    good = [one for one in settled if one.outcome.x is not None]
    if not good:
        return None
    judged = [_of_outcome(question, one.outcome) for one in good]
    values = np.stack([question.sign * j.objective if question.objectives else np.zeros(1) for j in judged])
    which, tied, there = (found[..., 0] for found in best_cases.handed_out(question, judged, values))
    if which < 0:
        return None
    best, x = good[which].outcome, {n: float(v) for n, v in judged[which].x.items()}
    values, bounds = parts.of_one(question, [(o.status, None, o.bound) for o in (s.outcome for s in settled)])
    bound = float(parts.bound_of_all(values < np.inf, bounds))
    outcome = dataclasses.replace(
        best,
        status=Status.FEASIBLE if math.isnan(bound) or parts.OPEN in values else best.status,
        x=x,
        judged=judged[which],
        bound=None if math.isnan(bound) else question.sign * bound,
        certificate=_proof_of_cases(best.certificate, len(searches)),
    )
    places = tuple(place for one, at in zip(good, there, strict=True) if at for place in one.places)
    equal = [(one.ranges or {}, j.x) for one, j, at in zip(good, judged, tied, strict=True) if at]
    those = [one for one, at in zip(good, tied, strict=True) if at]
    names = dict.fromkeys(n for one in those for n in one.beyond)
    outer = {n: [one.beyond[n] for one in those if n in one.beyond] for n in names}
    return Optimum(
        outcome,
        parts.ranges_over(equal, x),
        places,
        beyond={n: (min(a for a, _ in ends), max(b for _, b in ends)) for n, ends in outer.items()},
        settled=all(one.settled or _comes_first(judged[which], one.floors) for one in those),
    )


def _comes_first(handed_out: Judged, floors: Mapping[str, float]) -> bool:
    """Whether the one handed out comes before all that are nowhere below ``floors`` in what ties go to, in order."""
    values = {**handed_out.x, **handed_out.at}
    for name, least in floors.items():
        value = float(values[name])
        if abs(least - value) > parts.EQUAL_DESIGNS * value:
            return least > value
    return bool(floors)


def _lost(s: Searched) -> Optimum:
    """A case that does not win: what its search says of its bound."""
    bound, goal = np.inf if s.part is None else s.part.found.bound.min(initial=np.inf), s.problem.goal
    known = float(goal.to_user(bound)) if goal is not None and math.isfinite(bound) else None
    return Optimum(Outcome(s.status, bound=known))


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
