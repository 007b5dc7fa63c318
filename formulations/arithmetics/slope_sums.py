"""Slopes of sums: each an average of those of its terms, by the shares that the terms have over a box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools
from formulations.arithmetics import intervals
from formulations.arithmetics.intervals import Interval

ZERO = Interval(0.0, 0.0)
SLOPE_ROUNDING = MOVE_ROUNDING = 1e-14
"""Granted for rounding: of a slope, and of the logarithm of a ratio."""
_LEAST_AND_LARGEST = np.array([0.0, 1.0])
Slopes = tuple[Interval, ...]


def row(at: Interval, which: int) -> Interval:
    """The values over boxes (0), or at their centres (1)."""
    return Interval(*_ends(at, which)) if at.lo.ndim > 1 else at


def _where_positive(at: Interval) -> Any:
    """Whether no value over a box reaches below zero: True, or an array of boxes."""
    return True if at.positive() is True else row(at, 0).positive()


def added(a: Slopes, b: Slopes) -> Slopes:
    """The slopes of a product."""
    return tuple(q if p is ZERO else p if q is ZERO else p + q for p, q in zip(a, b, strict=True))


def of_sum(a: Interval, b: Interval, own: Slopes, others: Slopes, reach: Interval) -> tuple[Interval, Slopes]:
    """Return a + b with its slopes, of rows ``a`` and ``b`` with slopes of their ``own`` (see ``slopes.Slope``)."""
    found = a + b
    positive = intervals.both(_where_positive(a), _where_positive(b))
    shares = positive is True or positive.any()
    if shares:
        slopes = _by_shares(a, b, own, others, reach)
    if positive is not True:
        one, other, value = row(a, 0), row(b, 0), row(found, 0)
        moves = tuple(
            ZERO
            if p is ZERO and q is ZERO
            else _flat_where_both(p, q, relative_move(one * p + other * q, value))
            for p, q in zip(own, others, strict=True)
        )
        slopes = _chosen(positive, slopes, moves) if shares else moves
    return found, slopes


def _by_shares(a: Interval, b: Interval, own: Slopes, others: Slopes, reach: Interval) -> Slopes:
    """Return the slopes of a + b, for a and b not negative: own share * slope of a + rest * slope of b."""
    apart = [k for k, (p, q) in enumerate(zip(own, others, strict=True)) if p is not q]
    if not apart:
        return own
    shape = (len(apart), *reach.lo.shape[1:])
    p, q = (_together([s[k] for k in apart], shape) for s in (own, others))
    ahead = Interval(reach.lo[apart], reach.hi[apart])
    share, rest = _ends_of_shares(a, b, (q.lo - p.hi, q.hi - p.lo), ahead)
    lo, hi = _averages(share, rest, p, q)
    found = list(own)
    for k, least, most in zip(apart, lo, hi, strict=True):
        found[k] = Interval(least, most)
    return tuple(found)


def _ends_of_shares(
    a: Interval, b: Interval, moves: tuple[Array, Array], reach: Interval
) -> tuple[Array, Array]:
    """Return the share of a in a + b, and that of b: of a tiny one the other tells nothing, since floats end at 1e-16.

    Two rows each: where a has the least share, and where it has the largest. What a and b have in common cancels in
    log(b/a), which the mean-value form bounds; ``moves``: the ends of its slopes along inputs that ``reach`` so far.
    """
    one, other = np.empty((2, 2, *reach.lo.shape[1:]))
    one[0], one[1] = _ends(a, 0)
    other[1], other[0] = _ends(b, 0)
    whole, ratio = one + other, np.exp(_log_ratio(a, b, moves, reach))
    own, rest, part = one / whole, other / whole, 1.0 / (1.0 + ratio)
    left, known = ratio * part, (one[0] > 0) & (other[1] > 0)
    np.fmax(own[0], part[0], out=own[0], where=known)
    np.fmin(own[1], part[1], out=own[1], where=known)
    np.fmin(rest[0], left[0], out=rest[0], where=known)
    np.fmax(rest[1], left[1], out=rest[1], where=known)
    lost = np.isnan(own + rest)
    if lost.any():
        # what is infinite may be all of a sum, or nothing
        extreme = _LEAST_AND_LARGEST.reshape(2, *(1,) * (own.ndim - 1))
        own, rest = np.where(lost, extreme, own), np.where(lost, 1.0 - extreme, rest)
    return own, rest


def _log_ratio(a: Interval, b: Interval, moves: tuple[Array, Array], reach: Interval) -> Array:
    """Return the largest and the least value of log(b/a) over boxes: see ``_ends_of_shares``."""
    over, under = np.empty((2, 2, *reach.lo.shape[1:]))
    over[1], over[0] = _ends(b, 1)
    under[0], under[1] = _ends(a, 1)
    move = np.log(over / under)
    (low, high), back, ahead = moves, reach.lo, reach.hi
    # the centre is in the box, so that 0 is one of the values; no number inside is infinite
    move[0] += np.fmax(np.fmax(high * ahead, low * back), 0.0).sum(0)
    move[1] += np.fmin(np.fmin(low * ahead, high * back), 0.0).sum(0)
    pad = MOVE_ROUNDING * (1.0 + np.abs(move))
    move[0] += pad[0]
    move[1] -= pad[1]
    return np.asarray(move)


def always_larger(
    a: Interval, b: Interval, own: Slopes, others: Slopes, reach: Interval
) -> tuple[Bools, Bools]:
    """Return in which boxes a is at least b everywhere, and in which b is at least a.

    By the ends of both, or, of what is positive, by log(b/a), in which cancels what they have in common.
    """
    one, other = row(a, 0), row(b, 0)
    above, below = one.lo >= other.hi, other.lo >= one.hi
    positive = (one.lo > 0.0) & (other.lo > 0.0) & ~(above | below)
    apart = [k for k, (p, q) in enumerate(zip(own, others, strict=True)) if p is not q]
    if not positive.any():
        return above, below
    shape = (len(apart), *reach.lo.shape[1:])
    p, q = (_together([s[k] for k in apart], shape) for s in (own, others))
    most, least = _log_ratio(a, b, (q.lo - p.hi, q.hi - p.lo), Interval(reach.lo[apart], reach.hi[apart]))
    return above | (positive & (most <= 0.0)), below | (positive & (least >= 0.0))


def _averages(own: Array, rest: Array, p: Interval, q: Interval) -> tuple[Array, Array]:
    """Return the ends of own share * p + rest * q, which is extreme at an end of the share."""
    low, high = (own[:, None] * x + rest[:, None] * y for x, y in ((p.lo, q.lo), (p.hi, q.hi)))
    if not np.isfinite(low.sum() + high.sum()):
        # an unknown slope of what has no share tells nothing
        parts = ((own, p), (rest, q))
        p, q = (
            Interval(*(np.where(np.isinf(x) & (share == 0.0).all(0), 0.0, x) for x in (s.lo, s.hi)))
            for share, s in parts
        )
        low, high = (_weighed(own, x) + _weighed(rest, y) for x, y in ((p.lo, q.lo), (p.hi, q.hi)))
    # weighed: a steep slope of next to nothing loses nothing
    pad = SLOPE_ROUNDING * (own[1] * np.maximum(p.hi, -p.lo) + rest[0] * np.maximum(q.hi, -q.lo))
    lo, hi = np.minimum(low[0], low[1]) - pad, np.maximum(high[0], high[1]) + pad
    if np.isnan(lo.sum() + hi.sum()):
        lo, hi = np.where(np.isnan(lo), -np.inf, lo), np.where(np.isnan(hi), np.inf, hi)
    return lo, hi


def _weighed(share: Array, slope: Array) -> Array:
    return np.where(share[:, None] == 0.0, 0.0, share[:, None] * slope)


def _ends(at: Interval, which: int) -> tuple[Array, Array]:
    """Both ends of the values over boxes (0), or at their centres (1)."""
    return (at.lo[which], at.hi[which]) if at.lo.ndim > 1 else (at.lo, at.hi)


def _together(every: Sequence[Interval], shape: tuple[int, ...]) -> Interval:
    """Intervals as the rows of one, which takes about as long to reckon with as one of them."""
    lo, hi = np.empty(shape), np.empty(shape)
    for k, s in enumerate(every):
        lo[k], hi[k] = s.lo, s.hi
    return Interval(lo, hi)


def _flat_where_both(p: Interval, q: Interval, slope: Interval) -> Interval:
    """The slope of a sum, which is flat where both terms are, even where the sum may be 0."""
    flat = (p.lo == 0.0) & (p.hi == 0.0) & (q.lo == 0.0) & (q.hi == 0.0)
    return Interval(np.where(flat, 0.0, slope.lo), np.where(flat, 0.0, slope.hi)) if flat.any() else slope


def _chosen(which: Array, a: Slopes, b: Slopes) -> Slopes:
    """Return slopes of ``a`` at some boxes, and of ``b`` at the others."""
    return tuple(
        p if p is q else Interval(np.where(which, p.lo, q.lo), np.where(which, p.hi, q.hi))
        for p, q in zip(a, b, strict=True)
    )


def relative_move(move: Interval, value: Interval) -> Interval:
    """A slope from how a quantity moves: unknown where the quantity may be 0."""
    if move is ZERO:
        return ZERO
    found = move / value
    unknown = (value.lo <= 0) & (value.hi >= 0)
    return Interval(np.where(unknown, -np.inf, found.lo), np.where(unknown, np.inf, found.hi))
