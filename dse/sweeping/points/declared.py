"""What a point of a grid costs in declared seconds, and how a sampler answers it."""

from __future__ import annotations

import itertools

import scenarios
from dse.system.nouns import plural
from scenarios.question import Search
from solvers import many_points, work

KINDS = 8
"""Questions along axes of names of which the dearest is taken for what a point costs."""
NEXT_CHANGES = 4.0
"""How many times as long an answer by itself takes with the next changes: measured 1 to 8 times, whole numbers most."""

ALONE = "each point solved by itself"
FULL = "at full depth each point gets its ranges, sensitivities and next changes by itself"
RUN = "each design is run or searched for by itself"


def why_apart(grid: scenarios.Grid) -> str:
    """Say why the points of a grid are answered one by one whatever its equations are; empty where nothing asks it."""
    # a black box is run design by design anyway, and so each failure keeps its message
    question = next(iter(grid.bases.values()))
    black_box = question.model.black_box and grid.at_a_point is None
    if black_box or (question.decide and question.search):
        return RUN
    return ""


def declared(grid: scenarios.Grid, choice: many_points.Choice, *, full: bool = False) -> float:
    """Return what a point costs, in declared seconds: by the way, and by itself as far as that leaves points over.

    Ways after it may answer these in less.
    ``full``: with where whole numbers next change, which is asked of each limit.
    """
    left = 1.0 if choice.path is None else choice.left
    named = [1 if a.numeric else n for a, n in zip(grid.axes, grid.shape, strict=True)]
    kinds = itertools.islice(itertools.product(*map(range, named)), KINDS)
    alone = max(work.alone(grid.question(place)) for place in kinds) if left else 0.0
    whole = any(d.integer or d.values is not None for q in grid.bases.values() for d in q.decide)
    again = NEXT_CHANGES if full and whole else 1.0
    return (choice.path.work if choice.path is not None else 0.0) + again * left * alone


def searched(grid: scenarios.Grid) -> str:
    """Say how a sampler answers every point, where it does; a black box is evaluated where nothing is decided."""
    base = next(iter(grid.bases.values()))
    black_box = base.model.black_box and grid.at_a_point is None
    # a design for many samples is searched for by boxes
    if not base.decide or base.uncertain is not None or not (base.search or black_box):
        return ""
    asked = base.search or Search()
    return (
        f"each point by itself: {plural(asked.trials, 'trial')} of Optuna {asked.sampler}, seed {asked.seed}"
    )
