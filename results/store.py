"""A Zarr store that a sweep fills chunk by chunk, and that an interrupted sweep continues.

Layout on disk: a Zarr v3 group without shards (two writers in one shard lose data silently), one array per
variable, all chunked alike over the points; under ``chunks_done`` one small JSON file per finished chunk with
the checksums of what was written. Those files, not the data, say what is done: NaN is a legal answer.
Everything is written to a temporary name and renamed, so that a process killed at any moment leaves a valid
store.
"""

from __future__ import annotations

import difflib
import errno
import glob
import json
import os
import shutil
import uuid
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from results.chunks import ChunkIndex, block, chunk_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import xarray as xr

    from results.dataset import Layout, Variable

DONE = "chunks_done"
IDENTITY = "identity"
SCENARIO = "scenario"
MOST_LINES = 22
CHUNKS = "chunks"
FORMAT = "dse-sweep-1"


class StoreError(Exception):
    """A store cannot be created, written or read; the message says which, why, and what would help."""


class NoRoom(StoreError):
    """The disk or the quota is full; what is stored stays valid."""


def create(
    path: str | os.PathLike[str], plan: Layout, identity: Mapping[str, Any], kind: str = "point"
) -> tuple[int, ...]:
    """Create an empty store, or accept the one that is there if it belongs to the same question.

    ``identity``: what makes a sweep this sweep (say scenario hash and dse version), JSON values by name;
    grid and chunks are added here. ``kind``: see ``chunk_shape``. Returns the chunk shape. Raises
    StoreError for a store of another identity (naming what differs), for a path that holds something else
    (which is never touched), and for a target that is read-only or full.
    """
    target = Path(path)
    chunks = chunk_shape(plan.shape, kind, plan.width)
    mine = json.loads(json.dumps({**identity, "grid": _grid(plan), CHUNKS: list(chunks)}))
    if not _exists(target):
        with explained(target, "create"):
            _create(target, plan, mine, chunks)
    theirs = _identity(target)
    if theirs != mine:
        texts = str(_attributes(target).get(SCENARIO, "")), str(plan.attributes.get(SCENARIO, ""))
        raise StoreError(_stranger(target, mine, theirs, *texts))
    return chunks


def _exists(target: Path) -> bool:
    with explained(target, "look at"):
        return target.exists() and not (target.is_dir() and not any(target.iterdir()))


def _grid(plan: Layout) -> dict[str, Any]:
    """Axes with their values (as checksums where long) and the names of limits and variables."""
    axes = {
        c.name: list(c.values or ())
        if len(c.values or ()) <= 12
        else f"{len(c.values or ())} values, {_sum(c)}"
        for c in plan.coordinates
    }
    return axes | {"variables": [v.name for v in plan.variables]}


def _sum(coordinate: Variable) -> str:
    return f"checksum {zlib.crc32(json.dumps(coordinate.values).encode()):08x}"


def _create(target: Path, plan: Layout, identity: Mapping[str, Any], chunks: tuple[int, ...]) -> None:
    import zarr

    target.parent.mkdir(parents=True, exist_ok=True)
    building = target.with_name(f".{target.name}.{uuid.uuid4().hex}.building")
    attributes = {**plan.attributes, "format": FORMAT, IDENTITY: json.dumps(identity, sort_keys=True)}
    try:
        group = zarr.create_group(str(building), zarr_format=3, attributes=attributes)
        for variable in plan.coordinates:
            array = _array(group, variable, plan, chunks)
            array[...] = np.asarray(variable.values, dtype=variable.numpy_dtype)
        for variable in plan.variables:
            _array(group, variable, plan, chunks)
        group.create_group(DONE, attributes={"long_name": "one JSON file per finished chunk, with checksums"})
        _rename(building, target)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _array(group: Any, variable: Variable, plan: Layout, chunks: tuple[int, ...]) -> Any:
    whole = None if variable.values is None else (len(variable.values),)
    return group.create_array(
        variable.name,
        shape=whole or plan.shape_of(variable),
        chunks=whole or plan.shape_of(variable, chunks),
        dtype=_zarr_type(variable),
        fill_value=variable.fill,
        dimension_names=variable.dims,
        attributes=dict(variable.attributes),
    )


def _zarr_type(variable: Variable) -> Any:
    from zarr.core.dtype import VariableLengthUTF8

    return VariableLengthUTF8() if variable.dtype == "text" else variable.dtype


def _rename(building: Path, target: Path) -> None:
    """Move a finished store into place; another process that was faster with the same one wins."""
    try:
        building.rename(target)
    except OSError as problem:
        if problem.errno not in {errno.EEXIST, errno.ENOTEMPTY}:
            raise


def identity(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what the store at ``path`` says it belongs to; StoreError where there is no store of ours."""
    return _identity(Path(path))


def _identity(target: Path) -> dict[str, Any]:
    attributes = _attributes(target)
    if attributes.get("format") != FORMAT:
        raise StoreError(
            f"{target} exists and is no store of a dse sweep; choose another path, it is left untouched"
        )
    found: dict[str, Any] = json.loads(attributes[IDENTITY])
    return found


def _attributes(target: Path) -> dict[str, Any]:
    """Read the attributes of the group from its own file; a torn or foreign file gives none."""
    with explained(target, "read"):
        if not _exists(target):
            raise StoreError(f"{target} does not exist")
        try:
            found = json.loads((target / "zarr.json").read_text(encoding="utf-8"))
            return dict(found["attributes"])
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
            return {}


def _stranger(
    target: Path, mine: Mapping[str, Any], theirs: Mapping[str, Any], stored: str, asked: str
) -> str:
    """Say what differs: of scenarios their lines, not the checksums by which they are told apart."""
    lines = [f"{target} belongs to another sweep; choose another path or delete it. What differs:"]
    changed = _changed_lines(stored, asked)
    found = list(_differences("", mine, theirs))
    lines += [_differs(*x) for x in found if not (changed and x[0] == SCENARIO)]
    return "\n".join(lines + changed)


def _changed_lines(stored: str, asked: str) -> list[str]:
    """Compare two scenarios line by line; nothing where one is not known or they read the same."""
    if not stored or not asked:
        return []
    headed = difflib.unified_diff(stored.splitlines(), asked.splitlines(), "stored", "asked", "", "", 0, "")
    changed = [f"  {line}" for line in headed if not line.startswith("@@")]
    more = len(changed) - MOST_LINES
    return changed[:MOST_LINES] + ([f"  and {more} more lines"] if more > 0 else [])


def _differences(prefix: str, asked: Any, stored: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(asked, dict) and isinstance(stored, dict):
        for name in sorted(asked.keys() | stored.keys()):
            yield from _differences(f"{prefix}.{name}".lstrip("."), asked.get(name), stored.get(name))
    elif asked != stored:
        yield prefix, asked, stored


def _differs(name: str, asked: Any, stored: Any) -> str:
    return f"  {name}: asked {_brief(asked)}, stored {_brief(stored)}"


def _brief(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:117] + "..."


@contextmanager
def explained(target: Path, what: str) -> Iterator[None]:
    """Turn what the system says about a path into a StoreError that a user can act on."""
    try:
        yield
    except OSError as problem:
        reasons = {
            errno.ENOSPC: "the disk is full; what is stored stays valid, free some space and run it again",
            errno.EDQUOT: "the disk quota is used up; what is stored stays valid",
            errno.EFBIG: "a file would exceed the size allowed; what is stored stays valid",
            errno.EROFS: "the file system is read-only; choose a path that can be written",
            errno.EACCES: "no permission; choose a path that can be written",
            errno.EPERM: "not permitted; choose a path that can be written",
            errno.ENOTDIR: "a part of the path is a file, not a directory",
            errno.EEXIST: "a part of the path is a file, not a directory",
        }
        why = reasons.get(problem.errno or 0, str(problem))
        full = problem.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
        raise (NoRoom if full else StoreError)(f"cannot {what} {target}: {why}") from problem


def write_chunk(
    path: str | os.PathLike[str], index: ChunkIndex, arrays: Mapping[str, np.ndarray[Any, Any]]
) -> None:
    """Write one chunk of every variable, then its done marker; writing the same again changes nothing.

    ``arrays``: what ``results.dataset.to_arrays`` returns for the chunk's points. Safe from several
    processes at once, as chunks share no file. Raises StoreError where the target is full or read-only; the
    chunk then does not count as done.
    """
    import zarr

    target = Path(path)
    own = _identity(target)
    with explained(target, "write to"):
        (target / DONE / _marker(index)).unlink(missing_ok=True)
        group = zarr.open_group(str(target), mode="r+")
        sums = {}
        # status last: a half-written chunk must not look answered
        for name in sorted(arrays, key=lambda n: n == "status"):
            array = group[name]
            region = block(array.shape, array.chunks, _along(index, array))
            values = _fitting(name, arrays[name], array, region)
            array[region] = values
            sums[name] = _checksum(values)
            _flush(target / name / "c" / "/".join(map(str, _along(index, array))))
        record = {"index": list(index), "checksums": sums, CHUNKS: own[CHUNKS]}
        _put(target / DONE / _marker(index), json.dumps(record, sort_keys=True))


def _fitting(name: str, values: Any, array: Any, region: tuple[slice, ...]) -> np.ndarray[Any, Any]:
    expected = tuple(s.stop - s.start for s in region)
    if np.shape(values) != expected:
        raise ValueError(f"{name}: an array of shape {np.shape(values)} for a chunk of shape {expected}")
    return np.asarray(values, dtype=array.dtype)


def _along(index: ChunkIndex, array: Any) -> tuple[int, ...]:
    """Give the chunk index in this array: further dimensions (limits) are one chunk long."""
    return (*index, *(0,) * (len(array.shape) - len(index)))


def _checksum(array: np.ndarray[Any, Any]) -> str:
    if array.dtype.kind == "f":
        # an empty chunk comes back with the one NaN that Zarr fills with, whatever its bits were
        array = np.where(np.isnan(array), np.nan, array)
    if array.dtype.kind in "fi":
        return f"{zlib.crc32(np.ascontiguousarray(array).data):08x}"
    return f"{zlib.crc32(json.dumps(array.ravel().tolist()).encode()):08x}"


def _marker(index: ChunkIndex) -> str:
    return "-".join(map(str, index)) + ".json"


def _flush(file: Path) -> None:
    """Make sure that a chunk is on the disk before its marker says so (an all-empty chunk has no file)."""
    if file.exists():
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _put(file: Path, text: str) -> None:
    writing = file.with_name(f"{file.name}.{uuid.uuid4().hex}.partial")
    try:
        with writing.open("w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        writing.replace(file)
    finally:
        writing.unlink(missing_ok=True)


def done(path: str | os.PathLike[str]) -> set[ChunkIndex]:
    """Return the indices of the chunks that are finished."""
    target = Path(path)
    _identity(target)
    with explained(target, "read"):
        return {
            tuple(int(i) for i in file.stem.split("-"))
            for file in (target / DONE).iterdir()
            if _is_marker(file)
        }


def _is_marker(file: Path) -> bool:
    return file.suffix == ".json" and file.name != "zarr.json"


def verify(path: str | os.PathLike[str]) -> dict[ChunkIndex, str]:
    """Compare each finished chunk with its checksums; returns what is damaged, empty if all is well."""
    import zarr

    target = Path(path)
    _identity(target)
    damaged: dict[ChunkIndex, str] = {}
    with explained(target, "read"):
        group = zarr.open_group(str(target), mode="r")
        for index in sorted(done(target)):
            problem = _damage(group, target / DONE / _marker(index), index)
            if problem:
                damaged[index] = problem
    return damaged


def _damage(group: Any, marker: Path, index: ChunkIndex) -> str:
    try:
        sums = json.loads(marker.read_text(encoding="utf-8"))["checksums"]
    except (ValueError, KeyError):
        return "its done marker cannot be read"
    for name, expected in sums.items():
        try:
            array = group[name]
            stored = array[block(array.shape, array.chunks, _along(index, array))]
        except Exception as problem:
            # a decoder may raise anything on damaged bytes
            return f"{name} cannot be read: {problem}"
        if _checksum(np.asarray(stored)) != expected:
            return f"{name} is not what was written"
    return ""


def forget(path: str | os.PathLike[str], index: ChunkIndex) -> None:
    """Take back that a chunk is done, so that the sweep computes it again."""
    target = Path(path)
    _identity(target)
    with explained(target, "write to"):
        (target / DONE / _marker(index)).unlink(missing_ok=True)


def annotate(path: str | os.PathLike[str], attributes: Mapping[str, Any]) -> None:
    """Add attributes (say audit figures) to the dataset of a store."""
    import zarr

    target = Path(path)
    _identity(target)
    with explained(target, "write to"):
        zarr.open_group(str(target), mode="r+").attrs.update(dict(attributes))


def tidy(path: str | os.PathLike[str]) -> None:
    """Remove what killed writers left half written; only to be called when nobody writes."""
    target = Path(path)
    _identity(target)
    with explained(target, "write to"):
        for file in target.rglob("*.partial"):
            file.unlink(missing_ok=True)
        for building in target.parent.glob(f".{glob.escape(target.name)}.*.building"):
            shutil.rmtree(building, ignore_errors=True)


def open(path: str | os.PathLike[str]) -> xr.Dataset:
    """Open a store as a lazily read dataset; a partial one has status 0 where nothing is computed."""
    import xarray as xr

    target = Path(path)
    order = _identity(target)["grid"]["variables"]
    with explained(target, "read"):
        found = xr.open_zarr(str(target), consolidated=False, chunks=None).drop_encoding()
        return found[[*order, *(n for n in found.data_vars if n not in order)]]
