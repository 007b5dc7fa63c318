"""Questions with probabilities and quantiles, typed again: worlds by NumPy and SciPy, every count of processors tried.

How many samples may fail is the sum of Campi and Garatti (2011) in exact fractions, with three decided quantities in
the place of a whole number and a real one. The equations are those of ``decide_now_instances`` and, for a roofline,
Choi et al. 2014 (1)-(7).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import count
from math import comb
from typing import Any

import decide_now_instances as instances
import numpy as np
import oracle_reading as reading
from oracle_definitions import Found
from scipy.stats import loguniform, qmc, uniform

NAMES = {
    "nbody_deadline_in_95_of_100_worlds",
    "nbody_fewest_processors_within_time_and_energy",
    "roofline_processor_for_95_percent_of_kernels",
}
BODIES, FLOPS = 1e6, 20.0
STEPS = 45


def answer(name: str, _source: Mapping[str, Any], _index: tuple[int, ...]) -> Found:
    """The best measure."""
    if name == "nbody_deadline_in_95_of_100_worlds":
        return _deadline()
    return _together() if name.startswith("nbody") else _kernels()


def may_fail(samples: int, fails: Fraction, decided: int) -> int:
    """The most samples that may fail with 99 % confidence, every term of the sum an exact fraction."""
    terms: list[Fraction] = [Fraction(0)]
    for i in range(samples):
        terms.append(terms[-1] + comb(samples, i) * fails**i * (1 - fails) ** (samples - i))
        k = i - decided + 1
        if k >= 0 and comb(k + decided - 1, k) * terms[-1] > Fraction(1, 100):
            return k - 1
    raise AssertionError("some number is too many")


def worlds(samples: int) -> instances.Instance:
    """The three uncertain numbers of both n-body questions, independent, seed 0."""
    u = np.random.default_rng(0).random((samples, 3))
    drawn = {
        "time_per_flop": uniform(2.52e-12, 1.59e-12).ppf(u[:, 0]),
        "energy_per_flop": uniform(185e-12, 193e-12).ppf(u[:, 1]),
        "time_per_word": loguniform(156e-12, 1.25e-9).ppf(u[:, 2]),
    }
    machine = reading.catalogue("jaketown")
    return instances.Instance(machine, BODIES, FLOPS, 2048.0, drawn, "energy", "mean", 0.0, {})


def _deadline() -> Found:
    """For each count: the least memory that keeps the deadline often enough, then the best memory from there on."""
    q, allowed = worlds(1024), may_fail(1024, Fraction(1, 20), 3)
    p = np.arange(1.0, 2049.0)
    most = BODIES / np.sqrt(p)
    # time falls with memory
    p = p[_fails(q, p, most, {"time": 0.1}) <= allowed]
    low, high = BODIES / p, BODIES / np.sqrt(p)
    for _ in range(STEPS):
        middle = np.sqrt(low * high)
        holds = _fails(q, p, middle, {"time": 0.1}) <= allowed
        low, high = np.where(holds, low, middle), np.where(holds, middle, high)
    a, b = np.log(high), np.log(BODIES / np.sqrt(p))
    # mean energy is a posynomial in memory, so convex in its logarithm
    for _ in range(STEPS):
        c, d = a + (b - a) / 3, b - (b - a) / 3
        left = _mean(q, p, np.exp(c)) <= _mean(q, p, np.exp(d))
        a, b = np.where(left, a, c), np.where(left, d, b)
    ends = [_mean(q, p, np.exp(y)) for y in (a, b, np.log(high), np.log(BODIES / np.sqrt(p)))]
    return Found("energy", float(np.min(ends)), "every count of processors, memory by thirds")


def _together() -> Found:
    """The first count of processors at which some memory keeps both limits often enough, on a grid.

    Below 800 processors not even the deadline alone is kept, which a coarser grid shows.
    """
    q, allowed = worlds(512), may_fail(512, Fraction(1, 10), 3)
    for p in count(1):
        if _fails(q, np.array([float(p)]), np.array([BODIES / p**0.5]), {"time": 0.1})[0] > allowed:
            continue
        memory = np.geomspace(BODIES / p, BODIES / p**0.5, 20_000)
        few = memory[:: 100 if p < 800 else 1]
        if (_fails(q, np.full(few.size, float(p)), few, {"time": 0.1, "energy": 7500.0}) <= allowed).any():
            return Found(
                "processors", float(p), "counts of processors in order, each with a dense grid of memories"
            )
    raise AssertionError("never")


def _fails(q: instances.Instance, p: np.ndarray, memory: np.ndarray, limits: dict[str, float]) -> np.ndarray:
    """In how many worlds each design breaks one of the limits."""
    found = []
    for some in np.array_split(np.arange(p.size), max(p.size // 1000, 1)):
        at = instances.metrics(q, p[some], memory[some])
        found.append(np.any([at[n] > bound * (1 + 1e-9) for n, bound in limits.items()], axis=0).sum(1))
    return np.concatenate(found)


def _mean(q: instances.Instance, p: np.ndarray, memory: np.ndarray) -> np.ndarray:
    return instances.metrics(q, p, memory)["energy"].mean(1)


def _kernels() -> Found:
    """Energy of 1e12 flops by (3) with the time of (7): number 973 of 1024 in order."""
    u = qmc.Sobol(1, scramble=True, rng=np.random.default_rng(0)).random(1024)[:, 0]
    intensity = loguniform(0.25, 64).ppf(u)
    levels = []
    for name in ("gtx-titan-choi2014", "gtx680-choi2014", "xeon-phi-choi2014", "arndale-gpu-choi2014"):
        m = reading.catalogue(name)
        flops, moved = 1e12, 1e12 / intensity
        dynamic = m["energy_per_flop"] * flops + m["energy_per_byte"] * moved
        longest = np.maximum(m["time_per_flop"] * flops, m["time_per_byte"] * moved)
        energy = np.sort(dynamic + m["constant_power"] * np.maximum(longest, dynamic / m["usable_power"]))
        levels.append(energy[972])
    return Found("energy", float(min(levels)), "every processor in every world, number 973 in order")
