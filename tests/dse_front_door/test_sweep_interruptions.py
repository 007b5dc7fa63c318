"""Sweeps that are interrupted or run out of disk, and sweeps from anywhere (what is killed: tests/crash)."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import dse
import results.store

pytestmark = pytest.mark.slow

DEADLINES = 80  # 240 points in a dozen chunks
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
    assert results.store.verify(store) == {}
    left = [p for p in store.rglob("*") if "partial" in p.name]
    assert not left


def some_done(store: Path, least: int = 2) -> Callable[[], bool]:
    return lambda: store.exists() and len(results.store.done(store)) >= least


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
    process = start(*command, pause=0.5)
    waiting(some_done(store, 1))
    helpers = workers_of(process.pid)
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=60)
    assert process.returncode == 130, complaints
    assert "the same command continues" in complaints
    assert "Traceback" not in complaints
    assert not any(p.is_running() for p in helpers)
    assert results.store.verify(store) == {}
    if workers == "2":
        again = start(*command)
        _, complaints = again.communicate(timeout=240)
        assert again.returncode == 0, complaints
        same_as_undisturbed(undisturbed, file, store)


SCRIPT = """
import dse
found = dse.sweep("grid.toml", "s.zarr", workers=2)
print(dict(found.sizes)["deadline"], int((found.status == 0).sum()))
"""


@pytest.mark.parametrize("way", ["standard input", "script without a guard"])
def test_it_works_from_anywhere(grid_file: Any, run: Any, tmp_path: Path, way: str):
    grid_file(14)
    if way == "standard input":
        found = run("-", input=SCRIPT)
    else:
        (tmp_path / "plain.py").write_text(SCRIPT)
        found = run("plain.py")
    assert found.stdout == "14 0\n", found.stderr


def test_a_notebook_with_a_running_loop_can_sweep(grid_file: Any, run: Any):
    grid_file(14)
    body = SCRIPT.strip().replace("\n", "\n    ")
    found = run("-c", f"import asyncio\nasync def cell():\n    {body}\nasyncio.run(cell())\n")
    assert found.stdout == "14 0\n", found.stderr


@pytest.fixture
def cluster(tmp_path: Path, waiting: Any, surroundings: dict[str, str]) -> Iterator[str]:
    """A Dask scheduler and one worker with two threads, as somebody else may have started them."""
    address_file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m"]
    told = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(address_file))
    scheduler = subprocess.Popen([*dask, "distributed.cli.dask_scheduler", *told], **quiet)
    waiting(lambda: address_file.exists() and address_file.read_text().strip().endswith("}"))
    address = json.loads(address_file.read_text())["address"]
    worker = subprocess.Popen(
        [*dask, "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "2", "--no-dashboard"],
        env=surroundings,
        **quiet,
    )
    yield address
    for process in (worker, scheduler):
        process.kill()
        process.wait()


def test_an_existing_scheduler_is_used(grid_file: Any, cluster: str, run: Any, tmp_path: Path):
    file = grid_file(14)
    found = run("-m", "dse", "sweep", "grid.toml", "-o", "s.zarr", "--scheduler", cluster)
    assert found.returncode == 0, found.stderr
    plain = dse.sweep(file, tmp_path / "plain.zarr", workers=1).load().drop_vars("seconds")
    xr.testing.assert_identical(plain, dse.open(tmp_path / "s.zarr").load().drop_vars("seconds"))


@pytest.mark.parametrize(
    ("address", "code"), [("tcp://127.0.0.1:9", 1), ("nonsense://x:1", 2), ("nowhere", 2)]
)
def test_no_scheduler_is_a_clear_error(grid_file: Any, run: Any, address: str, code: int):
    grid_file(3)
    found = run("-m", "dse", "sweep", "grid.toml", "-o", "s.zarr", "--scheduler", address)
    assert found.returncode == code, found.stderr
    assert address in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_ends_the_sweep_and_what_is_stored_stays(
    grid_file: Any, run: Any, tmp_path: Path, workers: str
):
    """A limit on the size of files stands for a full disk."""
    file, store = grid_file(20), tmp_path / "s.zarr"
    whole = run("-m", "dse", *COMMAND[:-1], "1")
    assert whole.returncode == 0, whole.stderr
    for index in sorted(results.store.done(store))[1:]:
        results.store.forget(store, index)
    kept = results.store.done(store)
    assert len(kept) == 1
    limited = (
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))\n"
        "from dse.cli import main\nmain(sys.argv[1:])\n"
    )
    found = run("-c", limited, *COMMAND[:-1], workers)
    assert found.returncode == 1, found.stderr
    assert "stays valid" in found.stderr
    assert "Traceback" not in found.stderr
    assert results.store.done(store) == kept
    assert results.store.verify(store) == {}
    assert dse.load(file)
