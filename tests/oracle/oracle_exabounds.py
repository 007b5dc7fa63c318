"""A system of eight levels counted unit by unit, in loops and case distinctions, from the corrected equations.

``m``: machine, ``g``: inputs, plain numbers by name; what is absent is not stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

NAMES = ["core", "die", "socket", "card", "unit", "rack", "aisle", "system"]
Numbers = Mapping[str, float]


def usable(m: Numbers, g: Numbers, i: int) -> float:
    """How many of the n_i units inside one unit of level i do work."""
    here = NAMES[i]
    many = m.get(f"count.{here}", 1.0)
    if i:
        inside = NAMES[i - 1]
        many -= many * m.get(f"failure_rate.{inside}", 0.0) * m.get(f"repair_time.{inside}", 0.0)
    return min(many, g.get(f"parallelism.{here}", math.inf))


def rate_of_misses(m: Numbers, g: Numbers, cache: str) -> float:
    rate = g.get(f"miss_rate.{cache}", 0.0)
    if f"measured_cache.{cache}" in g and f"cache.{cache}" in m:
        rate *= math.sqrt(g[f"measured_cache.{cache}"] / m[f"cache.{cache}"])
        rate = min(rate, 1.0)
    return rate


def supply(m: Numbers, level: str) -> float:
    """Bytes per second of a unit's link; infinite where nothing is known of it."""
    if f"bandwidth.{level}" in m:
        return m[f"bandwidth.{level}"]
    if f"io_pins.{level}" in m and f"bit_rate.{level}" in m:
        return m[f"io_pins.{level}"] * m[f"bit_rate.{level}"]
    return math.inf


def asked(m: Numbers, g: Numbers, level: str) -> float:
    """Bytes per second that one core at work wants."""
    rate = g.get(f"demand.{level}", 0.0) * m["frequency"]
    if f"measured_buffer.{level}" in g and f"buffer.{level}" in m:
        rate *= math.sqrt(g[f"measured_buffer.{level}"] / m[f"buffer.{level}"])
    return rate


def cycles_per_instruction(m: Numbers, g: Numbers) -> dict[str, float]:
    ilp = usable(m, g, 0)
    to_l2, to_l3 = m.get("latency.L2", 0.0), m.get("latency.L3", 0.0)
    to_memory = m.get("latency.DRAM", 0.0) * m["frequency"]
    reorder = m.get("reorder_buffer", 0.0)
    moving, branches = g["data_share.core"], g["control_share"]
    beyond_l3 = g.get("miss_rate.L3", 1.0)
    parts = {
        "base": 1.0 / ilp,
        "icache": to_l2 * rate_of_misses(m, g, "L1I") + to_memory * g.get("miss_rate.ITLB", 0.0),
        "branch": branches
        * g.get("misprediction_rate", 0.0)
        * (m.get("pipeline_length", 0.0) + (m.get("frontend_capacity", 0.0) + reorder) / ilp),
        "l1data": moving * rate_of_misses(m, g, "L1D") * to_l2,
        "l2data": moving
        * rate_of_misses(m, g, "L2")
        * (
            beyond_l3 * max(to_memory - reorder / ilp, 0.0)
            + (1.0 - beyond_l3) * max(to_l3 - reorder / ilp, 0.0)
        ),
    }
    rest = sum(parts.values())
    busy, worst = 1.0, 1.0
    for i, level in enumerate(NAMES):
        if i:
            busy *= usable(m, g, i)
        each = supply(m, level) / busy
        if asked(m, g, level) > each:
            worst = max(worst, asked(m, g, level) / each)
    return {**parts, "bandwidth": rest * worst - rest}


def run_time(m: Numbers, g: Numbers) -> float:
    work = g["instructions"]
    for i in range(7, 0, -1):
        work /= usable(m, g, i)
    work += sum(g.get(f"overhead_work.{level}", 0.0) for level in NAMES[1:])
    return work * sum(cycles_per_instruction(m, g).values()) / m["frequency"]


def link_power(m: Numbers, g: Numbers, i: int) -> float:
    level = NAMES[i]
    if f"data_energy.{level}" in m:
        per_byte = m[f"data_energy.{level}"]
    elif f"bit_rate.{level}" in m:
        # milliwatts per Gb/s are picojoules per bit
        per_byte = 8e-12 * (0.0170 * (m[f"bit_rate.{level}"] * 8e-9) ** 1.86 + 2.36)
    else:
        return 0.0
    moved = supply(m, level)
    if moved == math.inf:
        moved = asked(m, g, level)
        for j in range(1, i + 1):
            moved *= usable(m, g, j)
    return per_byte * moved


def tower(m: Numbers, g: Numbers, switching: float) -> list[float]:
    """Power of one unit of every level; ``switching``: share of the dynamic power that is drawn."""
    exponent = m.get("threshold_voltage", 0.0) / (
        m.get("leakage_ideality", 1.0) * 8.617333262e-5 * m.get("temperature", 300.0)
    )
    found: list[float] = []
    volts = m["voltage"]
    for i, level in enumerate(NAMES):
        extra = link_power(m, g, i) + m.get(f"memory.{level}", 0.0) * m.get(f"memory_power.{level}", 0.0)
        if not i:
            dynamic = m["dynamic_capacitance"] * volts * volts * m["frequency"] * g.get("activity", 1.0)
            found.append(
                switching * dynamic + volts * m.get("leakage_current", 0.0) / math.exp(exponent) + extra
            )
            continue
        fed = m.get(f"count.{level}", 1.0) * found[-1]
        volts = m.get(f"supply_voltage.{level}", volts)
        pins = m.get(f"supply_pins.{level}", 1.0)
        amperes_per_pin = fed / volts / pins
        lost = pins * amperes_per_pin**2 * m.get(f"supply_resistance.{level}", 0.0)
        whole = fed + m.get(f"glue_power.{level}", 0.0) + lost + extra
        found.append(whole / m.get(f"power_efficiency.{level}", 1.0))
    return found


def copies(m: Numbers) -> list[float]:
    """How many units of every level there are."""
    found = [1.0]
    for level in reversed(NAMES[1:]):
        found.insert(0, found[0] * m.get(f"count.{level}", 1.0))
    return found


def failures(m: Numbers) -> list[float]:
    return [n * m.get(f"failure_rate.{level}", 0.0) for n, level in zip(copies(m), NAMES, strict=True)]


def bill(m: Numbers, g: Numbers) -> dict[str, float]:
    size = m.get("transistors.core", 0.0)
    for kind in ("INT", "SFP", "DFP"):
        size += m.get(f"functional_units.{kind}", 0.0) * m.get(f"unit_transistors.{kind}", 0.0)
    for cache in ("L1I", "L1D", "L2"):
        size += m.get(f"cache.{cache}", 0.0) * m.get(f"cache_transistors.{cache}", 0.0)
    price = [m.get("silicon_cost", 0.0) * m["frequency"] * size + m.get("packaging_cost.core", 0.0)]
    for level in NAMES[1:]:
        price.append(m.get(f"packaging_cost.{level}", 0.0) + m.get(f"count.{level}", 1.0) * price[-1])
    full, idle = tower(m, g, 1.0)[-1], tower(m, g, 0.0)[-1]
    if "lifetime" in g:
        span = g["lifetime"]
        joules = span * (g.get("peak_share", 1.0) * full + g.get("idle_share", 0.0) * idle)
    else:
        span = run_time(m, g)
        joules = span * full
    return {
        "cost_hardware": price[-1],
        "cost_supply": m.get("supply_cost", 0.0) * full,
        "cost_nre": sum(g.get(f"nre_cost.{level}", 0.0) for level in NAMES),
        "cost_energy": joules * g.get("energy_price", 4.14e-8) * g.get("cooling_factor", 1.0),
        "cost_spares": span * sum(f * p for f, p in zip(failures(m), price, strict=True)),
    }
