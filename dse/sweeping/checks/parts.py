"""Points of a chunk that ask the same but for numbers, as arrays: their question, and what was answered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dse.system.records import dataclass
from formulations.grids.over_grid import Region, Spread
from results.dataset import STATUS_CODES, Layout, Variable
from results.solution import Status
from scenarios.question import Question, fixed

Array = np.ndarray[Any, Any]
OPTIMAL, FEASIBLE, INFEASIBLE, EVALUATED = (
    STATUS_CODES[s] for s in (Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE, Status.EVALUATED)
)


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
