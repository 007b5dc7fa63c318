"""Why points have no design in a table of all designs: from which limits each design breaks.

A design of the table that meets some limits shows that they can hold together, whatever else is given up. That they
cannot is known where the table has every design: where what the user says of a decided quantity is given up, there are
others, and a point whose conflict depends on them is left over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Codes, Integers, Points
from formulations.grids import divided
from formulations.problem import formulate
from formulations.programs.program import is_linear
from scenarios.question import Question, divided_or_dividing, without
from solvers import boxes, designs, enumeration
from solvers.boxes import Space
from solvers.counting import lines, narrowed
from solvers.counting.lines import Lines
from solvers.counting.narrowed import LARGE_TABLE, Asked
from solvers.designs import Table
from solvers.explaining import hopeless, known_designs, least_values, settling, subsets, wider
from solvers.linear.points import linear_conflicts
from solvers.mechanisms.alike import apart_but_for_bound
from solvers.mechanisms.along_bounds import along_bounds
from solvers.mechanisms.conflicts import CAN_HOLD, NOT_KNOWN
from solvers.mechanisms.why import Why
from solvers.nonlinear import feasibility

BEYOND_LISTS = 2.0
"""How far beyond its values a list that is given up is looked at."""


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

    # a set is asked about more than once
    known_sets = dict[tuple[int, frozenset[str]], int]()

    def search(some: Points, free: Collection[str]) -> Codes:
        lists = {d.name: d.values or () for d in decide if d.name in free}
        near = partial(_near_first, lists=lists) if rules and all(lists.values()) else feasibility.feasible
        asked = question if rules and all(lists.values()) else replace(question, reach=reach())
        given_up = frozenset(free)

        def ask(now: Points) -> None:
            told = _free_box_feasibility(asked, now, free, near)
            known_sets.update(((int(p), given_up), c) for p, c in zip(now, told, strict=True))

        new = np.array([p for p in some if (int(p), given_up) not in known_sets], np.intp)
        if new.size:
            # numbers that are not decided may make points differ in structure where bounds have gone
            narrowed.piece_by_piece(new, 1, ask)
        return np.array([known_sets[int(p), given_up] for p in some], np.int8)

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
    known = known_designs.Known(names, broken, True, decided, search, hopeless.entering(question, names))
    lost = hopeless.broken_by_all(question, names, len(own))
    met = hopeless.unless_broken(along_bounds(known.met, question, names, len(own)), lost)
    return Why(names, met, values, partial(divided.at, question), always=question.model.always, lost=lost)


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
    for _, own, here in narrowed.in_parts(asked, t):
        _, ratios = enumeration.numbers(own, here.near, here.which)
        found.append(
            settling.each_once(known_designs.broken(ratios, names, (len(here.which), t.size)), len(names))
        )
    width = max(sets.shape[1] for sets in found)
    wide = (
        np.pad(s, ((0, 0), (0, width - s.shape[1])), constant_values=(1 << len(names)) - 1) for s in found
    )
    return np.concatenate(list(wide))


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
    for some, own, here in narrowed.in_parts(asked, t):
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


def _limits_of_table_conflicts(asked: Asked, own: Points) -> tuple[str, ...]:
    """Names of the limits that may be in conflict at points ``own``; raises Differ where these are not the same."""
    names = subsets.limit_names(divided.at(asked.question, own))
    if is_linear(asked.plain) and any(d.name in names for d in asked.plain.decide):
        raise CannotTake("the ends or values asked of a decided quantity may be in conflict")
    return names
