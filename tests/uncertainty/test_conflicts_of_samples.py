"""Conflicts over samples of few designs: bounds on what is decided are limits, against far more designs in turn."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from plain_roofline import RUN
from scipy.stats import qmc

import dse
from results.solution import Status
from solvers.robust.searches import scan

SAMPLES = 16
LOADS = 1 + 2 * qmc.Sobol(1, scramble=True, rng=np.random.default_rng(0)).random(SAMPLES)[:, 0]
"""The uniform loads that the questions draw."""
NODES = np.arange(1.0, 200.0)
ALLOWED = NODES <= 4


def asked(share: str, least: float, *, measured: bool = False, **more: Any) -> dict[str, Any]:
    """The fewest of one to four nodes that have a share of at least so much in every sample, or in their mean."""
    measures = {"mean_share": {"of": "share", "measure": "mean"}} if measured else {}
    return {
        **RUN,
        "given": {**RUN["given"], "load": 2.0},
        "decide": {"nodes": {"min": 1, "max": 4, "integer": True}},
        "define": {"outlay": "nodes + load", "share": share},
        "uncertain": {"load": {"uniform": [1, 3]}, "sampling": {"samples": SAMPLES}},
        "objective": {"minimize": "outlay", "measure": "mean", "measures": measures},
        "limits": {"mean_share" if measured else "share": {"min": least}},
        **more,
    }


def shares(share: str) -> np.ndarray:
    return np.array(eval(share, {"nodes": NODES[:, None], "load": LOADS, "exp": np.exp}))


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize(
    ("share", "least"), [("nodes / load", 3.0), ("nodes - load", 5.0), ("exp(0.2 * nodes) / load", 3.0)]
)
def test_more_than_is_allowed_would_do(share: str, least: float, measured: bool):
    found = dse.solve(asked(share, least, measured=measured))
    level = shares(share).mean(1) if measured else shares(share).min(1)
    name = "mean_share" if measured else "share"
    assert found.status is Status.INFEASIBLE
    assert {frozenset(c) for c in found.conflicts} == {frozenset({name, "nodes"})}
    assert found.conflict["nodes"] == NODES[level >= least].min()
    assert found.conflict[name] == pytest.approx(level[ALLOWED].max(), rel=1e-6)


def test_what_no_number_of_nodes_does_conflicts_alone():
    # at most 1/least load, whatever the nodes
    found = dse.solve(asked("nodes / (nodes + 1) / load", 1.5))
    assert found.conflicts == (("share",),)


def test_points_of_a_sweep_name_the_bound_too():
    sweep = {"lower": {"path": "limits.share.min", "values": [1.0, 2.0, 3.0]}}
    found = dse.sweep(asked("nodes / load", 2.0, sweep=sweep), progress=False)
    level = shares("nodes / load").min(1)
    for least, at in itertools.product([2.0, 3.0], ["share", "nodes"]):
        there = found.sel(lower=least, limit=at)
        right = level[ALLOWED].max() if at == "share" else NODES[level >= least].min()
        assert there["would_do"] == pytest.approx(right, rel=1e-6)


def test_a_limit_on_a_measure_is_told_as_what_it_is():
    found = dse.solve(asked("nodes / load", 3.0, measured=True))
    assert found.limits["mean_share"].bound == 3.0
    assert found.limits["mean_share"].side == "min"
    assert "≥ 2.202 (asked: ≥ 3)" in str(found)
    assert "if any value were allowed" not in str(found)


def test_of_millions_of_designs_boxes_are_asked_before_a_list(monkeypatch: pytest.MonkeyPatch):
    # of one card the mean is half of a load of 2, of at least two 2**0.5 times that, whatever else is decided
    many = {"min": 2, "max": 5000, "integer": True}
    question = {
        **asked("0.5 * cards**0.5 * load + 0.1 / nodes", 0.0, measured=True),
        "decide": {"nodes": many, "cards": many},
        "define": {
            "gain": "0.5 * load / nodes + 2 * nodes * load",
            "share": "0.5 * cards**0.5 * load + 0.1 / nodes",
        },
        "objective": {
            "maximize": "gain",
            "measure": "mean",
            "measures": {"mean_share": {"of": "share", "measure": "mean"}},
        },
        "limits": {"mean_share": {"max": 0.9}},
    }

    def tried(*_: object) -> None:
        raise AssertionError("25 million designs were listed")

    monkeypatch.setattr(scan, "best", tried)
    found = dse.solve(question)
    # half a card would do, or less
    assert found.conflicts == (("mean_share", "cards"),)
    right = 0.5 * 2**0.5 * LOADS.mean() + 0.1 / 5000
    assert found.conflict["mean_share"] == pytest.approx(right, rel=1e-5)


@pytest.mark.parametrize(("end", "nearest"), [({"min": 1e3}, max), ({"max": 1.0}, min)])
def test_of_several_machines_a_limit_on_a_measure_is_told_of_the_nearest(end: dict[str, float], nearest: Any):
    """One that has more power is nearer to a least power, one that has less to a greatest one."""
    question = {
        "model": "roofline",
        "given": {"flops": 1e12, "intensity": 4},
        "decide": {"machine": {"values": ["gtx-titan-choi2014", "arndale-gpu-choi2014"]}},
        "uncertain": {"intensity": {"uniform": [2, 8]}, "sampling": {"samples": SAMPLES}},
        "objective": {
            "minimize": "time",
            "measure": "mean",
            "measures": {"mean_power": {"of": "power", "measure": "mean"}},
        },
        "limits": {"mean_power": end},
    }
    found = dse.solve(question)
    own = [a.conflict["mean_power"] for a in found.alternatives]
    assert found.conflict["mean_power"] == nearest(own)
    side, value = next(iter(end)), found.conflict["mean_power"]
    again = dse.solve(question | {"limits": {"mean_power": {side: value}}})
    assert again.status is Status.OPTIMAL


@pytest.mark.parametrize("probability", [0.25, 0.5, 0.75])
def test_where_nothing_but_names_is_decided_a_limit_that_may_fail_is_told(probability: float):
    """The value of the sample up to which it may fail, not of the worst one; that value does, and hardly more."""
    question = {
        **RUN,
        "given": {**RUN["given"], "load": 2.0},
        "define": {"share": "1 / load"},
        "uncertain": {"load": {"uniform": [1, 3]}, "sampling": {"samples": SAMPLES, "method": "sobol"}},
        "objective": {"minimize": "time", "measure": "mean"},
    }
    limit = {"probability": probability, "confidence": 0}
    right = np.sort(1 / LOADS)[::-1][int(np.ceil(probability * SAMPLES)) - 1]
    titan = "gtx-titan-choi2014"
    for machine in ({"machine": titan}, {"decide": {"machine": {"values": [titan]}}}):
        asked_so = {k: v for k, v in question.items() if k != "machine"} | machine
        found = dse.solve(asked_so | {"limits": {"share": {"min": 2.0, **limit}}})
        assert found.conflicts == (("share",),)
        assert found.conflict["share"] == pytest.approx(right, rel=1e-9)
        for factor, status in (
            (1 - 1e-6, {Status.OPTIMAL, Status.EVALUATED}),
            (1 + 1e-6, {Status.INFEASIBLE}),
        ):
            assert (
                dse.solve(asked_so | {"limits": {"share": {"min": right * factor, **limit}}}).status in status
            )


@pytest.mark.parametrize("beside", [{}, {"width": {"min": 0.1, "max": 1}}])
@pytest.mark.parametrize("limit", [{}, {"probability": 0.75, "confidence": 0}])
def test_a_list_is_a_part_of_a_conflict(beside: dict[str, Any], limit: dict[str, Any]):
    """Ten times the load over the nodes is at most 1 from 30 nodes on, or fewer where it may fail."""
    samples = np.sort(LOADS)[int(np.ceil(0.75 * SAMPLES)) - 1 if limit else -1]
    question = {
        **RUN,
        "given": {**RUN["given"], "load": 2.0},
        "decide": {"nodes": {"values": [2, 4, 8]}, **beside},
        "define": {"late": "load * 10 / nodes", "met": f"nodes + load{' + width' if beside else ''}"},
        "uncertain": {"load": {"uniform": [1, 3]}, "sampling": {"samples": SAMPLES, "method": "sobol"}},
        "objective": {"minimize": "met", "measure": "mean"},
        "limits": {"late": {"max": 1, **limit}},
    }
    found = dse.solve(question)
    assert found.conflicts == (("late", "nodes"),)
    right = {"late": samples * 10 / 8, "nodes": samples * 10}
    assert found.conflict == pytest.approx(right, rel=1e-6)
    swept = dse.sweep(
        question | {"sweep": {"cap": {"path": "limits.late.max", "values": [1.0, 1.5, 9.0]}}}
    ).load()
    assert swept.status.values.tolist() == [3, 3, 1]
    there = swept.isel(cap=0)
    for name, value in right.items():
        assert float(there.would_do.sel(limit=name)) == pytest.approx(value, rel=1e-6)


def test_what_no_program_can_state_is_asked_otherwise() -> None:
    """Which cuts a maximum of sums has shows where they are made: it was an error."""
    asked = {
        "model": "gemm-h100",
        "given": {"n": 8192, "k": 4096, "err": 1.0},
        "define": {"noisy": "latency * err"},
        "decide": {"m": {"min": 1, "max": 16384, "integer": True}},
        "uncertain": {"err": {"lognormal": [1.0, 1.15]}, "sampling": {"samples": 16}},
        "objective": {"minimize": "latency", "measure": "mean"},
        "limits": {"noisy": {"max": 20e-6}},
    }
    told = dse.solve(asked)
    assert told.conflicts == (("noisy",),)
    near = told.conflict["noisy"]
    assert near is not None
    assert dse.solve({**asked, "limits": {"noisy": {"max": near * (1 + 1e-9)}}}).status is Status.OPTIMAL
    assert dse.solve({**asked, "limits": {"noisy": {"max": near * 0.999}}}).status is Status.INFEASIBLE
