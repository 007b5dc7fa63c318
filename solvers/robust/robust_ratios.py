"""The mean over many worlds of a ratio of sums (power, energy for each result), or of its worst share: secants.

The mean of ratios Σᵢ wᵢ Nᵢ(x)/Dᵢ(x) is not the ratio of means, and no geometric program. In logarithms y = log x each
divisor is log Dᵢ = aᵢ·y + hᵢ(z) with hᵢ convex in a few forms z of y that all worlds share. On an interval of z the
secant of hᵢ lies above it and its tangent below, so

    Σᵢ wᵢ Nᵢ/(monomial of the secant)  ≤  Σᵢ wᵢ Nᵢ/Dᵢ  ≤  Σᵢ wᵢ Nᵢ/(monomial of the tangent),

and the left is a posynomial: a geometric program whose Lagrangian bound holds for the interval. Intervals are cut until
the bounds meet the best design. Limits that divide by sums are relaxed in the same way, and whole numbers are cut too.

Worlds whose terms have nearly the same exponents in an interval are added up, so that a program has some dozens of
terms however many worlds there are. The search itself is that of one world (``solvers.geometric.programs.tree``), with
these bounds; the worlds are points of one canonical form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.system.arrays import Array, Indices
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import is_maximum
from formulations.arithmetics.posynomial import ONE, NotPosynomial
from formulations.canonical import Canonical
from formulations.grids.divided import take
from formulations.problem import Goal
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.robust import Point, Posed
from results.solution import Status
from solvers import side_by_side
from solvers.geometric.kernel import gp, gp_together
from solvers.geometric.kernel.gp_terms import LOG_ZERO
from solvers.geometric.kernel.gp_together import Programs
from solvers.geometric.programs import nodes as parts
from solvers.geometric.programs import tree
from solvers.geometric.programs.nodes import Nodes, Relaxed
from solvers.outcome import Outcome
from solvers.robust.boxes.robust_boxes import UNTIED
from solvers.robust.masters import at_points
from solvers.robust.masters.at_points import Optima
from solvers.robust.masters.master import WORLD_BROKEN, Master, Round, along, grow, middle_design
from solvers.robust.masters.robust_geometric import Found, in_worlds, needed_worlds

NODES = 600
RATIO_NODES_AT_ONCE = 16
RATIO_GAP = 5e-7
NODES_TOGETHER = 64
"""Nodes whose secants in all worlds are worked out together: arrays of some 10 MB."""
TERMS = 60_000
"""Of one program."""
SPREAD = 1 / 16
"""Of the slopes of secants in worlds that are added up: the bound loses some hundredths of what the secants lose."""
SETS = 6
"""Sets of weights that a node is bounded with: the last ones found."""
SOLVER = "dse branch and bound over samples"


def minimise(asked: Posed, measure: Weighing) -> Found:
    """Find the least mean of a ratio of sums over the worlds, with every limit held in each; the bound is proved.

    Raises NotPosynomial where maxima stand in the objective.
    """
    *_, last = _rounds(asked, measure, alone=True)
    ((_, found, mean),) = last.told
    outcome = _outcome(mean, found)
    needed = needed_worlds(last.master.worlds())
    return Found(outcome, needed=needed, cuts=1 if outcome.x is None else len(mean.weights[0]))


def minimise_together(asked: Posed, measure: Weighing) -> Optima:
    """Find the same of a question at P points; points without a sure optimum stay unknown."""
    best = at_points.nothing(asked)
    for now in _rounds(asked, measure, alone=False):
        for points, found, _ in now.told:
            of = now.points[points]
            best.refuted[of] = (found.status == gp.INFEASIBLE) & np.isnan(found.y[:, 0])
            best.bound[of] = np.where(now.more[points], np.nan, _closed_bounds(found))
        for name, values in now.x.items():
            best.x[name][now.points] = values[:, 0]
    return best


def check(asked: Posed) -> None:
    """Raise NotPosynomial where a question is none of a mean of ratios of sums."""
    goal = asked.goal
    if goal is None or goal.denominator.is_monomial:
        raise NotPosynomial("a mean of what is not a ratio of sums")
    if goal.log2:
        raise NotPosynomial("the mean of a logarithm of a ratio of sums")
    if any(is_maximum(v) for p in (goal.numerator, goal.denominator) for k in p.terms for v, _ in k):
        raise NotPosynomial("the mean of a ratio of sums with maxima in it")
    # the mean of what is maximised is that of the ratio itself, which then stands upside down
    if goal.sign < 0:
        raise NotPosynomial("the greatest mean of a ratio of sums")


def _rounds(asked: Posed, measure: Weighing, *, alone: bool) -> Iterator[Round[list[_Part]]]:
    """Go through the rounds of masters; ``alone``: of a single question, of plain numbers."""
    check(asked)
    wanted = tree.Wanted(RATIO_GAP / 2, NODES, at_once=RATIO_NODES_AT_ONCE)

    def search(master: Master) -> tuple[Point, Array, list[_Part]]:
        y, told = np.full((master.count, len(asked.variables)), np.nan), list[_Part]()
        for points in master.alike():
            of, rows = master.at(points), master.problem(points).rows or ()
            pairs = [replace(r, numerator=along(r.numerator), denominator=along(r.denominator)) for r in rows]
            mean = _mean(of, in_worlds(of.asked, pairs))
            found = tree.search(mean.first, tree.Bounding(mean.bounded, mean.designs), wanted)
            y[points] = found.y
            told.append((points, found, mean))
        x = at_points.designs(asked, y)
        return {n: float(v[0, 0]) for n, v in x.items()} if alone else x, np.full(len(y), np.nan), told

    # what is minimised takes no cuts
    master = Master(asked, measure, Goal("ratio", ONE, ONE))
    return grow(master, middle_design(asked) if alone else at_points.start(asked), search)


def _closed_bounds(found: tree.Searched) -> Array:
    """Bounds of the measure, NaN where the gap is not closed."""
    with np.errstate(over="ignore", invalid="ignore"):
        value, bound = np.exp(found.value), np.exp(np.minimum(found.bound, found.value))
        return np.where(value - bound <= 2 * RATIO_GAP * value, bound, np.nan)


def _outcome(mean: _Mean, found: tree.Searched) -> Outcome:
    """What a search says of a single question; the outcome's bound is proved whether or not the gap closes."""
    if np.isnan(found.y).any():
        if found.status[0] == gp.INFEASIBLE:
            text = "no design meets all limits; lower bounds of all intervals from Lagrangian duality"
            return Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER)
        return Outcome(Status.ERROR, solver=SOLVER, message="the search ended before a design was found")
    text = f"branch and bound with monomial secants above the divisor in every sample; {found.nodes[0]} nodes; {UNTIED}"
    status = Status.OPTIMAL if np.isfinite(_closed_bounds(found)[0]) else Status.FEASIBLE
    x = {n: float(v[0, 0]) for n, v in at_points.designs(mean.asked, found.y).items()}
    return Outcome(status, x, math.exp(min(found.bound[0], found.value[0])), text, SOLVER)


@dataclass(frozen=True, slots=True)
class _Mean:
    """The measure of a ratio at P points: rows at the ``first`` world of each, ``goal``: in all W worlds of each (P W).

    ``weights``: of each point sets that attain the measure somewhere.
    """

    asked: Posed
    measure: Weighing
    first: Canonical
    goal: Canonical
    weights: list[list[Array]]

    def _worlds(self, points: Indices) -> Canonical:
        """The goal in all worlds of points, those of one point one behind the other."""
        count = self.asked.worlds.measured
        return take(self.goal, (points[:, None] * count + np.arange(count)).reshape(-1))

    def _wide(self, of_points: Array) -> Array:
        return np.repeat(of_points, self.asked.worlds.measured, axis=0)

    def _by_point(self, of_worlds: Array) -> Array:
        return of_worlds.reshape(-1, self.asked.worlds.measured, *of_worlds.shape[1:])

    def values(self, points: Indices, y: Array) -> Array:
        """Return the logarithms of the measure at designs of points, and keep the weights that attain it."""
        losses = np.exp(self._by_point(canon.values(self._worlds(points), self._wide(y))[:, 0]))
        found = np.log(self.measure.value(losses))
        for p, one in zip(points, losses, strict=True):
            weights = self.measure.weights(one)
            if np.isfinite(one).all() and not any(np.array_equal(weights, w) for w in self.weights[p]):
                self.weights[p].append(weights)
        return np.where(np.isfinite(found), found, np.inf)

    def bounded(self, nodes: Nodes, _: Array) -> tuple[Nodes, Relaxed, Array]:
        """Bound the measure on nodes: by secants above the divisors of all worlds."""
        asked, inverse = list[Programs](), np.linalg.pinv(self.first.forms)
        for some in np.array_split(
            np.arange(nodes.point.size), max(-(-nodes.point.size // NODES_TOGETHER), 1)
        ):
            now = nodes.take(some)
            a, b, _ptr = canon.relaxation(
                self._worlds(now.point), self._wide(now.z_low), self._wide(now.z_high)
            )
            rest = canon.relaxation(take(self.first, now.point), now.z_low, now.z_high)
            at = [inverse @ z for z in (now.z_low + now.z_high) / 2]
            asked += self._programs(now.point, a, b, rest, (now.low, now.high), at)
        y, bound = self._solved(nodes.point, asked)
        return nodes, Relaxed(y, np.zeros((len(y), len(self.first.keys))), np.zeros(len(y))), bound

    def designs(self, nodes: Nodes, y: Array) -> tuple[Indices, Array, Array]:
        """Minimise the measure with tangents below the divisors at relaxed designs, whole numbers rounded."""
        c = self.first
        beside = {
            v: parts.values_beside(logs, y[:, v], nodes.low[:, v], nodes.high[:, v])
            for v, logs in c.allowed.items()
        }
        rounded = [y.copy() for _ in range(2 if beside else 1)]
        for v, ends in beside.items():
            for tried, end in zip(rounded, ends, strict=True):
                tried[:, v] = end
        at, points = np.concatenate(rounded), np.tile(nodes.point, len(rounded))
        low, high, whole = c.low[points].copy(), c.high[points].copy(), list(c.allowed)
        low[:, whole] = high[:, whole] = at[:, whole]
        rest = (*canon.restriction(take(c, points), at), c.ptr)
        tangents = canon.restriction(self._worlds(points), self._wide(at))
        there, _ = self._solved(points, self._programs(points, *tangents, rest, (low, high), list(at)))
        holds = canon.values(take(c, points), there)[:, 1:].max(1, initial=-np.inf) <= WORLD_BROKEN
        points, there = points[holds], there[holds]
        return points, there, self.values(points, there)

    def _programs(
        self,
        points: Indices,
        a: Array,
        b: Array,
        rest: tuple[Array, Array, Indices],
        box: tuple[Array, Array],
        at: Sequence[Array],
    ) -> list[Programs]:
        """The programs of nodes, from those of all worlds, ``a`` and ``b``, and those of the limits, ``rest``."""
        own, (rows, logs, ptr) = int(self.first.ptr[1]), rest
        rows = np.broadcast_to(rows, (len(logs), *rows.shape[-2:]))
        a = np.broadcast_to(a, (len(b), *a.shape[-2:]))
        a, b = self._by_point(a[:, :own]), self._by_point(b[:, :own])
        limits = [(r[own:], g[own:]) for r, g in zip(rows, logs, strict=True)]
        each = zip(points, a, b, limits, *box, at, strict=True)
        return [self._program(p, ga, gb, limit, ptr, lo, hi, m) for p, ga, gb, limit, lo, hi, m in each]

    def _program(
        self,
        point: int,
        tops: Array,
        logs: Array,
        limits: tuple[Array, Array],
        ptr: Indices,
        low: Array,
        high: Array,
        at: Array,
    ) -> Programs:
        """The program of one node: the posynomials below the measure, then the limits.

        ``at``: where worlds that are added up lose nothing.
        """
        own, (rest, ends) = int(self.first.ptr[1]), limits
        with np.errstate(divide="ignore"):
            blocks = [_added_up(tops, logs + np.log(w)[:, None], at) for w in self.weights[point][-SETS:]]
        if sum(len(gb) for _, gb in blocks) > TERMS:
            raise NotPosynomial(f"the mean of a ratio of sums over {self.asked.worlds.measured} samples")
        if len(blocks) > 1:
            # the measure is the largest of the means: one more unknown above them all
            reach = [gb + np.maximum(ga * low, ga * high).sum(1) for ga, gb in blocks]
            depth = [gb + np.minimum(ga * low, ga * high).sum(1) for ga, gb in blocks]
            unknown = max(r.max() + math.log(r.size) for r in reach) + 1.0, min(d.max() for d in depth) - 1.0
            low, high = np.append(low, unknown[1]), np.append(high, unknown[0])
            blocks = [(np.column_stack([ga, np.full(len(gb), -1.0)]), gb) for ga, gb in blocks]
            blocks = [(np.eye(low.size)[-1:], np.zeros(1)), *blocks]
            rest = np.column_stack([rest, np.zeros(len(rest))])
        sizes = np.cumsum([0, *(len(gb) for _, gb in blocks)])
        return Programs(
            np.concatenate([*(ga for ga, _ in blocks), rest])[None],
            np.concatenate([*(gb for _, gb in blocks), ends])[None],
            np.concatenate([sizes, sizes[-1] + (ptr[2:] - own)]),
            low[None],
            high[None],
        )

    def _solved(self, points: Indices, asked: list[Programs]) -> tuple[Array, Array]:
        """The optima of programs of points, and their bounds: infinite where there is none."""
        found: list[Any] = [None] * len(asked)
        places = [np.flatnonzero(points == p) for p in dict.fromkeys(points.tolist())]
        calls = [[asked[i] for i in some] for some in places]
        # each point as if it were alone
        results = [side_by_side.solve_all(calls[0])] if len(calls) == 1 else gp_together.solve_apart(calls)
        for some, own in zip(places, results, strict=False):
            for i, r in zip(some, own, strict=True):
                found[i] = r
        n = len(self.first.names)
        y = np.array([r.y[0, :n] for r in found]).reshape(-1, n)
        return y, np.array([np.inf if r.status[0] == gp.INFEASIBLE else r.bound[0] for r in found])


_Part = tuple[Indices, tree.Searched, _Mean]
"""Some points of a master, what the search says of them, and the measure there."""


def _mean(of: Master, c: Canonical) -> _Mean:
    """``c``: the objective and rows in all worlds of points."""
    own, count = int(c.ptr[1]), of.count
    goal = replace(
        c,
        exponents=c.exponents[:own],
        logc=c.logc[:, :own],
        ptr=c.ptr[:2],
        keys=(),
        divisors=tuple(d for d in c.divisors if d.row == 0),
    )
    first = take(c, np.arange(count) * of.asked.worlds.measured)
    mean = _Mean(of.asked, of.measure, first, goal, [[] for _ in range(count)])
    middle = np.log(list(middle_design(of.asked).values()))
    mean.values(np.arange(count), np.tile(middle, (count, 1)))
    return mean


def _added_up(a: Array, b: Array, at: Array) -> tuple[Array, Array]:
    """Terms (T, n), (T,) below the sums of each term over the worlds, of exponents (W, k, n) and logarithms (W, k).

    Terms with nearly the same exponents become their weighted geometric mean, which is below their sum, and equal to
    it ``at`` one point: with exponents that spread by s its logarithm loses s² (y - at)² / 2 beside it.
    """
    kind = np.floor((a[:, 0] - a[:, 0].min(0)) / SPREAD + 0.5)
    order = np.lexsort(kind.T[::-1])
    starts = np.flatnonzero(np.diff(kind[order], axis=0, prepend=-1.0).any(1))
    a, level = a[order], (b + a @ at)[order]
    top = np.maximum.reduceat(level, starts)
    size = np.diff(starts, append=len(order))
    # of a term that no world of a kind has nothing is added
    share = np.exp(level - np.repeat(np.where(np.isfinite(top), top, 0.0), size, axis=0))
    total = np.add.reduceat(share, starts)
    some = total > 0
    mean = np.add.reduceat(share[..., None] * a, starts)[some] / total[some][:, None]
    # programs of the same length go to the kernel in one table
    absent = (1 << (len(mean) - 1).bit_length()) - len(mean)
    level = np.append(top[some] + np.log(total[some]) - mean @ at, np.full(absent, LOG_ZERO))
    return np.concatenate([mean, np.zeros((absent, at.size))]), level
