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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dse.quantities import plural
from dse.system.arrays import Array, Indices
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import is_maximum
from formulations.arithmetics.posynomial import ONE, NotPosynomial, Posynomial
from formulations.canonical import Canonical, Divisor
from formulations.grids.divided import take
from formulations.problem import Goal, Row
from formulations.tolerances import BINDS
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.world_cuts import Point
from formulations.uncertainty.worlds import few_at_once
from results.solution import Status
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_terms import LOG_ZERO
from solvers.geometric.kernel.gp_together import Programs
from solvers.geometric.programs import nodes as parts
from solvers.geometric.programs import tree
from solvers.geometric.programs.branch import PART_FOR_NODES, TIGHT
from solvers.geometric.programs.multipliers import held_whole
from solvers.geometric.programs.nodes import Nodes, Relaxed
from solvers.geometric.programs.optimal_face import Solver
from solvers.outcome import Outcome
from solvers.robust.boxes.first_order import FELT_MULTIPLIER, INDEPENDENT
from solvers.robust.boxes.robust_boxes import UNTIED
from solvers.robust.masters import at_points
from solvers.robust.masters.at_points import Optima
from solvers.robust.masters.master import WORLD_BROKEN, Master, Round, grow, in_first, middle_design
from solvers.robust.masters.robust_geometric import Found, needed_worlds
from solvers.robust.searches import mean_programs
from solvers.robust.searches.mean_programs import Coefficients, Lines

NODES = 600
RATIO_NODES_AT_ONCE = 16
RATIO_GAP = 5e-7
WIDE_GRADE = 16.0
"""How much wider a part of an interval is than its neighbour: nodes cost more than to cut a few of them again."""
SETS = 6
"""Sets of weights that a node is bounded with: the last ones found."""
SOLVER = "dse branch and bound over samples"


def minimise(asked: Posed, measure: Weighing) -> Found:
    """Find the least mean of a ratio of sums over the worlds, with every limit held in each; the bound is proved.

    Raises NotPosynomial where maxima stand in the objective.
    """
    *_, last = _rounds(asked, measure, None)
    ((_, found, mean),) = last.told
    outcome = _outcome(mean, found)
    needed = needed_worlds(last.master.worlds())
    return Found(outcome, needed=needed, cuts=1 if outcome.x is None else len(mean.weights[0]))


def minimise_together(asked: Posed, measure: Weighing, solve: Solver) -> Optima:
    """Find the same of a question at P points; points without a sure optimum stay unknown."""
    best = at_points.nothing(asked)
    for now in _rounds(asked, measure, solve):
        for points, found, mean in now.told:
            of = now.points[points]
            best.refuted[of] = (found.status == gp.INFEASIBLE) & np.isnan(found.y[:, 0])
            best.bound[of] = np.where(now.more[points], np.nan, _closed_bounds(found))
            ready = np.flatnonzero(np.isfinite(best.bound[of]))
            for key, values in zip(mean.first.keys, mean.forces(ready, found.y[ready]).T, strict=True):
                best.multipliers[key][of[ready]] += values
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


def _rounds(asked: Posed, measure: Weighing, solve: Solver | None) -> Iterator[Round[list[_Part]]]:
    """Go through the rounds of masters; None solves programs: a single question, of plain numbers."""
    check(asked)
    alone = solve is None

    def together(programs: list[Programs]) -> list[gp.Result]:
        assert solve is not None, "of many points"
        return [
            solve(
                p.A, p.logc, p.ptr, p.low, p.high,
                hurried=True, tol=TIGHT if p.enough is None else PART_FOR_NODES * wanted.gap, enough=p.enough,
            )
            for p in programs
        ]  # fmt: skip

    ask = side_by_side.solve_all if solve is None else together
    wanted = tree.Wanted(RATIO_GAP / 2, NODES, at_once=RATIO_NODES_AT_ONCE, grade=WIDE_GRADE)

    def search(master: Master) -> tuple[Point, Array, list[_Part]]:
        y, told = np.full((master.count, len(asked.variables)), np.nan), list[_Part]()
        for points in master.alike():
            of, rows = master.at(points), master.problem(points).rows or ()
            mean = _mean(of, rows, ask)
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
    text = "branch and bound with monomial secants above the divisor in every sample"
    text += f"; {plural(found.nodes[0], 'node')}; {UNTIED}"
    status = Status.OPTIMAL if np.isfinite(_closed_bounds(found)[0]) else Status.FEASIBLE
    x = {n: float(v[0, 0]) for n, v in at_points.designs(mean.asked, found.y).items()}
    return Outcome(status, x, math.exp(min(found.bound[0], found.value[0])), text, SOLVER)


@dataclass(frozen=True, slots=True)
class _Mean:
    """The measure of a ratio at P points: rows at the ``first`` world of each, ``limits`` without the goal's divisor.

    ``above``, ``below``: the goal's coefficients in all W worlds. ``weights``: of each point sets that attain the
    measure somewhere.
    """

    asked: Posed
    measure: Weighing
    first: Canonical
    limits: Canonical
    above: Coefficients
    below: Coefficients
    weights: list[list[Array]]
    solve: tree.Ask

    def _divisor(self, points: Indices) -> Divisor:
        """The divisor of the goal in the worlds of points."""
        # terms one behind the other: arrays of worlds without gaps
        part, top = (np.moveaxis(every[:, points], 0, -1) for every in self.below)
        return replace(self.first.divisors[0], logc=top[:, None], part=part)

    def values(self, points: Indices, y: Array) -> Array:
        """Return the logarithms of the measure at designs of points, and keep the weights that attain it."""
        few = few_at_once(len(y), self.asked.worlds.measured)
        return np.concatenate([np.zeros(0), *(self._values(points[own], y[own]) for own in few)])

    def _values(self, points: Indices, y: Array) -> Array:
        divisor, c, (part, top) = self._divisor(points), self.first, self.above
        level = top[:, points] + np.einsum("pv,kv->kp", y, c.exponents[: len(top)])
        most, z = level.max(0), np.einsum("pv,qv->pq", y, c.forms)
        above = (part[:, points] * np.exp(level - most)[..., None]).sum(0)
        below = divisor.height(z[:, None]) + np.einsum("pv,v->p", y, divisor.base)[:, None]
        losses = above * np.exp(most[:, None] - below)
        found = np.log(self.measure.value(losses))
        for p, one in zip(points, losses, strict=True):
            weights = self.measure.weights(one)
            if np.isfinite(one).all() and not any(np.array_equal(weights, w) for w in self.weights[p]):
                self.weights[p].append(weights)
        return np.where(np.isfinite(found), found, np.inf)

    def bounded(self, nodes: Nodes, level: Array) -> tuple[Nodes, Relaxed, Array]:
        """Bound the measure on nodes, by secants above the divisors of all worlds; not sharply above ``level``."""

        def worlds(some: Indices) -> Lines:
            low, high, own = nodes.z_low[some], nodes.z_high[some], nodes.point[some]
            line = self._divisor(own).secant(low[:, None], high[:, None])
            return own, *line, (low + high) / 2

        limits = canon.relaxation(take(self.limits, nodes.point), nodes.z_low, nodes.z_high)
        enough = np.where(np.isfinite(level), level, np.nan)
        y, bound, force = self._solved(nodes.point, worlds, limits, (nodes.low, nodes.high), enough)
        return nodes, Relaxed(y, force, np.zeros(len(y))), bound

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
        there, _ = self._near(points, at)
        holds = canon.values(take(c, points), there)[:, 1:].max(1, initial=-np.inf) <= WORLD_BROKEN
        points, there = points[holds], there[holds]
        return points, there, self.values(points, there)

    def _near(self, points: Indices, at: Array) -> tuple[Array, Array]:
        """Designs of the least measure with tangents below the divisors ``at`` designs, and what limits are worth."""
        c = held_whole(take(self.limits, points), at)
        z = np.einsum("pv,qv->pq", at, c.forms)

        def worlds(some: Indices) -> Lines:
            own, there = points[some], z[some]
            line = self._divisor(own).tangent(there[:, None])
            return own, *line, there

        y, _, force = self._solved(points, worlds, (*canon.restriction(c, at), c.ptr), (c.low, c.high), None)
        return y, force

    def forces(self, points: Indices, y: Array) -> Array:
        """What limits are worth (N, m) at the best designs of points; NaN where that is not unique."""
        c = take(self.first, points)
        _, force = self._near(points, y)
        a, b = canon.restriction(c, y)
        inside = (y > c.low + BINDS) & (y < c.high - BINDS)
        felt = force > FELT_MULTIPLIER
        rows = gp.gradients(a, b, c.ptr, y)[:, 1:] * (felt[:, :, None] & inside[:, None])
        size = np.linalg.svd(rows, compute_uv=False)
        unique = (size > INDEPENDENT * size.max(1, initial=0.0)[:, None]).sum(1) == felt.sum(1)
        return np.where(unique[:, None], np.where(felt, force, 0.0), np.nan)

    def _solved(
        self,
        points: Indices,
        worlds: Callable[[Indices], Lines],
        limits: tuple[Array, Array, Indices],
        box: tuple[Array, Array],
        enough: Array | None,
    ) -> tuple[Array, Array, Array]:
        """Optima of programs of points (see ``mean_programs.below``), their bounds (infinite: none), limits' worth."""
        (rest, ends, ptr), own = limits, int(self.first.ptr[1])
        every = np.broadcast_to(rest, (points.size, *rest.shape[-2:]))
        limits = every[:, own:], ends[:, own:], ptr[1:]
        y, bound = np.full_like(box[0], np.nan), np.full(points.size, np.nan)
        force = np.zeros((points.size, len(self.first.keys)))
        weights = [self.weights[p][-SETS:] for p in points]
        asked = list(mean_programs.below(self.first, self.above, worlds, weights, limits, box, enough))
        for (places, _), r in zip(asked, self.solve([p for _, p in asked]), strict=True):
            y[places] = r.y[:, : y.shape[1]]
            bound[places] = np.where(r.status == gp.INFEASIBLE, np.inf, r.bound)
            force[places] = r.multipliers[:, : force.shape[1]]
        return y, bound, force


_Part = tuple[Indices, tree.Searched, _Mean]
"""Some points of a master, what the search says of them, and the measure there."""


def _mean(of: Master, rows: Sequence[Row], ask: tree.Ask) -> _Mean:
    """The measure at the points of a master, with ``rows`` that hold there, of which coefficients are (P,)."""
    asked, goal, count = of.asked, of.asked.goal, of.count
    assert goal is not None, "there is an objective"
    shape = count, asked.worlds.size
    pairs = [(in_first(goal.numerator, shape), in_first(goal.denominator, shape))]
    pairs += [(r.numerator, r.denominator) for r in rows]
    # no bound may rest on an end that only a search has
    box = canon.boxes(asked.variables, (count,), far=True)
    names = tuple(v.name for v in asked.variables)
    first = canon.arrays(names, pairs, tuple(r.key for r in rows), *box, (count,))
    limits = replace(first, divisors=tuple(d for d in first.divisors if d.row > 0))
    above, below = (_of_all(p, shape, asked.worlds.measured) for p in (goal.numerator, goal.denominator))
    mean = _Mean(asked, of.measure, first, limits, above, below, [[] for _ in range(count)], ask)
    middle = np.log(list(middle_design(asked).values()))
    mean.values(np.arange(count), np.tile(middle, (count, 1)))
    return mean


def _of_all(p: Posynomial, shape: tuple[int, int], measured: int) -> Coefficients:
    """Coefficients in all worlds that are measured."""
    values = np.stack([np.broadcast_to(c, shape)[:, :measured] for c in p.terms.values()])
    most = values.max(-1)
    there = most > 0
    # a term that no world has is no part of anything
    top = np.log(most, out=np.full_like(most, LOG_ZERO), where=there)
    return values / np.where(there, most, 1.0)[..., None], top
