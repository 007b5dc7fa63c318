"""The lock of a store in a folder: one at a time, and nothing that a dead process leaves behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from results.dataset import Layout
from results.stores import store
from results.stores.files import locks
from results.stores.store import StoreBusy

ROOT = Path(__file__).parents[2]
HOLD = (
    "from results.stores.files import locks; import time\n"
    "with locks.held({!r}):\n    print('held', flush=True); time.sleep(600)"
)


@pytest.fixture
def place(tmp_path: Path, plan: Layout) -> Path:
    store.create(tmp_path / "s.zarr", plan, {"scenario": "abc"})
    return tmp_path / "s.zarr"


def elsewhere(place: Path) -> subprocess.Popen[str]:
    """Hold the lock in another process."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(str(place))],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_is_refused_and_told_who_is_at_it(place: Path):
    process = elsewhere(place)
    try:
        told = locks.holder(place)
        assert told is not None
        assert told["process"] == process.pid
        with (
            pytest.raises(StoreBusy, match=f"is being filled by process {process.pid} on "),
            locks.held(place),
        ):
            pass
    finally:
        process.kill()
        process.communicate()


def test_the_lock_of_a_killed_process_is_none(place: Path):
    process = elsewhere(place)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert locks.holder(place) is None
    with locks.held(place):
        assert locks.holder(place)["process"] == os.getpid()


def test_it_is_given_back(place: Path):
    for _ in range(2):
        with locks.held(place):
            pass
        assert locks.holder(place) is None


def test_also_in_one_process_only_one_has_it(place: Path):
    with locks.held(place):
        with pytest.raises(StoreBusy), locks.held(place):
            pass
        assert locks.holder(place) is not None


def test_it_is_no_part_of_the_data(place: Path):
    with locks.held(place):
        assert store.done(place) == set()
        assert store.verify(place) == {}
    assert store.open(place).status.size == 120
