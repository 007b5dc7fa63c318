"""Ratios are divided by sums point by point: the same way in every batch, with one variable for equal sums."""

from __future__ import annotations

from unittest import mock

import numpy as np

from formulations import canonical as canon
from formulations.canonical import Canonical, Divisor
from formulations.grids import divided, quotients
from formulations.row_keys import RowKey
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch


def _two_ratios(share: list[float]) -> Canonical:
    """Least x1/x0, of points at which two limits divide by sums: of x0 and x1, and of x0 and ``share`` times x1.

    (1.2 x0 + 0.5 x1)/(x0 + x1) <= 1, so that x1/x0 is at least 0.4, and (0.5 x0 + 1.1 x1)/(x0 + share x1) <= 1: the
    same sum where ``share`` is 1.
    """
    count = len(share)
    logs, one = np.log(np.array(share)), np.zeros((count, 1))
    forms = np.array([[-1.0, 1.0]])
    base, along = np.array([1.0, 0.0]), np.array([[0.0], [1.0]])
    first = Divisor(1, base, along, np.zeros((count, 2)))
    second = Divisor(2, base, along, np.column_stack([one[:, 0], logs]))
    keys = (RowKey("a", "max"), RowKey("b", "max"))
    terms = np.array([[-1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    logc = np.log(np.tile([1.0, 1.2, 0.5, 0.5, 1.1], (count, 1)))
    low, high = np.full((count, 2), np.log(1e-3)), np.full((count, 2), np.log(1e3))
    return Canonical(
        ("x0", "x1"), terms, logc, np.array([0, 1, 3, 5]), keys, low, high, (first, second), forms, {}
    )


def test_equal_sums_are_one_variable_at_the_points_where_they_are_equal():
    c = _two_ratios([1.0, 3.0])
    kinds = quotients.made_of(c)
    assert (kinds[0] != kinds[1]).any()
    counts = []
    for i in range(2):
        own = divided.take(c, np.array([i]))
        parted = quotients.apart(own)
        counts.append(len(parted.names))
        y = np.log(np.array([[0.5, 20.0]]))
        # a design is one of the divided problem, too, and meets the same limits by as much
        there = canon.values(parted, quotients.with_divisors(parted, y))
        np.testing.assert_allclose(there[:, :3], canon.values(own, y), atol=1e-12)
        assert there[:, 3:].max() <= max(0.0, canon.values(own, y)[:, 1:].max()) + 1e-12
    assert counts == [3, 4]


def test_a_point_is_searched_the_same_way_in_every_batch():
    c = _two_ratios([1.0, 3.0, 1.0])
    how = {"value_only": True, "gap": 1e-9, "before": 2, "few": 2}
    with mock.patch.object(quotients, "apart", side_effect=quotients.apart) as parted:
        together = branch.dividing(c, gp.solve, **how)
    assert parted.call_count == 2
    np.testing.assert_allclose(np.exp(together.value), 0.4, rtol=1e-8)
    for i in range(3):
        alone = branch.dividing(divided.take(c, np.array([i])), gp.solve, **how)
        assert alone.bound[0] == together.bound[i]
        assert alone.y[0].tolist() == together.y[i].tolist()
        assert alone.nodes[0] == together.nodes[i]
