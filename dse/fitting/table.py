"""Tables of cells: from a CSV file, a DataFrame or a mapping of columns, with what is wrong with their shape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dse.fitting.errors import FittingError
from dse.system import csv_files
from dse.system.csv_files import HEADER
from dse.system.records import dataclass

IN_PYTHON = "the data"


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
    columns = {str(k): _list_of_cells(str(k), v) for k, v in data.items()}
    lengths = {k: len(v) for k, v in columns.items()}
    if len(set(lengths.values())) > 1:
        raise FittingError(IN_PYTHON, [f"the columns differ in length: {lengths}"])
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in zip(*columns.values(), strict=True))]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return Table(IN_PYTHON, digest, list(columns), list(columns.values()))


def _list_of_cells(name: str, values: Any) -> list[Any]:
    plain = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(plain, str) or not isinstance(plain, Iterable):
        raise FittingError(IN_PYTHON, [f"column {name!r} is not a list of values"])
    return list(plain)


def _file(path: Path) -> Table:
    source = str(path)
    try:
        found = csv_files.read(path)
    except OSError as error:
        raise FittingError(source, [f"the file cannot be read: {error.strerror}"]) from None
    if not (found.heads or found.faults):
        raise FittingError(source, [f"the file is empty: {HEADER} is needed"])
    return Table(source, found.digest, found.heads, list(found.columns), found.lines, found.faults)
