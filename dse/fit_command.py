"""The command that makes a machine file from measurements."""

from __future__ import annotations

from pathlib import Path

import click

from dse.door import ANSWERED, WRONG, complain, folder_for
from dse.terminal import say, say_json

PICTURES = frozenset({".png", ".svg", ".pdf"})


@click.command()
@click.argument("measurements", metavar="FILE")
@click.option("--model", required=True, type=click.Choice(["dvfs", "roofline"]), help="What to fit.")
@click.option("-o", "--output", metavar="MACHINE", help="Machine file to write, such as my_machine.toml.")
@click.option("--force", is_flag=True, help="Replace the machine file if there is one.")
@click.option("--name", help="Name of the machine (default: that of FILE).")
@click.option("--plot", metavar="PICTURE", help="Picture of model against measurement: .png, .svg or .pdf.")
@click.option("--folds", type=click.IntRange(2), help="Folds of the cross-validation over settings (dvfs).")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option("--absolute", is_flag=True, help="Fit errors in joules, not in percent (dvfs).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, numbers in SI units.")
def fit(
    measurements: str,
    model: str,
    output: str | None,
    force: bool,
    name: str | None,
    plot: str | None,
    folds: int | None,
    confidence: float,
    absolute: bool,
    as_json: bool,
) -> int:
    """Fit a machine to measured runs.

    FILE is a CSV file with a line for each run and units in the header, such as time [ms],energy [J].

    \b
    dvfs:     core_voltage, memory_voltage, time, energy, and counts of operations (flops,
              flops_double, integer_operations, bytes_shared, bytes_L2, bytes) or a
              profiler's counters; role (T or V) says what to train and to validate on
    roofline: flops, bytes, time, energy
    """  # noqa: D301
    from results.storage import local

    if model != "dvfs" and (folds or absolute):
        raise click.UsageError("--folds and --absolute are for --model dvfs")
    if plot and Path(plot).suffix not in PICTURES:
        raise click.UsageError(f"{plot}: a picture's name ends in {', '.join(sorted(PICTURES))}")
    if output and Path(output).suffix != ".toml":
        raise click.UsageError(
            f"{output}: a machine file's name ends in .toml, so that scenarios can name it"
        )
    for path in filter(None, (output, plot)):
        local(path)
    if output and Path(output).exists() and not force:
        complain(f"dse: {output} exists; choose another name with -o, or replace it with --force")
        return WRONG
    from dse import fitting

    found = fitting.fit(measurements, model, name, folds, confidence, relative=not absolute)
    if output:
        folder_for(output)
        found.save(output)
    if plot:
        folder_for(plot)
        from results.plot import save

        save(found.plot(), plot)
    if as_json:
        say_json(found.record())
        return ANSWERED
    say(str(found))
    for written in (output, plot):
        if written:
            say(f"Wrote {written}")
    if output:
        path = output if "/" in output else f"./{output}"
        say(f'In a scenario: machine = "{path}"; to look at it: dse machines {path}')
    return ANSWERED
