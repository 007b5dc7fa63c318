"""What goes wrong with files and stores, said so that a user can act on it."""

from __future__ import annotations

import errno
import re
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
_OF_THE_DISK = _REASONS.keys() - {errno.ENOTDIR, errno.EEXIST}
"""What is no matter of one file in a store."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_UNREADABLE = "no permission to read it; have its owner allow that (chmod)"
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})
# what the libraries behind an object store raise that is not an OSError
_FAR = frozenset({"botocore", "aiobotocore", "aiohttp"})


# how a file is called until all of it is there
_BEING_WRITTEN = re.compile(r"\.[0-9a-f]{32}\.partial$")


class StoreError(Exception):
    """A store cannot be created, written or read; the message says which, why, and what would help."""


class NoRoom(StoreError):
    """The disk or the quota is full; what is stored stays valid."""


class StoreBusy(StoreError):
    """Another sweep is filling the store."""


class StoreDamaged(StoreError):
    """Files of a store are not what was written."""


class StoreForbidden(StoreError):
    """Somebody may not read or write files; nothing is known to be wrong with them."""


def damaged(store: object, files: Mapping[str, str], *, says: bool = True) -> StoreDamaged:
    """Return the error that names a store, the first of its damaged files, and what repairs it.

    ``files``: what is wrong, by name; ``says``: whether the store still says its question.
    """
    (name, what), more = next(iter(files.items())), len(files) - 1
    others = f" ({more} more {'file is' if more == 1 else 'files are'} damaged)" if more else ""
    repair = (
        f"`dse verify --repair {store}` repairs it, and so does the command that filled it"
        if says
        else "nothing in it says its question any more: only the command that filled it repairs it, with its FILE and "
        f"options (`dse sweep FILE -o {store}`)"
    )
    return StoreDamaged(f"{store} is damaged: {f'{name} {what}'.rstrip()}{others}; {repair}")


@contextmanager
def explained(target: object, what: str) -> Iterator[None]:
    """Turn what the system says about a path into a StoreError that a user can act on."""
    try:
        yield
    except OSError as problem:
        raise _kind(problem)(f"cannot {what} {target}: {_why(target, what, problem)}") from problem
    except NotImplementedError as problem:
        raise StoreError(f"cannot {what} {target}: this kind of address does not support it") from problem
    except Exception as problem:
        if type(problem).__module__.partition(".")[0] not in _FAR:
            raise
        raise StoreError(f"cannot {what} {target}: {problem}; what is stored stays valid") from problem


def _kind(problem: OSError) -> type[StoreError]:
    if problem.errno in _FULL:
        return NoRoom
    return StoreForbidden if isinstance(problem, PermissionError) else StoreError


def _why(target: object, what: str, problem: OSError) -> str:
    if what == "read" and problem.errno in _FORBIDDEN:
        return f"{_inside(target, problem)}{_UNREADABLE}"
    told = _REASONS.get(problem.errno or 0) or problem.strerror or str(problem)
    return told if problem.errno in _OF_THE_DISK else f"{_inside(target, problem)}{told}"


def _inside(target: object, problem: OSError) -> str:
    """Return the name of the file inside a target that a problem is about, with a colon; "" where it is the target."""
    name = problem.filename if isinstance(problem.filename, str) else ""
    # of no number that the system has: our own, which names the file as metadata do
    inside = name if problem.errno == 0 else name.removeprefix(f"{target}/")
    told = inside if problem.errno == 0 or inside != name else ""
    return f"{_BEING_WRITTEN.sub('', told)}: " if told else ""


@contextmanager
def copied(file: object, kind: str) -> Iterator[None]:
    """Turn whatever the reading of an exported file raises into one StoreError that names it; ``kind``: what it is."""
    try:
        with explained(file, "read"):
            yield
    except StoreError as problem:
        # libraries raise an OSError without a number where bytes are not what they should be
        if not isinstance(problem.__cause__, OSError) or problem.__cause__.errno is not None:
            raise
        raise _unsound(file, kind, problem.__cause__) from problem.__cause__
    except MemoryError as problem:
        raise _too_much(file, problem) from problem
    except ImportError:
        raise
    except Exception as problem:
        raise _unsound(file, kind, problem) from problem


def _unsound(file: object, kind: str, problem: Exception) -> StoreError:
    told = str(problem.args[0] if isinstance(problem, KeyError) else problem)
    if isinstance(problem, UnicodeError):
        told = "a text in it is no UTF-8"
    return StoreError(f"cannot read {file}: it is damaged, or no {kind}: {told}; take another copy")


def _too_much(store: object, problem: MemoryError) -> StoreError:
    return StoreError(f"cannot read {store}: it is too large for the memory that is free ({problem})")


@contextmanager
def decoded(store: object) -> Iterator[None]:
    """Turn whatever a decoder raises on damaged files into one StoreDamaged that says so."""
    try:
        with explained(store, "read"):
            yield
    except (StoreError, KeyboardInterrupt):
        raise
    except MemoryError as problem:
        raise _too_much(store, problem) from problem
    except Exception as problem:
        told = f"a file cannot be read ({type(problem).__name__}: {problem})"
        raise damaged(store, {told: ""}) from problem


@contextmanager
def listed(store: object) -> Iterator[None]:
    """Decode as ``decoded`` does what Zarr finds by a listing, without a word of what somebody else laid beside it."""
    with decoded(store), of_dse_alone():
        yield


@contextmanager
def of_dse_alone() -> Iterator[None]:
    """Have Zarr say nothing of what somebody else laid into a folder."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Object at .* is not recognized")
        yield
