"""What changes along a front of two objectives: exchange rates between neighbours, and its knee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dse.system.arrays import Array
from results.along_fronts.variable_names import FRONT, KNEE, of_whole_front

if TYPE_CHECKING:
    import xarray as xr

STRAIGHT_FRONT = 0.02
"""A front that is nowhere farther from the line between its ends, in parts of its range, has no knee."""
NO_KNEE = -1
"""What stands in place of the number of a knee where there is none."""
NOTHING_LEFT = 1e-12
"""What is this part of the largest value along a front is as good as 0, of rounding: it has no logarithm."""
NEAREST_STEP = 1e-2
"""A slope is followed over 1 % where the next point is at least so far, in parts: no farther than it is known."""


def exchange_rates(first: ArrayLike, second: ArrayLike) -> Array:
    """Slope of the second objective over the first in logarithms, from each point to the next (the last: NaN).

    ln(b1 / b0) / ln(a1 / a0), which does not depend on units. NaN where an objective is not positive or does not
    change. What 1 % more of the first brings at such a slope: ``exchanges``.
    """
    a, b = np.asarray(first, float), np.asarray(second, float)
    found = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        steps = [np.diff(np.log(v)) for v in (a, b)]
        rate = steps[1] / steps[0]
    # a step from zero is infinite: over it every slope would be told as 0
    found[:-1] = np.where(np.isfinite(steps[0]) & np.isfinite(rate), rate, np.nan)
    return found


def above_nothing(values: ArrayLike) -> bool:
    """Whether an objective has logarithms along a front: it neither changes its sign nor is as good as 0 anywhere."""
    v = np.asarray(values, float)
    return bool(v.min() > NOTHING_LEFT * v.max())


def exchanges(first: ArrayLike, second: ArrayLike) -> Array:
    """Changes of both objectives in percent that tell an exchange, of shape (points, 2); NaN where there is no rate.

    1 % of the first, and what it brings of the second at the mean slope up to the next point, 1.01**slope - 1; or the
    changes up to that point, where it is nearer than that (``NEAREST_STEP``).
    """
    values = np.stack([np.asarray(first, float), np.asarray(second, float)], axis=1)
    slope = exchange_rates(*values.T)[:-1]
    found = np.full(values.shape, np.nan)
    with np.errstate(all="ignore"):
        steps = values[1:] / values[:-1] - 1.0
        percents = np.stack([np.full(slope.shape, 0.01), 1.01**slope - 1.0], axis=1)
    near = np.abs(steps[:, :1]) < NEAREST_STEP
    found[:-1] = 100.0 * np.where(near, steps, percents)
    found[:-1][np.isnan(slope)] = np.nan
    return found


def percent(width: float) -> str:
    """Write the width of an enclosure in percent, with two digits, from 100 % on without decimals."""
    return f"{100 * width:.2g} %" if 100 * width < 99.5 else f"{100 * width:.0f} %"


def knee(first: ArrayLike, second: ArrayLike) -> int | None:
    """Return the point farthest from the straight line between the ends, both objectives scaled to their range.

    Where they have logarithms (``above_nothing``) these count, so that a factor weighs the same everywhere. None where
    fewer than three points differ from each other, and where the front is as good as straight (``STRAIGHT_FRONT``): as
    it is, or in logarithms.
    """
    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.size < 3 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    off = _off_the_line(_log(a), _log(b))
    best = int(off.argmax())
    straight = min(off[best], _off_the_line(a, b).max()) < STRAIGHT_FRONT
    return None if straight else best


def knee_of(front: xr.Dataset, goals: Sequence[str]) -> int | None:
    """Return the row of a dataset of one front at which the front has its knee, None where there is none.

    Of designs that were chosen from a front it is that of the whole front, if it is among them: what is left of a
    front has no knee of its own.
    """
    if FRONT not in front.dims or front["status"].size != front.sizes[FRONT]:
        return None
    if FRONT not in front.coords:
        # points that nobody numbered are all there is
        return knee(*(np.ravel(front[n].values) for n in goals)) if len(goals) == 2 else None
    several = KNEE in front and of_whole_front(front, KNEE)
    told = front[KNEE].values.item() if several else front.attrs.get("knee", NO_KNEE)
    rows = np.flatnonzero(front[FRONT].values == told)
    return int(rows[0]) if rows.size else None


def _log(values: Array) -> Array:
    return np.log(values) if above_nothing(values) else values


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
