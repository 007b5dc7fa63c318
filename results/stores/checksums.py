"""Whether what is stored is what was written.

Every file of numbers carries a checksum of its own, so that a damaged one cannot be read; and the done marker
of a chunk has one of each variable's values, so that a missing or an old file shows as well. Only ``seconds``
has none there: of two processes that compute a chunk at the same time either may have written it last.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from results.stores.chunks import ChunkIndex, block
from results.stores.files.trouble import StoreForbidden

UNSIGNED = frozenset({"seconds"})


def checksum(array: np.ndarray[Any, Any]) -> str:
    """Return the checksum of an array's values."""
    if array.dtype.kind == "f":
        # an empty chunk comes back with the one NaN that Zarr fills with, whatever its bits were
        array = np.where(np.isnan(array), np.nan, array)
    if array.dtype.kind in "fi":
        return f"{zlib.crc32(np.ascontiguousarray(array).data):08x}"
    if array.size and not (array != "").any():
        # a million messages, none of which says anything: the same text without a list of them
        text = '[""' + ', ""' * (array.size - 1) + "]"
    else:
        text = json.dumps(array.ravel().tolist())
    return f"{zlib.crc32(text.encode()):08x}"


def along(index: ChunkIndex, array: Any) -> tuple[int, ...]:
    """Give the chunk index in this array: further dimensions (limits) are one chunk long."""
    return (*index, *(0,) * (len(array.shape) - len(index)))


def region(index: ChunkIndex, array: Any) -> tuple[slice, ...]:
    """Return the part of an array that a chunk covers."""
    return block(array.shape, array.chunks, along(index, array))


def read(
    array_of: Callable[[str], Any], unsigned: Iterable[str], index: ChunkIndex, note: Mapping[str, Any]
) -> tuple[str, dict[str, np.ndarray[Any, Any]]]:
    """Say what is damaged of one chunk ("": nothing), and return its arrays, none where it is damaged.

    ``array_of``: gives a variable's array. ``unsigned``: variables without a checksum. ``note``: what its done
    marker says. Raises StoreForbidden where a file may not be read.
    """
    if "checksums" not in note:
        return "its done marker cannot be read", {}
    found = {}
    for name, expected in {**dict.fromkeys(unsigned, ""), **note["checksums"]}.items():
        try:
            array = array_of(name)
            found[name] = np.asarray(array[region(index, array)])
        except StoreForbidden:
            raise
        except Exception as problem:
            # a decoder may raise anything on damaged bytes
            return f"{name} cannot be read: {problem}", {}
        if expected and checksum(found[name]) != expected:
            return f"{name} differs from what was written", {}
    return "", found
