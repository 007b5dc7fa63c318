"""Limits at the very least value that they can have: which designs attain it, and which of these is the best."""

import numpy as np
import pytest

import dse
from results.solution import Status
from solvers.geometric.points import geometric_answers

EQUALITY = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e9, "intensity": 4},
    "decide": {"x": {"min": 0.4, "max": 3.0}, "y": {"min": 0.5, "max": 9.0}},
    "define": {
        "goal": "5 * y**(-1.0) + 1.3 * x**(-2.0) * y**(-2.0) + x + y",
        "z": "1.9 * y**(-2.0) + 2.8 * y**(-0.5) * x**0.5 + 2.2 * y**(-1.0) * x**(-1.0) + 3.4 * y**(-2.0)",
    },
    "objective": {"minimize": "goal"},
    "limits": {"z": {"min": 20.0, "max": 20.0}},
}


def test_a_limit_met_along_a_curve_leaves_more_than_the_designs_near_one_that_attains_it() -> None:
    """Both ends of an equality have boundless multipliers: the best design near any was told as the best of all."""
    found = dse.solve(EQUALITY)
    assert found.status is Status.OPTIMAL
    # along the curve, by hand: for each y the x of the equality, where z falls in x before it rises
    y = np.linspace(0.5, 1.0, 2_001)[:, None]
    x = np.linspace(0.4, 3.0, 2_001)[None]
    z = 5.3 / y**2 + 2.8 * (x / y) ** 0.5 + 2.2 / (x * y) - 20.0
    row, k = np.nonzero(z[:, :-1] * z[:, 1:] <= 0)
    at = x[0, k] + z[row, k] / (z[row, k] - z[row, k + 1]) * (x[0, k + 1] - x[0, k])
    goal = 5 / y[row, 0] + 1.3 / (at * y[row, 0]) ** 2 + at + y[row, 0]
    # the grid along the curve is no finer than this
    assert found.objective == pytest.approx(goal.min(), rel=1e-5)
    assert found.objective <= goal.min() * (1 + 1e-6)


def test_a_limit_that_whole_curves_attain_at_its_least_value_has_no_optimum_near_one_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """25 / (x + y) + x + y is 10 at least, wherever x + y = 5; the best of these is 8.23932, at x = 3.5408."""
    source = EQUALITY | {
        "decide": {n: {"min": 3.0 - 2 * k, "max": 4.2 - 2 * k} for k, n in enumerate(("x", "y"))},
        "define": {"goal": "x + 1.7 * y + 3 / x + 2 / y", "z": "25 / (x + y) + x + y"},
        "limits": {"z": {"max": 10.0}},
    }
    # a gap of 1e-3 needs no more
    monkeypatch.setattr(geometric_answers, "NODES_OF_STRAINED", 400)
    # the best near one that attains the limit is 0.19 % above the best of all
    found = dse.solve(source | {"gap": 1e-3})
    x = np.linspace(3.0, 4.2, 100_001)
    x = x[(5 - x >= 1.0) & (5 - x <= 2.2)]
    least = (x + 1.7 * (5 - x) + 3 / x + 2 / (5 - x)).min()
    assert least * (1 - 1e-6) <= found.objective <= least * (1 + 1e-3)
    assert found.bound <= least * (1 + 1e-9)
