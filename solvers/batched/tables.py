"""Few designs, many points: every design of a table evaluated at every point, and the best of those that hold.

For questions in which all that is decided are names, entries of menus, or few whole numbers, whatever the equations
are. What a model's equations say is evaluated once for each design and each point that differs in what is given; limits
that are axes only change what the results are compared with. Enumeration is exhaustive: the optimum is its own bound,
and why a point has no design follows from which limits each design breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations.many import Array, Differ, Points
from formulations.tolerances import HOLDS, TIE
from results.dataset import Arrays, Layout
from scenarios.grids import Grid
from scenarios.question import Question, combinations
from solvers import work
from solvers.batched import blocks, table_conflicts, table_designs
from solvers.batched.blocks import Block
from solvers.batched.offers import FEWEST, OTHER_KIND, Offer, too_few
from solvers.batched.table_designs import LARGEST, Rule, Table, full
from solvers.batched.told import Designs, Told

KIND = "table of designs"
CELLS = 400_000
"""Designs times points that are evaluated together."""
SURE = 1e-7
"""What is missed by less is left to the single path."""

Mask = NDArray[np.bool_]


def way(grid: Grid) -> Offer:
    """Return this way where all that is decided comes from a table that is small enough."""
    if any(len(q.objectives) != 1 for q in grid.bases.values()):
        return OTHER_KIND
    asked = [q for q in blocks.kinds(grid) if q.decide]
    if not asked or any(_rule(q) is None for q in asked):
        return OTHER_KIND
    sizes = [table_designs.size(q) for q in asked]
    if any(size is None for size in sizes):
        return (
            Offer(
                reason=f"{KIND}: there are more than {LARGEST} designs; with shorter lists it would go at once"
            )
            if _listed(asked)
            else OTHER_KIND
        )
    if grid.size < FEWEST:
        return too_few(KIND)
    return blocks.offered(Tables(grid), Tables(blocks.thinned(grid)))


def _listed(asked: list[Question]) -> bool:
    """Whether all that is decided has gaps between its values."""
    return all(d.integer or d.values is not None or d.choices is not None for q in asked for d in q.decide)


def _rule(question: Question) -> Rule | None:
    return table_designs.rule(next(asked for _, asked in combinations(question)))


@dataclass(frozen=True, slots=True)
class Tables:
    """The way itself; see ``solvers.batched.path.Path``."""

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
        designs = max((table_designs.size(q) or 1 for q in blocks.kinds(self.grid)), default=1)
        return work.seconds("table point") + designs * cell

    def solve(self, plan: Layout, region: tuple[slice, ...]) -> tuple[Arrays, Mask]:
        """Answer a block."""
        block = Block(self.grid, region)
        told = Told(plan, block.shape)

        def answer(question: Question, points: Points) -> Mask:
            return answered(told, question, block, points)

        return told.arrays, block.answered(
            answer, max(64, CELLS // max(self._width(), 1)), by_given=True, fewest=1
        )

    def _width(self) -> int:
        return max((t.size for q in blocks.kinds(self.grid) for t in table_designs.tables(q)), default=1)


@dataclass(frozen=True, slots=True)
class Judged:
    """A table at many points: which design is the best at each, what it reaches (infinite: nothing holds).

    ``missed``: the least, over all designs, by which some limit is broken; ``unsure``: where rounding may decide.
    """

    best: Points
    value: Array
    missed: Array
    unsure: Mask


@dataclass(frozen=True, slots=True)
class Listing:
    """Where designs come from.

    ``x``: those of each combination of names at points that differ in numbers only; ``none``: what tells why some
    points (by their places) have no design, and of which of them it did.
    """

    x: Callable[[Question], list[Mapping[str, Array]]]
    none: Callable[[Told, table_conflicts.Asked, Points, Points], Mask]


EVERY = Listing(lambda question: [t.x for t in table_designs.tables(question)], table_conflicts.told_none)
"""All designs there are."""


def answered(told: Told, question: Question, block: Block, points: Points, listing: Listing = EVERY) -> Mask:
    """Answer some points of a block."""
    first, which = block.alike_given(points)
    plain = next(asked for _, asked in combinations(block.grid.question(block.place(int(points[0])))))
    rule = table_designs.rule(plain)
    if rule is None:
        raise CannotTake("this is no question that a list of designs answers")
    every, wide, near = (
        list(combinations(q)) for q in (question, block.question(points, 1), block.question(points[first], 1))
    )
    listed = listing.x(question)
    tables = [Table(chosen, q, x) for (chosen, q), x in zip(wide, listed, strict=True)]
    try:
        judged = [_judged(t, q, which, rule) for t, (_, q) in zip(tables, near, strict=True)]
    except Differ as apart:
        # told of the points that differ in what is given
        raise (Differ(apart.holds[which]) if len(apart.holds) == len(first) else apart) from None
    unsure = np.any([j.unsure for j in judged], axis=0)
    values = np.stack([j.value for j in judged])
    # of the same value the first combination, as for a single point
    best, some = np.argmin(values, axis=0), np.isfinite(values).any(axis=0)
    sign = -1.0 if question.objectives[0].maximize else 1.0
    good = np.zeros(len(points), dtype=bool)
    for k, ((chosen, asked), j) in enumerate(zip(every, judged, strict=True)):
        own = some & (best == k) & ~unsure
        if own.any():
            x = {n: a[j.best[own]] for n, a in listed[k].items()}
            designs = Designs(x, sign * j.value[own], chosen)
            good[own] = told.best(blocks.part(asked, own), points[own], designs)
    missed = np.min([j.missed for j in judged], axis=0) > SURE
    none = np.flatnonzero(~some & ~unsure & missed)
    if len(none):
        good[none] = True
        why = table_conflicts.Asked(tables[0], near[0][1], which, rule, plain)
        for left in blocks.together(none, lambda now: listing.none(told, why, points, now), 1):
            good[left] = False
    return good


def _judged(t: Table, near: Question, which: NDArray[np.intp], rule: Rule) -> Judged:
    shape = (len(which), t.size)
    if not t.size:
        far, no = np.full(len(which), np.inf), np.zeros(len(which), dtype=bool)
        return Judged(np.zeros(len(which), dtype=np.int64), far, far, no)
    at, ratios = table_designs.numbers(t, near, which)
    goal = full(table_designs.goal(t, at), shape)
    worst = np.full(shape, -np.inf)
    for ratio in ratios.values():
        own = full(ratio, shape)
        worst = np.maximum(worst, np.where(np.isnan(own), np.inf, own) - 1.0)
    broken = worst > rule.slack
    reached = np.where(broken | np.isnan(goal), np.inf, goal)
    low = reached.min(axis=1)
    # a design that breaks a limit by a hair may do for another method, whose tolerances are not ours
    close = broken & (worst <= HOLDS) & ~(goal > (low + TIE * np.abs(low))[:, None])
    # what costs without end is told of by a single point
    endless = np.isinf(low) & (~broken & ~np.isnan(goal)).any(axis=1)
    best = _first(t, at, reached, low, rule)
    # the best of those that are tied is not always the least of them
    return Judged(best, low, worst.min(axis=1), close.any(axis=1) | endless)


def _first(t: Table, at: Mapping[str, Any], reached: Array, low: Array, rule: Rule) -> Points:
    """The design handed out at each point: of those tied by the order of ties, then smaller numbers."""
    with np.errstate(invalid="ignore"):
        pool = reached <= (low + TIE * np.abs(low))[:, None]
    tied = np.flatnonzero(pool.sum(axis=1) > 1)
    best: Points = np.argmin(reached, axis=1)
    if not len(tied):
        return best
    left, known = pool[tied], {**t.x, **at}
    for level in (*(known[n] for n in t.question.tie_order if n in known), *t.x.values()):
        values = np.where(left, full(level, reached.shape)[tied], np.inf)
        first = values.min(axis=1)
        left &= values <= (first + TIE * np.abs(first) + rule.spare)[:, None]
    best[tied] = np.argmax(left, axis=1)
    return best
