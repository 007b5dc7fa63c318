"""Tables of rows that an axis goes through: read beside the scenario, known by what stands in the columns used."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.system import csv_files
from dse.system.csv_files import NO_UNIT, Sheet, name_and_unit, with_point
from dse.system.records import dataclass
from scenarios.language.cells import leaves
from scenarios.language.errors import Findings, meant, shown
from scenarios.language.machine_files import rewritten
from scenarios.language.schema import spread_entries
from scenarios.language.toml_text import to_toml

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MARK = "sha256:"
"""What a table is called by in a stored question: this, and the checksum of its columns."""
MOST_TABLE_ROWS = 10_000_000
MOST_MENU_NAMES = 1000
"""Different cells of a column of numbers that are kept as texts too: no menu is longer."""
TOLD = 20
"""Bad lines of a column that are told one by one; of more, how many these are."""
EVERY_LINE = "every line has a cell for each column of the header"
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Cells:
    """A column: finite numbers in a ``unit`` ("" for SI), or texts. What could not be read, and was noted, is NaN.

    ``written``: the cells of a file as they stand there, of numbers that may be names too: few, without a unit.
    """

    values: Array | tuple[str, ...]
    unit: str = ""
    written: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether these are numbers."""
        return not isinstance(self.values, tuple)

    def texts(self) -> tuple[str, ...]:
        """Return the cells as they were written, as far as that is known."""
        if self.written or isinstance(self.values, tuple):
            return self.written or tuple(map(str, self.values))
        return tuple(f"{v:.15g}" for v in self.values)

    def ends(self) -> tuple[float, ...]:
        """Return the least and the greatest number; nothing of texts."""
        return () if isinstance(self.values, tuple) else (float(self.values.min()), float(self.values.max()))


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The columns of a table that an axis uses, by the path that each changes; the same where ``name`` is.

    ``name``: checksum of what stands in them; ``numbers``: of the rows, from 1 (None: 1, 2, 3, ...); ``lines``: of the
    rows in the ``file`` as the scenario names it; neither where it was read from a store.
    """

    name: str
    columns: Mapping[str, Cells]
    numbers: Sequence[int] | None = None
    lines: Sequence[int] = field(default=())
    file: str = ""

    def __eq__(self, other: object) -> bool:
        """Tell whether two tables hold the same."""
        return isinstance(other, Table) and self.name == other.name

    def __hash__(self) -> int:
        """Return a hash that equal tables share."""
        return hash(self.name)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())).values)

    def line(self, row: int) -> str:
        """Say where a row (from 0) stands."""
        return f"{self.file} line {self.lines[row]}" if len(self.lines) else f"row {row + 1}"


Tables = Mapping[str, Table]
"""Tables by their names."""


def named(
    data: dict[str, Any], folder: Path, text: str | None, findings: Findings
) -> tuple[dict[str, Any], str | None, dict[str, Table]]:
    """Return a scenario's data and text with its tables by their names instead of their paths, and the tables.

    A path starts at ``folder`` unless it is absolute. So a stored question, and its hash, say what stood in the columns
    that it uses, and not where. What is wrong in a file is noted, with its lines; what has not the shape of such an
    axis is left as it is. Without tables all stays as it is.
    """
    found, paths, tables = _tables_and_paths(data, folder, findings)
    if not tables:
        return data, text, tables
    try:
        return found, to_toml(found) if text is None else rewritten(text, paths, found), tables
    except TypeError:
        # whoever reads the data says what is wrong with it
        return found, text, tables


def _tables_and_paths(
    data: Mapping[str, Any], folder: Path, findings: Findings
) -> tuple[dict[str, Any], dict[str, str], dict[str, Table]]:
    """Read all tables; also says how each path is called now."""
    paths, found = dict[str, str](), dict[str, Table]()
    made = _of_spreads(data, folder, findings, paths, found)
    sweep = data.get("sweep")
    if not isinstance(sweep, dict):
        return made, paths, found
    axes = dict(sweep)
    for axis, entry in sweep.items():
        path, columns = (entry.get(k) if isinstance(entry, dict) else None for k in ("table", "columns"))
        heads = leaves(columns) if isinstance(columns, dict) else {}
        named = heads and all(isinstance(head, str) for head in heads.values())
        if not isinstance(path, str) or not named or path.startswith(MARK):
            continue
        table = _table_from_file(f"sweep.{axis}", folder, path, heads, findings)
        if table is None:
            findings.broken.add(f"sweep.{axis}.table")
            continue
        found[table.name], paths[path] = table, table.name
        axes[axis] = {**entry, "table": table.name}
        if len(table.columns) < len(heads):
            # so that what stands in the others is told as well
            axes[axis]["columns"] = {p: head for p, head in heads.items() if p in table.columns}
    return {**made, "sweep": axes}, paths, found


def _of_spreads(
    data: Mapping[str, Any],
    folder: Path,
    findings: Findings,
    paths: dict[str, str],
    found: dict[str, Table],
) -> dict[str, Any]:
    """Read the tables that uncertain numbers are from: the numbers from one file are columns of one table."""
    uncertain = data.get("uncertain")
    if not isinstance(uncertain, dict):
        return dict(data)
    spreads, heads = spread_entries(uncertain), dict[str, dict[str, str]]()
    for name, entry in spreads.items():
        path, column = (entry.get(k) if isinstance(entry, dict) else None for k in ("table", "column"))
        if isinstance(path, str) and isinstance(column, str) and not path.startswith(MARK):
            heads.setdefault(path, {})[name] = column
    changed = dict(spreads)
    for path, columns in heads.items():
        # each number's own lines are named, and of a file that cannot be read those of the first
        places = {name: f"uncertain.{name}.column" for name in columns}
        table = _table_from_file(f"uncertain.{next(iter(columns))}", folder, path, columns, findings, places)
        if table is None:
            findings.broken.update(f"uncertain.{name}.table" for name in columns)
            continue
        found[table.name], paths[path] = table, table.name
        changed |= {name: {**spreads[name], "table": table.name} for name in columns}
    if not paths:
        return dict(data)
    sampling = {k: v for k, v in uncertain.items() if k == "sampling"}
    return {**data, "uncertain": {**sampling, **changed}}


def _table_from_file(
    key: str,
    folder: Path,
    path: str,
    columns: Mapping[str, str],
    findings: Findings,
    places: Mapping[str, str] | None = None,
) -> Table | None:
    """Read the columns of a file that are used, and note mistakes; None where no rows of any can be read.

    ``places``: the keys at which the columns are named, unless they are below ``key``.columns.
    """
    place = f"{key}.table"
    if not path:
        findings.add(
            place, "no file is named", 'write table = "runs.csv"; it starts from the folder of the scenario'
        )
        return None
    try:
        sheet = csv_files.read((folder / path).resolve())
    except OSError as error:
        right = "give the path of a CSV file; it starts from the folder of the scenario"
        findings.add(place, f"{shown(path)} cannot be read: {error.strerror}", right)
        return None
    for _, wrong in sheet.faults[:TOLD]:
        right = "save the file as UTF-8" if csv_files.NOT_TEXT in wrong else EVERY_LINE
        findings.add(place, f"{path}: {wrong}", right)
    _and_more(findings, place, path, len(sheet.faults))
    if not sheet.lines and not sheet.faults:
        right = f"write {csv_files.HEADER}, and one line for each row below it"
        findings.add(place, f"{path} has no rows", right)
        if not sheet.heads:
            return None
    elif len(sheet.lines) > MOST_TABLE_ROWS:
        findings.add(place, f"{path} has {len(sheet.lines)} rows", f"keep to {MOST_TABLE_ROWS:.0e} of them")
    at = places or {p: f"{key}.columns.{shown(p) if '.' in p else p}" for p in columns}
    found = {p: _column_cells(at[p], sheet, path, head, findings) for p, head in columns.items()}
    kept = {p: c for p, c in found.items() if c is not None}
    if not kept or not sheet.lines or len(sheet.lines) > MOST_TABLE_ROWS:
        return None
    return Table(MARK + checksum(kept), kept, lines=sheet.lines, file=path)


def _column_cells(at: str, sheet: Sheet, file: str, head: str, findings: Findings) -> Cells | None:
    """Read one column, named at the key ``at``, and note what is wrong; None where it is not there or no numbers."""
    places = [i for i, h in enumerate(sheet.heads) if head in (h, name_and_unit(h)[0])]
    if len(places) != 1:
        wrong = f"{file} has {len(places) or 'no'} column{'s' * (len(places) > 1)} {shown(head)}"
        right = "keep one of them" if places else meant(head, sheet.heads)
        findings.add(at, wrong, right)
        return None
    texts, unit = [c.strip() for c in sheet.columns[places[0]]], name_and_unit(sheet.heads[places[0]])[1]
    values = _finite_numbers(texts)
    # below a unit all of them have to be numbers; without one they may be names
    counted = unit not in NO_UNIT
    if values is not None:
        return Cells(values, unit) if counted else Cells(values, written=_few_names(texts))
    bad = [
        (line, t)
        for line, t in zip(sheet.lines, texts, strict=True)
        if (not is_number(t) if counted else unusable(t))
    ]
    what = "finite number" if counted or any(map(is_number, texts)) else _what_is_meant(texts)
    for line, text in bad[:TOLD]:
        told = f"{shown(text)} is not a {what}" if text else "the cell is empty"
        findings.add(at, f"{file} line {line}: {told}", _what_to_write(text, head, what))
    _and_more(findings, at, file, len(bad))
    if not counted:
        return Cells(tuple(map(csv_files.named, texts))) if len(bad) < len(texts) else None
    sound = _finite_numbers([t if is_number(t) else "0" for t in texts])
    if sound is None:
        return None
    sound[[not is_number(t) for t in texts]] = math.nan
    return Cells(sound, unit)


def _what_is_meant(texts: Sequence[str]) -> str:
    """Say what cells are of which none is a number: names, or none of either."""
    if not all(map(unusable, texts)):
        return "name"
    return "finite number" if any(texts) else "number or name"


def _what_to_write(text: str, head: str, what: str) -> str:
    """Say what would be right in place of a cell that is not ``what`` its column holds."""
    if point := with_point(text):
        return point
    number, _, rest = text.partition(" ")
    if rest and is_number(number):
        return f"write the number alone: a unit stands in the header, {shown(f'{name_and_unit(head)[0]} [{rest}]')}"
    return f"column {shown(head)} needs a {what.removeprefix('finite ')} in every row"


def _few_names(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the cells where they are so few different ones that they may be names."""
    different: set[str] = set()
    for text in texts:
        different.add(text)
        if len(different) > MOST_MENU_NAMES:
            return ()
    return tuple(texts)


def _finite_numbers(texts: Sequence[str]) -> Array | None:
    """Return cells as finite numbers; None where one of them is none."""
    import numpy as np

    try:
        values: Any = np.fromiter(map(float, texts), float, len(texts))
    except (ValueError, OverflowError):
        return None
    # Python reads more as a number than people do: 1_000, digits of other scripts
    together = "".join(texts)
    plain = together.isascii() and "_" not in together
    return values if plain and np.isfinite(values).all() else None


def is_number(text: str) -> bool:
    """Whether a cell is a finite number."""
    return bool(_NUMBER.fullmatch(text)) and math.isfinite(float(text))


def unusable(text: str) -> bool:
    """Whether a cell is neither a number nor a name: empty, endless, or no number at all (nan)."""
    return not text or text.lower().lstrip("+-") in {"nan", "inf", "infinity"}


def _and_more(findings: Findings, key: str, file: str, count: int) -> None:
    if count > TOLD:
        findings.add(key, f"{file} has {count - TOLD} more such lines", "correct them all")


def checksum(columns: Mapping[str, Cells]) -> str:
    """Return the checksum of columns: their paths, units, and what stands in them, in whatever order they are named."""
    import hashlib  # loads OpenSSL

    made = hashlib.sha256()
    for path, cells in sorted(columns.items()):
        made.update(repr((path, cells.unit, len(cells.values), cells.numeric)).encode())
        if isinstance(cells.values, tuple):
            made.update(repr(cells.values).encode())
        else:
            made.update(cells.values.astype("<f8").tobytes())
            if len({*cells.written}) > len({*map(float, cells.written)}):
                # names such as 1 and 01 are two, and one number
                made.update(repr(cells.written).encode())
    return made.hexdigest()
