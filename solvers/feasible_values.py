"""The feasible value of each limit of a conflict, for the infeasible points of a block.

Each way finds them with ``conflicts.feasible_values``. What it leaves open is asked as ``solvers.answer`` does for
one question, and counted. While a block is filled in, NaN is what is not known yet and infinity what is known not to
exist, because another conflict remains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Indices, Points
from formulations import evaluation, handover
from formulations.arithmetics.many import plain
from formulations.grids import divided
from formulations.grids.over_grid import spread
from formulations.problem import formulate
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from results.dataset import CONFLICTING, NOT_APPLICABLE, STATUS_CODES, Arrays, Layout
from results.solution import Solution, Status
from results.telling.limits import base_name
from scenarios.question import (
    Decision,
    Limit,
    Objective,
    Question,
    combinations,
    has_asked_gaps,
    with_asked_gaps,
    without,
)
from scenarios.sweep.grids import Grid
from solvers.certain import answer, why_without_design
from solvers.judgement import bound_of
from solvers.many_points.blocks import Block
from solvers.mechanisms.alike import apart_but_for_bound
from solvers.mechanisms.conflicts import ONE
from solvers.mechanisms.sensitivity import with_limit
from solvers.mechanisms.why import over_choices
from solvers.patterns import groups

Alone = Callable[[Question], Solution]
"""Answers a question by itself."""


def certainly(question: Question) -> Solution:
    """Answer a question whose numbers are certain by itself."""
    return answer(question, neighbours=False)


HAS_DESIGN = (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED)
ALONE = "a feasible value, sought for one point by itself"


def complete(
    grid: Grid, plan: Layout, region: tuple[slice, ...], arrays: Arrays, left: Bools, alone: Alone = certainly
) -> None:
    """Fill in what a way for whole blocks left open, point by point.

    ``left``: points that are solved anew anyway; ``alone``: answers a question, where numbers are uncertain, too.
    """
    if "would_do" not in arrays or "binding" not in arrays or "status" not in arrays:
        return
    values = arrays["would_do"].reshape(-1, len(plan.limits))
    none = (arrays["status"] == STATUS_CODES[Status.INFEASIBLE]) & ~left
    clash = (arrays["binding"] == CONFLICTING) & none[..., None]
    open_ones = clash.reshape(values.shape) & np.isnan(values)
    block = Block(spread(grid), region)
    for group in block.alike() if open_ones.any() else ():
        _complete_alike(block, plan, values, open_ones, group[open_ones[group].any(1)], alone)
    values[~np.isfinite(values)] = np.nan


def _complete_alike(
    block: Block, plan: Layout, values: Array, open_ones: Bools, points: Points, alone: Alone
) -> None:
    """Fill in the values (N, limits) that are open at points of a block that differ in numbers only.

    Where points share the value of a limit, it is asked once.
    """
    names, grid = [base_name(n) for n in plan.limits], block.grid
    left = open_ones[points]
    for name in dict.fromkeys(names):
        sides = np.array([n == name for n in names])
        some = points[left[:, sides].any(1)]
        shared = _shared(block, name, some) if some.size > 1 else None
        if shared is None:
            continue
        key, bound, first, which = shared
        handover.hand_over(ALONE, first.size)
        asked = (with_limit(grid.question(block.place(p)), key, bound) for p in some[first])
        found = np.array([at(question, (name,), alone)[name] for question in asked])[which]
        values[some] = np.where(open_ones[some] & sides, found[:, None], values[some])
        left &= ~sides
    handover.hand_over(ALONE, int(left.any(1).sum()))
    for point, mine in zip(points, left, strict=True):
        if mine.any():
            open_names = tuple(dict.fromkeys(n for n, here in zip(names, mine, strict=True) if here))
            by_name = at(grid.question(block.place(point)), open_names, alone)
            values[point, mine] = [by_name[n] for n, here in zip(names, mine, strict=True) if here]


def _shared(block: Block, name: str, points: Points) -> tuple[RowKey, Any, Indices, Indices] | None:
    """Which of some points share the value that a limit needs (see ``apart_but_for_bound``); None where none do.

    Also the bound at which it is asked, however the grid is cut: that at the first point of all.
    """
    first = block.grid.question((0,) * len(block.grid.shape))
    found = apart_but_for_bound(block.question(points), name) if first.decide else None
    if found is None or name not in evaluation.bounds(first):
        return None
    key, _, kinds, which = found
    bound = bound_of(first, key)
    return None if bound is None else (key, bound, kinds, which)


def keep_on_own_side(grid: Grid, plan: Layout, region: tuple[slice, ...], arrays: Arrays) -> None:
    """Where both sides of one name are in conflict, keep the one beyond which the feasible value lies, if it does.

    The other side stays in conflict, without a value, where the least is above the greatest, or where designs hold all
    limits but it: then no design has a value between the two.
    """
    places = {name: i for i, name in enumerate(plan.limits)}
    pairs = [
        (n, places[n], i) for name, i in places.items() if (n := base_name(name)) != name and n in places
    ]
    if "would_do" not in arrays or not pairs:
        return
    values = arrays["would_do"].reshape(-1, len(places))
    states = arrays["binding"].reshape(values.shape) if "binding" in arrays else None
    block = Block(spread(grid), region)
    for group in block.alike():
        some = group[np.isfinite(values[group]).any(-1)]
        ends = evaluation.bounds(block.question(some)) if some.size else {}
        for name, upper, lower in pairs if ends else ():
            low, high = (plain(end) for end in ends[name])
            if low is None or high is None:
                continue
            apart = np.broadcast_to(np.asarray(low) <= high, some.shape)
            beyond_low, beyond_high = values[some, upper] < low, values[some, lower] > high
            for side, end, beyond in ((upper, "max", beyond_low), (lower, "min", beyond_high)):
                values[some[beyond], side] = np.nan
                if states is None:
                    continue
                asked = some[beyond & apart]
                bound = np.broadcast_to(high if end == "min" else low, some.shape)[beyond & apart]
                for which, kind in groups(states[asked] == CONFLICTING):
                    conflict = {base_name(n) for n, here in zip(places, kind, strict=True) if here}
                    points, other = asked[which], bound[which]
                    free = ~_needed(block, points, conflict, RowKey(name, end), other)
                    states[points[free], side] = NOT_APPLICABLE


def _needed(block: Block, points: Points, conflict: Collection[str], key: RowKey, other: Array) -> Bools:
    """Whether designs hold the limits in conflict without the end ``key``, at points that differ in numbers only.

    Asked only where something decided has gaps, and of no decided number: it may be any between its ends. The
    question is which value is farthest beyond that end; it is compared with ``other``, the bound at the other end, so
    that of points that differ in these bounds alone one is asked.
    """
    question = block.question(points)
    decided = any(d.name == key.name for d in question.decide)
    if decided or question.uncertain is not None or not any(_has_gaps(d) for d in question.decide):
        return np.zeros(points.size, bool)
    loose = _without_ends(question, conflict, key.name)
    first, which = divided.alike(loose, {str(i): v for i, v in enumerate(divided.numbers(loose))})
    which = np.broadcast_to(which, points.shape)
    sign = 1.0 if key.side == "min" else -1.0
    goal = (Objective(key.name, sign < 0),)

    def alone(k: int) -> Question:
        return _without_ends(block.grid.question(block.place(points[first[k]])), conflict, key.name)

    together = replace(divided.at(loose, first), objectives=goal)
    # tables bring the ways of every class, which a question alone has no use for
    from solvers.counting import tables

    listed = tables.least(together, replace(alone(0), objectives=goal), first.size)
    if listed is not None:
        return np.asarray(listed[which] <= sign * other + HOLDS * np.abs(other))
    # any design as far as a rounder bound is found sooner than the farthest one
    rounder, reached = _power_of_two_beyond(other, sign), np.zeros(points.size, bool)
    for k, bound in {(int(k), float(b)) for k, b in zip(which, rounder, strict=True) if b > 0.0}:
        reached |= (which == k) & (rounder == bound) & _reaches(alone(k), key, bound)
    farthest = np.full(first.size, np.inf)
    for k in np.unique(which[~reached]):
        found = answer(replace(alone(k), objectives=goal), neighbours=False, brief=True)
        if found.status is Status.UNBOUNDED:
            farthest[k] = -np.inf
        elif found.status in HAS_DESIGN and found.objective is not None:
            farthest[k] = sign * found.objective
    return np.asarray(reached | (farthest[which] <= sign * other + HOLDS * np.abs(other)))


def _power_of_two_beyond(bounds: Array, sign: float) -> Array:
    """The powers of two at bounds or beyond them, below (``sign`` 1) or above (-1); NaN of what is not above 0."""
    with np.errstate(all="ignore"):
        return np.exp2(sign * np.floor(sign * np.log2(np.where(bounds > 0.0, bounds, np.nan))))


def _reaches(question: Question, key: RowKey, bound: float) -> bool:
    """Whether a design is found beyond the end ``key`` of a limit, as far as ``bound``."""
    end = Limit(key.name, maximum=bound) if key.side == "min" else Limit(key.name, minimum=bound)
    asked = replace(question, limits=(*question.limits, end), objectives=())
    return answer(asked, neighbours=False, brief=True).status in HAS_DESIGN


def _without_ends(question: Question, conflict: Collection[str], name: str) -> Question:
    """Return a question with the limits in conflict alone, without the ends of one of them."""
    limits, own = (x.name for x in question.limits), (x.name for x in question.model.limits)
    gaps = with_asked_gaps(question)
    # what has gaps by its nature keeps them
    others = {*limits, *own, *(d.name for d in question.decide if d.name in gaps or not has_asked_gaps(d))}
    loose = without(question, others.difference(conflict))
    return replace(loose, limits=tuple(x for x in loose.limits if x.name != name))


def _has_gaps(d: Decision) -> bool:
    return d.integer or d.values is not None or d.choices is not None


def at(question: Question, names: tuple[str, ...], alone: Alone = certainly) -> dict[str, float]:
    """Return the feasible value for each of some limits of one infeasible question; NaN where there is none."""
    if question.uncertain is not None or not question.decide:
        by_name = alone(question).conflict
        found = {n: by_name.get(n) for n in names}
        return {n: math.nan if v is None else v for n, v in found.items()}
    why = over_choices([why_without_design(formulate(q, searched=True)) for _, q in combinations(question)])
    values = why.values(ONE, names)
    return {n: float(v[0]) if math.isfinite(v[0]) else math.nan for n, v in values.items()}
