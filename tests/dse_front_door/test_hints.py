"""Every command ends with the one next thing to try, which is a command that there is; pipes and files get none."""

import pytest
from click.testing import CliRunner

from dse import hints
from dse.cli import main

VALUED = ["-o", "--machine", "--points"]


@pytest.mark.parametrize(
    ("typed", "next_"),
    [
        ("solve mine.toml", "dse explain mine.toml"),
        ("solve --machine jaketown mine.toml", "dse explain mine.toml"),
        ("sweep mine.toml -o study.zarr", "dse report study.zarr -o study.html"),
        ("sweep mine.toml --output study.zarr", "dse report study.zarr -o study.html"),
        ("sweep mine.toml", ""),
        ("diff a.toml b.toml", "dse compare a.toml b.toml"),
        ("models", "dse models nbody"),
        ("models matmul", "dse new matmul"),
        ("solve mine.toml --json", ""),
        ("front mine.toml", ""),
        ("new nbody -o mine.toml", ""),
        ("front mine.toml --points 8 -o front.png", "dse report mine.toml -o front.html"),
        ("solve 'my file.toml'", "dse explain 'my file.toml'"),
    ],
)
def test_the_next_step_follows_from_what_was_typed(typed: str, next_: str):
    import shlex

    assert hints.after(shlex.split(typed), VALUED) == next_


def test_every_command_has_a_next_step_and_each_is_a_command():
    # dse check says its own
    assert {*main.commands} - {*hints.NEXT} == {"check"}
    for told in (*hints.NEXT.values(), *hints.BARE.values()):
        command, *rest = told.split()[1:]
        options = {name for p in main.commands[command].params for name in p.opts}
        assert {w for w in rest if w.startswith("-")} <= options, told


def test_a_terminal_is_told_and_a_pipe_is_not(monkeypatch: pytest.MonkeyPatch):
    assert "Next:" not in CliRunner().invoke(main, ["solve", "nbody_deadline"]).output
    monkeypatch.setattr(hints.sys, "stdout", type("Terminal", (), {"isatty": staticmethod(lambda: True)})())
    assert hints.say(["solve", "nbody_deadline"], VALUED) == "\nNext: dse explain nbody_deadline"
