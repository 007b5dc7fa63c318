"""Measurements: columns of runs with units in their headers, from a CSV file, a DataFrame or a mapping."""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse import files
from dse.fitting.errors import FittingError
from dse.names import did_you_mean
from dse.quantities import UnitError, to_si

Array = NDArray[np.float64]

_Table = tuple[str, str, list[str], list[Sequence[Any]], Sequence[int]]
_HEAD = re.compile(r"\s*([^\[\](){}]*?)\s*(?:[\[(]\s*([^\[\]()]*?)\s*[\])])?\s*")
_NO_UNIT = frozenset({"", "1", "-"})
_SHOWN = 3
# of squares of a product of four numbers none overflows
_FARTHEST = 1e30
IN_PYTHON = "the data"


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a model reads: its name, SI unit, other names for it, and what values it may hold."""

    name: str
    unit: str = ""
    also: tuple[str, ...] = ()
    required: bool = False
    positive: bool = False
    text: bool = False


@dataclass(frozen=True, slots=True)
class Measurements:
    """Runs: numbers in SI by column name, texts by column name, and where they come from.

    ``digest``: SHA-256 of the file, or of the columns written as CSV where there is no file. ``unused``:
    headers of columns that nothing reads.
    """

    source: str
    digest: str
    runs: int
    numbers: Mapping[str, Array]
    texts: Mapping[str, tuple[str, ...]]
    unused: tuple[str, ...] = ()


def read(data: Any, columns: Sequence[Column]) -> Measurements:
    """Read the columns a model wants from a CSV file's path, a DataFrame, or a mapping of columns.

    A header is a name and a unit in brackets, such as "time [ms]"; without a unit, numbers are SI. Raises
    FittingError with everything wrong at once: missing columns, units of another dimension, cells that are no
    numbers, negative or non-finite values, and values so far from 1 that a fit would overflow.
    """
    source, digest, heads, cells, lines = _table(data)
    problems: list[str] = []
    found = _match(heads, columns, problems)
    numbers: dict[str, Array] = {}
    texts: dict[str, tuple[str, ...]] = {}
    for column, place in found.items():
        if column.text:
            texts[column.name] = tuple(str(c).strip() for c in cells[place])
        else:
            values = _numbers(column, heads[place], cells[place], lines, problems)
            numbers.update({} if values is None else {column.name: values})
    runs = len(cells[0]) if cells else 0
    if not runs:
        problems.append("there are no runs: write one line for each below the header")
    if problems:
        raise FittingError(source, problems)
    unused = tuple(h for i, h in enumerate(heads) if i not in found.values())
    return Measurements(source, digest, runs, numbers, texts, unused)


def _table(data: Any) -> _Table:
    """Return source, digest, headers, columns, and each run's line in the file (none without a file)."""
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
    return IN_PYTHON, digest, list(columns), list(columns.values()), ()


def _listed(name: str, values: Any) -> list[Any]:
    plain = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(plain, str) or not isinstance(plain, Iterable):
        raise FittingError(IN_PYTHON, [f"column {name!r} is no list of values"])
    return list(plain)


def _file(path: Path) -> _Table:
    source = str(path)
    try:
        content = files.content(path, files.MOST_NUMBERS)
    except OSError as error:
        raise FittingError(source, [f"the file cannot be read: {error.strerror}"]) from None
    digest = hashlib.sha256(content).hexdigest()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FittingError(source, [f"it is not UTF-8 text (byte {error.start})"]) from None
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip() and line[:1] != "#"]
    if not lines:
        raise FittingError(source, ["the file is empty: a header such as time [s],energy [J] is needed"])
    separator = max(",;\t", key=lines[0][1].count)
    heads = [h.strip() for h in _cells(source, lines[0], separator)]
    rows: list[list[str]] = []
    for number, line in lines[1:]:
        row = _cells(source, (number, line), separator)
        if len(row) != len(heads):
            wrong = f"line {number} has {len(row)} cells, the header has {len(heads)}"
            raise FittingError(source, [wrong])
        rows.append(row)
    columns: list[Sequence[Any]] = [[r[i] for r in rows] for i in range(len(heads))]
    return source, digest, heads, columns, [number for number, _ in lines[1:]]


def _cells(source: str, line: tuple[int, str], separator: str) -> list[str]:
    try:
        return next(csv.reader([line[1]], delimiter=separator))
    except csv.Error as error:
        raise FittingError(source, [f"line {line[0]} is no CSV: {error}"]) from None


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def _match(heads: Sequence[str], columns: Sequence[Column], problems: list[str]) -> dict[Column, int]:
    """Find each column among the headers; missing and doubled ones are noted."""
    names = [_split(h)[0] for h in heads]
    found: dict[Column, int] = {}
    for column in columns:
        known = {_plain(n) for n in (column.name, *column.also)}
        places = [i for i, n in enumerate(names) if _plain(n) in known]
        if len(places) > 1:
            problems.append(f"column {column.name} is there {len(places)} times: keep one of them")
        if places:
            found[column] = places[0]
        elif column.required:
            left = [n for i, n in enumerate(names) if i not in found.values()]
            hint = did_you_mean(column.name, left) if left else ""
            near = hint.replace("did you mean", "is it") or f"; there are: {', '.join(names)}"
            unit = f" [{column.unit}]" if column.unit else ""
            problems.append(f"column {column.name}{unit} is missing{near}")
    return found


def _split(head: str) -> tuple[str, str]:
    match = _HEAD.fullmatch(head)
    return (match[1], match[2] or "") if match else (head, "")


def _numbers(
    column: Column, head: str, cells: Sequence[Any], lines: Sequence[int], problems: list[str]
) -> Array | None:
    unit = _split(head)[1]
    try:
        factor = 1.0 if unit in _NO_UNIT else to_si(f"1 {unit}", column.unit)
    except UnitError as error:
        problems.append(f"column {head!r}: {error}")
        return None
    values = np.array([_number(c) for c in cells], float) * factor
    least = "a positive number" if column.positive else "a number, 0 or more"
    with np.errstate(invalid="ignore"):
        right = np.isfinite(values) & ((values > 0) if column.positive else (values >= 0))
        near = (values == 0) | ((values >= 1 / _FARTHEST) & (values <= _FARTHEST))
    wrong = np.flatnonzero(~(right & near))
    for i in wrong[:_SHOWN]:
        where = f"run {i + 1} (line {lines[i]})" if lines else f"run {i + 1}"
        what = f"not {least}" if not right[i] else "too far from 1 to be computed with: is the unit right?"
        problems.append(f"{head!r} of {where} is {_shown(cells[i])}, {what}")
    if wrong.size > _SHOWN:
        problems.append(f"… and {wrong.size - _SHOWN} more in column {head!r}")
    return None if wrong.size else values


def _number(cell: Any) -> float:
    try:
        return math.nan if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError):
        return math.nan


def _shown(cell: Any) -> str:
    text = "empty" if cell is None or (isinstance(cell, str) and not cell.strip()) else str(cell)
    return text if len(text) <= 40 else text[:37] + "..."
