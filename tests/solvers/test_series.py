"""A sweep over a deadline has at each point what the point has by itself."""

from __future__ import annotations

import numpy as np
import pytest

import dse
from results.solution import Status

REGIONS = ((0.0, 6e8), (1.2e9, 1.44e10), (3.5e9, 7e9), (2e10, 2.5e9), (6.4e10, 1e9), (8e8, 6.4e9))
# both are solved to 1e-9 or better
EXACT = 1e-9


def test_a_sweep_over_a_deadline_has_what_each_point_has_alone():
    regions = [
        {"name": f"r{i}", "flops": f, "bytes": b, "divisible": False} for i, (f, b) in enumerate(REGIONS)
    ]
    base = {
        "model": "partition",
        "machine": {"cpu": "i3-2100t", "gpu": "gtx-750-tang2017"},
        "given": {"regions": regions},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1}},
    }
    axes = {
        "deadline": {"path": "limits.time.max", "start": 0.2, "stop": 0.9, "num": 8},
        "cpu": {"path": "machine.cpu", "values": ["i3-2100t", "i7-2600k"]},
    }
    found = dse.sweep(base | {"sweep": axes}, workers=1)
    assert found.objective.dims == ("deadline", "cpu")
    for i, deadline in enumerate(found.deadline.values):
        for j, cpu in enumerate(found.cpu.values):
            machine = {"cpu": str(cpu), "gpu": "gtx-750-tang2017"}
            alone = dse.solve(base | {"machine": machine, "limits": {"time": {"max": float(deadline)}}})
            there = float(found.objective[i, j])
            if alone.status is Status.INFEASIBLE:
                assert np.isnan(there)
            else:
                assert there == pytest.approx(alone.objective, rel=EXACT)
