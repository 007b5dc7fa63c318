"""Miss rates from reuse-distance histograms: how often an address is used again after so many others.

``histogram`` holds, for each distance counted in lines of a cache (0: the line used last), the share of
accesses that come back after that many other lines; ``cold`` is the share that never was used before. A
fully associative cache of n lines that replaces the least recently used misses what comes back after n
lines or more. What is found is given to a question as ``"miss_rate.L1D"`` and so on, or the rate at one
size together with ``"measured_cache.L1D"``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SUM = 1e-6


def checked(histogram: Sequence[float], cold: float = 0.0) -> np.ndarray:
    """Return the histogram as an array; raises ValueError where its shares are none or do not sum to 1."""
    shares = np.asarray(histogram, float)
    if shares.ndim != 1 or not shares.size:
        raise ValueError("a histogram of reuse distances is a list with one share per distance 0, 1, 2, …")
    bad = np.flatnonzero(~(np.isfinite(shares) & (shares >= 0)))
    if bad.size or not cold >= 0:
        which = f"the share at distance {bad[0]} is {shares[bad[0]]:g}" if bad.size else f"cold is {cold:g}"
        raise ValueError(f"{which}: shares of accesses are numbers of at least 0")
    whole = float(shares.sum()) + cold
    if abs(whole - 1.0) > SUM:
        raise ValueError(
            f"the shares of the histogram and cold sum to {whole:.6g}, not to 1: divide counts by their sum"
        )
    return shares


def from_histogram(
    histogram: Sequence[float], size: float, line_size: float = 64.0, cold: float = 0.0
) -> float:
    """Return the miss rate of a cache of ``size`` bytes in lines of ``line_size`` bytes.

    Raises ValueError for a histogram that does not sum to 1 and for sizes that are not positive.
    """
    shares = checked(histogram, cold)
    if not (size > 0 and line_size > 0):
        raise ValueError(f"sizes in bytes are positive: a cache of {size:g} has lines of {line_size:g}")
    return float(shares[int(size // line_size) :].sum()) + cold


def miss_rates(
    histogram: Sequence[float], sizes: Sequence[float], line_size: float = 64.0, cold: float = 0.0
) -> tuple[float, ...]:
    """Return the miss rate at each of several cache sizes, in bytes; raises ValueError as ``from_histogram``."""
    return tuple(from_histogram(histogram, size, line_size, cold) for size in sizes)
