"""Points of a chunk that ask the same but for numbers, as arrays: their question, and what was answered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dse.sweeping.checks.findings import Findings
from dse.system.records import dataclass
from formulations.grids.divided import with_each_number
from formulations.grids.over_grid import Region, Spread
from results.dataset import STATUS_CODES, Layout, Variable
from results.solution import Status
from scenarios.question import Decision, Limit, Question, fixed

Array = np.ndarray[Any, Any]
OPTIMAL, FEASIBLE, INFEASIBLE, EVALUATED = (
    STATUS_CODES[s] for s in (Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE, Status.EVALUATED)
)


ARRAYS_AGREE = 1e-9
"""Arrays and floats round differently in a few hundred operations; sums that cancel lose some digits more."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the grid with what is stored there."""

    spread: Spread
    plan: Layout
    region: Region
    arrays: Mapping[str, Array]

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(s.stop - s.start for s in self.region)

    @property
    def origin(self) -> tuple[int, ...]:
        """The place of its first point in the grid."""
        return tuple(s.start for s in self.region)

    def variables(self, role: str) -> Iterator[Variable]:
        """Go through the variables of a role that are stored."""
        return (v for v in self.plan.variables if v.role == role and v.name in self.arrays)

    def answered(self) -> Array:
        """Tell where there is a design (or, with nothing decided, where the numbers stand)."""
        if "status" not in self.arrays:
            return np.ones(self.shape, bool)
        status = self.arrays["status"]
        designed: Array = (status == OPTIMAL) | (status == FEASIBLE) | (status == EVALUATED)
        return designed | (status == INFEASIBLE) if not self.question().decide else designed

    def question(self) -> Question:
        """Return the question of the piece: arrays along its axes in what is given, limited and decided."""
        return self.spread.question(self.region)

    def questions(self) -> Iterator[tuple[Question, Mapping[str, str], Array]]:
        """Go through the choices among names that were made: what they leave of the question, and where."""
        asked, answered = self.question(), self.answered()
        chosen_from = {d.name for d in asked.decide if d.choices}
        named = [v for v in self.variables("decided") if v.dtype != "float64" and v.key in chosen_from]
        if not named:
            if answered.any():
                yield asked, {}, answered
            return
        codes = np.stack([self.arrays[v.name] for v in named], -1)
        for combination in np.unique(codes[answered], axis=0):
            if (combination < 0).any():
                continue
            texts = [json.loads(v.attributes["choices"])[c] for v, c in zip(named, combination, strict=True)]
            chosen = {v.key: str(text) for v, text in zip(named, texts, strict=True)}
            yield fixed(asked, chosen), chosen, answered & (codes == combination).all(-1)


def stored_number(plan: Layout, name: str, arrays: Mapping[str, Any]) -> Any:
    """Return what is stored of a decided number, among the arrays (or numbers) of all variables; None: nothing."""
    for variable in plan.variables:
        if variable.role == "decided" and variable.key == name:
            return arrays.get(variable.name)
        places = [
            p for p, element in variable.elements.items() if element == name and variable.role == "family"
        ]
        if places and variable.name in arrays:
            return element_at(arrays[variable.name], places[0])
    return None


def element_at(array: Any, place: tuple[int, ...]) -> Any:
    """Return one element of a family, at all points."""
    at: tuple[Any, ...] = (..., *place)
    return array[at]


def question_at_mask(asked: Question, shape: tuple[int, ...], mask: Array) -> Question:
    """Return the question with its arrays at the points of the mask, in a row."""

    def there(value: Any) -> Any:
        return np.broadcast_to(value, shape)[mask] if isinstance(value, np.ndarray) else value

    return with_each_number(asked, there)


@dataclass(frozen=True, slots=True)
class Told:
    """Where to note what is wrong with some points of a part."""

    part: Part
    mask: Array
    found: Findings

    def tell(self, bad: Any, variable: str, what: str) -> None:
        """Note the points among those of the mask at which ``bad`` is true."""
        if np.any(bad):
            where = np.zeros(self.part.shape, bool)
            where[self.mask] = bad
            self.found.tell(where, self.part.origin, variable, what)

    def differ(self, name: str, pair: tuple[Any, Any]) -> None:
        """Compare what is stored with what the model says."""
        kept, computed = pair
        same = (kept == computed) | (np.isnan(kept) & np.isnan(computed))
        off = np.where(same, 0.0, np.abs(kept - computed) / np.maximum(np.abs(kept), np.abs(computed)))
        self.tell(~(off <= ARRAYS_AGREE), name, "differs from what the model computes for the design")
        # what is a number on one side only is told as wrong
        known = np.where(np.isfinite(off), off, 0.0)
        self.found.difference = max(self.found.difference, float(np.max(known, initial=0.0)))


def relative_excess(
    question: Question, x: Mapping[str, Any], at: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Go through the limits: by how much each is missed, relative to it (negative: it holds)."""
    holders: list[Limit | Decision] = [*question.limits, *question.decide]
    for held in holders:
        value = at.get(held.name, x.get(held.name, question.given.get(held.name)))
        for end, sign in ((held.maximum, 1.0), (held.minimum, -1.0)):
            if end is None or value is None:
                continue
            over: Any = sign * (np.asarray(value, float) - end)
            least = 1.0 if held.name == "halvings" else 0.0
            size: Any = np.maximum(np.abs(end), least)
            # relative to the limit; a limit of 0 or below asks for that much itself
            yield held.name, np.where((np.asarray(end) > 0) & np.isfinite(size), over / size, over)
    for own in question.model.limits:
        if own.name in at and own.name not in question.waive:
            yield own.name, np.asarray(at[own.name], float) - 1.0
