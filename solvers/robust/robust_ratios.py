"""The mean over many worlds of a ratio of sums (power, energy for each result), or of its worst share: secants.

The mean of ratios Σᵢ wᵢ Nᵢ(x)/Dᵢ(x) is not the ratio of means, and no geometric program. In logarithms y = log x each
divisor is log Dᵢ = aᵢ·y + hᵢ(z) with hᵢ convex in a few forms z of y that all worlds share. On an interval of z the
secant of hᵢ lies above it and its tangent below, so

    Σᵢ wᵢ Nᵢ/(monomial of the secant)  ≤  Σᵢ wᵢ Nᵢ/Dᵢ  ≤  Σᵢ wᵢ Nᵢ/(monomial of the tangent),

and the left is a posynomial: a geometric program whose Lagrangian bound holds for the interval. Intervals are cut until
the bounds meet the best design. Limits that divide by sums are relaxed in the same way, and whole numbers are cut too.

Worlds whose terms have the same exponents in an interval are added up. Where the secants' slopes differ from world to
world the terms stay apart: so many terms as worlds times terms. The search itself is that of one world
(``solvers.geometric.programs.tree``), with these bounds; the worlds are points of one canonical form.
"""

from __future__ import annotations

import math
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import is_maximum
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.canonical import Canonical
from formulations.grids.divided import take
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.worlds import judged
from results.solution import Status
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_together import Programs
from solvers.geometric.programs import nodes as parts
from solvers.geometric.programs import tree
from solvers.geometric.programs.nodes import Nodes, Relaxed
from solvers.outcome import Outcome
from solvers.robust.boxes.robust_boxes import UNTIED
from solvers.robust.masters.robust_geometric import WORLD_BROKEN, Found, Master, middle_design, needed_worlds

Array = NDArray[np.float64]
NODES = 600
RATIO_NODES_AT_ONCE = 16
RATIO_GAP = 5e-7
LIMIT_ROUNDS = 30
TERMS = 60_000
"""Of the programs that go to the kernel together; a single one has no more."""
SETS = 6
"""Sets of weights that a node is bounded with: the last ones found."""
SOLVER = "dse branch and bound over samples"


def minimise(asked: Posed, measure: Weighing) -> Found:
    """Find the least mean of a ratio of sums over the worlds, with every limit held in each; the bound is proved.

    Raises NotPosynomial where maxima stand in the objective.
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
    master, x = Master(asked, measure), middle_design(asked)
    master.add(x, judged(asked.worlds, x), first=True)
    for _ in range(LIMIT_ROUNDS):
        mean = _Mean(asked, measure, _in_worlds(asked, master))
        mean.value(x)
        outcome = _searched(mean)
        if outcome.x is None or not master.add(outcome.x, judged(asked.worlds, outcome.x)):
            break
    needed = needed_worlds(master.worlds())
    return Found(outcome, needed=needed, cuts=1 if outcome.x is None else len(mean.weights))


def _in_worlds(asked: Posed, master: Master) -> Canonical:
    """The objective and the limits that the master holds as arrays, with a point for each world that is measured."""
    goal, worlds, rows = asked.goal, asked.worlds, [r for _, r in master.rows]
    assert goal is not None, "there is an objective"
    names = tuple(v.name for v in asked.variables)
    pairs = [(goal.numerator, goal.denominator), *((r.numerator, r.denominator) for r in rows)]
    # no bound may rest on an end that only a search has
    box = canon.boxes(asked.variables, (worlds.size,), far=True)
    c = canon.arrays(names, pairs, tuple(r.key for r in rows), *box, (worlds.size,))
    return take(c, np.arange(worlds.measured))


def _searched(mean: _Mean) -> Outcome:
    """Search with one set of limits; the outcome's bound is proved whether or not the gap closes."""
    wanted = tree.Wanted(RATIO_GAP / 2, NODES, at_once=RATIO_NODES_AT_ONCE)
    found = tree.search(take(mean.c, [0]), tree.Bounding(mean.bounded, mean.designs), wanted)
    if np.isnan(found.y).any():
        if found.status[0] == gp.INFEASIBLE:
            text = "no design meets all limits; lower bounds of all intervals from Lagrangian duality"
            return Outcome(Status.INFEASIBLE, certificate=text, solver=SOLVER)
        return Outcome(Status.ERROR, solver=SOLVER, message="the search ended before a design was found")
    text = f"branch and bound with monomial secants above the divisor in every sample; {found.nodes[0]} nodes; {UNTIED}"
    value = math.exp(found.value[0])
    bound = min(math.exp(found.bound[0]), value)
    proved = value - bound <= 2 * RATIO_GAP * value
    return Outcome(
        Status.OPTIMAL if proved else Status.FEASIBLE, mean.design(found.y[0]), bound, text, SOLVER
    )


@dataclass(slots=True)
class _Mean:
    """The measure of a ratio; ``c``: at the points of all worlds; ``weights``: sets that attain it somewhere."""

    asked: Posed
    measure: Weighing
    c: Canonical
    weights: list[Array] = field(default_factory=list)

    @property
    def alike(self) -> bool:
        """Whether divisors differ by a factor from world to world: secants then have the same slopes in all."""
        under = next(d.logc for d in self.c.divisors if d.row == 0)
        with np.errstate(invalid="ignore"):
            return bool(np.ptp(under - under[:, :1], axis=0).max() < 1e-12)

    def design(self, y: Array) -> dict[str, float]:
        """What is decided, at logarithms."""
        return {v.name: float(canon.si_values(v, t)) for v, t in zip(self.asked.variables, y, strict=True)}

    def value(self, x: dict[str, float]) -> float:
        """Return the logarithm of the measure at a design, and keep the weights that attain it."""
        at = judged(self.asked.worlds, x).objective
        assert at is not None, "there is an objective"
        value, weights = float(self.measure.value(at)), self.measure.weights(at)
        if not math.isfinite(value):
            return math.inf
        if not any(np.array_equal(weights, w) for w in self.weights):
            self.weights.append(weights)
        return math.log(value)

    def bounded(self, nodes: Nodes, enough: Array) -> tuple[Relaxed, Array]:
        """Bound the measure on nodes: by secants above the divisors of all worlds."""
        asked = []
        for low, high, *z in zip(nodes.low, nodes.high, nodes.z_low, nodes.z_high, strict=True):
            z_low, z_high = (np.tile(end, (len(self.c.logc), 1)) for end in z)
            asked.append(self._program(*canon.relaxation(self.c, z_low, z_high), low, high))
        y, bound = self._solved(asked, enough)
        return Relaxed(y, np.zeros((len(y), len(self.c.keys))), np.zeros(len(y))), bound

    def designs(self, nodes: Nodes, y: Array) -> tuple[Array, Array]:
        """Minimise the measure with tangents below the divisors at relaxed designs, whole numbers rounded."""
        tried = []
        for k, at in enumerate(y):
            sides = {
                v: parts.values_beside(logs, at[v], nodes.low[k, v], nodes.high[k, v])
                for v, logs in self.c.allowed.items()
            }
            for side in range(2 if sides else 1):
                rounded = at.copy()
                rounded[list(sides)] = [ends[side] for ends in sides.values()]
                tried.append(rounded)
        there, _ = self._solved([self._tangents(at) for at in tried])
        rows = canon.values(take(self.c, np.zeros(len(there), int)), there)[:, 1:]
        holds = rows.max(1, initial=-np.inf) <= WORLD_BROKEN
        values = [self.value(self.design(t)) if h else np.inf for t, h in zip(there, holds, strict=True)]
        return there, np.array(values)

    def _tangents(self, y: Array) -> Programs:
        low, high, whole = self.c.low[0].copy(), self.c.high[0].copy(), list(self.c.allowed)
        low[whole] = high[whole] = y[whole]
        a, b = canon.restriction(self.c, np.tile(y, (len(self.c.logc), 1)))
        return self._program(a, b, self.c.ptr, low, high)

    def _program(self, a: Array, b: Array, ptr: NDArray[np.intp], low: Array, high: Array) -> Programs:
        """The program of one node from those of all worlds: the posynomials below the measure, then the limits."""
        own = self.c.ptr[1]
        tops, logs, rest = a[:, :own], b[:, :own], a[0, own:]
        blocks = []
        for w in self.weights[-SETS:]:
            with np.errstate(divide="ignore"):
                gb = logs + np.log(w)[:, None]
            keep = np.isfinite(gb)
            blocks.append(
                (tops[0], np.logaddexp.reduce(gb, axis=0)) if self.alike else (tops[keep], gb[keep])
            )
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
            np.concatenate([*(ga for ga, _ in blocks), rest]),
            np.concatenate([*(gb for _, gb in blocks), b[0, own:]])[None],
            np.concatenate([sizes, sizes[-1] + (ptr[2:] - own)]),
            low[None],
            high[None],
        )

    def _solved(self, asked: list[Programs], enough: Array | None = None) -> tuple[Array, Array]:
        """The optima of programs of one shape, and their bounds: infinite where there is none."""
        y, bound = np.zeros((len(asked), len(self.c.names))), np.full(len(asked), np.inf)
        at_once = max(1, TERMS // max((p.logc.size for p in asked), default=1))
        for k in range(0, len(asked), at_once):
            part, some = asked[k : k + at_once], slice(k, k + at_once)
            A, logc = np.stack([p.A for p in part]), np.concatenate([p.logc for p in part])
            low, high = (np.concatenate([getattr(p, end) for p in part]) for end in ("low", "high"))
            r = gp.solve(
                A, logc, part[0].ptr, low, high, tol=1e-8, enough=None if enough is None else enough[some]
            )
            y[some] = r.y[:, : y.shape[1]]
            bound[some] = np.where(r.status == gp.INFEASIBLE, np.inf, r.bound)
        return y, bound
