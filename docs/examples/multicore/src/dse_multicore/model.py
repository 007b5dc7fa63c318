"""A chip to be designed: how many cores, at which clock, with how much memory bandwidth.

``W`` flops and ``Q`` bytes overlap, so the run takes as long as the slower of the two:

    t = max(W / (r n f), Q / b)                                          (1)

A flop costs energy that grows with the square of the clock (the voltage follows it); whatever is switched on
draws power as long as the run lasts, and every core costs some energy to start:

    E = W e f² + ε Q + (π + π_n n + π_b b) t + E_n n                     (2)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.arithmetic import maximum
from dse.models.model import Model
from dse.quantities import Quantity

SOURCE = "dse-multicore"

MACHINE = (
    Quantity(
        "flops_per_core_cycle", "r", "flop/cycle/core", "flops of a core in one clock cycle", f"{SOURCE} (1)"
    ),
    Quantity(
        "energy_per_flop_at_clock",
        "e",
        "J*s^2/flop",
        "energy of one flop, per square of the clock",
        f"{SOURCE} (2)",
        floor=1e-60,
    ),
    Quantity("energy_per_byte", "ε", "J/byte", "energy of one byte from memory", f"{SOURCE} (2)"),
    Quantity(
        "constant_power", "π", "W", "power drawn as long as the run lasts, whatever is built", f"{SOURCE} (2)"
    ),
    Quantity("power_per_core", "π_n", "W/core", "power of a core that is switched on", f"{SOURCE} (2)"),
    Quantity("power_per_bandwidth", "π_b", "W*s/byte", "power of the memory, per bandwidth", f"{SOURCE} (2)"),
    Quantity("energy_per_core", "E_n", "J/core", "energy to start a core", f"{SOURCE} (2)"),
)
INPUTS = (
    Quantity("flops", "W", "flop", "flops of the run", f"{SOURCE} (1)"),
    Quantity("bytes", "Q", "byte", "bytes that cross between chip and memory", f"{SOURCE} (1)"),
    Quantity("cores", "n", "core", "cores that work", f"{SOURCE} (1)", minimum=1.0, floor=1.0, ceiling=1e15),
    Quantity("clock", "f", "Hz", "clock of the cores", f"{SOURCE} (1)", floor=1e-3, ceiling=1e15),
    Quantity("bandwidth", "b", "byte/s", "bytes per second between chip and memory", f"{SOURCE} (1)"),
)
METRICS = (
    Quantity("time", "t", "s", "time of the run", f"{SOURCE} (1)"),
    Quantity("energy", "E", "J", "energy of the run", f"{SOURCE} (2)"),
    Quantity("power", "P", "W", "average power of the run", "energy over time"),
    Quantity("performance", "R", "flop/s", "flops per second", "flops over time"),
    Quantity("efficiency", "η", "flop/J", "flops per joule", "flops over energy"),
    Quantity("energy_delay", "ET", "J*s", "energy times time", "product of (1) and (2)"),
)


def equations(g: Any) -> Mapping[str, Any]:
    """Time by (1), energy by (2), and what follows from them."""
    m = g.machine
    time = maximum(g.flops / (m.flops_per_core_cycle * g.cores * g.clock), g.bytes / g.bandwidth)
    switched_on = m.constant_power + m.power_per_core * g.cores + m.power_per_bandwidth * g.bandwidth
    energy = (
        g.flops * m.energy_per_flop_at_clock * g.clock**2
        + g.bytes * m.energy_per_byte
        + switched_on * time
        + m.energy_per_core * g.cores
    )
    return {
        "time": time,
        "energy": energy,
        "power": energy / time,
        "performance": g.flops / time,
        "efficiency": g.flops / energy,
        "energy_delay": energy * time,
    }


MULTICORE = Model(
    name="multicore",
    title="A chip to be designed: cores, clock, memory bandwidth",
    source=f"{SOURCE}, an example",
    machine=MACHINE,
    inputs=INPUTS,
    metrics=METRICS,
    limits=(),
    equations=equations,
)
