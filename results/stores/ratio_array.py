"""A variable over other numbers, computed for what is read of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from xarray.backends.common import BackendArray
from xarray.core import indexing


class Ratio(BackendArray):  # type: ignore[misc]
    """What xarray reads lazily: ``of`` over ``by``, numbers with the dimensions of ``of``."""

    def __init__(self, of: xr.Variable, by: xr.Variable) -> None:
        self.of, self.by = of, by
        self.shape, self.dtype = of.shape, np.dtype(float)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return some of the numbers."""
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(self.of[key].values, float) / self.by[key].values
