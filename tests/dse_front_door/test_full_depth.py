"""At full depth a sweep keeps what a single answer tells: ranges, sensitivities, next changes, choices, conflicts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import dse
import scenarios
from dse.cli import main
from results import dataset, plot
from results.layouts import explained_layout
from results.solution import Status
from results.stores.store import StoreError
from scenarios import ScenarioError
from scenarios.questions import question
from solvers.answer import answer

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 100}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": 10.0}},
}
NODES = re.compile(r"; \d+ nodes")
DEADLINE = {"path": "limits.time.max", "start": 0.5, "stop": 50.0, "num": 4, "spacing": "log"}
CLASSES: dict[str, dict[str, Any]] = {
    "geometric program": NBODY,
    "ratios of sums": NBODY | {"limits": {"time": {"max": 10.0}, "power": {"max": 30.0}}},
    "whole numbers": NBODY
    | {
        "decide": {"processors": {"max": 100, "integer": True}, "memory": {}},
        "limits": {"time": {"max": 50.0}, "power": {"max": 3.0}},
    },
    "choice of machines": {
        **{k: v for k, v in NBODY.items() if k != "machine"},
        "decide": {**NBODY["decide"], "machine": {"values": ["balanced", "jaketown"]}},
    },
    "names alone": {
        **{k: v for k, v in NBODY.items() if k != "machine"},
        "given": {**NBODY["given"], "processors": 50, "memory": 4e3},
        "decide": {"machine": {"values": ["balanced", "jaketown", "contrived"]}},
    },
    "table": {
        "model": "partition",
        "machine": {"cpu": "i3-2100t", "gpu": "gtx-750-tang2017"},
        "given": {
            "regions": [
                {"name": f"r{i}", "flops": 1e9 * (i + 1), "bytes": 1e8, "divisible": False} for i in range(3)
            ]
        },
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 0.5}},
    },
    "nothing decided": {
        **{k: v for k, v in NBODY.items() if k not in {"decide", "objective"}},
        "given": {"bodies": 1e5, "flops_per_pair": 10, "processors": 50, "memory": 4e3},
        "limits": {"time": {"max": 10.0}, "energy": {"max": 40.0}},
    },
    "without structure": {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 1e6, "all_to_all": "tree"},
        "decide": {"processors": {"max": 1e6}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 10.0}},
    },
}


def _differences(swept: xr.Dataset, place: tuple[int, ...], alone: dataset.Arrays) -> list[str]:
    """What the sweep says otherwise than the answer alone; the solvers' own tolerances apart."""
    found = []
    for name, array in alone.items():
        one, other = swept[name].values[place], array[(0,) * len(place)]
        if name == "certificate":
            # a question alone takes fewer calls and more nodes
            one, other = (NODES.sub("", str(text)) for text in (one, other))
        close = np.array_equal(one, other)
        if np.asarray(other).dtype.kind == "f":
            close = np.allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)
        if name != "seconds" and not close:
            found.append(f"{name}: {one} {other}")
    return found


@pytest.mark.parametrize("kind", CLASSES)
def test_each_point_has_all_that_is_told_of_it_alone(kind: str):
    asked = dse.load({**CLASSES[kind], "sweep": {"deadline": DEADLINE}})
    swept, grid = dse.sweep(asked, depth="full"), scenarios.grid(asked)
    plan = dataset.layout(grid, full=True)
    names = {v.name for v in plan.variables if v.role == explained_layout.ROLE}
    assert names <= set(map(str, swept.data_vars))
    for i in range(4):
        alone = dataset.to_arrays(plan, [answer(grid.question((i,)))], (1,))
        assert _differences(swept, (i,), alone) == []


def test_what_is_told_is_not_empty():
    """Each variable says something for some class: a sweep that kept nothing would pass the test above."""
    told: dict[str, bool] = {}
    asked = [dse.load({**c, "sweep": {"deadline": DEADLINE}}) for c in CLASSES.values()]
    for swept in (dse.sweep(one, depth="full") for one in asked):
        for name in map(str, swept.data_vars):
            array = swept[name].values
            some = np.isfinite(array) & (array > 0) if array.dtype.kind in "fi" else array != ""
            told[name] = told.get(name, False) or bool(np.any(some))
    silent = {n for n in explained_layout.NAMES & told.keys() if not told[n]}
    # no number of these questions runs away, or has one side only
    assert silent <= {"runaway", "elasticity_one_sided", "sensitivity_one_sided"}


@pytest.mark.parametrize(
    ("kind", "way", "count"),
    [
        ("geometric program", "interior point over all points", 25),
        ("ratios of sums", "monomial secants", 4),
        ("nothing decided", "evaluated as arrays", 4),
    ],
)
def test_a_large_grid_goes_at_once(kind: str, way: str, count: int):
    bodies = {"path": "given.bodies", "start": 1e4, "stop": 2e5, "num": count}
    asked = dse.load({**CLASSES[kind], "sweep": {"deadline": {**DEADLINE, "num": 40}, "bodies": bodies}})
    swept, grid = dse.sweep(asked, depth="full"), scenarios.grid(asked)
    assert way in swept.attrs["method"]
    assert swept.attrs["left_over"] == "{}"
    found = {s for s in Status if dataset.STATUS_CODES[s] in swept["status"].values}
    assert {Status.INFEASIBLE} < found
    plan, random = dataset.layout(grid, full=True), np.random.default_rng(2026)
    for place in zip(random.integers(40, size=12), random.integers(count, size=12), strict=True):
        at = (int(place[0]), int(place[1]))
        alone = dataset.to_arrays(plan, [answer(grid.question(at))], (1, 1))
        assert _differences(swept, at, alone) == []


def test_a_decided_number_that_is_minimised_is_held_by_its_domain():
    bodies = {"path": "given.bodies", "start": 1e4, "stop": 2e5, "num": 3}
    asked = dse.load(
        {**NBODY, "objective": {"minimize": "processors"}, "sweep": {"deadline": DEADLINE, "bodies": bodies}}
    )
    swept, grid = dse.sweep(asked, depth="full"), scenarios.grid(asked)
    assert "interior point over all points" in swept.attrs["method"]
    held = swept["held"].sel(decided_number="processors").values
    alone = [[answer(grid.question((i, j))).held.get("processors") for j in range(3)] for i in range(4)]
    assert {"min", None} <= set(np.ravel(alone).tolist())
    np.testing.assert_array_equal(held == 1, np.equal(alone, "min"))


def test_whole_numbers_are_said_to_be_answered_one_by_one():
    decide = {"processors": {"max": 100, "integer": True}, "memory": {}}
    asked = dse.load({**NBODY, "decide": decide, "sweep": {"deadline": {**DEADLINE, "num": 9}}})
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dse.sweeping.sweeps.announce", lambda _progress, text: said.append(text))
        swept = dse.sweep(asked, depth="full")
    assert "point by point" in said[0]
    assert "at full depth each point gets" in said[0]
    assert swept.attrs["method"] == "each point solved by itself"
    assert swept.attrs["left_over"] == "{}"


def test_names_and_units_say_what_is_told():
    swept = dse.sweep(
        dse.load({**CLASSES["choice of machines"], "sweep": {"deadline": DEADLINE}}), depth="full"
    )
    assert swept["alternative"].values.tolist() == ["machine = balanced", "machine = jaketown"]
    best = swept["alternative_objective"].min("alternative")
    there = swept["status"] == 1
    np.testing.assert_allclose(best.where(there), swept["objective"].where(there), rtol=1e-9)
    assert json.loads(swept["range_low"].attrs["number_units"]) == {"processors": "1", "memory": "word"}
    assert swept["next_objective"].attrs["units"] == "J"


def test_the_next_best_choice_is_kept_where_names_alone_are_chosen():
    asked = {**CLASSES["names alone"], "limits": {}}
    swept = dse.sweep(
        {**asked, "sweep": {"bodies": {"path": "given.bodies", "values": [1e4, 1e5]}}}, depth="full"
    )
    alone = dse.solve(asked).next_best
    assert alone is not None
    assert float(swept["next_best"][1]) == alone.objective
    assert str(swept["next_best_choice"].values[1]) == f"machine = {alone.variables['machine']}"


def test_a_store_keeps_its_depth(tmp_path: Path):
    asked, store = dse.load({**NBODY, "sweep": {"deadline": DEADLINE}}), tmp_path / "deep.zarr"
    first = dse.sweep(asked, store, depth="full").load()
    again = dse.sweep(asked, store, depth="full").load()
    xr.testing.assert_identical(first.drop_attrs(deep=False), again.drop_attrs(deep=False))
    assert dse.verify(store).passed
    with pytest.raises(StoreError, match="depth: asked limits, stored full; --depth says which"):
        dse.sweep(asked, store)
    more = dse.load({**NBODY, "sweep": {"deadline": {**DEADLINE, "num": 7}}})
    with pytest.raises(StoreError, match=r"cannot be extended.*\n  depth: asked limits, stored full"):
        dse.sweep(more, store, extend=True)
    for ending in ("csv", "nc", "parquet"):
        dse.export(first, tmp_path / f"x.{ending}")
    back = dse.open(tmp_path / "x.nc").load()
    np.testing.assert_array_equal(back["sensitivity"].values, first["sensitivity"].values)
    assert "range_low memory [word]" in (tmp_path / "x.csv").read_text().splitlines()[0]


def test_solve_has_the_depths_of_sweep():
    whole = {**CLASSES["whole numbers"], "limits": {"power": {"max": 3.0}}}
    full, less = dse.solve(whole), dse.solve(whole, depth="limits")
    assert full.limits["power"].next_change is not None
    assert less.limits["power"].next_change is None
    assert (less.objective, less.variables) == (full.objective, full.variables)
    assert full == answer(question(dse.load(whole)))
    with pytest.raises(ValueError, match="'deep'; it may be 'limits' or 'full'"):
        dse.solve(whole, depth="deep")


def test_bad_input_is_named(tmp_path: Path):
    asked = {**NBODY, "sweep": {"runaway": DEADLINE}}
    assert "runaway" in dse.sweep(dse.load(asked)).dims
    with pytest.raises(
        ScenarioError, match=r"sweep\.runaway: at depth full the dataset needs the name runaway"
    ):
        dse.sweep(dse.load(asked), depth="full")
    ran = CliRunner().invoke(
        main, ["sweep", "nbody_deadline_sweep", "-o", str(tmp_path / "x"), "--depth", "all"]
    )
    assert ran.exit_code == 2
    assert "'all' is not one of 'limits', 'full'" in ran.output


def test_a_picture_of_what_nothing_was_decided_in_shows_a_metric():
    """At full depth the store begins with sensitivities, which have an axis of their own."""
    found = dse.sweep(
        {
            "model": "roofline",
            "machine": "h100-sxm",
            "given": {"flops": 1e12},
            "sweep": {"ai": {"path": "intensity", "values": [0.1, 10, 1000]}},
        },
        depth="full",
        progress=False,
    )
    assert plot.sweep(found).axes[0].get_ylabel().startswith("time")
