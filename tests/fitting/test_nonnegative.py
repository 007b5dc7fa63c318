"""Non-negative least squares through a quadratic program agree with SciPy's active-set method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from dse.fitting.behaviours.nonnegative import nonnegative_least_squares
from dse.fitting.statistics import dependent


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6), rows=st.integers(10, 60), columns=st.integers(1, 9), spread=st.integers(0, 12)
)
def test_it_agrees_with_an_independent_method_whatever_the_units(
    seed: int, rows: int, columns: int, spread: int
):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-spread, spread + 1, columns)
    matrix = rng.random((rows, columns)) * scale
    right = (matrix / scale) @ rng.standard_normal(columns) + 0.01 * rng.standard_normal(rows)
    ours, theirs = nonnegative_least_squares(matrix, right), nnls(matrix, right)[0]
    assert (ours >= 0).all()
    # in units of what each column adds to the rows
    size = np.linalg.norm(matrix, axis=0)
    assert np.abs((ours - theirs) * size).max() <= 1e-9 * np.linalg.norm(right)


def test_nothing_is_gained_by_any_column_that_is_held_at_zero():
    rng = np.random.default_rng(3)
    matrix = rng.random((50, 6))
    right = matrix @ np.array([1.0, -1.0, 2.0, 0.0, -0.5, 1.0])
    found = nonnegative_least_squares(matrix, right)
    slope = matrix.T @ (right - matrix @ found)
    assert (found == 0).any()
    assert np.abs(slope[found > 0]).max() < 1e-12 * np.linalg.norm(right) * 50
    assert slope[found == 0].max() < 0


def test_all_may_be_zero():
    assert nonnegative_least_squares(np.ones((4, 2)) + np.eye(4, 2), -np.ones(4)) == pytest.approx([0, 0])


def test_columns_that_determine_each_other_are_named_together():
    free = np.random.default_rng(0).random((20, 3))
    columns = np.column_stack([free, 2e9 * free[:, 0], free[:, 1] + free[:, 2]])
    assert dependent(columns, list("abcde")) == [("a", "d"), ("b", "c", "e")]
    assert dependent(free, list("abc")) == []
    assert dependent(free[:2], list("abc")) != []
