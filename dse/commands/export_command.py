"""The command that writes results in the formats of other tools."""

from __future__ import annotations

import click

from dse.commands.terminal.door import ANSWERED, folder_for, warn_of_unfinished
from dse.commands.terminal.printing import say


@click.command()
@click.argument("source", metavar="SOURCE")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    required=True,
    metavar="FILE",
    help="What to write, as its name ends; may be repeated.",
)
@click.option(
    "--columns",
    metavar="NAME,...",
    help="Axes and variables of a table, in this order; for a picture one, of a front two: across and up.",
)
def export(source: str, outputs: tuple[str, ...], columns: str | None) -> int:
    """Write results in the format that a file name ends in.

    \b
    .csv .jsonl .parquet     tables: a row for each point
    .md .tex                 tables for documents
    .nc .zarr                datasets, NetCDF by the CF conventions
    .png .svg .pdf           pictures

    SOURCE is a sweep's store, a front or dataset that was written as .zarr or .nc, the answer that `dse solve --json`
    printed into a .json file, a scenario file, or the name of a ready scenario (which is answered first).

    Units and provenance go along: in a file beside it for .csv and .jsonl, in its metadata for .parquet, .nc, .zarr
    and pictures. .nc needs h5netcdf and .parquet pyarrow: pip install 'codesign-dse[export]'.
    """  # noqa: D301 (click reads the \\b as: leave these lines as they are)
    from dse.reporting import exporting
    from results.export import formats

    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    for output in outputs:
        formats.check(output, chosen)
    dataset = exporting.dataset_of(source, outputs)
    for output in outputs:
        folder_for(output)
        formats.write(dataset, output, chosen)
    warn_of_unfinished(source)
    say(f"Wrote {', '.join(outputs)}")
    return ANSWERED
