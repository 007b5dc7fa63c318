"""Points of a chunk one by one."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import scenarios
from formulations import failures
from results.solution import Solution, Status
from solvers.answer import answer

if TYPE_CHECKING:
    from solvers.others.pyomo_points import Points


def places(region: tuple[slice, ...]) -> Iterator[tuple[int, ...]]:
    """Go through the points of a block in C order."""
    return itertools.product(*(range(s.start, s.stop) for s in region))


def answered(
    grid: scenarios.Grid,
    place: tuple[int, ...],
    points: Points | None = None,
    *,
    full: bool = False,
    why: bool = True,
) -> Solution:
    """Answer one point; what goes wrong becomes status ``error``.

    ``full``: with where the answer next changes; ``why``: with which limits conflict where there is none.
    """
    began = time.perf_counter()
    question = grid.question(place)
    try:
        return answer(question, neighbours=full, why=why) if points is None else points.answer(place)
    except Exception as problem:
        # one point must not take its chunk down; what is wrong is stored with the point
        message = failures.in_words(question, problem)
        return Solution(Status.ERROR, message=message, seconds=time.perf_counter() - began)
