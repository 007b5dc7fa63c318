"""Chance-limited geometric programs beside enumeration of every set of samples that may fail.

``PYTHONPATH=. python tests/uncertainty/test_removal.py`` compares 240 random instances; the suite 20.
"""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest
from scipy.optimize import minimize

from solvers.robust.promises import removal, removal_bounds
from solvers.robust.promises.removal import Rows, Sampled


def instance(number: int, samples: int | None = None) -> Sampled:
    """Return a random program of up to three quantities whose samples take one of two coefficients in each term."""
    random = np.random.default_rng([16, number])
    n = 1 + number % 3
    count = samples or int(random.integers(5, 13 if n < 3 else 9))
    groups = 1 + (number % 4 == 3)
    goal = (random.uniform(0.2, 1.5, (2, n)), random.normal(size=2))
    rows = []
    for g in range(groups):
        for _ in range(1 + number % 2):
            high = random.random((count, 2)) < 0.5
            steps = np.where(high, 0.7, -0.7) if number % 5 else random.normal(size=(count, 2))
            rows.append(Rows(g, -random.uniform(0.1, 1.2, (2, n)), random.normal(size=2) + steps))
    allowed = (int(random.integers(1, 3)),) * groups
    return Sampled((goal,), tuple(rows), allowed, np.full(n, -8.0), np.full(n, 8.0))


def by_hand(problem: Sampled) -> float:
    """Return the least optimum over every set that may fail, each by SciPy's SLSQP, which shares no code."""
    sets = [
        list(itertools.combinations(range(len(next(r.logc for r in problem.rows if r.group == g))), k))
        for g, k in enumerate(problem.may_fail)
    ]
    best = math.inf
    for outs in itertools.product(*sets):
        best = min(best, _slsqp(problem, outs))
    return best


def _slsqp(problem: Sampled, outs: tuple[tuple[int, ...], ...]) -> float:
    (goal_a, goal_c), *_ = problem.fixed
    tables = [(r.A, np.delete(r.logc, outs[r.group], axis=0)) for r in problem.rows]

    def lse(a: np.ndarray, c: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.log(np.exp(c + a @ y).sum(-1))

    def slopes(a: np.ndarray, c: np.ndarray, y: np.ndarray) -> np.ndarray:
        w = np.exp(c + a @ y)
        return (w / w.sum(-1, keepdims=True)) @ a

    found = minimize(
        lambda y: lse(goal_a, goal_c, y),
        np.full(len(problem.low), 4.0),
        jac=lambda y: slopes(goal_a, goal_c, y),
        bounds=list(zip(problem.low, problem.high, strict=True)),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda y: -np.concatenate([lse(a, c, y) for a, c in tables]),
                "jac": lambda y: -np.concatenate([slopes(a, c, y) for a, c in tables]),
            }
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 300},
    )
    worst = max(float(lse(a, c, found.x).max()) for a, c in tables)
    return float(found.fun) if worst <= 1e-7 else math.inf


def compared(numbers: range) -> list[int]:
    """Return the instances whose certified optimum is not that of enumeration, to 1e-6."""
    wrong = []
    for number in numbers:
        problem = instance(number)
        found, truth = removal.search(problem), by_hand(problem)
        assert found.whole
        same = found.y is None if math.isinf(truth) else abs(found.value - truth) <= 1e-6
        if not same or found.bound > found.value + 1e-9 or found.value - found.bound > 1e-6:
            wrong.append(number)
    return wrong


def test_certified_optimum_is_that_of_enumeration():
    assert compared(range(20)) == []


def test_no_more_fail_than_may_and_those_are_named():
    problem = instance(2, 60)
    found = removal.search(problem)
    assert found.y is not None
    for group, miss in enumerate(problem.misses(found.y[None])):
        failing = set(np.flatnonzero(miss[0] > 1e-8).tolist())
        assert failing <= found.left_out[group]
        assert len(found.left_out[group]) <= problem.may_fail[group]


def test_one_number_that_orders_the_samples_needs_one_program():
    random = np.random.default_rng(3)
    steps = random.normal(size=(200, 1))
    row = Rows(0, np.array([[-1.0], [-0.5]]), np.array([[0.0, 0.3]]) + steps)
    problem = Sampled(((np.array([[1.0]]), np.zeros(1)),), (row,), (10,), np.full(1, -9.0), np.full(1, 9.0))
    found = removal.search(problem)
    assert found.programs == 1
    # the 11th largest step holds the optimum up
    level = np.sort(steps[:, 0])[::-1][10]
    assert math.log(math.exp(level - found.y[0]) + math.exp(0.3 + level - 0.5 * found.y[0])) == pytest.approx(
        0.0, abs=1e-8
    )
    assert found.left_out[0] == set(np.argsort(-steps[:, 0])[:10].tolist())


@pytest.mark.parametrize("number", [1, 2, 4, 7])
def test_a_beam_finds_a_design_and_a_bound_on_either_side(number: int):
    problem = instance(number, 80)
    whole = removal.search(problem)
    beam = removal.search(problem, most=0)
    assert not beam.whole
    told = removal_bounds.bounded(problem, beam)
    assert told.bound <= whole.value + 1e-9
    assert told.value >= whole.value - 1e-9
    # what is not proved is not claimed: another beam, the same bound or a different one, never above the optimum
    assert (
        removal_bounds.bounded(problem, removal.search(problem, most=0, beam=1)).bound <= whole.value + 1e-9
    )


def test_no_design_is_proved_where_too_many_samples_would_have_to_fail():
    # y >= 1 in six samples, y <= 0 in the other six, and five may fail
    step = np.where(np.arange(12) < 6, 1.0, -40.0)[:, None]
    up = Rows(0, np.array([[-1.0]]), step)
    down = Rows(0, np.array([[1.0]]), np.where(np.arange(12) < 6, -40.0, 0.0)[:, None])
    goal = (np.array([[1.0]]), np.zeros(1))
    for allowed, status in ((5, True), (6, False)):
        problem = Sampled((goal,), (up, down), (allowed,), np.full(1, -9.0), np.full(1, 9.0))
        found = removal.search(problem)
        assert found.infeasible is status
    # without the six that want y >= 1, y goes to its end
    assert found.value == pytest.approx(-9.0, abs=1e-6)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 240
    print(f"{count} instances, those that differ from enumeration: {compared(range(count))}")
