"""What goes into the model of the machine, level by level; of the application: ``application``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dse.models.exabounds.levels import ABOVE_CORE, CACHES, SOURCE, by_level
from dse.quantities import Quantity

_TABLE2, _TABLE3, _TABLE4 = (f"{SOURCE}, Table {n}" for n in (2, 3, 4))
_MOST_COUNTED = 1e12


def stated(
    name: str, symbol: str, unit: str, meaning: str, source: str, default: float | None = None, **more: Any
) -> Quantity:
    """Return a quantity of the model, in ``unit``."""
    return Quantity(name, symbol, unit, meaning, source, default=default, **more)


def counted(name: str, symbol: str, meaning: str, source: str, **more: Any) -> Quantity:
    """Return a number of units: at least 1, searched up to 1e12."""
    return stated(name, symbol, "", meaning, source, minimum=1.0, floor=1.0, ceiling=_MOST_COUNTED, **more)


def share(
    name: str, symbol: str, meaning: str, source: str, default: float | None = 0.0, **more: Any
) -> Quantity:
    """Return a share, from 0 to 1."""
    return stated(name, symbol, "", meaning, source, default, maximum=1.0, floor=1e-9, ceiling=1.0, **more)


def at_caches(q: Quantity, caches: tuple[str, ...] = CACHES) -> tuple[Quantity, ...]:
    """Return the same quantity of each cache."""
    return tuple(q.at(cache=cache) for cache in caches)


CORE = (
    stated("frequency", "f_0", "Hz", "clock of the cores", f"{_TABLE3}, 4"),
    stated(
        "voltage", "V_0", "V", "supply voltage of the cores; absent: no power and no energy", f"{SOURCE} (17)"
    ),
    stated(
        "dynamic_capacitance",
        "K_pdyn",
        "F",
        "capacitance that one core switches per cycle at full activity; absent: no power and no energy",
        f"{SOURCE} (17)",
    ),
    stated(
        "leakage_current",
        "K_pleak",
        "A",
        "leakage current of one core before the threshold voltage lowers it",
        f"{SOURCE} (17), corrected",
        0.0,
    ),
    stated("leakage_ideality", "k_leak", "", "ideality of leakage, a plain number", f"{SOURCE} (17)", 1.0),
    stated("temperature", "T", "K", "temperature of the dies", f"{SOURCE} (17)", 300.0),
    stated(
        "thermal_voltage_slope", "k/q", "V/K", "Boltzmann constant over charge", "physics", 8.617333262e-5
    ),
    stated(
        "threshold_voltage",
        "V_t",
        "V",
        "threshold voltage; 0: leakage_current is the current itself",
        f"{SOURCE} (17)",
        0.0,
    ),
    stated(
        "clock_constant",
        "K_V",
        "Hz",
        "constant of the fastest clock; absent: any clock is possible",
        f"{SOURCE} (18)",
        optional=True,
    ),
    stated(
        "clock_exponent",
        "K_α",
        "",
        "exponent of the overdrive in the fastest clock",
        f"{SOURCE} (18)",
        1.3,
        minimum=0.1,
        maximum=4.0,
        floor=0.1,
        ceiling=4.0,
    ),
    stated("volt", "V_1", "V", "unit of the voltages in (18)", f"{SOURCE} (18)", 1.0),
    stated("pipeline_length", "n_pipe", "cycle", "length of the pipeline", f"{SOURCE} (3)", 0.0),
    stated("frontend_capacity", "n_front", "", "instructions that the front end holds", f"{SOURCE} (3)", 0.0),
    stated("reorder_buffer", "n_ROB", "", "instructions that the reorder buffer holds", f"{SOURCE} (3)", 0.0),
    stated("datapath_width", "n_bits", "byte", "data that one access moves", f"{_TABLE3}, 4", 8.0),
    stated("latency.L2", "T_L2", "cycle", "latency of the L2 cache", f"{SOURCE} (2), (4)", 0.0),
    stated("latency.L3", "T_L3", "cycle", "latency of the L3 cache", f"{_TABLE4}", 0.0),
    stated(
        "latency.DRAM",
        "T_DRAM",
        "s",
        "latency of memory, a time, so that it is more cycles of a faster clock",
        f"{SOURCE} (2), (5)",
        0.0,
    ),
    stated("line_size", "", "byte", "data that one miss moves", "our addition", 64.0),
)
AREA = (
    *(
        stated("functional_units", f"n_{kind}", "", f"{words} units of a core", f"{_TABLE3}, 4", 0.0).at(
            kind=kind
        )
        for kind, words in (("INT", "integer"), ("SFP", "single-precision"), ("DFP", "double-precision"))
    ),
    *(
        stated("unit_transistors", "", "", f"transistors of one {kind} unit", f"{SOURCE}, 4.8.2", 0.0).at(
            kind=kind
        )
        for kind in ("INT", "SFP", "DFP")
    ),
    *at_caches(stated("cache", "S", "byte", "size of a cache", f"{SOURCE}, 4.3", optional=True)),
    *at_caches(
        stated("cache_transistors", "", "1/byte", "transistors per byte of a cache", f"{SOURCE}, 4.8.2", 0.0)
    ),
    stated(
        "transistors.core",
        "n_xcore",
        "",
        "transistors of a core besides its counted units and caches",
        _TABLE3,
        0.0,
    ),
    stated(
        "transistors.die",
        "n_xpc",
        "",
        "transistors that a die has; absent: as many as are counted",
        f"{_TABLE3}, 4",
        optional=True,
    ),
    stated(
        "transistor_density",
        "ρ",
        "1/m^2",
        "transistors per area; absent: those of the die over its area",
        _TABLE3,
        optional=True,
    ),
    stated(
        "density_gain",
        "",
        "",
        "transistors per area over those stated: 2 for each generation of technology to come",
        f"{SOURCE}, 5.1 and Figure 14",
        1.0,
        floor=1e-3,
        ceiling=1e6,
    ),
    stated("die_area", "n_apd", "m^2", "area of one die of a stack", f"{SOURCE} (27)", optional=True),
    counted(
        "stacked_dies", "n_stack", "layers of a stack of dies", f"{SOURCE} (27)", default=1.0, whole=True
    ),
    share("power_via_share", "F_PwrTSV", "share of the area that vias for power take", f"{SOURCE} (27)"),
    share("signal_via_share", "F_IoTSV", "share of the area that vias for signals take", f"{SOURCE} (27)"),
)
IO_MODEL = (
    stated(
        "io_energy_slope",
        "",
        "J/byte",
        "factor of the bit rate's power in the energy of a pin's data",
        f"{SOURCE} (21)",
        0.0170e-12 * 8,
    ),
    stated(
        "io_energy_exponent",
        "",
        "",
        "exponent of the bit rate in (21)",
        f"{SOURCE} (21)",
        1.86,
        minimum=0.0,
        maximum=10.0,
        floor=0.1,
        ceiling=10.0,
    ),
    stated(
        "io_energy_floor",
        "",
        "J/byte",
        "energy of a pin's data at a low bit rate",
        f"{SOURCE} (21)",
        2.36e-12 * 8,
    ),
    stated("io_rate_unit", "", "byte/s", "unit of the bit rate in (21)", f"{SOURCE} (21)", 1e9 / 8),
)
_COUNT = counted("count", "n", "", f"{SOURCE}, 4.1", default=1.0, whole=True)
_COUNTED = {
    "core": "instructions that one core issues per cycle",
    "die": "cores of one die",
    "socket": "dies of one socket",
    "card": "sockets of one card",
    "unit": "cards of one rack unit",
    "rack": "rack units of one rack",
    "aisle": "racks of one aisle",
    "system": "aisles of the system",
}
COUNTS = tuple(replace(_COUNT.at(level=level), meaning=words) for level, words in _COUNTED.items())
EVERY_LEVEL = (
    stated(
        "bandwidth",
        "B n_io",
        "byte/s",
        "bandwidth of one unit of the level; absent: that of its pins, or ample",
        f"{SOURCE} (6)",
        optional=True,
    ),
    stated(
        "bit_rate",
        "B",
        "byte/s",
        "data rate of one signal pin, for (21) and the bandwidth",
        _TABLE3,
        optional=True,
    ),
    stated("io_pins", "n_io", "", "signal pins of one unit of the level", _TABLE3, optional=True, whole=True),
    stated(
        "data_energy",
        "K_dmoPwr",
        "J/byte",
        "energy of moving one byte; absent: by (21) from the bit rate, or none",
        f"{SOURCE} (19)",
        optional=True,
    ),
    stated("memory", "M", "byte", "memory of one unit of the level", f"{SOURCE} (19)", 0.0),
    stated("memory_power", "K_MemPwr", "W/byte", "power of one byte of memory", f"{SOURCE} (19)", 0.0),
    stated("buffer", "S", "byte", "buffer before the level's link, for (9)", f"{SOURCE} (9)", optional=True),
    stated(
        "failure_rate",
        "λ",
        "failure/s",
        "failures of one unit, without those inside it",
        f"{SOURCE} (22)",
        0.0,
    ),
    stated("repair_time", "MTTR", "s", "mean time to repair one unit", f"{SOURCE}, 4.6.1", 0.0),
    stated(
        "packaging_cost",
        "K_pkg",
        "USD",
        "cost of one unit, without the units inside it",
        f"{SOURCE} (25)",
        0.0,
    ),
)
UPPER_LEVELS = (
    stated(
        "power_efficiency",
        "η",
        "",
        "share of the power taken that is delivered",
        f"{SOURCE} (19)",
        1.0,
        minimum=0.01,
        maximum=1.0,
        floor=0.01,
        ceiling=1.0,
    ),
    stated("glue_power", "P_glu", "W", "power of one unit besides all else", f"{SOURCE} (19)", 0.0),
    stated("supply_resistance", "R_supply", "ohm", "resistance of one supply pin", f"{SOURCE} (20)", 0.0),
    counted("supply_pins", "n_supply", "supply pins of one unit", f"{SOURCE} (20)", default=1.0, whole=True),
    stated(
        "supply_voltage",
        "V",
        "V",
        "voltage at which a unit feeds the units inside; absent: as in the level below",
        f"{SOURCE} (20)",
        optional=True,
    ),
    counted(
        "package_pins",
        "",
        "pins of one unit, for supply and signals together; absent: no limit",
        f"{SOURCE}, 4.5.2",
        optional=True,
    ),
)
MONEY = (
    stated(
        "silicon_cost",
        "K_Si",
        "USD/Hz",
        "cost of one transistor per clock frequency",
        f"{SOURCE} (26), unit corrected",
        0.0,
    ),
    stated(
        "supply_cost",
        "",
        "USD/W",
        "cost of power supply per watt drawn at peak",
        f"{SOURCE}, 4.7 in words",
        0.0,
    ),
)
MACHINE = (
    *CORE,
    *AREA,
    *IO_MODEL,
    *COUNTS,
    *(q for family in EVERY_LEVEL for q in by_level(family)),
    *(q for family in UPPER_LEVELS for q in by_level(family, ABOVE_CORE)),
    *MONEY,
)
