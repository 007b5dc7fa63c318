"""The sets of things that may be there, and the best design of each: the least one, or the one that a search finds.

A set is which amounts of ``counts.Counts`` are there at all. Where its rows have a least design that is the best of it.
Else its linear program bounds it, and where it may be the best set of a point it is searched by branch and bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.many import Array, Points
from formulations.programs.program_rows import column_ends
from formulations.programs.row_ends import upper_ends
from formulations.tolerances import TIE
from solvers import designs
from solvers.counting.counts import Counts, Limit, NotLeast
from solvers.counting.forms import Forms, Indices, joined
from solvers.linear import least_parts, whole_parts
from solvers.linear.least_parts import Found
from solvers.linear.linear_program import Numbers, weak_duality
from solvers.linear.points import lp, mixed
from solvers.outcome import INFEASIBLE, OPTIMAL

COUNT_PASSES = 4
NEAR_OBJECTIVE = 1e-6
"""Of the objective: a set that rounding may make that much better is looked at."""

Mask = NDArray[np.bool_]


def _numbers(c: Counts, limits: Sequence[Limit], *, alike: bool = False) -> Numbers:
    """The limits as rows that hold at all points; ``alike``: those only that are the same at all."""
    some = [x.form for x in limits if x.form.alike or (not alike and (c.low[x.form.columns] >= 0.0).all())]
    every = joined([f.loosest for f in some], np.arange(len(c.low)))
    rows = np.concatenate([every.a[:, :, 0], every.k], axis=1)
    no = np.zeros(len(rows), dtype=bool)
    return Numbers(rows, no, c.low, c.high, np.ones(len(c.low), dtype=bool))


def listed(c: Counts) -> Mask:
    """Which amounts are there (S, amounts) in each set that limits about nothing else allow.

    Raises NotLeast where they are too many.
    """
    n = _numbers(c, [x for x in c.limits if x.only])
    flags = np.arange(len(c.low)) >= len(c.names)
    found = whole_parts.whole_parts(replace(n.with_rows(_amounts_by_others(c)), integer=flags))
    if found is None:
        raise NotLeast("too many sets of things may be there")
    return np.asarray(found[:, flags] > 0.0)


def _amounts_by_others(c: Counts) -> Array:
    """Rows by which no amount is there that cannot be, by the model's own rows, without another that is not."""
    count, amounts = len(c.names), len(c.own)
    n = _numbers(c, [x for x in c.limits if x.key.side == "model"])
    high = np.where(np.pad(c.own, ((0, 0), (0, amounts))), 0.0, c.high)
    none = upper_ends(n.rows, np.minimum(c.low, high), high, n.integer, passes=COUNT_PASSES)[:, :count] <= 0.0
    of, others = np.eye(amounts), ~np.eye(amounts, dtype=bool)
    implied = others & (c.own[:, None] <= none).all(axis=2)
    rows = [of[part] - of[whole] for part, whole in zip(*np.nonzero(implied), strict=True)]
    for whole, own in enumerate(c.own):
        parts = none[:, own] & others[:, [whole]]
        if parts.any(axis=0).all():
            rows.append(of[whole] - of[np.unique(parts.argmax(axis=0))].sum(axis=0))
    return np.pad(np.reshape(rows, (len(rows), amounts)), ((0, 0), (count, 1)))


def best_of_sets(
    c: Counts, kept: Collection[Limit], there: Mask, also: Collection[Limit] = ()
) -> Iterator[Found]:
    """The best designs at every point by the limits ``kept``, with each set of amounts that may be there.

    ``also``: limits that may only say, beside those, which numbers are 0 or have an end.
    """
    limits = {x.key: x for x in (*kept, *also)}
    return map(partial(_best_of_set, c, _rows(c, kept)), *_ends_of_sets(c, list(limits.values()), there))


def _rows(c: Counts, kept: Collection[Limit]) -> list[Forms]:
    """Limits as rows: those together that are the same at all points."""
    alike = joined([x.form for x in kept if x.form.alike], np.arange(len(c.low)))
    return [alike, *(x.form for x in kept if not x.form.alike)]


def enclosed(c: Counts) -> Mask:
    """Where the limits and the user's bounds keep all numbers within the ends between which they are searched."""
    question, count = replace(c.question, reach=math.inf), len(c.names)
    own = [column_ends(question, d)[1] for d in question.decide]
    high, whole = np.append(own, c.high[count:]), np.ones(len(c.high), dtype=bool)
    if (own <= c.high[:count]).all():
        return np.ones(c.count, dtype=bool)
    rows = numbers(c, [x.form for x in c.limits])
    return np.asarray((upper_ends(rows, c.low, high, whole)[:, :count] <= c.high[:count]).all(axis=1))


def numbers(c: Counts, forms: Sequence[Forms], columns: Indices | None = None) -> Array:
    """Forms at every point, over some columns (None: all) and a constant (N, rows, columns + 1)."""
    every = joined(forms, np.arange(len(c.low)) if columns is None else columns)
    a, k = (np.broadcast_to(x, (*x.shape[:-1], c.count)) for x in (every.a, every.k[:, None]))
    return np.moveaxis(np.concatenate([a, k], axis=1), -1, 0)


def _ends_of_sets(
    c: Counts, limits: Sequence[Limit], there: Mask, *, alike: bool = False
) -> tuple[Array, Array]:
    """The ends of the columns in each set (S, n), by what limits say at every point (see ``_numbers``)."""
    count, flags = len(c.names), there.astype(float)
    absent = (1.0 - flags) @ c.own > 0.0
    high = np.where(absent, np.minimum(c.high[:count], 0.0), c.high[:count])
    low, high = (
        np.concatenate([np.broadcast_to(e, high.shape), flags], axis=1) for e in (c.low[:count], high)
    )
    n = _numbers(c, limits, alike=alike)
    high[:, :count] = upper_ends(n.rows, low, high, n.integer, passes=COUNT_PASSES)[:, :count]
    # of what is there and has one number left, there is one at least
    left = flags[:, :, None] * c.own * (high[:, None, :count] > 0.0)
    alone = left * (left.sum(axis=2, keepdims=True) == 1.0)
    low[:, :count] = np.where(alone.any(axis=1), np.maximum(low[:, :count], 1.0), low[:, :count])
    return low, high


def _best_of_set(c: Counts, kept: Sequence[Forms], low: Array, high: Array) -> Found:
    """The best design at every point between the ends of one set, by some rows.

    Of a ratio of two things that are decided, the design with the most of what divides is the best where the rest is no
    larger there than it is at least.
    """
    known, left = _left(c, kept, low, high)
    free, columns = np.isnan(known), left.columns
    if any((t.left(known).a < 0.0).any() for t in c.ties):
        raise NotLeast("of several designs that are as good the least is not the one to hand out")
    k, ends = np.broadcast_to(left.k, (len(left.k), c.count)), (low[free][:, None], high[free][:, None])

    def best_by(form: Forms, sign: float) -> Found:
        price = sign * joined([form.left(known)], columns).a[0]
        if (price < 0.0).any() and (high[free] * TIE >= 1.0).any():
            raise NotLeast("a number may be so large that one more is no difference")
        found = least_parts.best(left.a, k, *ends, price)
        if found.near.all() and not found.lost.any():
            raise NotLeast("some numbers cost something and others earn something")
        u = np.repeat(np.where(free, 0.0, low)[:, None], c.count, axis=1)
        u[free] = found.u
        # at its own end what earns something may be without end
        ended = ((price < 0.0) & (found.u >= ends[1])).any(axis=0)
        return replace(found, u=u, near=found.near | (found.there & ended))

    found = best_by(c.cost, 1.0)
    if c.under is None:
        return found
    most = best_by(c.under, -1.0)
    if (c.under.left(known).a < 0.0).any() or not (c.under.at(most.u) > 0.0).all():
        raise NotLeast("a ratio of what may be below zero")
    least, there = c.cost.at(found.u)[0], c.cost.at(most.u)[0]
    apart = there > least + least_parts.ROW_MET * np.abs(least)
    return replace(most, met=found.met & most.met, near=found.near | most.near | (most.there & apart))


@dataclass(frozen=True, slots=True)
class Best:
    """The optimum of every point: numbers, what was minimised (infinite: there is none), its lower bound.

    ``lost``: the least by which some row is broken in every set; ``unsure``: where nothing is proved.
    """

    u: dict[str, Array]
    value: Array
    bound: Array
    lost: Array
    unsure: Mask


def best(c: Counts) -> Best:
    """The best design over all sets, ties settled: least cost, then ``ties``, then smaller numbers in file order.

    Of a set whose least design breaks rows that were left aside the linear program tells a bound; where that may be
    the best of a point, the set is searched.
    """
    there = listed(c)
    lows, highs = _ends_of_sets(c, c.limits, there)
    # of ends that other points have a say in, what is minimised at a point would have other digits
    own_ends = list(zip(*_ends_of_sets(c, c.limits, there, alike=True), strict=True))
    rows, every = _rows(c, c.limits), list[Found]()
    searched = np.zeros(len(lows), dtype=bool)
    for k, (low, high) in enumerate(zip(lows, highs, strict=True)):
        try:
            every.append(_best_of_set(c, rows, low, high))
        except NotLeast:
            searched[k], no = True, np.zeros(c.count, dtype=bool)
            every.append(Found(np.repeat(low[:, None], c.count, axis=1), np.zeros(c.count), no, no))
    there, met, near, lost = (
        np.stack([getattr(f, n) for f in every]) for n in ("there", "met", "near", "lost")
    )
    wanted = np.stack([c.value(f.u) for f in every])
    reached, value = np.where(there & met, wanted, np.inf), np.where(there, wanted, np.inf)
    value[searched], low = -np.inf, reached.min(axis=0)
    doubt = ~met & (value <= designs.as_good_as(low))
    for k in map(int, np.flatnonzero(doubt.any(axis=1))):
        least, missed = _bound_of_set(c, rows, own_ends[k])
        value[k] = np.where(doubt[k], np.maximum(value[k], least), value[k])
        lost[k] = np.where(doubt[k], missed, lost[k])
    while (doubt := doubt & (value < np.inf) & (value <= designs.as_good_as(low))).any():
        # the most promising set of each point
        first = np.where(doubt.any(axis=0), np.where(doubt, value, np.inf).argmin(axis=0), -1)
        for k in map(int, np.unique(first[first >= 0])):
            some = np.flatnonzero(first == k)
            u, bound = _searched(c, rows, own_ends[k], some, low[some])
            own = np.flatnonzero(~np.isnan(u).any(axis=0))
            every[k].u[:, some[own]] = u[:, own]
            reached[k, some[own]] = c.value(every[k].u)[some[own]]
            value[k, some] = np.maximum(value[k, some], bound)
            near[k, some] = doubt[k, some] = False
        low = reached.min(axis=0)
    bound = value.min(axis=0)
    rounding = near & (wanted <= low + NEAR_OBJECTIVE * np.abs(low))
    # a design that rows left aside forbid says nothing where one that they allow is as good
    unsure = rounding.any(axis=0) | (designs.as_good_as(bound) < low)
    owner, tied = np.nonzero((reached <= designs.as_good_as(low)).T)
    ties = (np.concatenate([t.at(f.u) for f in every]) for t in c.ties)
    numbers = (np.stack([f.u[j] for f in every]) for j in range(len(c.names)))
    levels = (level[tied, owner] for level in itertools.chain(ties, numbers))
    which = tied[designs.first_of_tied(owner, c.count, levels)]
    u = np.empty((len(c.names), c.count))
    for k, f in enumerate(every):
        u[:, which == k] = f.u[: len(c.names), which == k]
    return Best(dict(zip(c.names, u, strict=True)), low, bound, lost.min(axis=0), unsure)


def _left(c: Counts, kept: Sequence[Forms], low: Array, high: Array) -> tuple[Array, Forms]:
    """The columns of a set that its ends leave open, NaN among those that are known, and rows over them."""
    known = np.where(low == high, low, np.nan)
    return known, joined([f.left(known).asking(low, high) for f in kept], np.flatnonzero(np.isnan(known)))


def _programs(
    c: Counts, kept: Sequence[Forms], low: Array, high: Array
) -> tuple[Array, tuple[Array, Array], Array, Callable[[Forms], Array]]:
    """The programs of all points in one set: which columns are open, their ends, the rows, and any form over them."""
    known, left = _left(c, kept, low, high)
    free = np.isnan(known)

    def form(of: Forms) -> Array:
        return numbers(c, [of.left(known)], left.columns)[:, 0]

    return free, (low[free], high[free]), numbers(c, [left], left.columns), form


def _bound_of_set(c: Counts, kept: Sequence[Forms], ends: tuple[Array, Array]) -> tuple[Array, Array]:
    """A lower bound of the best of a set by its linear program, at every point, and by how much a row is broken.

    Infinite where there is no design.
    """
    _, ends, rows, form = _programs(c, kept, *ends)
    cost, under, equal = form(c.cost), None, np.zeros(rows.shape[1], dtype=bool)
    if c.under is not None:
        under = form(c.under)
        cost = cost if not under[:, :-1].any() else np.zeros_like(cost)
    found = lp.solved(rows, equal, *ends, [cost], c.count)
    bound = weak_duality(rows, equal, *ends, cost, found.y)
    missed = weak_duality(rows, equal, *ends, np.zeros(rows.shape[2]), found.y)
    none = (found.end == INFEASIBLE) & (missed > 0.0)
    size = (np.maximum(found.y, 0.0) * np.abs(rows[:, :, -1])).sum(axis=1)
    lost = np.where(none, missed / np.where(size > 0.0, size, 1.0), 0.0)
    if under is not None:
        bound = np.where(under[:, :-1].any(axis=1), -np.inf, bound / under[:, -1])
    return np.select([found.end == OPTIMAL, none], [bound, np.inf], -np.inf), lost


def _searched(
    c: Counts, kept: Sequence[Forms], ends: tuple[Array, Array], some: Points, reached: Array
) -> tuple[Array, Array]:
    """The best designs of a set at some points by branch and bound (n, points), and bounds of what is minimised.

    NaN where there is none that is as good as what is ``reached`` elsewhere.
    """
    low = ends[0]
    free, ends, rows, form = _programs(c, kept, *ends)
    own = np.flatnonzero(free[: len(c.names)])
    order = np.eye(rows.shape[2])[: own.size]
    aims = [*(form(f)[some] for f in (c.cost, *c.ties)), *order]
    under = [None if c.under is None else form(c.under)[some], *(None for _ in aims[1:])]
    whole, equal = np.ones(rows.shape[2] - 1, dtype=bool), np.zeros(rows.shape[1], dtype=bool)
    found = mixed.solved(rows[some], equal, *ends, whole, aims, some.size, reached, under)
    u = np.repeat(low[:, None], some.size, axis=1)
    u[free] = np.round(found.u[:, :-1].T)
    u[:, found.end != OPTIMAL] = np.nan
    return u, np.full(some.size, -np.inf) if found.bound is None else found.bound
