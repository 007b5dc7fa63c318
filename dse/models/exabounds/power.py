"""Power of every level, bottom up (17), (19), (20).

    P_core   = K_pdyn V² f s_0 + V I_leak + K_dmo B + K_mem M                                  (17)
    P_i      = (n_i P_{i-1} + P_glu + P_ohmic + K_dmo B + K_mem M)/η_i,  i >= 1                    (19)
    P_ohmic  = (n_i P_{i-1}/(n_supply V_{i-1}))² R n_supply                                        (20)

B in (19) is the bandwidth of all pins of a unit together, not per pin as in Table 3: K_dmo is energy
per byte. The core has the same terms, which the paper leaves out. If a level's bandwidth is not
known, the demand of its cores at work is used. Both forms of (20) agree; its 5 W at 300 mΩ and 600 pins are 100 A,
while Table 3 has a resistance of 1 µΩ. All n_i units draw power, with or without work:
this is the paper's bound.

Idle power is the same sum with the leakage of the cores alone. A machine that lacks a voltage or the
capacitance that switches has no power; questions about time, hardware and failures do without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.arithmetic import per
from dse.models.exabounds.levels import ABOVE_CORE, LEVELS, below, of, product, total, units
from dse.models.exabounds.performance import bandwidth, demand
from dse.models.exabounds.technology import leakage, pin_energy
from dse.models.shared.families import nothing
from dse.system.records import dataclass

NEEDED = ("voltage", "dynamic_capacitance")
"""Machine parameters without which no power is known."""


def known(m: Any) -> bool:
    """Whether a machine states what its cores draw."""
    return all(hasattr(m, name) for name in NEEDED)


def of_run(g: Any, drawn: Mapping[str, Any], time: Any) -> Mapping[str, Any]:
    """Return the energy of the run and what follows from it; nothing where no power is known."""
    if not drawn:
        return {}
    energy = drawn["power"] * time
    return {
        "energy": energy,
        "efficiency": per(g.instructions, energy),
        "energy_delay": energy * time,
    }


@dataclass(frozen=True, slots=True)
class Tower:
    """Power of one ``unit`` of every level, and what of it supply pins, links and memory take, W."""

    unit: Mapping[str, Any]
    ohmic: Mapping[str, Any]
    data: Mapping[str, Any]
    memory: Mapping[str, Any]


def core(g: Any) -> tuple[Any, Any]:
    """Return dynamic and leakage power of one core (17), W."""
    m = g.machine
    dynamic = m.dynamic_capacitance * m.voltage**2 * m.frequency * g.activity
    current = leakage(m)
    return dynamic, 0.0 if nothing(current) else m.voltage * current


def data_power(g: Any, parts: Mapping[str, Any], level: str) -> Any:
    """Return the power of moving data at one unit of a level, W."""
    each = energy_per_byte(g.machine, level)
    if nothing(each):
        return 0.0
    moved = bandwidth(g.machine, level)
    if moved is None:
        inside = ABOVE_CORE[: LEVELS.index(level)]
        moved = demand(g, level)
        moved = 0.0 if nothing(moved) else per(moved, product(parts[i] for i in inside))
    return 0.0 if nothing(moved) else each * moved


def energy_per_byte(machine: Any, level: str) -> Any:
    """Return the energy of moving one byte at a level, J/byte: as stated, else by (21), else none."""
    stated = of(machine, "data_energy", level)
    if stated is not None:
        return stated
    return pin_energy(machine, level) if of(machine, "bit_rate", level) is not None else 0.0


def tower(g: Any, parts: Mapping[str, Any], inside: Any) -> Tower:
    """Return the power of every level (19) above cores whose circuits draw ``inside``, W. ``parts``: 1/n̂."""
    m = g.machine
    unit: dict[str, Any] = {}
    ohmic: dict[str, Any] = {}
    data = {level: data_power(g, parts, level) for level in LEVELS}
    memory = {level: _memory_power(m, level) for level in LEVELS}
    voltage = m.voltage
    for level in LEVELS:
        kept = [data[level], memory[level]]
        if level == "core":
            unit[level] = total([inside, *kept])
            continue
        fed = of(m, "count", level) * unit[below(level)]
        voltage = of(m, "supply_voltage", level, voltage)
        ohmic[level] = _ohmic(m, level, fed, voltage)
        taken = total([fed, of(m, "glue_power", level), ohmic[level], *kept])
        unit[level] = taken / of(m, "power_efficiency", level)
    return Tower(unit, ohmic, data, memory)


def _memory_power(m: Any, level: str) -> Any:
    size, each = of(m, "memory", level), of(m, "memory_power", level)
    return 0.0 if nothing(size) or nothing(each) else size * each


def _ohmic(m: Any, level: str, fed: Any, voltage: Any) -> Any:
    """Return the loss in the supply pins of one unit (20): (fed/V)² R/n_supply."""
    resistance = of(m, "supply_resistance", level)
    if nothing(resistance) or nothing(fed):
        return 0.0
    return per(fed, voltage) ** 2 * resistance / of(m, "supply_pins", level)


def metrics(g: Any, parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return power by level and by part; the parts are those of the whole system."""
    m, many = g.machine, units(g.machine)
    dynamic, leak = core(g)
    circuits = total([dynamic, leak])
    full = tower(g, parts, circuits)
    # nothing of a power is a power, which has a unit like the others
    none = 0.0 * m.voltage**2 * m.dynamic_capacitance * m.frequency
    idle = tower(g, parts, leak if not nothing(leak) else none)
    added = {level: _added(m, full, level) for level in LEVELS}
    found = {f"power.{level}": full.unit[level] for level in LEVELS}
    found |= {f"power_added.{level}": many[level] * added[level] for level in LEVELS}
    of_all = {
        "power_processors": many["core"] * full.unit["core"],
        "power_dynamic": many["core"] * dynamic,
        "power_leakage": total([none, many["core"] * leak if not nothing(leak) else 0.0]),
        "power_memory": _summed(none, many, full.memory),
        "power_data": _summed(none, many, full.data),
        "power_ohmic": _summed(none, many, full.ohmic),
        "power_glue": _summed(none, many, {i: of(m, "glue_power", i) for i in ABOVE_CORE}),
    }
    return {
        **found,
        **of_all,
        "power": full.unit["system"],
        "idle_power": idle.unit["system"],
        "power_delivery": total([none, *(_power_lost_in_supply(m, full, i) * many[i] for i in ABOVE_CORE)]),
    }


def _summed(none: Any, many: Mapping[str, Any], each: Mapping[str, Any]) -> Any:
    return total([none, *(many[i] * w for i, w in each.items() if not nothing(w))])


def _power_lost_in_supply(m: Any, full: Tower, level: str) -> Any:
    """Return what the supply of one unit of a level loses besides ohmic losses: (1 - η) of what it takes."""
    return full.unit[level] * (1.0 - of(m, "power_efficiency", level))


def _added(m: Any, full: Tower, level: str) -> Any:
    """Return what one unit of a level draws besides the units inside it."""
    kept = [full.data[level], full.memory[level]]
    if level == "core":
        return full.unit[level]
    fresh = total([of(m, "glue_power", level), full.ohmic[level], *kept])
    return total([_power_lost_in_supply(m, full, level), fresh])


def limits(m: Any) -> Mapping[str, Any]:
    """Return, for every level whose package states its pins, the share of them in use."""
    found = {}
    for level in ABOVE_CORE:
        pins = of(m, "package_pins", level)
        if pins is not None:
            signals = of(m, "io_pins", level, 0.0)
            found[f"pins.{level}"] = per(of(m, "supply_pins", level) + signals, pins)
    return found
