"""A machine on a page: its values with evidence, intervals and sources, what it serves and what it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.machines import catalogue, derivation, serving
from dse.machines.catalogue import Machine
from dse.machines.figures import FIGURES
from dse.machines.settings import QUANTITIES
from dse.machines.values import Value
from dse.models import machine_parameters
from dse.models.shared.economics import ACCOUNTS
from dse.quantities import show

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]

# a model that lacks more than this is not named one parameter at a time
_FEW_MISSING = 4
# digits of an interval's ends, and of measured values beside a data sheet's
_INTERVAL_DIGITS = 4
# kinds of evidence of what was measured
_MEASURED = frozenset({"measured", "measured on a noisy machine", "fitted to measurements"})


def parameters(machine: Machine) -> dict[str, Value]:
    """Return a machine's parameters with all that is known of them, by name."""
    known = machine_parameters()
    return {
        name: Value(
            value=value,
            unit=known[name].unit,
            evidence=machine.evidence.get(name, ""),
            source=machine.provenance[name],
            doubt=machine.doubts.get(name, ""),
            interval=machine.intervals.get(name),
        )
        for name, value in machine.parameters.items()
    }


def head(machine: Machine) -> list[str]:
    """Return lines on where a machine comes from: source, year, notes."""
    lines = [f"Source: {machine.source}"]
    lines += [f"Year: {machine.year}"] if machine.year is not None else []
    return lines + ([machine.notes.strip()] if machine.notes else [])


def served(machine: Machine) -> list[str]:
    """Say in lines which models a machine serves, and what it lacks for the others."""
    missing = serving.missing(machine)
    models = serving.serves(machine)
    lines = [f"Serves: {', '.join(models)}" if models else "Serves no model as it is"]
    for model, (told, names) in serving.in_part(machine).items():
        lines.append(f"Lacks for {told} of {model}: {', '.join(sorted(names))}")
    near: dict[frozenset[str], list[str]] = {}
    for model, names in missing.items():
        near.setdefault(frozenset(names) if len(names) <= _FEW_MISSING else frozenset(), []).append(model)
    far = near.pop(frozenset(), [])
    for lacked, lacking in near.items():
        lines.append(f"Lacks for {', '.join(lacking)}: {', '.join(sorted(lacked))}")
    lines += [f"Lacks several parameters for {', '.join(far)}"] if far else []
    return [*lines, *_prices(machine)]


def _prices(machine: Machine) -> list[str]:
    """Say of a machine that states something of cost or carbon what that is, and what it lacks."""
    names = [a.processor.name for a in ACCOUNTS]
    stated = [n for n in names if n in machine.parameters]
    lacked = [n for n in names if n not in machine.parameters]
    told = f"Of cost and carbon it states {' and '.join(stated)}"
    return [told + (f" and lacks {lacked[0]}" if lacked else "")] if stated else []


def values(what: str, stated: Mapping[str, Value]) -> Table:
    """Return a table of values, head and rows; the column of intervals stands where there is one."""
    some = any(v.interval is not None for v in stated.values())
    between = ("between",) if some else ()
    return (what, "value", *between, "evidence", "source"), [
        (name, *_cells(v, some)) for name, v in _declared_order(stated)
    ]


def _declared_order(stated: Mapping[str, Value]) -> Iterable[tuple[str, Value]]:
    """Return figures in the order of their declarations, parameters as the file has them."""
    if not stated.keys() <= FIGURES.keys():
        return stated.items()
    return ((name, stated[name]) for name in FIGURES if name in stated)


def _cells(v: Value, some: bool) -> tuple[str, ...]:
    shown = v.value if isinstance(v.value, str) else show(v.value, v.unit)
    between = "" if v.interval is None else _interval_with_unit(*v.interval, v.unit)
    source = f"{v.source} (doubtful: {v.doubt})" if v.doubt else v.source
    return (shown, *((between,) if some else ()), v.evidence, source)


def _interval_with_unit(low: float, high: float, unit: str) -> str:
    """Return the ends of an interval, with one unit where both have the same."""
    first, last = show(low, unit, _INTERVAL_DIGITS), show(high, unit, _INTERVAL_DIGITS)
    number, _, of = first.partition(" ")
    alike = not low or of == last.partition(" ")[2]
    return f"{number if alike else first} to {last}"


def beside(machine: Machine) -> Table | None:
    """Return measured times beside those of the data sheet's figures; None where a machine has not both."""
    known = machine_parameters()
    own = {n: v for n, v in machine.parameters.items() if machine.evidence.get(n) in _MEASURED}
    if not own or not machine.figures:
        return None
    sheet = derivation.parameters(machine.figures, machine.rate)
    rows: list[tuple[str, ...]] = []
    for name, value in own.items():
        printed = float(sheet[name].value) if name in sheet else 0.0
        told = (_with_rate(printed, known[name].unit), f"{value / printed:.3g}") if printed else ("–", "")
        rows.append((name, _with_rate(value, known[name].unit), *told))
    return ("measured", "value", "by the data sheet", "times as much"), rows


def _with_rate(value: float, unit: str) -> str:
    """Return a value, and the rate that it is the time of: 1.3e-15 s/flop, 771 TFLOPS."""
    told = show(value, unit, _INTERVAL_DIGITS)
    counted = unit.removeprefix("s/")
    return (
        f"{told}, {show(1 / value, f'{counted}/s', _INTERVAL_DIGITS)}" if value and counted != unit else told
    )


def settings(menu: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of a machine's settings: clocks, voltages and constant power, unknown values empty.

    The energies would not fit on a line; ``dse machines NAME --json`` has them.
    """
    names = [n for n in QUANTITIES if any(n in s for s in menu) and not n.startswith("energy")]
    rows = [
        (str(s["name"]), *(show(s[n], QUANTITIES[n].unit) if n in s else "" for n in names)) for s in menu
    ]
    return ("setting", *(n.replace("_", " ") for n in names)), rows


def tables(machine: Machine) -> Iterator[tuple[str, Table, frozenset[str]]]:
    """Go through the tables of a machine's page: heading, table, and which of its columns are numbers."""
    if (against := beside(machine)) is not None:
        yield "Compared with the data sheet", against, frozenset(against[0][1:])
    if stated := parameters(machine):
        yield "Parameters", values("parameter", stated), frozenset({"value"})
    if machine.figures:
        yield "Figures", values("figure", machine.figures), frozenset({"value"})
    if machine.settings:
        menu = settings(machine.settings)
        yield "Settings", menu, frozenset(menu[0][1:])


def page(machine: Machine) -> str:
    """Return a machine's page in Markdown."""
    parts = [f"# {machine.name}: {machine.title}", *head(machine), *served(machine)]
    for heading, table, _ in tables(machine):
        parts += [f"## {heading}", _markdown(table)]
    return "\n\n".join(parts) + "\n"


def _markdown(table: Table) -> str:
    first, rows = table
    lines = [first, ("---",) * len(first), *((f"`{name}`", *rest) for name, *rest in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def write(folder: Path) -> None:
    """Write the page of every machine of this package to ``folder``, one ``<name>.md`` each; remove others."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {f"{name}.md": page(catalogue.get(name)) for name in catalogue.own_names()}
    for file in folder.glob("*.md"):
        if file.name not in made:
            file.unlink()
    for file_name, text in made.items():
        (folder / file_name).write_text(text, encoding="utf-8")
