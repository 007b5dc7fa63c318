"""A step of the model, such as the latency of a transfer that does not take place, at the very end of a box."""

from typing import Any

import numpy as np
import pytest
from chance_questions import answered

import dse
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


def test_the_value_that_would_do_of_a_list_beside_a_step_is_found():
    """Reuse at a distance of 4 MiB needs a cache above it: a box around the step is as narrow as floats are."""
    distances = [(0.9, 1024.0), (0.08, 16384.0), (0.015, 131072.0), (0.0042, 4194304.0)]
    reuse = [{"name": f"d{k}", "share": share, "distance": far} for k, (share, far) in enumerate(distances)]
    source = {
        "model": "exabounds",
        "machine": {
            "frequency": 2.661e9,
            "voltage": 1.0,
            "dynamic_capacitance": 2.448e-10,
            "count.core": 4.0,
            "cache.L1D": 32768.0,
            "latency.L2": 13.0,
            "latency.DRAM": 1.108e-07,
            "reorder_buffer": 48.0,
            "bandwidth.socket": 5.974e10,
            "transistors.core": 5e6,
            "functional_units.INT": 4.0,
            "unit_transistors.INT": 250000.0,
            "cache_transistors.L1D": 48.0,
            "cache_transistors.L2": 48.0,
            "die_area": 2.679e-4,
            "transistor_density": 2e12,
        },
        "given": {"instructions": 3.6e13, "data_reuse": [*reuse, {"name": "rest", "share": 0.0008}]},
        "decide": {
            "machine.count.die": {"integer": True, "max": 24},
            "machine.cache.L2": {"values": [32768.0, 131072.0, 524288.0, 2097152.0]},
        },
        "uncertain": {
            "machine.latency.L2": {"loguniform": [8.126, 20.80]},
            "machine.bandwidth.socket": {"uniform": [4.1816e10, 7.7658e10]},
            "machine.latency.DRAM": {"loguniform": [6.928e-08, 1.7736e-07]},
            "sampling": {"samples": 8, "seed": 3, "method": "latin"},
        },
        "objective": {"maximize": "efficiency", "quantile": 0.5},
        "limits": {"energy": {"max": 12374.8}, "power": {"max": 3.3227}},
    }
    found = dse.solve(source)
    assert found.status is Status.INFEASIBLE
    assert [set(one) for one in found.conflicts] == [{"energy", "machine.cache.L2"}]
    assert found.conflict["machine.cache.L2"] == pytest.approx(4194304, rel=1e-6)
