"""Whole numbers and choices among names, at many points at once: what stands on a system, how often, and which of all.

Each combination of names is answered by itself, as for a single point: all sets of things that may be there, each
with its least design (``solvers.counting.counts``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Bools, Points
from formulations import evaluation
from formulations.arithmetics.many import plain
from formulations.grids import over_grid
from formulations.programs.program import is_linear
from formulations.tolerances import HOLDS
from results.solution import Status
from scenarios.question import Question, combinations
from scenarios.sweep.grids import Grid
from solvers import judgement
from solvers.counting import counts, refuted, sets
from solvers.counting.counts import Counts, NotLeast
from solvers.counting.whole_conflicts import why
from solvers.explaining import wider
from solvers.many_points import best_of, claims
from solvers.many_points.best_of import SURE, BestOf
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import Offer, choices
from solvers.mechanisms import conflicts
from solvers.mechanisms.sensitivity import with_limit
from solvers.mechanisms.why import Why, over_choices
from solvers.outcome import OF_SETS, Outcome

KIND = "whole numbers"
METHOD = "whole numbers: every set of things that may be there, the best design of each"
WHOLE_TOGETHER, SET_NUMBERS_TOGETHER = 16_384, 20_000_000
"""Points answered together, and numbers of designs of all their sets."""
PAST = 1e-9
"""By how much more than it needs a limit is relaxed, where the best design there is looked for."""

EVERY_SET = "the best design of every set of things that may be there; bounds of linear programs"
NO_SET = "in no set of things that may be there is a design"


def way(grid: Grid) -> Offer:
    """Return this way where points of a grid ask for whole numbers of which every set has a least design."""
    return claims.offered_by_group(grid, KIND, _has_sets, over)


def over(grid: Grid) -> ByGroup:
    """Return the way over a grid; its declared work is so much for each set of things, in each combination of names."""
    first = next(claims.kinds(grid))
    together, count = WHOLE_TOGETHER, 1
    with suppress(CannotTake):  # each point of another kind says so, too
        c = counts.counts(next(asked for _, asked in combinations(first)), 1)
        count = len(sets.listed(c))
        together = min(max(SET_NUMBERS_TOGETHER // (max(count, 1) * len(c.low)), 1), WHOLE_TOGETHER)
    units = {"whole set": float(choices(first) * count)}
    return ByGroup(over_grid.spread(grid), answered, together, METHOD, "batch", units)


def _decides_counts_and_names(question: Question) -> bool:
    """Whether all that is decided are whole numbers and names."""
    numbers = [d for d in question.decide if d.choices is None]
    if question.idle or not numbers or not all(d.integer and d.values is None for d in numbers):
        return False
    return is_linear(next(asked for _, asked in combinations(question)))


def _has_sets(question: Question) -> bool:
    """Whether a question can be read as whole numbers of which few sets of things may be there."""
    if not _decides_counts_and_names(question):
        return False
    try:
        return bool(len(sets.listed(counts.counts(next(asked for _, asked in combinations(question)), 1))))
    except CannotTake:
        return False


def answered(answers: BlockAnswers, block: Block, question: Question, points: Points) -> Bools:
    """Answer some points; tells which are answered."""
    farther = replace(question, reach=_reach(question))
    every = [(chosen, counts.counts(asked, len(points))) for chosen, asked in combinations(farther)]
    return best_of.put_best(
        answers,
        [_combination(chosen, c) for chosen, c in every],
        points,
        lambda now: over_choices([why(c.at(now), question.reach) for _, c in every]),
        lambda none: _nowhere([c for _, c in every], none),
    )


def optimum(question: Question) -> Outcome | None:
    """The optimum of one question, a grid of one point; None where it is of another kind, or not certain."""
    if len(question.objectives) != 1 or not _decides_counts_and_names(question):
        return None
    try:
        c = counts.counts(replace(question, reach=_reach(question)), 1)
        best = _combination({}, c)
        nowhere = np.isinf(best.value) & (best.missed > SURE) & ~best.unsure
        if nowhere[0] and _nowhere([c], np.zeros(1, np.intp)).size:
            return Outcome(Status.INFEASIBLE, certificate=NO_SET, solver=OF_SETS)
    except CannotTake:
        return None
    if best.unsure[0] or np.isinf(best.value[0]):
        return None
    x = {n: float(v[0]) for n, v in best.x(np.ones(1, bool)).items()}
    return Outcome(Status.OPTIMAL, x, float(best.bound[0]), EVERY_SET, OF_SETS)


def refutation(question: Question) -> Outcome | None:
    """The proof, without ends of a search, that no whole numbers meet the limits of a question; None without one."""
    found = optimum(question)
    return found if found is not None and found.status is Status.INFEASIBLE else None


def why_alone(question: Question) -> Why | None:
    """What tells why one question has no design; None where it is of another kind."""
    if not _decides_counts_and_names(question):
        return None
    try:
        return why(counts.counts(replace(question, reach=wider.STEPS[-1]), 1), question.reach)
    except CannotTake:
        return None


def value_alone(question: Question, name: str) -> float:
    """The feasible value of a limit of one question (see ``why.Values``); NaN where it is of another kind."""
    found = why_alone(question)
    return (
        math.nan
        if found is None or name not in found.names
        else float(found.values(conflicts.ONE, (name,))[name][0])
    )


def next_changes(question: Question, now: float) -> dict[str, tuple[float, float]]:
    """Where a relaxed limit first allows a better design than the optimum ``now``, by name, and the objective there.

    Both in the user's sense and SI units. A limit of which that is not certain, or that no better design needs, is
    left out.
    """
    c = counts.counts(replace(question, reach=_reach(question)), 1)
    if c.under is not None:
        return {}
    better = replace(c, limits=(*c.limits, c.below(now)))
    keys = [x.key for x in c.limits if x.key.side != "model"]
    found = {}
    for which, key in enumerate(x.key for x in c.limits):
        if key not in keys:
            continue
        try:
            best = sets.best(aimed := counts.aimed(better, which))
        except NotLeast:
            continue
        least = float(aimed.user(best.value)[0])
        if best.unsure[0] or not 1.0 < least < math.inf:
            continue
        # a limit that a design meets to the last digit is met by rounding only
        far = judgement.relaxed(question, key, least * (1.0 + PAST))
        # no value is a multiple of a bound of 0
        moved = optimum(with_limit(question, key, far)) if np.isfinite(far) else None
        if moved is not None and moved.bound is not None:
            found[evaluation.label(key, keys)] = (judgement.relaxed(question, key, least), moved.bound)
    return found


def _reach(question: Question) -> float:
    """How far numbers are searched: a nearer end might leave out the best way, of which more is needed."""
    # where more is better, rounding blurs far ends
    return 1.0 if question.objectives[0].maximize else wider.STEPS[-1]


def _nowhere(every: Sequence[Counts], none: Points) -> Points:
    """Those of the points without a design that have none where numbers may be far larger, either, nor beyond."""
    farthest = wider.STEPS[-1]
    far = [c.at(none) for c in every] if len(none) else []
    if far and every[0].question.reach != farthest:
        far = [c.reaching(farthest) for c in far]
        asked = [_combination({}, c) for c in far]
        left = np.all([np.isinf(c.value) & ~c.unsure & (c.missed > SURE) for c in asked], axis=0)
        none, far = none[left], [c.at(np.flatnonzero(left)) for c in far] if left.any() else []
    return none[np.all([refuted.nowhere(c) for c in far], axis=0)] if far else none


def _combination(chosen: Mapping[str, str], c: Counts) -> BestOf:
    """The best designs of one way to choose among names."""
    question, count = c.question, c.count
    best = sets.best(c)
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, best.u)
        rows = evaluation.ratios(question, best.u, at)
        value = np.broadcast_to(plain(evaluation.objective(question, best.u, at)), (count,))
    # a design that fails its own check is for the single path to judge
    failed = np.any([1.0 - np.broadcast_to(plain(r), (count,)) < -HOLDS for r in rows.values()], axis=0)
    met = np.isfinite(best.value)
    if question.objectives[0].maximize:
        failed |= ~sets.enclosed(c)
    return BestOf(
        chosen,
        question,
        lambda own: {n: u[own] for n, u in best.u.items()},
        np.where(met, question.sign * value, np.inf),
        c.user(best.bound),
        best.lost,
        best.unsure | (met & (failed | ~np.isfinite(value))),
    )
