"""What is done of a chunk that takes long: its pieces, kept beside the markers until the whole chunk is written.

A piece is a node of the tree in which a chunk is cut in two again and again: the chunk is 1, the two of ``n`` are
``2 n`` and ``2 n + 1``. A file has a checksum of all that follows it, a line of JSON, and the numbers of each variable
as they are in memory; texts are JSON. One that is not what was written is as none.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dse.system.records import dataclass
from results.stores.files.storage import Folder, Place, folder
from results.stores.files.trouble import explained

FOLDER_OF_PIECES = "chunks_done/pieces"
_NAME = re.compile(r"^\d+(?:-\d+)*\.\d+$")

Piece = tuple[dict[str, np.ndarray[Any, Any]], Mapping[str, Any]]
"""The arrays of a piece, and what is noted of it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The pieces of one chunk in the store at a place; ``nodes``: those that are there."""

    place: Place
    index: tuple[int, ...]
    nodes: set[int]

    def below(self, node: int) -> bool:
        """Whether a part of a piece is there."""
        return any(n > node and n >> (n.bit_length() - node.bit_length()) == node for n in self.nodes)

    def read(self, node: int, like: Mapping[str, np.ndarray[Any, Any]]) -> Piece | None:
        """Return a piece, whose arrays are of the shapes and types of ``like``; None where it cannot be read."""
        where = folder(self.place)
        with explained(where, "read"):
            data = where.read_many([self._name(node)]).get(self._name(node), b"")
        return _loaded_piece(data, [*self.index, node], like)

    def write(self, node: int, arrays: Mapping[str, np.ndarray[Any, Any]], note: Mapping[str, Any]) -> None:
        """Keep a piece; StoreError where the store cannot be written."""
        where = folder(self.place)
        with explained(where, "write to"):
            where.put(self._name(node), _dumped_piece([*self.index, node], arrays, note))
        self.nodes.add(node)

    def clear(self) -> None:
        """Remove the pieces of the chunk, which is written."""
        where = folder(self.place)
        with explained(where, "write to"):
            for node in sorted(self.nodes):
                where.remove(self._name(node))
        self.nodes.clear()

    def _name(self, node: int) -> str:
        return f"{FOLDER_OF_PIECES}/{'-'.join(map(str, self.index))}.{node}"


def kept_of(place: Place, index: tuple[int, ...]) -> Kept:
    """Find the pieces that are kept of a chunk."""
    where, own = folder(place), "-".join(map(str, index))
    with explained(where, "read"):
        names = [n.split(".") for n in where.names(FOLDER_OF_PIECES) if _NAME.match(n)]
    return Kept(place, index, {int(node) for chunk, node in names if chunk == own})


def swept_out(where: Folder) -> None:
    """Remove all pieces, and what is half written; only to be called when nobody writes."""
    where.tidy()
    for name in where.names(FOLDER_OF_PIECES):
        if _NAME.match(name):
            where.remove(f"{FOLDER_OF_PIECES}/{name}")
    # a file of somebody else's stays, and the folder with it
    with suppress(OSError):
        where.remove(FOLDER_OF_PIECES)


def _dumped_piece(
    name: Sequence[int], arrays: Mapping[str, np.ndarray[Any, Any]], note: Mapping[str, Any]
) -> bytes:
    parts = {n: _bytes_of(a) for n, a in arrays.items()}
    head = json.dumps({"piece": list(name), "bytes": {n: len(p) for n, p in parts.items()}, "note": note})
    rest = b"\n".join([head.encode(), b"".join(parts.values())])
    return b"%08x\n%b" % (zlib.crc32(rest), rest)


def _bytes_of(array: np.ndarray[Any, Any]) -> bytes:
    if array.dtype.kind in "fiu":
        return np.ascontiguousarray(array).tobytes()
    return json.dumps(array.ravel().tolist()).encode()


def _loaded_piece(data: bytes, name: Sequence[int], like: Mapping[str, np.ndarray[Any, Any]]) -> Piece | None:
    checksum, _, rest = data.partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(rest):
        return None
    head, _, numbers = rest.partition(b"\n")
    try:
        told = json.loads(head)
        note = told["note"]
        # what is noted of a piece: points left over and why, and seconds
        if not (isinstance(note["alone"], int) and isinstance(note["seconds"], float)):
            return None
        if any(not isinstance(count, int) for count in note["left_over"].values()):
            return None
        if told["piece"] != list(name) or set(told["bytes"]) != set(like):
            return None
        return {n: _array_of(p, like[n]) for n, p in _divided_bytes(numbers, told["bytes"])}, note
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _divided_bytes(numbers: bytes, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    start = 0
    for name, size in sizes.items():
        yield name, numbers[start : start + size]
        start += size


def _array_of(data: bytes, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if like.dtype.kind in "fiu":
        return np.frombuffer(data, like.dtype).reshape(like.shape)
    texts = json.loads(data)
    if len(texts) != math.prod(like.shape):
        raise ValueError("it holds something else")
    return np.array(texts, dtype=like.dtype).reshape(like.shape)
