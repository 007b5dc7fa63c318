"""A Zarr store that a sweep fills chunk by chunk, and that an interrupted sweep continues.

Layout: a Zarr v3 group without shards (two writers in one shard lose data silently), one array per variable,
all chunked alike over the points; under ``chunks_done`` one small JSON file per finished chunk with the
checksums of what was written. Those files, not the data, say what is done: NaN is a legal answer. Everything
appears as a whole or not at all, so that a process killed at any moment leaves a valid store.

The root records every other file of metadata, a done marker every file of its chunk. Opening a store compares
metadata byte for byte and the files of numbers by a listing; whatever is read is compared as it is read.

A store is a directory, or in an object store (``s3://bucket/study.zarr``).
"""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from results.stores import baselines, checksums, expected, identities, markers, roots, soundness
from results.stores.checksums import UNSIGNED, along, checksum, region
from results.stores.chunks import ChunkIndex, chunk_shape
from results.stores.files import locks, pieces, seals
from results.stores.files.object_storage import ROOT
from results.stores.files.seals import ATTRIBUTES
from results.stores.files.storage import Folder, Place, folder, remote
from results.stores.files.trouble import (
    NoRoom,
    StoreBusy,
    StoreDamaged,
    StoreError,
    decoded,
    explained,
    listed,
)
from results.stores.markers import DONE
from results.stores.roots import IDENTITY
from results.stores.soundness import AUDIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import xarray as xr

    from results.dataset import Layout
    from scenarios.language.tables import Table

__all__ = [
    "AUDIT",
    "DONE",
    "IDENTITY",
    "NoRoom",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "attributes",
    "check",
    "chunks_of",
    "create",
    "damaged_chunks",
    "damaged_metadata",
    "discard",
    "done",
    "exists",
    "explained",
    "forget",
    "group",
    "identity",
    "is_done",
    "notes",
    "open",
    "origin",
    "read_chunk",
    "remote",
    "resume",
    "shape",
    "tables",
    "tidy",
    "verified",
    "verify",
    "write_chunk",
]
CHUNKS = "chunks"


def create(
    place: Place, plan: Layout, identity: Mapping[str, Any], kind: str = "point", work: float = 0.0
) -> tuple[int, ...]:
    """Create an empty store, or accept the one that is there if it belongs to the same question.

    ``identity``: what makes a sweep this sweep (say scenario hash and dse version), JSON values by name; the grid is
    added here. ``kind``, ``work``: of a new store, see ``chunk_shape``; one that is there keeps its chunks. Damaged
    metadata of a store of the same question are written anew. Returns the chunk shape. Raises StoreError for a store of
    another identity, for a place that holds something else (which is never touched), and where nothing can be written.
    """
    where = folder(place)
    chunks = chunk_shape(plan.shape, kind, plan.width, work)
    if not exists(place):
        with explained(where, "create"):
            where.create(roots.new(plan, identities.complete(identity, plan, chunks), chunks))
    chunks = roots.cut(where, len(chunks)) or chunks
    mine, sound = identities.complete(identity, plan, chunks), False
    try:
        document = roots.root(where)
        theirs = roots.identity(document)
        if any(identities.differences(mine, theirs)):
            texts = (str(a.get(identities.SCENARIO, "")) for a in (document[ATTRIBUTES], plan.attributes))
            raise StoreError(identities.stranger(str(where), mine, theirs, *texts))
        with explained(where, "read"):
            sound = not roots.damage(where, document)
    except StoreDamaged as problem:
        if not roots.claimed(where, mine):
            raise roots.unknown(problem) from problem
    if not sound:
        with locks.held(place), explained(where, "write to"):
            roots.mend(where, roots.new(plan, mine, chunks))
    return chunks


def exists(place: Place) -> bool:
    """Whether anything is at a place; an empty folder is nothing."""
    where = folder(place)
    with explained(where, "look at"):
        return where.exists()


def identity(place: Place) -> dict[str, Any]:
    """Return what the store at ``place`` says it belongs to; StoreError where there is no store of ours."""
    return roots.identity(roots.root(folder(place)))


def attributes(place: Place) -> dict[str, Any]:
    """Return the attributes of a store's dataset; StoreError where there is no store of ours."""
    return roots.attributes(roots.root(folder(place)))


def origin(place: Place) -> dict[str, Any]:
    """Return the attributes of a store's dataset; where its root is damaged, as they were when it was made.

    Raises StoreError where there is no store of ours, or nothing in it says them any more.
    """
    return roots.attributes(roots.standing(folder(place)))


def check(place: Place) -> None:
    """Compare metadata byte for byte, and number and sizes of the files of numbers, with what is recorded.

    That costs a listing, and reading the metadata and the markers; no file of numbers is opened. Of stores that an
    older version made nothing is recorded. Raises StoreDamaged, and StoreError where there is no store of ours.
    """
    with roots.at(place) as (where, document):
        soundness.check(where, document, _variable_order(document))


def damaged_metadata(place: Place) -> dict[str, str]:
    """Say which metadata are not what was written, by file; StoreError where there is no store of ours."""
    with roots.at(place) as (where, document):
        return roots.damage(where, document)


def _variable_order(document: Mapping[str, Any]) -> list[str]:
    """Return the names of the variables, in order."""
    found: list[str] = roots.identity(document)["grid"]["variables"]
    return found


def damaged_chunks(
    place: Place, only: Iterable[ChunkIndex] | None = None
) -> dict[ChunkIndex, dict[str, str]]:
    """Compare the files of finished chunks byte for byte; what is wrong with which file of damaged ones.

    ``only``: these chunks (None: all).
    """
    with roots.at(place) as (where, _):
        return soundness.by_bytes(where, only)


def discard(place: Place, index: ChunkIndex) -> None:
    """Take back a damaged chunk, its files included."""
    with roots.at(place, "write to") as (where, document):
        soundness.discard(where, index, _variable_order(document))


def write_chunk(
    place: Place,
    index: ChunkIndex,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    note: Mapping[str, Any] | None = None,
) -> None:
    """Write one chunk of every variable, then its done marker; writing the same again changes nothing.

    ``arrays``: what ``results.dataset.to_arrays`` returns for the chunk's points. ``note``: what else the
    marker should say, JSON values by name. Safe from several processes at once, as chunks share no file.
    Raises StoreError where the target is full or read-only; the chunk then does not count as done.
    """
    import zarr

    from results.stores.checked import Written, opened

    with roots.at(place, "write to") as (where, document):
        own = roots.identity(document)
        written = Written(opened(where, write=True))
        with decoded(where):
            group = zarr.open_group(written, mode="r+", use_consolidated=False, zarr_format=3)
            held = {name: group[name] for name in arrays}
        fitting = {name: _as_stored_type(name, values, held[name], index) for name, values in arrays.items()}
        sums = {name: checksum(values) for name, values in fitting.items() if name not in UNSIGNED}
        before = markers.notes(where, [index]).get(index, {})
        # another process may have finished the same chunk: its marker stays true
        if before.get(markers.CHECKSUMS) == sums and not soundness.compared(where, index, before):
            return
        where.remove(markers.name(index))
        files = {name: f"{name}/c/{'/'.join(map(str, along(index, held[name])))}" for name in arrays}
        # status last: a half-written chunk must not look answered
        for name in sorted(arrays, key=lambda n: n == "status"):
            held[name][region(index, held[name])] = fitting[name]
            where.settle(files[name])
        record = {
            **(note or {}),
            "index": list(index),
            markers.CHECKSUMS: sums,
            CHUNKS: own[CHUNKS],
            "written": time.time(),
            **({"statuses": _status_counts(fitting["status"])} if "status" in fitting else {}),
            markers.SWEEP: identities.digest(own),
            seals.FILES: {file: written.files.get(file) for file in files.values()},
        }
        _put_marker(where, index, record)


def _put_marker(where: Folder, index: ChunkIndex, record: dict[str, Any]) -> None:
    """Put the marker of a chunk; where another process wrote the same chunk meanwhile, with what is there now."""
    where.put(markers.name(index), markers.dumped(record))
    unsigned = [n for n in record[seals.FILES] if n.partition("/")[0] in UNSIGNED]
    now = {n: seals.record(data) for n, data in where.read_many(unsigned).items()}
    if any(record[seals.FILES][n] != told for n, told in now.items()):
        where.put(markers.name(index), markers.dumped({**record, seals.FILES: record[seals.FILES] | now}))


def _as_stored_type(name: str, values: Any, array: Any, index: ChunkIndex) -> np.ndarray[Any, Any]:
    expected = tuple(s.stop - s.start for s in region(index, array))
    if np.shape(values) != expected:
        raise ValueError(f"{name}: an array of shape {np.shape(values)} for a chunk of shape {expected}")
    return np.asarray(values, dtype=array.dtype)


def _status_counts(status: np.ndarray[Any, Any]) -> dict[str, int]:
    codes, counts = np.unique(status, return_counts=True)
    return {str(int(code)): int(n) for code, n in zip(codes, counts, strict=True)}


def read_chunk(place: Place, index: ChunkIndex) -> dict[str, np.ndarray[Any, Any]]:
    """Return one chunk of every variable as it is stored; StoreError where one cannot be read."""
    with roots.at(place) as (where, document), decoded(where):
        opened = _group(where, document)
        arrays = {name: opened[name] for name in _variable_order(document)}
        return {name: np.asarray(array[region(index, array)]) for name, array in arrays.items()}


def group(place: Place) -> Any:
    """Open a store as a Zarr group; every file is compared with what is recorded of it."""
    with roots.at(place) as (where, document), decoded(where):
        return _group(where, document)


def _group(where: Folder, document: Mapping[str, Any]) -> Any:
    import zarr

    return zarr.open_group(_checksummed(where, document), mode="r", use_consolidated=False, zarr_format=3)


def tables(place: Place) -> list[Table]:
    """Return the tables whose rows the axes of a store go through, also of a store whose root is lost."""
    import zarr

    from results import asked

    where = folder(place)
    document = roots.standing(where)
    about = roots.attributes(document)
    text = str(about.get("scenario", ""))
    # without one nothing else is read: what is damaged there is the concern of whoever asks for it
    if "table" not in text or "sha256:" not in text:
        return []
    files = _checksummed(where, document)
    names = [name.partition("/")[0] for name in seals.recorded(document) or () if name.endswith(f"/{ROOT}")]
    with decoded(where):
        # each by itself: to open the group needs a sound root
        arrays = {n: zarr.open_array(files, path=n, mode="r", zarr_format=3) for n in names if n != DONE}
        return asked.tables(arrays, about)


def _checksummed(where: Folder, document: Mapping[str, Any]) -> Any:
    from results.stores.checked import Checked, opened

    axes = len(roots.identity(document)[CHUNKS])
    metadata = seals.recorded(document) or {}
    return Checked(opened(where, write=False), str(where), metadata, axes)


def done(place: Place) -> set[ChunkIndex]:
    """Return the indices of the chunks that are finished."""
    with roots.at(place) as (where, _):
        return markers.done(where)


def is_done(place: Place, index: ChunkIndex) -> bool:
    """Whether a chunk is finished."""
    return bool(notes(place, [index]).get(index))


def notes(place: Place, only: Iterable[ChunkIndex] | None = None) -> dict[ChunkIndex, dict[str, Any]]:
    """Return what the done marker of each finished chunk says (nothing where it cannot be read).

    ``only``: of these chunks, where they are finished (None: of all).
    """
    with roots.at(place) as (where, _):
        return markers.notes(where, only)


def verified(
    place: Place, chunks: Iterable[ChunkIndex]
) -> Iterator[tuple[ChunkIndex, str, dict[str, np.ndarray[Any, Any]]]]:
    """Compare finished chunks with their records and checksums, one after the other.

    Gives the index of each, what is damaged of it, and its arrays, none where it is damaged.
    """
    where = folder(place)
    opened = group(place)
    # the metadata of each variable are read once, not for each chunk
    array = cache(opened.__getitem__)
    unsigned = [name for name in sorted(UNSIGNED) if name in opened]
    for index in chunks:
        with explained(where, "read"):
            wrong = soundness.by_bytes(where, [index]).get(index)
            note = markers.notes(where, [index]).get(index, {})
        if wrong:
            yield index, " ".join(next(iter(wrong.items()))), {}
        else:
            yield index, *checksums.read(array, unsigned, index, note)


def verify(place: Place) -> dict[ChunkIndex, str]:
    """Compare each finished chunk with its checksums; returns what is damaged, empty if all is well."""
    return {index: wrong for index, wrong, _ in verified(place, sorted(done(place))) if wrong}


def forget(place: Place, index: ChunkIndex) -> None:
    """Take back that a chunk is done, so that the sweep computes it again."""
    resume(place)
    with roots.at(place, "write to") as (where, _):
        where.remove(markers.name(index))


def resume(place: Place) -> None:
    """Take back that a store is finished: what its audit said of all chunks goes, until they are done again."""
    with roots.at(place, "write to") as (where, told):
        if told[ATTRIBUTES].pop(AUDIT, None) is not None:
            where.put(ROOT, seals.dumped(told))


def tidy(place: Place) -> None:
    """Remove what killed writers left half written or in pieces; only to be called when nobody writes."""
    with roots.at(place, "write to") as (where, _):
        pieces.swept_out(where)


def shape(place: Place) -> tuple[int, ...]:
    """Return the number of values on each swept axis."""
    with roots.at(place) as (where, document), decoded(where):
        found = _group(where, document)[_variable_order(document)[0]].shape
    return tuple(int(n) for n in found[: len(chunks_of(place))])


def chunks_of(place: Place) -> tuple[int, ...]:
    """Return the chunk shape of a store."""
    return tuple(identity(place)[CHUNKS])


def open(place: Place) -> xr.Dataset:
    """Open a store as a lazily read dataset; a partial one has status 0 where nothing is computed.

    Raises StoreDamaged where files are not what was written, as far as ``check`` sees; further ones as they are
    read.
    """
    from results.stores.guarded import indexed, lazily, refuse_oversized

    with roots.at(place) as (where, document), listed(where):
        order = _variable_order(document)
        soundness.check(where, document, order)
        files = _checksummed(where, document)
        refuse_oversized(where, lazy := lazily(files), lambda: sum(where.sizes().values()))
        found = indexed(lazy).drop_encoding()
    expected.refuse_variables(where, found, order)
    found.attrs = roots.attributes(document)
    # what is not a variable of the sweep says what stands in the rows of an axis
    rows = [n for n in found.data_vars if n not in order]
    return baselines.attached(found.set_coords(rows)[order])
