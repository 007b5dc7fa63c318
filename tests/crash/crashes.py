"""Sweeps that something happens to: killed, without disk, without permission, twice at once.

``python tests/crash/crashes.py [RUNS] [KIND ...]`` runs each kind so many times (20), at random moments; the
suite runs one of each. Whatever happens, the same command finishes the store, which then is identical, value for
value, to that of a sweep that nothing happened to, passes its verification, and has begun at most one chunk per
worker twice.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import psutil
import xarray as xr
from places import WORKERS, NotPossible, Place, children, cluster, network, reachable, wait_for

import dse
import results.stores.files.locks
import results.stores.store


def a_worker(place: Place) -> None:
    process = place.sweep()
    place.moment(process)
    place.dice.choice(children(process.pid)).kill()
    place.ended(process, 0)


def all_workers(place: Place) -> None:
    process = place.sweep()
    place.moment(process)
    for worker in children(process.pid):
        worker.kill()
    place.ended(process, 0)


def the_parent(place: Place) -> None:
    process = place.sweep()
    place.moment(process)
    process.kill()
    # at once: what the dead one leaves behind may still be at work
    place.ended(place.sweep(1), 0)


def the_group(place: Place) -> None:
    process = place.sweep()
    place.moment(process)
    every = [psutil.Process(process.pid), *children(process.pid)]
    for one in every:
        one.send_signal(signal.SIGKILL)
    place.ended(place.sweep(1), 0)


def the_scheduler(place: Place) -> None:
    with cluster(place) as (processes, address):
        process = place.sweep(WORKERS, "--scheduler", address)
        place.moment(process)
        processes[-1].kill()
        place.ended(process, 1, "connection to the Dask scheduler is lost")
    with cluster(place) as (_, address):
        place.ended(place.sweep(WORKERS, "--scheduler", address), 0)


def a_frozen_worker(place: Place) -> None:
    with cluster(place) as (processes, address):
        process = place.sweep(WORKERS, "--scheduler", address)
        place.moment(process)
        processes[0].send_signal(signal.SIGSTOP)
        place.ended(process, 0)
        # it goes on where it was, may write what another one has written meanwhile, and learns that it is given up
        processes[0].send_signal(signal.SIGCONT)
        processes[0].wait(timeout=120)


def a_lost_network(place: Place) -> None:
    with network(place) as (host, away, cut), cluster(place, host, away) as (_, address):
        process = place.sweep(WORKERS, "--scheduler", address)
        place.moment(process)
        cut()
        place.ended(process, 0)


def a_full_disk(place: Place) -> None:
    disk = place.folder / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mounting, check=False, capture_output=True).returncode:
        raise NotPossible("mounting a small disk needs privileges")
    place.store = disk / "s.zarr"
    try:
        process = place.sweep()
        place.moment(process)
        ballast = disk / "ballast"
        try:
            with ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError:
            pass
        place.ended(process, 1, "the disk is full")
        ballast.unlink()
        place.ended(place.sweep(1), 0)
        shutil.copytree(place.store, place.folder / "s.zarr")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
        place.store = place.folder / "s.zarr"


def a_store_turned_read_only(place: Place) -> None:
    process = place.sweep()
    place.moment(process)
    with unwritable(Path(place.store)):
        place.ended(process, 2, "choose a path that can be written")
    place.ended(place.sweep(1), 0)


@contextmanager
def unwritable(store: Path) -> Iterator[None]:
    """Let nothing be made in the folders of a store; to root only an immutable folder is that."""
    folders = [str(store), *(str(p) for p in store.rglob("*") if p.is_dir())]
    if os.geteuid():
        lock, unlock = ["chmod", "a-w"], ["chmod", "u+w"]
    else:
        lock, unlock = ["chattr", "+i"], ["chattr", "-i"]
    if subprocess.run([*lock, *folders], check=False, capture_output=True).returncode:
        subprocess.run([*unlock, *folders], check=False, capture_output=True)
        raise NotPossible("this file system knows no immutable folders")
    try:
        yield
    finally:
        subprocess.run([*unlock, *folders], check=True)


def two_sweeps(place: Place) -> None:
    first = place.sweep()
    place.moment(first)
    assert results.stores.files.locks.holder(place.store)
    place.is_over(place.sweep(), 1, f"is being filled by process {first.pid}")
    place.ended(first, 0)


def a_store_that_disappears(place: Place) -> None:
    process = place.sweep()
    place.moment(process)
    Path(place.store).rename(place.folder / "elsewhere")
    place.ended(process, 2, "the store is gone, and with it")
    assert not Path(place.store).exists(), "half a store was made again"
    # a worker that was ended at once may have left half a file where the store is now
    shutil.rmtree(place.folder / "elsewhere")
    place.journal.unlink()
    place.ended(place.sweep(1), 0)


def slow_storage(place: Place) -> None:
    # what holds chunks back sees old listings too
    place.surroundings |= {"STALE": "3", "CHUNK_PAUSE": "1"}
    process = place.sweep()
    place.moment(process)
    process.kill()
    place.ended(place.sweep(), 0)
    # the listings of others are as old
    place.ended(place.start("dse", "verify", str(place.store), "--audit", "0"), 0)


def a_clock_set_back(place: Place) -> None:
    place.surroundings["CLOCK_BACK"] = str(place.folder / "an hour ago")
    first = place.sweep()
    place.moment(first)
    (place.folder / "an hour ago").touch()
    place.is_over(place.sweep(), 1, f"is being filled by process {first.pid}")
    place.is_over(place.start("dse", "sweep", "--status", str(place.store)), 0, "")
    place.ended(first, 0)


def in_an_object_store(what: Callable[[Place], None]) -> Callable[[Place], None]:
    """Let the same happen to a sweep into an S3 server of this machine; what is left is fetched from there."""

    def tried_there(place: Place) -> None:
        try:
            import fsspec
            import moto.server  # noqa: F401
            import s3fs  # noqa: F401
        except ImportError as missing:
            raise NotPossible(f"{missing.name} is not installed") from missing
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = place.start("moto.server", "-H", "127.0.0.1", "-p", str(port))
        who = {
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        there = fsspec.get_filesystem_class("s3")
        with mock.patch.dict(os.environ, who, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}"):
            wait_for(lambda: reachable(port))
            there.clear_instance_cache()
            try:
                there(use_listings_cache=False).mkdir("bucket")
                # the server is slow, and what looks at it makes it slower
                place.store, place.look = "s3://bucket/s.zarr", 1.0
                what(place)
                there(use_listings_cache=False).get(
                    "bucket/s.zarr", str(place.folder / "s.zarr"), recursive=True
                )
            finally:
                there.clear_instance_cache()
                server.kill()
        place.store = place.folder / "s.zarr"

    return tried_there


KINDS: dict[str, Callable[[Place], None]] = {
    "a worker": a_worker,
    "all workers": all_workers,
    "the scheduler": the_scheduler,
    "a frozen worker": a_frozen_worker,
    "a lost network": a_lost_network,
    "the parent": the_parent,
    "the group": the_group,
    "a full disk": a_full_disk,
    "a store turned read-only": a_store_turned_read_only,
    "two sweeps": two_sweeps,
    "a store that disappears": a_store_that_disappears,
    "slow storage": slow_storage,
    "a clock set back": a_clock_set_back,
}
FAR: dict[str, Callable[[Place], None]] = {
    "a worker, in an object store": in_an_object_store(a_worker),
    "the group, in an object store": in_an_object_store(the_group),
    "a clock set back, in an object store": in_an_object_store(a_clock_set_back),
}
"""Tried by name only: the S3 server of this machine takes a minute for one undisturbed sweep."""
LONG = frozenset({"a frozen worker", "a lost network", "slow storage"})
"""Not in the suite: each waits half a minute and more for what Dask, or a listing, takes to notice."""


def undisturbed(folder: Path) -> xr.Dataset:
    """What the sweep gives when nothing happens to it."""
    place = Place(folder, random.Random(0))
    place.ended(place.sweep(1), 0)
    return dse.open(place.store).load()


def tried(kind: str, folder: Path, seed: int, expected: xr.Dataset) -> int:
    """Let it happen once, check what is left, and return how many chunks were begun twice."""
    place = Place(folder, random.Random(seed))
    try:
        (KINDS | FAR)[kind](place)
    finally:
        place.end()
    found = dse.open(place.store).load()
    xr.testing.assert_identical(expected.drop_vars("seconds"), found.drop_vars("seconds"))
    assert results.stores.store.verify(place.store) == {}
    assert results.stores.files.locks.holder(place.store) is None
    verdict = dse.verify(place.store, audit=0, progress=False)
    assert verdict.passed, verdict.troubles
    left = [p.name for p in folder.rglob("*") if p.name.endswith((".partial", ".building"))]
    assert not left, left
    begun = [line.split()[0] for line in place.journal.read_text().splitlines()]
    again = len(begun) - len(set(begun))
    assert len(set(begun)) == len(results.stores.store.done(place.store))
    assert again <= WORKERS, begun
    return again


def main(arguments: list[str]) -> int:
    runs = int(arguments[0]) if arguments else 20
    kinds = arguments[1:] or list(KINDS)
    failures = 0
    with tempfile.TemporaryDirectory() as top:
        (Path(top) / "undisturbed").mkdir()
        expected = undisturbed(Path(top) / "undisturbed")
        for kind in kinds:
            twice = []
            for run in range(runs):
                folder = Path(top) / f"{kind} {run}"
                folder.mkdir()
                try:
                    twice.append(tried(kind, folder, run, expected))
                except NotPossible as reason:
                    print(f"{kind}: not tried: {reason}", flush=True)
                    break
                except AssertionError as problem:
                    failures += 1
                    print(f"{kind}, run {run}: FAILED: {problem}", flush=True)
                shutil.rmtree(folder, ignore_errors=True)
            print(f"{kind}: {len(twice)} of {runs} runs right; chunks begun twice: {twice}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
