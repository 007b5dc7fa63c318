"""Programs as numbers: optima against enumeration of vertices, bounds that no bad multiplier can spoil, honest ends."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from solvers.linear import highs
from solvers.linear.linear_program import End, Numbers, Result


def polytope(seed: int, columns: int, rows: int) -> tuple[Numbers, np.ndarray]:
    """A random program with a point strictly inside, all between 0 and some top."""
    r = np.random.default_rng(seed)
    inside = r.uniform(0.2, 1.0, columns)
    a = r.normal(size=(rows, columns)).round(2) + 1e-3
    right = a @ inside + r.uniform(0.05, 1.0, rows)
    scale = 10.0 ** r.uniform(-6, 6, rows)
    low, high = np.zeros(columns), r.uniform(1.5, 3.0, columns)
    n = Numbers(
        np.column_stack([a, -right]) * scale[:, None],
        np.zeros(rows, dtype=bool),
        low,
        high,
        np.zeros(columns, dtype=bool),
    )
    return n, np.append(r.normal(size=columns), r.normal())


def least_vertex(n: Numbers, cost: np.ndarray) -> float:
    """The least value over all vertices, each the solution of as many tight rows as there are columns."""
    k = len(n.low)
    size = np.abs(n.rows[:, :-1]).max(axis=1)
    eye = np.eye(k)
    planes = [*(np.append(r[:-1], -r[-1]) / s for r, s in zip(n.rows, size, strict=True))]
    planes += [np.append(eye[j], n.low[j]) for j in range(k)] + [
        np.append(eye[j], n.high[j]) for j in range(k)
    ]
    best = math.inf
    for chosen in itertools.combinations(planes, k):
        a = np.array([p[:-1] for p in chosen])
        if abs(np.linalg.det(a)) < 1e-9:
            continue
        x = np.linalg.solve(a, [p[-1] for p in chosen])
        slack = (n.rows[:, :-1] @ x + n.rows[:, -1]) / size
        if np.all(slack <= 1e-9) and np.all(x >= n.low - 1e-9) and np.all(x <= n.high + 1e-9):
            best = min(best, float(cost[:-1] @ x + cost[-1]))
    return best


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), columns=st.integers(1, 4), rows=st.integers(0, 5))
def test_a_linear_program_ends_at_its_best_vertex(seed: int, columns: int, rows: int) -> None:
    n, cost = polytope(seed, columns, rows)
    found = highs.minimise(n, cost)
    assert found.end is End.FOUND
    assert found.value == pytest.approx(least_vertex(n, cost), rel=1e-9, abs=1e-9)
    assert found.bound == pytest.approx(found.value, rel=1e-8, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), noise=st.floats(0.0, 2.0), data=st.data())
def test_no_multipliers_bound_an_optimum_from_above(seed: int, noise: float, data: st.DataObject) -> None:
    n, cost = polytope(seed, 3, 4)
    found = highs.minimise(n, cost)
    assert found.multipliers is not None
    r = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    bad = found.multipliers * (1.0 + noise * r.normal(size=4)) + noise * r.normal(size=4) * np.abs(
        found.multipliers
    ).max(initial=1.0)
    least = least_vertex(n, cost)
    assert highs.weak_duality(n, cost, bad) <= least + 1e-9 * (1.0 + abs(least))
    assert highs.weak_duality(n, cost, np.zeros(4)) <= least + 1e-9 * (1.0 + abs(least))


def test_multipliers_of_the_wrong_sign_count_as_none() -> None:
    n = Numbers(
        np.array([[-1.0, 2.0]]), np.array([False]), np.array([0.0]), np.array([9.0]), np.array([False])
    )
    cost = np.array([1.0, 0.0])
    assert highs.weak_duality(n, cost, np.array([1.0])) == pytest.approx(2.0)
    assert highs.weak_duality(n, cost, np.array([-5.0])) == 0.0


def test_multipliers_that_leave_a_slope_towards_an_open_end_prove_nothing() -> None:
    n = Numbers(
        np.array([[-1.0, 2.0]]), np.array([False]), np.array([0.0]), np.array([np.inf]), np.array([False])
    )
    assert highs.weak_duality(n, np.array([1.0, 0.0]), np.array([2.0])) == -math.inf


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), columns=st.integers(1, 4), rows=st.integers(1, 3))
def test_whole_numbers_against_trying_them_all(seed: int, columns: int, rows: int) -> None:
    r = np.random.default_rng(seed)
    a = r.integers(-5, 9, (rows, columns)).astype(float)
    right = r.integers(0, 30, rows).astype(float)
    cost = np.append(r.integers(-9, 9, columns), 0).astype(float)
    top = 5
    n = Numbers(
        np.column_stack([a, -right]),
        np.zeros(rows, dtype=bool),
        np.zeros(columns),
        np.full(columns, float(top)),
        np.ones(columns, dtype=bool),
    )
    every = np.array(list(itertools.product(range(top + 1), repeat=columns)), dtype=float)
    held = every[np.all(every @ a.T <= right, axis=1)]
    found = highs.minimise(n, cost)
    assert len(held), "0 is always allowed"
    assert found.u is not None
    assert found.value == pytest.approx(float((held @ cost[:-1]).min()), abs=1e-9)
    assert found.bound <= found.value + 1e-9
    assert np.array_equal(found.u, np.round(found.u))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_some_whole_some_not_against_a_program_for_each_choice(seed: int) -> None:
    n, cost = polytope(seed, 4, 4)
    mixed = Numbers(n.rows, n.equal, n.low, n.high, np.array([True, True, False, False]))
    found = highs.minimise(mixed, cost)
    choices = itertools.product(range(4), repeat=2)
    values = []
    for choice in choices:
        at = np.append(np.array(choice, dtype=float), [0.0, 0.0, 1.0])
        if np.any(at[:2] > n.high[:2]):
            continue
        one = highs.minimise(mixed.fixed(at), cost)
        values += [one.value] if one.end is End.FOUND else []
    if not values:
        assert found.end is End.INFEASIBLE
        return
    assert found.value == pytest.approx(min(values), rel=1e-8, abs=1e-8)
    assert found.bound <= min(values) + 1e-8 * (1 + abs(min(values)))
    assert found.multipliers is None


@given(size=st.floats(-8.0, 8.0), column=st.floats(-8.0, 8.0), seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_units_of_rows_and_columns_do_not_matter(size: float, column: float, seed: int) -> None:
    n, cost = polytope(seed, 3, 4)
    plain = highs.minimise(n, cost)
    scale = np.array([10.0**column, 1.0, 10.0**-column])
    moved = Numbers(
        n.rows * np.append(1.0 / scale, 1.0) * 10.0**size, n.equal, n.low * scale, n.high * scale, n.integer
    )
    found = highs.minimise(moved, cost * np.append(1.0 / scale, 1.0))
    assert found.value == pytest.approx(plain.value, rel=1e-9, abs=1e-9)
    assert found.bound == pytest.approx(plain.value, rel=1e-7, abs=1e-7)


def line(rows: list[list[float]], high: float = math.inf, whole: bool = False) -> Numbers:
    made = np.array(rows).reshape(len(rows), -1)
    k = made.shape[1] - 1
    return Numbers(
        made, np.zeros(len(rows), dtype=bool), np.zeros(k), np.full(k, high), np.full(k, whole, dtype=bool)
    )


@pytest.mark.parametrize("whole", [False, True])
def test_ends_are_told_apart(whole: bool) -> None:
    down = np.array([-1.0, 0.0])
    assert highs.minimise(line([[1.0, 2.0]], whole=whole), down).end is End.INFEASIBLE
    assert highs.minimise(line([[-1.0, 2.0]], whole=whole), down).end is End.UNBOUNDED
    assert highs.minimise(line([[1.0, -2.0]], whole=whole), down).end is End.FOUND
    gap = line([[1.0, -0.9], [-1.0, 0.1]], high=5.0, whole=whole)
    assert highs.minimise(gap, down).end is (End.INFEASIBLE if whole else End.FOUND)


def test_an_unbounded_program_names_its_direction() -> None:
    found = highs.minimise(line([[1.0, -1.0, -3.0]]), np.array([-1.0, 0.5, 0.0]))
    assert found.end is End.UNBOUNDED
    assert found.ray is not None
    assert found.ray[0] > 0
    assert found.ray[0] <= found.ray[1] * (1 + 1e-9)


def test_equal_rows_hold_with_equality() -> None:
    n = Numbers(
        np.array([[1.0, 1.0, -1.0]]), np.array([True]), np.zeros(2), np.ones(2), np.zeros(2, dtype=bool)
    )
    found = highs.minimise(n, np.array([2.0, 3.0, 0.0]))
    assert found.u is not None
    assert found.u.tolist() == [1.0, 0.0, 1.0]
    assert found.bound == pytest.approx(2.0)
    more = n.with_rows(np.array([1.0, 0.0, -0.25]))
    assert highs.minimise(more, np.array([2.0, 3.0, 0.0])).value == pytest.approx(2.75)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), which=st.integers(0, 3))
def test_a_multiplier_is_the_rate_at_which_the_optimum_moves(seed: int, which: int) -> None:
    n, cost = polytope(seed, 3, 4)
    found = highs.minimise(n, cost)
    assert found.multipliers is not None
    step = 1e-5 * float(np.abs(n.rows[which]).max())
    values = []
    for s in (1.0, -1.0):
        rows = n.rows.copy()
        rows[which, -1] -= s * step
        moved = highs.minimise(Numbers(rows, n.equal, n.low, n.high, n.integer), cost)
        assume(moved.u is not None)
        values.append(moved.value)
    # at a kink the two sides differ
    assume(abs(values[0] + values[1] - 2 * found.value) < 1e-8)
    rate = (values[0] - values[1]) / (2 * step)
    scale = float(np.abs(n.rows[which]).max())
    assert -found.multipliers[which] * scale == pytest.approx(rate * scale, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("end", [End.INFEASIBLE, End.UNBOUNDED])
def test_a_word_of_highs_that_floats_do_not_confirm_is_a_failure(
    end: End, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One number of at least 1 of which little is best: there is an optimum, whatever a solver says."""
    n = Numbers(
        np.array([[-1.0, 1.0]]), np.array([False]), np.zeros(1), np.full(1, np.inf), np.array([whole])
    )
    cost = np.array([1.0, 0.0])
    assert highs.minimise(n, cost).value == 1.0
    said = Result(end, multipliers=np.array([-1.0]), ray=np.array([1.0]))
    called = highs._called_highs
    monkeypatch.setattr(
        highs,
        "_called_highs",
        lambda asked, *more, **named: (
            said if asked is n or asked.rows is n.rows else called(asked, *more, **named)
        ),
    )
    assert highs.minimise(n, cost).end is End.FAILED


def test_whole_numbers_without_a_point_are_told_from_divisible_ones_with_one() -> None:
    """Between 1/3 and 2/3 there is no whole number; nor is twice the sum of two ever odd."""
    no = np.zeros(2, dtype=bool)
    one = np.array([[-3.0, 0.0, 1.0], [3.0, 0.0, -2.0]])
    odd = np.array([[2.0, 2.0, -1e6 - 1.0]])
    for rows, equal in ((one, no), (odd, np.array([True]))):
        n = Numbers(rows, equal, np.zeros(2), np.full(2, 1e6), np.ones(2, dtype=bool))
        assert highs.minimise(n.relaxed(), np.ones(3)).end is End.FOUND
        assert highs.minimise(n, np.ones(3)).end is End.INFEASIBLE


def test_what_highs_says_of_empty_and_open_programs_is_proved() -> None:
    bounds = np.zeros(2), np.array([np.inf, 1.0])
    no = np.zeros(2, dtype=bool)
    empty = Numbers(np.array([[1.0, 1.0, -1.0], [-1.0, -1.0, 2.0]]), np.array([True, False]), *bounds, no)
    assert highs.minimise(empty, np.array([1.0, 1.0, 0.0])).end is End.INFEASIBLE
    open_one = Numbers(np.array([[-1.0, 1.0, 0.0]]), np.array([False]), *bounds, no)
    assert highs.minimise(open_one, np.array([-1.0, 1.0, 0.0])).end is End.UNBOUNDED


def test_of_two_searches_the_first_counts_unless_the_other_is_better() -> None:
    """The bound of a search that missed a better point is false; one that only says less changes nothing."""
    u = np.ones(2)
    first, same = (Result(End.FOUND, u, 10.0, b) for b in (9.999, 9.0))
    better, lost, failed = Result(End.FOUND, u, 8.0, 7.9), Result(End.INFEASIBLE), Result(End.FAILED)
    assert highs._better(first, same) is first
    assert highs._better(first, lost) is first
    assert highs._better(lost, failed) is lost
    assert highs._better(failed, lost) is lost
    assert highs._better(lost, better).u is u
    found = highs._better(first, better)
    assert (found.value, found.bound) == (8.0, 7.9)


def test_a_point_that_presolve_loses_is_found_without_a_search_for_the_least_miss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a schedule in four samples that search took 37 s, and the program itself 3 s."""
    asked = highs._called_highs
    n = Numbers(
        np.array([[-2.0, -3.0, 4.0], [1.0, 1.0, -3.0]]),
        np.zeros(2, dtype=bool),
        np.zeros(2),
        np.full(2, 20.0),
        np.ones(2, dtype=bool),
    )
    cost = np.array([3.0, 4.0, 0.0])
    wanted = highs.minimise(n, cost)

    def losing(n: Numbers, cost: np.ndarray, gap: float, *, presolve: bool = True, **how: Any) -> Result:
        lost = presolve and how.get("tight", True) and bool(n.integer.any())
        return Result(End.INFEASIBLE) if lost else asked(n, cost, gap, presolve=presolve, **how)

    def unasked(n: Numbers) -> Result:
        raise AssertionError("the least miss was searched")

    monkeypatch.setattr(highs, "_called_highs", losing)
    monkeypatch.setattr(highs, "_least_miss", unasked)
    found = highs._searched_integers(n, cost)
    assert found.end is End.FOUND
    assert found.value == wanted.value


def test_costs_far_below_others_are_made_least_too() -> None:
    # at least 3.5 of the first, or one of the second, which costs 1e10 times as much
    rows = np.array([[-1.0, -1e10, 3.5]])
    n = Numbers(rows, np.array([False]), np.zeros(2), np.array([1000.0, 1e6]), np.array([True, True]))
    found = highs.minimise(n, np.array([1.0, 1e11, 0.0]))
    assert found.u is not None
    assert found.u[0] == 4.0
    assert found.bound == pytest.approx(4.0, rel=1e-9)


def test_numbers_far_below_others_in_a_row_count_where_there_may_be_many() -> None:
    # five of the first leave 6477 to so many of the second that each adds 1.2e-5
    rows = np.array([[-34452.5, -1.1847e-05, 178739.85], [0.1, 0.0, -1.0], [-1.0, -1.0, 1.0]])
    n = Numbers(rows, np.zeros(3, dtype=bool), np.zeros(2), np.array([1e9, 1e9]), np.array([True, True]))
    found = highs.minimise(n, np.array([48837.75, 2.49e-05, 0.0]))
    assert found.u is not None
    least = np.ceil((178739.85 - 5 * 34452.5) / 1.1847e-05)
    assert found.u[0] == 5.0
    assert found.value == pytest.approx(5 * 48837.75 + 2.49e-05 * least, rel=1e-8)
