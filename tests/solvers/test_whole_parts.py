"""Listed whole parts and least designs of sets against every point of small programs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from solvers.linear import highs, least_parts, whole_parts
from solvers.linear.linear_program import End, Numbers


def points(n: Numbers) -> np.ndarray:
    """All points of a program of whole numbers."""
    axes = [np.arange(low, high + 1) for low, high in zip(n.low, n.high, strict=True)]
    every = np.array([[*u, 1.0] for u in itertools.product(*axes)])
    over = every @ n.rows.T
    return every[((over <= 1e-9) & (~n.equal | (over >= -1e-9))).all(axis=1)]


@pytest.mark.parametrize("seed", range(20))
def test_no_point_is_missing_among_the_whole_parts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(-3, 4, (3, 4)), -rng.integers(0, 9, 3)]).astype(float)
    menu = np.array([[1.0, 1.0, 0.0, 0.0, -1.0]])
    high = np.array([1.0, 1.0, 3.0, 4.0])
    equal = np.array([False, False, False, True])
    n = Numbers(np.concatenate([rows, menu]), equal, np.zeros(4), high, np.ones(4, dtype=bool))
    listed = whole_parts.whole_parts(n)
    assert listed is not None
    found = {tuple(u) for u in listed}
    assert found >= {tuple(u[:-1]) for u in points(n)}
    assert len(found) <= 2 * 4 * 5


@pytest.mark.parametrize("seed", range(20))
def test_ends_that_reduced_costs_bring_nearer_lose_no_good_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.append(-rng.uniform(1.0, 3.0, 4), rng.uniform(3.0, 12.0))[None]
    n = Numbers(rows, np.zeros(1, dtype=bool), np.zeros(4), np.full(4, 5.0), np.ones(4, dtype=bool))
    cost = np.append(rng.uniform(1.0, 3.0, 4), 0.0)
    every = points(n)
    values = every @ cost
    cost[-1] = -1.05 * values.min()
    near = whole_parts.narrowed(n, cost, highs.minimise(n.relaxed(), cost).multipliers)
    good = every[every @ cost <= 0.0][:, :-1]
    assert ((good >= near.low) & (good <= near.high)).all()
    assert (near.high - near.low).sum() < (n.high - n.low).sum()


def test_large_whole_numbers_are_few_where_they_are_as_good_as_one() -> None:
    """Two kinds by the hundred thousand for a rate within a power: the rows leave ends of some tens, and one design."""
    rows = np.array([[-7.31, -3.17, 1e6], [2.03, 0.87, -276_500.0]])
    n = Numbers(rows, np.zeros(2, dtype=bool), np.zeros(2), np.full(2, 5e5), np.ones(2, dtype=bool))
    cost = np.array([11.07, 4.93, 0.0])
    found = highs.minimise(n, cost)
    assert found.u is not None
    as_good = np.append(cost[:-1], -found.value)
    near = whole_parts.narrowed(n, as_good, highs.minimise(n.relaxed(), cost).multipliers)
    assert ((near.low <= found.u[:-1]) & (found.u[:-1] <= near.high)).all()
    assert (near.high - near.low < 1000.0).all()
    assert found.bound == found.value
    every = np.array(
        [
            [i, j, 1.0]
            for i in np.arange(near.low[0], near.high[0] + 1)
            for j in np.arange(near.low[1], near.high[1] + 1)
        ]
    )
    met = every[(every @ rows.T <= 0.0).all(axis=1)]
    assert found.value == pytest.approx((met @ cost).min(), rel=1e-15)
    assert found.sole == (np.count_nonzero(met @ cost <= found.value * (1.0 + 1e-9)) == 1)


@pytest.mark.parametrize("seed", range(40))
def test_ends_from_several_rows_lose_no_good_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(-4, 5, (3, 4)), rng.integers(-15, 1, 3)]).astype(float)
    ends = rng.integers(-3, 1, 4).astype(float), rng.integers(2, 6, 4).astype(float)
    n = Numbers(rows, np.array([False, False, seed % 4 == 0]), *ends, np.ones(4, dtype=bool))
    every = points(n)
    cost = np.append(rng.integers(-5, 6, 4), 0.0).astype(float)
    cost[-1] = -(every @ cost).min(initial=0.0) - rng.integers(0, 3)
    near = whole_parts.narrowed(n, cost, highs.minimise(n.relaxed(), cost).multipliers)
    good = every[every @ cost <= 1e-9][:, :-1]
    assert ((good >= near.low) & (good <= near.high)).all()


@pytest.mark.parametrize("earns", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_the_least_designs_of_sets_are_the_optimum(seed: int, earns: bool) -> None:
    """Cards hold sockets, at most one of two kinds is there, a rate is asked for and power is limited."""
    rng = np.random.default_rng(seed)
    rate, power, held = rng.integers(1, 6, 2), rng.integers(1, 4, 2), rng.integers(2, 5, 2)
    # sockets of both kinds, cards of both, whether there are any
    rows = np.array(
        [
            [*-rate, 0, 0, 0, 0, rng.integers(5, 40)],
            [*power, 1, 1, 0, 0, -rng.integers(5, 40)],
            [1, 0, -held[0], 0, 0, 0, 0],
            [0, 1, 0, -held[1], 0, 0, 0],
            [0, 0, 1, 0, -3, 0, 0],
            [0, 0, 0, 1, 0, -3, 0],
            [0, 0, 0, 0, 1, 1, -1],
        ],
        dtype=float,
    )
    high = np.array([9.0, 9.0, 3.0, 3.0, 1.0, 1.0])
    n = Numbers(rows, np.zeros(7, dtype=bool), np.zeros(6), high, np.ones(6, dtype=bool))
    price = np.array([*-rate, 0, 0, 0, 0, 0] if earns else [*power, 2, 3, 0, 0, 1], dtype=float)
    sets = np.array([[np.nan] * 4 + list(flags) for flags in ([0, 0], [0, 1], [1, 0])])
    found = least_parts.minimise(n, price, sets)
    every = points(n)
    assert found is not None
    assert (found.end is End.FOUND) == bool(len(every))
    if len(every):
        best = float((every @ price).min())
        assert found.value == found.bound == pytest.approx(best, rel=1e-12)
        as_good = {tuple(u) for u in every if u @ price <= best + 1e-9}
        assert tuple(found.u) in as_good
        assert not found.sole or len(as_good) == 1
