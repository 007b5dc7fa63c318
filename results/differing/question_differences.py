"""What differs between two scenarios by what they mean: names resolved, numbers in SI units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import scenarios
from dse.models.shared.validity import is_within
from results.differing.differences import Row, both, compared, each
from scenarios import Grid, Scenario
from scenarios.define.composed import definitions_of
from scenarios.uncertainty import uncertain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scenarios.question import Question
    from scenarios.sweep.grids import Column, GridAxis

SECTION = "question"


def differences(first: Scenario, second: Scenario, tolerance: float) -> Iterator[Row]:
    """Compare two scenarios; titles, comments and the way numbers are written make no difference.

    A machine named and the same machine written out are the same. Raises ScenarioError where a scenario is wrong.
    """
    grids = both(scenarios.grid, first, second)
    asked = both(lambda g: g.first, *grids)
    models = both(lambda q: q.model.name, *asked)
    if models[0] != models[1]:
        yield Row(SECTION, "model", *models, "nothing else is compared", models)
        return
    units = _units(*asked)
    yield from _swept_differences(*grids, tolerance)
    swept = {c.of.path.removeprefix("given.") for g in grids for c in g.changes}
    given = both(
        lambda q: {
            n: v
            for n, v in q.given.items()
            if not any(n == path or n.startswith(f"{path.removesuffix('.base')}.") for path in swept)
        },
        *asked,
    )
    yield from each(SECTION, *given, tolerance, units)
    yield from _machine_differences(*asked, tolerance)
    told = both(_decision_entries, *asked)
    yield from each(SECTION, *told, tolerance, units | _units_of_sides(units, told))
    defined = both(lambda q: {d.name: d.text for d in definitions_of(q.model)}, *asked)
    yield from each(SECTION, *defined, tolerance, prefix="define.")
    limits = both(lambda q: _limits_not_swept(q, swept), *asked)
    yield from each(SECTION, *limits, tolerance, _units_of_sides(units, limits), "limits.")
    yield from each(SECTION, *both(uncertain_words.record, *asked), tolerance)
    rest = both(_rest, *asked)
    yield from each(SECTION, *rest, tolerance)
    yield from _search_differences(first, second, tolerance)


def _units(*asked: Question) -> dict[str, str]:
    found = {n: q.unit for x in asked for n, q in x.model.parameters().items()}
    return found | {q.name: q.unit for x in asked for q in x.model.metrics}


def _units_of_sides(units: Mapping[str, str], told: tuple[Mapping[str, Any], ...]) -> dict[str, str]:
    """Return the units of entries such as "time.max"."""
    names = {n for record in told for n in record}
    return {n: units.get(n.removeprefix("decide.").rpartition(".")[0], "") for n in names}


def _swept_differences(first: Grid, second: Grid, tolerance: float) -> Iterator[Row]:
    axes = tuple({a.name: a for a in g.axes} for g in (first, second))
    yield from compared(SECTION, "axes", list(axes[0]), list(axes[1]), tolerance)
    for name in axes[0].keys() & axes[1].keys():
        one, other = axes[0][name], axes[1][name]
        paths = [[p.path for p in a.parts] for a in (one, other)]
        told = [
            p[0] if len(p) == 1 and not a.columns else p for p, a in zip(paths, (one, other), strict=True)
        ]
        yield from compared(SECTION, f"sweep.{name}.path", told[0], told[1], tolerance)
        if len(one.values) != len(other.values):
            texts = tuple(f"{len(a.values)} {'rows' if a.columns else 'values'}" for a in (one, other))
            counts = len(one.values), len(other.values)
            yield Row(SECTION, f"sweep.{name}", texts[0], texts[1], "", counts)
            continue
        theirs = {p.path: p for p in other.parts}
        for part in one.parts:
            if part.path in theirs or not one.columns:
                where = f"sweep.{name}" + (f".{part.path}" if one.columns else "")
                yield from _first_of(where, part, theirs.get(part.path, other), tolerance)


def _first_of(name: str, one: Column | GridAxis, other: Column | GridAxis, tolerance: float) -> Iterator[Row]:
    """Compare the values of two axes, or of two columns of rows, up to the first that differs."""
    for place, (a, b) in enumerate(zip(one.values, other.values, strict=True)):
        found = list(compared(SECTION, f"{name}[{place}]", a, b, tolerance, one.unit)) if a != b else []
        if found:
            yield from found
            return


def _machine_differences(first: Question, second: Question, tolerance: float) -> Iterator[Row]:
    """Compare the machines among which is chosen."""
    names = dict.fromkeys((*first.machines, *second.machines))
    for name in names:
        one, other = first.machines.get(name), second.machines.get(name)
        if one is None or other is None:
            continue
        yield from each(SECTION, one, other, tolerance, prefix=f"{name}: ")


def _decision_entries(q: Question) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for d in q.decide:
        told = {
            "min": d.minimum,
            "max": d.maximum,
            "integer": d.integer or None,
            "values": None if d.values is None else list(d.values),
            "choices": None if d.choices is None else list(d.choices),
            "base": d.base,
        }
        found[f"decide.{d.name}"] = "decided"
        found |= {f"decide.{d.name}.{k}": v for k, v in told.items() if v is not None}
    return found


def _limits_not_swept(q: Question, swept: set[str]) -> dict[str, Any]:
    found = {
        f"{x.name}.{side}": end
        for x in q.limits
        for side, end in (("min", x.minimum), ("max", x.maximum), ("within", x.within))
        if end is not None and math.isfinite(end)
    }
    return {n: v for n, v in found.items() if f"limits.{n}" not in swept}


def _rest(q: Question) -> dict[str, Any]:
    goals = [f"{'maximize' if o.maximize else 'minimize'} {o.name}" for o in q.objectives]
    return {
        "objective": goals,
        "waive": sorted(q.waive),
        "valid": is_within(q.model),
        "idle": q.idle,
        "gap": q.gap,
    }


def _search_differences(first: Scenario, second: Scenario, tolerance: float) -> Iterator[Row]:
    """Compare what says how to answer: points of a front, a search."""
    for key in ("objective.front", "search"):
        sides = []
        for scenario in (first, second):
            part: Any = scenario
            for name in key.split("."):
                part = getattr(part, name, None)
            sides.append({} if part is None else part.model_dump(exclude_none=True))
        yield from each(SECTION, sides[0], sides[1], tolerance, prefix=f"{key}.")
