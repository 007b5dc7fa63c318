"""Processes forked from one that has imported what they need: what they read, how they end, what they do not share."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

from dse.system.nursery import KILLED, Forked, Nursery

IMPORTED = "import os\nwith open('imported.txt', 'a') as file:\n    file.write('once ')\n"
MAIN = """
import sys, time
import numpy as np
from dse.system.processes import end_with_parent

def main():
    what, *rest = sys.argv[1:]
    if what == "wait":
        end_with_parent()
        time.sleep(600)
    if what == "draw":
        print(rest[0], sys.stdin.read(), np.random.random(), flush=True)
    if what == "end":
        sys.exit(int(rest[0]))
"""


@pytest.fixture
def log() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        yield file


@pytest.fixture(params=[True, False], ids=["forked", "started anew"])
def nursery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: IO[bytes], request: pytest.FixtureRequest
) -> Iterator[Nursery]:
    (tmp_path / "child.py").write_text(IMPORTED + MAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with Nursery(("child", "numpy.random"), log, forks=request.param) as made:
        yield made


def said(nursery: Nursery, log: IO[bytes], word: str, waiting: Callable[..., object]) -> list[str]:
    theirs, ours = os.pipe()
    process = nursery.start("child", "draw", word, stdin=theirs)
    os.close(theirs)
    os.write(ours, b"secret")
    os.close(ours)
    waiting(lambda: process.poll() is not None)
    log.seek(0)
    return log.read().decode().split()[-3:]


def test_what_is_imported_once_serves_all_and_nobody_draws_the_same_numbers(
    nursery: Nursery, log: IO[bytes], tmp_path: Path, waiting: Callable[..., object]
):
    one, other = (said(nursery, log, word, waiting) for word in ("first", "second"))
    assert [one[:2], other[:2]] == [["first", "secret"], ["second", "secret"]]
    assert one[2] != other[2]
    imports = (tmp_path / "imported.txt").read_text()
    assert imports == ("once " if nursery.forks else "once once ")


@pytest.mark.parametrize("code", [0, 3])
def test_it_is_known_how_they_end(nursery: Nursery, code: int, waiting: Callable[..., object]):
    process = nursery.start("child", "end", str(code))
    waiting(lambda: process.poll() is not None)
    assert process.returncode == code
    killed = nursery.start("child", "wait")
    assert killed.poll() is None
    os.kill(pid(killed), signal.SIGKILL)
    waiting(lambda: killed.poll() is not None)
    assert killed.returncode == -signal.SIGKILL


def test_leaving_it_ends_them_all(nursery: Nursery):
    many = [pid(nursery.start("child", "wait")) for _ in range(3)]
    nursery.close()
    assert not any(map(alive, many))


def test_where_it_is_killed_those_it_has_started_end_too_and_another_takes_its_place(
    nursery: Nursery, waiting: Callable[..., object]
):
    first = nursery.start("child", "wait")
    mother = parent(pid(first))
    os.kill(mother, signal.SIGKILL)
    waiting(lambda: first.poll() is not None)
    assert first.returncode == KILLED
    waiting(lambda: not alive(pid(first)))
    assert parent(pid(nursery.start("child", "wait"))) not in {mother, 1}


def test_they_end_with_who_has_started_them(
    nursery: Nursery, tmp_path: Path, waiting: Callable[..., object], surroundings: dict[str, str]
):
    code = (
        "import sys, time\nfrom dse.system.nursery import Nursery\n"
        "made = Nursery(('child',), sys.stderr.buffer)\nprint(made.start('child', 'wait').pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    caller = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=surroundings
    )
    assert caller.stdout is not None
    child = int(caller.stdout.readline())
    mother = parent(child)
    caller.kill()
    caller.communicate()
    waiting(lambda: not alive(child) and not alive(mother))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills those whose parent has ended")
def test_who_lets_no_thread_look_ends_with_its_parent_too(
    tmp_path: Path, waiting: Callable[..., object], surroundings: dict[str, str]
):
    """Like a solver that holds the lock of the interpreter as long as it runs."""
    held = "import ctypes\nfrom dse.system.processes import end_with_parent\nend_with_parent()\nprint(1, flush=True)\n"
    (tmp_path / "held.py").write_text(f"{held}ctypes.PyDLL(None).sleep(600)\n")
    code = (
        "import subprocess, sys\nfrom dse.system.processes import environment\n"
        "child = subprocess.Popen([sys.executable, 'held.py'], stdout=subprocess.PIPE, env=environment())\n"
        "child.stdout.readline()\nprint(child.pid, flush=True)\nchild.wait()\n"
    )
    caller = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=surroundings, cwd=tmp_path
    )
    assert caller.stdout is not None
    child = int(caller.stdout.readline())
    caller.kill()
    caller.communicate()
    try:
        waiting(lambda: not alive(child))
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def test_what_cannot_be_imported_is_told_of(log: IO[bytes], waiting: Callable[..., object]):
    with Nursery(("there_is_no_such_module",), log) as made:
        process = made.start("there_is_no_such_module")
        assert process.pid is None
        assert process.poll() == KILLED
    log.seek(0)
    assert b"No module named 'there_is_no_such_module'" in log.read()


def pid(process: Forked) -> int:
    assert process.pid is not None
    return process.pid


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
