"""Paths that no file can have, and files of another kind than a command asks for: one short message."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import dse
from dse.cli import main
from results.stores.store import StoreError
from scenarios import ScenarioError

QUESTION = """
model   = "nbody"
machine = "balanced"
[given]
bodies         = 1e5
flops_per_pair = 10
processors     = 100
memory         = 1e6
"""
ENDS = ("", ".nc", ".json", ".zarr", ".toml")


def typed(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    (tmp_path / "q.toml").write_text(QUESTION)
    return tmp_path / "q.toml"


READERS: dict[str, Callable[[str, Path], object]] = {
    "open": lambda path, _: dse.open(path),
    "export": lambda path, asked: dse.export(path, asked.with_name("out.csv")),
    "report": lambda path, asked: dse.report(path, asked.with_name("out.html")),
    "diff": dse.diff,
    "status": lambda path, _: dse.status(path),
    "verify": lambda path, _: dse.verify(path),
    "solve": lambda path, _: dse.solve(path),
    "export to": lambda path, asked: dse.export(asked, f"{path}.csv"),
    "report to": lambda path, asked: dse.report(asked, f"{path}.html"),
}


@pytest.mark.parametrize("way", READERS)
@pytest.mark.parametrize(
    ("start", "told"), [("x" * 5000, "so long|File name too long"), ("a\0b", "character that no path has")]
)
def test_a_path_that_no_file_can_have_is_refused_in_a_line(asked: Path, way: str, start: str, told: str):
    for end in ENDS:
        with pytest.raises((StoreError, ScenarioError), match=told) as problem:
            READERS[way](start + end, asked)
        assert len(str(problem.value)) < 250
        assert isinstance(problem.value, ScenarioError) or "\0" not in str(problem.value)


@pytest.mark.parametrize("words", [("export", "{}", "-o", "q.csv"), ("check", "{}"), ("verify", "{}")])
def test_a_long_path_is_not_printed_in_full(words: tuple[str, ...]):
    done = typed(*(w.format("x" * 5000) for w in words))
    assert done.exit_code == 2
    assert len(done.stderr) < 400


def test_who_compares_answers_is_told_what_does(asked: Path):
    answer = asked.with_name("a.json")
    answer.write_text(typed("solve", asked, "--json").stdout)
    done = typed("compare", answer, answer)
    assert done.exit_code == 2
    assert "this is an answer that `dse solve --json` printed, and no scenario" in done.stderr
    assert "`dse diff` compares two" in done.stderr
    stored = dse.export(asked, asked.with_name("a.zarr"))
    assert "`dse diff` compares two" in typed("compare", stored, asked).stderr
    stored = dse.export(asked, asked.with_name("a.nc"))
    assert "`dse diff` compares two" in typed("compare", stored, asked).stderr


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"tolerance": None}, TypeError, "tolerance is None; it may be a relative difference"),
        ({"ignore": None}, TypeError, "ignore is None; it may be a list of names"),
        ({"ignore": ["nope"]}, ValueError, "it may be a list of question, grid, statuses"),
        ({"ignore": ["value"]}, ValueError, "did you mean 'values'"),
    ],
)
def test_options_of_a_comparison_are_refused_as_the_command_refuses_them(
    asked: Path, options: dict[str, Any], kind: type[Exception], told: str
):
    with pytest.raises(kind, match=told):
        dse.diff(asked, asked, **options)
