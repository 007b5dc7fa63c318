"""The feasible value of each limit of a conflict, for the infeasible points of a block.

Each way finds them with ``conflicts.feasible_values``. What it leaves open is asked as ``solvers.answer`` does for
one question, and counted. While a block is filled in, NaN is what is not known yet and infinity what is known not to
exist, because another conflict remains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from formulations import handover
from formulations.problem import formulate
from results.dataset import CONFLICTING, STATUS_CODES, Arrays, Layout
from results.solution import Status
from results.telling.limits import base_name
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from solvers import choices, designs
from solvers.answer import answer
from solvers.explaining import subsets, wider
from solvers.geometric import cases
from solvers.geometric.programs import relaxed_limits
from solvers.linear import milp_conflicts
from solvers.mechanisms.conflicts import ONE
from solvers.mechanisms.why import loosest

Bools = NDArray[np.bool_]
ALONE = "a feasible value, sought for one point by itself"


def complete(grid: Grid, plan: Layout, region: tuple[slice, ...], arrays: Arrays, left: Bools) -> None:
    """Fill in what a way for whole blocks left open, point by point; ``left``: points that are solved anew anyway."""
    if "would_do" not in arrays or "binding" not in arrays or "status" not in arrays:
        return
    values, clash = arrays["would_do"], arrays["binding"] == CONFLICTING
    none = (arrays["status"] == STATUS_CODES[Status.INFEASIBLE]) & ~left
    places = np.argwhere(none & (clash & np.isnan(values)).any(-1))
    handover.hand_over(ALONE, len(places))
    for where in map(tuple, places.tolist()):
        open_ones = np.flatnonzero(clash[where] & np.isnan(values[where]))
        names = dict.fromkeys(base_name(plan.limits[i]) for i in open_ones)
        place = tuple(s.start + i for s, i in zip(region, where, strict=True))
        by_name = dict(at(grid.question(place), tuple(names)))
        values[where][open_ones] = [by_name[base_name(plan.limits[i])] for i in open_ones]
    values[~np.isfinite(values)] = np.nan


def at(question: Question, names: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """The feasible value for each of some limits of one infeasible question; NaN where there is none."""
    if not question.decide:
        by_name = answer(question, neighbours=False).conflict
        yield from ((n, _number_or_nan(by_name.get(n))) for n in names)
        return
    every = [q for _, q in choices.combinations(question)]
    for n in names:
        found = [(q, np.array([_number_or_nan(_feasible_value_of(q, n), none=math.inf)])) for q in every]
        (value,) = found[0][1] if len(found) == 1 else loosest(n, found)
        yield n, float(value) if math.isfinite(value) else math.nan


def _number_or_nan(value: float | None, none: float = math.nan) -> float:
    return none if value is None else value


def _feasible_value_of(question: Question, name: str) -> float | None:
    """The value of one limit of a question in which nothing is chosen by name."""
    own = {x.name for some in (question.limits, question.decide, question.model.limits) for x in some}
    if name not in own:
        return None
    if not question.decide:
        (value,) = subsets.why(question).values(ONE, (name,))[name]
        return float(value) if math.isfinite(value) else None
    if designs.few(question):
        return subsets.feasible_value(question, name)
    problem = formulate(question)
    p = problem.program
    if p is not None:
        programs = wider.ended(problem) if p.open else [lambda: p]
        return milp_conflicts.loosest_feasible_value(programs, name)
    if problem.rows is not None or cases.apply_to(problem):
        return relaxed_limits.of_cases(problem, name, set())
    return subsets.feasible_value(question, name)
