"""What is least of several convex curves: the points that none of them betters, as straight pieces.

A curve is a convex chain of vertices by rising first and falling second coordinate, both to be small. Of a union
of such curves the points that nothing betters need not hang together: pieces may be single points, and there may
be steps between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass

# of the size of a number: two that are nearer are one
ONE_NUMBER = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class Vertex:
    """A design: its two coordinates, and where it is in the program number ``owner`` (``at`` may be anything)."""

    a: float
    b: float
    at: Array
    owner: int = 0


Curve = tuple[Vertex, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A straight part of the front between two vertices of one curve, or (both the same) a single point.

    ``opens``, ``closes``: whether its left and right end are themselves undominated; where not, the front comes as
    near to them as one likes.
    """

    left: Vertex
    right: Vertex
    opens: bool = True
    closes: bool = True

    @property
    def single(self) -> bool:
        """Whether it is one point."""
        return self.left is self.right


def near(x: float, y: float) -> bool:
    """Whether two coordinates are the same but for rounding."""
    return abs(x - y) <= ONE_NUMBER * max(abs(x), abs(y))


def same(p: Vertex, q: Vertex) -> bool:
    """Whether two vertices are one point."""
    return near(p.a, q.a) and near(p.b, q.b)


def between(left: Vertex, right: Vertex, share: float) -> Vertex:
    """The point that lies ``share`` of the way from one vertex to another of the same curve."""
    if share in (0.0, 1.0):
        return right if share else left
    rest = 1.0 - share
    a, b = rest * left.a + share * right.a, rest * left.b + share * right.b
    return Vertex(a, b, rest * left.at + share * right.at, left.owner)


def at_level(left: Vertex, right: Vertex, b: float) -> Vertex:
    """The point of a straight part where the second coordinate is ``b``."""
    share = (left.b - b) / (left.b - right.b) if left.b > right.b else 0.0
    return between(left, right, min(max(share, 0.0), 1.0))


def short(piece: Piece, step: float) -> tuple[Vertex, Vertex]:
    """Both ends of a piece, a relative ``step`` inside where they do not belong to the front themselves."""
    left, right = piece.left, piece.right
    p, q = left, right
    if not piece.opens:
        p = at_level(left, right, max(left.b - step * abs(left.b), right.b))
    if not piece.closes:
        share = step * abs(right.a) / (right.a - left.a) if right.a > left.a else 0.0
        q = between(left, right, max(1.0 - share, 0.0))
    return p, q


def corners(curve: Sequence[Vertex]) -> Curve:
    """A chain without the vertices at which it does not bend, and without repetitions."""
    kept: list[Vertex] = []
    for v in sorted(curve, key=lambda v: (v.a, -v.b)):
        if kept and (near(v.b, kept[-1].b) or v.b >= kept[-1].b):
            continue
        if kept and near(v.a, kept[-1].a):
            kept.pop()
        while len(kept) > 1 and not _bends(kept[-2], kept[-1], v):
            kept.pop()
        kept.append(v)
    return tuple(kept)


def _bends(p: Vertex, q: Vertex, r: Vertex) -> bool:
    across, down = r.a - p.a, p.b - r.b
    below = (q.a - p.a) * down - (p.b - q.b) * across
    noise = ONE_NUMBER * (max(abs(p.a), abs(r.a)) * down + max(abs(p.b), abs(r.b)) * across)
    return -below > noise


def envelope(curves: Iterable[Curve]) -> list[Piece]:
    """The undominated points of all curves, by rising first coordinate."""
    pieces: list[Piece] = []
    for curve in curves:
        pieces = merged(pieces, curve)
    return pieces


def merged(pieces: Sequence[Piece], curve: Curve) -> list[Piece]:
    """The undominated points of a front and one more curve."""
    new = [Piece(p, q) for p, q in itertools.pairwise(curve)] or [Piece(curve[0], curve[0])]
    if not pieces:
        return new
    if len(curve) == 1 and all(p.single for p in pieces):
        return points([*pieces, *new])
    every = _Parts((*pieces, *new))
    levels = _crossing_levels(every, len(pieces))
    found = _stretches(every, levels)
    found += [Piece(v, v) for v in every.vertices() if every.undominated(v)]
    return _tidy(found)


def points(singles: list[Piece]) -> list[Piece]:
    """The undominated ones of single points."""
    kept: list[Piece] = []
    for p in sorted(singles, key=lambda p: (p.left.a, p.left.b)):
        if kept and not _is_clearly_below(p.left.b, kept[-1].left.b):
            continue
        if kept and near(p.left.a, kept[-1].left.a):
            kept.pop()
        kept.append(p)
    return kept


class _Parts:
    """Straight parts as arrays, and what is least on them."""

    def __init__(self, parts: Sequence[Piece]) -> None:
        self.parts = parts
        self.left, self.right = (
            np.array([[v.a, v.b] for v in vertices])
            for vertices in ([p.left for p in parts], [p.right for p in parts])
        )
        self.single = np.array([p.single for p in parts], dtype=bool)

    def vertices(self) -> list[Vertex]:
        """Every end that belongs to its part, once."""
        ends = [v for p in self.parts for v, own in ((p.left, p.opens), (p.right, p.closes)) if own]
        return list(dict.fromkeys(ends))

    def least(self, which: int, at_most: float) -> Array:
        """Least coordinate ``which`` on every part where the other one is at most so much."""
        x, y = (self.left, self.right) if which == 0 else (self.right, self.left)
        other = 1 - which
        full = x[:, other] <= at_most
        with np.errstate(all="ignore"):
            share = (at_most - y[:, other]) / (x[:, other] - y[:, other])
            there = y[:, which] + share * (x[:, which] - y[:, which])
        reached = (y[:, other] <= at_most) | _are_equal(y[:, other], at_most)
        return np.where(
            full, x[:, which], np.where(reached, np.where(y[:, other] <= at_most, there, y[:, which]), np.inf)
        )

    def undominated(self, v: Vertex) -> bool:
        """Whether no point is better than ``v`` in one coordinate and as good in the other."""
        a, b = self.least(0, v.b).min(), self.least(1, v.a).min()
        return not (_is_clearly_below(a, v.a) or _is_clearly_below(b, v.b))


def _are_equal(x: Array, y: float) -> Bools:
    return np.asarray(np.abs(x - y) <= ONE_NUMBER * np.maximum(np.abs(x), abs(y)))


def _is_clearly_below(x: float, y: float) -> bool:
    return x < y and not near(x, y)


def _crossing_levels(every: _Parts, known: int) -> list[float]:
    """Second coordinates between which no two parts change places."""
    left, right = every.left, every.right
    (ax, bx), (da, db) = left.T, (right - left).T
    old, new = np.arange(known), np.arange(known, len(every.parts))
    i, j = (k.ravel() for k in np.meshgrid(old, new))
    with np.errstate(all="ignore"):
        cross = da[i] * db[j] - db[i] * da[j]
        share = ((ax[j] - ax[i]) * db[j] - (bx[j] - bx[i]) * da[j]) / cross
        found = [bx[i] + share * db[i]]
        for m, n in ((i, j), (j, i)):
            found += [bx[m] + (a - ax[m]) / da[m] * db[m] for a in (left[n, 0], right[n, 0])]
    inside = np.concatenate(found)
    ends = np.concatenate([left[:, 1], right[:, 1]])
    inside = inside[np.isfinite(inside) & (inside > ends.min()) & (inside < ends.max())]
    levels: list[float] = []
    for b in [*sorted({*ends.tolist(), *inside.tolist()})]:
        if not levels or not near(b, levels[-1]):
            levels.append(b)
    return levels


def _stretches(every: _Parts, levels: list[float]) -> list[Piece]:
    """Which part is the least between two levels, where it is undominated; neighbours of one part in one piece."""
    spans: list[tuple[int, float, float]] = []
    for low, high in itertools.pairwise(levels):
        middle = (low + high) / 2
        here = every.least(0, middle)
        k = int(np.argmin(here))
        if every.single[k] or every.left[k, 1] <= middle:
            continue
        joined = bool(spans) and spans[-1][0] == k and spans[-1][2] == low
        spans.append((k, spans.pop()[1] if joined else low, high))
    return [p for k, low, high in spans if (p := _undominated_piece(every, k, low, high)) is not None]


def _undominated_piece(every: _Parts, k: int, low: float, high: float) -> Piece | None:
    part = every.parts[k]
    left, right = (
        end if near(end.b, b) else at_level(part.left, part.right, b)
        for end, b in ((part.left, high), (part.right, low))
    )
    if near(left.a, right.a) or near(left.b, right.b):
        return None
    opens, closes = every.undominated(left), every.undominated(right)
    return Piece(
        left,
        right,
        opens and (left is not part.left or part.opens),
        closes and (right is not part.right or part.closes),
    )


def _tidy(found: list[Piece]) -> list[Piece]:
    """By rising first coordinate; no single point that lies on a longer piece, or that stands twice."""
    long = [p for p in found if not p.single]
    points = [p for p in found if p.single and not any(_on(piece, p.left) for piece in long)]
    kept: list[Piece] = []
    for p in sorted([*long, *points], key=lambda p: (p.left.a, p.right.a)):
        if not (kept and p.single and kept[-1].single and same(p.left, kept[-1].left)):
            kept.append(p)
    return kept


def _on(piece: Piece, v: Vertex) -> bool:
    """Whether a point is on a piece, but for rounding; an end counts only where it belongs to the piece."""
    p, q = piece.left, piece.right
    if same(p, v) or same(q, v):
        return (piece.opens and same(p, v)) or (piece.closes and same(q, v))
    inside = q.b <= v.b <= p.b and p.a <= v.a <= q.a
    across = between(p, q, (v.a - p.a) / (q.a - p.a))
    return inside and (near(at_level(p, q, v.b).a, v.a) or near(across.b, v.b))
