"""The problem that grows: limits in the worlds that are needed so far, and cuts of the measure, at many points at once.

Of a question at P points each point has its own worlds and its own cuts; a single question is one point. What is held
asks for less than the question does, so that a bound of it is one of the question. ``grow`` is the loop.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, TypeVar

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.arithmetics.maxima import SIDE, Pair, log_ends
from formulations.arithmetics.posynomial import ONE, NotPosynomial, Posynomial
from formulations.problem import Goal, Kind, Problem, Row, Variable, kind_of
from formulations.row_keys import RowKey
from formulations.uncertainty import world_cuts
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.robust import Posed
from formulations.uncertainty.world_cuts import Point, folded
from formulations.uncertainty.worlds import Judged, judged
from scenarios.question import Decision
from solvers.patterns import groups
from solvers.robust.masters import robust_caps

MEASURE, EASED = "measure", "eased"
MASTER_ROUNDS = 200
MASTER_CLOSE = 2e-8
"""A measure above the master's by no more than this, relative, needs no further cut: well below the promised gap."""
WORLD_BROKEN = 2e-9
"""A limit broken by more than this, relative, in some world is added: a little more than the master's own tolerance."""
CERTAIN = -1
"""The world of a limit that is the same in all of them, or on a measure over all."""
Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class Held:
    """A pair of posynomials, the first at most the second, of which coefficients are numbers or (P,).

    ``key``: of the limit (None: a cut of the measure); ``world`` (P,): of which it is; ``there`` (P,): at which points.
    """

    key: RowKey | None
    pair: Pair
    world: Indices
    there: Bools

    def at(self, points: Any) -> Held:
        """Return it at some of the points."""
        top, bottom = (_at(p, points) for p in self.pair)
        return dataclasses.replace(
            self, pair=(top, bottom), world=self.world[points], there=self.there[points]
        )

    def same(self, other: Held) -> Bools:
        """At which points another is the same already."""
        alike = (self.key == other.key) & self.there & (self.world == other.world)
        for p, q in zip(self.pair, other.pair, strict=True):
            for key in {*p.terms, *q.terms} if alike.any() else ():
                alike = alike & np.equal(p.terms.get(key, 0.0), q.terms.get(key, 0.0))
        return np.asarray(alike)


@dataclass(slots=True)
class Master:
    """The problems of P points: what of the worlds and the measure each holds.

    ``exact``: the measure as one posynomial, where it is one; else it takes cuts. ``left_out``: of each limit the
    worlds (P, worlds) in which it need not hold. ``eased``: the limits that give by the factor EASED.
    """

    asked: Posed
    measure: Weighing
    exact: Goal | None = None
    left_out: Mapping[str, Bools] = field(default_factory=dict)
    eased: frozenset[RowKey] = frozenset()
    held: list[Held] = field(default_factory=list)

    @property
    def goal(self) -> Goal | None:
        """What is minimised of the nominal world; None where only limits are asked."""
        return self.asked.goal

    @property
    def takes_cuts(self) -> bool:
        """Whether there is a measure that is no posynomial by itself."""
        return self.goal is not None and self.exact is None

    @property
    def count(self) -> int:
        """Number of points."""
        return self.asked.worlds.points

    def at(self, points: Indices) -> Master:
        """Return the problems of some of the points."""
        held = [h.at(points) for h in self.held]
        kept = [h for h in held if h.there.any()]
        exact = self.exact and exact_at(self.exact, points)
        out = {n: mask[points] for n, mask in self.left_out.items()}
        return dataclasses.replace(self, asked=self.asked.at(points), exact=exact, left_out=out, held=kept)

    def judged(self, x: Point) -> Judged:
        """Judge designs in every world."""
        return judged(self.asked.worlds, {n: v for n, v in x.items() if n != EASED})

    def ratios(self, key: RowKey, x: Point, at: Judged) -> Array:
        """A limit's ratios (P, worlds) at designs, minus infinity where it need not hold."""
        values = at.ratios[key] if key in at.ratios else self._losses(at)
        found = np.atleast_2d(values) / (x[EASED] if key in self.eased else 1.0)
        out = self.left_out.get(key.name)
        return found if out is None else np.where(out[:, : found.shape[1]], -np.inf, found)

    def worst(self, x: Point, at: Judged) -> Array:
        """The largest ratio of all limits that are asked for, at each point."""
        keys = [*(r.key for r in self.asked.rows), *(c.key for c in self.asked.worlds.caps)]
        found = np.zeros(self.count)
        for key in keys:
            found = np.maximum(found, self.ratios(key, x, at).max(1))
        return found

    def add(self, x: Point, at: Judged, *, first: bool = False) -> Bools:
        """Add what is broken at designs (``first``: the worst world of each limit); tell at which points there was any.

        ``x``: numbers of a single question, else arrays (P, 1).
        """
        found, every = np.zeros(self.count, bool), np.ones(self.count, bool)
        none = np.full(self.count, CERTAIN)
        fixed = {h.key for h in self.held if (h.world == CERTAIN).all()}
        for row in self.asked.rows:
            if first and world_cuts.certain(row.numerator) and world_cuts.certain(row.denominator):
                cut = world_cuts.row_at(self.asked, row, np.zeros_like(none), x)
                found |= self._hold(row.key, (cut.numerator, cut.denominator), none, every)
            elif row.key not in fixed:
                ratio = self.ratios(row.key, x, at)
                i = np.nan_to_num(ratio, nan=np.inf).argmax(1)
                broken = ~(ratio[np.arange(self.count), i] <= 1 + WORLD_BROKEN) | first
                broken &= (ratio > -np.inf).any(1)
                if broken.any():
                    cut = world_cuts.row_at(self.asked, row, i, x)
                    found |= self._hold(row.key, (cut.numerator, cut.denominator), i, broken)
        for cap in self.asked.worlds.caps:
            # of one question, whose arrays may have a dimension for its point
            if first or not np.ravel(at.ratios[cap.key])[0] <= 1 + WORLD_BROKEN:
                values = np.ravel(at.metrics[cap.name])[: self.asked.worlds.count_of(cap.name)]
                cut = robust_caps.row(self.asked, cap, x, values)
                found |= self._hold(cap.key, (cut.numerator, cut.denominator), none, every)
        return found

    def worlds(self) -> list[tuple[RowKey, int]]:
        """In which worlds a single question holds limits."""
        return [(h.key, int(h.world[0])) for h in self.held if h.key is not None and h.world[0] != CERTAIN]

    @property
    def cuts(self) -> int:
        """How many cuts of the measure a single question has."""
        return sum(h.key is None for h in self.held)

    def _hold(self, key: RowKey | None, pair: Pair, world: Indices, there: Bools) -> Bools:
        """Hold a limit in a world, or a cut, where it is not there: what is left then is the master's own tolerance."""
        new = Held(key, pair, world, there)
        for h in self.held:
            if h.key == key:
                new = dataclasses.replace(new, there=new.there & ~h.same(new))
        self.held += [new] if new.there.any() else []
        return new.there

    def cut(self, x: Point, at: Judged, where: Bools) -> Bools:
        """Add the cut of the measure that is exact at designs, ``where`` it is wanted; tell where it was new.

        Where it is there, what is left of the gap is the master's own tolerance.
        """
        goal = self.goal
        assert goal is not None, "only an objective has a measure"
        whole, weights = folded(goal), np.stack([self.measure.weights(one) for one in self._losses(at)])
        # of ratios of sums only the worst can be cut: by the ratio in the world where it is
        i = weights.argmax(1)
        if whole is None:
            cut = world_cuts.row_at(
                self.asked, Row(RowKey(MEASURE, SIDE), goal.numerator, goal.denominator), i, x
            )
            pair = cut.numerator, cut.denominator
        else:
            pair = world_cuts.weighted(world_cuts.settled(self.asked, whole, x), weights), ONE
        return self._hold(None, pair, np.full(self.count, CERTAIN), where)

    def _losses(self, at: Judged) -> Array:
        """What is minimised of the objective (P, worlds)."""
        goal = self.goal
        assert goal is not None, "only an objective has a measure"
        assert at.objective is not None, "and a value in every sample"
        return np.atleast_2d(goal.sign * at.objective if goal.log2 else at.objective**goal.sign)

    def above(self, at: Judged, bound: Array, close: float) -> Bools:
        """Where the measure at a design lies above a bound (NaN: none) by more than ``close``, relative."""
        assert self.goal is not None, "only an objective has a measure"
        assert at.objective is not None, "and a value in every sample"
        value = self.measure.value(np.atleast_2d(at.objective), maximize=self.goal.sign < 0)
        apart = np.nan_to_num(self.goal.sign * (value - bound), nan=np.inf)
        return np.isfinite(value) & (apart > close * np.abs(value))

    def still_met(self, x: Point, bound: Array) -> Bools:
        """Where designs that ties went to break no limit in any world, and are as good as those before."""
        at = self.judged(x)
        good = self.worst(x, at) <= 1 + 5 * WORLD_BROKEN
        return good & ~self.above(at, bound, 2 * MASTER_CLOSE) if self.takes_cuts else good

    def alike(self) -> Iterator[Indices]:
        """Go through the points whose problems have the same rows and terms."""
        marks = [h.there for h in self.held]
        for h in self.held:
            marks += [c > 0 for p in h.pair for c in p.terms.values() if np.ndim(c)]
        table = np.stack([np.ones(self.count, bool), *marks], axis=1)
        yield from (which for which, _ in groups(table))

    def problem(self, points: Indices | None = None) -> Problem:
        """Write the problem of a single question, or of some ``points`` that are alike, with coefficients (P,)."""
        of = self if points is None else self.at(points)
        # a single question is one of plain numbers
        where = 0 if points is None else slice(None)
        variables, goal = self.asked.variables, of.exact and exact_at(of.exact, where)
        pairs = [(h.key, _present(h.pair[0], where), _present(h.pair[1], where)) for h in of.held]
        # what is nothing at any design is below any bound
        rows = [Row(key, top, bottom) for key, top, bottom in pairs if key is not None and top.terms]
        if self.goal is not None and of.exact is None:
            cuts = [(top, bottom) for key, top, bottom in pairs if key is None]
            unknown = Posynomial({((MEASURE, 1.0),): 1.0})
            variables = (*variables, self._unknown(cuts))
            rows += [
                Row(RowKey(f"{MEASURE} {k}", SIDE), top, bottom * unknown)
                for k, (top, bottom) in enumerate(cuts)
            ]
            goal = dataclasses.replace(self.goal, numerator=unknown, denominator=ONE, log2=False)
        sums = [r.denominator for r in rows] + ([goal.denominator] if goal is not None else [])
        kind = kind_of(self.asked.variables, Kind.GP if all(d.is_monomial for d in sums) else Kind.NLP)
        return Problem(of.asked.worlds.nominal, kind, variables, goal, tuple(rows), known=of.asked.known)

    def _unknown(self, cuts: Sequence[Pair]) -> Variable:
        """The unknown above all cuts, in a box that they never reach."""
        ends = {v.name: (math.log(v.low), math.log(v.high)) for v in self.asked.variables}
        low: Any = math.inf
        high: Any = -math.inf
        for top, bottom in cuts:
            if not (top.terms and bottom.terms):
                raise NotPosynomial(f"the objective is 0 in a {self.asked.worlds.word} at every design")
            (least, most), (small, large) = log_ends(top, ends), log_ends(bottom, ends)
            low, high = np.minimum(low, least - large), np.maximum(high, most - small)
        low, high = np.maximum(low - 5.0, -680.0), np.minimum(high + 5.0, 680.0)
        low, high = (np.exp(end) if np.ndim(end) else math.exp(end) for end in (low, high))
        return Variable(MEASURE, low, high, False, False, Decision(MEASURE), auxiliary=True)


@dataclass(frozen=True, slots=True)
class Round(Generic[Told]):
    """One round at the ``points`` that are left: their masters, the designs ``x`` of these, and what is ``told``.

    ``at``: the designs in every world. ``there``: where there is a design; ``more``: where it shows something to be
    missing, so that another round follows.
    """

    points: Indices
    master: Master
    x: Point
    at: Judged
    told: Told
    there: Bools
    more: Bools


def grow(
    master: Master, x: Point, search: Callable[[Master], tuple[Point, Array, Told]]
) -> Iterator[Round[Told]]:
    """Go through the rounds in which masters grow, from designs ``x``, until nothing is missing or MASTER_ROUNDS.

    A master is solved, its designs are judged in every world, what they show to be missing is added, and points at
    which nothing is left to add leave. A single question is one point. ``search``: returns designs of masters (NaN
    where there are none), their bounds, and what else there is to tell.
    """
    points, at = np.arange(master.count), master.judged(x)
    master.add(x, at, first=True)
    if master.takes_cuts:
        master.cut(x, at, np.ones(master.count, bool))
    for _ in range(MASTER_ROUNDS):
        x, bound, told = search(master)
        there = np.all([np.isfinite(np.atleast_2d(v))[:, 0] for v in x.values()], axis=0)
        at, more = master.judged(x), np.zeros(points.size, bool)
        if there.any():
            more = master.add(x, at)
            if master.takes_cuts:
                more |= master.cut(x, at, master.above(at, bound, MASTER_CLOSE))
        yield Round(points, master, x, at, told, there, there & more)
        rest = np.flatnonzero(there & more)
        if not rest.size:
            return
        if rest.size < points.size:
            points, master = points[rest], master.at(rest)


def middle_design(asked: Posed) -> dict[str, float]:
    """A design to begin with: the geometric middle of each variable's bounds, or the nearest value it may have."""
    found = {}
    for v in asked.variables:
        d = v.decision
        low, high = max(v.low, d.minimum or 0.0), min(v.high, math.inf if d.maximum is None else d.maximum)
        x = math.sqrt(low) * math.sqrt(max(high, low))
        if d.values is not None:
            listed = np.array(d.values)
            x = float(listed[np.abs(np.log(listed) - math.log(x)).argmin()])
        found[v.name] = float(round(x)) if d.integer else float(x)
    return found


def exact_at(goal: Goal, points: Any) -> Goal:
    """Return the measure as one posynomial at some of the points."""
    return dataclasses.replace(
        goal, numerator=_at(goal.numerator, points), denominator=_at(goal.denominator, points)
    )


def along(p: Posynomial) -> Posynomial:
    """Return a posynomial with numbers (P,) in the shape of points and worlds."""
    return Posynomial({key: np.asarray(c)[:, None] if np.ndim(c) == 1 else c for key, c in p.terms.items()})


def in_first(p: Posynomial, shape: tuple[int, int]) -> Posynomial:
    """Return a posynomial in the first world of each point; ``shape``: numbers of points and worlds."""
    return Posynomial({key: np.broadcast_to(c, shape)[:, 0] for key, c in p.terms.items()})


def _at(p: Posynomial, points: Any) -> Posynomial:
    return Posynomial({key: c[points] if np.ndim(c) else c for key, c in p.terms.items()})


def _present(p: Posynomial, points: Any) -> Posynomial:
    """A posynomial at points that are alike, without the terms that these do not have."""
    return Posynomial({key: c for key, c in _at(p, points).terms.items() if np.all(c > 0)})
