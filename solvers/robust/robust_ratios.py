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
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_terms import LOG_ZERO
from solvers.geometric.kernel.gp_together import Programs
from solvers.geometric.programs import nodes as parts
from solvers.geometric.programs import tree
from solvers.geometric.programs.nodes import Nodes, Relaxed
from solvers.outcome import Outcome
from solvers.robust.boxes.robust_boxes import UNTIED
from solvers.robust.masters.master import WORLD_BROKEN, Master, middle_design
from solvers.robust.masters.robust_geometric import Found, in_worlds, needed_worlds

Array = NDArray[np.float64]
NODES = 600
RATIO_NODES_AT_ONCE = 16
RATIO_GAP = 5e-7
LIMIT_ROUNDS = 30
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
        mean = _Mean(asked, measure, in_worlds(asked, master.rows))
        mean.value(x)
        outcome = _searched(mean)
        if outcome.x is None or not master.add(outcome.x, judged(asked.worlds, outcome.x)).any():
            break
    needed = needed_worlds(master.worlds())
    return Found(outcome, needed=needed, cuts=1 if outcome.x is None else len(mean.weights))


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

    def bounded(self, nodes: Nodes, _: Array) -> tuple[Nodes, Relaxed, Array]:
        """Bound the measure on nodes: by secants above the divisors of all worlds."""
        asked = []
        for low, high, *z in zip(nodes.low, nodes.high, nodes.z_low, nodes.z_high, strict=True):
            z_low, z_high = (np.tile(end, (len(self.c.logc), 1)) for end in z)
            middle = np.linalg.pinv(self.c.forms) @ (0.5 * (z[0] + z[1]))
            asked.append(self._program(*canon.relaxation(self.c, z_low, z_high), low, high, middle))
        y, bound = self._solved(asked)
        return nodes, Relaxed(y, np.zeros((len(y), len(self.c.keys))), np.zeros(len(y))), bound

    def designs(self, nodes: Nodes, y: Array) -> tuple[NDArray[np.intp], Array, Array]:
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
        return np.zeros(len(there), np.intp), there, np.array(values)

    def _tangents(self, y: Array) -> Programs:
        low, high, whole = self.c.low[0].copy(), self.c.high[0].copy(), list(self.c.allowed)
        low[whole] = high[whole] = y[whole]
        a, b = canon.restriction(self.c, np.tile(y, (len(self.c.logc), 1)))
        return self._program(a, b, self.c.ptr, low, high, y)

    def _program(
        self, a: Array, b: Array, ptr: NDArray[np.intp], low: Array, high: Array, at: Array
    ) -> Programs:
        """The program of one node from those of all worlds: the posynomials below the measure, then the limits.

        ``at``: where worlds that are added up lose nothing.
        """
        own = self.c.ptr[1]
        tops, logs, rest = a[:, :own], b[:, :own], a[0, own:]
        with np.errstate(divide="ignore"):
            blocks = [_added_up(tops, logs + np.log(w)[:, None], at) for w in self.weights[-SETS:]]
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
            np.concatenate([*(gb for _, gb in blocks), b[0, own:]])[None],
            np.concatenate([sizes, sizes[-1] + (ptr[2:] - own)]),
            low[None],
            high[None],
        )

    def _solved(self, asked: list[Programs]) -> tuple[Array, Array]:
        """The optima of programs, and their bounds: infinite where there is none."""
        found = side_by_side.solve_all(asked) if asked else []
        y = np.array([r.y[0, : len(self.c.names)] for r in found]).reshape(-1, len(self.c.names))
        return y, np.array([np.inf if r.status[0] == gp.INFEASIBLE else r.bound[0] for r in found])


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
