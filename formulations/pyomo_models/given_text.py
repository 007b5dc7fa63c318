"""What a question gives, in lines: the numbers of one row or one machine of a list stand together."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

GIVEN_WIDTH = 100
FEW_MEMBERS = 8
UNBROKEN = "\xa0"


def given_lines(values: Mapping[str, str], *, full: bool) -> Iterator[str]:
    """Go through lines of at most ``GIVEN_WIDTH`` columns that say what is given; ``values``: as text, by name.

    Lists of more than a few rows are told by the names of their rows; ``full`` tells all their numbers.
    """
    rows: dict[str, dict[str, str]] = {}
    for name, value in values.items():
        row, _, key = name.rpartition(".") if name.count(".") > 1 else ("", "", name)
        rows.setdefault(row, {})[key] = value
    lists: dict[str, list[str]] = {}
    for row in rows:
        lists.setdefault(row.partition(".")[0], []).append(row)
    for start, members in lists.items():
        if not start:
            yield from (f"  {name} = {value}" for name, value in rows[""].items())
        elif full or len(members) <= FEW_MEMBERS:
            for row in members:
                numbers = ", ".join(_unbroken(f"{key} = {value}") for key, value in rows[row].items())
                yield from (line.replace(UNBROKEN, " ") for line in wrapped(f"  {row}: {numbers}"))
        else:
            names = ", ".join(row.partition(".")[2] for row in members)
            yield from wrapped(f"  {start}: {len(members)} rows of numbers (--full shows them): {names}")


def _unbroken(text: str) -> str:
    return text.replace(" ", UNBROKEN)


def wrapped(line: str) -> list[str]:
    """Break a line that is too long, the rest of it further in than its start."""
    start = line[: len(line) - len(line.lstrip())]
    return (
        textwrap.wrap(
            line,
            GIVEN_WIDTH,
            subsequent_indent=f"{start}    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        if len(line) > GIVEN_WIDTH
        else [line]
    )
