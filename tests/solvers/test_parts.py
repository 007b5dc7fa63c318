"""Questions answered in parts: what the bounds of all of them prove, and which are as good as the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from results.dataset import STATUS_CODES, Arrays, layout, only
from results.solution import Solution, Status
from scenarios.question import Question
from scenarios.questions import question
from solvers import choices
from solvers.geometric.points import holding
from solvers.many_points.by_choice import ByChoice, Part
from solvers.mechanisms import parts

REPAIRED = "platforms_mtbf_alike_sweep"


def told(status: Status, objective: float | None, bound: float | None) -> Solution:
    return Solution(status, objective=objective, bound=bound)


@pytest.mark.parametrize(
    ("other", "status", "bound"),
    [
        (told(Status.FEASIBLE, 12.0, 11.0), Status.OPTIMAL, 10.0),
        (told(Status.FEASIBLE, 12.0, 9.0), Status.FEASIBLE, 9.0),
        (told(Status.FEASIBLE, 12.0, None), Status.FEASIBLE, None),
        (told(Status.ERROR, None, 9.0), Status.FEASIBLE, 9.0),
        # what is closed may hide something better within the gap that was asked for
        (told(Status.OPTIMAL, 10.000001, 9.999996), Status.OPTIMAL, 9.999996),
        (told(Status.INFEASIBLE, None, None), Status.OPTIMAL, 10.0),
    ],
)
@pytest.mark.parametrize("best", [told(Status.OPTIMAL, 10.0, 10.0), told(Status.EVALUATED, 10.0, None)])
def test_the_bound_of_choices_is_that_of_all_of_them(
    best: Solution, other: Solution, status: Status, bound: float | None
) -> None:
    asked = question(dse.load("roofline_platform_double_precision"))
    nothing = told(Status.INFEASIBLE, None, None)
    every = [best, other, *[nothing] * 7]

    def answered(q: Question) -> Solution:
        return every[[one for _, one in choices.combinations(asked)].index(q)]

    found = choices.best_of(asked, answered, answered, None)
    assert (found.objective, found.status, found.bound) == (10.0, status, bound)


@dataclass(frozen=True)
class Known:
    """A way that has known answers."""

    answers: Arrays
    method: str = "known"
    kind: str = "batch"
    work: float = 0.0

    def solve(self, *_: Any) -> tuple[Arrays, np.ndarray]:
        return self.answers, np.zeros(len(self.answers["status"]), bool)

    def part(self, _: Any) -> Known:
        return self


def test_the_bound_of_a_block_is_that_of_all_choices():
    grid = scenarios.grid(dse.load(REPAIRED))
    named = next(d for d in grid.first.decide if d.choices is not None)
    assert named.choices is not None
    plan = only(layout(grid), {"status", "objective", "bound", "gap"})
    optimal, none = (STATUS_CODES[s] for s in (Status.OPTIMAL, Status.INFEASIBLE))
    numbers: list[dict[str, list[float]]] = [
        {"status": [optimal] * 3, "objective": [3.0] * 3, "bound": [3.0] * 3},
        {
            "status": [optimal, none, optimal],
            "objective": [2.9, np.nan, 2.9],
            "bound": [3.000001, np.nan, 3.000001],
        },
    ]
    assert grid.first.objectives[0].maximize
    ways = [
        Part({named.name: name}, {}, Known({n: np.array(v) for n, v in own.items()}))
        for name, own in zip(named.choices, numbers, strict=False)
    ]
    arrays, left = ByChoice(grid, tuple(ways), None, holding.can_hold).solve(plan, (slice(0, 3),))
    assert not left.any()
    np.testing.assert_array_equal(arrays["objective"], [3.0, 3.0, 3.0])
    np.testing.assert_array_equal(arrays["bound"], [3.000001, 3.0, 3.000001])
    np.testing.assert_allclose(arrays["gap"], [1e-6 / 3, 0.0, 1e-6 / 3], rtol=1e-6)


def test_what_is_no_number_is_not_as_good():
    values = np.array([[1.0, np.inf, -np.inf], [1.0 + 1e-10, np.inf, 1.0], [1.1, 2.0, np.inf]])
    found = parts.tied(values, 1e-9)
    assert found.T.tolist() == [[True, True, False], [False, False, True], [False, False, False]]
