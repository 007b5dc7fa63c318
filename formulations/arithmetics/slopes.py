"""Intervals that know how fast they move: values over a box with their logarithmic slopes.

For a quantity v of inputs x the slope along input k is d log v / d log x_k. In these terms a product's slopes
add and a monomial's are exact constants, so p * (n / p) costs nothing in sharpness, and a sum's slopes are
averages of those of its terms. With them the mean-value form bounds a quantity to second order in the width
of the box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dse.models import arithmetic
from dse.models.arithmetic import number
from dse.system.arrays import Array
from formulations.arithmetics import intervals
from formulations.arithmetics.intervals import Enclosure, Interval

ZERO = Interval(0.0, 0.0)
ONE = Interval(1.0, 1.0)
SLOPE_ROUNDING = MOVE_ROUNDING = 1e-14
"""Granted for rounding: of a slope, and of the logarithm of a ratio."""
_LEAST_AND_LARGEST = np.array([0.0, 1.0])
Slopes = tuple[Interval, ...]


class Slope(Enclosure):
    """A quantity over a box: its ``value``, its value at the ``centre``, and its logarithmic ``slopes``.

    ``at``: the first two as rows of one interval (2, boxes), which is worked out once for both; a constant, which has
    one value everywhere, has no rows. Slopes hold for quantities of either sign in the sense dv/dlog x = v * slope;
    where v may be zero and the slope is unknown it is infinite, and only ``value`` tells something. ``reach``:
    logarithmic distance from the centre to the ends of the box, (inputs, boxes). ``made``: its powers, and what it is
    over numbers, by exponent and number: equations ask the same of an input again and again.
    """

    __slots__ = ("at", "made", "reach", "slopes")

    def __init__(self, at: Interval, slopes: Slopes, reach: Interval) -> None:
        self.at = at
        self.slopes = slopes
        self.reach = reach
        self.made: dict[tuple[str, float], Slope] = {}

    @property
    def value(self) -> Interval:
        """What it is over the box."""
        return _row(self.at, 0)

    @property
    def centre(self) -> Interval:
        """What it is at the centre."""
        return _row(self.at, 1)

    @staticmethod
    def inputs(lo: Array, centre: Array, hi: Array) -> list[Slope]:
        """One Slope per input for boxes and their centres given as arrays of shape (boxes, inputs)."""
        k, reach = range(lo.shape[1]), _log_distances(lo.T, centre.T, hi.T)
        return [
            Slope(
                Interval(np.stack([lo[:, j], centre[:, j]]), np.stack([hi[:, j], centre[:, j]])),
                tuple(ONE if i == j else ZERO for i in k),
                reach,
            )
            for j in k
        ]

    def of(self, x: Any) -> Slope:
        """``x`` as a Slope over the same inputs: itself, or a constant."""
        if isinstance(x, Slope):
            return x
        return Slope(Interval.of(x), (ZERO,) * len(self.slopes), self.reach)

    def __neg__(self) -> Slope:
        return Slope(-self.at, self.slopes, self.reach)

    def __add__(self, other: Any) -> Slope:
        if not isinstance(other, Slope) and np.all(np.asarray(other) == 0):
            return self
        b = self.of(other)
        found, pairs = self.at + b.at, list(zip(self.slopes, b.slopes, strict=True))
        positive = intervals.both(_where_positive(self.at), _where_positive(b.at))
        shares = positive is True or positive.any()
        if shares:
            slopes = _slopes_of_sum(self, b)
        if positive is not True:
            value = _row(found, 0)
            moves = tuple(
                ZERO if p is ZERO and q is ZERO else _relative_move(self.value * p + b.value * q, value)
                for p, q in pairs
            )
            slopes = _chosen(positive, slopes, moves) if shares else moves
        return Slope(found, slopes, self.reach)

    def __mul__(self, other: Any) -> Slope:
        if not isinstance(other, Slope):
            return Slope(self.at * other, self.slopes, self.reach)
        return Slope(self.at * other.at, _added(self.slopes, other.slopes), self.reach)

    def reciprocal(self) -> Slope:
        """One divided by the quantity."""
        slopes = tuple(s if s is ZERO else -s for s in self.slopes)
        return Slope(self.at.reciprocal(), slopes, self.reach)

    def __truediv__(self, other: Any) -> Slope:
        if isinstance(other, float):
            return self._once("over", other, lambda: self * Interval.of(other).reciprocal())
        return self * (other.reciprocal() if isinstance(other, Slope) else Interval.of(other).reciprocal())

    def __pow__(self, exponent: Any) -> Slope:
        if isinstance(exponent, Slope) or np.ndim(exponent):
            return exp(log(self) * exponent)
        e = number(exponent)
        return self._once("power", e, lambda: self._power(e))

    def _power(self, e: float) -> Slope:
        slopes = tuple(s if s is ZERO else s * e for s in self.slopes)
        return Slope(self.at**e, slopes, self.reach)

    def _once(self, what: str, value: float, make: Callable[[], Slope]) -> Slope:
        found = self.made.get((what, value))
        if found is None:
            found = self.made[what, value] = make()
        return found


def _row(at: Interval, which: int) -> Interval:
    """The values over boxes (0), or at their centres (1)."""
    return Interval(*_ends(at, which)) if at.lo.ndim > 1 else at


def _where_positive(at: Interval) -> Any:
    """Whether no value over a box reaches below zero: True, or an array of boxes."""
    return True if at.positive() is True else _row(at, 0).positive()


def _log_distances(lo: Array, centre: Array, hi: Array) -> Interval:
    """Logarithmic distance from the centre to both ends; none where the box is a single number, be it 0."""
    found = intervals.log(Interval(lo, hi) / Interval.of(centre))
    single = (lo == hi) & (lo == 0)
    return Interval(np.where(single, 0.0, found.lo), np.where(single, 0.0, found.hi))


def _added(a: Slopes, b: Slopes) -> Slopes:
    return tuple(q if p is ZERO else p if q is ZERO else p + q for p, q in zip(a, b, strict=True))


def _slopes_of_sum(a: Slope, b: Slope) -> Slopes:
    """Return the slopes of a + b, for a and b not negative: own share * slope of a + rest * slope of b."""
    apart = [k for k, (p, q) in enumerate(zip(a.slopes, b.slopes, strict=True)) if p is not q]
    if not apart:
        return a.slopes
    shape = (len(apart), *a.reach.lo.shape[1:])
    p, q = (_together([s[k] for k in apart], shape) for s in (a.slopes, b.slopes))
    with np.errstate(all="ignore"):
        own, rest = _ends_of_shares(a, b, (q.lo - p.hi, q.hi - p.lo), apart)
        lo, hi = _averages(own, rest, p, q)
    found = list(a.slopes)
    for k, least, most in zip(apart, lo, hi, strict=True):
        found[k] = Interval(least, most)
    return tuple(found)


def _ends_of_shares(a: Slope, b: Slope, moves: tuple[Array, Array], apart: list[int]) -> tuple[Array, Array]:
    """Return the share of a in a + b, and that of b: of a tiny one the other tells nothing, since floats end at 1e-16.

    Two rows each: where a has the least share, and where it has the largest. What a and b have in common cancels in
    log(b/a), which the mean-value form bounds; ``moves``: the ends of its slopes along the inputs ``apart``.
    """
    ends = np.empty((4, 2, *a.reach.lo.shape[1:]))
    one, other, over, under = ends
    one[0], one[1] = _ends(a.at, 0)
    other[1], other[0] = _ends(b.at, 0)
    over[1], over[0] = _ends(b.at, 1)
    under[0], under[1] = _ends(a.at, 1)
    move = np.log(over / under)
    (low, high), reach = moves, a.reach
    back, ahead = reach.lo[apart], reach.hi[apart]
    # the centre is in the box, so that 0 is one of the values; no number inside is infinite
    move[0] += np.fmax(np.fmax(high * ahead, low * back), 0.0).sum(0)
    move[1] += np.fmin(np.fmin(low * ahead, high * back), 0.0).sum(0)
    pad = MOVE_ROUNDING * (1.0 + np.abs(move))
    move[0] += pad[0]
    move[1] -= pad[1]
    whole, ratio = one + other, np.exp(move)
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


def _chosen(which: Array, a: Slopes, b: Slopes) -> Slopes:
    """Return slopes of ``a`` at some boxes, and of ``b`` at the others."""
    return tuple(
        p if p is q else Interval(np.where(which, p.lo, q.lo), np.where(which, p.hi, q.hi))
        for p, q in zip(a, b, strict=True)
    )


def _relative_move(move: Interval, value: Interval) -> Interval:
    if move is ZERO:
        return ZERO
    found = move / value
    unknown = (value.lo <= 0) & (value.hi >= 0)
    return Interval(np.where(unknown, -np.inf, found.lo), np.where(unknown, np.inf, found.hi))


@arithmetic.log.register(Slope)
def log(x: Slope) -> Slope:
    """Natural logarithm."""
    found = intervals.log(x.at)
    return Slope(found, tuple(_relative_move(s, _row(found, 0)) for s in x.slopes), x.reach)


@arithmetic.exp.register(Slope)
def exp(x: Slope) -> Slope:
    """Exponential."""
    slopes = tuple(s if s is ZERO else x.value * s for s in x.slopes)
    return Slope(intervals.exp(x.at), slopes, x.reach)


@arithmetic.register_maximum(Slope)
def _maximum(a: Any, b: Any) -> Slope:
    """Take the larger of two; where either may be the larger, its slope is any between theirs."""
    first = a if isinstance(a, Slope) else b
    a, b = first.of(a), first.of(b)
    one, other = a.value, b.value
    above, below = one.lo >= other.hi, other.lo >= one.hi
    slopes = tuple(
        p
        if p is q
        else Interval(
            np.where(above, p.lo, np.where(below, q.lo, np.minimum(p.lo, q.lo))),
            np.where(above, p.hi, np.where(below, q.hi, np.maximum(p.hi, q.hi))),
        )
        for p, q in zip(a.slopes, b.slopes, strict=True)
    )
    return Slope(intervals.maximum(a.at, b.at), slopes, first.reach)


for _reading in (arithmetic.at_most, arithmetic.at_least):
    # as of intervals: one expression for arrays of bounds as for one
    _reading.register(Slope)(_reading.dispatch(Interval))


def _step_of(operation: Callable[..., Interval]) -> Callable[..., Slope]:
    """Return what an operation of intervals that yields 0 or 1 is of slopes."""

    def stepping(*given: Any) -> Slope:
        first = next(x for x in given if isinstance(x, Slope))
        of = [first.of(x) for x in given]
        return _step_function(operation(*(x.at for x in of)), *of)

    return stepping


arithmetic.register_reaches(Slope)(_step_of(arithmetic.reaches))
arithmetic.register_differs(Slope)(_step_of(arithmetic.differs))
arithmetic.uneven.register(Slope)(_step_of(arithmetic.uneven))
arithmetic.some.register(Slope)(_step_of(arithmetic.some))


def _step_function(at: Interval, *of: Slope) -> Slope:
    """A step function: flat where its value is certain and along inputs that its arguments do not have.

    Of its slope along others nothing is known.
    """
    value = _row(at, 0)
    sure = value.lo >= value.hi
    slope = Interval(np.where(sure, 0.0, -np.inf), np.where(sure, 0.0, np.inf))
    pairs = zip(*(x.slopes for x in of), strict=True)
    return Slope(at, tuple(ZERO if all(s is ZERO for s in k) else slope for k in pairs), of[0].reach)


@arithmetic.pick.register(Slope)
def _pick(which: Slope, values: Sequence[Any]) -> Any:
    entries = [which.of(v) for v in values]
    found = arithmetic.pick(which.at, [e.at for e in entries])
    if all(not isinstance(v, Slope) for v in values):
        return _step_function(found, which)
    # the entries move, too: as much as any of those that may be picked
    value = which.value
    single = np.floor(value.hi + intervals.MENU_ROUNDING) <= np.ceil(value.lo - intervals.MENU_ROUNDING)
    slopes = []
    for k in range(len(which.slopes)):
        own = arithmetic.pick(value, [e.slopes[k] for e in entries])
        slopes.append(Interval(np.where(single, own.lo, -np.inf), np.where(single, own.hi, np.inf)))
    return Slope(found, tuple(slopes), which.reach)
