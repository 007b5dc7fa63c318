"""That a number has to be whole is its limit: whatever method answers, it is part of conflicts that a fraction ends."""

import pytest

import dse
from results.solution import Status

WHOLE, REAL = {"min": 2, "max": 7, "integer": True}, {"min": 1.5, "max": 8}
COUNT, MENU = {"min": 1, "max": 8, "integer": True}, {"values": [1.5, 3, 8]}
CASES = {
    # d0, y, and what x could be: a monomial row, a linear program with and without real numbers, ...
    "posynomial": ("80 * x + 0.1 * y", REAL, (60 - 0.15) / 80),
    "difference": ("80 * x - 0.1 * y", REAL, (60 + 0.8) / 80),
    "intervals": ("80 * x + exp(0.1 * y)", REAL, 0.735477072),
    "menu": ("80 * x + 0.1 * y", MENU, (60 - 0.15) / 80),
    "maximum": ("maximum(80 * x, 10 * y)", REAL, 60 / 80),
    "ratio": ("80 * x * y / (x + y)", REAL, 1.0),
    "whole alone": ("80 * x + 0 * y", COUNT, 60 / 80),
    "whole product": ("80 * x * y", COUNT, 60 / 80),
    "whole difference": ("80 * x - y", COUNT, (60 + 8) / 80),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fraction_that_would_do_is_named_alone_and_in_a_sweep(name: str) -> None:
    expression, y, would_do = CASES[name]
    scenario = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 4, "factor": 1.0},
        "decide": {"x": WHOLE, "y": y},
        "define": {"d0": f"factor * ({expression})", "goal": "x + y"},
        "objective": {"minimize": "goal"},
        "limits": {"d0": {"max": 60}},
    }
    alone = dse.solve(scenario)
    assert alone.status is Status.INFEASIBLE
    assert alone.conflict["x"] == pytest.approx(would_do, rel=1e-6)
    ds = dse.sweep(scenario | {"sweep": {"factors": {"path": "factor", "values": [0.1, 1.0, 1.2]}}})
    told = ds["would_do"].isel(factors=1).to_series().dropna()
    assert dict(told.rename(lambda label: label.removesuffix(".min"))) == pytest.approx(
        dict(alone.conflict), rel=1e-6
    )
