"""Branch and bound over nodes of many points, together: geometric programs with divisors that are sums, whole numbers.

Each node is a geometric program: divisors that are sums are replaced by their secants (monomials above them), whole
numbers by their interval. Its Lagrangian bound is valid for all designs in the node; tangents and rounding give
designs. A point's numbers depend on that point alone.

What is minimised need not be a row of the program: ``Bounding`` says how nodes of another goal are bounded and designs
are found (a measure over many worlds, or the best choice of samples that fail).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices, Integers
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Canonical
from formulations.grids.divided import take
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_terms import ends_at_level
from solvers.geometric.kernel.gp_together import Programs
from solvers.geometric.programs import nodes as parts
from solvers.geometric.programs.nodes import LEAST_WIDTH, Held, Nodes, Relaxed
from solvers.geometric.programs.polishing import ends_polished
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL
from solvers.patterns import Rows, joined, keep_least, ranks

FEASIBLE = 1e-9
NODES_IN_A_ROUND = 64
NODES_BEFORE_LOOSE = 400
NODES_FOR_REACH = 300
"""Nodes of a point from which on what is as good as the best is not cut further: what is left is searched by ties."""
LOOSE = 8e-7
NOISE = 1e-12
"""Rounding of a bound, for each unit of the multipliers' sum."""
STRICT = 1e-11
ALIKE_NODES = 3e-9
"""Designs so much worse than the best, in logs, are still as good: a tie, and the slack of two solves."""
DESCENTS = 2
"""Restrictions that are solved one after the other, each at the optimum of the one before, before a box is cut."""
WORTH_A_DESCENT = 0.1
"""What a restriction has to gain, as a part of the gap, so that another one follows."""

Ask = Callable[[list[Programs]], list[gp.Result]]
"""Solves groups of geometric programs."""


@dataclass(slots=True)
class Reached:
    """The least log value of several searches, each of ``most`` nodes; what is ``slack`` above is of no interest."""

    slack: float
    value: float = np.inf
    most: int | None = None

    @property
    def level(self) -> float:
        """What a design has to stay below."""
        return self.value + self.slack

    def by(self, value: float) -> None:
        """Note a design's value."""
        self.value = min(self.value, value)


@dataclass(frozen=True, slots=True)
class Bounding:
    """How nodes are bounded, and designs are found.

    ``bounded``: nodes, perhaps smaller, what their relaxations say, and bounds of the goal (infinite: no design is
    there); what is above given levels (N,) need not be sharp, and is no part of the nodes.
    ``designs``: feasible designs (M, n) near the relaxed designs of nodes, of which points, and their log values (M,).
    ``again``: whether a node is bounded again, not cut, where a first design is known after it was: it may be smaller.
    """

    bounded: Callable[[Nodes, Array], tuple[Nodes, Relaxed, Array]]
    designs: Callable[[Nodes, Array], tuple[Indices, Array, Array]]
    again: bool = False


@dataclass(frozen=True, slots=True)
class Searched(Rows):
    """What came of N problems in n variables, in logs.

    ``status``: OPTIMAL, INFEASIBLE or FAILED; ``y``, ``value``: the best design (NaN, infinite: none); ``bound``:
    proven; ``low``, ``high``: all designs as good as the best lie between, where that was asked; ``nodes``: how many
    it took. ``alone``: what the kernel says, where each problem is a single geometric program.
    """

    status: Codes
    y: Array
    value: Array
    bound: Array
    low: Array
    high: Array
    nodes: Integers
    alone: gp.Result | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a search.

    ``gap``: absolute, in the logarithm of the goal. ``most``: nodes of a point.
    ``any_design``: the first design ends the search, whatever its value. ``reach``: how far the designs reach that are
    as good as the best. ``fewest_calls``: designs are sought in the same calls as bounds, which takes fewer calls and
    more programs; otherwise before a node is cut. ``reached``: what is found beside this search (of one point).
    ``grade``: see ``nodes.GRADE``. ``at_once``: nodes of a point in a round, the most promising first. ``few``: after
    so many nodes a point ends where its gap is ``wide``. ``strictly``: the gap alone closes a point, however many nodes
    that takes.
    """

    gap: float
    most: int
    any_design: bool = False
    reach: bool = False
    fewest_calls: bool = False
    reached: Reached | None = None
    grade: float = parts.GRADE
    at_once: int = NODES_IN_A_ROUND
    few: int = 1 << 30
    wide: float = 0.0
    strictly: bool = False


@dataclass(slots=True)
class _State:
    """What is known of every point while the search goes on."""

    c: Canonical
    tight: Canonical  # nodes live where relaxations are tight; designs are judged by the rows as they stand
    by: Ask | Bounding
    wanted: Wanted
    y: Array
    value: Array
    strict: Bools
    closed: Array
    nodes: Integers
    low: Array
    high: Array
    y_slack: Array  # the best designs that need slack, beside worse ones that need none
    value_slack: Array
    leaves: list[Nodes] = field(default_factory=list)

    def none(self) -> Bools:
        """Points that have no design yet."""
        return np.isnan(self.y[:, 0])

    def best(self) -> Array:
        """The least value that is known, here or beside."""
        beside = self.wanted.reached
        return self.value if beside is None else np.minimum(self.value, beside.level)

    def level(self) -> Array:
        """What a node's bound has to stay below to be of interest."""
        gap, loose = self.wanted.gap, (self.nodes > NODES_BEFORE_LOOSE) & (not self.wanted.strictly)
        return self.best() - np.where(loose, max(gap, LOOSE), gap)

    def ended(self) -> Bools:
        """Points whose search has found what is enough."""
        return ~self.none() & self.wanted.any_design


def search(c: Canonical, by: Ask | Bounding, wanted: Wanted, start: Array | None = None) -> Searched:
    """Minimise the goal of every point of ``c``, which has a row of coefficients for each; ``start``: feasible designs.

    ``by``: what solves geometric programs, or bounds nodes in another way.

    After NODES_BEFORE_LOOSE nodes a point is content with the gap LOOSE, after ``most`` it ends where it is (counted
    in nodes, not in seconds, so that the same question always gets the same answer).
    """
    count, n = c.low.shape
    s = _State(
        c, c.tighter or c, by, wanted, np.full((count, n), np.nan), np.full(count, np.inf),
        np.zeros(count, bool), np.full(count, np.inf), np.zeros(count, np.int64),
        np.full((count, n), np.inf), np.full((count, n), -np.inf),
        np.full((count, n), np.nan), np.full(count, np.inf),
    )  # fmt: skip
    if start is not None:
        _keep_better(s, np.arange(count), start)
    # with whole numbers held the restriction without divisors is the program itself: a second one finds the same
    waiting, seeds, descents = parts.roots(s.tight), None, DESCENTS if c.divisors else 1
    while True:
        now, waiting = _front(s, waiting)
        if not now.point.size and seeds is None:
            return _searched(s, waiting)
        # designs from the nodes of the round before go to the kernel with the relaxations of this one
        nodes, relaxed = _solved(s, now, seeds)
        unknown, held = s.none(), None
        if not wanted.fewest_calls:
            held = _descend(s, nodes, relaxed, descents)
            descents = 1
        if wanted.reached is not None:
            wanted.reached.by(float(np.where(s.none(), np.inf, s.value).min()))
        live = ~_closed(s, nodes, relaxed)
        nodes, relaxed = nodes.take(live), relaxed.take(live)
        again = (unknown & ~s.none())[nodes.point] & (isinstance(by, Bounding) and by.again)
        children = _children(s, nodes.take(~again), relaxed.take(~again))
        if held is not None and children.point.size:
            alike = (s.best() + ALIKE_NODES)[children.point] if wanted.reach else None
            children = parts.bounded_beside(c, children, held, alike)
        waiting = joined([waiting, nodes.take(again), children])
        waiting = waiting.take(~_closed(s, waiting))
        seeds = (nodes, relaxed) if wanted.fewest_calls and nodes.point.size else None


def _front(s: _State, nodes: Nodes) -> tuple[Nodes, Nodes]:
    """The most promising nodes of every point that may have more, and the rest."""
    nodes = nodes.take(np.lexsort((nodes.bound, nodes.point)))
    place = ranks(nodes.point)
    least = np.full(s.value.size, np.inf)
    least[nodes.point[place == 0]] = nodes.bound[place == 0]
    most = np.where(s.value > least + s.wanted.wide, min(s.wanted.few, s.wanted.most), s.wanted.most)
    first = (place < s.wanted.at_once) & (s.nodes < most)[nodes.point]
    np.add.at(s.nodes, nodes.point[first], 1)
    # the kernel solves slices, each as long as its longest: nodes of one rank take about as many iterations
    ranked = np.flatnonzero(first)[np.argsort(place[first], kind="stable")]
    return nodes.take(ranked), nodes.take(~first)


def _closed(s: _State, nodes: Nodes, relaxed: Relaxed | None = None) -> Bools:
    """Tell which nodes hold nothing better, as far as floats can tell, and note their bounds."""
    noise = 0.0 if relaxed is None else relaxed.noise
    gone: Bools = nodes.bound + noise >= s.level()[nodes.point]
    if s.wanted.reach:
        # what is alike and wide is cut further, unless that has been tried often enough: then there are many optima
        alike = np.flatnonzero(gone & (nodes.bound < s.best()[nodes.point] + ALIKE_NODES))
        near = nodes.take(alike)
        if relaxed is not None:
            near = _where_alike(s, near, relaxed.take(alike))
        width = (near.z_high - near.z_low).max(1, initial=0.0)
        wide = (width > LEAST_WIDTH) & (s.nodes[near.point] < min(NODES_FOR_REACH, s.wanted.most // 2))
        _note_reach(s, near.take(~wide & (near.low <= near.high).all(1)))
        gone[alike[wide]] = False
    np.minimum.at(s.closed, nodes.point[gone], nodes.bound[gone])
    return gone | s.ended()[nodes.point]


def _where_alike(s: _State, nodes: Nodes, relaxed: Relaxed) -> Nodes:
    """Shrink relaxed nodes to where designs may be as good as the best; an empty one holds none of them."""
    if isinstance(s.by, Bounding) or not nodes.point.size:
        return nodes
    p, level = _relaxations(s, nodes), s.best()[nodes.point] + ALIKE_NODES + relaxed.noise
    ends = ends_at_level(p.A, p.logc, p.ptr, p.low, p.high, relaxed.y, relaxed.force, level)
    low, high = parts.allowed_within(s.tight, *ends, p.low, p.high)
    z_low, z_high = canon.form_box(take(s.tight, nodes.point), low, high)
    z_low, z_high = np.maximum(z_low, nodes.z_low), np.minimum(z_high, nodes.z_high)
    return replace(nodes, low=low, high=high, z_low=z_low, z_high=z_high)


def _note_reach(s: _State, nodes: Nodes) -> None:
    n = s.low.shape[1]
    np.minimum.at(s.low, nodes.point, nodes.low[:, :n])
    np.maximum.at(s.high, nodes.point, nodes.high[:, :n])


def _searched(s: _State, waiting: Nodes) -> Searched:
    """What the search ends with; nodes that are left may hold better designs."""
    none, ended, level = s.none(), s.ended(), s.level()
    unsure = np.zeros(level.size, bool)
    unsure[waiting.point] = True
    for leaf in s.leaves:
        unsure[leaf.point[leaf.bound < level[leaf.point]]] = True
    bound, left = np.minimum(s.closed, s.value), joined([waiting, *s.leaves])
    np.minimum.at(bound, left.point, left.bound)
    if s.wanted.reach:
        _note_reach(s, left)
    # what is left may be a design that needs slack, which limits grant
    by_slack = unsure & (s.value_slack <= bound + LOOSE)
    unsure &= ~by_slack
    y, value = np.where(by_slack[:, None], s.y_slack, s.y), np.where(by_slack, s.value_slack, s.value)
    bound = np.minimum(bound, value)
    status = np.where(unsure & ~ended, FAILED, np.where(none, INFEASIBLE, OPTIMAL)).astype(np.int8)
    return Searched(status, y, value, np.where(ended, -np.inf, bound), s.low, s.high, s.nodes)


def _solved(s: _State, now: Nodes, seeds: tuple[Nodes, Relaxed] | None) -> tuple[Nodes, Relaxed]:
    """Nodes that their relaxations leave, with bounds raised; designs near ``seeds`` are judged, too."""
    if isinstance(s.by, Bounding):
        now, relaxed, bound = s.by.bounded(now, s.best()[now.point])
        return _raised(now, relaxed, bound, bound < np.inf)
    asked = [_relaxations(s, now)] if now.point.size else []
    sought = None if seeds is None else parts.restrictions(s.c, *seeds)
    results = s.by(asked if sought is None else [*asked, sought[1]])
    if sought is not None:
        _judge(s, sought[0], results.pop())
    if not results:
        return now, Relaxed(now.low, np.zeros((0, s.tight.ptr.size - 2)), now.bound)
    r = results[0]
    bound = np.where((r.status == OPTIMAL) | np.isfinite(r.bound), r.bound, -np.inf)
    near = (r.status == FAILED) & (r.violation <= FEASIBLE)
    bound = np.where(near, np.minimum(bound, r.value), bound)
    if s.wanted.any_design:
        # the kernel has set the goal aside
        bound = now.bound
    noise = np.where(r.status == OPTIMAL, NOISE * r.multipliers.sum(1), 0.0)
    return _raised(now, Relaxed(r.y, r.multipliers, noise), bound, r.status != INFEASIBLE)


def _raised(nodes: Nodes, relaxed: Relaxed, bound: Array, alive: Bools) -> tuple[Nodes, Relaxed]:
    return replace(nodes, bound=np.maximum(nodes.bound, bound)).take(alive), relaxed.take(alive)


def _relaxations(s: _State, nodes: Nodes) -> Programs:
    c = s.tight
    a, b, ptr = canon.relaxation(take(c, nodes.point), nodes.z_low, nodes.z_high)
    # a node that holds nothing better is of no more interest
    enough = s.best() + ALIKE_NODES if s.wanted.reach else s.level()
    A = a if c.divisors else c.exponents
    return Programs(A, b, ptr, nodes.low, nodes.high, content=True, enough=enough[nodes.point])


def _descend(s: _State, nodes: Nodes, relaxed: Relaxed, descents: int) -> Held | None:
    """Look for designs near the most promising node of each point, then near the best design, while that improves.

    Returns what was solved with whole numbers held, where its multipliers tell of nodes.
    """
    gap, held = s.wanted.gap, None
    some = np.flatnonzero((nodes.bound < s.value[nodes.point] - gap / 2) & ~s.ended()[nodes.point])
    some = some[np.lexsort((nodes.bound[some], nodes.point[some]))]
    first = some[np.unique(nodes.point[some], return_index=True)[1]]
    nodes, relaxed = nodes.take(first), relaxed.take(first)
    for _ in range(descents):
        if not nodes.point.size:
            break
        before = s.value[nodes.point]
        if isinstance(s.by, Bounding):
            points, y, value = s.by.designs(nodes, relaxed.y)
            keep_least(s.value, s.y, points, value, y)
        else:
            points, programs = parts.restrictions(s.c, nodes, relaxed)
            r = s.by([programs])[0]
            _judge(s, points, r)
            if s.tight is s.c and s.c.allowed and not s.c.divisors and not s.wanted.any_design:
                held = Held(points, r.y, r.multipliers, r.status)
        gains = (s.value[nodes.point] < before - WORTH_A_DESCENT * gap) & ~s.ended()[nodes.point]
        nodes, relaxed = nodes.take(gains), relaxed.take(gains)
        relaxed = replace(relaxed, y=s.y[nodes.point])
    return held


def _judge(s: _State, points: Indices, r: gp.Result) -> None:
    """Keep the best designs at the ends of restrictions; the first of all has to be better than what is known."""
    own = take(s.c, points)
    f = canon.values(own, r.y)
    level = np.where(s.none(), s.best(), np.inf)[points]
    some = np.flatnonzero((f[:, 1:].max(1, initial=-np.inf) <= FEASIBLE) & (f[:, 0] < level))
    some = some[np.lexsort((f[some, 0], points[some]))]
    sharp = np.zeros_like(r.y)
    for turn in range(some.size + 1):
        some = some[(f[some, 0] < s.value[points[some]]) | ~s.strict[points[some]]]
        _, first = np.unique(points[some], return_index=True)
        if not first.size:
            return
        best = some[first]
        # gives back the slack that the kernel grants; where every design needs some, each of the others is asked for
        if turn < 2:
            asked = some if turn else best
            sharp[asked] = ends_polished(take(own, asked), r, asked)
        _keep_better(s, points[best], sharp[best])
        some = np.delete(some, first)


def _keep_better(s: _State, points: Indices, y: Array) -> None:
    """Keep designs that are better than the best of their points, which stand there once.

    A design that needs none of the slack that feasibility is granted replaces one that does: where limits are dear,
    slack looks like a better design.
    """
    f = canon.values(take(s.c, points), y)
    strict = f[:, 1:].max(1, initial=-np.inf) <= STRICT
    alike = s.none()[points] | (strict == s.strict[points])
    gain = np.where(alike, f[:, 0] < s.value[points], strict)
    at = points[gain]
    s.y[at], s.value[at], s.strict[at] = y[gain], f[gain, 0], strict[gain]
    needs = ~strict & s.strict[points] & (f[:, 0] < s.value_slack[points])
    s.y_slack[points[needs]], s.value_slack[points[needs]] = y[needs], f[needs, 0]


def _children(s: _State, nodes: Nodes, relaxed: Relaxed) -> Nodes:
    """Cut nodes; those that cannot be cut are kept as leaves."""
    # without a bound anything is missing
    bounded = nodes.bound > -np.inf
    missing = np.where(bounded, s.best()[nodes.point] - np.where(bounded, nodes.bound, 0.0), np.inf)
    c, best = take(s.tight, nodes.point), s.y[nodes.point]
    grade = s.wanted.grade, parts.GRADE if s.wanted.fewest_calls else parts.GRADE_UNKNOWN
    children, leaf = parts.cut(c, nodes, relaxed, missing, best, s.wanted.gap, grade)
    if leaf.any():
        s.leaves.append(nodes.take(leaf))
    return children
