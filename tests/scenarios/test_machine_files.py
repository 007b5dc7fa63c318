"""A scenario may name a machine by the path of a file; what the file held is part of the question."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dse
from dse import machines
from scenarios import ScenarioError, from_text, load
from scenarios.questions import grid, question

MACHINE = """
title  = "mine"
source = "measured at home"

[parameters.time_per_flop]
value  = "2 ps/flop"
source = "my notes"

[parameters.energy_per_flop]
value = "30 pJ/flop"

[parameters]
time_per_byte   = "5 ps/byte"
energy_per_byte = 4e-10
constant_power  = "120 W"
"""
QUESTION = 'model = "roofline"\nmachine = "parts/mine.toml"  # ours\n[given]\nflops = 1e12\nintensity = 4\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario's folder that is not where we work."""
    elsewhere, home = tmp_path / "elsewhere", tmp_path / "home"
    (home / "parts").mkdir(parents=True)
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (home / "parts" / "mine.toml").write_text(MACHINE)
    (home / "question.toml").write_text(QUESTION)
    return home


def of(source: Any) -> dict[str, Any]:
    return dict(question(load(source)).given)


def test_a_path_starts_at_the_scenario_file(folder: Path):
    given = of(folder / "question.toml")
    assert given["machine.time_per_flop"] == 2e-12
    assert given["machine.energy_per_byte"] == 4e-10
    assert dse.solve(folder / "question.toml").metrics["time"] == pytest.approx(2.0, rel=1e-12)


def test_a_mapping_s_path_starts_where_we_work(folder: Path, monkeypatch: pytest.MonkeyPatch):
    data = {"model": "roofline", "machine": "parts/mine.toml", "given": {"flops": 1e12, "intensity": 4}}
    with pytest.raises(ScenarioError, match="cannot be read"):
        load(data)
    monkeypatch.chdir(folder)
    assert of(data) == of(folder / "question.toml")
    changed = {**data, "machine": {"base": "parts/mine.toml", "constant_power": "1 W"}}
    assert of(changed)["machine.constant_power"] == 1.0
    assert "sha256" in load(data).text


def test_a_stored_question_is_whole_and_pinned(folder: Path):
    asked = load(folder / "question.toml")
    assert "# ours" in asked.text
    assert str(folder) not in asked.text
    again = from_text(asked.text)
    assert again.text == asked.text
    assert question(again).given == question(asked).given
    # what the file held is what the question was about, whatever becomes of the file
    (folder / "parts" / "mine.toml").write_text(MACHINE.replace("2 ps", "3 ps"))
    assert question(from_text(asked.text)).given == question(asked).given
    assert load(folder / "question.toml").hash != asked.hash
    (folder / "stored.toml").write_text(asked.text)
    with pytest.raises(ScenarioError, match="has changed since this question was stored"):
        load(folder / "stored.toml")
    (folder / "parts" / "mine.toml").unlink()
    assert load(folder / "stored.toml").text == asked.text


def test_what_a_text_holds_of_a_file_counts_only_with_its_checksum(folder: Path):
    text = load(folder / "question.toml").text
    assert "#| energy_per_byte = 4e-10" in text
    with pytest.raises(ScenarioError, match="cannot be read"):
        from_text(text.replace("#| energy_per_byte = 4e-10", "#| energy_per_byte = 5e-10"))


def test_absolute_paths_are_shortened_and_never_to_the_same_name(folder: Path, tmp_path: Path):
    (tmp_path / "b").mkdir()
    for place in (tmp_path / "mine.toml", tmp_path / "b" / "mine.toml"):
        place.write_text(MACHINE)
    paths = [
        str(folder / "parts" / "mine.toml"),
        str(tmp_path / "mine.toml"),
        str(tmp_path / "b" / "mine.toml"),
    ]
    data = f'[sweep.machine]\npath = "machine"\nvalues = {json.dumps(paths)}\n'
    (folder / "swept.toml").write_text(
        'model = "roofline"\n' + "[given]\nflops = 1e12\nintensity = 4\n" + data
    )
    asked = load(folder / "swept.toml")
    assert grid(asked).axes[0].values == ("parts/mine.toml", "mine.toml", "b/mine.toml")
    assert str(tmp_path) not in asked.text
    assert str(load(folder / "question.toml", machine=paths[1]).machine) == "mine.toml"


def test_a_study_that_is_moved_continues_and_is_verified(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """The folder of a study has another place and the working directory too: the store is the same sweep."""
    swept = (
        QUESTION + '[sweep.machine]\npath = "machine"\nvalues = ["parts/mine.toml", "./parts/other.toml"]\n'
    )
    (folder / "parts" / "other.toml").write_text(MACHINE.replace("2 ps", "3 ps"))
    (folder / "question.toml").write_text(swept)
    first = dse.sweep(folder / "question.toml", folder / "study.zarr").load()
    moved = folder.with_name("moved")
    folder.rename(moved)
    # what is missing is computed again: the store knows the question in its new place
    (moved / "study.zarr" / "time" / "c" / "0").unlink()
    dse.sweep(moved / "question.toml", moved / "study.zarr")
    assert dse.verify(moved / "study.zarr").passed
    monkeypatch.chdir(moved)
    again = dse.sweep("question.toml", "study.zarr").load()
    assert again.drop_vars("seconds").equals(first.drop_vars("seconds"))
    stored = [f for f in (moved / "study.zarr").rglob("*") if f.is_file()]
    assert not any(str(folder.parent).encode() in f.read_bytes() for f in stored)
    # without the machine files the store is still whole
    (moved / "parts" / "mine.toml").unlink()
    assert dse.verify("study.zarr").passed


def test_a_page_about_a_moved_study_shows_the_title_of_its_machine(folder: Path):
    (folder / "question.toml").write_text(
        QUESTION + "[sweep.intensity]\npath = 'given.intensity'\nvalues = [1, 2, 4]\n"
    )
    dse.sweep(folder / "question.toml", folder / "study.zarr")
    moved = folder.rename(folder.with_name("moved"))
    page = moved / "page.html"
    dse.report(moved / "study.zarr", page)
    said = page.read_text()
    assert ">mine (measured at home)<" in said
    assert "parts/mine.toml, " not in said
    assert str(folder) not in said


def test_files_stand_among_machines_to_choose_or_sweep(folder: Path):
    names = '["parts/mine.toml", "gtx-titan-choi2014"]'
    choice = folder / "choice.toml"
    choice.write_text(
        QUESTION.replace('machine = "parts/mine.toml"', "")
        + f"[decide]\nmachine = {{ values = {names} }}\n[objective]\nminimize = 'energy'\n"
    )
    best = dse.solve(choice)
    assert best.status == "optimal"
    swept = folder / "swept.toml"
    swept.write_text(QUESTION + f'[sweep.machine]\npath = "machine"\nvalues = {names}\n')
    values = grid(load(swept)).axes[0].values
    assert values == ("parts/mine.toml", "gtx-titan-choi2014")
    energy = dse.evaluate(swept)["energy"].values
    assert best.objective == pytest.approx(energy.min(), rel=1e-12)


def test_a_scenario_without_machine_files_is_left_as_it_is():
    text = '# mine.toml\nmodel = "nbody"\nmachine = "jaketown"\n[given]\nbodies = 1e6\nflops_per_pair = 2\n'
    text += "processors = 1e3\nmemory = 1e4\n"
    assert from_text(text).text == text


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("[parameters.time_per_flop]", "[parameters.time_per_flp]"), "did you mean 'time_per_flop'"),
        (('"2 ps/flop"', '"2 W"'), "a power (W), but a time per flop"),
        (('"2 ps/flop"', "-2"), "outside its domain"),
        (("value  =", "valu ="), "time_per_flop has no value"),
        (("[parameters", "[params"), "no 'params'; did you mean 'parameters'"),
        (("title  =", "title"), "mine.toml"),
        (
            (
                "[parameters.energy_per_flop]",
                "[[settings]]\ncore_voltage = '-1 V'\n[parameters.energy_per_flop]",
            ),
            "domain",
        ),
        (("\ntitle", "settings = 3\ntitle"), "settings"),
    ],
)
def test_a_wrong_machine_file_is_explained(edit: tuple[str, str], said: str, folder: Path):
    (folder / "parts" / "mine.toml").write_text(MACHINE.replace(*edit))
    with pytest.raises(ScenarioError) as caught:
        load(folder / "question.toml")
    assert caught.value.problems[0].key == "machine"
    assert said in str(caught.value)
    with pytest.raises(machines.MachineError, match="machine file"):
        machines.get(str(folder / "parts" / "mine.toml"))


def test_a_missing_machine_file_is_one_clear_mistake(folder: Path):
    (folder / "parts" / "mine.toml").unlink()
    with pytest.raises(ScenarioError, match=r"mine\.toml cannot be read: No such file") as caught:
        load(folder / "question.toml")
    assert "dse new machine -o" in caught.value.problems[0].right
    assert len(caught.value.problems) == 1


def test_a_comment_that_begins_like_a_pin_stays_a_comment(tmp_path: Path):
    own = next((Path(dse.__file__).parent / "machines").glob("nuc-cpu-choi2014.toml"))
    (tmp_path / "m.toml").write_text(own.read_text())
    head = f'# machine file "zz.toml": sha256 {"0" * 64} limits.time.max = "1 ns"\n'
    body = (
        'model = "roofline"\nmachine = "./m.toml"\nobjective.minimize = "time"\n'
        "[given]\nflops = 1e12\nintensity = 4.0\n"
    )
    (tmp_path / "s.toml").write_text(head + body)
    asked = dse.load(tmp_path / "s.toml")
    assert not asked.limits
    assert asked.text is not None
    assert not tomllib.loads(asked.text).get("limits")


def test_a_machine_that_is_the_files_own_replaces_nothing() -> None:
    own, other = (dse.load("nbody_deadline", machine).text for machine in ("balanced", "jaketown"))
    assert ("in place of" in own, "in place of" in other) == (False, True)
