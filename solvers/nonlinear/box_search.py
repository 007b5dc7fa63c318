"""Whether limits can hold together, whatever the arithmetic: interval branch and bound, boxes of many points at once.

With the enclosures of ``solvers.nonlinear.interval``: a box in which some limit is certainly broken holds no design,
and a design that meets all limits ends the search of its point. One question is one point.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.grids.divided import Indices, at
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers import beyond, boxes
from solvers.boxes import Array, Space
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN, Codes
from solvers.nonlinear import interval

MOST_BOXES = 4000
"""Boxes of a point, at most: what is open by then is not known."""
BOXES_TOGETHER = 20_000
"""Boxes that are bounded together."""
EASY_BOXES, BOX_PARTS = 4000, 16
"""As many boxes take hardly longer than one; into so many parts is a box cut at most."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Boxes:
    """Boxes (rows, variables), and whose they are."""

    point: Indices
    low: Array
    high: Array

    def take(self, which: Any) -> _Boxes:
        return _Boxes(self.point[which], self.low[which], self.high[which])


def feasible(question: Question, where: Space, low: Array, high: Array) -> Codes:
    """Tell of N points whether a design meets all limits between ``low`` and ``high`` (N, variables).

    ``question`` holds plain numbers, or arrays along the points with no further dimension; ``where``: which values are
    allowed.
    """
    count = len(low)
    asked = replace(question, objectives=())
    met, work = np.zeros(count, bool), np.zeros(count, np.int64)
    failed = np.zeros(count, bool)
    low, high = where.snap(low, high)
    waiting = [_Boxes(np.arange(count), low, high).take(np.all(low <= high, axis=1))]
    while waiting:
        now = waiting.pop()
        if len(now.point) > BOXES_TOGETHER:
            waiting += [now.take(slice(BOXES_TOGETHER, None)), now.take(slice(BOXES_TOGETHER))]
            continue
        now = now.take(~met[now.point] & ~failed[now.point])
        if not len(now.point):
            continue
        np.add.at(work, now.point, 1)
        now, steep = _pruned(asked, where, now)
        met[now.point[_holds_a_design(asked, where, now)]] = True
        going = ~met[now.point]
        now, steep = now.take(going), steep[going]
        stuck = (where.width(now.low, now.high) <= interval.SMALLEST).all(axis=1) | (
            work[now.point] > MOST_BOXES
        )
        failed[now.point[stuck]] = True
        going = ~failed[now.point]
        if going.any():
            waiting.append(_cut_into_parts(where, now.take(going), steep[going]))
    return np.select([met, failed], [CAN_HOLD, NOT_KNOWN], CANNOT_HOLD).astype(np.int8)


def nothing_beyond(question: Question, count: int) -> Mask:
    """Tell at which of N points the limits leave nothing beyond the ends that only a search has (``beyond.beyond``)."""
    sure = np.ones(count, bool)
    for shell in beyond.beyond(question):
        ends = (np.tile(end, (count, 1)) for end in (shell.low, shell.high))
        sure &= feasible(question, shell, *ends) == CANNOT_HOLD
    return sure


def _pruned(question: Question, where: Space, now: _Boxes) -> tuple[_Boxes, Array]:
    """Boxes without what certainly breaks a limit, and how much each variable (rows, variables) moves the limits."""
    e = boxes.enclose(at(question, now.point), now.low, now.high)
    possible = ~np.any(e.low > 1.0 + HOLDS, axis=0)
    low, high = where.snap(*boxes.contract(e, now.low, now.high, np.full(len(e.low), 1.0 + HOLDS)))
    possible &= np.all(low <= high, axis=1)
    return _Boxes(now.point, low, high).take(possible), boxes.steepness(e)[possible]


def _holds_a_design(question: Question, where: Space, now: _Boxes) -> Mask:
    """Whether the middle or an end of a box is a design that meets all limits."""
    found = np.zeros(len(now.point), bool)
    if not len(now.point):
        return found
    asked = at(question, now.point)
    for x in (boxes.centres(now.low, now.high), now.low, now.high):
        worst, _ = boxes.measured(asked, where.point(x.copy()))
        found |= worst <= 1.0 + HOLDS
    return found


def _cut_into_parts(where: Space, now: _Boxes, steep: Array) -> _Boxes:
    """Cut boxes along the variable that moves their limits most: into more parts where few are open."""
    parts = int(np.clip(EASY_BOXES // len(now.point), 2, BOX_PARTS))
    rows = np.arange(len(now.point))
    j = (steep * where.width(now.low, now.high)).argmax(axis=1)
    low, high = now.low[rows, j], now.high[rows, j]
    share = np.arange(parts + 1)[:, None] / parts
    with np.errstate(all="ignore"):
        edges = np.where(low > 0, low * (high / np.where(low > 0, low, 1.0)) ** share, high * share**3)
    edges[0], edges[-1] = low, high
    cut = []
    for k in range(parts):
        left, right = now.low.copy(), now.high.copy()
        left[rows, j], right[rows, j] = edges[k], edges[k + 1]
        cut.append(where.snap(left, right))
    left, right = (np.concatenate(side) for side in zip(*cut, strict=True))
    every = _Boxes(np.tile(now.point, parts), left, right)
    return every.take(np.all(left <= right, axis=1))
