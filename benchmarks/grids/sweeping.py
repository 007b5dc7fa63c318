"""Many points of one question: time per point, beside loops by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

import dse
from benchmarks.harness import Bench, Way, agrees
from benchmarks.questions.solving import FLOATS, FREE, nbody, optimum
from benchmarks.without_dse import by_hand
from scenarios import Scenario, grid

TITLE = "Sweeps, time per point"
FIRST, LAST = 0.03, 1.0


def benches(points: int = 200) -> list[Bench]:
    """Sweep over deadlines against loops by hand."""
    return [_beside_loops(points)]


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
