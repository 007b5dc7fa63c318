"""Questions whose numbers are uncertain, typed again: worlds drawn by SciPy, designs on a grid refined around the best.

Sampled numbers are those of a scrambled Sobol sequence of seed 0 put through the inverse distribution functions; the
equations are those of ``decide_now_instances`` (n-body) and Choi et al. 2014 (1)-(7) for a roofline. At the worst of
a box every cost stands at its greatest value, since each of them only adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import decide_now_instances as instances
import numpy as np
import oracle_reading as reading
from oracle_definitions import Found
from scipy.stats import loguniform, qmc, uniform

NAMES = {
    "nbody_mean_energy_over_table_ii",
    "nbody_mean_power_between_readings",
    "nbody_worst_energy_within_data_sheets",
    "roofline_one_processor_for_any_kernel",
}
# seconds and joules for each flop, Table II
TABLE_II = (
    (2.52e-12, 3.78e-10), (3.26e-12, 2.51e-10), (4.11e-12, 1.85e-10), (5.21e-12, 6.77e-10), (6.91e-12, 8.99e-10),
    (3.36e-11, 3.36e-10), (3.36e-11, 2.18e-10), (7.44e-13, 1.86e-10), (4.02e-13, 1.47e-10),
)  # fmt: skip
GRID = "worlds of a Sobol sequence, processors and memory on a grid refined around the best"


def answer(name: str, _source: Mapping[str, Any], _index: tuple[int, ...]) -> Found:
    """The least measure."""
    if name == "roofline_one_processor_for_any_kernel":
        return _roofline()
    q = {
        "nbody_mean_energy_over_table_ii": _over_table_ii,
        "nbody_mean_power_between_readings": _between_readings,
        "nbody_worst_energy_within_data_sheets": _within_data_sheets,
    }[name]()
    found = instances.brute_force(q)
    assert found is not None, "some design holds"
    return Found(q.goal, found[0], GRID)


def _sobol(columns: int, count: int) -> np.ndarray:
    return qmc.Sobol(columns, scramble=True, rng=np.random.default_rng(0)).random(count)


def _over_table_ii() -> instances.Instance:
    rows = np.array(TABLE_II)[(_sobol(1, 900)[:, 0] * len(TABLE_II)).astype(int)]
    kinds, often = np.unique(rows, axis=0, return_counts=True)
    # 900 worlds are 9 machines, each as often as it was drawn: the limits need each once, the mean its share
    worlds = {
        "time_per_flop": np.repeat(kinds[:, 0], often),
        "energy_per_flop": np.repeat(kinds[:, 1], often),
    }
    machine = reading.catalogue("jaketown")
    return instances.Instance(machine, 1e6, 20.0, 65536.0, worlds, "energy", "mean", 0.0, {"time": 1.0})


def _between_readings() -> instances.Instance:
    u = _sobol(3, 1024)
    worlds = {
        "energy_per_word": uniform(335.938e-12, 378.024e-12 - 335.938e-12).ppf(u[:, 0]),
        "time_per_word": loguniform(156e-12, 1.56e-9).ppf(u[:, 1]),
        "leakage_power": uniform(0.5, 4.5).ppf(u[:, 2]),
    }
    machine = reading.catalogue("jaketown")
    return instances.Instance(machine, 1e6, 20.0, 4096.0, worlds, "power", "mean", 0.0, {"time": 0.1})


def _within_data_sheets() -> instances.Instance:
    most = {
        "energy_per_flop": 10.447761194e-12,
        "energy_per_word": 102e-9,
        "memory_power_per_word": 59.3718141317e-9,
        "leakage_power": 1275.0,
    }
    machine = reading.catalogue("dgx-h100")
    worlds = {n: np.array([v]) for n, v in most.items()}
    return instances.Instance(machine, 1e8, 20.0, 4096.0, worlds, "energy", "worst", 0.0, {"time": 2.0})


def _roofline() -> Found:
    """Energy of 1e12 flops by (3) with the time of (7), in the worst 102.4 of 1024 intensities."""
    intensity = loguniform(0.25, 64).ppf(_sobol(1, 1024)[:, 0])
    levels = {}
    for name in ("gtx-titan-choi2014", "gtx680-choi2014", "xeon-phi-choi2014", "arndale-gpu-choi2014"):
        m = reading.catalogue(name)
        flops, moved = 1e12, 1e12 / intensity
        dynamic = m["energy_per_flop"] * flops + m["energy_per_byte"] * moved
        longest = np.maximum(m["time_per_flop"] * flops, m["time_per_byte"] * moved)
        time = np.maximum(longest, dynamic / m["usable_power"])
        energy = np.sort(dynamic + m["constant_power"] * time)[::-1]
        levels[name] = (energy[:102].sum() + 0.4 * energy[102]) / 102.4
    return Found("energy", min(levels.values()), "every processor in every world, the worst tenth averaged")
