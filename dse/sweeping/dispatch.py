"""Handing out the chunks of a sweep to a Dask cluster or to threads, and taking back that they are done.

What travels with a chunk is its index and the name of the study; the study itself is a task of its own, which the
scheduler keeps and each worker fetches once.
"""

from __future__ import annotations

import itertools
import logging
import math
import queue
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import results.dataset
import results.stores.chunks
from dse.sweeping.cluster import clusters, news
from dse.sweeping.cluster.workers import LocalWorkers
from dse.sweeping.points.chunk_work import (
    LEFT_OVER,
    Ready,
    itself,
    prepared,
    solve_chunk,
    solve_part,
    solved,
    written,
)
from dse.sweeping.points.study import Finished, Study
from dse.system.nouns import plural
from dse.system.processes import WorkersLost
from dse.version import VERSION
from formulations import handover
from formulations.grids import over_grid
from results.solution import Solution, Status
from results.stores.chunks import ChunkIndex

IN_FLIGHT = 1000
PER_THREAD = 3
LOOK, LOOK_OFTEN = 0.5, 0.05
REFUSALS = 20
REMIND = 60.0
_GONE = "the connection to the Dask scheduler is lost; what is stored stays valid, run it again to continue"
_log = logging.getLogger("dse")


def through_dask(
    client: Any,
    local: LocalWorkers | None,
    study: Study,
    todo: list[ChunkIndex],
    patience: float | None = None,
    told: Callable[[int], None] | None = None,
) -> Iterator[Finished]:
    """Hand out chunks, a limited number at a time, and give them back as they finish.

    ``patience``: seconds that the cluster may be without workers (None: for ever). ``told`` is called with the
    number of points solved in chunks under way, every few seconds. Raises WorkersLost.
    """
    if not todo:
        return
    topic = study.run or uuid.uuid4().hex
    with ExitStack() as until:
        said = until.enter_context(news.listening(client, topic))
        if local is None:
            clusters.importable(client)
            until.enter_context(news.asking(client, topic, VERSION))
        watch = _Watch(client, local, patience, said, told or (lambda points: None))
        yield from _handed_out(watch, study, todo)


def _handed_out(watch: _Watch, study: Study, todo: list[ChunkIndex]) -> Iterator[Finished]:
    what = watch.client.submit(itself, study, pure=False)
    deadly = yield from _whole(watch, what, study, todo)
    if deadly:
        # what ended them may have had nothing to do with the chunk
        _log.warning("workers ended again and again at %s, tried once more", plural(len(deadly), "chunk"))
        deadly = yield from _whole(watch, what, study, deadly)
    for index in deadly:
        _log.warning("workers ended again at chunk %s: it is divided to find the points that do it", index)
        yield _in_parts(watch, what, study, index)


def _whole(
    watch: _Watch, what: Any, study: Study, todo: list[ChunkIndex]
) -> Generator[Finished, None, list[ChunkIndex]]:
    """Hand out chunks; returns those whose workers died each time."""
    waiting, deadly = iter(todo), list[ChunkIndex]()
    ended: queue.SimpleQueue[tuple[ChunkIndex, Any]] = queue.SimpleQueue()
    running = watch.running

    def refill() -> None:
        if len(running) > watch.most // 2:
            return
        # many tasks in one message cost the scheduler a fraction of what they cost one by one
        batch = list(itertools.islice(waiting, watch.most - len(running)))
        futures = watch.client.map(solve_chunk, [what] * len(batch), batch, pure=False) if batch else []
        for index, future in zip(batch, futures, strict=True):
            running[index] = future
            future.add_done_callback(lambda future, index=index: ended.put((index, future)))

    refill()
    while running:
        index, future = watch.next(ended)
        running.pop(index)
        if study.store is not None and future.status == "finished":
            # what came of it stands in the store: fetching the news as well would double what a chunk costs
            watch.prosper()
            finished = Finished(index)
        else:
            finished = watch.outcome(future)
        if finished is None:
            deadly.append(index)
        else:
            yield finished
        refill()
    return deadly


def through_threads(
    at: Ready, study: Study, todo: list[ChunkIndex], told: Callable[[int], None] | None = None
) -> Iterator[Finished]:
    """Compute chunks in threads of this process, and give them back as they finish.

    ``told`` is called with the number of points solved in chunks under way, every now and then.
    """
    from dask.system import CPU_COUNT

    waiting = iter(todo)
    # one more than there are cores: a thread that has written waits for the disk
    threads = CPU_COUNT + 1
    pool = ThreadPoolExecutor(threads)
    # Ctrl-C may come at any moment, and reach another thread: nothing here is waited for without looking up
    ended: queue.SimpleQueue[Future[Finished]] = queue.SimpleQueue()
    running = set[Future[Finished]]()
    points = dict[ChunkIndex, int]()

    def begin(count: int) -> None:
        for index in itertools.islice(waiting, count):
            running.add(future := pool.submit(solved, at, study, index, partial(points.__setitem__, index)))
            future.add_done_callback(ended.put)

    try:
        begin(2 * threads)
        while running:
            try:
                one = ended.get(timeout=LOOK)
            except queue.Empty:
                if told is not None:
                    told(sum(list(points.values())))
                continue
            running.remove(one)
            points.pop((finished := one.result()).index, None)
            yield finished
            begin(1)
    except BaseException as problem:
        # a thread cannot be ended
        under_way = sum(not one.cancel() and not one.done() for one in running)
        if under_way and isinstance(problem, KeyboardInterrupt | GeneratorExit):
            many = f"{plural(under_way, 'chunk')} under way {'is' if under_way == 1 else 'are'}"
            _log.warning(
                "interrupted: %s finished%s first; Ctrl-C again ends at once", many, _and_stored(study)
            )
        while not all(one.done() for one in running):
            time.sleep(LOOK_OFTEN)
        raise
    finally:
        # not waited for again where a second Ctrl-C came meanwhile
        pool.shutdown(wait=False)


def _and_stored(study: Study) -> str:
    return "" if study.store is None else " and stored"


class _Watch:
    """Waits for tasks, and looks after who computes them meanwhile."""

    def __init__(
        self,
        client: Any,
        local: LocalWorkers | None,
        patience: float | None,
        said: news.News,
        told: Callable[[int], None],
    ) -> None:
        self.client, self._local, self._patience = client, local, patience
        self._said, self._told_points = said, told
        self.running: dict[ChunkIndex, Any] = {}
        self.apart = 0  # points of a chunk that is solved in parts
        self._refused = 0  # since the last task that came to an end
        self.most = IN_FLIGHT
        self._seen = self._told = time.monotonic()
        self._look_after()

    def next(self, ended: queue.SimpleQueue[Any]) -> Any:
        """Wait for the next task that ends."""
        while True:
            self._listen()
            try:
                return ended.get(timeout=LOOK)
            except queue.Empty:
                self._look_after()

    def _look_after(self) -> None:
        if self.client.status not in {"running", "connecting"}:
            raise WorkersLost(_GONE)
        if self._local is not None:
            self._local.tend()
            return
        try:
            info = self.client.scheduler_info(n_workers=0)
        except OSError:
            return  # it is looked at again, and a connection that is lost has its own message
        self.most = max(IN_FLIGHT, PER_THREAD * int(info.get("total_threads", 0)))
        if info.get("n_workers", 1):
            self._seen = time.monotonic()
        else:
            self._miss()

    def _listen(self) -> None:
        """Say which workers cannot take part, and how far the others are."""
        for worker, why in self._said.refused():
            self._refused += 1
            message = f"the worker {worker} {why}; install the same where the workers run"
            if self._refused >= REFUSALS:
                raise WorkersLost(f"no worker that joined can take part: {message}")
            _log.warning("%s (the sweep goes on without it)", message)
        self._told_points(self.apart + self._said.points(self.running.__contains__))

    def _miss(self) -> None:
        """Say that there is no worker, and give up when that has lasted too long."""
        now = time.monotonic()
        if self._patience is not None and now - self._seen > self._patience:
            raise WorkersLost(
                f"the cluster has had no worker for {now - self._seen:.0f} s; what is stored stays valid. Look at its "
                "queue and at the logs of its jobs, or give more time (--patience), and run it again to continue"
            )
        if now - max(self._told, self._seen) > REMIND:
            self._told = now
            _log.warning("still waiting: the cluster has had no worker for %.0f s", now - self._seen)

    def prosper(self) -> None:
        """Take note that a task came to an end, so that the workers do not die of themselves."""
        self._refused = 0
        if self._local is not None:
            self._local.restarts = 0

    def outcome(self, future: Any) -> Any:
        """Return the result of a task, or None where it killed its workers."""
        from distributed import KilledWorker

        if future.status == "cancelled":
            raise WorkersLost(_GONE)
        self.prosper()
        while True:
            try:
                return future.result(timeout=LOOK)
            except TimeoutError:
                # the worker may have died with the result: it is computed again
                if future.status == "error":
                    raise
                self._look_after()
            except KilledWorker:
                return None
            except ImportError as problem:
                told = f"the workers cannot import dse: {problem}; install it where they run"
                raise WorkersLost(told) from problem
            except RuntimeError as problem:
                # what Dask says where its scheduler cannot read what it is sent
                if "deserialization of the task graph" not in str(problem):
                    raise
                told = (
                    f"the scheduler cannot import dse: {problem.__cause__ or ''}; install it where that runs"
                )
                raise WorkersLost(told) from problem


def _in_parts(watch: _Watch, what: Any, study: Study, index: ChunkIndex) -> Finished:
    """Solve a chunk whose workers died again and again in halves, and halves of these: points that do it become errors.

    A way for many points at once gives each the same numbers whichever others are asked.
    """
    at = prepared(study)
    chunk = results.stores.chunks.block(at.plan.shape, study.chunks, index)
    arrays = results.dataset.blank(at.plan, over_grid.sides(chunk))
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    alone, under_way, why = 0, 0, dict[str, int]()

    def begin(part: tuple[slice, ...]) -> None:
        nonlocal under_way
        under_way += 1
        future = watch.client.submit(solve_part, what, part, pure=False)
        future.add_done_callback(lambda future: ended.put((part, future)))

    # points that died beside others, which may have ended the worker: each is asked once more, by itself
    again, by_itself = list[tuple[slice, ...]](), False
    for half in _halves(chunk):
        begin(half)
    while under_way or again:
        if not under_way:
            by_itself = True
            begin(again.pop())
        part, future = watch.next(ended)
        under_way -= 1
        points = math.prod(over_grid.sides(part))
        found = watch.outcome(future)
        if found is None and points > 1:
            for half in _halves(part):
                begin(half)
            continue
        if found is None and not by_itself:
            again.append(part)
            continue
        if found is None:
            died = Solution(Status.ERROR, message="the worker process died each time it tried")
            found = results.dataset.to_arrays(at.plan, [died], over_grid.sides(part)), 1, {}
        own, left, reasons = found
        alone += left
        why = handover.merged([why, reasons])
        place = tuple(slice(s.start - c.start, s.stop - c.start) for s, c in zip(part, chunk, strict=True))
        for name, values in own.items():
            arrays[name][place] = values
        watch.apart += points
    watch.apart = 0
    return written(at, study, index, arrays, {"alone": alone, LEFT_OVER: why})


def _halves(part: tuple[slice, ...]) -> list[tuple[slice, ...]]:
    """Divide a block along its longest side; one of a point is alone."""
    sides = over_grid.sides(part)
    axis = max(range(len(sides)), key=sides.__getitem__)
    whole = part[axis]
    middle = (whole.start + whole.stop) // 2
    cut = [slice(whole.start, middle), slice(middle, whole.stop)]
    return [(*part[:axis], some, *part[axis + 1 :]) for some in cut if some.stop > some.start]
