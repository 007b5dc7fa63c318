"""One sweep at a time fills a store.

In a directory the lock is one of the operating system on a file, which ends with the process however that
dies. In an object store it is a lease: an object that its holder renews, and that is taken over when the
holder's process is gone (seen at once on the same machine) or has not renewed it for a while.
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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results.object_storage import ObjectFolder
from results.storage import LocalFolder, folder
from results.trouble import StoreBusy, explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from results.storage import Place

NAME = "chunks_done/sweep.lock"
MOMENT = 0.1
RENEWED = 15.0
EXPIRED = 90.0


@contextmanager
def held(place: Place) -> Iterator[None]:
    """Hold the lock of a store.

    Raises StoreBusy, which says who has it, and StoreError where the store cannot be written.
    """
    where = folder(place)
    with explained(where, "write to"):
        release = _locked(where) if isinstance(where, LocalFolder) else _leased(where)
    try:
        yield
    finally:
        release()


def holder(place: Place) -> dict[str, Any] | None:
    """Say who fills a store at present: host, process and since when; None: nobody."""
    where = folder(place)
    with explained(where, "read"):
        if isinstance(where, ObjectFolder):
            found = _read(where)
            return found if found and not _dead(found) else None
        assert isinstance(where, LocalFolder)
        try:
            file = os.open(where.path / NAME, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _read(where) or {}
        finally:
            os.close(file)
    return None


def _me() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "process": os.getpid(),
        "began": _began(os.getpid()),
        "since": time.time(),
        "mark": uuid.uuid4().hex,
    }


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
    file = os.open(where.path / NAME, os.O_RDWR | os.O_CREAT, 0o666)
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
                raise _busy(where, _read(where)) from problem
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


def _leased(where: Any) -> Any:
    mine = _me() | {"renewed": time.time()}
    if not where.put_new(NAME, json.dumps(mine).encode()):
        theirs = _read(where)
        if theirs and not _dead(theirs):
            raise _busy(where, theirs)
        where.put(NAME, json.dumps(mine).encode())
        # of several that take over at the same moment the last one has it
        time.sleep(1.0)
    if _read(where).get("mark") != mine["mark"]:
        raise _busy(where, _read(where))
    ended = threading.Event()
    renewing = threading.Thread(target=_renew, args=(where, mine, ended), daemon=True, name="renew-lease")
    renewing.start()

    def release() -> None:
        ended.set()
        renewing.join(timeout=RENEWED)
        # somebody may have taken it over from a process that slept too long
        with suppress(Exception):
            if _read(where).get("mark") == mine["mark"]:
                where.remove(NAME)

    return release


def _renew(where: Any, mine: dict[str, Any], ended: threading.Event) -> None:
    while not ended.wait(RENEWED):
        # a service that does not answer now may do so the next time
        with suppress(Exception):
            if _read(where).get("mark") != mine["mark"] or ended.is_set():
                return
            where.put(NAME, json.dumps(mine | {"renewed": time.time()}).encode())


def _read(where: Any) -> dict[str, Any]:
    try:
        return dict(json.loads(where.read(NAME)))
    except (FileNotFoundError, ValueError, TypeError):
        return {}


def _dead(by: dict[str, Any]) -> bool:
    if time.time() - by.get("renewed", 0.0) > EXPIRED:
        return True
    if by.get("host") != socket.gethostname():
        return False
    return bool(by.get("began")) and _began(int(by["process"])) != by["began"]
