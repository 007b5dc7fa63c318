"""The command that tells what differs between two questions, two answers or two stores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dse.commands.terminal import hints
from dse.commands.terminal.door import ANSWERED
from dse.commands.terminal.options.numbers import FiniteRange
from dse.commands.terminal.printing import say, say_json, show, table
from results.differing.sections import SECTIONS

if TYPE_CHECKING:
    from results.differing.differences import Difference

DIFFERENT = 1


@click.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option(
    "--tolerance",
    type=FiniteRange(0),
    default=1e-9,
    show_default=True,
    help="Numbers this close count as equal: relative; for gaps, sensitivities and slack absolute.",
)
@click.option(
    "--ignore",
    multiple=True,
    type=click.Choice(SECTIONS),
    help="Leave out the differences in this part; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, numbers in SI units.")
def diff(first: str, second: str, tolerance: float, ignore: tuple[str, ...], as_json: bool) -> int:
    """Show the differences between two scenarios, two answers or two stores.

    A and B are both scenarios (files, or names of ready ones), both answers that `dse solve --json` printed into .json
    files, or both datasets (sweep stores, .zarr, .nc). Scenarios are compared by what they mean, numbers in SI units,
    not by their text. Run times and titles are ignored.

    Exit code 0: nothing differs; 1: something does; 2: they cannot be compared.
    """
    from dse.comparing import sides as comparing

    found = comparing.diff(first, second, tolerance, ignore)
    if as_json:
        say_json({"same": not found.rows, "kind": found.kind, "differences": found.records()})
    elif not found.rows:
        apart = f" apart from {', '.join(ignore)}" if ignore else ""
        names = [Path(p).name for p in (first, second)]
        # of one name the folders tell them apart
        names = [first, second] if names[0] == names[1] else names
        say(f"{names[0]} and {names[1]}: {found.same()}{apart}")
    else:
        _show(found)
    asked = found.kind == "scenario"
    hints.tell(lambda: ("compare", first, second) if asked else ("report", first, "-o", "page.html"))
    return DIFFERENT if found.rows else ANSWERED


def _show(found: Difference) -> None:
    for section in dict.fromkeys(row.section for row in found.rows):
        say(section)
        rows = [(r.name, r.first, r.second, r.note) for r in found.rows if r.section == section]
        head = ("what", "A", "B", "remark")
        wide = 4 if any(r[3] for r in rows) else 3
        show(table(head[:wide], [r[:wide] for r in rows]))
