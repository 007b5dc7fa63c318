"""Small tables: what an answer is shown as, how one too wide for the page is cut, and how all are drawn."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dse.system.records import dataclass
from dse.system.streams import visible

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

# between two columns: their padding and the place of a line
PADDING = 2
COLUMN_GAP = PADDING + 1
LONGEST_NAME = 40
"""Characters from which several words in the first column are wrapped like text."""


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


def drawn(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: frozenset[str] = frozenset()) -> Table:
    """Build a table that rich prints, columns named in ``numbers`` aligned to the right; no cell is read as markup.

    The first column holds names, which keep their width; the others wrap, and so do titles in place of names.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    listed = [tuple(row) for row in rows]
    titles = any(" " in cell and len(cell) > LONGEST_NAME for cell in (row[0] for row in listed if row))
    found = Table(box=box.SIMPLE_HEAD, padding=(0, PADDING, 0, 0), pad_edge=False, show_edge=False)
    for place, name in enumerate(head):
        found.add_column(
            Text(visible(name), overflow="fold"),
            justify="right" if name in numbers else "left",
            overflow="fold",
            no_wrap=place == 0 and not titles,
        )
    for row in listed:
        # the others give way to the names; where even that is not enough names are broken, never cut off
        found.add_row(*(Text(visible(cell), no_wrap=False, overflow="fold") for cell in row))
    return found


def as_text(what: RenderableType, width: int | None, *, colours: bool = False) -> str:
    """Return what rich prints on ``width`` columns (None: those of the terminal), lines without blanks at their end."""
    from rich.console import Console

    page = io.StringIO()
    Console(file=page, force_terminal=colours, width=width, highlight=False).print(what)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def safe(text: str) -> str:
    """Return text as HTML: nothing in it becomes markup, and control characters are spelled out."""
    import html  # its table of entities is not needed on a terminal

    return html.escape(visible(text))


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as HTML."""
    lines = [("th", head), *(("td", row) for row in rows)]
    body = ("".join(f"<{tag}>{safe(cell)}</{tag}>" for cell in row) for tag, row in lines)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in body)}</table>"
