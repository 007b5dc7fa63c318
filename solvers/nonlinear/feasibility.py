"""Whether the limits of many points leave a design: in their boxes, and beyond the ends that only a search has."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Codes
from formulations.arithmetics.intervals import Interval
from formulations.grids.divided import at
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers import beyond, boxes
from solvers.boxes import Space
from solvers.many_points import effort
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN
from solvers.nonlinear.search import FEASIBLE_BOXES, Boxes, minimise
from solvers.outcome import INFEASIBLE

MOST_LISTED_BOXES = 128
"""Combinations of listed values that have a box each from the beginning."""
SCATTERED, AT_ENDS = 96, 32
"""Designs that are tried in each box before it is searched, and how many of them may have numbers at ends of the box.

Of boxes as wide as a search may go next to none of the others is near both the least of one number and the most of
another, where limits are often met.
"""


def feasible(
    question: Question, where: Space, designs: Array | None = None, most: int = FEASIBLE_BOXES
) -> Codes:
    """Tell of N points whether a design meets all limits in their boxes: at once, or by a search (see ``minimise``).

    ``designs`` (N, n): takes those that were found, in the order of the names of ``where``. ``most``: boxes of a point.
    """
    question = replace(question, objectives=())
    codes = np.full(len(where.low), NOT_KNOWN, np.int8)
    there = np.flatnonzero((where.low <= where.high).all(axis=1))
    if there.size and where.names:
        near = None if designs is None else designs[there]
        codes[there] = at_once(at(question, there), where.at(there), near)
        if designs is not None:
            designs[there] = near
    left = np.flatnonzero(codes == NOT_KNOWN)
    if left.size:
        found = minimise(at(question, left), where.at(left), most, _by_entries(where.at(left)))
        effort.spend(float(found.work.sum()) * effort.BOX_SECONDS)
        if designs is not None:
            designs[left] = found.x
        codes[left] = np.select([found.met, found.status == INFEASIBLE], [CAN_HOLD, CANNOT_HOLD], NOT_KNOWN)
    return codes


def _by_entries(where: Space) -> Boxes | None:
    """A box for each combination of listed values, where these are few; None elsewhere.

    All of a box has to be refuted: numbers that go far would be halved again and again before a short list is.
    """
    listed = {j: values for j, values in enumerate(where.values) if values is not None}
    if not listed or math.prod(map(len, listed.values())) > MOST_LISTED_BOXES:
        return None
    entries = np.array(list(itertools.product(*listed.values())))
    point = np.repeat(np.arange(len(where.low)), len(entries))
    low, high = where.low[point], where.high[point]
    own = np.tile(entries, (len(where.low), 1))
    inner_low, inner_high = where.at(point).snap(low, high)
    there = ((inner_low[:, [*listed]] <= own) & (own <= inner_high[:, [*listed]])).all(axis=1)
    low[:, [*listed]] = high[:, [*listed]] = own
    return Boxes(point, low, high, np.zeros(point.size), np.ones_like(low)).take(there)


def at_once(question: Question, where: Space, designs: Array | None = None) -> Codes:
    """Tell the same as far as the ranges of limits over whole boxes, and a few designs scattered there, tell it."""
    count, n = where.low.shape
    ends = zip(where.names, where.low.T, where.high.T, strict=True)
    with np.errstate(all="ignore"):
        rows, _ = boxes.numbers(question, {name: Interval(low, high) for name, low, high in ends})
    codes = np.full(count, NOT_KNOWN, np.int8)
    for row in rows.values():
        codes[np.broadcast_to(Interval.of(row).lo > 1.0 + HOLDS, (count,))] = CANNOT_HOLD
    left = np.repeat(np.flatnonzero(codes == NOT_KNOWN), SCATTERED)
    if left.size:
        own = where.at(left)
        u = np.random.default_rng(0).random((SCATTERED, n))
        # a third of the numbers at each end
        u[-AT_ENDS:] = np.clip(3.0 * u[-AT_ENDS:] - 1.0, 0.0, 1.0)
        scattered = own.spread(own.low, own.high, np.tile(u, (left.size // SCATTERED, 1)))
        worst, _ = boxes.measured(at(question, left), own.point(scattered))
        met = worst <= 1.0 + HOLDS
        codes[left[met]] = CAN_HOLD
        if designs is not None:
            designs[left[met]] = scattered[met]
    return codes


def anywhere(
    question: Question, where: Space, designs: Array | None = None, most: int = FEASIBLE_BOXES
) -> Codes:
    """Tell of N points whether a design meets all limits; not known where only an end that a search has excludes it.

    ``where``: their boxes, see ``boxes.spaces``; ``designs``, ``most``: see ``feasible``.
    """
    told = feasible(question, where, designs, most)
    out = np.flatnonzero(told == CANNOT_HOLD)
    if out.size:
        told[out[~nothing_beyond(at(question, out), out.size)]] = NOT_KNOWN
    return told


def nothing_beyond(question: Question, count: int) -> Bools:
    """Tell at which of N points the limits leave nothing beyond the ends that only a search has (``beyond.beyond``)."""
    shells = beyond.beyond(question)
    if not shells:
        return np.ones(count, bool)
    # rows of one search: each shell of each point
    low, high = (np.tile(np.stack([getattr(s, end) for s in shells]), (count, 1)) for end in ("low", "high"))
    each = at(question, np.repeat(np.arange(count), len(shells)))
    told = feasible(each, replace(shells[0], low=low, high=high))
    return np.asarray((told.reshape(count, len(shells)) == CANNOT_HOLD).all(axis=1))
