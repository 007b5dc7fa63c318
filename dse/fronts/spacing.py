"""Where a front of several objectives may have designs far from all that are known: what to ask for next.

Everything is in coordinates that are all to be small, 0 to 1 along the front. A question is for the least of one of
them within limits on the others. Its answer says that nothing is better within them, and by that where nothing is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import field

import numpy as np

from dse.fronts.enclosure import COINCIDENT
from dse.system.arrays import Array
from dse.system.records import dataclass

Spot = tuple[float, ...]

FREE = math.inf
"""The level of no limit: some designs of a front are worse in one objective than all that are best in another."""
KNOWN_TO = 1e-3
"""Where a coordinate is known to this, nothing is asked for."""
ASKED_TWICE = 0.7
"""Weight of a question whose answer is then stated in the terms of the first objective, by another question."""
PERHAPS_NONE = 0.5
"""Weight of a question that perhaps no design answers."""
QUESTIONS, MOST_QUESTIONS = 1024, 16384
"""How many questions for each coordinate are thought of, at first and at most."""


@dataclass(frozen=True, slots=True)
class Place:
    """A question: the least of coordinate ``goal`` with each other at most ``limits`` (of the goal: ``FREE``).

    ``far``: how far its answer may be from all known designs, where a design moves no farther than its limits.
    """

    goal: int
    limits: Spot
    far: float


@dataclass(slots=True)
class _Lines:
    """All questions for one coordinate, on a grid of limits on the others (``others``); a limit of 1 is none.

    ``far``: see ``Place``. ``low``, ``high``: what of the goal's coordinate is known of each answer.
    """

    goal: int
    others: list[int]
    levels: Array
    far: Array = field(init=False)
    low: Array = field(init=False)
    high: Array = field(init=False)

    def __post_init__(self) -> None:
        size = len(self.levels)
        self.far, self.low, self.high = np.full(size, FREE), np.zeros(size), np.full(size, FREE)

    def limits(self) -> Array:
        """The limits on the other coordinates, one row a question."""
        return np.where(self.levels >= 1.0, FREE, self.levels)

    def question(self, i: int) -> Spot:
        """The limits of one question on all coordinates."""
        spot = [FREE] * (len(self.others) + 1)
        for place, level in zip(self.others, self.limits()[i], strict=True):
            spot[place] = float(level)
        return tuple(spot)

    def moved(self, asked: Spot, reached: Spot) -> Array:
        """How much the limits differ from those that gave an answer already; limits that it leaves room to do not."""
        asked_here = np.minimum(np.array(asked)[self.others], 1.0)
        reached_here = np.minimum(np.array(reached)[self.others], 1.0)
        tighter, wider = (
            np.maximum(reached_here - self.levels, 0.0),
            np.maximum(self.levels - asked_here, 0.0),
        )
        return np.asarray(np.linalg.norm(tighter + wider, axis=1))


class Spacing:
    """What is known of a front of ``count`` coordinates: designs, and where there are none.

    ``steps``: levels of each limit (0: as many as give ``QUESTIONS`` for each coordinate).
    """

    def __init__(self, count: int, steps: int = 0) -> None:
        self.count = count
        self.steps = steps or round(QUESTIONS ** (1.0 / (count - 1)))
        # the loosest come first: what they leave room to is answered for all that are stricter
        levels = np.arange(self.steps, 0, -1) / self.steps
        grid = np.array(list(itertools.product(levels, repeat=count - 1)))
        self._lines = [_Lines(k, [i for i in range(count) if i != k], grid) for k in range(count)]
        self._notes: list[Callable[[Spacing], None]] = []

    @property
    def step(self) -> float:
        """The distance of two levels."""
        return 1.0 / self.steps

    def finer(self) -> Spacing | None:
        """The same with levels half as far from each other; None where they are as close as they get."""
        if (2 * self.steps) ** (self.count - 1) > MOST_QUESTIONS:
            return None
        halved = Spacing(self.count, 2 * self.steps)
        for note in self._notes:
            note(halved)
        return halved

    def found(self, at: Spot) -> None:
        """Note a design that no other betters: it answers every question with what it is as limits."""
        self._notes.append(lambda x: x.found(at))
        spot = np.array(at)
        for line in self._lines:
            within = np.all(spot[line.others] <= line.limits() + COINCIDENT, axis=1)
            line.high = np.where(within, np.minimum(line.high, spot[line.goal]), line.high)
            line.far = np.minimum(line.far, line.moved(at, at))
        self._nothing_below(at)

    def answered(self, goal: int, limits: Spot, reached: Spot | None, least: float) -> None:
        """Note where the least of a coordinate was found within limits (None: nothing is within them).

        ``least``: a proved lower bound of the coordinate within these limits (``FREE``: nothing is within them).
        """
        self._notes.append(lambda x: x.answered(goal, limits, reached, least))
        line = self._lines[goal]
        line.far = np.minimum(line.far, line.moved(limits, reached or (-FREE,) * self.count))
        corner = list(limits)
        corner[goal] = least
        self._nothing_below(tuple(corner))

    def failed(self, goal: int, limits: Spot) -> None:
        """Note a question that has no answer, which says nothing of others."""
        self._notes.append(lambda x: x.failed(goal, limits))
        line = self._lines[goal]
        line.far = np.minimum(line.far, line.moved(limits, limits))

    def _nothing_below(self, corner: Spot) -> None:
        """Note that no design is less than this in all coordinates."""
        spot = np.array(corner)
        for line in self._lines:
            within = np.all(line.limits() <= spot[line.others] + COINCIDENT, axis=1)
            line.low = np.where(within, np.maximum(line.low, spot[line.goal]), line.low)

    def farthest(self) -> Place | None:
        """The question whose answer may be farthest from all known designs; None where all is known."""
        best, chosen = 0.0, None
        for line in self._lines:
            weight = np.where(np.isfinite(line.high), 1.0, PERHAPS_NONE)
            weight *= ASKED_TWICE if line.goal else 1.0
            worth = np.where(line.low + KNOWN_TO < line.high, line.far * weight, 0.0)
            i = int(worth.argmax())
            if worth[i] > best:
                best, chosen = float(worth[i]), Place(line.goal, line.question(i), float(line.far[i]))
        return chosen
