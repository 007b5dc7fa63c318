"""Why no sum of whole numbers will do, at many points: limits in conflict, and what each would have to give.

Whether some limits can hold together is asked of the designs that may be the best by those limits alone
(``solvers.counting.undominated``); what a limit would have to be, of those with it as the objective.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations.arithmetics.many import Array, Points
from formulations.row_keys import RowKey
from formulations.stated import Run, run
from formulations.tolerances import HOLDS
from scenarios.question import Limit, Objective, Question
from solvers import enumeration
from solvers.counting import separable, undominated
from solvers.counting.criteria import TooMany
from solvers.counting.table_conflicts import Asked
from solvers.counting.terms import NotSums
from solvers.designs import Table
from solvers.enumeration import excess, full
from solvers.explaining import subsets
from solvers.many_points import blocks
from solvers.mechanisms import conflicts
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN, Codes, by_set
from solvers.mechanisms.why import Why

SURE = 1e-7
"""What is missed by less is left to the single path."""
WIDENED_BY = 8.0
"""By how much more a limit may give in each round in which no feasible value was found."""
WIDENINGS = 20

Mask = NDArray[np.bool_]


def why(asked: Asked, own: Points, count: int) -> Why:
    """What tells why points ``own``, of ``count`` that are alike in what is given, have no design."""
    question, near = blocks.some(asked.table.question, own, count), asked.near
    known = run(separable.corners(question)[0])
    _, ratios = _metrics_and_ratios(question, near, {d.name: np.ones(1) for d in question.decide}, len(own))
    names, keys = _limits_maybe_in_conflict(question, ratios), list(ratios)

    def at(some: Points) -> Question:
        return blocks.some(question, some, len(own))

    def met(some: Points, kept: Mask) -> Codes:
        free = {n for n, k in zip(names, kept, strict=True) if not k}
        left = replace(subsets.without(at(some), free), objectives=())
        return _sums_feasibility(left, near, known, len(some))

    def values(some: Points, conflict: Sequence[str]) -> Mapping[str, Array]:
        factors = _Factors(at(some), near, known, keys, len(some))
        return conflicts.feasible_values(at(some), keys, conflict, factors)

    return Why(names, by_set(met), values, at)


def _limits_maybe_in_conflict(question: Question, ratios: Collection[RowKey]) -> tuple[str, ...]:
    """Names of the limits that may be in conflict; raises CannotTake where what is decided may be."""
    model = question.model
    kept = {limit.name for limit in model.limits if limit.always}
    nature = {u.name for u in model.unknowns}
    for d in question.decide:
        if d.name not in nature or d.minimum is not None or d.maximum is not None:
            raise CannotTake("what the user says of a decided quantity may be in conflict")
    return tuple(dict.fromkeys(k.name for k in ratios if k.name not in kept))


def _metrics_and_ratios(question: Question, near: Question, x: Mapping[str, Array], count: int) -> Any:
    """Metrics and ratios of designs at points that are alike in what is given."""
    return enumeration.numbers(Table({}, question, x), near, np.zeros(count, dtype=np.intp))


def _designs_maybe_best(question: Question, known: Run, far: float) -> tuple[Mapping[str, Array], bool]:
    """The designs that may be the best at some point, and whether none is missing."""
    read = separable.read(*separable.corners(question), far=far, ties=False, known=known)
    return separable.values_of(read, undominated.designs(read.sums)), read.ended


def _sums_feasibility(question: Question, near: Question, known: Run, count: int) -> Codes:
    """Whether limits can hold together, at all points."""
    try:
        x, ended = _designs_maybe_best(question, known, separable.OPEN_END)
    except (NotSums, TooMany):
        return np.full(count, NOT_KNOWN, np.int8)
    _, ratios = _metrics_and_ratios(question, near, x, count)
    missed = excess(ratios, (count, _count_of_designs(x))).min(axis=1, initial=np.inf)
    none = CANNOT_HOLD if ended else NOT_KNOWN
    return np.select([missed <= HOLDS, missed > SURE], [CAN_HOLD, none], NOT_KNOWN).astype(np.int8)


def _count_of_designs(x: Mapping[str, Array]) -> int:
    return len(next(iter(x.values())))


@dataclass(frozen=True, slots=True)
class _Factors:
    """The least ratio of each limit over the designs that meet the others (see ``conflicts.Factor``)."""

    question: Question
    near: Question
    known: Run
    keys: Sequence[RowKey]
    count: int

    def __call__(self, which: int) -> Array:
        key = self.keys[which]
        open_ = _limit_as_objective(self.question, key, math.inf)
        codes = _sums_feasibility(replace(open_, objectives=()), self.near, self.known, self.count)
        found = np.where(codes == CANNOT_HOLD, np.inf, np.nan)
        if key.side == "model":
            return found
        for k in range(1, WIDENINGS):
            left = np.flatnonzero((codes == CAN_HOLD) & np.isnan(found))
            if not left.size:
                break
            found[left] = self._least(
                blocks.some(self.question, left, self.count), key, WIDENED_BY**k, len(left)
            )
        return found

    def _least(self, question: Question, key: RowKey, factor: float, count: int) -> Array:
        """The same where the limit gives by no more than a factor; NaN where nothing does. Raises NotSums, TooMany."""
        x, ended = _designs_maybe_best(_limit_as_objective(question, key, factor), self.known, math.inf)
        shape = (count, _count_of_designs(x))
        _, ratios = _metrics_and_ratios(question, self.near, x, count)
        met = excess(ratios, shape, but=key) <= HOLDS
        least = np.where(met, full(ratios[key], shape), np.inf).min(axis=1, initial=np.inf)
        return np.where(np.isfinite(least) & (least <= factor) & ended, least, np.nan)


def _limit_as_objective(question: Question, key: RowKey, factor: float) -> Question:
    """The question with one limit as the objective, which may give by a factor (infinite: by anything)."""

    def opened(limit: Limit) -> Limit:
        if limit.name != key.name:
            return limit
        if key.side == "max":
            return replace(
                limit, maximum=None if math.isinf(factor) else _scaled_bound(limit.maximum, factor)
            )
        return replace(
            limit, minimum=None if math.isinf(factor) else _scaled_bound(limit.minimum, 1.0 / factor)
        )

    waive = question.waive | ({key.name} if key.side == "model" else frozenset())
    aim = Objective(key.name, maximize=key.side == "min")
    return replace(question, limits=tuple(map(opened, question.limits)), waive=waive, objectives=(aim,))


def _scaled_bound(bound: Any, factor: float) -> Any:
    return bound if bound is None else bound * factor
