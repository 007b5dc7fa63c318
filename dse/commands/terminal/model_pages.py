"""A model on the terminal: its quantities and limits as tables."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dse.commands.terminal.printing import table
from dse.models.described.pages import ASKED, LIST_HEAD, VALID, domain, equations, lists, unknowns, value
from dse.models.model import MACHINE_PREFIX, Model, Unknown
from dse.models.shared import economics
from dse.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

LONGEST_SYMBOL = 8


def page(model: Model) -> RenderableType:
    """Build the page of a model: title, source, equations, tables of what goes in, comes out and always holds."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(f"{model.name}: {model.title}", style="bold"), Text(model.source)]
    said = [_flowing(_without_marks(part)) for part in equations(model).split("\n\n") if part]
    parts += [Text("\n" + "\n\n".join(said))] if said else []
    if model.structure is not None:
        parts.append(Text("\nlists", style="bold"))
        for sentence, rows in lists(model.structure):
            parts.append(Text(_without_marks(sentence)))
            parts += [table(LIST_HEAD, [tuple(map(_without_marks, row)) for row in rows])] if rows else []
    for heading, prefix, quantities, decided in _sections(model):
        # unit and domain share a column: names are long, and no other column may break words
        rows = [(prefix + q.name, value(q, decided.get(q.name)), _meaning(q), q.source) for q in quantities]
        head = ("name", "value", "meaning", "source")
        parts += [Text("\n" + heading, style="bold"), table(head, rows)]
    held = ("limits that always hold", "", model.limits)
    for heading, note, limits in (held, ("range in which it was derived", f"{VALID}:", model.valid)):
        rules = [(x.name, x.formula, x.meaning, x.source) for x in limits]
        if rules:
            parts += [Text("\n" + heading, style="bold"), *([Text(_without_marks(note))] if note else [])]
            parts.append(table(("name", "limit", "meaning", "source"), rules))
    totals = economics.quantities(model)
    if totals:
        rows = [(name, value(q), _meaning(q), q.source) for name, q in totals]
        head = ("name", "value", "meaning", "source")
        parts += [
            Text("\ncost and carbon", style="bold"),
            Text(f"{_without_marks(ASKED)}:"),
            table(head, rows),
        ]
    return Group(*parts)


def _flowing(paragraph: str) -> str:
    """Leave the breaking of lines to the terminal, but not of formulas and lists, which are indented."""
    lines = paragraph.split("\n")
    return paragraph if any(re.match(r"  |[-*] ", line) for line in lines) else " ".join(lines).strip()


def _without_marks(text: str) -> str:
    return text.replace("`", "")


def _meaning(q: Quantity) -> str:
    return f"{q.symbol}: {q.meaning}" if 0 < len(q.symbol) <= LONGEST_SYMBOL else q.meaning


def _sections(model: Model) -> tuple[tuple[str, str, tuple[Quantity, ...], Mapping[str, Unknown]], ...]:
    return (
        ("inputs", "", model.inputs, unknowns(model)),
        ("machine parameters", MACHINE_PREFIX, model.machine, {}),
        ("metrics", "", model.metrics, {}),
    )


def as_record(model: Model) -> dict[str, Any]:
    """Return a model as values that JSON has."""
    return {
        "name": model.name,
        "title": model.title,
        "source": model.source,
        **{
            heading.replace(" ", "_"): [_quantity(prefix, q, decided.get(q.name)) for q in found]
            for heading, prefix, found, decided in _sections(model)
        },
        "cost_and_carbon": [_quantity("", replace(q, name=n), None) for n, q in economics.quantities(model)],
        "lists": []
        if model.structure is None
        else (
            [
                {
                    "what": _without_marks(sentence),
                    "keys": [dict(zip(LIST_HEAD, map(_without_marks, row), strict=True)) for row in rows],
                }
                for sentence, rows in lists(model.structure)
            ]
        ),
        "limits": [
            {"name": x.name, "formula": x.formula, "meaning": x.meaning, "source": x.source}
            for x in model.limits
        ],
        "valid": [
            {"name": x.name, "formula": x.formula, "meaning": x.meaning, "source": x.source}
            for x in model.valid
        ],
    }


def _quantity(prefix: str, q: Quantity, unknown: Unknown | None) -> dict[str, Any]:
    return {
        "name": prefix + q.name,
        "symbol": q.symbol,
        "unit": q.unit,
        "domain": domain(q, unknown),
        "meaning": q.meaning,
        "source": q.source,
    }
