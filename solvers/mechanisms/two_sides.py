"""Slopes of functions as a number falls and as it rises, by differences: two at a kink, none towards a jump.

Five values tell whether a function f of a number's factor is smooth next to 1, where a central difference is its slope.
With D(h) = f(1+h) + f(1-h) - 2 f(1), what ``(4 D(h) - D(2h)) / 2h`` leaves is the difference of the slopes to both
sides, up to h³. Where that is not nothing, three values to each side are asked for, closer and closer, until they lie
on a line but for its curvature; a function that never does so jumps on that side.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass

SMOOTH = 1e-6
"""Slopes to both sides that differ by less, as a part of their size, are one."""
IN_LINE = 1e-5
"""The same of three slopes in a row on one side, of closer values, in which rounding shows."""
CLOSER = (1.0, 0.1, 0.01)
LEAST_STEP = 1e-7
BREAKS = 1e-7
"""Logarithm of a limit's ratio, or part of the size of a row, above which it is broken."""
At = Callable[[Array, Indices], Array]
"""Values (factors, numbers, ...) where some of the numbers are moved by factors, each by itself."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Slopes of functions in the logarithms of numbers (numbers, ...), as these fall and rise; NaN: there is none.

    ``leaps``: where one jumps to either side, and ``broken``: to above 0.
    """

    behind: Array
    ahead: Array
    leaps: Bools
    broken: Bools


def smooth(slope: Array) -> Sides:
    """Functions with the same slope to both sides."""
    none = np.zeros(slope.shape, bool)
    return Sides(slope, slope.copy(), none, none.copy())


def sides(at: At, now: Array, count: int, step: float, scale: Array | float = 1.0) -> Sides:
    """Find the slopes to both sides of ``count`` numbers, from values ``now`` (...) and some a ``step`` apart.

    ``scale``: the size of the functions where they are no logarithms.
    """
    with np.errstate(invalid="ignore"):
        far_behind, behind, ahead, far_ahead = at(
            1.0 + step * np.array([-2.0, -1.0, 1.0, 2.0]), np.arange(count)
        )
        slope = (ahead - behind) / (math.log1p(step) - math.log1p(-step))
        bend = 4.0 * (ahead + behind - 2.0 * now) - (far_ahead + far_behind - 2.0 * now)
        # what is infinite all along has no slope, and no kink
        still = (behind == now) & (ahead == now)
        doubtful = ~(np.abs(bend) <= 2.0 * step * SMOOTH * np.maximum(np.abs(slope), scale)) & ~still
    found = smooth(slope)
    which = np.flatnonzero(doubtful.reshape(count, -1).any(1))
    if which.size:
        _look_closer(found, now, at, which, doubtful[which], step, scale)
    return found


def _look_closer(
    found: Sides, now: Array, at: At, which: Indices, doubtful: Bools, step: float, scale: Array | float
) -> None:
    """Put into ``found`` what closer values say of the ``doubtful`` functions of some numbers."""
    (behind, *of_behind), (ahead, *of_ahead) = (
        _one_sided(now, at, which, s * step, scale) for s in (-1.0, 1.0)
    )
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.maximum(np.abs(behind), np.abs(ahead)), scale)
        one = np.abs(ahead - behind) <= IN_LINE * size
    mean = (ahead + behind) / 2.0
    for slopes, side in ((found.behind, behind), (found.ahead, ahead)):
        slopes[which] = np.where(doubtful, np.where(one, mean, side), slopes[which])
    found.leaps[which] = doubtful & (of_behind[0] | of_ahead[0])
    found.broken[which] = doubtful & (of_behind[1] | of_ahead[1])


def _one_sided(
    now: Array, at: At, which: Indices, step: float, scale: Array | float
) -> tuple[Array, Bools, Bools]:
    """Return the slopes to one side, NaN where there is none; where it is a jump, and where one to above 0."""
    slope = near = np.full((which.size, *now.shape), np.nan)
    with np.errstate(invalid="ignore"):
        for part in CLOSER:
            h = step * part
            if part < 1.0 and abs(h) < LEAST_STEP * (1.0 - SMOOTH):
                break
            near, second, third = at(1.0 + h * np.array([1.0, 2.0, 3.0]), which)
            first, then, last = (near - now) / h, (second - near) / h, (third - second) / h
            in_line = np.abs(first - 2.0 * then + last) <= IN_LINE * np.maximum(np.abs(then), scale)
            slope = np.where(np.isnan(slope) & in_line, 1.5 * first - 0.5 * then, slope)
            if not np.isnan(slope).any():
                break
        leaps = np.isnan(slope) & ~np.isnan(near) & (near != now)
    return slope, leaps, leaps & (near > BREAKS * scale)
