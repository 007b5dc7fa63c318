"""What is asked of a front wrongly is said at once; what was found is not lost to a file that cannot be written."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.fronts import front
from results.export.jsonable import to_json
from results.stores.files.trouble import StoreError
from scenarios import ScenarioError

STEP = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": ["energy", "time"]},
}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        *(({"points": n}, "write a whole number of at least 2") for n in (0, 1, -3, 3.5, "x", True)),
        *(({"points": n}, "is too many for a front\n    keep to 10000") for n in (10_001, 10**300)),
        *(
            ({"tolerance": x}, "write a number between 0 and 1")
            for x in (0, -0.1, 1, 5, float("nan"), "1 %", True)
        ),
    ],
)
def test_points_and_tolerance_that_mean_nothing_are_refused(wrong: dict[str, Any], said: str):
    with pytest.raises(ScenarioError, match=said):
        dse.front(STEP, **wrong)


@pytest.mark.parametrize(
    "command", ["front FILE", "report FILE -o a.html", "compare FILE FILE --over given.bodies"]
)
def test_no_command_takes_more_points_than_anybody_waits_for(command: str):
    words = [w if w != "FILE" else "nbody_energy_time_front" for w in command.split()]
    found = CliRunner().invoke(main, [*words, "--points", "10001"])
    assert found.exit_code == 2
    assert "10001 is not in the range 2<=x<=10000" in found.stderr


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (STEP | {"objective": {"minimize": "energy"}}, '["energy", "time"]'),
        ({"model": "gemm-a100", "given": {"m": 512, "n": 512, "k": 512}}, '["latency", "time"]'),
    ],
)
def test_two_objectives_are_suggested_that_the_model_has(asked: dict[str, Any], said: str):
    one = asked if "objective" in asked else asked | {"objective": {"minimize": "latency"}}
    with pytest.raises(ScenarioError, match=re.escape(f"write minimize = {said}")):
        dse.front(one)


def test_a_front_is_shown_where_its_file_cannot_be_written_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A file takes the name of its folder while the front is sought."""
    find = front.find

    def found(*asked: Any, **by: Any) -> Any:
        (tmp_path / "file").touch()
        return find(*asked, **by)

    monkeypatch.setattr(front, "find", found)
    outputs = ("-o", str(tmp_path / "front.md"), "-o", str(tmp_path / "file" / "front.png"))
    done = CliRunner().invoke(main, ("front", "nbody_energy_time_front", "--points", "2", *outputs))
    assert done.exit_code == 2
    assert "the two ends" in done.stdout
    assert f"Wrote {tmp_path / 'front.md'}\n" in done.stdout
    assert "a part of the path is a file, not a directory" in done.stderr


def test_an_empty_folder_is_not_said_to_be_missing(tmp_path: Path):
    with pytest.raises(StoreError, match="is an empty folder"):
        dse.open(tmp_path)


def test_a_page_is_made_of_an_answer_that_was_kept_but_not_of_the_record_of_a_front(tmp_path: Path):
    kept, page = tmp_path / "kept.json", tmp_path / "page.html"
    found = dse.solve(STEP | {"objective": {"minimize": "energy"}, "title": "kept"})
    kept.write_text(json.dumps(to_json(found)), encoding="utf-8")
    assert "<title>kept" in dse.report(kept, page).read_text(encoding="utf-8")
    kept.write_text('{"points": []}')
    with pytest.raises(StoreError, match=r"holds no answer.*fronts and sweeps are read from \.zarr"):
        dse.report(kept, page)


def test_what_is_no_model_is_not_registered():
    with pytest.raises(TypeError, match=r"a model is a dse\.models\.Model, not int"):
        dse.register(5)  # type: ignore[arg-type]


def test_of_many_points_the_terminal_shows_some_with_both_ends_and_the_knee():
    done = CliRunner().invoke(main, ("front", "nbody_energy_time_front", "--points", "120"))
    numbers = [int(n) for n in re.findall(r"^ *(\d+)  .* optimal ", done.stdout, re.MULTILINE)]
    assert f"{len(numbers)} of 120 points are shown" in done.stdout
    assert len(numbers) < 50
    bend = re.search(r"Knee at point (\d+)", done.stdout)
    assert bend is not None
    assert {0, int(bend[1]), 119} <= set(numbers)


@pytest.mark.parametrize(("ending", "package"), [("nc", "h5netcdf"), ("parquet", "pyarrow")])
def test_a_missing_package_is_named_before_the_front_is_found(
    monkeypatch: pytest.MonkeyPatch, ending: str, package: str
):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else there(name))
    done = CliRunner().invoke(main, ("front", "nbody_energy_time_front", "-o", f"front.{ending}"))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert f"writing front.{ending} needs {package}: pip install 'codesign-dse[export]'" in done.stderr
