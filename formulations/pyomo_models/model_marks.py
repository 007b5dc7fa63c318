"""What a model said when it was handed out, so that what its user changed in it is known when it comes back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import pyomo.environ as pyo
from pyomo import gdp

from dse.names import some_of
from dse.system.records import dataclass

MARKS_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a model came from.

    ``scenario``: the hash of its scenario; ``place``: its place on the axes that are not open in it; ``said``: see
    ``marks``; ``choice``: what is chosen among names in it; ``choices``: of a disjunctive model, the choice of each of
    its disjuncts; ``start``: the values that its variables were handed out with.
    """

    scenario: str
    place: Mapping[str, int]
    said: Mapping[str, str]
    choice: Mapping[str, str]
    choices: Sequence[Mapping[str, str]] = ()
    start: Mapping[str, float] = field(default_factory=dict)


def marks(model: Any) -> dict[str, str]:
    """Return a mark of every active constraint, objective and disjunction, and of the ends of every variable."""
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in _expressions(model)}


def values(model: Any) -> dict[str, float]:
    """Return the values that variables of a model have."""
    into = (pyo.Block, gdp.Disjunct)
    every = model.component_data_objects(pyo.Var, descend_into=into)
    return {v.name: float(v.value) for v in every if v.value is not None}


def _expressions(model: Any) -> Iterator[tuple[str, str]]:
    into = (pyo.Block, gdp.Disjunct)
    for c in model.component_data_objects(pyo.Constraint, active=True, descend_into=into):
        yield c.name, str(c.expr)
    for o in model.component_data_objects(pyo.Objective, active=True, descend_into=into):
        yield o.name, f"{o.sense} {o.expr}"
    for d in model.component_data_objects(gdp.Disjunction, active=True, descend_into=into):
        yield d.name, str([x.name for x in d.disjuncts])
    for v in model.component_data_objects(pyo.Var, descend_into=into):
        fixed = v.value if v.fixed else ""
        yield f"the ends of {v.name}", f"{v.lb} {v.ub} {v.domain} {fixed}"


def changes(model: Any, said: Mapping[str, str]) -> str:
    """Say what was added, taken out or changed since a model said ``said``; empty where nothing was."""
    now = marks(model)
    # what a variable of its own may be is part of the constraints that hold it
    added = [n for n in now if n not in said and not n.startswith("the ends of ")]
    gone = [n for n in said if n not in now]
    other = [n for n in now if n in said and now[n] != said[n]]
    parts = (("added", added), ("taken out", gone), ("changed", other))
    return "; ".join(f"{word}: {some_of(names, MARKS_SHOWN)}" for word, names in parts if names)
