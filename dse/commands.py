"""Commands that answer: solve, sweep, front, reproduce."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from dse.door import ANSWERED, FAILED, INTERRUPTED, NO_ANSWER, WRONG, complain
from dse.terminal import say, say_json, show, table

if TYPE_CHECKING:
    import xarray as xr

    from dse.front_search import Front
    from results.solution import Solution
    from scenarios import Scenario
    from scenarios.errors import ScenarioError

CODES = {"optimal": ANSWERED, "feasible": ANSWERED, "evaluated": ANSWERED, "error": FAILED}
CODES |= {"infeasible": NO_ANSWER, "unbounded": NO_ANSWER}
NOT_STORES = frozenset({".csv", ".nc", ".parquet", ".png", ".svg", ".pdf", ".json", ".toml", ".txt"})
PICTURES = frozenset({".png", ".svg", ".pdf"})
FRONT_HELP = "A .csv, .png, .svg, .pdf, .zarr or .json file; may be repeated."
FRONT_FILES = PICTURES | {".csv", ".json", ".zarr"}

POINTS_HELP = (
    "Number of points along the front. Of three objectives and more: about how many limits on all but the "
    "first are tried, on a grid; the front has what is left when the dominated designs are dropped."
)
TOLERANCE_HELP = (
    "Instead of --points, for two objectives: refine until neighbours differ by less than this (relative)."
)

SCENARIO = click.argument("scenario", metavar="FILE")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, numbers in SI units.")


Answer = TypeVar("Answer", bound=Callable[..., int])


def mistakes_as_json(command: Answer) -> Answer:
    """Let a command that is asked for JSON print the mistakes of a scenario as JSON too."""

    @functools.wraps(command)
    def answer(*arguments: Any, as_json: bool, **options: Any) -> int:
        from scenarios.errors import ScenarioError

        try:
            return command(*arguments, as_json=as_json, **options)
        except ScenarioError as problem:
            if not as_json:
                raise
            say_json(mistakes(problem))
            return WRONG

    return cast("Answer", answer)


def mistakes(problem: ScenarioError) -> dict[str, Any]:
    """Return the mistakes of a scenario as values that JSON has."""
    return {"ok": False, "problems": [p._asdict() for p in problem.problems]}


@click.command()
@SCENARIO
@AS_JSON
@mistakes_as_json
def solve(scenario: str, as_json: bool) -> int:
    """Answer one question.

    Shows the best design, what limits it, what relaxing a limit would buy, and a certificate.

    FILE is a scenario file, or the name of a ready scenario (`dse scenarios` lists them).
    """
    from dse import api

    solution = api.solve(scenario)
    _show_solution(solution, as_json)
    return CODES[solution.status.value]


def _show_solution(solution: Solution, as_json: bool) -> None:
    if as_json:
        from results.jsonable import to_json

        say_json(to_json(solution))
    else:
        from results.render import renderable

        show(renderable(solution))


@click.command()
@SCENARIO
@click.option("-o", "--output", required=True, metavar="STORE", help="Zarr store to fill, or to continue.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler to use, such as tcp://10.0.0.1:8786.")
@click.option("--workers", type=click.IntRange(1), help="Processes on this machine (default: one per core).")
@click.option("--summary", is_flag=True, help="Also print the range of every variable.")
@click.option(
    "--plot", "pictures", multiple=True, metavar="PICTURE", help="Draw the objective: .png, .svg or .pdf."
)
@AS_JSON
@mistakes_as_json
def sweep(
    scenario: str,
    output: str,
    scheduler: str | None,
    workers: int | None,
    summary: bool,
    pictures: tuple[str, ...],
    as_json: bool,
) -> int:
    """Answer a question at every point of its grid.

    Interrupt it at will: the same command continues where it stopped.
    """
    from dse import api

    if Path(output).suffix in NOT_STORES:
        raise click.UsageError(f"a sweep fills a Zarr store (a folder): name it {Path(output).stem}.zarr")
    if any(Path(p).suffix not in PICTURES for p in pictures):
        raise click.UsageError(f"--plot draws a picture: the name may end in {', '.join(sorted(PICTURES))}")
    if scheduler and workers:
        raise click.UsageError(
            "--workers starts processes here and --scheduler uses others: give one of them"
        )
    asked = api.load(scenario)
    if pictures:
        _check_picture(asked)
    try:
        if scheduler:
            with connected(scheduler) as client:
                dataset = api.sweep(asked, output, client=client, progress=True)
        else:
            dataset = api.sweep(asked, output, workers=workers, progress=True)
    except KeyboardInterrupt:
        complain(f"interrupted; {output} keeps what is done, and the same command continues")
        return INTERRUPTED
    for picture in pictures:
        from results import plot

        plot.save(plot.sweep(dataset), Path(picture))
    told = _sweep_record(dataset, output)
    if as_json:
        say_json(told)
    else:
        _show_sweep(told, dataset if summary else None)
    return FAILED if told["statuses"].get("error") else ANSWERED


def _check_picture(asked: Scenario) -> None:
    """Refuse to draw, before anything is solved, what no picture can show; raises UsageError."""
    import scenarios
    from results import axes

    refusal = axes.undrawable({a.name: len(a.values) for a in scenarios.grid(asked).axes})
    if refusal:
        raise click.UsageError(
            f"--plot: {refusal}; leave --plot out, and draw parts of the store in Python: "
            "results.plot.sweep(dse.open(STORE).isel(NAME=0))"
        )


def connected(address: str) -> Any:
    """Return a Dask client for a scheduler; raises UsageError (no address) or WorkersLost (no answer)."""
    from distributed import Client
    from distributed.comm import resolve_address

    from dse.workers import WorkersLost

    try:
        return Client(resolve_address(address), timeout=10, set_as_default=False)
    except OSError as problem:
        raise WorkersLost(f"no Dask scheduler answers at {address}") from problem
    except ValueError as problem:
        raise click.UsageError(f"{address!r} is no address of a Dask scheduler: {problem}") from problem


def _sweep_record(dataset: xr.Dataset, store: str) -> dict[str, Any]:
    import numpy as np

    from results.dataset import STATUS_CODES

    status = dataset["status"].values
    counts = {s.value: int(np.count_nonzero(status == code)) for s, code in STATUS_CODES.items()}
    return {
        "store": store,
        "title": dataset.attrs.get("title", ""),
        "axes": {str(d): dataset.sizes[d] for d in dataset["status"].dims},
        "points": int(status.size),
        "statuses": {name: n for name, n in counts.items() if n},
        "solve_seconds": float(np.nansum(dataset["seconds"].values)),
        "messages": sorted(set(np.unique(dataset["message"].values[status == 5]).tolist()))[:5],
    }


def _show_sweep(told: dict[str, Any], dataset: xr.Dataset | None) -> None:
    axes = " × ".join(f"{n} {name}" for name, n in told["axes"].items())
    counts = ", ".join(f"{n} {name}" for name, n in told["statuses"].items())
    say(f"{told['points']} points ({axes}): {counts}")
    for message in told["messages"]:
        say(f"  error: {message}")
    if dataset is not None:
        show(table(("variable", "least", "greatest", "what it is"), _ranges(dataset)))
    say(f"Stored in {told['store']}; in Python: dse.open({told['store']!r})")


def _ranges(dataset: xr.Dataset) -> list[tuple[str, str, str, str]]:
    """Return name, least and greatest value and meaning of every variable; of codes all that occur, by name."""
    import numpy as np

    from dse.quantities import show as text
    from results import axes

    rows = []
    for name, array in dataset.data_vars.items():
        values, about = array.values, str(array.attrs.get("long_name", ""))
        if "flag_values" in array.attrs:
            seen = set(np.unique(values).tolist())
            found = [meant for code, meant in axes.codes(array).items() if code in seen and code >= 0]
            rows.append((str(name), ", ".join(found), "", about))
        elif values.dtype.kind == "f" and np.isfinite(values).any():
            unit = axes.unit_of(array)
            least, greatest = text(float(np.nanmin(values)), unit), text(float(np.nanmax(values)), unit)
            rows.append((str(name), least, greatest, about))
    return [row for row in rows if row[1]]


@click.command()
@SCENARIO
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help=FRONT_HELP,
)
@click.option("--points", type=click.IntRange(2), help=POINTS_HELP)
@click.option("--tolerance", type=click.FloatRange(0, min_open=True), help=TOLERANCE_HELP)
@AS_JSON
@mistakes_as_json
def front(
    scenario: str, outputs: tuple[str, ...], points: int | None, tolerance: float | None, as_json: bool
) -> int:
    """Find the Pareto front of several objectives."""
    from dse import api, fronts

    for output in outputs:
        if Path(output).suffix not in FRONT_FILES:
            kinds = ", ".join(sorted(FRONT_FILES))
            raise click.UsageError(f"{output}: what kind of file is meant? The name may end in {kinds}")
    found = fronts.find(api.load(scenario), points, tolerance)
    if found.refusal is not None:
        _show_solution(found.refusal, as_json)
        return CODES[found.refusal.status.value]
    dataset = fronts.to_dataset(found)
    record = _front_record(found)
    for output in outputs:
        _write_front(dataset, record, Path(output))
    if as_json:
        say_json(record)
    else:
        from dse.front_page import show_front

        show_front(found, scenario, outputs)
    return ANSWERED


def _front_record(found: Front) -> dict[str, Any]:
    from results.jsonable import to_json

    points = [to_json(s) for s in found.points]
    for point in points:
        point.pop("scenario")
    return {
        "title": found.question.title,
        "objectives": {g.name: "max" if g.maximize else "min" for g in found.question.objectives},
        "method": found.method,
        "front": found.kind,
        "joined": list(found.joined),
        "solves": found.solves,
        "points": points,
        "scenario": found.question.scenario_text,
    }


def _write_front(dataset: xr.Dataset, record: dict[str, Any], file: Path) -> None:
    from results import plot
    from results import table as tables
    from results.store import StoreError, explained

    if file.suffix == ".csv":
        tables.to_csv(dataset, file)
    elif file.suffix in PICTURES:
        plot.save(plot.front(dataset), file)
    elif file.suffix == ".zarr" and file.exists():
        raise StoreError(f"{file} exists; choose another path, it is left untouched")
    else:
        with explained(file, "write"):
            if file.suffix == ".zarr":
                dataset.to_zarr(file, mode="w-", consolidated=False)
            else:
                file.write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")


@click.command()
@click.argument("paper", required=False)
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    help="Where pictures and tables go (default: reproduce-PAPER); of all papers, FOLDER/PAPER.",
)
@AS_JSON
def reproduce(paper: str | None, output: str | None, as_json: bool) -> int:
    """Set a paper's results beside our own.

    PAPER is demmel2013, choi2014, choi2016, tang2017 or exabounds2012; without it all are reproduced.
    """
    from dse import reproduction
    from dse.names import unknown
    from dse.progress import reporting

    known = reproduction.papers()
    if paper is not None and paper not in known:
        raise unknown("paper", paper, known)
    reports = []
    for name in [paper] if paper else known:
        folder = Path(output) if output else None
        with reporting(None, "parts") as report:
            reports.append(reproduction.run(name, folder if paper or not folder else folder / name, report))
        if not as_json:
            show(reports[-1])
    if as_json:
        found = [reproduction.to_json(r) for r in reports]
        say_json(found[0] if paper else found)
    return max(r.exit_code for r in reports)
