"""Points settled from anchors near by: the answers are those of every point by itself, however poor the guess."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from geometric_grids import batches

import results.dataset
import scenarios
from results.dataset import STATUS_CODES
from results.solution import Status
from results.stores.chunks import chunk_slices
from solvers.geometric.kernel import gp
from solvers.geometric.neighbours import neighbour_proofs
from solvers.geometric.points import geometric
from solvers.geometric.points.geometric_answers import answered
from solvers.geometric.programs import ties
from solvers.geometric.programs.optimal_face import Stages

TEXT = """
model = "nbody"
machine = "balanced"
[given]
bodies = 1e5
flops_per_pair = 10
[decide]
processors = { max = 65536 }
memory = { max = 1e9 }
[objective]
minimize = "energy"
[limits]
time = { max = "1 s" }
[sweep.deadline]
path = "limits.time.max"
start = "100 us"
stop = "100 ms"
num = 48
spacing = "log"
[sweep.bodies]
path = "given.bodies"
start = 1e4
stop = 1e6
num = 24
spacing = "log"
"""
"""Many have no design in time; of the others some are at the deadline, and in some the tie rule alone decides."""


@pytest.fixture(scope="module")
def asked() -> scenarios.Grid:
    return scenarios.grid(scenarios.from_text(TEXT, "near.toml"))


def test_anchors_are_the_same_however_the_grid_is_cut():
    shape, steps = (100, 50), (8, 4)

    def starts(region: tuple[slice, ...]) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        points = list(itertools.product(*(range(n)[s] for n, s in zip(shape, region, strict=True))))
        along, which = neighbour_proofs.anchors(np.array(points).T, shape, steps)
        spots = list(itertools.product(*(a.tolist() for a in along)))
        return {
            p: [spots[a] for a in tries if a >= 0] for p, tries in zip(points, which.tolist(), strict=True)
        }

    whole = starts((slice(None), slice(None)))
    for region in (
        (slice(3, 9), slice(0, 3)),
        (slice(95, 100), slice(41, 50)),
        (slice(16, 17), slice(14, 15)),
    ):
        assert all(whole[point] == tries for point, tries in starts(region).items())
    for (i, j), tries in whole.items():
        assert abs(tries[0][0] - i) <= 8 - 1
        assert abs(tries[0][1] - j) <= 4 - 1
        assert all((a % 8, b % 4) == (0, 0) for a, b in tries)


def test_a_coarse_grid_has_no_anchors():
    assert neighbour_proofs.strides((20, 20, 20), (False,) * 3) == (1, 1, 1)
    assert neighbour_proofs.strides((1000, 1000, 3), (False, False, True))[2] == 1
    assert np.prod(neighbour_proofs.strides((1000, 1000), (False, False))) >= neighbour_proofs.TOGETHER


def test_points_near_anchors_have_their_own_answers(asked: scenarios.Grid, monkeypatch: pytest.MonkeyPatch):
    """Every number is that of the interior point in NumPy, at every point; most come from anchors."""
    plan, region = results.dataset.layout(asked, {}), tuple(slice(0, n) for n in asked.shape)
    alone, left = geometric.over(asked, compiled=False).solve(plan, region)
    shares = []
    settled = neighbour_proofs.settled

    def told(rule: Stages, anchors: neighbour_proofs.Anchors) -> neighbour_proofs.Found:
        found = settled(rule, anchors)
        shares.append((found.best.size / rule.batch.size, found.conflicting.size / rule.batch.size))
        return found

    monkeypatch.setattr(neighbour_proofs, "FEWEST_CELLS", 3)
    monkeypatch.setattr(neighbour_proofs, "FEW", 1)
    monkeypatch.setattr(neighbour_proofs, "settled", told)
    arrays, apart = geometric.over(asked, compiled=True).solve(plan, region)
    assert shares[-1][0] > 0.4
    assert shares[-1][1] > 0.2
    assert sum(shares[-1]) > 0.7
    np.testing.assert_array_equal(apart, left)
    for name, values in arrays.items():
        if values.dtype.kind == "f":
            # the interior point leaves designs to the square root of its gap
            np.testing.assert_allclose(values, alone[name], rtol=3e-5, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(values, alone[name], err_msg=name)
    np.testing.assert_allclose(arrays["objective"], alone["objective"], rtol=1e-8)
    assert np.nanmax(arrays["gap"]) < 1e-9
    best = arrays["status"] == STATUS_CODES[Status.OPTIMAL]
    assert (arrays["binding"][best, plan.limits.index("time")] == 1).mean() > 0.1
    same_however_it_is_cut(asked, plan, arrays)


def same_however_it_is_cut(asked: Any, plan: Any, arrays: Any) -> None:
    """Chunks of any size start from the same anchors: every number has the same bits."""
    way, shape = geometric.over(asked, compiled=True), asked.shape
    for chunks in ((13, shape[1]), (shape[0] // 2 + 1, 9)):
        for _, part in chunk_slices(shape, chunks):
            again, _ = way.solve(plan, part)
            for name, values in again.items():
                np.testing.assert_array_equal(values, arrays[name][part], err_msg=name)


def test_a_poor_guess_proves_nothing_wrong(asked: scenarios.Grid):
    """Anchors dealt out by lot: few points are settled, and these as they are by themselves."""
    (made,) = batches(asked.part([np.arange(0, 48, 3), np.arange(0, 24, 3)]))
    full = answered(made, gp.solve)
    assert full is not None
    best = full.status == STATUS_CODES[Status.OPTIMAL]
    y = full.y
    rule = ties.of_batch(made, gp.solve)
    assert rule is not None
    known = neighbour_proofs.known(rule, best, y, full.multipliers, full.conflict)
    lot = np.random.default_rng(3).integers(0, made.size, (made.size, 4))
    near = neighbour_proofs.settled(rule, neighbour_proofs.Anchors(known, lot))
    assert near.best.size + near.conflicting.size > 0
    guessed = answered(made, gp.solve, near=near)
    assert guessed is not None
    np.testing.assert_array_equal(guessed.status, full.status)
    np.testing.assert_array_equal(guessed.conflict, full.conflict)
    for name, values in guessed.judged.x.items():
        np.testing.assert_allclose(values, full.judged.x[name], rtol=3e-5, err_msg=name)
    np.testing.assert_allclose(guessed.multipliers[best], full.multipliers[best], rtol=1e-5, atol=1e-6)
