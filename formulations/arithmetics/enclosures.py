"""What rows of numbers can be over boxes: plain intervals and, in logarithms, the mean-value form with interval slopes.

Boxes are arrays (boxes, variables). All statements are certain: they come from intervals rounded outwards.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.arithmetics.slopes import Slope, work_out
from formulations.row_keys import RowKey


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What limits and objective can be on boxes.

    Rows are the limits in order, then what is minimised (if anything): the objective, or one over what is maximised.
    ``low``, ``high``: (rows, boxes); ``centre_low``, ``centre_high``: the same at the boxes' centres; ``slope_low``,
    ``slope_high``: logarithmic slopes, (rows, variables, boxes); ``width``: (2, variables, boxes), the logarithmic
    distance from the centre to both ends; ``down``: how far each row's logarithm may fall from there (like slopes).
    """

    keys: tuple[RowKey, ...]
    low: Array
    high: Array
    centre_low: Array
    centre_high: Array
    slope_low: Array
    slope_high: Array
    width: Array
    down: Array | None = None


def centres(low: Array, high: Array) -> Array:
    """Return the geometric middle of boxes, the plain one where they begin at 0."""
    return np.asarray(np.clip(np.where(low > 0, np.sqrt(low) * np.sqrt(high), high / 2), low, high))


def enclosure(keys: tuple[RowKey, ...], found: list[Slope], shape: tuple[int, ...]) -> Enclosure:
    """Work out rows over ``shape`` (boxes, variables) as arrays, together; the first of them are limits."""
    count, k = shape
    work_out(found)
    reach = np.stack([found[0].reach.lo, found[0].reach.hi]) if found else np.empty((2, k, count))
    return with_mean_value_form(
        Enclosure(
            keys,
            _stack([s.value.lo for s in found], (count,)),
            _stack([s.value.hi for s in found], (count,)),
            _stack([s.centre.lo for s in found], (count,)),
            _stack([s.centre.hi for s in found], (count,)),
            _stack([_stack([g.lo for g in s.slopes], (count,)) for s in found], (k, count)),
            _stack([_stack([g.hi for g in s.slopes], (count,)) for s in found], (k, count)),
            reach,
        )
    )


def steepness(e: Enclosure, wanted: Any = True) -> Array:
    """Return how much each variable moves what matters on boxes: (boxes, variables), none of it 0.

    ``wanted``: whether what is minimised matters, as an array on which of the boxes.
    """
    steep = np.maximum(np.abs(e.slope_low), np.abs(e.slope_high))
    # a limit that holds all over a box is no reason to cut it
    goal = np.ones_like(e.high[len(e.keys) :], bool) & wanted
    matters = np.concatenate([e.high[: len(e.keys)] > 1.0, goal])
    most = np.where(matters[:, None], steep, 0.0).max(0, initial=0.0).T
    return np.asarray(np.clip(np.nan_to_num(most, nan=1.0, posinf=1e3), 1e-12, 1e3))


def _stack(values: list[Array], shape: tuple[int, ...]) -> Array:
    return np.stack([np.broadcast_to(v, shape) for v in values]) if values else np.empty((0, *shape))


def moves(e: Enclosure) -> tuple[Array, Array]:
    """Return how far each row's logarithm may fall and rise along each variable from the centre.

    Both arrays have the shape (rows, variables, boxes).
    """
    corners = _at_corners(e.slope_low, e.slope_high, e.width)
    return reduce(np.minimum, corners), reduce(np.maximum, corners)


def falls(slope_low: Array, slope_high: Array, width: Array) -> Array:
    """Return how far a logarithm may fall along each variable from the centre, by its slopes."""
    return reduce(np.minimum, _at_corners(slope_low, slope_high, width))


def _at_corners(slope_low: Array, slope_high: Array, width: Array) -> list[Array]:
    with np.errstate(invalid="ignore"):
        corners = [s * w for s in (slope_low, slope_high) for w in width]
        if np.isnan(sum(c.sum() for c in corners)):
            corners = [np.where(np.isnan(c), 0.0, c) for c in corners]
    return corners


def with_mean_value_form(e: Enclosure) -> Enclosure:
    """Intersect the mean-value form in log space, of what is negative that of -1 over it, into ``low`` and ``high``."""
    if not e.low.size:
        return e
    p, negative = _positive(e)
    down, up = moves(p)
    with np.errstate(all="ignore"):
        pad = 1e-13 * (1.0 + np.abs(down).sum(1))
        low = np.exp(np.log(p.centre_low) + down.sum(1) - pad)
        pad = 1e-13 * (1.0 + np.abs(up).sum(1))
        high = np.exp(np.log(p.centre_high) + up.sum(1) + pad)
        if negative.any():
            low, high = (np.where(negative, -1.0 / end, end) for end in (low, high))
    # logarithms speak of positive quantities only, -1 over next to nothing of no number
    known = (p.low > 0) & (p.centre_low > 0) & np.isfinite(p.centre_low)
    low = np.where(known & ~np.isnan(low), np.maximum(e.low, low), e.low)
    high = np.where(known & ~np.isnan(high), np.minimum(e.high, high), e.high)
    return replace(e, low=low, high=high, down=down)


def contract(e: Enclosure, low: Array, high: Array, cutoff: Array) -> tuple[Array, Array]:
    """Boxes without where certainly row > cutoff (one cutoff per row, or per row and box; infinity: none).

    Where a row and its cutoff have not the same sign all over a box nothing is cut off.
    """
    if not e.low.size:
        return low, high
    p, negative = _positive(e)
    down = e.down
    assert down is not None, "rows have their mean-value form"
    with np.errstate(all="ignore"):
        cutoff = cutoff.reshape(len(cutoff), -1)
        if negative.any():
            cutoff = np.where(negative, np.where(cutoff < 0, -1.0 / cutoff, np.inf), cutoff)
        margin = np.log(cutoff) - np.log(p.centre_low) + 1e-12 * (1.0 + np.abs(down).sum(1))
        left = margin[:, None] - (down.sum(1)[:, None] - down)
        known = ((p.low > 0) & (p.centre_low > 0) & (cutoff > 0) & np.isfinite(cutoff))[:, None]
        most = np.where(left >= 0, left / p.slope_low, left / p.slope_high)
        least = np.where(left >= 0, left / p.slope_high, left / p.slope_low)
        rising = known & (p.slope_low > 0) & ~np.isnan(most)
        falling = known & (p.slope_high < 0) & ~np.isnan(least)
        most = np.where(rising, most, np.inf).min(0) + 1e-12
        least = np.where(falling, least, -np.inf).max(0) - 1e-12
        middle = centres(low, high)
        # a middle of 0 times no limit at all is no limit
        low = np.fmax(low, middle * np.exp(least.T) * (1 - 1e-12))
        return low, np.fmin(high, middle * np.exp(most.T) * (1 + 1e-12))


def _positive(e: Enclosure) -> tuple[Enclosure, Bools]:
    """Rows with -1 over what is negative all over a box in its place, and where: it is positive and grows alike."""
    negative = e.high < 0
    if not negative.any():
        return e, negative
    with np.errstate(all="ignore"):
        low, high, centre_low, centre_high = (
            np.where(negative, -1.0 / v, v) for v in (e.low, e.high, e.centre_low, e.centre_high)
        )
    there = negative[:, None]
    slope_low = np.where(there, -e.slope_high, e.slope_low)
    slope_high = np.where(there, -e.slope_low, e.slope_high)
    found = Enclosure(e.keys, low, high, centre_low, centre_high, slope_low, slope_high, e.width, e.down)
    return found, negative
