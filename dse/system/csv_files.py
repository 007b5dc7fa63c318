"""Tables of cells from CSV files, with what is wrong with their shape, by line."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from dse.system import files
from dse.system.records import dataclass

NOT_TEXT = "not UTF-8 text"
HEADER = "a header such as time [s],energy [J]"
_LINE = re.compile(r"\r\n|\r|\n")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
_SEPARATORS = ",;\t"
_FORMULA = re.compile(r"'?[=+\-@\t\r\n＝＋－＠]")
_HEAD = re.compile(r"\s*([^\[\](){}]*?)\s*(?:[\[(]\s*([^\[\]()]*?)\s*[\])])?\s*")

Faults = list[tuple[int, str]]
"""What is wrong, each with its line."""
NO_UNIT = frozenset({"", "1", "-"})
"""How a column says that its numbers have no unit."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Headers and columns of cells of a file.

    ``lines``: of each row in the file; ``faults``: what is wrong with the shape of the file; the rows are those of the
    lines that could be read. ``digest``: SHA-256 of the file.
    """

    digest: str
    heads: list[str]
    columns: list[Sequence[str]]
    lines: tuple[int, ...]
    faults: tuple[tuple[int, str], ...] = ()


def read(path: str | Path) -> Sheet:
    """Read a CSV file, divided by commas, semicolons or tabs; empty lines and those that begin with # say nothing.

    Raises OSError as ``files.content``. A file without any line has no headers.
    """
    content = files.content(path, files.MOST_NUMBERS)
    import hashlib  # loads OpenSSL

    digest = hashlib.sha256(content).hexdigest()
    text = content.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    if (regular := _regular(text)) is not None:
        return Sheet(digest, *regular, tuple(range(2, len(regular[1][0]) + 2)))
    lines = [
        (i, line) for i, line in enumerate(_LINE.split(text), 1) if line.strip() and not line.startswith("#")
    ]
    if not lines:
        return Sheet(digest, [], [], ())
    separator = max(_SEPARATORS, key=lines[0][1].count)
    faults: Faults = []
    heads = [h.strip() for h in _cells(lines[0], separator, faults) or []]
    rows: list[list[str]] = []
    numbers: list[int] = []
    # most files have nothing that a plain split would get wrong
    simple = '"' not in text and not _undecoded(text)
    for number, line in lines[1:]:
        row = line.split(separator) if simple else _cells((number, line), separator, faults)
        if row is None:
            continue
        if heads and len(row) != len(heads):
            many = f"{len(row)} cell{'s' * (len(row) != 1)}"
            faults.append((number, f"line {number} has {many}, the header has {len(heads)}"))
            continue
        rows.append(row)
        numbers.append(number)
    columns: list[Sequence[str]] = [[r[i] for r in rows] for i in range(len(heads))]
    return Sheet(digest, heads, columns, tuple(numbers), tuple(faults))


def _regular(text: str) -> tuple[list[str], list[Sequence[str]]] | None:
    """Return headers and columns of a file of which every line is a row of as many plain cells; None of any other.

    Such a file is cut at once: a table of a million rows is not held up by its lines.
    """
    if "\r" in text or '"' in text or "#" in text or _undecoded(text):
        return None
    text = text.removesuffix("\n")
    head, found, _ = text.partition("\n")
    separator = max(_SEPARATORS, key=head.count)
    count = head.count(separator)
    # a line of tabs alone says nothing
    if not found or not count or separator == "\t":
        return None
    if {line.count(separator) for line in text.split("\n")} != {count}:
        return None
    cells = text.replace("\n", separator).split(separator)
    width = count + 1
    return [h.strip() for h in cells[:width]], [cells[i + width :: width] for i in range(width)]


def _undecoded(text: str) -> bool:
    return not text.isascii() and any("\udc80" <= c <= "\udcff" for c in text)


def _cells(line: tuple[int, str], separator: str, faults: Faults) -> list[str] | None:
    """Return the cells of a line; what is wrong with it is noted, and None returned."""
    number, text = line
    if _undecoded(text):
        faults.append((number, f"line {number} is {NOT_TEXT}"))
        return None
    try:
        return next(csv.reader([text], delimiter=separator, strict=True))
    except csv.Error as error:
        why = "a quote is not closed, or has text behind it" if '"' in text else str(error)
        faults.append((number, f"line {number} is not CSV: {why}"))
        return None


def inert(cell: str) -> str:
    """Return a text with a single quote before it where a spreadsheet would take it for a formula and run it.

    Numbers stay as they are.
    """
    return f"'{cell}" if _FORMULA.match(cell) and not _is_float(cell) else cell


def named(cell: str) -> str:
    """Return the text that ``inert`` made this cell of."""
    return cell[1:] if cell[:1] == "'" and inert(cell[1:]) == cell else cell


def _is_float(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def with_point(cell: str) -> str:
    """Say how a number with a decimal comma is written; empty of any other cell."""
    return f"write decimals with a point: {cell.replace(',', '.')}" if _DECIMAL_COMMA.fullmatch(cell) else ""


def name_and_unit(head: str) -> tuple[str, str]:
    """Divide a header such as "time [ms]" into name and unit ("" where there is none)."""
    match = _HEAD.fullmatch(head)
    return (match[1], match[2] or "") if match else (head, "")
