"""A lower bound over boxes of what is minimised where limits hold, in which limits count by weights (multipliers).

Taken apart, the row of a limit that binds and that of what is minimised leave all boxes along the limit that a tangent
cannot tell from the optimum, more of them the smaller they are. With f what is minimised and limits g <= 1 + slack,

    log f  >=  log f + sum of w (log g - log(1 + slack))    wherever limits hold, for all weights w >= 0,

and near an optimum there are weights with which the slopes on the right vanish. Its mean-value form is as certain as
that of any other row, whatever the weights are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.arithmetics.enclosures import Enclosure, falls

MOST_LIMITS_WEIGHED = 3
"""Limits that get a weight on a box, one after the other."""
MOST_WEIGHTS_TRIED = 64
"""Limits times numbers: three kernels on shared processors have 30, the speed reducer 175."""
LARGEST_WEIGHT = 1e3
"""Of a limit: with more, rounding and the slack of limits would count."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row in logarithms: at the centres (boxes,), its slopes (variables, boxes), all its weights (boxes,)."""

    centre: Array
    slope_low: Array
    slope_high: Array
    weight: Array

    def plus(self, w: Array, other: _Row) -> _Row:
        """The sum of this row and another one, weighted."""
        return _Row(
            self.centre + w * other.centre,
            self.slope_low + w * other.slope_low,
            self.slope_high + w * other.slope_high,
            self.weight + w,
        )

    def where(self, there: Bools, other: _Row) -> _Row:
        """Take this row on some boxes, and another one elsewhere."""
        return _Row(
            np.where(there, self.centre, other.centre),
            np.where(there, self.slope_low, other.slope_low),
            np.where(there, self.slope_high, other.slope_high),
            np.where(there, self.weight, other.weight),
        )

    def least(self, width: Array) -> Array:
        """What it is at least on boxes of this width, rounded downwards."""
        down = falls(self.slope_low, self.slope_high, width).sum(axis=0)
        return np.asarray(
            self.centre + down - 1e-13 * (1.0 + self.weight + np.abs(self.centre) + np.abs(down))
        )


def with_limits_weighed(e: Enclosure, slack: Array) -> Enclosure:
    """Add a row behind what is minimised (the last one): a lower bound of it wherever limits hold.

    ``slack``: by how much more than 1 limits may be, on each box. Where no limit helps it is the last row again, and
    so it is of many limits on many numbers.
    """
    with np.errstate(all="ignore"):
        known, limits = _limits(e, slack)
        goal = _Row(np.log(e.centre_low[-1]), e.slope_low[-1], e.slope_high[-1], np.zeros_like(slack))
        row = _raised(goal, [(use & known[-1], limit) for use, limit in limits], e.width)
        down = falls(row.slope_low, row.slope_high, e.width)
        low = np.where(known[-1], np.fmax(np.exp(row.least(e.width)), e.low[-1]), e.low[-1])
        centre = np.where(known[-1], np.exp(row.centre), e.centre_low[-1])
    return replace(
        e,
        low=np.append(e.low, [low], axis=0),
        high=np.append(e.high, e.high[-1:], axis=0),
        centre_low=np.append(e.centre_low, [centre], axis=0),
        centre_high=np.append(e.centre_high, e.centre_high[-1:], axis=0),
        slope_low=np.append(e.slope_low, [row.slope_low], axis=0),
        slope_high=np.append(e.slope_high, [row.slope_high], axis=0),
        down=None if e.down is None else np.append(e.down, [down], axis=0),
    )


def certainly_conflict(e: Enclosure, slack: Array) -> Bools:
    """Tell on which boxes some weights prove that not all limits hold: the sum of their rows is above that of 1."""
    with np.errstate(all="ignore"):
        _, limits = _limits(e, slack)
        if len(limits) < 2:
            return np.zeros(slack.shape, bool)
        use, worst = limits[0]
        for mine, limit in limits[1:]:
            use, worst = use | mine, limit.where(mine & ~(use & (worst.centre >= limit.centre)), worst)
        return np.asarray(use & (_raised(worst, limits, e.width).least(e.width) > 0.0))


def _limits(e: Enclosure, slack: Array) -> tuple[Bools, list[tuple[Bools, _Row]]]:
    """Which rows have logarithms on each box, and the limits that may be broken: where, and by how much."""
    slopes = np.isfinite(e.slope_low).all(axis=1) & np.isfinite(e.slope_high).all(axis=1)
    known = (e.low > 0.0) & (e.centre_low > 0.0) & np.isfinite(e.centre_low) & slopes
    limits = []
    # of many limits on many numbers all weights take longer to try than the boxes that they save
    few = len(e.keys) * e.slope_low.shape[1] <= MOST_WEIGHTS_TRIED
    for k in range(len(e.keys)) if few else ():
        use = known[k] & (e.high[k] > 1.0)
        if use.any():
            centre = np.where(use, np.log(e.centre_low[k]) - np.log1p(slack), 0.0)
            low, high = (np.where(use, x[k], 0.0) for x in (e.slope_low, e.slope_high))
            limits.append((use, _Row(centre, low, high, np.zeros_like(slack))))
    return known, limits


def _raised(row: _Row, limits: Sequence[tuple[Bools, _Row]], width: Array) -> _Row:
    """A row with such weights of limits that it is at least as much as it can be said to be on each box.

    They are found one limit after the other: of those at which some slope vanishes the one that raises it most.
    """
    least = row.least(width)
    # rounds of a box as many as its own limits, whatever boxes stand beside it
    own = np.sum([use for use, _ in limits], axis=0)
    for k in range(min(MOST_LIMITS_WEIGHED, len(limits))):
        before = row
        for (use, limit), i in itertools.product(limits, range(len(row.slope_low))):
            w = -(before.slope_low[i] + before.slope_high[i]) / (limit.slope_low[i] + limit.slope_high[i])
            w = np.where(use & (own > k) & (w > 0.0) & (w < LARGEST_WEIGHT), w, 0.0)
            more = before.plus(w, limit)
            now = more.least(width)
            better = now > least
            row, least = more.where(better, row), np.where(better, now, least)
    return row
