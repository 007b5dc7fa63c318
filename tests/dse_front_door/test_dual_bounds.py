"""Bounds are proved once more from what is stored: right weights prove them, wrong ones and wrong designs do not."""

from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from dse.sweeping.checks import dual_bounds
from results.solution import Solution
from scenarios.question import Question
from solvers.answer import answer


@pytest.fixture
def asked(deadline: Any) -> Question:
    """One in which the deadline binds, and a limit of the model's own."""
    deadline.write_text(deadline.read_text().replace('"1 s"', '"100 ms"'))
    return scenarios.grid(dse.load(deadline)).question(())


def gap(question: Question, solution: Solution, factor: float = 1.0, weight: float = 1.0) -> float:
    """The gap proved of a design whose first number is changed, with weights that are."""
    x = {name: np.array([value]) for name, value in solution.variables.items()}
    first = next(iter(x))
    x[first] = x[first] * factor
    weights = {
        n: np.array([np.nan if s.elasticity is None else weight * s.elasticity])
        for n, s in solution.limits.items()
    }
    return float(dual_bounds.gaps(question, x, weights)[0])


def test_an_optimum_is_proved_once_more(asked: Question):
    solution = answer(asked)
    assert solution.limits["time"].binding
    assert abs(solution.limits["time"].elasticity) > 0
    # the slopes' rounding over the width of the box
    assert abs(gap(asked, solution)) <= dual_bounds.ROUNDING


def test_without_the_weights_nothing_is_proved(asked: Question):
    solution = answer(asked)
    assert gap(asked, solution, weight=0.0) > 1e-3
    assert gap(asked, solution, weight=0.5) > 1e-3


def test_a_worse_design_is_not_proved_and_the_bound_stays_one(asked: Question):
    solution = answer(asked)
    assert solution.objective is not None
    told = gap(asked, solution, factor=1.2)
    assert told > 1e-3
    x = {n: np.array([v]) for n, v in solution.variables.items()}
    first = next(iter(x))
    worse = {**x, first: x[first] * 1.2}
    from formulations import evaluation

    value = float(evaluation.metrics(asked, worse)["energy"][0])
    assert value * (1 - told) <= solution.objective * (1 + dual_bounds.ROUNDING)


def test_only_of_convex_problems(grid_file: Any):
    grid = scenarios.grid(dse.load(grid_file(3)))
    assert dual_bounds.convex(grid, (0, 0), {})
    assert not dual_bounds.convex(scenarios.grid(dse.load("nbody_deadline_sweep")), (40, 0), {})


def test_a_sweep_counts_them(grid_file: Any):
    import json

    told = json.loads(dse.sweep(grid_file(8), workers=1, progress=False).attrs["audit"])
    assert told["bounds_proved_again"] == told["bounds_tried"] > 0
