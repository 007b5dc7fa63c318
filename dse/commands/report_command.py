"""The command that writes a page about an answer."""

from __future__ import annotations

from pathlib import Path

import click

from dse.commands.terminal.door import ANSWERED, folder_for, warn_of_unfinished
from dse.commands.terminal.printing import say
from dse.system.amounts import MOST_POINTS_ASKED


@click.command()
@click.argument("source", metavar="SOURCE")
@click.option(
    "-o", "--output", required=True, metavar="PAGE", help="The page to write: a name that ends in .html."
)
@click.option("--points", type=click.IntRange(2, MOST_POINTS_ASKED), help="Number of points of a front.")
@click.option(
    "--indices",
    is_flag=True,
    help="With uncertain numbers also show which of them matter: Sobol' indices with intervals, as bars.",
)
@click.option(
    "--samples",
    type=click.IntRange(2, 10_000_000),
    metavar="N",
    help="With --indices: rows of Saltelli's samples, a power of two.",
)
def report(source: str, output: str, points: int | None, indices: bool, samples: int | None) -> int:
    """Write one page that shows an answer, a front or a sweep in any browser.

    SOURCE is a sweep's store, a front or dataset written as .zarr or .nc, an answer that `dse solve --json` printed
    into a .json file, a scenario file, or the name of a ready scenario (which is answered first). The page needs no
    network and no other file.
    """
    from dse import api
    from results import page
    from results.export import answer_files, reading

    page.check(output)
    if samples is not None and not indices:
        raise click.UsageError("--samples says how many rows the indices rest on: add --indices")
    if indices and (reading.is_stored(source) or Path(source).suffix == answer_files.SUFFIX):
        raise click.UsageError(
            f"--indices asks in samples of its own: give the scenario in place of {source}"
        )
    folder_for(output)
    written = api.report(source, output, points, samples or True if indices else False)
    warn_of_unfinished(source)
    say(f"Wrote {written} ({written.stat().st_size / 1e6:.2g} MB): open it in any browser")
    return ANSWERED
