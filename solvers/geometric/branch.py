"""Certified minimum of a structured problem: a geometric program, or a tree of them.

Each node is a geometric program: divisors that are sums are replaced by their secants (monomials above them), whole
numbers by their interval. Its Lagrangian bound is valid for all designs in the node; tangents and rounding give
designs. Open nodes are solved many at a time by the batched kernel.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Array, Canonical
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_together import Programs
from solvers.geometric.polishing import polish

FEASIBLE = 1e-9
BATCH = 64
NODES_BEFORE_LOOSE = 400
MOST_NODES = 12000
LOOSE = 8e-7
COARSE = 1e-4
SHARE = 0.1
NARROW = 1e-9
ROUNDING = 1e-12
STRICT = 1e-11
PARTS_OF_NODE, MOST_PARTS_OF_ROUNDED = 12, 24
WIDER = 1.6
"""How much wider a part is than its neighbour towards the relaxed design, near which the optimum mostly is."""
OPTIMAL, INFEASIBLE, FAILED = 0, 2, 3


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


@dataclass(frozen=True, slots=True)
class _Node:
    low: Array
    high: Array
    z_low: Array
    z_high: Array
    bound: float
    noise: float = 0.0
    force: Array | None = None

    def closes(self, best: float) -> bool:
        """Whether nothing in the node can beat ``best``, as far as floats can tell (dear limits magnify rounding)."""
        return self.bound + self.noise >= best


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


def minimise(
    c: Canonical,
    *,
    gap: float = 1e-10,
    incumbent: Array | None = None,
    below: float = np.inf,
    reached: Reached | None = None,
    most: int = MOST_NODES,
) -> Found:
    """Minimise the goal of ``c``; ``gap``: absolute, in the logarithm of the goal. ``incumbent``: a feasible start.

    After NODES_BEFORE_LOOSE nodes a search is content with the gap LOOSE, after ``most`` it ends where it is (counted
    in nodes, not in seconds, so that the same question always gets the same answer).

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
    return _search(c, gap, incumbent, below, reached or Reached(0.0), most)


@dataclass(frozen=True, slots=True)
class _Best:
    """The best design so far; ``strict``: it needs none of the slack that feasibility is granted."""

    y: Array | None
    value: float
    strict: bool = False

    def or_better(self, other: _Best) -> _Best:
        """A strict design replaces one with slack: where limits are dear, slack looks like a better design."""
        if other.strict != self.strict and self.y is not None:
            return other if other.strict else self
        return other if other.value < self.value else self


def _search(
    c: Canonical, gap: float, incumbent: Array | None, below: float, reached: Reached, most: int
) -> Found:
    # nodes live where relaxations are tight; designs are judged by the rows as they stand
    t = c.tighter or c
    z = canon.form_box(t, t.low[None], t.high[None])
    open_nodes = [_Node(t.low, t.high, z[0][0], z[1][0], -np.inf)]
    best, closed, count = _Best(None, below), np.inf, 0
    rounded: list[tuple[_Node, Array]] = []
    leaves: list[_Node] = []
    if incumbent is not None:
        best = _judged(c, incumbent)
    while (open_nodes and count < most) or rounded:
        gap = max(gap, LOOSE) if count > NODES_BEFORE_LOOSE else gap
        open_nodes.sort(key=lambda n: n.bound)
        room = BATCH if count < most else 0
        now, open_nodes = open_nodes[:room], open_nodes[room:]
        count += len(now)
        # designs from the nodes of the round before go to the kernel with the relaxations of this one
        solved, best = _solved(c, t, now, rounded, best, reached.level)
        if best.value < below < np.inf:
            return Found(OPTIMAL, best.y, best.value, -np.inf, count)
        if best.y is not None:
            reached.by(best.value)
        level = min(best.value, reached.level) - gap
        rounded = [(n, y) for n, y in solved if not n.closes(level)]
        closed = min([closed, *(n.bound for n, _ in solved if n.closes(level))])
        for node, y in rounded:
            children = _split(
                t,
                node,
                y,
                level + gap - node.bound,
                max(PARTS_OF_NODE, MOST_PARTS_OF_ROUNDED // len(rounded)),
            )
            if children is None:
                leaves.append(node)
            else:
                open_nodes += children
        closed = min([closed, *(n.bound for n in open_nodes if n.closes(level))])
        open_nodes = [n for n in open_nodes if not n.closes(level)]
    level = min(best.value, reached.level) - gap
    unsure = any(not n.closes(level) for n in leaves)
    bound = min([closed, best.value, *(n.bound for n in [*open_nodes, *leaves])])
    if best.y is None:
        return Found(FAILED if open_nodes or unsure else INFEASIBLE, None, np.inf, bound, count)
    done = not open_nodes and not unsure
    return Found(OPTIMAL if done else FAILED, best.y, best.value, bound, count)


def _solved(
    c: Canonical,
    t: Canonical,
    now: list[_Node],
    rounded: list[tuple[_Node, Array]],
    best: _Best,
    level: float,
) -> tuple[list[tuple[_Node, Array]], _Best]:
    """Nodes with what their relaxations say, where these have a point; and the best design, ``rounded`` ones too."""
    asked = [_relaxations(t, now)] if now else []
    asked += [_restrictions(c, rounded)] if rounded else []
    results = side_by_side.solve_all(asked)
    if rounded:
        best = _candidates(c, results.pop(), best, level)
    return (_bounded(now, results[0]) if now else []), best


def _judged(c: Canonical, y: Array) -> _Best:
    f = canon.values(c, y[None])[0]
    return _Best(y, float(f[0]), bool(f[1:].max(initial=-np.inf) <= STRICT))


def _relaxations(c: Canonical, nodes: list[_Node]) -> Programs:
    low, high = np.stack([n.low for n in nodes]), np.stack([n.high for n in nodes])
    a, b, ptr = canon.relaxation(c, np.stack([n.z_low for n in nodes]), np.stack([n.z_high for n in nodes]))
    return Programs(a if c.divisors else c.exponents, b, ptr, low, high, content=True)


def _bounded(nodes: list[_Node], r: gp.Result) -> list[tuple[_Node, Array]]:
    """Each node that its relaxation leaves, with its bound raised by it, and the relaxation's point."""
    out = []
    for i, n in enumerate(nodes):
        if r.status[i] == INFEASIBLE:
            continue
        bound = float(r.bound[i]) if r.status[i] == OPTIMAL or np.isfinite(r.bound[i]) else -np.inf
        if r.status[i] == FAILED:
            bound = min(bound, float(r.value[i]))
        noise = ROUNDING * float(r.multipliers[i].sum()) if r.status[i] == OPTIMAL else 0.0
        solved = dataclasses.replace(n, bound=max(n.bound, bound), noise=noise, force=r.multipliers[i])
        out.append((solved, r.y[i]))
    return out


def _restrictions(c: Canonical, nodes: list[tuple[_Node, Array]]) -> Programs:
    """Round what must be whole at relaxed points, and ask for the restriction there."""
    low: list[Array] = []
    high: list[Array] = []
    at: list[Array] = []
    for node, y in nodes:
        for rounding in ("near", "down", "up") if c.allowed else ("near",):
            lo, hi, point = (part[: len(c.names)].copy() for part in (node.low, node.high, y))
            for v in c.allowed:
                point[v] = lo[v] = hi[v] = _round(c, v, y[v], node.low[v], node.high[v], rounding)
            if not any(np.array_equal(point, p) for p in at):
                low.append(lo)
                high.append(hi)
                at.append(point)
    a, b = canon.restriction(c, np.stack(at))
    return Programs(a if c.divisors else c.exponents, b, c.ptr, np.stack(low), np.stack(high), content=True)


def _candidates(c: Canonical, r: gp.Result, best: _Best, level: float) -> _Best:
    """The best design, of those at the ends of restrictions, too; the first of all has to be below ``level``."""
    f = canon.values(c, r.y)
    violation = f[:, 1:].max(1, initial=-np.inf)
    for i in np.flatnonzero(violation <= FEASIBLE):
        if f[i, 0] < (level if best.y is None else np.inf) and (f[i, 0] < best.value or not best.strict):
            best = best.or_better(_judged(c, _sharp(c, r, int(i))))
    return best


def _sharp(c: Canonical, r: gp.Result, i: int) -> Array:
    """Give back the slack that the kernel grants."""
    y = r.y[i]
    at_end = (r.lower_multipliers[i] > y - c.low) | (r.upper_multipliers[i] > c.high - y)
    at_end[list(c.allowed)] = True
    return polish(canon.of_many(c), y[None], r.multipliers[[i]], at_end[None]).y[0]


def _round(c: Canonical, v: int, y: float, low: float, high: float, rounding: str) -> float:
    logs = c.allowed[v]
    if logs is None:
        x, slack = np.exp(y), 1e-9
        whole = {"near": np.round(x), "down": np.floor(x * (1 + slack)), "up": np.ceil(x * (1 - slack))}[
            rounding
        ]
        return float(np.clip(np.log(max(whole, 1.0)), low, high))
    inside = logs[(logs >= low - 1e-12) & (logs <= high + 1e-12)]
    if rounding == "near":
        return float(inside[np.abs(inside - y).argmin()])
    place = np.searchsorted(inside, y + (1e-9 if rounding == "down" else -1e-9))
    return float(inside[np.clip(place - (rounding == "down"), 0, inside.size - 1)])


def _split(c: Canonical, node: _Node, y: Array, missing: float, parts: int) -> list[_Node] | None:
    """Children that share the node's designs; None where nothing is left to branch on.

    ``missing``: what the node's bound lacks to close it. A form whose secants explain a good part of that comes
    before whole numbers, which would be cut off one by one. ``parts``: into how many a form is cut.
    """
    errors = _form_errors(c, node, y)
    if errors.max(initial=0.0) > min(COARSE, SHARE * missing):
        return _split_form(c, node, int(errors.argmax()), y, parts)
    for v in sorted(c.allowed, key=lambda i: node.low[i] - node.high[i]):
        down, up = (_round(c, v, y[v], node.low[v], node.high[v], way) for way in ("down", "up"))
        if up > down + 1e-13:
            return [_cut(c, node, v, node.low[v], down), _cut(c, node, v, up, node.high[v])]
    width = node.z_high - node.z_low
    if width.max(initial=0.0) > NARROW:
        wide = errors if errors.max() > 1e-12 else width
        return _split_form(c, node, int(wide.argmax()), y, parts)
    for v in c.allowed:
        if node.high[v] - node.low[v] > 1e-13:
            return _split_whole(c, node, v, float(y[v]))
    return None


def _split_form(c: Canonical, node: _Node, i: int, y: Array, parts: int) -> list[_Node]:
    """Cut a form's interval into parts: the kernel takes many nodes at once, and the error falls with the square."""
    alone = np.flatnonzero(c.forms[i])
    if alone.size == 1 and int(alone[0]) in c.allowed:
        margin = 0.2 * (node.z_high[i] - node.z_low[i])
        middle = float(np.clip(c.forms[i] @ y, node.z_low[i] + margin, node.z_high[i] - margin))
        return _split_whole(c, node, int(alone[0]), middle)
    cuts = _around(float(node.z_low[i]), float(node.z_high[i]), float(c.forms[i] @ y), parts // 2)
    return [_cut_form(c, node, i, low, high) for low, high in itertools.pairwise(cuts.tolist())]


def _around(low: float, high: float, z: float, parts: int) -> Array:
    """Ends of parts of an interval, wider and wider on both sides of the one that ``z`` is in the middle of."""
    shares = np.cumsum(WIDER ** np.arange(parts))
    shares /= shares[-1]
    z, least = min(max(z, low), high), 0.5 * shares[0] * (high - low)
    below = z - shares * (z - low) if z - low > least else np.array([low])
    above = z + shares * (high - z) if high - z > least else np.array([high])
    return np.concatenate([[low], below[-2::-1], above[:-1], [high]])


def _split_whole(c: Canonical, node: _Node, v: int, y: float) -> list[_Node]:
    """Below, at and above the value of a discrete variable that is nearest to y."""
    at = _round(c, v, y, node.low[v], node.high[v], "near")
    below, above = _neighbours(c, v, at)
    parts = ((node.low[v], below), (at, at), (above, node.high[v]))
    return [_cut(c, node, v, low, high) for low, high in parts if low <= high + 1e-13]


def _neighbours(c: Canonical, v: int, at: float) -> tuple[float, float]:
    logs = c.allowed[v]
    if logs is None:
        x = np.round(np.exp(at))
        return (float(np.log(x - 1)) if x > 1 else -np.inf), float(np.log(x + 1))
    i = int(np.abs(logs - at).argmin())
    below = logs[i - 1] if i > 0 else -np.inf
    above = logs[i + 1] if i + 1 < logs.size else np.inf
    return float(below), float(above)


def _form_errors(c: Canonical, node: _Node, y: Array) -> Array:
    """How far each form's secants lie from the truth at y; zero for intervals too narrow to split."""
    z, width = c.forms @ y, node.z_high - node.z_low
    error = np.zeros(width.size)
    for d in c.divisors:
        # a row that only helps is worth refining where it pushes
        share = 1.0 if node.force is None or d.row <= c.own else min(1.0, float(node.force[d.row - 1]))
        for i in np.flatnonzero(np.any(d.coordinates != 0, axis=0)):
            ends = np.stack([z, z])
            ends[0, i], ends[1, i] = node.z_low[i], node.z_high[i]
            h = d.height(ends)
            t = np.clip((z[i] - node.z_low[i]) / max(width[i], 1e-300), 0.0, 1.0)
            error[i] += share * ((1 - t) * h[0] + t * h[1] - float(d.height(z)))
    return np.where(width > NARROW, np.maximum(error, 0.0), 0.0)


def _cut(c: Canonical, node: _Node, v: int, low: float, high: float) -> _Node:
    lo, hi = node.low.copy(), node.high.copy()
    lo[v], hi[v] = low, high
    return _tightened(c, lo, hi, node.z_low, node.z_high, node.bound)


def _cut_form(c: Canonical, node: _Node, i: int, low: float, high: float) -> _Node:
    lo, hi, z_low, z_high = node.low.copy(), node.high.copy(), node.z_low.copy(), node.z_high.copy()
    z_low[i], z_high[i] = low, high
    alone = np.flatnonzero(c.forms[i])
    if alone.size == 1:
        lo[alone[0]], hi[alone[0]] = low, high
    return _tightened(c, lo, hi, z_low, z_high, node.bound)


def _tightened(c: Canonical, lo: Array, hi: Array, z_low: Array, z_high: Array, bound: float) -> _Node:
    a, b = canon.form_box(c, lo[None], hi[None])
    return _Node(lo, hi, np.maximum(z_low, a[0]), np.minimum(z_high, b[0]), bound)
