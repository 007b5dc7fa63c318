"""Judged designs of many points, and conflicts, put into the arrays of their block.

A design that fails its own check (``solvers.judgement``) is not an answer; its point is left to be solved alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.arrays import Array, Bools, Points
from formulations import evaluation
from formulations.row_keys import RowKey
from results.dataset import (
    BINDING,
    CONFLICTING,
    NOT_APPLICABLE,
    NOT_BINDING,
    STATUS_CODES,
    Arrays,
    Layout,
    blank,
)
from results.solution import Status
from results.telling import families
from results.telling.limits import base_name
from results.variables import Variable
from solvers.judgement import Judged
from solvers.mechanisms.why import Why, minimal_sets

NOTHING: Mapping[str, str] = {}


class BlockAnswers:
    """The arrays of a block, filled in as its points are answered."""

    def __init__(self, plan: Layout, shape: tuple[int, ...]) -> None:
        self.plan = plan
        self.arrays: Arrays = blank(plan, shape)
        count = int(np.prod(shape, dtype=np.int64))
        self._flat = {v.name: self.arrays[v.name].reshape(count, *plan.beyond(v)) for v in plan.variables}
        self._dims = {v.name: v.dims for v in plan.variables}
        self._limits = {name: i for i, name in enumerate(plan.limits)}

    @property
    def wants_conflicts(self) -> bool:
        """Whether it is kept which limits are in conflict."""
        return "binding" in self._flat

    @property
    def wants_values(self) -> bool:
        """Whether the feasible values are kept."""
        return "would_do" in self._flat

    @property
    def wants_rates(self) -> bool:
        """Whether what limits are worth is kept."""
        return "elasticity" in self._flat

    def put(
        self,
        points: Points,
        judged: Judged,
        good: Bools,
        elasticities: Mapping[str, Array],
        chosen: Mapping[str, str] = NOTHING,
    ) -> None:
        """Take over judged designs where they are ``good``."""
        question = judged.question
        # on an axis of names there may be points at which nothing is decided
        decided = bool(question.decide or chosen)
        if question.objectives:
            self._put("objective", points, judged.objective, good)
        if question.objectives and decided:
            self._put("bound", points, judged.bound, good)
            self._put("gap", points, judged.gap, good)
        best = Status.OPTIMAL if question.objectives else Status.FEASIBLE
        self.status(points[good], best if decided else Status.EVALUATED)
        own = {m.name for m in question.model.limits}
        given = families.given_of(question)
        numbers = {n: v for n, v in {**given, **judged.x, **judged.at}.items() if n not in own}
        for v in self.plan.variables:
            found = self._number(v, judged, chosen, numbers)
            if found is not None:
                self._put(v.name, points, found, good)
        states = {evaluation.label(key, judged.ratios): _state(judged, key) for key in judged.ratios}
        self.by_name("binding", points, states, good)
        self.by_name("elasticity", points, elasticities, good)

    def bounds(self, points: Points, bound: Array, left: Bools) -> None:
        """Keep a bound of the objective at points that are ``left`` over (NaN: none), for who chooses among parts."""
        self._put("bound", points, bound, left)

    def status(self, points: Points, status: Status) -> None:
        """Say how points ended."""
        self._flat["status"][points] = STATUS_CODES[status]

    def by_name(self, name: str, points: Points, values: Mapping[str, Any], good: Bools) -> None:
        """Take over what a variable has for each of some names where it is ``good``; the others stay blank."""
        if name not in self._flat:
            return
        along = self.plan.labels[self._dims[name][-1]]
        for i, label in enumerate(along):
            if label in values:
                self._flat[name][points[good], i] = np.broadcast_to(values[label], good.shape)[good]

    def each(self, name: str, points: Points, told: Sequence[Any]) -> None:
        """Take over what a variable has at each of some points: a text, or numbers."""
        if name in self._flat:
            self._flat[name][points] = told

    def none(self, points: Points, values: Mapping[str, Array]) -> None:
        """Say that points have no design: the limits in conflict, each with the feasible values.

        Of a value NaN is not known yet, and an infinite one is known not to exist.
        """
        self.status(points, Status.INFEASIBLE)
        for name, i in self._limits.items():
            found = values.get(name, values.get(base_name(name)))
            if found is not None:
                self._flat["binding"][points, i] = CONFLICTING
                if self.wants_values:
                    self._flat["would_do"][points, i] = found

    def conflicts(self, points: Points, why: Why) -> Bools:
        """Tell why points that have none have no design: the first minimal set of limits of each; tells for which."""
        if not self.wants_conflicts:
            self.status(points, Status.INFEASIBLE)
            return np.ones(len(points), dtype=bool)
        found = minimal_sets(why, len(points), every=False)
        good = np.zeros(len(points), dtype=bool)
        for some, conflict in found.certain(why.names):
            good[some] = True
            unknown = dict.fromkeys(conflict, np.full(some.size, np.nan))
            self.none(points[some], why.values(some, conflict) if self.wants_values else unknown)
        return good

    def values_known(self, points: Points) -> Bools:
        """Whether of all limits in conflict at points it is known which value is feasible, or that none is."""
        if not self.wants_values:
            return np.ones(len(points), dtype=bool)
        clash = self._flat["binding"][points] == CONFLICTING
        return np.asarray(~(clash & np.isnan(self._flat["would_do"][points])).any(axis=1))

    def _put(self, name: str, points: Points, values: Any, good: Bools) -> None:
        self._flat[name][points[good]] = values[good]

    def _number(
        self, v: Variable, judged: Judged, chosen: Mapping[str, str], numbers: Mapping[str, Any]
    ) -> NDArray[Any] | None:
        """The values of a variable that is about the design; None of others."""
        count = judged.gap.size
        if v.role == "metric":
            return judged.full(numbers[v.key]) if v.key in numbers else None
        if v.role == "family":
            found: NDArray[Any] = np.full((count, *self.plan.beyond(v)), np.nan)
            for place, name in v.elements.items():
                if name in numbers:
                    own: Any = (..., *place)
                    found[own] = judged.full(numbers[name])
            return found
        if v.role != "decided":
            return None
        if v.dtype == "float64":
            return judged.full(judged.x[v.key]) if v.key in judged.x else None
        if v.key not in chosen:
            return None
        return np.full(count, json.loads(v.attributes["choices"]).index(chosen[v.key]), np.int32)


def _state(judged: Judged, key: RowKey) -> NDArray[Any]:
    """Whether a limit binds, at each point."""
    state = np.where(judged.binding(key), BINDING, NOT_BINDING)
    return np.where(np.isnan(judged.full(judged.value(key))), NOT_APPLICABLE, state)
