"""Printing: text that survives a closed pipe, tables, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dse.system.streams import put, visible
from results.telling.parts import as_text
from results.telling.parts import drawn as table

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["PAGE_WIDTH", "say", "say_json", "show", "table"]

PAGE_WIDTH = 100


def say(text: str) -> None:
    """Print plain text to standard output; control characters in it are spelled out."""
    put(visible(text), sys.stdout)


def say_json(value: Any) -> None:
    """Print as JSON; anything JSON has no word for is a mistake of ours."""
    say(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def show_tables(tables: Iterable[tuple[str, Sequence[str], Iterable[Sequence[str]]]]) -> None:
    """Print tables, each with its name, head and rows."""
    for name, head, rows in tables:
        say(f"\n{name}")
        show(table(head, rows))


def show(what: RenderableType) -> None:
    """Print what rich can render, in colour on a terminal only."""
    on_terminal = sys.stdout.isatty()
    # what is shown is made visible where it becomes text: here stand the colours
    put(as_text(what, None if on_terminal else PAGE_WIDTH, colours=on_terminal), sys.stdout)
