"""What one task of a sweep does: solve the points of a chunk and write them into the store.

Whoever computes a chunk writes it itself and reports only that it is done, so that results never pass through
one process.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

import dse.models
import results.chunks
import results.dataset
import results.store
import scenarios
from dse.models.model import Model
from dse.version import VERSION
from dse.workers import WorkersLost
from formulations.evaluation import RowKey
from results.chunks import ChunkIndex
from results.dataset import Arrays, Layout
from results.solution import Solution, Status
from scenarios.question import Search
from solvers import batched, series
from solvers.answer import answer
from solvers.program_front import ProgramFront

FRONTS = 100
METHOD = "each point solved by itself, or looked up along a limit in an exact front of its question"
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class Study:
    """All that a worker needs to compute any chunk of a sweep.

    ``text`` and ``file``: the scenario as written. ``store``: where results go, None: they are handed back.
    ``model``: a model that only the caller knows. ``only``: names of the variables to keep (None: all).
    """

    text: str
    file: str
    chunks: tuple[int, ...]
    store: str | None = None
    model: Model | None = None
    version: str = VERSION
    only: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """A chunk is done; ``arrays`` only where there is no store to write to."""

    index: ChunkIndex
    arrays: Arrays | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A grid and how it is answered, made once in each process.

    ``plan``: the layout of its dataset. ``path``: the way that answers a whole block at once, None: point by point.
    ``front``: the exact front along a limit, asked for once for each line.
    """

    grid: scenarios.Grid
    plan: Layout
    path: batched.Path | None
    front: Callable[[tuple[int, ...], RowKey], ProgramFront | None]


def ready(grid: scenarios.Grid, only: Sequence[str] | None = None) -> Ready:
    """Decide how a grid is answered; all processes decide alike. ``only``: the variables to keep (None: all)."""

    def front(start: tuple[int, ...], key: RowKey) -> ProgramFront | None:
        if searched:
            return None
        try:
            return series.front(grid.question(start), key)
        except Exception:  # whatever it is, the points are then solved (and fail) one by one
            return None

    searched = _searched(grid)
    # a black box is run design by design anyway, and so each failure keeps its message
    apart = searched or next(iter(grid.bases.values())).model.black_box
    path = None if apart else batched.path(grid)
    plan = results.dataset.layout(grid, {"method": searched or (METHOD if path is None else path.method)})
    if only is not None:
        plan = results.dataset.only(plan, only)
    return Ready(grid, plan, path, lru_cache(maxsize=FRONTS)(front))


def _searched(grid: scenarios.Grid) -> str:
    """Say how a sampler answers every point, where it does; a black box is evaluated where nothing is decided."""
    base = next(iter(grid.bases.values()))
    if not base.decide or not (base.search or base.model.black_box):
        return ""
    asked = base.search or Search()
    return f"each point by itself: {asked.trials} trials of Optuna {asked.sampler}, seed {asked.seed}"


@lru_cache(maxsize=4)
def prepared(study: Study) -> Ready:
    """Read a study's scenario in this process."""
    if study.model is not None and study.model.name not in dse.models.names():
        dse.models.register(study.model)
    return ready(scenarios.grid(scenarios.from_text(study.text, study.file)), study.only)


def solve_chunk(study: Study, index: ChunkIndex) -> Finished:
    """Solve all points of a chunk and write it to the store, if there is one.

    Raises StoreError where the store cannot be written and WorkersLost where this process has another version of
    dse.
    """
    if study.version != VERSION:
        raise WorkersLost(
            f"a worker has dse {VERSION}, this is dse {study.version}; install the same on both"
        )
    return solved(prepared(study), study, index)


def solved(at: Ready, study: Study, index: ChunkIndex, told: Callable[[int], None] | None = None) -> Finished:
    """Solve a chunk in this process; ``told`` is called with the number of points solved so far."""
    region = results.chunks.block(at.plan.shape, study.chunks, index)
    if at.path is not None and side_by_side(at):
        arrays = _at_once(at, at.path, region)
    else:
        # Pyomo deadlocks in threads, and a worker of somebody else's cluster may have several
        with _one_at_a_time:
            arrays = _point_by_point(at, region, told) if at.path is None else _at_once(at, at.path, region)
    return written(study, index, arrays)


def side_by_side(at: Ready) -> bool:
    """Tell whether chunks of this grid may be computed in several threads of one process."""
    return bool(getattr(at.path, "threads", False))


def solve_point(study: Study, place: tuple[int, ...]) -> Solution:
    """Solve one point of a grid."""
    with _one_at_a_time:
        return _solve(prepared(study).grid, place)


def written(study: Study, index: ChunkIndex, arrays: Arrays) -> Finished:
    """Write a chunk into the store; without one, hand its arrays back."""
    if study.store is None:
        return Finished(index, arrays)
    results.store.write_chunk(study.store, index, arrays)
    return Finished(index)


def places(region: tuple[slice, ...]) -> Iterator[tuple[int, ...]]:
    """Go through the points of a block in C order."""
    return itertools.product(*(range(s.start, s.stop) for s in region))


def _at_once(at: Ready, path: batched.Path, region: tuple[slice, ...]) -> Arrays:
    """Answer a block by one vectorised call, and what that leaves over one by one."""
    began = time.perf_counter()
    arrays, left = path.solve(at.plan, region)
    if "seconds" in arrays:
        arrays["seconds"][...] = (time.perf_counter() - began) / max(left.size, 1)
    one = (1,) * left.ndim
    for where in map(tuple, np.argwhere(left).tolist()):
        place = tuple(s.start + i for s, i in zip(region, where, strict=True))
        alone = results.dataset.to_arrays(at.plan, [_solve(at.grid, place)], one)
        for name, values in alone.items():
            arrays[name][where] = values[(0,) * left.ndim]
    return arrays


def _point_by_point(at: Ready, region: tuple[slice, ...], told: Callable[[int], None] | None) -> Arrays:
    found: dict[tuple[int, ...], Solution] = {}
    for line in lines(at.grid, region):
        for place, solution in _solve_line(at, line):
            found[place] = solution
            if told is not None:
                told(len(found))
    shape = [s.stop - s.start for s in region]
    return results.dataset.to_arrays(at.plan, [found[place] for place in places(region)], shape)


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
        yield from (Line((place,)) for place in places(region))
        return
    i = max(long, key=lambda k: region[k].stop - region[k].start)
    steps = range(region[i].start, region[i].stop)
    key = RowKey(grid.targets[i].name, grid.targets[i].side)
    values = tuple(float(grid.axes[i].values[k]) for k in steps)
    for start in places((*region[:i], slice(0, 1), *region[i + 1 :])):
        yield Line(tuple((*start[:i], k, *start[i + 1 :]) for k in steps), key, values, start)


def _solve_line(at: Ready, line: Line) -> Iterator[tuple[tuple[int, ...], Solution]]:
    """Solve points that differ in one limit at most: from an exact front where there is one, else one by one."""
    began = time.perf_counter()
    told: Sequence[Solution | None] | None = None
    if line.key is not None:
        try:
            front = at.front(line.start, line.key)
            asked = at.grid.question(line.start)
            told = None if front is None else series.along(front, asked, line.key, line.values)
        except Exception:  # whatever it is, the points are then solved (and fail) one by one
            told = None
    seconds = (time.perf_counter() - began) / len(line.places)
    for i, place in enumerate(line.places):
        quick = told[i] if told is not None else None
        yield place, replace(quick, seconds=seconds) if quick is not None else _solve(at.grid, place)


def _solve(grid: scenarios.Grid, place: tuple[int, ...]) -> Solution:
    began = time.perf_counter()
    try:
        return answer(grid.question(place), neighbours=False)
    except Exception as problem:
        # one point must not take its chunk down; what is wrong is stored with the point
        message = f"{type(problem).__name__}: {problem}"
        return Solution(Status.ERROR, message=message, seconds=time.perf_counter() - began)
