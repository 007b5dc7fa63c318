"""The optimal face: designs by the tie rule and ranges, of one point and of many the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from geometric_grids import batches

import dse
import scenarios
from formulations.canonical import Canonical
from formulations.grids import batch
from formulations.row_keys import RowKey
from solvers.geometric.kernel import gp
from solvers.geometric.programs import optimal_face, ties

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 65536}, "memory": {"max": 1e9}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": 1.0}},
}
SWEPT = {
    "sweep": {"n": {"path": "given.bodies", "start": 1e4, "stop": 1e6, "num": 7, "spacing": "log"}},
}


def _chosen(extra: dict[str, Any]) -> tuple[batch.Batch, optimal_face.Chosen]:
    grid = scenarios.grid(dse.load({**NBODY, **extra}))
    (made,) = batches(grid)
    t = made.table
    r = gp.solve(t.exponents, t.logc, t.ptr, made.low, made.high)
    rule = ties.of_batch(made, gp.solve)
    assert rule is not None
    return made, optimal_face.choose(rule, np.arange(made.size), r, after=0)


def test_ranges_of_many_points_are_those_of_each_alone():
    made, found = _chosen(SWEPT)
    assert found.sure.all()
    names = [v.name for v in made.problem.variables]
    for i, bodies in enumerate(made.question.given["bodies"].values):
        alone = dse.solve(dse.load({**NBODY, "given": {**NBODY["given"], "bodies": float(bodies)}}))
        assert set(alone.ranges) == {
            n for n, low in zip(names, found.low[i], strict=True) if np.isfinite(low)
        }
        assert alone.ranges, "any number of processors between two ends has the least energy"
        for name, ends in alone.ranges.items():
            k = names.index(name)
            # the single question polishes its optimum before, which is good to 1e-6
            assert np.exp([found.low[i, k], found.high[i, k]]) == pytest.approx(ends, rel=1e-6)


def test_a_face_of_two_dimensions_has_a_box_of_ranges():
    """Nothing but a row of x y is minimised: any x and y with this product are as good, and z is free."""
    table = batch.Table(np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]]), np.zeros((2, 2)), np.array([0, 1, 2]))
    low, high = np.full((2, 3), -1.0), np.array([[2.0, 3.0, 1.0], [0.5, 3.0, 1.0]])
    rows = (table.exponents, table.logc, table.ptr)
    arrays = Canonical(("x", "y", "z"), *rows, (RowKey("r", "max"),), low, high, (), np.zeros((0, 3)), {})
    made = batch.Batch(None, None, (2,), arrays)  # type: ignore[arg-type]
    rule = optimal_face.stages(made, [], gp.solve)
    r = gp.solve(table.exponents, table.logc, table.ptr, low, high)
    found = optimal_face.choose(rule, np.arange(2), r, after=0)
    assert found.low == pytest.approx(np.array([[-1.0, -1.0, -1.0], [-1.0, -0.5, -1.0]]), abs=1e-8)
    assert found.high == pytest.approx(np.array([[1.0, 1.0, 1.0], [0.5, 1.0, 1.0]]), abs=1e-8)


def test_a_face_that_is_a_line_ends_where_a_bent_row_does():
    """x y is minimised with x y >= 1 and x/4 + y/4 <= 1, which bends along it: its ends take no further program."""
    exponents = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
    quarter = np.log(0.25)
    table = batch.Table(exponents, np.array([[0.0, 0.0, quarter, quarter]]), np.array([0, 1, 2, 4]))
    low, high = np.full((1, 2), -9.0), np.full((1, 2), 9.0)
    rows = (table.exponents, table.logc, table.ptr)
    keys = (RowKey("product", "min"), RowKey("sum", "max"))
    arrays = Canonical(("x", "y"), *rows, keys, low, high, (), np.zeros((0, 2)), {})
    made = batch.Batch(None, None, (1,), arrays)  # type: ignore[arg-type]

    def no_more(*_: Any) -> gp.Result:
        raise AssertionError("a line needs no program")

    rule = optimal_face.stages(made, [], no_more)
    found = optimal_face.choose(rule, np.arange(1), gp.solve(*rows, low, high), after=0)
    ends = np.log([2.0 - np.sqrt(3.0), 2.0 + np.sqrt(3.0)])
    assert found.low == pytest.approx(np.full((1, 2), ends[0]), abs=1e-9)
    assert found.high == pytest.approx(np.full((1, 2), ends[1]), abs=1e-9)
