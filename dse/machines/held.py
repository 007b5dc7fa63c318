"""What a machine held at one of its settings costs, for models without settings: ``jetson-tk1-choi2016@852-924``.

The setting states energies and the constant power, or voltages from which they follow
(``dse.models.platforms.dvfs_energy``). A rate per cycle of the machine times the setting's clock is a rate, and its
reciprocal a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.machines.values import Value
from dse.models import machine_parameter
from dse.models.platforms.dvfs_energy import LEAKAGE, OPERATIONS, constant_power, energies

MARK = "@"
_CIRCUIT_SOURCE = "from the voltages of the setting, Choi et al. 2016 (6)-(8)"


def values(
    parameters: Mapping[str, float], doubts: Mapping[str, str], setting: Mapping[str, Any]
) -> dict[str, Value]:
    """Return the machine parameters that hold at a setting, by name.

    ``parameters``, ``doubts``: the machine's own; ``setting``: one of its menu.
    """
    found = (*_stated_energies(parameters, setting), *_stated_times(parameters, doubts, setting))
    return {name: value for name, value in found if machine_parameter(name) is not None}


def _stated_energies(
    parameters: Mapping[str, float], setting: Mapping[str, Any]
) -> Iterator[tuple[str, Value]]:
    """Go through energies and constant power: those of the setting, else those of its voltages."""
    source, doubts = str(setting.get("source", "")), setting.get("doubts", {})
    volts = [setting.get(f"{x}_voltage") for x in ("core", "memory")]
    derived: dict[str, float] = {}
    if None not in volts:
        derived = energies(parameters, *volts)
        if all(q.name in parameters for q in LEAKAGE):
            derived["constant_power"] = constant_power(parameters, *volts)
    for name in (*(o.energy for o in OPERATIONS), "constant_power"):
        if name in setting:
            yield name, Value(setting[name], "", "", source, doubts.get(name, ""))
        elif name in derived:
            yield name, Value(derived[name], "", "derived", _CIRCUIT_SOURCE)


def _stated_times(
    parameters: Mapping[str, float], doubts: Mapping[str, str], setting: Mapping[str, Any]
) -> Iterator[tuple[str, Value]]:
    for o in OPERATIONS:
        rate, clock = f"{o.count}_per_cycle", "memory_frequency" if o.memory else "core_frequency"
        if rate in parameters and clock in setting:
            time = 1.0 / (parameters[rate] * setting[clock])
            source = f"1/({rate} x {clock}), {setting.get('source', '')}"
            yield (
                o.energy.replace("energy_per", "time_per", 1),
                Value(time, "", "derived", source, doubts.get(rate, "")),
            )
