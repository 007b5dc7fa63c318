"""Solving a scenario at every point of its grid, chunk by chunk.

A chunk is the unit of work, of storage and of the done marker. Whoever computes a chunk writes it into the
store itself and reports only that it is done, so that results never pass through one process.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import results.dataset
import results.stores.chunks
import results.stores.files.locks
import results.stores.files.storage
import results.stores.store
import scenarios
from dse.models.model import refuse_left_out
from dse.quantities import plural
from dse.sweeping import audits, extending, grid_way
from dse.sweeping.cluster.workers import LocalWorkers
from dse.sweeping.dispatch import through_dask, through_threads
from dse.sweeping.points import chunk_work
from dse.sweeping.points.chunk_work import Ready
from dse.sweeping.points.study import Finished, Study
from dse.sweeping.targets import Target
from dse.system.processes import WorkersLost
from dse.system.progress import Report, announce, reporting
from dse.system.records import dataclass
from formulations.grids import over_grid
from results.dataset import Layout
from results.layouts import explained_layout
from results.stores import grown
from results.stores.chunks import ChunkIndex
from results.variables import OF_LIMITS

if TYPE_CHECKING:
    import xarray as xr

    from solvers.others.pyomo_points import By

COUNTED = 10_000_000
"""Points of a grid of which it is counted how many are known."""


def sweep(
    scenario: scenarios.Scenario,
    store: str | Path | None = None,
    client: Any = None,
    workers: int | None = None,
    progress: bool | Report | None = None,
    metrics: Sequence[str] | None = None,
    patience: float | None = None,
    audit: int | None = None,
    *,
    retry_failed: bool = False,
    extend: bool = False,
    by: By | None = None,
    full: bool = False,
    why: bool = True,
) -> xr.Dataset:
    """Solve a scenario at every point of its grid and return the labelled dataset.

    ``store``: a Zarr store that is filled as chunks finish, and continued where it exists; None: in memory.
    ``client``: a Dask client whose workers to use; else ``workers`` processes of this machine (default: one
    for each core; 1, or a small grid: the calling process). ``progress``: see ``dse.system.progress.reporting``.
    ``metrics``: names of those to keep beside the answers (None: all). ``patience``: seconds that the client's
    cluster may be without any worker (None: for ever; a line on standard error says that it is). ``audit``: how
    many points are answered again by other means (None: 20 where a fast way answered at least a thousand);
    ``retry_failed``: also solve points again that an earlier run stored as ``error``. ``extend``: the store may hold
    the same question with fewer values on its axes; its points are taken over as they are, only what is missing is
    computed, and the store is replaced when all is done. ``by``: a solver that answers every point through Pyomo, in
    place of our own methods. ``full``: also keep what stands beside each answer (see
    ``results.layouts.explained_layout``). ``why``: keep what limits have to do with each answer: which bind, or
    conflict, and what they are worth.

    What the audit found is the attribute ``audit`` of the dataset, see ``dse.sweeping.audits.figures``.

    Raises ScenarioError where nothing is swept or there are several objectives, StoreError for a store that
    belongs to another question (with ``extend``: in more than values of its axes) or cannot be written (NoRoom: the
    disk is full; StoreBusy: another sweep is filling it), WorkersLost where the workers or their
    cluster end, UnknownName for a metric that the model does not have. A point that fails is recorded as ``error``
    with its message.
    """
    if store is not None:
        results.stores.files.storage.fillable(store)
    grid = scenarios.grid(scenario)
    _refuse_without_sweep(scenario, grid)
    if full:
        _refuse_names(scenario, grid)
    plan = results.dataset.layout(grid, full=full)
    only = None if metrics is None and why else _answers_and(metrics, grid, plan)
    if not why:
        only = tuple(v.name for v in plan.variables if v.name in (only or ()) and v.role not in OF_LIMITS)
    return run(
        scenario,
        grid,
        store,
        client,
        workers,
        progress,
        only,
        patience,
        audit,
        retry_failed=retry_failed,
        extend=extend,
        by=by,
        full=full,
    )


def metrics_named(metrics: Sequence[str] | None, grid: scenarios.Grid, plan: Layout) -> tuple[str, ...]:
    """Return the names of the variables that hold these metrics (None: all that there are).

    Raises UnknownName for a name that is not a metric of the question, with what its machines lack for it.
    """
    for base in grid.bases.values():
        refuse_left_out(base.model, metrics or ())
    return results.dataset.metrics_named(plan, metrics)


def _answers_and(metrics: Sequence[str] | None, grid: scenarios.Grid, plan: Layout) -> tuple[str, ...]:
    """Return the variables of answers and of these metrics; what is decided stays, as the audit needs it."""
    kept = metrics_named(metrics, grid, plan)
    decided = {d.name for base in grid.bases.values() for d in base.decide}
    return tuple(
        v.name
        for v in plan.variables
        if v.role not in {"metric", "family"} or v.name in kept or decided.intersection(v.elements.values())
    )


def run(
    scenario: scenarios.Scenario,
    grid: scenarios.Grid,
    store: str | Path | None,
    client: Any,
    workers: int | None,
    progress: bool | Report | None,
    only: tuple[str, ...] | None,
    patience: float | None = None,
    audit: int | None = None,
    *,
    retry_failed: bool = False,
    extend: bool = False,
    by: By | None = None,
    full: bool = False,
) -> xr.Dataset:
    """Compute the variables named in ``only`` (None: all) at every point of a grid; see ``sweep``."""
    if not grid.axes:
        raise _nothing_swept(scenario)
    if client is not None and client.status in {"closed", "closing"}:
        raise WorkersLost("the Dask client is closed: give one that is connected, or none")
    ready = chunk_work.of_scenario(scenario, grid, only, by, full=full)
    if ready.points is not None:
        ready.points.checked(scenario.file)
    path = None if store is None else results.stores.files.storage.absolute(store)
    if path is not None:
        grown.recover(path)
        extending.refuse_other_worlds(path, scenario)
        extending.refuse_fewer(extending.worlds_in(path, scenario), scenario, path)
    before = extending.before(path, scenario, ready) if extend and path is not None else None
    announce(
        progress, f"{plural(grid.size, 'point')}: {grid_way.words(grid_way.told(ready, workers, client))}"
    )
    todo = _Todo(scenario, only, client, workers, progress, patience, audit, retry_failed, by, full)
    if before is None or path is None:
        return todo.filled(ready, path)
    # nobody else fills or extends the store meanwhile
    with results.stores.files.locks.held(path):
        # another one may have extended it before the lock was there
        before = extending.before(path, scenario, ready)
        if before is not None:
            extending.clear(path, scenario)
            count = int(before.known(over_grid.whole(grid)).sum()) if grid.size <= COUNTED else 0
            announce(progress, f"{count or 'many'} of them are in {path} already")
            if lost := extending.left_behind(path):
                announce(progress, lost)
            todo.filled(replace(ready, before=before), grown.beside(path), path)
            grown.swap(path)
    # all is done where it was extended
    return results.stores.store.open(path) if before is not None else todo.filled(ready, path)


@dataclass(frozen=True, slots=True)
class _Todo:
    """What a run was asked, beside its grid; see ``sweep``."""

    scenario: scenarios.Scenario
    only: tuple[str, ...] | None
    client: Any
    workers: int | None
    progress: bool | Report | None
    patience: float | None
    audit: int | None
    retry_failed: bool
    by: By | None
    full: bool

    def filled(self, ready: Ready, store: str | None, extends: str | None = None) -> xr.Dataset:
        """Fill a store; ``extends``: the one whose points are taken over."""
        carried = None if extends is None else extending.told(extends)
        with Target(
            ready, self.scenario, store, ready.kind, retry=self.retry_failed, carried=carried
        ) as where:
            study = Study(
                self.scenario.text,
                self.scenario.file,
                where.chunks,
                where.path,
                chunk_work.own_models(self.scenario),
                only=self.only,
                run=uuid.uuid4().hex,
                tables=() if where.path is not None else tuple(self.scenario.tables.values()),
                extends=extends,
                damaged=frozenset() if ready.before is None else ready.before.damaged,
                by=self.by,
                full=self.full,
            )
            chunk_work.know(study, ready)
            count = audits.wanted(ready, self.audit) if where.todo() else 0
            with audits.beginning(ready, study, count) as ahead:
                self._fill(ready, study, where)
                return where.finish(study, self.audit, ahead)

    def _fill(self, ready: Ready, study: Study, where: Target) -> None:
        """Compute all chunks that are not done."""
        tally = _Tally(ready.plan, where)
        with _naming(tally, where), reporting(self.progress) as report:
            report(tally.points, tally.total)

            def further(points: int) -> None:
                report(min(tally.points + points, tally.total), tally.total)

            for finished in self._computed(ready, study, where.todo(), further):
                tally.count(finished)
                report(tally.points, tally.total)
            for finished in self._computed(ready, replace(study, retry=True), where.retry, further):
                where.take(finished)
            # a worker that a killed run left behind may have been at a chunk of ours
            where.look(again=True)
            for finished in self._computed(ready, study, where.todo(), further):
                where.take(finished)

    def _computed(
        self, at: Ready, study: Study, todo: list[ChunkIndex], further: Callable[[int], None]
    ) -> Iterator[Finished]:
        """Go through the chunks as they are done: by this process, its threads, helpers, or the client's workers."""
        crowd = _crowd(self.client, grid_way.processes(at, self.workers), len(todo))
        if todo and crowd == 0 and self.workers is None and chunk_work.side_by_side(at):
            yield from through_threads(at, study, todo, further)
        elif todo and crowd == 0:
            for index in todo:
                yield chunk_work.solved(at, study, index, further)
        elif todo:
            with _workers(self.client, crowd, study) as (connected, local):
                yield from through_dask(connected, local, study, todo, self.patience, further)


@contextmanager
def _naming(tally: _Tally, where: Target) -> Iterator[None]:
    """Let the message of a sweep that cannot go on say what is stored."""
    try:
        yield
    except results.stores.store.StoreError as problem:
        kept = f"{tally.points} of {plural(tally.total, 'point')}"
        if where.there():
            raise type(problem)(f"{problem}; {kept} are stored") from problem
        # whatever was missed first
        gone = f"the store is gone, and with it {kept} that were stored"
        raise results.stores.store.StoreError(
            f"{where.path} was removed while it was being filled: {gone}"
        ) from problem


def _refuse_without_sweep(scenario: scenarios.Scenario, grid: scenarios.Grid) -> None:
    if not grid.axes:
        raise _nothing_swept(scenario)
    if len(grid.first.objectives) > 1:
        raise scenarios.ScenarioError.of(
            scenario.file,
            "objective",
            "several objectives make a front at every point, not an answer",
            "use `dse front FILE`, in Python dse.front(scenario), or keep one objective",
        )


def _refuse_names(scenario: scenarios.Scenario, grid: scenarios.Grid) -> None:
    """Refuse axes whose names a dataset of full depth needs."""
    problems = [
        scenarios.Problem(
            scenario.file,
            f"sweep.{a.name}",
            f"at depth full the dataset needs the name {a.name} for itself",
            f'give the axis another name, such as "{a.name}_axis"',
        )
        for a in grid.axes
        if a.name in explained_layout.NAMES
    ]
    if problems:
        raise scenarios.ScenarioError(problems)


def _nothing_swept(scenario: scenarios.Scenario) -> scenarios.ScenarioError:
    return scenarios.ScenarioError.of(
        scenario.file, "sweep", "no axis is swept", "add [sweep.NAME], or use dse solve"
    )


def _crowd(client: Any, workers: int, chunks: int) -> int:
    """How many processes to use beside the calling one; 0: none."""
    if client is not None:
        return 1
    wanted = min(workers, chunks)
    return wanted if wanted > 1 else 0


@contextmanager
def _workers(client: Any, crowd: int, study: Study) -> Iterator[tuple[Any, LocalWorkers | None]]:
    """Give the client to use, and the local workers behind it where they are ours."""
    if client is not None:
        yield client, None
        return
    storing = () if study.store is None else ("zarr",)
    with LocalWorkers(crowd, (chunk_work.__name__, *storing)) as local:
        yield local.client, local


class _Tally:
    """Counts points done, those of earlier runs included."""

    def __init__(self, plan: Layout, where: Target) -> None:
        self._plan, self._where = plan, where
        self.total = math.prod(plan.shape)
        self.points = sum(self._size(i) for i in where.done)

    def _size(self, index: ChunkIndex) -> int:
        return math.prod(
            over_grid.sides(results.stores.chunks.block(self._plan.shape, self._where.chunks, index))
        )

    def count(self, finished: Finished) -> None:
        """Take over a finished chunk."""
        self._where.take(finished)
        self.points += self._size(finished.index)
