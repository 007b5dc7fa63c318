"""Questions with definitions of a file's own, each typed again as a function of its decided numbers.

Nothing is read from [define]: what a file defines is written here by hand, with the counts and costs of Demmel et al.
(section IV, (1), (2)) and Choi et al. (1), (3). The search is a dense grid over the logarithms of what is decided, then
SLSQP from its best points; where little is decided the grid is refined instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import oracle_partition
import oracle_reading as reading
import oracle_roofline
from scipy.optimize import minimize

Array = np.ndarray
JAKETOWN = reading.catalogue("jaketown")
BALANCED = reading.catalogue("balanced")
KWH = 3.6e6
YEAR = 365.25 * 24 * 3600.0
WORD = 4.0


@dataclass(frozen=True)
class Found:
    """The least value of the objective, and how it was found."""

    goal: str
    objective: float
    how: str


@dataclass(frozen=True)
class Typed:
    """A question as a function of logarithms: its value, and log ratios that are <= 0 where all limits hold.

    ``points``: how many the grid has along each of them, unless as many as usual; ``starts``: from how many of its
    best ones SLSQP goes on.
    """

    goal: str
    box: tuple[tuple[float, float], ...]
    at: Callable[..., tuple[Array, list[Array]]]
    listed: tuple[tuple[float, ...], ...] = ()
    points: int = 0
    starts: int = 12


def costs(m: Mapping[str, float], p: Array, M: Array, F: Array, W: Array) -> tuple[Array, Array]:
    """Time and energy by (1) and (2), messages as long as they may be."""
    S = W / m["max_message"]
    T = m["time_per_flop"] * F + m["time_per_word"] * W + m["time_per_message"] * S
    dynamic = m["energy_per_flop"] * F + m["energy_per_word"] * W + m["energy_per_message"] * S
    return T, p * (dynamic + (m["memory_power_per_word"] * M + m["leakage_power"]) * T)


def nbody(m: Mapping[str, float], n: float, f: float, p: Array, M: Array) -> tuple[Array, Array, list[Array]]:
    """Time, energy and the two limits of direct n-body."""
    T, E = costs(m, p, M, f * n**2 / p, n**2 / (p * M))
    return T, E, [np.log(n / (p * M)), np.log(M * np.sqrt(p) / n)]


def matmul(m: Mapping[str, float], n: float, p: Array, M: Array) -> tuple[Array, Array, list[Array]]:
    """Time, energy and the two limits of 2.5D matrix multiplication."""
    T, E = costs(m, p, M, n**3 / p, n**3 / (p * np.sqrt(M)))
    return T, E, [np.log(n**2 / (p * M)), np.log(M * p ** (2 / 3) / n**2)]


def clocked(clock: Array, volt: Array) -> dict[str, Any]:
    """Jaketown with 16 flops a cycle and 14 pJ a flop at 1 V."""
    return {**JAKETOWN, "time_per_flop": 1 / (16 * clock), "energy_per_flop": 14e-12 * volt**2}


def clock_decided(y: Array) -> tuple[Array, list[Array]]:
    clock, p, M = np.exp(y)
    T, E, own = nbody(clocked(clock, 0.6 + 0.17 * clock / 1e9), 1e6, 20.0, p, M)
    return 0.06 * p + 0.2 / KWH * E * 1e6, [*own, np.log(T / 4.0)]


def alpha_power(voltage: Array, deadline: float) -> tuple[Array, list[Array]]:
    clock = 4e9 * ((voltage - 0.3) / 0.9) ** 1.3 / (voltage / 1.2)
    T, E, own = nbody(clocked(clock, voltage), 1e6, 20.0, np.array(4096.0), np.array(1000.0))
    return E, [*own, np.log(T / deadline)]


def delay_squared(y: Array) -> tuple[Array, list[Array]]:
    p, M = np.exp(y)
    T, E, own = matmul(JAKETOWN, 35000.0, p, M)
    return E * T**2, [*own, np.log(E / T / 30e3)]


def lifetime(y: Array) -> tuple[Array, list[Array]]:
    p, M = np.exp(y)
    T, E, own = matmul(JAKETOWN, 35000.0, p, M)
    bought = 9000 * p + 8e-9 * WORD * M * p
    return bought + 0.2 / KWH * E / T * 5 * YEAR, [*own, np.log(T / 20.0)]


def blocks(y: Array) -> tuple[Array, list[Array]]:
    p, block = np.exp(y)
    T, E, own = matmul(JAKETOWN, 35000.0, p, 3 * block**2)
    return E, [*own, np.log(T / 10.0)]


def weighted(y: Array) -> tuple[Array, list[Array]]:
    p, M = np.exp(y)
    T, E, own = nbody(BALANCED, 1e5, 10.0, p, M)
    return E + 500.0 * T, own


def near_least_power(y: Array, most: float = math.inf) -> tuple[Array, list[Array], Array]:
    p, M = np.exp(y)
    T, E, own = nbody(JAKETOWN, 1e6, 20.0, p, M)
    return T, [*own, np.log(T / 10.0), np.log(E / T / most)], E / T


LOG = math.log
WORDS = (0.0, LOG(1e9))
TYPED = {
    "nbody_clock_decided": Typed(
        "price", ((LOG(0.8e9), LOG(3.2e9)), (0.0, LOG(4096)), (LOG(10), LOG(1e6))), clock_decided
    ),
    "matmul_energy_delay_squared": Typed(
        "energy_delay_squared", ((0.0, LOG(512)), (LOG(1e4), LOG(2.0**32))), delay_squared
    ),
    "matmul_price_over_a_lifetime": Typed("cost", ((0.0, LOG(4096)), (LOG(1e4), LOG(2.0**34))), lifetime),
    "matmul_block_decided": Typed(
        "energy", ((0.0, LOG(4096)),), blocks, (tuple(LOG(2.0**k) for k in range(4, 17)),)
    ),
    "nbody_weighted_energy_and_time": Typed("weighted", ((0.0, LOG(65536)), (LOG(1), LOG(1e6))), weighted),
    "nbody_voltage_by_the_alpha_power_law": Typed(
        "energy", ((LOG(0.4), LOG(1.2)),), lambda y: alpha_power(np.exp(y[0]), 0.2)
    ),
}
SWEPT = "nbody_overdrive_deadline_sweep"
TIED = "nbody_near_the_least_power"
OTHERS = (TIED, "roofline_least_carbon", "partition_cheapest_run")
NAMES = (*TYPED, SWEPT, *OTHERS)


def answer(name: str, source: Mapping[str, Any], index: tuple[int, ...] = ()) -> Found:
    """The optimum of one question of the library; ``index``: at which point of its axis."""
    if name == SWEPT:
        deadline = reading.axis(source["sweep"]["deadline"])[index[0]]
        at = Typed("energy", ((LOG(0.4), LOG(1.2)),), lambda y: alpha_power(np.exp(y[0]), float(deadline)))
        return Found("energy", searched(at), "voltage scanned densely and refined, equations typed by hand")
    if name == TIED:
        box = ((0.0, LOG(4096)), (LOG(1), LOG(1e6)))
        least = searched(Typed("power", box, lambda y: near_least_power(y)[2:0:-1]))
        fastest = Typed("time", box, lambda y: near_least_power(y, 1.05 * least)[:2])
        return Found("time", searched(fastest), "least power first, then least time: dense grids and SLSQP")
    if name == "roofline_least_carbon":
        return Found(
            "carbon", _carbon(source), "each platform by the paper's equations, carbon typed by hand"
        )
    if name == "partition_cheapest_run":
        return Found("run_cost", _cheapest(source), "every placement, cost typed by hand")
    typed = TYPED[name]
    return Found(
        typed.goal, searched(typed), "dense grid in logarithms, then SLSQP; definitions typed by hand"
    )


def searched(typed: Typed) -> float:
    """Least value over a box and every listed value, limits held."""
    return min(_least(typed, chosen) for chosen in itertools.product(*typed.listed))


def _least(typed: Typed, chosen: tuple[float, ...]) -> float:
    low, high = (np.array(ends) for ends in zip(*typed.box, strict=True))
    count = typed.points or {1: 200_001, 2: 1201, 3: 121}[len(low)]

    def at(y: Array) -> tuple[Array, Array]:
        rest = [np.full(y.shape[1], c) for c in chosen]
        value, ratios = typed.at(np.array([*y, *rest]))
        return np.broadcast_to(value, y.shape[1:]), np.max(np.broadcast_arrays(*ratios), axis=0)

    def grid() -> tuple[Array, Array]:
        axes = [np.linspace(a, b, count) for a, b in zip(low, high, strict=True)]
        every = np.stack([v.ravel() for v in np.meshgrid(*axes, indexing="ij")])
        value, miss = at(every)
        order = np.argsort(np.where(miss <= 1e-12, value, np.inf))[: typed.starts]
        return every[:, order], np.where(miss <= 1e-12, value, np.inf)[order]

    with np.errstate(all="ignore"):
        starts, values = grid()
        if not np.isfinite(values[0]):
            return math.inf
        best = float(values[0])
        for start in starts.T:
            best = min(best, _local(at, start, low, high, best))
    return best


def _local(
    at: Callable[[Array], tuple[Array, Array]], start: Array, low: Array, high: Array, scale: float
) -> float:
    seen: dict[bytes, tuple[float, float]] = {}

    def both(y: Array) -> tuple[float, float]:
        # SLSQP asks for the value and the room of the same points, and of those beside them
        if (key := y.tobytes()) not in seen:
            worth, miss = at(y[:, None])
            seen[key] = LOG(float(worth[0]) / scale), -float(miss[0])
        return seen[key]

    def value(y: Array) -> float:
        return both(y)[0]

    def room(y: Array) -> float:
        return both(y)[1]

    found = minimize(
        value,
        start,
        method="SLSQP",
        bounds=list(zip(low, high, strict=True)),
        constraints={"type": "ineq", "fun": room},
        options={"ftol": 1e-15, "maxiter": 400},
    )
    y = np.clip(found.x, low, high)
    return scale * math.exp(value(y)) if room(y) >= -1e-10 else math.inf


def _carbon(source: Mapping[str, Any]) -> float:
    given = {"flops": 1e15, "intensity": 2.0, "precision": "single"}
    found = []
    for name in source["decide"]["machine"]["values"]:
        at = oracle_roofline.metrics(given, reading.catalogue(name))
        found.append(0.35 / KWH * float(at["energy"]) + 60.0 * float(at["time"]) / (4 * YEAR))
    return min(found)


def _cheapest(source: Mapping[str, Any]) -> float:
    asked = {
        **{k: v for k, v in source.items() if k != "define"},
        "objective": {"minimize": ["energy", "time"]},
    }
    designs = oracle_partition.front(asked)
    return float((0.2 / KWH * designs[:, 0] + 0.05 / 3600.0 * designs[:, 1]).min())
