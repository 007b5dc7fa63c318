"""Whole numbers and menus of which limits and objective are sums: the designs that may be the best, at every point.

For questions that are mixed-integer programs to a single point (how many blocks of each kind, a setting per phase).
The designs that may be the best at any of the limits that are asked for are found once for each set of given numbers
(``solvers.counting.undominated``), and then looked up like those of a table (``solvers.counting.tables``). Whether some
limits can hold together is asked of the designs that may be the best by those limits alone; what a limit would have to
be, of those with it as the objective.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations.arithmetics.many import Array, Points
from formulations.grids import over_grid
from formulations.programs.program import Run, is_linear, run
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from scenarios.question import Objective, Question, combinations
from scenarios.sweep.grids import Grid
from solvers import designs, enumeration, work
from solvers.counting import separable, tables, undominated
from solvers.counting.criteria import NotSums, TooMany
from solvers.counting.narrowed import Asked
from solvers.designs import Table
from solvers.enumeration import excess, full
from solvers.explaining import subsets
from solvers.judgement import bound_of
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.by_choice import SURE
from solvers.many_points.offers import FEWEST_POINTS, Offer, choices
from solvers.mechanisms import conflicts
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN, Codes, by_set
from solvers.mechanisms.sensitivity import with_limit
from solvers.mechanisms.why import Why

KIND = "whole numbers in sums"
METHOD = "the designs that may be the best at any limit, found once for each set of given numbers"
LOOKED_UP_TOGETHER = 4096
"""Points that are looked up together."""
REMEMBERED = 4096
"""Sets of given numbers whose designs are kept."""
WIDENED_BY = 8.0
"""By how much more a limit may give in each round in which no feasible value was found."""
WIDENINGS = 20

Mask = NDArray[np.bool_]
Found = dict[object, Mapping[str, Array]]


def way(grid: Grid) -> Offer:
    """Return this way where all that is decided are whole numbers and menus, in sums with one term for each."""
    return blocks.offered_by_group(grid, KIND, _decides_whole_affine, over, FEWEST_POINTS)


def over(grid: Grid) -> ByGroup:
    """Return the way over a grid.

    Its declared work is that of the designs of a point's given numbers: found, for each number of each combination of
    names, and looked up. They are kept by all limits of the grid, so that other chunks need not look for them again.
    """
    decided = max(choices(q) * len(q.decide) for q in blocks.kinds(grid))
    each = work.seconds("sums point") + work.seconds("sums found", decided * work.given_share(grid))
    return ByGroup(
        over_grid.spread(grid), partial(_answered, {}), LOOKED_UP_TOGETHER, METHOD, "search", each, apart=True
    )


def _decides_whole_affine(question: Question) -> bool:
    """Whether a question decides whole numbers and entries of menus in affine forms, whatever is chosen by name."""
    first = next(asked for _, asked in combinations(question))
    if not first.decide or not all(d.integer or d.values is not None for d in first.decide):
        return False
    return is_linear(first) and designs.plain(first)


def _answered(known: Found, into: BlockAnswers, block: Block, question: Question, points: Points) -> Mask:
    """Answer some points; ``known``: designs that were found, by what they were found for."""
    return tables.answered(into, block, question, points, partial(_listed, block.grid, known), why)


def _listed(grid: Grid, known: Found, question: Question) -> list[Mapping[str, Array]]:
    """The designs of each combination of names that may be the best somewhere in the grid.

    Raises NotSums where something else than sums is asked for, or nothing ends what is decided, and TooMany.
    """
    return [_designs(grid, known, asked) for _, asked in combinations(question)]


def _designs(grid: Grid, known: Found, question: Question) -> Mapping[str, Array]:
    loose, tight = (
        _anywhere(grid, q, wide=w) for q, w in zip(separable.corners(question), (True, False), strict=True)
    )
    key = (tuple(sorted(loose.given.items())), loose.limits, tight.limits, loose.decide, tight.decide)
    if key not in known:
        sums, ended = separable.read(loose, tight)
        if not ended:
            raise NotSums("nothing ends what is decided")
        if len(known) >= REMEMBERED:
            known.clear()
        known[key] = separable.values_of(sums, question, undominated.designs(sums))
    return known[key]


def _anywhere(grid: Grid, question: Question, *, wide: bool) -> Question:
    """The question with the widest or the narrowest of all limits of the grid."""
    limits = {x.name: x for x in question.limits}
    for change in grid.changes:
        aim = change.target
        limit = limits.get(aim.name) if aim.kind == "limit" else None
        values = [float(v) for v in change.of.values] if limit is not None else []
        if limit is not None and aim.side == "max" and limit.maximum is not None:
            limits[aim.name] = replace(limit, maximum=max(values) if wide else min(values))
        elif limit is not None and aim.side == "min" and limit.minimum is not None:
            # a lower limit that says nothing is none
            some = [v for v in values if v > grid.least(aim)]
            limits[aim.name] = replace(limit, minimum=min(some) if wide else max(some))
    return replace(question, limits=tuple(limits.values()))


def why(asked: Asked, own: Points) -> Why:
    """What tells why points ``own``, all alike in what is given, have no design."""
    question, near = blocks.part(asked.question, own), asked.near
    known = run(separable.corners(question)[0])
    _, ratios = _metrics_and_ratios(question, near, {d.name: np.ones(1) for d in question.decide}, len(own))
    names, keys = _limits_maybe_in_conflict(question, ratios), list(ratios)

    def at(some: Points) -> Question:
        return blocks.part(question, some)

    def met(some: Points, kept: Mask) -> Codes:
        free = {n for n, k in zip(names, kept, strict=True) if not k}
        left = replace(subsets.without(at(some), free), objectives=())
        return _sums_feasibility(left, near, known, len(some))

    def values(some: Points, conflict: Sequence[str]) -> Mapping[str, Array]:
        asked = at(some)

        def factor(which: int) -> Array:
            return _least_factor(asked, near, known, keys[which], len(some))

        return conflicts.feasible_values(asked, keys, conflict, factor)

    return Why(names, by_set(met), values, at)


def _limits_maybe_in_conflict(question: Question, ratios: Collection[RowKey]) -> tuple[str, ...]:
    """Names of the limits that may be in conflict; raises CannotTake where what is decided may be."""
    model = question.model
    kept = {limit.name for limit in model.limits if limit.always}
    nature = {u.name for u in model.unknowns}
    for d in question.decide:
        if d.name not in nature or d.minimum is not None or d.maximum is not None:
            raise CannotTake("what the user says of a decided quantity may be in conflict")
    return tuple(dict.fromkeys(k.name for k in ratios if k.name not in kept))


def _metrics_and_ratios(question: Question, near: Question, x: Mapping[str, Array], count: int) -> Any:
    """Metrics and ratios of designs at points that are alike in what is given."""
    return enumeration.numbers(Table(question, x), near, np.zeros(count, dtype=np.intp))


def _designs_maybe_best(question: Question, known: Run, far: float) -> tuple[Mapping[str, Array], bool]:
    """The designs that may be the best at some point, and whether none is missing."""
    sums, ended = separable.read(*separable.corners(question), far=far, ties=False, known=known)
    return separable.values_of(sums, question, undominated.designs(sums)), ended


def _sums_feasibility(question: Question, near: Question, known: Run, count: int) -> Codes:
    """Whether limits can hold together, at all points."""
    try:
        x, ended = _designs_maybe_best(question, known, separable.OPEN_END)
    except (NotSums, TooMany):
        return np.full(count, NOT_KNOWN, np.int8)
    _, ratios = _metrics_and_ratios(question, near, x, count)
    missed = excess(ratios, (count, _count_of_designs(x))).min(axis=1, initial=np.inf)
    none = CANNOT_HOLD if ended else NOT_KNOWN
    return np.select([missed <= HOLDS, missed > SURE], [CAN_HOLD, none], NOT_KNOWN).astype(np.int8)


def _count_of_designs(x: Mapping[str, Array]) -> int:
    return len(next(iter(x.values())))


def _least_factor(question: Question, near: Question, known: Run, key: RowKey, count: int) -> Array:
    """The least ratio of a limit over the designs that meet the others (see ``conflicts.Factor``)."""
    open_ = _limit_as_objective(question, key, math.inf)
    codes = _sums_feasibility(replace(open_, objectives=()), near, known, count)
    found = np.where(codes == CANNOT_HOLD, np.inf, np.nan)
    if key.side == "model":
        return found
    for k in range(1, WIDENINGS):
        left = np.flatnonzero((codes == CAN_HOLD) & np.isnan(found))
        if not left.size:
            break
        factor, own = WIDENED_BY**k, blocks.part(question, left)
        asked = _limit_as_objective(own, key, factor)
        x, ended = _designs_maybe_best(asked, known, math.inf)
        shape = (len(left), _count_of_designs(x))
        _, ratios = _metrics_and_ratios(own, near, x, len(left))
        met = excess(ratios, shape, but=key) <= HOLDS
        least = np.where(met, full(ratios[key], shape), np.inf).min(axis=1, initial=np.inf)
        found[left] = np.where(np.isfinite(least) & (least <= factor) & ended, least, np.nan)
    return found


def _limit_as_objective(question: Question, key: RowKey, factor: float) -> Question:
    """The question with one limit as the objective, which may give by a factor (infinite: by anything)."""
    aim = Objective(key.name, maximize=key.side == "min")
    if key.side == "model":
        return replace(question, waive=question.waive | {key.name}, objectives=(aim,))
    bound: Any = bound_of(question, key)
    given = None if math.isinf(factor) else bound * (factor if key.side == "max" else 1.0 / factor)
    return replace(with_limit(question, key, given), objectives=(aim,))
