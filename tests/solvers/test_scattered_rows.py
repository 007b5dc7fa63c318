"""Rows in any order are answered as the points of the grid that they are from, together and not one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import results.dataset
import scenarios
from formulations.grids import over_grid, row_order
from scenarios import Grid
from solvers import many_points, paths
from solvers.answer import answer
from solvers.geometric.neighbours import neighbour_proofs
from solvers.geometric.points import geometric

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"flops_per_pair": 10, "bodies": 1e5},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
}
EVALUATED = {k: v for k, v in NBODY.items() if k not in {"decide", "objective"}} | {
    "given": {"flops_per_pair": 10, "bodies": 1e5, "memory": 1e4}
}
CAPPED = NBODY | {"limits": {"power": {"max": "1 kW"}, "time": {"max": "1 s"}}}


def answered(grid: Grid) -> tuple[dict[str, Any], Any, many_points.Path]:
    path = paths.chosen(grid).path
    assert path is not None
    plan = results.dataset.layout(grid)
    arrays, left = path.solve(plan, over_grid.whole(grid))
    return arrays, left, path


def grid_of(question: dict[str, Any], sweep: dict[str, Any]) -> Grid:
    return scenarios.grid(scenarios.load(question | {"sweep": sweep}))


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (NBODY, "bodies", "limits.time.max"),
        (NBODY, "limits.processors.min", "bodies"),
        (CAPPED, "bodies", "limits.power.max"),
        (EVALUATED, "bodies", "processors"),
    ],
    ids=["geometric", "a limit that says nothing at some", "ratios", "evaluated"],
)
def test_shuffled_points_of_a_grid_have_its_answers(question: dict[str, Any], one: str, other: str):
    values = {
        "bodies": np.geomspace(1e4, 1e6, 28),
        "limits.time.max": np.geomspace(1e-2, 1.0, 20),
        "limits.processors.min": np.geomspace(1, 100, 20),
        "limits.power.max": np.geomspace(10.0, 1e4, 10),
        "processors": np.geomspace(16, 4096, 20),
    }
    a, b = values[one], values[other]
    if question is CAPPED:
        a, b = a[::3], b[::2]
    plain = {n: {"path": p, "values": v.tolist()} for n, p, v in (("a", one, a), ("b", other, b))}
    arrays, left, path = answered(grid_of(question, plain))
    mixed = np.random.default_rng(1).permutation(a.size * b.size)
    rows = {
        p: v.ravel()[mixed].tolist()
        for p, v in zip((one, other), np.meshgrid(a, b, indexing="ij"), strict=True)
    }
    found, missed, way = answered(grid_of(question, {"x": {"paths": rows}}))
    assert way.method == path.method
    np.testing.assert_array_equal(missed, left.ravel()[mixed])
    there = ~missed
    np.testing.assert_array_equal(found["status"][there], arrays["status"].ravel()[mixed][there])
    np.testing.assert_allclose(found["energy"][there], arrays["energy"].ravel()[mixed][there], rtol=2e-6)


def test_names_in_rows_are_answered_with_those_of_one_kind(monkeypatch: pytest.MonkeyPatch):
    """600 rows of two machines take a handful of runs of the model, not one for each row."""
    question = {k: v for k, v in NBODY.items() if k != "machine"}
    dice = np.random.default_rng(2)
    rows = {
        "machine": dice.choice(["balanced", "jaketown"], 600).tolist(),
        "bodies": dice.uniform(1e4, 1e5, 600).tolist(),
    }
    grid = grid_of(question, {"x": {"paths": rows}})
    runs: list[int] = []
    real, path = geometric.made_of, paths.chosen(grid).path
    assert path is not None
    monkeypatch.setattr(geometric, "made_of", lambda *asked: runs.append(1) or real(*asked))
    arrays, left = path.solve(results.dataset.layout(grid), over_grid.whole(grid))
    assert not left.any()
    assert len(runs) == 2
    for i in (0, 299, 599):
        assert arrays["energy"][i] == pytest.approx(answer(grid.question((i,))).metrics["energy"], rel=2e-6)


def test_exponents_in_rows_are_answered_with_those_of_one_structure():
    """Each row has one of four exponents: four programs, each of many points, and not one for each row."""
    asked = {
        **NBODY,
        "given": {**NBODY["given"], "exponent": 0.5},
        "define": {"weighed": "energy * (processors / 100) ** exponent"},
        "objective": {"minimize": "weighed"},
    }
    dice = np.random.default_rng(2)
    rows = {
        "given.exponent": dice.choice([0.1, 0.3, 0.5, 0.7], 400).tolist(),
        "bodies": dice.uniform(1e4, 1e5, 400).tolist(),
    }
    grid = grid_of(asked, {"x": {"paths": rows}})
    path = paths.chosen(grid).path
    assert path is not None
    arrays, left = path.solve(results.dataset.layout(grid), over_grid.whole(grid))
    assert not left.any()
    for i in (0, 199, 399):
        assert arrays["weighed"][i] == pytest.approx(answer(grid.question((i,))).objective, rel=2e-6)


def test_most_scattered_points_are_settled_from_neighbours(monkeypatch: pytest.MonkeyPatch):
    counts: list[tuple[int, int]] = []
    real = neighbour_proofs.settled

    def settled(rule: Any, anchors: Any) -> Any:
        found = real(rule, anchors)
        counts.append((rule.batch.size, len(found.best) + len(found.conflicting)))
        return found

    monkeypatch.setattr(neighbour_proofs, "settled", settled)
    dice = np.random.default_rng(3)
    rows = {"bodies": 1e4 * 100 ** dice.random(5000), "limits.time.max": 1e-2 * 100 ** dice.random(5000)}
    grid = grid_of(NBODY, {"x": {"paths": {path: v.tolist() for path, v in rows.items()}}})
    _, left = geometric.over(grid, compiled=True).solve(results.dataset.layout(grid), over_grid.whole(grid))
    assert not left.any()
    assert sum(found for _, found in counts) > 0.9 * grid.size


def test_the_curve_goes_from_each_cell_to_one_beside_it():
    side = np.arange(16.0)
    places = [v.ravel() for v in np.meshgrid(side, side, side - 8, indexing="ij")]
    order = row_order.order([], places)
    assert sorted(order.tolist()) == list(range(16**3))
    steps = sum(np.abs(np.diff(p[order])) for p in places)
    assert np.mean(steps) < 1.2
