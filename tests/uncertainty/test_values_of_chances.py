"""Values at which limits that may fail would do, where each sample is a geometric program: no boxes are searched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
from solvers.robust import robust_conflicts

LATE: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"min": 1, "max": 4096}, "memory": {"min": 30, "max": 1e5}},
    "objective": {"minimize": "power_per_processor", "cvar": 0.5},
    "uncertain": {
        "machine.energy_per_word": {"loguniform": [1.5e-6, 6e-6]},
        "sampling": {"samples": 16, "seed": 55},
    },
    "limits": {"energy_delay": {"max": 1.12792, "probability": 0.9, "confidence": 0}},
}
"""Too slow for 4096 processors; more, more memory than may be replicated, or a later end would do."""


@pytest.fixture
def _without_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(*_: object) -> None:
        raise AssertionError("boxes of designs were searched")

    monkeypatch.setattr(robust_conflicts, "_feasible_value", searched)


@pytest.mark.usefixtures("_without_boxes")
def test_a_dear_limit_of_the_model_has_a_value_from_programs() -> None:
    """The granted slack of 1e-8 moves this value by 1.4e-6: the bound of 400 nodes never closed."""
    told = dse.solve(LATE)
    assert told.status == "infeasible"
    assert told.conflicts == (("energy_delay", "processors", "replication"),)
    # as 20 s of boxes had it
    assert told.conflict["replication"] == pytest.approx(3.339042512992457, rel=4e-7)
    more = {**LATE["decide"], "processors": {"min": 1, "max": told.conflict["processors"] * (1 + 1e-6)}}
    assert dse.solve({**LATE, "decide": more}).status == "optimal"


@pytest.mark.usefixtures("_without_boxes")
def test_the_upper_of_two_ends_gives_at_many_points() -> None:
    """Processors have both ends; as for one question the upper one gives, and the lower one where that is no help."""
    axis = {"by": {"path": "limits.energy_delay.max", "values": [0.8, 0.9, 1.0, 1.1]}}
    swept = dse.sweep({**LATE, "objective": {"minimize": "energy", "measure": "mean"}, "sweep": axis})
    told = swept["would_do"].sel(limit="processors").values
    assert (told > 4096).all()
    assert (np.diff(told) < 0).all()
    assert np.isnan(swept["would_do"].sel(limit="processors.min").values).all()
