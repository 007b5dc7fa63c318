"""Prices of robustness, typed again: every platform in every world, along a level of a measure or along a spread.

Worlds are those of one scrambled Sobol sequence of seed 0 at every point; equations are those of Choi et al. 2014
(1)-(7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import oracle_reading as reading
from oracle_definitions import Found
from scipy.stats import lognorm, loguniform, qmc

NAMES = {
    "roofline_energy_by_tail_sweep",
    "roofline_energy_by_quantile_sweep",
    "roofline_energy_by_spread_sweep",
}
COUNT = 1024


def answer(name: str, source: Mapping[str, Any], index: tuple[int, ...]) -> Found:
    """The least measure of the energy of 1e12 flops over all platforms."""
    u = qmc.Sobol(1, scramble=True, rng=np.random.default_rng(0)).random(COUNT)[:, 0]
    (axis,) = source["sweep"].values()
    value, level = float(axis["values"][index[0]]), 0.9
    if name == "roofline_energy_by_spread_sweep":
        intensity = lognorm(np.log(value), scale=4.0).ppf(u)
    else:
        intensity, level = loguniform(0.25, 64).ppf(u), value
    least = np.inf
    for machine in source["decide"]["machine"]["values"]:
        energy = np.sort(_energy(reading.catalogue(machine), intensity))
        if "quantile" in source["objective"]:
            found = energy[int(np.ceil(level * COUNT)) - 1]
        else:
            worst, tail = energy[::-1], (1 - level) * COUNT
            whole = int(tail + 1e-9)
            rest = (tail - whole) * worst[whole] if whole < COUNT else 0.0
            found = (worst[:whole].sum() + rest) / tail
        least = min(least, float(found))
    return Found("energy", least, "every platform in every world")


def _energy(m: Mapping[str, float], intensity: Any) -> Any:
    flops, moved = 1e12, 1e12 / intensity
    dynamic = m["energy_per_flop"] * flops + m["energy_per_byte"] * moved
    longest = np.maximum(m["time_per_flop"] * flops, m["time_per_byte"] * moved)
    return dynamic + m["constant_power"] * np.maximum(longest, dynamic / m["usable_power"])
