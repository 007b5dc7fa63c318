"""Points that share a pattern of yes and no, as of which limits bind, are worked on together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]


def groups(patterns: Bools) -> Iterator[tuple[Indices, Bools]]:
    """Points that share a pattern, and the pattern."""
    if not len(patterns):
        return
    packed = np.ascontiguousarray(np.packbits(patterns, axis=1))
    codes = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, where = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(where, kind="stable")
    ends = np.cumsum(np.bincount(where))
    for k, place in enumerate(first):
        begin = ends[k - 1] if k else 0
        yield order[begin : ends[k]], patterns[place]
