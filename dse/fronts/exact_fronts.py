"""Exact fronts of linear and mixed-integer programs: their breakpoints, or all their designs."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dse.fronts import bands, front_curves, listed_fronts
from dse.fronts.bands import Band, Corner
from dse.fronts.enclosure import ENCLOSURE_POINTS
from dse.fronts.front_search import Front, Search
from dse.quantities import plural
from results.solution import Solution
from solvers.fronts import front_points, program_front
from solvers.fronts.asking import Measure
from solvers.fronts.envelope import Piece, Vertex
from solvers.fronts.program_front import Owner, ProgramFront

BENT = 24
"""Parts of a segment that is straight in a reciprocal, so that it looks bent where it is."""
LEVELS = 8
"""Between two neighbours of a front that may not be complete: at how many levels what is proved is asked for."""


def find(search: Search, points: int | None, most: int, tolerance: float | None = None) -> Front | None:
    """Find the exact front of a question; None where it has none that is exact.

    Of whole numbers that have many values, and where fewer points are asked for than there are designs, it is a number
    of its points, spread evenly. ``points``: how many; where segments can be cut, how many at least; ``most``: how many
    at most if cutting makes them, a ``tolerance`` asks for them or all designs are listed. Of three objectives and more
    it is exact where all designs are listed and few.
    """
    if len(search.question.objectives) > 2:
        return listed_fronts.find(search, points, most)
    owners = program_front.owners(search.question)
    if not owners:
        found = program_front.listed(search.question, search.count)
        # without any design, why is told by the search
        return _front_of_lists(search, found, points, most) if found is not None and found.pieces else None
    found = program_front.enumerated(owners, search.count)
    if found is None and not _all_wanted(owners, points, tolerance):
        return _front_by_halving(search, points or (most if tolerance else ENCLOSURE_POINTS), tolerance)
    if found is None or not found.pieces:
        refusal = search.refusal()
        if refusal is not None:
            return Front(search.question, refusal=refusal, solves=search.solves)
    if found is None:
        try:
            found = program_front.searched(owners, program_front.CURVES, search.count)
        except ArithmeticError:
            return None
    return None if found is None or not found.pieces else _front_of_answers(search, found, points, most)


def _all_wanted(owners: Sequence[Owner], points: int | None, tolerance: float | None) -> bool:
    """Whether the whole front is looked for: straight segments always, designs where there may be few of them.

    Where anything is counted in whole numbers there are many designs between any two.
    """
    if any(not d.integer and d.values is None for o in owners for d in o.question.decide):
        return True
    counted = any(
        bool((p.integer & (p.high - p.low > 1.0)).any()) for o in owners if (p := o.program) is not None
    )
    return points is None and tolerance is None and not counted


def _front_by_halving(search: Search, most: int, tolerance: float | None) -> Front | None:
    """At most so many points, by halving the widest gap; all of the designs where they are fewer.

    None where an objective has no end.
    """
    asked = search.briefly()
    if asked.ends() is not None:
        return None
    found = front_curves.curve(asked, most, tolerance)
    complete, count = found.method == front_curves.COMPLETE or len(found.points) == 1, len(found.points)
    kind = program_front.COMPLETE if complete else program_front.PARTIAL
    how = found.method.removeprefix("complete: ")
    return replace(
        found,
        jumps=count - 1,
        method=f"{kind} ({plural(count, 'point')}; {how}; each proved to be best)",
        kind=kind,
        joined=(False if complete else None,) * count,
        straight_in=tuple(g.name for g in search.goals),
    )


def _front_of_lists(search: Search, found: ProgramFront, points: int | None, most: int) -> Front:
    """The front of listed designs: all points, or of more than ``most`` and than ``points`` so many, spread evenly."""
    every = program_front.points(found)
    if len(every) <= max(points or 0, most):
        return _front_of_answers(search, found, points, most)
    at = np.array([(p.vertex.a, p.vertex.b) for p in every])
    chosen = listed_fronts.evenly(at, search.goals, points or most)
    part = replace(
        found,
        kind=program_front.PARTIAL,
        method=listed_fronts.part_in_words(found.method, len(chosen), len(every)),
    )
    return Front(
        search.question,
        tuple(_answer(part, every[i].vertex) for i in chosen),
        solves=search.solves,
        jumps=sum(j - i == 1 for i, j in itertools.pairwise(chosen)),
        method=part.method,
        kind=part.kind,
        # between two that are neighbours among all there is nothing
        joined=tuple(False if j - i == 1 else None for i, j in itertools.pairwise([*chosen, chosen[-1] + 1])),
        straight_in=tuple(g.name for g in search.goals),
        band=_band(found, len(chosen)),
    )


def _front_of_answers(search: Search, found: ProgramFront, points: int | None, most: int) -> Front:
    """The front with all its points as answers."""
    plain = len(program_front.points(found))
    cuts = _points_per_piece(found.pieces, max(min(points or 0, most) - plain, 0))
    chosen = program_front.points(found, cuts)
    designs = tuple(_answer(found, p.vertex) for p in chosen)
    apart = False if found.complete else None
    joined = [True if p.joined else apart for p in chosen]
    goals = search.question.objectives
    more = f"; {plural(len(chosen) - plain, 'point')} on them added" if len(chosen) > plain else ""
    return Front(
        search.question,
        designs,
        solves=search.solves,
        jumps=sum(not p.joined for p in chosen[:-1]),
        method=found.method + more,
        kind=found.kind,
        joined=tuple(joined),
        straight_in=tuple(
            f"1/{g.name}" if s.over else g.name for g, s in zip(goals, found.senses, strict=True)
        ),
        band=_band(found, len(chosen)),
    )


def _answer(found: ProgramFront, vertex: Vertex) -> Solution:
    """A point with the design that ties go to."""
    settled, ranges = front_points.settled(found, vertex)
    return replace(front_points.solution(found, settled), ranges=ranges)


def _band(found: ProgramFront, count: int) -> Band:
    """What is proved between the points: the front itself, or stairs where something may be missing."""
    first, second = (Measure(g.maximize) for g in found.question.objectives)

    def spot(v: Vertex) -> bands.Spot:
        a, b = (s.value(c) for s, c in zip(found.senses, (v.a, v.b), strict=True))
        return first.small(a), second.small(b)

    every = program_front.points(found, [1 if p.single or found.straight else BENT for p in found.pieces])
    if found.complete:
        places: list[tuple[float, float, float]] = []
        for before, point in zip([None, *every], every, strict=False):
            u, v = spot(point.vertex)
            if before is not None and before.joined and not found.straight:
                slopes = (
                    _slope(found, before.vertex, point.vertex, at) for at in (before.vertex, point.vertex)
                )
                places += bands.bent((places[-1][:2], (u, v)), *slopes)
            elif before is not None and not before.joined:
                # nothing between: as good as the one before, until the next one is reached
                places.append((u, places[-1][1], places[-1][1]))
            places.append((u, v, v))
        return bands.of_curve(places, (first, second), count - 1)
    spots = [spot(p.vertex) for p in every]
    corners = [
        Corner(first.small(found.bound(p.vertex, b)), second.small(found.senses[1].value(b)))
        for p, b in _bound_levels(every, sorted({x.b for group in found.proofs for x in group}))
    ]
    return bands.stairs(spots, corners, (first, second))


def _slope(found: ProgramFront, left: Vertex, right: Vertex, at: Vertex) -> float:
    """How the second objective moves with the first, both to be small, at a place of a segment."""
    turned = [-1.0 if g.maximize else 1.0 for g in found.question.objectives]
    moves = ((at.a, right.a - left.a), (at.b, right.b - left.b))
    first, second = (t * s.rate(c) * d for t, s, (c, d) in zip(turned, found.senses, moves, strict=True))
    return second / first


def _bound_levels(
    every: Sequence[program_front.Point], asked: Sequence[float]
) -> Iterator[tuple[program_front.Point, float]]:
    """Values of the second coordinate at which bounds are asked for, each with the point that holds it."""
    for i, point in enumerate(every):
        above = every[i - 1].vertex.b if i else point.vertex.b
        for k in range(LEVELS if i else 1):
            yield point, point.vertex.b + (above - point.vertex.b) * k / LEVELS
        # what was asked for holds up to there, and no farther
        yield from ((point, b) for b in asked if point.vertex.b < b < above)


def _points_per_piece(pieces: Sequence[Piece], more: int) -> list[int]:
    """Cut the longest parts until there are so many more points."""
    first, last = pieces[0].left, pieces[-1].right
    wide, tall = (last.a - first.a) or 1.0, (first.b - last.b) or 1.0
    lengths = [math.hypot((p.right.a - p.left.a) / wide, (p.left.b - p.right.b) / tall) for p in pieces]
    parts = [1] * len(pieces)
    heap = [(-length, k) for k, length in enumerate(lengths) if not pieces[k].single]
    heapq.heapify(heap)
    for _ in range(more if heap else 0):
        _, k = heapq.heappop(heap)
        parts[k] += 1
        heapq.heappush(heap, (-lengths[k] / parts[k], k))
    return parts
