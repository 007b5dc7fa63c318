"""Coefficients that runs can hardly tell apart, among others that they can."""

from __future__ import annotations

import numpy as np
import pytest

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
