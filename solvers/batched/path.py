"""Which vectorised way answers a grid."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from results.dataset import Arrays, Layout
from scenarios.grids import Grid
from solvers.batched import divided, evaluated, geometric, line, linear, tables, whole

WAYS: tuple[Any, ...] = (
    evaluated.way,
    geometric.way,
    divided.way,
    tables.way,
    whole.way,
    linear.way,
    line.way,
)


class Path(Protocol):
    """A way to answer many points of a grid at once.

    ``method``: how, in words for the dataset. ``kind``: how the grid is cut into chunks (see
    ``results.chunks.chunk_shape``). A way that several threads may use at once has ``threads = True`` too: their
    chunks are then computed side by side in one process.
    """

    method: str
    kind: str

    def solve(self, plan: Layout, region: tuple[slice, ...]) -> tuple[Arrays, NDArray[np.bool_]]:
        """Answer a block: the arrays of its dataset, and the points left to be solved one by one.

        What the arrays hold at points left over is overwritten. A point's numbers depend on that point
        and its grid alone, not on the block it is in.
        """


def path(grid: Grid) -> Path | None:
    """Return the first way that can answer this grid (None: each point is solved by itself).

    Where the user asks for a search by sampling, or a model can only be run, what is decided is searched for.
    """
    sampled = any(q.search is not None or q.model.black_box for q in grid.bases.values())
    for way in WAYS[:1] if sampled else WAYS:
        found: Path | None = way(grid)
        if found is not None:
            return found
    return None
