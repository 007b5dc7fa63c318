"""Tables of indexed quantities: a row per region and a column per processor, or a row per block with its metrics."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from dse.quantities import plural
from dse.system.records import dataclass
from results.telling import words
from results.telling.parts import Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from results.telling.facts import Facts

MARK = " *"
NO_AMOUNT = 1e-12
# rows of a table with several labels in front that are shown in any case
ROWS_KEPT = 6
OPTIMAL_RANGE = "optimal range"


@dataclass(frozen=True, slots=True)
class Table:
    """Names of elements by row and column; ``leading`` are the headings of what stands in front of a row."""

    heading: str
    leading: tuple[str, ...]
    columns: tuple[str, ...]
    rows: dict[tuple[str, ...], dict[str, str]]


def decided(solution: Facts) -> list[Part]:
    """Return the tables of the families of which something was decided, all their elements in them."""
    tables = _tables(solution, _families_of_names(solution, solution.variables), "variables")
    return [part for table in tables for part in _table_parts(solution, table)]


def reported(solution: Facts) -> list[Part]:
    """Return the tables of the families of which nothing was decided."""
    kinds = _families_of_names(solution, solution.metrics)
    for kind in _families_of_names(solution, solution.variables):
        kinds.pop(kind, None)
    return [part for table in _tables(solution, kinds, "metrics") for part in _table_parts(solution, table)]


Kind = tuple[str, tuple[str, ...]]


def _families_of_names(solution: Facts, names: Iterable[str]) -> dict[Kind, None]:
    """Return the families, with their dimensions, that these names are elements of."""
    found = [solution.index[n] for n in names if n in solution.index]
    return {(family, tuple(dim for dim, _ in index)): None for family, index in found}


def _tables(solution: Facts, kinds: dict[Kind, None], what: str) -> Iterator[Table]:
    """Go through the tables of these families: one for those of the same dimensions."""
    for dims in dict.fromkeys(dims for _, dims in kinds):
        families = [family for family, others in kinds if others == dims]
        yield (_rows_by_label if len(dims) == 1 else _crossed)(solution, families, dims, what)


def _elements_with_number(
    solution: Facts, families: Sequence[str], dims: Sequence[str]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Go through the elements that have a number: name, family, labels."""
    for name, (family, index) in solution.index.items():
        known = name in solution.variables or name in solution.metrics or name in solution.given
        if known and family in families and [dim for dim, _ in index] == list(dims):
            yield name, family, tuple(label for _, label in index)


def _rows_by_label(solution: Facts, families: Sequence[str], dims: Sequence[str], what: str) -> Table:
    """Lay out families of one dimension: a row for each label, a column for each family."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for name, family, labels in _elements_with_number(solution, families, dims):
        rows.setdefault(labels, {})[family] = name
    return Table(f"{what} by {dims[0]}", (dims[0],), tuple(families), rows)


def _crossed(solution: Facts, families: Sequence[str], dims: Sequence[str], what: str) -> Table:
    """Lay out families of several dimensions: a column for each label of the last one."""
    several = len(families) > 1
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    columns: dict[str, None] = {}
    for name, family, labels in _elements_with_number(solution, families, dims):
        rows.setdefault((*labels[:-1], *((family,) if several else ())), {})[labels[-1]] = name
        columns[labels[-1]] = None
    heading = f"{what if several else families[0]} by {' and '.join(dims)}"
    return Table(heading, (*dims[:-1], *(("",) if several else ())), tuple(columns), rows)


def _table_parts(solution: Facts, table: Table) -> list[Part]:
    """Write a table; ranges of one column stand beside it, those of several below."""
    table = _without_zeros(solution, table)
    ranged = [c for c in table.columns if any(r.get(c) in solution.ranges for r in table.rows.values())]
    beside = ranged[0] if len(ranged) == 1 else None
    columns, rows = table.columns, []
    for labels, names in table.rows.items():
        cells = [_element_cell(solution, names.get(c), marked=len(ranged) > 1) for c in columns]
        told = [interval(solution, names.get(beside, ""))] if beside else []
        rows.append((*labels, *cells, *told))
    told_as = OPTIMAL_RANGE if len(columns) == 1 else f"{beside}: {OPTIMAL_RANGE}"
    found = [
        Part(
            table.heading,
            (*table.leading, *columns, *((told_as,) if beside else ())),
            tuple(rows),
            frozenset(columns),
            len(table.leading),
        )
    ]
    if len(ranged) > 1:
        names_ = [n for r in table.rows.values() for n in r.values() if n in solution.ranges]
        below = tuple((n, interval(solution, n)) for n in names_)
        found.append(Part(f"{OPTIMAL_RANGE} (marked{MARK})", ("name", "which others"), below))
    return found


def _without_zeros(solution: Facts, table: Table) -> Table:
    """Leave out the rows of a long table, of several labels each, in which nothing is but zeros."""
    kept = {
        labels: names
        for labels, names in table.rows.items()
        if any(_element_number(solution, n) != 0.0 or n in solution.ranges for n in names.values())
    }
    left_out = len(table.rows) - len(kept)
    if len(table.leading) == 1 or len(table.rows) <= ROWS_KEPT or not kept or not left_out:
        return table
    return replace(table, heading=f"{table.heading} ({plural(left_out, 'row')} of zeros left out)", rows=kept)


def interval(solution: Facts, name: str) -> str:
    """Say which other values are as good; nothing where there is one value only.

    What picks from a menu has no order to speak of: of what lies between its ends, not all need be as good.
    """
    if name not in solution.ranges:
        return ""
    low, high = solution.ranges[name]
    if name in solution.menus:
        return _picks(solution, name, low, high)
    ends = [words.metric(solution, name, end) for end in (low, high)]
    if math.isinf(high):
        return "any value" if low <= 0.0 else f"{ends[0]} and more"
    return f"up to {ends[1]}" if math.isinf(low) else " to ".join(ends)


def _picks(solution: Facts, name: str, low: float, high: float) -> str:
    """Name the ends of a range of entries, but for the chosen one, and say where there may be more."""
    chosen = _element_number(solution, name)
    known = {low, high, chosen}
    others = [words.metric(solution, name, end) for end in dict.fromkeys((low, high)) if end != chosen]
    between = high - low + 1 > len(known)
    return ", ".join(others) + (", perhaps others" if between else "")


def _element_cell(solution: Facts, name: str | None, *, marked: bool) -> str:
    if name is None:
        return ""
    amount = _element_number(solution, name)
    given = " (given)" if name not in solution.variables and name not in solution.metrics else ""
    mark = MARK if marked and name in solution.ranges else ""
    return words.metric(solution, name, amount) + given + mark


def _element_number(solution: Facts, name: str) -> float | str:
    """Return the number of an element, wherever it comes from."""
    if name in solution.variables:
        return solution.variables[name]
    amount = solution.metrics[name] if name in solution.metrics else solution.given[name]
    # 1 less shares that sum up to 1 but for rounding
    return 0.0 if not solution.units.get(name, "") and abs(amount) < NO_AMOUNT else amount
