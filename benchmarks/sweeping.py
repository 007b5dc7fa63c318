"""Many points of one question: time per point, in this process and on two workers."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import dse
from benchmarks import by_hand
from benchmarks.harness import Bench, Result, Way, agrees
from benchmarks.solving import FLOATS, FREE, nbody, optimum
from dse import chunk_work
from dse.workers import LocalWorkers
from scenarios import Scenario, grid

TITLE = "Sweeps, time per point"
FIRST, LAST = 0.03, 1.0
WORKERS = 2


def benches(points: int = 200, many: int = 1000) -> list[Bench]:
    """Sweep over deadlines against loops by hand, and on two processes against one."""
    return [_beside_loops(points), _on_workers(many)]


def _scenario(points: int) -> Scenario:
    axis = {"path": "limits.time.max", "start": FIRST, "stop": LAST, "num": points, "spacing": "log"}
    asked = nbody(FREE, time={"max": LAST})
    return dse.load({**asked, "sweep": {"deadline": axis}})


def _beside_loops(points: int) -> Bench:
    scenario = _scenario(points)
    deadlines = np.geomspace(FIRST, LAST, points)
    few = np.arange(0, points, max(1, points // 20))

    def sweep() -> Any:
        return dse.sweep(scenario, workers=1, progress=False)["energy"].to_numpy()

    def bare() -> Any:
        places = grid(scenario)
        return np.array([optimum(places.question((i,))) for i in range(points)])

    def by_cvxpy() -> Any:
        problem, limit = by_hand.cvxpy_problem()
        found = []
        for limit.value in deadlines:
            found.append(problem.solve(gp=True, solver="CLARABEL"))
        return np.array(found, float)

    def by_scip() -> Any:
        found = np.full(points, np.nan)
        found[few] = [by_hand.scip("energy", deadlines[i]) for i in few]
        return found

    def by_slsqp() -> Any:
        return np.array([by_hand.slsqp("energy", t) for t in deadlines])

    return Bench(
        f"{points} deadlines of the GP, one process",
        Way("dse.sweep, whole answers", sweep, bound="yes", points=points),
        (
            Way("loop of cvxpy, parameter re-used (DPP)", by_cvxpy, bound="no", points=points),
            Way(f"loop of Pyomo + SCIP ({few.size} points)", by_scip, bound=FLOATS, points=few.size),
            Way("loop of SciPy SLSQP", by_slsqp, bound="no", points=points),
        ),
        bare=Way("loop of bare optima", bare, bound="yes", points=points),
        check=agrees,
        warm=False,
        rounds=3,
    )


def _on_workers(points: int) -> Bench:
    scenario, warm_up = _scenario(points), _scenario(40)
    pool: list[LocalWorkers] = []

    @contextmanager
    def workers() -> Iterator[None]:
        with LocalWorkers(WORKERS, ("dse.chunk_work",)) as local:
            local.client.wait_for_workers(WORKERS, timeout=120)
            dse.sweep(warm_up, client=local.client, progress=False)
            dse.sweep(warm_up, workers=1, progress=False)
            pool.append(local)
            yield
            pool.clear()

    def on_both() -> Any:
        return dse.sweep(scenario, client=pool[0].client, progress=False)["energy"].to_numpy()

    def on_one() -> Any:
        return dse.sweep(scenario, workers=1, progress=False)["energy"].to_numpy()

    def in_halves() -> Any:
        study = chunk_work.Study(scenario.text, scenario.file, (points // 2,))
        halves = [pool[0].client.submit(chunk_work.solve_chunk, study, (i,), pure=False) for i in range(2)]
        return np.concatenate([half.result().arrays["energy"] for half in halves])

    one = Way("dse.sweep, one process", on_one, bound="yes", points=points)
    both = Way(f"dse.sweep, {WORKERS} worker processes", on_both, bound="yes", points=points)
    halves = Way(f"one chunk of {points // 2} on each worker", in_halves, bound="yes", points=points)

    def efficiency(result: Result) -> str:
        said = [f"{way.name} {_share(result.ratios(way, one))}" for way in (both, halves)]
        return f"Parallel efficiency, of {WORKERS} times one process: {'; '.join(said)}."

    return Bench(
        f"{points} deadlines of the GP, two processes (started and warm)",
        both,
        (halves, one),
        check=agrees,
        warm=False,
        rounds=2,
        remark=efficiency,
        during=workers,
    )


def _share(ratios: list[float]) -> str:
    shares = sorted(1 / (WORKERS * r) for r in ratios)
    return f"{statistics.median(shares):.0%} ({shares[0]:.0%} to {shares[-1]:.0%})"
