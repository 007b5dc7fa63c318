"""Linear programs of many points as arrays: solved by the dual simplex method, bounded by their multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Integers
from dse.system.records import dataclass
from formulations.programs.program import Program, is_ratio, linear_cost
from formulations.tolerances import TIE
from solvers import work
from solvers.linear import milp
from solvers.linear.linear_program import constant_column, ratio_cost, weak_duality
from solvers.many_points import effort
from solvers.outcome import FAILED

PROGRAM_GAP = 1e-9


WORTH_SHARING = 2e-3
"""Declared seconds from which the programs of a call are shared by several cores: threads that wait are busy, too."""


class NotLinear(CannotTake):
    """The question is not a linear program that can be solved for many points at once."""


@dataclass(frozen=True, slots=True)
class Vertices:
    """How every program ended (OPTIMAL, INFEASIBLE, FAILED), where, and the multipliers of its rows.

    ``u`` (points, columns) ends with 1; the multipliers of a program without a design prove that. ``bound``: what is
    proved of the least value where multipliers alone do not tell (whole numbers).
    """

    end: Integers
    u: Array
    y: Array
    bound: Array | None = None


def solved(rows: Array, equal: Bools, low: Array, high: Array, aims: Sequence[Array], count: int) -> Vertices:
    """Solve ``count`` programs ``rows . u <= 0`` (= 0 where ``equal``), u between its ends and then 1.

    Arrays have a dimension for the points before their own, or are the same for all points. ``aims`` are minimised in
    order of importance; none: any design will do.
    """
    from solvers.linear.points import simplex

    m, n = rows.shape[-2], rows.shape[-1] - 1
    first, *later = list(aims) or [np.zeros(n + 1)]
    own = max((k + 1 for k, a in enumerate(later) if a.ndim > 1), default=0)
    takes = work.seconds("linear number", count * m * n)
    effort.spend(takes)
    u, y = np.zeros((count, n)), np.zeros((count, m))
    end = np.full(count, FAILED)
    # of what all points share there is one
    numbers = (
        rows if rows.ndim > 2 else rows[None],
        np.atleast_2d(first),
        np.stack([np.broadcast_to(a, (count, n + 1)) for a in later[:own]], axis=1)
        if own
        else np.zeros((1, 0, n + 1)),
        np.reshape(later[own:], (-1, n + 1)),
        np.atleast_2d(low),
        np.atleast_2d(high),
    )
    # every mix of whole, read-only and other arrays would be compiled anew
    arrays: list[Any] = [np.require(a, float, ["C", "W"]) for a in numbers]
    simplex.solve(takes > WORTH_SHARING, *arrays, np.require(equal, bool, ["C", "W"]), u, y, end)
    return Vertices(end, np.concatenate([u, np.ones((count, 1))], axis=1), y)


class Rows:
    """The rows, ends and costs of the programs of some points."""

    def __init__(self, p: Program, mask: Bools) -> None:
        self.rows, self.low, self.high = along(p.rows, mask, 2), along(p.low, mask, 1), along(p.high, mask, 1)
        self.denominators, self.equal = along(p.denominators, mask, 2), p.equal
        self.cost = along(linear_cost(*milp.objective(p), 0.0), mask, 1)
        self.ratio = [along(form, mask, 1) for form in milp.objective(p)]
        self.stretch: Array | float = 1.0

    def keep(self, integer: Bools, u: Array) -> None:
        """Hold whole numbers at what they are at designs."""
        whole = np.round(u[:, :-1])
        self.low, self.high = (np.where(integer, whole, end) for end in (self.low, self.high))

    def divide(self, u: Array, y: Array, least: Array | None) -> tuple[Array, Array | None]:
        """Minimise a ratio N/D, that is r at designs, as ``r + (N - r D) / D(u)``: its multipliers and their bound.

        A bound of that is one of the ratio if what it misses is ``stretch`` times as much: D(u) over the least of D
        among the designs that are no worse.
        """
        goal, under = self.ratio
        if not is_ratio(goal, under):
            return y, least
        ratio, cost = ratio_cost(goal, under, u)
        unit = constant_column(cost.shape[1])
        size = (under * u).sum(axis=1)
        no_worse = cost - (TIE * np.abs(ratio) * size)[:, None] * unit
        rows = np.concatenate([self.rows, no_worse[:, None]], axis=1)
        equal = np.append(self.equal, False)
        found = solved(rows, equal, self.low, self.high, [under], len(u))
        least = weak_duality(rows, equal, self.low, self.high, under, found.y)
        self.stretch = np.where(least > 0.0, size / np.where(least > 0.0, least, 1.0), np.inf)
        self.cost = cost / size[:, None] + ratio[:, None] * unit
        return y / size[:, None], None if least is None else ratio + least / size

    def bounded(self, u: Array, y: Array, least: Array | None = None) -> tuple[Array, Array, Bools]:
        """What is minimised at designs, its lower bound by multipliers (and ``least``), and where the two meet."""
        value, size = (self.cost * u).sum(axis=1), (np.abs(self.cost) * np.abs(u)).sum(axis=1)
        bound = weak_duality(self.rows, self.equal, self.low, self.high, self.cost, y)
        bound = bound if least is None else np.minimum(bound, least)
        with np.errstate(invalid="ignore"):
            bound = value - self.stretch * (value - bound)
        return value, bound, value - bound <= PROGRAM_GAP * np.maximum(np.abs(value), 1e-3 * size)


def along(a: Array, mask: Bools, dims: int) -> Array:
    """What all points share or each has of its own (its last ``dims`` dimensions), at some of the points."""
    return np.broadcast_to(a, (len(mask), *a.shape[a.ndim - dims :]))[mask]


def to_user(value: Array, sign: int, *, over: bool) -> Array:
    """The user's objective from what was minimised; ``over``: minus the reciprocal of a ratio."""
    # what divides by 0 is infinite, which no check lets pass
    with np.errstate(divide="ignore"):
        ratio = -1.0 / value if over else value
        return np.asarray(ratio if sign > 0 else 1.0 / ratio)
