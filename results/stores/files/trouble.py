"""What goes wrong with files and stores, said so that a user can act on it."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_REASONS = {
    errno.ENOSPC: "the disk is full; what is stored stays valid, free some space and run it again",
    errno.EDQUOT: "the disk quota is used up; what is stored stays valid",
    errno.EFBIG: "a file would exceed the size allowed; what is stored stays valid",
    errno.EROFS: "the file system is read-only; choose a path that can be written",
    errno.EACCES: "no permission; choose a path that can be written",
    errno.EPERM: "not permitted; choose a path that can be written",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EEXIST: "a part of the path is a file, not a directory",
}
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# what the libraries behind an object store raise that is not an OSError
_FAR = frozenset({"botocore", "aiobotocore", "aiohttp"})


class StoreError(Exception):
    """A store cannot be created, written or read; the message says which, why, and what would help."""


class NoRoom(StoreError):
    """The disk or the quota is full; what is stored stays valid."""


class StoreBusy(StoreError):
    """Another sweep is filling the store."""


class StoreDamaged(StoreError):
    """Files of a store are not what was written."""


def damaged(store: object, files: Mapping[str, str]) -> StoreDamaged:
    """Return the error that names a store, the first of its damaged files, and what repairs it.

    ``files``: what is wrong, by name.
    """
    (name, what), more = next(iter(files.items())), len(files) - 1
    others = f" ({more} more {'file is' if more == 1 else 'files are'} damaged)" if more else ""
    repair = f"`dse verify --repair {store}` repairs it, and so does the command that filled it"
    return StoreDamaged(f"{store} is damaged: {name} {what}{others}; {repair}")


@contextmanager
def explained(target: object, what: str) -> Iterator[None]:
    """Turn what the system says about a path into a StoreError that a user can act on."""
    try:
        yield
    except OSError as problem:
        own = f"{problem.filename}: {problem.strerror}" if problem.errno == 0 else problem.strerror
        why = _REASONS.get(problem.errno or 0) or own or str(problem)
        kind = NoRoom if problem.errno in _FULL else StoreError
        raise kind(f"cannot {what} {target}: {why}") from problem
    except NotImplementedError as problem:
        raise StoreError(f"cannot {what} {target}: this kind of address does not support it") from problem
    except Exception as problem:
        if type(problem).__module__.partition(".")[0] not in _FAR:
            raise
        raise StoreError(f"cannot {what} {target}: {problem}; what is stored stays valid") from problem


@contextmanager
def decoded(store: object) -> Iterator[None]:
    """Turn whatever a decoder raises on damaged files into one StoreDamaged that says so."""
    try:
        with explained(store, "read"):
            yield
    except (StoreError, KeyboardInterrupt):
        raise
    except Exception as problem:
        told = f"a file cannot be read ({type(problem).__name__}: {problem})"
        raise damaged(store, {told: ""}) from problem


@contextmanager
def listed(store: object) -> Iterator[None]:
    """Decode as ``decoded`` does what Zarr finds by a listing, without a word of what somebody else laid beside it."""
    with decoded(store), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Object at .* is not recognized")
        yield
