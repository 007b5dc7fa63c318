"""A sweep over the rows of a table beside the same questions as a grid, whose points have neighbours."""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import dse
from benchmarks.harness import Bench, Way, agrees
from scenarios import Scenario, grid

TITLE = "Rows of a table, time per point"
DEADLINES, BODIES = (0.02, 1.0), (5e4, 1e5)
SEED = 2026
TURNS = 2
"""Times that the processor time of each is taken; the least counts."""


def benches(points: int = 1_000_000) -> list[Bench]:
    """Deadlines by numbers of bodies, as a grid and as a table of the same points in any order."""
    folder = Path(tempfile.mkdtemp(prefix="dse-bench-"))
    as_grid, order = _asked(None, points), np.random.default_rng(SEED).permutation(math.isqrt(points) ** 2)
    as_rows = _asked(_written(as_grid, order, folder / "points.csv"), points)
    size, place = len(order), np.argsort(order)

    def swept(asked: Scenario) -> Any:
        shutil.rmtree(folder / "store", ignore_errors=True)
        return dse.sweep(asked, folder / "store", progress=False, audit=0)["objective"].to_numpy().reshape(-1)

    @contextmanager
    def removed() -> Iterator[None]:
        try:
            yield
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return [
        Bench(
            f"{size:.0e} rows of least energy within a deadline",
            Way("rows of a table into a Zarr store", lambda: swept(as_rows)[place], bound="yes", points=size),
            (Way("the same points as a grid", lambda: swept(as_grid), bound="yes", points=size),),
            check=agrees,
            rounds=3,
            remark=lambda _: _by_the_processor(lambda: swept(as_rows), lambda: swept(as_grid)),
            during=removed,
        )
    ]


def _by_the_processor(rows: Any, points: Any) -> str:
    """Say how the least processor times compare, taken in turns: on a busy machine they say more than the clock."""
    took: list[list[float]] = [[], []]
    for _ in range(TURNS):
        for times, task in zip(took, (rows, points), strict=True):
            began = time.process_time()
            task()
            times.append(time.process_time() - began)
    ratio = min(took[0]) / min(took[1])
    return f"In processor time, the rows take {ratio:.2f} times what the grid takes; reading the table is not counted."


def _asked(table: Path | None, points: int) -> Scenario:
    side = math.isqrt(points)
    deadline = {"path": "limits.time.max", "start": DEADLINES[0], "stop": DEADLINES[1], "num": side}
    bodies = {"path": "given.bodies", "start": BODIES[0], "stop": BODIES[1], "num": side}
    columns = {"limits.time.max": "deadline", "given.bodies": "bodies"}
    rows = {"rows": {"table": str(table), "columns": columns}}
    return dse.load(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": {"bodies": BODIES[1], "flops_per_pair": 10},
            "decide": {"processors": {"max": 65536}, "memory": {}},
            "objective": {"minimize": "energy"},
            "limits": {"time": {"max": DEADLINES[1]}},
            "sweep": {"deadline": deadline, "bodies": bodies} if table is None else rows,
        }
    )


def _written(asked: Scenario, order: np.ndarray[Any, Any], file: Path) -> Path:
    """Write the points of a grid as rows in this order."""
    deadlines, bodies = (np.asarray(a.values, float) for a in grid(asked).axes)
    every = np.stack([a.reshape(-1)[order] for a in np.meshgrid(deadlines, bodies, indexing="ij")], axis=1)
    lines = (f"{t!r},{n!r}\n" for t, n in every.tolist())
    file.write_text("deadline,bodies\n" + "".join(lines), encoding="utf-8")
    return file
