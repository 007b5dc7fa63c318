"""Crossover: limits of which an interior point leaves open whether they bind."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from formulations.canonical import Canonical
from formulations.grids.batch import Table
from formulations.row_keys import RowKey
from solvers.geometric.kernel import gp
from solvers.geometric.programs.crossover import crossover, doubtful
from solvers.geometric.programs.polishing import polish


def corner(forces: tuple[float, float], heights: np.ndarray) -> tuple[Table, np.ndarray, np.ndarray]:
    """Minimise c x^-a y^-b with x <= h and x y <= 1: at x = h, y = 1/h the multipliers are ``forces``."""
    first, second = forces
    # grad log f = -(a, b); a = l1 + l2, b = l2
    exponents = np.array([[-(first + second), -second], [1.0, 0.0], [1.0, 1.0]])
    logc = np.zeros((heights.size, 3))
    logc[:, 1] = -np.log(heights)
    ends = np.full((heights.size, 2), 10.0)
    return Table(exponents, logc, np.array([0, 1, 2, 3])), -ends, ends


@pytest.mark.parametrize("forces", [(1e-6, 3e-6), (2e-6, 1e-7), (1e-8, 1e-6)])
def test_two_limits_that_bind_with_tiny_multipliers_are_both_settled(forces: tuple[float, float]):
    heights = np.array([0.5, 2.0, 7.0])
    t, low, high = corner(forces, heights)
    r = gp.solve(t.exponents, t.logc, t.ptr, low, high)
    slack = -gp.evaluate(t.exponents, t.logc, t.ptr, r.y)[:, 1:]
    assert doubtful(slack, r.multipliers).any(axis=1).all()
    found, told = crossover(t, low, high, r)
    assert told.all()
    # the corner and its multipliers are known in closed form; rounding of a few operations on numbers of size 1
    np.testing.assert_allclose(found.y, np.stack([np.log(heights), -np.log(heights)], axis=1), atol=1e-12)
    np.testing.assert_allclose(found.multipliers, np.broadcast_to(forces, (3, 2)), atol=1e-14)
    assert (found.bound <= found.value + 1e-12).all()
    assert (found.value - found.bound < 1e-9).all()


def test_a_limit_that_nearly_binds_and_does_not_is_left_with_its_slack():
    """Minimise x + 1/x with x <= e^d, d > 0 small: the optimum is x = 1, the limit has a slack of d."""
    d = 3e-6
    exponents = np.array([[1.0], [-1.0], [1.0]])
    t = Table(exponents, np.array([[0.0, 0.0, -d]]), np.array([0, 2, 3]))
    ends = np.full((1, 1), 5.0)
    r = gp.solve(t.exponents, t.logc, t.ptr, -ends, ends)
    found, told = crossover(t, -ends, ends, r)
    assert told.all()
    assert abs(found.y[0, 0]) < 1e-12
    assert found.multipliers[0, 0] == 0.0
    assert found.value[0] == pytest.approx(math.log(2.0), abs=1e-12)


def test_a_limit_that_just_touches_is_met_at_no_price():
    """With d = 0 the limit meets the optimum and has no multiplier: it is left out, and holds with equality."""
    exponents = np.array([[1.0], [-1.0], [1.0]])
    t = Table(exponents, np.zeros((1, 3)), np.array([0, 2, 3]))
    ends = np.full((1, 1), 5.0)
    r = gp.solve(t.exponents, t.logc, t.ptr, -ends, ends)
    assert doubtful(-gp.evaluate(t.exponents, t.logc, t.ptr, r.y)[:, 1:], r.multipliers).all()
    found, told = crossover(t, -ends, ends, r)
    assert told.all()
    assert abs(found.y[0, 0]) < 1e-12
    assert found.multipliers[0, 0] == 0.0


def test_a_points_numbers_do_not_depend_on_its_batch():
    """Random parts of 400 points, in random order: the same bits."""
    rng = np.random.default_rng(3)
    heights = np.exp(rng.uniform(-2, 2, 400))
    t, low, high = corner((1e-6, 3e-6), heights)
    r = gp.solve(t.exponents, t.logc, t.ptr, low, high)
    whole, told = crossover(t, low, high, r)
    assert told.all()
    for size in (2, 3, 64, 257):
        some = rng.permutation(400)[:size]
        part = gp.Result(*(getattr(r, f.name)[some] for f in dataclasses.fields(r)))
        found, _ = crossover(t.take(some), low[some], high[some], part)
        for name in ("y", "multipliers", "value", "bound"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name)[some], err_msg=name)


@pytest.mark.parametrize("force", [2e-10, 5e-10])
def test_a_limit_with_next_to_no_multiplier_leaves_nothing_in_doubt(force: float):
    """Its multiplier counts for nothing, its slope did for something: no set of limits was taken."""
    heights = np.array([0.5, 2.0, 7.0])
    t, low, high = corner((1e-5, force), heights)
    r = gp.solve(t.exponents, t.logc, t.ptr, low, high)
    found, told = crossover(t, low, high, r)
    assert told.all()
    np.testing.assert_allclose(found.multipliers[:, 0], 1e-5, atol=2e-9)
    assert (found.value - found.bound < 1e-9).all()


def test_a_limit_that_is_near_and_does_not_bind_moves_no_design():
    """Minimise x with 1 <= x <= exp(3e-7): with a multiplier of 1e-6 both ends were held, and x was between them."""
    logc = np.array([[0.0, 0.0, -3e-7]])
    ends, keys = np.full((1, 1), 5.0), (RowKey("x", "min"), RowKey("x", "max"))
    table = np.array([[1.0], [-1.0], [1.0]]), logc, np.array([0, 1, 2, 3])
    c = Canonical(("x",), *table, keys, -ends, ends, (), np.zeros((0, 1)), {})
    found = polish(c, np.full((1, 1), 1e-10), np.array([[1.0, 1e-6]]), np.zeros((1, 1), dtype=bool))
    assert found.residual[0] < 1e-12
    assert abs(found.y[0, 0]) < 1e-15
