"""Nodes of a branch and bound over many points: parts of their boxes, and how these are cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Canonical
from formulations.grids.divided import take
from solvers.geometric.kernel.formulas import FEASIBLE
from solvers.geometric.kernel.gp_terms import ends_at_level, lagrangian, lagrangian_bound, terms
from solvers.geometric.kernel.gp_together import Programs
from solvers.outcome import INFEASIBLE
from solvers.patterns import Rows, joined, ranks

COARSE, SHARE = 1e-4, 0.1
"""A form is cut where its secants are off by this, or by this share of what the bound lacks."""
NARROW, WIDTH_OF_A_VALUE = 1e-9, 1e-13
"""Widths of an interval of a form, and of a discrete variable, in logs, that are not cut."""
FINEST = 1e-4
"""A narrower part, in logs, takes the kernel longer than it saves nodes."""
GRADES, GRADE = 9, 4.0
"""Parts of a form on each side of the best design, and how much wider one is than its neighbour towards it."""
GRADE_UNKNOWN = 64.0
"""The same where no design is known and nodes cost more than calls: as a rule all parts are refuted."""
LEAST_WIDTH = 2.5e-3
"""A node that may hold designs as good as the best is cut until it is as narrow as this, to see how far they reach."""
VALUE_SLACK = 1e-9
"""In logs: so far from an allowed value counts as there."""


@dataclass(frozen=True, slots=True)
class Nodes(Rows):
    """Parts of boxes: of which point (N,), from where to where (N, n), the intervals of forms there (N, q), and a
    bound of the goal (N,).
    """  # noqa: D205

    point: Indices
    low: Array
    high: Array
    z_low: Array
    z_high: Array
    bound: Array


@dataclass(frozen=True, slots=True)
class Relaxed(Rows):
    """What relaxations of nodes say: their designs, the multipliers of rows, and how much of the bound is rounding
    (dear limits magnify it).
    """  # noqa: D205

    y: Array
    force: Array
    noise: Array


def roots(c: Canonical) -> Nodes:
    """Return the whole box of every point that has one."""
    some = np.flatnonzero((c.low <= c.high + 1e-12).all(1))
    low, high = c.low[some], c.high[some]
    return Nodes(some, low, high, *canon.form_box(c, low, high), np.full(some.size, -np.inf))


@dataclass(frozen=True, slots=True)
class Held(Rows):
    """Programs without divisors with whole numbers held, solved: of which point, designs, multipliers and statuses."""

    point: Indices
    y: Array
    force: Array
    status: Codes


def bounded_beside(c: Canonical, nodes: Nodes, held: Held, level: Array | None = None) -> Nodes:
    """Return nodes whose bounds are raised to what ``held`` says of those in which its designs lie.

    A Lagrangian bound is valid whatever its multipliers. With those of the least design at an end of a node, in a
    convex program, it is the least of the node; with those that prove that there is none, it proves so of the node.
    ``level`` (N,): nodes are made as small as what may lie below it.
    """
    order = np.argsort(held.point, kind="stable")
    first, last = (np.searchsorted(held.point[order], nodes.point, side) for side in ("left", "right"))
    node = np.repeat(np.arange(nodes.point.size), last - first)
    held = held.take(order[first[node] + ranks(node)])
    whole = list(c.allowed)
    y, low, high = held.y[:, whole], nodes.low[node][:, whole], nodes.high[node][:, whole]
    inside = ((low - WIDTH_OF_A_VALUE <= y) & (y <= high + WIDTH_OF_A_VALUE)).all(1)
    node, held = node[inside], held.take(inside)
    own, low, high = take(c, held.point), nodes.low[node], nodes.high[node]
    bound = lagrangian_bound(own.exponents, own.logc, own.ptr, low, high, held.y, held.force)
    none = np.flatnonzero(held.status == INFEASIBLE)
    if none.size:
        force, without = np.maximum(held.force[none], 0.0), take(own, none)
        T = terms(without.exponents, without.logc, without.ptr)
        with np.errstate(all="ignore"):
            miss = lagrangian(T, low[none], high[none], held.y[none], force, 0.0) / force.sum(1)
        bound[none] = np.where(miss > FEASIBLE, np.inf, bound[none])
    raised = nodes.bound.copy()
    np.fmax.at(raised, node, bound)
    if level is None:
        return replace(nodes, bound=raised)
    ends = ends_at_level(own.exponents, own.logc, own.ptr, low, high, held.y, held.force, level[node])
    least, most = nodes.low.copy(), nodes.high.copy()
    np.maximum.at(least, node, ends[0])
    np.minimum.at(most, node, ends[1])
    least, most = allowed_within(c, least, most, nodes.low, nodes.high)
    return replace(nodes, low=least, high=most, bound=raised)


def values_beside(logs: Array | None, y: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Logarithms of the allowed values at or below, and at or above, exp(y), between ``low`` and ``high``; ``logs``: of
    listed values, None: all whole numbers.
    """  # noqa: D205
    if logs is None:
        x = np.exp(np.minimum(y, canon.LOG_BOX))
        below = np.log(np.maximum(np.floor(x * (1 + VALUE_SLACK)), 1.0))
        above = np.log(np.maximum(np.ceil(x * (1 - VALUE_SLACK)), 1.0))
    else:
        last = logs.size - 1
        below = logs[np.clip(np.searchsorted(logs, y + VALUE_SLACK, side="right") - 1, 0, last)]
        above = logs[np.clip(np.searchsorted(logs, y - VALUE_SLACK), 0, last)]
    # several times as fast as clip
    return np.minimum(np.maximum(below, low), high), np.minimum(np.maximum(above, low), high)


def allowed_ends(logs: Array | None, low: Array, high: Array) -> tuple[Array, Array]:
    """Logarithms of the first and the last allowed value between two ends."""
    everywhere = np.full(low.shape, -np.inf), np.full(low.shape, np.inf)
    return values_beside(logs, low, *everywhere)[1], values_beside(logs, high, *everywhere)[0]


def allowed_within(c: Canonical, low: Array, high: Array, least: Array, most: Array) -> tuple[Array, Array]:
    """Ends, which are changed, at allowed values between ``least`` and ``most``; these cross where there are none."""
    for v, logs in c.allowed.items():
        low[:, v] = values_beside(logs, low[:, v], least[:, v], most[:, v])[1]
        high[:, v] = values_beside(logs, high[:, v], least[:, v], most[:, v])[0]
    return low, high


def rounded(logs: Array | None, y: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Logarithms of the allowed values that are nearest to exp(y), at or below it, at or above (``values_beside``)."""
    below, above = values_beside(logs, y, low, high)
    if logs is None:
        near = np.minimum(np.maximum(np.log(np.maximum(np.round(np.exp(y)), 1.0)), low), high)
    else:
        near = np.where(y - below <= above - y, below, above)
    return near, below, above


def restrictions(c: Canonical, nodes: Nodes, relaxed: Relaxed) -> tuple[Indices, Programs]:
    """Round what must be whole at relaxed points, and ask for the restriction there; also says of which points."""
    n = len(c.names)
    at, points, which = relaxed.y[:, :n], nodes.point, np.arange(len(relaxed.y))
    if c.allowed:
        ways = [at.copy() for _ in range(3)]
        for v, logs in c.allowed.items():
            found = rounded(logs, at[:, v], nodes.low[:, v], nodes.high[:, v])
            for y, value in zip(ways, found, strict=True):
                y[:, v] = value
        every = np.column_stack([np.tile(which, 3), np.concatenate(ways)])
        alike = every.view(np.dtype((np.void, every.strides[0]))).ravel()
        first = np.sort(np.unique(alike, return_index=True)[1])
        at, points = every[first, 1:], np.tile(points, 3)[first]
    own, held = take(c, points), np.zeros(n, bool)
    held[list(c.allowed)] = True
    low, high = (np.where(held, at, end) for end in (own.low, own.high))
    a, b = canon.restriction(own, at)
    return points, Programs(a, b, c.ptr, low, high, content=True)


def _next_values(logs: Array | None, at: Array) -> tuple[Array, Array]:
    """The allowed values before and after one; infinite where there is none."""
    if logs is None:
        x = np.round(np.exp(at))
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(x - 1.0, 0.0)), np.log(x + 1.0)
    ends = np.concatenate([[-np.inf], logs, [np.inf]])
    i = np.abs(logs - at[:, None]).argmin(1)
    return ends[i], ends[i + 2]


def cut(
    c: Canonical,
    nodes: Nodes,
    relaxed: Relaxed,
    missing: Array,
    best: Array,
    gap: float,
    grade: tuple[float, float],
) -> tuple[Nodes, Bools]:
    """Children that share the nodes' designs, and which nodes have nothing left to cut.

    ``c``: the program of each node. ``missing``: what bounds lack to close nodes. ``best``: the best design of each
    node's point, as far as there is one. ``gap``: what is closed to this is closed. ``grade``: of parts, and
    where no design is known.
    A form whose secants explain a good part of what is missing comes before whole numbers, which would be cut off one
    by one.
    """
    y, count = relaxed.y, len(relaxed.y)
    form, pair, around = (np.full(count, -1) for _ in range(3))
    at, worst, z = np.zeros(count), np.zeros(count), np.zeros((count, 0))
    width = nodes.z_high - nodes.z_low
    some_form = width.shape[1] > 0
    if some_form:
        z = np.einsum("pi,qi->pq", y, c.forms)
        errors = _form_errors(c, nodes, relaxed, z)
        worst = errors.max(1)
        form = np.where(worst > np.minimum(COARSE, SHARE * missing), errors.argmax(1), -1)
    beside = {v: values_beside(c.allowed[v], y[:, v], nodes.low[:, v], nodes.high[:, v]) for v in c.allowed}
    widest = np.full(count, -np.inf)
    for v, (down, up) in beside.items():
        size = nodes.high[:, v] - nodes.low[:, v]
        takes = (form < 0) & (up > down + WIDTH_OF_A_VALUE) & (size > widest)
        pair[takes], widest[takes] = v, size[takes]
    if some_form:
        still = (form < 0) & (pair < 0) & (width.max(1) > NARROW)
        form = np.where(still, np.where((worst > 1e-12)[:, None], errors, width).argmax(1), form)
    rest = (form < 0) & (pair < 0)
    for v in c.allowed:
        takes = rest & (around < 0) & (nodes.high[:, v] - nodes.low[:, v] > WIDTH_OF_A_VALUE)
        around[takes], at[takes] = v, y[takes, v]
    leaf = rest & (around < 0)
    for i, v in _single(c).items() if c.allowed else ():
        if v in c.allowed:
            takes = form == i
            margin = 0.2 * width[takes, i]
            at[takes] = np.clip(z[takes, i], nodes.z_low[takes, i] + margin, nodes.z_high[takes, i] - margin)
            around[takes], form[takes] = v, -1
    made = []
    for v, (down, up) in beside.items():
        some = np.flatnonzero(pair == v)
        if some.size:
            ends = [(nodes.low[some, v], down[some]), (up[some], nodes.high[some, v])]
            made += _within(c, nodes.take(some), v, ends)
        some = np.flatnonzero(around == v)
        if some.size:
            low, high = nodes.low[some, v], nodes.high[some, v]
            here, *_ = rounded(c.allowed[v], at[some], low, high)
            below, above = _next_values(c.allowed[v], here)
            made += _within(c, nodes.take(some), v, [(low, below), (here, here), (above, high)])
    reached = np.einsum("pi,qi->pq", best, c.forms[:, : best.shape[1]]) if some_form else z
    none = np.isnan(reached)
    centre, grades = np.where(none, z, reached), np.where(none, *grade[::-1])
    for i in range(width.shape[1]):
        some = np.flatnonzero(form == i)
        if some.size:
            low, high = nodes.z_low[some, i], nodes.z_high[some, i]
            edges = _graded(low, high, centre[some, i], worst[some], gap, grades[some, i])
            made += _cut_form(c, nodes.take(some), i, edges)
    return joined([nodes.take(leaf[:0]), *made]), leaf


def _single(c: Canonical) -> dict[int, int]:
    """Forms that are one variable alone: which."""
    return {i: int(np.flatnonzero(f)[0]) for i, f in enumerate(c.forms) if np.count_nonzero(f) == 1}


def _within(c: Canonical, nodes: Nodes, v: int, ends: Sequence[tuple[Array, Array]]) -> list[Nodes]:
    """Parts of nodes along one variable; those that are empty go."""
    made = []
    for a, b in ends:
        there = np.flatnonzero(a <= b + WIDTH_OF_A_VALUE)
        if there.size:
            own = nodes.take(there)
            low, high = own.low.copy(), own.high.copy()
            low[:, v], high[:, v] = a[there], b[there]
            made.append(_tightened(c, own, low, high, own.z_low, own.z_high))
    return made


def _cut_form(c: Canonical, nodes: Nodes, i: int, edges: Array) -> list[Nodes]:
    """Parts of nodes between neighbouring ``edges`` (N, k) of the interval of one form; those without width go."""
    which, part = np.nonzero(edges[:, 1:] > edges[:, :-1])
    own, a, b = nodes.take(which), edges[which, part], edges[which, part + 1]
    low, high, z_low, z_high = (x.copy() for x in (own.low, own.high, own.z_low, own.z_high))
    z_low[:, i], z_high[:, i] = a, b
    alone = _single(c).get(i)
    if alone is not None:
        low[:, alone], high[:, alone] = a, b
    return [_tightened(c, own, low, high, z_low, z_high)]


def _tightened(c: Canonical, nodes: Nodes, low: Array, high: Array, z_low: Array, z_high: Array) -> Nodes:
    a, b = canon.form_box(c, low, high)
    return Nodes(nodes.point, low, high, np.maximum(z_low, a), np.minimum(z_high, b), nodes.bound)


def _graded(low: Array, high: Array, at: Array, worst: Array, gap: float, grade: Array) -> Array:
    """Ends of parts of an interval: finely where the best design is, ever wider away from it.

    A secant touches at its ends: between two ends far away the bound has risen by more than the secant is off.
    """
    half = (high - low) / 2
    # a secant is off by the square of its width
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where(worst > 0, half * np.sqrt(gap / (4 * worst)), half)
    step = np.clip(step, np.minimum(FINEST, half / 4), np.minimum(half / 4, LEAST_WIDTH / 3))
    away = step[:, None] * grade[:, None] ** np.arange(GRADES)
    inside = (low <= at + step) & (at - step <= high)
    graded = np.concatenate([at[:, None] - away[:, ::-1], at[:, None] + away], axis=1)
    far = np.maximum(low - at, at - high)
    sign = np.where(at < low, 1.0, -1.0)
    reach = far + (high - low)
    with np.errstate(invalid="ignore"):
        outside = at + sign * np.sqrt(np.maximum(far, step) * reach)
    outside = np.where((outside > low) & (outside < high), outside, (low + high) / 2)
    cuts = np.where(inside[:, None], graded, outside[:, None])
    cuts = np.clip(cuts, low[:, None], high[:, None])
    return np.concatenate([low[:, None], cuts, high[:, None]], axis=1)


def _form_errors(c: Canonical, nodes: Nodes, relaxed: Relaxed, z: Array) -> Array:
    """How far each form's secants lie from the truth at the relaxed designs (N, q); zero where too narrow to cut."""
    width, force = nodes.z_high - nodes.z_low, relaxed.force
    error = np.zeros(width.shape)
    for d in c.divisors:
        # a row that only helps is worth refining where it pushes
        share = 1.0 if d.row <= c.own else np.minimum(1.0, force[:, d.row - 1])
        there = d.height(z)
        for i in np.flatnonzero(np.any(d.coordinates != 0, axis=0)):
            left, right = z.copy(), z.copy()
            left[:, i], right[:, i] = nodes.z_low[:, i], nodes.z_high[:, i]
            t = np.clip((z[:, i] - left[:, i]) / np.maximum(width[:, i], 1e-300), 0.0, 1.0)
            error[:, i] += share * ((1 - t) * d.height(left) + t * d.height(right) - there)
    return np.where(width > NARROW, np.maximum(error, 0.0), 0.0)
