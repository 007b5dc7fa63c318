"""A decided quantity in sums: its ends, and what it adds to affine forms at each of its values."""

from __future__ import annotations

import math

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.forms import Affine, Atom, Entry, Largest, Maximum, Some
from formulations.arithmetics.many import Array
from scenarios.question import Decision, Question
from solvers.counting.criteria import Stage

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

    def terms(self, kept: list[Criterion]) -> tuple[Array | None, Array, Array]:
        """Its numbers in all criteria: (C,), (C,), (V, C)."""
        if self.values is not None:
            table = np.zeros((len(self.values), len(kept)))
            for k, c in enumerate(kept):
                table[:, k] = self.of_largest(c.largest) if c.largest else self.numbers(c.form)[2]
            return None, np.zeros(0), table
        if any(self.name in names(f) for c in kept for f in c.largest):
            raise NotSums("the largest of what depends on whole numbers")
        found = [self.numbers(c.form) for c in kept]
        return (
            np.array([s for s, _, _ in found]),
            np.array([j for _, j, _ in found]),
            np.zeros((0, len(kept))),
        )

    def stage(self, step: Array | None, jump: Array, table: Array) -> Stage:
        """It and its terms, ended where it ends now."""
        if step is None:
            assert self.values is not None, "what has no step is a menu"
            return Stage(self.name, np.asarray(self.values, dtype=float), table)
        return Stage(self.name, np.zeros(0), table, step, jump, self.low, self.high)


def _rises(amount: Affine) -> bool:
    return all(isinstance(a, str) and c > 0.0 for a, c in amount.terms.items())
