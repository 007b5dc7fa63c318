"""Certified minima of structured problems: geometric programs, or trees of them, one problem or many at once.

Each node is a geometric program: divisors that are sums are replaced by their secants (monomials above them), whole
numbers by their interval. Its Lagrangian bound is valid for all designs in the node; tangents and rounding give
designs. Open nodes of all points are solved together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Array, Canonical
from formulations.grids.divided import Indices, take
from solvers import side_by_side
from solvers.geometric import nodes as parts
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_together import Programs
from solvers.geometric.nodes import Bools, Nodes
from solvers.geometric.polishing import polish
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL

FEASIBLE = 1e-9
BATCH = 64
"""Nodes of a point that are solved in one round."""
NODES_BEFORE_LOOSE = 400
MOST_NODES = 12000
LOOSE = 8e-7
ROUNDING = 1e-12
STRICT = 1e-11
ALIKE_NODES = 3e-9
"""Designs so much worse than the best, in logs, are still as good: a tie, and the slack of two solves."""
LEAST_WIDTH = 2.5e-3
"""A node that may hold designs as good as the best is cut until it is as narrow as this, to see how far they reach."""
ROUNDS = 5
"""Restrictions that are solved one after the other, each at the optimum of the one before, before a box is cut."""
PARTS_OF_NODE, MOST_PARTS_OF_ROUNDED = 12, 24

Ask = Callable[[list[Programs]], list[gp.Result]]
"""Solves groups of geometric programs."""


@dataclass(frozen=True, slots=True)
class Found:
    """A minimum in log variables: ``status`` (0 optimal, 2 infeasible, 3 not closed), point, log value, log bound.

    ``alone``: what the kernel says, where the problem is a single geometric program.
    """

    status: int
    y: Array | None
    value: float
    bound: float
    nodes: int
    alone: gp.Result | None = None


@dataclass(slots=True)
class Reached:
    """The least log value that some of several searches has reached; what is ``slack`` above it is of no interest."""

    slack: float
    value: float = np.inf

    @property
    def level(self) -> float:
        """What a design has to stay below."""
        return self.value + self.slack

    def by(self, value: float) -> None:
        """Note a design's value."""
        self.value = min(self.value, value)


@dataclass(frozen=True, slots=True)
class Searched:
    """What came of N problems in n variables, in logs.

    ``status``: OPTIMAL, INFEASIBLE or FAILED; ``y``, ``value``: the best design (NaN, infinite: none); ``bound``:
    proven; ``low``, ``high``: all designs as good as the best lie between, where that was asked; ``nodes``: how many it
    took.
    """

    status: NDArray[np.int8]
    y: Array
    value: Array
    bound: Array
    low: Array
    high: Array
    nodes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Relaxed:
    """Nodes that their relaxations leave: with the bound raised, the relaxed designs, multipliers of rows, and how much
    of the bound is rounding (dear limits magnify it).
    """  # noqa: D205

    nodes: Nodes
    y: Array
    force: Array
    noise: Array

    def take(self, which: Bools) -> _Relaxed:
        return _Relaxed(self.nodes.take(which), self.y[which], self.force[which], self.noise[which])


@dataclass(slots=True)
class _State:
    """What is known of every point while the search goes on."""

    c: Canonical
    t: Canonical  # nodes live where relaxations are tight; designs are judged by the rows as they stand
    ask: Ask
    gap: float
    enough: float
    reached: Reached | None
    most: int
    y: Array
    value: Array
    strict: Bools
    closed: Array
    nodes: NDArray[np.int64]
    reach: bool
    together: bool
    low: Array
    high: Array
    leaves: list[Nodes] = field(default_factory=list)

    def level(self) -> Array:
        """What a node's bound has to stay below to be of interest (N,)."""
        gap = np.where(self.nodes > NODES_BEFORE_LOOSE, max(self.gap, LOOSE), self.gap)
        return self.best() - gap

    def best(self) -> Array:
        """The least value that is known, here or beside."""
        return self.value if self.reached is None else np.minimum(self.value, self.reached.level)

    def ended(self) -> Bools:
        """Points whose search has found what is enough."""
        return np.isfinite(self.y[:, 0]) & (self.value < self.enough)


def minimise(
    c: Canonical,
    *,
    gap: float = 1e-10,
    incumbent: Array | None = None,
    below: float = np.inf,
    reached: Reached | None = None,
    most: int = MOST_NODES,
) -> Found:
    """Minimise the goal of one problem; see ``search``, and for ``c`` ``canonical.canonical``.

    ``below``: only designs under this log value are of interest; the first one found ends the search, and
    "infeasible" then means that there is none. ``reached``: what this search and those beside it have found;
    only the best of all is looked for, so that what this one finds need not be its own best, but its bound holds up to
    the level that is reached.
    """
    if np.any(c.low > c.high + 1e-12):
        return Found(INFEASIBLE, None, np.inf, np.inf, 0)
    if not c.divisors and not c.allowed:
        r = side_by_side.solve(c.exponents, c.logc[None], c.ptr, c.low[None], c.high[None])
        y = r.y[0] if r.status[0] != INFEASIBLE and r.violation[0] <= FEASIBLE else None
        value = float(r.value[0]) if y is not None else np.inf
        return Found(int(r.status[0]), y, value, float(r.bound[0]), 1, r)
    start = None if incumbent is None else incumbent[None]
    f = search(
        canon.of_many(c), side_by_side.solve_all, gap=gap, start=start, below=below, reached=reached, most=most, together=True
    )
    y = None if np.isnan(f.y[0]).any() else f.y[0]
    return Found(int(f.status[0]), y, float(f.value[0]), float(f.bound[0]), int(f.nodes[0]))


def search(
    c: Canonical,
    ask: Ask,
    *,
    gap: float,
    start: Array | None = None,
    below: float = np.inf,
    reached: Reached | None = None,
    most: int = MOST_NODES,
    any_design: bool = False,
    reach: bool = False,
    together: bool = False,
) -> Searched:
    """Minimise the goal of every point; ``gap``: absolute, in the logarithm of the goal. ``start``: feasible designs.

    After NODES_BEFORE_LOOSE nodes a point is content with the gap LOOSE, after ``most`` it ends where it is (counted
    in nodes, not in seconds, so that the same question always gets the same answer). ``below``, ``reached``: as in
    ``minimise``.
    """
    count, n = c.low.shape
    s = _State(
        c, c.tighter or c, ask, gap, np.inf if any_design else below if below < np.inf else -np.inf, reached, most,
        np.full((count, n), np.nan), np.full(count, below), np.zeros(count, bool), np.full(count, np.inf),
        np.zeros(count, np.int64), reach, together, np.full((count, n), np.inf), np.full((count, n), -np.inf),
    )  # fmt: skip
    if start is not None:
        _better(s, np.arange(count), start)
    open_ones, seeds, rounds = parts.roots(s.t), None, ROUNDS
    while True:
        now, rest = _front(s, open_ones)
        if not now.point.size and seeds is None:
            break
        # designs from the nodes of the round before go to the kernel with the relaxations of this one
        relaxed = _solved(s, now, seeds)
        if not together:
            _descend(s, relaxed, rounds)
            rounds = 1
        if reached is not None and not np.isnan(s.y).any():
            reached.by(float(s.value[0]))
        level, gone = s.level(), s.ended()
        open_one = ~_closes(s, relaxed.nodes, level, relaxed.noise)
        relaxed = relaxed.take(open_one & ~gone[relaxed.nodes.point])
        children = _children(s, relaxed)
        open_ones = parts.joined([rest, children])
        keep = ~_closes(s, open_ones, level) & ~gone[open_ones.point]
        open_ones = open_ones.take(keep)
        seeds = relaxed if together and relaxed.nodes.point.size else None
    return _told(s, open_ones)


def _closes(s: _State, nodes: Nodes, level: Array, noise: Array | float = 0.0) -> Bools:
    """Tell which nodes hold nothing better, as far as floats can tell, and note their bounds."""
    gone: Bools = nodes.bound + noise >= level[nodes.point]
    if s.reach:
        alike = gone & (nodes.bound < s.value[nodes.point] + ALIKE_NODES)
        width = (nodes.z_high - nodes.z_low).max(1, initial=0.0)
        wide = alike & (width > LEAST_WIDTH) & (s.nodes[nodes.point] < s.most // 2)
        held = alike & ~wide
        n = s.low.shape[1]
        np.minimum.at(s.low, nodes.point[held], nodes.low[held, :n])
        np.maximum.at(s.high, nodes.point[held], nodes.high[held, :n])
        gone &= ~wide
    np.minimum.at(s.closed, nodes.point[gone], nodes.bound[gone])
    return gone


def _told(s: _State, open_ones: Nodes) -> Searched:
    """What the search ends with; nodes that are left may hold better designs."""
    level, ended = s.level(), s.ended()
    left = parts.joined([open_ones, *s.leaves])
    unsure = np.zeros(level.size, bool)
    unsure[open_ones.point] = True
    rest = parts.joined([open_ones.take(open_ones.point < 0), *s.leaves])
    unsure[rest.point[rest.bound < level[rest.point]]] = True
    unsure &= ~ended
    bound = np.minimum(s.closed, np.where(np.isnan(s.y[:, 0]), np.inf, s.value))
    np.minimum.at(bound, left.point, left.bound)
    bound = np.where(ended, -np.inf, bound)
    none = np.isnan(s.y[:, 0])
    status = np.where(unsure, FAILED, np.where(none, INFEASIBLE, OPTIMAL)).astype(np.int8)
    value = np.where(none, np.inf, s.value)
    if s.reach:
        n = s.low.shape[1]
        np.minimum.at(s.low, left.point, left.low[:, :n])
        np.maximum.at(s.high, left.point, left.high[:, :n])
    return Searched(status, s.y, value, bound, s.low, s.high, s.nodes)


def _front(s: _State, nodes: Nodes) -> tuple[Nodes, Nodes]:
    """The most promising nodes of every point that may have more, and the rest."""
    order = np.lexsort((nodes.bound, nodes.point))
    nodes = nodes.take(order)
    starts = np.flatnonzero(np.r_[True, nodes.point[1:] != nodes.point[:-1]]) if order.size else order
    place = np.arange(order.size) - np.repeat(starts, np.diff(np.r_[starts, order.size]))
    first = (place < BATCH) & (s.nodes[nodes.point] < s.most)
    np.add.at(s.nodes, nodes.point[first], 1)
    return nodes.take(first), nodes.take(~first)


def _solved(s: _State, now: Nodes, seeds: _Relaxed | None) -> _Relaxed:
    """Nodes with what their relaxations say, where these have a point; designs near ``seeds`` are judged, too."""
    asked = [_relaxations(s.t, now)] if now.point.size else []
    where = np.zeros(0, np.intp)
    if seeds is not None:
        where, programs = _restrictions(s.c, seeds)
        asked.append(programs)
    results = s.ask(asked)
    if seeds is not None:
        _judge(s, where, results.pop())
    if not results:
        return _Relaxed(now, now.low, np.zeros((0, s.t.ptr.size - 2)), now.bound)
    return _bounded(now, results[0])


def _descend(s: _State, relaxed: _Relaxed, rounds: int) -> None:
    """Look for designs near the most promising node of each point, then near the best design, while that improves."""
    nodes = relaxed.nodes
    some = np.flatnonzero((nodes.bound < s.value[nodes.point] - s.gap / 2) & ~s.ended()[nodes.point])
    some = some[np.lexsort((nodes.bound[some], nodes.point[some]))]
    seeds = relaxed.take(some[np.unique(nodes.point[some], return_index=True)[1]])
    for _ in range(rounds):
        if not seeds.nodes.point.size:
            return
        points = seeds.nodes.point
        before = s.value[points]
        where, programs = _restrictions(s.c, seeds)
        _judge(s, where, s.ask([programs])[0])
        moves = (s.value[points] < before - 0.1 * s.gap) & ~s.ended()[points]
        seeds = seeds.take(moves)
        seeds = replace(seeds, y=s.y[points[moves]])


def _relaxations(t: Canonical, nodes: Nodes) -> Programs:
    own = take(t, nodes.point)
    a, b, ptr = canon.relaxation(own, nodes.z_low, nodes.z_high)
    return Programs(a if t.divisors else t.exponents, b, ptr, nodes.low, nodes.high, content=True)


def _bounded(nodes: Nodes, r: gp.Result) -> _Relaxed:
    """Each node that its relaxation leaves, with its bound raised by it."""
    bound = np.where((r.status == OPTIMAL) | np.isfinite(r.bound), r.bound, -np.inf)
    bound = np.where(r.status == FAILED, np.minimum(bound, r.value), bound)
    noise = np.where(r.status == OPTIMAL, ROUNDING * r.multipliers.sum(1), 0.0)
    alive = r.status != INFEASIBLE
    nodes = replace(nodes, bound=np.maximum(nodes.bound, bound))
    return _Relaxed(nodes, r.y, r.multipliers, noise).take(alive)


def _restrictions(c: Canonical, seeds: _Relaxed) -> tuple[Indices, Programs]:
    """Round what must be whole at relaxed points, and ask for the restriction there; also says of which points."""
    n, nodes = len(c.names), seeds.nodes
    at = seeds.y[:, :n]
    low, high = c.low[nodes.point], c.high[nodes.point]
    which = np.arange(len(at))
    if c.allowed:
        tried = []
        for way in (parts.nearest_value, partial(_beside, 0), partial(_beside, 1)):
            y = at.copy()
            for v, logs in c.allowed.items():
                y[:, v] = way(logs, at[:, v], nodes.low[:, v], nodes.high[:, v])
            tried.append(y)
        at, which = np.concatenate(tried), np.tile(which, 3)
        low, high = low[which].copy(), high[which].copy()
        for v in c.allowed:
            low[:, v] = high[:, v] = at[:, v]
        _, first = np.unique(np.column_stack([which, at]), axis=0, return_index=True)
        first.sort()
        at, which, low, high = at[first], which[first], low[first], high[first]
    points = nodes.point[which]
    own = take(c, points)
    a, b = canon.restriction(own, at)
    return points, Programs(a if c.divisors else c.exponents, b, c.ptr, low, high, content=True)


def _beside(side: int, logs: Array | None, y: Array, low: Array, high: Array) -> Array:
    return parts.values_beside(logs, y, low, high)[side]


def _judge(s: _State, points: Indices, r: gp.Result) -> None:
    """Keep the best designs, of those at the ends of restrictions, too; the first of all has to be below the level."""
    own = take(s.c, points)
    f = canon.values(own, r.y)
    level = np.where(np.isnan(s.y[:, 0]), s.best(), np.inf)[points]
    some = np.flatnonzero((f[:, 1:].max(1, initial=-np.inf) <= FEASIBLE) & (f[:, 0] < level))
    order = some[np.lexsort((f[some, 0], points[some]))]
    while order.size:
        order = order[(f[order, 0] < s.value[points[order]]) | ~s.strict[points[order]]]
        _, first = np.unique(points[order], return_index=True)
        if not first.size:
            return
        best = order[first]
        _better(s, points[best], _sharp(take(own, best), r, best, s.c))
        order = np.delete(order, first)


def _sharp(c: Canonical, r: gp.Result, which: Indices, whole: Canonical) -> Array:
    """Give back the slack that the kernel grants."""
    y = r.y[which]
    at_end = (r.lower_multipliers[which] > y - c.low) | (r.upper_multipliers[which] > c.high - y)
    at_end[:, list(whole.allowed)] = True
    return polish(c, y, r.multipliers[which], at_end).y


def _better(s: _State, points: Indices, y: Array) -> None:
    """Keep designs that are better than the best of their points, which stand there once.

    A design that needs none of the slack that feasibility is granted replaces one that does: where limits are dear,
    slack looks like a better design.
    """
    f = canon.values(take(s.c, points), y)
    strict = f[:, 1:].max(1, initial=-np.inf) <= STRICT
    first = np.isnan(s.y[points, 0])
    gain = np.where(first | (strict == s.strict[points]), f[:, 0] < s.value[points], strict)
    at = points[gain]
    s.y[at], s.value[at], s.strict[at] = y[gain], f[gain, 0], strict[gain]


def _children(s: _State, relaxed: _Relaxed) -> Nodes:
    """Cut nodes; those that cannot be cut stay."""
    nodes = relaxed.nodes
    best = s.best()[nodes.point]
    count = np.bincount(nodes.point, minlength=len(s.value))[nodes.point]
    number = np.maximum(PARTS_OF_NODE, MOST_PARTS_OF_ROUNDED // np.maximum(count, 1))
    own = take(s.t, nodes.point)
    with np.errstate(invalid="ignore"):
        missing = np.nan_to_num(best - nodes.bound, nan=np.inf, posinf=np.inf, neginf=-np.inf)
    children, leaf = parts.split(own, nodes, relaxed.y, relaxed.force, missing, number, None if s.together else s.y[nodes.point], s.gap)
    if leaf.any():
        s.leaves.append(nodes.take(leaf))
    return children
