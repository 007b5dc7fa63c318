"""The done markers of a store: one sealed JSON file for each finished chunk, under ``chunks_done``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from results.stores import expected
from results.stores.files import seals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from results.stores.chunks import ChunkIndex
    from results.stores.files.storage import Folder

DONE = "chunks_done"
CHECKSUMS = "checksums"
SWEEP = "sweep"
"""The digest of the identity of the sweep that a chunk belongs to."""
_NAME = re.compile(r"^\d+(-\d+)*\.json$")


def name(index: ChunkIndex) -> str:
    """Return the name of a chunk's marker."""
    return f"{DONE}/{'-'.join(map(str, index))}.json"


def done(where: Folder) -> set[ChunkIndex]:
    """Return the indices of the chunks that have a marker, whatever it says."""
    return {
        tuple(int(i) for i in n.removesuffix(".json").split("-")) for n in where.names(DONE) if _NAME.match(n)
    }


def notes(where: Folder, only: Iterable[ChunkIndex] | None = None) -> dict[ChunkIndex, dict[str, Any]]:
    """Return what the markers say (empty where one cannot be read, or is that of another chunk)."""
    found = done(where) if only is None else set(only)
    texts, reasons = read(where, [name(index) for index in found])
    return {i: _note(i, texts.get(name(i))) for i in sorted(found) if name(i) in texts or name(i) in reasons}


def _note(index: ChunkIndex, text: bytes | None) -> dict[str, Any]:
    try:
        told = seals.loaded(text)
    except ValueError:
        return {}
    return told if told.get("index") == list(index) and not expected.odd(told, expected.MARKER) else {}


def dumped(note: Mapping[str, Any]) -> bytes:
    """Return the bytes of a marker."""
    return seals.dumped(dict(sorted(note.items())))


def read(where: Folder, names: Iterable[str]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Read files: those that are there, and why some that are there cannot be read.

    Raises PermissionError for one that may not be read: nothing is known to be wrong with it.
    """
    wanted = list(names)
    try:
        return where.read_many(wanted), {}
    except PermissionError:
        raise
    except OSError:
        # which of them it is
        found, reasons = dict[str, bytes](), dict[str, str]()
    for file in wanted:
        try:
            found |= where.read_many([file])
        except PermissionError:
            raise
        except OSError as problem:
            reasons[file] = problem.strerror or str(problem)
    return found, reasons
