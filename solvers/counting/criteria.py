"""Sums over decided quantities as numbers: one term for each quantity in every criterion that is to be small."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations.arithmetics.many import Array
from solvers.many_points import effort

MOST_PAIRS = 4e8
"""So many times may two partial designs be compared, where there are three criteria or more: about a second."""

Mask = NDArray[np.bool_]


class TooMany(CannotTake):
    """More designs than can be kept are better than all others in something."""


@dataclass(slots=True)
class Work:
    """What comparing has cost so far, in pairs of partial designs."""

    done: float = 0.0

    def spend(self, pairs: int) -> None:
        """Count pairs; raises TooMany beyond ``MOST_PAIRS``."""
        effort.spend(pairs * effort.PAIR)
        self.done += pairs
        if self.done > MOST_PAIRS:
            raise TooMany(
                "partial designs that are each better than others in something are too many to compare"
            )


@dataclass(frozen=True, slots=True)
class Stage:
    """One decided quantity and its terms in all criteria.

    ``values`` (V,) and ``terms`` (V, C) of a menu; or, with ``step`` (C,), a whole number from ``low`` to ``high`` with
    the terms ``n step``, and ``jump`` (C,) beside them where it is not 0.
    """

    name: str
    values: Array
    terms: Array
    step: Array | None = None
    jump: Array | None = None
    low: float = 0.0
    high: float = 0.0

    @property
    def per(self) -> Array:
        """The terms of one more of a count."""
        assert self.step is not None, "a menu has none"
        return self.step

    @property
    def beside(self) -> Array:
        """The terms of a count beside those of each one of it."""
        assert self.jump is not None, "a menu has none"
        return self.jump

    @property
    def least(self) -> Array:
        """The terms of the least count."""
        return self.low * self.per + (self.low > 0.0) * self.beside

    def ends(self) -> tuple[Array, Array]:
        """The least and the greatest terms."""
        if self.step is None:
            return self.terms.min(axis=0), self.terms.max(axis=0)
        with np.errstate(invalid="ignore"):
            tips = [
                np.where(self.per == 0.0, 0.0, n * self.per) + (n > 0) * self.beside for n in self.counts()
            ]
        return np.min(tips, axis=0), np.max(tips, axis=0)

    def counts(self) -> list[float]:
        """The numbers at which its terms may be least or greatest."""
        return sorted(
            {self.low, self.high, max(self.low, 1.0)}
            if self.low < 1.0 <= self.high
            else {self.low, self.high}
        )


@dataclass(frozen=True, slots=True)
class Ratio:
    """An objective that is a ratio of two criteria: the place, factor and constant of what is above, and below.

    What is below is positive, its criterion is it with the sign turned.
    """

    above: int
    above_factor: float
    above_constant: float
    below: int
    below_factor: float
    below_constant: float

    def parts(self, f: Array) -> tuple[Array, Array]:
        """What is above and what is below at criteria (K, C)."""
        above = f[:, self.above] * self.above_factor + self.above_constant
        return above, -(f[:, self.below] * self.below_factor + self.below_constant)


@dataclass(frozen=True, slots=True)
class Sums:
    """Criteria that are all to be small.

    ``cap`` (C,): beyond it no design will do; ``enough`` (C,): below it less is no better (minus infinity: it is);
    ``tight`` (C,): below it the limit holds wherever it is (infinite: it is no limit). ``goal`` (C,): the criteria of
    which the objective is made, and ``margin`` (C,) by how much less is surely better; ``ratio``: the objective, where
    it is one of two criteria; ``largest`` (C,): criteria that are the largest of their terms, not their sum (None:
    there are none); ``ties``: whether of designs that are as good all are kept, or one.
    """

    stages: tuple[Stage, ...]
    cap: Array
    enough: Array
    tight: Array
    goal: Mask
    margin: Array
    ratio: Ratio | None = None
    largest: Mask | None = None
    ties: bool = True

    def joined(self, a: Array, b: Array) -> Array:
        """Criteria of two parts of a design, from those of both."""
        return a + b if self.largest is None else np.where(self.largest, np.maximum(a, b), a + b)

    def total(self, parts: Array) -> Array:
        """Criteria of what all parts (P, C) make."""
        found = self.nothing
        for part in parts:
            found = self.joined(found, part)
        return found

    @property
    def nothing(self) -> Array:
        """Criteria of what has no part."""
        return np.zeros(len(self.cap)) if self.largest is None else np.where(self.largest, -np.inf, 0.0)
