"""Which ways are for a grid: what they say by reading its question, and how long one takes, by trying a few points.

No choice between ways, and no answer, rests on the points that are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from dse.system.arrays import Integers
from formulations import handover
from formulations.grids import over_grid
from results.dataset import STATUS_CODES, blank, layout, only
from results.solution import Status
from scenarios.question import Question
from scenarios.sweep.grids import Grid
from solvers import work
from solvers.many_points import effort
from solvers.many_points.blocks import GROUPS, ByGroup
from solvers.many_points.offers import (
    OF_A_STRUCTURE,
    OTHER_KIND,
    Choice,
    Offer,
    Path,
    too_few,
    too_many_choices,
)

SLOWER = "more work than the points one by one"
SHARE_TRIED = 0.05
"""Of the points of a grid that is answered those that may be tried before."""


def kinds(grid: Grid) -> Iterator[Question]:
    """Go through the questions that differ in more than numbers, each at the first of its points."""
    return map(grid.question, grid.kinds())


def thinned(grid: Grid) -> Grid:
    """Return a grid of a few points of another (see ``few_places``)."""
    return grid.part(few_places(grid))


def few_places(grid: Grid) -> list[Integers]:
    """Return a few places along each axis: of an axis of numbers the ends and the middle.

    Of an axis of rows these, and one row for each combination of names in it.
    """
    along = [np.arange(len(a.values)) for a in grid.axes]
    for i, axis in enumerate(grid.axes):
        apart = any(c.apart for c in grid.changes if c.along == i)
        if axis.columns or not apart:
            n = len(axis.values)
            named = {index[i] for index in grid.kinds()} if apart else set()
            along[i] = np.array(sorted({0, n // 2, n - 1} | named))
    return along


def middle_and_name_ends(grid: Grid) -> list[Integers]:
    """Return one place along each axis of numbers, in the middle, and the ends of each axis of names."""
    apart = {c.along for c in grid.changes if c.apart}
    return [np.array(sorted({0, n - 1}) if i in apart else [n // 2]) for i, n in enumerate(grid.shape)]


def axes_of_ends(grid: Grid) -> str:
    """Name the axes that change a bound of what is decided; empty where none does."""
    return " and ".join(f"sweep.{grid.axes[c.along].name}" for c in grid.changes if c.target.kind == "decide")


def too_many_ends(grid: Grid) -> Offer | None:
    """Refuse a grid of which few points share the bounds of what is decided, for a way that answers these together."""
    swept = {c.along for c in grid.changes if c.target.kind == "decide"}
    ends = math.prod(grid.shape[k] for k in swept)
    if not swept or (grid.size >= OF_A_STRUCTURE * ends and ends <= GROUPS):
        return None
    return Offer(
        reason=f"{axes_of_ends(grid)} changes a bound of what is decided: points with the same bounds are answered "
        f"together, of which there are fewer than {OF_A_STRUCTURE}, or more than {GROUPS} bounds"
    )


def offered_by_group(
    grid: Grid, kind: str, fits: Callable[[Question], bool], over: Callable[[Grid], ByGroup], fewest: int = 1
) -> Offer:
    """Offer a way for questions with one objective that it ``fits``, from so many points on."""
    if any(len(q.objectives) != 1 for q in grid.bases.values()) or not any(map(fits, kinds(grid))):
        return OTHER_KIND
    if grid.size < fewest:
        return too_few(kind, fewest)
    return too_many_choices(kind, grid) or offered(over(grid), over(thinned(grid)))


def offered(way: Path, of_few: Path) -> Offer:
    """Offer a way, unless it is more work than the points one by one; ``of_few``: the same for a ``thinned`` grid."""
    if way.work > work.alone(of_few.grid.first):
        return Offer(reason=f"{way.method}: {SLOWER}")
    return Offer(way, few=of_few)


def tried(offer: Offer) -> Choice:
    """Choose a way that is offered, with what a few points tell of the time that it takes; no answer rests on it.

    Where points are much work fewer are tried; of a way of which even these take too long nothing is known. Whoever
    answers the grid tries no large part of it.
    """
    way, of_few = offer.path, offer.few
    if way is None or of_few is None:
        return Choice(way)
    if not effort.only_asked() and of_few.grid.size > SHARE_TRIED * way.grid.size:
        return Choice(way)
    if of_few.work * of_few.grid.size > effort.FEW_SECONDS:
        of_few = of_few.part(middle_and_name_ends(of_few.grid))
    # how long a point takes does not rest on the feasible values
    plan = layout(of_few.grid)
    plan = only(plan, {v.name for v in plan.variables if v.role != "would_do"})
    arrays, left = blank(plan, of_few.grid.shape), np.ones(of_few.grid.shape, bool)
    with (
        handover.collected() as tally,
        effort.trial() as trial,
        np.errstate(all="ignore"),
        handover.guarded(way.method, left.size, handover.ARITHMETIC),
    ):
        arrays, left = of_few.solve(plan, over_grid.whole(of_few.grid))
    exceptions = tuple(tally.unexpected)
    if trial.ended:
        return Choice(way, exceptions=exceptions, untried=True)
    if isinstance(way, ByGroup) and way.without:
        none = ~left & (arrays["status"] == STATUS_CODES[Status.INFEASIBLE])
        way = way.where_some_have_none(float(none.mean()))
    return Choice(way, exceptions=exceptions, left=float(left.mean()))
