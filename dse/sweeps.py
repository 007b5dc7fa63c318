"""Solving a scenario at every point of its grid, chunk by chunk.

A chunk is the unit of work, of storage and of the done marker. Whoever computes a chunk writes it into the
store itself and reports only that it is done, so that results never pass through one process.
"""

from __future__ import annotations

import itertools
import math
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dse.models
import results.chunks
import results.dataset
import results.memory
import results.store
import scenarios
from dse.models.model import Model
from dse.progress import Report, reporting
from dse.version import VERSION
from dse.workers import LocalWorkers, WorkersLost
from formulations.evaluation import RowKey
from results.chunks import ChunkIndex
from results.dataset import Arrays, Layout
from results.solution import Solution, Status
from solvers import series
from solvers.answer import answer
from solvers.program_front import ProgramFront

if TYPE_CHECKING:
    import xarray as xr

IN_FLIGHT = 1000
FEW_POINTS = 100
FRONTS = 100
LOOK = 0.5
METHOD = "each point solved by itself, or looked up along a limit in an exact front of its question"
_GONE = "the connection to the Dask scheduler is lost; what is stored stays valid, run it again to continue"
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class Study:
    """All that a worker needs to compute any chunk of a sweep.

    ``text`` and ``file``: the scenario as written. ``store``: where results go, None: they are handed back.
    ``model``: a model that only the caller knows.
    """

    text: str
    file: str
    chunks: tuple[int, ...]
    store: str | None = None
    model: Model | None = None
    version: str = VERSION


@dataclass(frozen=True, slots=True)
class Finished:
    """A chunk is done; ``arrays`` only where there is no store to write to."""

    index: ChunkIndex
    arrays: Arrays | None = None


def sweep(
    scenario: scenarios.Scenario,
    store: str | Path | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
) -> xr.Dataset:
    """Solve a scenario at every point of its grid and return the labelled dataset.

    ``store``: a Zarr store that is filled as chunks finish, and continued where it exists; None: in memory.
    ``client``: a Dask client whose workers to use; else ``workers`` processes of this machine (default: one
    for each core; 1, or a small grid: the calling process). ``progress``: see ``dse.progress.reporting``.

    Raises ScenarioError where nothing is swept or there are several objectives, StoreError for a store that
    belongs to another question or cannot be written (NoRoom: the disk is full), WorkersLost where the workers
    or their cluster end. A point that fails is recorded as ``error`` with its message.
    """
    grid = scenarios.grid(scenario)
    _check(scenario, grid)
    ready = _ready(grid, results.dataset.layout(grid, {"method": METHOD}))
    plan = ready.plan
    where = _Target(plan, scenario, store)
    todo = [i for i, _ in results.chunks.chunk_slices(plan.shape, where.chunks) if i not in where.done]
    study = Study(scenario.text, scenario.file, where.chunks, where.path, _own_model(scenario))
    tally = _Tally(plan, where)
    crowd = _crowd(client, workers, math.prod(plan.shape), len(todo))
    with reporting(progress) as report:
        report(tally.points, tally.total)
        if crowd == 0:
            for index in todo:
                arrays = _solved(ready, study, index, lambda n: report(tally.points + n, tally.total)).arrays
                tally.count(Finished(index, arrays))
        else:
            with _workers(client, crowd) as (connected, local):
                for finished in _through_dask(connected, local, study, todo):
                    tally.count(finished)
                    report(tally.points, tally.total)
    return where.finish()


def _check(scenario: scenarios.Scenario, grid: scenarios.Grid) -> None:
    if not grid.axes:
        key, wrong, right = "sweep", "no axis is swept", "add [sweep.NAME], or use dse solve"
    elif len(grid.question((0,) * len(grid.axes)).objectives) > 1:
        key, wrong = "objective", "a front at every point of a sweep is not possible yet"
        right = "keep one objective, or leave [sweep] out and use dse front"
    else:
        return
    raise scenarios.ScenarioError([scenarios.Problem(scenario.file, key, wrong, right)])


def _crowd(client: Any, workers: int | None, points: int, chunks: int) -> int:
    """How many processes to use beside the calling one; 0: none."""
    if client is not None:
        return 1
    if workers is None:
        from dask.system import CPU_COUNT

        workers = 1 if points < FEW_POINTS else CPU_COUNT
    wanted = min(workers, chunks)
    return wanted if wanted > 1 else 0


@contextmanager
def _workers(client: Any, crowd: int) -> Iterator[tuple[Any, LocalWorkers | None]]:
    """Give the client to use, and the local workers behind it where they are ours."""
    if client is not None:
        yield client, None
        return
    with LocalWorkers(crowd, (__name__,)) as local:
        yield local.client, local


class _Target:
    """Where a sweep goes: a store on disk or memory, with the same verbs."""

    def __init__(self, plan: Layout, scenario: scenarios.Scenario, store: str | Path | None) -> None:
        self.path: str | None = None
        if store is None:
            self._memory = results.memory.Memory(plan)
            self.chunks, self.done = self._memory.chunks, self._memory.done()
        else:
            # workers may have another working directory
            self.path = str(Path(store).absolute())
            identity = {"scenario": scenario.hash, "dse": VERSION}
            self.chunks = results.store.create(self.path, plan, identity)
            self.done = results.store.done(self.path)

    def take(self, finished: Finished) -> None:
        """Keep a chunk that no worker has written."""
        if finished.arrays is not None and self.path is None:
            self._memory.write_chunk(finished.index, finished.arrays)

    def finish(self) -> xr.Dataset:
        """Tidy up and return the dataset."""
        if self.path is None:
            return self._memory.dataset()
        results.store.tidy(self.path)
        return results.store.open(self.path)


class _Tally:
    """Counts points done, those of earlier runs included."""

    def __init__(self, plan: Layout, where: _Target) -> None:
        self._plan, self._where = plan, where
        self.total = math.prod(plan.shape)
        self.points = sum(self._size(i) for i in where.done)

    def _size(self, index: ChunkIndex) -> int:
        region = results.chunks.block(self._plan.shape, self._where.chunks, index)
        return math.prod(s.stop - s.start for s in region)

    def count(self, finished: Finished) -> None:
        """Take over a finished chunk."""
        self._where.take(finished)
        self.points += self._size(finished.index)


def _own_model(scenario: scenarios.Scenario) -> Model | None:
    """Return a model that was registered by the caller: workers have to be told of it."""
    return None if dse.models.built_in(scenario.model) else dse.models.get(scenario.model)


# What runs in a worker


@dataclass(frozen=True, slots=True)
class Ready:
    """A grid, the layout of its dataset, and the exact front along a limit: asked for once for each line."""

    grid: scenarios.Grid
    plan: Layout
    front: Callable[[tuple[int, ...], RowKey], ProgramFront | None]


def _ready(grid: scenarios.Grid, plan: Layout) -> Ready:
    def front(start: tuple[int, ...], key: RowKey) -> ProgramFront | None:
        try:
            return series.front(grid.question(start), key)
        except Exception:  # whatever it is, the points are then solved (and fail) one by one
            return None

    return Ready(grid, plan, lru_cache(maxsize=FRONTS)(front))


@lru_cache(maxsize=4)
def _prepared(study: Study) -> Ready:
    if study.model is not None and study.model.name not in dse.models.names():
        dse.models.register(study.model)
    grid = scenarios.grid(scenarios.from_text(study.text, study.file))
    return _ready(grid, results.dataset.layout(grid))


def solve_chunk(study: Study, index: ChunkIndex, told: Callable[[int], None] | None = None) -> Finished:
    """Solve all points of a chunk and write it to the store, if there is one.

    ``told`` is called with the number of points solved so far. Raises StoreError where the store cannot be
    written and RuntimeError where this process has another version of dse.
    """
    if study.version != VERSION:
        raise WorkersLost(
            f"a worker has dse {VERSION}, this is dse {study.version}; install the same on both"
        )
    return _solved(_prepared(study), study, index, told)


def _solved(ready: Ready, study: Study, index: ChunkIndex, told: Callable[[int], None] | None) -> Finished:
    # Pyomo deadlocks in threads, and a worker of somebody else's cluster may have several
    with _one_at_a_time:
        region = results.chunks.block(ready.plan.shape, study.chunks, index)
        found: dict[tuple[int, ...], Solution] = {}
        for line in lines(ready.grid, region):
            for place, solution in _solve_line(ready, line):
                found[place] = solution
                if told is not None:
                    told(len(found))
        return _written(study, ready.plan, index, [found[place] for place in _places(region)])


def solve_point(study: Study, place: tuple[int, ...]) -> Solution:
    """Solve one point of a grid."""
    with _one_at_a_time:
        return _solve(_prepared(study).grid, place)


@dataclass(frozen=True, slots=True)
class Line:
    """Points of a grid that differ in one limit (``key``; None: a point by itself), and its value at each.

    ``start``: the first point of the whole grid's line, of which other chunks may hold more.
    """

    places: tuple[tuple[int, ...], ...]
    key: RowKey | None = None
    values: tuple[float, ...] = ()
    start: tuple[int, ...] = ()


def lines(grid: scenarios.Grid, region: tuple[slice, ...]) -> Iterator[Line]:
    """Cut a block of points into lines along its longest axis that changes a limit on a metric, else into points."""
    long = [
        i
        for i, t in enumerate(grid.targets)
        if t.kind == "limit"
        and t.side in {"min", "max"}
        and region[i].stop - region[i].start >= series.FEWEST
    ]
    if not long:
        yield from (Line((place,)) for place in _places(region))
        return
    i = max(long, key=lambda k: region[k].stop - region[k].start)
    steps = range(region[i].start, region[i].stop)
    key = RowKey(grid.targets[i].name, grid.targets[i].side)
    values = tuple(float(grid.axes[i].values[k]) for k in steps)
    for start in _places((*region[:i], slice(0, 1), *region[i + 1 :])):
        yield Line(tuple((*start[:i], k, *start[i + 1 :]) for k in steps), key, values, start)


def _places(region: tuple[slice, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(s.start, s.stop) for s in region))


def _solve_line(ready: Ready, line: Line) -> Iterator[tuple[tuple[int, ...], Solution]]:
    """Solve points that differ in one limit at most: from an exact front where there is one, else one by one."""
    began = time.perf_counter()
    told: Sequence[Solution | None] | None = None
    if line.key is not None:
        try:
            front = ready.front(line.start, line.key)
            asked = ready.grid.question(line.start)
            told = None if front is None else series.along(front, asked, line.key, line.values)
        except Exception:  # whatever it is, the points are then solved (and fail) one by one
            told = None
    seconds = (time.perf_counter() - began) / len(line.places)
    for i, place in enumerate(line.places):
        quick = told[i] if told is not None else None
        yield place, replace(quick, seconds=seconds) if quick is not None else _solve(ready.grid, place)


def _solve(grid: scenarios.Grid, place: tuple[int, ...]) -> Solution:
    began = time.perf_counter()
    try:
        return answer(grid.question(place), neighbours=False)
    except Exception as problem:
        # one point must not take its chunk down; what is wrong is stored with the point
        message = f"{type(problem).__name__}: {problem}"
        return Solution(Status.ERROR, message=message, seconds=time.perf_counter() - began)


def _written(study: Study, plan: Layout, index: ChunkIndex, found: list[Solution]) -> Finished:
    region = results.chunks.block(plan.shape, study.chunks, index)
    arrays = results.dataset.to_arrays(plan, found, [s.stop - s.start for s in region])
    if study.store is None:
        return Finished(index, arrays)
    results.store.write_chunk(study.store, index, arrays)
    return Finished(index)


# What runs in the calling process


def _through_dask(
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
    plan = _prepared(study).plan
    found = []
    for place in _places(results.chunks.block(plan.shape, study.chunks, index)):
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        future = client.submit(solve_point, study, place, pure=False)
        future.add_done_callback(ended.put)
        solution = _outcome(_next(ended, client, local), client, local)
        found.append(solution or Solution(Status.ERROR, message="the worker process died each time it tried"))
    return _written(study, plan, index, found)
