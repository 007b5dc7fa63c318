"""A clock as an input of any model with flops, where the machine states how its costs follow it.

The machine's statement becomes definitions, as a file could write them itself (see ``dse.models.platforms.clock``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Mapping
from dataclasses import replace
from typing import Any

from dse import machines
from dse.models.model import MACHINE_PREFIX
from dse.models.platforms import clock as stated
from dse.names import UnknownName
from dse.quantities import Quantity, UnitError, to_si
from dse.system.records import dataclass
from scenarios.extensions import changes
from scenarios.language import axis_slots
from scenarios.language.errors import Findings
from scenarios.language.reading import Reader
from scenarios.language.schema import Bounds, Decide, Shape
from scenarios.machines.machine_tables import label

_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_OF_CLOCK = {q.name: q for q in stated.MACHINE}
_EXAMPLE = 'clock_reference = "3 GHz", clock_min = "1 GHz", clock_max = "3 GHz", clock_exponent = 3'
Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Clocked:
    """One machine of a question (``entry``: its name in a map, else empty) and its clock.

    ``may_be``: each machine that it may be, as numbers or texts by name; ``changed``: names of its parameters that are
    decided, defined or swept one by one.
    """

    entry: str
    spec: Any
    may_be: tuple[Numbers, ...]
    changed: frozenset[str]

    @property
    def clock(self) -> str:
        return f"{stated.CLOCK.name}.{self.entry}" if self.entry else stated.CLOCK.name

    @property
    def key(self) -> str:
        return f"machine.{self.entry}" if self.entry else "machine"

    def own(self, parameter: str) -> str:
        """Return a parameter by the name that the model has for it."""
        return f"{self.entry}.{parameter}" if self.entry else parameter

    def full(self, parameter: str) -> str:
        """Return a parameter by the name that a question has for it."""
        return MACHINE_PREFIX + self.own(parameter)

    def quoted(self, parameter: str) -> str:
        return _quoted(self.full(parameter))

    def states(self, parameter: str) -> bool:
        """Whether every machine that it may be has a number for this."""
        return parameter in self.changed or all(parameter in m for m in self.may_be)

    def fixed(self) -> Numbers | None:
        """Return its numbers where it is one machine whose clock's range is plain; else None."""
        ends = {stated.LEAST.name, stated.MOST.name}
        one = len(self.may_be) == 1 and not self.changed & ends
        return self.may_be[0] if one and ends <= self.may_be[0].keys() else None


def with_clocks(reader: Reader, shape: Shape, *, swept: bool) -> tuple[Reader, Shape]:
    """Return a question in which clocks that machines state are inputs; as it is where it asks for none.

    ``swept``: whether [sweep] counts. Mistakes are noted in the reader's findings.
    """
    machine: list[Quantity] = []
    inputs: list[Quantity] = []
    define, limits, decide = dict(shape.define), dict(shape.limits), dict(shape.decide)
    for c in (_clocked(shape, entry, swept=swept) for entry in reader.parts.machines or ("",)):
        known = c.own("time_per_flop") in reader.machine and c.clock not in reader.parameters
        if not known or c.clock in reader.metrics:
            continue
        before = reader.findings.count
        used = _has_role_for_clock(shape, c.clock, swept=swept) and _follows(reader.findings, shape, c)
        if reader.findings.count > before:
            # one mistake is enough: the clock itself is not called unknown as well
            inputs.append(replace(stated.CLOCK, name=c.clock))
        there = {n for n in _OF_CLOCK if any(n in m for m in c.may_be) or n in c.changed}
        needed = {n for n in _OF_CLOCK if used and c.states(n)} | (_ALWAYS if used else set())
        machine += [
            replace(_OF_CLOCK[n], name=c.own(n), optional=n not in needed)
            for n in _OF_CLOCK
            if n in there | needed and c.own(n) not in reader.machine
        ]
        if used:
            costs = _definitions(c, reader.machine)
            taken = _without_role(reader.findings, shape, c, costs, swept=swept)
            define |= {n: text for n, text in costs.items() if n not in taken}
            if c.clock not in shape.define:
                inputs.append(_ranged(reader.findings, c, decide, define, limits))
    if not machine and not inputs:
        return reader, shape
    model = replace(
        reader.model,
        inputs=(*reader.model.inputs, *inputs),
        machine=(*reader.model.machine, *machine),
    )
    made = Reader(model, reader.findings, reader.parts, reader.unasked)
    return made, shape.model_copy(update={"define": define, "limits": limits, "decide": decide})


def _without_role(
    findings: Findings, shape: Shape, c: _Clocked, costs: Collection[str], *, swept: bool
) -> set[str]:
    """Note which costs that follow the clock the file decides or sweeps beside it, and return them."""
    right = "take it out, or take the clock out"
    slots = [s for axis in shape.sweep for s in axis_slots.slots(shape, axis)] if swept else []
    roles = [(n, f"decide.{n}", "decided") for n in costs if n in shape.decide]
    roles += [(s[1], axis_slots.place(shape, s), "swept") for s in slots if s[1] in costs]
    for name, place, role in roles:
        findings.add(place, f"{name} is {role}, and follows {c.clock}, as {label(c.spec)} states", right)
    return {name for name, *_ in roles}


# where a model counts energy flop by flop, the power that it draws is a cap
_OF_FLOP = stated.FOLLOWS[0][1]
_ALWAYS = {stated.REFERENCE.name, stated.LEAST.name, stated.MOST.name}


def _has_role_for_clock(shape: Shape, clock: str, *, swept: bool) -> bool:
    """Whether a file gives the clock a role."""
    paths = [p.removeprefix("given.") for p, _ in _swept(shape, swept=swept)]
    return any(clock in names for names in (shape.given, shape.decide, shape.define, paths))


def _follows(findings: Findings, shape: Shape, c: _Clocked) -> bool:
    """Whether costs follow the clock as the machine says; where it should say so and does not, note it."""
    costs = {c.full(n) for n in (*(n for pair in stated.FOLLOWS for n in pair), stated.DRAWN)}
    if costs & shape.define.keys():
        # the file says itself how they do
        return False
    if not any(stated.REFERENCE.name in m for m in c.may_be) and stated.REFERENCE.name not in c.changed:
        if not any(re.search(rf"\b{re.escape(c.clock)}\b", text) for text in shape.define.values()):
            wrong = f"{label(c.spec)} does not say how its costs follow the clock"
            findings.add(c.key, wrong, f"state it in the machine table: {_EXAMPLE}; or define its costs")
        return False
    exponent = c.states(stated.EXPONENT.name)
    line = c.states(stated.BASE.name) and c.states(stated.SLOPE.name)
    if exponent == line:
        says = "says twice" if line else "does not say"
        wrong = f"{label(c.spec)} {says} how the energy of a flop follows the clock"
        findings.add(c.key, wrong, "state clock_exponent = 3, or voltage_base and voltage_slope")
        return False
    return True


def _definitions(c: _Clocked, known: Container[str]) -> dict[str, str]:
    """Return the definitions of the costs that follow the clock, of those that the model has (``known``)."""
    f, reference = _quoted(c.clock), c.quoted(stated.REFERENCE.name)
    if c.states(stated.EXPONENT.name):
        k = c.quoted(stated.EXPONENT.name)
        grows = f"({f} / {reference})**{k} * {reference} / {f}"
    else:
        base, slope = c.quoted(stated.BASE.name), c.quoted(stated.SLOPE.name)
        grows = f"(({base} + {slope} * {f}) / ({base} + {slope} * {reference}))**2"
    found: dict[str, str] = {}
    for time, energy in stated.FOLLOWS:
        if c.states(time) and c.own(time) in known:
            found[c.full(time)] = f"{c.quoted(time)} * {reference} / {f}"
        if c.states(energy) and c.own(energy) in known:
            found[c.full(energy)] = f"{c.quoted(energy)} * {grows}"
    if c.own(_OF_FLOP) not in known and c.own(stated.DRAWN) in known and c.states(stated.DRAWN):
        found[c.full(stated.DRAWN)] = f"{c.quoted(stated.DRAWN)} * {grows} * {f} / {reference}"
    return found


def _ranged(
    findings: Findings,
    c: _Clocked,
    decide: dict[str, Decide],
    define: dict[str, str],
    limits: dict[str, Bounds],
) -> Quantity:
    """Return the clock as an input, within the range of its machine; a range without a clock is noted.

    Of a machine that is chosen or swept the range is a limit, since it is not one range.
    """
    q, fixed = replace(stated.CLOCK, name=c.clock), c.fixed()
    if fixed is None:
        mark = f"_{re.sub(r'[^A-Za-z0-9_]', '_', c.entry)}" if c.entry else ""
        f = _quoted(c.clock)
        define |= {
            f"clock_over_least{mark}": f"{f} / {c.quoted(stated.LEAST.name)}",
            f"clock_over_most{mark}": f"{f} / {c.quoted(stated.MOST.name)}",
        }
        limits[f"clock_over_least{mark}"] = Bounds(min=1.0)
        limits[f"clock_over_most{mark}"] = Bounds(max=1.0)
        return q
    low, high = (_hertz(fixed[e.name]) for e in (stated.LEAST, stated.MOST))
    if low is None or high is None or min(low, high) <= 0:
        # noted where the machine table is read
        return q
    if low > high:
        wrong = f"{stated.LEAST.name} ({low:g} Hz) of {label(c.spec)} is more than its {stated.MOST.name} ({high:g} Hz)"
        findings.add(c.key, wrong, "state the least clock and the greatest one")
        return q
    entry = decide.get(c.clock)
    if entry is not None and not entry.values and not entry.powers_of:
        ends = {
            "min": low if entry.min is None else entry.min,
            "max": high if entry.max is None else entry.max,
        }
        decide[c.clock] = entry.model_copy(update=ends)
    return replace(q, minimum=low, maximum=high, floor=low, ceiling=high)


def _hertz(value: Any) -> float | None:
    try:
        return to_si(value, "Hz")
    except UnitError:
        # noted where the machine table is read
        return None


def _clocked(shape: Shape, entry: str, *, swept: bool) -> _Clocked:
    whole = f"{MACHINE_PREFIX}{entry}" if entry else "machine"
    spec = shape.machine
    if entry:
        spec = spec.get(entry) if isinstance(spec, Mapping) else None
    specs: list[Any] = [spec] if spec is not None else []
    if whole in shape.decide:
        specs = list(shape.decide[whole].values or ())
    one_by_one = [*shape.decide, *shape.define]
    for path, values in _swept(shape, swept=swept):
        one_by_one.append(path)
        if path == whole:
            specs = list(values)
        elif path == f"{whole}.base":
            own = spec if isinstance(spec, Mapping) else {}
            specs = [{**own, "base": name} for name in values]
    start = f"{MACHINE_PREFIX}{entry}." if entry else MACHINE_PREFIX
    changed = frozenset(n.removeprefix(start) for n in one_by_one if n.startswith(start))
    return _Clocked(entry, spec, tuple(map(_machine_numbers, specs)), changed)


def _swept(shape: Shape, *, swept: bool) -> list[tuple[str, tuple[Any, ...]]]:
    return [each for axis in shape.sweep.values() for each in changes(axis)] if swept else []


def _machine_numbers(spec: Any) -> Numbers:
    """Return what a machine states; nothing of one that cannot be read, which is noted elsewhere."""
    if isinstance(spec, str):
        try:
            return machines.get(spec).parameters
        except (UnknownName, machines.MachineError):
            return {}
    if not isinstance(spec, Mapping):
        return {}
    own = {n: v for n, v in spec.items() if n != "base"}
    return {**_machine_numbers(spec["base"]), **own} if "base" in spec else own


def _quoted(name: str) -> str:
    return name if all(_PLAIN.fullmatch(part) for part in name.split(".")) else f"`{name}`"
