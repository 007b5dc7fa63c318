"""A variable over other numbers, computed for what is read of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from xarray.backends.common import BackendArray
from xarray.core import indexing


class Ratio(BackendArray):  # type: ignore[misc]
    """What xarray reads lazily: ``of`` over ``by``, which has one axis for each of ``of``, of its length or of 1."""

    def __init__(self, of: xr.Variable, by: Any) -> None:
        self.of, self.by = of, by
        self.shape, self.dtype = of.shape, np.dtype(float)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return some of the numbers."""
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        by = self.by
        for axis in reversed(range(by.ndim)):
            one = by.shape[axis] == 1
            place = key[axis]
            if isinstance(place, slice):
                by = by if one else by[(slice(None),) * axis + (place,)]
            elif np.ndim(place) == 0:
                by = np.take(by, 0 if one else int(place), axis)
            elif not one:
                by = np.take(by, place, axis)
        with np.errstate(all="ignore"):
            return np.asarray(self.of[key].values, float) / by
