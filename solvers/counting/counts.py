"""Whole numbers of which only a few may be there: each set that may is tried, with the least design that it has.

A question in affine forms whose decided quantities are all whole numbers, any choice among names made beforehand.
Which amounts are there at all is enumerated; what is left of the rows then mostly has a least design
(``solvers.linear.least_designs``). Enumeration is exhaustive, so the best of all sets is the optimum, and its own
bound.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations.arithmetics.affine import Linear
from formulations.arithmetics.forms import Affine, Atom, Some, atoms
from formulations.arithmetics.many import Array, Many, same
from formulations.program import column_ends, matrix
from formulations.row_keys import RowKey
from formulations.stated import stated
from formulations.tolerances import TIE
from scenarios.question import Question
from solvers.linear import least_designs
from solvers.linear.least_designs import Found
from solvers.linear.linear_program import upper_ends

MOST_SETS = 2000
MET_ROUNDING = 1e-9
NEAR_OBJECTIVE = 1e-6
"""Of the objective: a set that rounding may make that much better is looked at."""

Mask = NDArray[np.bool_]
Ends = dict[str, tuple[float, float]]


class NotLeast(CannotTake):
    """There is no least design to be found this way."""


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
    whether ``cost`` is minus the reciprocal of the ratio that is minimised.
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

    def user(self, value: Array) -> Array:
        """Return the user's objective from what was minimised."""
        with np.errstate(divide="ignore"):
            ratio = -1.0 / value if self.over else value
            return ratio if self.sign > 0 else 1.0 / ratio


def counts(question: Question, count: int) -> Counts:
    """Read a question; raises NotLeast or NotPosynomial where it is of another kind."""
    if not all(d.integer and d.values is None and d.choices is None for d in question.decide):
        raise NotLeast("something decided is not a whole number")
    s = stated(question)
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
    """The same numbers with the ratio of one limit (by its place) as what is minimised, and the others as limits.

    Raises NotLeast where it is a ratio of two things that are decided.
    """
    cost, over = _cost(c.limits[which].ratio)
    others = tuple(x for k, x in enumerate(c.limits) if k != which)
    return replace(c, limits=others, cost=cost, ties=(), sign=1, over=over)


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
    about = [f for f in about if not _differs(f)]
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
    """What is left of a question where only the amounts ``there`` are.

    ``ends`` of the numbers; ``limits`` as forms that are at most 0; ``lowers``: those that are the same at all points,
    and may lower an upper end, as rows over all numbers.
    """

    there: frozenset[Some]
    ends: Ends
    limits: dict[RowKey, Affine]
    lowers: dict[RowKey, Array]
    cost: Affine
    ties: tuple[Affine, ...]


def parts(c: Counts) -> list[Part]:
    """What is left of a question with each of the sets of amounts that may be there; raises NotLeast."""
    return [_part_of_indicators(c, there) for there in sets(c, c.limits)]


def _part_of_indicators(c: Counts, there: frozenset[Some]) -> Part:
    ends = dict(c.ends)
    for amount in c.amounts:
        if amount not in there:
            ends |= {str(a): (ends[str(a)][0], min(ends[str(a)][1], 0.0)) for a in amount.amount.terms}
    limits = {x.key: _reduced(x.form, there) for x in c.limits}
    lowers = {k: f for k, f in limits.items() if not _differs(f) and any(v > 0 for v in f.terms.values())}
    rows = matrix(list(lowers.values()), {n: j for j, n in enumerate(ends)})
    cost, ties = _reduced(c.cost, there), tuple(_reduced(t, there) for t in c.ties)
    return Part(there, ends, limits, dict(zip(lowers, rows, strict=True)), cost, ties)


def best_of_set(c: Counts, kept: Collection[Limit], part: Part, also: Collection[Limit] = ()) -> Found:
    """The best design at every point in which only some amounts are there, by the limits ``kept``.

    ``also``: limits that may only say, beside those, which numbers are 0 or have an end. Raises NotLeast.
    """
    low, high = (np.array([e[k] for e in part.ends.values()], dtype=float) for k in (0, 1))
    keys = dict.fromkeys(x.key for x in (*kept, *also))
    ended = np.reshape([part.lowers[k] for k in keys if k in part.lowers], (-1, len(low) + 1))
    high = upper_ends(ended, low, high, np.ones(len(low), dtype=bool))
    for amount in part.there:
        left = [j for j, n in enumerate(part.ends) if n in amount.amount.terms and high[j] > 0.0]
        if len(left) == 1:
            low[left] = np.maximum(low[left], 1.0)
    u = np.tile(low, (c.count, 1))
    if (low > high).any():
        nothing = np.zeros(c.count, dtype=bool)
        return Found(u, np.full(c.count, np.inf), ~nothing, nothing)
    free = low < high
    fixed = {n: float(v) for n, v, own in zip(part.ends, low, free, strict=True) if not own}
    place = {n: j for j, n in enumerate(n for n in part.ends if n not in fixed)}
    limits = [_with_known_numbers(part.limits[x.key], fixed) for x in kept]
    rows = [f for f in limits if not _vacuous(f)]
    aims = [_with_known_numbers(f, fixed) for f in (part.cost, *part.ties)]
    forms, k = _rows([*rows, *aims], place)
    a, price, ties = np.split(forms, [len(rows), len(rows) + 1], axis=1)
    if same((ties < 0.0).any(axis=(1, 2))):
        raise NotLeast("of several designs that are as good the least is not the one to hand out")
    earning = (price[:, 0] < 0.0).any(axis=0)
    if (high[free][earning] * TIE >= 1.0).any():
        raise NotLeast("a number may be so large that one more is no difference")
    asked = least_designs.searches(a, k[:, : len(rows)], low[None, free], high[None, free])
    if same(least_designs.mixed(asked, price[:, 0])):
        raise NotLeast("some numbers cost something and others earn something")
    found = least_designs.best(asked, price[:, 0])
    u[:, free] = found.u
    # at its own end what earns something may be without end
    endless = found.there & (found.u >= high[free])[:, earning].any(axis=1)
    lost, met = np.broadcast_to(found.lost, c.count), np.broadcast_to(found.met, c.count)
    near = np.broadcast_to(found.near | endless, c.count)
    return Found(u, lost, met, near)


def _rows(forms: Sequence[Affine], place: Mapping[str, int]) -> tuple[Array, Array]:
    """Forms over numbers (R, m, n), and their constants (R, m); R is 1 where all points are alike."""
    a = matrix([Affine(f.terms) for f in forms], place)[..., :-1]
    k = matrix([Affine({}, f.constant) for f in forms], {})[..., 0]
    return a if a.ndim == 3 else a[None], k if k.ndim == 2 else k[None]


def _with_known_numbers(form: Affine, fixed: Mapping[str, float]) -> Affine:
    """A form once some numbers are known."""
    constant = form.constant
    for n, v in form.terms.items():
        if fixed.get(str(n), 0.0) != 0.0:
            constant = constant + v * fixed[str(n)]
    return Affine({n: v for n, v in form.terms.items() if n not in fixed}, constant)


def _vacuous(form: Affine) -> bool:
    return not form.terms and not isinstance(form.constant, Many) and form.constant <= MET_ROUNDING


def _reduced(form: Affine, there: Collection[Atom]) -> Affine:
    """A form once it is known which amounts are there."""
    constant = form.constant
    for a, v in form.terms.items():
        if isinstance(a, Some) and a in there:
            constant = constant + v
    return Affine({a: v for a, v in form.terms.items() if isinstance(a, str)}, constant)


def _differs(form: Affine) -> bool:
    """Whether a form has numbers of many points."""
    return any(isinstance(v, Many) for v in (*form.terms.values(), form.constant))


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
    every = [best_of_set(c, c.limits, part) for part in tried]
    there = np.stack([f.there for f in every])
    u = np.stack([f.u for f in every])
    place = {n: j for j, n in enumerate(c.ends)}
    wanted = np.stack([_values([p.cost], place, f.u)[:, 0] for p, f in zip(tried, every, strict=True)])
    reached = np.where(there & np.stack([f.met for f in every]), wanted, np.inf)
    value = np.where(there, wanted, np.inf)
    low, bound = reached.min(axis=0), value.min(axis=0)
    rounding = np.stack([f.near for f in every]) & (wanted <= low + NEAR_OBJECTIVE * np.abs(low))
    # a design that rows left aside forbid says nothing where one that they allow is as good
    unsure = rounding.any(axis=0) | (bound < low)
    pool = reached <= low + TIE * np.abs(low)
    if (pool.sum(axis=0) > 1).any():
        ties = [_values(p.ties, place, f.u) for p, f in zip(tried, every, strict=True)]
        for level in np.moveaxis(np.concatenate([np.stack(ties), u], axis=2), 2, 0):
            left = np.where(pool, level, np.inf)
            first = left.min(axis=0)
            pool &= left <= first + TIE * np.abs(first) + TIE * 1e-3
    chosen = u[np.argmax(pool, axis=0), np.arange(c.count)]
    lost = np.stack([f.lost for f in every]).min(axis=0)
    return Best(dict(zip(c.ends, chosen.T, strict=True)), low, bound, lost, unsure)


def _values(forms: Sequence[Affine], place: Mapping[str, int], u: Array) -> Array:
    """The values of forms at designs (N, forms)."""
    return least_designs.sums(*_rows(forms, place), u)
