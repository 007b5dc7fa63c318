"""A Zarr store that a sweep fills chunk by chunk, and that an interrupted sweep continues.

Layout: a Zarr v3 group without shards (two writers in one shard lose data silently), one array per variable,
all chunked alike over the points; under ``chunks_done`` one small JSON file per finished chunk with the
checksums of what was written. Those files, not the data, say what is done: NaN is a legal answer. Everything
appears as a whole or not at all, so that a process killed at any moment leaves a valid store.

A store is a directory, or in an object store (``s3://bucket/study.zarr``).
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from results import identities
from results.checksums import UNSIGNED, along, checksum, damage, region
from results.chunks import ChunkIndex, chunk_shape
from results.storage import ROOT, Folder, Place, folder
from results.trouble import NoRoom, StoreBusy, StoreError, explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import xarray as xr

    from results.dataset import Layout, Variable

__all__ = [
    "NoRoom",
    "StoreBusy",
    "StoreError",
    "annotate",
    "attributes",
    "chunks_of",
    "create",
    "done",
    "explained",
    "forget",
    "identity",
    "is_done",
    "notes",
    "open",
    "read_chunk",
    "remark",
    "remarked",
    "shape",
    "tidy",
    "verify",
    "write_chunk",
]
DONE = "chunks_done"
IDENTITY = "identity"
CHUNKS = "chunks"
FORMAT = "dse-sweep-1"


def create(place: Place, plan: Layout, identity: Mapping[str, Any], kind: str = "point") -> tuple[int, ...]:
    """Create an empty store, or accept the one that is there if it belongs to the same question.

    ``identity``: what makes a sweep this sweep (say scenario hash and dse version), JSON values by name;
    grid and chunks are added here. ``kind``: see ``chunk_shape``. Returns the chunk shape. Raises
    StoreError for a store of another identity (naming what differs), for a place that holds something else
    (which is never touched), and for a target that is read-only or full.
    """
    where = folder(place)
    chunks = chunk_shape(plan.shape, kind, plan.width)
    mine = identities.complete(identity, plan, chunks)
    if not _exists(where):
        with explained(where, "create"):
            where.create(_new(plan, mine, chunks))
    attributes = _attributes(where)
    theirs = _identity(where, attributes)
    if theirs != mine:
        texts = (str(a.get(identities.SCENARIO, "")) for a in (attributes, plan.attributes))
        raise StoreError(identities.stranger(str(where), mine, theirs, *texts))
    return chunks


def _exists(where: Folder) -> bool:
    with explained(where, "look at"):
        return where.exists()


def _new(plan: Layout, identity: Mapping[str, Any], chunks: tuple[int, ...]) -> dict[str, bytes]:
    """Return the files of an empty store, made in memory."""
    import zarr

    attributes = {**plan.attributes, "format": FORMAT, IDENTITY: json.dumps(identity, sort_keys=True)}
    made = zarr.storage.MemoryStore()
    group = zarr.create_group(made, zarr_format=3, attributes=attributes)
    for variable in plan.coordinates:
        array = _array(group, variable, plan, chunks)
        array[...] = np.asarray(variable.values, dtype=variable.numpy_dtype)
    for variable in plan.variables:
        _array(group, variable, plan, chunks)
    group.create_group(DONE, attributes={"long_name": "one JSON file per finished chunk, with checksums"})
    return {name: data.to_bytes() for name, data in made._store_dict.items()}


def _array(group: Any, variable: Variable, plan: Layout, chunks: tuple[int, ...]) -> Any:
    from zarr.codecs import ZstdCodec

    whole = None if variable.values is None else (len(variable.values),)
    return group.create_array(
        variable.name,
        shape=whole or plan.shape_of(variable),
        chunks=whole or plan.shape_of(variable, chunks),
        dtype=_zarr_type(variable),
        fill_value=variable.fill,
        dimension_names=variable.dims,
        attributes=dict(variable.attributes),
        compressors=ZstdCodec(level=0, checksum=True),
    )


def _zarr_type(variable: Variable) -> Any:
    from zarr.core.dtype import VariableLengthUTF8

    return VariableLengthUTF8() if variable.dtype == "text" else variable.dtype


def identity(place: Place) -> dict[str, Any]:
    """Return what the store at ``place`` says it belongs to; StoreError where there is no store of ours."""
    return _identity(folder(place))


def _identity(where: Folder, attributes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    told = _attributes(where) if attributes is None else attributes
    if told.get("format") != FORMAT:
        raise StoreError(f"{where} is no store of a dse sweep; it is left untouched, choose another path")
    found: dict[str, Any] = json.loads(told[IDENTITY])
    return found


def attributes(place: Place) -> dict[str, Any]:
    """Return the attributes of a store's dataset; StoreError where there is no store of ours."""
    found = _attributes(folder(place))
    _identity(folder(place), found)
    return found


def _attributes(where: Folder) -> dict[str, Any]:
    """Read the attributes of the group from its own file; a torn or foreign file gives none."""
    with explained(where, "read"):
        if not where.exists():
            raise StoreError(f"{where} does not exist, or is an empty folder")
        try:
            return dict(json.loads(where.read(ROOT))["attributes"])
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
            return {}


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

    where = folder(place)
    own = _identity(where)
    with explained(where, "write to"):
        group = zarr.open_group(where.zarr(write=True), mode="r+")
        held = {name: group[name] for name in arrays}
        fitting = {name: _fitting(name, values, held[name], index) for name, values in arrays.items()}
        sums = {name: checksum(values) for name, values in fitting.items() if name not in UNSIGNED}
        # another process may have finished the same chunk: its marker stays true
        same = _note(where.read_many([_marker(index)]).get(_marker(index))).get("checksums") == sums
        if not same:
            where.remove(_marker(index))
        # status last: a half-written chunk must not look answered
        for name in sorted(arrays, key=lambda n: n == "status"):
            held[name][region(index, held[name])] = fitting[name]
            where.settle(f"{name}/c/{'/'.join(map(str, along(index, held[name])))}")
        if not same:
            record = {"index": list(index), "checksums": sums, CHUNKS: own[CHUNKS], "written": time.time()}
            record |= {"statuses": _counts(fitting["status"])} if "status" in fitting else {}
            where.put(_marker(index), json.dumps({**(note or {}), **record}, sort_keys=True).encode())


def _fitting(name: str, values: Any, array: Any, index: ChunkIndex) -> np.ndarray[Any, Any]:
    expected = tuple(s.stop - s.start for s in region(index, array))
    if np.shape(values) != expected:
        raise ValueError(f"{name}: an array of shape {np.shape(values)} for a chunk of shape {expected}")
    return np.asarray(values, dtype=array.dtype)


def _counts(status: np.ndarray[Any, Any]) -> dict[str, int]:
    codes, counts = np.unique(status, return_counts=True)
    return {str(int(code)): int(n) for code, n in zip(codes, counts, strict=True)}


def read_chunk(place: Place, index: ChunkIndex) -> dict[str, np.ndarray[Any, Any]]:
    """Return one chunk of every variable as it is stored; StoreError where one cannot be read."""
    import zarr

    where = folder(place)
    order = _identity(where)["grid"]["variables"]
    with explained(where, "read"):
        group = zarr.open_group(where.zarr(write=False), mode="r")
        return {name: np.asarray(group[name][region(index, group[name])]) for name in order}


def _marker(index: ChunkIndex) -> str:
    return f"{DONE}/{'-'.join(map(str, index))}.json"


def done(place: Place) -> set[ChunkIndex]:
    """Return the indices of the chunks that are finished."""
    where = folder(place)
    _identity(where)
    with explained(where, "read"):
        return {_index(name) for name in where.names(DONE) if _is_marker(name)}


def _is_marker(name: str) -> bool:
    return name.endswith(".json") and name != ROOT


def _index(name: str) -> ChunkIndex:
    return tuple(int(i) for i in name.removesuffix(".json").split("-"))


def is_done(place: Place, index: ChunkIndex) -> bool:
    """Whether a chunk is finished."""
    where = folder(place)
    with explained(where, "read"):
        return bool(where.read_many([_marker(index)]))


def notes(place: Place, only: Iterable[ChunkIndex] | None = None) -> dict[ChunkIndex, dict[str, Any]]:
    """Return what the done marker of each finished chunk says (nothing where it cannot be read).

    ``only``: of these chunks, where they are finished (None: of all).
    """
    where = folder(place)
    _identity(where)
    with explained(where, "read"):
        found = done(place) if only is None else set(only)
        texts = where.read_many(_marker(index) for index in found)
        return {i: _note(texts[_marker(i)]) for i in sorted(found) if _marker(i) in texts}


def _note(text: bytes | None) -> dict[str, Any]:
    try:
        return dict(json.loads(text or b""))
    except (ValueError, TypeError):
        return {}


def verify(place: Place) -> dict[ChunkIndex, str]:
    """Compare each finished chunk with its checksums; returns what is damaged, empty if all is well."""
    import zarr

    where = folder(place)
    told = notes(place)
    with explained(where, "read"):
        group = zarr.open_group(where.zarr(write=False), mode="r")
        found = {index: damage(group, index, told[index]) for index in sorted(told)}
    return {index: problem for index, problem in found.items() if problem}


def forget(place: Place, index: ChunkIndex) -> None:
    """Take back that a chunk is done, so that the sweep computes it again."""
    where = folder(place)
    _identity(where)
    with explained(where, "write to"):
        where.remove(_marker(index))


def annotate(place: Place, attributes: Mapping[str, Any]) -> None:
    """Add attributes (say audit figures) to the dataset of a store, all at once; the same again writes nothing."""
    where = folder(place)
    _identity(where)
    with explained(where, "write to"):
        told = json.loads(where.read(ROOT))
        if {**told["attributes"], **attributes} != told["attributes"]:
            told["attributes"].update(attributes)
            where.put(ROOT, json.dumps(told, indent=2).encode())


def remark(place: Place, name: str, told: Mapping[str, Any]) -> None:
    """Put a small JSON file among the markers (``name``: chunks_done/…, not ending in .json)."""
    where = folder(place)
    with explained(where, "write to"):
        where.put(name, json.dumps(dict(told)).encode())


def remarked(place: Place, name: str) -> dict[str, Any]:
    """Return what ``remark`` has put there; empty where there is none."""
    where = folder(place)
    with explained(where, "read"):
        return _note(where.read_many([name]).get(name))


def tidy(place: Place) -> None:
    """Remove what killed writers left half written; only to be called when nobody writes."""
    where = folder(place)
    _identity(where)
    with explained(where, "write to"):
        where.tidy()


def shape(place: Place) -> tuple[int, ...]:
    """Return the number of values on each swept axis."""
    import zarr

    where = folder(place)
    order, along_ = _identity(where)["grid"]["variables"], len(chunks_of(place))
    with explained(where, "read"):
        found = zarr.open_group(where.zarr(write=False), mode="r")[order[0]].shape
    return tuple(int(n) for n in found[:along_])


def chunks_of(place: Place) -> tuple[int, ...]:
    """Return the chunk shape of a store."""
    return tuple(identity(place)[CHUNKS])


def open(place: Place) -> xr.Dataset:
    """Open a store as a lazily read dataset; a partial one has status 0 where nothing is computed."""
    import xarray as xr

    where = folder(place)
    order: Iterable[str] = _identity(where)["grid"]["variables"]
    with explained(where, "read"):
        found = xr.open_zarr(where.zarr(write=False), consolidated=False, chunks=None).drop_encoding()
        return found[[*order, *(n for n in found.data_vars if n not in order)]]
