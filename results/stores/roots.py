"""The metadata of a store: made from the question when it is created, sealed, and mended from the question.

The root (``zarr.json``) says whose the store is and records every other file of a new store. What it said when it
was made stands in a copy, so that a store whose root is lost still says what it belongs to.
"""

from __future__ import annotations

import json
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from results.stores import expected, identities, markers
from results.stores.files import seals
from results.stores.files.object_storage import ROOT
from results.stores.files.seals import ATTRIBUTES, FILES, SEAL
from results.stores.files.storage import Folder, Place, folder
from results.stores.files.trouble import StoreError, StoreForbidden, damaged, explained
from results.stores.markers import DONE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from results.dataset import Layout, Variable

COPY = f"{DONE}/root.copy"
IDENTITY = "identity"
FORMAT = "dse-sweep-1"


def new(plan: Layout, identity: Mapping[str, Any], chunks: tuple[int, ...]) -> dict[str, bytes]:
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
    with warnings.catch_warnings():
        # zarr warns that other libraries may not read it; those open the arrays by themselves
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        zarr.consolidate_metadata(made)
    files = {name: data.to_bytes() for name, data in made._store_dict.items()}
    root = json.loads(files.pop(ROOT))
    root[ATTRIBUTES][FILES] = {name: seals.record(data) for name, data in files.items()}
    return {**files, COPY: seals.dumped(root), ROOT: seals.dumped(root)}


def _array(group: Any, variable: Variable, plan: Layout, chunks: tuple[int, ...]) -> Any:
    from zarr.codecs import ZstdCodec
    from zarr.core.dtype import VariableLengthUTF8

    whole = None if variable.values is None else (len(variable.values),)
    return group.create_array(
        variable.name,
        shape=whole or plan.shape_of(variable),
        chunks=whole or plan.shape_of(variable, chunks),
        dtype=VariableLengthUTF8() if variable.dtype == "text" else variable.dtype,
        fill_value=variable.fill,
        dimension_names=variable.dims,
        attributes=dict(variable.attributes),
        compressors=ZstdCodec(level=0, checksum=True),
    )


def root(where: Folder) -> dict[str, Any]:
    """Return the root of a store.

    Raises StoreError where there is nothing, or what is there is not ours, and StoreDamaged.
    """
    with explained(where, "read"):
        found, why = _document(where, ROOT)
        if found.get(ATTRIBUTES, {}).get("format") == FORMAT:
            expected.refuse(f"{where}/{ROOT}", found[ATTRIBUTES], expected.STORE)
            return found
        if not where.exists():
            raise StoreError(f"{where} does not exist, or is an empty folder")
        if not ours(where):
            raise StoreError(
                f"{where} is not a store of a dse sweep; it is left untouched, choose another path"
            )
        says = bool(_document(where, COPY)[0])
    raise damaged(where, {ROOT: why or "is that of another dataset"}, says=says)


@contextmanager
def at(place: Place, what: str = "read") -> Iterator[tuple[Folder, dict[str, Any]]]:
    """Give the folder and the root of the store at a place; what goes wrong within says that it was to ``what``.

    Raises StoreError and StoreDamaged as ``root`` does.
    """
    where = folder(place)
    document = root(where)
    with explained(where, what):
        yield where, document


def ours(where: Folder) -> bool:
    """Whether a folder without a sound root was a store of a sweep."""
    return bool(_document(where, COPY)[0]) or any(n != ROOT for n in where.names(DONE))


def _document(where: Folder, name: str) -> tuple[dict[str, Any], str]:
    """Return what a sealed file says, or nothing and what is wrong with it."""
    try:
        texts, reasons = markers.read(where, [name])
    except NotADirectoryError:
        return {}, "is missing"
    if name not in texts:
        return {}, f"cannot be read: {reasons[name]}" if name in reasons else "is missing"
    try:
        found = seals.loaded(texts[name])
    except ValueError:
        return {}, "differs from what was written"
    if not isinstance(found.get(ATTRIBUTES), dict):
        return {}, "is that of something else"
    # the root itself is refused with what is wrong
    wrong = expected.odd(found[ATTRIBUTES], expected.STORE, ATTRIBUTES) if name == COPY else ""
    return ({}, f"is not what dse writes: {wrong}") if wrong else (found, "")


def attributes(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a dataset, without what the store needs for itself."""
    return {n: value for n, value in document[ATTRIBUTES].items() if n not in {FILES, SEAL}}


def standing(where: Folder) -> dict[str, Any]:
    """Return the root of a store, where it is lost as it was when it was made.

    Raises StoreError as ``root`` does where nothing says it.
    """
    try:
        return root(where)
    except StoreForbidden:
        raise
    except StoreError:
        with explained(where, "read"):
            copy, _ = _document(where, COPY)
        if not copy:
            raise
        return copy


def identity(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a store says it belongs to."""
    found: dict[str, Any] = json.loads(document[ATTRIBUTES][IDENTITY])
    return found


def cut(where: Folder, axes: int) -> tuple[int, ...] | None:
    """Return how the store at a place is cut, by whatever in it says so; None: nothing does, for so many axes.

    An earlier run may have cut it otherwise than this one would: it knew more or less of what a point costs.
    """
    with explained(where, "read"):
        for name in (ROOT, COPY):
            about = _document(where, name)[0].get(ATTRIBUTES, {})
            if about.get("format") == FORMAT and not expected.odd(about, expected.STORE):
                told = [json.loads(about[IDENTITY])["chunks"]]
                break
        else:
            told = [note.get("chunks") for note in markers.notes(where).values()] if ours(where) else []
    for sides in told:
        if isinstance(sides, list) and len(sides) == axes and all(type(n) is int and n > 0 for n in sides):
            return tuple(sides)
    return None


def damage(where: Folder, document: Mapping[str, Any]) -> dict[str, str]:
    """Say which metadata are not what was written, by file; nothing is known of stores of older versions."""
    files = seals.recorded(document)
    if files is None:
        return {}
    found = differing(where, files)
    copy, why = _document(where, COPY)
    now = document[ATTRIBUTES]
    if not why and any(now.get(n) != value for n, value in copy[ATTRIBUTES].items() if n != SEAL):
        why = "is that of another store"
    return found | ({COPY: why} if why else {})


def differing(where: Folder, files: Mapping[str, seals.Record | None]) -> dict[str, str]:
    """Read files, and say of those that are not what is recorded of them how they differ."""
    texts, reasons = markers.read(where, files)
    found = {name: compared(r, texts.get(name), reasons.get(name)) for name, r in files.items()}
    return {name: wrong for name, wrong in found.items() if wrong}


def compared(expected: seals.Record | None, data: bytes | None, unread: str | None = None) -> str:
    """Say how a file differs from what is recorded of it; "": it does not."""
    if unread:
        return f"cannot be read: {unread}"
    if data is None or expected is None:
        return "is missing" if expected else "should not be there" if data is not None else ""
    if len(data) != expected[0]:
        return f"has {len(data)} bytes instead of {expected[0]}"
    return "" if seals.record(data) == expected else "differs from what was written"


def claimed(where: Folder, mine: Mapping[str, Any]) -> bool:
    """Whether a store without a sound root says elsewhere that it has this identity."""
    with explained(where, "read"):
        copy, _ = _document(where, COPY)
        if copy:
            return identity(copy) == mine
        return identities.digest(mine) in {n.get(markers.SWEEP) for n in markers.notes(where).values()}


def unknown(problem: StoreError) -> StoreError:
    """Return the error for a damaged store that does not say that it belongs to the question."""
    why = "nothing else in it says that it belongs to this question; choose another path or delete it"
    return StoreError(f"{str(problem).partition(';')[0]}, and {why}")


def mend(where: Folder, files: Mapping[str, bytes]) -> None:
    """Write the metadata anew that are not what was written; only for who holds the lock.

    ``files``: of a new store of the same question.
    """
    try:
        document = root(where)
    except StoreError:
        copy, _ = _document(where, COPY)
        document = copy or seals.loaded(files[ROOT])
    for name in damage(where, document):
        if name == COPY:
            continue
        if name in files:
            where.put(name, files[name])
            # another release of a library may spell the same otherwise
            document[ATTRIBUTES][FILES][name] = seals.record(files[name])
        else:
            # recorded by somebody else
            del document[ATTRIBUTES][FILES][name]
    first = seals.loaded(files[ROOT])[ATTRIBUTES]
    at_first = {n: value for n, value in document[ATTRIBUTES].items() if n in first}
    for name, text in ((COPY, {**document, ATTRIBUTES: at_first}), (ROOT, document)):
        if markers.read(where, [name])[0].get(name) != seals.dumped(text):
            where.put(name, seals.dumped(text))
