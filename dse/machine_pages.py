"""A machine on the terminal and as a record: values with their evidence, what it serves, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse import machines
from dse.machines import Machine, serving
from dse.machines.figures import FIGURES
from dse.machines.settings import QUANTITIES
from dse.machines.values import Value
from dse.models import machine_parameters
from dse.names import unknown
from dse.quantities import show
from dse.streams import visible
from dse.terminal import table

if TYPE_CHECKING:
    from rich.console import RenderableType

# a model that lacks more than this is not named one parameter at a time
_FEW = 4
# digits of an interval's ends
_DIGITS = 4


def page(machine: Machine) -> RenderableType:
    """Build the page of a machine: what it serves, its parameters, figures and settings."""
    from rich.console import Group
    from rich.text import Text

    head = [f"{machine.name}: {machine.title}", f"Source: {machine.source}"]
    head += [f"Year: {machine.year}"] if machine.year is not None else []
    head += [machine.notes.strip()] if machine.notes else []
    parts: list[RenderableType] = [Text(visible("\n".join(head))), Text("\n".join(served(machine)))]
    known = machine_parameters()
    stated = {n: _value(machine, n, known[n].unit) for n in machine.parameters}
    if stated:
        parts.append(_values("parameter", stated))
    if machine.figures:
        parts += [Text(""), _values("figure", machine.figures)]
    if machine.settings:
        parts.append(_settings(machine.settings))
    return Group(*parts)


def comparison(columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the machines that state one of these figures or parameters, each with its values (SI; absent: None).

    Raises UnknownName for a name that is neither a figure nor a parameter of a machine.
    """
    known = {**machine_parameters(), **FIGURES}
    for name in columns:
        if name not in known:
            raise unknown("figure or machine parameter", name, known)
    found = [(m, {n: _stated(m, n) for n in columns}) for m in machines.every()]
    return [{"name": m.name, **values} for m, values in found if any(v is not None for v in values.values())]


def _stated(machine: Machine, name: str) -> float | str | None:
    figure = machine.figures.get(name)
    return machine.parameters.get(name) if figure is None else figure.value


def compared(columns: Sequence[str]) -> RenderableType:
    """Build the table of a comparison: a row per machine, a column per figure or parameter."""
    known = {**machine_parameters(), **FIGURES}
    rows = [
        (str(row["name"]), *(_shown(row[n], known[n].unit) for n in columns)) for row in comparison(columns)
    ]
    heads = [n.replace("_", " ") for n in columns]
    made: RenderableType = table(("machine", *heads), rows, frozenset(heads))
    return made


def _shown(value: float | str | None, unit: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else show(value, unit, _DIGITS)


def served(machine: Machine) -> list[str]:
    """Say in lines which models a machine serves, and what it lacks for the others."""
    missing = serving.missing(machine)
    models = serving.serves(machine)
    lines = [f"Serves: {', '.join(models)}" if models else "Serves no model as it is"]
    near: dict[frozenset[str], list[str]] = {}
    for model, names in missing.items():
        near.setdefault(frozenset(names) if len(names) <= _FEW else frozenset(), []).append(model)
    far = near.pop(frozenset(), [])
    for lacked, lacking in near.items():
        lines.append(f"Lacks for {', '.join(lacking)}: {', '.join(sorted(lacked))}")
    return [*lines, f"Lacks more for {', '.join(far)}"] if far else lines


def as_record(machine: Machine) -> dict[str, Any]:
    """Return what is known of a machine, numbers in SI units."""
    known = machine_parameters()
    stated = {n: _value(machine, n, known[n].unit) for n in machine.parameters}
    return {
        "name": machine.name,
        "title": machine.title,
        "source": machine.source,
        "year": machine.year,
        "notes": machine.notes,
        "parameters": {n: _record(v) for n, v in stated.items()},
        "figures": {n: _record(v) for n, v in machine.figures.items()},
        "doubts": dict(machine.doubts),
        "settings": [dict(s) for s in machine.settings],
        "serves": list(serving.serves(machine)),
        "lacks": {model: list(names) for model, names in serving.missing(machine).items()},
    }


def _value(machine: Machine, name: str, unit: str) -> Value:
    return Value(
        value=machine.parameters[name],
        unit=unit,
        evidence=machine.evidence.get(name, ""),
        source=machine.provenance[name],
        doubt=machine.doubts.get(name, ""),
        interval=machine.intervals.get(name),
    )


def _record(value: Value) -> dict[str, Any]:
    between = {"interval": list(value.interval)} if value.interval is not None else {}
    told = {"value": value.value, "unit": value.unit, "evidence": value.evidence, "source": value.source}
    return {**told, **between}


def _values(head: str, values: Mapping[str, Value]) -> RenderableType:
    """Build a table of values; the column of intervals stands where there is one."""
    some = any(v.interval is not None for v in values.values())
    rows = [(name, *_cells(v, some)) for name, v in _ordered(values)]
    heads = (head, "value", *(("between",) if some else ()), "evidence", "source")
    made: RenderableType = table(heads, rows, frozenset({"value"}))
    return made


def _ordered(values: Mapping[str, Value]) -> Iterable[tuple[str, Value]]:
    """Return figures in the order of their declarations, parameters as the file has them."""
    if not values.keys() <= FIGURES.keys():
        return values.items()
    return ((name, values[name]) for name in FIGURES if name in values)


def _cells(v: Value, some: bool) -> tuple[str, ...]:
    shown = v.value if isinstance(v.value, str) else show(v.value, v.unit)
    between = "" if v.interval is None else _between(*v.interval, v.unit)
    source = f"{v.source} (doubtful: {v.doubt})" if v.doubt else v.source
    return (shown, *((between,) if some else ()), v.evidence, source)


def _between(low: float, high: float, unit: str) -> str:
    """Return the ends of an interval, with one unit where both have the same."""
    first, last = show(low, unit, _DIGITS), show(high, unit, _DIGITS)
    number, _, of = first.partition(" ")
    alike = not low or of == last.partition(" ")[2]
    return f"{number if alike else first} to {last}"


def _settings(menu: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Build the table of a machine's settings: clocks, voltages and constant power, unknown values empty.

    The energies would not fit on a line; ``--json`` has them.
    """
    names = [n for n in QUANTITIES if any(n in s for s in menu) and not n.startswith("energy")]
    rows = [
        (str(s["name"]), *(show(s[n], QUANTITIES[n].unit) if n in s else "" for n in names)) for s in menu
    ]
    heads = [n.replace("_", " ") for n in names]
    made: RenderableType = table(("setting", *heads), rows, frozenset(heads))
    return made
