"""The commands that fill stores: sweep and evaluate."""

from __future__ import annotations

import json
import math
import shlex
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import scenarios
from dse.commands.store_commands import audit_record, left_over, show_audit, tell_status
from dse.commands.terminal import hints, sweep_summary
from dse.commands.terminal.door import ANSWERED, EXIT_FAILED, draw, filling, folder_for
from dse.commands.terminal.options.cluster_options import Place, client_at, somewhere
from dse.commands.terminal.options.common_options import AS_JSON, SCENARIO, depth
from dse.commands.terminal.options.machine_option import BASELINE_MACHINE, MACHINE
from dse.commands.terminal.options.solver_options import solving
from dse.commands.terminal.printing import PAGE_WIDTH, say, say_json
from dse.quantities import plural
from dse.system.pictures import PICTURES
from results.stores.files.storage import fillable, spared, writable

if TYPE_CHECKING:
    import xarray as xr


EXTEND = click.option(
    "--extend",
    is_flag=True,
    help="STORE may hold the same question with fewer values on its axes: keep its points, compute the others.",
)
METRICS = click.option("--metrics", metavar="A,B", help="Keep only these metrics (default: all).")


@click.command()
@click.argument("scenario", metavar="FILE", required=False)
@click.option("-o", "--output", metavar="STORE", help="Zarr store to fill, or to continue.")
@MACHINE
@somewhere
@METRICS
@click.option(
    "--audit",
    type=click.IntRange(0),
    metavar="N",
    help="Points to answer again by other methods (default: 20, of 1000 and more that a fast way answered, and of "
    "those in which nothing is decided).",
)
@click.option(
    "--baseline",
    metavar="FILE",
    help="Also store ratios to this question: without axes, or with some of the same.",
)
@BASELINE_MACHINE
@click.option("--retry-failed", is_flag=True, help="Also solve points again that failed in an earlier run.")
@EXTEND
@depth(
    "limits",
    "full: also keep ranges, sensitivities to given numbers, next changes, choices, all conflicts and certificates.",
)
@solving
@click.option("--status", metavar="STORE", help="Only show the progress of a store; needs no FILE.")
@click.option(
    "--summary",
    is_flag=True,
    help="Also show the range of every variable, the best point and, on a terminal, a plot.",
)
@click.option(
    "--plot", "pictures", multiple=True, metavar="PICTURE", help="Draw the objective: .png, .svg or .pdf."
)
@AS_JSON
def sweep(
    scenario: str | None,
    output: str | None,
    machine: str | None,
    place: Place,
    metrics: str | None,
    audit: int | None,
    baseline: str | None,
    baseline_machine: str | None,
    retry_failed: bool,
    extend: bool,
    depth: str,
    by: dict[str, Any],
    status: str | None,
    summary: bool,
    pictures: tuple[str, ...],
    as_json: bool,
) -> int:
    """Answer a question at every point of its grid.

    It can be interrupted: the same command continues where it stopped. STORE is a folder, or an address such as
    s3://bucket/study.zarr. `dse sweep -o STORE --summary --plot PICTURE` describes an existing store. With --solver
    every point is built and solved through Pyomo, which is slow; it is optimal only where our own bound confirms it.
    """
    from dse import api

    if status is not None:
        if scenario is not None or output is not None:
            raise click.UsageError("--status only shows the progress of its STORE: leave FILE and -o out")
        _refuse_others("--status only shows the progress of its STORE", "status", "as_json")
        return tell_status(status, as_json=as_json)
    _check_pictures(pictures)
    if scenario is None and output is not None and (summary or pictures):
        _refuse_others(
            "without a FILE the STORE is only described", "output", "summary", "pictures", "as_json"
        )
        # as it is, finished or not
        dataset = api.open(output)
        sweep_summary.refuse_other_results(dataset, output, draws=bool(pictures))
        if pictures:
            _refuse_undrawable({str(d): dataset.sizes[d] for d in dataset["status"].dims})
        draw(pictures, "sweep", dataset, dataset.attrs)
        return _print_sweep(dataset, output, summary, as_json)
    if scenario is not None and output is None:
        raise click.UsageError(
            f"name the STORE to fill: {shlex.join(['dse', *hints.again(), '-o', f'{Path(scenario).stem}.zarr'])}"
        )
    if scenario is None or output is None:
        raise click.UsageError(
            "name a scenario FILE and, with -o, the STORE to fill; without a FILE, --status STORE shows how far a "
            "sweep is, and -o STORE with --summary or --plot PICTURE describes it"
        )
    if baseline is None and baseline_machine is not None:
        baseline = scenario
    fillable(output)
    with filling(output):
        asked = api.load(scenario, machine)
        beside = None if baseline is None else api.load(baseline, baseline_machine)
        spared(pictures, (*asked.reads, *(beside.reads if beside else ())))
        if pictures:
            _refuse_undrawable({a.name: len(a.values) for a in scenarios.grid(asked).axes})
        folder_for(output)
        with client_at(place) as client:
            dataset = api.sweep(
                asked,
                output,
                client,
                place.workers,
                progress=True,
                metrics=_names_in_list(metrics),
                patience=place.patience,
                audit=audit,
                retry_failed=retry_failed,
                extend=extend,
                depth=depth,
                **by,
                baseline=beside,
            )
    draw(pictures, "sweep", dataset, dataset.attrs)
    return _print_sweep(dataset, output, summary, as_json)


def _print_sweep(dataset: xr.Dataset, store: str, summary: bool, as_json: bool) -> int:
    from dse.commands.terminal import robust_front_page
    from results.uncertainty import kept

    told = _sweep_record(dataset, store)
    judged = kept.judged(dataset)
    if judged:
        told["broken_promises"] = kept.record(judged)
    if summary:
        told["best"] = sweep_summary.best(dataset)
    if as_json:
        say_json(told)
    else:
        _show_sweep(told, dataset if summary else None)
        robust_front_page.show_kept(dataset, judged)
        _show_store(told["store"])
    if told["statuses"].get("error") or not told["audit"].get("passed", True):
        return EXIT_FAILED
    return robust_front_page.code(dataset, judged)


def _names_in_list(text: str | None) -> list[str] | None:
    names = None if text is None else [name.strip() for name in text.split(",") if name.strip()]
    if names == []:
        raise click.UsageError(
            "--metrics names none: write --metrics time,energy, or leave it out to keep all"
        )
    return names


def _refuse_others(why: str, *sensible: str) -> None:
    """Refuse the options that would be ignored; raises UsageError."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        if given and option.name not in sensible:
            raise click.UsageError(f"{why}: leave {option.opts[0]} out")


def _check_pictures(pictures: tuple[str, ...]) -> None:
    """Refuse, before anything is solved, names of pictures that cannot be written; raises UsageError, StoreError."""
    if any(Path(p).suffix not in PICTURES for p in pictures):
        raise click.UsageError(f"--plot draws a picture: the name may end in {', '.join(sorted(PICTURES))}")
    for picture in pictures:
        writable(picture)


def _refuse_undrawable(sizes: Mapping[str, int]) -> None:
    """Refuse to draw, before anything is solved, what no picture can show; raises UsageError."""
    from results import axes

    refusal = axes.undrawable(sizes)
    if refusal:
        raise click.UsageError(
            f"--plot: {refusal}; leave --plot out, and draw parts of the store in Python: "
            "results.plot.sweep(dse.open(STORE).isel(NAME=0))"
        )


def _sweep_record(dataset: xr.Dataset, store: str) -> dict[str, Any]:
    import numpy as np

    from results.dataset import STATUS_CODES
    from results.solution import Status
    from results.summaries import outside

    counts, messages, seconds = dict.fromkeys(STATUS_CODES, 0), set(), 0.0
    beyond = outside.counts(sweep_summary.parts(dataset))
    for part in sweep_summary.parts(dataset):
        status = part["status"].values
        for meant, code in STATUS_CODES.items():
            counts[meant] += int(np.count_nonzero(status == code))
        seconds += float(np.nansum(part["seconds"].values))
        failed = status == STATUS_CODES[Status.ERROR]
        if failed.any():
            messages |= set(np.unique(part["message"].values[failed]).tolist())
    return {
        "store": store,
        "title": dataset.attrs.get("title", ""),
        "axes": {str(d): dataset.sizes[d] for d in dataset["status"].dims},
        "points": int(dataset["status"].size),
        "statuses": {meant.value: n for meant, n in counts.items() if n},
        "solve_seconds": seconds,
        "audit": audit_record(dataset, store),
        **_left_over(dataset),
        "messages": sorted(messages)[:5],
        "outside": beyond,
        **_times_checked(dataset),
    }


def _times_checked(dataset: xr.Dataset) -> dict[str, dict[str, str]]:
    """Say whether times were checked near the points, and where the machine's numbers come from; nothing of others."""
    from results.summaries import checked

    found = dict(checked.of_dataset(sweep_summary.parts(dataset)))
    return {"sources": found} if found else {}


def _left_over(dataset: xr.Dataset) -> dict[str, Any]:
    """Say which points a way for many at once left over, and why."""
    from dse.sweeping.points.chunk_work import LEFT_OVER
    from dse.sweeping.targets import SINGLY

    reasons = json.loads(dataset.attrs.get(LEFT_OVER, "{}"))
    return {SINGLY: int(dataset.attrs.get(SINGLY, 0)), LEFT_OVER: reasons}


def _show_sweep(told: dict[str, Any], dataset: xr.Dataset | None) -> None:
    counts = ", ".join(f"{n} {name}" for name, n in told["statuses"].items())
    say(f"{_points_text(told)}: {counts or 'none is answered yet'}")
    for message in told["messages"]:
        say(f"  error: {message}")
    _show_outside(told)
    for label, text in told.get("sources", {}).items():
        say(textwrap.fill(f"  {label:7} {text}", PAGE_WIDTH, subsequent_indent="    "))
    if told["points_solved_singly"] or told["left_over"]:
        say(f"  {left_over(told['points_solved_singly'], told['left_over'])}")
    show_audit(told["audit"])
    if dataset is not None:
        sweep_summary.show_ranges(dataset)
        sweep_summary.show_best(dataset, told["best"])


def _show_outside(told: dict[str, Any]) -> None:
    from results.summaries import outside

    if told["outside"]:
        answered = sum(told["statuses"].get(s, 0) for s in ("optimal", "feasible", "evaluated"))
        say(f"  outside {outside.words(told['outside'], answered)}")


def _points_text(told: dict[str, Any]) -> str:
    axes = " × ".join(f"{n} {name}" for name, n in told["axes"].items())
    return plural(told["points"], "point") + (f" ({axes})" if axes else "")


def _show_store(store: str) -> None:
    say(f"Stored in {store}; in Python: dse.open({store!r})")


@click.command()
@SCENARIO
@click.option(
    "-o",
    "--output",
    metavar="STORE",
    help="Zarr store to fill, or to continue; without it only ranges are printed.",
)
@MACHINE
@METRICS
@somewhere
@EXTEND
@click.option("--summary", is_flag=True, help="With -o: also print the range of every metric.")
@AS_JSON
def evaluate(
    scenario: str,
    output: str | None,
    machine: str | None,
    metrics: str | None,
    place: Place,
    extend: bool,
    summary: bool,
    as_json: bool,
) -> int:
    """Compute the metrics of a question in which nothing is decided, over its grid.

    Limits are ignored; `dse sweep` says at which points they hold. A store can have any number of points, and the
    same command continues an interrupted one.
    """
    from dse import api

    if extend and output is None:
        raise click.UsageError("--extend is for a store: name it with -o")
    with filling(output):
        asked = api.load(scenario, machine)
        if output is None:
            dataset = api.evaluate(asked, metrics=_names_in_list(metrics))
        else:
            fillable(output)
            folder_for(output)
            with client_at(place) as client:
                dataset = api.evaluate(
                    asked,
                    output,
                    _names_in_list(metrics),
                    client,
                    place.workers,
                    progress=True,
                    patience=place.patience,
                    extend=extend,
                )
    told = _evaluated_record(dataset, output, ranges=summary or output is None)
    if as_json:
        say_json(told)
        return ANSWERED
    say(f"{_points_text(told)}: {', '.join(told['metrics'])}")
    _show_outside(told | {"statuses": {"evaluated": told["points"]}})
    if asked.limits:
        command = shlex.join(["dse", "sweep" if told["axes"] else "solve", scenario])
        say(f"  limits of the file are not looked at: {command} says whether they hold")
    if summary or output is None:
        sweep_summary.show_ranges(dataset)
    if output is not None:
        _show_store(output)
    return ANSWERED


def _evaluated_record(dataset: xr.Dataset, store: str | None, *, ranges: bool) -> dict[str, Any]:
    """Say what was evaluated; with ``ranges`` also the least and the greatest finite number of each metric.

    ``not_finite``: at how many points it is infinite or has no value, where there are such.
    """
    from results import flat
    from results.axes import unit_of
    from results.summaries import outside

    ends = sweep_summary.seen(dataset)[1] if ranges else {}
    swept = [str(d) for d in dataset.dims if d in dataset.coords and flat.is_axis(dataset[d])]
    told: dict[str, dict[str, Any]] = {str(n): {"unit": unit_of(a)} for n, a in dataset.data_vars.items()}
    for name, (least, greatest) in ends.items():
        told[str(name)] |= {"least": least, "greatest": greatest}
    for name, points in (sweep_summary.not_finite(dataset) if ranges else {}).items():
        told[name]["not_finite"] = points
    return {
        "store": store,
        "title": dataset.attrs.get("title", ""),
        "axes": {d: dataset.sizes[d] for d in swept},
        "points": math.prod(dataset.sizes[d] for d in swept),
        "metrics": told,
        "outside": outside.counts(sweep_summary.parts(dataset)),
    }
