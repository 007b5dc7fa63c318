"""Few designs, many points: every design of a table evaluated at every point, and the best of those that hold.

For questions in which all that is decided are names, entries of menus, or few whole numbers, whatever the equations
are. What a model's equations say is evaluated once for each design and each point that differs in what is given; limits
that are axes only change what the results are compared with. Enumeration is exhaustive: the optimum is its own bound,
and why a point has no design follows from which limits each design breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations.arithmetics.many import Array, Differ, Points
from formulations.problem import formulate
from results.dataset import Arrays, Layout
from scenarios.question import Question, combinations
from scenarios.sweep.grids import Grid
from solvers import designs, enumeration, work
from solvers.counting import table_conflicts
from solvers.designs import MANY_DESIGNS, Table
from solvers.many_points import blocks, by_choice
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block
from solvers.many_points.by_choice import BestOf
from solvers.many_points.offers import OTHER_KIND, Offer
from solvers.mechanisms.why import Why, over_choices

KIND = "table of designs"
CELLS = 400_000
"""Designs times points that are evaluated together."""

Mask = NDArray[np.bool_]


def way(grid: Grid) -> Offer:
    """Return this way where all that is decided comes from a table that is small enough."""
    if any(len(q.objectives) != 1 for q in grid.bases.values()):
        return OTHER_KIND
    asked = [q for q in blocks.kinds(grid) if q.decide]
    large = any(designs.listed(q) is None for q in asked)
    # what costs little is asked first: reading asks for the mathematics of a question
    if (
        not asked
        or (large and any(map(designs.free, asked)))
        or not all(_needs_only_listing(q) for q in asked)
    ):
        return OTHER_KIND
    if large:
        return Offer(
            reason=f"{KIND}: there are more than {MANY_DESIGNS} designs; with shorter lists it would go at once"
        )
    return blocks.offered(Tables(grid), Tables(blocks.thinned(grid)))


def _needs_only_listing(question: Question) -> bool:
    """Whether a list of designs is all that a question needs."""
    first = next(asked for _, asked in combinations(question))
    try:
        formulate(first)
    except ArithmeticError:  # a cost that is 0: told of each point by itself
        return False
    return designs.plain(first)


@dataclass(frozen=True, slots=True)
class Tables:
    """The way itself; see ``solvers.paths.Path``."""

    grid: Grid
    method: str = "a table of all designs, evaluated at every point"
    kind: str = "batch"

    @property
    def work(self) -> float:
        """Declared seconds of a point: its designs evaluated (once for all that differ in limits only) and compared."""
        numbers = work.metrics(next(iter(self.grid.bases.values())))
        cell = work.seconds("table metric", numbers * work.given_share(self.grid)) + work.seconds(
            "table cell"
        )
        count = max((designs.listed(q) or 1 for q in blocks.kinds(self.grid)), default=1)
        return work.seconds("table point") + count * cell

    def solve(self, plan: Layout, region: tuple[slice, ...]) -> tuple[Arrays, Mask]:
        """Answer a block."""
        together = max(64, CELLS // max(self._width(), 1))
        return blocks.solved(self.grid, plan, region, answered, together, by_given=True)

    def _width(self) -> int:
        return max((t.size for q in blocks.kinds(self.grid) for t in designs.tables(q)), default=1)


@dataclass(frozen=True, slots=True)
class Listing:
    """Where designs come from.

    ``x``: those of each combination of names at points that differ in numbers only; ``why``: what tells why some
    points (by their places, of so many) have no design in one combination.
    """

    x: Callable[[Question], list[Mapping[str, Array]]]
    why: Callable[[table_conflicts.Asked, Points, int], Why]


EVERY = Listing(lambda question: [t.x for t in designs.tables(question)], table_conflicts.why)
"""All designs there are."""


def answered(
    into: BlockAnswers, block: Block, question: Question, points: Points, listing: Listing = EVERY
) -> Mask:
    """Answer some points of a block."""
    first, which = block.alike_given(points)
    plain = [asked for _, asked in combinations(block.grid.question(block.place(int(points[0]))))]
    if not _needs_only_listing(plain[0]):
        raise CannotTake("this is not a question that a list of designs answers")
    every, wide, near = (
        list(combinations(q)) for q in (question, block.question(points, 1), block.question(points[first], 1))
    )
    listed = listing.x(question)
    tables = [Table(chosen, q, x) for (chosen, q), x in zip(wide, listed, strict=True)]
    try:
        judged = [enumeration.judged(t, q, which) for t, (_, q) in zip(tables, near, strict=True)]
    except Differ as apart:
        # told of the points that differ in what is given
        raise (Differ(apart.holds[which]) if len(apart.holds) == len(first) else apart) from None
    sign = -1.0 if question.objectives[0].maximize else 1.0
    lost = [
        j.lost | _beyond_lists(j, one, x, len(which))
        for j, (_, one), x in zip(judged, every, listed, strict=True)
    ]
    found = [
        # what costs without end, or has no number to judge it by, is told of by a single point
        BestOf(
            chosen,
            asked,
            partial(_best_designs, j.best, x),
            j.value,
            sign * j.value,
            j.missed,
            j.endless | out,
        )
        for (chosen, asked), j, x, out in zip(every, judged, listed, lost, strict=True)
    ]
    asked = [table_conflicts.Asked(t, q, which, p) for t, (_, q), p in zip(tables, near, plain, strict=True)]

    def why(now: Points) -> Why:
        return over_choices([listing.why(a, now, len(points)) for a in asked])

    return by_choice.put_best(into, found, points, why)


def _beyond_lists(j: enumeration.Judged, question: Question, x: Mapping[str, Array], count: int) -> Mask:
    """Tell at which of so many points the answer may rest on where a list of powers ends."""
    found = np.zeros(count, bool)
    for d, ends in enumeration.open_powers(question):
        found |= np.isin(x[d.name][j.best], ends) & np.isfinite(j.value)
    none = np.flatnonzero(np.isinf(j.value))
    if none.size:
        found[none] = ~table_conflicts.nothing_beyond(question, none, count)
    return found


def _best_designs(best: Points, x: Mapping[str, Array], own: Mask) -> Mapping[str, Array]:
    return {n: values[best[own]] for n, values in x.items()}
