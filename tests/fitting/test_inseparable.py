"""Coefficients that runs cannot tell apart, or hardly, among others that they can."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from kernel_times import runs

from dse.fitting import fit_behaviour


@pytest.mark.parametrize("apart", [1e-6, 2.2e-5, 2.6e-5, 3e-5])
def test_columns_that_differ_by_little_are_fitted_beside_others(apart: float):
    rng = np.random.default_rng(0)
    s = rng.uniform(1, 2, 40)
    columns = {"t": 5 * s * (1 + 1e-4 * rng.standard_normal(40)), "s": s}
    columns["r"] = s * (1 + apart * rng.standard_normal(40))
    columns |= {f"q{i}": s * (1 + 0.01 * rng.standard_normal(40)) for i in range(8)}
    form = "a * s + b * r + " + " + ".join(f"c{i} * q{i}" for i in range(8))
    made = fit_behaviour(columns, "t = s", ", ".join(k for k in columns if k != "t"), form=form)
    told = {e.name: e for e in made.estimates}
    assert "the runs cannot tell" in str(made)
    # each may stand for the other
    whole = told["a"].value + told["b"].value
    assert whole > 0
    for name in ("a", "b"):
        assert told[name].low == 0
        assert told[name].high >= 0.99 * whole


@pytest.mark.parametrize(
    ("form", "m", "truth"),
    [
        # one column twice: each may be all of it or nothing
        ("a + b * m * n * k + c * m * k + d * m * k", 1.0, {"c": (0.0, 2e-12), "d": (0.0, 2e-12)}),
        # n is twice m in all runs
        ("a + b * m * n * k + c * m * k + d * n * k", 2.0, {"c": (0.0, 2e-12), "d": (0.0, 1e-12)}),
        # the second is a sum of the others: without m alone it is not there either, and the first is sure
        (
            "a + b * m * n * k + c * m * k + d * m * (k + 100) + e * m",
            1.0,
            {"c": (1.9e-12, 2e-12), "d": (0.0, 0.0), "e": (0.0, 0.0)},
        ),
    ],
)
def test_coefficients_that_runs_cannot_tell_apart_have_wide_intervals(
    form: str, m: float, truth: dict[str, tuple[float, float]]
):
    data = runs(2)
    if m != 1.0:
        data["n"] = m * data["m"]
        data["latency [ms]"] = 1e3 * (
            4e-6 + 5e-15 * data["m"] * data["n"] * data["k"] + 2e-12 * data["m"] * data["k"]
        )
    made = fit_behaviour(data, "latency", "m, n, k", form=form)
    told = {e.name: e for e in made.estimates}
    for name, (least, most) in truth.items():
        assert told[name].low <= least
        assert told[name].high >= 0.95 * most
    assert "the runs cannot tell" in str(made)
    file = tomllib.loads(made.file())
    assert all(n in file["notes"] for n in truth)
    written = [t["interval"] for t in file["terms"]]
    assert all(low <= t["coefficient"] <= high for t, (low, high) in zip(file["terms"], written, strict=True))
    apart = fit_behaviour(data, "latency", "m, n, k", form="a + b * m * n * k + c * m * k")
    assert "cannot tell" not in str(apart)
