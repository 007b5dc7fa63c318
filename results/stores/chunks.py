"""How a grid is cut into chunks: a fixed function, so that the same sweep always has the same chunks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

ROOM = {"point": 500, "search": 5_000, "batch": 100_000, "array": 1_000_000}
BYTES = 64_000_000
FEWEST_SOLVES = 20
LEAST_CHUNKS = 16
CHUNK_SECONDS = 2.0
"""Declared work of a chunk, at most: so often does progress move, and so much is lost where a sweep is interrupted."""

ChunkIndex = tuple[int, ...]


def chunk_shape(
    shape: Sequence[int], kind: str = "point", width: int = 1, work: float = 0.0
) -> tuple[int, ...]:
    """Points of a chunk along each axis.

    ``work``: what a point costs, in declared seconds (see ``solvers.work``); a chunk is at most 2 s of it, or one
    point. ``kind`` sets further ends: "point": each point is a solve of its own (at most 500 to a chunk; on a small
    grid fewer, but at least 20 as far as the work allows, so that several workers have something to do); "search":
    points are searched together (at most 5000); "batch": they are solved together (at most 1e5); "array": they are
    only evaluated (at most 1e6). ``width`` is the length of the longest further dimension (limits): no variable of a
    chunk exceeds 64 MB of float64. Raises ValueError for another kind.
    """
    if kind not in ROOM:
        raise ValueError(f"kind is one of {', '.join(ROOM)}, not {kind!r}")
    room = min(ROOM[kind], BYTES // (8 * max(width, 1)))
    if kind == "point":
        room = min(room, max(FEWEST_SOLVES, math.prod(shape) // LEAST_CHUNKS))
    if work > 0.0:
        room = min(room, math.ceil(CHUNK_SECONDS / work))
    chunks, parts = list(shape), [1] * len(shape)
    while math.prod(chunks) > room:
        # split where the chunk is longest, so that chunks stay compact in every direction
        axis = max(range(len(chunks)), key=chunks.__getitem__)
        parts[axis] = 1 + (shape[axis] - 1) // (chunks[axis] - 1)
        chunks[axis] = -(-shape[axis] // parts[axis])
    return tuple(chunks)


def chunk_slices(
    shape: Sequence[int], chunks: Sequence[int]
) -> Iterator[tuple[ChunkIndex, tuple[slice, ...]]]:
    """Go through the chunks of a grid in C order: index of each, and the block of points it covers."""
    counts = [range(-(-n // c)) for n, c in zip(shape, chunks, strict=True)]
    for index in itertools.product(*counts):
        yield index, block(shape, chunks, index)


def block(shape: Sequence[int], chunks: Sequence[int], index: Sequence[int]) -> tuple[slice, ...]:
    """Return the points that chunk ``index`` covers, as one slice per axis."""
    spans = zip(index, shape, chunks, strict=True)
    return tuple(slice(i * c, min((i + 1) * c, n)) for i, n, c in spans)
