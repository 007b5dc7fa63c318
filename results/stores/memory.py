"""A sweep kept in memory: the verbs of a store, without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from results.dataset import Layout, blank, to_dataset
from results.stores.chunks import ChunkIndex, block, chunk_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import xarray as xr


class Memory:
    """Collects the chunks of a sweep in arrays of the whole grid (``kind``, ``work``: see ``chunk_shape``)."""

    def __init__(self, plan: Layout, kind: str = "point", work: float = 0.0) -> None:
        self.plan = plan
        self.chunks = chunk_shape(plan.shape, kind, plan.width, work)
        self._arrays = blank(plan)
        self._done: set[ChunkIndex] = set()

    def write_chunk(self, index: ChunkIndex, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Take over one chunk of every variable."""
        region = block(self.plan.shape, self.chunks, index)
        for name, values in arrays.items():
            self._arrays[name][region] = values
        self._done.add(index)

    def done(self) -> set[ChunkIndex]:
        """Return the indices of the chunks that are finished."""
        return set(self._done)

    def dataset(self) -> xr.Dataset:
        """Return what is there so far as a dataset, with status 0 where nothing is computed."""
        return to_dataset(self.plan, self._arrays)
