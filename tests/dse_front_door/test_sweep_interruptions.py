"""Sweeps that are interrupted or run out of disk, and sweeps from anywhere (what is killed: tests/crash)."""

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from click.testing import CliRunner

import dse
import results.stores.store
from dse.cli import main
from dse.sweeping import store_status
from dse.sweeping.cluster import clusters

pytestmark = pytest.mark.slow

DEADLINES = 20  # 60 points in four chunks
COMMAND = ("sweep", "grid.toml", "-o", "s.zarr", "--workers", "2")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[xr.Dataset]]:
    """What the sweep gives when nothing happens to it; computed once, by the first test that needs it."""
    found: list[xr.Dataset] = []
    yield found
    found.clear()


def same_as_undisturbed(undisturbed: list[xr.Dataset], file: Path, store: Path) -> None:
    if not undisturbed:
        undisturbed.append(dse.sweep(file, store.with_name("undisturbed.zarr"), workers=1).load())
    found = dse.open(store).load()
    xr.testing.assert_identical(undisturbed[0].drop_vars("seconds"), found.drop_vars("seconds"))
    assert results.stores.store.verify(store) == {}
    left = [p for p in store.rglob("*") if "partial" in p.name]
    assert not left


def some_done(store: Path, least: int = 2) -> Callable[[], bool]:
    return lambda: store.exists() and len(results.stores.store.done(store)) >= least


@pytest.mark.parametrize("workers", ["1", "2"])
def test_control_c_says_how_to_continue(
    grid_file: Any,
    start: Any,
    workers_of: Any,
    waiting: Any,
    tmp_path: Path,
    undisturbed: list[xr.Dataset],
    workers: str,
):
    file, store = grid_file(DEADLINES), tmp_path / "s.zarr"
    command = (*COMMAND[:-1], workers)
    process = start(*command, hold=1)
    waiting(some_done(store, 1))
    helpers = workers_of(process.pid)
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=240)
    assert process.returncode == 130, complaints
    assert "the same command continues" in complaints
    assert "Traceback" not in complaints
    assert not any(p.is_running() for p in helpers)
    assert results.stores.store.verify(store) == {}
    if workers == "2":
        again = start(*command)
        _, complaints = again.communicate(timeout=240)
        assert again.returncode == 0, complaints
        same_as_undisturbed(undisturbed, file, store)


SWEPT_CAPS = """
power = { max = "1 kW" }

[sweep]
deadline  = { path = "limits.time.max", start = "10 ms", stop = "10 s", num = 300, spacing = "log" }
power_cap = { path = "limits.power.max", start = "10 W", stop = "10 kW", num = 70, spacing = "log" }
"""


def test_control_c_says_at_once_what_is_waited_for_and_a_second_one_ends_that(
    deadline: Path, start: Any, waiting: Any, tmp_path: Path
):
    (tmp_path / "grid.toml").write_text(deadline.read_text() + SWEPT_CAPS)
    process, store = start("sweep", "grid.toml", "-o", "s.zarr", hold=1), tmp_path / "s.zarr"
    waiting(some_done(store, 1))
    process.send_signal(signal.SIGINT)
    said = next(line for line in process.stderr if "interrupted" in line)
    assert re.search(r"chunks? under way (is|are) finished and stored first; Ctrl-C again ends at once", said)
    assert process.poll() is None
    kept = results.stores.store.done(store)
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=240)
    assert (process.returncode, complaints) == (
        130,
        "interrupted; s.zarr keeps what is done, and the same command continues\n",
    )
    assert results.stores.store.done(store) >= kept
    assert results.stores.store.verify(store) == {}


SCRIPT = """
import dse
found = dse.sweep("grid.toml", "s.zarr", workers=2)
print(dict(found.sizes)["deadline"], int((found.status == 0).sum()))
"""


def test_a_script_without_a_guard_can_sweep(grid_file: Any, run: Any, tmp_path: Path):
    grid_file(14)
    (tmp_path / "plain.py").write_text(SCRIPT)
    found = run("plain.py")
    assert found.stdout == "14 0\n", found.stderr


def test_standard_input_and_a_running_loop_as_in_a_notebook_can_sweep(grid_file: Any, run: Any):
    grid_file(14)
    body = SCRIPT.strip().replace("\n", "\n    ")
    found = run("-", input=f"import asyncio\nasync def cell():\n    {body}\nasyncio.run(cell())\n")
    assert found.stdout == "14 0\n", found.stderr


@pytest.mark.parametrize(
    ("address", "code"), [("tcp://127.0.0.1:9", 1), ("nonsense://x:1", 2), ("nowhere", 2)]
)
def test_no_scheduler_is_a_clear_error(
    grid_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, code: int
):
    # it is asked again and again for so long
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 1.0)
    command = ["sweep", str(grid_file(3)), "-o", str(tmp_path / "s.zarr"), "--scheduler", address]
    found = CliRunner().invoke(main, command)
    assert found.exit_code == code, found.stderr
    assert address in found.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_ends_the_sweep_and_what_is_stored_stays(
    grid_file: Any, run: Any, tmp_path: Path, workers: str
):
    """A limit on the size of files stands for a full disk."""
    file, store = grid_file(20), tmp_path / "s.zarr"
    dse.sweep(file, store, workers=1)
    for index in sorted(results.stores.store.done(store))[1:]:
        results.stores.store.forget(store, index)
    kept = results.stores.store.done(store)
    assert len(kept) == 1
    limited = (
        "import resource, sys\nsys.dont_write_bytecode = True  # else cut short, too\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))\n"
        "from dse.cli import main\nmain(sys.argv[1:])\n"
    )
    found = run("-c", limited, *COMMAND[:-1], workers)
    assert found.returncode == 1, found.stderr
    assert "stays valid" in found.stderr
    assert "Traceback" not in found.stderr
    assert results.stores.store.done(store) == kept
    assert results.stores.store.verify(store) == {}


def test_workers_that_end_together_are_as_fast_as_their_work():
    """Two chunks that were stored within 10 ms of each other told 8.6e5 points a second, and nothing left to wait."""
    notes = {(i,): {"written": 100.0 + 0.01 * i, "seconds": 8.0} for i in range(2)}
    rate = store_status._points_per_second(notes, {(0,): 3350, (1,): 3350}, None)
    assert rate == pytest.approx(6700 / 8.01)
