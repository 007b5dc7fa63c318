"""Few designs, many points: every design of a table evaluated at every point, and the best of those that hold.

For questions in which all that is decided are names, entries of menus, or few whole numbers, whatever the equations
are. What a model's equations say is evaluated once for each design and each point that differs in what is given; limits
that are axes only change what the results are compared with. Enumeration is exhaustive: the optimum is its own bound,
and why a point has no design follows from which limits each design breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Points
from formulations.arithmetics.many import Differ
from formulations.grids import divided, over_grid
from formulations.problem import formulate
from scenarios.question import Question, combinations
from scenarios.sweep import grids
from solvers import designs, enumeration, work
from solvers.counting import narrowed, table_conflicts
from solvers.counting.narrowed import CELLS, CELLS_COMPARED, LARGE_TABLE, Asked
from solvers.designs import MANY_DESIGNS, Table
from solvers.many_points import best_of, blocks, claims
from solvers.many_points.best_of import BestOf
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import OTHER_KIND, Offer
from solvers.mechanisms.why import Why, over_choices
from solvers.nonlinear import feasibility

KIND = "table of designs"
METHOD = "a table of all designs, evaluated at every point"
LEFT = 0.01
"""Of the designs of a large table those that are compared at every point, for its declared work."""
POINTS_OF_TABLE, MOST_TABULATED = 256, 1_000_000
"""Points together of a large table, and designs that a table still has."""
TOO_LARGE = (
    f"{KIND}: there are more than {MOST_TABULATED} designs; with shorter lists, or nearer ends of whole numbers, it "
    "would go at once"
)


def way(grid: grids.Grid, most: int = MANY_DESIGNS) -> Offer:
    """Return this way where all that is decided comes from a table of no more than so many designs."""
    if any(len(q.objectives) != 1 for q in grid.bases.values()):
        return OTHER_KIND
    asked = [q for q in claims.kinds(grid) if q.decide]
    large = any(designs.tables(q, most) is None for q in asked)
    # what costs little is asked first: reading asks for the mathematics of a question
    if (
        not asked
        or (large and any(map(designs.free, asked)))
        or not all(_needs_only_listing(q) for q in asked)
    ):
        return OTHER_KIND
    if large:
        # of fewer than that the way for large ones speaks
        return OTHER_KIND if most < MOST_TABULATED else Offer(reason=TOO_LARGE)
    return claims.offered(over(grid), over(claims.thinned(grid)))


def way_of_large(grid: grids.Grid) -> Offer:
    """Return this way for tables so large that other ways are asked first."""
    return way(grid, MOST_TABULATED)


def over(grid: grids.Grid) -> ByGroup:
    """Return the way over a grid.

    Its declared work is that of a point's designs: evaluated (once for all that differ in limits only) and compared.
    """
    few = Block(over_grid.spread(claims.thinned(grid)), over_grid.whole(claims.thinned(grid)))
    every = [_asked(few, few.question(points), points) for points in few.alike()]
    sizes = [[a.every.size for a in kind] for kind in every]
    largest = max(map(max, sizes))
    numbers = work.metrics(next(iter(grid.bases.values())))
    compared = sum(size if size < LARGE_TABLE else size * LEFT for kind in sizes for size in kind)
    count = sum(map(narrowed.worked_out, max(every, key=lambda kind: sum(a.every.size for a in kind))))
    units = {
        "table point": 1.0,
        "table metric": count * numbers * work.given_share(grid),
        "table cell": compared / len(every),
    }
    together = POINTS_OF_TABLE if largest >= LARGE_TABLE else CELLS_COMPARED // largest
    kinds = blocks.ANY_NUMBER if largest >= LARGE_TABLE else max(CELLS // largest, 1)
    return ByGroup(
        over_grid.spread(grid),
        answered,
        together,
        METHOD,
        "batch",
        units,
        by_given=True,
        kinds=kinds,
        without={"table conflict": 1.0, "table conflict design": float(largest)},
    )


def _needs_only_listing(question: Question) -> bool:
    """Whether a list of designs is all that a question needs."""
    first = next(asked for _, asked in combinations(question))
    try:
        formulate(first)
    except ArithmeticError:  # a cost that is 0: told of each point by itself
        return False
    return designs.plain(first)


def nothing_beyond(question: Question, some: Points) -> Bools:
    """Tell of which points ``some`` no power beyond those listed meets the limits."""
    if not any(d.endless for d in question.decide):
        return np.ones(len(some), bool)
    return feasibility.nothing_beyond(divided.flat(divided.at(question, some)), len(some))


def _asked(block: Block, question: Question, points: Points) -> list[Asked]:
    """All designs of each combination of names at some points of a block."""
    first, which = block.alike_given(points)
    plain = block.grid.question(block.place(int(points[0])))
    asked = _listed(block.question(points, 1), block.question(points[first], 1), which, plain, MOST_TABULATED)
    if asked is None:
        raise CannotTake("something decided is not a short list")
    return asked


def _listed(wide: Question, near: Question, which: Points, plain: Question, most: int) -> list[Asked] | None:
    """All designs of each combination of names (see ``Asked``); None where they are no list of so many at most."""
    every = designs.tables(wide, most)
    if every is None:
        return None
    each = (combinations(q) for q in (wide, near, plain))
    return [Asked(x, q, n, which, p) for x, (_, q), (_, n), (_, p) in zip(every, *each, strict=True)]


def least(question: Question, plain: Question, count: int) -> Array | None:
    """The least of what is minimised, over all designs, at each of ``count`` points; infinite where none holds.

    ``plain``: the question at one of them. None where designs are no short list, or floats do not tell.
    """
    every = np.arange(count)
    wide = divided.before_axes(question, 1)
    asked = _listed(wide, wide, every, plain, MANY_DESIGNS) if _needs_only_listing(plain) else None
    if not asked:
        return None
    step = max(CELLS_COMPARED // max(one.every.size for one in asked), 1)
    found = np.full(count, np.inf)
    try:
        for now in (every[start : start + step] for start in range(0, count, step)):
            for one in (a.at(now) for a in asked):
                j = _judged_in_parts(one.tables(narrowed.unbroken)[0], one)
                found[now] = np.minimum(found[now], np.where(j.endless | j.lost, np.nan, j.value))
    except (Differ, CannotTake):
        return None
    return None if np.isnan(found).any() else found


def answered(into: BlockAnswers, block: Block, question: Question, points: Points) -> Bools:
    """Answer some points of a block."""
    asked, every = _asked(block, question, points), list(combinations(question))
    which = asked[0].which
    if not _needs_only_listing(asked[0].plain):
        raise CannotTake("this is not a question that a list of designs answers")
    tables = [a.tables(narrowed.unbroken)[0] for a in asked]
    if len(points) > 1 and len(points) * max(t.size for t in tables) > CELLS_COMPARED:
        return _in_halves(points, lambda now: answered(into, block, block.question(now), now))
    judged = [_judged_in_parts(t, a) for t, a in zip(tables, asked, strict=True)]
    lost = [
        j.lost | _beyond_lists(j, one, t.x, len(which))
        for j, (_, one), t in zip(judged, every, tables, strict=True)
    ]
    found = [
        # what costs without end, or has no number to judge it by, is told of by a single point
        BestOf(
            chosen,
            one,
            partial(_best_designs, j.best, t.x),
            j.value,
            question.sign * j.value,
            j.missed,
            j.endless | out,
        )
        for (chosen, one), j, t, out in zip(every, judged, tables, lost, strict=True)
    ]

    def why_not(now: Points) -> Why:
        return over_choices([table_conflicts.why(a, now) for a in asked])

    return best_of.put_best(into, found, points, why_not)


def _judged_in_parts(t: Table, asked: Asked) -> enumeration.Judged:
    """Judge the designs of a table at all points, few of these together."""
    found = []
    for some, own, here in narrowed.in_parts(asked, t):
        try:
            found.append(enumeration.judged(own, here.near, here.which))
        except Differ as apart:
            if len(apart.holds) != here.which.max() + 1:
                raise
            # told of the points that differ in what is given
            holds = np.ones((len(asked.which), *apart.holds.shape[1:]), bool)
            holds[some] = apart.holds[here.which]
            raise Differ(holds) from None
    return enumeration.Judged(
        *(np.concatenate([getattr(j, f.name) for j in found]) for f in fields(found[0]))
    )


def _in_halves(points: Points, answer: Callable[[Points], Bools]) -> Bools:
    """Answer points in two parts; tells which of them are answered."""
    left = [missed for part in np.array_split(points, 2) for missed in blocks.together(part, answer)]
    return ~np.isin(points, np.concatenate([np.zeros(0, np.intp), *left]))


def _beyond_lists(j: enumeration.Judged, question: Question, x: Mapping[str, Array], count: int) -> Bools:
    """Tell at which of so many points the answer may rest on where a list of powers ends."""
    found = np.zeros(count, bool)
    for d, ends in enumeration.open_powers(question):
        if x[d.name].size:  # of no design there is no best one
            found |= np.isin(x[d.name][j.best], ends) & np.isfinite(j.value)
    none = np.flatnonzero(np.isinf(j.value))
    if none.size:
        found[none] = ~nothing_beyond(question, none)
    return found


def _best_designs(best: Points, x: Mapping[str, Array], own: Bools) -> Mapping[str, Array]:
    return {n: values[best[own]] for n, values in x.items()}
