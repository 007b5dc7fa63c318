"""Points of a chunk one by one, or in lines along a limit, which an exact front may answer."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import scenarios
from dse.system.records import dataclass
from formulations import failures
from formulations.row_keys import RowKey
from results.solution import Solution, Status
from solvers.answer import answer
from solvers.fronts import front_points
from solvers.fronts.program_front import ProgramFront

if TYPE_CHECKING:
    from solvers.others.pyomo_points import Points

FRONTS = 100
"""Lines whose fronts are kept."""
Fronts = Callable[[tuple[int, ...], RowKey], ProgramFront | None]
"""The exact front of a line along a limit, by its first point; None where there is none."""


def places(region: tuple[slice, ...]) -> Iterator[tuple[int, ...]]:
    """Go through the points of a block in C order."""
    return itertools.product(*(range(s.start, s.stop) for s in region))


@dataclass(frozen=True, slots=True)
class Line:
    """Points of a grid that differ in one limit (``key``; None: a point by itself), and its value at each.

    ``start``: the first point of the whole grid's line, of which other chunks may hold more.
    """

    places: tuple[tuple[int, ...], ...]
    key: RowKey | None = None
    values: tuple[float, ...] = ()
    start: tuple[int, ...] = ()


def lines(grid: scenarios.Grid, region: tuple[slice, ...]) -> Iterator[Line]:
    """Cut a block into lines along the longest axis of the grid that changes a limit on a metric, else into points."""
    long = {
        c.along: c
        for c in grid.changes
        if c.target.kind == "limit"
        and c.target.side in {"min", "max"}
        and len(grid.axes[c.along].parts) == 1
        and len(grid.axes[c.along].values) >= front_points.FEWEST_POINTS_OF_SERIES
    }
    if not long:
        yield from (Line((place,)) for place in places(region))
        return
    # by the whole grid: how a point is answered must not depend on how the grid is cut
    i = max(long, key=lambda k: len(grid.axes[k].values))
    steps = range(region[i].start, region[i].stop)
    key = RowKey(long[i].target.name, long[i].target.side)
    values = tuple(float(long[i].of.values[k]) for k in steps)
    for start in places((*region[:i], slice(0, 1), *region[i + 1 :])):
        yield Line(tuple((*start[:i], k, *start[i + 1 :]) for k in steps), key, values, start)


def _middle(grid: scenarios.Grid, start: tuple[int, ...]) -> tuple[int, ...]:
    """Return the first point of the line in the middle of a grid, of those with the names of another's ``start``."""
    own = {c.along for c in grid.changes if c.apart or c.target.kind == "limit"}
    return tuple(k if i in own else n // 2 for i, (k, n) in enumerate(zip(start, grid.shape, strict=True)))


def fronts_along(grid: scenarios.Grid) -> Fronts:
    """Return what looks for the exact front of a line, once: none where the line in the middle has none.

    Such a front has too many pieces, and those of most other lines would be searched in vain.
    """

    @lru_cache(maxsize=FRONTS)
    def front(start: tuple[int, ...], key: RowKey) -> ProgramFront | None:
        typical = _middle(grid, start)
        none = typical != start and front(typical, key) is None
        return None if none else front_points.front(grid.question(start), key)

    return front


def no_front(_start: tuple[int, ...], _key: RowKey) -> None:
    """Look for no front."""


def answered(
    grid: scenarios.Grid, place: tuple[int, ...], points: Points | None = None, *, full: bool = False
) -> Solution:
    """Answer one point, ``full``: with where the answer next changes; what goes wrong becomes status ``error``."""
    began = time.perf_counter()
    question = grid.question(place)
    try:
        return answer(question, neighbours=full) if points is None else points.answer(place)
    except Exception as problem:
        # one point must not take its chunk down; what is wrong is stored with the point
        message = failures.in_words(question, problem)
        return Solution(Status.ERROR, message=message, seconds=time.perf_counter() - began)
