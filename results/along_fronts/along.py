"""What changes along a front of two objectives: exchange rates between neighbours, and its knee."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dse.system.arrays import Array

STRAIGHT_FRONT = 0.02
"""A front that is nowhere farther from the line between its ends, in parts of its range, has no knee."""


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
    than three points differ from each other, and where the front is as good as straight (``STRAIGHT_FRONT``): as it is,
    or in logarithms.
    """
    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.size < 3 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    off = _off_the_line(_log(a), _log(b))
    best = int(off.argmax())
    straight = min(off[best], _off_the_line(a, b).max()) < STRAIGHT_FRONT
    return None if straight else best


def _log(values: Array) -> Array:
    return np.log(values) if values.min() > 0 else values


def _off_the_line(first: Array, second: Array) -> Array:
    """Return how far each point is from the line between the ends, both numbers scaled to their range."""
    scaled = [_scaled(v) for v in (first, second)]
    ends = np.array([[s[0], s[-1]] for s in scaled])
    along: Any = ends[:, 1] - ends[:, 0]
    length = float(np.hypot(*along))
    if length == 0:
        return np.zeros_like(first)
    found: Array = np.abs(along[0] * (scaled[1] - ends[1, 0]) - along[1] * (scaled[0] - ends[0, 0])) / length
    return found


def _scaled(v: Array) -> Array:
    spread = float(np.ptp(v)) if v.size else 0.0
    return (v - v.min()) / spread if spread > 0 else np.zeros_like(v)
