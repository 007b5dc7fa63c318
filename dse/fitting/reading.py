"""Measurements: columns of runs with units in their headers, from a CSV file, a DataFrame or a mapping."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from dse.fitting.errors import FittingError
from dse.fitting.table import Table, table
from dse.names import did_you_mean, unknown
from dse.quantities import UnitError, to_si, units
from dse.system.arrays import Array, Bools
from dse.system.csv_files import HEADER, NO_UNIT, name_and_unit, with_point
from dse.system.records import dataclass

Faults = list[tuple[int, str]]

_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
# of squares of a product of four numbers none overflows
_FARTHEST = 1e30


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a model reads: its name, SI unit, other names for it, and what values it may hold.

    ``instead``: the column that makes this one unnecessary. ``choices``: the texts allowed, where not any will do.
    """

    name: str
    unit: str = ""
    also: tuple[str, ...] = ()
    required: bool = False
    positive: bool = False
    text: bool = False
    instead: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurements:
    """Runs: numbers in SI by column name, texts by column name, and where they come from.

    ``digest``: SHA-256 of the file, or of the columns written as CSV where there is no file. ``unused``:
    headers of columns that nothing reads. ``lines``: of the runs in the file, none without a file; ``heads``:
    the header of each column; ``notes``: how columns were read, where that is not plain from their headers.
    """

    source: str
    digest: str
    runs: int
    numbers: Mapping[str, Array]
    texts: Mapping[str, tuple[str, ...]]
    unused: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    heads: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def kept(self, which: Bools) -> Measurements:
        """Return the runs for which ``which`` is true."""
        places = np.flatnonzero(which).tolist()
        return replace(
            self,
            runs=len(places),
            numbers={k: v[which] for k, v in self.numbers.items()},
            texts={k: tuple(v[i] for i in places) for k, v in self.texts.items()},
            lines=tuple(self.lines[i] for i in places) if self.lines else (),
        )

    def where(self, run: int) -> str:
        """Say which run is meant: "run 3 (line 5)"; ``run`` counts from 0."""
        return _run_and_line(run, self.lines)


Check = Callable[[Mapping[str, Array], Callable[[int], str]], Sequence[tuple[int, str]]]


def read(
    data: Any,
    columns: Sequence[Column],
    names: Mapping[str, str] | None = None,
    check: Check | None = None,
) -> Measurements:
    """Read the columns a model wants from a CSV file's path, a DataFrame, or a mapping of columns.

    A header is a name and a unit in brackets, such as "time [ms]", or behind an underscore, "time_ms"; without a
    unit, numbers are SI. ``names``: the header in which a column stands, by the column's name, with another unit
    where need be ("duration [ms]"). ``check`` takes the numbers by column (NaN where a cell is none) and a way to
    name a run, and returns further faults, each with its run (-1: of no run). Raises FittingError with everything
    wrong at once: lines of another length, missing columns, units of another dimension, cells that are not numbers,
    negative or non-finite values, and values so far from 1 that a fit would overflow; UnknownName where ``names``
    names no column.
    """
    cells = table(data)
    faults: Faults = list(cells.faults)
    heads = _Heads.of(cells, columns, names or {}, faults)
    numbers: dict[str, Array] = {}
    texts: dict[str, tuple[str, ...]] = {}
    whole: dict[str, Array] = {}
    for column, place in heads.places.items():
        if column.text:
            texts[column.name] = _texts(column, cells, place, faults)
            continue
        values, right = _numbers_of_column(column, cells, place, heads.units[place], faults)
        whole[column.name] = np.where(right, values, np.nan)
        if right.all():
            numbers[column.name] = values
    for column, place in heads.guessed.items():
        values, right = _numbers_of_column(column, cells, place, heads.units[place], faults)
        whole[column.name] = np.where(right, values, np.nan)
    if not cells.runs and not cells.faults:
        faults.append((0, "there are no runs: write one line for each below the header"))
    if check is not None:
        found = check(whole, lambda run: _run_and_line(run, cells.lines))
        faults += [(_line_of_run(run, cells.lines), wrong) for run, wrong in found]
    if faults:
        raise FittingError(cells.source, [wrong for _, wrong in sorted(faults, key=lambda f: f[0])])
    unused = tuple(h for i, h in enumerate(cells.heads) if i not in heads.places.values() and h)
    of = {c.name: cells.heads[i] for c, i in heads.places.items()}
    return Measurements(
        cells.source, cells.digest, cells.runs, numbers, texts, unused, cells.lines, of, tuple(heads.notes)
    )


def stands(cells: Table, column: Column, names: Mapping[str, str]) -> bool:
    """Whether a table has a column, by its name or by the one the user gives it."""
    known = {_snake_case(n) for n in (column.name, *column.also)}
    heads = [_snake_case(name_and_unit(h)[0]) for h in cells.heads]
    behind = [_snake_case(h.rpartition("_")[0]) for h in cells.heads if _suffix(name_and_unit(h)[0])]
    return column.name in names or not known.isdisjoint([*heads, *behind])


def _run_and_line(run: int, lines: Sequence[int]) -> str:
    return f"run {run + 1} (line {lines[run]})" if lines else f"run {run + 1}"


def _line_of_run(run: int, lines: Sequence[int]) -> int:
    return 0 if run < 0 else lines[run] if lines else run + 1


def _snake_case(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


@dataclass(slots=True)
class _Heads:
    """Which column stands where, in which unit, and what is to be said of it.

    ``guessed``: where columns stand that are missing, if one header was probably meant.
    """

    places: dict[Column, int]
    units: dict[int, str]
    notes: list[str]
    guessed: dict[Column, int]

    @classmethod
    def of(cls, cells: Table, columns: Sequence[Column], names: Mapping[str, str], faults: Faults) -> _Heads:
        """Find each column among the headers; missing and doubled ones are noted."""
        split = [name_and_unit(h) for h in cells.heads]
        found = cls({}, {i: unit for i, (_, unit) in enumerate(split)}, [], {})
        known = [c.name for c in columns]
        for name in names:
            if name not in known:
                raise unknown("column", name, known)
        taken = {
            c.name: found._named(cells.heads, c, names[c.name], faults) for c in columns if c.name in names
        }
        missing: list[Column] = []
        for column in columns:
            if column.name in names:
                place = taken[column.name]
                found.places.update({} if place is None else {column: place})
                continue
            places = [i for i in found._places(cells.heads, split, column) if i not in taken.values()]
            if len(places) > 1:
                faults.append((0, f"column {column.name} is there {len(places)} times: keep one of them"))
            if places:
                found.places[column] = places[0]
            elif column.required:
                missing.append(column)
        got = {c.name for c in found.places} | set(names)
        left = {i: n for i, (n, _) in enumerate(split) if i not in found.places.values()}
        for column in missing if cells.heads else ():
            if column.instead in got:
                continue
            faults.append((0, _missing(column, list(left.values()), [n for n, _ in split])))
            meant = [i for i, n in left.items() if did_you_mean(column.name, [n])]
            if len(meant) == 1 and not column.text and meant[0] not in found.guessed.values():
                found.guessed[column] = meant[0]
        if missing and cells.heads and all(_NUMBER.fullmatch(h) for h in cells.heads):
            faults.append((0, f"the first line has numbers only: {HEADER} is needed above them"))
        return found

    def _named(self, heads: Sequence[str], column: Column, wanted: str, faults: Faults) -> int | None:
        """Return the place of the header that the user names for a column."""
        name, unit = name_and_unit(wanted)
        places = [i for i, h in enumerate(heads) if h == wanted.strip()]
        places = places or [
            i for i, h in enumerate(heads) if _snake_case(name_and_unit(h)[0]) == _snake_case(name)
        ]
        if len(places) != 1:
            many = f"{len(places)} columns are" if places else "there is no column"
            named = [name_and_unit(h)[0] for h in heads]
            hint = "" if places else did_you_mean(name, named) or f"; there are: {', '.join(named)}"
            faults.append((0, f"column {column.name}: {many} called {name!r}{hint}"))
            return None
        if unit:
            self.units[places[0]] = unit
        else:
            self._unit_behind(heads[places[0]], places[0], column)
        return places[0]

    def _places(self, heads: Sequence[str], split: Sequence[tuple[str, str]], column: Column) -> list[int]:
        """Return where a column's header stands: its name, or else its name with a unit behind an underscore."""
        known = {_snake_case(n) for n in (column.name, *column.also)}
        places = [i for i, (n, _) in enumerate(split) if _snake_case(n) in known]
        if places or column.text:
            return places
        behind = [
            i
            for i, (n, unit) in enumerate(split)
            if not unit and _snake_case(n.rpartition("_")[0]) in known and _suffix(n)
        ]
        for i in behind:
            self._unit_behind(heads[i], i, column)
        return behind

    def _unit_behind(self, head: str, place: int, column: Column) -> None:
        suffix = _suffix(head)
        if not self.units[place] and suffix and not column.text:
            self.units[place] = suffix
            self.notes.append(f"column {head!r} is read as {column.name} in {suffix}")


def _suffix(name: str) -> str:
    """Return the unit behind the last underscore of a header; empty where there is none."""
    unit = name.rpartition("_")[2] if "_" in name else ""
    return unit if unit and units.table().find(unit) is not None else ""


def _missing(column: Column, left: Sequence[str], names: Sequence[str]) -> str:
    hint = did_you_mean(column.name, left) if left else ""
    near = hint.replace("did you mean", "is it") or f"; there are: {', '.join(names)}"
    unit = f" [{column.unit}]" if column.unit else ""
    return f"column {column.name}{unit} is missing{near}"


def _texts(column: Column, cells: Table, place: int, faults: Faults) -> tuple[str, ...]:
    found = tuple(str(c).strip() for c in cells.cells[place])
    if column.choices:
        allowed = {c.lower() for c in column.choices}
        for i, text in enumerate(found):
            if text.lower() not in allowed:
                wrong = f"{cells.heads[place]!r} of {_run_and_line(i, cells.lines)} is {_quoted_cell(text)}"
                faults.append(
                    (_line_of_run(i, cells.lines), f"{wrong}, not one of {', '.join(column.choices)}")
                )
    return found


def _numbers_of_column(
    column: Column, cells: Table, place: int, unit: str, faults: Faults
) -> tuple[Array, Bools]:
    """Return a column's numbers in SI, and which of them are right; what is wrong is noted."""
    head = cells.heads[place]
    factor = 1.0
    try:
        factor = 1.0 if unit in NO_UNIT else to_si(f"1 {unit}", column.unit)
    except UnitError as error:
        faults.append((0, f"column {head!r}: {error}"))
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array([_cell_as_number(c) for c in cells.cells[place]], float) * factor
        right = np.isfinite(values) & ((values > 0) if column.positive else (values >= 0))
        near = (values == 0) | ((values >= 1 / _FARTHEST) & (values <= _FARTHEST))
    least = "a positive number" if column.positive else "a number, 0 or more"
    for i in np.flatnonzero(~(right & near)).tolist():
        what = f"not {least}" if not right[i] else "too far from 1 to be computed with: is the unit right?"
        wrong = (
            f"{head!r} of {_run_and_line(i, cells.lines)} is {_quoted_cell(cells.cells[place][i])}, {what}"
        )
        point = with_point(str(cells.cells[place][i]).strip())
        faults.append((_line_of_run(i, cells.lines), f"{wrong}; {point}" if point else wrong))
    return values, right & near


def _cell_as_number(cell: Any) -> float:
    if isinstance(cell, bool) or (isinstance(cell, str) and not _NUMBER.fullmatch(cell)):
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _quoted_cell(cell: Any) -> str:
    text = "empty" if cell is None or (isinstance(cell, str) and not cell.strip()) else str(cell)
    return text if len(text) <= 40 else text[:37] + "..."


def unit_of(cells: Table, name: str, *, renamed: bool = False) -> str:
    """Return the unit that a column's header states; empty where it states none, or where there is no such column.

    ``renamed``: the name is a header of which the user says that a column stands there, with another unit where need
    be; then what is behind its underscore is a unit, too.
    """
    name, own = name_and_unit(name) if renamed else (name, "")
    if own and own not in NO_UNIT:
        return own
    heads = [name_and_unit(h) for h in cells.heads]
    stated = next((unit for n, unit in heads if _snake_case(n) == _snake_case(name)), None)
    if stated is None:
        stated = next(
            (_suffix(n) for n, unit in heads if _snake_case(n.rpartition("_")[0]) == _snake_case(name)), ""
        )
    if not stated and renamed:
        stated = _suffix(name)
    return "" if stated in NO_UNIT else stated
