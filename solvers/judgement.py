"""From a design to an answer: the model evaluated again in plain floats, limits judged, the gap closed.

One home for one point and for many: a single design is judged as numbers, many as arrays over their points. What does
not hold here is an error or is left over, whoever found it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations import evaluation, failures
from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.many import plain
from formulations.problem import no_halvings
from formulations.row_keys import RowKey
from formulations.tolerances import BINDS, HOLDS
from results.solution import LimitState, Solution, Status
from scenarios.define import composed
from scenarios.define.suspects import held_by_pole
from scenarios.question import HALVINGS, Question
from solvers.outcome import Conflicts, Outcome

NEXT_TO_END = 1e-9
END_ROUNDING = 1e-10
"""Of an end: a number beyond it by less is at it. Searches hold their limits to this."""
LEFT_OF_AMOUNTS = 1e-13
"""What decided numbers, and sums, are off by, relative: what that leaves of amounts that cancel is 0."""
STEADY = 20.0
"""A range of twice the numbers is at most so much wider where nothing steps: up to a fourth power, 16 times."""
Change = tuple[float, float]
"""Value of a limit at which the answer changes, and the objective there."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Designs at the points of a block of some ``shape`` (none for a single point), by the model's own equations.

    ``question`` holds numbers, or arrays that broadcast to the block, and so do ``x`` by name, the metrics ``at`` them
    and the limits' ``ratios``. ``objective``, ``bound`` and ``gap``: (N,), NaN where there is none.
    """

    question: Question
    shape: tuple[int, ...]
    x: Mapping[str, Any]
    at: Mapping[str, Any]
    ratios: Mapping[RowKey, Any]
    objective: Array
    bound: Array
    gap: Array

    def bounded(self, bound: Any) -> Judged:
        """The same designs beside a bound of the objective (see ``judge``)."""
        proven = self.full(math.nan if bound is None else bound)
        if not self.question.objectives:
            return replace(self, bound=proven)
        proven = _of_possible_values(self.question, proven)
        return replace(self, bound=proven, gap=relative_gap(self.objective, proven))

    def full(self, values: Any) -> Array:
        """One number for each point, (N,) in C order."""
        found = np.asarray(plain(values), dtype=float)
        # spreading takes as long as all else of a single point
        return (found if found.shape == self.shape else np.broadcast_to(found, self.shape)).reshape(-1)

    def value(self, key: RowKey) -> Any:
        """What a limit limits; of a model's own limit its ratio."""
        if key.side == "model":
            return self.ratios[key]
        return next((m[key.name] for m in (self.at, self.x, self.question.given) if key.name in m), math.nan)

    def slack(self, key: RowKey) -> Array:
        """Relative room that a limit leaves, negative where it is broken: 1 - ratio, of halvings their difference."""
        return self.full(slack(self.question, key, self.ratios[key], self.value(key)))

    def binding(self, key: RowKey) -> Bools:
        """Whether a limit binds."""
        return np.asarray(np.abs(self.slack(key)) <= BINDS)

    @property
    def holds(self) -> Bools:
        """Where all limits hold; a limit on what does not exist (NaN) is none."""
        broken = [self.slack(key) < -HOLDS for key in self.ratios]
        return np.asarray(~np.logical_or.reduce([np.zeros(self.gap.size, bool), *broken]))

    @property
    def allowed(self) -> Bools:
        """Where whole numbers are whole and listed values are listed."""
        gaps = [d.name for d in self.question.decide if d.integer or d.values is not None]
        x = {name: self.full(self.x[name]) for name in gaps}
        return np.asarray(np.ones(self.gap.size, bool) & are_allowed(self.question, x))

    @property
    def finite(self) -> Bools:
        """Where the objective is a number."""
        return np.asarray(np.isfinite(self.objective) | (not self.question.objectives))

    def lost(self) -> dict[str, Bools]:
        """Where a definition of the file has no value, by its name."""
        own = composed.definitions_of(self.question.model)
        return {d.name: ~np.isfinite(self.full(self.at[d.name])) for d in own}

    def beside_pole(self) -> Bools:
        """Where designs that are nearer to a pole may be better still."""
        return self.full(held_by_pole(self.question, {**self.question.given, **self.x, **self.at})) > 0.0

    @property
    def sound(self) -> Bools:
        """Where there is no fault (see ``fault``)."""
        good = (self.holds, self.allowed, self.finite, *(~missing for missing in self.lost().values()))
        return np.asarray(np.logical_and.reduce(good))

    @property
    def closed(self) -> Bools:
        """Where the gap is no larger than was asked for."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.gap <= self.question.gap)

    @property
    def good(self) -> Bools:
        """Where a design is the answer: sound, and with an objective its gap closed, and not beside a pole."""
        return self.sound & ((self.closed & ~self.beside_pole()) | (not self.question.objectives))

    def fault(self) -> str:
        """Why the design of a single point is not an answer; empty where it is one."""
        worst = max(((-float(self.slack(key)[0]), key) for key in self.ratios), default=(0.0, None))
        if worst[0] > HOLDS and worst[1] is not None:
            return f"re-evaluation breaks {evaluation.label(worst[1], self.ratios)} by {worst[0]:.1e}"
        if not self.allowed[0]:
            return "re-evaluation finds a value that is not allowed"
        if not self.finite[0]:
            return failures.infinite(self.question)
        lost = [n for n, missing in self.lost().items() if missing[0]]
        if lost:
            return f"{', '.join(lost)} has no value at the design found: give a limit that keeps it where it has one"
        return ""

    def solutions(self, status: Status) -> list[Solution]:
        """The answers point by point: design, metrics, limits, objective and bound."""
        own = {m.name for m in self.question.model.limits}
        # nothing is told as -0
        x, at = (
            {n: (self.full(v) + 0.0).tolist() for n, v in m.items() if n not in own}
            for m in (self.x, self.at)
        )
        states = {evaluation.label(key, self.ratios): self.states(key) for key in self.ratios}
        known = ~np.isnan(self.bound)
        return [
            Solution(
                status,
                objective=float(self.objective[i]) if self.question.objectives else None,
                bound=float(self.bound[i]) if known[i] else None,
                gap=float(self.gap[i]) if known[i] and self.question.objectives else None,
                variables={n: v[i] for n, v in x.items()},
                metrics={n: v[i] for n, v in at.items()},
                limits={n: state[i] for n, state in states.items()},
            )
            for i in range(self.gap.size)
        ]

    def states(self, key: RowKey) -> list[LimitState]:
        """The states of one limit, point by point."""
        slack = self.slack(key)
        bound = 1.0 if key.side == "model" else bound_of(self.question, key)
        numbers = (self.full(self.value(key)), self.full(bound), slack, np.abs(slack) <= BINDS)
        unit, side = "", "max"
        if key.side != "model":
            unit, side = evaluation.quantity(self.question.model, key.name).unit, key.side
        rows = zip(*(values.tolist() for values in numbers), strict=True)
        return [LimitState(v, b, side, unit, s, binds) for v, b, s, binds in rows]


def are_allowed(question: Question, x: Mapping[str, Any]) -> Any:
    """Tell where what is decided is whole where it has to be, and in its list where it has one; one design or many."""
    good: Any = np.True_
    for d in question.decide:
        if d.integer:
            good = good & (x[d.name] == np.round(x[d.name]))
        if d.values is not None:
            every = d
            if np.any((x[d.name] < d.values[0]) | (x[d.name] > d.values[-1])):
                every = evaluation.with_all_powers(d, evaluation.box(question, d.name).searched)
            good = good & np.isin(x[d.name], np.array(every.values, dtype=float))
    return good


def judge(
    question: Question,
    x: Mapping[str, Any],
    bound: Any = None,
    shape: tuple[int, ...] = (),
    known: Judged | None = None,
) -> Judged:
    """Evaluate the model at designs; ``bound``: of the objective, in the user's sense (None, or NaN: none known).

    ``known``: what was judged before, perhaps with other ends of a search; the same design is not evaluated again.
    """
    x = _at_their_ends(question, x)
    if known is not None and known.x == x:
        return replace(known, question=question).bounded(bound)
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, x)
        ratios = evaluation.ratios(question, x, at)
        missing = np.full(math.prod(shape), np.nan)
        found = Judged(question, shape, x, at, ratios, missing, missing, missing)
        if question.objectives:
            objective = found.full(evaluation.objective(question, x, at))
            halvings = question.objectives[0].name == HALVINGS.name
            found = replace(found, objective=no_halvings(objective) if halvings else objective)
        return found.bounded(bound)


def _at_their_ends(question: Question, x: Mapping[str, Any]) -> dict[str, Any]:
    """Return designs without what is beyond the user's bounds by what searches leave."""
    found, bounds = dict(x), evaluation.bounds(question)
    for d in question.decide:
        if d.name not in x or d.integer or d.values is not None or d.choices is not None:
            continue
        for end, outwards in zip(bounds[d.name], (-1.0, 1.0), strict=True):
            if end is not None:
                beyond = outwards * (found[d.name] - end)
                rounded = (beyond > 0.0) & (beyond <= END_ROUNDING * np.abs(end))
                if np.any(rounded):
                    found[d.name] = np.where(rounded, end, found[d.name])[()]
    return found


def _of_possible_values(question: Question, bound: Array) -> Array:
    """Return a bound, or many, without the values that the objective cannot have: to them rounding may lead."""
    goal = question.objectives[0]
    # numbers above the catalogue's own are halved less than not at all
    if goal.maximize or goal.name == HALVINGS.name or composed.may_be_negative(question.model, goal.name):
        return bound
    return np.maximum(bound, evaluation.quantity(question.model, goal.name).minimum)


def relative_gap(objective: Any, bound: Any) -> Any:
    """|objective - bound| / |objective|, whatever its unit: 0 where both are 0, infinite where only the objective is.

    NaN where there is no bound. What is nearer to 0 than numbers of any unit is 0.
    """
    apart = np.abs(objective - bound)
    with np.errstate(all="ignore"):
        return np.where(apart <= evaluation.LEAST_FLOAT, 0.0, np.divide(apart, np.abs(objective)))[()]


def believed(judged: Judged) -> Judged:
    """The design of a single point without a bound that it disproves; see ``_at_zero``."""
    found = _at_zero(judged)
    return found.bounded(None) if disproves(found.question, *found.objective, *found.bound) else found


def _at_zero(judged: Judged) -> Judged:
    """The design of a single point with 0 for objective and bound, where both are 0 up to rounding of what cancels.

    Between the numbers that rounding may make of what is decided the objective then has both signs, and is nowhere
    farther from 0 than the bound; in half as much it moves half as far, so that it is no step that is seen.
    """
    question, bound = judged.question, judged.bound[0]
    if not (question.objectives and np.isfinite([judged.objective[0], bound]).all()) or judged.closed[0]:
        return judged
    # a model's own metrics add up what is there: of what is left to the last, rounding only seems to go below 0
    if question.objectives[0].name not in {d.name for d in composed.definitions_of(question.model)}:
        return judged
    whole = {d.name for d in question.decide if d.integer or d.values is not None}
    off = np.array([LEFT_OF_AMOUNTS, LEFT_OF_AMOUNTS / 2])
    near = {
        n: v if n in whole else Interval(*np.sort([v * (1.0 - off), v * (1.0 + off)], axis=0))
        for n, v in judged.x.items()
    }
    try:
        with np.errstate(all="ignore"):
            found = Interval.of(evaluation.objective(question, near, evaluation.metrics(question, near)))
    except CannotTake:
        return judged
    low, high = (np.broadcast_to(end, off.shape) for end in (found.lo, found.hi))
    wide = high - low
    cancels = (low <= 0.0).all() and (high >= 0.0).all() and wide[0] <= STEADY * wide[1]
    if not (cancels and abs(bound) <= wide[0]):
        return judged
    name = question.objectives[0].name
    at = {**judged.at, name: np.float64(0.0)} if name in judged.at else judged.at
    return replace(judged, at=at, objective=np.zeros(1)).bounded(0.0)


def as_proved(question: Question, objective: float, bound: float) -> Status:
    """Optimal where a bound is as near to an objective as was asked for, and feasible where it is not."""
    return Status.OPTIMAL if relative_gap(objective, bound) <= question.gap else Status.FEASIBLE


def disproves(question: Question, objective: float, bound: float) -> bool:
    """Whether a design's objective is better than a bound by more than the gap that was asked for."""
    better = question.sign * (bound - objective) > 0.0
    return better and bool(relative_gap(objective, bound) > question.gap)


def slack(question: Question, key: RowKey, ratio: Any, value: Any) -> Any:
    """Relative room that a limit leaves at a ratio, and a value of what it limits."""
    if key.side == "model" or key.name != HALVINGS.name:
        return 1.0 - np.asarray(plain(ratio), dtype=float)
    bound = np.asarray(bound_of(question, key), dtype=float)
    return (bound - value) * (1.0 if key.side == "max" else -1.0) / np.maximum(np.abs(bound), 1.0)


def bound_of(question: Question, key: RowKey) -> Any:
    """The user's value of a limit or bound (an array where the question has arrays); None for a model's own limit."""
    if key.side == "model":
        return None
    low, high = evaluation.bounds(question)[key.name]
    return high if key.side == "max" else low


def relaxed(question: Question, key: RowKey, factor: Any) -> Any:
    """The value of a limit or bound of the user's that gives by a factor: an upper one grows, a lower one falls.

    The row of a limit on what may be negative is linear in its value (see ``evaluation.ratios``): value / bound, or
    2 - value / bound where the quotient would turn the limit round. NaN where the bound is 0.
    """
    bound = bound_of(question, key)
    if composed.may_be_negative(question.model, key.name):
        b = np.asarray(plain(bound), dtype=float)
        b = b.reshape(-1) if b.ndim else b
        found = np.where((b > 0) == (key.side == "max"), b * factor, b * (2.0 - factor))
        return np.where(b == 0.0, np.nan, found)[()]
    none = math.nan if np.ndim(bound) == 0 and bound == 0 else 0.0
    return none + (bound * factor if key.side == "max" else bound / factor)


def changed(solution: Solution, found: Mapping[str, tuple[float, float | None] | None]) -> Solution:
    """The solution with the next changes of its limits, by their labels."""
    limits = dict(solution.limits)
    for label, change in found.items():
        if change is not None:
            limits[label] = replace(limits[label], next_change=change[0], next_objective=change[1])
    return replace(solution, limits=limits)


def asked_limits(question: Question) -> dict[str, LimitState]:
    """State what was asked of every limit, where no design says what came of it."""
    keys = [
        RowKey(name, side)
        for name, (low, high) in evaluation.bounds(question).items()
        for side, end in (("max", high), ("min", low))
        if end is not None
    ]
    none = np.full(1, np.nan)
    asked = Judged(question, (), {}, {}, dict.fromkeys(keys, math.nan), none, none, none)
    return {evaluation.label(key, keys): asked.states(key)[0] for key in keys}


def ends_that_hold(question: Question, x: Mapping[str, Any]) -> dict[str, Any]:
    """Which end of its domain alone holds each decided number: its place in ``HELD_BY`` from 1 on, 0 where none does.

    What may be 0, or picks from a menu, has no end worth telling. ``x``: numbers, or arrays over points.
    """
    found = {}
    for d in question.decide:
        if d.choices is not None or d.name not in x:
            continue
        q = evaluation.quantity(question.model, d.name)
        if q.floor == 0.0 or q.menu or (d.values is not None and not d.endless):
            continue
        low, high = evaluation.bounds(question)[d.name]
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        least = (x[d.name] <= q.minimum * (1.0 + NEXT_TO_END)) & (low < q.minimum)
        most = (x[d.name] >= q.maximum * (1.0 - NEXT_TO_END)) & (high > q.maximum)
        found[d.name] = np.where(least, 1, np.where(most, 2, 0))
    return found


def without_design(
    question: Question, outcome: Outcome, why: Callable[[], Conflicts] | None = None
) -> Solution:
    """Say why there is no design; ``why`` finds the conflicts of an infeasible question, where they are wanted."""
    if outcome.status is Status.INFEASIBLE:
        clash = Conflicts((), {}) if why is None else why()
        return Solution(
            Status.INFEASIBLE,
            limits=asked_limits(question),
            conflict=clash.feasible_values,
            conflicts=clash.minimal,
            certificate="; ".join(t for t in (outcome.certificate, clash.certificate) if t),
            solver=outcome.solver,
        )
    return Solution(
        outcome.status,
        bound=outcome.bound,
        certificate=outcome.certificate,
        solver=outcome.solver,
        message=outcome.endless if outcome.runaway else outcome.message,
        runaway=outcome.runaway,
    )
