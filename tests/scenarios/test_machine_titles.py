"""People are shown a machine file by its title; coordinates, tables of numbers and JSON keep the path."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.machines import catalogue
from results import axes, plot, variables
from scenarios import load
from scenarios.language import machine_files

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


def chosen(*paths: str) -> Path:
    """A choice among machines, of which each is the best at one intensity."""
    decide = f'[decide]\nmachine = {{ values = {json.dumps(paths)} }}\n[objective]\nminimize = "time"\n'
    Path("choice.toml").write_text(QUESTION.replace("MACHINE", "") + decide)
    return Path("choice.toml")


def said(*words: Any) -> str:
    told = CliRunner().invoke(main, [str(w) for w in words], catch_exceptions=False)
    assert told.exit_code == 0, told.output
    return told.stdout


def test_the_page_of_an_answer_names_the_machine_by_its_title():
    dse.report(of_one(machine("./a.toml", "Server of the lab")), "page.html")
    page = Path("page.html").read_text()
    assert "on Server of the lab." in page
    assert "Server of the lab (measured at home)" in page
    assert "on ./a.toml" not in page
    assert "./a.toml," not in page
    dse.report(of_one(machine("./b.toml", "")), "page.html")
    assert "./b.toml (measured at home)" in Path("page.html").read_text()


def test_a_choice_among_machine_files_is_told_by_title():
    asked = chosen(machine("./a.toml", "Server of the lab"), machine("parts/b.toml", "Old box"))
    told = said("solve", asked)
    assert "Server of the lab" in told
    assert "Old box" in told
    assert ".toml" not in told
    assert "For machine = Server of the lab, the first choice:" in said("explain", asked)
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


def test_answers_side_by_side_are_headed_by_titles_and_kept_by_labels():
    asked = of_one(machine("./a.toml", "Server of the lab"))
    on = [machine("parts/a.toml", "mine"), machine("./b.toml", "mine"), machine("./c.toml", "")]
    options = [word for path in ("./a.toml", *on) for word in ("--machine", path)]
    told = said("compare", asked, *options, "--baseline", "Server of the lab")
    head = told.splitlines()[1].split("  ")
    wanted = ["Server of the lab", "mine (a.toml)", "mine (b.toml)", "c.toml"]
    assert [name.strip() for name in head if name.strip()] == wanted
    assert "Ratios are to Server of the lab." in told
    kept = json.loads(said("compare", asked, *options, "--json"))
    assert [s["label"] for s in kept["sides"]] == ["one on a", "one on a (2)", "one on b", "one on c"]


def test_a_crossing_is_told_by_titles(folder: Path):
    slow = Path(machine("./b.toml", "Old box"))
    slow.write_text(slow.read_text().replace('"2 ps/flop"', '"4 ps/flop"').replace('"5 ps', '"3 ps'))
    on = [machine("./a.toml", "Server of the lab"), str(slow)]
    found = dse.compare(
        of_one(on[0]), machines=on, over="given.intensity", start=0.1, stop=8, metric="time", points=5
    )
    (curve,) = filter(None, [found.curve])
    assert "below, Old box has less time than Server of the lab" in curve.sentences()[0]
    assert curve.record()["crossings"][0]["between"] == ["a", "b"]
    assert curve.to_dataset()["question"].values.tolist() == ["a", "b"]
    assert "Server of the lab" in str(found)
    formats = CliRunner().invoke(
        main,
        f"compare {folder / 'one.toml'} --machine ./a.toml --machine ./b.toml --over given.intensity "
        "--from 0.1 --to 8 --points 5 --metric time -o curve.svg -o curve.html".split(),
        catch_exceptions=False,
    )
    assert formats.exit_code == 0
    assert '"labels":["Server of the lab","Old box"]' in Path("curve.html").read_text()


def test_a_ratio_of_a_sweep_names_the_machine_of_its_baseline_by_title(folder: Path):
    base = of_one(machine("./a.toml", "Server of the lab"))
    found = dse.sweep(swept("./a.toml", machine("parts/b.toml", "")), folder / "study.zarr", baseline=base)
    assert found["ratio.time"].attrs["long_name"].endswith("that of one on Server of the lab")


def test_samples_tell_by_title_which_machine_wins():
    fast = Path(machine("parts/my_box.toml", ""))
    fast.write_text(fast.read_text().replace('"2 ps/flop"', '"1 ps/flop"').replace('"5 ps', '"9 ps'))
    asked = chosen(machine("./a.toml", "Server of the lab"), str(fast))
    asked.write_text(asked.read_text() + "[uncertain]\nintensity = { uniform = [1, 12] }\n")
    told = said("uncertainty", asked, "--samples", 16)
    won = told.partition("Which machine wins")[2]
    assert "Server of the lab" in won
    assert "parts/my_box.toml" in won
    assert "./a.toml" not in told
    kept = json.loads(said("uncertainty", asked, "--samples", 16, "--json"))
    assert set(kept["winners"]["machine"]) == {"./a.toml", "parts/my_box.toml"}
    assert kept["fixed_design"]["variables"]["machine"] in {"./a.toml", "parts/my_box.toml"}


def test_machines_and_their_rooflines_are_headed_by_title():
    files = [machine("./a.toml", "Server of the lab"), machine("parts/b.toml", "")]
    assert said("machines", files[0]).startswith("./a.toml: Server of the lab\n")
    assert said("machines", files[1]).startswith("parts/b.toml\n")
    table = said("machines", *files, "h100-sxm", "--table", "time_per_flop")
    assert [line.split("  ")[0] for line in table.splitlines()[2:]] == [
        "Server of the lab",
        "parts/b.toml",
        "h100-sxm",
    ]
    records = json.loads(said("machines", *files, "--table", "time_per_flop", "--json"))
    assert [row["name"] for row in records] == files
    assert plot.roofline(files[0]).get_suptitle() == "Server of the lab"


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
    assert machine_files.shown_names(load(swept(*paths)).text) == {
        "./a.toml": "mine (a.toml)",
        "parts/b.toml": "mine (b.toml)",
        "./c.toml": "ours (./c.toml)",
        "parts/c.toml": "ours (parts/c.toml)",
        "./d.toml": "h100-sxm (d.toml)",
        "./e.toml": "theirs",
    }


def test_a_title_that_a_later_catalogue_has_as_a_name_leaves_stores_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    dse.sweep(swept(machine("./a.toml", "server-of-the-lab")), folder / "study.zarr")
    known = (*catalogue.names(), "server-of-the-lab")
    monkeypatch.setattr(catalogue, "names", lambda: known)
    machine_files.shown_names.cache_clear()
    assert machine_files.shown_names(load(folder / "swept.toml").text) == {
        "./a.toml": "server-of-the-lab (a.toml)"
    }
    assert dse.verify(folder / "study.zarr").passed
    machine_files.shown_names.cache_clear()


def test_a_store_made_before_titles_were_kept_passes_its_check(folder: Path, monkeypatch: pytest.MonkeyPatch):
    store = folder / "study.zarr"
    with monkeypatch.context() as before:
        before.setattr(variables, "_shown", lambda *_: {})
        dse.sweep(swept(machine("./a.toml", "Server of the lab")), store)
    assert variables.SHOWN_NAMES not in dse.open(store)["machine"].attrs
    assert dse.verify(store).passed
    dse.sweep(swept("./a.toml", machine("parts/b.toml", "Old box")), store, extend=True)
    assert axes.value_label(dse.open(store)["machine"], 1) == "machine: Old box"
    assert dse.verify(store).passed
