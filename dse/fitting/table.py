"""Tables of cells: from a CSV file, a DataFrame or a mapping of columns, with what is wrong with their shape."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse import files
from dse.fitting.errors import FittingError

IN_PYTHON = "the data"
HEADER = "a header such as time [s],energy [J]"
_LINE = re.compile(r"\r\n|\r|\n")
_SEPARATORS = ",;\t"


@dataclass(frozen=True, slots=True)
class Table:
    """Headers and columns of cells.

    ``lines``: of each run in the file, none where there is no file. ``faults``: what is wrong with the shape of
    the file, each with its line; the runs are those of the lines that could be read. ``digest``: SHA-256 of the
    file, or of the columns written as CSV.
    """

    source: str
    digest: str
    heads: list[str]
    cells: list[Sequence[Any]]
    lines: tuple[int, ...] = ()
    faults: tuple[tuple[int, str], ...] = ()

    @property
    def runs(self) -> int:
        """How many runs could be read."""
        return len(self.cells[0]) if self.cells else 0


def table(data: Any) -> Table:
    """Return the cells of a path, a DataFrame or a mapping of columns; a table as it is.

    Raises FittingError where nothing can be read, TypeError for any other kind of data.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, str | Path):
        return _file(Path(data))
    if not hasattr(data, "items"):
        kind = type(data).__name__
        raise TypeError(f"measurements are a path, a DataFrame or a mapping of columns, not {kind}")
    columns = {str(k): _listed(str(k), v) for k, v in data.items()}
    lengths = {k: len(v) for k, v in columns.items()}
    if len(set(lengths.values())) > 1:
        raise FittingError(IN_PYTHON, [f"the columns differ in length: {lengths}"])
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in zip(*columns.values(), strict=True))]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return Table(IN_PYTHON, digest, list(columns), list(columns.values()))


def _listed(name: str, values: Any) -> list[Any]:
    plain = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(plain, str) or not isinstance(plain, Iterable):
        raise FittingError(IN_PYTHON, [f"column {name!r} is no list of values"])
    return list(plain)


def _file(path: Path) -> Table:
    source = str(path)
    try:
        content = files.content(path, files.MOST_NUMBERS)
    except OSError as error:
        raise FittingError(source, [f"the file cannot be read: {error.strerror}"]) from None
    digest = hashlib.sha256(content).hexdigest()
    text = content.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    lines = [
        (i, line) for i, line in enumerate(_LINE.split(text), 1) if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise FittingError(source, [f"the file is empty: {HEADER} is needed"])
    separator = max(_SEPARATORS, key=lines[0][1].count)
    faults: list[tuple[int, str]] = []
    heads = [h.strip() for h in _cells(lines[0], separator, faults) or []]
    rows: list[list[str]] = []
    numbers: list[int] = []
    for number, line in lines[1:]:
        row = _cells((number, line), separator, faults)
        if row is None:
            continue
        if heads and len(row) != len(heads):
            many = f"{len(row)} cell{'s' * (len(row) != 1)}"
            faults.append((number, f"line {number} has {many}, the header has {len(heads)}"))
            continue
        rows.append(row)
        numbers.append(number)
    columns: list[Sequence[Any]] = [[r[i] for r in rows] for i in range(len(heads))]
    return Table(source, digest, heads, columns, tuple(numbers), tuple(faults))


def _cells(line: tuple[int, str], separator: str, faults: list[tuple[int, str]]) -> list[str] | None:
    """Return the cells of a line; what is wrong with it is noted, and None returned."""
    number, text = line
    if not text.isascii() and any("\udc80" <= c <= "\udcff" for c in text):
        faults.append((number, f"line {number} is not UTF-8 text"))
        return None
    try:
        return next(csv.reader([text], delimiter=separator, strict=True))
    except csv.Error as error:
        why = "a quote is not closed, or has text behind it" if '"' in text else str(error)
        faults.append((number, f"line {number} is no CSV: {why}"))
        return None
