"""Elements of indexed families: ``share.a.cpu`` is the element of ``share`` at region a and processor cpu."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dse.system.records import dataclass
from formulations.evaluation import quantity

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from dse.models.model import Model
    from dse.quantities import Quantity
    from scenarios.question import Question

    Key = tuple[str, tuple[str, ...]]

WHOLE_WITHIN = 1e-6
"""How far a count may be from a whole number to be shown as one, relative."""


@dataclass(frozen=True, slots=True)
class Family:
    """The elements of a family that a question tells of: reported, decided, and given beside those.

    ``dims``: what its labels are ("region", "processor"); ``elements``: flat name by labels; ``like``: unit,
    meaning and source of them all.
    """

    name: str
    dims: tuple[str, ...]
    elements: Mapping[tuple[str, ...], str]
    like: Quantity


def family_name(q: Quantity) -> str:
    """Return the name of the family that a quantity is an element of."""
    return q.name.removesuffix("".join(f".{label}" for _, label in q.index))


def index_of(model: Model) -> dict[str, tuple[str, tuple[tuple[str, str], ...]]]:
    """Return family and (dimension, label) pairs of every element of the model, by its name."""
    return {q.name: (family_name(q), q.index) for q in (*model.inputs, *model.metrics) if q.index}


def menus_of(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the entries of the menus that whole numbers of the model pick from, by the names of the numbers."""
    return {q.name: q.menu for q in (*model.inputs, *model.metrics) if q.menu}


def given_of(question: Question) -> dict[str, Any]:
    """Return the elements of families that the question gives."""
    given = question.given
    return {q.name: given[q.name] for q in question.model.inputs if q.index and q.name in given}


def collect(questions: Iterable[Question]) -> dict[Key, Family]:
    """Return the families that the answers to these questions tell of, by name and dimensions."""
    found: dict[Key, dict[str, Quantity]] = {}
    told: dict[Key, None] = {}
    for question in questions:
        decided = {d.name for d in question.decide if d.choices is None}
        answered = decided | {q.name for q in question.model.metrics}
        # inputs first: the last of a list may be a metric only
        for q in (*question.model.inputs, *question.model.metrics):
            if q.index and (q.name in answered or q.name in question.given):
                found.setdefault(_family_key(q), {}).setdefault(q.name, q)
                told |= {_family_key(q): None} if q.name in answered else {}
    return {key: _family(key, list(found[key].values())) for key in found if key in told}


def _family_key(q: Quantity) -> Key:
    return family_name(q), tuple(dim for dim, _ in q.index)


def _family(key: Key, elements: list[Quantity]) -> Family:
    name, dims = key
    meanings = Counter(_general(q) for q in elements)
    like = replace(elements[0], name=name, index=(), meaning=meanings.most_common(1)[0][0])
    return Family(name, dims, {tuple(label for _, label in q.index): q.name for q in elements}, like)


def _general(q: Quantity) -> str:
    """Write an element's meaning for all of its family: "of region a on cpu" as "of a region on a processor"."""
    text = f"{q.meaning} "
    for dim, label in q.index:
        text = text.replace(f" {dim} {label} ", f" a {dim} ").replace(f" {label} ", f" a {dim} ")
    return text.rstrip()


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of indexed families: what its labels are, what it is called in a dataset, its labels in order."""

    what: str
    name: str
    labels: tuple[str, ...]


def dimensions(families: Iterable[Family], taken: Container[str]) -> dict[str, Dimension]:
    """Return the dimensions of the families; a name that is ``taken`` in the dataset gets "_name" behind it."""
    found: dict[str, dict[str, None]] = {}
    for family in families:
        for labels in family.elements:
            for dim, label in zip(family.dims, labels, strict=True):
                found.setdefault(dim, {})[label] = None
    return {
        dim: Dimension(dim, dim + ("_name" if dim in taken else ""), tuple(of)) for dim, of in found.items()
    }


def fractions_of(question: Question, variables: Mapping[str, float | str]) -> tuple[str, ...]:
    """Return what counts things and was found to be no whole number, where the question does not ask for one."""
    free = (d.name for d in question.decide if not d.integer and d.values is None and d.choices is None)
    return tuple(n for n in free if _is_fraction(variables.get(n)) and quantity(question.model, n).counted)


def _is_fraction(found: float | str | None) -> bool:
    if isinstance(found, str) or found is None or not math.isfinite(found):
        return False
    return abs(found - round(found)) > WHOLE_WITHIN * abs(found)
