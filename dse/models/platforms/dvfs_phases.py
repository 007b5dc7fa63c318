"""What a question about phases and settings lists, and the parameters that it makes necessary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dse.models.platforms.dvfs_energy import CIRCUIT, LEAKAGE, OPERATIONS, SETTING, SOURCE, Operation
from dse.models.shared.families import entry_parameters
from dse.models.shared.structure import SETTINGS, Parts, Row, Table, WrongPart
from dse.quantities import Quantity
from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: the kinds of operations that it states, and whether it states its times."""

    name: str
    operations: tuple[Operation, ...]
    timed: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: what of its costs follows from its voltages; the rest it states."""

    name: str
    derived: tuple[Operation, ...]
    leaks: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What a question lists: phases in the order they run in, and the menu of settings."""

    phases: tuple[Phase, ...]
    settings: tuple[Setting, ...]


RATES = tuple(
    Quantity(
        f"{o.count}_per_cycle",
        f"r_{o.count}",
        o.unit,
        f"{o.meaning}: how many per cycle of the clock of the {'memory' if o.memory else 'core'}",
        "a rate of the machine; the paper measures times",
        optional=True,
    )
    for o in OPERATIONS
)
COUNTS = tuple(
    Quantity(
        o.count, f"W_{o.count}", o.unit, f"{o.meaning}: how many in the phase", f"{SOURCE} (9)", default=0.0
    )
    for o in OPERATIONS
)
TIMES = Quantity(
    "times",
    "t",
    "s",
    "time of the phase at this setting, in place of one from rates",
    f"{SOURCE} (9)",
    optional=True,
)
PHASES = Table(
    "phases",
    "phase",
    "parts of the program, in the order they run in",
    numbers=(*COUNTS, TIMES),
    per_setting=(TIMES.name,),
    any_of=(*(q.name for q in COUNTS), TIMES.name),
)


def listed(parts: Parts) -> Plan:
    """Return the phases and settings of a question.

    Raises ValueError where there is no phase or no setting, where a phase states nothing, and where a setting
    lacks what a phase needs, naming it.
    """
    phases = tuple(_phase(r) for r in parts.rows.get(PHASES.name, ()))
    if not phases:
        raise ValueError("dvfs sets phases of a program: give at least one under phases")
    if not parts.settings:
        raise ValueError("dvfs chooses among settings: the machine has none, give it [[settings]]")
    used, rated = _used(phases), _used(p for p in phases if not p.timed)
    lacking = [(s["name"], text) for s in parts.settings for text in _lacking(s, used, rated)]
    if lacking:
        told = "; ".join(text for _, text in lacking)
        raise WrongPart(
            SETTINGS, str(lacking[0][0]), f"{told}; state it, or leave the setting out of the machine's menu"
        )
    return Plan(phases, tuple(_setting_of_numbers(numbers, used) for numbers in parts.settings))


def _phase(stated: Row) -> Phase:
    operations = tuple(o for o in OPERATIONS if o.count in stated.stated)
    timed = any(n.partition(".")[0] == TIMES.name for n in stated.stated)
    if not operations and not timed:
        kinds = ", ".join(o.count for o in OPERATIONS)
        told = f"phase {stated.name} has nothing to run: give counts ({kinds}) or times"
        raise WrongPart(PHASES.name, stated.name, told)
    return Phase(stated.name, operations, timed)


def _setting_of_numbers(numbers: Mapping[str, Any], used: Iterable[Operation]) -> Setting:
    derived = tuple(o for o in used if o.energy not in numbers)
    return Setting(str(numbers["name"]), derived, "constant_power" not in numbers)


def _lacking(numbers: Mapping[str, Any], used: Iterable[Operation], rated: Iterable[Operation]) -> list[str]:
    """Return what of a setting's numbers is missing, in words."""
    wanted: list[tuple[str, tuple[str, ...]]] = [(o.energy, (voltage(o),)) for o in used]
    wanted += [("constant_power", ("core_voltage", "memory_voltage"))]
    found = [
        f"setting {numbers['name']} has no {direct} and no {' or no '.join(v for v in volts if v not in numbers)}"
        for direct, volts in wanted
        if direct not in numbers and not set(volts) <= set(numbers)
    ]
    clocks = sorted({clock(o) for o in rated} - set(numbers))
    return found + [f"setting {numbers['name']} has no {c}, and a phase has no times" for c in clocks]


def clock(operation: Operation) -> str:
    """Return the name of the frequency that an operation's rate goes with."""
    return "memory_frequency" if operation.memory else "core_frequency"


def counts(plan: Plan) -> tuple[Quantity, ...]:
    """Return the numbers that the phases state, as inputs."""
    of = {q.name: q for q in COUNTS}
    found: list[Quantity] = []
    for p in plan.phases:
        prefix = f"{PHASES.name}.{p.name}"
        found += [replace(of[o.count], name=f"{prefix}.{o.count}") for o in p.operations]
        if p.timed:
            times = replace(TIMES, name=f"{prefix}.{TIMES.name}", optional=False)
            found += [times.at(setting=s.name) for s in plan.settings]
    return tuple(found)


def machine(plan: Plan) -> tuple[Quantity, ...]:
    """Return what a machine may state: what the phases need is not optional.

    Costs of a setting that nothing depends on are left out.
    """
    used, rated = _used(plan.phases), _used(p for p in plan.phases if not p.timed)
    rates = {f"{o.count}_per_cycle" for o in rated}
    circuit = {o.capacitance for s in plan.settings for o in s.derived}
    if any(s.leaks for s in plan.settings):
        circuit |= {q.name for q in LEAKAGE}
    found = [replace(q, optional=q.name not in rates | circuit) for q in (*RATES, *CIRCUIT)]
    for s in plan.settings:
        names = {clock(o) for o in rated} | {o.energy for o in used if o not in s.derived}
        names |= {voltage(o) for o in s.derived}
        names |= {"core_voltage", "memory_voltage"} if s.leaks else {"constant_power"}
        found += entry_parameters((q for q in SETTING if q.name in names), (s.name,))
    return tuple(found)


def without_effect(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return the constants of the circuit from which no setting's costs follow, each with why."""
    derived = {o for s in plan.settings for o in s.derived}
    stated = {o.capacitance: o.energy for o in _used(plan.phases) if o not in derived}
    if not any(s.leaks for s in plan.settings):
        stated |= dict.fromkeys((q.name for q in LEAKAGE), "constant_power")
    return tuple((n, f"every setting of the machine states its {cost} itself") for n, cost in stated.items())


def voltage(operation: Operation) -> str:
    """Return the name of the voltage that an operation runs at."""
    return "memory_voltage" if operation.memory else "core_voltage"


def _used(phases: Iterable[Phase]) -> tuple[Operation, ...]:
    stated = {o for p in phases for o in p.operations}
    return tuple(o for o in OPERATIONS if o in stated)
