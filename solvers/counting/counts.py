"""Whole numbers of which only a few may be there: each set that may is tried, with the least design that it has.

A question in affine forms whose decided quantities are all whole numbers, any choice among names made beforehand.
Which amounts are there at all is enumerated; what is left of the rows then mostly has a least design
(``solvers.counting.least``). Enumeration is exhaustive, so the best of all sets is the optimum, and its own
bound.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.affine import Linear
from formulations.arithmetics.forms import Affine, Atom, Some, atoms
from formulations.arithmetics.many import Array, Many, plain
from formulations.program_rows import column_ends, matrix
from formulations.row_ends import upper_ends
from formulations.row_keys import RowKey
from formulations.stated import Run, stated
from scenarios.question import Question
from solvers import designs
from solvers.counting import least
from solvers.counting.least import Found, NotLeast, Row
from solvers.linear.linear_program import weak_duality
from solvers.linear.points import lp
from solvers.outcome import INFEASIBLE, OPTIMAL

MOST_SETS = 2000
COUNT_PASSES = 4
MET_ROUNDING = 1e-9
NEAR_OBJECTIVE = 1e-6
"""Of the objective: a set that rounding may make that much better is looked at."""

Mask = NDArray[np.bool_]
Ends = dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit as ``form <= 0``; ``key``: which one; ``ratio``: what must be at most 1."""

    key: RowKey
    form: Affine
    ratio: Linear


@dataclass(frozen=True, slots=True)
class Counts:
    """A question in whole numbers, at ``count`` points at once.

    ``ends`` of the numbers; ``amounts``: what is there or not; ``cost`` is minimised, ``ties`` after it; ``over``:
    whether ``cost`` is minus the reciprocal of the ratio that is minimised; ``under``: what ``cost`` is divided by,
    where that is decided too.
    """

    question: Question
    count: int
    ends: Ends
    amounts: tuple[Some, ...]
    limits: tuple[Limit, ...]
    cost: Affine
    ties: tuple[Affine, ...]
    sign: int
    over: bool
    under: Affine | None = None

    def user(self, value: Array) -> Array:
        """Return the user's objective from what was minimised."""
        with np.errstate(divide="ignore"):
            ratio = -1.0 / value if self.over else value
            return ratio if self.sign > 0 else 1.0 / ratio


def counts(question: Question, count: int, known: Run | None = None) -> Counts:
    """Read a question; raises NotLeast or NotPosynomial where it is of another kind. ``known``: the model's run."""
    if not all(d.integer and d.values is None and d.choices is None for d in question.decide):
        raise NotLeast("something decided is not a whole number")
    s = stated(question, known=known)
    if s.goal is None or s.others:
        raise NotLeast("there is not one objective")
    cost, over = _cost(s.goal)
    limits = tuple(Limit(key, r.numerator.plus(r.denominator, -1.0), r) for key, r in s.limits.items())
    ties = tuple(_affine_tie(r) for r in s.ties.values())
    forms = [cost, *ties, *(x.form for x in limits)]
    some = tuple(a for a in atoms(forms) if isinstance(a, Some))
    if any(not isinstance(a, str | Some) for a in atoms(forms)) or any(not _is_whole_sum(a) for a in some):
        raise NotLeast("the rows hold more than whole numbers and whether there are any")
    return Counts(question, count, _whole_number_ends(question), some, limits, cost, ties, s.sign, over)


def aimed(c: Counts, which: int) -> Counts:
    """The same numbers with the ratio of one limit (by its place) as what is minimised, and the others as limits."""
    ratio, others = c.limits[which].ratio, tuple(x for k, x in enumerate(c.limits) if k != which)
    only = replace(c, limits=others, ties=(), sign=1)
    if not (ratio.numerator.is_constant or ratio.denominator.is_constant):
        return replace(only, cost=ratio.numerator, over=False, under=ratio.denominator)
    cost, over = _cost(ratio)
    return replace(only, cost=cost, over=over)


def _cost(goal: Linear) -> tuple[Affine, bool]:
    """What is minimised: the numerator, or minus the denominator where only that is decided."""
    if goal.denominator.is_constant:
        return goal.numerator.times(1.0 / goal.denominator.constant), False
    if goal.numerator.is_constant and goal.numerator.constant > 0.0:
        return goal.denominator.times(-1.0 / goal.numerator.constant), True
    raise NotLeast("the objective is a ratio of two things that are decided")


def _affine_tie(tie: Linear) -> Affine:
    if not tie.denominator.is_constant:
        raise NotLeast("a metric that settles ties is a ratio")
    return tie.numerator


def _is_whole_sum(some: Some) -> bool:
    """Whether an amount is a sum of whole numbers of which each makes at least one."""
    own = some.amount
    return own.constant == 0.0 and all(isinstance(a, str) and c >= 1.0 for a, c in own.terms.items())


def _whole_number_ends(question: Question) -> Ends:
    found: Ends = {}
    for d in question.decide:
        low, high = column_ends(question, d)
        found[d.name] = (math.ceil(low), high)
    if not all(math.isfinite(high) for _, high in found.values()):
        raise NotLeast("a number has no end")
    return found


def sets(c: Counts, kept: Collection[Limit]) -> list[frozenset[Some]]:
    """The sets of amounts that may be there by those of the limits that are about nothing else.

    Raises NotLeast where they are too many.
    """
    about = [x.form for x in kept if x.form.terms and all(isinstance(a, Some) for a in x.form.terms)]
    about = [f for f in about if not any(isinstance(v, Many) for v in _coefficients(f))]
    found: list[frozenset[Some]] = [frozenset()]
    for amount in c.amounts:
        found += [s | {amount} for s in found if all(_allows(f, s | {amount}) for f in about)]
        if len(found) > MOST_SETS:
            raise NotLeast("too many sets of things may be there")
    return found


def _allows(form: Affine, there: Collection[Atom]) -> bool:
    """Whether a limit on what is there does not forbid that these are (and perhaps others)."""
    least_of = sum(c for a, c in form.terms.items() if a in there or c < 0)
    return least_of + form.constant <= MET_ROUNDING


@dataclass(frozen=True, slots=True)
class Part:
    """What is left of a question where only the amounts ``there`` are; ``rows`` of its limits."""

    there: frozenset[Some]
    rows: dict[RowKey, Row]
    cost: Row
    under: Row | None
    ties: tuple[Row, ...]


def parts(c: Counts) -> list[Part]:
    """What is left of a question with each of the sets of amounts that may be there; raises NotLeast."""
    found = []
    for there in sets(c, c.limits):
        reduced = partial(_with_known, known={a: float(a in there) for a in c.amounts})
        rows = {x.key: reduced(x.form) for x in c.limits}
        under = None if c.under is None else reduced(c.under)
        found.append(Part(there, rows, reduced(c.cost), under, tuple(map(reduced, c.ties))))
    return found


def best_of_sets(
    c: Counts, kept: Collection[Limit], every: Sequence[Part], also: Collection[Limit] = ()
) -> Iterator[Found]:
    """The best designs at every point by the limits ``kept``, with each set of amounts that may be there.

    ``also``: limits that may only say, beside those, which numbers are 0 or have an end.
    """
    limits = {x.key: x for x in (*kept, *also)}
    low, high = _ends_of_sets(c, list(limits.values()), every)
    return map(partial(_best_of_set, c, kept), every, low, high)


def _ends_of_sets(c: Counts, limits: Sequence[Limit], every: Sequence[Part]) -> tuple[Array, Array]:
    """The ends of the numbers in each set (S, n), by those limits that have the same numbers at all points."""
    names, count = list(c.ends), len(c.ends)
    there = np.array([[a in part.there for a in c.amounts] for part in every], dtype=float)
    there = there.reshape(len(every), len(c.amounts))
    own = np.array([[n in a.amount.terms for n in names] for a in c.amounts]).reshape(len(c.amounts), count)
    low, high = (np.array([e[k] for e in c.ends.values()]) for k in (0, 1))
    absent = (1.0 - there) @ own > 0.0
    high = np.where(absent, np.minimum(high, 0.0), high)
    low = np.broadcast_to(low, high.shape)
    plain_ones = [x.form for x in limits if not any(isinstance(v, Many) for v in _coefficients(x.form))]
    rows = matrix(plain_ones, {a: j for j, a in enumerate((*names, *c.amounts))})
    own_low, own_high = (np.concatenate([e, there], axis=1) for e in (low, high))
    whole = np.ones(own_high.shape[1], dtype=bool)
    high = upper_ends(rows, own_low, own_high, whole, passes=COUNT_PASSES)[:, :count]
    # of what is there and has one number left, there is one at least
    left = there[:, :, None] * own * (high > 0.0)[:, None]
    alone = left * (left.sum(axis=2, keepdims=True) == 1.0)
    return np.where(alone.any(axis=1), np.maximum(low, 1.0), low), high


def _coefficients(form: Affine) -> tuple[Any, ...]:
    return *form.terms.values(), form.constant


def _best_of_set(c: Counts, kept: Collection[Limit], part: Part, low: Array, high: Array) -> Found:
    """The best design at every point in which only some amounts are there, by the limits ``kept``."""
    ends = dict(zip(c.ends, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    if (low > high).any():
        nothing, far = np.zeros(c.count, dtype=bool), np.full(c.count, np.inf)
        return Found({n: np.zeros(c.count) for n in ends}, far, far, ~nothing, nothing)
    fixed = {n: one for n, (one, other) in ends.items() if one == other}
    open_ends = {n: e for n, e in ends.items() if n not in fixed}
    rows = [r for r in (_with_known(part.rows[x.key], fixed) for x in kept) if not _vacuous(r)]
    ties = [_with_known(t, fixed).terms for t in part.ties]
    cost, under = (
        _with_known(part.cost, fixed),
        None if part.under is None else _with_known(part.under, fixed),
    )
    found = (
        least.best(rows, cost, open_ends, c.count, ties)
        if under is None
        else least.best_ratio(rows, cost, under, open_ends, c.count)
    )
    u = {n: found.u[n] if n in found.u else np.full(c.count, fixed[n]) for n in c.ends}
    return Found(u, found.value, found.lost, found.met, found.near)


def _with_known(row: Affine | Row, known: Mapping[Any, float]) -> Row:
    """A row once some of its numbers, or which amounts are there, are known."""
    constant = row.constant
    for a, v in row.terms.items():
        if known.get(a, 0.0) != 0.0:
            constant = constant + v * known[a]
    rest: dict[Any, Any] = {a: v for a, v in row.terms.items() if a not in known}
    return Row(rest, constant)


def _vacuous(row: Row) -> bool:
    return not row.terms and not isinstance(row.constant, Many) and row.constant <= MET_ROUNDING


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
    """The best design over all sets, ties settled: least cost, then ``ties``, then smaller numbers in file order."""
    tried = parts(c)
    ends = _ends_of_sets(c, list(c.limits), tried)
    every = list(map(partial(_best_of_set, c, c.limits), tried, *ends))
    there, met = np.stack([f.there for f in every]), np.stack([f.met for f in every])
    wanted = np.stack([f.value for f in every])
    reached = np.where(there & met, wanted, np.inf)
    value, low = np.where(there, wanted, np.inf), reached.min(axis=0)
    for k in np.flatnonzero((~met & (value < low)).any(axis=1)):
        # a design that rows left aside forbid is no bound that may be reached
        value[k] = np.where(
            met[k], value[k], np.maximum(value[k], _bound_of_set(c, tried[k], *(e[k] for e in ends)))
        )
    bound = value.min(axis=0)
    rounding = np.stack([f.near for f in every]) & (wanted <= low + NEAR_OBJECTIVE * np.abs(low))
    # a design that rows left aside forbid says nothing where one that they allow is as good
    unsure = rounding.any(axis=0) | (bound < low)
    u = {n: np.stack([f.u[n] for f in every]) for n in c.ends}
    owner, tied = np.nonzero((reached <= designs.as_good_as(low)).T)
    levels = (level[tied, owner] for level in _tie_levels(c, tried, u))
    which = tied[designs.first_of_tied(owner, c.count, levels)]
    points = np.arange(c.count)
    lost = np.stack([f.lost for f in every]).min(axis=0)
    return Best({n: a[which, points] for n, a in u.items()}, low, bound, lost, unsure)


def _bound_of_set(c: Counts, part: Part, low: Array, high: Array) -> Array:
    """A lower bound of the best of a set by its linear program, at every point: infinite where there is no design."""
    fixed = {
        n: one for n, one, other in zip(c.ends, low.tolist(), high.tolist(), strict=True) if one == other
    }
    under = Row({}, 1.0) if part.under is None else _with_known(part.under, fixed)
    if under.terms:
        return np.full(c.count, -np.inf)
    forms = [Affine(dict[Any, Any](r.terms), r.constant) for r in (*part.rows.values(), part.cost)]
    numbers = matrix(forms, {n: j for j, n in enumerate(c.ends)})
    numbers = np.broadcast_to(numbers, (c.count, *numbers.shape[-2:]))
    rows, cost, equal = numbers[:, :-1], numbers[:, -1], np.zeros(len(part.rows), dtype=bool)
    found = lp.solved(rows, equal, low, high, [cost], c.count)
    bound = weak_duality(rows, equal, low, high, cost, found.y)
    none = weak_duality(rows, equal, low, high, np.zeros(len(low) + 1), found.y) > 0.0
    least_cost = np.select([found.end == OPTIMAL, none & (found.end == INFEASIBLE)], [bound, np.inf], -np.inf)
    return np.asarray(least_cost / plain(under.constant))


def _tie_levels(c: Counts, tried: Sequence[Part], u: Mapping[str, Array]) -> Iterator[Array]:
    """What settles ties, one after the other, for each set and point."""
    for rows in zip(*(part.ties for part in tried), strict=True):
        own = [least.total(r.terms, {n: a[k] for n, a in u.items()}, r.constant) for k, r in enumerate(rows)]
        yield np.stack([np.broadcast_to(level, (c.count,)) for level in own])
    yield from u.values()
