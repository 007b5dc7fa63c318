"""The sets of things that may be there, and the best design of each: the least one, or the one that a search finds.

A set is which amounts of ``counts.Counts`` are there at all. Where its rows have a least design that is the best of it.
Else its linear program bounds it, and where it may be the best set of a point it is searched by branch and bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Indices, Points
from dse.system.records import dataclass
from formulations.programs.program_rows import column_ends
from formulations.programs.row_ends import upper_ends
from formulations.tolerances import TIE
from solvers import designs
from solvers.counting.cases import Cases, cases, kinds
from solvers.counting.counts import Counts, Limit, NotLeast
from solvers.counting.forms import Forms, joined
from solvers.linear import least_parts, whole_parts
from solvers.linear.least_parts import Found
from solvers.linear.linear_program import Numbers, ratio_at, weak_duality
from solvers.linear.points import lp, mixed
from solvers.outcome import INFEASIBLE, OPTIMAL

COUNT_PASSES = 4
SETS_OF_A_POINT = 4
"""The most promising sets of a point that are searched together."""
CASES_TOGETHER = 20_000
"""Sets times points that are looked at together."""
NEAR_OBJECTIVE = 1e-6
"""Of the objective: a set that rounding may make that much better is looked at."""


def _numbers(c: Counts, limits: Sequence[Limit], *, alike: bool = False) -> Numbers:
    """The limits as rows that hold at all points; ``alike``: those only that are the same at all."""
    some = [x.form for x in limits if x.form.alike or (not alike and (c.low[x.form.columns] >= 0.0).all())]
    every = joined([f.loosest for f in some], np.arange(len(c.low)))
    rows = np.concatenate([every.a[:, :, 0], every.k], axis=1)
    no = np.zeros(len(rows), dtype=bool)
    return Numbers(rows, no, c.low, c.high, np.ones(len(c.low), dtype=bool))


def listed(c: Counts) -> Bools:
    """Which amounts are there (S, amounts) in each set that limits about nothing else allow.

    Raises NotLeast where they are too many.
    """
    n = _numbers(c, [x for x in c.limits if x.only])
    flags = np.arange(len(c.low)) >= len(c.names)
    found = whole_parts.whole_parts(replace(n.with_rows(_amounts_by_others(c)), integer=flags))
    if found is None:
        raise NotLeast("too many sets of things may be there")
    return np.asarray(found[:, flags] > 0.0)


def eased(c: Counts, dropped: Collection[Limit]) -> Iterator[tuple[Bools, bool]]:
    """The sets without some limits on what is there, and that these are all.

    Where they are too many: the sets if each allows one more of what it is about, two more and so on.
    """
    others = tuple(x for x in c.limits if x not in dropped)
    with suppress(NotLeast):
        yield listed(replace(c, limits=others)), True
        return
    with suppress(NotLeast):
        for more in itertools.count(1):
            forms = [replace(x.form, k=x.form.k - more * np.abs(x.form.a).min()) for x in dropped]
            wider = (replace(x, form=form) for x, form in zip(dropped, forms, strict=True))
            yield listed(replace(c, limits=(*others, *wider))), False


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
    c: Counts, kept: Collection[Limit], there: Bools, also: Collection[Limit] = ()
) -> Iterator[Found]:
    """The best designs at every point by the limits ``kept``, of some sets of amounts (S, amounts) at a time.

    ``also``: limits that may only say, beside those, which numbers are 0 or have an end.
    """
    limits = {x.key: x for x in (*kept, *also)}
    return _designs(c, _rows(c, kept), *_ends_of_sets(c, list(limits.values()), there))


def _rows(c: Counts, kept: Collection[Limit]) -> list[Forms]:
    """Limits as rows: those together that are the same at all points."""
    alike = joined([x.form for x in kept if x.form.alike], np.arange(len(c.low)))
    return [alike, *(x.form for x in kept if not x.form.alike)]


def enclosed(c: Counts, reached: Array | None = None) -> Bools:
    """Where the limits and the user's bounds keep all numbers within the ends between which they are searched.

    ``reached`` (N,): what was minimised is no worse than this, too.
    """
    own, count = own_ends(c), len(c.names)
    high, whole = np.append(own, c.high[count:]), np.ones(len(c.high), dtype=bool)
    if (own <= c.high[:count]).all():
        return np.ones(c.count, dtype=bool)
    rows = numbers(c, [x.form for x in c.limits])
    if reached is not None:
        rows = np.concatenate([rows, _no_worse(c, reached)], axis=1)
    return np.asarray((upper_ends(rows, c.low, high, whole)[:, :count] <= c.high[:count]).all(axis=1))


def own_ends(c: Counts) -> Array:
    """The upper ends of the numbers that are the user's; infinite elsewhere."""
    question = replace(c.question, reach=math.inf)
    return np.array([column_ends(question, d)[1] for d in question.decide])


def _no_worse(c: Counts, reached: Array) -> Array:
    """The row at each point that says that what is minimised is as good as a value; of one that is infinite nothing."""
    known = np.isfinite(reached)
    value = designs.as_good_as(np.where(known, reached, 0.0))[:, None]
    row = numbers(c, [c.cost])
    if c.under is None:
        row[..., -1] -= value
    else:
        row -= value[..., None] * numbers(c, [c.under])
    row[~known] = 0.0
    return row


def numbers(c: Counts, forms: Sequence[Forms], columns: Indices | None = None) -> Array:
    """Forms at every point, over some columns (None: all) and a constant (N, rows, columns + 1)."""
    every = joined(forms, np.arange(len(c.low)) if columns is None else columns)
    a, k = (np.broadcast_to(x, (*x.shape[:-1], c.count)) for x in (every.a, every.k[:, None]))
    return np.moveaxis(np.concatenate([a, k], axis=1), -1, 0)


def _ends_of_sets(
    c: Counts, limits: Sequence[Limit], there: Bools, *, alike: bool = False
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


def _designs(c: Counts, kept: Sequence[Forms], low: Array, high: Array) -> Iterator[Found]:
    """The best designs between the ends of sets (S, n) at every point, by some rows, so many sets at a time.

    Each is a Found of arrays (n, S, P) and (S, P). Its numbers are NaN where no least design is the best.
    """
    for some in _parts(len(low), c.count):
        yield _best_of_cases(c, cases(kept, low[some], high[some]))


def _parts(count: int, points: int) -> list[Indices]:
    """Which of so many sets are looked at together."""
    return np.array_split(np.arange(count), -(-count * points // CASES_TOGETHER) or 1)


def _best_of_cases(c: Counts, x: Cases) -> Found:
    """The best design of each case.

    Of a ratio of two things that are decided, the design with the most of what divides is the best where the rest is no
    larger there than it is at least.
    """
    size = len(x.low), c.count

    def flat(form: Array) -> Array:
        wide = np.broadcast_to(form, (*form.shape[:-1], c.count))
        return wide.reshape(*form.shape[:-2], size[0] * size[1])

    rows, low, high = flat(x.rows), flat(x.low.T[..., None]), flat(x.high.T[..., None])

    def prices(form: Forms) -> Array:
        return flat(x.form(form)[:-1])

    # of several designs that are as good the least is not the one to hand out
    no = np.any([(prices(t) < 0.0).any(axis=0) for t in c.ties], axis=0) | np.zeros(low.shape[1], dtype=bool)

    def best_by(form: Forms, sign: float) -> Found:
        nonlocal no
        price = sign * prices(form)
        earning = price < 0.0
        # a number may be so large that one more is no difference
        no = no | (earning.any(axis=0) & ((high * TIE >= 1.0) & (low < high)).any(axis=0))
        found = least_parts.best(rows[:, :-1], rows[:, -1], low, high, price)
        # rounding may decide, or some numbers cost something where others earn something
        no = no | (found.near & found.there)
        # at its own end, not one that rows imply, what earns something may be without end
        ended = (earning & (found.u >= flat(c.high[x.columns].T[..., None]))).any(axis=0)
        u = np.repeat(x.known.T[..., None], c.count, axis=2)
        u[x.columns.T, np.arange(len(x.low))] = found.u.reshape(-1, *size)
        near = found.near | (found.there & ended)
        return Found(u, found.lost.reshape(size), found.met.reshape(size), near.reshape(size))

    found = best_by(c.cost, 1.0)
    if c.under is not None:
        most = best_by(c.under, -1.0)
        # a ratio of what may be below zero
        no = no | (prices(c.under) < 0.0).any(axis=0) | ~(c.under.at(most.u)[0] > 0.0).reshape(-1)
        least, there = c.cost.at(found.u)[0], c.cost.at(most.u)[0]
        apart = there > least + least_parts.ROW_MET * np.abs(least)
        found = replace(most, met=found.met & most.met, near=found.near | most.near | (most.there & apart))
    no = no.reshape(size)
    u, lost = np.where(no, np.nan, found.u), np.where(no, 0.0, found.lost)
    return Found(u, lost, found.met & ~no, found.near & ~no)


@dataclass(frozen=True, slots=True)
class Best:
    """The optimum of every point: numbers, what was minimised (infinite: there is none), its lower bound.

    ``lost``: the least by which some row is broken in every set; ``unsure``: where nothing is proved.
    """

    u: dict[str, Array]
    value: Array
    bound: Array
    lost: Array
    unsure: Bools


def best(c: Counts, there: Bools | None = None) -> Best:
    """The best design over all sets, ties settled: least cost, then ``ties``, then smaller numbers in file order.

    ``there``: the sets (S, amounts); None: all.
    Of a set whose least design breaks rows that were left aside the linear program tells a bound; where that may be
    the best of a point, the set is searched.
    """
    there = listed(c) if there is None else there
    first, kind = kinds(c, there)
    found = _best(c.of(first), there)
    u = {n: values[kind] for n, values in found.u.items()}
    return Best(u, found.value[kind], found.bound[kind], found.lost[kind], found.unsure[kind])


def _best(c: Counts, there: Bools) -> Best:
    ends = _ends_of_sets(c, c.limits, there)
    # of ends that other points have a say in, what is minimised at a point would have other digits
    own_ends = _ends_of_sets(c, c.limits, there, alike=True)
    rows = _rows(c, c.limits)
    found = list(_designs(c, rows, *ends))
    u = np.concatenate([f.u for f in found], axis=1)
    lost, met, near = (np.concatenate([getattr(f, n) for f in found]) for n in ("lost", "met", "near"))
    wanted = c.value(u)
    reached = np.where((lost == 0.0) & met, wanted, np.inf)
    value = np.where(np.isnan(wanted), -np.inf, np.where(lost == 0.0, wanted, np.inf))
    low = reached.min(axis=0)
    doubt = ~met & (value <= designs.as_good_as(low))
    for x, k, at in _programs(c, rows, own_ends, doubt):
        least, missed = _bounds_of(c, x)
        value[k, at], lost[k, at] = np.maximum(value[k, at], least), missed
    while (doubt := doubt & (value < np.inf) & (value <= designs.as_good_as(low))).any():
        promise = np.where(doubt, value, np.inf)
        last = min(SETS_OF_A_POINT, len(there)) - 1
        first = promise <= np.partition(promise, last, axis=0)[last]
        for x, k, at in _programs(c, rows, own_ends, doubt & first):
            better, bound = _searched(c, x, low[at])
            sought = ~np.isnan(better).any(axis=1)
            u[:, k[sought], at[sought]] = better[sought].T
            reached[k[sought], at[sought]] = c.value(better[sought].T, at[sought])
            value[k, at] = np.maximum(value[k, at], bound)
            near[k, at] = doubt[k, at] = False
        low = reached.min(axis=0)
    bound = value.min(axis=0)
    rounding = near & (wanted <= low + NEAR_OBJECTIVE * np.abs(low))
    # a design that rows left aside forbid says nothing where one that they allow is as good
    unsure = rounding.any(axis=0) | (designs.as_good_as(bound) < low)
    owner, tied = np.nonzero((reached <= designs.as_good_as(low)).T)
    levels = (level[tied, owner] for level in (*(t.at(u)[0] for t in c.ties), *u[: len(c.names)]))
    which = tied[designs.first_of_tied(owner, c.count, levels)]
    best_u = u[: len(c.names), which, np.arange(c.count)]
    return Best(dict(zip(c.names, best_u, strict=True)), low, bound, lost.min(axis=0), unsure)


def _programs(
    c: Counts, kept: Sequence[Forms], ends: tuple[Array, Array], asked: Bools
) -> Iterator[tuple[_Programs, Indices, Points]]:
    """The programs of the sets and points ``asked`` (S, P), some at a time, with the sets and the points."""
    some = np.flatnonzero(asked.any(axis=1))
    for part in _parts(len(some), c.count) if some.size else ():
        own, at = np.nonzero(asked[some[part]])
        yield _Programs(cases(kept, *(e[some[part]] for e in ends)), own, at), some[part][own], at


@dataclass(frozen=True, slots=True)
class _Programs:
    """Programs (N) of some of the sets at some of the points."""

    cases: Cases
    own: Indices
    at: Points

    @property
    def rows(self) -> Array:
        """Rows (N, m, c + 1)."""
        return self._some(self.cases.rows)

    @property
    def ends(self) -> tuple[Array, Array]:
        """Ends of the columns (N, c)."""
        return self.cases.low[self.own], self.cases.high[self.own]

    def form(self, of: Forms) -> Array:
        """A form (N, c + 1)."""
        return self._some(self.cases.form(of))

    def _some(self, forms: Array) -> Array:
        return np.moveaxis(forms[..., self.own, self.at if forms.shape[-1] > 1 else 0], -1, 0)


def _bounds_of(c: Counts, x: _Programs) -> tuple[Array, Array]:
    """Lower bounds of the best of sets at points by their linear programs, and by how much a row is broken.

    Infinite where there is no design.
    """
    rows, ends, cost = x.rows, x.ends, x.form(c.cost)
    under, equal = None if c.under is None else x.form(c.under), np.zeros(rows.shape[1], dtype=bool)
    if under is not None:
        cost = np.where(under[:, :-1].any(axis=1, keepdims=True), 0.0, cost)
    found = lp.solved(rows, equal, *ends, [cost], len(rows))
    bound = weak_duality(rows, equal, *ends, cost, found.y)
    missed = weak_duality(rows, equal, *ends, np.zeros(rows.shape[2]), found.y)
    none = (found.end == INFEASIBLE) & (missed > 0.0)
    size = (np.maximum(found.y, 0.0) * np.abs(rows[:, :, -1])).sum(axis=1)
    lost = np.where(none, missed / np.where(size > 0.0, size, 1.0), 0.0)
    if under is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(under[:, :-1].any(axis=1), -np.inf, bound / under[:, -1])
    return np.select([found.end == OPTIMAL, none], [bound, np.inf], -np.inf), lost


def _searched(c: Counts, x: _Programs, reached: Array) -> tuple[Array, Array]:
    """The best designs (N, n) of sets at points by branch and bound, and bounds of what is minimised.

    NaN where there is none that is as good as what is ``reached`` elsewhere.
    """
    rows, width = x.rows, x.rows.shape[2] - 1
    ties = [*(x.form(f) for f in c.ties), *np.eye(width + 1)[:width]]
    aims = [x.form(c.cost), *(ties if c.settled else ())]
    under = [None if c.under is None else x.form(c.under), *(None for _ in aims[1:])]
    whole, equal = np.ones(width, dtype=bool), np.zeros(rows.shape[1], dtype=bool)
    found = mixed.solved(rows, equal, *x.ends, whole, aims, len(rows), reached, under)
    u, there = x.cases.known[x.own], found.end == OPTIMAL
    np.put_along_axis(u, x.cases.columns[x.own], np.round(found.u[:, :-1]), axis=1)
    bound = np.full(len(rows), -np.inf) if found.bound is None else found.bound
    if under[0] is not None:
        # of N - r D, r the ratio of the design: every ratio is at least r + bound / (least D)
        divisor = -least_parts.most(-under[0].T[None, :-1], -under[0].T[None, -1], *(e.T for e in x.ends))[0]
        ratio = ratio_at(aims[0], under[0], found.u) + np.minimum(bound, 0.0) / divisor
        bound = np.where(there, np.where(divisor > 0.0, ratio, -np.inf), bound)
    return np.where(there[:, None], u, np.nan), bound
