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
from solvers.robust import scan

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
    assert found.conflicts == (("mean_share",),)
    right = 0.5 * 2**0.5 * LOADS.mean() + 0.1 / 5000
    assert found.conflict["mean_share"] == pytest.approx(right, rel=1e-5)
