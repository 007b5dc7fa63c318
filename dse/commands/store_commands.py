"""What there is to know of a stored sweep: how far it is, what its audit found, and whether it is what it says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from dse.commands.terminal.door import ANSWERED, EXIT_FAILED, filling
from dse.commands.terminal.options.common_options import AS_JSON
from dse.commands.terminal.printing import say, say_json
from dse.quantities import plural
from dse.system.progress import span
from formulations import handover

if TYPE_CHECKING:
    import xarray as xr

    from dse.sweeping.verifying import Verdict

TROUBLES_SHOWN = 20
NOT_RUN = "designs of a black box are not run again, so that their limits and numbers are as they were stored"


@click.command()
@click.argument("store", metavar="STORE")
@click.option(
    "--scenario", metavar="FILE", help="The scenario, where the question in the store can no longer be read."
)
@click.option(
    "--audit",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    metavar="N",
    help="Answer this many points, and this many of the infeasible ones, again by other methods.",
)
@click.option("--repair", is_flag=True, help="First compute only what is missing or damaged, then verify.")
@AS_JSON
def verify(store: str, scenario: str | None, audit: int, repair: bool, as_json: bool) -> int:
    """Check a stored sweep: checksums, and every answer re-evaluated.

    Compares checksums, evaluates the model at every stored design, and checks limits, bounds, gaps and statuses; names
    chunk, point and variable of each error. The exit code is 0 if the sweep is finished and has no errors, else 1.

    --repair starts the sweep again from the question in the store: missing or damaged chunks are computed again,
    damaged metadata are written anew, and the rest is not changed.
    """
    from dse import api

    with filling(store if repair else None):
        verdict = api.verify(store, scenario, audit, progress=True, repair=repair)
    if as_json:
        say_json(verdict.record())
    else:
        _show_verdict(verdict)
    return ANSWERED if verdict.passed else EXIT_FAILED


def _show_verdict(verdict: Verdict) -> None:
    for note in verdict.notes:
        say(f"note: {note}")
    found = verdict.found
    if verdict.passed:
        where = f"{plural(verdict.points, 'point')} in {plural(verdict.chunks, 'chunk')}"
        say(f"{verdict.store}: {where}, no errors")
    else:
        checked = plural(verdict.points, "point")
        errors = plural(verdict.wrong, "error") if verdict.wrong else "not finished, no errors"
        say(f"{verdict.store}: {errors}; {checked} checked")
        for trouble in verdict.troubles[:TROUBLES_SHOWN]:
            say(f"  {trouble}")
        if verdict.wrong > TROUBLES_SHOWN:
            say(f"  and {verdict.wrong - min(TROUBLES_SHOWN, len(verdict.troubles))} more")
        if verdict.pending:
            chunks = f"{verdict.pending} of {plural(verdict.pending + verdict.chunks, 'chunk')}"
            say(f"  not finished: {chunks} to do; the command that started the sweep continues it")
        if verdict.damaged or verdict.pending:
            say(f"  `dse verify --repair {verdict.store}` computes again what is missing or damaged")
    if found.not_run:
        say(f"  {NOT_RUN}")
    elif verdict.points:
        say(
            f"  limits are missed by {found.limit:.1e} at most (allowed 1e-8), the gap of an optimum is at most "
            f"{found.gap:.1e}, stored numbers differ from the model's by {found.difference:.1e} at most"
        )
    if found.proved + found.unproved:
        say(f"  {found.proved} of the bounds of {found.proved + found.unproved} optima proved once more")
    if verdict.again is not None:
        again = verdict.again
        points = plural(again.points, "point")
        say(
            f"  {points} answered again: {again.agree} agree (within {again.difference:.1e}), "
            f"{again.differ} do not, {again.undecided} undecided"
        )


def audit_record(dataset: xr.Dataset, store: str) -> dict[str, Any]:
    """Return what the audit of a sweep found, and how long it took apart from the sweep."""
    from dse.sweeping.targets import AUDIT_NOTE, audited
    from results.stores import remarks

    return audited(dataset) | remarks.remarked(store, AUDIT_NOTE)


def show_audit(told: dict[str, Any]) -> None:
    """Say in a line or two what the audit of a sweep found."""
    if not told.get("points"):
        return
    how = f"limits missed by {told['largest_miss_of_a_limit']:.1e} at most, gaps up to {told['largest_gap']:.1e}"
    if told.get("not_run_again"):
        say(f"Audit: {NOT_RUN}")
    else:
        say(
            f"Audit: {plural(told['points'], 'point')} re-evaluated in {told.get('seconds', 0.0):.2g} s, {how}"
        )
    if told.get("solved_again"):
        say(
            f"       {told['solved_again']} solved again in {told.get('seconds_solved_again', 0.0):.2g} s by other "
            f"methods: {told['agree']} agree, {told['undecided']} without an answer"
        )
    if not told["passed"]:
        say(f"       FAILED: {plural(told['wrong'] + told.get('differ', 0), 'error')}")
        for place, variable, what in told["examples"]:
            say(f"         point {tuple(place)}, {variable}: {what}")


def left_over(points: int, reasons: Mapping[str, int]) -> str:
    """Say how many points were solved one by one, and why."""
    if not points:
        return f"not all of it at once: {handover.words(reasons)}"
    why = f": {handover.words(reasons)}" if reasons else ""
    return f"{plural(points, 'point')} solved one by one{why}"


def tell_status(store: str, *, as_json: bool) -> int:
    """Print how far a sweep is."""
    from dse import api

    told = api.status(store)
    if as_json:
        say_json(told)
        return ANSWERED
    counts = ", ".join(f"{n} {name}" for name, n in told["statuses"].items())
    share = 100 * told["done"] / told["points"]
    say(f"{told['title'] or told['store']}")
    told_of = f"{told['done']} of {plural(told['points'], 'point')} ({share:.3g} %)"
    say(f"  done     {told_of}{': ' if counts else ''}{counts}")
    say(f"  failed   {told['failed']}{', --retry-failed solves them again' if told['failed'] else ''}")
    chunks = f"{told['chunks'] - told['chunks_done']} of {plural(told['chunks'], 'chunk')}"
    say(f"  pending  {told['pending']} in {chunks}")
    if told["points_per_second"]:
        left = f", {span(told['seconds_left'])} left" if told["pending"] else ""
        say(f"  rate     {told['points_per_second']:.3g} points/s{left}")
    if told["points_solved_singly"] or told["left_over"]:
        say(f"  singly   {left_over(told['points_solved_singly'], told['left_over'])}")
    say(f"  running  {_runner(told['running'])}")
    say(f"  identity {told['identity'][:12]}…")
    return ANSWERED


def _runner(by: dict[str, Any] | None) -> str:
    if by is None:
        return "no"
    if not by:
        return "yes"
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(by["since"]))
    return f"process {by['process']} on {by['host']} since {since}"
