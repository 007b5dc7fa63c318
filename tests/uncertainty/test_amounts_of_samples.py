"""Whether anything crosses a link is the same in every sample: against a program that is written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import qmc

import dse
from dse import machines
from results.solution import Status

SAMPLES, LATENCY, BANDWIDTH, MOVED = 4, 0.001, 1e10, 0.759e9
NAMES = {"cpu": "i7-2600k-tang2017", "gpu": "gtx-titan-tang2017"}
FLOPS, BYTES = (4.13e9, 1.54e9, 3.58e9), (13.2e9, 1.75e9, 1.17e9)
LEAST, MOST = 9.57e9, 24.9e9
DRAWN = (
    LEAST * (MOST / LEAST) ** qmc.Sobol(1, scramble=True, rng=np.random.default_rng(0)).random(SAMPLES)[:, 0]
)
"""The bytes of the first region in every sample."""


def asked(measure: dict[str, Any], latency: float) -> dict[str, Any]:
    return {
        "model": "partition",
        "machine": NAMES,
        "given": {
            "regions": [
                {"name": n, "flops": f, "bytes": b} for n, f, b in zip("abc", FLOPS, BYTES, strict=True)
            ],
            "transfers": [{"name": "t", "bytes": MOVED, "from": "a", "to": "b"}],
            "link_bandwidth": BANDWIDTH,
            "link_latency": latency,
        },
        "uncertain": {"regions.a.bytes": {"loguniform": [LEAST, MOST]}, "sampling": {"samples": SAMPLES}},
        "objective": {"minimize": "time", **measure},
    }


def least(weights: np.ndarray, latency: float) -> float:
    """The least weighted mean of the times of all samples: shares on the first processor, one time for each sample.

    After the shares (3) come how much crosses, whether anything does, and the times.
    """
    rows, ends = [], []
    for sign in (1.0, -1.0):
        rows.append([sign, -sign, 0, -1, 0, *np.zeros(SAMPLES)])
        ends.append(0.0)
    rows.append([0, 0, 0, 1, -1, *np.zeros(SAMPLES)])
    ends.append(0.0)
    for i, first in enumerate(DRAWN):
        own = -np.eye(SAMPLES)[i]
        moved = (first, *BYTES[1:])
        for sign, name in ((1.0, NAMES["cpu"]), (-1.0, NAMES["gpu"])):
            machine = machines.get(name).parameters
            for each, work in (("time_per_flop", FLOPS), ("time_per_byte", moved)):
                costs = machine[each] * np.array(work)
                rows.append([*(sign * costs), 0, 0, *own])
                ends.append(0.0 if sign > 0 else -costs.sum())
        rows.append([0, 0, 0, MOVED / BANDWIDTH, latency, *own])
        ends.append(0.0)
    found = milp(
        np.concatenate([np.zeros(5), weights]),
        constraints=LinearConstraint(np.array(rows, float), -np.inf, np.array(ends)),
        integrality=np.array([0, 0, 0, 0, 1] + [0] * SAMPLES),
        bounds=Bounds(0.0, np.array([1.0] * 5 + [np.inf] * SAMPLES)),
        options={"mip_rel_gap": 1e-9},
    )
    return float(found.fun)


@pytest.mark.parametrize("latency", [0.0, 0.001, 0.1])
def test_a_link_with_latency_is_proved_over_samples(latency: float):
    found = dse.solve(asked({"measure": "mean"}, latency))
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(least(np.full(SAMPLES, 1 / SAMPLES), latency), rel=1e-6)


def test_so_is_the_worst_sample():
    found = dse.solve(asked({"cvar": 0.75}, 0.001))
    # of four samples the worst quarter is the one that has most to move
    weights = np.where(DRAWN.max() == DRAWN, 1.0, 0.0)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(least(weights, 0.001), rel=1e-6)


@pytest.mark.parametrize("least", [5e10, 1e14])
def test_a_mean_of_what_nothing_uncertain_enters_is_the_number_itself(least: float):
    """Only a power is uncertain: the performance of a split is the same in every sample, and so is its mean."""
    question = asked({}, 0.001) | {
        "uncertain": {
            "machine.gpu.constant_power": {"uniform": ["20 W", "90 W"]},
            "sampling": {"samples": SAMPLES},
        },
    }
    goal = {"minimize": "energy", "measure": "mean"}
    measured = {"measures": {"mean_rate": {"of": "performance", "measure": "mean"}}}
    plain = dse.solve(question | {"objective": goal, "limits": {"performance": {"min": least}}})
    mean = dse.solve(question | {"objective": goal | measured, "limits": {"mean_rate": {"min": least}}})
    assert plain.status is mean.status is (Status.OPTIMAL if least < 1e13 else Status.INFEASIBLE)
    if plain.objective is not None:
        assert mean.objective == pytest.approx(plain.objective, rel=1e-7)
    else:
        assert mean.conflict["mean_rate"] == pytest.approx(plain.conflict["performance"], rel=1e-7)
