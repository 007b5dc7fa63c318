"""What workers say while a sweep runs: how far they are in their chunks, and that they cannot take part.

Each sweep has a topic of its own at Dask's scheduler; what is said there is small and seldom. A worker that cannot
import dse, or has another one, would end at its first task without a word: it is asked as it joins, says why, and is
closed, while the others go on.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import Any

from dse.system.records import dataclass
from results.stores.chunks import ChunkIndex

NEWS_EVERY = 2.0
"""Seconds between two words on the same chunk: a thousand workers then cost the scheduler a few percent."""

SCHEDULER_SECONDS = 10.0
"""Seconds after which a scheduler that is too busy to take a task is not waited for."""


@dataclass(slots=True)
class News:
    """What has been said since it was last asked."""

    _said: queue.SimpleQueue[dict[str, Any]] = field(default_factory=queue.SimpleQueue)
    _points: dict[ChunkIndex, int] = field(default_factory=dict)

    def hear(self, event: tuple[float, dict[str, Any]]) -> None:
        """Take a message of the topic, in whatever thread it arrives."""
        self._said.put(event[1])

    def refused(self) -> list[tuple[str, str]]:
        """Return the workers that cannot take part, each with the reason, that were not returned before."""
        found: list[tuple[str, str]] = []
        while True:
            try:
                said = self._said.get_nowait()
            except queue.Empty:
                return found
            if "why" in said:
                found.append((str(said["worker"]), str(said["why"])))
            else:
                self._points[tuple(said["chunk"])] = int(said["points"])

    def points(self, under_way: Callable[[ChunkIndex], bool]) -> int:
        """Return how many points are solved in chunks that are under way; the others are forgotten."""
        self._points = {index: n for index, n in self._points.items() if under_way(index)}
        return sum(self._points.values())


@contextmanager
def listening(client: Any, topic: str) -> Iterator[News]:
    """Hear what is said under a topic."""
    news = News()
    client.subscribe_topic(topic, news.hear)
    try:
        yield news
    finally:
        with suppress(Exception):
            client.unsubscribe_topic(topic)


@contextmanager
def asking(client: Any, topic: str, version: str) -> Iterator[None]:
    """Have every worker that joins asked whether it has this ``version`` of dse, and our Dask; we hear what it says."""
    import dask
    import distributed
    from distributed.comm import CommClosedError

    # gone from the scheduler as soon as this process is: workers that join later are nobody's business then
    lease = client.submit(str, topic, key=topic)
    _wait_for_scheduler(client, topic)
    with suppress(CommClosedError):  # one joined just before, and is closed
        wanted = {"dse": version, "dask": dask.__version__, "distributed": distributed.__version__}
        client.register_plugin(_doorkeeper(topic, wanted), name=topic)
    try:
        yield
    finally:
        # a connection that is lost needs no farewell
        if client.status == "running":
            with suppress(Exception):
                client.unregister_worker_plugin(topic)
        lease.release()


def _wait_for_scheduler(client: Any, key: str) -> None:
    """Wait until the scheduler has taken a task: a worker that asks before would find that nobody listens."""
    ends = time.monotonic() + SCHEDULER_SECONDS
    while client.sync(client.scheduler.get_task_status, keys=[key])[key] is None and time.monotonic() < ends:
        time.sleep(0.01)


def _doorkeeper(topic: str, wanted: Mapping[str, str]) -> Any:
    """Return what runs in each worker as it joins; made in here, so that it travels whole to where no dse is."""
    import importlib

    from distributed import WorkerPlugin

    class Doorkeeper(WorkerPlugin):  # type: ignore[misc]
        async def setup(self, worker: Any) -> None:
            try:
                importlib.import_module("dse.sweeping.points.chunk_work")
                theirs = {p: str(importlib.import_module(p).__version__) for p in wanted}
            except Exception as problem:
                why = f"cannot import dse: {problem}"
            else:
                differ = [f"{p} {theirs[p]} (here {wanted[p]})" for p in wanted if theirs[p] != wanted[p]]
                why = "has " * bool(differ) + ", ".join(differ)
            if not why:
                return
            found = await worker.scheduler.get_task_status(keys=[topic])
            if found[topic] is not None:
                worker.log_event(topic, {"why": why})  # the scheduler adds which worker says so
                # it gets no task any more; it closes when it has started, since its nanny waits for that
                await worker.scheduler.retire_workers(
                    workers=[worker.address], close_workers=False, remove=True
                )
                worker.loop.add_callback(worker.close, reason=f"it {why}")

    return Doorkeeper()


def teller(topic: str, index: ChunkIndex) -> Callable[[int], None] | None:
    """Return what a worker calls with the number of points that it has solved in a chunk; None: nobody hears it."""
    if not topic:
        return None
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:
        return None
    last = time.monotonic()

    def tell(points: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= NEWS_EVERY:
            last = now
            worker.log_event(topic, {"chunk": list(index), "points": points})

    return tell
