"""Branch and bound over many problems at once: ratios of sums, and one variable that may be whole.

What ``solvers.geometric.branch`` does for one problem. A node is a part of one point's box; on it every divisor
that is a sum is replaced by a monomial above it (its secant), which leaves a geometric program whose Lagrangian
bound holds for all designs of the node. All open nodes of all points go through the kernel together. Designs come
from the tangents: monomials below the divisors, exact where they touch, solved again and again from where the last
one was least.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Array, Canonical
from formulations.grids.divided import Indices, take
from scenarios.question import Decision
from solvers.explaining.optimal_face import Solver
from solvers.geometric.branch import FEASIBLE
from solvers.geometric.kernel import gp
from solvers.geometric.nodes import COARSE, SHARE
from solvers.geometric.kernel.gp_together import ITERATIONS
from solvers.geometric.points.geometric_conflicts import neighbours

Bools = NDArray[np.bool_]

NODE_GAP = 1e-8
"""In logs of the goal: what is closed to this is closed."""
ALIKE_NODES = 3e-9
"""Designs so much worse than the best, in logs, are still as good: a tie, and the slack of two solves."""
LEAST_WIDTH = 2.5e-3
"""A node that may hold designs as good as the best is cut until it is as narrow as this, to see how far they reach."""
MOST_NODES_PER_POINT = 400
"""Nodes of a point, at most: what is not closed by then is left to the single path."""
ROUNDS = 5
GRADES = 6
GRADE = 8.0
THIN = 1e-9
ANY, EASIER, TIGHT = 10.0, 1e-7, 1e-9
"""Gaps that the kernel closes: where any design does, where only a value is wanted (what is proved closes it to
NODE_GAP all the same), and elsewhere."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What came of N problems in n variables, in logs.

    ``status``: of ``solvers.geometric.kernel.gp``; ``y``, ``value``: the best design; ``bound``: proven; ``low``,
    ``high``: all designs as good as the best lie between; ``nodes``: how many it took.
    """

    status: NDArray[np.int8]
    y: Array
    value: Array
    bound: Array
    low: Array
    high: Array
    nodes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Parts of boxes: whose (N,), from where to where (N, n), and a bound of the goal there."""

    point: Indices
    low: Array
    high: Array
    bound: Array

    def take(self, which: NDArray[np.intp] | Bools) -> _Nodes:
        return _Nodes(*(getattr(self, f.name)[which] for f in fields(self)))


@dataclass(slots=True)
class _State:
    """What is known of every point while the search goes on."""

    c: Canonical
    solve: Solver
    forms: Indices
    discrete: Mapping[int, Decision]
    y: Array
    value: Array
    closed: Array
    low: Array
    high: Array
    nodes: NDArray[np.int64]
    failed: Bools
    any_design: bool
    value_only: bool
    gap: float

    def settled(self) -> Bools:
        """Points at which any design does, and there is one."""
        return np.isfinite(self.value) & self.any_design


def minimise(
    c: Canonical,
    solve: Solver,
    discrete: Mapping[int, Decision],
    *,
    any_design: bool = False,
    value_only: bool = False,
    most: int = MOST_NODES_PER_POINT,
    gap: float = NODE_GAP,
    start: Array | None = None,
) -> Searched:
    """Minimise the goal of every point.

    ``discrete``: what is decided in whole numbers or from a list, by its place. ``any_design``: the first design found
    ends its search, proof or none. ``value_only``: nobody asks how far the designs reach that are as good as the best.
    ``start``: a feasible design of every point.

    Status OPTIMAL: the gap is closed to ``gap``; INFEASIBLE: proved that no design meets the limits; FAILED: neither.
    """
    count, n = c.low.shape
    best, value = np.full((count, n), np.nan), np.full(count, np.inf)
    if start is not None:
        best, value = start.copy(), canon.values(c, start)[:, 0]
    s = _State(
        c, solve, np.argmax(c.forms != 0, axis=1), discrete, best, value,
        np.full(count, np.inf), np.full((count, n), np.inf), np.full((count, n), -np.inf),
        np.zeros(count, np.int64), np.zeros(count, bool), any_design, value_only, gap,
    )  # fmt: skip
    nodes = _Nodes(np.flatnonzero((c.low <= c.high + 1e-12).all(1)), c.low, c.high, np.full(count, -np.inf))
    nodes = _Nodes(nodes.point, c.low[nodes.point], c.high[nodes.point], nodes.bound[nodes.point])
    while nodes.point.size:
        nodes = _round(s, nodes, most)
    bound = np.minimum(s.closed, s.value)
    with np.errstate(invalid="ignore"):
        done = np.isfinite(s.value) & ((s.value - bound <= 2 * gap) | any_design) & ~s.failed
    none = ~np.isfinite(s.value) & ~s.failed
    status = np.where(done, gp.OPTIMAL, np.where(none, gp.INFEASIBLE, gp.FAILED)).astype(np.int8)
    return Searched(status, s.y, s.value, bound, s.low, s.high, s.nodes)


def _round(s: _State, nodes: _Nodes, most: int) -> _Nodes:
    """Bound all open nodes, look for designs, and cut what may hold better ones."""
    first = not s.nodes.any()
    np.add.at(s.nodes, nodes.point, 1)
    c = take(s.c, nodes.point)
    a, b, ptr = canon.relaxation(c, nodes.low[:, s.forms], nodes.high[:, s.forms])
    r = s.solve(a, b, ptr, nodes.low, nodes.high, **_how(s, len(b)))
    bound = np.where(np.isfinite(r.bound) & ~s.any_design, np.maximum(nodes.bound, r.bound), nodes.bound)
    alive = np.flatnonzero(r.status != gp.INFEASIBLE)
    nodes, y = _Nodes(nodes.point, nodes.low, nodes.high, bound).take(alive), r.y[alive]
    _look(s, nodes, y, ROUNDS if first else 1)
    return _cut(s, *_open(s, nodes, y, most))


def _open(s: _State, nodes: _Nodes, y: Array, most: int) -> tuple[_Nodes, Array]:
    """Close the nodes that hold nothing better; what is as good as the best is told from what is worse."""
    best = s.value[nodes.point]
    gone = s.settled()[nodes.point]
    with np.errstate(invalid="ignore"):
        better = ~(nodes.bound >= best - s.gap) & ~gone
        alike = ~better & (nodes.bound < best + ALIKE_NODES) & ~gone
    width = (nodes.high - nodes.low)[:, s.forms].max(1, initial=0.0)
    splits = _splits(s, nodes, y)
    many = s.nodes[nodes.point] >= most
    stuck = better & (many | ~splits)
    # what is alike and wide is cut further, unless that has been tried often enough: then there are many optima
    wide = alike & (width > LEAST_WIDTH) & splits & (s.nodes[nodes.point] < most // 2) & (not s.value_only)
    s.failed[nodes.point[stuck]] = True
    np.minimum.at(s.closed, nodes.point[~better], nodes.bound[~better])
    np.minimum.at(s.closed, nodes.point[stuck], nodes.bound[stuck])
    held = (alike & ~wide) | stuck
    np.minimum.at(s.low, nodes.point[held], nodes.low[held])
    np.maximum.at(s.high, nodes.point[held], nodes.high[held])
    keep = ((better & ~stuck) | wide) & ~s.failed[nodes.point]
    dropped = better & ~stuck & ~keep
    np.minimum.at(s.closed, nodes.point[dropped], nodes.bound[dropped])
    return nodes.take(keep), y[keep]


def _splits(s: _State, nodes: _Nodes, y: Array) -> Bools:
    """Whether there is anything left to cut."""
    width = (nodes.high - nodes.low)[:, s.forms].max(1, initial=0.0)
    able = width > THIN
    for v in s.discrete:
        able |= nodes.high[:, v] - nodes.low[:, v] > 1e-13
    return np.asarray(able)


def _look(s: _State, nodes: _Nodes, y: Array, rounds: int) -> None:
    """Look for designs from the relaxed optimum of the most promising node of each point."""
    promising = np.flatnonzero(nodes.bound < s.value[nodes.point] - s.gap / 2)
    promising = promising[~s.settled()[nodes.point[promising]]]
    order = promising[np.lexsort((nodes.bound[promising], nodes.point[promising]))]
    _, first = np.unique(nodes.point[order], return_index=True)
    some = order[first]
    if not some.size:
        return
    points, starts = nodes.point[some], [y[some]]
    held = np.zeros(s.c.low.shape[1], bool)
    for v, d in s.discrete.items():
        held[v] = True
        near = neighbours(d, y[some, v], nodes.low[some, v], nodes.high[some, v])
        starts = [np.where(np.arange(held.size) == v, x[:, None], start) for start in starts for x in near]
    _descend(s, np.tile(points, len(starts)), np.concatenate(starts), held, rounds)


def _descend(s: _State, points: Indices, y: Array, held: Bools, rounds: int) -> None:
    """Solve with tangents at y, then at the optimum of that, and keep the best design that holds all limits.

    ``points`` may stand there more than once; ``held``: the variables that stay where they are.
    """
    low, high = (np.where(held, y, end[points]) for end in (s.c.low, s.c.high))
    before = np.full(points.size, np.inf)
    for _ in range(rounds):
        c = take(s.c, points)
        a, b = canon.restriction(c, y)
        r = s.solve(a, b, c.ptr, low, high, **_how(s, len(b)))
        f = canon.values(c, r.y)
        holds = f[:, 1:].max(1, initial=-np.inf) <= FEASIBLE
        now = np.where(holds, f[:, 0], np.inf)
        order = np.lexsort((now, points))
        best = order[np.unique(points[order], return_index=True)[1]]
        gain = best[now[best] < s.value[points[best]]]
        s.value[points[gain]], s.y[points[gain]] = now[gain], r.y[gain]
        with np.errstate(invalid="ignore"):
            moves = ~(np.abs(before - now) < 1e-12) & ~s.settled()[points] & (r.status != gp.INFEASIBLE)
        if not moves.any():
            return
        points, y, low, high, before = points[moves], r.y[moves], low[moves], high[moves], now[moves]


def _how(s: _State, count: int) -> dict[str, Any]:
    """What is asked of the kernel: a node that jams is cut, or its point left over, sooner than it is solved."""
    tol = ANY if s.any_design else EASIER if s.value_only and s.gap >= NODE_GAP else min(TIGHT, s.gap)
    content = np.ones(count, bool)
    return {"hurried": True, "max_iterations": ITERATIONS, "tol": tol, "content": content}


def _cut(s: _State, nodes: _Nodes, y: Array) -> _Nodes:
    """Cut nodes along the form whose secants are furthest off, or between two whole numbers."""
    if not nodes.point.size:
        return nodes
    errors = _errors(s, nodes, y)
    missing = np.maximum(s.value[nodes.point] - nodes.bound, 0.0)
    by_form = errors.max(1, initial=0.0) > np.minimum(COARSE, SHARE * missing)
    parts = []
    for v, d in s.discrete.items():
        down, up = neighbours(d, y[:, v], nodes.low[:, v], nodes.high[:, v])
        between = ~by_form & (up > down + 1e-13)
        parts += [_between(nodes.take(between), v, down[between], up[between])]
        width = (nodes.high - nodes.low)[:, s.forms].max(1, initial=0.0)
        whole = ~by_form & ~between & (width <= LEAST_WIDTH) & (nodes.high[:, v] - nodes.low[:, v] > 1e-13)
        parts += [_around(nodes.take(whole), v, d, down[whole])]
        by_form = ~between & ~whole
    if not s.discrete:
        by_form = np.ones(nodes.point.size, bool)
    parts.append(_graded(s, nodes.take(by_form), y[by_form], errors[by_form]))
    made = _Nodes(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(_Nodes)))
    for v, d in s.discrete.items():
        made = _snapped(made, v, d)
    return made


def _snapped(nodes: _Nodes, v: int, d: Decision) -> _Nodes:
    """Nodes shrunk to the allowed values of a variable inside; those without one go."""
    low, high = nodes.low.copy(), nodes.high.copy()
    everywhere = np.full(len(low), -np.inf), np.full(len(low), np.inf)
    low[:, v] = neighbours(d, nodes.low[:, v], *everywhere)[1]
    high[:, v] = neighbours(d, nodes.high[:, v], *everywhere)[0]
    # at the ends of a list there is no further value
    inside = (low[:, v] >= nodes.low[:, v] - 1e-8) & (high[:, v] <= nodes.high[:, v] + 1e-8)
    return _Nodes(nodes.point, low, high, nodes.bound).take(inside & (low[:, v] <= high[:, v]))


def _between(nodes: _Nodes, v: int, down: Array, up: Array) -> _Nodes:
    """Both sides of two neighbouring values."""
    below, above = nodes.high.copy(), nodes.low.copy()
    below[:, v], above[:, v] = down, up
    return _joined(nodes, [(nodes.low, below), (above, nodes.high)])


def _around(nodes: _Nodes, v: int, d: Decision, at: Array) -> _Nodes:
    """What is below, at and above a value."""
    less, more = (at - 1e-8, at + 1e-8)
    below = neighbours(d, less, np.full(at.size, -np.inf), np.full(at.size, np.inf))[0]
    above = neighbours(d, more, np.full(at.size, -np.inf), np.full(at.size, np.inf))[1]
    ends = []
    for a, b in ((nodes.low[:, v], below), (at, at), (above, nodes.high[:, v])):
        low, high = nodes.low.copy(), nodes.high.copy()
        low[:, v], high[:, v] = a, b
        ends.append((low, high))
    # at the ends of a list a value is its own neighbour
    made = _joined(nodes, ends)
    outer = np.repeat([True, False, True], nodes.point.size)
    same = np.tile(at, 3)
    own = (made.low[:, v] == same) & (made.high[:, v] == same)
    return made.take((made.low[:, v] <= made.high[:, v] + 1e-13) & ~(outer & own))


def _graded(s: _State, nodes: _Nodes, y: Array, errors: Array) -> _Nodes:
    """Cut along one form: finely where the best design is, ever wider away from it.

    A secant touches at its ends: between two ends far away the bound has risen by more than the secant is off.
    """
    i = s.forms[errors.argmax(1)] if nodes.point.size else np.zeros(0, int)
    each = np.arange(nodes.point.size)
    low, high = nodes.low[each, i], nodes.high[each, i]
    best = s.y[nodes.point][each, i]
    at = np.where(np.isnan(best), y[each, i], best)
    worst, half = errors.max(1, initial=0.0), (high - low) / 2
    # a secant is off by the square of its width
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where(worst > 0, half * np.sqrt(s.gap / (4 * worst)), half)
    step = np.clip(step, np.minimum(1e-7, half / 4), np.minimum(half / 4, LEAST_WIDTH / 3))
    away = step[:, None] * GRADE ** np.arange(GRADES)
    inside = (low <= at + step) & (at - step <= high)
    graded = np.concatenate([at[:, None] - away, at[:, None] + away], axis=1)
    far = np.maximum(low - at, at - high)[:, None]
    sign = np.where(at < low, 1.0, -1.0)[:, None]
    reach = far + (high - low)[:, None]
    outside = at[:, None] + sign * np.sqrt(np.maximum(far, step[:, None]) * reach)
    outside = np.where(
        (outside > low[:, None]) & (outside < high[:, None]), outside, (low + high)[:, None] / 2
    )
    cuts = np.where(inside[:, None], graded, np.repeat(outside, graded.shape[1], axis=1))
    cuts = np.sort(np.clip(cuts, low[:, None], high[:, None]), axis=1)
    edges = np.concatenate([low[:, None], cuts, high[:, None]], axis=1)
    ends = []
    for k in range(edges.shape[1] - 1):
        a, b = nodes.low.copy(), nodes.high.copy()
        a[each, i], b[each, i] = edges[:, k], edges[:, k + 1]
        ends.append((a, b))
    made = _joined(nodes, ends)
    spot = np.tile(i, len(ends))
    return made.take(made.high[np.arange(spot.size), spot] > made.low[np.arange(spot.size), spot])


def _joined(nodes: _Nodes, ends: list[tuple[Array, Array]]) -> _Nodes:
    """The same nodes with other boxes, one after the other."""
    times = len(ends)
    return _Nodes(
        np.tile(nodes.point, times),
        np.concatenate([low for low, _ in ends]),
        np.concatenate([high for _, high in ends]),
        np.tile(nodes.bound, times),
    )


def _errors(s: _State, nodes: _Nodes, y: Array) -> Array:
    """How far the secants along each form lie from the truth, at the relaxed optimum or midway (nodes, forms)."""
    low, high = nodes.low[:, s.forms], nodes.high[:, s.forms]
    z, middle = np.clip(y[:, s.forms], low, high), (low + high) / 2
    found = np.zeros(z.shape)
    for d in take(s.c, nodes.point).divisors:
        for i in np.flatnonzero((d.coordinates != 0).any(0)):
            left, right, inner = middle.copy(), middle.copy(), middle.copy()
            left[:, i], right[:, i] = low[:, i], high[:, i]
            for here in (z[:, i], middle[:, i]):
                inner[:, i] = here
                share = (here - low[:, i]) / np.maximum(high[:, i] - low[:, i], 1e-300)
                off = (1 - share) * d.height(left) + share * d.height(right) - d.height(inner)
                found[:, i] = np.maximum(found[:, i], off)
    return np.where(high - low > THIN, np.maximum(found, 1e-300), 0.0)
