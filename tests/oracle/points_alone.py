"""A point of a sweep has the numbers of its question asked alone: the comparison for whole blocks of points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

import results.dataset
import scenarios
from formulations import handover
from formulations.grids import over_grid
from results.dataset import Arrays, Layout
from results.solution import Solution
from scenarios.sweep.grids import Grid
from solvers import feasible_values, side_by_side
from solvers.answer import answer

APART = {"seconds", "message", "regime"}
"""How long it took and how it is told; where the best design makes two times equal, rounding says which is greater."""
EXACT = {"objective", "bound"}
ROOTS = {"gap", "elasticity", "halvings"}
"""A rate is known to the square root of the gap; halvings of nothing are rounding."""


def answers(asked: Grid, places: Iterable[tuple[int, ...]]) -> list[Solution]:
    """The answer to the question of each place, with the bits that it has by itself (``test_side_by_side``)."""
    return side_by_side.run_apart([partial(answer, asked.question(p), neighbours=False) for p in places])


def briefly(sources: Iterable[Mapping[str, Any]]) -> list[Solution]:
    """The optimum of each question, without what is told beside it; all side by side."""
    asked = [scenarios.grid(scenarios.load(source)).question(()) for source in sources]
    return side_by_side.run_apart([partial(answer, question, brief=True) for question in asked])


def drawn(places: np.ndarray, most: int, seed: int) -> list[tuple[int, ...]]:
    """Some places (rows), drawn by lot."""
    chosen = np.random.default_rng(seed).permutation(len(places))[:most]
    return list(map(tuple, places[chosen].tolist()))


def completed(asked: Grid, plan: Layout, arrays: Arrays, left: np.ndarray) -> int:
    """Fill in the feasible values that a block left open; return of how many points these were."""
    with handover.collected() as tally:
        feasible_values.complete(asked, plan, over_grid.whole(asked), arrays, left)
    return tally.reasons.get(feasible_values.ALONE, 0)


def assert_same(
    asked: Grid,
    plan: Layout,
    arrays: Arrays,
    places: Iterable[tuple[int, ...]],
    *,
    rtol: float = 3e-5,
    atol: float = 0.0,
) -> None:
    """Compare every variable of the dataset at some places with the answer to the point's question.

    ``rtol``: by default, a gap of 1e-9 leaves what the tie rule settles to its square root.
    """
    places = list(places)
    for place, alone in zip(places, answers(asked, places), strict=True):
        one = (1,) * len(place)
        for name, values in results.dataset.to_arrays(plan, [alone], one).items():
            expected, found = values[(0,) * len(place)], arrays[name][place]
            where = f"{name} at {place}: {found}, alone {expected}"
            if name in APART:
                continue
            if values.dtype.kind != "f":
                np.testing.assert_array_equal(found, expected, err_msg=where)
            elif name in ROOTS:
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=where)
            else:
                within = 1e-6 if name in EXACT else rtol
                np.testing.assert_allclose(found, expected, rtol=within, atol=atol, err_msg=where)
