"""Limits that may fail in some samples, of geometric programs at N points at once: branch and bound over nodes.

Of W samples a limit f(x) <= 1 (posynomials with the same exponents) may fail in k. In a node, in which F samples
certainly fail, let sample r be such that k - F + 1 others or itself are no less than exp(l) times it everywhere in the
node. One of these must hold, so that exp(l) f_r(x) <= 1 for every design: a row of a geometric program. How a sample
compares to r is a mean of the ratios of their coefficients, weighed by the shares of the terms in f_r, of which the
node has bounds. As a node shrinks to where designs are better than the best, the order of samples settles there, l
becomes 0, and the bound is exact. Limits that hold in every sample are those with k = 0.

Designs are the optima without the samples that fail most at a relaxed design, by the masters of many points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.posynomial import ONE, Posynomial
from formulations.canonical import Canonical
from formulations.grids.divided import take
from formulations.tolerances import HOLDS, TIE
from formulations.uncertainty import world_cuts
from formulations.uncertainty.measures import WORST
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.wanted import Chance
from formulations.uncertainty.worlds import few_at_once
from solvers.geometric.kernel.gp_terms import ends_at_level
from solvers.geometric.kernel.gp_together import ITERATIONS
from solvers.geometric.programs import nodes as parts
from solvers.geometric.programs import tree
from solvers.geometric.programs.nodes import Nodes, Relaxed
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms import conflicts
from solvers.outcome import INFEASIBLE, OPTIMAL
from solvers.robust.masters import at_points, robust_caps
from solvers.robust.masters.at_points import Optima
from solvers.robust.masters.levels import FARTHEST, giving, without_failing
from solvers.robust.masters.master import WORLD_BROKEN, Master, along, in_first

CHANCE_NODES, CHANCE_NODES_AT_ONCE = 400, 8
CHANCE_GAP = 2e-7
"""What closes a search, in logs; a node's bound is raised nearer to the best design where that costs no node."""
BETTER_CHOICE = 5e-9
"""What is better by less, in logs, is of no interest: a whole number that is as good as the best is not tried."""
RANKS = 2
"""Samples of each limit that make rows of a node: the one up to which may fail, and easier ones."""
COMPARED = 64
"""Samples beyond those that may fail that are compared with one that makes a row."""
NODE_PASSES, PASSES_OF_ROOT, PASSES_BEFORE_ENDS = 8, 2, 1
"""Times that a node is bounded before it is cut, while it shrinks by half; a root before a design is sought; and after
so many the ends of a node are searched."""
SOLVER, PROOF = "dse cuts over samples", "branch and bound over nodes of geometric programs"
LOG_HOLDS, LOST_IN_ROWS = float(np.log1p(HOLDS)), 1e-12


@dataclass(frozen=True, slots=True)
class _Programs:
    """What is asked at P points: rows of terms with coefficients ``logs`` (K, P, W), and which of them may fail.

    ``groups``: how many samples may fail, and which rows do together. ``fixed``: rows that are the same in all samples.
    ``tried``: at each point the samples without which the best design is known. ``near`` (P, n): a relaxed design of
    each, NaN before there is one. ``enough``: a design need be no better.
    ``asked``: at which points it was asked whether any design holds, ``refuted``: where none does.
    """

    master: Master
    chances: Sequence[Chance]
    solve: Solver
    c: Canonical
    logs: Array
    fixed: Sequence[int]
    groups: Sequence[tuple[int, Sequence[int]]]
    tried: Sequence[set[tuple[bytes, ...]]]
    near: Array
    enough: float
    asked: Bools
    refuted: Bools

    @property
    def rows(self) -> list[int]:
        """The rows of a node's program, the goal first."""
        return [0, *self.fixed, *(q for _, rows in self.groups for q in rows for _ in range(RANKS))]

    def terms(self, row: int) -> slice:
        """The terms of a row."""
        return slice(int(self.c.ptr[row]), int(self.c.ptr[row + 1]))

    def bounded(self, nodes: Nodes, level: Array) -> tuple[Nodes, Relaxed, Array]:
        """Bound nodes, and shrink them to where designs may be better than ``level``."""
        rows = self.rows
        exponents = np.concatenate([self.c.exponents[self.terms(q)] for q in rows])
        ptr = np.cumsum([0, *(self.c.ptr[q + 1] - self.c.ptr[q] for q in rows)])
        low, high, bound = nodes.low.copy(), nodes.high.copy(), nodes.bound.copy()
        some, near = np.arange(bound.size), self.near[nodes.point]
        y = np.where(np.isnan(near), (low + high) / 2, np.clip(near, low, high))
        # a design may be found at once, which ends the search or gives a level to shrink to
        fresh = np.isneginf(bound) & ~np.isfinite(level)
        # what no design meets even with slack is refuted; a bound beside a design has none, which dear limits magnify
        slack = np.where(np.isfinite(level), 0.0, LOG_HOLDS)
        better = BETTER_CHOICE if self.c.allowed else 0.0
        most, level = level - better, np.minimum(level, self.enough) - better
        logc = np.zeros((0, ptr[-1]))
        for k in range(NODE_PASSES):
            if k == PASSES_BEFORE_ENDS:
                worth = np.where(fresh[some], np.inf, level[some])
                low[some], high[some] = self._ends(exponents, logc, ptr, low[some], high[some], worth)
            every = [
                self._coefficients(nodes.point[own], low[own], high[own], y[own], slack[own])
                for own in (some[few] for few in few_at_once(some.size, self.logs.shape[2]))
            ]
            logc, dead = (np.concatenate(of) for of in zip(*every, strict=True))
            enough = np.where(np.isfinite(level[some]), level[some] - LOG_HOLDS, np.nan)
            r = self.solve(
                exponents, logc, ptr, low[some], high[some],
                hurried=True, content=np.ones(some.size, bool), enough=enough,
            )  # fmt: skip
            proved = np.where(np.isfinite(r.bound), r.bound, -np.inf)
            bound[some] = np.where(dead | (r.status == INFEASIBLE), np.inf, np.maximum(bound[some], proved))
            y[some] = r.y
            inner = ends_at_level(
                exponents, logc, ptr, low[some], high[some], r.y, r.multipliers, level[some]
            )
            if self.master.eased:
                # the factor is what is minimised
                inner[0][:, -1] = np.maximum(inner[0][:, -1], proved)
                inner[1][:, -1] = np.minimum(inner[1][:, -1], level[some])
            inner = parts.allowed_within(self.c, *inner, low[some], high[some])
            empty = np.asarray((inner[0] > inner[1]).any(1))
            bound[some] = np.where(empty, np.maximum(bound[some], level[some]), bound[some])
            bound[some] = np.where(bound[some] >= self.enough, np.inf, bound[some])
            half = (high[some] - low[some]) / 2
            shrinks = np.asarray((inner[1] - inner[0] < half).any(1)) | (k < PASSES_BEFORE_ENDS)
            shrinks &= ~fresh[some] | (k + 1 < PASSES_OF_ROOT)
            low[some], high[some] = (
                np.where(empty[:, None], was[some], now) for was, now in zip((low, high), inner, strict=True)
            )
            shrinks &= bound[some] < level[some] - CHANCE_GAP
            some, logc = some[shrinks], logc[shrinks]
            if not some.size:
                break
        self.near[nodes.point] = y
        nothing = np.zeros((bound.size, 0)), np.zeros(bound.size)
        inner_nodes = replace(nodes, low=low, high=high, z_low=low, z_high=high)
        return inner_nodes, Relaxed(y, *nothing), np.minimum(bound, most)

    def _ends(
        self, exponents: Array, logc: Array, ptr: Indices, low: Array, high: Array, level: Array
    ) -> tuple[Array, Array]:
        """Ends of each number over the designs of programs that are better than ``level``, where that is finite."""
        some = np.flatnonzero(np.isfinite(level))
        low, high = low.copy(), high.copy()
        if not some.size:
            return low, high
        n = low.shape[1]
        # one goal of a term for each number and end, of which each program has one: they are solved in one call
        aims = np.repeat(np.where(np.eye(2 * n) > 0, 0.0, -np.inf), some.size, axis=0)
        rows = np.tile(logc[some], (2 * n, 1))
        rows[:, : ptr[1]] -= np.tile(level[some], 2 * n)[:, None]
        r = self.solve(
            np.concatenate([np.eye(n), -np.eye(n), exponents]), np.concatenate([aims, rows], axis=1),
            np.append(0, ptr + 2 * n), np.tile(low[some], (2 * n, 1)), np.tile(high[some], (2 * n, 1)),
            hurried=True, max_iterations=ITERATIONS, content=np.ones(len(rows), bool),
        )  # fmt: skip
        ends = np.where(np.isfinite(r.bound) & (r.status != INFEASIBLE), r.bound, -np.inf)
        least, most = ends.reshape(2, n, some.size).transpose(0, 2, 1)
        low[some], high[some] = np.maximum(low[some], least), np.minimum(high[some], -most)
        low[some], high[some] = parts.allowed_within(self.c, low[some], high[some], low[some], high[some])
        crossed = np.asarray((low > high).any(1))
        return np.where(crossed[:, None], high, low), np.where(crossed[:, None], low, high)

    def _coefficients(
        self, point: Indices, low: Array, high: Array, at: Array, slack: Array
    ) -> tuple[Array, Bools]:
        """Coefficients of the programs of nodes, with the order of samples ``at`` some design; and which have none.

        ``slack`` (B,): of limits, in logs.
        """
        found = [self.c.logc[point, self.terms(q)] for q in (0, *self.fixed)]
        dead = self.refuted[point]
        for may_fail, rows in self.groups:
            values, fails = [], np.zeros((point.size, self.logs.shape[2]), bool)
            for q in rows:
                value, least = self._in_samples(q, point, low, high, at)
                fails |= least > LOG_HOLDS
                values.append(value)
            spare = may_fail - np.count_nonzero(fails, axis=1)
            dead |= spare < 0
            spare = np.maximum(np.asarray(spare), 0)
            for q, value in zip(rows, values, strict=True):
                among = _least(np.where(fails, np.inf, -value), may_fail + COMPARED)
                of = np.stack([logs[point[:, None], among] for logs in self.logs[self.terms(q)]], axis=-1)
                here = ~np.take_along_axis(fails, among, 1)
                found += [r - slack[:, None] for r in self._necessary(q, of, here, spare, low, high)]
        return np.concatenate(found, axis=1), dead

    def _in_samples(
        self, row: int, point: Indices, low: Array, high: Array, at: Array
    ) -> tuple[Array, Array]:
        """Logarithms (B, W) of a row in every sample at a design, and below it everywhere in nodes, by its tangent."""
        terms = self.terms(row)
        exponents = self.c.exponents[terms]
        t = self.logs[terms, point] + (at[:, None] * exponents).sum(-1).T[..., None]
        top = t.max(0)
        weight = np.exp(t - top)
        total = weight.sum(0)
        value = top + np.log(total)
        least = value - LOST_IN_ROWS
        for v, a in enumerate(exponents.T):
            if a.any():
                slope = sum(x * w for x, w in zip(a, weight, strict=True) if x) / total
                ends = (slope * (end[:, v] - at[:, v])[:, None] for end in (low, high))
                least = least + np.minimum(*ends)
        return value, least

    def _necessary(
        self, row: int, of: Array, here: Bools, spare: Indices, low: Array, high: Array
    ) -> list[Array]:
        """Coefficients of rows that hold in nodes; ``of`` (B, S, k): those of samples ``here``, the hardest first."""
        exponents, every = self.c.exponents[self.terms(row)], np.arange(spare.size)
        apart = exponents[:, None] - exponents
        ends = [apart * end[:, None, None] for end in (low, high)]
        near, far = (f(*ends).sum(-1) for f in (np.minimum, np.maximum))
        found = []
        for rank in range(RANKS):
            r = np.minimum(spare + rank, of.shape[1] - 1)
            one = of[every, r]
            against = one[:, :, None] - one[:, None]
            with np.errstate(over="ignore"):
                # shares of the terms: of term j one over the sum of all, relative to it
                least, most = (1.0 / np.exp(against + d).sum(1) for d in (far, near))
            ratio = np.exp(of - one[:, None])
            middle = (ratio * (least + most)[:, None]).sum(-1) / (least + most).sum(-1)[:, None]
            off = ratio - middle[..., None]
            floor = middle + np.minimum(off * least[:, None], off * most[:, None]).sum(-1)
            above = np.where(here, np.log(np.maximum(floor, ratio.min(-1))), -np.inf)
            size = np.minimum(-np.sort(-above, axis=1)[every, np.minimum(spare, r)], 0.0)
            found.append(one + np.where(here[every, r], size, -np.inf)[:, None] - LOST_IN_ROWS)
        return found

    def designs(self, nodes: Nodes, y: Array) -> tuple[Indices, Array, Array]:
        """Find designs near relaxed ones: the best without the samples that fail most there."""
        points, master = nodes.point, self._without_failing(nodes.point, y)
        marks = [tuple(out[i].tobytes() for out in master.left_out.values()) for i in range(points.size)]
        new = np.array([m not in self.tried[i] for i, m in zip(points, marks, strict=True)], bool)
        for i, mark in zip(points, marks, strict=True):
            self.tried[i].add(mark)
        if not new.any():
            return points[:0], y[:0], np.zeros(0)
        nodes, points, master = nodes.take(new), points[new], master.at(np.flatnonzero(new))
        found = at_points.minimise(master, self.solve, near=y[new], tied=False)
        y, value = self.values(points, found.x)
        good = found.known & (value <= self.enough + LOG_HOLDS - WORLD_BROKEN)
        told = points[good], y[good], value[good]
        lost = np.flatnonzero(found.refuted & ~self.asked[points] & (self.enough == np.inf))
        if not lost.size:
            return told
        # without a design to be beaten nodes do not shrink: whether there is any is searched by itself
        self.asked[points[lost]] = True
        asked, gives = master.asked.at(lost), int(bool(self.master.eased))
        rows = tuple(r for r in asked.rows if r.key not in self.master.eased)
        asked = replace(asked, rows=rows, variables=asked.variables[: len(asked.variables) - gives])
        codes, there = hold_together(asked, self.chances, self.solve)
        self.refuted[points[lost]] = codes == conflicts.CANNOT_HOLD
        some = codes == conflicts.CAN_HOLD
        if not some.any():
            return told
        there = np.pad(there[some], [(0, 0), (0, gives)], constant_values=FARTHEST)
        others = self.designs(nodes.take(lost[some]), there)
        points, y, value = map(np.concatenate, zip(told, others, strict=True))
        return points, y, value

    def best_near(self, points: Indices, y: Array) -> Optima:
        """Find the best designs by the tie rule without the samples that fail most at designs ``y``."""
        return at_points.minimise(self._without_failing(points, y), self.solve, near=y)

    def _without_failing(self, points: Indices, y: Array) -> Master:
        master = self.master.at(points)
        return without_failing(master, self.chances, at_points.designs(master.asked, y))

    def values(self, points: Indices, x: Mapping[str, Array]) -> tuple[Array, Array]:
        """Logarithms of designs, and of what they come to."""
        y = np.log(np.stack(list(x.values()), axis=1))
        return y, canon.values(take(self.c, points), y)[:, 0]


def _programs(master: Master, chances: Sequence[Chance], solve: Solver, enough: float = np.inf) -> _Programs:
    asked, goal, shape = master.asked, master.exact, (master.count, master.asked.worlds.size)
    pairs = [(ONE, ONE) if goal is None else (along(goal.numerator), along(goal.denominator))]
    # a limit that is the largest of some holds where each of them does
    rows = [replace(r, numerator=p) for r in asked.rows for p in world_cuts.largest_of(asked, r.numerator)]
    pairs += [(r.numerator, r.denominator) for r in rows]
    caps = [(cap.key, robust_caps.exact(asked, cap)) for cap in asked.worlds.caps]
    pairs += [(mean, ONE) for _, mean in caps if mean is not None]
    # no proof may rest on an end that only a search has
    box = canon.boxes(asked.variables, shape[:1], far=True)
    names = tuple(v.name for v in asked.variables)
    keys = (*(r.key for r in rows), *(key for key, _ in caps))
    first = [(in_first(top, shape), in_first(bottom, shape)) for top, bottom in pairs]
    c = canon.arrays(names, first, keys, *box, shape[:1])
    fixed = [
        k
        for k, r in enumerate(rows, 1)
        if world_cuts.certain(r.numerator) and world_cuts.certain(r.denominator)
    ]
    fixed += range(len(rows) + 1, len(keys) + 1)
    groups = [(n.may_fail, [k for k, key in enumerate(keys, 1) if key.name in n.names]) for n in chances]
    together = {k for _, rows in groups for k in rows}
    groups += [(0, [k]) for k in range(1, len(keys) + 1) if k not in together and k not in fixed]
    logs = np.stack([np.broadcast_to(one, shape) for pair in pairs for one in _logs(*pair)])
    c = replace(c, forms=np.eye(len(names)))
    tried = [set[tuple[bytes, ...]]() for _ in range(master.count)]
    none, near = np.zeros((2, master.count), bool), np.full((master.count, len(names)), np.nan)
    groups = [g for g in groups if g[1]]
    return _Programs(master, chances, solve, c, logs, fixed, groups, tried, near, enough, *none)


def _logs(top: Posynomial, bottom: Posynomial) -> list[Array]:
    """Logarithms of the coefficients of a posynomial over a monomial."""
    (below,) = bottom.terms.values()
    with np.errstate(divide="ignore"):
        return [np.log(c) - np.log(below) for c in top.terms.values()]


def _least(values: Array, count: int) -> Indices:
    """Places (B, count) of the least of each row of values, in order."""
    count = min(count, values.shape[1])
    some = values.argpartition(count - 1, axis=1)[:, :count]
    return np.take_along_axis(some, np.take_along_axis(values, some, 1).argsort(axis=1, kind="stable"), 1)


def minimise(master: Master, chances: Sequence[Chance], solve: Solver, *, tied: bool = True) -> Optima:
    """Find the best designs where some limits may fail, with bounds; points without a sure optimum stay unknown.

    ``master``: what is asked, with its measure as one posynomial, and nothing held. ``tied``: by the tie rule, which is
    then for a fixed set of failing samples.
    """
    p = _programs(master, chances, solve)
    found, best = _search_tree(p), at_points.nothing(master.asked)
    best.refuted[:] = found.status == INFEASIBLE
    good = np.flatnonzero((found.status == OPTIMAL) & ~np.isnan(found.y[:, 0]))
    goal = master.exact
    assert goal is not None, "the measure is one posynomial"
    if not tied:
        for n, x in at_points.designs(master.asked, found.y[good]).items():
            best.x[n][good] = x[:, 0]
        best.bound[good] = goal.to_user(np.minimum(found.bound[good], found.value[good]))
    if not tied or not good.size:
        return best
    there = p.best_near(good, found.y[good])
    _, value = p.values(good, there.x)
    sure = there.known & (value <= found.value[good] + TIE)
    at = good[sure]
    for n, values in there.x.items():
        best.x[n][at] = values[sure]
    for key, values in there.multipliers.items():
        best.multipliers[key][at] = values[sure]
    best.bound[at] = goal.to_user(np.minimum(found.bound[at], value[sure]))
    return best


def _search_tree(p: _Programs, *, any_design: bool = False) -> tree.Searched:
    wanted = tree.Wanted(CHANCE_GAP, CHANCE_NODES, any_design=any_design, at_once=CHANCE_NODES_AT_ONCE)
    return tree.search(p.c, tree.Bounding(p.bounded, p.designs, again=True), wanted)


def hold_together(asked: Posed, chances: Sequence[Chance], solve: Solver) -> tuple[Codes, Array]:
    """Whether some design meets all limits in as many samples as they must hold in: codes of ``conflicts``, designs.

    Where some may fail the least factor by which these would have to give is searched, until it is known whether that
    is 1: without a level to be beaten nodes would not shrink.
    """
    may_fail = {r.key for r in asked.rows if any(r.key.name in c.names for c in chances)}
    if not may_fail:
        return at_points.hold_together(Master(replace(asked, goal=None), WORST), solve)
    # a factor of a half is as good as any below, where limits may be kept by ever more of something
    loose = giving(asked, may_fail, least=0.5)
    found = _search_tree(_programs(loose, chances, solve, BETTER_CHOICE), any_design=True)
    codes = np.where(found.status == INFEASIBLE, conflicts.CANNOT_HOLD, conflicts.NOT_KNOWN)
    codes = np.where(np.isnan(found.y[:, 0]), codes, conflicts.CAN_HOLD).astype(np.int8)
    return codes, found.y[:, :-1]


def best(master: Master, chances: Sequence[Chance], solve: Solver, *, tied: bool = True) -> Optima:
    """Find the best designs, whether or not some limits may fail; see ``minimise``."""
    if chances:
        return minimise(master, chances, solve, tied=tied)
    return at_points.minimise(master, solve, tied=tied)
