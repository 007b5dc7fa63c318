"""Of a large table the few designs that say something at some of many points.

All designs are evaluated on a mesh: every decided quantity has an axis of its own, so that a number is only as large as
what it depends on. One point of each kind of given numbers is enough, since limits are only compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import Array, Differ, Many, Points, plain
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers.designs import TRIED_TOGETHER, Grid, Table
from solvers.many_points.best_of import SURE

LARGE_TABLE = 2000
"""Designs from which it is worth looking for these few."""
CELLS_COMPARED = 4_000_000
"""Designs times points that are compared at once."""

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Asked:
    """All designs of one combination of names at many points.

    ``question``: at the points; ``plain``: at one of them; ``near``: at the points that differ in what is given;
    ``which`` of these each point is like.
    """

    every: Grid
    question: Question
    near: Question
    which: Indices
    plain: Question

    def at(self, own: Points) -> Asked:
        """Return the same at some of the points."""
        kinds, which = np.unique(self.which[own], return_inverse=True)
        question, near = divided.at(self.question, own), divided.at(self.near, kinds)
        return replace(self, question=question, near=near, which=which.reshape(-1))

    def tables(self, narrow: Callable[[Grid, Asked], Sequence[Points]]) -> list[Table]:
        """Return the designs as a table; of many those that ``narrow`` leaves, each choice as a table."""
        x = self.every
        if x.size < LARGE_TABLE:
            return [x.table(self.question)]
        return [Table(self.question, x.designs(k)) for k in narrow(x, self)]


def unbroken(every: Grid, asked: Asked) -> tuple[Indices]:
    """Designs that somewhere, with the loosest bounds, break no limit for certain."""
    found = np.zeros(every.shape, bool)

    def take(kinds: Points, mesh: Mesh) -> None:
        np.logical_or(found, _breaks_few(asked, kinds, mesh, 0), out=found)

    _by_kinds(every, asked, take)
    return (np.flatnonzero(found),)


def telling(every: Grid, asked: Asked) -> tuple[Indices, Indices]:
    """Designs for each way to break limits, and those that somewhere break no more than one limit for certain.

    A way is which limits are broken at which of the points that are alike in what is given.
    """
    ways, few = [], np.zeros(every.shape, bool)

    def take(kinds: Points, mesh: Mesh) -> None:
        np.logical_or(few, _breaks_few(asked, kinds, mesh, 1), out=few)
        for k, kind in enumerate(kinds):
            own = _broken(every, asked, np.flatnonzero(asked.which == kind), mesh.at(k))
            ways.append(_first_of_each_way(own, every))

    _by_kinds(every, asked, take)
    return np.unique(np.concatenate(ways)), np.flatnonzero(few)


@dataclass(frozen=True, slots=True)
class Mesh:
    """All designs with an axis for each decided quantity, at some points ``near`` that differ in what is given.

    ``metrics``: of all designs, with those points in front where they differ.
    """

    x: Mapping[str, Array]
    near: Question
    metrics: Mapping[str, Any]

    def at(self, k: int) -> Mesh:
        """Return the same at one of its points."""
        axes = len(self.x)
        own = {n: v[[k]] if np.ndim(v) > axes and len(v) > 1 else v for n, v in self.metrics.items()}
        return Mesh(self.x, divided.at(self.near, np.array([k])), own)

    def rows(self, question: Question) -> list[tuple[RowKey, Array]]:
        """Limits as ratios, of a question that has the bounds of some points."""
        here = replace(divided.before_axes(question, len(self.x)), given=self.near.given)
        with np.errstate(all="ignore"):
            found = evaluation.ratios(here, self.x, self.metrics)
        return [(key, np.asarray(plain(ratio), float)) for key, ratio in found.items()]


def _by_kinds(every: Grid, asked: Asked, take: Callable[[Points, Mesh], None]) -> None:
    """Look at all designs at the kinds of points that differ in what is given, as many together as are comparable."""
    step, x = max(TRIED_TOGETHER // every.size, 1), every.mesh()
    waiting = [np.unique(asked.which)]
    while waiting:
        kinds = waiting.pop()
        if kinds.size > step:
            waiting += [kinds[:step], kinds[step:]]
            continue
        near = divided.before_axes(divided.at(asked.near, kinds), len(x))
        try:
            with np.errstate(all="ignore"):
                at = {n: plain(v) for n, v in evaluation.metrics(near, x).items()}
            take(kinds, Mesh(x, near, at))
        except Differ as apart:
            holds = apart.holds.reshape(-1)
            if holds.size != kinds.size or kinds.size == 1:
                raise
            waiting += [kinds[holds], kinds[~holds]]


def _breaks_few(asked: Asked, kinds: Points, mesh: Mesh, most: int) -> Any:
    """Which designs break no more than so many limits for certain, with the loosest bounds of some kind of points."""
    points = np.flatnonzero(np.isin(asked.which, kinds))
    place = np.searchsorted(kinds, asked.which[points])

    def loosest(of: np.ufunc, start: float) -> Callable[[Array], Many]:
        def made(values: Array) -> Many:
            found = np.full(kinds.size, start)
            of.at(found, place, values.reshape(-1))
            return Many(found[:, None])

        return made

    ends = loosest(np.minimum, np.inf), loosest(np.maximum, -np.inf)
    broken: Any = np.int8(0)
    for _, ratio in mesh.rows(divided.with_ends(divided.at(asked.question, points), *ends)):
        broken = broken + (np.isfinite(ratio) & (ratio > 1.0 + SURE))
    few = np.asarray(broken <= most)
    return few.any(axis=0) if few.ndim > len(mesh.x) else few


def _broken(every: Grid, asked: Asked, points: Points, mesh: Mesh) -> list[Any]:
    """At how many of some points, alike in what is given, each design breaks each limit.

    What breaks a bound breaks all that are tighter, so that their number tells which.
    """
    found: dict[RowKey, Any] = {}
    # one point after the other: numbers of all designs at several do not stay near the processor
    for point in points[:, None]:
        for key, ratio in mesh.rows(divided.at(asked.question, point)):
            own = ~(ratio <= 1.0 + HOLDS)
            own = own[0] if own.ndim > len(every.axes) else own
            found.setdefault(key, np.zeros(own.shape, np.int32))
            found[key] += own
    return sorted(found.values(), key=np.size)


def _first_of_each_way(broken: Sequence[Any], every: Grid) -> Indices:
    """The first of all designs that have the same numbers."""
    number, numbers = np.zeros(1, np.int64), 1
    for count in broken:
        there = np.bincount(count.reshape(-1)) > 0
        # few numbers, of which most are the same at all designs
        if np.count_nonzero(there) > 1:
            number = number * np.count_nonzero(there) + (np.cumsum(there) - 1)[count]
            numbers *= int(np.count_nonzero(there))
        if numbers > number.size:
            kinds, own = np.unique(number, return_inverse=True)
            number, numbers = own.reshape(number.shape), int(kinds.size)
    first = np.full(numbers, -1)
    first[np.broadcast_to(number, every.shape).reshape(-1)[::-1]] = np.arange(every.size)[::-1]
    return first[first >= 0]
