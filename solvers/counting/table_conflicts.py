"""Why none of the designs of a table will do, at many points: limits in conflict, and what each would have to give.

A design of the table that meets some limits shows that they can hold together, whatever else is given up. That they
cannot is known where the table has every design: where what the user says of a decided quantity is given up, there are
others, and a point whose conflict depends on them is left over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations.arithmetics.many import Array, Many, Points
from formulations.grids import divided
from formulations.problem import formulate
from formulations.program import is_linear
from scenarios.question import Question
from solvers import boxes, enumeration
from solvers.designs import Table
from solvers.explaining import subsets, wider
from solvers.many_points import blocks
from solvers.mechanisms.conflicts import Codes, by_set
from solvers.mechanisms.why import Why
from solvers.nonlinear import feasibility

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Asked:
    """The designs of one combination of names at many points; ``plain``: the question at one of them.

    ``near``: the question at the points that differ in what is given; ``which`` of these each point is like.
    """

    table: Table
    near: Question
    which: NDArray[np.intp]
    plain: Question


def why(asked: Asked, own: Points, count: int) -> Why:
    """What tells why points ``own``, of ``count``, have no design in the table."""
    names = _limits_of_table_conflicts(asked)
    t = Table(asked.table.chosen, blocks.some(asked.table.question, own, count), asked.table.x)
    kinds, which = np.unique(asked.which[own], return_inverse=True)
    near = blocks.some(asked.near, kinds, int(asked.which.max()) + 1)
    at, ratios = enumeration.numbers(t, near, which.reshape(-1))
    shape = (len(own), t.size)
    decided = frozenset(d.name for d in t.question.decide)
    reach = wider.farthest(formulate(asked.plain))

    def search(some: Points, free: Collection[str]) -> Codes:
        return _free_box_feasibility(t.question, reach, some, len(own), free)

    def values(some: Points, conflict: Sequence[str]) -> Mapping[str, Array]:
        # of bounds of what is decided other designs tell
        unknown = np.full(len(some), np.nan)
        return {
            n: unknown if n in decided else subsets.listed_value(t, at, ratios, n, shape)[some]
            for n in conflict
        }

    known = subsets.Known(names, subsets.broken(ratios, names, shape), True, decided, search)
    return Why(names, by_set(known.met), values, lambda some: blocks.some(t.question, some, len(own)))


def _free_box_feasibility(
    question: Question, reach: float, some: Points, count: int, free: Collection[str]
) -> Codes:
    """Whether limits can hold together where bounds and whole numbers of what is decided are given up, too."""
    relaxed = subsets.without(_flat(blocks.some(replace(question, reach=reach), some, count)), free)
    return feasibility.feasible(relaxed, boxes.spaces(relaxed, len(some)))


def nothing_beyond(question: Question, some: Points, count: int) -> Mask:
    """Tell of which points ``some``, of ``count``, no power beyond those listed meets the limits."""
    if not any(d.endless for d in question.decide):
        return np.ones(len(some), bool)
    return feasibility.nothing_beyond(_flat(blocks.some(question, some, count)), len(some))


def _flat(question: Question) -> Question:
    """The question with plain arrays of many points in place of ``Many``."""

    def of(value: Any) -> Any:
        return value.values.reshape(-1) if isinstance(value, Many) else value

    return divided.with_each_number(question, of)


def _limits_of_table_conflicts(asked: Asked) -> tuple[str, ...]:
    """Names of the limits that may be in conflict."""
    names = subsets.limit_names(asked.plain)
    if is_linear(asked.plain) and any(d.name in names for d in asked.plain.decide):
        raise CannotTake("what the user says of a decided quantity may be in conflict")
    return names
