"""Maxima of numbers next to where floats end: the box of their unknown ends before, and proves nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dse
from results.solution import Status


def asked(m: str, **more: Any) -> dict[str, Any]:
    return {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 4},
        "decide": {"x": {"min": 1, "max": 5}},
        "define": {"most": m},
        "objective": {"minimize": "most"},
        **more,
    }


@pytest.mark.parametrize(
    ("m", "sense", "best"),
    [
        ("maximum(1e300 * x, 2e300 / x) / 1e300", "minimize", math.sqrt(2)),
        ("maximum(1e303 * x, 2e303 / x)", "minimize", math.sqrt(2) * 1e303),
        ("(1e303 * x + 2e303 / x)**0.5", "minimize", (2 * math.sqrt(2) * 1e303) ** 0.5),
        ("maximum(1e-303 * x, 2e-303 / x)", "maximize", 5e-303),
        ("1 / maximum(1e301 * x, 2e301 / x)", "maximize", 1 / (math.sqrt(2) * 1e301)),
    ],
)
def test_the_largest_of_huge_and_tiny_numbers_has_an_optimum(m: str, sense: str, best: float) -> None:
    found = dse.solve(asked(m, objective={sense: "most"}))
    assert (found.status, found.objective) == (Status.OPTIMAL, pytest.approx(best, rel=1e-6))


def test_a_limit_on_such_a_maximum_is_met() -> None:
    limit = {"most": {"min": 3e301}}
    found = dse.solve(asked("maximum(1e301 * x, 2e301 / x)", objective={"minimize": "x"}, limits=limit))
    assert (found.status, found.objective) == (Status.OPTIMAL, pytest.approx(3, rel=1e-6))


def test_all_points_of_a_sweep_over_such_numbers_have_the_optimum() -> None:
    sweep = {"sizes": {"path": "given.size", "values": [1.0, 1e299, 1e300, 1e301]}}
    source = asked("maximum(size * x, 2 * size / x) / size", sweep=sweep)
    source["given"] = {**source["given"], "size": 1.0}
    swept = dse.sweep(source, progress=False)
    assert swept["objective"].values.tolist() == pytest.approx([math.sqrt(2)] * 4, rel=1e-6)
