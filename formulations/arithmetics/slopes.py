"""Intervals that know how fast they move: values over a box with their logarithmic slopes.

For a quantity v of inputs x the slope along input k is d log v / d log x_k. In these terms a product's slopes
add and a monomial's are exact constants, so p * (n / p) costs nothing in sharpness, and a sum's slopes are
averages of those of its terms. With them the mean-value form bounds a quantity to second order in the width
of the box.

A quantity is worked out when it is asked for: of a model's metrics a search needs those that are limited, and its
objective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dse.models import arithmetic
from dse.models.arithmetic import number
from dse.system.arrays import Array
from formulations.arithmetics import intervals, slope_sums
from formulations.arithmetics.intervals import Enclosure, Interval
from formulations.arithmetics.slope_sums import ZERO, Slopes

ONE = Interval(1.0, 1.0)
Made = Callable[..., tuple[Interval, Slopes]]
"""What makes the values and slopes of a quantity of other quantities."""


class Slope(Enclosure):
    """A quantity over a box: its ``value``, its value at the ``centre``, and its logarithmic ``slopes``.

    ``at``: the first two as rows of one interval (2, boxes), which is worked out once for both; a constant, which has
    one value everywhere, has no rows. Slopes hold for quantities of either sign in the sense dv/dlog x = v * slope;
    where v may be zero and the slope is unknown it is infinite, and only ``value`` tells something. ``reach``:
    logarithmic distance from the centre to the ends of the box, (inputs, boxes). ``made``: its powers, and what it is
    over numbers, by exponent and number: equations ask the same of an input again and again. ``made_by`` makes ``at``
    and ``slopes`` of other quantities, ``made_of``.
    """

    __slots__ = ("found", "made", "made_by", "made_of", "reach")

    def __init__(self, made_by: Made, reach: Interval, *made_of: Slope) -> None:
        self.made_by = made_by
        self.made_of = made_of
        self.reach = reach
        self.found: tuple[Interval, Slopes] | None = None
        self.made: dict[tuple[str, float], Slope] = {}

    @property
    def at(self) -> Interval:
        """Its values over boxes and at their centres."""
        return (self.found or work_out([self])[0])[0]

    @property
    def slopes(self) -> Slopes:
        """Its logarithmic slopes along the inputs."""
        return (self.found or work_out([self])[0])[1]

    @property
    def value(self) -> Interval:
        """What it is over the box."""
        return slope_sums.row(self.at, 0)

    @property
    def centre(self) -> Interval:
        """What it is at the centre."""
        return slope_sums.row(self.at, 1)

    @staticmethod
    def inputs(lo: Array, centre: Array, hi: Array) -> list[Slope]:
        """One Slope per input for boxes and their centres given as arrays of shape (boxes, inputs)."""
        k, reach = range(lo.shape[1]), _log_distances(lo.T, centre.T, hi.T)
        return [
            known(
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
        return known(Interval.of(x), (ZERO,) * len(self.reach.lo), self.reach)

    def __neg__(self) -> Slope:
        return Slope(lambda a: (-a.at, a.slopes), self.reach, self)

    def __add__(self, other: Any) -> Slope:
        if not isinstance(other, Slope) and np.all(np.asarray(other) == 0):
            return self
        return Slope(
            lambda a, b: slope_sums.of_sum(a.at, b.at, a.slopes, b.slopes, a.reach),
            self.reach,
            self,
            self.of(other),
        )

    def __mul__(self, other: Any) -> Slope:
        if not isinstance(other, Slope):
            return Slope(lambda a: (a.at * other, a.slopes), self.reach, self)
        return Slope(
            lambda a, b: (a.at * b.at, slope_sums.added(a.slopes, b.slopes)), self.reach, self, other
        )

    def reciprocal(self) -> Slope:
        """One divided by the quantity."""
        return Slope(
            lambda a: (a.at.reciprocal(), tuple(s if s is ZERO else -s for s in a.slopes)), self.reach, self
        )

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
        return Slope(
            lambda a: (a.at**e, tuple(s if s is ZERO else s * e for s in a.slopes)), self.reach, self
        )

    def _once(self, what: str, value: float, make: Callable[[], Slope]) -> Slope:
        found = self.made.get((what, value))
        if found is None:
            found = self.made[what, value] = make()
        return found


def known(at: Interval, slopes: Slopes, reach: Interval) -> Slope:
    """A quantity of which all is known."""
    found = Slope(lambda: (at, slopes), reach)
    found.found = at, slopes
    return found


def work_out(wanted: Sequence[Slope]) -> list[tuple[Interval, Slopes]]:
    """Return the values and slopes of some quantities; what is known on the way is kept as long as it is needed."""
    order, users = _needed(wanted)
    with np.errstate(all="ignore"):
        for s in order:
            # what a quantity is made of comes before it
            s.found = s.made_by(*s.made_of)
            for x in s.made_of:
                # what was made of it points back to it: it goes when nobody has it
                x.made.clear()
                if x in users:
                    users[x] -= 1
                    if not users[x]:
                        x.found = None
    return [s.found for s in wanted if s.found is not None]


def _needed(wanted: Sequence[Slope]) -> tuple[list[Slope], dict[Slope, int]]:
    """What has to be worked out for some quantities, in an order in which it can be, and how many others use each."""
    order: list[Slope] = []
    users: dict[Slope, int] = {}
    # no recursion: a sum may have a thousand terms
    waiting = [(s, False) for s in reversed(wanted)]
    while waiting:
        s, ready = waiting.pop()
        if ready:
            order.append(s)
        elif s.found is None and s not in users:
            users[s] = 0
            waiting += [(s, True), *((x, False) for x in reversed(s.made_of))]
    for s in order:
        for x in s.made_of:
            if x in users:
                users[x] += 1
    for s in wanted:
        if s in users:
            users[s] += 1
    return order, users


def _log_distances(lo: Array, centre: Array, hi: Array) -> Interval:
    """Logarithmic distance from the centre to both ends; none where the box is a single number, be it 0."""
    found = intervals.log(Interval(lo, hi) / Interval.of(centre))
    # rounded outwards it would not be 0, and along an unknown slope anything might be reached
    single = lo == hi
    return Interval(np.where(single, 0.0, found.lo), np.where(single, 0.0, found.hi))


@arithmetic.log.register(Slope)
def log(x: Slope) -> Slope:
    """Natural logarithm."""

    def found(a: Slope) -> tuple[Interval, Slopes]:
        at = intervals.log(a.at)
        return at, tuple(slope_sums.relative_move(s, slope_sums.row(at, 0)) for s in a.slopes)

    return Slope(found, x.reach, x)


@arithmetic.exp.register(Slope)
def exp(x: Slope) -> Slope:
    """Exponential."""
    return Slope(
        lambda a: (intervals.exp(a.at), tuple(s if s is ZERO else a.value * s for s in a.slopes)), x.reach, x
    )


@arithmetic.register_maximum(Slope)
def _maximum(a: Any, b: Any) -> Slope:
    """Take the larger of two; where either may be the larger, its slope is any between theirs."""
    first = a if isinstance(a, Slope) else b
    return Slope(_larger, first.reach, first.of(a), first.of(b))


def _larger(a: Slope, b: Slope) -> tuple[Interval, Slopes]:
    above, below = slope_sums.always_larger(a.at, b.at, a.slopes, b.slopes, a.reach)
    slopes = tuple(
        p
        if p is q
        else Interval(
            np.where(above, p.lo, np.where(below, q.lo, np.minimum(p.lo, q.lo))),
            np.where(above, p.hi, np.where(below, q.hi, np.maximum(p.hi, q.hi))),
        )
        for p, q in zip(a.slopes, b.slopes, strict=True)
    )
    found = intervals.maximum(a.at, b.at)
    most = np.where(above, a.at.hi, np.where(below, b.at.hi, found.hi))
    return Interval(found.lo, most), slopes


for _reading in (arithmetic.at_most, arithmetic.at_least):
    # as of intervals: one expression for arrays of bounds as for one
    _reading.register(Slope)(_reading.dispatch(Interval))


def _step_of(operation: Callable[..., Interval]) -> Callable[..., Slope]:
    """Return what an operation of intervals that yields 0 or 1 is of slopes."""

    def stepping(*given: Any) -> Slope:
        first = next(x for x in given if isinstance(x, Slope))
        return Slope(
            lambda *of: _step_function(operation(*(x.at for x in of)), *of),
            first.reach,
            *map(first.of, given),
        )

    return stepping


arithmetic.register_reaches(Slope)(_step_of(arithmetic.reaches))
arithmetic.register_differs(Slope)(_step_of(arithmetic.differs))
arithmetic.uneven.register(Slope)(_step_of(arithmetic.uneven))
arithmetic.some.register(Slope)(_step_of(arithmetic.some))


def _step_function(at: Interval, *of: Slope) -> tuple[Interval, Slopes]:
    """A step function: flat where its value is certain and along inputs that its arguments do not have.

    Of its slope along others nothing is known.
    """
    value = slope_sums.row(at, 0)
    sure = value.lo >= value.hi
    slope = Interval(np.where(sure, 0.0, -np.inf), np.where(sure, 0.0, np.inf))
    pairs = zip(*(x.slopes for x in of), strict=True)
    return at, tuple(ZERO if all(s is ZERO for s in k) else slope for k in pairs)


@arithmetic.pick.register(Slope)
def _pick(which: Slope, values: Sequence[Any]) -> Any:
    steps = all(not isinstance(v, Slope) for v in values)
    return Slope(_entry_of_steps if steps else _moving_entry, which.reach, which, *map(which.of, values))


def _entry_of_steps(which: Slope, *entries: Slope) -> tuple[Interval, Slopes]:
    return _step_function(arithmetic.pick(which.at, [e.at for e in entries]), which)


def _moving_entry(which: Slope, *entries: Slope) -> tuple[Interval, Slopes]:
    """Entries that move, too: as much as any of those that may be picked."""
    value = which.value
    single = np.floor(value.hi + intervals.MENU_ROUNDING) <= np.ceil(value.lo - intervals.MENU_ROUNDING)
    slopes = []
    for k in range(len(which.slopes)):
        own = arithmetic.pick(value, [e.slopes[k] for e in entries])
        slopes.append(Interval(np.where(single, own.lo, -np.inf), np.where(single, own.hi, np.inf)))
    return arithmetic.pick(which.at, [e.at for e in entries]), tuple(slopes)
