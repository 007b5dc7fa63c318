"""Points along the front of two objectives, and boxes that hold whatever lies between them.

Everything is in coordinates (a, b) that are both to be small, and 0 to 1 along the front. A probe asks for
the least a with b at most a level, or the other way round; what it finds, or does not find, shrinks a box.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dse.system.records import dataclass

ENCLOSURE_POINTS = 20
PROBES_PER_POINT = 6
COINCIDENT = 1e-6
# of designs that do not change continuously: how often in a row the half of a box may be empty before its nearest
# neighbour is asked for
MISSES = 2
JUMP = 0.5
ALIKE_BOXES = 0.5
LEAST_A, LEAST_B = 0, 1


class Place(NamedTuple):
    """A design on the front: its two coordinates, and the design itself."""

    a: float
    b: float
    design: Any

    def same(self, other: Place, within: float = COINCIDENT) -> bool:
        """Whether two designs are one point of the front."""
        return abs(self.a - other.a) <= within and abs(self.b - other.b) <= within


Probes = Callable[[Sequence[tuple[int, float]]], list[Place | None]]


@dataclass(frozen=True, slots=True)
class Box:
    """Two neighbours on the front, and the coordinates that any design of the front between them has.

    ``missed``: how many probes in a row found nothing new in it.
    """

    left: Place
    right: Place
    a: tuple[float, float]
    b: tuple[float, float]
    missed: int = 0

    @property
    def size(self) -> float:
        """Length of the diagonal."""
        return math.hypot(self.a[1] - self.a[0], self.b[1] - self.b[0])

    @property
    def distance(self) -> float:
        """Distance of the two neighbours."""
        return math.dist(self.left[:2], self.right[:2])

    @property
    def empty(self) -> bool:
        """Whether the front jumps here: next to nothing can lie between the neighbours."""
        return self.size <= JUMP * self.distance


class Enclosure:
    """A front between two ends, known ever better.

    ``probes`` answers several probes: (LEAST_A, level) is the design of least a with b <= level, (LEAST_B, level) the
    one of least b with a <= level; None where that failed. ``discrete``: there are only finitely many designs, so that
    nothing may lie between two neighbours; that is then proved by one more probe. ``same``: within which coordinates
    two designs are one point.
    """

    def __init__(
        self, first: Place, last: Place, probes: Probes, *, discrete: bool = False, same: float = COINCIDENT
    ) -> None:
        self._ask = probes
        self.discrete, self._near = discrete, same
        self.boxes = [Box(first, last, (first.a, last.a), (last.b, first.b))]
        self.probes = 0
        self._unsure = False

    @property
    def places(self) -> list[Place]:
        """The designs found, by rising a."""
        return [self.boxes[0].left, *(x.right for x in self.boxes)]

    @property
    def complete(self) -> bool:
        """Whether no design of the front is missing."""
        return not self._unsure and all(self._closed(x) for x in self.boxes)

    def refine(
        self, points: int, probes: int, fine: Callable[[Box], bool], *, together: bool = False
    ) -> None:
        """Split the largest box until there are ``points`` designs, or all boxes are ``fine``.

        No more than ``probes`` probes in all. ``together``: all boxes of about the largest size at once.
        """
        while len(self.boxes) + 1 < points and self.probes < probes:
            coarse = [i for i, box in enumerate(self.boxes) if not (fine(box) or self._closed(box))]
            if not coarse:
                return
            coarse.sort(key=lambda i: -self.boxes[i].size)
            room = min(points - len(self.boxes) - 1, probes - self.probes) if together else 1
            least = ALIKE_BOXES * self.boxes[coarse[0]].size
            chosen = sorted(i for i in coarse[:room] if self.boxes[i].size >= least)
            asked = [self._probe(self.boxes[i]) for i in chosen]
            self.probes += len(asked)
            found = self._ask(asked)
            self._unsure |= None in found
            # from the end, so that places before stay where they are
            for i, probe, place in zip(reversed(chosen), reversed(asked), reversed(found), strict=True):
                self.boxes[i : i + 1] = self._split(self.boxes[i], *probe, place)

    def _closed(self, box: Box) -> bool:
        """Whether nothing of the front lies in a box; a probe beside an end leaves twice ``same`` of it."""
        width, height = box.a[1] - box.a[0], box.b[1] - box.b[0]
        return self.discrete and min(width, height) <= 2.5 * self._near

    def _probe(self, box: Box) -> tuple[int, float]:
        """The next probe of a box: the middle of its longer side, or the nearest neighbour of its left end."""
        if self.discrete and box.missed >= MISSES:
            return LEAST_A, box.b[1] - 2.0 * self._near
        which = LEAST_A if box.b[1] - box.b[0] >= box.a[1] - box.a[0] else LEAST_B
        return which, sum(box.b if which == LEAST_A else box.a) / 2

    def _split(self, box: Box, which: int, level: float, found: Place | None) -> list[Box]:
        """Divide a box by what a probe found in it."""
        sides = box.b if which == LEAST_A else box.a
        end = box.right if which == LEAST_A else box.left
        if found is None or found.same(end, self._near) or not self._inside(box, found):
            # nothing this side of the level but the end itself
            shrunk = (level, sides[1])
            a, b = (box.a, shrunk) if which == LEAST_A else (shrunk, box.b)
            return [Box(box.left, box.right, a, b, box.missed + 1)]
        known_b, known_a = (level, box.a[0]) if which == LEAST_A else (found.b, level)
        left = Box(box.left, found, (box.a[0], found.a), (max(found.b, min(known_b, box.b[1])), box.b[1]))
        right = Box(found, box.right, (max(found.a, known_a), box.a[1]), (box.b[0], found.b))
        return [left, right]

    def _inside(self, box: Box, found: Place) -> bool:
        near = self._near
        return box.left.a - near <= found.a <= box.right.a + near and not found.same(box.left, near)


def spread(places: list[Place], count: int) -> list[tuple[int, float]]:
    """Return probes for ``count`` designs at equal distances along the curve through ``places``.

    The two ends are left out. Each probe is along the coordinate that changes faster there.
    """
    from scipy.interpolate import PchipInterpolator

    at = np.array([p[:2] for p in places])
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(at, axis=0).T))])
    curve = PchipInterpolator(along, at, axis=0)
    # the curve is longer than its chords, and not evenly so
    fine = np.linspace(0.0, along[-1], 200 * len(places))
    lengths = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(curve(fine), axis=0).T))])
    wanted = np.interp(np.linspace(0.0, lengths[-1], count)[1:-1], lengths, fine)
    slopes = np.abs(curve.derivative()(wanted))
    return [
        (LEAST_A, float(b)) if steep_b >= steep_a else (LEAST_B, float(a))
        for (a, b), (steep_a, steep_b) in zip(curve(wanted), slopes, strict=True)
    ]


def efficient(places: Iterable[Place], same: float = COINCIDENT) -> list[Place]:
    """Return the designs that no other one betters, without repetitions, by rising a."""
    kept: list[Place] = []
    for place in sorted(places, key=lambda p: (p.a, p.b)):
        if not kept or (place.b < kept[-1].b and not place.same(kept[-1], same)):
            kept.append(place)
    return kept
