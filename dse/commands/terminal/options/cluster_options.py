"""Options of commands that compute many points: on which processes, of which machine or cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import click

from dse.sweeping.cluster import clusters
from dse.system.records import dataclass

PATIENCE = "10 min"
_KINDS = ", ".join(clusters.KINDS)
_OPTIONS = (
    click.option(
        "--workers", type=click.IntRange(1), help="Processes on this machine (default: one per core)."
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler to use: tls://10.0.0.1:8786, or tcp://…, which has no authentication.",
    ),
    click.option(
        "--cluster",
        metavar="SYSTEM",
        help=f"Batch system to start workers by, as Dask's jobqueue.yaml says: {_KINDS}.",
    ),
    click.option("--jobs", type=click.IntRange(1), help="With --cluster: how many jobs (default 1)."),
    click.option("--adapt", metavar="MIN:MAX", help="With --cluster: as many jobs as there is work for."),
    click.option(
        "--patience",
        metavar="TIME",
        help=f'How long a cluster may be without any worker (default {PATIENCE}): "2 hours" if jobs queue for long.',
    ),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where points are computed; ``patience``: seconds that a cluster may be without workers."""

    workers: int | None = None
    scheduler: str | None = None
    cluster: str | None = None
    jobs: int | None = None
    adapt: tuple[int, int] | None = None
    patience: float | None = None


Command = TypeVar("Command", bound=Callable[..., int])


def somewhere(command: Command) -> Command:
    """Give a command the options that say where to compute; it gets them as ``place``."""

    @functools.wraps(command)
    def placed(
        *arguments: Any,
        workers: int | None,
        scheduler: str | None,
        cluster: str | None,
        jobs: int | None,
        adapt: str | None,
        patience: str | None,
        **options: Any,
    ) -> int:
        given = {"--workers": workers, "--scheduler": scheduler, "--cluster": cluster}
        named = [name for name, value in given.items() if value]
        if len(named) > 1:
            raise click.UsageError(
                f"{' and '.join(named)} name different processes: give one of them "
                "(--workers starts them here, --scheduler uses others, --cluster starts jobs)"
            )
        if (jobs or adapt) and not cluster:
            raise click.UsageError("--jobs and --adapt say how many jobs --cluster starts: give that too")
        if jobs and adapt:
            raise click.UsageError("--jobs is a fixed number and --adapt a changing one: give one of them")
        if cluster and cluster not in clusters.KINDS:
            raise click.UsageError(f"--cluster {cluster}: there are {_KINDS}")
        if patience and not (scheduler or cluster):
            raise click.UsageError(
                "--patience says how long to wait for --scheduler or --cluster: give one too"
            )
        seconds = _seconds(patience or PATIENCE) if scheduler or cluster else None
        place = Place(workers, scheduler, cluster, jobs, _worker_counts(adapt), seconds)
        return command(*arguments, place=place, **options)

    return cast("Command", functools.reduce(lambda done, option: option(done), reversed(_OPTIONS), placed))


def _worker_counts(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    low, colon, high = text.partition(":")
    if not (colon and low.isdecimal() and high.isdecimal() and int(low) <= int(high) and int(high)):
        raise click.UsageError(f"--adapt {text}: write two whole numbers, the smaller first, such as 0:20")
    return int(low), int(high)


def _seconds(text: str) -> float:
    from dse.quantities import UnitError, to_si

    try:
        return to_si(text, "s")
    except UnitError as problem:
        raise click.UsageError(f'--patience {text}: write a time such as "90 s" or "2 hours"') from problem


@contextmanager
def client_at(place: Place) -> Iterator[Any]:
    """Give the Dask client to use, or None: this process and helpers that it starts.

    Raises UsageError or WorkersLost.
    """
    if place.scheduler:
        try:
            client = clusters.connected(place.scheduler)
        except clusters.NoAddress as problem:
            raise click.UsageError(str(problem)) from problem
        with client:
            yield client
    elif place.cluster:
        with clusters.submitted(place.cluster, place.jobs or 1, place.adapt) as client:
            yield client
    else:
        yield None
