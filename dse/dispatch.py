"""Handing out the chunks of a sweep to the workers of a Dask cluster, and taking back that they are done."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import results.chunks
import results.dataset
from dse.chunk_work import Finished, Ready, Study, places, prepared, solve_chunk, solve_point, solved, written
from dse.workers import LocalWorkers, WorkersLost
from results.chunks import ChunkIndex
from results.solution import Solution, Status

IN_FLIGHT = 1000
LOOK = 0.5
_GONE = "the connection to the Dask scheduler is lost; what is stored stays valid, run it again to continue"


def through_dask(
    client: Any, local: LocalWorkers | None, study: Study, todo: list[ChunkIndex]
) -> Iterator[Finished]:
    """Hand out chunks, a limited number at a time, and give them back as they finish."""
    waiting, deadly = iter(todo), []
    ended: queue.SimpleQueue[tuple[ChunkIndex, Any]] = queue.SimpleQueue()
    running: dict[ChunkIndex, Any] = {}

    def refill() -> None:
        for index in itertools.islice(waiting, IN_FLIGHT - len(running)):
            running[index] = client.submit(solve_chunk, study, index, pure=False)
            running[index].add_done_callback(lambda future, index=index: ended.put((index, future)))

    refill()
    while running:
        index, future = _next(ended, client, local)
        running.pop(index)
        finished = _outcome(future, client, local)
        if finished is None:
            deadly.append(index)
        else:
            yield finished
        refill()
    for index in deadly:
        yield _point_by_point(client, local, study, index)


def through_threads(at: Ready, study: Study, todo: list[ChunkIndex]) -> Iterator[Finished]:
    """Compute chunks in threads of this process, one for each core, and give them back as they finish."""
    from dask.system import CPU_COUNT

    waiting = iter(todo)
    with ThreadPoolExecutor(CPU_COUNT) as pool:

        def more(count: int) -> set[Future[Finished]]:
            return {pool.submit(solved, at, study, index) for index in itertools.islice(waiting, count)}

        running = more(2 * CPU_COUNT)
        try:
            while running:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for one in ended:
                    yield one.result()
                running |= more(len(ended))
        finally:
            for one in running:
                one.cancel()


def _next(ended: queue.SimpleQueue[Any], client: Any, local: LocalWorkers | None) -> Any:
    """Wait for the next task that ends, looking after the workers meanwhile."""
    while True:
        try:
            return ended.get(timeout=LOOK)
        except queue.Empty:
            _look_after(client, local)


def _look_after(client: Any, local: LocalWorkers | None) -> None:
    if local is not None:
        local.tend()
    if client.status not in {"running", "connecting"}:
        raise WorkersLost(_GONE)


def _outcome(future: Any, client: Any, local: LocalWorkers | None) -> Any:
    """Return the result of a task, or None where it killed its workers."""
    from distributed import KilledWorker

    if future.status == "cancelled":
        raise WorkersLost(_GONE)
    if local is not None:
        # this came to an end, so the workers do not die of themselves
        local.restarts = 0
    while True:
        try:
            return future.result(timeout=LOOK)
        except TimeoutError:
            # the worker may have died with the result: it is computed again
            if future.status == "error":
                raise
            _look_after(client, local)
        except KilledWorker:
            return None
        except ImportError as problem:
            told = f"the workers cannot import dse: {problem}; install it where they run"
            raise WorkersLost(told) from problem


def _point_by_point(client: Any, local: LocalWorkers | None, study: Study, index: ChunkIndex) -> Finished:
    """Solve a chunk whose worker died again and again: the points that did it become errors."""
    plan = prepared(study).plan
    region = results.chunks.block(plan.shape, study.chunks, index)
    found = []
    for place in places(region):
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        future = client.submit(solve_point, study, place, pure=False)
        future.add_done_callback(ended.put)
        solution = _outcome(_next(ended, client, local), client, local)
        found.append(solution or Solution(Status.ERROR, message="the worker process died each time it tried"))
    arrays = results.dataset.to_arrays(plan, found, [s.stop - s.start for s in region])
    return written(study, index, arrays)
