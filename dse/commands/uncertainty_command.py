"""The command that says how far an optimum can be trusted: uncertainty."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dse.commands.answering import RECORD
from dse.commands.terminal import sketch, sweep_summary
from dse.commands.terminal.door import ANSWERED, EXIT_FAILED, NO_ANSWER, complain, draw, filling, folder_for
from dse.commands.terminal.options.cluster_options import Place, client_at, somewhere
from dse.commands.terminal.options.common_options import AS_JSON, SCENARIO
from dse.commands.terminal.options.machine_option import MACHINE
from dse.commands.terminal.printing import PAGE_WIDTH, say, say_json, show_tables
from dse.system.pictures import PICTURES
from results.stores.files.storage import fillable, spared, writable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from results.uncertainty.matters import Matters
    from results.uncertainty.worlds import Worlds


@click.command()
@SCENARIO
@click.option(
    "-o", "--output", metavar="STORE", help="Zarr store of the samples: filled, continued or extended."
)
@MACHINE
@click.option(
    "--samples", type=click.IntRange(2, 10_000_000), metavar="N", help="How many samples are drawn."
)
@click.option(
    "--design",
    metavar="FILE",
    help="Compare this design with the best of each sample: what `dse solve --json` printed (default: the optimum with "
    "every number at its nominal value).",
)
@click.option(
    "--plot",
    "pictures",
    multiple=True,
    metavar="PICTURE",
    help="Draw distributions and shares: .png, .svg or .pdf.",
)
@click.option("--statistics", metavar="FILE", help="Write the statistics as a dataset: .nc or .zarr.")
@click.option(
    "--indices",
    is_flag=True,
    help="Report instead which uncertain numbers matter: Sobol' indices, and what is lost by not knowing each. With "
    "--samples N: rows of Saltelli's samples, a power of two.",
)
@somewhere
@AS_JSON
def uncertainty(
    scenario: str,
    output: str | None,
    machine: str | None,
    samples: int | None,
    design: str | None,
    pictures: tuple[str, ...],
    statistics: str | None,
    indices: bool,
    place: Place,
    as_json: bool,
) -> int:
    """Answer a question with uncertain numbers in every sample, and say how the answers are distributed.

    Each sample is a draw of all that is uncertain, with a certified optimum of its own. The command prints the
    distributions of objective and design, which limits bind, which choices win, and what a fixed design loses.
    """
    from dse import api
    from results.export import answer_files, formats

    for name, endings in (
        *((p, PICTURES) for p in pictures),
        *([(statistics, {".nc", ".zarr"})] if statistics else []),
    ):
        if Path(str(name)).suffix not in endings:
            raise click.UsageError(
                f"{name} cannot be written: the name may end in {', '.join(sorted(endings))}"
            )
        writable(str(name))
    if output is not None:
        fillable(output)
        folder_for(output)
    if design is not None and Path(design).suffix != RECORD:
        raise click.UsageError("--design takes a .json file, which `dse solve --json` printed")
    fixed = None if design is None else answer_files.read(Path(design))
    with filling(output):
        asked = api.load(scenario, machine)
    spared(filter(None, (*pictures, statistics)), (*asked.reads, *filter(None, (design,))))
    if indices:
        if output is not None or statistics is not None:
            raise click.UsageError("--indices writes pictures (--plot) and JSON (--json) only")
        values = None if fixed is None else fixed.variables
        with client_at(place) as client:
            matter = api.what_matters(asked, samples, values, client, place.workers, True, place.patience)
        pictures = _drawn(pictures, "matters", matter, matter.samples.attrs)
        _print_indices(matter, pictures, as_json=as_json)
        return ANSWERED if matter.left_out < matter.rows else NO_ANSWER
    with filling(output), client_at(place) as client:
        found = api.uncertainty(
            asked,
            output,
            samples,
            fixed,
            client,
            place.workers,
            True,
            place.patience,
        )
    pictures = _drawn(pictures, "worlds", found, found.samples.attrs)
    if statistics is not None:
        folder_for(statistics)
        formats.write(found.to_dataset(), Path(statistics))
    _print_worlds(found, [*filter(None, (output, statistics)), *pictures], as_json=as_json)
    return _exit_code_of_worlds(found)


def _drawn(
    pictures: tuple[str, ...], kind: str, shown: Worlds | Matters, about: Mapping[str, Any]
) -> tuple[str, ...]:
    """Draw pictures, and return them; none where nothing varies, which is said."""
    try:
        draw(pictures, kind, shown, about)
    except ValueError as problem:
        complain(f"dse: {', '.join(pictures)} is not drawn: {problem}")
        return ()
    return pictures


def _print_indices(found: Matters, written: Sequence[str], *, as_json: bool) -> None:
    from results.uncertainty.matters_text import sentences, tables

    if as_json:
        say_json(found.record() | {"written": list(written)})
        return
    say(found.title)
    for sentence in sentences(found):
        say(sentence)
    show_tables(tables(found))
    for name in written:
        say(f"Written: {name}")


def _exit_code_of_worlds(found: Worlds) -> int:
    audit = json.loads(found.samples.attrs.get("audit", "{}"))
    if found.statuses.get("error") or not audit.get("passed", True):
        return EXIT_FAILED
    return ANSWERED if found.none.count < found.none.of else NO_ANSWER


def _print_worlds(found: Worlds, written: list[str], *, as_json: bool) -> None:
    from results.summaries import outside
    from results.uncertainty.worlds_text import sentences, tables

    if as_json:
        say_json(found.record() | {"written": written})
        return
    if found.title:
        say(found.title)
    for sentence in sentences(found):
        say(sentence)
    answered = sum(found.statuses.get(s, 0) for s in ("optimal", "feasible", "evaluated"))
    beyond = outside.words(outside.counts(sweep_summary.parts(found.samples)), answered, "sample")
    if beyond:
        say(textwrap.fill(f"Outside {beyond}", PAGE_WIDTH))
    show_tables(tables(found))
    _histogram(found)
    for name in written:
        say(f"Written: {name}")


def _histogram(found: Worlds) -> None:
    """Draw the distribution of the objective where the terminal can show it."""
    from results.axes import ANSWERED, prefix, title

    able = sketch.terminal()
    name, _ = found.goal
    if able is None or not name:
        return
    array = found.samples["objective"]
    values = array.where(found.samples["status"].isin(ANSWERED)).values
    factor, unit = prefix(values, array)
    planned = sketch.histogram(values * factor, title(name, unit))
    if planned is not None:
        say("\n" + sketch.draw(planned, able))
