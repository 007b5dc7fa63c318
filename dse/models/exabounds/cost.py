"""What the system costs (25), (26), corrected: hardware bottom up, design once, energy, spares for what fails.

    hardware_0 = K_pkg,0 + K_Si f_0 n_core                                     (26)
    hardware_i = K_pkg,i + n_i hardware_{i-1}                                  (25)
    cost       = hardware_7 + K_supply P_7 + Σ K_NRE,i + energy + spares
    energy     = K_pwr K_cool (peak share P_7 + idle share P_idle) lifetime
    spares     = Σ N_i λ_i hardware_i lifetime

n_core: transistors of one core, the metric ``transistors_per_core``; (26) prints n_xpc, which Tables 3 and 4 call
those of a die. ``transistors.die`` counts for areas and densities only.

(25) as printed counts energy again at every level, from the power of one unit of the level below, and
leaves the power of the top level out; and its n_i $_{i-1} multiplies the cost of design by the number of
units made. Here energy and design are paid once. K_cool is a plain factor, 1 where the efficiencies η hold
the cooling. K_Si is a price per clock frequency and transistor, since (26) multiplies it with both. K_pwr =
4.14e-8 USD/J is 0.149 USD/kWh. Without a lifetime the run itself is paid, as in (25): t = L_sys/C_7 at full
power.

Table 1's yearly energy costs are 0.2 * idle power * 8760 h * 0.15 USD/kWh in all its cells: its 80 % share
at peak is missing, as ``idle_share`` and ``peak_share`` show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.exabounds.levels import LEVELS, below, of, total, units
from dse.models.exabounds.reliability import failures
from dse.models.shared.families import nothing


def hardware(m: Any, transistors: Any) -> Mapping[str, Any]:
    """Return what one unit of every level costs, USD; ``transistors``: of one core."""
    found: dict[str, Any] = {}
    for level in LEVELS:
        if level == "core":
            silicon = m.silicon_cost
            inside = 0.0 if nothing(silicon) or nothing(transistors) else silicon * m.frequency * transistors
        else:
            inside = 0.0 if nothing(found[below(level)]) else of(m, "count", level) * found[below(level)]
        found[level] = total([of(m, "packaging_cost", level), inside])
    return found


def metrics(g: Any, transistors: Any, time: Any, drawn: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the cost with its parts, USD. ``time`` of the run, ``drawn``: power, if known.

    Without power there is no price of energy and supply, and no sum.
    """
    m, many = g.machine, units(g.machine)
    each = hardware(m, transistors)
    paid = getattr(g, "lifetime", None)
    span = time if paid is None else paid
    of_energy = _energy_prices(g, time, drawn) if drawn else {}
    # nothing of a price is a price, which has a unit like the others
    none = 0.0 * of_energy["cost_energy"] if drawn else 0.0 * m.silicon_cost * m.frequency
    again = [
        rate * each[level] * span
        for level, rate in failures(m).items()
        if not nothing(rate) and not nothing(each[level])
    ]
    parts = {
        "cost_hardware": total([none, each["system"]]),
        **_supply_price(m, drawn, none),
        "cost_nre": total([none, *(of(g, "nre_cost", level) for level in LEVELS)]),
        **of_energy,
        "cost_spares": total([none, *again]),
    }
    packaging = {
        f"cost_added.{level}": total([none, many[level] * _unit_cost_alone(m, each, level)])
        for level in LEVELS
    }
    whole = {"cost": total(parts.values()), "run_energy_cost": _of_run(g, time, drawn)} if drawn else {}
    return {**whole, **parts, **packaging, "duty": g.peak_share + g.idle_share}


def _energy_prices(g: Any, time: Any, drawn: Mapping[str, Any]) -> Mapping[str, Any]:
    full, idle = drawn["power"], drawn["idle_power"]
    paid = getattr(g, "lifetime", None)
    energy = full * time if paid is None else (g.peak_share * full + g.idle_share * idle) * paid
    return {"cost_energy": g.energy_price * g.cooling_factor * energy}


def _supply_price(m: Any, drawn: Mapping[str, Any], none: Any) -> Mapping[str, Any]:
    if not drawn:
        return {}
    return {"cost_supply": total([none, 0.0 if nothing(m.supply_cost) else m.supply_cost * drawn["power"]])}


def _of_run(g: Any, time: Any, drawn: Mapping[str, Any]) -> Any:
    return g.energy_price * g.cooling_factor * drawn["power"] * time


def _unit_cost_alone(m: Any, each: Mapping[str, Any], level: str) -> Any:
    """Return what one unit of a level costs besides the units inside it."""
    return each[level] if level == "core" else of(m, "packaging_cost", level)
