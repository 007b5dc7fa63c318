"""What one point proves of limits is told of the points whose bounds are looser or tighter."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from scenarios.question import Question
from solvers.mechanisms.along_bounds import along_bounds
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN

NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": 1.0}, "power": {"max": 1.0}},
}


def at_points(deadlines: Any, bodies: Any) -> Question:
    """Ask at points that differ in a limit and in what is given."""
    asked = scenarios.grid(dse.load(NBODY)).question(())
    time, power = asked.limits
    return replace(
        asked, given={**asked.given, "bodies": bodies}, limits=(replace(time, maximum=deadlines), power)
    )


@pytest.mark.parametrize("unknown", [None, 3.0])
def test_every_point_is_told_what_it_is_told_when_asked_itself(unknown: float | None):
    deadlines, bodies = (x.ravel() for x in np.meshgrid(np.arange(32.0), [1.0, 2.0, 3.0]))
    asked: list[int] = []

    def ask(points: Any, kept: Any) -> Any:
        asked.extend(points)
        far = deadlines[points] >= 10.0 * bodies[points] if kept[0] else np.ones(len(points), bool)
        codes = np.where(far, CAN_HOLD, CANNOT_HOLD)
        return np.where(kept[0] & (bodies[points] == unknown), NOT_KNOWN, codes)

    met = along_bounds(ask, at_points(deadlines, bodies), ("time", "power"), deadlines.size)
    rows = np.tile(np.arange(deadlines.size), 2)
    kept = np.repeat([[True, True], [False, True]], deadlines.size, axis=0)
    found = met(rows, kept)
    few = len(asked)
    assert found.tolist() == [int(ask(np.array([p]), k)[0]) for p, k in zip(rows, kept, strict=True)]
    # without the deadline only the bodies tell points apart
    assert few <= 3 * 8 + 3 + (32 if unknown else 0)
