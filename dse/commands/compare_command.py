"""The command that sets questions side by side: compare."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dse.commands.answering import CODES, RECORD
from dse.commands.terminal.door import ANSWERED, EXIT_FAILED, NO_ANSWER, folder_for
from dse.commands.terminal.options.common_options import AS_JSON
from dse.commands.terminal.printing import PAGE_WIDTH, say, say_json, show, table
from dse.system.amounts import MOST_POINTS_ASKED
from dse.system.pictures import PICTURES
from results.stores.files.storage import spared, writable, write_text

if TYPE_CHECKING:
    from results.side_by_side.comparison import Comparison

PAGE = ".html"
OUTPUT_HELP = (
    "A .json file, a page .html, or what `dse export` writes: .csv, .md, .nc, .zarr; with --over the curves, also "
    ".png, .svg, .pdf; may be repeated."
)


@click.command()
@click.argument("questions", metavar="A [B ...]", nargs=-1, required=True)
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="NAME",
    help="Ask every file on this machine; may be repeated.",
)
@click.option(
    "--baseline", metavar="LABEL", help="Baseline of the ratios: a file or machine (default: the first)."
)
@click.option("--over", metavar="PATH", help="Also find where one overtakes the other along this number.")
@click.option(
    "--from",
    "start",
    metavar="VALUE",
    help='Where --over begins: "0.1" or "1 ms" (default: the file\'s axis).',
)
@click.option(
    "--to", "stop", metavar="VALUE", help="Where --over ends; the order of the two does not matter."
)
@click.option(
    "--points",
    type=click.IntRange(2, MOST_POINTS_ASKED),
    help="Values of --over that are tried (default: the file's axis, or 33).",
)
@click.option("--metric", metavar="NAME", help="What --over compares (default: the objective).")
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE", help=OUTPUT_HELP)
@AS_JSON
def compare(
    questions: tuple[str, ...],
    machines: tuple[str, ...],
    baseline: str | None,
    over: str | None,
    start: str | None,
    stop: str | None,
    points: int | None,
    metric: str | None,
    outputs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compare the answers to several questions, with ratios to one of them.

    Several files, or one file on several machines: `dse compare nbody_deadline --machine balanced --machine jaketown`.
    Questions of different models are compared by their common numbers. With --over a number of the files
    (given.intensity, limits.time.max), each crossing with the baseline is enclosed to 1e-6, with the proof on both
    sides.
    """
    from dse import api
    from dse.comparing import side_by_side
    from results.export import formats

    if over is None and any(x is not None for x in (start, stop, points, metric)):
        raise click.UsageError("--from, --to, --points and --metric go with --over PATH")
    for output in outputs:
        if Path(output).suffix in (RECORD, PAGE):
            writable(output)
        else:
            formats.check(output, also=[RECORD, PAGE])
            if over is None and Path(output).suffix.lower() in PICTURES:
                raise click.UsageError("a picture shows curves: name the quantity along which, --over PATH")
    asked = side_by_side.asked(questions, machines)
    spared(outputs, [file for q in asked for file in q.reads])
    found = api.compare(
        *asked,
        baseline=baseline,
        over=over,
        start=start,
        stop=stop,
        points=points,
        metric=metric,
    )
    for output in outputs:
        _write(found, output)
    if as_json:
        say_json(found.record())
    else:
        _show(found, outputs)
    return _exit_code_of_comparison(found)


def _exit_code_of_comparison(found: Comparison) -> int:
    """Answered where any question is; failed where one could not be."""
    codes = {CODES[s.solution.status.value] for s in found.sides}
    if EXIT_FAILED in codes:
        return EXIT_FAILED
    return ANSWERED if ANSWERED in codes else NO_ANSWER


def _write(found: Comparison, output: str) -> None:
    from dse.reporting import comparison_page
    from results.export import formats

    folder_for(output)
    target = Path(output)
    if target.suffix == RECORD:
        write_text(target, json.dumps(found.record(), indent=2, ensure_ascii=False))
    elif target.suffix == PAGE:
        comparison_page.save(found, target)
    elif target.suffix.lower() in PICTURES:
        comparison_page.picture(found, target)
    else:
        dataset = found.to_dataset() if found.curve is None else found.curve.to_dataset(found.baseline)
        formats.write(dataset, target)


def _show(found: Comparison, outputs: tuple[str, ...]) -> None:
    head, sections = found.table()
    numbers = frozenset(head[1:])
    if found.where:
        say(f"At {found.where}:\n")
    for name, rows in sections:
        say(name)
        show(table(head, rows, numbers))
        say("")
    say(f"Ratios are to {found.sides[found.baseline].name}.")
    for note in found.not_shared():
        say(textwrap.fill(f"Not compared: {note}.", PAGE_WIDTH, break_on_hyphens=False))
    if found.curve is not None:
        say("")
        for line in found.curve.sentences():
            say(textwrap.fill(line, PAGE_WIDTH, subsequent_indent="    ", break_on_hyphens=False))
    for output in outputs:
        say(f"Wrote {output}")
