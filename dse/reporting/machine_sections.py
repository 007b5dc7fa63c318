"""The machines of a report: every number of each, with its unit and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import scenarios
from dse import machines
from dse.machines import Machine, MachineError, settings
from dse.models import machine_parameter
from dse.names import UnknownName
from dse.quantities import in_bytes, show
from results.page import Section
from scenarios.language.machine_files import held, shown_names

if TYPE_CHECKING:
    from scenarios.language.tables import Table
    from scenarios.question import Question


def machines_by_entry(text: str, tables: Sequence[Table] = ()) -> dict[str, str]:
    """Return the machines that a scenario names: of a map by their entries, a single one under the empty name."""
    try:
        written = scenarios.from_text(text, "scenario", tables).machine
    except scenarios.ScenarioError:
        return {}
    if not isinstance(written, Mapping):
        return {"": written or ""}
    if isinstance(written.get("base"), str):
        return {"": written["base"]}
    named = {n: v.get("base") if isinstance(v, Mapping) else v for n, v in written.items()}
    return {n: v for n, v in named.items() if isinstance(v, str)}


def machine_sections(
    parameters: Mapping[str, Any],
    asked: tuple[scenarios.Grid, Question] | None,
    named: Mapping[str, str],
    text: str,
) -> Iterator[Section]:
    """Tell the machines' numbers, those of each machine in a table; ``text``: the question, which holds its files."""
    sizes = {} if asked is None else asked[1].bytes_per_word
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            # "cpu: NAME" is a machine that may take the place cpu of a map, NAME one that may be the machine
            entry, _, machine = name.rpartition(": ")
            of = groups.setdefault((entry, machine), {})
            of |= {n.removeprefix("machine.").removeprefix(f"{entry}."): v for n, v in value.items()}
        else:
            entry = name.partition(".")[0] if name.partition(".")[0] in named else ""
            of = groups.setdefault((entry, named.get(entry, "")), {})
            of[name.removeprefix(f"{entry}.")] = value
    if groups:
        files, titles = held(text), shown_names(text)
        tables = [
            _machine_table(entry, files.get(name, name), titles.get(name, ""), values, sizes)
            for (entry, name), values in groups.items()
        ]
        yield Section("Machine parameters", (), tables)


def _machine_table(
    entry: str, name: str, title: str, values: Mapping[str, Any], sizes: Mapping[str, float]
) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
    try:
        known = machines.get(name) if name else None
    except (UnknownName, MachineError):
        known = None
    columns = ("parameter", "value", "source")
    heading = ": ".join(n for n in (entry, title or name) if n)
    start = f"machine.{entry}." if entry else "machine."
    told = [(n, _parameter_with_unit(n, v, sizes.get(start + n)), v) for n, v in sorted(values.items())]
    if known is None:
        return heading, columns, [(n, text, "") for n, text, _ in told]
    rows = [(n, text, _origin(known, n, v)) for n, text, v in told]
    head = heading if machines.is_file(name) else f"{heading}, {known.title}"
    return f"{head} ({known.source})" if known.source else head, columns, rows


def _parameter_with_unit(name: str, value: Any, bytes_per_word: float | None) -> str:
    """Write a machine parameter with its unit; one that no model declares stands in SI units."""
    if not isinstance(value, float):
        return str(value)
    # of a setting of a menu: NAME.PARAMETER
    q = machine_parameter(name) or settings.QUANTITIES.get(name.rpartition(".")[2])
    return (
        f"{value:.6g}"
        if q is None
        else show(value, in_bytes("" if q.unit == "1" else q.unit, bytes_per_word), 6)
    )


def _origin(machine: Machine, name: str, value: Any) -> str:
    """Where a value comes from: the catalogue, unless the scenario says otherwise."""
    setting, _, own_name = name.rpartition(".")
    entry = next((s for s in machine.settings if setting and s.get("name") == setting), None)
    if entry is not None:
        same = entry.get(own_name) == value
        return str(entry.get("source") or machine.source) if same else "stated in the scenario"
    own, q = machine.parameters.get(name), machine_parameter(name)
    if own is None and q is not None and q.default == value:
        return "the model's default"
    if own is None or own != value:
        return "stated in the scenario"
    return _and(machine.provenance.get(name, ""), machine.doubts.get(name, ""))


def _and(source: str, doubt: str) -> str:
    return f"{source}; doubtful: {doubt}" if doubt else source
