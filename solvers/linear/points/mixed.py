"""Mixed-integer programs of many points: branch and bound over nodes of many points, each node a linear program.

Nodes are relaxed and solved together by the dual simplex method, and bounded by their multipliers. The most promising
nodes of each point come first; what comes of a point depends on it alone. Of a node whose relaxation is whole its
optimum is the first by all aims, so that the first of the best ones is the one that ties go to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.many import Array, Points
from formulations.programs import row_ends
from formulations.tolerances import TIE
from solvers import designs
from solvers.linear import whole_parts
from solvers.linear.linear_program import weak_duality
from solvers.linear.points import lp
from solvers.linear.points.lp import Mask, Vertices
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL
from solvers.patterns import Rows, joined

NODES_OF_A_POINT = 4
"""Nodes of a point that are solved in a round."""
MOST_LINEAR_NODES = 200
"""Nodes after which a point is left to another method."""
NODE_WHOLE = 1e-9
"""So far from whole a number of a relaxation may be to count as whole."""


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
    equal: Mask,
    low: Array,
    high: Array,
    integer: NDArray[np.bool_],
    aims: Sequence[Array],
    count: int,
    known: Array | float = np.inf,
) -> Vertices:
    """Solve ``count`` programs, see ``lp.solved``; ``integer``: the columns that are whole.

    ``known``: values that are reached elsewhere; of programs with whole numbers a design that is worse is none.

    Of a program with whole numbers the multipliers are those of the linear program that they leave, and ``bound`` is
    that of the search (infinite: it is proved that there is no design).
    """
    if not integer.any():
        return lp.solved(rows, equal, low, high, aims, count)
    rows = np.broadcast_to(rows, (count, *rows.shape[-2:]))
    low, high = (np.broadcast_to(e, (count, e.shape[-1])) for e in (low, high))
    aims = [np.broadcast_to(a, (count, a.shape[-1])) for a in aims]
    implied = row_ends.upper_ends(rows, low, high, integer)
    # far ends cost digits; beyond what rows imply, an end has no multiplier
    ends = low, np.minimum(high, low + 2.0 * (implied - low) + 1.0)
    high = _ends_of_picks(rows, equal, low, implied, integer)
    cost = aims[0] if aims else np.zeros((count, rows.shape[-1]))
    least, closed = np.zeros(count) + known, np.full(count, np.inf)
    taken = np.zeros(count, np.int64)
    unsure = np.zeros(count, dtype=bool)
    waiting = _Nodes(np.arange(count), low, high, np.full(count, -np.inf))
    leaves = [_Leaves(np.zeros(0, np.int64), np.zeros((0, rows.shape[-1])))]
    while waiting.point.size:
        now, waiting = _most_promising(waiting, taken)
        p = now.point
        found = lp.solved(rows[p], equal, now.low, now.high, [a[p] for a in aims], len(p))
        none = found.end == INFEASIBLE
        shown = (
            rows[p[none]],
            equal,
            now.low[none],
            now.high[none],
            np.zeros_like(cost[p[none]]),
            found.y[none],
        )
        unsure[p[found.end == FAILED]] = True
        unsure[p[none][weak_duality(*shown) <= 0.0]] = True
        bound = np.maximum(now.bound, weak_duality(rows[p], equal, now.low, now.high, cost[p], found.y))
        now, u = replace(now, bound=bound), found.u
        off = np.abs(u - np.round(u))[:, :-1] * integer
        whole = (found.end == OPTIMAL) & (off.max(axis=1) <= NODE_WHOLE)
        leaves.append(_Leaves(p[whole], u[whole]))
        np.minimum.at(least, p[whole], (cost[p] * u).sum(axis=1)[whole])
        np.minimum.at(closed, p[whole], bound[whole])
        cut = (found.end == OPTIMAL) & ~whole
        waiting = joined([waiting, *_halves(now.take(cut), u[cut], off[cut])])
        gone = (waiting.bound > designs.as_good_as(least)[waiting.point]) | unsure[waiting.point]
        gone |= (len(aims) == 0) & (least[waiting.point] == 0.0)
        np.minimum.at(closed, waiting.point[gone], waiting.bound[gone])
        many = taken[waiting.point] > MOST_LINEAR_NODES
        unsure[waiting.point[many]] = True
        waiting = waiting.take(~gone & ~many)
    return _best(rows, equal, ends, integer, aims, joined(leaves), closed, unsure)


def _ends_of_picks(rows: Array, equal: Mask, low: Array, high: Array, integer: Mask) -> Array:
    """Upper ends without the entries of menus that break some row whatever else is picked."""
    flags = integer & (low >= 0.0).all(axis=0) & (high <= 1.0).all(axis=0)
    same = equal & (rows == rows[:1]).all(axis=(0, 2))
    groups = list(whole_parts.picks(rows[0, same], flags))
    if not groups:
        return high
    a = rows[:, ~equal, :-1]
    with np.errstate(invalid="ignore"):
        least = np.where(a > 0.0, a * low[:, None], np.where(a < 0.0, a * high[:, None], 0.0))
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


def _most_promising(nodes: _Nodes, taken: NDArray[np.int64]) -> tuple[_Nodes, _Nodes]:
    """The most promising nodes of every point, and the rest."""
    nodes = nodes.take(np.lexsort((nodes.bound, nodes.point)))
    first = np.arange(nodes.point.size) - np.searchsorted(nodes.point, nodes.point) < NODES_OF_A_POINT
    np.add.at(taken, nodes.point[first], 1)
    return nodes.take(first), nodes.take(~first)


def _halves(nodes: _Nodes, u: Array, off: Array) -> list[_Nodes]:
    """Nodes cut at the column that is farthest from whole."""
    every, column = np.arange(len(u)), off.argmax(axis=1)
    below, above = nodes.high.copy(), nodes.low.copy()
    below[every, column] = np.floor(u[every, column])
    above[every, column] = below[every, column] + 1.0
    return [replace(nodes, high=below), replace(nodes, low=above)]


def _best(
    rows: Array,
    equal: Mask,
    ends: tuple[Array, Array],
    integer: NDArray[np.bool_],
    aims: Sequence[Array],
    leaves: _Leaves,
    closed: Array,
    unsure: Mask,
) -> Vertices:
    """The first of the best designs of each point, with what its whole numbers leave solved once more."""
    count = len(closed)
    end = np.where(unsure, FAILED, INFEASIBLE)
    u, y = np.ones((count, rows.shape[-1])), np.zeros((count, rows.shape[1]))
    levels = [(a[leaves.point] * leaves.u).sum(axis=1) for a in aims]
    which = designs.first_of_tied(leaves.point, count, levels, TIE)
    at = np.flatnonzero((which >= 0) & ~unsure)
    if at.size:
        low, high = (np.where(integer, np.round(leaves.u[which[at], :-1]), e[at]) for e in ends)
        rest = lp.solved(rows[at], equal, low, high, [a[at] for a in aims], at.size)
        end[at], u[at], y[at] = np.where(rest.end == OPTIMAL, OPTIMAL, FAILED), rest.u, rest.y
    # parts that are not searched prove nothing
    return Vertices(end, u, y, np.where(unsure, -np.inf, closed))
