"""Found by every Python that a test starts with this folder on its path: sweeps that can be interrupted.

``CHUNK_PAUSE``: seconds that a chunk waits before it is written. ``CHUNK_HOLD``: so many chunks are written, and the
others only when the file ``CHUNK_RELEASE`` is there: whatever is to happen to a sweep meets it under way, however fast
or slow the machine is. ``CRASH_JOURNAL``: a file in which each chunk that is begun is noted; chunks are then solved
point by point, as with ``ONE_BY_ONE``. ``CLOCK_BACK``: a file; from when it is there every clock of the day is an hour
behind. ``STALE``: seconds for which listings of folders are old ones, as on a network file system; there also every
read takes a while, and some find that the file was replaced by another machine.
"""

import errno
import functools
import importlib.abc
import importlib.machinery
import itertools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

JOURNAL = os.environ.get("CRASH_JOURNAL", "")
ONE_BY_ONE = os.environ.get("ONE_BY_ONE", "")
PAUSE = float(os.environ.get("CHUNK_PAUSE", "0"))
HOLD = int(os.environ.get("CHUNK_HOLD", "0"))
RELEASE = os.environ.get("CHUNK_RELEASE", "")
CLOCK = os.environ.get("CLOCK_BACK", "")
STALE = float(os.environ.get("STALE", "0"))


def noting(module: Any) -> None:
    solve = module._computed

    @functools.wraps(solve)
    def noted(at: Any, region: Any, told: Any) -> Any:
        line = "-".join(str(s.start) for s in region) + f" {os.getpid()}\n"
        file = os.open(JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, line.encode())
        os.close(file)
        return solve(at, region, told)

    module._computed = noted
    one_by_one(module)


def one_by_one(module: Any) -> None:
    module.paths.chosen = lambda grid: module.many_points.Choice()


def pausing(module: Any) -> None:
    write = module.write_chunk

    @functools.wraps(write)
    def paused(store: Any, *arguments: Any, **options: Any) -> Any:
        time.sleep(PAUSE)
        while HOLD and len(module.done(store)) >= HOLD and not (RELEASE and Path(RELEASE).exists()):
            # looking takes the processor from those that are waited for
            time.sleep(0.1)
        return write(store, *arguments, **options)

    module.write_chunk = paused


# these hold what is sent back until a time of day: set back just then, it would come an hour late
WAITING = ("tornado.ioloop", "distributed.batched")


def set_back() -> None:
    now = time.time

    def earlier() -> float:
        waits = sys._getframe(1).f_globals.get("__name__") in WAITING
        return now() - (3600 if Path(CLOCK).exists() and not waits else 0)

    time.time = earlier


def stale(module: Any) -> None:
    listed: dict[Any, tuple[float, Any]] = {}

    def old(listing: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(listing)
        def listing_of(folder: Any, *below: str) -> Any:
            key = (listing.__name__, str(folder), below)
            if key not in listed or time.monotonic() - listed[key][0] > STALE:
                listed[key] = time.monotonic(), listing(folder, *below)
            return listed[key][1]

        return listing_of

    module.LocalFolder.names = old(module.LocalFolder.names)
    module.LocalFolder.sizes = old(module.LocalFolder.sizes)
    read, count = Path.read_bytes, itertools.count(1)

    def slowly(file: Path) -> bytes:
        time.sleep(0.002)
        if next(count) % 20 == 0:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(file))
        return read(file)

    Path.read_bytes = slowly


class Changed(importlib.abc.MetaPathFinder):
    """Load a module as it is, then change it."""

    def __init__(self, name: str, change: Callable[[Any], None]) -> None:
        self.name, self.change = name, change

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            self.change(module)

        spec.loader.exec_module = exec_module
        return spec


if JOURNAL:
    sys.meta_path.insert(0, Changed("dse.sweeping.points.chunk_work", noting))
elif ONE_BY_ONE:
    sys.meta_path.insert(0, Changed("dse.sweeping.points.chunk_work", one_by_one))
if CLOCK:
    set_back()
if STALE:
    sys.meta_path.insert(0, Changed("results.stores.files.storage", stale))
if PAUSE or HOLD:
    sys.meta_path.insert(0, Changed("results.stores.store", pausing))
