"""Which way a grid goes, in words: all at once, chunk by chunk, or point by point, why, and about how long it takes.

The time is told from declared work (``solvers.work``), not tried out: it is right within a factor of a few. Where it
is not, that is said; how long it really takes the sweep's progress tells.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import results.stores.chunks
from dse.sweeping import audits
from dse.sweeping.points.chunk_work import Ready, side_by_side
from dse.sweeping.points.declared import KINDS
from dse.system.nouns import plural
from solvers import work

AT_ONCE, SEARCHED, SINGLY = "all points of a chunk at once", "chunks searched", "point by point"
UNTRIED = " (not tried here, which takes long: the sweep tries a few points first)"
ROUGH = "up to ten times less or more, as how long a search takes is not known before it is made"
WITHOUT_DESIGN = "longer if points have no design: the reason is then searched for"
HELPERS = 8.0
"""Declared seconds from which helper processes are worth their start, where threads would be of no use."""


def cores(at: Ready, workers: int | None = None, client: Any = None) -> int:
    """Return how many cores a sweep uses: those of the client, else as many processes or threads as it would start."""
    if client is not None:
        try:
            return max(int(sum(client.ncores().values())), 1)
        except OSError:  # that the scheduler is gone is told where chunks are handed out
            return 1
    from dask.system import CPU_COUNT

    chunks = math.prod(-(-n // c) for n, c in zip(at.plan.shape, chunk_shape(at), strict=True))
    wanted = processes(at, workers) if workers is not None or not side_by_side(at) else CPU_COUNT
    return int(min(wanted, chunks))


def processes(at: Ready, workers: int | None) -> int:
    """Return how many processes are worth using; ``workers``: as the user asked (None: not at all)."""
    if workers is not None:
        return workers
    if side_by_side(at) or at.work * math.prod(at.plan.shape) < HELPERS:
        return 1
    from dask.system import CPU_COUNT

    return int(CPU_COUNT)


def chunk_shape(at: Ready) -> tuple[int, ...]:
    """Return how the grid is cut (see ``results.stores.chunks.chunk_shape``)."""
    return results.stores.chunks.chunk_shape(at.plan.shape, at.kind, at.plan.width, at.work)


def seconds(at: Ready, on: int) -> float:
    """Return about how long a sweep into a new store takes on so many cores, its audit included."""
    shape = at.plan.shape
    chunks = math.prod(-(-n // c) for n, c in zip(shape, chunk_shape(at), strict=True))
    spent = (
        math.prod(shape) * at.work + chunks * work.seconds("chunk variable", len(at.plan.variables))
    ) / on
    again = audits.wanted(at, None)
    return spent + (work.seconds("audit") + work.seconds("audit point", again) if again else 0.0)


def not_counted(at: Ready) -> str:
    """Say why a sweep may take far longer or shorter than is declared; empty where it should not."""
    if at.points is not None or at.kind == "array":
        return ""
    every = list(itertools.islice(map(at.grid.question, at.grid.kinds()), KINDS))
    if at.path is None:
        return ROUGH if any(map(work.is_rough, every)) else ""
    searched = at.kind == "search" or bool(getattr(at.path, "without", {}))
    limited = any(q.limits for q in every)
    return WITHOUT_DESIGN if limited and (searched or any(q.uncertain is not None for q in every)) else ""


def told(at: Ready, workers: int | None = None, client: Any = None) -> dict[str, Any]:
    """Return the way as values that JSON has.

    ``goes``, ``method``, ``why`` where points go one by one, ``about_seconds`` and the number of ``cores`` assumed;
    ``not_counted``: why it may take far longer or shorter.
    """
    goes = SINGLY if at.path is None else SEARCHED if at.path.kind == "search" else AT_ONCE
    on = cores(at, workers, client)
    method = at.plan.attributes["method"]
    return {
        "goes": goes,
        "method": f"{method}{UNTRIED}" if at.choice.untried else method,
        "why": list(at.choice.reasons),
        "about_seconds": float(f"{seconds(at, on):.1g}"),
        "cores": on,
        "not_counted": not_counted(at),
    }


def words(way: dict[str, Any]) -> str:
    """Say the way in one line."""
    on = plural(way["cores"], "core")
    about = _seconds_text(way["about_seconds"])
    more = f", {way['not_counted']}" if way["not_counted"] else ""
    return f"{way['goes']}, about {about} on {on}{more}: {'; '.join(way['why']) or way['method']}"


def _seconds_text(about: float) -> str:
    if about < 1.0:
        return "a second"
    for size, name in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if about >= 2.0 * size:
            return f"{float(f'{about / size:.2g}'):g} {name}"
    return f"{about:g} s"
