"""Runs of known machines, with seeded noise: what a fit must find again."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from dse import machines
from dse.models.platforms.dvfs_energy import CIRCUIT, energy

Columns = dict[str, np.ndarray]

# constants of the Jetson TK1 as refitted from Table I of Choi et al. 2016
JETSON = {
    "capacitance_per_flop": 27.353e-12,
    "capacitance_per_flop_double": 131.084e-12,
    "capacitance_per_integer_operation": 56.544e-12,
    "capacitance_per_byte_shared": 33.360e-12,
    "capacitance_per_byte_L2": 84.990e-12,
    "capacitance_per_byte": 369.562e-12,
    "core_leakage_current": 2.868,
    "memory_leakage_current": 3.810,
    "other_power": 0.0,
}
# operations per cycle of the core (of the memory for bytes), about those of the board
RATES = {
    "flops": 384,
    "flops_double": 16,
    "integer_operations": 192,
    "bytes_shared": 768,
    "bytes_L2": 64,
    "bytes": 16,
}


@pytest.fixture
def roofline_runs() -> Callable[..., Columns]:
    """Runs over intensities 1/8 to 512, each three times, of a machine of the catalogue."""

    def make(machine: str | Mapping[str, float], seed: int, noise: float = 0.03, points: int = 25) -> Columns:
        p = machines.get(machine).parameters if isinstance(machine, str) else machine
        rng = np.random.default_rng(seed)
        intensity = np.repeat(2.0 ** np.linspace(-3, 9, points), 3)
        moved = 10 ** rng.uniform(9, 10, intensity.size)
        flops = intensity * moved
        used = flops * p["energy_per_flop"] + moved * p["energy_per_byte"]
        time = np.maximum(flops * p["time_per_flop"], moved * p["time_per_byte"])
        time = np.maximum(time, used / p.get("usable_power", np.inf))
        spent = used + p["constant_power"] * time
        noisy = 1 + noise * rng.standard_normal((2, intensity.size))
        return {"flops": flops, "bytes": moved, "time": time * noisy[0], "energy": spent * noisy[1]}

    return make


@pytest.fixture
def circuit() -> dict[str, float]:
    assert set(JETSON) == {q.name for q in CIRCUIT}
    return dict(JETSON)


@pytest.fixture
def dvfs_runs() -> Callable[..., dict[str, list]]:
    """Microbenchmarks of each kind of operation at the sixteen settings of the Jetson TK1."""

    def make(constants: Mapping[str, float], seed: int, noise: float = 0.03, per: int = 3) -> dict[str, list]:
        rng = np.random.default_rng(seed)
        runs = []
        for s in machines.get("jetson-tk1-choi2016").settings:
            for main in RATES:
                for _ in range(per):
                    time = rng.uniform(1, 3)
                    share = {k: 1.0 if k == main else rng.uniform(0, 0.3) for k in RATES}
                    clock = {k: s["memory_frequency" if k == "bytes" else "core_frequency"] for k in RATES}
                    counts = {k: share[k] * RATES[k] * clock[k] * time for k in RATES}
                    exact = energy(constants, counts, s["core_voltage"], s["memory_voltage"], time)
                    at = {k: s[k] for k in ("core_voltage", "memory_voltage", "core_frequency")}
                    at |= {"memory_frequency": s["memory_frequency"], "role": s["role"], "time": time}
                    runs.append({**counts, **at, "energy": exact * (1 + noise * rng.standard_normal())})
        return {k: [r[k] for r in runs] for k in runs[0]}

    return make
