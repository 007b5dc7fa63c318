"""Questions that ExaBounds 2012 asks or leaves open, each typed again by hand.

Of platforms, times and powers are those of ``oracle_systems``; a die yet to be drawn is typed here. What is whole is
enumerated, one real number is scanned densely and the scan narrowed around its best point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import oracle_systems as systems
from oracle_definitions import Array, Found

VOLTS_PER_KELVIN = 8.617333262e-5
KIB = 1024.0
STEPS, POINTS = 40, 2001
WORK = 36e12


def zoomed(value: Callable[[Array], Array], low: float, high: float) -> float:
    """The least of a function of one number: a dense grid, then denser ones around its best point."""
    best = math.inf
    for _ in range(STEPS):
        x = np.linspace(low, high, POINTS)
        with np.errstate(all="ignore"):
            y = np.nan_to_num(value(x), nan=np.inf)
        k = int(np.argmin(y))
        best = min(best, float(y[k]))
        low, high = float(x[max(k - 2, 0)]), float(x[min(k + 2, POINTS - 1)])
    return best


def histogram(source: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Distances and shares of the reuse of data."""
    rows = source["given"]["data_reuse"]
    return [(systems.number(r["distance"]) if "distance" in r else math.inf, float(r["share"])) for r in rows]


def core_speed(rows: Any, issue: Any, f: Any, supply: Any, cores: Any) -> Any:
    """Instructions a second of one core of a die with two caches, 80 ns from memory, a link shared by its cores."""
    far, near = systems._missing(rows, 256 * KIB), systems._missing(rows, 32 * KIB)
    alone = 1 / issue + 0.5 * 10 * near + 0.5 * far * np.maximum(80e-9 * f - 48 / issue, 0.0)
    return f / np.maximum(alone, 64 * 0.5 * far * f * cores / supply)


def width(source: Mapping[str, Any], index: Sequence[int]) -> float:
    parallel = (1.5, 3.0, 6.0)[index[0]]
    issue, cores = (x.astype(float) + 1 for x in np.indices((8, 40)))
    area = cores * (3e6 + 0.5e6 * issue**2 + 288 * KIB * 48) / 2e12
    each = core_speed(histogram(source), np.minimum(issue, parallel), 2e9, 100e9, cores)
    return float((cores * each)[area <= 200e-6 * (1 + 1e-9)].max())


def cores_or_dies(source: Mapping[str, Any], _: Sequence[int]) -> float:
    cores, dies = (x.astype(float) + 1 for x in np.indices((32, 16)))
    reached = cores * dies * core_speed(histogram(source), 4.0, 2e9, 100e9, cores * dies)
    area = cores * 40e6 / 2e12 * 1e6
    price = dies * (0.1 * area * np.exp(0.004 * area) + 6)
    return float(price[reached >= 120e9 * (1 - 1e-9)].min())


def stacked(source: Mapping[str, Any], _: Sequence[int]) -> float:
    height, cores = (x.astype(float) + 1 for x in np.indices((12, 160)))
    fits = cores * 10e6 / 2e12 <= 100e-6 * height * (1 - 0.06 * height - 0.05) * (1 + 1e-9)
    cool = cores * 0.5e-9 * 2e9 <= 150.0
    reached = cores * core_speed(histogram(source), 4.0, 2e9, 400e9, cores)
    return float(reached[fits & cool].max())


def pins_or_rate(source: Mapping[str, Any], _: Sequence[int]) -> float:
    """Power of four cores, of what is lost in supply pins, and of signal pins by (21)."""
    supply, signal = (x.astype(float) + 1 for x in np.indices((40, 40)))
    found = []
    for gigabits in (2.0, 4.0, 8.0, 16.0):
        bandwidth = signal * gigabits * 1e9 / 8
        reached = 4 * core_speed(histogram(source), 4.0, 2e9, bandwidth, 4.0)
        fed = 4 * 0.5e-9 * 2e9
        power = fed + fed**2 * 0.3 / supply + 8e-12 * (0.0170 * gigabits**1.86 + 2.36) * bandwidth
        good = (supply + signal <= 40) & (reached >= 8.5e9 * (1 - 1e-9))
        found.append(power[good].min() if good.any() else math.inf)
    return float(min(found))


def leak(volts: Any, kelvin: Any) -> Any:
    """Watts that a core of the die leaks (17)."""
    return volts * 1.4e6 * np.exp(-0.35 / (VOLTS_PER_KELVIN * kelvin))


def within_heat(source: Mapping[str, Any], index: Sequence[int]) -> float:
    """The fastest clock (18) of each voltage at which heat is not too much."""
    heat = (90.0, 180.0)[index[0]]

    def value(volts: Array) -> Array:
        clock = 3.9e9 * (volts - 0.35) ** 1.3 / volts
        drawn = 4 * (6.5e-9 * volts**2 * clock + leak(volts, 330.0))
        reached = 4 * core_speed(histogram(source), 4.0, clock, 25.6e9, 4.0)
        return np.where(drawn <= heat, -reached, np.inf)

    return -zoomed(value, 0.5, 1.4)


def settled(_: Mapping[str, Any], index: Sequence[int]) -> float:
    """The least temperature that is not exceeded: from the coolest on, heat follows temperature."""
    kelvin, clock = 320.0, (0.6e9, 1e9, 1.3e9)[index[0]]
    for _ in range(2000):
        kelvin = 320.0 + 0.3 * 4 * (6.5e-9 * 1.2**2 * clock + leak(1.2, kelvin))
    return float(kelvin)


def platforms(source: Mapping[str, Any], goal: Callable[[Any, Any, Array], Array], most: float) -> float:
    """The least of a function of platform and number of cards over all of them."""
    found = []
    for name in source["decide"]["machine"]["values"]:
        counts = np.arange(1.0, most + 1)
        m = systems.machine(name) | {"count.rack": counts}
        with np.errstate(all="ignore"):
            at = systems.measure(m, {"instructions": WORK}, histogram(source))
            found.append(float(np.min(goal(m, at, counts))))
    return min(found)


def idle(m: Any) -> Any:
    return systems._power(m, m["voltage"], m["frequency"], m["bandwidth.socket"])[0][1]


def year(source: Mapping[str, Any], _: Sequence[int]) -> float:
    def price(m: Any, at: Any, _: Array) -> Array:
        joules = 8766 * 3600 * (0.8 * at["power"] + 0.2 * idle(m))
        return np.where(at["performance"] >= WORK * (1 - 1e-9), joules * 0.15 / 3.6e6, np.inf)

    return platforms(source, price, 20000)


def repair(source: Mapping[str, Any], index: Sequence[int]) -> float:
    waiting = (1, 30, 180)[index[0]] * 86400.0

    def power(m: Any, at: Any, _: Array) -> Array:
        reached = at["performance"] * (1 - m["failure_rate.socket"] * waiting)
        return np.where(reached >= WORK * (1 - 1e-9), at["power"], np.inf)

    return platforms(source, power, 20000)


def per_performance(source: Mapping[str, Any], _: Sequence[int]) -> float:
    span = {"lifetime": 43830 * 3600.0, "peak_share": 0.8, "idle_share": 0.2, "energy_price": 0.15 / 3.6e6}

    def each(m: Any, at: Any, counts: Array) -> Array:
        one, each_card = np.ones_like(counts), m.get("count.card", 1) * m.get("count.socket", 1)
        cards = [counts] * 2 + [one] * 3
        copies = [
            counts * each_card * m.get("count.die", 1),
            counts * each_card,
            counts * m.get("count.card", 1),
        ]
        slower = 1 + 1e5 * counts / (WORK / copies[0])
        bought = systems._cost(m, span, (at["power"], idle(m)), [*copies, *cards], at["time"])
        return (bought + 2e6) / (at["performance"] / slower)

    return platforms(source, each, 20000)


def isoefficiency(_: Mapping[str, Any], index: Sequence[int]) -> float:
    """Nine tenths of what a core does: nine times its overhead."""
    cards = (1, 8, 64, 512)[index[0]]
    m = systems.machine("platform-server-power")
    return 9 * 1e6 * cards * cards * m["count.die"] * m.get("count.card", 1) * m.get("count.socket", 1)


def age(source: Mapping[str, Any], _: Sequence[int]) -> float:
    """Price of a year at each age, (25) with the mean failure rate up to it."""
    years = 365.25 * 86400.0
    m = systems.machine("platform-server-power")
    given = {"instructions": WORK, "peak_share": 0.8, "idle_share": 0.2, "energy_price": 0.15 / 3.6e6}

    def yearly(span: Array) -> Array:
        rate = m["failure_rate.socket"] * (span / (5 * years)) ** 2
        found = systems.measure(
            m | {"failure_rate.socket": rate}, given | {"lifetime": span}, histogram(source)
        )
        return found["cost"] / span

    return zoomed(yearly, years, 30 * years)


EVERY = "every design; typed by hand"
SCANNED = "a dense scan of one number, narrowed; typed by hand"
CLOSED = "closed form, typed by hand"
NAMES: Mapping[str, tuple[str, Callable[[Mapping[str, Any], Sequence[int]], float]]] = {
    "hardware_issue_width_sweep": (EVERY, width),
    "hardware_cores_or_dies": (EVERY, cores_or_dies),
    "hardware_stacked_dies": (EVERY, stacked),
    "hardware_pins_or_bit_rate": (EVERY, pins_or_rate),
    "hardware_clock_within_heat_sweep": (SCANNED, within_heat),
    "hardware_temperature_of_a_die_sweep": (
        "heat and leakage followed until they settle; typed by hand",
        settled,
    ),
    "platforms_energy_of_a_year": (EVERY, year),
    "platforms_repair_sweep": (EVERY, repair),
    "platforms_least_cost_per_performance": (EVERY, per_performance),
    "platforms_isoefficiency_sweep": (CLOSED, isoefficiency),
    "platforms_age_of_replacement": (SCANNED, age),
}


def answer(name: str, source: Mapping[str, Any], index: tuple[int, ...] = ()) -> Found:
    """The optimum of one of ``NAMES``; ``index``: at which point of its axis."""
    (goal,) = source["objective"].values()
    how, found = NAMES[name]
    return Found(goal, found(source, index), how)
