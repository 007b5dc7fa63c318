"""What a vectorised way says of a grid: that it is for such questions, or why it is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from dse.system.arrays import Bools, Integers
from dse.system.records import dataclass
from results.dataset import Arrays, Layout
from scenarios.question import Question
from scenarios.sweep.grids import Grid


class Path(Protocol):
    """A way to answer many points of a grid at once.

    ``method``: how, in words for the dataset. ``kind``: how the grid is cut into chunks (see
    ``results.stores.chunks.chunk_shape``). A way that several threads may use at once has ``threads = True`` too: their
    chunks are then computed side by side in one process. One that tells what stands beside answers, where there is room
    for it, has ``explains = True``.
    """

    @property
    def grid(self) -> Grid:
        """The grid that is answered."""

    @property
    def method(self) -> str:
        """How, in words for the dataset."""

    @property
    def kind(self) -> str:
        """How the grid is cut into chunks."""

    @property
    def work(self) -> float:
        """What a point costs, in declared seconds of one core (see ``solvers.work``); fixed by the grid alone."""

    def solve(
        self, plan: Layout, region: tuple[slice, ...], asked: Bools | None = None
    ) -> tuple[Arrays, Bools]:
        """Answer a block: the arrays of its dataset, and the points left to the next way.

        ``asked``: the points that are asked (None: all); nothing is said of others. What the arrays hold at points left
        over is overwritten; a bound of the objective there is proved. A point's numbers depend on that point and its
        grid alone, not on the block it is in (where rows are scattered, also on those of its chunk). Why points are
        left over is counted (see ``formulations.handover``).
        """

    def part(self, places: Sequence[Integers]) -> Path:
        """Return the same way for some places along each axis of its grid."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a way says of a grid, by reading its question.

    ``path``: what answers it; None: nothing, and ``reason`` says why, unless the question is of another kind (empty).
    ``few``: the same way over a few of its points, which tell how long it takes (None: its declared work tells that).
    ``fewest``: where there are too few points, from how many it would answer them.
    """

    path: Path | None = None
    reason: str = ""
    few: Path | None = None
    fewest: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """The way that was chosen (None: each point is solved by itself), and what the others said against themselves.

    ``exceptions``: why some way could not even be asked: what nobody expected. ``left``: of the points that were
    tried, the share that the way leaves over (0 where none was). ``untried``: whether that is since a few take long.
    ``later``: the ways after it that are for such questions too, which what it leaves over is given to in turn.
    """

    path: Path | None = None
    reasons: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    left: float = 0.0
    untried: bool = False
    later: Callable[[], Sequence[Path]] = tuple


OF_A_STRUCTURE = 8
"""Points that have one structure, on average, from which they are cut into pieces along an axis."""
COMPILED = 1.1
"""Declared seconds in NumPy from which a way is compiled: the compiler takes up to 10 s, but once, and large
grids are then answered five to nine times as fast."""
CHOICES = 4096
"""Combinations of names that a way may still go through at every point."""
OTHER_KIND = Offer()
"""The question is not of the kind that a way answers."""


def pays(uncompiled: float, grid: Grid) -> bool:
    """Tell whether a grid of which a point is so much work is worth a compiler: not by what was compiled before."""
    return uncompiled * grid.size >= COMPILED


def too_few(kind: str, fewest: int) -> Offer:
    """Refuse a grid of fewer points than are worth loading compiled code for."""
    return Offer(reason=f"{kind}: solved together from {fewest} points on", fewest=fewest)


def choices(question: Question) -> int:
    """Return how many combinations of names there are to choose from."""
    return math.prod(len(d.choices) for d in question.decide if d.choices is not None)


def too_many_choices(kind: str, grid: Grid, most: int = CHOICES) -> Offer | None:
    """Refuse a grid at some point of which there are too many combinations of names."""
    if all(choices(q) <= most for q in grid.bases.values()):
        return None
    return Offer(reason=f"{kind}: there are more than {most} combinations of names")
