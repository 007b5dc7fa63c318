"""The station of sockets on cards: every type, level, card and number of sockets, written out from the question's text.

One type: all numbers of sockets, as one array for each level and card. Two types: for each pair of levels all numbers
of the scarcer one, with as few of the other as the demand leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import oracle_listed as listed
from oracle_listed import ROUNDING, Found
from oracle_scans import Array

# integer operations per second of one socket, and the processor's name in the table
RATES = {
    "msp430f2274": (16e6, "MSP"),
    "at91sam7s16": (55e6, "SM7"),
    "tms320c5515": (120e6, "C55"),
    "at91sam9m10": (400e6, "SM9"),
    "imx515": (800e6, "MX5"),
    "omap3503": (600e6, "OMP"),
    "atom-n450": (1.66e9, "ATM"),
}
UNITS = {"W": 1.0, "kW": 1e3, "hour": 3600.0, "USD": 1.0, "USD/kWh": 1.0 / 3.6e6, "op/s": 1.0, "FIT": 1.0}
HOUR = 3600.0
CHUNK = 1_000_000
# sockets beyond those that the demand needs; there is nothing to gain there, which is checked, not assumed
BEYOND = 20_000


@dataclass(frozen=True)
class Way:
    """A type at a level on a card: of one socket its rate, power at peak and idle, price; of the card the same."""

    type: str
    rate: float
    peak: float
    idle: float
    price: float
    places: float
    card_power: float
    card_price: float


@dataclass(frozen=True)
class Asked:
    """A question: types, ways, numbers of the site, limits, goal."""

    types: tuple[str, ...]
    ways: tuple[Way, ...]
    site: Mapping[str, float]
    demand: float
    cap: float
    kinds: int
    goal: str
    maximize: bool


def number(value: Any) -> float:
    """A number in SI, failure rates in FIT."""
    if not isinstance(value, str):
        return float(value)
    digits, unit = value.split(" ", 1)
    return float(digits) * UNITS[unit]


def answer(source: Mapping[str, Any]) -> Found:
    """The optimum of a question in the scenario language."""
    asked = read(source)
    value, how = _best(asked)
    clashes = (
        () if value is not None else listed.minimal_conflicts(source, lambda q: _best(read(q))[0] is not None)
    )
    return Found(asked.goal, value, how, clashes)


def optimum(source: Mapping[str, Any]) -> float | None:
    """The optimum alone, without the conflicts of a question that has none."""
    return _best(read(source))[0]


def read(source: Mapping[str, Any]) -> Asked:
    """The question in numbers."""
    listed.check(source)
    given = dict(source["given"])
    levels, cards = given.pop("levels"), given.pop("cards")
    double = given.pop("operations", "integer") == "double"
    site = {name: number(value) for name, value in given.items()}
    if "decide" in source:
        (kind,) = source["decide"].values()
        names, kinds = [str(n) for n in kind["values"]], 1
    else:
        names, kinds = list(source["machine"].values()), len(source["machine"])
    goal, maximize = listed.goal(source)
    limits = {n: dict(e) for n, e in source.get("limits", {}).items()}
    demand = number(limits.get("throughput", {}).pop("min", 0.0))
    cap = number(limits.get("power", {}).pop("max", math.inf))
    kinds = int(limits.get("types", {}).pop("max", kinds))
    if any(limits.values()) or set(limits) - {"throughput", "power", "types"}:
        raise NotImplementedError(limits)
    ways = tuple(_ways(names, levels, cards, site, double=double))
    return Asked(tuple(names), ways, site, demand, cap, kinds, goal, maximize)


def _ways(
    names: list[str], levels: Any, cards: Any, site: Mapping[str, float], *, double: bool
) -> Iterator[Way]:
    table = listed.table("exabounds2012_table1_processors.csv", "short")
    for name, level, card in product(names, levels, cards):
        rate, short = RATES[name]
        row = table[short]
        kind, printed = ("dpflop", "") if double else ("intop", "_corrected")
        each = float(row[f"energy_per_{kind}_J"])
        if double:  # as many as draw what the socket draws on integers
            rate *= float(row["energy_per_intop_J"]) / each
        idle = float(row[f"idle_power_1e18_{kind}_W{printed}"]) / 1e18 * rate
        switching = each * rate - idle
        f, v = float(level["frequency"]), float(level["voltage"])
        leakage = idle * v
        peak = switching * f * v * v + leakage
        places, power = float(card["sockets"]), number(card["power"])
        if places * peak + power <= site["card_power_limit"] * (1 + ROUNDING):
            price = float(row[f"device_cost_1e18_{kind}_USD"]) / 1e18 * rate
            yield Way(name, rate * f, peak, leakage, price, places, power, number(card["cost"]))


def _best(asked: Asked) -> tuple[float | None, str]:
    if asked.kinds == 1:
        found = [_alone(asked, w) for w in asked.ways]
        how = "every type, level, card and number of sockets"
    elif asked.kinds == 2 and asked.goal == "cost":
        found = [_alone(asked, w) for w in asked.ways]
        pairs = (p for p in combinations(asked.ways, 2) if p[0].type != p[1].type)
        found += [_both(asked, *p) for p in pairs]
        how = "every pair of types and levels, every number of sockets of the one, as few of the other as will do"
    else:
        raise NotImplementedError(asked.kinds)
    sign = -1.0 if asked.maximize else 1.0
    values = [sign * v for v in found if v is not None]
    return (sign * min(values) if values else None), how


def _alone(asked: Asked, w: Way) -> float | None:
    """The best number of sockets used in one way."""
    least = max(1, math.ceil(asked.demand / w.rate * (1 - ROUNDING)))
    most = least + BEYOND
    if asked.maximize and math.isfinite(asked.cap):
        most = max(least, math.ceil(asked.cap / w.peak))
    return _of(asked, [(w, np.arange(least, most + 1, dtype=float))])


def _both(asked: Asked, one: Way, other: Way) -> float | None:
    """The best numbers of sockets used in two ways: the faster ones counted, the others as few as will do."""
    if one.rate < other.rate:
        one, other = other, one
    last = math.ceil(asked.demand / one.rate * (1 - ROUNDING))
    found = []
    for start in range(0, last + 1, CHUNK):
        n = np.arange(start, min(start + CHUNK, last + 1), dtype=float)
        rest = np.maximum(0.0, np.ceil((asked.demand - n * one.rate) / other.rate * (1 - ROUNDING)))
        found.append(_of(asked, [(one, n), (other, rest)]))
    return min((v for v in found if v is not None), default=None)


def _of(asked: Asked, used: list[tuple[Way, Array]]) -> float | None:
    """The best of these numbers of sockets that meet the limits."""
    site, nothing = asked.site, np.zeros(1)

    def drawn(each: Callable[[Way], float]) -> Array:
        own = sum((n * each(w) for w, n in used), nothing)
        return (own + sum((c * w.card_power for w, c in cards), nothing)) / site["supply_efficiency"]

    cards = [(w, np.ceil(n / w.places)) for w, n in used]
    throughput, power = sum((n * w.rate for w, n in used), nothing), drawn(lambda w: w.peak)
    good = (throughput >= asked.demand * (1 - ROUNDING)) & (power <= asked.cap * (1 + ROUNDING))
    if not good.any():
        return None
    if asked.goal in ("throughput", "power"):
        values = (throughput if asked.goal == "throughput" else power)[good]
        return float(values.max() if asked.maximize else values.min())
    used, cards = ([(w, np.asarray(n)[good]) for w, n in some] for some in (used, cards))
    power = power[good]
    started = np.ceil(power / site["power_step"] - ROUNDING)
    sockets, hours = sum((n for _, n in used), nothing), site["lifetime"] / HOUR
    if asked.goal == "mttf":
        failing = (
            site["socket_failures"] * sockets
            + site["card_failures"] * sum((c for _, c in cards), nothing)
            + site["power_step_failures"] * started
        )
        values = 1e9 / failing * HOUR
    else:
        worth = power * site["peak_share"] + drawn(lambda w: w.idle) * site["idle_share"]
        values = (
            sum((n * w.price for w, n in used), nothing) * (1 + site["socket_failures"] * 1e-9 * hours)
            + sum((c * w.card_price for w, c in cards), nothing)
            + started * site["cost_per_power_step"]
            + worth / 1e3 * hours * site["energy_price"] * 3.6e6
        )
    return float(values.max() if asked.maximize else values.min())
