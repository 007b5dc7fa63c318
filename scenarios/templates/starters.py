"""Scenarios to start from for models over lists: with two rows in each list, two machines in each map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dse import machines
from dse.models.model import Model
from dse.models.shared.structure import Parts, Row, Structure, Table
from dse.quantities import Quantity
from scenarios.language.errors import shown
from scenarios.templates.template_lines import (
    EXAMPLES,
    about,
    axis,
    example,
    limits,
    line,
    objective,
    prices,
    ties,
)
from scenarios.templates.template_lines import given as given_line

_ROWS = ("a", "b")
_FIRST = {"sockets": "16"}
_SECOND = {"flops": "8e10", "bytes": "1e9", "sockets": "64", "frequency": "0.6", "voltage": "0.8"}
_ENTRIES = ("cpu", "gpu")
# the first of the catalogue to try: those of the paper on partitions
_FAVOURITES = ("i7-2600k-tang2017", "gtx-titan-tang2017")


def starter(model: Model, structure: Structure) -> str:
    """Return a commented scenario file for a model over lists, which can be asked as it stands."""
    machine, flat, entries = _expanded(model, structure)
    unknown = {u.name for u in flat.unknowns}
    listed = tuple(f"{t.name}." for t in structure.tables)
    scalar = [q for q in flat.inputs if not q.name.startswith(listed) and q.name not in unknown]
    return "\n".join(
        [
            f'title   = "Least {objective(flat)}: {model.title}"',
            line(f'model   = "{model.name}"', model.source),
            line(f"machine = {machine}", _about_machine(structure)),
            "",
            "[given]   # SI numbers, or text with a unit",
            *(_scalar(flat, q) for q in scalar),
            *prices(flat),
            *(row for table in structure.tables for row in table_lines(table, {structure.entries: entries})),
            "",
            "[decide]  # each of these is decided by default: narrow it here, or give its value under [given]",
            *_unknown_entries(flat),
            "",
            "[objective]  # or maximize; a list of metrics asks for a Pareto front",
            f'minimize = "{objective(flat)}"',
            ties(flat),
            "",
            "[limits]  # min or max of a metric or a decided quantity",
            *limits(flat.metrics),
            "",
            *axis(flat.metrics),
            "",
        ]
    )


def _about_machine(structure: Structure) -> str:
    if structure.machines:
        return f"one for each {structure.machines}, under a name of yours; `dse machines` lists them"
    return "its settings are the menu" if structure.settings else "`dse machines` lists them"


def _expanded(model: Model, structure: Structure) -> tuple[str, Model, tuple[str, ...]]:
    """Return what stands after ``machine =``, the plain model of the starter's own lists, and the map's entries."""
    assert model.expand is not None, "a model over lists can be expanded"
    rows = {t.name: tuple(_starter_row(t, name) for name in _ROWS) for t in structure.tables if t.required}
    if structure.settings:
        menus = [m for m in machines.every() if m.settings]
        for machine in sorted(menus, key=lambda m: not m.parameters):
            try:
                return shown(machine.name), model.expand(Parts(rows, settings=machine.settings)), ()
            except ValueError:
                # its settings do not state what these rows need
                continue
    entries = _ENTRIES[: max(structure.least, 2)] if structure.machines else ()
    flat = model.expand(Parts(rows, entries))
    fitting = machines_with(flat, _FAVOURITES)
    if entries and fitting[0] not in _FAVOURITES:
        entries = _ROWS[: len(entries)]
        flat = model.expand(Parts(rows, entries))
    named = [f"{e} = {shown(n)}" for e, n in zip(entries, fitting, strict=False)]
    return f"{{ {', '.join(named)} }}" if entries else shown(fitting[0]), flat, entries


def _starter_row(table: Table, name: str) -> Row:
    flags = {c.name: c.default for c in table.columns if not c.refers}
    return Row(name, flags, stated=frozenset(q.name for q in table.numbers if _is_stated_in_starter(q)))


def _is_stated_in_starter(q: Quantity) -> bool:
    """Whether a starter's row states a number: what it must, and what is best known."""
    return q.name in ("flops", "bytes") or (not q.optional and q.default is None)


def missing_parameters(m: Model) -> list[Quantity]:
    """Return the machine parameters that the model needs with its inputs as the template has them."""
    choices = {q.name: str(q.default or q.choices[0]) for q in m.inputs if q.choices}
    chosen = m.needs(choices) if m.needs is not None else ()
    return [q for q in m.machine if q.name in chosen or (not q.optional and q.default is None)]


def machines_with(m: Model, favourites: Sequence[str]) -> list[str]:
    """Return the machines of the catalogue that have what a model, or an entry of its map, needs; favourites first."""
    needed = {q.name.rpartition(".")[2] for q in missing_parameters(m)}
    found = [x.name for x in machines.every() if needed <= x.parameters.keys()]
    return sorted(found, key=lambda n: favourites.index(n) if n in favourites else len(favourites))


def _scalar(flat: Model, q: Quantity) -> str:
    if q.menu:
        return line(f"# {q.name} = {shown(q.menu[0])}", f"{about(q)}, for all")
    return given_line(flat, q)


def table_lines(table: Table, known: Mapping[str, Sequence[str]] | None = None) -> Iterator[str]:
    """Write the rows of a table, commented out where it may be left out; all that a row may say in the first.

    ``known``: names of what columns refer to that is not a table, as ``Column.refers`` calls it.
    """
    mark = "" if table.required else "# "
    header = f"{mark}[[given.{table.name}]]"
    yield from ("", line(header, f"one for each {table.dimension}: {table.meaning}"))
    if table.required:
        yield line(f"name = {shown(_ROWS[0])}", "rows without a name are numbered")
    others = {c.refers: iter((known or {}).get(c.refers, _ROWS)) for c in table.columns}
    for c in table.columns:
        value, may_lack = (next(others[c.refers]), mark) if c.refers else (c.default, "# ")
        yield line(f"{may_lack}{c.name} = {shown(value)}", c.meaning)
    for q in table.numbers:
        may_lack = mark if _is_stated_in_starter(q) else "# "
        if q.name in table.per_setting:
            yield line(f"# {q.name} = [ … ]", f"{about(q)}; one for each setting, in their order")
        else:
            yield line(f"{may_lack}{q.name} = {_example(q)}", about(q))
    if table.required:
        own = (
            f"{q.name} = {_SECOND.get(q.name) or _example(q)}"
            for q in table.numbers
            if _is_stated_in_starter(q)
        )
        yield from ("", header, f"name = {shown(_ROWS[1])}", *own)


def _example(q: Quantity) -> str:
    return _FIRST.get(q.name) or EXAMPLES.get(q.name) or example(q)


def _unknown_entries(flat: Model) -> Iterator[str]:
    """Write one entry for each family of unknowns, as comments."""
    seen: set[str] = set()
    inputs = {q.name: q for q in flat.inputs}
    for unknown in flat.unknowns:
        q, family = inputs[unknown.name], unknown.name.partition(".")[0]
        if family in seen:
            continue
        seen.add(family)
        value = f"values = [{shown(q.menu[0])}]" if q.menu else "max = 64" if q.ceiling > 1 else "max = 0.5"
        value = "values = [0, 1]" if unknown.integer and q.maximum == 1 else value
        yield line(f"# {shown(unknown.name)} = {{ {value} }}", about(q))
