"""The cells of a table read as values of what they change: numbers in SI units, or names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.machines import is_file
from dse.quantities import LEAST_REPRESENTED, Quantity, UnitError, to_si
from scenarios.axes import axes
from scenarios.axes.axes import Target
from scenarios.language.errors import shown
from scenarios.language.reading import Reader
from scenarios.language.tables import TOLD, Cells, Table, is_number, unusable

if TYPE_CHECKING:
    from scenarios.language.tables import Array


def names(reader: Reader, key: str, table: Table, path: str, q: Quantity | None) -> tuple[str, ...] | None:
    """Read a column of names (machines, or a choice ``q``); None, and mistakes noted, where some are none."""
    cells = table.columns[path]
    if cells.unit:
        wrong = f"these are names, and the header has the unit [{cells.unit}]"
        reader.findings.add(key, wrong, "leave the unit out")
        return None
    found = cells.texts()
    files = [(row, f"{shown(n)} is a file") for row, n in enumerate(found) if q is None and is_file(n)]
    if files:
        # what is named in data from elsewhere would not be pinned
        right = "a table names machines of the catalogue; machine files can stand in values and paths"
        _note_rows(reader, key, table, files, right)
        return None
    first = {name: row for row, name in reversed(list(enumerate(found)))}
    # each name once, at the first line where it stands; what could not be read was told already
    known = [
        not unusable(n) and axes.is_name(reader, f"{key}, {table.line(row)}", n, q)
        for n, row in sorted(first.items(), key=lambda item: item[1])
    ]
    return found if all(known) else None


def numbers(
    reader: Reader, key: str, table: Table, path: str, aim: Target, q: Quantity, word_size: float | None
) -> Array | None:
    """Read a column of numbers in SI units; None, and mistakes noted, where some cannot be read or are not possible."""
    cells = table.columns[path]
    before = reader.findings.count
    if not cells.numeric and not q.menu:
        right = f"{q.name} is a number: write one in every row, its unit in the header"
        odd = [
            (row, text) for row, text in enumerate(cells.texts()) if not (is_number(text) or unusable(text))
        ]
        _note_rows(
            reader, key, table, [(row, f"{shown(text)} is not a finite number") for row, text in odd], right
        )
        # what stands in the other rows is told as well
        cells = Cells(_with_gaps(cells.texts()))
    values = _in_si(reader, key, table, cells, q, word_size)
    if values is None:
        return None
    rows = _suspicious(reader, aim, q, values)
    for row in rows[:TOLD]:
        axes.possible(reader, f"{key}, {table.line(int(row))}", float(values[row]), aim, q)
    if len(rows) > TOLD:
        _note_rows(reader, key, table, [(int(row), "") for row in rows], "correct them all")
    return values if reader.findings.count == before else None


def _in_si(
    reader: Reader, key: str, table: Table, cells: Cells, q: Quantity, word_size: float | None
) -> Array | None:
    import numpy as np

    if not cells.numeric or _are_names(table, cells, q):
        texts = cells.texts()
        read = reader.numbers([f"{key}, {table.line(row)}" for row in range(len(texts))], texts, q, word_size)
        return np.array(read, float) if None not in read else None
    values: Any = cells.values
    if not cells.unit:
        return values  # type: ignore[no-any-return]
    try:
        factor = to_si(f"1 {cells.unit}", q.unit, word_size)
    except UnitError as error:
        wrong, _, right = str(error).partition("; ")
        reader.findings.add(key, f"the unit of the column: {wrong}", right)
        return None
    back = round(1 / factor) if 0 < factor < 1 and 1 / factor < 1e300 else 0
    with np.errstate(over="ignore"):
        # divided by a whole number a cell has the digits that its text with the unit has
        found: Array = values / back if back and 1 / back == factor else values * factor
    endless = np.flatnonzero(np.isinf(found))
    _note_rows(
        reader, key, table, [(int(i), "the number is too large") for i in endless], "write a smaller one"
    )
    return None if endless.size else found


def _are_names(table: Table, cells: Cells, q: Quantity) -> bool:
    """Whether numbers in a file are names of a menu; in a store stand their places on it."""
    if not (q.menu and table.lines) or cells.unit:
        return False
    return any(map(is_number, q.menu)) or not set(q.menu).isdisjoint(cells.texts())


def _with_gaps(texts: Sequence[str]) -> Array:
    import numpy as np

    return np.array([float(text) if is_number(text) else np.nan for text in texts])


def _suspicious(reader: Reader, aim: Target, q: Quantity, values: Array) -> Any:
    """Return the rows whose numbers may not be possible; ``axes.possible`` says of each whether it is."""
    import numpy as np

    small = (np.abs(values) < LEAST_REPRESENTED) & (values != 0)
    odd = (values < q.minimum) | (values > q.maximum) | small
    if aim.kind == "decide":
        odd |= values <= 0
    if q.menu or q.name in reader.whole:
        odd |= values != np.floor(values)
        odd |= ((values < 1) | (values > len(q.menu))) if q.menu else False
    # what could not be read was told already
    return np.flatnonzero(odd & ~np.isnan(values))


def _note_rows(reader: Reader, key: str, table: Table, odd: Sequence[tuple[int, str]], right: str) -> None:
    """Note what is wrong with rows, and of more than are told one by one how many these are."""
    for row, wrong in odd[:TOLD]:
        if wrong:
            reader.findings.add(f"{key}, {table.line(row)}", wrong, right)
    if len(odd) > TOLD:
        at = f" of {table.file}" if table.file else ""
        reader.findings.add(key, f"{len(odd) - TOLD} more lines{at} are wrong in the same way", right)
