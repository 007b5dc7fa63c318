"""The command that writes a page about an answer."""

from __future__ import annotations

from pathlib import Path

import click

from dse.terminal.door import ANSWERED, folder_for
from dse.terminal.printing import say


@click.command()
@click.argument("source", metavar="SOURCE")
@click.option(
    "-o", "--output", required=True, metavar="PAGE", help="The page to write: a name that ends in .html."
)
@click.option("--points", type=click.IntRange(2), help="Of a front, how many points.")
def report(source: str, output: str, points: int | None) -> int:
    """Write one page that shows an answer, a front or a sweep in any browser.

    SOURCE is a sweep's store, a front or dataset written as .zarr or .nc, an answer that `dse solve --json` printed
    into a .json file, a scenario file, or the name of a ready scenario (which is answered first). The page needs no
    network and no other file.
    """
    from dse import api

    if Path(output).suffix not in {".html", ".htm"}:
        raise click.UsageError(f"{output}: a report is a page, name it {Path(output).stem}.html")
    folder_for(output)
    written = api.report(source, output, points)
    say(f"Wrote {written} ({written.stat().st_size / 1e6:.2g} MB): open it in any browser")
    return ANSWERED
