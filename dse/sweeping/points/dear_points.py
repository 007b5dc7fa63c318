"""What points take that are dearer than declared: a few are answered, by the clock. Only what is told rests on it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from dse.sweeping.points import chunk_work
from dse.sweeping.points.chunk_work import Ready
from dse.sweeping.points.declared import RUN
from dse.system.arrays import Integers
from solvers.many_points import effort

MOST_DEAR_TRIED, MOST_SECONDS_TRIED = 32, 1.0
"""Points that are answered together at most, and seconds of processor time after which no more are begun."""
DEAR_POINT = 0.05
"""Seconds of a point beside others below which it is not dear where a way answers many at once: more are cheaper."""


def seconds(at: Ready) -> float:
    """Return the seconds of processor time of a point, on average, as far as a few points are dear; 0 where none is.

    Of some points, from the corners of the grid on, twice as many are answered until that takes long: what each takes
    more is what a point takes. Whoever answers the grid tries none.
    """
    told_otherwise = (
        at.points is not None or at.choice.reasons == (RUN,) or at.grid.first.uncertain is not None
    )
    if told_otherwise or not at.grid.axes or not effort.only_asked():
        return 0.0
    counts, spent = list[int](), list[float]()
    for sides in _doubled(at.grid.shape, min(at.grid.size, MOST_DEAR_TRIED)):
        places = _spread(at.grid.shape, sides)
        took = _spent(at, places)
        if not spent and DEAR_POINT <= took < MOST_SECONDS_TRIED:
            # the first one may have loaded what others find there
            took = _spent(at, places)
        counts.append(math.prod(sides))
        spent.append(took)
        if sum(spent) >= MOST_SECONDS_TRIED:
            break
    if not spent:
        return 0.0
    if at.path is None:
        return spent[-1] / counts[-1]
    more, longer = counts[-1] - counts[0], spent[-1] - spent[0]
    each = longer / more if more else spent[-1]
    return each if each >= DEAR_POINT else 0.0


def _doubled(shape: Sequence[int], most: int) -> Iterator[list[int]]:
    """Go through numbers of places along the axes, one at first, each time more along the axis that has fewest."""
    sides = [1] * len(shape)
    while math.prod(sides) <= most:
        yield list(sides)
        longer = [i for i, (k, n) in enumerate(zip(sides, shape, strict=True)) if k < n]
        if not longer:
            return
        i = min(longer, key=sides.__getitem__)
        sides[i] = min(2 * sides[i], shape[i])


def _spread(shape: Sequence[int], sides: Sequence[int]) -> list[Integers]:
    """Return so many places along each axis, the last one first, and then from end to end."""
    return [
        np.array([n - 1]) if k == 1 else np.unique(np.linspace(0, n - 1, k).astype(int))
        for n, k in zip(shape, sides, strict=True)
    ]


def _spent(at: Ready, places: Sequence[Integers]) -> float:
    began = time.process_time()
    with np.errstate(all="ignore"):
        chunk_work.everything(chunk_work.part(at, places))
    return time.process_time() - began
