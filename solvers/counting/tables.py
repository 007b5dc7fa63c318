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

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, partial

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Codes, Integers, Points
from formulations.arithmetics.many import Differ
from formulations.grids import divided, over_grid
from formulations.problem import formulate
from formulations.programs.program import is_linear
from scenarios.question import Question, combinations, divided_or_dividing, without
from scenarios.sweep import grids
from solvers import boxes, designs, enumeration, work
from solvers.boxes import Space
from solvers.counting import lines, narrowed
from solvers.counting.lines import Lines
from solvers.counting.narrowed import CELLS_COMPARED, LARGE_TABLE, Asked
from solvers.designs import MANY_DESIGNS, Table
from solvers.explaining import hopeless, known_designs, least_values, settling, subsets, wider
from solvers.linear.points import linear_conflicts
from solvers.many_points import best_of, blocks, claims
from solvers.many_points.best_of import BestOf
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.blocks import Block, ByGroup
from solvers.many_points.offers import OTHER_KIND, Offer
from solvers.mechanisms.along_bounds import along_bounds
from solvers.mechanisms.conflicts import CAN_HOLD, NOT_KNOWN
from solvers.mechanisms.why import Why, apart_but_for_bound, over_choices
from solvers.nonlinear import feasibility

KIND = "table of designs"
METHOD = "a table of all designs, evaluated at every point"
BEYOND_LISTS = 2.0
"""How far beyond its values a list that is given up is looked at."""
CELLS = 400_000
"""Designs times points that are evaluated together."""
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


def why(asked: Asked, own: Points) -> Why:
    """What tells why points ``own`` have no design in the table.

    Bounds on menus are limits like others: designs beyond them are in the table, too.
    """
    names = _limits_of_table_conflicts(asked, own)
    decide = asked.question.decide
    menus = tuple(replace(d, minimum=None, maximum=None) if d.menu is not None else d for d in decide)
    here = replace(asked.at(own), every=designs.widest(replace(asked.question, decide=menus)) or asked.every)
    question = here.question
    decided = frozenset(d.name for d in decide if d.menu is None)
    rules = divided_or_dividing(question)
    by_lines = lines.lines(here) if here.every.size >= LARGE_TABLE else None
    by_design = here.tables(narrowed.telling) if by_lines is None else []

    @cache
    def reach() -> float:
        return wider.farthest(formulate(asked.plain))

    def search(some: Points, free: Collection[str]) -> Codes:
        lists = {d.name: d.values or () for d in decide if d.name in free}
        near = partial(_near_first, lists=lists) if rules and all(lists.values()) else feasibility.feasible
        asked = question if rules and all(lists.values()) else replace(question, reach=reach())
        codes = np.empty(some.size, np.int8)

        def ask(now: Points) -> None:
            codes[now] = _free_box_feasibility(asked, some[now], free, near)

        # numbers that are not decided may make points differ in structure where bounds have gone
        narrowed.piece_by_piece(np.arange(some.size), 1, ask)
        return codes

    def values(some: Points, conflict: Sequence[str]) -> Mapping[str, Array]:
        there, found = here.at(some), dict[str, Array]()
        for listed, first, which in _once([n for n in conflict if n not in decided], there):
            if by_lines is None:
                # those that break one limit at most, where there is a list of them
                told = _listed_values(there.at(first), by_design[-1], listed)
            else:
                told = _values_by_lines(there.at(first), by_lines.at(some[first]), listed)
            found |= {n: v[which] for n, v in told.items()}
        # of bounds of what is decided other designs tell
        wide = (
            replace(divided.before_axes(there.question, 0), reach=reach())
            if len(found) < len(conflict)
            else question
        )
        return found | {
            n: least_values.feasible_values(wide, len(some), n, linear_conflicts.least)
            for n in conflict
            if n in decided
        }

    broken = _sets_by_lines(here, by_lines, names) if by_lines else _broken_sets(here, by_design[0], names)
    known = known_designs.Known(names, broken, True, decided, search)
    lost = hopeless.broken_by_all(question, names, len(own))
    met = hopeless.unless_broken(along_bounds(known.met, question, names, len(own)), lost)
    return Why(names, met, values, partial(divided.at, question), always=question.model.always)


def _once(names: Sequence[str], asked: Asked) -> Iterator[tuple[list[str], Points, Points]]:
    """Go through limits, each with points that stand for all, and for which they stand: those that have one value."""
    together, every = list[str](), np.arange(len(asked.which))
    for n in names:
        alike = apart_but_for_bound(divided.before_axes(asked.question, 0), n)
        if alike is None or alike[2].size == every.size:
            together.append(n)
        else:
            yield [n], alike[2], alike[3]
    if together:
        yield together, every, every


def _broken_sets(asked: Asked, t: Table, names: Sequence[str]) -> Integers:
    """The sets of limits that designs of a table break at each point, as bits."""
    found = []
    for _, own, here in _in_parts(asked, t):
        _, ratios = enumeration.numbers(own, here.near, here.which)
        found.append(
            settling.each_once(known_designs.broken(ratios, names, (len(here.which), t.size)), len(names))
        )
    width = max(sets.shape[1] for sets in found)
    wide = (
        np.pad(s, ((0, 0), (0, width - s.shape[1])), constant_values=(1 << len(names)) - 1) for s in found
    )
    return np.concatenate(list(wide))


def _in_parts(asked: Asked, t: Table) -> Iterator[tuple[Points, Table, Asked]]:
    """Cut points into parts whose designs of a table are compared together, each with the table and what is asked."""
    step = max(CELLS // max(t.size, 1), 1)
    for start in range(0, len(asked.which), step):
        some = np.arange(start, min(start + step, len(asked.which)))
        here = asked.at(some)
        yield some, replace(t, question=here.question), here


def _sets_by_lines(asked: Asked, by_lines: Lines, names: Sequence[str]) -> Integers:
    """The sets that tell which limits can hold together: by lines of designs, at what points that tells it."""
    found, told = by_lines.broken(names)
    rest = np.flatnonzero(~told)
    if rest.size:
        here = asked.at(rest)
        own = _broken_sets(here, here.tables(narrowed.telling)[0], names)
        more = np.full((len(told), own.shape[1]), (1 << len(names)) - 1)
        more[rest] = own
        found = np.concatenate([found, more], axis=1)
    return found


def _listed_values(asked: Asked, t: Table, names: Sequence[str]) -> dict[str, Array]:
    """The feasible values of some limits at each point, by designs of a table."""
    found = {n: np.empty(len(asked.which)) for n in names}
    for some, own, here in _in_parts(asked, t):
        at, ratios = enumeration.numbers(own, here.near, here.which)
        for n in names:
            found[n][some] = known_designs.listed_value(own, at, ratios, n, (some.size, t.size))
    return found


def _values_by_lines(asked: Asked, by_lines: Lines, names: Sequence[str]) -> dict[str, Array]:
    """The same by lines of designs, at what points that tells it."""
    found = {n: by_lines.feasible_values(n) for n in names}
    rest = np.flatnonzero(
        np.any([np.isnan(v) for v in (np.zeros(len(asked.which)), *found.values())], axis=0)
    )
    if rest.size:
        here = asked.at(rest)
        for n, values in _listed_values(here, here.tables(narrowed.telling)[-1], names).items():
            found[n][rest] = values
    return found


def _free_box_feasibility(
    question: Question,
    some: Points,
    free: Collection[str],
    feasible: Callable[[Question, Space], Codes] = feasibility.feasible,
) -> Codes:
    """Whether limits can hold together where bounds and whole numbers of what is decided are given up, too."""
    relaxed = without(divided.at(question, some), free)
    codes = linear_conflicts.held_together(divided.before_axes(relaxed, 0), len(some))
    left = np.flatnonzero(codes == NOT_KNOWN)
    if left.size:
        rest = divided.flat(divided.at(relaxed, left))
        codes[left] = feasible(rest, boxes.spaces(rest, left.size))
    return codes


def _near_first(question: Question, where: Space, lists: Mapping[str, Sequence[float]]) -> Codes:
    """Whether a design meets all limits, sought between the values of lists, and a little beyond, before elsewhere.

    Where that is not found out, the lists count as needed: that limits conflict with them is proved.
    """
    low, high = where.low.copy(), where.high.copy()
    for j, name in enumerate(where.names):
        if name in lists:
            low[:, j] = np.maximum(low[:, j], min(lists[name]) / BEYOND_LISTS)
            high[:, j] = np.minimum(high[:, j], max(lists[name]) * BEYOND_LISTS)
    codes = feasibility.at_once(replace(question, objectives=()), replace(where, low=low, high=high))
    left = np.flatnonzero(codes != CAN_HOLD)
    if left.size:
        codes[left] = feasibility.anywhere(divided.at(question, left), where.at(left))
    return np.where(codes == NOT_KNOWN, CAN_HOLD, codes).astype(np.int8)


def nothing_beyond(question: Question, some: Points) -> Bools:
    """Tell of which points ``some`` no power beyond those listed meets the limits."""
    if not any(d.endless for d in question.decide):
        return np.ones(len(some), bool)
    return feasibility.nothing_beyond(divided.flat(divided.at(question, some)), len(some))


def _limits_of_table_conflicts(asked: Asked, own: Points) -> tuple[str, ...]:
    """Names of the limits that may be in conflict at points ``own``; raises Differ where these are not the same."""
    names = subsets.limit_names(divided.at(asked.question, own))
    if is_linear(asked.plain) and any(d.name in names for d in asked.plain.decide):
        raise CannotTake("the ends or values asked of a decided quantity may be in conflict")
    return names


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
        return over_choices([why(a, now) for a in asked])

    return best_of.put_best(into, found, points, why_not)


def _judged_in_parts(t: Table, asked: Asked) -> enumeration.Judged:
    """Judge the designs of a table at all points, few of these together."""
    found = []
    for some, own, here in _in_parts(asked, t):
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
