"""Values at which limits with a probability on differences and logarithms would do: against every design in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_roofline import RUN

import dse
from results.solution import Status

SAMPLES, SEED, SHARE = 16, 4, 0.75
MAY_FAIL = 4
LOADS = 1.0 + 2.0 * np.random.default_rng(SEED).random(SAMPLES)
"""The independent uniform loads that the questions draw."""
WHOLE = {"min": 1, "max": 8, "integer": True}


def asked(spare: str, limits: dict[str, Any], nodes: dict[str, Any]) -> dict[str, Any]:
    return {
        **RUN,
        "given": {**RUN["given"], "load": 2.0},
        "decide": {"nodes": nodes},
        "define": {"spare": spare, "work": "nodes * load"},
        "uncertain": {
            "load": {"uniform": [1, 3]},
            "sampling": {"samples": SAMPLES, "seed": SEED, "method": "random"},
        },
        "objective": {"minimize": "work", "measure": "mean"},
        "limits": limits,
    }


def best_level(values: np.ndarray, least_work: float, nodes: np.ndarray, *, joint: bool) -> float:
    """The greatest level that all but four samples reach, with as much work in as many (``joint``: in the same)."""
    fails = np.outer(nodes, LOADS) < least_work * (1 - 1e-8)
    if joint:
        return float(np.sort(np.where(fails, -np.inf, values), axis=1)[:, MAY_FAIL].max())
    return float(np.sort(values, axis=1)[fails.sum(1) <= MAY_FAIL, MAY_FAIL].max())


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("end", [15.0, 12.0, 0.0])
@pytest.mark.parametrize("spare", ["5 * load - nodes", "log(10 * load / nodes) * load - 0.5"])
def test_the_value_told_is_that_of_the_best_design(spare: str, end: float, joint: bool):
    nodes = np.arange(1.0, 9.0)
    with_end = spare if end else f"{spare} - 20"
    values = eval(with_end, {"log": np.log, "load": LOADS, "nodes": nodes[:, None]})
    right = best_level(values, 10.0, nodes, joint=joint)
    alone = {} if joint else {"probability": SHARE, "confidence": 0}
    limits = {"spare": {"min": end} | alone, "work": {"min": 10.0} | alone}
    together = {"joint": {"of": ["spare", "work"], "probability": SHARE, "confidence": 0}} if joint else {}
    found = dse.solve(asked(with_end, limits | together, WHOLE))
    assert found.status is Status.INFEASIBLE
    assert found.conflict["spare"] == pytest.approx(right, rel=1e-6)
    # asked for what would do, it does
    limits["spare"]["min"] = right - 1e-6 * abs(right)
    assert dse.solve(asked(with_end, limits | together, WHOLE)).status is Status.OPTIMAL


def test_of_real_numbers_programs_do_not_take_the_factor_of_a_row_for_that_of_its_end():
    nodes = np.linspace(1, 8, 70_001)
    alone = {"probability": SHARE, "confidence": 0}
    limits = {"spare": {"min": 15.0} | alone, "work": {"min": 10.0} | alone}
    found = dse.solve(asked("5 * load - nodes", limits, {"min": 1, "max": 8}))
    right = best_level(5 * LOADS - nodes[:, None], 10.0, nodes, joint=False)
    assert found.conflict["spare"] == pytest.approx(right, rel=1e-4)


def test_points_of_a_sweep_tell_the_same_value():
    nodes = np.arange(1.0, 9.0)
    alone = {"probability": SHARE, "confidence": 0}
    limits = {"spare": {"min": 15.0} | alone, "work": {"min": 10.0} | alone}
    question = asked("5 * load - nodes", limits, WHOLE)
    question["sweep"] = {"lower": {"path": "limits.spare.min", "values": [9.0, 12.0, 15.0]}}
    found = dse.sweep(question, progress=False)["would_do"].sel(limit="spare")
    right = best_level(5 * LOADS - nodes[:, None], 10.0, nodes, joint=False)
    np.testing.assert_allclose(found, right, rtol=1e-6)
