"""The small tables that an answer is shown as, and how a table too wide for the page is cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

# between two columns: their padding and the place of a line
PADDING = 2
COLUMN_GAP = PADDING + 1


@dataclass(frozen=True, slots=True)
class Part:
    """A small table: its heading, the names of its columns, and its rows.

    ``numbers``: the columns that are aligned to the right; ``leading``: how many columns at the left are
    repeated where the table is cut into several, 0 for a table that is never cut.
    """

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset({"value"})
    leading: int = 0


def cut(part: Part, width: int) -> Iterator[Part]:
    """Cut a table between its columns into tables of at most ``width`` columns of text, where that is possible."""
    from rich.cells import cell_len

    if not part.leading:
        yield part
        return
    rows = (part.columns, *part.rows)
    widths = [max(cell_len(row[i]) for row in rows) + COLUMN_GAP for i in range(len(part.columns))]
    first, fixed = part.leading, sum(widths[: part.leading])
    while first < len(widths):
        last, used = first + 1, fixed + widths[first]
        while last < len(widths) and used + widths[last] - COLUMN_GAP <= width:
            used += widths[last]
            last += 1
        kept = [*range(part.leading), *range(first, last)]
        heading = part.heading if first == part.leading else f"{part.heading}, continued"
        yield replace(
            part,
            heading=heading,
            columns=tuple(part.columns[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in part.rows),
        )
        first = last
