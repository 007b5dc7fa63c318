"""Questions of cost and carbon, each typed again: what a run costs is written here by hand, grids and prices too.

Counts, times and energies come from the oracles of the models; dense grids with SLSQP (``oracle_definitions``), every
vector of counts, every placement or every choice of settings do the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import oracle_partition
import oracle_reading as reading
import oracle_roofline
import oracle_settings
from oracle_definitions import JAKETOWN, KWH, LOG, YEAR, Array, Found, Typed, matmul, nbody, searched

H100S = reading.catalogue("dgx-h100")
# grams per kWh, as printed
GRAMS = {
    "coal": 820, "india": 713, "world": 481, "korea": 402, "usa": 369, "europe": 300, "brazil": 98, "nuclear": 12,
    "wind": 11, "iceland": 7.3,
}  # fmt: skip


def _embodied(area: float, process: tuple[float, float, float], gigabytes: float) -> float:
    """The middle of 99 and 95 % of the gases abated, memory as LPDDR4 and as DDR4: kg, by ACT's formula and tables."""
    energy, *gases = process
    ends = (
        (0.642 * energy + gas + 0.5) / 0.875 * area + per_gigabyte * gigabytes + 0.15
        for gas, per_gigabyte in zip(gases, (0.048, 0.065), strict=True)
    )
    return sum(ends) / 2


_N5, _N7, _N12 = (2.75, 0.225, 0.43), (2.15, 0.2, 0.35), (1.2, 0.125, 0.2)
GIB = 2.0**30 / 1e9
# cm2 of dies, process, GB of memory
EMBODIED = {
    "v100-sxm": _embodied(8.15, _N12, 32),
    "a100-sxm-80gb": _embodied(8.26, _N7, 80 * GIB),
    "h100-sxm": _embodied(8.14, _N5, 80 * GIB),
    "h200-sxm": _embodied(8.14, _N5, 141 * GIB),
    "l4": _embodied(2.945, _N5, 24 * GIB),
}
SOCKETS = {
    "turin": ("epyc-9755", 12984.0, 40.0),
    "granite": ("xeon-6980p", 17800.0, 40.0),
    "grace": ("grace", 5000.0, 50.0),
    "h100": ("h100-sxm", 30000.0, EMBODIED["h100-sxm"]),
    "l4": ("l4", 2500.0, EMBODIED["l4"]),
}


def station(of_energy: float, column: int, intensity: float, demand: float) -> float:
    """Least price (carbon) of five years: every vector of counts but the last, where the fewest that do are best.

    ``of_energy``: what a joule counts; ``column``: of ``SOCKETS``, what a socket counts.
    """
    given = {"flops": 1e15, "intensity": intensity, "precision": "single"}
    rates, powers = [], []
    for name, *_ in SOCKETS.values():
        at = oracle_roofline.metrics(given, reading.catalogue(name))
        rates.append(given["flops"] / float(at["time"]))
        powers.append(float(at["energy"]) / float(at["time"]))
    seconds = 5 * YEAR * 0.7 * 1.2
    prices = [s[column] + seconds * of_energy * p for s, p in zip(SOCKETS.values(), powers, strict=True)]
    room = 10e3 - 500.0
    counts = np.meshgrid(*(np.arange(int(room / p) + 1.0) for p in powers[:-1]), indexing="ij", sparse=True)

    def total(each: list[float]) -> Array:
        return sum(n * x for n, x in zip(counts, each, strict=False))

    last = np.ceil(np.maximum(demand - total(rates), 0.0) / rates[-1] * (1 - 1e-9))
    fits = total(powers) + last * powers[-1] <= room * (1 + 1e-12)
    return (
        float(np.where(fits, total(prices) + last * prices[-1], np.inf).min()) + seconds * of_energy * 500.0
    )


def _hours(y: Array, m: Mapping[str, float]) -> tuple[Array, list[Array]]:
    p, M = np.exp(y)
    T, _, own = nbody(m, 1e8, 20.0, p, M)
    return p * T / 3600.0, [*own, np.log(M / m["memory_capacity"]), np.log(T / 2.0)]


@cache
def rented(name: str) -> float:
    """Least hours of all processors, of an n-body step in 2 s."""
    box = ((0.0, LOG(1e5)), (0.0, LOG(1e8)))
    machine = reading.catalogue(name)
    return searched(Typed("cost", box, lambda y: _hours(y, machine)))


def _product(y: Array) -> tuple[Array, list[Array]]:
    p, M = np.exp(y)
    m = H100S
    T, E, own = matmul(m, 1e6, p, M)
    carbon = 1.3 * E * 0.402 / KWH + p * EMBODIED["h100-sxm"] * T / (4 * YEAR * 0.5)
    return carbon, [*own, np.log(M / m["memory_capacity"]), np.log(T / 3.0)]


def _runs(y: Array) -> tuple[Array, list[Array]]:
    p, M = np.exp(y)
    word, held = 8e-9 * 4, 4 * YEAR * 0.8
    t1, e1, own1 = nbody(JAKETOWN, 1e6, 20.0, p, M)
    t2, e2, own2 = matmul(JAKETOWN, 35000.0, p, np.full_like(p, 3e6))
    electricity = 0.2 / KWH * (1000 * e1 + 10 * e2)
    hardware = p * ((2000 + word * M) * 1000 * t1 + (2000 + word * 3e6) * 10 * t2) / held
    return electricity + hardware, [*own1, *own2, np.log((1000 * t1 + 10 * t2) / 100.0)]


TYPED = {
    "matmul_least_carbon_deadline": Typed("carbon", ((0.0, LOG(65536)), (LOG(1e6), LOG(1e11))), _product),
    "kernels_cheapest_runs": Typed("cost", ((0.0, LOG(65536)), (LOG(1), LOG(1e6))), _runs),
}
OTHERS = (
    "blocks_station_cheapest_in_10_kw",
    "blocks_station_greenest_in_10_kw",
    "blocks_station_greenest_by_grid_sweep",
    "nbody_rented_by_price_sweep",
    "roofline_carbon_by_grid_sweep",
    "partition_grace_h100_cheapest",
    "dvfs_least_carbon",
)
NAMES = (*TYPED, *OTHERS)


def answer(name: str, source: Mapping[str, Any], index: tuple[int, ...] = ()) -> Found:
    """The optimum of one question of the library; ``index``: at which point of its axes."""
    if name in TYPED:
        typed = TYPED[name]
        how = "dense grid in logarithms, then SLSQP; costs typed by hand"
        return Found(typed.goal, searched(typed), how)
    place = [reading.axis(a)[i] for i, a in zip(index, source.get("sweep", {}).values(), strict=True)]
    if name == "blocks_station_cheapest_in_10_kw":
        return Found(
            "station_cost",
            station(0.15 / KWH, 1, 10.0, 515e12),
            "every vector of counts, costs typed by hand",
        )
    if name.startswith("blocks_station_greenest"):
        grams = GRAMS[place[0] if place else "usa"] / 1e3 / KWH
        asked = (15.0, 700e12) if place else (10.0, 515e12)
        return Found(
            "station_carbon", station(grams, 2, *asked), "every vector of counts, carbon typed by hand"
        )
    if name == "nbody_rented_by_price_sweep":
        least = rented(place[0]) * float(place[1].split()[0])
        return Found("cost", least, "dense grid in logarithms, then SLSQP; rent typed by hand")
    if name == "roofline_carbon_by_grid_sweep":
        return Found("carbon", _greenest(*place), "each accelerator by the paper's equations, carbon by hand")
    rate, held = (
        (0.3 / KWH, 35000.0 / (4 * YEAR))
        if name == "partition_grace_h100_cheapest"
        else (0.098 / KWH, 20.0 / (3 * YEAR))
    )
    return Found(
        source["objective"]["minimize"],
        _of_front(source, rate, held),
        "every design that nothing betters in energy and time, costs typed by hand",
    )


def _greenest(grid: str, intensity: float) -> float:
    given = {"flops": 1e18, "intensity": float(intensity), "precision": "single"}
    least = math.inf
    for name, made in EMBODIED.items():
        at = oracle_roofline.metrics(given, reading.catalogue(name))
        carbon = 1.3 * float(at["energy"]) * GRAMS[grid] / 1e3 / KWH
        least = min(least, carbon + made * float(at["time"]) / (4 * YEAR * 0.5))
    return least


def _of_front(source: Mapping[str, Any], rate: float, held: float) -> float:
    """The least of what rises with energy and with time lies on their front."""
    oracle = oracle_partition if source["model"] == "partition" else oracle_settings
    machine = source["machine"]
    plain = {k: v["base"] for k, v in machine.items()} if "base" not in machine else machine["base"]
    own = {"electricity_price", "lifetime", "grid"}
    asked = {
        **source,
        "machine": plain,
        "given": {k: v for k, v in source["given"].items() if k not in own},
        "objective": {"minimize": ["energy", "time"]},
    }
    designs = oracle.front(asked)
    return float((rate * designs[:, 0] + held * designs[:, 1]).min())
