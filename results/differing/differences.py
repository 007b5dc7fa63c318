"""What differs between two results: rows of what, and how it is on either side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from dse.quantities import show
from dse.system.records import dataclass
from results.export.jsonable import plain
from results.telling.parts import html_table
from results.telling.words import NOTHING

X = TypeVar("X")
Y = TypeVar("Y")
EVERY_DIGIT = 17


@dataclass(frozen=True, slots=True)
class Row:
    """One difference: where (``section``), of what, how it reads on both sides, and a remark.

    ``values``: both sides as JSON has them, numbers in SI ``unit``; None where a side has none.
    """

    section: str
    name: str
    first: str
    second: str
    note: str = ""
    values: tuple[Any, Any] = (None, None)
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs between two things of one kind ("scenario", "answer" or "dataset").

    True where anything differs; it prints as a table, in a notebook as HTML.
    """

    kind: str
    rows: tuple[Row, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rows)

    def same(self) -> str:
        """Say that nothing differs."""
        asked = {"scenario": "the same question", "answer": "the same answer", "dataset": "the same dataset"}
        return asked[self.kind]

    def records(self) -> list[dict[str, Any]]:
        """Return the differences as JSON has them."""
        return [
            {
                "section": r.section,
                "name": r.name,
                "first": plain(r.values[0]),
                "second": plain(r.values[1]),
                "unit": r.unit,
                "note": r.note,
            }
            for r in self.rows
        ]

    def __str__(self) -> str:
        lines = [self.same()] if not self.rows else []
        for row in self.rows:
            note = f" ({row.note})" if row.note else ""
            lines.append(f"{row.section}: {row.name}: {row.first} → {row.second}{note}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the differences as an HTML table, for notebooks; all text is escaped."""
        rows = [(r.section, r.name, r.first, r.second, r.note) for r in self.rows]
        table = html_table(("where", "what", "A", "B", "remark"), rows)
        return f'<div class="dse-difference">{"" if self.rows else self.same()}{table}</div>'


def both(function: Callable[[X], Y], first: X, second: X) -> tuple[Y, Y]:
    """Apply a function to both sides."""
    return function(first), function(second)


def numbers_differ(a: float, b: float, tolerance: float, floor: float = 0.0) -> bool:
    """Tell whether two numbers differ by more than ``tolerance``, relative, and by more than ``floor``.

    NaN is NaN.
    """
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) != math.isnan(b)
    if a == b or math.isinf(a) or math.isinf(b):
        return a != b
    return not abs(a - b) <= max(tolerance * max(abs(a), abs(b)), floor)


def compared(
    section: str,
    name: str,
    first: Any,
    second: Any,
    tolerance: float,
    unit: str = "",
    floor: float = 0.0,
) -> Iterator[Row]:
    """Compare two values: numbers by tolerance, all else as it stands; None is nothing."""
    if _is_number(first) and _is_number(second):
        if numbers_differ(float(first), float(second), tolerance, floor):
            texts = apart(float(first), float(second), unit)
            yield Row(
                section, name, *texts, _percent_change(float(first), float(second)), (first, second), unit
            )
    elif first != second:
        yield Row(section, name, _one_line(first, unit), _one_line(second, unit), "", (first, second), unit)


def each(
    section: str,
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    tolerance: float,
    units: Mapping[str, str] | None = None,
    prefix: str = "",
    floor: float = 0.0,
) -> Iterator[Row]:
    """Compare two mappings entry by entry, in their order."""
    for name in dict.fromkeys((*first, *second)):
        unit = (units or {}).get(name, "")
        yield from compared(section, prefix + name, first.get(name), second.get(name), tolerance, unit, floor)


def apart(first: float, second: float, unit: str) -> tuple[str, str]:
    """Write two numbers with as many digits as tell them apart; NaN is nothing."""
    for digits in (6, 9, 12, EVERY_DIGIT):
        one, two = (NOTHING if math.isnan(v) else show(v, unit, digits) for v in (first, second))
        if one != two:
            break
    return one, two


def _percent_change(first: float, second: float) -> str:
    largest = max(abs(first), abs(second))
    if not math.isfinite(largest) or min(abs(first), abs(second)) == 0:
        return ""
    return f"by {100 * (second - first) / abs(first):+.3g} %"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _one_line(value: Any, unit: str) -> str:
    if value is None:
        return NOTHING
    if _is_number(value):
        return show(float(value), unit, 9)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_one_line(v, unit) for v in value) or NOTHING
    return " ".join(str(value).split()) or NOTHING


def without(rows: Iterable[Row], ignore: Iterable[str]) -> tuple[Row, ...]:
    """Leave out the differences of some sections."""
    left = set(ignore)
    return tuple(row for row in rows if row.section not in left)
