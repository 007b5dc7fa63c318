"""Datasets of files that somebody else may have made, read lazily: nothing is read whole that the files cannot hold."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends.common import BackendArray
from xarray.core import indexing

from dse.system.files import MOST_NUMBERS
from results.stores.files.trouble import StoreError, copied

MOST_TIMES = 1000.0
"""So many times the size of the files may be what is read whole; numbers along an axis compress to a tenth at best."""


class Guarded(BackendArray):  # type: ignore[misc]
    """What xarray reads lazily of an exported file: a StoreError names the file where it cannot be read.

    ``kind``: what the file is.
    """

    def __init__(self, of: xr.Variable, file: str, kind: str) -> None:
        self.of, self.file, self.kind = of, file, kind
        self.shape, self.dtype = of.shape, of.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return some of the numbers."""
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        with copied(self.file, self.kind):
            found = np.asarray(self.of[key].values)
            if found.dtype.kind in "OU":
                _encodable(found.ravel().tolist())
            return found


def lazily(files: Any) -> xr.Dataset:
    """Open a Zarr group, of whose numbers nothing is read yet: it has no indexes."""
    # without its version Zarr also looks for files of the other
    return xr.open_zarr(files, consolidated=False, zarr_format=3, chunks=None, create_default_indexes=False)


def guarded(lazy: xr.Dataset, file: str, kind: str, stored: Callable[[], int]) -> xr.Dataset:
    """Return an exported dataset, opened without indexes, with them; reads of it are explained.

    ``stored``: size of all its files in bytes. Raises StoreError where the file cannot be read.
    """
    refuse_oversized(file, lazy, stored)
    with copied(file, kind):
        _encodable([lazy.attrs, [(str(n), v.attrs) for n, v in lazy.variables.items()]])
        held = {n: indexing.LazilyIndexedArray(Guarded(v, file, kind)) for n, v in lazy.variables.items()}
        return indexed(lazy, {n: xr.Variable(v.dims, held[n], v.attrs) for n, v in lazy.variables.items()})


def indexed(lazy: xr.Dataset, arrays: Mapping[Any, xr.Variable] | None = None) -> xr.Dataset:
    """Return a dataset that was opened without indexes with one for each axis, which is read here.

    ``arrays``: its variables, where they are others.
    """
    of = lazy.variables if arrays is None else arrays
    coordinates = {n: v for n, v in of.items() if n in lazy.coords}
    return xr.Dataset({n: v for n, v in of.items() if n not in coordinates}, coordinates, lazy.attrs)


def _encodable(told: Any) -> None:
    """Raise UnicodeEncodeError where a text has letters that no file can have: its bytes were no UTF-8."""
    json.dumps(told, ensure_ascii=False, default=str).encode()


def refuse_oversized(place: object, lazy: xr.Dataset, stored: Callable[[], int]) -> None:
    """Raise StoreError where an axis or a chunk, which are read whole, takes far more memory than files can hold.

    ``lazy``: a dataset opened without indexes; ``stored``: size of all its files in bytes.
    """
    found = []
    for name, variable in lazy.variables.items():
        chunks = variable.encoding.get("chunks") or variable.encoding.get("chunksizes") or (0,)
        count = max(variable.size if variable.dims == (name,) else 0, math.prod(chunks))
        found.append((count * variable.dtype.itemsize, count, str(name)))
    size, count, name = max(found, default=(0, 0, ""))
    if size > MOST_NUMBERS and size > MOST_TIMES * stored():
        raise StoreError(
            f"{place} is too large: {name} says that {count:.3g} values ({size / 1e9:.3g} GB) are to be read at once, "
            f"and all its files have {stored() / 1e6:.3g} MB; dse writes no such dataset"
        )
