"""Where scenarios start from: a commented template, the JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dse import machines, models
from dse.models.described.fitted import RANGE, Fitted, fit_of
from dse.models.model import Model
from dse.models.shared.economics import ACCOUNTS, SHARED
from dse.quantities import Quantity, examples
from scenarios.language.part_schema import schema
from scenarios.language.schema import Shape
from scenarios.templates.starters import machines_with, missing_parameters, starter, table_lines
from scenarios.templates.template_lines import (
    about,
    axis,
    bounded,
    choices,
    given,
    limits,
    line,
    objective,
    prices,
    ties,
    uncertain,
)

# the first of the catalogue to try: one inside the range of the models that send messages, then those of the papers
_FAVOURITES = ("balanced", "jaketown", "platform-atom", "platform-cortex-a8", "platform-gpu")
_WORTH_HALVING = ("energy_per_flop", "time_per_word", "time_per_flop")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file, for editors."""
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema(Shape),
        "title": "dse scenario",
        "description": "One question about a machine and an algorithm.",
        "anyOf": [{"required": ["model"]}, {"required": ["kernels"]}],
    }
    made["properties"]["given"]["properties"] = _prices()
    for section in ("decide", "limits"):
        entries = made["properties"][section]
        entries["additionalProperties"] = _nested(entries["additionalProperties"], 3)
    spreads = made["$defs"]["Uncertainty"]
    spreads["additionalProperties"] = _nested(spreads["additionalProperties"], 3)
    return made


def _prices() -> dict[str, Any]:
    """Describe the inputs of cost and carbon, which any model that says what hardware a run keeps busy has."""
    found: dict[str, Any] = {}
    for q in dict.fromkeys((*(q for a in ACCOUNTS for q in a.rates), *SHARED)):
        names = [{"enum": list(q.choices)}] if q.choices else []
        meaning = f"{q.meaning} ({q.unit})" if q.unit else q.meaning
        found[q.name] = {"description": meaning, "anyOf": [*names, {"type": "number"}, {"type": "string"}]}
    return found


def _nested(entry: dict[str, Any], levels: int) -> dict[str, Any]:
    """Allow an entry under a dotted name in nested tables as well."""
    if not levels:
        return entry
    inner = {"type": "object", "minProperties": 1, "additionalProperties": _nested(entry, levels - 1)}
    return {"anyOf": [entry, inner]}


def template(model: str) -> str:
    """Return a commented scenario file to start from, which can be asked as it stands.

    Raises UnknownName (a KeyError) where there is no such model.
    """
    m = models.get(model)
    fit = fit_of(m)
    if fit is not None:
        return "\n".join(_fitted_starter_lines(model, m, fit)) + "\n"
    if m.structure is not None and not m.structure.optional:
        return starter(m, m.structure)
    start = m.start
    decide = start.decide if start else {q.name: _decision_range(q) for q in m.inputs if _is_resource(q)}
    if not (start or decide or m.machine):
        # nothing of a machine enters
        decide = {q.name: _decision_range(q) for q in m.inputs[:1]}
    decided = [q for q in m.inputs if q.name in decide]
    fixed = [q for q in m.inputs if q not in decided]
    among = decide.get("machine", "") if start or decided else f"{{ values = {_machine_menu(m)} }}"
    waived = ", ".join(f'"{x.name}"' for x in m.limits)
    lines = [
        f'title   = "{start.title if start else f"Least {objective(m)}: {m.title}"}"',
        line(f'model   = "{m.name}"', m.source),
        *(
            []
            if among or not (start or m.machine)
            else [line(f"machine = {start.machine if start else _machine_entry(m)}", _about_machine(m))]
        ),
        *([line(f"# waive = [{waived}]", "the model's own limits, to set aside")] if waived else []),
        *(
            [line("# valid = true", "to stay inside the range in which the model was derived")]
            if m.valid
            else []
        ),
        "",
        "[given]   # SI numbers, or text with a unit",
        *(given(m, q, start.given if start else None) for q in fixed),
        *prices(m),
        *(row for table in (m.structure.tables if m.structure else ()) for row in table_lines(table)),
        "",
        "[decide]  # bounds default to the quantity's own domain; also: integer, values, powers_of, divides",
        *([line(f"machine = {among}", "`dse machines` lists them")] if among else []),
        *(line(f"{q.name} = {decide[q.name]}", choices(q)) for q in decided),
        *(f'# "machine.{n}" = {{ max_halvings = 10 }}' for n in _halving_parameter(m)),
        "",
        "[objective]  # or maximize; a list of metrics asks for a Pareto front",
        f'minimize = "{start.minimize if start else objective(m)}"',
        ties(m),
        "",
        "[limits]  # min or max of a metric or a decided quantity",
        *(bounded(m.metrics, start.limits, start.kept) if start else limits(m.metrics)),
        "",
        *axis(m.metrics, start),
        "",
        *uncertain(fixed, start),
    ]
    return "\n".join(lines) + "\n"


def _fitted_starter_lines(name: str, m: Model, fit: Fitted) -> Iterator[str]:
    """Go through the lines of a starter for a fitted model: one column is decided, the others are given."""
    first, *others = m.inputs
    middle = fit.centre()
    ends = {c.name: (c.least, c.greatest) for c in fit.columns}
    yield f"title   = {json.dumps(f'Least {fit.target}: {m.title}', ensure_ascii=False)}"
    yield line(f"model   = {json.dumps(name, ensure_ascii=False)}", m.source)
    yield line(f'# waive = ["{RANGE}"]', "the range of the measurements, to set aside")
    yield from ("", "[given]   # SI numbers, or text with a unit")
    yield from (line(f"{q.name} = {middle[q.name]:.4g}", about(q)) for q in others)
    yield from (
        "",
        "[decide]  # bounds default to the range of the measurements; also: integer, values, powers_of, divides",
    )
    low, high = ends[first.name]
    yield line(
        f"{first.name} = {{ min = {middle[first.name]:.4g} }}",
        f"{about(first)}, measured {low:g} to {high:g}",
    )
    yield from ("", "[objective]  # or maximize; a list of metrics asks for a Pareto front")
    yield f'minimize = "{fit.target}"'
    yield from ("", "[limits]  # min or max of a metric or a decided quantity")
    most = float(fit.value({c.name: c.greatest for c in fit.columns}))
    yield from (line(f"# {q.name} = {{ max = {most:.4g} }}", about(q)) for q in m.metrics[:1])


def _is_resource(q: Quantity) -> bool:
    return q.name.endswith(("processors", "memory", "nodes", "cores"))


def _decision_range(q: Quantity) -> str:
    return "{ min = 1, max = 4096 }" if not q.unit else "{}"


def _halving_parameter(m: Model) -> list[str]:
    """Return the first parameter of the model's machines that is worth halving, if it has one of these."""
    return [n for n in _WORTH_HALVING if any(q.name == n for q in m.machine)][:1]


def _machine_menu(m: Model) -> str:
    return "[" + ", ".join(f'"{n}"' for n in machines_with(m, _FAVOURITES)[:3]) + "]"


def _about_machine(m: Model) -> str:
    return "`dse machines` lists them" + (
        "" if machines_with(m, _FAVOURITES) else "; the numbers here are placeholders"
    )


def _machine_entry(m: Model) -> str:
    needed, fitting = missing_parameters(m), machines_with(m, _FAVOURITES)
    if fitting:
        return f'"{fitting[0]}"'
    own = machines.get(_FAVOURITES[0]).parameters
    lacking = ", ".join(f'{q.name} = "{examples(q.unit)[0]}"' for q in needed if q.name not in own)
    return f'{{ base = "{_FAVOURITES[0]}", {lacking} }}'
