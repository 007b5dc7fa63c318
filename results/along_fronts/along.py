"""What changes along a front of two objectives: exchange rates between neighbours, and its knee."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def exchange_rates(first: ArrayLike, second: ArrayLike) -> Array:
    """Percent of the second objective per percent of the first, from each point to the next (the last: NaN).

    Between points the rate is the mean one in logarithms, so that it does not depend on units. NaN where an objective
    is not positive or does not change.
    """
    a, b = np.asarray(first, float), np.asarray(second, float)
    found = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        rate = np.diff(np.log(b)) / np.diff(np.log(a))
    found[:-1] = np.where(np.isfinite(rate), rate, np.nan)
    return found


def knee(first: ArrayLike, second: ArrayLike) -> int | None:
    """Return the point farthest from the straight line between the ends, both objectives scaled to their range.

    Where both are positive their logarithms count, so that a factor weighs the same everywhere. None where fewer
    than three points differ from each other, or none lies off the line.
    """
    scaled = [_scaled(values) for values in (first, second)]
    if scaled[0].size < 3 or not all(np.isfinite(s).all() for s in scaled):
        return None
    ends = np.array([[s[0], s[-1]] for s in scaled])
    along: Any = ends[:, 1] - ends[:, 0]
    length = float(np.hypot(*along))
    if length == 0:
        return None
    off = np.abs(along[0] * (scaled[1] - ends[1, 0]) - along[1] * (scaled[0] - ends[0, 0])) / length
    best = int(off.argmax())
    return best if off[best] > 1e-6 else None


def _scaled(values: ArrayLike) -> Array:
    v = np.asarray(values, float)
    if not np.isfinite(v).all():
        return np.full(v.shape, np.nan)
    v = np.log(v) if v.size and v.min() > 0 else v
    spread = float(np.ptp(v)) if v.size else 0.0
    return (v - v.min()) / spread if spread > 0 else np.zeros_like(v)
