"""Cases of a maximum at many points: each case is answered as a question of its own, and the best one wins.

As for a single question (``solvers.geometric.cases``): of cases that are equally good the tie rule decides, limits
conflict if they do in every case, and a limit is worth what it is worth where it is worth most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Integers
from formulations.grids.batch import Batch
from results.solution import Status
from results.variables import STATUS_CODES
from scenarios.question import Question
from solvers import designs
from solvers.geometric.explaining.geometric_conflicts import Oracle, first_minimal
from solvers.geometric.points.geometric_answers import CONFLICT, Answers, asked, judge_designs
from solvers.geometric.programs.optima import CASE_TIED
from solvers.geometric.programs.optimal_face import Solver
from solvers.judgement import Judged
from solvers.mechanisms import parts
from solvers.mechanisms.conflicts import common_conflicts
from solvers.mechanisms.parts import EQUAL_DESIGNS


def best_case(cases: Sequence[Batch], each: Sequence[Answers], solve: Solver) -> Answers:
    """Return the answers of the best case at each point; ``each``: those of every case."""
    first = each[0]
    if len(each) == 1:
        return first
    question = cases[0].question
    optimal, endless, none = (STATUS_CODES[s] for s in (Status.OPTIMAL, Status.UNBOUNDED, Status.INFEASIBLE))
    states = np.stack([a.status for a in each])
    values = np.where(states == optimal, question.sign * np.stack([a.judged.objective for a in each]), np.inf)
    # what is least in a case that loses is no optimum, though its design may be as good
    bounds = np.where(states == optimal, [a.value for a in each], np.inf)
    values = np.where(bounds <= bounds.min(axis=0) + CASE_TIED, values, np.inf)
    which, _, there = handed_out(question, [a.judged for a in each], values)
    names = [d.name for d in question.decide]
    clash, apart = common_conflicts([a.conflict for a in each], (states == none).all(axis=0))
    conflict = _of(clash, [a.conflict for a in each])
    some = np.flatnonzero(apart)
    if some.size:
        conflict[some], found = first_minimal([Oracle(b, some, first.names, solve) for b in cases])
        apart[some] = ~found
    left = ~(states != 0).all(axis=0) | apart
    first.why = np.where(apart, CONFLICT, _of((states == 0).argmax(axis=0), [a.why for a in each]))
    first.elasticity = _worth(cases, each, there)
    first.value = parts.bound_of_all(states != none, np.stack([a.value for a in each]))
    first.y[:, : len(names)] = _of(which, [a.y[:, : len(names)] for a in each])
    first.status = np.select(
        [left, (states == endless).any(axis=0), which >= 0], [np.int8(0), endless, optimal], none
    ).astype(np.int8)
    first.conflict = conflict & (first.status == none)[:, None]
    judge_designs(cases[0], first)
    return first


def handed_out(question: Question, every: Sequence[Judged], values: Array) -> tuple[Integers, Bools, Bools]:
    """Which case's design is handed out at each of N points (-1: none), and which (cases, N) are tied with it.

    Of these also which attain the optimum at the very design. ``every``: the designs of each case; ``values``
    (cases, N): what is minimised there, infinite where a case does not count.
    """
    tied = parts.tied(values, CASE_TIED)
    numbers = [{n: j.full(v) for n, v in {**j.x, **j.at}.items()} for j in every]
    which = designs.first_by_rule(question, numbers, tied, EQUAL_DESIGNS)
    x = np.stack([[own[d.name] for d in question.decide] for own in numbers])
    chosen = np.take_along_axis(x, which[None, None], axis=0)
    return which, tied, tied & np.isclose(x, chosen, rtol=EQUAL_DESIGNS, atol=0.0).all(axis=1)


def _worth(cases: Sequence[Batch], each: Sequence[Answers], there: Bools) -> Array:
    """The elasticities of the first case's rows: the largest of all cases that attain the optimum at one design."""
    found = np.zeros_like(each[0].elasticity)
    for k in np.flatnonzero(asked(cases[0].keys)):
        rates = [a.elasticity[:, b.keys.index(cases[0].keys[k])] for a, b in zip(each, cases, strict=True)]
        # of what is not known in one case nothing is known
        found[:, k] = np.where(there, rates, -np.inf).max(axis=0)
    return found


def _of(which: Integers, every: Sequence[Any]) -> Any:
    """What each point has in one of several cases; points come first."""
    return np.stack(every)[which, np.arange(which.size)]
