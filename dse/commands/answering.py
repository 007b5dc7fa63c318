"""Commands that answer: solve, front, reproduce."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import scenarios
from dse.commands.terminal import hints, sketch
from dse.commands.terminal.door import ANSWERED, EXIT_FAILED, NO_ANSWER, complain, folder_for
from dse.commands.terminal.options.common_options import AS_JSON, SCENARIO, depth
from dse.commands.terminal.options.machine_option import MACHINE, machine_words
from dse.commands.terminal.options.numbers import FiniteRange
from dse.commands.terminal.options.search_options import searching
from dse.commands.terminal.options.solver_options import solving
from dse.commands.terminal.printing import say_json, show
from dse.names import unknown
from dse.quantities import plural
from dse.system.amounts import MOST_POINTS_ASKED
from dse.system.pictures import PICTURES
from dse.system.progress import reporting
from dse.system.streams import INTERRUPTED

if TYPE_CHECKING:
    import xarray as xr

    from results.solution import Solution
    from scenarios import Scenario
    from solvers.others.pyomo_points import By

CODES = {"optimal": ANSWERED, "feasible": ANSWERED, "evaluated": ANSWERED, "error": EXIT_FAILED}
CODES |= {"infeasible": NO_ANSWER, "unbounded": NO_ANSWER}
FRONT_HELP = (
    "A .json file, or what `dse export` writes: .csv, .parquet, .md, .nc, .zarr, .png, ...; may be repeated."
)
RECORD = ".json"

POINTS_HELP = (
    "Number of points along the front; fewer where there are no more designs, all where it is exact."
)
TOLERANCE_HELP = (
    "Instead of --points, for two objectives: refine until the proved enclosure of the front is nowhere wider than "
    "this (relative, in either objective)."
)


@click.command()
@SCENARIO
@MACHINE
@solving
@searching
@depth("full", "limits: of whole numbers without where the answer next changes, which is quicker.")
@AS_JSON
def solve(
    scenario: str,
    machine: str | None,
    by: dict[str, Any],
    as_json: bool,
    search: dict[str, Any],
    depth: str,
) -> int:
    """Answer one question.

    Shows the best design, its limits with the sensitivity to each, and a certificate.

    FILE is a scenario file, or the name of a ready scenario (`dse scenarios` lists them). --sampler and the options
    after it replace its [search]: the answer is then feasible, never optimal. With --solver the answer is
    optimal only where our own bound confirms it.
    """
    from dse import api

    solution = api.solve(api.load(scenario, machine), **by, **search, depth=depth)
    _show_solution(solution, as_json)
    if solution.fresh is not None and solution.fresh.broken:
        for kept in solution.fresh.broken:
            click.echo(kept.words, err=True)
        return NO_ANSWER
    return CODES[solution.status.value]


def _show_solution(solution: Solution, as_json: bool) -> None:
    if as_json:
        from results.export.jsonable import to_json

        say_json(to_json(solution))
    else:
        from results.telling.render import renderable

        show(renderable(solution))


@click.command()
@SCENARIO
@MACHINE
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help=FRONT_HELP,
)
@click.option("--points", type=click.IntRange(2, MOST_POINTS_ASKED), help=POINTS_HELP)
@click.option("--tolerance", type=FiniteRange(0, min_open=True), help=TOLERANCE_HELP)
@solving
@searching
@AS_JSON
def front(
    scenario: str,
    machine: str | None,
    outputs: tuple[str, ...],
    points: int | None,
    tolerance: float | None,
    by: dict[str, Any],
    as_json: bool,
    search: dict[str, Any],
) -> int:
    """Find the Pareto front of several objectives; with [sweep] in the file one at each place of the grid.

    --sampler and the options after it replace the [search] of the file: every point is then feasible, and
    nothing proves that no design is better. With --solver every point is a question of its own to that solver, which is
    slow.
    """
    from dse import api
    from dse.commands.terminal import front_records
    from dse.fronts import front as fronts
    from results.export import formats
    from results.stores.files.storage import spared, writable
    from scenarios.language.searches import searched

    for output in outputs:
        if Path(output).suffix == RECORD:
            writable(output)
        else:
            formats.check(output, also=[RECORD])
    asked = searched(api.load(scenario, machine), search)
    spared(outputs, asked.reads)
    who = _solver_by_name(**by) if by else None
    if asked.sweep:
        return _fronts(asked, outputs, points, tolerance, who, as_json)
    found = fronts.find(asked, points, tolerance, by=who)
    if found.refusal is not None:
        _show_solution(found.refusal, as_json)
        code = CODES[found.refusal.status.value]
        if code == NO_ANSWER:
            hints.tell(lambda: ("explain", scenario, *machine_words(machine)))
        return code
    dataset = fronts.to_dataset(found)
    record = front_records.record(found)

    def shown(written: tuple[str, ...]) -> None:
        from dse.commands.terminal.front_page import show_front
        from dse.commands.terminal.robust_front_page import show_worlds

        show_front(found, shlex.join(["dse", *_same_front()]), written)
        show_worlds(found)

    _write_fronts(dataset, record, outputs, None if as_json else shown)
    return _fresh_exit_code(dataset)


def _fresh_exit_code(dataset: xr.Dataset) -> int:
    """Return the exit code of fronts: that of no answer where fresh samples contradict a probability."""
    from dse.commands.terminal import robust_front_page
    from results.uncertainty import kept

    return robust_front_page.code(dataset, kept.judged(dataset))


def _solver_by_name(solver: str, seconds: float) -> By:
    from solvers.others import pyomo_points

    return pyomo_points.by(solver, seconds)


def _fronts(
    asked: Scenario,
    outputs: tuple[str, ...],
    points: int | None,
    tolerance: float | None,
    by: By | None,
    as_json: bool,
) -> int:
    """Find, write and show the fronts over the axes of a scenario; of an interrupted run those it came to."""
    from dse.commands.terminal import front_records
    from dse.fronts import swept_fronts

    if any(Path(output).suffix in PICTURES for output in outputs):
        _check_picture(asked)
    interrupted = False
    try:
        found = swept_fronts.find(asked, points, tolerance, progress=True, by=by)
    except swept_fronts.Interrupted as stopped:
        found, interrupted = stopped.fronts, True
        complain(f"interrupted after {len(found.found)} of {plural(found.grid.size, 'front')}")
        if not found.found:
            return INTERRUPTED
    dataset = swept_fronts.to_dataset(found)
    record = front_records.of_places(found, dataset)

    def shown(written: tuple[str, ...]) -> None:
        from dse.commands.terminal.robust_front_page import show_kept, show_measures
        from dse.commands.terminal.swept_front_page import show_fronts
        from results.uncertainty import kept

        show_fronts(found, dataset, shlex.join(["dse", *_same_front()]), written)
        show_measures(found.grid.first)
        show_kept(dataset, kept.judged(dataset))

    _write_fronts(dataset, record, outputs, None if as_json else shown)
    refused = {CODES[f.refusal.status.value] for f in found.found.values() if f.refusal}
    if interrupted or EXIT_FAILED in refused:
        return INTERRUPTED if interrupted else EXIT_FAILED
    return _fresh_exit_code(dataset) if any(f.points for f in found.found.values()) else NO_ANSWER


def _write_fronts(
    dataset: xr.Dataset,
    record: dict[str, Any],
    outputs: tuple[str, ...],
    told: Callable[[tuple[str, ...]], None] | None,
) -> None:
    """Write the files and print what was found, as JSON without ``told``.

    Where a file cannot be written it is printed all the same: it took time to find.
    """
    written: list[str] = []
    try:
        for output in outputs:
            _write_front(dataset, record, Path(output))
            written.append(output)
    finally:
        if told is None:
            say_json(record)
        else:
            told(tuple(written))
            sketch.show(sketch.front, dataset)
    # what comes next is said when the command has ended, and its words are gone
    after = _after_front(outputs)
    hints.tell(lambda: after)


def _same_front() -> list[str]:
    """Return the words of the command that finds the same front, to which files to write may be added."""
    return hints.again("outputs", "as_json")


def _after_front(outputs: tuple[str, ...]) -> list[str]:
    """Return the words of the command to try after a front: its page."""
    to_page = ["-o", "front.html"]
    stored = [output for output in outputs if Path(output).suffix in {".zarr", ".nc"}]
    if stored:
        return ["report", stored[-1], *to_page]
    _, *given = _same_front()
    asks_otherwise = len(hints.again("scenario", "points", "outputs", "as_json")) > 1
    # a page of the file would then be of another front
    return ["front", *given, "-o", "front.zarr"] if asks_otherwise else ["report", *given, *to_page]


def _check_picture(asked: Scenario) -> None:
    """Refuse to draw, before anything is solved, more fronts than a picture tells apart; raises UsageError."""
    from results.pictures.several_fronts import undrawable

    swept = scenarios.grid(asked).axes
    refusal = undrawable({a.name: len(a.values) for a in swept}, [a.name for a in swept if a.numeric])
    if refusal:
        raise click.UsageError(
            f"{refusal}; write a dataset (.nc, .zarr), and draw parts of it in Python: "
            "dse.open(FILE).isel(NAME=0).dse.front()"
        )


def _write_front(dataset: xr.Dataset, record: dict[str, Any], file: Path) -> None:
    from results.export import formats
    from results.stores.files.storage import write_text

    folder_for(file)
    if file.suffix == RECORD:
        write_text(file, json.dumps(record, indent=2, ensure_ascii=False))
    else:
        formats.write(dataset, file)


@click.command()
@click.argument("paper", required=False)
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    help="Where pictures and tables go (default: reproduce-PAPER); of all papers, FOLDER/PAPER.",
)
@click.option("--rows", is_flag=True, help="Print every row, not only the number of rows by verdict.")
@AS_JSON
def reproduce(paper: str | None, output: str | None, rows: bool, as_json: bool) -> int:
    """Compare a paper's results with our own.

    PAPER is demmel2013, choi2014, choi2016, tang2017, exabounds2012, megatron, act (carbon), gemm,
    vtrain2024 or llmcompass (measurements);
    without it all are reproduced.
    """
    from dse import papers as reproduction
    from results.stores.files.storage import local

    known = reproduction.papers()
    if paper is not None and paper not in known:
        raise unknown("paper", paper, known)
    reports = []
    for name in [paper] if paper else known:
        folder = local(output) if output else None
        if folder:
            folder_for(folder)
        with reporting(None, "part") as report:
            reports.append(reproduction.run(name, folder if paper or not folder else folder / name, report))
        if not as_json:
            show(reproduction.terminal(reports[-1]) if rows else reports[-1])
    if as_json:
        found = [reproduction.to_json(r) for r in reports]
        say_json(found[0] if paper else found)
    return max(r.exit_code for r in reports)
