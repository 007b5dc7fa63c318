"""Sums over decided quantities as numbers: one term for each quantity in every criterion that is to be small.

``Terms`` reads the terms of a decided quantity off affine forms; ``Stage`` and ``Sums`` are arrays of them.
"""

from __future__ import annotations

import math
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.forms import Affine, Atom, Entry, Largest, Maximum, Some
from formulations.arithmetics.many import Array
from scenarios.question import Decision, Question
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
    step: Array = field(default_factory=lambda: np.zeros(0))
    jump: Array = field(default_factory=lambda: np.zeros(0))
    low: float = 0.0
    high: float = 0.0

    @property
    def menu(self) -> bool:
        """Whether it is a menu, not a count."""
        return self.values.size > 0

    @property
    def least(self) -> Array:
        """The terms of the least count."""
        return self.low * self.step + (self.low > 0.0) * self.jump

    def ends(self) -> tuple[Array, Array]:
        """The least and the greatest terms."""
        if self.menu:
            return self.terms.min(axis=0), self.terms.max(axis=0)
        with np.errstate(invalid="ignore"):
            tips = [
                np.where(self.step == 0.0, 0.0, n * self.step) + (n > 0) * self.jump for n in self.counts()
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


BOUND_ROUNDING_UP = 1e-9


class NotSums(CannotTake):
    """The question is not a sum over what is decided, or nothing ends it."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A form that is to be small, without its constant; the fields are those of ``criteria.Sums``.

    ``largest``: in place of the form the arguments of a maximum, each of one decided quantity.
    """

    form: Affine
    cap: float = math.inf
    enough: float = -math.inf
    tight: float = math.inf
    goal: bool = False
    largest: tuple[Affine, ...] = ()


def about(atom: Atom) -> set[str]:
    """The decided quantities that an atom depends on."""
    if isinstance(atom, str):
        return {atom}
    if isinstance(atom, Entry):
        return {atom.name}
    if isinstance(atom, Largest):
        return about(atom.of)
    if isinstance(atom, Maximum | Some):
        forms = atom.arguments if isinstance(atom, Maximum) else (atom.amount,)
        return {name for f in forms for a in f.terms for name in about(a)}
    return {atom.one, atom.other}


def names(form: Affine) -> set[str]:
    """The decided quantities that a form depends on."""
    return {name for atom in form.terms for name in about(atom)}


class Terms:
    """A decided quantity: its ends, and its terms in forms."""

    def __init__(self, question: Question, d: Decision) -> None:
        self.name, self.values = d.name, d.values
        box = evaluation.box(question, d.name)
        # an end that only a search has proves nothing
        high = math.inf if box.searched[1] else float(math.floor(box.high))
        self.low, self.high = (
            (float(math.ceil(box.low - BOUND_ROUNDING_UP)), high) if d.values is None else (0.0, 0.0)
        )

    def numbers(self, form: Affine) -> tuple[float | None, float, Array]:
        """The step and jump of a count in a form, or the terms of a menu's entries."""
        own = {a: c for a, c in form.terms.items() if self.name in about(a)}
        if any(len(about(a)) > 1 for a in own):
            raise NotSums("something depends on several of the numbers that are decided")
        if self.values is not None:
            found = [sum(c * self._at(a, k) for a, c in own.items()) for k in range(len(self.values))]
            return None, 0.0, np.array(found, dtype=float)
        step = jump = 0.0
        for atom, c in own.items():
            if isinstance(atom, str):
                step += c
            elif isinstance(atom, Some) and atom.amount.constant == 0.0 and _rises(atom.amount):
                jump += c
            else:
                raise NotSums("something that is not a multiple of a number")
        return step, jump, np.zeros(0)

    def of_largest(self, arguments: tuple[Affine, ...]) -> Array:
        """Its own argument of a maximum for each entry of its menu; minus infinity where it has none."""
        assert self.values is not None, "of menus only"
        mine = next((f for f in arguments if self.name in names(f)), None)
        if mine is None:
            return np.full(len(self.values), -np.inf)
        return self.numbers(mine)[2] + mine.constant

    def _at(self, atom: Atom, k: int) -> float:
        if isinstance(atom, Entry):
            return float(atom.place == k)
        if isinstance(atom, Maximum):
            return max(
                sum(c * self._at(a, k) for a, c in f.terms.items()) + f.constant for f in atom.arguments
            )
        if isinstance(atom, Some):
            return float(
                sum(c * self._at(a, k) for a, c in atom.amount.terms.items()) + atom.amount.constant > 0.0
            )
        raise NotSums("something that is not a pick from a menu")

    def stage(self, kept: list[Criterion]) -> Stage:
        """It and its terms in all criteria, ended where it ends now."""
        if self.values is not None:
            table = [self.of_largest(c.largest) if c.largest else self.numbers(c.form)[2] for c in kept]
            terms = np.array(table).reshape(len(kept), len(self.values)).T
            return Stage(self.name, np.asarray(self.values, dtype=float), terms)
        if any(self.name in names(f) for c in kept for f in c.largest):
            raise NotSums("the largest of what depends on whole numbers")
        found = np.array([self.numbers(c.form)[:2] for c in kept], dtype=float).reshape(len(kept), 2)
        step, jump = found.T
        return Stage(self.name, np.zeros(0), np.zeros((0, len(kept))), step, jump, self.low, self.high)


def _rises(amount: Affine) -> bool:
    return all(isinstance(a, str) and c > 0.0 for a, c in amount.terms.items())
