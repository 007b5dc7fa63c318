"""All metrics over a grid at once, beside the same formulas in plain NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import dse
from benchmarks import by_hand
from benchmarks.harness import Bench, Way, agrees
from benchmarks.solving import INPUT
from formulations import evaluation
from scenarios import grid

TITLE = "Evaluation over a grid, time per point"


def benches(sides: tuple[int, ...] = (100, 1000)) -> list[Bench]:
    """Processors by memory, at each of some sizes."""
    return [_bench(side) for side in sides]


def _bench(side: int) -> Bench:
    points = side**2
    axes: dict[str, Any] = {
        name: {"path": f"given.{name}", "start": 1e2, "stop": 1e4, "num": side, "spacing": "log"}
        for name in ("processors", "memory")
    }
    start = {**INPUT, "processors": 1e2, "memory": 1e2}
    scenario = dse.load({"model": "nbody", "machine": "balanced", "given": start, "sweep": axes})
    values = np.geomspace(1e2, 1e4, side)
    p, m = values[:, None], values[None, :]
    asked = grid(scenario).question((0, 0))
    given: dict[str, Any] = {**asked.given, "processors": p, "memory": m}
    spread = replace(asked, given=given)

    def labelled() -> Any:
        return dse.evaluate(scenario)["energy"].to_numpy()

    def plain() -> Any:
        found = by_hand.metrics(p, m)
        return {name: np.broadcast_to(v, (side, side)) for name, v in found.items()}["energy"]

    return Bench(
        f"n-body, {side} x {side}",
        Way(
            "dse.evaluate, labelled dataset",
            labelled,
            points=points,
        ),
        (Way("plain NumPy, all metrics", plain, points=points),),
        bare=Way("dse, arrays only", lambda: evaluation.metrics(spread, {})["energy"], points=points),
        check=agrees,
        memory=True,
    )
