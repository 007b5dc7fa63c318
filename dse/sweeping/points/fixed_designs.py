"""A design that is fixed before the uncertain is known, evaluated in every world."""

from __future__ import annotations

import bisect
import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import results.dataset
from dse.models.model import MACHINE_PREFIX
from dse.quantities import show
from dse.sweeping.checks.parts import ARRAYS_AGREE
from dse.sweeping.points import chunk_work
from formulations import evaluation
from scenarios import ScenarioError
from scenarios.language.errors import Findings, meant, shown
from scenarios.language.reading import Reader
from scenarios.question import HALVINGS, STRETCH, Decision, Limit, Question, fixed
from scenarios.sweep.grids import Grid

if TYPE_CHECKING:
    import xarray as xr

Design = Mapping[str, float | str]
ALLOWED_DIGITS = 12


def checked(grid: Grid, design: Design, file: str) -> dict[str, float | str]:
    """Return the value of all that a design decides, SI, or the name of a choice.

    Time spent idling is left out, and so is what plays no part beside the names that the design chooses. Bounds are
    limits, which a design may break. Raises ScenarioError for a name that is missing or is not decided, and for a
    value that what is decided cannot have: no number, outside its domain, not whole, not in its list.
    """
    decided, findings = grid.decided(), Findings(file)
    if not isinstance(design, Mapping):
        findings.add(
            "design", f"{shown(design)} is no design", f"give a value of {' and of '.join(decided)}, by name"
        )
        _refuse(findings)
    for name in design:
        if name not in decided and name != STRETCH.name:
            wrong = f"the design has a value of {shown(name)}, which is not decided"
            findings.add(f"design.{name}", wrong, meant(str(name), decided))
    found: dict[str, float | str] = {}
    for base in grid.bases.values():
        named = {d.name: d.choices for d in base.decide if d.choices is not None}
        _demand(named, design, findings)
        for name, choices in named.items():
            if design[name] not in choices:
                wrong = f"{name} cannot be {shown(design[name])}"
                findings.add(f"design.{name}", wrong, meant(str(design[name]), choices))
        _refuse(findings)
        found |= {name: str(design[name]) for name in named}
        left = fixed(base, {name: str(design[name]) for name in named})
        numbers = {d.name: d for d in left.decide if d.name != STRETCH.name}
        _demand([*named, *numbers], design, findings)
        reader = Reader(left.model, findings)
        found |= {n: _value(reader, left, d, design[n]) for n, d in numbers.items()}
        _refuse(findings)
    return found


def _demand(needed: Collection[str], design: Design, findings: Findings) -> None:
    """Raise ScenarioError where a design lacks what it needs."""
    missing = [n for n in needed if n not in design]
    if missing:
        wrong = f"the design has no value of {', '.join(missing)}"
        findings.add("design", wrong, f"it needs {', '.join(needed)}")
    _refuse(findings)


def _refuse(findings: Findings) -> None:
    if findings.problems:
        raise ScenarioError(findings.problems)


def _value(reader: Reader, question: Question, d: Decision, stated: Any) -> float:
    """Return the value that a design states of a decided number, SI; NaN, and a mistake noted, where it cannot be."""
    key, q = f"design.{d.name}", evaluation.quantity(question.model, d.name)
    size = question.given.get(f"{MACHINE_PREFIX}word_size")
    word_size = size if isinstance(size, float) else None
    if getattr(stated, "size", 0) == 1:
        stated = stated.item()  # of an array, or a dataset
    value = reader.inside(key, reader.number(key, stated, q, word_size), q, word_size, stated, positive=True)
    if value is None:
        return math.nan
    around = _allowed_around(question, d, value)
    near = min(around, key=lambda v: abs(v - value))
    if abs(near - value) > ARRAYS_AGREE * abs(value):
        told = show(value, q.unit, ALLOWED_DIGITS)
        wrong = f"{told} is not {'one of its values' if d.values is not None else 'a whole number'}"
        right = " or ".join(q.menu[int(v) - 1] if q.menu else show(v, q.unit, ALLOWED_DIGITS) for v in around)
        reader.findings.add(key, wrong, f"write {right}")
    return near


def _allowed_around(question: Question, d: Decision, value: float) -> list[float]:
    """Return what is nearest to a value below and above it among what a decided number may be."""
    if d.values is None:
        return [*dict.fromkeys((math.floor(value), math.ceil(value)))] if d.integer else [value]
    within = d.values[0] <= value <= d.values[-1]
    every = d if within else evaluation.with_all_powers(d, evaluation.box(question, d.name).searched)
    values = every.values or d.values
    after = bisect.bisect_left(values, value)
    return [*values[max(after - 1, 0) : after + 1]]


def evaluated(grid: Grid, design: Design) -> xr.Dataset:
    """Evaluate one design at every point of a grid: metrics, objective, and whether all limits hold (status).

    ``design``: what ``checked`` returned. Bounds of what is decided are limits. Time spent idling is chosen at each
    point anew: it costs nothing to decide it late.
    """
    bases = {key: pinned(base, design) for key, base in grid.bases.items()}
    at = chunk_work.ready(replace(grid, bases=bases))
    return results.dataset.to_dataset(at.plan, chunk_work.everything(at))


def decided_objective(grid: Grid, design: Design) -> float | None:
    """Return the objective of a design where that is decided itself, or halvings; None where it is a metric."""
    question = grid.first
    names = [o.name for o in question.objectives]
    return next((float(v) for n, v in pinned(question, design).given.items() if n in names[:1]), None)


def pinned(question: Question, design: Design) -> Question:
    """Return the question with all that is decided given: its bounds are limits on what is given then.

    Without an objective that is not a metric of the model (a decided quantity, halvings), which is then a given number.
    """
    chosen = {d.name: str(design[d.name]) for d in question.decide if d.choices is not None}
    left = fixed(question, chosen)
    numbers = {d.name: float(design[d.name]) for d in left.decide if d.name != STRETCH.name}
    if any(d.base is not None for d in left.decide):
        numbers[HALVINGS.name] = float(evaluation.halvings(left, numbers))
    metrics = {q.name for q in left.model.metrics}
    bounds = tuple(Limit(d.name, d.minimum, d.maximum) for d in left.decide if d.name in numbers)
    return replace(
        left,
        given={**left.given, **numbers},
        decide=tuple(d for d in left.decide if d.name == STRETCH.name),
        objectives=tuple(o for o in left.objectives if o.name in metrics),
        limits=(
            *(x for x in left.limits if x.name in metrics or x.name in numbers or x.name in left.given),
            *(x for x in bounds if (x.minimum, x.maximum) != (None, None)),
        ),
    )
