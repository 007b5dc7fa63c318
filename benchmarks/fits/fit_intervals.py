"""How often the 95 % intervals of `dse fit` hold the true value, on synthetic runs of known truth.

    python -m benchmarks.fits.fit_intervals [sets] [word]

``sets``: data sets of each kind (default 20); ``word``: kinds whose name has it (default: all). Errors are
log-normal; every line says the kind of runs, how many parameters were judged in all sets together, the share
held, and the parameter held least often.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import dse

SETS = 20
Columns = dict[str, Any]
Kind = tuple[str, str, Mapping[str, float], Callable[[int], Columns]]
LAUNCHED = {
    "time_per_flop": 3e-15,
    "time_per_byte": 1.5e-13,
    "energy_per_flop": 1.5e-12,
    "energy_per_byte": 9e-11,
    "constant_power": 250.0,
    "launch_time": 6e-3,
}
CLOCKS = {"fixed_time": 0.4, "cycles": 1.1e9, "fixed_power": 60.0, "clock_power": 40.0, "clock_exponent": 2.4}
NETWORK = {"time_per_message": 3e-6, "bandwidth": 50e9}


def roofline(p: Mapping[str, float], flops: Any, moved: Any, noise: float, seed: int) -> Columns:
    """Return runs by (1) and (3) of Choi et al. 2014 with a launch time."""
    used = flops * p["energy_per_flop"] + moved * p["energy_per_byte"]
    busy = np.maximum(flops * p["time_per_flop"], moved * p["time_per_byte"])
    time = p.get("launch_time", 0.0) + np.maximum(busy, used / p.get("usable_power", np.inf))
    wide = np.exp(noise * np.random.default_rng(seed).standard_normal((2, time.size)))
    return {
        "flops": flops,
        "bytes": moved,
        "time": time * wide[0],
        "energy": (used + p["constant_power"] * time) * wide[1],
    }


def platform(p: Mapping[str, float], seed: int, gross: int = 0) -> Columns:
    """Return 75 runs over 1/8 to 512 flop/byte at 3 %, with so many gross errors of a factor 3 to 10."""
    rng = np.random.default_rng([seed, 1])
    intensity = np.repeat(2.0 ** np.linspace(-3, 9, 25), 3)
    moved = 10 ** rng.uniform(9, 10, intensity.size)
    runs = roofline(p, intensity * moved, moved, 0.03, seed)
    for run in rng.choice(intensity.size, gross, replace=False):
        runs[("time", "energy")[rng.integers(2)]][run] *= rng.uniform(3, 10) ** rng.choice([-1, 1])
    return runs


def launched(seed: int) -> Columns:
    """Return 37 batches over 8 to 300 flop/byte at 15 %, of one to twenty launch times."""
    batch = np.concatenate([2.0 ** np.arange(9), 2.0 ** np.linspace(1, 8, 28)])
    weights = np.random.default_rng([seed, 1]).uniform(15e9, 60e9, batch.size)
    return roofline(LAUNCHED, 8 * weights * batch, weights * (1 + batch / 70), 0.15, seed)


def clocks(seed: int) -> Columns:
    """Return 48 runs at 16 clocks at 2 %."""
    f = np.repeat(np.arange(0.5, 2.01, 0.1), 3)
    a, b, p0, c, k = CLOCKS.values()
    wide = np.exp(0.02 * np.random.default_rng(seed).standard_normal((2, f.size)))
    return {
        "core_frequency": f * 1e9,
        "time": (a + b / f / 1e9) * wide[0],
        "power": (p0 + c * f**k) * wide[1],
    }


def messages(seed: int) -> Columns:
    """Return 66 messages of 16 bytes to 32 MiB at 3 %."""
    size = np.repeat(2.0 ** np.arange(4, 26), 3)
    exact = NETWORK["time_per_message"] + size / NETWORK["bandwidth"]
    return {
        "size": size,
        "time": exact * np.exp(0.03 * np.random.default_rng(seed).standard_normal(size.size)),
    }


def kinds() -> Iterator[Kind]:
    """Go through the kinds of runs: what to call them, the model, the truth, and how they are made."""
    names = [n for n in dse.machines.names() if n.endswith("choi2014")]
    judged = (
        "time_per_flop",
        "time_per_byte",
        "energy_per_flop",
        "energy_per_byte",
        "constant_power",
        "usable_power",
    )
    for gross in (0, 4):
        for name in names:
            p = dse.machines.get(name).parameters
            true = {k: p[k] for k in judged}
            label = f"{'gross errors' if gross else 'platform'}, {name}"
            yield label, "roofline", true, lambda seed, p=p, gross=gross: platform(p, seed, gross)
    yield "launch time", "roofline", LAUNCHED, launched
    yield "clocks", "dvfs", CLOCKS, clocks
    yield "network", "network", NETWORK, messages


def main() -> None:
    """Print the table."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else SETS
    total: dict[str, list[float]] = {}
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for label, model, true, make in (k for k in kinds() if wanted in k[0]):
        held = dict.fromkeys(true, 0)
        for seed in range(sets):
            found = dse.fit(make(seed), model)
            for name, value in true.items():
                held[name] += found[name].holds(value)
        least = min(held, key=held.__getitem__)
        share = sum(held.values()) / (sets * len(true))
        print(f"{label:40} {sets * len(true):5} {share:6.1%}  {least} {held[least]}/{sets}", flush=True)
        total.setdefault(label.split(",")[0], []).append(share)
    for family, shares in total.items():
        print(f"{family}: {np.mean(shares):.1%}")


if __name__ == "__main__":
    main()
