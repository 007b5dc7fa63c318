"""``dse export`` and ``dse diff`` as typed: what they write and say, and the exit codes that scripts trust."""

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner, Result

import dse
from dse.cli import main

DEADLINE = """
title   = "Least energy within a deadline"
model   = "nbody"
machine = "balanced"
[given]
bodies         = 1e5
flops_per_pair = 10
[decide]
processors = { max = 4096 }
memory     = {}
[objective]
minimize = "energy"
[limits]
time = { max = "50 ms" }
"""
SWEEP = DEADLINE + '[sweep.deadline]\npath = "limits.time.max"\nvalues = ["1 ns", "50 ms", "100 ms"]\n'
FRONT = DEADLINE.replace('"energy"', '["energy", "time"]') + "[objective.front]\npoints = 3\n"


def typed(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("one", DEADLINE), ("swept", SWEEP), ("front", FRONT)):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_store_goes_out_in_every_format(files: Path):
    store = files / "x.zarr"
    assert typed("sweep", files / "swept.toml", "-o", store).exit_code == 0
    endings = (".csv", ".jsonl", ".parquet", ".md", ".tex", ".nc", ".zarr", ".png", ".svg", ".pdf")
    outputs = [files / f"out{e}" for e in endings]
    done = typed("export", store, *(w for o in outputs for w in ("-o", o)))
    assert done.exit_code == 0, done.output
    assert all(o.exists() for o in outputs)
    for ending in (".nc", ".zarr"):
        assert typed("diff", store, files / f"out{ending}").exit_code == 0
        # what was exported goes out again, and to the same
        assert typed("export", files / f"out{ending}", "-o", files / "again.csv").exit_code == 0
        assert (files / "again.csv").read_bytes() == (files / "out.csv").read_bytes()
    inside = typed("export", store, "-o", store / "objective" / "x.csv")
    assert (inside.exit_code, inside.stderr.count("x.zarr is a store, which holds its own files only")) == (
        2,
        1,
    )
    # a folder that was exported is not a store that a sweep would go on with
    again = typed("sweep", files / "swept.toml", "-o", files / "out.zarr")
    assert again.exit_code == 2


@pytest.mark.parametrize("name", ["one", "swept", "front"])
def test_a_scenario_is_answered_and_goes_out(files: Path, name: str):
    out = files / "x.jsonl"
    done = typed("export", files / f"{name}.toml", "-o", out)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [r["status"] for r in rows] == {
        "one": ["optimal"],
        "swept": ["infeasible", "optimal", "optimal"],
        "front": ["optimal"] * 3,
    }[name]


def test_an_answer_in_json_goes_out(files: Path):
    (files / "a.json").write_text(typed("solve", files / "one.toml", "--json").stdout, encoding="utf-8")
    assert typed("export", files / "a.json", "-o", files / "a.md").exit_code == 0
    typed("export", files / "one.toml", "-o", files / "b.md")
    assert (files / "a.md").read_text("utf-8") == (files / "b.md").read_text("utf-8")


def test_a_front_writes_what_an_export_writes(files: Path):
    outputs = [files / f"x{e}" for e in (".json", ".nc", ".parquet", ".tex")]
    done = typed("front", files / "front.toml", *(w for o in outputs for w in ("-o", o)))
    assert done.exit_code == 0, done.output
    assert dse.open(files / "x.nc").sizes["front"] == 3
    assert len(json.loads((files / "x.json").read_text("utf-8"))["points"]) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("one.toml", "-o", "x.xlsx"), "what kind of file is meant?"),
        (("one.toml", "-o", "x.html"), "`dse report` writes pages"),
        (("one.toml", "-o", "x.png"), "no points to draw"),
        (("nowhere.toml", "-o", "x.csv"), "there is no such file"),
        (("nowhere.zarr", "-o", "x.csv"), "does not exist"),
        (("nowhere.nc", "-o", "x.csv"), "does not exist"),
        (("torn.json", "-o", "x.csv"), "holds no answer"),
        (("alien.nc", "-o", "x.csv"), "is not a dataset that dse wrote"),
        (("one.toml", "-o", "x.csv", "--columns", "time,enrgy"), "did you mean 'energy'"),
        (("one.toml", "-o", "x.nc", "--columns", "time"), "columns are chosen for tables"),
        (("one.toml",), "Missing option"),
    ],
)
def test_a_wrong_export_says_what_would_be_right(
    files: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
):
    (files / "torn.json").write_text('{"status": "optimal"', encoding="utf-8")
    xr.Dataset({"rain": ("day", [1.0, 2.0])}).to_netcdf(files / "alien.nc", engine="h5netcdf")
    monkeypatch.chdir(files)
    done = typed("export", *words)
    assert done.exit_code == 2
    assert said in done.output
    assert not list(files.glob("x.*"))


def test_columns_are_those_asked_for(files: Path):
    typed("export", files / "swept.toml", "-o", files / "x.csv", "--columns", "energy, deadline,status")
    assert (files / "x.csv").read_text("utf-8").splitlines()[0] == "energy [J],deadline [s],status"


def test_diff_tells_by_its_exit_code(files: Path):
    one, other = files / "one.toml", files / "other.toml"
    other.write_text(DEADLINE.replace('"50 ms"', "0.05").replace("Least", "Most"), encoding="utf-8")
    same = typed("diff", one, other)
    assert (same.exit_code, same.output) == (0, "one.toml and other.toml: the same question\n")
    other.write_text(DEADLINE.replace('"50 ms"', '"60 ms"'), encoding="utf-8")
    differs = typed("diff", one, other)
    assert differs.exit_code == 1
    assert "limits.time.max" in differs.output
    assert "by +20 %" in differs.output
    assert typed("diff", one, other, "--tolerance", "0.5").exit_code == 0
    assert typed("diff", one, other, "--ignore", "question").exit_code == 0
    for wrong in (
        (one,),
        (one, files / "nowhere.toml"),
        (one, other, "--tolerance", "-1"),
        (one, other, "--ignore", "x"),
    ):
        assert typed("diff", *wrong).exit_code == 2, wrong


def test_diff_as_json_has_si_numbers(files: Path):
    other = files / "other.toml"
    other.write_text(DEADLINE.replace('"50 ms"', '"60 ms"'), encoding="utf-8")
    told: dict[str, Any] = json.loads(typed("diff", files / "one.toml", other, "--json").stdout)
    assert told["same"] is False
    assert told["kind"] == "scenario"
    (row,) = told["differences"]
    assert (row["name"], row["first"], row["second"], row["unit"]) == ("limits.time.max", 0.05, 0.06, "s")


def test_diff_of_answers_and_of_stores(files: Path):
    for name, text in (("a", DEADLINE), ("b", DEADLINE.replace("4096", "100"))):
        (files / f"{name}.toml").write_text(text, encoding="utf-8")
        (files / f"{name}.json").write_text(typed("solve", files / f"{name}.toml", "--json").stdout, "utf-8")
    assert typed("diff", files / "a.json", files / "a.json").exit_code == 0
    assert "objective" in typed("diff", files / "a.json", files / "b.json").output
    mixed = typed("diff", files / "a.json", files / "a.toml")
    assert mixed.exit_code == 2
    assert "an answer and a scenario cannot be compared" in mixed.output
    typed("sweep", files / "swept.toml", "-o", files / "one.zarr")
    (files / "swept.toml").write_text(SWEEP.replace('"50 ms", ', '"60 ms", '), encoding="utf-8")
    typed("sweep", files / "swept.toml", "-o", files / "two.zarr")
    found = typed("diff", files / "one.zarr", files / "two.zarr")
    assert found.exit_code == 1
    assert "1 of 3 values" in found.output


@pytest.mark.parametrize(
    ("work", "words"),
    [
        ("dse.fronts.front.find", ("front", "front.toml", "x.json")),
        ("dse.fronts.front.find", ("front", "front.toml", "x.csv")),
        ("dse.reporting.exporting.dataset_of", ("export", "one.toml", "x.csv")),
        ("results.export.reading.opened", ("report", "one.toml", "x.html")),
        ("dse.api.compare", ("compare", "one.toml", "x.html")),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    work: str, words: tuple[str, str, str], files: Path, monkeypatch: pytest.MonkeyPatch
):
    def worked(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(work, worked)
    (files / "file").write_text("")
    command, asked, output = words
    told = typed(command, files / asked, "-o", files / "file" / output)
    assert told.exit_code == 2
    assert "a part of the path is a file, not a directory" in told.stderr
    assert not list(files.glob(".*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("front", "front.toml", "-o", "x.bmp"), ".csv, .json, .jsonl"),
        (("compare", "one.toml", "-o", "x.bmp"), ".csv, .html, .json, .jsonl"),
        (("diff", "one.toml", "one.toml", "--tolerance", "nan"), "'--tolerance': nan is not a finite number"),
        (("solve", "one.toml", "--solver", "scip", "--seconds", "inf"), "'--seconds': inf is not a finite"),
        (("fit", "one.toml", "--model", "roofline", "--confidence", "nan"), "'--confidence': nan is not"),
        (("sweep", "one.toml", "-o", "-"), "a store is a folder"),
        (
            ("compare", "nbody_deadline", "--over", "limits.time.max", "--from", "1 J", "--to", "1 s"),
            "start (--from): '1 J' is an energy",
        ),
    ],
)
def test_what_is_asked_for_wrongly_is_called_as_it_was_typed(words: tuple[str, ...], said: str, files: Path):
    machines = ("--machine", "balanced", "--machine", "jaketown") if "--over" in words else ()
    told = typed(*(files / w if w.endswith((".toml", ".bmp")) else w for w in words), *machines)
    assert told.exit_code == 2
    assert said in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    "over", [(), ("--over", "limits.time.max", "--from", "43 ms", "--to", "1 s", "--points", 4)]
)
def test_what_compare_writes_is_read_again(over: tuple[str, ...], tmp_path: Path):
    written = [tmp_path / "x.nc", tmp_path / "x.zarr"]
    outputs = [word for file in written for word in ("-o", file)]
    machines = ("--machine", "balanced", "--machine", "jaketown")
    assert typed("compare", "nbody_deadline", *machines, *over, *outputs).exit_code == 0
    one, other = map(dse.open, written)
    assert np.array_equal(one["objective"], other["objective"], equal_nan=True)
    for number, file in enumerate(written):
        assert typed("export", file, "-o", tmp_path / f"{number}.csv").exit_code == 0
    tables = [(tmp_path / f"{number}.csv").read_text("utf-8") for number in range(2)]
    assert tables[0] == tables[1]


def test_an_answer_over_the_rows_of_a_table_is_exported_from_wherever_it_was_kept(tmp_path: Path):
    """The rows go along with the answer: neither its file nor its table are needed."""
    (tmp_path / "runs.csv").write_text("E [nJ/word]\n0.8\n1\n1.3\n")
    uncertain = '[uncertain]\n"machine.energy_per_word" = { table = "runs.csv", column = "E" }\n'
    asked, kept, page = (tmp_path / f"asked.{kind}" for kind in ("toml", "json", "html"))
    text = DEADLINE.replace('"energy"', '"energy"\nmeasure = "mean"')
    asked.write_text(text + uncertain + "sampling = { samples = 16 }\n")
    solved = typed("solve", asked, "--json")
    kept.write_text(solved.stdout)
    made = [tmp_path / "of_file.csv", tmp_path / "of_answer.csv"]
    assert typed("export", asked, "-o", made[0]).exit_code == 0
    over = ["--over", "given.bodies", "--from", "1e5", "--to", "2e5", "--points", 2]
    assert typed("compare", asked, asked, *over).exit_code == 0
    for file in (tmp_path / "runs.csv", asked):
        file.unlink()
    done = typed("export", kept, "-o", made[1])
    assert done.exit_code == 0, done.stderr
    tables = [next(csv.DictReader(file.read_text().splitlines())) for file in made]
    for table in tables:
        table.pop("seconds [s]")
    assert tables[0] == tables[1]
    assert float(tables[0]["objective [J]"]) == json.loads(solved.stdout)["objective"]
    assert typed("report", kept, "-o", page).exit_code == 0
    assert "minimise energy =" in page.read_text()


def test_what_was_read_from_netcdf_goes_out_as_zarr_without_words_of_a_library(files: Path):
    assert typed("front", files / "front.toml", "-o", files / "f.nc").exit_code == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = typed("export", files / "f.nc", "-o", files / "f.zarr")
    assert (done.exit_code, done.stderr) == (0, "")
    assert typed("diff", files / "f.nc", files / "f.zarr").exit_code == 0
