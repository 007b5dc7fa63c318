"""Programs with maxima, solved with their terms put in, against the kernel that takes them as they stand."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import dse
import results
import scenarios
from solvers import paths
from solvers.geometric.kernel import gp, put_in

POINTS = 40


def with_maxima(rng: np.random.Generator, *, summed: bool, in_goal: bool) -> tuple[Any, ...]:
    """Programs in two variables x and eight maxima of these and of each other: tables as the kernel takes them."""
    n, rows, logs = 10, [], []

    def row(*terms: tuple[dict[int, float], Any]) -> None:
        rows.append([np.array([powers.get(v, 0.0) for v in range(n)]) for powers, _ in terms])
        logs.extend(np.broadcast_to(c, (POINTS,)) for _, c in terms)

    def number(spread: float = 1.0) -> Any:
        return rng.normal(0.0, spread, POINTS)

    cost = [({v: 1.0}, number()) for v in range(2, n)] if in_goal else []
    row(({0: -1.0}, number()), ({1: -1.0}, number()), *cost)
    row(*(({v: 1.0}, number() - 3.0) for v in range(2, n)), ({0: 0.5}, number() - 3.0))
    row(({0: 0.7, 1: -0.3}, number() - 1.0))
    for v in range(2, n):
        row(({0: 1.0, v: -1.0}, number()))
        row(({1: 0.5, v: -1.0}, number()))
        row(({v: -1.0}, number()))
        if v > 2 and not summed:
            row(({2: 0.5, v: -1.0}, number()))
        if summed:
            row(({0: 0.5, v: -1.0}, number()), ({1: 1.0, v: -1.0}, number()))
    ptr = np.cumsum([0, *map(len, rows)])
    low, high = np.full((POINTS, n), -30.0), np.full((POINTS, n), 30.0)
    low[:, :2], high[:, :2] = -4.0, 4.0
    return np.concatenate(rows), np.stack(logs, axis=1), ptr, low, high


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("in_goal", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_put_in_leaves_the_optimum_where_it_is(seed: int, in_goal: bool, summed: bool):
    A, logc, ptr, low, high = with_maxima(np.random.default_rng(seed), summed=summed, in_goal=in_goal)
    asked: list[tuple[int, int]] = []

    def kernel(A: Any, logc: Any, *rest: Any, **how: Any) -> gp.Result:
        asked.append((A.shape[-1], len(logc)))
        return gp.solve(A, logc, *rest, **how)

    r, whole = put_in.solve(kernel, A, logc, ptr, low, high), gp.solve(A, logc, ptr, low, high)
    np.testing.assert_array_equal(r.status, whole.status)
    best = whole.status == gp.OPTIMAL
    np.testing.assert_allclose(r.value[best], whole.value[best], atol=1e-8)
    assert (r.violation[best] <= 1e-9).all()
    # what is told of the programs as they stood proves it
    bound = gp.lagrangian_bound(A, logc, ptr, low, high, r.y, r.multipliers)
    np.testing.assert_allclose(bound[best], whole.value[best], atol=2e-8)
    assert (r.proof[r.status == gp.INFEASIBLE] > 0).all()
    assert asked[0] == (2 + in_goal, POINTS)
    assert sum(count for n, count in asked if n == 10) <= POINTS // 3


@pytest.mark.parametrize("tol", [10.0, 20.0])
def test_limits_are_met_or_refuted_with_what_is_put_in(tol: float):
    A, logc, ptr, low, high = with_maxima(np.random.default_rng(4), summed=True, in_goal=False)
    logc[:, ptr[1] : ptr[2]] += np.linspace(-3.0, 6.0, POINTS)[:, None]
    r, whole = (
        solve(A, logc, ptr, low, high, tol=tol) for solve in (partial(put_in.solve, gp.solve), gp.solve)
    )
    np.testing.assert_array_equal(r.status, whole.status)
    assert {gp.OPTIMAL, gp.INFEASIBLE} == set(r.status)


def test_a_program_has_the_same_bits_alone():
    A, logc, ptr, low, high = with_maxima(np.random.default_rng(5), summed=True, in_goal=True)
    r = put_in.solve(gp.solve, A, logc, ptr, low, high)
    for i in range(0, POINTS, 7):
        one = slice(i, i + 1)
        alone = put_in.solve(gp.solve, A, logc[one], ptr, low[one], high[one])
        for name in ("y", "value", "bound", "multipliers"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(r, name)[one], err_msg=name)


def test_of_many_maxima_in_one_variable_the_kernel_sees_one(monkeypatch: pytest.MonkeyPatch):
    """A token's time is a sum of 18 maxima, but only the bandwidth is decided."""
    asked = dse.load("serving_bandwidth_for_token_deadline").model_dump(
        exclude_none=True, exclude_defaults=True
    )
    prompts = {"path": "given.prompt", "values": [500.0, 1000.0, 2000.0]}
    deadlines = {"path": "limits.time_per_output_token.max", "values": ["1 ms", "10 ms", "20 ms"]}
    grid = scenarios.grid(dse.Scenario(**asked, sweep={"prompt": prompts, "deadline": deadlines}))
    wide: list[int] = []

    def solve(A: Any, logc: Any, *rest: Any, **how: Any) -> gp.Result:
        wide.extend([len(logc)] if A.shape[-1] > 1 else [])
        return kernel(A, logc, *rest, **how)

    kernel = gp.solve
    monkeypatch.setattr(gp, "solve", solve)
    path = paths.chosen(grid).path
    assert path is not None
    _, left = path.solve(results.dataset.layout(grid), tuple(slice(0, n) for n in grid.shape))
    assert not left.any()
    # once for all points it is asked whether the goal has an end
    assert wide in ([], [1])
