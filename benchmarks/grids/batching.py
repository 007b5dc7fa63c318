"""A million certified optima over a grid, beside what one would write by hand; and the same with whole processors."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import dse
import results.stores.chunks
from benchmarks.harness import Bench, Way, agrees
from benchmarks.questions.solving import COUNTS, FLOATS, FREE, WHOLE, nbody
from benchmarks.without_dse import by_hand
from dse.sweeping.points import chunk_work
from scenarios import Scenario, grid
from solvers.answer import answer

TITLE = "Points solved together, time per point"
FIRST, LAST = 0.0012, 1.0
"""The shortest deadlines are out of reach of the most processors, and a third of the others binds."""
CHEAPER = 0.5


def benches(points: int = 1_000_000, whole: int = 100_000, searched: int = 10_000) -> list[Bench]:
    """Deadlines by prices of a flop: real processors into a store, and whole ones; what is no geometric program."""
    return [_into_a_store(points), _whole(whole), _capped(searched), _transforms(searched)]


def _scenario(processors: dict[str, Any], points: int) -> Scenario:
    side = math.isqrt(points)
    deadline = {"path": "limits.time.max", "start": FIRST, "stop": LAST, "num": side, "spacing": "log"}
    factors = np.linspace(1.0, CHEAPER, points // side).tolist()
    price = {"path": "machine.energy_per_flop", "factors": factors}
    asked = nbody(processors, time={"max": LAST})
    return dse.load({**asked, "sweep": {"deadline": deadline, "price": price}})


def _deadlines(asked: Scenario, count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return places along the deadlines, at the first price, and the deadlines there: what hand-written ways solve."""
    values = np.asarray(grid(asked).axes[0].values, float)
    few = np.unique(np.linspace(0, values.size - 1, count).astype(int))
    return few, values[few]


def _only(size: int, places: np.ndarray[Any, Any], found: list[float]) -> np.ndarray[Any, Any]:
    all_of_them = np.full(size, np.nan)
    all_of_them[places] = found
    return all_of_them


def _at_once(asked: Scenario) -> np.ndarray[Any, Any]:
    """Solve chunk after chunk and keep nothing but the objective: no store, no look at the answers."""
    ready = chunk_work.ready(grid(asked))
    assert ready.path is not None, "this grid is solved together"
    found = np.empty(ready.plan.shape)
    shape = results.stores.chunks.chunk_shape(ready.plan.shape, ready.path.kind, ready.plan.width)
    for _, region in results.stores.chunks.chunk_slices(ready.plan.shape, shape):
        found[region] = ready.path.solve(ready.plan, region)[0]["objective"]
    return found[:, 0]


def _into_a_store(points: int) -> Bench:
    asked, folder = _scenario(FREE, points), Path(tempfile.mkdtemp(prefix="dse-bench-"))
    size = grid(asked).shape[0]
    some, few = _deadlines(asked, 100), _deadlines(asked, 12)

    def ours() -> Any:
        shutil.rmtree(folder / "ours", ignore_errors=True)
        return dse.sweep(asked, folder / "ours", progress=False, audit=0)["objective"][:, 0].to_numpy()

    def by_cvxpy() -> Any:
        problem, limit = by_hand.cvxpy_problem()
        found = []
        for limit.value in some[1]:
            found.append(float(problem.solve(gp=True, solver="CLARABEL")))
        return _only(size, some[0], found)

    def by_scip() -> Any:
        return _only(size, few[0], [by_hand.scip("energy", t) for t in few[1]])

    @contextmanager
    def removed() -> Iterator[None]:
        try:
            yield
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return Bench(
        f"{grid(asked).size:.0e} points of the GP, real processors",
        Way("dse.sweep into a Zarr store", ours, bound="yes", points=grid(asked).size),
        (
            Way(
                f"Pyomo + SCIP, built anew ({few[0].size} points)", by_scip, bound=FLOATS, points=few[0].size
            ),
            Way(
                f"cvxpy, parameter re-used ({some[0].size} points)", by_cvxpy, bound="no", points=some[0].size
            ),
        ),
        bare=Way("the solves alone", lambda: _at_once(asked), bound="yes", points=grid(asked).size),
        check=agrees,
        warm=True,
        rounds=5,
        during=removed,
    )


def _whole(points: int) -> Bench:
    asked = _scenario(WHOLE, points)
    size = grid(asked).shape[0]
    some = _deadlines(asked, 50)
    return Bench(
        f"{grid(asked).size:.0e} points of the MIGP, whole processors",
        Way("dse.sweep in memory", lambda: _swept(asked), bound="yes", points=grid(asked).size),
        (
            Way(
                f"NumPy, every p, best M derived by hand ({some[0].size} points)",
                lambda: _only(size, some[0], [_least(t) for t in some[1]]),
                bound="yes, all designs tried",
                points=some[0].size,
            ),
        ),
        bare=Way("the solves alone", lambda: _at_once(asked), bound="yes", points=grid(asked).size),
        check=agrees,
        warm=True,
        rounds=5,
    )


def _capped(points: int) -> Bench:
    """Least time under caps on average power, by prices of a flop: ratios of sums."""
    side = math.isqrt(points)
    caps = {"path": "limits.power.max", "start": 300.0, "stop": 30_000.0, "num": side, "spacing": "log"}
    price = {"path": "machine.energy_per_flop", "factors": np.linspace(1.0, CHEAPER, side).tolist()}
    question = nbody(FREE, "time", power={"max": 1000.0})
    asked = dse.load({**question, "sweep": {"caps": caps, "price": price}})
    few, values = _deadlines(asked, 8)

    def by_scip() -> Any:
        return _only(side, few, [by_hand.scip("time", cap=cap) for cap in values])

    scip = Way(f"Pyomo + SCIP, built anew ({few.size} points)", by_scip, bound=FLOATS, points=few.size)
    return _searched("least time under a cap on power, real processors", asked, few, (scip,))


def _transforms(points: int) -> Bench:
    """Least energy of an FFT by deadlines and sizes: logarithms of the processors."""
    side = math.isqrt(points)
    deadlines = {"path": "limits.time.max", "start": 1e-3, "stop": 10.0, "num": side, "spacing": "log"}
    sizes = {"path": "given.points", "start": 1e6, "stop": 1e8, "num": side, "spacing": "log"}
    question = {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 1e6},
        "decide": {"processors": {}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1.0}},
    }
    asked = dse.load({**question, "sweep": {"deadlines": deadlines, "sizes": sizes}})
    few, _ = _deadlines(asked, 8)
    return _searched("least energy of an FFT, real processors", asked, few, ())


def _searched(what: str, asked: Scenario, few: np.ndarray[Any, Any], others: tuple[Way, ...]) -> Bench:
    """Points that a search closes, together beside one by one."""
    points = grid(asked)

    def alone() -> Any:
        at = (points.question((int(i), 0)) for i in few)
        found = [answer(question, neighbours=False).objective for question in at]
        return _only(points.shape[0], few, [math.nan if x is None else x for x in found])

    single = Way(f"dse, each by itself ({few.size} points)", alone, bound="yes", points=few.size)
    return Bench(
        f"{points.size:.0e} points of {what}",
        Way("dse.sweep in memory", lambda: _swept(asked), bound="yes", points=points.size),
        (single, *others),
        bare=Way("the solves alone", lambda: _at_once(asked), bound="yes", points=points.size),
        check=agrees,
        warm=True,
        rounds=5,
    )


def _swept(asked: Scenario) -> Any:
    return dse.sweep(asked, progress=False, audit=0)["objective"][:, 0].to_numpy()


def _least(deadline: float) -> float:
    """Least energy over every whole number of processors; NaN where none meets the deadline."""
    found = by_hand.every_count(COUNTS, deadline)
    return found if math.isfinite(found) else math.nan
