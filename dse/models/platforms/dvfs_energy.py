"""Energy under dynamic voltage and frequency scaling (Choi and Vuduc 2016, equations (3) to (9)).

Switching a circuit costs a charge times a voltage, so that an operation costs energy in proportion to the
square of the voltage it runs at, and leakage costs power in proportion to the voltage:

    ε_k = ĉ0_k V_core²   (flops, integer operations, shared memory, L2)      (6)
    ε_m = ĉ0_m V_mem²    (memory)                                            (7)
    π0  = c1_core V_core + c1_mem V_mem + P_misc                             (8)
    E   = Σ count_k ε_k + Q ε_m + π0 T                                       (9)

ĉ0 is a capacitance (J/V²) per operation, c1 a current (W/V); the machine parameters are named after that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.quantities import Quantity
from dse.system.records import dataclass

SOURCE = "Choi et al. 2016"


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of operation: the name of its count, and of what it costs in a setting and in the circuit.

    ``memory``: whether it runs at the voltage of the memory (else at that of the core).
    """

    count: str
    unit: str
    energy: str
    capacitance: str
    meaning: str
    memory: bool = False


OPERATIONS = (
    Operation(
        "flops",
        "flop",
        "energy_per_flop",
        "capacitance_per_flop",
        "floating-point operation, single precision",
    ),
    Operation(
        "flops_double",
        "flop",
        "energy_per_flop_double",
        "capacitance_per_flop_double",
        "floating-point operation, double precision",
    ),
    Operation(
        "integer_operations",
        "op",
        "energy_per_integer_operation",
        "capacitance_per_integer_operation",
        "integer operation",
    ),
    Operation(
        "bytes_shared",
        "byte",
        "energy_per_byte_shared",
        "capacitance_per_byte_shared",
        "byte from or to shared memory",
    ),
    Operation(
        "bytes_L2", "byte", "energy_per_byte_L2", "capacitance_per_byte_L2", "byte from or to the L2 cache"
    ),
    Operation(
        "bytes", "byte", "energy_per_byte", "capacitance_per_byte", "byte from or to memory", memory=True
    ),
)
LEAKAGE = (
    Quantity(
        "core_leakage_current",
        "c1_core",
        "A",
        "leakage power of the core per volt of its supply",
        f"{SOURCE} (8)",
    ),
    Quantity(
        "memory_leakage_current",
        "c1_mem",
        "A",
        "leakage power of the memory per volt of its supply",
        f"{SOURCE} (8)",
    ),
    Quantity("other_power", "P_misc", "W", "constant power that depends on no voltage", f"{SOURCE} (8)"),
)
CIRCUIT = (
    *(
        Quantity(
            o.capacitance,
            f"ĉ0_{o.count}",
            f"F/{o.unit}",
            f"energy of one {o.meaning} per volt squared",
            f"{SOURCE} ({7 if o.memory else 6})",
        )
        for o in OPERATIONS
    ),
    *LEAKAGE,
)
# what a setting of a machine may state
SETTING = (
    Quantity("core_frequency", "fp", "Hz", "clock of the processor", f"{SOURCE}, Table I"),
    Quantity("core_voltage", "Vp", "V", "voltage of the processor", f"{SOURCE} (6)"),
    Quantity("memory_frequency", "fm", "Hz", "clock of the memory", f"{SOURCE}, Table I"),
    Quantity("memory_voltage", "Vm", "V", "voltage of the memory", f"{SOURCE} (7)"),
    Quantity("energy_per_flop", "εSP", "J/flop", "energy of one flop in single precision", f"{SOURCE} (6)"),
    Quantity(
        "energy_per_flop_double", "εDP", "J/flop", "energy of one flop in double precision", f"{SOURCE} (6)"
    ),
    Quantity(
        "energy_per_integer_operation", "εint", "J/op", "energy of one integer operation", f"{SOURCE} (6)"
    ),
    Quantity(
        "energy_per_byte_shared", "εSM", "J/byte", "energy of one byte from shared memory", f"{SOURCE} (6)"
    ),
    Quantity("energy_per_byte_L2", "εL2", "J/byte", "energy of one byte from the L2 cache", f"{SOURCE} (6)"),
    Quantity("energy_per_byte", "εmem", "J/byte", "energy of one byte from memory", f"{SOURCE} (7)"),
    Quantity("constant_power", "π0", "W", "power drawn whatever runs", f"{SOURCE} (8)"),
)


def energies(circuit: Mapping[str, Any], core_voltage: Any, memory_voltage: Any) -> dict[str, Any]:
    """Return the energy of each kind of operation at these voltages (6), (7), for the kinds ``circuit`` has.

    By the names that settings use, J per operation.
    """
    return {
        o.energy: circuit[o.capacitance] * (memory_voltage if o.memory else core_voltage) ** 2
        for o in OPERATIONS
        if o.capacitance in circuit
    }


def constant_power(circuit: Mapping[str, Any], core_voltage: Any, memory_voltage: Any) -> Any:
    """Return the power that is drawn whatever runs (8), W."""
    core, memory, other = (circuit[q.name] for q in LEAKAGE)
    return core * core_voltage + memory * memory_voltage + other


def energy(
    circuit: Mapping[str, Any], counts: Mapping[str, Any], core_voltage: Any, memory_voltage: Any, time: Any
) -> Any:
    """Return the energy of a run (9), J. ``counts``: operations by the names of ``OPERATIONS``; absent is 0.

    Raises KeyError where a count has no cost in ``circuit``.
    """
    costs = energies(circuit, core_voltage, memory_voltage)
    of = {o.count: o.energy for o in OPERATIONS}
    return (
        sum(counts[name] * costs[of[name]] for name in counts)
        + constant_power(circuit, core_voltage, memory_voltage) * time
    )
