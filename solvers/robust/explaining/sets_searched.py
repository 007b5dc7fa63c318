"""Whether some limits can hold together in many worlds, by searches: of one question, or of many points one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Bools, Codes, Points
from formulations.arithmetics.many import Many
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.grids import divided
from formulations.uncertainty.wanted import Effort, Wanted
from results.solution import Status
from scenarios.question import Question
from solvers.mechanisms import conflicts
from solvers.mechanisms.along_bounds import along_bounds
from solvers.mechanisms.conflicts import Feasible
from solvers.robust.searches import worst
from solvers.robust.searches.robust_ways import of_some_limits

WORK_AT_POINTS = 600_000
"""Boxes times worlds that sets are searched for in at many points together: some three seconds."""


def met(asked: Wanted, names: tuple[str, ...]) -> Feasible:
    """Return what searches whether some of the limits can hold together.

    Of many points that differ in bounds alone few are asked (see ``along_bounds``). ``names``: limits that a design may
    break.
    """
    worlds = asked.worlds
    if not divided.shape(worlds.every):
        known = worst.Known(worlds, names)
        return conflicts.singly(lambda row: _met(asked, known, row))
    effort, every = Effort(WORK_AT_POINTS), dict[int, tuple[Wanted, worst.Known]]()

    def at(point: int) -> tuple[Wanted, worst.Known]:
        own = replace(worlds, near=None).at_some(np.array([point])).changed(of_first_point)
        return replace(asked, worlds=own, effort=effort), worst.Known(own, names)

    def ask(points: Points, kept: Bools) -> Codes:
        every.update((p, at(p)) for p in map(int, points) if p not in every)
        return np.array([_met(*every[p], kept) for p in map(int, points)], np.int8)

    return along_bounds(ask, worlds.nominal, names, worlds.points)


def of_first_point(question: Question) -> Question:
    """Return the question at the first of many points."""
    return divided.with_each_number(question, lambda v: float(v.values.flat[0]) if isinstance(v, Many) else v)


def _met(asked: Wanted, known: worst.Known, row: Bools) -> int:
    """Whether some of the limits can hold together; of what is decided the others are bounds that do not count."""
    if known.holds(row):
        return conflicts.CAN_HOLD
    named = frozenset(n for n, k in zip(known.names, row, strict=True) if k)
    free, kept = frozenset(known.names) - named, named | asked.worlds.nominal.model.always

    def beyond(question: Question) -> Question:
        decide = (replace(d, minimum=None, maximum=None) if d.name in free else d for d in question.decide)
        # limits that do not count may not have the structure that those have which do
        return replace(
            question, decide=tuple(decide), limits=tuple(x for x in question.limits if x.name not in free)
        )

    try:
        found = of_some_limits(replace(asked, worlds=asked.worlds.changed(beyond), kept=kept))
    except (NotPosynomial, CannotTake, OverflowError):
        return conflicts.NOT_KNOWN
    if found.status in (Status.OPTIMAL, Status.FEASIBLE):
        known.learn({n: np.array([v]) for n, v in (found.x or {}).items()})
        return conflicts.CAN_HOLD
    return conflicts.CANNOT_HOLD if found.status is Status.INFEASIBLE else conflicts.NOT_KNOWN
