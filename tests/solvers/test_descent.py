"""The local search arrives where it should from wherever it starts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_questions import fft, nbody

from scenarios.question import Decision, Question
from solvers import boxes
from solvers.sampling import descent

QUESTION = nbody(
    "time", p=Decision("processors", maximum=1330000), energy=(None, 42.1555), power=(None, 806.281)
)


@given(st.floats(1, 1e6), st.floats(1, 1e5))
@settings(max_examples=10, deadline=None)
def test_a_vertex_of_two_limits_from_anywhere(p: float, memory: float) -> None:
    # reference case nbody-17
    x = descent.descents(QUESTION, boxes.space(QUESTION), np.array([[p, memory]]))
    worst, goal = boxes.measured(QUESTION, x)
    assert worst[0] <= 1 + 1e-9
    assert goal[0] == pytest.approx(0.0609790111333, rel=1e-8)


def test_whole_numbers_are_held() -> None:
    question = nbody(p=Decision("processors", integer=True, maximum=1000), time=(None, 0.5))
    (x,) = descent.descents(question, boxes.space(question), np.array([[300.0, 500.0]]))
    assert x[0] == 300.0
    assert x[1] != 500.0


def test_where_nothing_is_free_a_design_stays() -> None:
    assert descent.descents(fft(), boxes.space(fft()), np.array([[5.0]])) == 5.0


def test_a_smooth_optimum_takes_few_looks() -> None:
    """A step that led uphill is cut to where a parabola through the goal is least."""
    looks = []

    def numbers(question: Question, x: Mapping[str, Any]) -> Any:
        looks.append(x)
        return boxes.numbers(question, x)

    asked = fft(p=Decision("processors", maximum=1e6))
    x = descent.descents(asked, boxes.space(asked), np.array([[5.0]]), numbers)
    assert x[0, 0] == pytest.approx(510.296437, rel=1e-8)
    assert len(looks) < 25
