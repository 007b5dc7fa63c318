"""From the designs of many points to the arrays of their block: the model evaluated again, limits judged, gaps closed.

What a single answer would be told (``solvers.answer``), by the same rules; a design that fails its own check is no
answer, and its point is left to be solved by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations import evaluation
from formulations.evaluation import RowKey
from formulations.many import Array, Points, plain
from formulations.tolerances import BINDS, HOLDS
from results.dataset import BINDING, CONFLICTING, NOT_APPLICABLE, SLACK, STATUS_CODES, Arrays, Layout, blank
from results.limits import base_name
from results.solution import Status
from results.variables import Variable
from scenarios.question import Question

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Designs:
    """A design for each of some points.

    ``x``: every decided number; ``bound``: of the objective, in the user's sense; ``chosen``: what was chosen among
    names; ``elasticities``: of limits, by their labels (a limit without one has none).
    """

    x: Mapping[str, Array]
    bound: Array
    chosen: Mapping[str, str] = field(default_factory=dict)
    elasticities: Mapping[str, Array] = field(default_factory=dict)


class Told:
    """The arrays of a block, filled in as its points are answered."""

    def __init__(self, plan: Layout, shape: tuple[int, ...]) -> None:
        self.plan = plan
        self.arrays: Arrays = blank(plan, shape)
        count = int(np.prod(shape, dtype=np.int64))
        self._flat = {v.name: self.arrays[v.name].reshape(count, *plan.beyond(v)) for v in plan.variables}
        self._limits = {name: i for i, name in enumerate(plan.limits)}

    def best(self, question: Question, points: Points, designs: Designs, sure: Mask | None = None) -> Mask:
        """Take over the designs that hold all limits and whose gap is closed; tells which do.

        ``sure``: those of the points to be considered (default: all).
        """
        count = len(points)
        with np.errstate(all="ignore"):
            at = evaluation.metrics(question, designs.x)
            ratios = {k: _full(r, count) for k, r in evaluation.ratios(question, designs.x, at).items()}
            numbers = {n: _full(v, count) for n, v in {**families_given(question), **designs.x, **at}.items()}
        good = np.ones(count, dtype=bool) if sure is None else sure.copy()
        for ratio in ratios.values():
            good &= ~(1.0 - ratio < -HOLDS)
        gap = np.full(count, np.nan)
        if question.objectives:
            objective = numbers[question.objectives[0].name]
            with np.errstate(invalid="ignore"):
                gap = np.abs(objective - designs.bound) / np.maximum(np.abs(objective), 1e-12)
            good &= np.isfinite(objective) & (gap <= question.gap)
            self._put("objective", points, objective, good)
            self._put("bound", points, _full(designs.bound, count), good)
            self._put("gap", points, gap, good)
        status = Status.OPTIMAL if question.objectives else Status.FEASIBLE
        self._put("status", points, np.full(count, STATUS_CODES[status]), good)
        own = {m.name for m in question.model.limits}
        for v in self.plan.variables:
            found = self._number(v, designs, {n: c for n, c in numbers.items() if n not in own}, count)
            if found is not None:
                self._put(v.name, points, found, good)
        if self._limits:
            self._put("binding", points, self._states(question, ratios, numbers), good)
            self._put("elasticity", points, self._rates(designs, count), good)
        return good

    def none(self, points: Points, would_do: Mapping[str, Array]) -> None:
        """Say that points have no design: the limits in conflict, each with the values that would do.

        Of a value NaN is not known yet, and an infinite one is known not to exist.
        """
        self._flat["status"][points] = STATUS_CODES[Status.INFEASIBLE]
        for name, i in self._limits.items():
            found = would_do.get(name, would_do.get(base_name(name)))
            if found is not None:
                self._flat["binding"][points, i] = CONFLICTING
                if "would_do" in self._flat:
                    self._flat["would_do"][points, i] = found

    def _put(self, name: str, points: Points, values: Any, good: Mask) -> None:
        self._flat[name][points[good]] = values[good]

    def _number(
        self, v: Variable, designs: Designs, numbers: Mapping[str, Array], count: int
    ) -> NDArray[Any] | None:
        """The values of a variable that is about the design; None of others."""
        if v.role == "metric":
            return numbers.get(v.key)
        if v.role == "family":
            found: NDArray[Any] = np.full((count, *self.plan.beyond(v)), np.nan)
            for place, name in v.elements.items():
                if name in numbers:
                    own: Any = (..., *place)
                    found[own] = numbers[name]
            return found
        if v.role != "decided":
            return None
        if v.dtype == "float64":
            return designs.x.get(v.key)
        chosen = designs.chosen.get(v.key)
        return (
            None
            if chosen is None
            else np.full(count, json.loads(v.attributes["choices"]).index(chosen), np.int32)
        )

    def _states(
        self, question: Question, ratios: Mapping[RowKey, Array], numbers: Mapping[str, Array]
    ) -> NDArray[Any]:
        """Which limits bind."""
        count = len(next(iter(ratios.values())))
        found = np.full((count, len(self._limits)), NOT_APPLICABLE, dtype=np.int8)
        for key, ratio in ratios.items():
            value = ratio
            if key.side != "model":
                value = numbers[key.name] if key.name in numbers else _full(question.given[key.name], count)
            state = np.where(np.abs(1.0 - ratio) <= BINDS, BINDING, SLACK)
            label = evaluation.label(key, ratios)
            # a limit that says nothing at the first point of all has no place
            if label in self._limits:
                found[:, self._limits[label]] = np.where(np.isnan(value), NOT_APPLICABLE, state)
        return found

    def _rates(self, designs: Designs, count: int) -> Array:
        found = np.full((count, len(self._limits)), np.nan)
        for label, values in designs.elasticities.items():
            if label in self._limits:
                found[:, self._limits[label]] = values
        return found


def families_given(question: Question) -> dict[str, Any]:
    """Return the elements of families that the question gives."""
    return {
        q.name: question.given[q.name] for q in question.model.inputs if q.index and q.name in question.given
    }


def _full(values: Any, count: int) -> Array:
    return np.broadcast_to(np.asarray(plain(values), dtype=float), (count,))
