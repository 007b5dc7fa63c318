"""A machine on the terminal and as a record, and machines side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse import machines
from dse.commands.terminal.printing import table
from dse.machines import Machine, pages, serving
from dse.machines.figures import FIGURES
from dse.machines.values import Value
from dse.models import machine_parameters
from dse.names import unknown
from dse.quantities import show
from dse.system.streams import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

# digits of a number in a comparison
_COMPARED_DIGITS = 4


def page(machine: Machine) -> RenderableType:
    """Build the page of a machine: what it serves, its parameters, figures and settings."""
    from rich.console import Group
    from rich.text import Text

    name = machine.name if machine.title == machine.name else f"{machine.name}: {machine.title}"
    head = [name, *pages.head(machine), *pages.served(machine)]
    parts: list[RenderableType] = [Text(visible("\n".join(head)))]
    for place, (_, shown, numbers) in enumerate(pages.tables(machine)):
        parts += [*([Text("")] if place else []), table(*shown, numbers)]
    return Group(*parts)


def as_record(machine: Machine) -> dict[str, Any]:
    """Return what is known of a machine, numbers in SI units."""
    return {
        "name": machine.name,
        "title": machine.title,
        "source": machine.source,
        "year": machine.year,
        "notes": machine.notes,
        "parameters": {n: _record(v) for n, v in pages.parameters(machine).items()},
        "figures": {n: _record(v) for n, v in machine.figures.items()},
        "doubts": dict(machine.doubts),
        "settings": [dict(s) for s in machine.settings],
        "serves": list(serving.serves(machine)),
        "lacks": {model: list(names) for model, names in serving.missing(machine).items()},
        "lacks_for_some_metrics": {
            model: {"metrics": told, "parameters": list(names)}
            for model, (told, names) in serving.in_part(machine).items()
        },
    }


def _record(value: Value) -> dict[str, Any]:
    told: dict[str, Any] = {"value": value.value, "unit": value.unit, "evidence": value.evidence}
    told["source"] = value.source
    return told | ({} if value.interval is None else {"interval": list(value.interval)})


def comparison(columns: Sequence[str], names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return machines with their figures or parameters (SI; absent: None).

    ``names``: which machines, in this order; without any, all that state one of the columns. Raises UnknownName for a
    column that is neither a figure nor a parameter of a machine, and for a machine that there is not.
    """
    known = {**machine_parameters(), **FIGURES}
    for name in columns:
        if name not in known:
            raise unknown("figure or machine parameter", name, known)
    asked = map(machines.get, names) if names else machines.every()
    found = [(m, {n: _stated_number(m, n) for n in columns}) for m in asked]
    return [
        {"name": m.name, **values}
        for m, values in found
        if names or any(v is not None for v in values.values())
    ]


def _stated_number(machine: Machine, name: str) -> float | str | None:
    figure = machine.figures.get(name)
    return machine.parameters.get(name) if figure is None else figure.value


def compared(columns: Sequence[str], names: Sequence[str] = ()) -> RenderableType:
    """Build the table of a comparison: a row per machine, a column per figure or parameter; see ``comparison``."""
    known = {**machine_parameters(), **FIGURES}
    titles = machines.shown_names(machines.get(n) for n in names)
    rows = [
        (titles.get(row["name"], row["name"]), *(_value_text(row[n], known[n].unit) for n in columns))
        for row in comparison(columns, names)
    ]
    heads = [n.replace("_", " ") for n in columns]
    made: RenderableType = table(("machine", *heads), rows, frozenset(heads))
    return made


def _value_text(value: float | str | None, unit: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else show(value, unit, _COMPARED_DIGITS)
