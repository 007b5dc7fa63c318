"""Exact fronts of linear and mixed-integer programs: their breakpoints, or all their designs."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import replace

from dse.front_search import Front, Search
from results.solution import Solution
from solvers import front_points, program_front
from solvers.envelope import Piece, Vertex
from solvers.program_front import ProgramFront


def find(search: Search, points: int | None, tolerance: float | None, most: int) -> Front | None:
    """Find the exact front of a question; None where it has none that is exact.

    ``points``: how many there are to be at least, where segments can be cut; ``tolerance``: how far neighbours on
    a segment may be apart; ``most``: how many points there are at most if cutting makes them.
    """
    owners = program_front.owners(search.question)
    if not owners:
        return None
    found = program_front.enumerated(owners, search.count)
    if found is None or not found.pieces:
        refusal = search.refusal()
        if refusal is not None:
            return Front(search.question, refusal=refusal, solves=search.solves)
    if found is None:
        divisible = any(not d.integer and d.values is None for o in owners for d in o.question.decide)
        stop = program_front.CURVES if divisible or points is None else points
        try:
            found = program_front.searched(owners, stop, search.count)
        except ArithmeticError:
            return None
    return None if found is None or not found.pieces else _stated(search, found, points, tolerance, most)


def _stated(
    search: Search, found: ProgramFront, points: int | None, tolerance: float | None, most: int
) -> Front:
    """The front with all its points as answers."""
    plain = len(program_front.points(found))
    cuts = _cuts(found, plain, points, tolerance, most)
    chosen = program_front.points(found, cuts)
    designs = tuple(_answer(found, p.vertex) for p in chosen)
    apart = False if found.complete else None
    joined = [True if p.joined else apart for p in chosen]
    goals = search.question.objectives
    more = f"; {len(chosen) - plain} points on them added" if len(chosen) > plain else ""
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
    )


def _answer(found: ProgramFront, vertex: Vertex) -> Solution:
    """A point with the design that ties go to."""
    settled, ranges = front_points.settled(found, vertex)
    return replace(front_points.solution(found, settled, slopes=True), ranges=ranges)


def _cuts(
    found: ProgramFront, plain: int, points: int | None, tolerance: float | None, most: int
) -> Sequence[int]:
    """Into how many parts every piece is cut."""
    if tolerance is not None:
        wanted = [_parts(p, tolerance) for p in found.pieces]
        more = sum(w - 1 for w in wanted)
        return wanted if plain + more <= most else _spread(found.pieces, max(most - plain, 0))
    return _spread(found.pieces, max((points or 0) - plain, 0))


def _parts(piece: Piece, tolerance: float) -> int:
    """Into how many parts a segment is cut so that neighbours differ by less than this in each coordinate."""
    if piece.single:
        return 1
    steps = [
        abs(x - y) / (tolerance * (min(abs(x), abs(y)) or max(abs(x), abs(y))))
        for x, y in ((piece.left.a, piece.right.a), (piece.left.b, piece.right.b))
    ]
    return max(1, math.ceil(max(steps) * (1.0 - 1e-9)))


def _spread(pieces: Sequence[Piece], more: int) -> list[int]:
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
