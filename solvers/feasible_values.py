"""The feasible value of each limit of a conflict, for the infeasible points of a block.

Each way finds them with ``conflicts.feasible_values``. What it leaves open is asked as ``solvers.answer`` does for
one question, and counted. While a block is filled in, NaN is what is not known yet and infinity what is known not to
exist, because another conflict remains.
"""

from __future__ import annotations

import math

import numpy as np

from dse.system.arrays import Bools
from formulations import evaluation, handover
from formulations.arithmetics.many import plain
from formulations.grids.over_grid import spread
from formulations.problem import formulate
from results.dataset import CONFLICTING, STATUS_CODES, Arrays, Layout
from results.solution import Status
from results.telling.limits import base_name
from scenarios.question import Question, combinations
from scenarios.sweep.grids import Grid
from solvers.certain import answer, why_without_design
from solvers.many_points.blocks import Block
from solvers.mechanisms.conflicts import ONE
from solvers.mechanisms.why import over_choices

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
        by_name = at(grid.question(place), tuple(names))
        values[where][open_ones] = [by_name[base_name(plan.limits[i])] for i in open_ones]
    values[~np.isfinite(values)] = np.nan


def keep_on_own_side(grid: Grid, plan: Layout, region: tuple[slice, ...], arrays: Arrays) -> None:
    """Where both sides of one name are in conflict, keep the feasible value for the side that it lies beyond."""
    places = {name: i for i, name in enumerate(plan.limits)}
    pairs = [
        (n, places[n], i) for name, i in places.items() if (n := base_name(name)) != name and n in places
    ]
    if "would_do" not in arrays or not pairs:
        return
    values = arrays["would_do"].reshape(-1, len(places))
    block = Block(spread(grid), region)
    for group in block.alike():
        some = group[np.isfinite(values[group]).any(-1)]
        ends = evaluation.bounds(block.question(some)) if some.size else {}
        for name, upper, lower in pairs if ends else ():
            low, high = (plain(end) for end in ends[name])
            if low is not None and high is not None:
                values[some[values[some, upper] < low], upper] = np.nan
                values[some[values[some, lower] > high], lower] = np.nan


def at(question: Question, names: tuple[str, ...]) -> dict[str, float]:
    """Return the feasible value for each of some limits of one infeasible question; NaN where there is none."""
    if not question.decide:
        by_name = answer(question, neighbours=False).conflict
        found = {n: by_name.get(n) for n in names}
        return {n: math.nan if v is None else v for n, v in found.items()}
    why = over_choices([why_without_design(formulate(q, searched=True)) for _, q in combinations(question)])
    values = why.values(ONE, names)
    return {n: float(v[0]) if math.isfinite(v[0]) else math.nan for n, v in values.items()}
