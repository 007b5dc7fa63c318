"""Settings of a machine: what each entry of a ``[[settings]]`` table means, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.quantities import Quantity, to_si

SOURCE = "Choi et al. 2016"
QUANTITIES = {
    q.name: q
    for q in (
        Quantity("core_frequency", "fp", "Hz", "clock of the processor", f"{SOURCE}, Table I"),
        Quantity("core_voltage", "Vp", "V", "voltage of the processor", f"{SOURCE} (6)"),
        Quantity("memory_frequency", "fm", "Hz", "clock of the memory", f"{SOURCE}, Table I"),
        Quantity("memory_voltage", "Vm", "V", "voltage of the memory", f"{SOURCE} (7)"),
        Quantity(
            "energy_per_flop", "εSP", "J/flop", "energy of one flop in single precision", f"{SOURCE} (6)"
        ),
        Quantity(
            "energy_per_flop_double",
            "εDP",
            "J/flop",
            "energy of one flop in double precision",
            f"{SOURCE} (6)",
        ),
        Quantity(
            "energy_per_integer_operation", "εint", "J/op", "energy of one integer operation", f"{SOURCE} (6)"
        ),
        Quantity(
            "energy_per_byte_shared",
            "εSM",
            "J/byte",
            "energy of one byte from shared memory",
            f"{SOURCE} (6)",
        ),
        Quantity(
            "energy_per_byte_L2", "εL2", "J/byte", "energy of one byte from the L2 cache", f"{SOURCE} (6)"
        ),
        Quantity("energy_per_byte", "εmem", "J/byte", "energy of one byte from memory", f"{SOURCE} (7)"),
        Quantity("constant_power", "π0", "W", "power drawn whatever runs", f"{SOURCE} (8)"),
    )
}


def read(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting with its quantities as SI floats; name, source and other texts stay as they are.

    Raises UnitError where a quantity cannot be read.
    """
    return {k: to_si(v, QUANTITIES[k].unit) if k in QUANTITIES else v for k, v in entry.items()}
