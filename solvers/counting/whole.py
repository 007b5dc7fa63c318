"""Whole numbers and choices among names, at many points at once: what stands on a system, how often, and which of all.

Each combination of names is answered by itself, as for a single point: all sets of things that may be there, each
with its least design (``solvers.counting.counts``). Why a point has no design is told of all
combinations, by the same search for a minimal set as elsewhere; that limits can hold together is shown by a design,
that they cannot by enumeration or by a linear program.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from formulations import evaluation
from formulations.arithmetics.many import Array, Differ, Points, plain
from formulations.program import is_linear
from formulations.tolerances import HOLDS
from scenarios.question import Question, combinations
from scenarios.sweep.grids import Grid
from solvers import work
from solvers.counting import counts
from solvers.counting.counts import Counts, Limit, NotLeast
from solvers.explaining import wider
from solvers.linear import milp_conflicts
from solvers.linear.linear_program import weak_duality
from solvers.linear.points import lp
from solvers.many_points import blocks, by_choice
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.by_choice import SURE, BestOf
from solvers.many_points.offers import FEWEST_POINTS, Offer, choices
from solvers.mechanisms import conflicts
from solvers.mechanisms.conflicts import by_set
from solvers.mechanisms.why import Why, over_choices
from solvers.outcome import INFEASIBLE

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
    every = [_combination(chosen, asked, len(points)) for chosen, asked in combinations(question)]
    return by_choice.put_best(
        answers,
        every,
        points,
        lambda now: over_choices([_why_of_combination(c.question, now) for c in every]),
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


def _why_of_combination(question: Question, own: Points) -> Why:
    """What tells why points ``own`` have no design in one combination."""
    near = blocks.part(question, own)
    c = counts.counts(replace(near, reach=wider.STEPS[-1]), len(own))
    names, keys = _limit_names(c), [x.key for x in c.limits]
    there = counts.sets(c)

    def met(some: Points, kept: Mask) -> conflicts.Codes:
        left_out = {n for n, k in zip(names, kept, strict=True) if not k}
        return _counts_feasibility(c, there, [x for x in c.limits if x.key.name not in left_out], some)

    def values(some: Points, conflict: Sequence[str]) -> Mapping[str, Array]:
        asked = blocks.part(near, some)
        return conflicts.feasible_values(
            asked, keys, conflict, partial(_least_factor_by_search, asked, len(some))
        )

    return Why(names, by_set(met), values, lambda some: blocks.part(near, some))


def _least_factor_by_search(question: Question, count: int, which: int) -> Array:
    """The least ratio of a limit (see ``conflicts.Factor``), by the nearest ends of the search that do not hold it."""
    found = np.full(count, np.nan)
    for reach in (question.reach, *wider.STEPS):
        try:
            c = counts.aimed(counts.counts(replace(question, reach=reach), count), which)
            best = counts.best(c)
        except (NotLeast, Differ):
            continue
        there = np.isfinite(best.value)
        free = np.all([u < high for u, high in zip(best.u.values(), c.high, strict=False)], axis=0)
        with np.errstate(invalid="ignore"):
            now = np.select([there & free, ~there & (best.lost > SURE)], [c.user(best.value), np.inf], np.nan)
        found = np.where(np.isfinite(found), found, np.where(best.unsure, np.nan, now))
        if np.isfinite(found).all():
            break
    return found


def _limit_names(c: Counts) -> tuple[str, ...]:
    """Names of the limits that may be in conflict; raises NotLeast where whole numbers may be."""
    names = milp_conflicts.limit_names(c.question, [x.key for x in c.limits])
    if any(d.name in names for d in c.question.decide):
        raise NotLeast("whole numbers that the user asks for may be in conflict")
    return names


def _counts_feasibility(c: Counts, there: Mask, limits: Sequence[Limit], some: Points) -> conflicts.Codes:
    """Whether limits can hold together, at some points."""
    met, none = np.zeros(c.count, dtype=bool), np.zeros(c.count, dtype=bool)
    asked = {x.name for x in c.question.limits}
    owned = [x for x in c.limits if x in limits or x.key.name not in asked]
    # a design that holds more than is wanted is found sooner, but what the user does not want held may forbid it
    for also in (c.limits, owned):
        for shown in counts.best_of_sets(c, limits, there, also):
            met |= shown.there & shown.met & ~shown.near
            if met[some].all():
                return np.full(len(some), conflicts.CAN_HOLD, np.int8)
    if all(x in limits for x in c.limits if x.only):
        none = np.all([f.lost > SURE for f in counts.best_of_sets(c, limits, there)], axis=0)
    if not (met | none)[some].all():
        none |= _impossible(c, limits)
    codes = np.select([met, none], [conflicts.CAN_HOLD, conflicts.CANNOT_HOLD], conflicts.NOT_KNOWN)
    return codes[some].astype(np.int8)


def _impossible(c: Counts, limits: Collection[Limit]) -> Mask:
    """Where not even numbers that could be divided, with everything allowed to be there, meet the limits."""
    numbers = len(c.names)
    own = [x.form for x in limits if not (x.form.columns >= numbers).any()]
    left = counts.joined(own, np.arange(numbers))
    a, k = (np.broadcast_to(x, (*x.shape[:-1], c.count)) for x in (left.a, left.k[:, None]))
    rows = np.moveaxis(np.concatenate([a, k], axis=1), -1, 0)
    equal = np.zeros(len(left.k), dtype=bool)
    low, high = c.low[:numbers], c.high[:numbers]
    found = lp.solved(rows, equal, low, high, [], c.count)
    missed = weak_duality(rows, equal, low, high, np.zeros(rows.shape[-1]), found.y)
    size = (np.maximum(found.y, 0.0) * np.abs(rows[:, :, -1])).sum(axis=1)
    return np.asarray((found.end == INFEASIBLE) & (missed > SURE * size), dtype=bool)
