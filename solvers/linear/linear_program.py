"""A linear or mixed-integer program as arrays, and what solving it gave, whoever solves it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.programs.chosen_maxima import ChosenMaximum, all_choices
from formulations.programs.row_ends import least_of_terms
from formulations.tolerances import TIE
from solvers import designs

COST_ROUNDING = 1e-14
PROPORTIONAL = 1e-12
ROUNDED_AWAY = 1e-8
"""By so much limits on whole numbers are wider where HiGHS searches them: its presolve loses what meets one exactly."""


class End(StrEnum):
    """How a solve ended."""

    FOUND = "found"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Numbers:
    """Rows ``rows . u <= 0`` (or = 0 where ``equal``), u between ``low`` and ``high`` and ending with a constant 1.

    ``low``, ``high`` and ``integer`` are without the constant. ``indicators``: the columns that say whether there is
    any of an amount, where that is known. ``known``: multipliers of rows like these, which may bound parts of it.
    ``maxima``: those of which rows choose the largest argument.
    """

    rows: Array
    equal: Bools
    low: Array
    high: Array
    integer: Bools
    indicators: Bools | None = None
    known: tuple[Array, ...] = ()
    maxima: tuple[ChosenMaximum, ...] = ()

    @property
    def sizes(self) -> Array:
        """The largest entry of every row, never 0."""
        return np.asarray(np.maximum(np.abs(self.rows).max(axis=1, initial=0.0), np.finfo(float).tiny))

    def with_rows(self, *more: Array) -> Numbers:
        """The same with further rows <= 0."""
        added = np.concatenate([np.atleast_2d(m) for m in more]) if more else self.rows[:0]
        equal = np.concatenate([self.equal, np.zeros(len(added), dtype=bool)])
        return replace(self, rows=np.concatenate([self.rows, added]), equal=equal)

    def relaxed(self) -> Numbers:
        """The same without whole numbers."""
        return replace(self, integer=np.zeros_like(self.integer))

    def with_loose_maxima(self) -> Numbers:
        """The same without the rows that hold maxima down to their largest arguments: all of its points, and more."""
        choices = all_choices(self.maxima)
        kept, of = ~self.rows[:, choices].any(axis=1), np.zeros(len(self.low), dtype=bool)
        of[choices] = True
        low, high = (np.where(of, 0.0, end) for end in (self.low, self.high))
        return replace(
            self,
            rows=self.rows[kept],
            equal=self.equal[kept],
            low=low,
            high=high,
            integer=self.integer & ~of,
            maxima=(),
        )

    def fixed(self, u: Array) -> Numbers:
        """The linear program that is left when whole numbers keep their values at ``u``."""
        whole = np.round(u[:-1])
        low = np.where(self.integer, whole, self.low)
        high = np.where(self.integer, whole, self.high)
        return Numbers(self.rows, self.equal, low, high, np.zeros_like(self.integer))

    def holds(self, u: Array, within: float) -> bool:
        """Whether all rows hold at a point, but for so much of the sizes of what they add up."""
        over, size = self.rows @ u, np.abs(self.rows) @ np.abs(u)
        return bool((np.where(self.equal, np.abs(over), over) <= within * size).all())

    def eased(self, give: Array, most: float) -> tuple[Numbers, Array]:
        """The same with one more column, by a multiple of which every row gives, and that column as costs."""
        wide = Numbers(
            np.insert(self.rows, -1, -give, axis=1),
            self.equal,
            np.append(self.low, 0.0),
            np.append(self.high, most),
            np.append(self.integer, False),
        )
        return wide, np.eye(wide.rows.shape[1])[-2]


def constant_column(size: int) -> Array:
    """The row whose value is 1 at every point ``u``."""
    found = np.zeros(size)
    found[-1] = 1.0
    return found


def no_worse(goal: Array, under: Array, value: float, within: float = TIE) -> Array:
    """The row that says that the ratio of two forms is as good as a value (see ``designs.as_good_as``)."""
    return goal - float(designs.as_good_as(value, within)) * under


def multiple(form: Array, of: Array) -> Array:
    """The number by which one form is another one, of one program or of many; NaN where it is no multiple of it."""
    form, of = np.broadcast_arrays(form, of)
    first = np.abs(of).argmax(axis=-1)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.take_along_axis(form, first, -1) / np.take_along_axis(of, first, -1)
        alike = np.abs(form - factor * of) <= PROPORTIONAL * np.abs(form)
    return np.where(alike.all(axis=-1), factor[..., 0], np.nan)


def left_of_rows(rows: Array, u: Array, sides: Sequence[Array] = (), least: float = 0.0) -> Array:
    """What is left of rows (..., m, n + 1) at points (..., n + 1), as a part of the largest of their terms.

    ``sides``: forms of which the first rows are differences, whose terms count, too: what they share is gone from rows.
    ``least``: what a column counts for at least, so that what is 0 but for rounding leaves nothing.
    """
    size = np.maximum(np.abs(u), least)[..., None, :]
    parts = (np.abs(rows) * size).max(axis=-1, initial=1e-300)
    for side in sides:
        own = (np.abs(side) * size).max(axis=-1)
        first = parts[..., : own.shape[-1]]
        np.maximum(first, own, out=first)
    return np.asarray(np.abs(np.einsum("...ij,...j->...i", rows, u)) / parts)


def reduced_costs(rows: Array, equal: Bools, cost: Array, y: Array) -> tuple[Array, Array]:
    """The reduced costs (..., n + 1) of linear programs, the constants last, and how far rounding may move those."""
    weight = np.where(equal, y, np.maximum(y, 0.0))
    slope = cost + np.einsum("...i,...ij->...j", weight, rows)
    noise = COST_ROUNDING * (np.abs(cost) + np.einsum("...i,...ij->...j", np.abs(weight), np.abs(rows)))
    # a slope that is zero but for rounding must not meet an open end
    inner = np.where(np.abs(slope) <= noise, 0.0, slope)[..., :-1]
    return np.concatenate([inner, slope[..., -1:]], axis=-1), noise[..., -1]


def weak_duality(rows: Array, equal: Bools, low: Array, high: Array, cost: Array, y: Array) -> Array:
    """Least possible ``cost . u`` of linear programs by weak duality: minus infinity where ``y`` proves nothing.

    Any multipliers ``y`` give a bound, bad ones a weak one. Arrays may have a dimension for many programs first.
    """
    return least_between(*reduced_costs(rows, equal, cost, y), low, high)


def least_between(slope: Array, noise: Array, low: Array, high: Array) -> Array:
    """The least value of affine forms between ends, less rounding (see ``reduced_costs``)."""
    return np.asarray(slope[..., -1] + least_of_terms(slope[..., :-1], low, high).sum(axis=-1) - noise)


def ratio_at(goal: Array, under: Array | None, u: Array) -> Array:
    """A form over another one (None: 1) at points; without end where what divides is not above 0."""
    value = np.asarray((goal * u).sum(axis=-1))
    if under is None:
        return value
    divisor = (under * u).sum(axis=-1)
    return np.where(divisor > 0.0, value / np.where(divisor > 0.0, divisor, 1.0), np.inf)


def ratio_cost(goal: Array, under: Array, u: Array) -> tuple[Array, Array]:
    """The ratios of two forms at points, and numerator - ratio * denominator, which is below 0 where one is smaller."""
    ratio = ratio_at(goal, under, u)
    # where nothing divides there is nothing to be made smaller
    ratio = np.where(np.isfinite(ratio), ratio, 0.0)
    return ratio, goal - ratio[..., None] * under


@dataclass(frozen=True, slots=True)
class Result:
    """``u``: the best point, ending with 1; ``value`` and proven lower ``bound`` of what was minimised, or of a ratio.

    ``multipliers`` of the rows (LP only), >= 0 for rows that hold as <=. ``ray``: a direction in which an
    unbounded program falls without end. ``sole``: whether it is proved that no other point is as good. ``numbers`` and
    ``cost``: the program whose optimum it is (for the branch that won, where there are branches) and what was
    minimised there, where that is told; ``equals``: the best of other branches that are as good; ``known``: all
    multipliers that bounded parts of it.
    """

    end: End
    u: Array | None = None
    value: float = math.inf
    bound: float = -math.inf
    multipliers: Array | None = None
    ray: Array | None = None
    sole: bool = False
    numbers: Numbers | None = None
    cost: Array | None = None
    equals: tuple[Result, ...] = ()
    known: tuple[Array, ...] = ()
