"""One design for many worlds, where each world is a geometric program: a master problem that grows by cuts.

The master holds, of each limit, the worlds that are needed so far, and of the objective's measure the cuts made so far
(``formulations.uncertainty.robust``): it asks for less than the question does, so its proved bound is a bound of
the question. Its design is judged in every world; what is broken there, and the measure where it lies above the
master's, is added. When nothing is left to add, the master's design is the question's optimum. This is the
cutting-set method (Mutapcic and Boyd, Optimization Methods and Software 24, 2009), and for the measure Kelley's
with posynomials for planes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE, Pair, log_ends
from formulations.arithmetics.posynomial import ONE, Posynomial
from formulations.canonical import Canonical
from formulations.grids.divided import take
from formulations.problem import Goal, Kind, Problem, Row, Variable, kind_of
from formulations.row_keys import RowKey
from formulations.uncertainty import robust
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.robust import Posed, folded
from formulations.uncertainty.worlds import Array, Judged, Worlds, judged
from results.solution import Status
from scenarios.question import Decision, Question
from solvers.geometric import kinks, structured
from solvers.geometric.programs.unbounded import runaway
from solvers.outcome import Outcome
from solvers.robust.masters import robust_caps

if TYPE_CHECKING:
    from solvers.geometric.structured import Optimum

MEASURE = "measure"
MASTER_ROUNDS = 200
WORLD_BROKEN = 2e-9
"""A limit broken by more than this, relative, in some world is added: a little more than the master's own tolerance."""
MASTER_CLOSE = 2e-8
"""A measure above the master's by no more than this, relative, needs no further cut: well below the promised gap."""
CERTAIN = -1
"""The world of a limit that is the same in all of them, or on a measure over all."""
Elasticity = tuple[float, bool]
DISCRETE = "whole numbers and listed values change by jumps"
UNKNOWN = "the multipliers are not known"


@dataclass(frozen=True, slots=True)
class Found:
    """What a method found of a question in many worlds.

    ``outcome``: design and bound of the measure. ``elasticities``: percent of the measure per percent of each limit,
    where that is known, and whether that holds for relaxing only; ``unweighed``: why it is not. ``needed``: of each
    limit the worlds that the proof rests on. ``cuts``: how many the measure took. ``left_out``: of each limit with a
    probability the worlds in which it may fail.
    """

    outcome: Outcome
    elasticities: Mapping[RowKey, Elasticity] = field(default_factory=dict)
    needed: Mapping[RowKey, tuple[int, ...]] = field(default_factory=dict)
    cuts: int = 1
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    left_out: Mapping[str, frozenset[int]] = field(default_factory=dict)
    unweighed: str = ""

    def closed(self, question: Question) -> bool:
        """Whether nothing is left to ask: a proof that there is no design, or a design within the gap asked for."""
        status = self.outcome.status
        return status is not Status.ERROR and (status is not Status.FEASIBLE or not question.objectives)


@dataclass(slots=True)
class Master:
    """The problem that grows: the worlds of each limit that it holds, and the cuts of the measure.

    ``left_out``: of each limit the worlds in which it need not hold.
    """

    asked: Posed
    measure: Weighing
    left_out: Mapping[str, frozenset[int]] = field(default_factory=dict)
    rows: list[tuple[int, Row]] = field(default_factory=list)
    cuts: list[Pair] = field(default_factory=list)

    @property
    def goal(self) -> Goal | None:
        """What is minimised of the nominal world; None where only limits are asked."""
        return self.asked.goal

    def worst(self, at: Judged) -> float:
        """The largest ratio of all limits that are asked for."""
        keys = [*(r.key for r in self.asked.rows), *(c.key for c in self.asked.worlds.caps)]
        return max((float(at.counted(key, self.left_out).max()) for key in keys), default=0.0)

    def add(self, x: Mapping[str, float], at: Judged, *, first: bool = False) -> bool:
        """Add what is broken at a design (``first``: the worst world of each limit); tell whether there was any."""
        before = len(self.rows)
        fixed = {r.key for i, r in self.rows if i == CERTAIN}
        for row in self.asked.rows:
            if first and robust.certain(row.numerator) and robust.certain(row.denominator):
                self.rows.append((CERTAIN, robust.row_at(self.asked, row, 0, x)))
            elif row.key not in fixed:
                ratio = at.counted(row.key, self.left_out)
                if not (ratio > -np.inf).any():
                    continue
                i = _hardest_world(row, ratio) if first else None
                i = int(np.nan_to_num(ratio, nan=np.inf).argmax()) if i is None else i
                if first or not ratio[i] <= 1 + WORLD_BROKEN:
                    self._hold(i, robust.row_at(self.asked, row, i, x))
        for cap in self.asked.worlds.caps:
            if first or not at.ratios[cap.key][0] <= 1 + WORLD_BROKEN:
                values = at.metrics[cap.name][: self.asked.worlds.count_of(cap.name)]
                self._hold(CERTAIN, robust_caps.row(self.asked, cap, x, values))
        return len(self.rows) > before

    def worlds(self) -> list[tuple[RowKey, int]]:
        """In which worlds limits are held."""
        return [(row.key, i) for i, row in self.rows if i != CERTAIN]

    def _hold(self, i: int, row: Row) -> None:
        """Hold a limit in a world, unless the very row is there: what is left then is the master's own tolerance."""
        alike = (r for j, r in self.rows if j == i and r.key == row.key)
        if not any(r.numerator.same_as(row.numerator) for r in alike):
            self.rows.append((i, row))

    def cut(self, x: Mapping[str, float], at: Judged) -> bool:
        """Add the cut of the measure that is exact at a design; tell whether it was new.

        Where it is there, what is left of the gap is the master's own tolerance.
        """
        goal = self.goal
        assert goal is not None, "only an objective has a measure"
        assert at.objective is not None, "and a value in every sample"
        losses = goal.sign * at.objective if goal.log2 else at.objective**goal.sign
        whole, weights = folded(goal), self.measure.weights(losses)
        # of ratios of sums only the worst can be cut: by the ratio in the world where it is
        i = int(weights.argmax())
        top = robust.settled(self.asked, goal.numerator if whole is None else whole, x)
        bottom = goal.denominator
        pair = (
            (robust.at_world(top, i), robust.at_world(bottom, i))
            if whole is None
            else (robust.weighted(top, weights), ONE)
        )
        fresh = not any(pair[0].same_as(p) and pair[1].same_as(q) for p, q in self.cuts)
        self.cuts += [pair] if fresh else []
        return fresh

    def above(self, at: Judged, bound: float | None, close: float) -> bool:
        """Whether the measure at a design lies above a bound by more than ``close``, relative."""
        assert self.goal is not None, "only an objective has a measure"
        assert at.objective is not None, "and a value in every sample"
        value = float(self.measure.value(at.objective, maximize=self.goal.sign < 0))
        apart = math.inf if bound is None else self.goal.sign * (value - bound)
        return math.isfinite(value) and apart > close * abs(value)

    def problem(self, exact: Goal | None) -> Problem:
        """Write the master as a problem; ``exact``: the measure as one posynomial, where it is one."""
        rows, variables, goal = [r for _, r in self.rows], self.asked.variables, exact
        if self.goal is not None and exact is None:
            unknown = Posynomial({((MEASURE, 1.0),): 1.0})
            variables = (*variables, self._unknown())
            rows += [
                Row(RowKey(f"{MEASURE} {k}", SIDE), top, bottom * unknown)
                for k, (top, bottom) in enumerate(self.cuts)
            ]
            goal = dataclasses.replace(self.goal, numerator=unknown, denominator=ONE, log2=False)
        sums = [r.denominator for r in rows] + ([goal.denominator] if goal is not None else [])
        kind = kind_of(self.asked.variables, Kind.GP if all(d.is_monomial for d in sums) else Kind.NLP)
        nominal = self.asked.worlds.nominal
        return Problem(nominal, kind, variables, goal, tuple(rows), known=self.asked.known)

    def _unknown(self) -> Variable:
        """The unknown above all cuts, in a box that they never reach."""
        ends = {v.name: (math.log(v.low), math.log(v.high)) for v in self.asked.variables}
        low, high = math.inf, -math.inf
        for top, bottom in self.cuts:
            (least, most), (small, large) = log_ends(top, ends), log_ends(bottom, ends)
            low, high = min(low, least - large), max(high, most - small)
        low, high = max(low - 5.0, -680.0), min(high + 5.0, 680.0)
        return Variable(
            MEASURE, math.exp(low), math.exp(high), False, False, Decision(MEASURE), auxiliary=True
        )


def minimise(
    asked: Posed,
    measure: Weighing,
    *,
    tied: bool = True,
    left_out: Mapping[str, frozenset[int]] | None = None,
) -> Found:
    """Find the design whose objective has the least measure over the worlds, with every limit held in each of them.

    ``tied``: settle ties by the rule, at the nominal numbers, and weigh limits. ``left_out``: of a limit the worlds in
    which it need not hold. Raises NotPosynomial where the measure cannot be cut: a mean of ratios of sums.
    """
    exact = robust.exact_goal(asked, measure)
    master = Master(asked, measure, left_out or {})
    x = middle_design(asked)
    at = judged(asked.worlds, x)
    master.add(x, at, first=True)
    if asked.goal is not None and exact is None:
        master.cut(x, at)
    for _ in range(MASTER_ROUNDS):
        problem = master.problem(exact)
        searched = structured.search(problem)
        found = structured.settle(searched, tied=False)
        if found.outcome.x is None or found.outcome.status not in (Status.OPTIMAL, Status.FEASIBLE):
            return Found(
                _answer_of_empty_master(found.outcome, master), needed=needed_worlds(master.worlds())
            )
        x = _design_of_outcome(asked, found.outcome)
        at = judged(asked.worlds, x)
        if not _grown(master, found, x, at, exact):
            break
    else:
        words = f"{MASTER_ROUNDS} rounds of cuts did not close the gap"
        return Found(dataclasses.replace(found.outcome, status=Status.FEASIBLE, x=x, message=words))
    if not tied:
        return Found(dataclasses.replace(found.outcome, x=x), needed=needed_worlds(master.worlds()))
    found, x = _settled_ties(master, searched, found, x, exact)
    outcome = dataclasses.replace(found.outcome, x=x, solver="dse cuts over samples")
    elasticities, why = _weights_of_limits(master, problem, found)
    return Found(
        outcome,
        elasticities,
        needed_worlds(master.worlds()),
        len(master.cuts),
        _ranges_of_decided(asked, found),
        unweighed="" if elasticities else why,
    )


def _hardest_world(row: Row, ratio: Array) -> int | None:
    """The world in which a limit is hardest whatever is decided, by all of its coefficients; None where there is none.

    ``ratio``: at some design, minus infinite in worlds in which the limit need not hold.
    """
    if robust.has_maxima(row.numerator):
        return None
    held = np.flatnonzero(ratio > -np.inf)
    terms = [c[held] for c in row.numerator.terms.values() if np.ndim(c)]
    terms += [-c[held] for c in row.denominator.terms.values() if np.ndim(c)]
    hardest = (
        np.logical_and.reduce([c == c.max() for c in terms]) if terms and held.size else np.zeros(0, bool)
    )
    return int(held[hardest.argmax()]) if hardest.any() else None


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


def in_worlds(asked: Posed, rows: Sequence[Row]) -> Canonical:
    """Return the objective and some rows as arrays, with a point for each world that is measured."""
    goal, worlds = asked.goal, asked.worlds
    assert goal is not None, "there is an objective"
    names = tuple(v.name for v in asked.variables)
    pairs = [(goal.numerator, goal.denominator), *((r.numerator, r.denominator) for r in rows)]
    # no bound may rest on an end that only a search has
    box = canon.boxes(asked.variables, (worlds.size,), far=True)
    c = canon.arrays(names, pairs, tuple(r.key for r in rows), *box, (worlds.size,))
    return take(c, np.arange(worlds.measured))


def endless(asked: Posed) -> tuple[str, bool] | None:
    """Name a variable along which the objective improves for ever in every world, and whether it falls.

    That follows from exponents, which are the same in all worlds. None where there is none, or equations are others.
    """
    posed = [r for r in (asked.goal, *asked.rows) if r is not None]
    plain = all(r.denominator.is_monomial and not robust.has_maxima(r.numerator) for r in posed)
    if asked.goal is None or asked.worlds.caps or not plain:
        return None
    c = in_worlds(asked, asked.rows)
    return runaway(take(c, [0]), asked.variables) if np.isfinite(c.logc).all() else None


def _design_of_outcome(asked: Posed, outcome: Outcome) -> dict[str, float]:
    assert outcome.x is not None, "there is a design"
    return {v.name: float(outcome.x[v.name]) for v in asked.variables}


def _grown(master: Master, found: Optimum, x: Mapping[str, float], at: Judged, exact: Goal | None) -> bool:
    """Add what the design shows to be missing; tell whether there was anything."""
    grown = master.add(x, at)
    goal = master.goal
    if goal is None or exact is not None:
        return grown
    return (master.above(at, found.outcome.bound, MASTER_CLOSE) and master.cut(x, at)) or grown


def _settled_ties(
    master: Master, searched: structured.Searched, found: Optimum, x: dict[str, float], exact: Goal | None
) -> tuple[Optimum, dict[str, float]]:
    """Settle ties in the last master; what then breaks a world that it does not hold is left."""
    chosen = structured.settle(searched)
    if chosen.outcome.x is None:
        return found, x
    there = _design_of_outcome(master.asked, chosen.outcome)
    at = judged(master.asked.worlds, there)
    if master.worst(at) > 1 + 5 * WORLD_BROKEN:
        return found, x
    if exact is None and master.goal is not None and master.above(at, chosen.outcome.bound, 2 * MASTER_CLOSE):
        return found, x
    return chosen, there


def _answer_of_empty_master(outcome: Outcome, master: Master) -> Outcome:
    """What a master without a design says of the question."""
    if outcome.status is Status.INFEASIBLE:
        worlds = {i for _, i in master.worlds()}
        text = "no design meets all limits"
        text += f" in {some_worlds(master.asked.worlds, worlds)}" if worlds else ""
        return dataclasses.replace(outcome, certificate=f"{text}; {structured.PROOFS[Kind.GP]}")
    return outcome


def needed_worlds(held: Iterable[tuple[RowKey, int]]) -> dict[RowKey, tuple[int, ...]]:
    """The worlds in which a master holds its limits, by limit."""
    found: dict[RowKey, tuple[int, ...]] = {}
    for key, i in held:
        found[key] = tuple(sorted({*found.get(key, ()), i}))
    return found


def some_worlds(worlds: Worlds, some: set[int]) -> str:
    """Name the first of some worlds: ``sample 3``, or ``vertices 0, 1``."""
    numbers = ", ".join(map(str, sorted(some)[:6])) + (", …" if len(some) > 6 else "")
    return f"{worlds.word if len(some) == 1 else worlds.plural} {numbers}"


def _weights_of_limits(
    master: Master, problem: Problem, found: Optimum
) -> tuple[dict[RowKey, Elasticity], str]:
    """Percent of the measure per percent of a limit: its multipliers, summed over the worlds that the master holds.

    Without them, why.
    """
    goal = master.goal
    if any(v.discrete for v in master.asked.variables):
        return {}, DISCRETE
    if found.y is None or goal is None or goal.log2:
        return {}, "the objective is a logarithm" if goal is not None and goal.log2 else UNKNOWN
    _, duals = kinks.duals(structured.Place(problem, found.y, found.known))
    if not duals.known.all():
        return {}, UNKNOWN
    elasticities: dict[RowKey, Elasticity] = {}
    for key, multiplier, one_sided in zip(duals.keys, duals.value[0], duals.one_sided[0], strict=True):
        if key.side in ("max", "min"):
            toward = -1.0 if key.side == "max" else 1.0
            before, side = elasticities.get(key, (0.0, False))
            elasticities[key] = before + toward * goal.sign * float(multiplier), side or bool(one_sided)
    return elasticities, ""


def _ranges_of_decided(asked: Posed, found: Optimum) -> dict[str, tuple[float, float]]:
    names = {v.name for v in asked.variables}
    return {n: ends for n, ends in (found.ranges or {}).items() if n in names}
