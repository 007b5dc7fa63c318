"""Grids that no memory holds, and sweeps on several processes: time, memory and efficiency.

``python -m benchmarks.grids.at_scale SIDE STORE`` evaluates one grid in a process of its own and prints its peak
memory.
"""

from __future__ import annotations

import math
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import zarr

import dse
from benchmarks.harness import Bench, Result, Way, agrees
from benchmarks.questions.solving import INPUT
from benchmarks.without_dse import by_hand_grids
from benchmarks.without_dse.by_hand_grids import ENDS, METRICS
from dse.models.model import Model
from dse.quantities import Quantity
from dse.sweeping.cluster.workers import LocalWorkers
from formulations import evaluation
from scenarios import Scenario, grid

TITLE = "Out of core, and on several processes"
TURNS = 12_000
"""Of a loop of sines: some 1 ms for a point, so that a chunk of 500 points takes about half a second."""


def benches(
    side: int = 10_000, sides: tuple[int, ...] = (316, 1000, 3162, 10_000), points: int = 6000
) -> list[Bench]:
    """Evaluate ``side`` squared points into a store, watch memory as ``sides`` grow, share chunks of ``points``."""
    return [_into_a_store(side), _memory(sides), _shared(points)]


def scenario(side: int) -> Scenario:
    """Return the n-body step over processors and memory, nothing decided."""
    axes = {
        name: {"path": f"given.{name}", "start": low, "stop": high, "num": side, "spacing": "log"}
        for name, (low, high) in ENDS.items()
    }
    return dse.load({"model": "nbody", "machine": "balanced", "given": INPUT, "sweep": axes})


def _into_a_store(side: int) -> Bench:
    asked, folder = scenario(side), Path(tempfile.mkdtemp(prefix="dse-bench-"))
    question = grid(asked).question((0, 0))

    def kernel(p: Any, m: Any) -> Any:
        given: dict[str, Any] = {**question.given, "processors": p, "memory": m}
        return evaluation.metrics(replace(question, given=given), {})

    def ours() -> Any:
        shutil.rmtree(folder / "ours", ignore_errors=True)
        return sample(dse.evaluate(asked, folder / "ours", METRICS, progress=False))

    def hand(how: Any) -> Any:
        by_hand_grids.to_zarr(str(folder / "hand"), side, how)
        return sample(zarr.open_group(folder / "hand", mode="r"))

    def sample(found: Any) -> Any:
        some = np.linspace(0, side - 1, 5).astype(int)
        return np.array([[float(found[name][i, i]) for i in some] for name in METRICS])

    @contextmanager
    def removed() -> Iterator[None]:
        try:
            yield
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    points = side * side
    return Bench(
        f"{points:.0e} evaluations of the n-body step, two metrics, to Zarr",
        Way("dse.evaluate into a store", ours, points=points),
        (
            Way("the same equations, blocks and writes by hand", lambda: hand(kernel), points=points),
            Way(
                "two formulas in NumPy, the same by hand",
                lambda: hand(by_hand_grids.time_and_energy),
                points=points,
            ),
        ),
        check=agrees,
        warm=False,
        rounds=5,
        during=removed,
    )


def _memory(sides: tuple[int, ...]) -> Bench:
    ways = [
        Way(
            f"{side * side:.0e} points",
            command=(sys.executable, "-m", "benchmarks.grids.at_scale", str(side)),
            read=lambda printed: float(printed.split()[-1]),
        )
        for side in sides
    ]
    return Bench(
        f"peak memory of a process that evaluates {sides[0] ** 2:.0e} to {sides[-1] ** 2:.0e} points to Zarr",
        ways[0],
        tuple(ways[1:]),
        check=lambda ours, theirs: (
            f"peak {theirs:.0f} MB, {theirs / ours:.2f} times that of the first ({ours:.0f} MB)"
        ),
        warm=False,
        rounds=1,
    )


def _equations(g: Any) -> dict[str, Any]:
    """Take a while, and plain numbers only (arrays would be evaluated at once)."""
    if g.size < 0:
        raise ValueError("sizes are positive")
    return {"time": g.size + 0.0 * sum(math.sin(k) for k in range(TURNS))}


def _shared(points: int) -> Bench:
    size = Quantity("size", "n", "", "size")
    model = Model(
        "bench_slow", "takes a while", "", (), (size,), (Quantity("time", "T", "s", "time"),), (), _equations
    )
    dse.register(model)
    axis = {"path": "given.size", "start": 1, "stop": points, "num": points}
    asked = dse.load({"model": "bench_slow", "sweep": {"size": axis}})
    pools: dict[int, LocalWorkers] = {}

    @contextmanager
    def workers() -> Iterator[None]:
        with (
            LocalWorkers(1, ("dse.sweeping.points.chunk_work",)) as one,
            LocalWorkers(2, ("dse.sweeping.points.chunk_work",)) as two,
        ):
            pools.update({1: one, 2: two})
            for count, pool in pools.items():
                pool.client.wait_for_workers(count, timeout=120)
                dse.sweep(
                    dse.load({"model": "bench_slow", "sweep": {"size": {**axis, "num": 200}}}),
                    client=pool.client,
                    progress=False,
                )
            yield
            pools.clear()

    def on(count: int) -> Any:
        return dse.sweep(asked, client=pools[count].client, progress=False)["time"].to_numpy()

    both = Way("dse.sweep, 2 workers", lambda: on(2), points=points)
    one = Way("dse.sweep, 1 worker", lambda: on(1), points=points)

    def efficiency(result: Result) -> str:
        shares = sorted(1 / (2 * r) for r in result.ratios(both, one))
        chunk = 500 * statistics.median(result.measured[one.name].seconds)
        spread = f"{statistics.median(shares):.0%} ({shares[0]:.0%} to {shares[-1]:.0%})"
        return f"Efficiency of 2 workers against 1: {spread}; a chunk takes {chunk:.2g} s."

    return Bench(
        f"{points} points in chunks of 500, 2 workers against 1 (started and warm)",
        both,
        (one,),
        check=agrees,
        warm=False,
        rounds=5,
        remark=efficiency,
        during=workers,
    )


def _peak() -> float:
    """Return the largest resident memory of this process since it was started, in MB."""
    import resource

    status = Path("/proc/self/status")
    if status.exists():
        # unlike what getrusage says, this begins anew with the program
        found = next(
            line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM")
        )
        return float(found.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="dse-bench-") as place:
        dse.evaluate(scenario(int(sys.argv[1])), Path(place) / "store", METRICS, progress=False)
        print(_peak())
