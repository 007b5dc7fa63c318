"""What a technology allows: the fastest clock (18), leakage (17), the energy of pins (21), transistors and area.

    f_max = K_V ((V - V_t)/V_1)^K_α/(V/V_1)                                  (18)

K_V is a frequency, since voltages are counted in V_1 = 1 V: printed, its unit would depend on K_α. The
limit ``clock`` is the same with all unknowns on one side, (V_t + V_1 (f V/(K_V V_1))^(1/K_α))/V <= 1, which
needs no voltage above the threshold to be evaluated.

    I_leak = K_pleak exp(-V_t/(k_leak k T/q))                                (17)

The paper writes q (V_gs - V_t): a device that is off has V_gs = 0. k_leak is an ideality, a plain number,
and K_pleak a current; with them units agree.

    energy per bit = 0.0170 rate^1.86 + 2.36 pJ, rate in Gb/s                (21)

(21) prints its unit behind the second term only; the whole sum is mW per Gb/s, as 14 and 75 mW of its own
source [6] at 5 and 15 Gb/s confirm. So 13.5, 35.9 and 136.6 mW are drawn by a pin at 5, 10 and 20 Gb/s.

    effective area = A n_stack (1 - F_PwrTSV - F_IoTSV)                      (27)

The limit ``area`` has what circuits and vias take on one side, needed/(A n_stack) + F_PwrTSV + F_IoTSV <= 1: where
vias take all of the area or more, needed/effective is no measure of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from dse.models.arithmetic import exp, maximum, per
from dse.models.exabounds.levels import CACHES, of, total
from dse.models.shared.families import nothing

KINDS = ("INT", "SFP", "DFP")


def fastest_clock(m: Any) -> Any:
    """Return f_max (18), Hz; 0 below the threshold voltage, infinite where the machine states no constant."""
    if not hasattr(m, "clock_constant"):
        return inf
    # x - y for max(x, y) - y: zero below the threshold
    over = (maximum(m.voltage, m.threshold_voltage) - m.threshold_voltage) / m.volt
    return m.clock_constant * over**m.clock_exponent / (m.voltage / m.volt)


def clock_limit(m: Any) -> Any:
    """Return a ratio that is at most 1 where the clock is at most f_max."""
    scaled = m.frequency * m.voltage / m.volt / m.clock_constant
    return (m.threshold_voltage + m.volt * scaled ** (1.0 / m.clock_exponent)) / m.voltage


def leakage(m: Any) -> Any:
    """Return the leakage current of one core (17), A."""
    if nothing(m.leakage_current):
        return 0.0
    thermal = m.leakage_ideality * m.thermal_voltage_slope * m.temperature
    return m.leakage_current * exp(-1.0 * per(m.threshold_voltage, thermal))


def pin_energy(m: Any, level: str) -> Any:
    """Return the energy of one byte over a pin at the level's bit rate (21), J/byte."""
    rate = of(m, "bit_rate", level) / m.io_rate_unit
    return m.io_energy_slope * rate**m.io_energy_exponent + m.io_energy_floor


def transistors(m: Any) -> Mapping[str, Any]:
    """Return the transistors of one core in ``units`` and ``caches`` and altogether, and those counted on a die."""
    units = total(of(m, "functional_units", k) * of(m, "unit_transistors", k) for k in KINDS)
    own = [_cache(m, c) for c in CACHES[:3]]
    core = total([getattr(m, "transistors.core"), units, *own])
    die = total([getattr(m, "count.die") * core, _cache(m, "L3")])
    return {"units": units, "caches": total(own), "core": core, "die": die}


def _cache(m: Any, cache: str) -> Any:
    size, each = of(m, "cache", cache), of(m, "cache_transistors", cache)
    return 0.0 if size is None or nothing(each) else size * each


def effective_area(m: Any) -> Any:
    """Return the area of a stack of dies for circuits (27), m²; None where the area of a die is not stated."""
    if not hasattr(m, "die_area"):
        return None
    return m.die_area * m.stacked_dies * (1.0 - m.power_via_share - m.signal_via_share)


def area_limit(m: Any, needed: Any) -> Any:
    """Return the share of a stack's area that circuits, which need ``needed`` m², and vias take: at most 1."""
    return total([per(needed, m.die_area * m.stacked_dies), m.power_via_share, m.signal_via_share])


def density(m: Any) -> Any:
    """Return transistors per area, 1/m²; None where nothing says so."""
    if hasattr(m, "transistor_density"):
        return m.density_gain * m.transistor_density
    return m.density_gain * per(getattr(m, "transistors.die"), m.die_area) if _has_both(m) else None


def _has_both(m: Any) -> bool:
    return hasattr(m, "transistors.die") and hasattr(m, "die_area")


def metrics(m: Any) -> Mapping[str, Any]:
    """Return clock, transistors and areas; areas are 0 where the machine does not say enough."""
    counted, dense, room = transistors(m), density(m), effective_area(m)
    many = getattr(m, "transistors.die", counted["die"])
    found = {
        "transistors_per_core": counted["core"],
        "transistors_per_die": many,
        "unit_to_cache_area": per(counted["units"], counted["caches"]),
        "area_needed": 0.0 if dense is None else per(counted["die"], dense),
        "area_available": 0.0 if room is None else room,
    }
    if hasattr(m, "voltage"):
        found |= _clock_and_voltage(m)
    if dense is not None and room is not None:
        found["area"] = area_limit(m, found["area_needed"])
    return found


def _clock_and_voltage(m: Any) -> Mapping[str, Any]:
    found = {"max_frequency": fastest_clock(m)}
    if not nothing(m.threshold_voltage):
        found["threshold"] = per(m.threshold_voltage, m.voltage)
    if hasattr(m, "clock_constant"):
        found["clock"] = clock_limit(m)
    return found
