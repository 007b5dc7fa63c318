"""What is proved about a front of two objectives between its points: a lower and an upper bound everywhere.

Everything is first in coordinates that are to be small (``Measure``), u along and v up, then in the objectives' own
values. Points give the upper bound, proofs the lower one:

- a ``Corner`` (u, v): no design is better than both; with points these bound a staircase;
- a ``Line``: a u + b v >= c for every design; where the problem is convex in logarithms chords between points lie
  above the front, and the lines that multipliers give lie below it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass
from results.along_fronts.along import percent
from solvers.fronts.asking import Measure

STAIRCASE = "steps: designs found above, proved bounds below"
CHORDS = "chords above and tangents below, both straight in logarithms"
EXACT = "exact: the front itself"
BAND_STEP = 0.05
MOST_BAND_STEPS = 40


class Corner(NamedTuple):
    """No design is better than u in the first coordinate and better than v in the second at once."""

    u: float
    v: float


class Line(NamedTuple):
    """Every design has a u + b v >= c; a and b are not negative."""

    a: float
    b: float
    c: float


Spot = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Band:
    """What is proved: at ``at`` (rising values of the first objective) the best second objective that a design no worse
    in the first can have lies between ``lower`` and ``upper``, both straight from place to place.

    A place is repeated where a bound steps. ``logarithmic``: of which objectives straight lines are meant in logs.
    ``widths``: between each point of the front and the next one, the largest relative width, up or sideways, whichever
    is smaller; ``how`` it is proved, in words.
    """  # noqa: D205

    at: Array
    lower: Array
    upper: Array
    widths: tuple[float, ...]
    how: str
    logarithmic: tuple[bool, bool] = (False, False)

    @property
    def width(self) -> float:
        """The largest of the widths."""
        return max(self.widths, default=0.0)

    def words(self) -> str:
        """Say how well the front is known between its points."""
        if self.how == EXACT:
            return "Between the points the front is known exactly"
        if not math.isfinite(self.width):
            return f"Between the points the front is enclosed: {self.how}"
        return f"Between the points the front is enclosed within {percent(self.width)}: {self.how}"


@dataclass(frozen=True, slots=True)
class Stretch:
    """The band between two neighbours in coordinates: (u, lower v, upper v) from place to place, and how wide it is."""

    places: tuple[tuple[float, float, float], ...]
    width: float
    widest: Spot = (math.nan, math.nan)


def stairs(spots: Sequence[Spot], corners: Sequence[Corner], measures: tuple[Measure, Measure]) -> Band:
    """The band of any front: monotone. ``spots``: coordinates of its points by rising u, none better than another."""
    found = [_stretch_between(left, right, corners, measures) for left, right in itertools.pairwise(spots)]
    u, v = spots[-1]
    end = (u, min(max((c.v for c in corners if c.u > u), default=-math.inf), v), v)
    return _band([p for s in found for p in s.places] + [end], [s.width for s in found], measures, STAIRCASE)


def _stretch_between(
    left: Spot, right: Spot, corners: Sequence[Corner], measures: tuple[Measure, Measure]
) -> Stretch:
    """Between two neighbours nothing is better than the left one in v; the corners say how far it may be better."""
    of_use = sorted((c for c in corners if c.u > left[0]), key=lambda c: c.u)
    edges = [left[0], *(c.u for c in of_use if c.u < right[0]), right[0]]
    places: list[tuple[float, float, float]] = []
    width, widest = 0.0, (math.nan, math.nan)
    for begin, end in itertools.pairwise(edges):
        if end <= begin:
            continue
        below = min(max((c.v for c in of_use if c.u >= end), default=-math.inf), left[1])
        places += [(begin, below, left[1]), (end, below, left[1])]
        wide = min(measures[1].apart(below, left[1]), measures[0].apart(begin, right[0]))
        if wide > width:
            width, widest = wide, (begin, below)
    return Stretch(tuple(places), width, widest)


def chords(spots: Sequence[Spot], lines: Sequence[Line], measures: tuple[Measure, Measure]) -> list[Stretch]:
    """The band of a front that is convex in these coordinates, from each point to the next."""
    upward = [x for x in lines if x.b > 0]
    slopes = np.array([-x.a / x.b for x in upward])
    heights = np.array([x.c / x.b for x in upward])
    return [_chord(left, right, slopes, heights, measures) for left, right in itertools.pairwise(spots)]


def _chord(
    left: Spot, right: Spot, slopes: Array, heights: Array, measures: tuple[Measure, Measure]
) -> Stretch:
    rise = (right[1] - left[1]) / (right[0] - left[0])
    places: list[tuple[float, float, float]] = []
    up = along = 0.0
    widest, most = (math.nan, math.nan), 0.0
    for u in _bends(left[0], right[0], slopes, heights):
        above = left[1] + rise * (u - left[0])
        below = min(float((heights + slopes * u).max(initial=-np.inf)), above)
        places.append((u, below, above))
        # sideways the chord ends at its right end: nothing beyond that is this stretch's
        beyond = min(left[0] + (below - left[1]) / rise, right[0]) if rise < 0 else right[0]
        up = max(up, measures[1].apart(below, above))
        along = max(along, measures[0].apart(u, beyond))
        if above - below > most:
            most, widest = above - below, (u, below)
    return Stretch(tuple(places), min(up, along), widest)


def _bends(start: float, end: float, slopes: Array, heights: Array) -> list[float]:
    """Where the highest of some lines changes between two places, with these two."""
    found, u = [start], start
    if not slopes.size:
        return [start, end]
    now = int(np.lexsort((slopes, heights + slopes * u))[-1])
    while True:
        steeper = np.flatnonzero(slopes > slopes[now] + 1e-15 * (1.0 + abs(slopes[now])))
        if not steeper.size:
            break
        cross = (heights[now] - heights[steeper]) / (slopes[steeper] - slopes[now])
        k = int(cross.argmin())
        u, now = max(float(cross[k]), u), int(steeper[k])
        if u >= end:
            break
        found.append(u)
    return [*found, end]


def convex(spots: Sequence[Spot], found: Sequence[Stretch], measures: tuple[Measure, Measure]) -> Band:
    """What ``chords`` found between these points, as a band."""
    places = [p for s in found for p in s.places] or [(u, v, v) for u, v in spots]
    return _band(_finer(places), [s.width for s in found], measures, CHORDS)


def of_curve(
    places: Sequence[tuple[float, float, float]], measures: tuple[Measure, Measure], gaps: int
) -> Band:
    """The band of a front that is known everywhere; ``gaps``: how many pairs of neighbours it has."""
    width = max(measures[1].apart(low, high) for _, low, high in places)
    return _band(places, [width] * gaps, measures, EXACT)


def bent(ends: tuple[Spot, Spot], at_left: float, at_right: float) -> list[tuple[float, float, float]]:
    """Where the tangents at both ends of a part that bends one way meet: the part lies between them and its chord."""
    (u, v), (w, z) = ends
    if at_left == at_right:
        return []
    across = (z - v + at_left * u - at_right * w) / (at_left - at_right)
    if not u < across < w:
        return []
    tangent, chord = v + at_left * (across - u), v + (z - v) * (across - u) / (w - u)
    return [(across, min(tangent, chord), max(tangent, chord))]


def _band(
    places: Sequence[tuple[float, float, float]],
    widths: Sequence[float],
    measures: tuple[Measure, Measure],
    how: str,
) -> Band:
    kept = [p for i, p in enumerate(places) if i == 0 or p != places[i - 1]]
    u, low, high = np.array(kept, float).T
    first, second = measures
    at, lower, upper = first.values(u), second.values(low), second.values(high)
    if second.maximize:
        lower, upper = upper, lower
    if first.maximize:
        at, lower, upper = at[::-1], lower[::-1], upper[::-1]
    return Band(at, lower, upper, tuple(widths), how, (first.log, second.log))


def _finer(places: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Cut long straight lines, so that they look right where axes are not logarithmic."""
    found: list[tuple[float, float, float]] = list(places[:1])
    for a, b in itertools.pairwise(places):
        far = max(abs(x - y) for x, y in zip(a, b, strict=True))
        parts = min(max(math.ceil(far / BAND_STEP), 1), MOST_BAND_STEPS)
        for k in range(1, parts):
            u, low, high = (x + (y - x) * k / parts for x, y in zip(a, b, strict=True))
            found.append((u, low, high))
        found.append(b)
    return found
