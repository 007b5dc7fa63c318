"""Points of large tables without a design: told by few of the designs, as all of them tell it, to the bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from formulations.grids import over_grid
from results.dataset import STATUS_CODES, Arrays, layout
from results.solution import Status
from solvers.counting import lines, narrowed, table_conflicts, tables
from solvers.explaining import settling

NONE = STATUS_CODES[Status.INFEASIBLE]


def asked(name: str, sweep: dict[str, Any], machine: str | None = None) -> scenarios.Grid:
    own = dse.load(name, machine).model_dump(exclude_none=True, exclude_defaults=True)
    axes = {
        f"axis_{k}": {"path": path, "factors": factors} for k, (path, factors) in enumerate(sweep.items())
    }
    return scenarios.grid(dse.load({**own, "sweep": axes}))


def answered(grid: scenarios.Grid) -> Arrays:
    arrays, left = tables.over(grid).solve(layout(grid), over_grid.whole(grid))
    assert not left.any()
    return arrays


@pytest.mark.parametrize(
    "sweep",
    [
        {"limits.energy_per_token.max": [0.3, 0.7, 1.5], "given.hidden": [0.5, 1.0, 2.0]},
        {"machine.memory_capacity": [0.25, 1.0], "given.sequence": [1.0, 4.0]},
    ],
)
def test_lines_tell_what_all_designs_tell(sweep: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    grid = asked("training_bandwidth_for_half_the_energy", sweep)
    sizes: list[int] = []
    telling = narrowed.telling

    def counted(every: Any, *rest: Any) -> Any:
        sizes.append(every.size)
        return telling(every, *rest)

    monkeypatch.setattr(narrowed, "telling", counted)
    by_lines = answered(grid)
    # a mesh of all designs has 1.1 million
    assert sizes
    assert max(sizes) < 50_000
    monkeypatch.setattr(lines, "lines", lambda _: None)
    by_designs = answered(grid)
    assert max(sizes) > 1_000_000
    assert (by_lines["status"] == NONE).any()
    for name, values in by_designs.items():
        np.testing.assert_array_equal(by_lines[name], values, err_msg=name)


def test_what_nothing_decided_can_mend_is_told_without_a_search(monkeypatch: pytest.MonkeyPatch):
    sweep = {"limits.time_per_output_token.max": [1.0, 2.0], "given.layers": [0.99, 0.37]}
    grid = asked("serving_energy_by_token_deadline_sweep", sweep, "dgx-h200-bf16")

    def searched(*_: Any) -> None:
        raise AssertionError("what is known is searched for")

    monkeypatch.setattr(table_conflicts, "_free_box_feasibility", searched)
    arrays = answered(grid)
    assert (arrays["status"] == NONE).all()


def test_sets_are_settled_by_few_designs():
    rng = np.random.default_rng(0)
    for _ in range(40):
        true = rng.integers(0, 16, (3, 30))
        # what is known at first is a part of it
        least = np.where(rng.random(true.shape) < 0.7, true, true & rng.integers(0, 16, true.shape))
        known, width = np.zeros(true.shape, bool), 1
        while True:
            sure = np.where(known, true, 15)
            point, place = settling.undecided(sure, least, ~known, rng.random(true.shape), width)
            if not point.size:
                break
            assert not known[point, place].any()
            known[point, place] = True
            width *= 2
        told = np.where(known, true, 15)
        assert settling.covered(told, true).all()
        for kept in range(1, 16):
            np.testing.assert_array_equal(((told & kept) == 0).any(1), ((true & kept) == 0).any(1))
