"""Whole numbers and choices among names, at many points at once: what stands on a system, how often, and which of all.

Each combination of names is answered by itself, as for a single point: all sets of things that may be there, each
with its least design (``solvers.counting.counts``). Why a point has no design is told of all
combinations, by the same search for a minimal set as elsewhere; that limits can hold together is shown by a design,
that they cannot by enumeration or by a linear program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations import evaluation
from formulations.arithmetics.many import Points, plain
from formulations.programs.program import is_linear
from formulations.tolerances import HOLDS
from scenarios.question import Question, combinations
from scenarios.sweep.grids import Grid
from solvers import work
from solvers.counting import counts, whole_conflicts
from solvers.explaining import wider
from solvers.many_points import blocks, by_choice
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.by_choice import SURE, BestOf
from solvers.many_points.offers import FEWEST_POINTS, Offer, choices
from solvers.mechanisms.why import over_choices

KIND = "whole numbers"
METHOD = "whole numbers: every set of things that may be there, the least design of each"
WHOLE_TOGETHER = 16_384
"""Points answered together."""

Mask = NDArray[np.bool_]


def way(grid: Grid) -> Offer:
    """Return this way where most points of a grid ask for whole numbers that have least designs."""
    return blocks.offered_by_group(grid, KIND, _decides_counts_and_names, over, FEWEST_POINTS)


def over(grid: Grid) -> ByGroup:
    """Return the way over a grid; its declared work is so much for each number, in each combination of names."""
    first = next(blocks.kinds(grid))
    numbers = sum(d.choices is None for d in first.decide)
    each = work.seconds("whole number", choices(first) * numbers)
    return ByGroup(grid, answered, WHOLE_TOGETHER, METHOD, "batch", each)


def _decides_counts_and_names(question: Question) -> bool:
    """Whether all that is decided are whole numbers and names."""
    numbers = [d for d in question.decide if d.choices is None]
    if question.idle or not numbers or not all(d.integer and d.values is None for d in numbers):
        return False
    return is_linear(next(asked for _, asked in combinations(question)))


def answered(answers: BlockAnswers, block: Block, question: Question, points: Points) -> Mask:
    """Answer some points; tells which are answered."""
    # a nearer end might leave out the best way, of which more is needed; where more is better, rounding blurs far ends
    reach = 1.0 if question.objectives[0].maximize else wider.STEPS[-1]
    farther = replace(question, reach=reach)
    every = [_combination(chosen, asked, len(points)) for chosen, asked in combinations(farther)]
    return by_choice.put_best(
        answers,
        every,
        points,
        lambda now: over_choices([whole_conflicts.why(asked, now) for _, asked in combinations(question)]),
        lambda none: _nowhere(question, none),
    )


def _nowhere(question: Question, none: Points) -> Points:
    """Those of the points without a design that have none where numbers may be far larger, either."""
    if not len(none):
        return none
    farther = replace(blocks.part(question, none), reach=wider.STEPS[-1])
    every = [_combination(chosen, asked, len(none)) for chosen, asked in combinations(farther)]
    return none[np.all([np.isinf(c.value) & ~c.unsure & (c.missed > SURE) for c in every], axis=0)]


def _combination(chosen: Mapping[str, str], question: Question, count: int) -> BestOf:
    """The best designs of one way to choose among names."""
    c = counts.counts(question, count)
    best = counts.best(c)
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, best.u)
        rows = evaluation.ratios(question, best.u, at)
        value = np.broadcast_to(plain(evaluation.objective(question, best.u, at)), (count,))
    # a design that fails its own check is for the single path to judge
    failed = np.any([1.0 - np.broadcast_to(plain(r), (count,)) < -HOLDS for r in rows.values()], axis=0)
    met = np.isfinite(best.value)
    return BestOf(
        chosen,
        question,
        lambda own: {n: u[own] for n, u in best.u.items()},
        np.where(met, -value if question.objectives[0].maximize else value, np.inf),
        c.user(best.bound),
        best.lost,
        best.unsure | (met & (failed | ~np.isfinite(value))),
    )
