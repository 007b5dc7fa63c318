"""One sweep at a time fills a store.

In a directory the lock is one of the operating system on a file, which ends with the process however that
dies. In an object store it is a lease: an object that its holder renews, and that is taken over when the
holder's process is gone (seen at once on the same machine) or has not renewed it for a while.

No clock is trusted, since one may be set back or forth, and those of two machines differ: of a process of this
machine only the process counts, and a lease of another one that looks too old (or comes from the future) is watched
for as long as two renewals take before it is taken over.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from results.stores.files.inside import readable
from results.stores.files.object_storage import ObjectFolder
from results.stores.files.storage import LocalFolder, Place, folder
from results.stores.files.trouble import StoreBusy, explained

NAME = "chunks_done/sweep.lock"
MOMENT = 0.1
RENEWED = 15.0
EXPIRED = 90.0


class Held:
    """A lock that is held; ``taken``: the lease of who took it over meanwhile."""

    def __init__(self, place: object) -> None:
        self._place = place
        self.taken: dict[str, Any] = {}

    def check(self) -> None:
        """Raise StoreBusy where another process has taken the lock over: this one was taken to be dead."""
        if self.taken:
            raise _busy(self._place, self.taken)


@contextmanager
def held(place: Place) -> Iterator[Held]:
    """Hold the lock of a store.

    Raises StoreBusy, which says who has it, and StoreError where the store cannot be written.
    """
    where = folder(place)
    mine = Held(where)
    with explained(where, "write to"):
        release = _locked(where) if isinstance(where, LocalFolder) else _leased(where, mine)
    try:
        yield mine
    finally:
        release()


def holder(place: Place) -> dict[str, Any] | None:
    """Say who fills a store at present: host, process and since when; None: nobody."""
    where = folder(place)
    with explained(where, "read"):
        if isinstance(where, ObjectFolder):
            found = _owner_of_lock(where)
            return found if found and not _dead(found) else None
        try:
            file = os.open(readable(where.path, NAME), os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _owner_of_lock(where) or {}
        finally:
            os.close(file)
    return None


def _me() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "process": os.getpid(),
        "space": _space(),
        "began": _began(os.getpid()),
        "since": time.time(),
        "mark": uuid.uuid4().hex,
    }


def _space() -> str:
    """Tell in which space of process numbers this is: two containers of one host name may have one each."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _began(process: int) -> str:
    """Tell a process from a later one of the same number: its start in ticks since boot ("" where unknown)."""
    try:
        told = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # the name of the program, in brackets, may hold anything
    return told.rpartition(")")[2].split()[19]


def _busy(where: Any, by: dict[str, Any]) -> StoreBusy:
    who = "another process"
    if by:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(by.get("since", 0.0)))
        who = f"process {by.get('process')} on {by.get('host')} since {since}"
    text = f"{where} is being filled by {who}; wait for it or stop it, then the same command continues"
    return StoreBusy(text)


def _locked(where: LocalFolder) -> Any:
    (where.path / NAME).parent.mkdir(exist_ok=True)
    file = os.open(readable(where.path, NAME), os.O_RDWR | os.O_CREAT, 0o666)
    for last in (False, False, True):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError as problem:
            # who only looks whether it is locked has it for a moment
            if problem.errno in {errno.EWOULDBLOCK, errno.EACCES} and not last:
                time.sleep(MOMENT)
                continue
            os.close(file)
            if last:
                raise _busy(where, _owner_of_lock(where)) from problem
            raise
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, json.dumps(_me()).encode(), 0)
    except OSError as problem:
        # a full disk: the lock holds all the same, and what fails for want of room says so itself
        if problem.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            os.close(file)
            raise

    def release() -> None:
        with suppress(OSError):
            os.ftruncate(file, 0)
        os.close(file)

    return release


def _leased(where: Any, held: Held) -> Any:
    mine = _me() | {"renewed": time.time()}
    if not where.put_new(NAME, json.dumps(mine).encode()):
        theirs = _owner_of_lock(where)
        if theirs and not _dead(theirs):
            raise _busy(where, theirs)
        if theirs and not _here(theirs):
            _watch(where, theirs)
        where.put(NAME, json.dumps(mine).encode())
        # of several that take over at the same moment the last one has it
        time.sleep(1.0)
    if _owner_of_lock(where).get("mark") != mine["mark"]:
        raise _busy(where, _owner_of_lock(where))
    ended = threading.Event()
    told = (where, mine, ended, held)
    renewing = threading.Thread(target=_renew, args=told, daemon=True, name="renew-lease")
    renewing.start()

    def release() -> None:
        ended.set()
        renewing.join(timeout=RENEWED)
        # somebody may have taken it over from a process that slept too long
        with suppress(Exception):
            if _owner_of_lock(where).get("mark") == mine["mark"]:
                where.remove(NAME)

    return release


def _watch(where: Any, theirs: dict[str, Any]) -> None:
    """Wait whether a lease is renewed that looks too old by the clock here; raises StoreBusy where it is."""
    ends = time.monotonic() + 2 * RENEWED
    while time.monotonic() < ends:
        time.sleep(RENEWED / 10)
        if (now := _owner_of_lock(where)) and now != theirs:
            raise _busy(where, now)


def _renew(where: Any, mine: dict[str, Any], ended: threading.Event, held: Held) -> None:
    while not ended.wait(RENEWED):
        # a service that does not answer now may do so the next time
        with suppress(Exception):
            now = _owner_of_lock(where)
            if now.get("mark", mine["mark"]) != mine["mark"]:
                held.taken = now
                return
            if not ended.is_set():
                where.put(NAME, json.dumps(mine | {"renewed": time.time()}).encode())


def _owner_of_lock(where: Any) -> dict[str, Any]:
    try:
        return dict(json.loads(where.read(NAME)))
    except (FileNotFoundError, ValueError, TypeError):
        return {}


def _here(by: dict[str, Any]) -> bool:
    """Whether the processes of this lease's holder can be seen from here."""
    near: bool = by.get("host") == socket.gethostname() and by.get("space", "") in {"", _space()}
    return near and bool(by.get("began"))


def _dead(by: dict[str, Any]) -> bool:
    """Whether the holder of a lease is gone, or seems to be by the clock."""
    if _here(by):
        return bool(_began(int(by["process"])) != by["began"])
    return bool(abs(time.time() - by.get("renewed", 0.0)) > EXPIRED)
