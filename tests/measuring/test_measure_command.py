"""`dse measure`: exit codes, what it prints and refuses."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dse.cli import main
from dse.measuring import asking, session, writing
from dse.measuring.asking import Asked
from dse.measuring.hardware import Hardware
from dse.measuring.runs import read_runs
from dse.measuring.session import Measured


def dse_(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def runs(steady: Measured, tmp_path: Path) -> Path:
    (tmp_path / "runs.csv").write_text(writing.runs_file(steady))
    return tmp_path / "runs.csv"


def test_three_commands_from_a_machine_to_a_page(
    small: Hardware, asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(asking, "look", lambda: small)
    monkeypatch.setattr(asking, "QUICK", asked.effort)
    machine = tmp_path / "here.toml"
    done = dse_("measure", "--quick", "--threads", "1", "--force", "-o", machine)
    assert done.exit_code == 0, done.output
    assert f"Wrote {machine}" in done.output
    assert "memory, STREAM triad" in done.output
    assert "21 of 21 measurements" in done.stderr
    question = tmp_path / "here-question.toml"
    assert dse_("report", question, "-o", tmp_path / "page.html").exit_code == 0
    assert dse_("machines", machine).exit_code == 0


def test_a_quiet_machine_is_measured_and_a_noisy_one_is_not(runs: Path, tmp_path: Path):
    quiet = dse_("measure", "--from", runs, "-o", tmp_path / "quiet.toml")
    assert quiet.exit_code == 0, quiet.output
    assert "Quiet: others took 0.0% of the processors" in quiet.output
    noisy = tmp_path / "noisy.csv"
    noisy.write_text(runs.read_text().replace("condition others = 0.0", "condition others = 0.5"))
    refused = dse_("measure", "--from", noisy, "-o", tmp_path / "noisy.toml")
    assert refused.exit_code == 3
    assert "others took 50% of the processors" in refused.output
    assert "close other programs" in refused.output
    assert f"dse measure --from {noisy} -o {tmp_path / 'noisy.toml'} --force" in refused.output
    assert not (tmp_path / "noisy.toml").exists()
    assert dse_("measure", "--from", noisy, "-o", tmp_path / "noisy.toml", "--force").exit_code == 0


def test_json_has_numbers_in_si(runs: Path, steady: Measured):
    done = dse_("measure", "--from", runs, "--json", "--power", "65 W")
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert found["measured"] is True
    assert found["energy"] == "stated"
    assert found["parameters"]["constant_power"]["value"] == 65
    expected = {f.name: f.value for f in steady.times}
    assert found["parameters"]["time_per_byte"]["value"] == expected["time_per_byte"]


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["-o", "here.json"], "a machine file's name ends in .toml"),
        (["--threads", "0"], "numbers of threads are written such as 1,2,8"),
        (["--threads", "100000"], "this program may use"),
        (["--device", "tpu"], "there are cpu, gpu, and gpu:1"),
        (["--device", "gpu"], "cupy is not installed; torch is not installed"),
        (["--device", "gpu", "--threads", "2"], "leave them out for a GPU"),
        (["--power", "65 J"], "not a power such as 65 W"),
        (["--from", "none.csv"], "the file cannot be read"),
        (["--from", "none.csv", "--quick"], "--from measures nothing"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_line(
    arguments: list[str], wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    done = dse_("measure", *arguments)
    assert done.exit_code == 2, done.output
    assert wrong in done.stderr
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("kernel,time\ntriad,1\n", "column precision is missing"),
        ("", "the file is empty"),
        ("{runs}triad,double,memory,1,1,0,1,1,1,1,-5,1,0\n", "not a positive number"),
        ("{runs}triad,double\n", "2 cells"),
    ],
)
def test_files_of_other_runs_are_refused(text: str, wrong: str, runs: Path, tmp_path: Path):
    (tmp_path / "other.csv").write_text(text.replace("{runs}", runs.read_text()))
    done = dse_("measure", "--from", tmp_path / "other.csv")
    assert done.exit_code == 2, done.output
    assert wrong in done.stderr


def test_a_machine_file_is_not_written_over(runs: Path, tmp_path: Path):
    (tmp_path / "here.toml").write_text("mine")
    done = dse_("measure", "--from", runs, "-o", tmp_path / "here.toml")
    assert done.exit_code == 2
    assert "exists; choose another name" in done.stderr
    assert (tmp_path / "here.toml").read_text() == "mine"


def test_runs_that_did_nothing_make_no_machine(runs: Path, tmp_path: Path):
    head = next(line for line in runs.read_text().splitlines() if line.startswith("kernel"))
    row = "triad,double,memory,1,0,0,0,0,0,0,1,1,0\n"
    (tmp_path / "idle.csv").write_text(f"{head}\n{row}{row.replace('triad', 'polynomial')}")
    done = dse_("measure", "--from", tmp_path / "idle.csv", "-o", tmp_path / "idle.toml")
    assert done.exit_code == 2
    assert "no machine without time_per_flop and time_per_byte: measure it whole" in done.stderr
    assert dse_("measure", "--from", tmp_path / "idle.csv").exit_code == 0


def test_no_command_is_named_that_cannot_write_a_machine(runs: Path, tmp_path: Path):
    """Ctrl-C came before any byte of memory was moved, say."""
    found = runs.read_text().replace("condition others = 0.0", "condition others = 0.5")
    kept = [line for line in found.splitlines() if line.startswith(("#", "kernel", "polynomial"))]
    (tmp_path / "some.csv").write_text("\n".join(kept) + "\n")
    done = dse_("measure", "--from", tmp_path / "some.csv", "-o", tmp_path / "some.toml")
    assert done.exit_code == 3
    assert "was not written: there is no machine without time_per_byte: measure it whole" in done.output
    assert "--force" not in done.output


def test_a_machine_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def take(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(asking, "take", take)
    (tmp_path / "file").write_text("")
    done = dse_("measure", "--quick", "-o", tmp_path / "file" / "here.toml")
    assert done.exit_code == 2
    assert "a part of the path is a file, not a directory" in done.stderr


def test_names_of_which_nothing_is_made_are_told(runs: Path, tmp_path: Path):
    """They were left out without a word: a mistyped kernel is a figure that is not there."""
    assert "nothing is made of" not in dse_("measure", "--from", runs).output
    lines = runs.read_text().splitlines()
    odd = [line.replace("triad,", "tirad,").replace(",L2,", ",L7,") for line in lines]
    (tmp_path / "odd.csv").write_text("\n".join(odd) + "\n")
    told = dse_("measure", "--from", tmp_path / "odd.csv").output
    for column, name in (("kernel", "'tirad'"), ("level", "'L7'")):
        assert f"whose {column} is {name} (known: " in told


def test_a_request_to_end_keeps_what_was_measured(
    small: Hardware, asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As Ctrl-C does: a scheduler that ends a job sends SIGTERM."""

    def ended(*of: Any, **more: Any) -> None:
        made.append(1)
        if len(made) > 5:
            os.kill(os.getpid(), signal.SIGTERM)
        repeat(*of, **more)

    made: list[int] = []
    repeat = session.repeat
    monkeypatch.setattr(asking, "look", lambda: small)
    monkeypatch.setattr(asking, "QUICK", asked.effort)
    monkeypatch.setattr(session, "repeat", ended)
    before = signal.getsignal(signal.SIGTERM)
    done = dse_("measure", "--quick", "--threads", "1", "-o", tmp_path / "here.toml")
    assert done.exit_code == 130
    assert "interrupted after 15 runs: they are kept" in done.stderr
    assert len(read_runs(tmp_path / "runs.csv")) == 15
    assert signal.getsignal(signal.SIGTERM) is before
