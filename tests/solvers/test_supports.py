"""Which of several things are there: branched on, and held to the search that knows nothing of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.linear import highs, supports
from solvers.linear.linear_program import End, Numbers, Result

MOST = 5000.0


def ways(seed: int, kinds: int, each: int, most: int) -> tuple[Numbers, np.ndarray]:
    """Return kinds of things, each in several ways with a fixed price and one by number: a demand at least cost.

    Columns: counts, indicators of the counts, indicators of the kinds. A kind is there in one way, and of the
    kinds at most ``most`` are there.
    """
    chance = np.random.default_rng(seed)
    count = kinds * each
    size = 2 * count + kinds
    rate, price, fixed = (chance.integers(1, 40, count).astype(float) for _ in range(3))
    demand, power = float(chance.integers(50, 2000)), chance.integers(1, 30, count).astype(float)
    rows = []

    def row(entries: dict[int, float], right: float) -> None:
        found = np.zeros(size + 1)
        for place, value in entries.items():
            found[place] = value
        found[-1] = -right
        rows.append(found)

    row({i: -r for i, r in enumerate(rate)}, -demand)
    row(dict(enumerate(power)), float(chance.integers(500, 4000)))
    for i in range(count):
        row({i: 1.0, count + i: -MOST}, 0.0)
    for k in range(kinds):
        own = range(k * each, (k + 1) * each)
        row({count + i: 1.0 for i in own}, 1.0)
        row({**dict.fromkeys(own, 1.0), 2 * count + k: -MOST * each}, 0.0)
    row({2 * count + k: 1.0 for k in range(kinds)}, float(most))
    high = np.concatenate([np.full(count, MOST), np.ones(size - count)])
    n = Numbers(
        np.array(rows), np.zeros(len(rows), dtype=bool), np.zeros(size), high, np.ones(size, dtype=bool)
    )
    return n, np.concatenate([price, fixed, np.zeros(kinds), [0.0]])


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 3), st.integers(1, 2))
@settings(deadline=None, max_examples=40)
def test_the_least_is_that_of_the_whole_search(seed: int, kinds: int, each: int, most: int) -> None:
    n, cost = ways(seed, kinds, each, min(most, kinds - 1))
    few = n.rows[supports.few_of_several(n)]
    assert len(few) == kinds + 1
    branched = supports.minimise(n, cost, 0.0, few, highs._solved_linear_program, highs._searched_integers)
    whole = highs._searched_integers(n, cost)
    assert branched is not None
    assert branched.end is whole.end
    if whole.u is not None:
        assert branched.u is not None
        assert branched.value == pytest.approx(whole.value, rel=2e-9)
        assert branched.bound <= branched.value
        assert branched.bound == pytest.approx(whole.value, rel=2e-9)
        assert (n.rows @ branched.u <= 1e-6).all()
        there = np.append(branched.u[:-1] > 0.5, True)
        assert (few @ there <= 0.0).all()


@pytest.mark.parametrize("seed", range(12))
def test_multipliers_of_a_search_before_change_no_answer(seed: int) -> None:
    n, cost = ways(seed, 3, 2, 2)
    found = highs.minimise(n, cost)
    moved = replace(n, rows=n.rows.copy())
    moved.rows[0, -1] *= 1.01
    told, alone = (highs.minimise(replace(moved, known=k), cost) for k in (found.known, ()))
    assert told.end is alone.end
    assert told.value == pytest.approx(alone.value, rel=2e-9)
    assert told.bound == pytest.approx(alone.bound, rel=2e-9)


def test_a_demand_beyond_all_ways_is_infeasible() -> None:
    n, cost = ways(3, 3, 2, 1)
    n.rows[0, -1] = 1e9
    assert highs.minimise(n, cost).end is End.INFEASIBLE


def test_rows_of_other_numbers_allow_no_few_of_several() -> None:
    n, _ = ways(5, 2, 2, 1)
    uneven, wide, even = n.rows[-1].copy(), n.rows[-1].copy(), n.rows[-1].copy()
    uneven[np.flatnonzero(uneven)[0]] = 2.0
    wide[-1] = -2.0
    even[0] = 1.0
    size = len(n.low)
    only = Numbers(
        np.array([uneven, wide, even]), np.zeros(3, dtype=bool), n.low, n.high, np.ones(size, dtype=bool)
    )
    assert not supports.few_of_several(only).any()


def test_columns_that_nothing_gains_from_are_left_out() -> None:
    # a <= 0 follows from the first row; b makes room in the second row for nothing, c is wanted
    rows = np.array([[1.0, 0.0, 0.0, 0.0], [1.0, -2.0, 0.0, 0.0], [0.0, 0.0, -1.0, 3.0]])
    n = Numbers(rows, np.zeros(3, dtype=bool), np.zeros(3), np.full(3, 9.0), np.ones(3, dtype=bool))
    cost = np.array([1.0, 1.0, 1.0, 0.0])
    assert supports._ends(n, cost, n.low, n.high).tolist() == [0.0, 0.0, 9.0]
    earning = np.array([1.0, -1.0, 1.0, 0.0])
    assert supports._ends(n, earning, n.low, n.high).tolist() == [0.0, 9.0, 9.0]


def test_rows_that_contradict_the_ends_leave_nothing() -> None:
    rows = np.array([[1.0, 1.0, -3.0]])
    n = Numbers(rows, np.zeros(1, dtype=bool), np.full(2, 2.0), np.full(2, 9.0), np.ones(2, dtype=bool))
    assert (supports._ends(n, np.array([1.0, 1.0, 0.0]), n.low, n.high) < n.low).any()


def test_a_search_of_all_parts_that_is_worse_than_one_of_them_is_not_believed() -> None:
    n, cost = ways(9, 6, 3, 4)
    few = n.rows[supports.few_of_several(n)]
    asked = 0

    def worse_at_once(
        part: Numbers, form: np.ndarray, gap: float = 0.0, y: np.ndarray | None = None
    ) -> Result:
        nonlocal asked
        found = highs._searched_integers(part, form, gap, y=y)
        if part is not n or found.u is None:
            return found
        asked += 1
        return replace(found, value=2.0 * abs(found.value), bound=2.0 * abs(found.value))

    found = supports.minimise(n, cost, 0.0, few, highs._solved_linear_program, worse_at_once)
    assert asked == 1
    assert found is not None
    assert found.value == pytest.approx(highs._searched_integers(n, cost).value, rel=2e-9)
