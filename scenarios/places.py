"""The machines of a question at one point of its structural axes: what every other number is read with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from dse.models.model import MACHINE_PREFIX
from dse.system.records import dataclass
from scenarios import needs
from scenarios.axes.axes import WORD_SIZE
from scenarios.language import axis_slots
from scenarios.language.axis_slots import Slot
from scenarios.language.reading import Reader, plain_names
from scenarios.language.schema import Shape
from scenarios.machines import machine_tables
from scenarios.machines.machine_tables import MachineSpec
from scenarios.names import Roles
from scenarios.question import machine_key

AxisValues = Sequence[float] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Place:
    """One machine (or map of machines) with one word size.

    ``parameters``: what they state, and ``defaults`` what holds where they do not, by the model's names;
    ``machines``: where machines are decided, each choice's parameters under the names of a question. ``sources``: as
    ``Question.sources``. ``specs``: what says which machine it is, by the entry of a map ("": the only one).
    """

    parameters: Mapping[str, float]
    word_size: float | None
    defaults: Mapping[str, float] = field(default_factory=dict)
    machines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    specs: Mapping[str, MachineSpec] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of every machine: what it may lack, what it must have."""

    elsewhere: frozenset[str]
    chosen: Mapping[str, str]


def read(shape: Shape, roles: Roles, outer: Mapping[Slot, AxisValues], at: Mapping[Slot, int]) -> Place:
    """Read the machines where the axes ``outer`` stand ``at`` these values, noting all mistakes."""
    elsewhere = frozenset(n.removeprefix(MACHINE_PREFIX) for n in (*roles.decide, *roles.swept))
    asked = _Asked(elsewhere, needs.needed(shape, roles, _rows(roles, outer, at)))
    moved = {s: i for s, i in at.items() if not roles.targets[s].divided}
    values = {roles.targets[slot].name: outer[slot][i] for slot, i in moved.items()}
    keys = {roles.targets[slot].name: _axis_value_key(shape, roles, slot, i) for slot, i in moved.items()}
    if roles.reader.parts.machines:
        return _map(shape, roles, asked, values, keys)
    if roles.machines.get("machine"):
        found = _parameters_of_choices(shape, roles, "machine", roles.reader, asked)
        named = {machine_key("machine", name): name for name in roles.machines["machine"]}
        origins = {key: machine_tables.sources(roles.reader, named[key]) for key in found}
        return Place({}, _common_word_size(found.values()), machines=found, sources=origins)
    key = next((k for n, k in keys.items() if n != WORD_SIZE), "machine")
    return _single(shape, roles, asked, _spec(shape, values), key)


def _rows(roles: Roles, outer: Mapping[Slot, AxisValues], at: Mapping[Slot, int]) -> dict[str, set[int]]:
    """Return the rows, of axes with several paths, that have what stands in them ``at`` these values."""
    found: dict[str, set[int]] = {}
    for axis in {a for a, _ in at}:
        own = [s for s in at if s[0] == axis]
        if len(own) == sum(a == axis for a, _ in roles.targets):
            # nothing else goes along with it
            continue
        rows = enumerate(zip(*(outer[s] for s in own), strict=True))
        here = tuple(outer[s][at[s]] for s in own)
        found[axis] = {i for i, values in rows if values == here}
    return found


def _axis_value_key(shape: Shape, roles: Roles, slot: Slot, i: int) -> str:
    """Return where a value of an axis stands."""
    entry, (key, _) = shape.sweep[slot[0]], axis_slots.listed(shape, slot)
    table = roles.tables.get(entry.table or "")
    if table is not None:
        return f"{key}, {table.line(i)}"
    return f"{key}[{i}]" if entry.together else f"{key}.values[{i}]"


def _single(shape: Shape, roles: Roles, asked: _Asked, spec: MachineSpec | None, key: str) -> Place:
    reader = roles.reader
    if spec is None:
        lacking = machine_tables.necessary(reader, asked.chosen) - asked.elsewhere
        if "machine" not in shape.decide and (not lacking or "decide.machine" in reader.findings.broken):
            return Place({}, None, _defaults(reader))
        right = 'write machine = "jaketown" at the top of the file; `dse machines` lists the machines'
        if "machine" not in shape.decide:
            wrong = f"no machine is named, and {reader.model.name} needs one"
            reader.findings.missing("machine", wrong, right)
        return _unreadable(reader)
    found = machine_tables.parameters(reader, "machine", spec)
    if found is None:
        return _unreadable(reader)
    found = {**_settings(reader), **found}
    machine_tables.complete(reader, key, spec, found, asked.elsewhere, asked.chosen)
    origins = {"": machine_tables.sources(reader, spec)}
    return Place(found, found.get("word_size"), _defaults(reader), sources=origins, specs={"": spec})


def _settings(reader: Reader) -> dict[str, float]:
    """Return the numbers of a machine's settings that the model asks for: "852-924.constant_power"."""
    menu = {f"{s['name']}.{k}": v for s in reader.parts.settings for k, v in s.items()}
    return {n: v for n, v in menu.items() if n in reader.machine and isinstance(v, float)}


def _unreadable(reader: Reader) -> Place:
    """Stand in for a machine that has been noted as wrong, so that all else can still be read."""
    reader.findings.broken.add("machine")
    return Place({}, 1.0)


def _map(
    shape: Shape, roles: Roles, asked: _Asked, values: Mapping[str, Any], keys: Mapping[str, str]
) -> Place:
    parameters: dict[str, float] = {}
    defaults: dict[str, float] = {}
    choices: dict[str, Mapping[str, float]] = {}
    sizes: list[Mapping[str, float]] = []
    specs: dict[str, MachineSpec] = {}
    for entry, reader in roles.reader.entries():
        name = MACHINE_PREFIX + entry
        if roles.machines.get(name):
            choices |= _parameters_of_choices(shape, roles, name, reader, asked)
            continue
        spec = _entry_spec(shape, entry, values)
        if spec is None:
            # decided, but no choice could be read
            reader.findings.broken.add("machine")
            continue
        found = machine_tables.parameters(reader, name, spec)
        if found is None:
            reader.findings.broken.add("machine")
            continue
        key = keys.get(name, keys.get(f"{name}.base", name))
        machine_tables.complete(reader, key, spec, found, asked.elsewhere, asked.chosen)
        sizes.append(found)
        specs[entry] = spec
        parameters |= {reader.prefix + n: v for n, v in found.items()}
        defaults |= {reader.prefix + n: v for n, v in _defaults(reader).items()}
    return Place(parameters, _common_word_size(sizes), defaults, choices, specs=specs)


def _entry_spec(shape: Shape, entry: str, values: Mapping[str, Any]) -> MachineSpec | None:
    own = shape.machine.get(entry) if isinstance(shape.machine, Mapping) else None
    name = MACHINE_PREFIX + entry
    if f"{name}.base" in values:
        return {**({} if isinstance(own, str) else own or {}), "base": values[f"{name}.base"]}
    spec: MachineSpec | None = values.get(name, own)
    return spec


def _spec(shape: Shape, values: Mapping[str, Any]) -> MachineSpec | None:
    spec: MachineSpec | None = values.get("machine", shape.machine)
    changes = {"base": values["machine.base"]} if "machine.base" in values else {}
    changes |= {"word_size": values[WORD_SIZE]} if WORD_SIZE in values else {}
    if not changes:
        return spec
    own = {"base": spec} if isinstance(spec, str) else dict(spec or {})
    return {**own, **changes}


def _parameters_of_choices(
    shape: Shape, roles: Roles, decision: str, reader: Reader, asked: _Asked
) -> dict[str, Mapping[str, float]]:
    """Return the parameters of every machine that may be chosen, under the names of a question."""
    found: dict[str, Mapping[str, float]] = {}
    # names that are no machine's are not among those to choose from
    written = [str(v) for v in shape.decide[decision].values or ()]
    for name in roles.machines[decision]:
        key = f"decide.{decision}.values[{written.index(name)}]"
        own = machine_tables.parameters(reader, key, name)
        if own is None:
            continue
        machine_tables.complete(reader, key, name, own, asked.elsewhere, asked.chosen)
        every = {reader.prefix + n: v for n, v in {**_defaults(reader), **own}.items()}
        kept = {n: v for n, v in every.items() if n not in asked.elsewhere}
        found[machine_key(decision, name)] = plain_names(kept)
    return found


def _defaults(reader: Reader) -> dict[str, float]:
    return {n: float(q.default) for n, q in reader.machine.items() if q.default is not None}


def _common_word_size(machines: Iterable[Mapping[str, float]]) -> float | None:
    """Return the word size that all machines have; None where they differ."""
    sizes = {own.get("word_size", own.get(WORD_SIZE)) for own in machines}
    return sizes.pop() if len(sizes) == 1 else None
