"""A chunk in pieces, cut by the time that points are seen to take, each kept in the store as soon as it is done.

How long points take is declared (``solvers.work``), and may be wrong by much: points without a design, say, are
searched for why. So a chunk begins with a few of its points, and what follows is as large as lasts about two seconds.
Where no clock cuts, chunks do: a point has the same numbers in whatever piece (see ``offers.Path``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial

import results.dataset
from dse.system.records import dataclass
from formulations import handover
from formulations.grids import over_grid
from results.dataset import Arrays, Layout
from results.stores.files.pieces import Kept
from scenarios import Grid

PIECE_SECONDS = 2.0
"""What a piece is to last: so often does progress move, and about so much is lost where a sweep is interrupted."""
KEPT_SECONDS = 1.0
"""Work of which a sweep writes down what is done, while a chunk lasts."""
SEARCHED_OFF, UNKNOWN_OFF = 8.0, 64.0
"""By what factor points may take longer than declared: where they are searched, and where nobody knows. A chunk begins
with so many points that this factor keeps them within a piece, and with one in so many of its points at least."""
FIRST_CUTS, GROWTH, LOOKED = 8, 8.0, 0.5
"""Into how many parts the first cuts are. A piece is at most so many times as large as the one before; where points
seem to take long the second one is so many times as large, to see whether it is the points."""
LEFT_WHOLE = 1.5
"""So many times as many points as are wanted are not cut."""
TIMES_LONGER, LEAST_OF_ALL = 5.0, 4.0
"""Pieces are so much longer at most where each takes a time, however few its points, beside so many times that."""

Told = Callable[[int], None]
"""What is called with the number of points of a chunk that are solved so far."""
Solved = tuple[Arrays, int, Mapping[str, int]]
"""The arrays of a block, how many points a way for whole blocks left over, and why."""
Region = tuple[slice, ...]


@dataclass(slots=True)
class Pace:
    """How fast this process answers points of a grid.

    ``room``: so many points are to make up the next piece (0: unknown). ``slow``: seconds of a point, of the last
    pieces rather than of those before. ``last``: points and seconds of the last piece. ``looked``: whether pieces of
    several sizes were seen.
    """

    room: float = 0.0
    slow: float = 0.0
    last: tuple[int, float] = (0, 0.0)
    looked: bool = False

    def take(self, points: int, seconds: float) -> None:
        """Note how long a piece took; where points take long that is remembered for a few pieces."""
        (before, lasted), self.last = self.last, (points, seconds)
        self.slow = max(seconds / points, 0.5 * (self.slow + seconds / points), 1e-12)
        wanted = PIECE_SECONDS / self.slow
        if before and points != before:
            each = max((seconds - lasted) / (points - before), 1e-12)
            fixed = max(seconds - each * points, 0.0)
            wanted, self.looked = max(wanted, min(LEAST_OF_ALL * fixed / each, TIMES_LONGER * wanted)), True
        elif not self.looked:
            # of pieces of one size it is not known whether their points take the time
            wanted = max(wanted, (GROWTH if seconds < PIECE_SECONDS else LOOKED) * points)
        self.room = max(min(wanted, GROWTH * max(self.room, points)), 1.0)

    def of_piece(self, points: int, declared: float, off: float) -> float:
        """Return how many points the next piece of a chunk has; ``declared``: seconds of all its ``points``.

        ``off``: how many times as long they may take, about; 1: these are about right.
        """
        if self.room:
            return self.room
        return max(points * min(max(PIECE_SECONDS / max(declared, 1e-12), 1.0) / off, 1.0), 1.0)


@dataclass(slots=True)
class _Chunk:
    """What is put together of a chunk; ``held``: pieces that are done and not kept yet, with what they took."""

    arrays: Arrays
    alone: int = 0
    points: int = 0
    seconds: float = 0.0
    reasons: list[Mapping[str, int]] = field(default_factory=list)
    held: list[tuple[int, Solved, float]] = field(default_factory=list)

    def put(self, at: Region, found: Solved) -> None:
        for name, values in found[0].items():
            self.arrays[name][at] = values
        self.alone += found[1]
        self.reasons.append(found[2])
        self.points += math.prod(over_grid.sides(at))

    def keep(self, kept: Kept | None) -> None:
        if kept is None or sum(seconds for *_, seconds in self.held) < KEPT_SECONDS:
            return
        for node, (arrays, alone, reasons), seconds in self.held:
            kept.write(node, arrays, {"alone": alone, "left_over": dict(reasons), "seconds": seconds})
        self.held.clear()


@dataclass(slots=True)
class _Telling:
    """Tells how many points of a chunk are solved, each number once."""

    told: Told | None
    last: int = 0

    def further(self, before: int, points: int) -> None:
        if self.told is not None and before + points > self.last:
            self.last = before + points
            self.told(self.last)


def in_pieces(
    grid: Grid,
    plan: Layout,
    region: Region,
    solve: Callable[[Region, Told | None], Solved],
    pace: Pace,
    declared: float,
    off: float,
    told: Told | None = None,
    kept: Kept | None = None,
) -> tuple[Solved, float]:
    """Answer a block piece by piece; also the seconds that it took, those of pieces that were ``kept`` included.

    ``solve``: answers a piece, and calls what it is given with the number of its points that are solved.
    ``declared``: seconds of the whole block, which may take ``off`` times as long. ``told``: is called with the number
    of points of the block.
    """
    size = math.prod(over_grid.sides(region))
    chunk, telling = _Chunk({}), _Telling(told)
    waiting = [(1, region)]
    while waiting:
        node, piece = waiting.pop()
        points = math.prod(over_grid.sides(piece))
        cut = _in_two(grid, piece, FIRST_CUTS if node <= 2 else 2) if points > 1 else []
        stored = None
        if kept is not None and node in kept.nodes:
            stored = kept.read(node, results.dataset.blank(plan, over_grid.sides(piece)))
        if stored is None and cut:
            part_there = kept is not None and kept.below(node)
            if part_there or points > LEFT_WHOLE * pace.of_piece(size, declared, off):
                waiting += [(2 * node + 1, cut[1]), (2 * node, cut[0])]
                continue
        if stored is not None:
            found = stored[0], int(stored[1]["alone"]), stored[1]["left_over"]
            spent = float(stored[1]["seconds"])
        else:
            began = time.perf_counter()
            found = solve(piece, None if told is None else partial(telling.further, chunk.points))
            spent = time.perf_counter() - began
            pace.take(points, spent)
            chunk.held.append((node, found, spent))
        if points == size:
            return found, spent
        chunk.arrays = chunk.arrays or results.dataset.blank(plan, over_grid.sides(region))
        chunk.put(over_grid.within(piece, region), found)
        chunk.seconds += spent
        if waiting:
            chunk.keep(kept)
        telling.further(chunk.points, 0)
    return (chunk.arrays, chunk.alone, handover.merged(chunk.reasons)), chunk.seconds


def _in_two(grid: Grid, piece: Region, share: int) -> list[Region]:
    """Cut a piece where it is longest along what is given, else along limits, at which points share more."""
    sides = over_grid.sides(piece)
    given = {c.along for c in grid.changes if c.target.kind not in {"limit", "decide"}}
    along = [k for k in given if sides[k] > 1] or range(len(sides))
    axis = max(along, key=lambda k: (sides[k], -k))
    whole = piece[axis]
    middle = whole.start + max(sides[axis] // share, 1)
    parts = slice(whole.start, middle), slice(middle, whole.stop)
    return [(*piece[:axis], some, *piece[axis + 1 :]) for some in parts]
