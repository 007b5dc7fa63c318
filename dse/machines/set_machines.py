"""A machine held at one of its settings, as a machine for models without settings: ``jetson-tk1-choi2016@852-924``.

The setting states energies and the constant power, or voltages from which they follow (``dse.models.dvfs_energy``).
A rate per cycle of the machine times the setting's clock is a rate, and its reciprocal a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dse.machines.machine import Machine
from dse.models import machine_parameter
from dse.models.dvfs_energy import LEAKAGE, OPERATIONS, constant_power, energies
from dse.names import unknown

MARK = "@"
_CIRCUIT_SOURCE = "from the voltages of the setting, Choi et al. 2016 (6)-(8)"


def at(machine: Machine, setting: str) -> Machine:
    """Return the machine at the setting of that name; raises UnknownName where it has none such."""
    found = next((s for s in machine.settings if s.get("name") == setting), None)
    if found is None:
        named = [str(s["name"]) for s in machine.settings if "name" in s]
        raise unknown(f"setting of {machine.name}", setting, named or ["none"])
    stated = {str(found.get("source", ""))}
    told = {
        n: (v, source, doubt) for n, v, source, doubt in _parameters(machine, found) if machine_parameter(n)
    }
    return replace(
        machine,
        name=f"{machine.name}{MARK}{setting}",
        title=f"{machine.title}, at {setting}",
        parameters={n: v for n, (v, _, _) in told.items()},
        provenance={n: source for n, (_, source, _) in told.items()},
        doubts={n: doubt for n, (_, _, doubt) in told.items() if doubt},
        settings=(),
        evidence={n: "derived" for n, (_, source, _) in told.items() if source not in stated},
        intervals={},
    )


def _parameters(machine: Machine, setting: Mapping[str, Any]) -> Iterator[tuple[str, float, str, str]]:
    """Go through name, value, source and doubt of what the machine costs at a setting."""
    where, doubts = str(setting.get("source", "")), setting.get("doubts", {})
    volts = [setting.get(f"{x}_voltage") for x in ("core", "memory")]
    derived: dict[str, float] = {}
    if None not in volts:
        derived = energies(machine.parameters, *volts)
        if all(q.name in machine.parameters for q in LEAKAGE):
            derived["constant_power"] = constant_power(machine.parameters, *volts)
    for name in (*(o.energy for o in OPERATIONS), "constant_power"):
        if name in setting:
            yield name, setting[name], where, doubts.get(name, "")
        elif name in derived:
            yield name, derived[name], _CIRCUIT_SOURCE, ""
    for o in OPERATIONS:
        rate, clock = f"{o.count}_per_cycle", "memory_frequency" if o.memory else "core_frequency"
        if rate in machine.parameters and clock in setting:
            time = 1.0 / (machine.parameters[rate] * setting[clock])
            name = o.energy.replace("energy_per", "time_per", 1)
            yield name, time, f"1/({rate} x {clock}), {where}", machine.doubts.get(rate, "")
