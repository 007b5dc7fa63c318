"""How often to write a checkpoint, typed again: every count of servers, and the interval by golden section.

The station's expected energy is that of the renewal argument, with the times of an attempt by quadrature: an
attempt at an interval and its saving succeeds with probability q, so that there are 1/q of them and 1/q - 1
failures; each failure takes attempts at reading the state again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import oracle_station as station
import oracle_systems as systems
from oracle_definitions import Found

Array = np.ndarray
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
STEPS = 120
DAY = 86400.0
COUNTS = np.arange(1.0, 4001.0)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(30)


def answer(name: str, source: Mapping[str, Any], index: tuple[int, ...]) -> Found:
    """The least of the objective of one of ``NAMES``."""
    if index:
        raise NotImplementedError(name)
    return NAMES[name](source)


def least(cost: Callable[[Array], Array], low: float, high: float, many: int) -> Array:
    """The least of functions with one valley each, between two ends, by golden section."""
    a, b = np.full(many, low), np.full(many, high)
    for _ in range(STEPS):
        c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        left = cost(c) < cost(d)
        a, b = np.where(left, a, c), np.where(left, d, b)
    return (a + b) / 2


def servers(source: Mapping[str, Any]) -> Found:
    """The exabounds question: times and powers of every count of servers, then the interval."""
    m = systems.machine(str(source["machine"])) | {"count.rack": COUNTS}
    rows = [
        (systems.number(r["distance"]) if "distance" in r else np.inf, float(r["share"]))
        for r in source["given"]["data_reuse"]
    ]
    at = systems.measure(m, {"instructions": source["given"]["instructions"]}, rows)
    idle = systems._power(m, m["voltage"], m["frequency"], m["bandwidth.socket"])[0][1]
    dump, restart = (systems.number(source["given"][n]) for n in ("dump", "restart"))

    def lost(interval: Array) -> Array:
        return (interval / 2 + restart) / at["mtbf"]

    def energy(interval: Array) -> Array:
        return at["time"] * (at["power"] * (1 + lost(interval)) + idle * dump / interval)

    def time(interval: Array) -> Array:
        return at["time"] * (1 + dump / interval + lost(interval))

    deadline = 12 * DAY
    # where the interval of least energy is too late, the nearest one that is not: towards that of least time
    ends = least(energy, 60.0, 10 * DAY, len(COUNTS)), least(time, 60.0, 10 * DAY, len(COUNTS))
    good, late = ends[1], ends[0]
    for _ in range(STEPS):
        middle = (good + late) / 2
        meets = time(middle) <= deadline
        good, late = np.where(meets, middle, good), np.where(meets, late, middle)
    chosen = np.where(time(ends[0]) <= deadline, ends[0], good)
    found = energy(chosen)[time(chosen) <= deadline * (1 + 1e-9)]
    return Found(
        "expected_energy", float(found.min()), "every count of servers, the interval by golden section"
    )


def saved_station(source: Mapping[str, Any]) -> Found:
    """The question of the station: joules of each second of work, by the renewal argument."""
    given, level, card = source["given"], source["given"]["levels"][0], source["given"]["cards"][0]
    (w,) = station._ways(
        [str(source["machine"]["socket"])], [level], [card], {"card_power_limit": np.inf}, double=False
    )
    n, cards = given["sockets.socket.low.large"], given["cards.socket.low.large"]
    power, idle = (
        (n * each + cards * w.card_power) / given["supply_efficiency"] for each in (w.peak, w.idle)
    )
    fit = 100.0 * n + 200.0 * cards + 1000.0 * given["power_steps"]
    mttf = 1e9 / fit * 3600.0
    dump, restart = (systems.number(given[k]) for k in ("dump", "restart"))

    def lasting(start: Array, end: Array) -> Array:
        """Expected time of an attempt between two of its moments: the chance to be there, summed."""
        middle, half = (start + end) / 2, (end - start) / 2
        return half * (WEIGHTS * np.exp(-(middle[..., None] + half[..., None] * NODES) / mttf)).sum(axis=-1)

    def energy(interval: Array) -> Array:
        nothing, whole = np.zeros_like(interval), interval + dump
        attempts = 1.0 / np.exp(-whole / mttf)
        reading = lasting(nothing, nothing + restart) / np.exp(-restart / mttf)
        saving = attempts * lasting(interval, whole) + (attempts - 1.0) * reading
        return (power * attempts * lasting(nothing, interval) + idle * saving) / interval

    best = least(energy, 60.0, 236000.0, 1)
    return Found(
        "per_operation",
        float(energy(best)[0] / (n * w.rate)),
        "the renewal argument, the interval by golden section",
    )


NAMES: Mapping[str, Callable[[Mapping[str, Any]], Found]] = {
    "platforms_checkpoint_energy": servers,
    "station_checkpoint_interval": saved_station,
}
