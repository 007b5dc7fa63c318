"""What the solvers' tests share: a block answered at once, held against the same points answered by themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import points_alone
import pytest

import dse
import results.dataset
import scenarios
from formulations import handover
from results.dataset import Arrays
from solvers import feasible_values

# how points were solved, and how long it took, is not part of an answer; a gap is rounding either way
APART = {"seconds", "message", "gap"}
Compare = Callable[..., tuple[Arrays, Any]]


@pytest.fixture
def as_alone() -> Compare:
    """Answer a whole grid by a way and every point by itself; all numbers of all points must be the same.

    The function returns the block's arrays and where points were left over. ``within``: both answers are exact to the
    tolerances of HiGHS (1e-10 in a row), which a degenerate vertex magnifies.
    """

    def compare(asked: Any, way: Any, within: float = 1e-7) -> tuple[Arrays, Any]:
        grid = scenarios.grid(dse.load(asked))
        plan = results.dataset.layout(grid)
        region = tuple(slice(0, n) for n in grid.shape)
        arrays, left = way(grid).solve(plan, region)
        with handover.collected() as tally:
            feasible_values.complete(grid, plan, region, arrays, left)
        assert feasible_values.ALONE not in tally.reasons
        places = list(itertools.product(*map(range, grid.shape)))
        alone = points_alone.answers(grid, places)
        told = results.dataset.to_arrays(plan, alone, grid.shape)
        for v in plan.variables:
            if v.name not in APART:
                ours, theirs = (np.asarray(a[v.name][~left], dtype=float) for a in (arrays, told))
                np.testing.assert_allclose(ours, theirs, rtol=within, atol=1e-9, err_msg=v.name)
        proven = arrays["gap"][~left]
        assert (proven[~np.isnan(proven)] <= 1e-9).all()
        return arrays, left

    return compare
