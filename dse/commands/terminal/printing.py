"""Printing: text that survives a closed pipe, tables, JSON."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dse.system.streams import put, visible

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 100


def say(text: str) -> None:
    """Print plain text to standard output; control characters in it are spelled out."""
    put(visible(text), sys.stdout)


def say_json(value: Any) -> None:
    """Print as JSON; anything JSON has no word for is a mistake of ours."""
    say(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def show(what: RenderableType) -> None:
    """Print what rich can render, in colour on a terminal only."""
    from rich.console import Console

    page = io.StringIO()
    on_terminal = sys.stdout.isatty()
    width = None if on_terminal else WIDTH
    Console(file=page, force_terminal=on_terminal, width=width, highlight=False).print(what)
    # what is shown is made visible where it becomes text: here stand the colours
    put("\n".join(line.rstrip() for line in page.getvalue().splitlines()), sys.stdout)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: frozenset[str] = frozenset()) -> Any:
    """Build a table, columns named in ``numbers`` aligned to the right. Cells are never read as markup.

    The first column holds names, which keep their width; the others wrap.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    found = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for place, name in enumerate(head):
        justify: Any = "right" if name in numbers else "left"
        found.add_column(Text(visible(name)), justify=justify, overflow="fold", no_wrap=place == 0)
    for row in rows:
        # the others give way to the first; where even that is not enough it is broken, never cut off
        found.add_row(*(Text(visible(cell), no_wrap=False, overflow="fold") for cell in row))
    return found
