"""Designs as a sampler sees them: a parameter for each decision, and the score of a design."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import optuna

from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations import evaluation, handover
from formulations.tolerances import HOLDS
from scenarios.question import Decision, Question, combinations, fixed
from solvers import boxes
from solvers.boxes import DENSER_NEAR_ZERO
from solvers.judgement import are_allowed

MOST_COMBINATIONS = 200
MOST_TIGHTENED = 8
"""With more decided numbers intervals take longer over the box than a search does."""
LONGEST_COUNT = 1000
"""A whole number that may be 0 and is at most this is spread evenly, a larger one by ratio."""
WORST_GOAL = 1e300
UNKNOWN_VIOLATION = 1e3
"""Violation where a limit is not a number; the largest of any other limit is log(FAR), about 690."""

Distribution = Any


class UnreadableState(ValueError):
    """What a study keeps of a sampler is not a state of it; the message names the trial."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A parameter of a study: its name there, the decision it stands for, its distribution, and back to the value."""

    name: str
    decision: str
    distribution: Distribution
    decode: Callable[[Any], float | str]

    def suggest(self, trial: optuna.Trial) -> Any:
        """Let a sampler propose a value."""
        d = self.distribution
        if isinstance(d, optuna.distributions.CategoricalDistribution):
            return trial.suggest_categorical(self.name, d.choices)
        if isinstance(d, optuna.distributions.IntDistribution):
            return trial.suggest_int(self.name, d.low, d.high, log=d.log)
        assert isinstance(d, optuna.distributions.FloatDistribution), "there are three kinds"
        return trial.suggest_float(self.name, d.low, d.high, log=d.log)


@dataclass(frozen=True, slots=True)
class Design:
    """A design: the question that its choices among names leave, these choices, and the numbers, SI."""

    question: Question
    chosen: Mapping[str, str]
    x: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a design.

    ``violation``: 0 where all limits hold, else the sum of the logarithms of their ratios; ``goals``: the
    objectives in their own senses. ``failure``: why the model could not be evaluated, empty where it could.
    """

    violation: float
    goals: tuple[float, ...]
    failure: str = ""


class Designs:
    """All designs of a question; ``empty``: intervals prove that none meets all limits."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self._left: dict[tuple[str, ...], Question] = {}
        numbers = replace(question, decide=tuple(d for d in question.decide if d.choices is None))
        where = boxes.space(numbers)
        kept = _tightened_box(question, where.names, (where.low, where.high))
        self.empty = kept is None
        low, high = (where.low, where.high) if kept is None else kept
        ends = dict(zip(where.names, zip(low, high, where.high, strict=True), strict=True))
        self.knobs = tuple(_knob(question, d, ends.get(d.name)) for d in question.decide)

    def design(self, params: Mapping[str, Any]) -> Design:
        """Return the design that the values of a study's parameters stand for."""
        return self.of_values({k.decision: k.decode(params[k.name]) for k in self.knobs})

    def of_values(self, values: Mapping[str, Any]) -> Design:
        """Return the design in which what is decided has these values."""
        chosen = {d.name: str(values[d.name]) for d in self.question.decide if d.choices is not None}
        key = tuple(chosen.values())
        if key not in self._left:
            self._left[key] = fixed(self.question, chosen) if chosen else self.question
        left = self._left[key]
        return Design(left, chosen, {d.name: float(values[d.name]) for d in left.decide})

    def is_allowed(self, design: Design) -> bool:
        """Tell whether what is decided has values that it may have, whatever the limits say."""
        named = {d.name: d.choices for d in self.question.decide if d.choices is not None}
        if any(design.chosen[n] not in choices for n, choices in named.items()):
            return False
        for name, value in design.x.items():
            q = evaluation.quantity(self.question.model, name)
            if not (math.isfinite(value) and q.minimum <= value <= q.maximum):
                return False
        return bool(are_allowed(design.question, design.x))


def score(design: Design) -> Score:
    """Evaluate a design in plain floats; a model that fails gives it the worst score."""
    question = design.question
    x = {n: np.float64(v) for n, v in design.x.items()}
    worst = tuple(-WORST_GOAL if g.maximize else WORST_GOAL for g in question.objectives)
    try:
        with np.errstate(all="ignore"):
            at = evaluation.metrics(question, x)
            rows = [float(r) for r in evaluation.ratios(question, x, at).values()]
            goals = [float(evaluation.objective(question, x, at, i)) for i in range(len(worst))]
    except (Exception, SystemExit) as problem:  # a stranger's code may raise anything
        return Score(2 * UNKNOWN_VIOLATION, worst, f"{type(problem).__name__}: {problem}")
    nowhere = [g.name for g, v in zip(question.objectives, goals, strict=True) if math.isnan(v)]
    missed = sum(_violation_of_ratio(r) for r in rows) + UNKNOWN_VIOLATION * len(nowhere)
    reached = (
        w if math.isnan(g) else min(max(g, -WORST_GOAL), WORST_GOAL)
        for g, w in zip(goals, worst, strict=True)
    )
    return Score(missed, tuple(reached), f"{', '.join(nowhere)} is not a number" if nowhere else "")


def _violation_of_ratio(ratio: float) -> float:
    if math.isnan(ratio):
        return UNKNOWN_VIOLATION
    return math.log(min(ratio, WORST_GOAL)) if ratio > 1 + HOLDS else 0.0


def _tightened_box(
    question: Question, names: Sequence[str], box: tuple[Array, Array]
) -> tuple[Array, Array] | None:
    """What intervals leave of the box, over all choices among names together; None where nothing is left."""
    if question.model.black_box or len(names) > MOST_TIGHTENED:
        return box
    every = list(itertools.islice(combinations(question), MOST_COMBINATIONS + 1))
    if len(every) > MOST_COMBINATIONS:
        return box
    low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
    for _, left in every:
        found = None
        with handover.guarded("intervals before a search by sampling", 1, handover.ARITHMETIC):
            space = boxes.space(left)
            found = space, boxes.tighten(left, space) if left.decide else (space.low, space.high)
        if found is None:
            # intervals refuse: nothing is known, and nothing is cut off
            return box
        where, kept = found
        for j, name in enumerate(names):
            if kept is None:
                break
            if name in where.names:
                i = where.names.index(name)
                low[j], high[j] = min(low[j], kept[0][i]), max(high[j], kept[1][i])
    some = [j for j, name in enumerate(names) if any(d.name == name for _, q in every for d in q.decide)]
    if some and np.all(low[some] > high[some]):
        return None
    # what plays no part in any choice that is left keeps its own box
    part = low <= high
    return np.where(part, low, box[0]), np.where(part, high, box[1])


def _knob(question: Question, d: Decision, ends: tuple[float, float, float] | None) -> Knob:
    made = optuna.distributions
    if d.choices is not None:
        return Knob(d.name, d.name, made.CategoricalDistribution(d.choices), str)
    assert ends is not None, "a number has ends"
    low, high, whole = map(float, ends)
    low, high = _ends_without_slack(low, high, d)
    first, last, menu = math.ceil(low), math.floor(high), evaluation.quantity(question.model, d.name).menu
    listed = d.values or ()
    inside = [i for i, v in enumerate(listed) if low <= v <= high] or range(len(listed))
    if menu:
        entries = [int(listed[i]) for i in inside] if listed else range(first, last + 1)
        names = made.CategoricalDistribution(tuple(menu[k - 1] for k in entries))
        return Knob(d.name, d.name, names, partial(_entry, menu))
    if listed:
        places = made.IntDistribution(inside[0], inside[-1])
        return Knob(f"{d.name}, place in its list", d.name, places, lambda place: listed[place])
    if d.integer and (first >= 1 or last <= LONGEST_COUNT):
        return Knob(d.name, d.name, made.IntDistribution(first, last, log=first >= 1), float)
    if d.integer:
        more = made.IntDistribution(first + 1, last + 1, log=True)
        return Knob(f"{d.name} + 1", d.name, more, lambda number: number - 1.0)
    if low > 0 or whole <= 1:
        return Knob(d.name, d.name, made.FloatDistribution(low, high, log=low > 0), float)
    share = made.FloatDistribution(0.0, 1.0)
    return Knob(f"{d.name}, part of its range", d.name, share, partial(_denser_near_zero, whole))


def _ends_without_slack(low: float, high: float, d: Decision) -> tuple[float, float]:
    """The ends without the slack that limits have, where that leaves anything."""
    least = low if d.minimum is None else max(low, d.minimum)
    most = high if d.maximum is None else min(high, d.maximum)
    return (least, most) if least <= most else (low, high)


def _entry(menu: Sequence[str], name: str) -> float:
    return menu.index(name) + 1.0


def _denser_near_zero(high: float, share: float) -> float:
    """Spread a quantity that may be 0 more densely near it, over its whole box (so that studies can be continued)."""
    return high * math.expm1(DENSER_NEAR_ZERO * share) / math.expm1(DENSER_NEAR_ZERO)
