"""What one chunk costs beside its work, and one worker beside its chunks: ``python -m benchmarks.grids.scaling``.

Measured with a Dask scheduler and workers as processes of their own; docs/scaling.md reckons with these figures.
"""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

import dse
import results.stores.chunks
import results.stores.store
import scenarios
from benchmarks import report
from benchmarks.grids.at_scale import METRICS, scenario
from dse.sweeping import dispatch
from dse.sweeping.cluster.clusters import connected
from dse.sweeping.cluster.workers import HOST
from dse.sweeping.points import chunk_work
from scenarios import Scenario

TINY, TIMES = 500, 8
"""Chunks of one point each, and how often they are handed out."""
WORKERS = 50
IDLE = 10.0
MARKERS = 10_000
SIDE = 100_000
"""Of the largest grid: 1e10 points."""

CROWD = """
import asyncio, sys
from distributed import Worker

async def crowd():
    workers = [Worker(sys.argv[1], nthreads=1, memory_limit=0, dashboard=False) for _ in range(int(sys.argv[2]))]
    await asyncio.gather(*workers)
    print("there", flush=True)
    await asyncio.gather(*(w.finished() for w in workers))

asyncio.run(crowd())
"""


def main() -> None:
    """Measure and print."""
    print(f"{report.machine()}; {report.load_now()}\n{report.versions()}\n{report.today()}\n")
    for part in (sizes, store_files, largest_grid, chunk_costs, idle_workers):
        for name, value in part():
            print(f"{name:<78} {value}", flush=True)


def sizes() -> Iterator[tuple[str, str]]:
    """Bytes that travel."""
    asked = scenario(SIDE)
    study = chunk_work.Study(asked.text, asked.file, (1000, 1000), "/some/where/study.zarr", only=METRICS)
    yield "bytes of a study, once for each worker", f"{len(pickle.dumps(study))}"
    sent = (chunk_work.solve_chunk, "itself-0123456789abcdef", (12345, 67890))
    yield "bytes of a chunk's task: function, name of the study, index", f"{len(pickle.dumps(sent))}"


def store_files() -> Iterator[tuple[str, str]]:
    """Files and bytes of a store, and how long it takes to see what is done."""
    with _folder() as folder:
        store = folder / "s.zarr"
        asked = scenario(2000)
        dse.evaluate(scenario(100), folder / "first.zarr", METRICS, progress=False)
        own = time.process_time()
        dse.evaluate(asked, store, METRICS, progress=False)
        yield (
            "ms of processor to evaluate and store a million points",
            f"{(time.process_time() - own) / 4 * 1e3:.0f}",
        )
        done = store / "chunks_done"
        markers = [f for f in done.iterdir() if f.suffix == ".json" and f.name != "zarr.json"]
        data = [f for name in METRICS for f in (store / name / "c").rglob("*") if f.is_file()]
        yield (
            "files of a chunk of two metrics, its done marker included",
            f"{(len(data) + len(markers)) / 4:g}",
        )
        yield "bytes of a done marker", f"{markers[0].stat().st_size}"
        share = sum(f.stat().st_size for f in data) / (4e6 * 8 * len(METRICS))
        yield "stored bytes of these metrics (smooth: they compress), of 8 each", f"{share:.0%}"
        for i in range(MARKERS):
            shutil.copyfile(markers[0], done / f"{i}-77.json")
        began = time.perf_counter()
        found = results.stores.store.done(store)
        yield f"seconds to find which of {len(found)} chunks are done", f"{time.perf_counter() - began:.2f}"
        began = time.perf_counter()
        results.stores.store.notes(store)
        yield f"seconds to read what is noted of {len(found)} chunks", f"{time.perf_counter() - began:.2f}"


def largest_grid() -> Iterator[tuple[str, str]]:
    """Plan and create a store of 1e10 points, without computing any."""
    with _folder() as folder:
        before, began = psutil.Process().memory_info().rss, time.perf_counter()
        asked = scenario(SIDE)
        grid = scenarios.grid(asked)
        ready = chunk_work.ready(grid, METRICS)
        chunks = results.stores.chunks.chunk_shape(ready.plan.shape, "array", ready.plan.width)
        todo = list(results.stores.chunks.chunk_slices(ready.plan.shape, chunks))
        spent = time.perf_counter() - began
        used = (psutil.Process().memory_info().rss - before) / 1e6
        yield f"seconds to plan {SIDE**2:.0e} points in {len(todo)} chunks of {chunks}", f"{spent:.2f}"
        yield "MB that the plan takes", f"{used:.0f}"
        del folder


def chunk_costs() -> Iterator[tuple[str, str]]:
    """Time and processor time of a chunk beside its work: of chunks that workers find done already."""
    with (
        _scheduler() as (head, address),
        _workers(address, 2),
        connected(address) as client,
        _folder() as folder,
    ):
        client.wait_for_workers(2, timeout=120)
        asked = scenario(100)
        store = _of_single_points(asked, folder / "s.zarr")
        study = chunk_work.Study(asked.text, asked.file, (1, 1), store, only=METRICS)
        todo = [(i, j) for i in range(TINY // 100) for j in range(100)]
        list(dispatch.through_dask(client, None, study, todo))
        idle = _share(head)
        own, busy, began = time.process_time(), _busy(head), time.perf_counter()
        count = sum(1 for _ in range(TIMES) for _ in dispatch.through_dask(client, None, study, todo))
        spent = time.perf_counter() - began
        yield (
            f"ms of a chunk that is done already, {count} of them on 2 workers",
            f"{spent / count * 1e3:.2f}",
        )
        worked = _busy(head) - busy - idle * spent
        yield "ms of the scheduler's processor for a chunk", f"{worked / count * 1e3:.2f}"
        yield "ms of our own processor for a chunk", f"{(time.process_time() - own) / count * 1e3:.2f}"


def _of_single_points(asked: Scenario, store: Path) -> str:
    """Create a store whose chunks have one point each."""
    kept, results.stores.chunks.ROOM["array"] = results.stores.chunks.ROOM["array"], 1
    try:
        results.stores.store.create(
            store, chunk_work.ready(scenarios.grid(asked), METRICS).plan, {"of": "one"}, "array"
        )
    finally:
        results.stores.chunks.ROOM["array"] = kept
    return str(store)


def idle_workers() -> Iterator[tuple[str, str]]:
    """What workers cost a scheduler that has nothing to do."""
    with _scheduler() as (head, address):
        alone = _share(head)
        command = [sys.executable, "-c", CROWD, address, str(WORKERS)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as crowd:
            try:
                assert crowd.stdout is not None, "the output is a pipe"
                crowd.stdout.readline()
                each = (_share(head) - alone) / WORKERS
            finally:
                crowd.kill()
        yield f"of the scheduler's processor for one of {WORKERS} idle workers", f"{each:.3%}"
        yield "MB of the scheduler with these", f"{head.memory_info().rss / 1e6:.0f}"


def _share(process: psutil.Process) -> float:
    busy = _busy(process)
    time.sleep(IDLE)
    return (_busy(process) - busy) / IDLE


def _busy(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def _scheduler() -> Iterator[tuple[psutil.Process, str]]:
    with _folder() as folder:
        file = folder / "scheduler.json"
        told = ("--host", HOST, "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        with _process("dask", "scheduler", *told) as process:
            while not (file.exists() and file.read_text(encoding="utf-8").strip().endswith("}")):
                time.sleep(0.05)
            yield process, json.loads(file.read_text(encoding="utf-8"))["address"]


@contextmanager
def _workers(address: str, count: int) -> Iterator[None]:
    if count == 0:
        yield
        return
    told = ("--no-nanny", "--nthreads", "1", "--no-dashboard")
    with _process("dask", "worker", address, *told), _workers(address, count - 1):
        yield


@contextmanager
def _process(*arguments: str) -> Iterator[psutil.Process]:
    command: Sequence[Any] = (sys.executable, "-m", *arguments)
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dse-scaling-") as name:
        yield Path(name)


if __name__ == "__main__":
    main()
