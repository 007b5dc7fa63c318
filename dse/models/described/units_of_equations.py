"""Whether a model's equations give what it declares: run once with units for numbers.

Each declared parameter is a number with its unit. What comes out of the equations then has a unit of its own, which is
that of the metric, or none for a limit (a ratio). Our own models are proved so in their tests; for a model of somebody
else it is done when a question first asks for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from dse.models.described.witness import line_of_equations, refusal
from dse.models.model import Model, evaluate
from dse.models.shared.kernels import LABELS
from dse.quantities import Quantity, registry

MOST_KEPT = 256
"""Models of which it is remembered: more than a process asks for in turns, unless it makes them."""
_judged: dict[int, tuple[Model, tuple[str, ...]]] = {}


def wrong(model: Model) -> tuple[str, ...]:
    """Return what is wrong with the units of a model's equations, a sentence each; none where nothing is, or is known.

    Nothing is known of equations beyond arithmetic, where no parameter has a unit, and where the numbers tried are
    outside their domain.
    """
    if id(model) not in _judged:
        # the model is kept, so that no other one has its number; the oldest is let go
        if len(_judged) >= MOST_KEPT:
            _judged.pop(next(iter(_judged)), None)
        _judged[id(model)] = model, (found := tuple(_unit_mistakes(model)))
        return found
    return _judged[id(model)][1]


def _unit_mistakes(model: Model) -> list[str]:
    values = _point(model)
    numbers = [n for n, v in values.items() if not isinstance(v, str)]
    texts = {n: v for n, v in values.items() if isinstance(v, str)}
    if model.black_box or model.structure is not None or refusal(model, texts, numbers):
        return []
    units, parameters = registry(), model.parameters()
    if not any(parameters[n].unit for n in numbers):
        # constants of the equations carry the units, which nothing says
        return []
    from pint import DimensionalityError

    dressed = {
        n: v if isinstance(v, str) else units.Quantity(v, parameters[n].unit) for n, v in values.items()
    }
    try:
        with warnings.catch_warnings(action="ignore"):
            found = evaluate(model, dressed, **{label: units.Quantity(1.0, label) for label in LABELS})
    except Exception as error:  # equations of somebody else
        problem = error if isinstance(error, DimensionalityError) else error.__cause__
        if not isinstance(problem, DimensionalityError):
            # outside their domain: nothing is known
            return []
        first, second = (_unit_text(units.Unit(u)) for u in (problem.units1, problem.units2))
        return [f"the equations put {first} and {second} together{line_of_equations(problem.__traceback__)}"]
    declared = {q.name: (f"metric {q.name}", q.unit) for q in model.metrics}
    declared |= {x.name: (f"limit {x.name}", "") for x in model.limits}
    return [
        text
        for name, value in found.items()
        if name in declared and (text := _unit_mismatch(*declared[name], value, units))
    ]


def _unit_mismatch(name: str, unit: str, value: Any, units: Any) -> str:
    if isinstance(value, str):
        return f"{name} comes out as the text {value!r}, not as a number"
    number = units.Quantity(1.0, "") * value
    if number.dimensionality == units.Quantity(1.0, unit).dimensionality:
        return ""
    return f"{name} comes out in {_unit_text(number.to_reduced_units().units)}, declared is {unit or 'a plain number'}"


def _unit_text(units: Any) -> str:
    return f"{units:~}".replace(" ", "").replace("FLOP", "flop") or "a plain number"


def _point(model: Model) -> Mapping[str, float | str]:
    """Return a value for each parameter, inside its domain; of a group that excludes each other the first."""
    left_out = {*model.further, *(n for group in model.one_of for n in group[1:])}
    return {n: _value_for_unit_test(q) for n, q in model.parameters().items() if n not in left_out}


def _value_for_unit_test(q: Quantity) -> float | str:
    if q.choices:
        return str(q.default or q.choices[0])
    low, high = max(q.minimum, q.floor), min(q.maximum, q.ceiling)
    return min(max(2.0, low), high) if high > 2.0 else (low + high) / 2
