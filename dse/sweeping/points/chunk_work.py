"""What one task of a sweep does: solve the points of a chunk and write them into the store.

Whoever computes a chunk writes it itself and reports only that it is done, so that results never pass through
one process.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import dse.models
import results.dataset
import results.stores.chunks
import results.stores.store
import scenarios
from dse.models.model import Model
from dse.sweeping.checks import checking
from dse.sweeping.cluster import news
from dse.sweeping.points import robust_points
from dse.system.arrays import Bools, Integers
from dse.system.processes import WorkersLost, keep_freed_memory
from dse.system.records import dataclass
from dse.version import VERSION
from formulations import handover
from formulations.grids import over_grid
from formulations.grids.over_grid import Spread
from results.dataset import Arrays, Layout
from results.solution import Solution, Status
from results.stores import grown
from results.stores.chunks import ChunkIndex
from results.stores.files.pieces import Kept, kept_of
from results.stores.grown import Before
from scenarios.structured.kernels import model_names
from solvers import many_points, paths
from solvers.answer import answers, put_alone
from solvers.side_by_side import run_apart

if TYPE_CHECKING:
    from solvers.others.pyomo_points import By, Points
from dse.sweeping.points.declared import ALONE, FULL, declared, searched, why_apart
from dse.sweeping.points.one_by_one import answered, places
from dse.sweeping.points.piecewise import SEARCHED_OFF, UNKNOWN_OFF, Pace, Solved, Told, in_pieces
from dse.sweeping.points.study import Finished, Study

LEFT_OVER = "left_over"
SIDE_BY_SIDE = 64
"""Points that are answered side by side: from there on the kernel's calls cost what their programs cost."""
STUDIES_KEPT = 4
FEW_TO_EXPLAIN = 1000
"""Designs of a table up to which it is about known how long it takes to tell why none will do."""
_one_at_a_time = threading.Lock()
_unwritable: dict[str, results.stores.store.StoreError] = {}


@dataclass(frozen=True, slots=True)
class Ready:
    """A grid and how it is answered, made once in each process.

    ``plan``: the layout of its dataset. ``path``: the way that answers a whole block at once, None: point by point.
    ``spread``: the grid as arrays.
    ``choice``: why this way was chosen. ``work``: what a point costs, in declared seconds (see ``solvers.work``).
    ``before``: the store of fewer points that this grid extends. ``points``: where the user asked for a solver, the
    points through Pyomo. ``pace``: how fast this process answers them.
    """

    grid: scenarios.Grid
    plan: Layout
    path: many_points.Path | None
    spread: Spread
    choice: many_points.Choice = field(default_factory=many_points.Choice)
    work: float = 0.0
    before: Before | None = None
    points: Points | None = None
    pace: Pace = field(default_factory=Pace, compare=False)

    @property
    def kind(self) -> str:
        """How the grid is cut into chunks (see ``results.stores.chunks.chunk_shape``)."""
        return "point" if self.path is None else self.path.kind


_ready: dict[Study, Ready] = {}


def ready(grid: scenarios.Grid, only: Sequence[str] | None = None, *, full: bool = False) -> Ready:
    """Decide how a grid is answered; all processes decide alike. ``only``: the variables to keep (None: all).

    ``full``: with what stands beside answers. Within ``solvers.many_points.effort.quickly`` less is tried to tell how
    long it takes.
    """
    sampled, base = searched(grid), next(iter(grid.bases.values()))
    apart = why_apart(grid)
    choice = many_points.Choice(reasons=(apart,)) if apart else paths.chosen(grid)
    if full and not getattr(choice.path, "explains", choice.path is None):
        choice = many_points.Choice(reasons=(FULL,), exceptions=choice.exceptions)
    path = choice.path
    method = sampled or (ALONE if path is None else path.method)
    plan = results.dataset.kept(grid, {"method": method, **robust_points.about(base, grid)}, only, full=full)
    return Ready(grid, plan, path, over_grid.spread(grid), choice, declared(grid, choice, full=full))


def of_scenario(
    asked: scenarios.Scenario,
    grid: scenarios.Grid,
    only: Sequence[str] | None = None,
    by: By | None = None,
    *,
    full: bool = False,
) -> Ready:
    """Decide how the grid of a scenario is answered: as ``ready`` does, or point by point by the user's solver."""
    if by is None:
        return ready(grid, only, full=full)
    from solvers.others import pyomo_points

    found = pyomo_points.points(asked, grid, by)
    plan = results.dataset.kept(grid, {"method": found.method}, only, full=full)
    choice, spread = many_points.Choice(reasons=(found.why,)), over_grid.spread(grid)
    return Ready(grid, plan, None, spread, choice, found.work, points=found)


def read(study: Study) -> scenarios.Scenario:
    """Read a study's scenario in this process."""
    for model in study.models:
        if model.name not in dse.models.names():
            dse.models.register(model)
    # a store has the rows of tables in its coordinates
    tables = study.tables or (() if study.store is None else results.stores.store.tables(study.store))
    return scenarios.from_text(study.text, study.file, tables)


def prepared(study: Study) -> Ready:
    """Read a study's scenario in this process, and decide how its grid is answered, unless that is known."""
    found = _ready.get(study)
    if found is None:
        found = of_scenario(
            asked := read(study), scenarios.grid(asked), study.only, study.by, full=study.full
        )
        if study.extends is not None:
            found = replace(found, before=grown.before(study.extends, found.plan, study.damaged))
        know(study, found)
    return found


def know(study: Study, at: Ready) -> None:
    """Keep how the grid of a study is answered, for its chunks that this process computes."""
    while len(_ready) >= STUDIES_KEPT:
        _ready.pop(next(iter(_ready)), None)
    _ready[study] = at


def part(at: Ready, places: Sequence[Integers]) -> Ready:
    """Return some places along each axis of a grid, answered in the same way."""
    path = None if at.path is None else at.path.part(places)
    choice = replace(at.choice, later=lambda: [p.part(places) for p in at.choice.later()])
    grid = at.grid.part(places)
    through = None if at.points is None else at.points.part(places)
    return replace(
        at, grid=grid, path=path, choice=choice, spread=at.spread.part(places), before=None, points=through
    )


def own_models(scenario: scenarios.Scenario) -> tuple[Model, ...]:
    """Return the models that were registered by the caller: workers have to be told of them."""
    return tuple(m for n in model_names(scenario) if not dse.models.our_own(m := dse.models.get(n)))


def itself(study: Study) -> Study:
    """Return a study: a task that the tasks of its chunks refer to, so that it travels once to each worker."""
    return study


def solve_chunk(study: Study, index: ChunkIndex) -> Finished:
    """Solve all points of a chunk and write it to the store, if there is one.

    Raises StoreError where the store cannot be written and WorkersLost where this process has another version of
    dse.
    """
    if study.version != VERSION:
        raise WorkersLost(
            f"a worker has dse {VERSION}, this is dse {study.version}; install the same on both"
        )
    try:
        return solved(prepared(study), study, index, news.teller(study.run, index))
    except results.stores.store.StoreError as problem:
        told = type(problem)(*problem.args)
    # without its causes: an exception of another library may not survive the way back, and take ours with it
    raise told


def solved(at: Ready, study: Study, index: ChunkIndex, told: Told | None = None) -> Finished:
    """Solve a chunk in this process; ``told`` is called with the number of points solved so far."""
    if study.run in _unwritable:
        # the sweep is ending: what would be computed could not be stored
        raise _unwritable[study.run]
    if not study.retry and study.store is not None and results.stores.store.is_done(study.store, index):
        # handed out again after its worker died with the news
        return Finished(index)
    region = results.stores.chunks.block(at.plan.shape, study.chunks, index)
    kept = None if study.retry or study.store is None else kept_of(study.store, index)
    if study.retry:
        began = time.perf_counter()
        arrays, alone, reasons = _retried(at, study, index, region, told)
        spent = time.perf_counter() - began
    else:
        (arrays, alone, reasons), spent = _by_pieces(at, region, told, kept)
    done = written(at, study, index, arrays, {"seconds": spent, "alone": alone, LEFT_OVER: reasons})
    if kept is not None:
        kept.clear()
    return done


def _by_pieces(
    at: Ready, region: tuple[slice, ...], told: Told | None, kept: Kept | None
) -> tuple[Solved, float]:
    """Solve a chunk piece by piece, with the seconds that it took; in one where rows are put in order together."""
    if at.kind == "array" or (at.path is not None and at.spread.scattered):
        began = time.perf_counter()
        return _anew(at, region, told), time.perf_counter() - began
    solve = partial(_anew, at)
    # how long it takes to tell why none of many designs will do, or none in samples, nobody knows before
    large = max(getattr(at.path, "without", {}).values(), default=0.0) > FEW_TO_EXPLAIN
    sampled = at.grid.question((0,) * len(at.grid.shape)).uncertain is not None
    off = SEARCHED_OFF if at.kind == "search" else 1.0
    if large or sampled or at.path is None:
        off = UNKNOWN_OFF
    declared = math.inf if large else at.work * math.prod(over_grid.sides(region))
    return in_pieces(at.grid, at.plan, region, solve, at.pace, declared, off, told, kept)


def _anew(at: Ready, region: tuple[slice, ...], told: Told | None) -> Solved:
    """Solve a block; also how many points a way for whole blocks left over, and why."""
    # Pyomo deadlocks in threads, and a worker of somebody else's cluster may have several
    with nullcontext() if side_by_side(at) else _one_at_a_time:
        known = at.before
        found = _computed(at, region, told) if known is None else _extended(at, known, region)
    arrays, alone, why = found
    for reason in at.choice.exceptions:
        # a way that could not even be tried leaves every point to the next one
        why.count(reason, math.prod(s.stop - s.start for s in region))
    return arrays, alone, why.reasons


def everything(at: Ready) -> Arrays:
    """Solve a whole grid in this process."""
    return _computed(at, over_grid.whole(at.grid), None)[0]


def _computed(at: Ready, region: tuple[slice, ...], told: Told | None) -> tuple[Arrays, int, handover.Tally]:
    """Solve a block; also says how many points a way for whole blocks left over, and why."""
    keep_freed_memory()

    def apart(left: Bools) -> list[Solution]:
        with _one_at_a_time if side_by_side(at) else nullcontext():
            return _apart(at, region, left, told)

    return answers(at.grid, at.plan, region, _in_turn(at), apart)


@dataclass(frozen=True, slots=True)
class _OneAtATime:
    """A way that several threads may not use at once, beside one that they may."""

    path: many_points.Path
    method: str

    def solve(self, *asked: Any) -> tuple[Arrays, Bools]:
        with _one_at_a_time:
            return self.path.solve(*asked)


def _in_turn(at: Ready) -> Iterator[Any]:
    """Go through the ways of a grid that answer whole blocks; at full depth only the first tells what stands beside."""
    if at.path is None:
        return
    yield at.path
    for path in () if at.plan.full else at.choice.later():
        alone = side_by_side(at) and not getattr(path, "threads", False)
        yield _OneAtATime(path, path.method) if alone else path


def _extended(at: Ready, before: Before, region: tuple[slice, ...]) -> tuple[Arrays, int, handover.Tally]:
    """Take over what is known of a block, and solve what is not; otherwise as ``_computed``."""
    arrays = results.dataset.blank(at.plan, tuple(s.stop - s.start for s in region))
    before.fill(arrays, region)
    alone, why = 0, handover.Tally()
    for chosen in before.missing(region):
        some = part(at, [s.start + p for p, s in zip(chosen, region, strict=True)])
        own, left, reasons = _computed(some, over_grid.whole(some.grid), None)
        alone += left
        for reason, count in reasons.reasons.items():
            why.count(reason, count)
        for name, values in own.items():
            arrays[name][np.ix_(*chosen)] = values
    return arrays, alone, why


def _retried(
    at: Ready, study: Study, index: ChunkIndex, region: tuple[slice, ...], told: Told | None
) -> Solved:
    """Solve the points of a stored chunk that failed, one by one; beside its arrays what is noted of it already."""
    assert study.store is not None, "only what is stored can be tried again"
    arrays = results.stores.store.read_chunk(study.store, index)
    failed = arrays["status"] == results.dataset.STATUS_CODES[Status.ERROR]
    before = results.stores.store.notes(study.store, [index]).get(index, {})
    with _one_at_a_time:
        put_alone(at.plan, arrays, failed, _apart(at, region, failed, told))
    return arrays, before.get("alone", 0), before.get(LEFT_OVER, {})


def side_by_side(at: Ready) -> bool:
    """Tell whether chunks of this grid may be computed in several threads of one process."""
    return bool(getattr(at.path, "threads", False))


def solve_part(study: Study, region: tuple[slice, ...]) -> Solved:
    """Solve a block of a chunk; also how many points a way for whole blocks left over, and why."""
    return _anew(prepared(study), region, None)


def written(
    at: Ready, study: Study, index: ChunkIndex, arrays: Arrays, note: Mapping[str, Any] | None = None
) -> Finished:
    """Judge a chunk and write it into the store; without one, hand its arrays back."""
    began = time.perf_counter()
    region = results.stores.chunks.block(at.plan.shape, study.chunks, index)
    found = checking.judged(at.spread, at.plan, region, arrays)
    told = {**(note or {}), "check": found.told(), "check_seconds": time.perf_counter() - began}
    if study.store is None:
        return Finished(index, arrays, told)
    try:
        results.stores.store.write_chunk(study.store, index, arrays, told)
    except results.stores.store.StoreError as problem:
        _unwritable[study.run] = problem
        raise
    return Finished(index, note=told)


def _apart(at: Ready, region: tuple[slice, ...], left: Bools, told: Told | None) -> list[Solution]:
    """Solve the points of a block that are ``left``, each by itself; the others count as solved.

    So many side by side that the kernel gets its programs together. Where a program of the user's runs, or another
    solver, each is answered before the next.
    """
    some = list(itertools.compress(places(region), left.flat))
    found: list[Solution] = []
    beside = 1 if at.points is not None or why_apart(at.grid) else SIDE_BY_SIDE
    ended = itertools.count(left.size - len(some) + 1)
    why = any(v.role == "binding" for v in at.plan.variables)

    def answer(place: tuple[int, ...]) -> Solution:
        solution = answered(at.grid, place, at.points, full=at.plan.full, why=why)
        if told is not None:
            told(next(ended))
        return solution

    for first in range(0, len(some), beside):
        tasks = [partial(answer, place) for place in some[first : first + beside]]
        began = time.perf_counter()
        several = [task() for task in tasks] if beside == 1 else run_apart(tasks)
        seconds = (time.perf_counter() - began) / len(tasks)
        found += [replace(solution, seconds=seconds) for solution in several]
    return found
