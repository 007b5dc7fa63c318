"""What lines that are at most 0 leave of boxes of designs, and the least of another line there.

A lower bound of a line over the designs of a box that meet others comes by Lagrangian duality: the multipliers are
taken from the corners of the dual, any of which is a proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass

ASKS_NOTHING = -1e9
"""A line that asks for nothing."""
CONTRACTIONS = 3
"""Times that all lines shrink a box."""
MOST_ACTIVE = 3
"""Lines that hold a bound up together, at most."""
MOST_LINE_PAIRS = 20_000
"""Pairs of lines and of variables that a bound is looked for in, at most: a counted station has 400 000."""


@dataclass(frozen=True, slots=True)
class Line:
    """Values at least ``cut`` (B,) + ``slope`` (k, B) · δ on B boxes."""

    slope: Array
    cut: Array


def contracted(lines: Sequence[Line], low: Array, high: Array) -> tuple[Array, Array]:
    """Shrink boxes of δ (k, B) to what lines, each at most 0, leave of them; low > high where nothing is left."""
    low, high = low.copy(), high.copy()
    for _ in range(CONTRACTIONS):
        for line in lines:
            a = line.slope
            least = np.minimum(a * low, a * high)
            slack = -line.cut - least.sum(0)
            with np.errstate(all="ignore"):
                # a_v δ_v <= room + least_v
                end = (slack + least) / a
            end = end + 1e-12 * np.where(a > 0, 1.0, -1.0)
            high = np.where((a > 0) & ~np.isnan(end), np.minimum(high, end), high)
            low = np.where((a < 0) & ~np.isnan(end), np.maximum(low, end), low)
            none = (slack < -1e-12 * (1.0 + np.abs(line.cut)))[None]
            low, high = np.where(none, 1.0, low), np.where(none, -1.0, high)
    return low, high


def least(goal: Line, lines: Sequence[Line], low: Array, high: Array) -> Array:
    """Return a lower bound (B,) of a line over boxes of δ (k, B) where the others are at most 0."""
    best = _at_least(goal, low, high)
    if not lines:
        return best
    a, c = np.stack([x.slope for x in lines]), np.stack([x.cut for x in lines])
    # a line that is nowhere above 0 in a box holds no bound up there
    asks = (c + np.maximum(a * low, a * high).sum(1) > 0) & (c > ASKS_NOTHING)
    first, count = np.argsort(~asks, axis=0, kind="stable"), asks.sum(0)
    # boxes of about as many lines together, whose others ask for nothing
    steps = np.where(count > 0, 2 ** np.ceil(np.log2(np.maximum(count, 1))).astype(int), 0)
    for step in np.unique(steps[count > 0]):
        some = np.flatnonzero(steps == step)
        own = first[:step, some]
        there = np.take_along_axis(asks[:, some], own, 0)
        slope = np.take_along_axis(a[..., some], own[:, None], 0) * there[:, None]
        cut = np.where(there, np.take_along_axis(c[:, some], own, 0), 0.0)
        of = Line(goal.slope[:, some], goal.cut[some])
        best[some] = np.maximum(best[some], _held_up(of, slope, cut, low[:, some], high[:, some]))
    return best


def _at_least(line: Line, low: Array, high: Array) -> Array:
    """The least value of a line over boxes."""
    return np.asarray(line.cut + np.minimum(line.slope * low, line.slope * high).sum(-2))


def _held_up(goal: Line, a: Array, c: Array, low: Array, high: Array) -> Array:
    """The bound that some of the lines with slopes ``a`` (m, k, B) and cuts ``c`` (m, B) give together."""
    best = np.full(len(goal.cut), -np.inf)
    # of many variables triples of lines are too many
    active = MOST_ACTIVE if len(low) <= MOST_ACTIVE else MOST_ACTIVE - 1
    for r in range(1, min(len(low), active, len(a)) + 1):
        if r > 1 and math.comb(len(a), r) * math.comb(len(low), r) > MOST_LINE_PAIRS:
            break
        some = np.array(list(itertools.combinations(range(len(a)), r)))
        for v in itertools.combinations(range(len(low)), r):
            # multipliers that leave no slope along these variables
            by = _cramer(a[some][:, :, list(v)].transpose(0, 3, 2, 1), -goal.slope[list(v)].T)
            slope = goal.slope + (by[:, :, None] * a[some]).sum(1)
            told = _at_least(Line(slope, goal.cut + (by * c[some]).sum(1)), low, high)
            best = np.maximum(best, told.max(0))
    return best


def _cramer(a: Array, b: Array) -> Array:
    """Solutions (P, r, B) of small systems a (P, B, r, r), b (B, r), by determinants; 0 where not all are positive."""
    with np.errstate(all="ignore"):
        whole = _determinant(a)
        columns = np.eye(a.shape[-1], dtype=bool)
        by = np.stack([_determinant(np.where(j, b[..., None], a)) / whole for j in columns], axis=1)
    fine = (np.isfinite(by) & (by > 0)).all(1, keepdims=True)
    return np.where(fine, by, 0.0)


def _determinant(a: Array) -> Array:
    """Determinants of small matrices a (..., r, r), along the first row."""
    if a.shape[-1] == 1:
        return a[..., 0, 0]
    minors = (np.delete(a[..., 1:, :], j, axis=-1) for j in range(a.shape[-1]))
    signed = (a[..., 0, j] * (-1.0) ** j * _determinant(m) for j, m in enumerate(minors))
    return np.asarray(sum(signed))
