"""The mean over many worlds of a ratio of sums (power, energy for each result), or of its worst share: secants.

The mean of ratios Σᵢ wᵢ Nᵢ(x)/Dᵢ(x) is not the ratio of means, and no geometric program. In logarithms y = log x each
divisor is log Dᵢ = aᵢ·y + hᵢ(z) with hᵢ convex in a few forms z of y that all worlds share. On an interval of z the
secant of hᵢ lies above it and its tangent below, so

    Σᵢ wᵢ Nᵢ/(monomial of the secant)  ≤  Σᵢ wᵢ Nᵢ/Dᵢ  ≤  Σᵢ wᵢ Nᵢ/(monomial of the tangent),

and the left is a posynomial: a geometric program whose Lagrangian bound holds for the interval. Intervals are cut until
the bounds meet the best design. Limits that divide by sums are relaxed in the same way, and whole numbers are cut too.

Worlds whose terms have the same exponents in an interval are added up. Where the secants' slopes differ from world to
world the terms stay apart: so many terms as worlds times terms.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import is_maximum
from formulations.arithmetics.posynomial import Key, NotPosynomial
from formulations.problem import Goal, Kind, Problem, farther
from formulations.uncertainty import robust
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.worlds import Judged, Worlds, judged
from results.solution import Status
from solvers.geometric.kernel import gp
from solvers.outcome import Outcome
from solvers.robust.boxes.robust_boxes import UNTIED
from solvers.robust.masters.robust_geometric import WORLD_BROKEN, Found, Master, middle_design, needed_worlds

Array = NDArray[np.float64]
NODES = 600
RATIO_NODES_AT_ONCE = 16
RATIO_GAP = 5e-7
NARROW = 1e-9
WIDEST_MARGIN = 1.0
"""In logs: a node is cut where its relaxation's design is, but for so much at its ends."""
LIMIT_ROUNDS = 30
TERMS = 60_000
SETS = 6
"""Sets of weights that a node is bounded with: the last ones found."""
SOLVER = "dse branch and bound over samples"


@dataclass(frozen=True, slots=True)
class _Ratio:
    """The objective in N worlds in log variables: numerators' terms (J, n), (N, J), divisors' parts (L, n), (N, L)."""

    exponents: Array
    logc: Array
    under: Array
    under_logc: Array
    forms: Array
    coordinates: Array

    def height(self, z: Array) -> Array:
        """hᵢ(z) of every world (N,), for the divisors written as base·y + h(z) with the first term for base."""
        t = self.under_logc + self.coordinates @ z
        top = t.max(1)
        return np.asarray(top + np.log(np.exp(t - top[:, None]).sum(1)))

    def slope(self, z: Array) -> Array:
        """Gradient of every hᵢ at z: (N, q)."""
        t = self.under_logc + self.coordinates @ z
        w = np.exp(t - t.max(1)[:, None])
        return np.asarray((w / w.sum(1)[:, None]) @ self.coordinates)

    def secants(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Slopes (N, q) and heights (N,) of affine functions above every hᵢ on a box of z."""
        mid, half = (low + high) / 2, (high - low) / 2
        slope = self.slope(mid)
        for k in range(mid.size):
            if half[k] > NARROW:
                step = np.zeros_like(mid)
                step[k] = half[k]
                slope[:, k] = (self.height(mid + step) - self.height(mid - step)) / (2 * half[k])
        cut = np.full(len(self.logc), -np.inf)
        for signs in np.ndindex(*(2,) * mid.size):
            corner = mid + (2.0 * np.array(signs) - 1.0) * half
            cut = np.maximum(cut, self.height(corner) - slope @ corner)
        return slope, cut

    def terms(self, low: Array, high: Array, weights: Sequence[Array]) -> list[tuple[Array, Array]]:
        """For each set of weights, exponents and log coefficients of the posynomial below the mean on a box of z."""
        slope, cut = self.secants(low, high)
        a = self.exponents[None] - self.under[0] - (slope @ self.forms)[:, None, :]
        alike = np.ptp(slope, axis=0).max(initial=0.0) < 1e-12
        found = []
        for w in weights:
            with np.errstate(divide="ignore"):
                b = self.logc - cut[:, None] + np.log(w)[:, None]
            keep = np.isfinite(b)
            found.append((a[0], np.logaddexp.reduce(b, axis=0)) if alike else (a[keep], b[keep]))
        return found


def minimise(asked: Posed, measure: Weighing, *, kept: frozenset[str] | None = None) -> Found:
    """Find the least mean of a ratio of sums over the worlds, with every limit held in each; the bound is proved.

    Raises NotPosynomial where maxima stand in the objective, or whole numbers with values of their own are decided.
    """
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
    master, x = Master(asked, measure, kept), middle_design(asked)
    at = judged(asked.worlds, x)
    master.add(x, at, first=True)
    best: tuple[float, dict[str, float]] | None = None
    for _ in range(LIMIT_ROUNDS):
        tree = _Tree(asked, master, best)
        outcome = tree.run()
        if outcome.x is None:
            return Found(outcome, needed=needed_worlds(master.worlds()))
        at = judged(asked.worlds, outcome.x)
        if not master.add(outcome.x, at):
            break
        best = tree.held()
    return Found(
        outcome,
        needed=needed_worlds(master.worlds()),
        cuts=len(tree.weights),
    )


@dataclass(slots=True)
class _Node:
    low: Array
    high: Array
    z_low: Array
    z_high: Array
    bound: float


class _Tree:
    """Branch and bound for one set of limits."""

    def __init__(self, asked: Posed, master: Master, best: tuple[float, dict[str, float]] | None) -> None:
        goal = asked.goal
        assert goal is not None, "there is an objective"
        self.asked, self.rows = asked, [r for _, r in master.rows]
        names = tuple(v.name for v in asked.variables)
        # the goal of this canonical form only brings its divisor's forms; its terms are put in node by node
        kind = Kind.MINLP if any(v.discrete for v in asked.variables) else Kind.NLP
        first = Goal(goal.name, robust.at_world(goal.numerator, 0), robust.at_world(goal.denominator, 0))
        self.c = canon.canonical(
            # no bound may rest on an end that only a search has
            Problem(asked.worlds.nominal, kind, farther(asked.variables), first, tuple(self.rows)),
            first,
        )
        if any(a is not None for a in self.c.allowed.values()):
            raise NotPosynomial("the mean of a ratio of sums over listed values")
        a, logc = _world_table(goal.numerator.terms, names, asked.worlds)
        under, under_logc = _world_table(goal.denominator.terms, names, asked.worlds)
        divisor = next(d for d in self.c.divisors if d.row == 0)
        own = self.c.forms
        coordinates = _coordinates(under - under[0], own)
        assert divisor.coordinates.shape[1] == coordinates.shape[1], "the same forms"
        self.ratio = _Ratio(a, logc, under, under_logc, own, coordinates)
        self.best = best if best is not None and self._holds(best[1]) else None
        self.nodes = 0
        self.measure = master.measure
        self.weights: list[Array] = []
        self._weigh(judged(asked.worlds, middle_design(asked)))

    def _weigh(self, at: Judged) -> float:
        """Return the measure at a design, and keep the weights that attain it."""
        assert at.objective is not None, "there is an objective"
        value = float(self.measure.value(at.objective))
        weights = self.measure.weights(at.objective)
        if math.isfinite(value) and not any(np.array_equal(weights, w) for w in self.weights):
            self.weights.append(weights)
        return value

    def held(self) -> tuple[float, dict[str, float]] | None:
        """The best design so far and its mean."""
        return self.best

    def _holds(self, x: Mapping[str, float]) -> bool:
        y = np.log([x[n] for n in self.c.names])
        return bool(np.all(canon.values(self.c, y[None])[0, 1:] <= WORLD_BROKEN))

    def run(self) -> Outcome:
        """Search; the outcome's bound is proved whether or not the gap closes."""
        c = self.c
        z_low, z_high = canon.form_box(c, c.low[None], c.high[None])
        open_nodes = [_Node(c.low, c.high, z_low[0], z_high[0], -np.inf)]
        closed, infeasible = np.inf, True
        while open_nodes and self.nodes < NODES:
            open_nodes.sort(key=lambda n: n.bound)
            now, open_nodes = open_nodes[:RATIO_NODES_AT_ONCE], open_nodes[RATIO_NODES_AT_ONCE:]
            for node in now:
                if self.best is not None and node.bound >= math.log(self.best[0]) - RATIO_GAP / 2:
                    closed = min(closed, node.bound)
                    continue
                self.nodes += 1
                status, bound, y = self._bounded(node)
                if status == gp.INFEASIBLE:
                    continue
                infeasible = False
                self._try(y)
                bound = max(bound, node.bound)
                parts = self._split(node, y) if y is not None else []
                if not parts or (self.best is not None and bound >= math.log(self.best[0]) - RATIO_GAP / 2):
                    closed = min(closed, bound)
                else:
                    open_nodes += [dataclasses.replace(p, bound=bound) for p in parts]
        least = min([closed, *(n.bound for n in open_nodes)])
        return self._outcome(least, infeasible=infeasible)

    def _outcome(self, least: float, *, infeasible: bool) -> Outcome:
        if self.best is None:
            if infeasible:
                text = "no design meets all limits; lower bounds of all intervals from Lagrangian duality"
                return Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER)
            return Outcome(Status.ERROR, solver=SOLVER, message="the search ended before a design was found")
        text = f"branch and bound with monomial secants above the divisor in every sample; {self.nodes} nodes; {UNTIED}"
        value, x = self.best
        bound = min(math.exp(least), value)
        proved = value - bound <= 2 * RATIO_GAP * abs(value)
        return Outcome(Status.OPTIMAL if proved else Status.FEASIBLE, x, bound, text, SOLVER)

    def _bounded(self, node: _Node) -> tuple[int, float, Array | None]:
        """Bound the mean on a node; its status, log bound and the relaxation's design."""
        c = self.c
        a, b, ptr = canon.relaxation(c, node.z_low[None], node.z_high[None])
        own = ptr[1]
        blocks = self.ratio.terms(node.z_low, node.z_high, self.weights[-SETS:])
        if sum(len(gb) for _, gb in blocks) > TERMS:
            raise NotPosynomial(f"the mean of a ratio of sums over {self.asked.worlds.measured} samples")
        low, high, rest = node.low, node.high, a[0][own:]
        if len(blocks) > 1:
            # the measure is the largest of the means: one more unknown above them all
            reach = [gb + np.maximum(ga * low, ga * high).sum(1) for ga, gb in blocks]
            depth = [gb + np.minimum(ga * low, ga * high).sum(1) for ga, gb in blocks]
            unknown = max(r.max() + math.log(r.size) for r in reach) + 1.0, min(d.max() for d in depth) - 1.0
            low, high = np.append(low, unknown[1]), np.append(high, unknown[0])
            blocks = [(np.column_stack([ga, np.full(len(gb), -1.0)]), gb) for ga, gb in blocks]
            blocks = [(np.eye(low.size)[-1:], np.zeros(1)), *blocks]
            rest = np.column_stack([rest, np.zeros(len(rest))])
        a, b = (
            np.concatenate([*(ga for ga, _ in blocks), rest]),
            np.concatenate([*(gb for _, gb in blocks), b[0][own:]]),
        )
        sizes = np.cumsum([0, *(len(gb) for _, gb in blocks)])
        ptr = np.concatenate([sizes, sizes[-1] + (ptr[2:] - own)])
        r = gp.solve(a, b[None], ptr, low[None], high[None], tol=1e-8)
        if r.status[0] == gp.INFEASIBLE:
            return gp.INFEASIBLE, np.inf, None
        return int(r.status[0]), float(r.bound[0]), r.y[0][: node.low.size]

    def _try(self, y: Array | None) -> None:
        """Take a relaxation's design, with its whole numbers rounded, as the best one if it holds and is better."""
        if y is None:
            return
        for down in (np.floor, np.ceil) if self.c.allowed else (np.floor,):
            x = {}
            for k, n in enumerate(self.c.names):
                value = math.exp(y[k])
                x[n] = float(max(down(value + 1e-9), 1.0)) if k in self.c.allowed else value
            fixed = self._inside(x)
            if fixed is None:
                continue
            at: Judged = judged(self.asked.worlds, fixed)
            value = self._weigh(at)
            if math.isfinite(value) and (self.best is None or value < self.best[0]):
                self.best = (value, fixed)

    def _inside(self, x: dict[str, float]) -> dict[str, float] | None:
        """The design itself where it holds; else the nearest one that does, by the tangents at it."""
        if self._holds(x):
            return x
        c = self.c
        y = np.log([x[n] for n in c.names])
        low, high = c.low.copy(), c.high.copy()
        for k in c.allowed:
            low[k] = high[k] = y[k]
        if np.any(low > high + 1e-9):
            return None
        a, b = canon.restriction(c, y[None])
        r = gp.solve(a, b, c.ptr, low[None], high[None])
        if r.status[0] == gp.INFEASIBLE or r.violation[0] > WORLD_BROKEN:
            return None
        found = {n: math.exp(r.y[0][k]) for k, n in enumerate(c.names)}
        return {n: x[n] if k in c.allowed else found[n] for k, n in enumerate(c.names)}

    def _split(self, node: _Node, y: Array) -> list[_Node]:
        """Cut a node where its relaxation is weakest: between whole numbers, else in the widest form."""
        for k in self.c.allowed:
            if math.floor(math.exp(node.high[k]) + 1e-9) > math.ceil(math.exp(node.low[k]) - 1e-9):
                value = math.exp(y[k])
                if abs(value - round(value)) > 1e-6:
                    below, above = node.high.copy(), node.low.copy()
                    below[k], above[k] = math.log(max(math.floor(value), 1)), math.log(math.ceil(value))
                    return [self._boxed(node, node.low, below), self._boxed(node, above, node.high)]
        width = node.z_high - node.z_low
        form = int(width.argmax())
        if width[form] < NARROW:
            return []
        z = float(self.c.forms[form] @ y)
        margin = min(0.1 * width[form], WIDEST_MARGIN)
        middle = min(max(z, node.z_low[form] + margin), node.z_high[form] - margin)
        left, right = dataclasses.replace(node), dataclasses.replace(node)
        left.z_high, right.z_low = node.z_high.copy(), node.z_low.copy()
        left.z_high[form] = right.z_low[form] = middle
        return [self._narrowed(left), self._narrowed(right)]

    def _boxed(self, node: _Node, low: Array, high: Array) -> _Node:
        z_low, z_high = canon.form_box(self.c, low[None], high[None])
        return _Node(
            low, high, np.maximum(node.z_low, z_low[0]), np.minimum(node.z_high, z_high[0]), node.bound
        )

    def _narrowed(self, node: _Node) -> _Node:
        """Carry the ends of forms that are single variables over to the box."""
        low, high = node.low.copy(), node.high.copy()
        for form, z0, z1 in zip(self.c.forms, node.z_low, node.z_high, strict=True):
            (alone,) = np.nonzero(form)
            if alone.size == 1:
                k, e = int(alone[0]), float(form[alone[0]])
                ends = sorted((z0 / e, z1 / e))
                low[k], high[k] = max(low[k], ends[0]), min(high[k], ends[1])
        return _Node(low, high, node.z_low, node.z_high, node.bound)


def _world_table(terms: Mapping[Key, Any], names: tuple[str, ...], worlds: Worlds) -> tuple[Array, Array]:
    """Exponents (J, n) and log coefficients (N, J) of a posynomial in many worlds."""
    powers = np.zeros((len(terms), len(names)))
    columns = []
    for j, (key, c) in enumerate(terms.items()):
        for v, e in key:
            powers[j, names.index(v)] = e
        with np.errstate(divide="ignore"):
            columns.append(np.broadcast_to(np.log(c), (worlds.size,))[: worlds.measured])
    return powers, np.stack(columns, axis=1)


def _coordinates(differences: Array, forms: Array) -> Array:
    """Write rows of exponents as sums of the forms."""
    found, *_ = np.linalg.lstsq(forms.T, differences.T, rcond=None)
    if not np.allclose(found.T @ forms, differences, atol=1e-9):
        raise NotPosynomial("divisors of other forms in other samples")
    return np.asarray(found.T)
