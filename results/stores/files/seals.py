"""JSON files that carry a checksum of themselves, and what is recorded of other files.

A document that records files (``files``: name → size and checksum) has a seal: the checksum of its own text. Its
bytes are a function of what it says, so that a byte more, less or other is noticed wherever it is. Documents of
older versions record nothing and have no seal; of them only what cannot be read at all is noticed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

FILES = "files"
SEAL = "seal"
ATTRIBUTES = "attributes"

Record = tuple[int, str]
"""Size and checksum of a file."""


def record(data: bytes) -> Record:
    """Return what is recorded of a file."""
    return len(data), f"{zlib.crc32(data):08x}"


def recorded(document: Mapping[str, Any]) -> dict[str, Record | None] | None:
    """Return what a document records of files (None for a file: there is none); None: nothing is recorded."""
    told = document.get(ATTRIBUTES, document).get(FILES)
    return None if told is None else {n: None if r is None else (r[0], r[1]) for n, r in told.items()}


def dumped(document: Mapping[str, Any]) -> bytes:
    """Return a document as the bytes of its file, sealed where it records files.

    Where a document has attributes (the metadata of Zarr may have no keys of others), the seal is one of them.
    """
    inside = document.get(ATTRIBUTES, document)
    if FILES not in inside:
        return json.dumps(document, indent=2).encode()
    bare = {name: value for name, value in inside.items() if name != SEAL}
    seal = record(json.dumps(_document_with(document, bare)).encode())[1]
    return json.dumps(_document_with(document, {**bare, SEAL: seal})).encode()


def loaded(data: bytes | None) -> dict[str, Any]:
    """Return the document that a file holds; ValueError where it is not what was written."""
    document = json.loads(data or b"")
    try:
        inside = document.get(ATTRIBUTES, document)
        unsealed = FILES not in inside and SEAL not in inside
        sound = unsealed or (FILES in inside and dumped(document) == data)
    except (AttributeError, TypeError) as problem:
        raise ValueError("it holds something else") from problem
    if not sound:
        raise ValueError("its seal is broken")
    return dict(document)


def _document_with(document: Mapping[str, Any], inside: Mapping[str, Any]) -> dict[str, Any]:
    return {**document, ATTRIBUTES: inside} if ATTRIBUTES in document else dict(inside)
