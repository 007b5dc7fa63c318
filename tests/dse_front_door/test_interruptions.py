"""Ctrl-C wherever it comes: what is kept is said, and how to go on; the exit code is 130."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dse.cli import main


def dse_(*arguments: Any) -> Any:
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.mark.parametrize("command", ["sweep", "evaluate", "uncertainty"])
@pytest.mark.parametrize("there", [False, True])
def test_control_c_while_a_question_is_read_says_what_is_kept(
    deadline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, there: bool
):
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dse.api.load", interrupted)
    if there:
        Path("s.zarr").mkdir()
    found = dse_(command, deadline, "-o", "s.zarr")
    assert found.exit_code == 130
    kept = "keeps what is done" if there else "is not made yet"
    assert found.stderr == f"interrupted; s.zarr {kept}, and the same command continues\n"


def test_control_c_is_exit_code_130_whatever_libraries_do_at_the_end(run: Callable[..., Any]):
    """Threads of a solver that are still at work end the interpreter with a signal."""
    interrupted = (
        "import atexit, os, dse.api, dse.cli, signal\n"
        "atexit.register(os.abort)\n"
        "dse.api.solve = lambda scenario, **more: signal.raise_signal(signal.SIGINT)\n"
        "dse.cli.main(['solve', 'nbody_deadline'])\n"
    )
    found = run("-c", interrupted)
    assert (found.returncode, found.stderr.strip()) == (130, "interrupted")
