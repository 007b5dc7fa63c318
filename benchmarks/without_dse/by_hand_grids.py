"""What a user would write to evaluate a grid into a Zarr store: Dask, Zarr and a formula; nothing is labelled.

``python -m benchmarks.without_dse.by_hand_grids SIDE STORE`` does it in a process of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.without_dse import by_hand

ENDS = {"processors": (1e2, 1e4), "memory": (1e2, 1e4)}
CHUNK = 1000
METRICS = ("time", "energy")


def time_and_energy(p: Any, m: Any) -> dict[str, Any]:
    """Return two metrics of the n-body step, and compute no other."""
    flops, words = by_hand.F * by_hand.N**2 / p, by_hand.N**2 / (p * m)
    messages = words / by_hand.MSG
    time = by_hand.GT * flops + by_hand.BT * words + by_hand.AT * messages
    run = by_hand.GE * flops + by_hand.BE * words + by_hand.AE * messages
    return {"time": time, "energy": p * (run + by_hand.DE * m * time + by_hand.EE * time)}


def to_zarr(store: str, side: int, kernel: Callable[[Any, Any], Mapping[str, Any]] = time_and_energy) -> None:
    """Evaluate ``side`` by ``side`` points, blocks of a million in Dask's threads, each written by who computed it."""
    import dask
    import zarr

    p, m = (np.geomspace(*ends, side) for ends in ENDS.values())
    group = zarr.create_group(store, overwrite=True)
    size = min(CHUNK, side)
    shape = {"shape": (side, side), "chunks": (size, size), "dtype": "f8", "fill_value": np.nan}
    arrays = {name: group.create_array(name, **shape) for name in METRICS}

    def block(i: int, j: int) -> None:
        found = kernel(p[i : i + size, None], m[None, j : j + size])
        for name, array in arrays.items():
            array[i : i + size, j : j + size] = found[name]

    starts = range(0, side, size)
    dask.compute([dask.delayed(block)(i, j) for i in starts for j in starts], scheduler="threads")


if __name__ == "__main__":
    to_zarr(sys.argv[2], int(sys.argv[1]))
