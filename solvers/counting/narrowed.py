"""Of a large table the few designs that say something at some of many points.

All designs are evaluated on a mesh: every decided quantity has an axis of its own, so that a number is only as large as
what it depends on. One point of each kind of given numbers is enough, since limits are only compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import Array, Many, Points, plain
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers.designs import Grid, Table
from solvers.many_points import blocks
from solvers.many_points.by_choice import SURE

LARGE_TABLE = 2000
"""Designs from which it is worth looking for these few."""
CELLS_COMPARED = 4_000_000
"""Designs times points that are compared at once."""
LARGEST_KEY = 2**62

Indices = NDArray[np.intp]
Rows = Callable[[Question], dict[RowKey, Any]]
"""Limits as ratios over a mesh, of a question that has the bounds of some points."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The designs of one combination of names at many points: all, or those that may be the best somewhere.

    ``question``: at the points; ``plain``: at one of them; ``near``: at the points that differ in what is given;
    ``which`` of these each point is like.
    """

    every: Grid | Mapping[str, Array]
    question: Question
    near: Question
    which: Indices
    plain: Question

    def at(self, own: Points) -> Asked:
        """Return the same at some of the points."""
        kinds, which = np.unique(self.which[own], return_inverse=True)
        question, near = blocks.part(self.question, own), blocks.part(self.near, kinds)
        return replace(self, question=question, near=near, which=which.reshape(-1))

    def tables(self, narrow: Callable[[Grid, Asked], Sequence[Points]]) -> list[Table]:
        """Return the designs as a table; of many those that ``narrow`` leaves, each choice as a table."""
        x = self.every
        if not isinstance(x, Grid):
            return [Table(self.question, x)]
        few = x.size < LARGE_TABLE
        kept = [np.arange(x.size)] if few else narrow(x, self)
        return [Table(self.question, x.designs(k)) for k in kept]


def unbroken(every: Grid, asked: Asked) -> tuple[Indices]:
    """Designs that somewhere, with the loosest bounds, break no limit for certain."""
    found = np.zeros(every.shape, bool)
    for points, rows in _kinds(every, asked):
        found |= _breaks_few(every, asked, points, rows, 0)
    return (np.flatnonzero(found),)


def telling(every: Grid, asked: Asked) -> tuple[Indices, Indices]:
    """Designs for each way to break limits, and those that somewhere break no more than one limit for certain.

    A way is which limits are broken at which of the points that are alike in what is given.
    """
    ways, few = [], np.zeros(every.shape, bool)
    for points, rows in _kinds(every, asked):
        ways.append(_first_of_each_way(_broken(every, asked, points, rows), every))
        few |= _breaks_few(every, asked, points, rows, 1)
    return np.unique(np.concatenate(ways)), np.flatnonzero(few)


def _breaks_few(every: Grid, asked: Asked, points: Points, rows: Rows, most: int) -> Any:
    """Which designs break no more than so many limits for certain, with the loosest bounds of some points."""
    broken: Any = np.int8(0)
    for ratio in rows(divided.with_ends(blocks.part(asked.question, points), np.min, np.max)).values():
        broken = broken + (np.isfinite(ratio) & (ratio > 1.0 + SURE))
    return np.broadcast_to(broken <= most, (1, *every.shape))[0]


def _broken(every: Grid, asked: Asked, points: Points, rows: Rows) -> list[Any]:
    """At how many of some points, alike in what is given, each design breaks each limit.

    What breaks a bound breaks all that are tighter, so that their number tells which.
    """
    found: dict[RowKey, Any] = {}
    step = min(max(CELLS_COMPARED // every.size, 1), points.size)
    for start in range(0, points.size, step):
        for key, ratio in rows(blocks.part(asked.question, points[start : start + step])).items():
            own = ~(ratio <= 1.0 + HOLDS)
            count = own.sum(axis=0) if own.ndim > len(every.axes) else own.astype(np.int64)
            found[key] = found.get(key, 0) + count
    return sorted(found.values(), key=np.size)


def _first_of_each_way(broken: Sequence[Any], every: Grid) -> Indices:
    """The first of all designs that have the same numbers."""
    number, numbers = np.zeros(1, np.int64), 1
    for count in broken:
        most = int(count.max()) + 1
        if numbers * most > LARGEST_KEY:
            number = np.unique(number, return_inverse=True)[1].reshape(number.shape)
            numbers = number.size
        number, numbers = number * most + count, numbers * most
    number = np.broadcast_to(number, every.shape).reshape(-1)
    if numbers > every.size:
        return np.unique(number, return_index=True)[1]
    first = np.full(numbers, -1)
    first[number[::-1]] = np.arange(every.size)[::-1]
    return first[first >= 0]


def _kinds(every: Grid, asked: Asked) -> Iterator[tuple[Points, Rows]]:
    """Go through the points that are alike in what is given, with their limits over the mesh."""
    x = every.mesh()
    for kind in np.unique(asked.which):
        near = _further(blocks.part(asked.near, np.array([kind])), len(x))
        with np.errstate(all="ignore"):
            at = {n: plain(v) for n, v in evaluation.metrics(near, x).items()}

            def rows(here: Question, given: Any = near.given, at: Any = at) -> dict[RowKey, Any]:
                found = evaluation.ratios(replace(_further(here, len(x)), given=given), x, at)
                return {key: np.asarray(plain(ratio), float) for key, ratio in found.items()}

            yield np.flatnonzero(asked.which == kind), rows


def _further(question: Question, axes: int) -> Question:
    """The question with numbers of points in front of so many dimensions."""

    def of(value: Any) -> Any:
        return Many(value.values.reshape(-1, *(1,) * axes)) if isinstance(value, Many) else value

    return divided.with_each_number(question, of)
