"""Fronts over uncertain numbers, typed again: every design of a list in every world, or a grid refined around the best.

Worlds are those of a scrambled Sobol sequence of seed 0, by SciPy; equations are Demmel et al. 2013 (1)-(2) with the
counts of a 2.5D multiplication, Choi et al. 2014 (1)-(7), and Choi and Vuduc 2016 (9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import oracle_listed as listed
import oracle_reading as reading
import oracle_settings
from oracle_definitions import Found
from scipy.stats import loguniform, norm, qmc, uniform

NAMES = {
    "dvfs_sure_energy_or_time_front",
    "matmul_mean_energy_or_sure_time_front",
    "roofline_mean_energy_or_slow_tenth_front",
}
SHARES = {
    "dvfs_sure_energy_or_time_front": (0.0, 0.01, 0.1),
    "matmul_mean_energy_or_sure_time_front": (0.0, 1e-4, 5e-4),
    "roofline_mean_energy_or_slow_tenth_front": (0.0, 0.01, 0.03),
}
ORDER, MOST = 35000.0, 65536.0
Array = np.ndarray[Any, Any]


def answer(name: str, source: Mapping[str, Any], share: float) -> Found:
    """The least first measure (share 0), or the least second one with the first within that share of its least."""
    if name.startswith("matmul"):
        return _multiplication(share)
    one, two = listed_designs(name, source)
    names = source["objective"]["minimize"]
    if share == 0.0:
        return Found(names[0], float(one.min()), "every design in every world")
    within = one <= one.min() * (1 + share)
    return Found(names[1], float(two[within].min()), "every design in every world")


def listed_designs(name: str, source: Mapping[str, Any]) -> tuple[Array, Array]:
    """Both measures of every design of a list."""
    return _settings(source) if name.startswith("dvfs") else _platforms(source)


def _sobol(columns: int, count: int) -> Array:
    return qmc.Sobol(columns, scramble=True, rng=np.random.default_rng(0)).random(count)


def _settings(source: Mapping[str, Any]) -> tuple[Array, Array]:
    """Number 973 of 1024 energies in order, and the time, at each setting."""
    rows = {
        f"{float(r['core_Hz']) / 1e6:g}-{float(r['mem_Hz']) / 1e6:g}": r
        for r in listed.table("choi2016_jetson_tk1_settings.csv", "row").values()
    }
    u = _sobol(len(source["uncertain"]) - 1, 1024)
    one, two = [], []
    for k, path in enumerate(n for n in source["uncertain"] if n != "sampling"):
        mean, deviation = (float(v.removesuffix(" W")) for v in source["uncertain"][path]["normal"])
        row = {**rows[path.split(".")[1]], "const_power_W": "0"}
        costs = [oracle_settings._cost(phase, row) for phase in source["given"]["phases"]]
        time, dynamic = (sum(c[i] for c in costs) for i in (0, 1))
        one.append(np.sort(dynamic + norm(mean, deviation).ppf(u[:, k]) * time)[972])
        two.append(time)
    return np.array(one), np.array(two)


def _platforms(source: Mapping[str, Any]) -> tuple[Array, Array]:
    """Mean energy, and mean of the longest 102.4 of 1024 times, on each platform."""
    intensity = loguniform(0.25, 64).ppf(_sobol(1, 1024)[:, 0])
    one, two = [], []
    for name in source["decide"]["machine"]["values"]:
        m = reading.catalogue(name)
        flops, moved = 1e12, 1e12 / intensity
        dynamic = m["energy_per_flop"] * flops + m["energy_per_byte"] * moved
        longest = np.maximum(m["time_per_flop"] * flops, m["time_per_byte"] * moved)
        time = np.maximum(longest, dynamic / m["usable_power"])
        one.append((dynamic + m["constant_power"] * time).mean())
        worst = np.sort(time)[::-1]
        two.append((worst[:102].sum() + 0.4 * worst[102]) / 102.4)
    return np.array(one), np.array(two)


def multiplication(p: Array, memory: Array) -> tuple[Array, Array]:
    """Mean energy, and number 487 of 512 times in order, of designs (D,)."""
    u = _sobol(3, 512)
    m = reading.catalogue("jaketown")
    per_flop = uniform(2.52e-12, 1.59e-12).ppf(u[:, 0])
    energy_flop = uniform(185e-12, 193e-12).ppf(u[:, 1])
    per_word = loguniform(156e-12, 1.25e-9).ppf(u[:, 2])
    p, memory = p[:, None], memory[:, None]
    flops, words = ORDER**3 / p, ORDER**3 / (p * np.sqrt(memory))
    messages = words / m["max_message"]
    time = per_flop * flops + per_word * words + m["time_per_message"] * messages
    own = energy_flop * flops + m["energy_per_word"] * words + m["energy_per_message"] * messages
    energy = p * (own + (m["memory_power_per_word"] * memory + m["leakage_power"]) * time)
    return energy.mean(1), np.sort(time, axis=1)[:, 486]


def _multiplication(share: float) -> Found:
    how = "processors and memory on a grid refined around the best"
    least = _refined(lambda one, _two: one)[0]
    if share == 0.0:
        return Found("mean_energy", least, how)
    most = least * (1 + share)
    return Found("sure_time", _refined(lambda one, two: np.where(one <= most, two, np.inf))[0], how)


def _refined(goal: Callable[[Array, Array], Array]) -> tuple[float, Array]:
    """Least of what is to be small over log p, and how far memory is from one copy to the most that is of use."""
    low, high = np.array([0.0, 0.0]), np.array([np.log(MOST), 1.0])
    best, at = np.inf, low
    for _ in range(30):
        axes = [np.linspace(a, b, 33) for a, b in zip(low, high, strict=True)]
        y = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
        p = np.exp(y[:, 0])
        memory = np.exp(np.log(ORDER**2 / p) + y[:, 1] * np.log(p) / 3)
        values = goal(*multiplication(p, memory))
        k = int(values.argmin())
        if values[k] < best:
            best, at = float(values[k]), y[k]
        half = (high - low) / 4
        low, high = np.maximum(at - half, [0.0, 0.0]), np.minimum(at + half, [np.log(MOST), 1.0])
    return best, at
