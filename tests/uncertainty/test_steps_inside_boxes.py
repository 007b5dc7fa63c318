"""A step of the model, such as the latency of a transfer that does not take place, at the very end of a box."""

from typing import Any

import numpy as np
import pytest
from chance_questions import answered

from formulations.uncertainty.measures import MEAN
from formulations.uncertainty.wanted import Wanted, reached
from results.solution import Status

SHARED: dict[str, Any] = {
    "model": "partition",
    "machine": {
        "a": {
            "time_per_flop": 3e-12,
            "energy_per_flop": 2e-11,
            "time_per_byte": 1e-11,
            "energy_per_byte": 2.5e-10,
            "constant_power": 10.0,
            "usable_power": 30.0,
        },
        "b": {
            "time_per_flop": 1.3e-12,
            "energy_per_flop": 1.4e-10,
            "time_per_byte": 1.4e-11,
            "energy_per_byte": 1.2e-10,
            "constant_power": 12.0,
        },
    },
    "given": {
        "regions": [
            {"name": "r0", "flops": 9e9, "bytes": 5e8},
            {"name": "r1", "flops": 1e9, "bytes": 1.2e9, "divisible": False},
        ],
        "transfers": [{"from": "r0", "to": "r1", "bytes": 4e9}],
        "link_bandwidth": 8e9,
        "link_latency": 0.08,
        "link_energy_per_byte": 1.4e-11,
    },
    "decide": {"share.r1.a": {"values": [1]}},
    "define": {"risk": "energy * time"},
    "uncertain": {
        "machine.a.time_per_byte": {"uniform": [0.9e-11, 1.1e-11]},
        "sampling": {"samples": 8, "seed": 5},
    },
    "objective": {
        "maximize": "performance",
        "measure": "mean",
        "measures": {"tail": {"of": "risk", "cvar": 0.8}},
    },
}


@pytest.mark.parametrize(
    ("power", "conflict"), [(26.0, {"power", "tail"}), (24.0, {"power", "tail"}), (22.0, {"power"})]
)
def test_that_no_share_holds_the_limits_is_proved(power: float, conflict: set[str]):
    """All on one side is too much power, and one byte for the other side a message, which takes too long."""
    found, worlds = answered({**SHARED, "limits": {"power": {"max": power}, "tail": {"max": 0.1}}})
    shares = np.concatenate([np.linspace(0.0, 1.0, 2001), 10.0 ** np.linspace(-9, -2, 200)])
    shares = np.concatenate([shares, 1.0 - shares])
    at = reached(Wanted(worlds, MEAN), {"share.r0.a": shares, "share.r1.a": np.ones(shares.size)})
    assert at.over().min() > 0.01
    assert found.status is Status.INFEASIBLE
    assert {name for one in found.conflicts for name in one} == conflict
