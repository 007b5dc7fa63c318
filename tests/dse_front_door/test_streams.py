"""Standard streams that are closed, full or left, Ctrl-C while importing, and folders that are made."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dse.cli import main
from dse.system import streams


def shell(command: str) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-c", command.replace("dse ", f"{sys.executable} -m dse ")]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-", "</dev/null 1</dev/null"])
@pytest.mark.parametrize("command", ["models", "solve nbody_deadline --json"])
def test_closed_streams_are_quiet(command: str, closed: str):
    done = shell(f"dse {command} {closed}")
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_full_disk_is_one_message():
    done = shell("dse models > /dev/full")
    assert (done.returncode, done.stderr) == (1, "dse: No space left on device\n")


def test_control_c_while_importing_is_quiet():
    code = (
        "import sys, signal\n"
        "class Here:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'dse.commands.commandline': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Here())\n"
        "from dse.cli import main\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_control_characters_are_spelled_out():
    assert streams.visible("a\x1b[31m\x9b\x07\tb\n") == "a\\u001b[31m\\u009b\\u0007\tb\n"


def test_a_folder_that_is_made_is_told_of(tmp_path: Path):
    file = tmp_path / "new" / "q.toml"
    done = CliRunner().invoke(main, ["new", "nbody", "-o", str(file)])
    assert done.exit_code == 0
    assert done.stderr == f"dse: there was no folder {file.parent}; it is made\n"
    assert file.exists()
    again = CliRunner().invoke(main, ["new", "nbody", "-o", str(file), "--force"])
    assert again.stderr == ""
