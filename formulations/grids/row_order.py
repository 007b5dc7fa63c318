"""An order of scattered rows in which neighbours are alike: those of one kind together, these along a Hilbert curve.

Ways that start a point from its neighbours, or evaluate points of one structure as one array, then find them side by
side. The curve visits the cells of a fine mesh so that each next cell touches the one before (J. Skilling, Programming
the Hilbert curve, AIP Conference Proceedings 707, 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.arrays import Array, Indices, Integers

FINEST_BITS = 16
"""Bits of a place along each direction at most; 62 of all together."""
ORDERED_TOGETHER = 8192


def order(kinds: Sequence[NDArray[Any]], numbers: Sequence[Array]) -> Indices:
    """Return the order of rows: by their ``kinds``, the first ones first, and then along the curve through ``numbers``.

    Positive numbers count by their logarithms, all on one scale, since a factor of 2 is as far in one as in another.
    """
    spread = [_scale_places(x) for x in numbers if x.size and x.min() < x.max()]
    along = _hilbert(spread) if spread else np.zeros(0, np.int64)
    keys = [along] * bool(spread) + list(reversed(kinds))
    count = len(kinds[0]) if kinds else len(numbers[0])
    return np.lexsort(keys) if keys else np.arange(count)


def _scale_places(x: Array) -> Array:
    """Return numbers as places on a scale: logarithms, or from 0 to 1 where some are not positive."""
    return np.asarray(np.log(x) if x.min() > 0 else (x - x.min()) / (x.max() - x.min()))


def _hilbert(spread: Sequence[Array]) -> Integers:
    """Return how far along the curve each point is."""
    bits = min(FINEST_BITS, 62 // len(spread))
    if bits == 0:
        # more than 62 numbers in a row: the first ones decide
        return _hilbert(spread[:62])
    width = max(float(np.ptp(x)) for x in spread)
    last = (1 << bits) - 1
    # a place has FINEST_BITS bits: half as many bytes are moved as with long numbers
    x = np.stack([((s - s.min()) / width * last).astype(np.int32) for s in spread])
    # in pieces that stay in the processor's cache
    return np.concatenate(
        [
            _curve_positions(x[:, i : i + ORDERED_TOGETHER], bits)
            for i in range(0, x.shape[1], ORDERED_TOGETHER)
        ]
    )


def _curve_positions(x: NDArray[np.int32], bits: int) -> Integers:
    """Return how far along the curve the cells with these places are, (directions, points); ``x`` is changed."""
    bit = 1 << (bits - 1)
    while bit > 1:
        low = bit - 1
        for i in range(len(x)):
            turned = -((x[i] & bit) != 0).astype(np.int32)  # all bits where it is so
            swapped = (x[0] ^ x[i]) & low & ~turned
            x[0] ^= (turned & low) | swapped
            x[i] ^= swapped if i else 0
        bit >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    turns = np.zeros_like(x[0])
    bit = 1 << (bits - 1)
    while bit > 1:
        turns ^= np.where((x[-1] & bit) != 0, bit - 1, 0)
        bit >>= 1
    x ^= turns
    found = np.zeros(x.shape[1], np.int64)
    for b in range(bits - 1, -1, -1):
        for row in x:
            found = (found << 1) | ((row >> b) & 1)
    return found
