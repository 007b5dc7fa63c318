"""Points of a grid for which one value of a limit stands: those that differ in its bound alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dse.system.arrays import Indices
from formulations.arithmetics.many import Many, plain
from formulations.grids import divided
from formulations.row_keys import RowKey
from scenarios.question import HALVINGS, Question
from solvers.mechanisms.sensitivity import with_limit


def apart_but_for(question: Question, key: RowKey) -> tuple[Question, Indices, Indices] | None:
    """Merge points that differ only in one limit, whose least feasible value does not depend on its bound.

    ``question``: of many points. It is handed back with that bound at 1, so that the value has the same bits in every
    batch, with the first of each kind of points, and which kind each point is of. None where the bound is the same at
    all points, or one on what is decided.
    """
    held = [x for x in question.limits if x.name == key.name]
    ends = [{"max": x.maximum, "min": x.minimum}.get(key.side) for x in held]
    several: list[Any] = [end for end in ends if isinstance(end, Many | np.ndarray)]
    if not several or any(d.name == key.name for d in question.decide):
        return None
    ones = np.ones_like(plain(several[0]))
    loose = with_limit(question, key, Many(ones) if isinstance(several[0], Many) else ones)
    return loose, *divided.alike(loose, {str(i): v for i, v in enumerate(divided.numbers(loose))})


def apart_but_for_bound(question: Question, name: str) -> tuple[RowKey, Question, Indices, Indices] | None:
    """The same of a limit of one end, after its key; of two ends the value depends on both bounds."""
    ends = [
        RowKey(name, side)
        for x in question.limits
        for side, end in (("min", x.minimum), ("max", x.maximum))
        if x.name == name and end is not None
    ]
    found = apart_but_for(question, ends[0]) if len(ends) == 1 and name != HALVINGS.name else None
    return None if found is None else (ends[0], *found)


def each_once(
    question: Question, count: int, names: Sequence[str]
) -> Iterator[tuple[str, Question, Indices, Indices]]:
    """Go through limits whose feasible values are wanted at so many points: how they are asked, once for each value.

    The name, the question, the places of the points that are asked, and which of these each point is like.
    """
    for name in names:
        found = apart_but_for_bound(question, name)
        if found is None:
            yield name, question, np.arange(count), np.arange(count)
        else:
            yield name, divided.at(found[1], found[2]), found[2], found[3]
