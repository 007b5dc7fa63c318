"""All metrics over a grid at once, beside the same formulas in plain NumPy.

Both compute every metric, broadcast to the grid. What is plain stops at a dictionary of arrays; ours also
checks the scenario's axes and labels every array with its name, unit and source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import dse
from benchmarks.harness import Bench, Way, agrees
from benchmarks.questions.solving import INPUT
from benchmarks.without_dse import by_hand
from formulations import evaluation
from scenarios import grid

TITLE = "Evaluation over a grid, time per point"
NBODY = {"processors": (1e2, 1e4), "memory": (1e2, 1e4)}
ROOFLINE = {"flops": (1e9, 1e12), "intensity": (0.125, 512.0)}
THROTTLED = {**ROOFLINE, "throttle": (1.0, 8.0)}
TITAN = {"model": "roofline", "machine": "gtx-titan-choi2014"}
Metrics = Mapping[str, Any]


def benches(sides: tuple[int, ...] = (100, 1000)) -> list[Bench]:
    """Two axes at each of some sizes, and three with as many points as the last."""
    nbody = {"model": "nbody", "machine": "balanced", "given": INPUT}
    cube = round(sides[-1] ** (2 / 3))
    return [
        *(_bench("n-body", nbody, NBODY, by_hand.metrics, side) for side in sides),
        *(_bench("roofline", TITAN, ROOFLINE, by_hand.roofline, side) for side in sides),
        _bench("roofline", TITAN, THROTTLED, by_hand.roofline, cube),
    ]


def _bench(
    name: str,
    base: Mapping[str, Any],
    ends: Mapping[str, tuple[float, float]],
    formulas: Callable[..., Metrics],
    side: int,
) -> Bench:
    """Compare over a grid of ``side`` values per axis; ``formulas`` takes the axes in the order of ``ends``."""
    shape, points = (side,) * len(ends), side ** len(ends)
    sweep = {
        n: {"path": f"given.{n}", "start": low, "stop": high, "num": side, "spacing": "log"}
        for n, (low, high) in ends.items()
    }
    scenario = dse.load({**base, "sweep": sweep})
    axes = np.meshgrid(*(np.geomspace(*e, side) for e in ends.values()), indexing="ij", sparse=True)
    asked = grid(scenario).question((0,) * len(ends))
    given: dict[str, Any] = {**asked.given, **dict(zip(ends, axes, strict=True))}
    spread = replace(asked, given=given)

    def plain() -> Metrics:
        return {n: np.broadcast_to(v, shape) for n, v in formulas(*axes).items()}

    return Bench(
        f"{name}, {' x '.join(ends)}: {' x '.join(map(str, shape))}",
        Way("dse.evaluate, labelled dataset", lambda: dse.evaluate(scenario), points=points),
        (Way("plain NumPy, all metrics", plain, points=points),),
        bare=Way("dse, arrays only", lambda: evaluation.metrics(spread, {}), points=points),
        check=_all_agree,
        rounds=25,
        memory=True,
    )


def _all_agree(ours: Metrics, theirs: Metrics) -> str:
    """Say whether all of our metrics are the same to 1e-6 relative, and which is not."""
    lacking = [str(n) for n in ours if n not in theirs]
    if lacking:
        return f"NO: without {', '.join(lacking)}"
    found = {str(n): _agree(np.asarray(ours[n]), np.asarray(theirs[n])) for n in ours}
    wrong = [f"{n} {said}" for n, said in found.items() if not said.startswith("yes")]
    return "; ".join(wrong) if wrong else f"yes, {len(found)} metrics"


def _agree(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> str:
    # the range of intensities in which the cap holds may have no end
    same = np.isinf(ours) == np.isinf(theirs)
    return agrees(ours, theirs) if same.all() else "NO: infinite at other points"
