"""People are shown a machine file by its title; coordinates, tables of numbers and JSON keep the path."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from results import axes, plot, variables
from scenarios import load
from scenarios.language.machine_files import shown_names

MACHINE = """
title  = "TITLE"
source = "measured at home"

[parameters]
time_per_flop   = "2 ps/flop"
energy_per_flop = "30 pJ/flop"
time_per_byte   = "5 ps/byte"
energy_per_byte = "400 pJ/byte"
constant_power  = "120 W"
"""
QUESTION = 'model = "roofline"\nMACHINE\n[given]\nflops = 1e12\nintensity = 4\n'
SWEPT = '[sweep.machine]\npath = "machine"\nvalues = NAMES\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with machine files, in which we work."""
    (tmp_path / "parts").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def machine(path: str, title: str) -> str:
    Path(path).write_text(MACHINE.replace('title  = "TITLE"', f'title = "{title}"' if title else ""))
    return path


def of_one(path: str) -> Path:
    Path("one.toml").write_text(QUESTION.replace("MACHINE", f'machine = "{path}"'))
    return Path("one.toml")


def swept(*paths: str) -> Path:
    Path("swept.toml").write_text(QUESTION.replace("MACHINE", "") + SWEPT.replace("NAMES", json.dumps(paths)))
    return Path("swept.toml")


def said(*words: Any) -> str:
    told = CliRunner().invoke(main, [str(w) for w in words], catch_exceptions=False)
    assert told.exit_code == 0, told.output
    return told.output


def test_the_page_of_an_answer_names_the_machine_by_its_title():
    dse.report(of_one(machine("./a.toml", "Server of the lab")), "page.html")
    page = Path("page.html").read_text()
    assert "on Server of the lab." in page
    assert "on ./a.toml" not in page


def test_a_choice_among_machine_files_is_told_by_title(folder: Path):
    names = json.dumps([machine("./a.toml", "Server of the lab"), machine("parts/b.toml", "Old box")])
    asked = folder / "choice.toml"
    decide = f'[decide]\nmachine = {{ values = {names} }}\n[objective]\nminimize = "time"\n'
    asked.write_text(QUESTION.replace("MACHINE", "") + decide)
    told = said("solve", asked)
    assert "Server of the lab" in told
    assert "Old box" in told
    assert ".toml" not in told
    assert json.loads(said("solve", asked, "--json"))["variables"]["machine"] in {"./a.toml", "parts/b.toml"}
    along = asked.with_name("along.toml")
    along.write_text(asked.read_text() + "[sweep.intensity]\npath = 'given.intensity'\nvalues = [1, 4]\n")
    found = dse.sweep(along)
    assert set(axes.shown_codes(found["machine"]).values()) == {"not_decided", "Server of the lab", "Old box"}


def test_a_sweep_shows_titles_and_keeps_paths(folder: Path):
    asked = swept(machine("./a.toml", "Server of the lab"), machine("parts/b.toml", ""), "gtx-titan-choi2014")
    found = dse.sweep(asked, folder / "study.zarr")
    assert found["machine"].values.tolist() == ["./a.toml", "parts/b.toml", "gtx-titan-choi2014"]
    stored = dse.open(folder / "study.zarr")
    dse.report(stored, "page.html")
    page = Path("page.html").read_text()
    assert '"labels":["Server of the lab","parts/b.toml","gtx-titan-choi2014"]' in page
    assert "for every machine (Server of the lab, parts/b.toml, gtx-titan-choi2014)" in page
    (panel,) = plot.sweep(stored, "time").axes
    ticks = [t.get_text() for t in panel.get_xticklabels()]
    assert ticks == ["Server of the lab", "parts/b.toml", "gtx-titan-choi2014"]
    said("export", folder / "study.zarr", "-o", "study.csv")
    assert "./a.toml," in Path("study.csv").read_text()


def test_fronts_over_machine_files_are_told_by_title(folder: Path):
    asked = swept(machine("./a.toml", "Server of the lab"), machine("parts/b.toml", "Old box"))
    wanted = '[objective]\nminimize = ["time", "energy"]\n[decide]\nthrottle = { min = 1, max = 4 }\n'
    asked.write_text(asked.read_text() + wanted)
    told = said("front", asked)
    assert "Server of the lab" in told
    assert ".toml" not in told.partition("A table")[0]


def test_titles_that_are_equal_or_of_the_catalogue_have_the_file_behind_them():
    paths = [
        machine("./a.toml", "mine"),
        machine("parts/b.toml", "mine"),
        machine("./c.toml", "ours"),
        machine("parts/c.toml", "ours"),
        machine("./d.toml", "h100-sxm"),
        machine("./e.toml", "theirs"),
        machine("./f.toml", ""),
    ]
    assert shown_names(load(swept(*paths)).text) == {
        "./a.toml": "mine (a.toml)",
        "parts/b.toml": "mine (b.toml)",
        "./c.toml": "ours (./c.toml)",
        "parts/c.toml": "ours (parts/c.toml)",
        "./d.toml": "h100-sxm (d.toml)",
        "./e.toml": "theirs",
    }


def test_a_store_made_before_titles_were_kept_passes_its_check(folder: Path, monkeypatch: pytest.MonkeyPatch):
    store = folder / "study.zarr"
    with monkeypatch.context() as before:
        before.setattr(variables, "_shown", lambda *_: {})
        dse.sweep(swept(machine("./a.toml", "Server of the lab")), store)
    assert variables.SHOWN_NAMES not in dse.open(store)["machine"].attrs
    assert dse.verify(store).passed
