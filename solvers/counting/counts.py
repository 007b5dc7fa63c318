"""Whole numbers of which only a few may be there, at one point or at many: a question in affine forms as arrays.

All that is decided are whole numbers, any choice among names made beforehand. Which amounts are there at all is
enumerated (``solvers.counting.sets``), so the best of all sets is the optimum, and its own bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Points
from dse.system.records import dataclass
from formulations.arithmetics.affine import Linear
from formulations.arithmetics.forms import Affine, Some, atoms
from formulations.arithmetics.many import Many, plain
from formulations.grids import divided
from formulations.programs.program import stated
from formulations.programs.program_rows import column_ends, matrix
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from scenarios.question import Question
from solvers.counting.forms import Forms, joined
from solvers.linear.points.lp import to_user

BETTER_THAN_NOW = 2.0 * TIE
"""Of the objective: what is better by more is not as good."""


class NotLeast(CannotTake):
    """There is no least design to be found this way."""


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """A limit as ``form <= 0``; ``key``: which one; ``ratio``: what must be at most 1; ``only``: of amounts alone."""

    key: RowKey
    form: Forms
    ratio: Linear
    only: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """A question in whole numbers, at ``count`` points at once.

    ``low`` and ``high``: the ends of the numbers ``names``, then of the ``amounts`` that are there or not; ``own``
    (amounts, names): which numbers an amount adds up. ``cost`` is minimised, ``ties`` after it; ``over``: whether
    ``cost`` is minus the reciprocal of the ratio that is minimised; ``under``: what ``cost`` is divided by, where that
    is decided too. ``settled``: whether of designs that are as good the first is wanted, not any.
    """

    question: Question
    count: int
    names: tuple[str, ...]
    amounts: tuple[Some, ...]
    low: Array
    high: Array
    own: Bools
    limits: tuple[Limit, ...]
    cost: Forms
    ties: tuple[Forms, ...]
    sign: int
    over: bool
    under: Forms | None = None
    settled: bool = True

    def value(self, u: Array, points: Points | slice = slice(None)) -> Array:
        """What is minimised (..., P), at designs of some of the points (n, ..., P)."""
        cost = self.cost.of(points).at(u)[0]
        return cost if self.under is None else np.asarray(cost / self.under.of(points).at(u)[0])

    def user(self, value: Array) -> Array:
        """Return the user's objective from what was minimised."""
        return to_user(value, self.sign, over=self.over)

    def of(self, points: Points) -> Counts:
        """The forms at some of the points, beside the question at all."""
        limits = tuple(replace(x, form=x.form.of(points)) for x in self.limits)
        cost, *ties = (f.of(points) for f in (self.cost, *self.ties))
        under = None if self.under is None else self.under.of(points)
        return replace(self, count=len(points), limits=limits, cost=cost, ties=tuple(ties), under=under)

    def at(self, points: Points) -> Counts:
        """The same at some of the points."""
        here = self.of(points)
        limits = tuple(replace(x, ratio=_ratio_at(x.ratio, points)) for x in here.limits)
        return replace(here, question=divided.at(self.question, points), limits=limits)

    def reaching(self, reach: float) -> Counts:
        """The same with numbers searched that much farther; raises NotLeast where one has no end."""
        question = replace(self.question, reach=reach)
        ends = np.array([column_ends(question, d) for d in question.decide])
        if not np.isfinite(ends).all():
            raise NotLeast("a number has no end")
        some = np.zeros(len(self.amounts))
        low, high = np.append(np.ceil(ends[:, 0]), some), np.append(ends[:, 1], some + 1.0)
        return replace(self, question=question, low=low, high=high)

    def below(self, objective: float) -> Limit:
        """The limit that holds the objective, in the user's sense, better than a value; of no ratio."""
        ratio = objective if self.sign > 0 else 1.0 / objective
        value = -1.0 / ratio if self.over else ratio
        form = replace(self.cost, k=self.cost.k - (value - BETTER_THAN_NOW * abs(value)))
        return Limit(RowKey("", "model"), form, Linear(Affine({}), Affine({}, 1.0)), only=False)

    def form(self, form: Affine) -> Forms:
        """An affine form over its numbers and amounts."""
        place = {a: j for j, a in enumerate((*self.names, *self.amounts)) if a in form.terms}
        own = {a: k for k, a in enumerate(place)}
        a = np.moveaxis(np.atleast_3d(matrix([Affine(form.terms)], own).T)[:-1], 1, 0)
        return Forms(
            np.array([*place.values()], int), a, np.atleast_2d(np.asarray(plain(form.constant), float))
        )


def counts(question: Question, count: int) -> Counts:
    """Read a question; raises NotLeast or NotPosynomial where it is of another kind."""
    if not all(d.integer and d.values is None and d.choices is None for d in question.decide):
        raise NotLeast("something decided is not a whole number")
    if not question.decide:
        raise NotLeast("nothing is decided")
    s = stated(question)
    if s.goal is None or s.others:
        raise NotLeast("there is not one objective")
    goal, over = _cost(s.goal)
    limits = [(key, r, r.numerator.plus(r.denominator, -1.0)) for key, r in s.limits.items()]
    ties = [_affine_tie(r) for r in s.ties.values()]
    every = atoms([goal, *ties, *(form for _, _, form in limits)])
    some = tuple(a for a in every if isinstance(a, Some))
    if any(not isinstance(a, str | Some) for a in every) or any(not _is_whole_sum(a) for a in some):
        raise NotLeast("the rows hold more than whole numbers and whether there are any")
    names = tuple(d.name for d in question.decide)
    own = np.array([[n in a.amount.terms for n in names] for a in some], bool).reshape(len(some), len(names))
    nothing, none = joined([], np.arange(0)), np.zeros(0)
    c = Counts(question, count, names, some, none, none, own, (), nothing, (), s.sign, over)
    c = c.reaching(question.reach)
    about = [bool(f.terms) and all(isinstance(a, Some) for a in f.terms) for _, _, f in limits]
    rows = tuple(Limit(key, c.form(f), r, own) for (key, r, f), own in zip(limits, about, strict=True))
    return replace(c, limits=rows, cost=c.form(goal), ties=tuple(map(c.form, ties)))


def aimed(c: Counts, which: int) -> Counts:
    """The same numbers with the ratio of one limit (by its place) as what is minimised, and the others as limits."""
    ratio, others = c.limits[which].ratio, tuple(x for k, x in enumerate(c.limits) if k != which)
    only = replace(c, limits=others, ties=(), sign=1)
    if not (ratio.numerator.is_constant or ratio.denominator.is_constant):
        return replace(only, cost=c.form(ratio.numerator), over=False, under=c.form(ratio.denominator))
    cost, over = _cost(ratio)
    return replace(only, cost=c.form(cost), over=over)


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


def _ratio_at(ratio: Linear, points: Points) -> Linear:
    """A ratio at some of the points."""

    def there(number: Any) -> Any:
        return Many(number.values[points]) if isinstance(number, Many) else number

    parts = (ratio.numerator, ratio.denominator)
    return Linear(*(Affine({a: there(c) for a, c in f.terms.items()}, there(f.constant)) for f in parts))


def _is_whole_sum(some: Some) -> bool:
    """Whether an amount is a sum of whole numbers of which each makes at least one."""
    own = some.amount
    return own.constant == 0.0 and all(isinstance(a, str) and c >= 1.0 for a, c in own.terms.items())
