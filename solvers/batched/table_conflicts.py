"""Why none of the designs of a table will do, at many points: limits in conflict, and what each would have to give.

A design of the table that meets some limits shows that they can hold together, whatever else is given up. That they
cannot is known where the table has every design: where what the user says of a decided quantity is given up, there are
others, and a point whose conflict depends on them is left over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations.evaluation import RowKey
from formulations.many import Array, Many, Points
from formulations.problem import formulate
from formulations.program import is_linear
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers import boxes, conflicts, subsets, wider
from solvers.batched import blocks, box_search, table_designs
from solvers.batched.table_designs import Rule, Table, full
from solvers.batched.told import Told
from solvers.conflicts import Codes

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Asked:
    """The designs of the first combination of names at many points; ``plain``: the question at one of them.

    ``near``: the question at the points that differ in what is given; ``which`` of these each point is like.
    """

    first: Table
    near: Question
    which: NDArray[np.intp]
    rule: Rule
    plain: Question


def told_none(told: Told, asked: Asked, points: Points, own: Points) -> Mask:
    """Tell why points ``own`` have no design: the first minimal set of limits of each; tells for which."""
    if not asked.rule.scanned or not asked.first.x:
        raise CannotTake("why there is no design is told of each point by itself")
    names = _names(asked)
    t = Table(asked.first.chosen, blocks.some(asked.first.question, own, len(points)), asked.first.x)
    kinds, which = np.unique(asked.which[own], return_inverse=True)
    near = blocks.some(asked.near, kinds, int(asked.which.max()) + 1)
    at, ratios = table_designs.numbers(t, near, which.reshape(-1))
    shape = (len(own), t.size)
    broken = {key: ~(full(r, shape) <= 1.0 + HOLDS) for key, r in ratios.items()}
    decided = {d.name for d in t.question.decide}
    reach = wider.farthest(formulate(asked.plain))

    def met(some: Points, kept: Mask) -> Codes:
        free = {n for n, k in zip(names, kept, strict=True) if not k}
        held = [b[some] for key, b in broken.items() if key.name not in free]
        shown = ~np.any(held, axis=0).all(axis=1) if held else np.ones(len(some), dtype=bool)
        codes = np.where(shown, conflicts.MET, conflicts.CONFLICT).astype(np.int8)
        left = np.flatnonzero(~shown)
        if free & decided and left.size:
            codes[left] = _searched(t.question, reach, some[left], len(own), free)
        return codes

    found = conflicts.minimal_conflicts(len(own), len(names), conflicts.by_set(met), every=False)
    good = np.zeros(len(own), dtype=bool)
    for some, conflict in found.certain(names):
        good[some] = True
        values = {n: _would_do(t, at, broken, ratios, n)[some] for n in conflict}
        told.none(points[own[some]], values)
    return good


def _searched(question: Question, reach: float, some: Points, count: int, free: Collection[str]) -> Codes:
    """Whether limits can hold together where bounds and whole numbers of what is decided are given up, too."""
    relaxed = subsets.without(_flat(blocks.some(replace(question, reach=reach), some, count)), free)
    return box_search.feasible(relaxed, boxes.space(relaxed), len(some))


def _flat(question: Question) -> Question:
    """The question with plain arrays of many points in place of ``Many``."""

    def of(value: Any) -> Any:
        return value.values.reshape(-1) if isinstance(value, Many) else value

    return replace(
        question,
        given={n: of(v) for n, v in question.given.items()},
        limits=tuple(replace(x, minimum=of(x.minimum), maximum=of(x.maximum)) for x in question.limits),
        decide=tuple(replace(d, minimum=of(d.minimum), maximum=of(d.maximum)) for d in question.decide),
    )


def _names(asked: Asked) -> tuple[str, ...]:
    """Names of the limits that may be in conflict."""
    names = subsets.limit_names(asked.plain)
    if is_linear(asked.plain) and any(d.name in names for d in asked.plain.decide):
        raise CannotTake("what the user says of a decided quantity may be in conflict")
    return names


def _would_do(
    t: Table, at: Mapping[str, Any], broken: Mapping[RowKey, Mask], ratios: Mapping[RowKey, Any], name: str
) -> Array:
    """The value of a limit that would do (see ``subsets.value_that_would_do``); of bounds of what is decided NaN."""
    shape = next(iter(broken.values())).shape
    if any(d.name == name for d in t.question.decide):
        return np.full(shape[0], np.nan)
    found = np.full(shape[0], np.inf)
    for key in sorted(k for k in ratios if k.name == name):
        others = [b for k, b in broken.items() if k != key]
        held = ~np.any(others, axis=0) if others else np.ones(shape, dtype=bool)
        value = full(ratios[key] if key.side == "model" else _value(t, at, name), shape)
        sign = -1.0 if key.side == "min" else 1.0
        best = np.where(held & ~np.isnan(value), sign * value, np.inf).min(axis=1)
        found = np.where(np.isfinite(found), found, np.where(np.isfinite(best), sign * best, np.inf))
    return found


def _value(t: Table, at: Mapping[str, Any], name: str) -> Any:
    return at[name] if name in at else t.question.given[name]
