"""Every command ends with the one next thing to try, which is a command that there is; pipes and files get none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dse.cli import main
from dse.commands.terminal import hints

VALUED = ["-o", "--machine", "--points", "--samples"]


@pytest.mark.parametrize(
    ("typed", "next_"),
    [
        ("solve mine.toml", "dse explain mine.toml"),
        ("solve --machine jaketown mine.toml", "dse explain mine.toml --machine jaketown"),
        ("solve --machine=jaketown mine.toml", "dse explain mine.toml --machine jaketown"),
        ("compare mine.toml --machine balanced", "dse explain mine.toml --machine balanced"),
        (
            "uncertainty mine.toml --machine jaketown --samples 99 -o worlds.zarr",
            "dse uncertainty mine.toml --machine jaketown --indices",
        ),
        ("sweep mine.toml -o study.zarr", "dse report study.zarr -o study.html"),
        ("sweep mine.toml --output study.zarr", "dse report study.zarr -o study.html"),
        ("sweep mine.toml", "dse sweep mine.toml -o study.zarr"),
        ("fit runs.csv --model dvfs", "dse fit runs.csv --model dvfs -o mine.toml"),
        ("models", "dse models nbody"),
        ("models matmul", "dse new matmul"),
        ("solve mine.toml --json", ""),
        ("front mine.toml", "dse report mine.toml -o front.html"),
        ("front mine.toml --points 8 -o front.png", "dse report mine.toml --points 8 -o front.html"),
        ("solve 'my file.toml'", "dse explain 'my file.toml'"),
    ],
)
def test_the_next_step_follows_from_what_was_typed(typed: str, next_: str):
    import shlex

    assert hints.after(shlex.split(typed), VALUED) == next_


FRONT = "nbody_energy_time_front"
# what they found decides: see below; `dse check` and `dse new -o` print theirs in any case
FOUND = {"check", "diff", "explain", "new"}


def test_every_command_has_a_next_step_and_each_is_a_command():
    assert {*main.commands} - {*hints.NEXT, *hints.BARE} == FOUND
    for told in (*hints.NEXT.values(), *hints.BARE.values()):
        command, *rest = told.split()[1:]
        options = {name for p in main.commands[command].params for name in p.opts}
        assert {w for w in rest if w.startswith("-")} <= options, told


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command as on a terminal; returns its last line."""

    def run(*words: str) -> str:
        said = hints.say

        def on_a_terminal(*about: Any) -> str:
            monkeypatch.setattr(
                hints.sys, "stdout", type("Terminal", (), {"isatty": staticmethod(lambda: True)})()
            )
            line = said(*about)
            monkeypatch.undo()
            return line

        monkeypatch.setattr(hints, "say", on_a_terminal)
        lines = CliRunner().invoke(main, list(words)).output.splitlines()
        return lines[-1].removeprefix("Next: dse ") if lines[-1].startswith("Next:") else ""

    return run


@pytest.mark.parametrize(
    ("typed", "next_"),
    [
        ("models", "models nbody"),
        ("machines", "machines balanced"),
        ("workloads", "scenarios"),
        ("scenarios", "solve nbody_deadline"),
        ("diff nbody_deadline nbody_deadline", "compare nbody_deadline nbody_deadline"),
        (
            "diff nbody_deadline nbody_deadline_few_processors",
            "compare nbody_deadline nbody_deadline_few_processors",
        ),
        ("explain nbody_deadline", "solve nbody_deadline"),
        ("explain nbody_deadline --machine jaketown", "solve nbody_deadline --machine jaketown"),
        ("explain nbody_energy_time_front", "front nbody_energy_time_front"),
        ("explain nbody_deadline_sweep", "sweep nbody_deadline_sweep -o nbody_deadline_sweep.zarr"),
        ("scenarios nbody_deadline", "solve nbody_deadline"),
        ("scenarios nbody_deadline_sweep", "sweep nbody_deadline_sweep -o nbody_deadline_sweep.zarr"),
        ("scenarios nbody_energy_time_front", "front nbody_energy_time_front -o nbody_energy_time_front.png"),
        ("new nbody", "new nbody -o mine.toml"),
        ("new machine --like balanced", "new machine --like balanced -o mine.toml"),
        ("solve nbody_deadline_out_of_reach", "explain nbody_deadline_out_of_reach"),
        ("front nbody_energy_time_front --points 3", f"report {FRONT} --points 3 -o front.html"),
        (
            "front nbody_energy_time_front --machine jaketown --points 3",
            f"front {FRONT} --machine jaketown --points 3 -o front.zarr",
        ),
    ],
)
def test_what_a_command_found_decides_the_next(terminal: Callable[..., str], typed: str, next_: str):
    assert terminal(*typed.split()) == next_


def test_a_told_command_has_all_that_was_asked():
    """It would find another front or fill another store without --points, --machine, --sampler, ..."""
    run = CliRunner().invoke
    asked = ["--sampler", "random", "--trials", "30", "--seed", "2", "--points", "3", "--no-compare"]
    told = run(main, ["front", FRONT, "--machine", "jaketown", *asked, "--json"])
    assert told.exit_code == 0
    (line,) = (
        line
        for line in run(main, ["front", FRONT, "--machine", "jaketown", *asked]).output.splitlines()
        if line.startswith("A table or picture of it: dse ")
    )
    words = line.partition(": dse ")[2].split()
    assert words[-4:] == ["-o", "front.csv", "-o", "front.png"]
    assert run(main, [*words[:-4], "--json"]).output == told.output
    assert "dse sweep nbody_deadline_sweep -o nbody_deadline_sweep.zarr --machine jaketown" in (
        run(main, ["check", "nbody_deadline_sweep", "--machine", "jaketown"]).output
    )
    refused = run(main, ["sweep", "nbody_deadline_sweep", "--machine", "jaketown", "--depth", "full"]).output
    assert "nbody_deadline_sweep --machine jaketown --depth full -o nbody_deadline_sweep.zarr" in refused


def test_a_stored_front_is_shown_as_it_is(terminal: Callable[..., str], tmp_path: Path):
    stored = str(tmp_path / "front.nc")
    assert (
        terminal("front", FRONT, "--points", "3", "--machine", "jaketown", "-o", stored)
        == f"report {stored} -o front.html"
    )


# one that serves few models, one whose settings have gaps, one that serves nothing as it is
@pytest.mark.parametrize("machine", ["i7-2600k-tang2017", "fmm-settings-choi2016", "intel-atom-d2500"])
def test_what_a_machine_suggests_can_be_asked(terminal: Callable[..., str], tmp_path: Path, machine: str):
    words = terminal("machines", machine).split()
    assert machine in words
    words = [str(tmp_path / w) if w == "mine.toml" else w for w in words]
    assert CliRunner().invoke(main, words).exit_code in {0, 3}


def test_a_terminal_is_told_and_a_pipe_is_not(monkeypatch: pytest.MonkeyPatch):
    assert "Next:" not in CliRunner().invoke(main, ["solve", "nbody_deadline"]).output
    monkeypatch.setattr(hints.sys, "stdout", type("Terminal", (), {"isatty": staticmethod(lambda: True)})())
    assert hints.say(["solve", "nbody_deadline"], VALUED) == "\nNext: dse explain nbody_deadline"
