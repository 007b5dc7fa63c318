"""How far a stored sweep is, from the done markers alone: its numbers are not read."""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import results.stores.chunks
import results.stores.files.locks
import results.stores.identities
import results.stores.store
from dse.sweeping.points.chunk_work import LEFT_OVER
from formulations import handover
from formulations.grids import over_grid
from results.dataset import STATUS_CODES
from results.solution import Status
from results.stores.chunks import ChunkIndex

PAUSE = 30.0
"""Seconds without a chunk that end a run, unless its chunks take that long themselves."""
USUAL = 10.0
_NAMES = {str(code): status.value for status, code in STATUS_CODES.items()}


def status(store: str | Path) -> dict[str, Any]:
    """Return how far a sweep is, as values that JSON has.

    ``points``, ``done``, ``failed`` (those of status error), ``pending``, ``statuses``, ``chunks`` and
    ``chunks_done``; ``points_per_second`` of the last run (None: not known) and ``seconds_left`` at that rate;
    ``running``: who fills it at present (None: nobody); ``solve_seconds`` spent by all workers together;
    ``points_solved_singly`` and why (``left_over``: points by reason); ``identity``. Raises StoreError where there is
    no store of a sweep, and StoreDamaged where files of it are missing or have another size.
    """
    results.stores.store.check(store)
    identity = results.stores.store.identity(store)
    attributes = results.stores.store.attributes(store)
    notes = results.stores.store.notes(store)
    running = results.stores.files.locks.holder(store)
    shape, chunks = results.stores.store.shape(store), tuple(identity[results.stores.store.CHUNKS])
    sizes = {i: math.prod(over_grid.sides(results.stores.chunks.block(shape, chunks, i))) for i in notes}
    points, done = math.prod(shape), sum(sizes.values())
    counts = {code: sum(int(n.get("statuses", {}).get(code, 0)) for n in notes.values()) for code in _NAMES}
    rate = _points_per_second(notes, sizes, running)
    return {
        "store": str(store),
        "title": attributes.get("title", ""),
        "identity": results.stores.identities.digest(identity),
        "points": points,
        "done": done,
        "failed": counts[str(STATUS_CODES[Status.ERROR])],
        "pending": points - done,
        "statuses": {_NAMES[code]: n for code, n in counts.items() if n},
        "chunks": math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True)),
        "chunks_done": len(notes),
        "points_per_second": rate,
        "seconds_left": (points - done) / rate if rate else None,
        "running": running,
        "solve_seconds": sum(float(n.get("seconds", 0.0)) for n in notes.values()),
        "points_solved_singly": sum(int(n.get("alone", 0)) for n in notes.values()),
        LEFT_OVER: handover.merged(n.get(LEFT_OVER, {}) for n in notes.values()),
    }


def _points_per_second(
    notes: Mapping[ChunkIndex, Mapping[str, Any]],
    sizes: Mapping[ChunkIndex, int],
    running: Mapping[str, Any] | None,
) -> float | None:
    """Return points per second of the run that is under way, else of the last one."""
    written = sorted(
        (float(n["written"]), sizes[i], float(n.get("seconds", 0.0)))
        for i, n in notes.items()
        if "written" in n
    )
    if running and "since" in running:
        since = float(running["since"])
        took = time.time() - since
        mine = [n for t, n, _ in written if t >= since]
        # the clock may have been set back since it began
        return sum(mine) / took if mine and took > 0 else None
    if len(written) < 2:
        return None
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(written)]
    pause = max(PAUSE, USUAL * statistics.median(gaps))
    first = max((i + 1 for i, gap in enumerate(gaps) if gap > pause), default=0)
    last = written[first:]
    # workers that end together begin together, too
    took = last[-1][0] - min(t - seconds for t, _, seconds in last)
    return sum(n for _, n, _ in last) / took if took > 0 else None
