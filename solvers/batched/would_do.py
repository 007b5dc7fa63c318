"""The value of each limit of a conflict that would do, for the infeasible points of a block.

A limit is relaxed by making it the objective, with all other limits kept. How that is minimised at many points
together is each way's own: a ``Factor``. What a way leaves open is asked as ``solvers.answer`` does for one question,
and counted. While a block is filled in, NaN is what is not known yet and infinity what is known not to exist, because
another conflict remains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from formulations import handover
from formulations.evaluation import RowKey
from formulations.problem import formulate
from results.dataset import CONFLICTING, STATUS_CODES, Arrays, Layout
from results.solution import Status
from results.telling.limits import base_name
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from solvers import choices, designs
from solvers.answer import answer
from solvers.explaining import conflicts, subsets, wider
from solvers.geometric import cases
from solvers.geometric.gp_terms import Array
from solvers.linear import milp_conflicts

Bools = NDArray[np.bool_]
Factor = Callable[[int], Array]
"""The least ratio of a limit (by its place among the keys), which is 1 today, over all designs that meet the others, at
every point: infinite where there is none, NaN where that is not known."""
ALONE = "a value that would do, sought for one point by itself"


def of_limits(
    question: Question, keys: Sequence[RowKey | None], names: Iterable[str], factor: Factor
) -> dict[str, Array]:
    """The values of some limits, by name, at all points that the question is about (numbers are arrays or ``Many``).

    ``keys``: the limits as rows. Of a name with two sides that counts which has to give less. A discrete variable gets
    a value that it may have.
    """
    return {name: _of_name(question, keys, name, factor) for name in names}


def _of_name(question: Question, keys: Sequence[RowKey | None], name: str, factor: Factor) -> Array:
    sides = sorted((key, k) for k, key in enumerate(keys) if key is not None and key.name == name)
    factors = np.stack([factor(k) for _, k in sides])
    # what is not known of one side is not known at all, and argmin finds it
    least = factors.argmin(0)
    values = np.stack(
        [conflicts.value_at(question, key, f) for (key, _), f in zip(sides, factors, strict=True)]
    )
    found = np.where(np.isfinite(factors), values, factors)
    return np.asarray(np.take_along_axis(found, least[None], axis=0)[0])


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
        told = dict(at(grid.question(place), tuple(names)))
        values[where][open_ones] = [told[base_name(plan.limits[i])] for i in open_ones]
    values[~np.isfinite(values)] = np.nan


def at(question: Question, names: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """The value that would do for each of some limits of one infeasible question; NaN where there is none."""
    if choices.categorical(question) or not question.decide:
        told = answer(question, neighbours=False).conflict
        found = [told.get(n) for n in names]
    else:
        problem = formulate(question)
        p = problem.program
        if designs.few(question):
            found = [subsets.value_that_would_do(question, n) for n in names]
        elif p is not None:
            programs = wider.ended(problem) if p.open else [lambda p=p: p]
            found = [milp_conflicts.value_that_would_do(programs, n) for n in names]
        elif problem.rows is not None or cases.apply_to(problem):
            found = [conflicts.would_do(problem, n) for n in names]
        else:
            found = [subsets.value_that_would_do(question, n) for n in names]
    yield from zip(names, (math.nan if v is None else v for v in found), strict=True)
