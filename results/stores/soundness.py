"""Whether the files of a store are those that were written: cheaply by a listing, or byte for byte.

A listing may be older than the files (network file systems keep listings for a while, and another process may be
filling the store), so that what a listing shows as damaged is read before it is said to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from results.stores import markers, roots
from results.stores.chunks import ChunkIndex, chunk_slices
from results.stores.files import seals
from results.stores.files.object_storage import ROOT
from results.stores.files.trouble import damaged, explained

if TYPE_CHECKING:
    from results.stores.files.storage import Folder

AUDIT = "audit"
"""The attribute that a store has as long as all its chunks are done."""
DATA = "/c/"
READERS = 8
UNREADABLE = "cannot be read"

Wrong = dict[str, str]
"""What is wrong, by file."""


def check(where: Folder, document: Mapping[str, Any], order: Iterable[str]) -> None:
    """Compare metadata byte for byte, and number and sizes of the files of numbers; raises StoreDamaged.

    ``document``: the root. ``order``: the names of the variables.
    """
    with explained(where, "read"):
        wrong = (
            roots.damage(where, document) or _by_listing(where) or _missing_markers(where, document, order)
        )
    if wrong:
        raise damaged(where, wrong)


def _by_listing(where: Folder) -> Wrong:
    told = markers.notes(where)
    # markers come last: what they speak of is there when it is listed now
    sizes = where.sizes()
    suspicious = [i for i, note in told.items() if not note or _file_sizes_differ(note, sizes)]
    found: Wrong = {}
    for wrong in by_bytes(where, suspicious).values():
        found |= wrong
    return found


def _file_sizes_differ(note: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    files = seals.recorded(note) or {}
    return any(sizes.get(name) != (r[0] if r else None) for name, r in files.items())


def by_bytes(where: Folder, only: Iterable[ChunkIndex] | None = None) -> dict[ChunkIndex, Wrong]:
    """Read the files of finished chunks and compare them with what their markers record; what is damaged.

    ``only``: these chunks (None: all). A chunk that was written anew meanwhile is compared with its new marker.
    """
    told = markers.notes(where, only)
    with ThreadPoolExecutor(READERS) as pool:
        found = dict(zip(told, pool.map(lambda i: _of_chunk(where, i, told[i]), told), strict=True))
    return {index: wrong for index, wrong in found.items() if wrong}


def _of_chunk(where: Folder, index: ChunkIndex, note: Mapping[str, Any]) -> Wrong:
    while True:
        wrong = compared(where, index, note)
        again = markers.notes(where, [index]).get(index) if wrong else note
        if again == note:
            return wrong
        if again is None:
            return {}
        note = again


def compared(where: Folder, index: ChunkIndex, note: Mapping[str, Any]) -> Wrong:
    """Compare the files of a chunk with what its marker records."""
    if not note:
        return {markers.name(index): UNREADABLE}
    return roots.differing(where, seals.recorded(note) or {})


def _missing_markers(where: Folder, document: Mapping[str, Any], order: Iterable[str]) -> Wrong:
    """Say which chunks of a finished sweep have no marker any more."""
    if AUDIT not in document[seals.ATTRIBUTES] or seals.recorded(document) is None:
        return {}
    chunks = roots.identity(document)["chunks"]
    shape = seals.loaded(where.read(f"{next(iter(order))}/{ROOT}"))["shape"][: len(chunks)]
    done = markers.done(where)
    if len(done) >= math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True)):
        return {}
    lost = [markers.name(index) for index, _ in chunk_slices(shape, chunks) if index not in done]
    there, _ = markers.read(where, lost)
    return {name: "is missing" for name in lost if name not in there}


def discard(where: Folder, index: ChunkIndex, order: Iterable[str]) -> None:
    """Take back a damaged chunk, its files included: a writer would read what it writes a part of.

    ``order``: the names of the variables.
    """
    where.remove(markers.name(index))
    # status first: what is left must not look answered
    for name in sorted(_files(where, index, set(order)), key=lambda n: not n.startswith("status/")):
        where.remove(name)


def _files(where: Folder, index: ChunkIndex, order: set[str]) -> Iterator[str]:
    """Find the files of a chunk, whatever is recorded: along further dimensions (limits) there is one chunk."""
    for name in where.sizes():
        variable, _, rest = name.partition(DATA)
        place = rest.split("/")
        further = place[len(index) :]
        if variable in order and place == [*map(str, index), *further] and set(further) <= {"0"}:
            yield name
