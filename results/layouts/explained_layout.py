"""The variables of a dataset that hold what stands beside each answer: ranges, sensitivities, next changes, choices.

A sweep keeps them at depth "full". ``results.dataset`` lays them out, and reads them from answers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from formulations.evaluation import quantity
from results.solution import Solution
from results.telling.facts import HELD_BY
from results.telling.limits import choices_with_limits
from results.variables import (
    LIMIT,
    LIMIT_UNITS,
    NUMBER,
    NUMBER_UNITS,
    STATUS_CODES,
    Variable,
    flags,
    unit_of_limit,
)
from scenarios.question import Question, combinations, fixed

if TYPE_CHECKING:
    import xarray as xr


ROLE = "explained"
PARAMETER, ALTERNATIVE = "given_number", "alternative"
MOST_CHOICES_KEPT = 1000
"""Combinations of choices of which each is kept; a question with more keeps the best only."""
SEPARATOR = ", "
NAMES = frozenset(
    {
        NUMBER, PARAMETER, ALTERNATIVE, "elasticity_one_sided", "next_change", "next_objective", "range_low",
        "range_high", "held", "next_best", "next_best_choice", "next_best_design", "sensitivity",
        "sensitivity_one_sided", "alternative_status", "alternative_objective", "conflicts", "runaway", "certificate",
    }
)  # fmt: skip
"""Names that a dataset of full depth needs for itself."""

Labels = Mapping[str, tuple[str, ...]]
"""What stands along each dimension."""


def names(dataset: xr.Dataset) -> frozenset[str]:
    """Return the names of what stands beside each answer: none where a sweep did not keep it."""
    return NAMES & frozenset(map(str, dataset.variables)) if "certificate" in dataset else frozenset()


def labels(questions: Sequence[Question]) -> dict[str, tuple[str, ...]]:
    """Return what stands along the dimensions of explanations; without those along which nothing does."""
    given = (
        name
        for asked in questions
        for chosen in choices_with_limits(asked)
        for name, value in fixed(asked, chosen).given.items()
        if not isinstance(value, str)
    )
    numbers = (d.name for asked in questions for d in asked.decide if d.choices is None)
    found = {
        NUMBER: tuple(dict.fromkeys(numbers)),
        PARAMETER: tuple(dict.fromkeys(given)),
        ALTERNATIVE: _alternatives(questions),
    }
    return {dim: names for dim, names in found.items() if names}


def _alternatives(questions: Sequence[Question]) -> tuple[str, ...]:
    counts = [math.prod(len(d.choices) for d in q.decide if d.choices is not None) for q in questions]
    if max(counts, default=1) == 1 or max(counts) > MOST_CHOICES_KEPT:
        return ()
    return tuple(dict.fromkeys(_label(chosen) for q in questions for chosen, _ in combinations(q)))


def _label(chosen: Mapping[str, str]) -> str:
    return SEPARATOR.join(f"{name} = {value}" for name, value in chosen.items())


def coordinates(along: Labels) -> Iterator[Variable]:
    """Go through the coordinates of these dimensions."""
    told = {
        NUMBER: "decided numbers",
        PARAMETER: "given numbers: those of the file and of the machine",
        ALTERNATIVE: "choices among names",
    }
    for dim, names in along.items():
        yield Variable(dim, "text", (dim,), {"long_name": told[dim]}, "coordinate", values=names)


def laid_out(
    questions: Sequence[Question], dims: tuple[str, ...], limits: tuple[str, ...], along: Labels
) -> Iterator[Variable]:
    """Go through the variables of what stands beside an answer."""
    first = questions[0]
    named = any(d.choices is not None for q in questions for d in q.decide)
    goal = first.objectives[0].name if first.objectives else ""
    unit = (quantity(first.model, goal).unit or "1") if goal else "1"

    limit_units = json.dumps({name: unit_of_limit(questions, name) for name in limits})
    number_units = json.dumps({n: _unit(questions, n) for n in along.get(NUMBER, ())})
    of_limit, of_number = {LIMIT_UNITS: limit_units}, {NUMBER_UNITS: number_units}
    reached: dict[str, Any] = {"units": unit}
    ends = flags(range(1 + len(HELD_BY)), ("not held", *HELD_BY))
    codes = flags([0, *STATUS_CODES.values()], ["not computed", *(s.value for s in STATUS_CODES)])
    relaxing, improving = flags([0, 1], _sides("relaxing")), flags([0, 1], _sides("improving"))
    found: list[tuple[str, str, str, str, Mapping[str, Any]]] = [
        (
            LIMIT,
            "elasticity_one_sided",
            "int8",
            "whether an elasticity holds for relaxing the limit only",
            relaxing,
        ),
        (LIMIT, "next_change", "float64", _NEXT_CHANGE, of_limit),
        (LIMIT, "next_objective", "float64", "objective at that value of the limit", reached),
        (NUMBER, "range_low", "float64", _RANGE.format("least"), of_number),
        (NUMBER, "range_high", "float64", _RANGE.format("greatest"), of_number),
        (NUMBER, "held", "int8", "end of its domain that alone bounds a number", ends),
        (NUMBER, "next_best_design", "float64", _NEXT_BEST, of_number),
        *([("", "next_best", "float64", _NEXT_OBJECTIVE, reached)] if named or NUMBER in along else []),
        *([("", "next_best_choice", "text", _NEXT_CHOICE, {})] if named else []),
        (
            PARAMETER,
            "sensitivity",
            "float64",
            "percent of the objective per percent of the number",
            {"units": "1"},
        ),
        (PARAMETER, "sensitivity_one_sided", "int8", _ONE_SIDED, improving),
        (ALTERNATIVE, "alternative_status", "int8", "status of the answer under a choice", codes),
        (ALTERNATIVE, "alternative_objective", "float64", "objective under a choice", reached),
        ("", "conflicts", "text", "minimal sets of limits in conflict, as JSON", {}),
        ("", "runaway", "text", "number that an unbounded question sends to infinity or zero", {}),
        ("", "certificate", "text", "what the answer rests on", {}),
    ]
    there = {*along, *([LIMIT] if limits else [])}
    for dim, key, dtype, what, about in found:
        if not dim or dim in there:
            own = (*dims, dim) if dim else dims
            yield Variable(key, dtype, own, {"long_name": what, **about}, ROLE, key)


def _sides(which: str) -> tuple[str, str]:
    return "both ways", f"{which} only"


_RANGE = "{} optimal value of a number that is not unique (NaN: it is)"
_NEXT_CHANGE = "value of the limit at which the answer next changes, of whole numbers and lists"
_NEXT_BEST = "best design that is worse than the answer, where every design was tried"
_NEXT_OBJECTIVE = "objective of the best design that is worse"
_NEXT_CHOICE = "choice among names of the best design that is worse"
_ONE_SIDED = "whether a sensitivity holds for the change that improves the objective only"


def _unit(questions: Sequence[Question], name: str) -> str:
    asked = next(q for q in questions if name in {d.name for d in q.decide})
    return quantity(asked.model, name).unit or "1"


def reader(key: str, limits: tuple[str, ...], along: Labels) -> Callable[[Solution], Any]:
    """Make a function from an answer to what a variable holds."""
    numbers, given, choices = (along.get(dim, ()) for dim in (NUMBER, PARAMETER, ALTERNATIVE))
    read: dict[str, Callable[[Solution], Any]] = {
        "elasticity_one_sided": lambda s: [_sided(s, n) for n in limits],
        "next_change": lambda s: [_of_limit(s, n, key) for n in limits],
        "next_objective": lambda s: [_of_limit(s, n, key) for n in limits],
        "range_low": lambda s: [s.ranges.get(n, _NONE)[0] for n in numbers],
        "range_high": lambda s: [s.ranges.get(n, _NONE)[1] for n in numbers],
        "held": lambda s: [_end(s, n) for n in numbers],
        "next_best": lambda s: None if s.next_best is None else s.next_best.objective,
        "next_best_choice": _next_choice,
        "next_best_design": lambda s: _design(s, numbers),
        "sensitivity": lambda s: [s.parameters.get(n, math.nan) for n in given],
        "sensitivity_one_sided": lambda s: [
            int(n in s.one_sided) if n in s.parameters else -1 for n in given
        ],
        "alternative_status": lambda s: _of_choices(s, choices, 0),
        "alternative_objective": lambda s: _of_choices(s, choices, 1),
        "conflicts": lambda s: json.dumps(s.conflicts) if s.conflicts else "",
        "runaway": lambda s: s.runaway,
        "certificate": lambda s: s.certificate,
    }
    return read[key]


_NONE = (math.nan, math.nan)


def _of_limit(s: Solution, name: str, key: str) -> float:
    found = getattr(s.limits[name], key) if name in s.limits else None
    return math.nan if found is None else float(found)


def _sided(s: Solution, name: str) -> int:
    state = s.limits.get(name)
    return -1 if state is None or state.elasticity is None else int(state.one_sided)


def _end(s: Solution, name: str) -> int:
    if name not in s.variables:
        return -1
    return HELD_BY.index(s.held[name]) + 1 if s.held.get(name) in HELD_BY else 0


def _next_choice(s: Solution) -> str:
    """Return the names that the next best design has, as ``alternative`` writes them; "" where none is known."""
    found = {} if s.next_best is None else s.next_best.variables
    return _label({name: v for name, v in found.items() if isinstance(v, str)})


def _design(s: Solution, names: Sequence[str]) -> list[float] | None:
    if s.next_best is None:
        return None
    found = (s.next_best.variables.get(n, math.nan) for n in names)
    return [math.nan if isinstance(v, str) else float(v) for v in found]


def _of_choices(s: Solution, choices: Sequence[str], which: int) -> list[float]:
    found = {
        _label(a.choice): (STATUS_CODES[a.status], math.nan if a.objective is None else a.objective)
        for a in s.alternatives
    }
    return [found.get(c, (0, math.nan))[which] for c in choices]
