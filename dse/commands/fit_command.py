"""The command that makes a machine file from measurements."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dse.commands.terminal.door import WRONG, complain
from dse.commands.terminal.options.behaviour_options import (
    Wanted,
    behaviour_options,
    fit_behaviour,
    refuse_behaviour,
    write_and_tell,
)
from dse.commands.terminal.options.numbers import FiniteRange
from dse.machines.fit_records import LEAST_CONFIDENCE
from dse.system.pictures import PICTURES
from results.stores.files.storage import spared, writable

MODEL_OF = {"--folds": "dvfs", "--absolute": "dvfs", "--time-only": "roofline", "--word-size": "network"}


@click.command()
@click.argument("measurements", metavar="FILE")
@click.option(
    "--model",
    required=True,
    type=click.Choice(["dvfs", "network", "posynomial", "roofline"]),
    help="What to fit.",
)
@click.option("-o", "--output", metavar="MACHINE", help="Machine file to write, such as my_machine.toml.")
@click.option("--force", is_flag=True, help="Replace an existing machine file; write it for any error.")
@click.option("--name", help="Name of the machine (default: that of FILE).")
@click.option("--plot", metavar="PICTURE", help="Picture of model against measurement: .png, .svg or .pdf.")
@click.option("--folds", type=click.IntRange(2), help="Folds of the cross-validation over settings (dvfs).")
@click.option(
    "--confidence",
    type=FiniteRange(LEAST_CONFIDENCE, 1, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)
@click.option("--absolute", is_flag=True, help="Fit errors in joules, not in percent (dvfs).")
@click.option(
    "--columns",
    multiple=True,
    metavar="NAME=HEADER",
    help='The header of a column, such as time=duration_ms or "time=duration [ms]"; several with commas.',
)
@click.option("--time-only", is_flag=True, help="Fit times alone: no energies were measured (roofline).")
@click.option("--keep-outliers", is_flag=True, help="Fit all runs, outliers too, by least squares.")
@click.option(
    "--word-size",
    type=FiniteRange(0, min_open=True),
    metavar="BYTES",
    help="Bytes of a word in the machine file (network; default 8).",
)
@behaviour_options
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
    columns: tuple[str, ...],
    time_only: bool,
    keep_outliers: bool,
    word_size: float | None,
    as_json: bool,
    **behaviour: Any,
) -> int:
    """Fit a machine, or any column of others (posynomial), to measured runs.

    FILE is a CSV file with a line for each run and units in the header, such as time [ms],energy [J].

    \b
    roofline: flops, bytes, time, and energy or power; flops_double, bytes_L1, bytes_L2 and
              accesses where they are counted
    dvfs:     core_voltage, memory_voltage, time, energy or power, and counts of operations
              (flops, flops_double, integer_operations, bytes_shared, bytes_L2, bytes) or a
              profiler's counters; role (T or V) says what to train and to validate on;
              or, without voltages, core_frequency, time, power or energy, and kernel
    network:  size of the message, time, and for collectives members and collective
    posynomial: any --target as a function of the columns --of; gives a model file

    Runs that lie far from a robust fit are left out and named. Exit code 3: the error on
    runs held out exceeds 50 % on average; the machine file is then written with --force only.
    """  # noqa: D301
    asked = {
        "--absolute": absolute,
        "--time-only": time_only,
        "--word-size": word_size is not None,
        "--keep-outliers": keep_outliers,
    }
    others = refuse_behaviour(model, asked, behaviour)
    of_model = {**asked, "--folds": folds is not None and not others, "--keep-outliers": False}
    refuse_options(model, [option for option, given in of_model.items() if given], output, plot)
    for path in filter(None, (output, plot)):
        writable(path)
        spared([path], [measurements])
    if output and Path(output).exists() and not force:
        complain(f"dse: {output} exists; choose another name with -o, or replace it with --force")
        return WRONG
    wanted = Wanted(output, plot, force, as_json)
    if others:
        return fit_behaviour(measurements, name, folds, mapped(columns), behaviour, wanted)
    from dse import fitting

    found = fitting.fit(
        measurements,
        model,
        name,
        folds,
        confidence,
        relative=not absolute,
        columns=mapped(columns),
        only_time=time_only,
        keep_outliers=keep_outliers,
        word_size=word_size,
    )
    return write_and_tell(found, wanted, "model" if found.form else "machine")


def mapped(columns: Iterable[str]) -> dict[str, str]:
    """Return headers by the names of columns, from texts such as "time=duration_ms,energy=E"."""
    found: dict[str, str] = {}
    for pair in (p for text in columns for p in text.split(",") if p.strip()):
        name, _, header = (part.strip() for part in pair.partition("="))
        if not name or not header:
            raise click.UsageError(f"--columns {pair.strip()}: write NAME=HEADER, such as time=duration_ms")
        if name in found:
            raise click.UsageError(f"--columns names {name} twice")
        found[name] = header
    return found


def refuse_options(model: str, asked: Iterable[str], output: str | None, plot: str | None) -> None:
    """Raise UsageError for ``asked`` options of another model, and for files that are named after no format."""
    for option in asked:
        if MODEL_OF[option] != model:
            raise click.UsageError(f"{option} is for --model {MODEL_OF[option]}")
    if plot and Path(plot).suffix not in PICTURES:
        raise click.UsageError(f"{plot}: a picture's name ends in {', '.join(sorted(PICTURES))}")
    if output and Path(output).suffix != ".toml":
        raise click.UsageError(
            f"{output}: a machine file's name ends in .toml, so that scenarios can name it"
        )
