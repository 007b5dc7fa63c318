"""What differs is told by name, on both sides, and what does not differ is not."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from results import dataset, flat
from results.dataset import Arrays, Layout
from results.differing.differences import numbers_differ
from results.export import answer_files
from results.export.jsonable import to_json
from results.solution import Alternative, Solution, Status
from results.stores.files.trouble import StoreError
from scenarios import ScenarioError

Fill = Callable[[tuple[slice, ...]], Arrays]

BASE = {
    "title": "Least energy within a deadline",
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "50 ms"}},
}


def changed(**changes: Any) -> dict[str, Any]:
    return BASE | changes


def named(first: Any, second: Any, **options: Any) -> dict[str, tuple[Any, Any]]:
    return {r["name"]: (r["first"], r["second"]) for r in dse.diff(first, second, **options).records()}


SAME = [
    changed(title="Another title"),
    changed(given={"flops_per_pair": "10 flop", "bodies": "100000"}),
    changed(limits={"time": {"max": 0.05}}),
    changed(limits={"time": {"max": "50000 us"}}),
    changed(machine={"base": "balanced"}),
    changed(machine={"base": "balanced", "energy_per_flop": "200 pJ/flop"}),
    changed(decide={"memory": {}, "processors": {"max": "4096"}}),
    changed(gap=1e-6),
]


@pytest.mark.parametrize("other", SAME)
def test_what_means_the_same_is_the_same_question(other: dict[str, Any]):
    found = dse.diff(BASE, other)
    assert not found
    assert str(found) == "the same question"


OTHER: list[tuple[dict[str, Any], dict[str, tuple[Any, Any]]]] = [
    (changed(limits={"time": {"max": "60 ms"}}), {"limits.time.max": (0.05, 0.06)}),
    (
        changed(limits={"time": {"max": "50 ms"}, "power": {"min": 1}}),
        {"limits.power.min": (None, 1.0)},
    ),
    (
        changed(machine={"base": "balanced", "energy_per_flop": "100 pJ/flop"}),
        {"machine.energy_per_flop": (2e-10, 1e-10)},
    ),
    (
        changed(decide={"processors": {"max": 4096, "integer": True}, "memory": {}}),
        {"decide.processors.integer": (None, True)},
    ),
    (changed(objective={"minimize": "time"}), {"objective": (["minimize energy"], ["minimize time"])}),
    (changed(objective={"maximize": "energy"}), {"objective": (["minimize energy"], ["maximize energy"])}),
    (changed(waive=["replication"]), {"waive": ([], ["replication"])}),
    (changed(gap=1e-3), {"gap": (1e-6, 1e-3)}),
    (
        changed(decide={"memory": {}}, given=BASE["given"] | {"processors": 16}),
        {
            "processors": (None, 16.0),
            "decide.processors": ("decided", None),
            "decide.processors.max": (4096.0, None),
        },
    ),
    (
        changed(sweep={"t": {"path": "limits.time.max", "values": ["50 ms"]}}),
        {"axes": ([], ["t"])},
    ),
]


@pytest.mark.parametrize(("other", "wanted"), OTHER)
def test_what_differs_between_questions_is_named_in_si(
    other: dict[str, Any], wanted: dict[str, tuple[Any, Any]]
):
    assert named(BASE, other) == wanted
    back = {n: (b, a) for n, (a, b) in wanted.items()}
    assert named(other, BASE) == back


def test_axes_are_compared_by_their_values():
    axis = {"path": "limits.time.max", "values": ["50 ms", "60 ms"]}
    one = changed(sweep={"t": axis})
    assert not dse.diff(one, changed(sweep={"t": axis | {"values": [0.05, 0.06]}}))
    assert named(one, changed(sweep={"t": axis | {"values": [0.05, 0.07]}})) == {"sweep.t[1]": (0.06, 0.07)}
    assert named(one, changed(sweep={"t": axis | {"values": [0.05]}})) == {"sweep.t": (2, 1)}


def test_another_model_is_all_that_is_said():
    assert named(BASE, dse.load("lu_deadline")) == {"model": ("nbody", "lu")}
    assert "nothing else is compared" in str(dse.diff(BASE, dse.load("lu_deadline")))


def test_every_question_of_the_library_is_like_itself_and_unlike_the_others():
    import scenarios

    names = [n for n in scenarios.library() if n.startswith(("nbody", "dvfs", "partition_s"))][::3]
    asked = {n: dse.load(n) for n in names}
    for a, one in asked.items():
        for b, other in asked.items():
            assert bool(dse.diff(one, other)) == (a != b), (a, b)


def test_answers_differ_where_their_questions_do(tmp_path: Path):
    one, other = dse.solve(BASE), dse.solve(changed(limits={"time": {"max": "60 ms"}}))
    found = named(one, other)
    assert found["limits.time.max"] == (0.05, 0.06)
    assert found["objective"] == (one.objective, other.objective)
    assert "seconds" not in found
    assert not dse.diff(one, dse.solve(changed(title="another")), ignore=["provenance"])
    file = tmp_path / "one.json"
    file.write_text(json.dumps(to_json(one)), encoding="utf-8")
    assert not dse.diff(file, one)
    assert named(file, other) == found


def test_what_a_limit_is_worth_and_what_choices_reach_have_the_unit_of_the_objective():
    decide = {"processors": {"max": 4096, "integer": True}, "memory": {}}
    asked = ({"decide": decide, "limits": {"time": {"max": f"{ms} ms"}}} for ms in (50, 60))
    one, other = (dse.solve(changed(**a)) for a in asked)
    units = {r.name: r.unit for r in dse.diff(one, other).rows}
    assert units["limits.time.next_objective"] == units["objective"] == "J"
    assert units["limits.time.next_change"] == "s"
    every = (Alternative({"machine": "a"}, Status.OPTIMAL, v, {}) for v in (1.0, 2.0))
    first, second = (replace(one, alternatives=(a,)) for a in every)
    assert {r.name: r.unit for r in dse.diff(first, second).rows} == {"a: objective": "J"}


def test_answers_are_read_back_from_json(answer: Callable[..., Solution]):
    """Up to what JSON does not have: how lists are named, what numbers stand for."""
    for status in (Status.OPTIMAL, Status.INFEASIBLE):
        made = answer(3.0, status)
        units = {n: s.unit for n, s in made.limits.items()}
        back = answer_files.from_json(json.loads(json.dumps(to_json(made))))
        assert back == made.__class__(**{**{f: getattr(made, f) for f in FIELDS}, "units": units})
    for wrong in ({}, {"status": "optimal"}):
        with pytest.raises(KeyError):
            answer_files.from_json(wrong)


FIELDS = ("status", "objective", "bound", "gap", "variables", "metrics", "limits", "conflict", "seconds")


def test_small_differences_of_numbers_are_none():
    assert not numbers_differ(1.0, 1.0 + 1e-12, 1e-9)
    assert numbers_differ(1.0, 1.0 + 1e-8, 1e-9)
    assert not numbers_differ(math.nan, math.nan, 0.0)
    assert numbers_differ(math.nan, 1.0, 1e-9)
    assert not numbers_differ(math.inf, math.inf, 0.0)
    assert numbers_differ(math.inf, -math.inf, 1e-9)
    assert numbers_differ(math.inf, 1.0, 1e-9)
    assert numbers_differ(0.0, 1e-300, 1e-9)
    assert not numbers_differ(0.0, 1e-12, 1e-9, floor=1e-9)


@pytest.fixture
def ds(plan: Layout, arrays_of: Fill) -> xr.Dataset:
    return dataset.to_dataset(plan, arrays_of(tuple(slice(0, n) for n in plan.shape)))


@pytest.mark.parametrize("rows", [40, 100_000])
def test_datasets_differ_where_they_were_changed(ds: xr.Dataset, monkeypatch: pytest.MonkeyPatch, rows: int):
    monkeypatch.setattr(flat, "BLOCK_ROWS", rows)
    answered = np.argwhere(np.isfinite(ds["energy"].values))
    (i, j), (k, l) = answered[3], answered[-2]
    other = ds.copy(deep=True)
    other["seconds"][:] = 99.0
    other["energy"][i, j] *= 1 + 1e-6
    other["energy"][k, l] *= 2.0
    other["gap"][i, j] += 1e-12
    other["bound"][i, j] = math.inf
    ds["bound"][k, l] = math.inf
    other["status"][k, l] = 5
    other["message"][k, l] = "gave up"
    other.attrs["versions"] = json.dumps(json.loads(ds.attrs["versions"]) | {"scipy": "0.1"})
    found = {(r.section, r.name): r for r in dse.diff(ds, other).rows}
    assert set(found) == {
        ("values", "energy"),
        ("values", "bound"),
        ("statuses", "status"),
        ("statuses", "message"),
        ("provenance", "versions.scipy"),
    }
    energy = found["values", "energy"]
    assert energy.values == (float(ds["energy"][k, l]), float(other["energy"][k, l]))
    assert energy.note.startswith(f"2 points, most at deadline = {ds['deadline'].values[k]:g} s, machine = ")
    assert found["statuses", "status"].values == ("optimal", "error")
    assert found["values", "bound"].note.startswith("2 points")
    coarse = {r.name: r.note for r in dse.diff(ds, other, tolerance=1e-5).rows if r.section == "values"}
    assert coarse["energy"].startswith("1 point,")
    assert not dse.diff(ds, other, ignore=["statuses", "provenance", "values"])
    assert not dse.diff(ds, ds.copy(deep=True))


def test_many_texts_are_told_by_the_first_and_their_number(ds: xr.Dataset):
    other = ds.copy(deep=True)
    texts = np.array([f"text {i}" for i in range(other["message"].size)], dtype=object)
    other["message"] = (other["message"].dims, texts.reshape(other["message"].shape))
    rows = [r for r in dse.diff(ds, other).rows if r.name == "message"]
    assert len(rows) == 6
    assert rows[-1].note.endswith("other texts")


def test_a_number_that_one_side_lacks_is_nothing_there(ds: xr.Dataset):
    other = ds.copy(deep=True)
    i, j = np.argwhere(np.isfinite(ds["energy"].values))[0]
    other["energy"][i, j] = math.nan
    (row,) = (r for r in dse.diff(ds, other).rows if r.name == "energy")
    assert row.second == "—"


def test_grids_are_compared_and_the_points_that_both_have(ds: xr.Dataset):
    other = ds.isel(deadline=slice(5, None), machine=[1, 0]).copy(deep=True)
    rows = dse.diff(ds, other).rows
    assert {(r.section, r.name) for r in rows} == {("grid", "deadline"), ("grid", "machine")}
    other["energy"].loc[{"deadline": 20.0, "machine": "large"}] = -1.0
    values = [r for r in dse.diff(ds, other).rows if r.section == "values"]
    assert [r.name for r in values] == ["energy"]
    assert values[0].note == "1 point, most at deadline = 20 s, machine = large"
    assert named(ds, ds.drop_vars("power")) == {"variable power": (None, None)}


def test_fronts_of_unlike_length_are_not_compared_point_by_point():
    front = xr.Dataset(
        {"status": ("front", np.ones(3, "int8")), "energy": ("front", [1.0, 2.0, 3.0])},
        {"front": np.arange(3.0)},
    )
    rows = dse.diff(front, front.isel(front=slice(1, None))).rows
    assert {r.section for r in rows} == {"grid"}


def test_what_is_of_two_kinds_is_not_compared(ds: xr.Dataset, answer: Callable[..., Solution]):
    with pytest.raises(StoreError, match="an answer and a dataset cannot be compared"):
        dse.diff(answer(1.0), ds)
    with pytest.raises(ScenarioError, match="there is no such file"):
        dse.diff(BASE, "nowhere.toml")


def test_differences_escape_what_came_from_a_file(ds: xr.Dataset):
    other = ds.assign_attrs(method="<script>alert(1)</script>")
    page = dse.diff(ds, other)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
