"""Each idea has one home: where it is taken away, no class of questions goes on, neither one point nor many."""

from __future__ import annotations

from typing import Any

import pytest

import dse
import scenarios
from dse import chunk_work
from results.solution import Status
from solvers import conflicts
from solvers.answer import answer

GONE = "the search for minimal conflicts is gone"
NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "objective": {"minimize": "energy"},
}
REGIONS = [{"name": f"r{i}", "flops": 1e9 * (i + 1), "bytes": 1e8} for i in range(3)]
PARTITION = {
    "model": "partition",
    "machine": {"cpu": "i3-2100t", "gpu": "gtx-750-tang2017"},
    "objective": {"minimize": "energy"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "geometric program": {
        **NBODY,
        "decide": {"processors": {"max": 100}, "memory": {}},
        "limits": {"time": {"max": 1e-6}, "energy": {"max": 1e-3}},
    },
    "ratios of sums": {
        **NBODY,
        "decide": {"processors": {"max": 100}, "memory": {}},
        "limits": {"time": {"max": 1e-6}, "power": {"max": 1.0}},
    },
    "table": {
        **PARTITION,
        "given": {"regions": [{**r, "divisible": False} for r in REGIONS]},
        "limits": {"time": {"max": 1e-6}, "energy": {"max": 1e-3}},
    },
    "one decided number": {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 1e6, "all_to_all": "tree"},
        "decide": {"processors": {"max": 1e12}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1e-9}, "power": {"max": 1e-3}},
    },
}


@pytest.mark.parametrize("kind", CLASSES)
def test_minimal_conflicts_have_one_home(kind: str, monkeypatch: pytest.MonkeyPatch):
    axis = {"path": "limits.time.max", "start": 1e-9, "stop": 1e-8, "num": 12, "spacing": "log"}
    grid = scenarios.grid(dse.load({**CLASSES[kind], "sweep": {"deadline": axis}}))
    question, at = grid.question((0,)), chunk_work.ready(grid)
    assert at.path is not None
    assert answer(question, neighbours=False).status is Status.INFEASIBLE

    def gone(*_: Any, **__: Any) -> Any:
        raise RuntimeError(GONE)

    monkeypatch.setattr(conflicts, "_asked", gone)
    alone = answer(question, neighbours=False)
    assert alone.status is Status.ERROR
    assert GONE in alone.message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, 12),))
