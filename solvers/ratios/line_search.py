"""One decided number, whatever the arithmetic: interval branch and bound over the boxes of many points at once.

What ``solvers.nonlinear.interval`` does for one question, along one variable. The model runs on intervals that know
their slopes, with arrays for what is given, so that one run bounds the boxes of all points.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import evaluation
from formulations.grids.divided import Indices, at
from formulations.tolerances import HOLDS, TIE
from scenarios.question import Question
from solvers import boxes
from solvers.boxes import Array, Space
from solvers.geometric.kernel import gp
from solvers.nonlinear.interval import HELD_WITHIN, SMALLEST

Bools = NDArray[np.bool_]

LINE_GAP = 1e-8
"""Relative: what is closed to this is closed."""
LINE_HOLDS = 1e-9
"""By how much a limit may be broken by a design that is handed out, where there are others close by."""
MOST_LINE_BOXES = 5000
"""Boxes of a point, at most: what is not closed by then is left to the single path."""
LINE_BOXES_TOGETHER = 40_000
"""Boxes that are bounded together."""
WIDE, WIDE_PARTS = 1.0, 8
"""A box wider than this, in logs, is cut into so many parts, any other into two."""
NEARBY, LINE_STEPS = 3e-3, 36
GOLDEN = (5.0**0.5 - 1.0) / 2.0


@dataclass(frozen=True, slots=True)
class Found:
    """What came of N questions: status (of the geometric kernel), the best number, what is minimised, its bound."""

    status: NDArray[np.int8]
    x: Array
    value: Array
    bound: Array


@dataclass(frozen=True, slots=True)
class _Boxes:
    """Stretches of the line: whose (N,), from where to where, and a bound of what is minimised there."""

    point: Indices
    low: Array
    high: Array
    key: Array

    def take(self, which: Any) -> _Boxes:
        return _Boxes(*(getattr(self, f.name)[which] for f in fields(self)))


@dataclass(slots=True)
class _State:
    question: Question
    where: Space
    x: Array
    value: Array
    closed: Array
    work: NDArray[np.int64]
    failed: Bools
    pool: list[_Boxes]

    @property
    def discrete(self) -> bool:
        return bool(self.where.discrete[0])


def minimise(question: Question, where: Space, low: Array, high: Array) -> Found:
    """Minimise the objective (one over it, where it is maximised) of every point between ``low`` and ``high``.

    ``question`` holds arrays along the points; ``where``: which numbers are allowed.
    """
    count = len(low)
    s = _State(
        question, where, np.full(count, np.nan), np.full(count, np.inf), np.full(count, np.inf),
        np.zeros(count, np.int64), np.zeros(count, bool), [],
    )  # fmt: skip
    open_ones = _snapped(s, _Boxes(np.arange(count), low, high, np.full(count, -np.inf)))
    while open_ones.point.size:
        now, rest = (
            open_ones.take(slice(LINE_BOXES_TOGETHER)),
            open_ones.take(slice(LINE_BOXES_TOGETHER, None)),
        )
        open_ones = _joined_boxes([_halved_boxes(s, _open_boxes(s, _undominated_boxes(s, now))), rest])
    if s.discrete and s.pool:
        _settle_by_order(s)
    else:
        _polish(s, low, high)
    bound = np.minimum(s.closed, s.value)
    met = np.isfinite(s.value)
    with np.errstate(invalid="ignore"):
        good = met & ~s.failed & (s.value - bound <= 2 * LINE_GAP * np.abs(s.value))
    status = np.where(good, gp.OPTIMAL, np.where(~met & ~s.failed, gp.INFEASIBLE, gp.FAILED))
    return Found(status.astype(np.int8), s.x, s.value, bound)


def _undominated_boxes(s: _State, now: _Boxes) -> _Boxes:
    """Cut off what certainly breaks a limit or is no better than the best, and try the ends and the middle."""
    np.add.at(s.work, now.point, 1)
    e = boxes.enclose(at(s.question, now.point), now.low[:, None], now.high[:, None])
    k, best = len(e.keys), s.value[now.point]
    margin = np.where(np.isfinite(best) & (not s.discrete), HELD_WITHIN, HOLDS)
    possible = ~np.any(e.low[:k] > 1.0 + margin, axis=0)
    cuts = np.tile(1.0 + margin, (len(e.low), 1))
    # what is tied stays, and so does what a sign tells nothing about
    cuts[-1] = np.where(best > 0, best * (1.0 + TIE), np.inf)
    key = np.maximum(now.key, e.low[-1])
    low, high = boxes.contract(e, now.low[:, None], now.high[:, None], cuts)
    now = _snapped(s, _Boxes(now.point, low[:, 0], high[:, 0], key).take(possible))
    middle = s.where.point(boxes.centres(now.low[:, None], now.high[:, None]))[:, 0]
    reached, *_ = [_try(s, now.point, x) for x in (now.low, np.clip(middle, now.low, now.high), now.high)]
    if s.discrete:
        # a single number is what it is, and none where it breaks a limit
        now = _Boxes(now.point, now.low, now.high, np.where(now.low >= now.high, reached, now.key))
    return now


def _try(s: _State, point: Indices, x: Array) -> Array:
    """Evaluate designs in plain floats, keep the best of each point, and return what they reach (infinite: none)."""
    worst, goal = boxes.measured(at(s.question, point), x[:, None])
    goal = np.where(np.isnan(goal) | (worst > 1.0 + (HOLDS if s.discrete else LINE_HOLDS)), np.inf, goal)
    least = s.value.copy()
    np.minimum.at(least, point, goal)
    gain = np.flatnonzero((goal < s.value[point]) & (goal == least[point]))
    s.value[point[gain]], s.x[point[gain]] = goal[gain], x[gain]
    if s.discrete:
        tied = np.isfinite(goal) & (goal <= least[point] + TIE * np.abs(least[point]))
        s.pool.append(_Boxes(point[tied], x[tied], x[tied], goal[tied]))
    return goal


def _open_boxes(s: _State, now: _Boxes) -> _Boxes:
    """Close boxes that hold nothing better, or cannot be cut."""
    best = s.value[now.point]
    with np.errstate(invalid="ignore"):
        slack = -TIE * np.abs(best) if s.discrete else LINE_GAP * np.abs(best)
        better = ~(now.key > best - slack)
    narrow = (now.low >= now.high) if s.discrete else (now.high - now.low <= SMALLEST * now.high)
    many = better & ~narrow & (s.work[now.point] >= MOST_LINE_BOXES)
    s.failed[now.point[many]] = True
    keep = better & ~narrow & ~s.failed[now.point]
    np.minimum.at(s.closed, now.point[~keep], now.key[~keep])
    return now.take(keep)


def _halved_boxes(s: _State, now: _Boxes) -> _Boxes:
    """Cut boxes by ratio."""
    if s.discrete:
        middle = s.where.down(0, boxes.centres(now.low[:, None], now.high[:, None])[:, 0])
        middle = np.maximum(middle, now.low)
        above = (
            middle + 1.0 if s.where.integer[0] else s.where.up(0, middle * (1 + 4 * boxes.LISTED_ROUNDING))
        )
        left = _Boxes(now.point, now.low, middle, now.key)
        return _joined_boxes([left, _Boxes(now.point, above, now.high, now.key)])
    wide = np.log(now.high / now.low) > WIDE
    parts = []
    for which, count in ((wide, WIDE_PARTS), (~wide, 2)):
        some = now.take(which)
        edges = some.low * (some.high / some.low) ** (np.arange(count + 1)[:, None] / count)
        edges[0], edges[-1] = some.low, some.high
        parts += [_Boxes(some.point, edges[i], edges[i + 1], some.key) for i in range(count)]
    return _joined_boxes(parts)


def _joined_boxes(parts: list[_Boxes]) -> _Boxes:
    return _Boxes(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(_Boxes)))


def _snapped(s: _State, now: _Boxes) -> _Boxes:
    """Boxes shrunk to the allowed numbers inside; empty ones go."""
    low, high = s.where.snap(now.low[:, None], now.high[:, None])
    now = _Boxes(now.point, low[:, 0], high[:, 0], now.key)
    return now.take(now.low <= now.high)


def _settle_by_order(s: _State) -> None:
    """Of allowed numbers that are tied, hand out the first by the order of ties, and then the smaller one."""
    every = _joined_boxes(s.pool)
    best = s.value[every.point]
    every = every.take(every.key <= best + TIE * np.abs(best))
    with np.errstate(all="ignore"):
        metrics = evaluation.metrics(at(s.question, every.point), {s.where.names[0]: every.low})
    known = {**metrics, s.where.names[0]: every.low}
    levels = [np.broadcast_to(known[n], every.point.shape) for n in s.question.tie_order if n in known]
    left = np.ones(every.point.size, bool)
    for level in (*levels, every.low):
        values = np.where(left, level, np.inf)
        least = np.full(s.x.size, np.inf)
        np.minimum.at(least, every.point, values)
        left &= values <= (least + TIE * np.abs(least))[every.point]
    s.x[every.point[left]] = every.low[left]


def _polish(s: _State, low: Array, high: Array) -> None:
    """Golden sections around the best design: where it is no limit that stops it, the gap leaves it to its root."""
    some = np.flatnonzero(np.isfinite(s.value))
    asked, x = at(s.question, some), s.x[some]

    def goal(x: Array) -> Array:
        worst, value = boxes.measured(asked, x[:, None])
        return np.where(np.isnan(value) | (worst > 1.0 + HELD_WITHIN), np.inf, value)

    a, b = np.maximum(x * (1 - NEARBY), low[some]), np.minimum(x * (1 + NEARBY), high[some])
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    at_c, at_d = goal(c), goal(d)
    for _ in range(LINE_STEPS):
        # of two that are out of reach the best design is on neither side: keep the side that it is on
        left = np.where(np.isinf(at_c) & np.isinf(at_d), x < d, at_c < at_d)
        a, b = np.where(left, a, c), np.where(left, d, b)
        fresh = np.where(left, b - GOLDEN * (b - a), a + GOLDEN * (b - a))
        value = goal(fresh)
        c, d = np.where(left, fresh, d), np.where(left, c, fresh)
        at_c, at_d = np.where(left, value, at_d), np.where(left, at_c, value)
    _try(s, some, (a + b) / 2)
