"""What a front asks: one objective with limits on the others, and objectives as coordinates that are to be small."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass
from results.along_fronts.along import above_nothing
from scenarios.question import HALVINGS, Limit, Objective, Question


def at_level(question: Question, goal: Objective, at_worst: Mapping[str, Any]) -> Question:
    """Return the question for one objective, with others no worse than a number (or an array of them) each."""
    return replace(question, objectives=(goal,), limits=limited(question, at_worst))


def limited(question: Question, at_worst: Mapping[str, Any]) -> tuple[Limit, ...]:
    """Return the limits of a question and those on objectives; the stricter one of each holds."""
    limits = {x.name: x for x in question.limits}
    for goal in question.objectives:
        if goal.name not in at_worst:
            continue
        own, value = limits.get(goal.name, Limit(goal.name)), at_worst[goal.name]
        if goal.maximize:
            own = replace(own, minimum=_stricter(np.maximum, value, own.minimum))
        else:
            own = replace(own, maximum=_stricter(np.minimum, value, own.maximum))
        limits[goal.name] = own
    return tuple(limits.values())


def _stricter(pick: Callable[[Any, float], Any], value: Any, own: float | None) -> Any:
    both = value if own is None else pick(value, own)
    return both if np.ndim(both) else float(both)


@dataclass(frozen=True, slots=True)
class Measure:
    """An objective as a coordinate that is to be small: its value or the logarithm of it, turned where maximised."""

    maximize: bool = False
    log: bool = False
    per_unit: float = 1.0

    def small(self, value: float) -> float:
        """Return the coordinate of a value; infinite where it has none."""
        if self.log and not value > 0:
            return math.inf if self.maximize else -math.inf
        number = math.log(value) if self.log else value * self.per_unit
        return -number if self.maximize else number

    def values(self, small: Any) -> Array:
        """Return the values at coordinates."""
        number = np.asarray(-small if self.maximize else small, float) / self.per_unit
        return np.exp(np.minimum(number, 700.0)) if self.log else number

    def apart(self, low: float, high: float) -> float:
        """Return how far two coordinates are apart, relative to the lesser value of the two."""
        if not high > low:
            return 0.0
        first, second = (float(x) for x in self.values(np.array([low, high])))
        least = min(first, second)
        if not math.isfinite(first - second) or least == 0.0:
            return math.inf
        return abs(first - second) / abs(least)


@dataclass(frozen=True, slots=True)
class Scale:
    """An objective as a coordinate that is to be small: 0 at its best end, 1 at its worst on the front."""

    objective: Objective
    best: float
    worst: float

    @property
    def log(self) -> bool:
        """Whether the coordinate is logarithmic; halvings are a logarithm already."""
        return self.objective.name != HALVINGS.name and above_nothing((self.best, self.worst))

    def coordinate(self, value: float) -> float:
        """Return the coordinate of a value (0 everywhere where the objective is the same along the front)."""
        if self.best == self.worst:
            return 0.0
        if self.log:
            return math.log(value / self.best) / math.log(self.worst / self.best) if value > 0 else -math.inf
        return (value - self.best) / (self.worst - self.best)

    def value(self, coordinate: float) -> float:
        """Return the value at a coordinate."""
        if self.log:
            return float(self.best * (self.worst / self.best) ** coordinate)
        return self.best + coordinate * (self.worst - self.best)


def in_logs(goal: Objective) -> Measure:
    """Return an objective in the coordinate in which a geometric program is convex: halvings are a logarithm."""
    if goal.name == HALVINGS.name:
        return Measure(goal.maximize, per_unit=math.log(2.0))
    return Measure(goal.maximize, log=True)
