"""Answers, scenarios and datasets are compared by value, copied whole, and let nothing through in notebooks."""

import copy
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr

import dse
from results.export.jsonable import to_json
from results.solution import Solution, Status
from results.telling.facts import same

ASKED = ["nbody_deadline", "nbody_deadline_out_of_reach", "partition_twelve_regions_whole", "dvfs_deadline"]
SCRIPT = "<script>alert('x')</script>"


@pytest.mark.parametrize("name", ASKED)
def test_answers_survive_pickling_and_copying(name: str):
    found = dse.solve(name)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert other == found
        assert to_json(other) == to_json(found)
        assert other._repr_html_() == found._repr_html_()
    assert dse.solve(name) == found, "the same question has the same answer, whatever time it took"


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.INFEASIBLE, Status.ERROR])
def test_answers_are_equal_by_value(answer: Callable[..., Solution], status: Status):
    one, other = answer(3.0, status), answer(3.0, status)
    assert one == other
    assert replace(other, seconds=99.0) == one
    assert replace(other, message="odd") != one
    assert replace(other, metrics={**other.metrics, "energy": -1.0}) != one
    assert one != to_json(one)
    with pytest.raises(TypeError):
        hash(one)


def test_a_number_that_does_not_exist_is_like_itself():
    assert same(math.nan, float("nan"))
    assert same({"a": [math.nan, (1.0, None)]}, {"a": [math.nan, (1.0, None)]})
    assert not same({"a": math.nan}, {"a": 1.0})
    assert not same({"a": 1.0}, {"b": 1.0})
    assert not same([1.0], [1.0, 2.0])
    assert not same(math.nan, None)


def test_scenarios_are_equal_by_what_they_say(tmp_path: Path):
    one = dse.load("nbody_deadline")
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert other == one
        assert other.text == one.text
        assert other.hash == one.hash
        assert other.file == one.file
        assert dse.solve(other) == dse.solve(one)
    assert dse.load(one.model_dump(exclude_defaults=True)) == one
    file = tmp_path / "mine.toml"
    file.write_text(one.text + "\n# a remark\n", encoding="utf-8")
    assert dse.load(file) == one
    file.write_text(one.text.replace("50 ms", "60 ms"), encoding="utf-8")
    assert dse.load(file) != one
    assert one != one.text


def test_scenarios_of_one_name_of_a_machine_file_differ_with_what_it_holds(tmp_path: Path):
    from importlib.resources import files

    text = files("dse.machines").joinpath("balanced.toml").read_text(encoding="utf-8")
    asked = dse.load("nbody_deadline").text.replace('"balanced"', '"mine.toml"')
    (tmp_path / "q.toml").write_text(asked, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    one = dse.load(tmp_path / "q.toml")
    assert dse.load(tmp_path / "q.toml") == one
    (tmp_path / "mine.toml").write_text(text + "# another\n", encoding="utf-8")
    assert dse.load(tmp_path / "q.toml") != one


def test_datasets_survive_pickling_and_copying(tmp_path: Path):
    asked = {**dse.load("nbody_deadline").model_dump(exclude_defaults=True)}
    asked["sweep"] = {"t": {"path": "limits.time.max", "values": [1e-9, 0.05, 0.1]}}
    found = dse.sweep(asked, tmp_path / "x.zarr")
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), found.load()):
        assert other.identical(found)
    assert not dse.diff(found, dse.sweep(asked))


def test_nothing_from_a_file_becomes_markup_in_a_notebook():
    asked = dse.load("nbody_deadline").model_dump(exclude_defaults=True) | {"title": SCRIPT}
    scenario = dse.load(asked)
    swept = dse.load(asked | {"sweep": {"t": {"path": "limits.time.max", "values": [0.05, 0.1]}}})
    dataset: xr.Dataset = dse.sweep(swept)
    assert dataset.attrs["title"] == SCRIPT
    for shown in (scenario, dse.solve(scenario), dataset, dse.diff(scenario, swept)):
        page = shown._repr_html_()
        assert "<script>alert" not in page, type(shown)
    assert "&lt;script&gt;" in scenario._repr_html_()
    assert json.dumps(SCRIPT)[1:-1] in scenario.text
