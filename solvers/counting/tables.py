"""Few designs, many points: every design of a table evaluated at every point, and the best of those that hold.

For questions in which all that is decided are names, entries of menus, or few whole numbers, whatever the equations
are. What a model's equations say is evaluated once for each design and each point that differs in what is given; limits
that are axes only change what the results are compared with. Enumeration is exhaustive: the optimum is its own bound,
and why a point has no design follows from which limits each design breaks.

A design of the table that meets some limits shows that they can hold together, whatever else is given up. That they
cannot is known where the table has every design: where what the user says of a decided quantity is given up, there are
others, and a point whose conflict depends on them is left over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations.arithmetics.many import Array, Differ, Many, Points
from formulations.grids import divided
from formulations.problem import formulate
from formulations.program import is_linear
from scenarios.question import Question, combinations
from scenarios.sweep.grids import Grid
from solvers import boxes, designs, enumeration, work
from solvers.designs import MANY_DESIGNS, Table
from solvers.explaining import subsets, wider
from solvers.many_points import blocks, by_choice
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.by_choice import BestOf
from solvers.many_points.offers import OTHER_KIND, Offer
from solvers.mechanisms.conflicts import Codes, by_set
from solvers.mechanisms.why import Why, over_choices
from solvers.nonlinear import feasibility

KIND = "table of designs"
METHOD = "a table of all designs, evaluated at every point"
CELLS = 400_000
"""Designs times points that are evaluated together."""

Mask = NDArray[np.bool_]


def way(grid: Grid) -> Offer:
    """Return this way where all that is decided comes from a table that is small enough."""
    if any(len(q.objectives) != 1 for q in grid.bases.values()):
        return OTHER_KIND
    asked = [q for q in blocks.kinds(grid) if q.decide]
    large = any(designs.tables(q) is None for q in asked)
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
    return blocks.offered(over(grid), over(blocks.thinned(grid)))


def over(grid: Grid) -> ByGroup:
    """Return the way over a grid.

    Its declared work is that of a point's designs: evaluated (once for all that differ in limits only) and compared.
    """
    every = [[t.size for t in designs.tables(q) or ()] for q in blocks.kinds(grid)]
    numbers = work.metrics(next(iter(grid.bases.values())))
    cell = work.seconds("table metric", numbers * work.given_share(grid)) + work.seconds("table cell")
    each = work.seconds("table point") + max(sum(sizes) or 1 for sizes in every) * cell
    together = max(64, CELLS // max(max(sizes, default=1) for sizes in every))
    return ByGroup(grid, answered, together, METHOD, "batch", each, by_given=True)


def _needs_only_listing(question: Question) -> bool:
    """Whether a list of designs is all that a question needs."""
    first = next(asked for _, asked in combinations(question))
    try:
        formulate(first)
    except ArithmeticError:  # a cost that is 0: told of each point by itself
        return False
    return designs.plain(first)


@dataclass(frozen=True, slots=True)
class Asked:
    """The designs of one combination of names at many points; ``plain``: the question at one of them.

    ``near``: the question at the points that differ in what is given; ``which`` of these each point is like.
    """

    table: Table
    near: Question
    which: NDArray[np.intp]
    plain: Question


def why(asked: Asked, own: Points) -> Why:
    """What tells why points ``own`` have no design in the table."""
    names = _limits_of_table_conflicts(asked)
    t = Table(asked.table.chosen, blocks.part(asked.table.question, own), asked.table.x)
    kinds, which = np.unique(asked.which[own], return_inverse=True)
    near = blocks.part(asked.near, kinds)
    at, ratios = enumeration.numbers(t, near, which.reshape(-1))
    shape = (len(own), t.size)
    decided = frozenset(d.name for d in t.question.decide)
    reach = wider.farthest(formulate(asked.plain))

    def search(some: Points, free: Collection[str]) -> Codes:
        return _free_box_feasibility(t.question, reach, some, free)

    def values(some: Points, conflict: Sequence[str]) -> Mapping[str, Array]:
        # of bounds of what is decided other designs tell
        unknown = np.full(len(some), np.nan)
        return {
            n: unknown if n in decided else subsets.listed_value(t, at, ratios, n, shape)[some]
            for n in conflict
        }

    known = subsets.Known(names, subsets.broken(ratios, names, shape), True, decided, search)
    return Why(names, by_set(known.met), values, lambda some: blocks.part(t.question, some))


def _free_box_feasibility(question: Question, reach: float, some: Points, free: Collection[str]) -> Codes:
    """Whether limits can hold together where bounds and whole numbers of what is decided are given up, too."""
    relaxed = subsets.without(_flat(blocks.part(replace(question, reach=reach), some)), free)
    return feasibility.feasible(relaxed, boxes.spaces(relaxed, len(some)))


def nothing_beyond(question: Question, some: Points) -> Mask:
    """Tell of which points ``some`` no power beyond those listed meets the limits."""
    if not any(d.endless for d in question.decide):
        return np.ones(len(some), bool)
    return feasibility.nothing_beyond(_flat(blocks.part(question, some)), len(some))


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


def _all_designs(question: Question) -> list[Mapping[str, Array]]:
    found = designs.tables(question)
    if found is None:
        raise CannotTake("something decided is not a short list")
    return [t.x for t in found]


def answered(
    into: BlockAnswers,
    block: Block,
    question: Question,
    points: Points,
    listed: Callable[[Question], list[Mapping[str, Array]]] = _all_designs,
    told: Callable[[Asked, Points], Why] = why,
) -> Mask:
    """Answer some points of a block.

    ``listed``: the designs of each combination of names at points that differ in numbers only; ``told``: what tells why
    some points (by their places) have no design in one combination.
    """
    first, which = block.alike_given(points)
    plain = [asked for _, asked in combinations(block.grid.question(block.place(int(points[0]))))]
    if not _needs_only_listing(plain[0]):
        raise CannotTake("this is not a question that a list of designs answers")
    every, wide, near = (
        list(combinations(q)) for q in (question, block.question(points, 1), block.question(points[first], 1))
    )
    lists = listed(question)
    tables = [Table(chosen, q, x) for (chosen, q), x in zip(wide, lists, strict=True)]
    try:
        judged = [enumeration.judged(t, q, which) for t, (_, q) in zip(tables, near, strict=True)]
    except Differ as apart:
        # told of the points that differ in what is given
        raise (Differ(apart.holds[which]) if len(apart.holds) == len(first) else apart) from None
    sign = -1.0 if question.objectives[0].maximize else 1.0
    lost = [
        j.lost | _beyond_lists(j, one, x, len(which))
        for j, (_, one), x in zip(judged, every, lists, strict=True)
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
        for (chosen, asked), j, x, out in zip(every, judged, lists, lost, strict=True)
    ]
    asked = [Asked(t, q, which, p) for t, (_, q), p in zip(tables, near, plain, strict=True)]

    def why_not(now: Points) -> Why:
        return over_choices([told(a, now) for a in asked])

    return by_choice.put_best(into, found, points, why_not)


def _beyond_lists(j: enumeration.Judged, question: Question, x: Mapping[str, Array], count: int) -> Mask:
    """Tell at which of so many points the answer may rest on where a list of powers ends."""
    found = np.zeros(count, bool)
    for d, ends in enumeration.open_powers(question):
        found |= np.isin(x[d.name][j.best], ends) & np.isfinite(j.value)
    none = np.flatnonzero(np.isinf(j.value))
    if none.size:
        found[none] = ~nothing_beyond(question, none)
    return found


def _best_designs(best: Points, x: Mapping[str, Array], own: Mask) -> Mapping[str, Array]:
    return {n: values[best[own]] for n, values in x.items()}
