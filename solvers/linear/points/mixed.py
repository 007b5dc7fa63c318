"""Mixed-integer programs of many points: branch and bound over nodes of many points, each node a linear program.

Nodes are relaxed and solved together by the dual simplex method, and bounded by their multipliers. The most promising
nodes of each point come first; what comes of a point depends on it alone. Of a node whose relaxation is whole its
optimum is the first by all aims, so that the first of the best ones is the one that ties go to.

A ratio N/D is minimised by Dinkelbach's iteration along the search: N - r D is, with r the ratio of the best design so
far. As r falls N - r D grows, so that a bound of a node stays one. A node is done when its optimum is no better than a
design that was known before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Integers, Points
from dse.system.records import dataclass
from formulations.programs import row_ends
from formulations.tolerances import TIE
from solvers import designs
from solvers.linear import whole_parts
from solvers.linear.linear_program import ratio_at, ratio_cost, weak_duality
from solvers.linear.points import lp
from solvers.linear.points.lp import Vertices
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL
from solvers.patterns import Rows, joined, ranks

NODES_OF_A_POINT = 4
"""Nodes of a point that are solved in a round."""
MOST_LINEAR_NODES = 1000
"""Nodes after which a point is left to another method."""
MOST_NODE_NUMBERS, FEW_LINEAR_NODES = 1e7, 16
"""Numbers in the rows of all nodes of a point, and nodes, after which it is left, too: by itself it takes no longer."""
NODE_WHOLE = 1e-9
"""So far from whole a number of a relaxation may be to count as whole."""
ROUNDING = 1e-11
"""Of what is minimised: what is better by less is not looked for where nothing settles ties."""


@dataclass(frozen=True, slots=True)
class _Nodes(Rows):
    """Parts of programs: of which point (N,), between which ends (N, n), and a bound of what is minimised (N,)."""

    point: Points
    low: Array
    high: Array
    bound: Array


@dataclass(frozen=True, slots=True)
class _Leaves(Rows):
    """Whole designs: of which point (N,), where (N, n + 1)."""

    point: Points
    u: Array


def solved(
    rows: Array,
    equal: Bools,
    low: Array,
    high: Array,
    integer: Bools,
    aims: Sequence[Array],
    count: int,
    known: Array | float = np.inf,
    under: Sequence[Array | None] = (),
) -> Vertices:
    """Solve ``count`` programs, see ``lp.solved``; ``integer``: the columns that are whole.

    ``known``: values that are reached elsewhere; of programs with whole numbers a design that is worse is none.
    ``under``: what each aim is divided by, and must be above 0 (None: nothing).

    Of a program with whole numbers the multipliers are those of the linear program that they leave, and ``bound`` is
    that of the search (infinite: it is proved that there is no design). Of a ratio both are those of its numerator less
    its denominator times the ratio of the design.
    """
    if not integer.any() and all(d is None for d in under):
        return lp.solved(rows, equal, low, high, aims, count)
    rows = np.broadcast_to(rows, (count, *rows.shape[-2:]))
    low, high = (np.broadcast_to(e, (count, e.shape[-1])) for e in (low, high))
    best = _Best(aims, under, rows.shape[-1], np.zeros(count) + known)
    implied = row_ends.upper_ends(rows, low, high, integer)
    # far ends cost digits; beyond what rows imply, an end has no multiplier
    ends = low, np.minimum(high, low + 2.0 * (implied - low) + 1.0)
    high = _ends_of_picks(rows, equal, low, implied, integer)
    taken = np.zeros(count, np.int64)
    numbers = MOST_NODE_NUMBERS / max(rows.shape[-2] * rows.shape[-1], 1)
    most = min(MOST_LINEAR_NODES, max(numbers, FEW_LINEAR_NODES))
    unsure = np.zeros(count, dtype=bool)
    waiting = _Nodes(np.arange(count), low, high, np.full(count, -np.inf))
    # where rows leave no whole number between two ends there is no design, and no program to be solved
    waiting = waiting.take((low <= high)[:, integer].all(axis=1))
    while waiting.point.size:
        now, waiting = _most_promising(waiting, taken)
        p = now.point
        found = lp.solved(rows[p], equal, now.low, now.high, [c[p] for c in best.costs], len(p))
        parts = (rows[p], equal, now.low, now.high)
        bound = np.maximum(now.bound, weak_duality(*parts, best.cost[p], found.y))
        none = now.take(lost := found.end == INFEASIBLE)
        shown = weak_duality(
            rows[none.point], equal, none.low, none.high, np.zeros(rows.shape[-1]), found.y[lost]
        )
        unsure[p[found.end == FAILED]] = True
        unsure[none.point[shown <= 0.0]] = True
        now, u = replace(now, bound=bound), found.u
        off = np.abs(u - np.round(u))[:, :-1] * integer
        whole = (found.end == OPTIMAL) & (off.max(axis=1) <= NODE_WHOLE)
        cut = (found.end == OPTIMAL) & ~whole
        waiting = joined([waiting, *_halves(now.take(cut), u[cut], off[cut])])
        waiting = best.learn(waiting, now.take(whole), u[whole])
        gone = (waiting.bound > best.limit[waiting.point]) | unsure[waiting.point]
        gone |= (len(aims) == 0) & (best.least[waiting.point] == 0.0)
        np.minimum.at(best.closed, waiting.point[gone], waiting.bound[gone])
        many = taken[waiting.point] > most
        unsure[waiting.point[many]] = True
        waiting = waiting.take(~gone & ~many)
    return _vertices(rows, equal, ends, integer, best, unsure)


class _Best:
    """The best designs of all points so far, and what is minimised by them.

    ``costs``: of each aim (of a ratio, see ``ratio_cost``); ``least``: what of the first is reached, of a ratio 0 and
    ``give``; ``closed``: the least bound of the nodes that are done; ``first``: which of the ``leaves`` is the best.
    """

    def __init__(self, aims: Sequence[Array], under: Sequence[Array | None], size: int, known: Array) -> None:
        count = len(known)

        def wide(form: Array) -> Array:
            return np.broadcast_to(form, (count, size)).copy()

        self.aims = [wide(a) for a in aims]
        self.under = {k: wide(d) for k, d in enumerate(under) if d is not None}
        self.costs = [a.copy() for a in self.aims]
        self.ratio = 0 in self.under
        if self.ratio:
            # one that a ratio can be taken of is looked for first
            self.costs[0] = -self.under[0]
        self.cost = self.costs[0] if aims else np.zeros((count, size))
        # where nothing settles ties, what is as good is of no use
        self.within = TIE if len(aims) > 1 else -ROUNDING
        self.least, self.give = (np.zeros(count) if self.ratio else known), np.zeros(count)
        self.closed, self.first = np.full(count, np.inf), np.full(count, -1)
        self.leaves = _Leaves(np.zeros(0, np.int64), np.zeros((0, size)))

    @property
    def limit(self) -> Array:
        """Bounds beyond which a node has nothing that is as good."""
        return np.asarray(designs.as_good_as(self.least, self.within) + self.give)

    def learn(self, waiting: _Nodes, now: _Nodes, u: Array) -> _Nodes:
        """Take in the optima of nodes that are whole; returns ``waiting`` with those that are not done."""
        p, again = now.point, np.zeros(len(u), dtype=bool)
        if self.ratio:
            there = (self.under[0][p] * u).sum(axis=1) > 0.0
        else:
            there = ~again
            np.minimum.at(self.least, p, (self.cost[p] * u).sum(axis=1))
        self.leaves = joined([self.leaves, _Leaves(p[there], u[there])])
        if self.under:
            before, self.first = self.first, self.chosen()
            better = self.first != before
            self._divide(better, self.leaves.u[self.first[better]])
            if self.ratio:
                # bounds were those of denominators
                anew = better & (before < 0)
                self.closed[anew] = np.inf
                waiting.bound[anew[waiting.point]] = now.bound[anew[p]] = -np.inf
            again = better[p]
        np.minimum.at(self.closed, p[~again], now.bound[~again])
        return joined([waiting, now.take(again)])

    def _divide(self, where: Bools, u: Array) -> None:
        """Take over the ratios of designs ``u`` of some points."""
        for k, d in self.under.items():
            self.costs[k][where] = ratio_cost(self.aims[k][where], d[where], u)[1]
        if self.ratio:
            self.give[where] = self.within * np.abs((self.aims[0][where] * u).sum(axis=1))

    def chosen(self) -> Integers:
        """Which design of each point is the first by all aims (-1: there is none)."""
        p, u = self.leaves.point, self.leaves.u
        levels = [
            ratio_at(a[p], self.under[k][p] if k in self.under else None, u) for k, a in enumerate(self.aims)
        ]
        return designs.first_of_tied(p, len(self.closed), levels, TIE)


def _ends_of_picks(rows: Array, equal: Bools, low: Array, high: Array, integer: Bools) -> Array:
    """Upper ends without the entries of menus that break some row whatever else is picked."""
    flags = integer & (low >= 0.0).all(axis=0) & (high <= 1.0).all(axis=0)
    same = equal & (rows == rows[:1]).all(axis=(0, 2))
    groups = list(whole_parts.picks(rows[0, same], flags))
    if not groups:
        return high
    a = rows[:, ~equal, :-1]
    least = row_ends.least_of_terms(a, low[:, None], high[:, None])
    with np.errstate(invalid="ignore"):
        size = np.abs(a * np.maximum(np.abs(low), np.abs(high))[:, None])
    of = np.stack([np.isin(np.arange(a.shape[2]), g) for g in groups])
    alone = least[..., ~of.any(axis=0)].sum(axis=-1) + rows[:, ~equal, -1]
    entries = np.where(high[:, None] > 0.0, a, np.inf)
    picked = np.stack([entries[..., g].min(axis=-1) for g in groups])
    rest, high = alone + picked.sum(axis=0), high.copy()
    room = whole_parts.ROOM * (np.nansum(size, axis=-1) + np.abs(rows[:, ~equal, -1]))
    for g, least_of in zip(groups, picked, strict=True):
        with np.errstate(invalid="ignore"):
            broken = (rest - least_of)[..., None] + a[..., g] > room[..., None]
        high[:, g] = np.where(broken.any(axis=1), 0.0, high[:, g])
    return high


def _most_promising(nodes: _Nodes, taken: Integers) -> tuple[_Nodes, _Nodes]:
    """The most promising nodes of every point, and the rest."""
    nodes = nodes.take(np.lexsort((nodes.bound, nodes.point)))
    first = ranks(nodes.point) < NODES_OF_A_POINT
    np.add.at(taken, nodes.point[first], 1)
    return nodes.take(first), nodes.take(~first)


def _halves(nodes: _Nodes, u: Array, off: Array) -> list[_Nodes]:
    """Nodes cut at the column that is farthest from whole."""
    every, column = np.arange(len(u)), off.argmax(axis=1)
    below, above = nodes.high.copy(), nodes.low.copy()
    below[every, column] = np.floor(u[every, column])
    above[every, column] = below[every, column] + 1.0
    return [replace(nodes, high=below), replace(nodes, low=above)]


def _vertices(
    rows: Array,
    equal: Bools,
    ends: tuple[Array, Array],
    integer: Bools,
    best: _Best,
    unsure: Bools,
) -> Vertices:
    """The best design of each point, with what its whole numbers leave solved once more."""
    count, which = len(unsure), best.chosen()
    end = np.where(unsure, FAILED, INFEASIBLE)
    u, y = np.ones((count, rows.shape[-1])), np.zeros((count, rows.shape[1]))
    at = np.flatnonzero((which >= 0) & ~unsure)
    if at.size:
        low, high = (np.where(integer, np.round(best.leaves.u[which[at], :-1]), e[at]) for e in ends)
        rest = lp.solved(rows[at], equal, low, high, [c[at] for c in best.costs], at.size)
        end[at], u[at], y[at] = np.where(rest.end == OPTIMAL, OPTIMAL, FAILED), rest.u, rest.y
    # parts that are not searched prove nothing
    return Vertices(end, u, y, np.where(unsure, -np.inf, best.closed))
