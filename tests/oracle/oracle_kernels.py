"""Questions of several kernels on one machine, each typed again from the papers' equations.

Nothing is read from [[kernels]]: counts, repeats and limits are written here by hand. What is decided is searched on a
dense grid and then by SLSQP, or enumerated; a code on a roofline is a sum, or a maximum, of closed forms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import oracle_reading as reading
import oracle_roofline
from oracle_definitions import (
    BALANCED,
    JAKETOWN,
    KWH,
    LOG,
    Array,
    Found,
    Typed,
    clocked,
    matmul,
    nbody,
    searched,
)
from oracle_scans import refine
from scipy.optimize import minimize, minimize_scalar


def fft(m: Mapping[str, float], n: float, p: Array) -> tuple[Array, Array]:
    """Time and energy of a transform with the tree exchange; p <= n is left to the box."""
    F, W, S, M = n * math.log2(n) / p, n * np.log2(p) / p, np.log2(p), n / p
    T = m["time_per_flop"] * F + m["time_per_word"] * W + m["time_per_message"] * S
    dynamic = m["energy_per_flop"] * F + m["energy_per_word"] * W + m["energy_per_message"] * S
    return T, p * (dynamic + (m["memory_power_per_word"] * M + m["leakage_power"]) * T)


def deadline() -> float:
    """Least energy of 50 steps of n-body and 4 transforms in 2 s: p scanned, the best memory at each in closed form.

    With p fixed E = a + b/M + c M, where b = n² (βe + αe/m + εe (βt + αt/m)) and c = δe γt f n²; the time asks for so
    much memory at least.
    """
    m, n, f = BALANCED, 1e4, 10.0
    word = m["time_per_word"] + m["time_per_message"] / m["max_message"]
    spent = m["energy_per_word"] + m["energy_per_message"] / m["max_message"] + m["leakage_power"] * word
    best = math.sqrt(spent / (m["memory_power_per_word"] * m["time_per_flop"] * f))

    def scan(y: Array) -> tuple[Array, Array]:
        p = np.exp(y)
        T2, E2 = fft(m, 1e7, p)
        left = (2.0 - 4 * T2) / 50 - m["time_per_flop"] * f * n**2 / p
        least = np.where(left > 0, word * n**2 / (p * np.where(left > 0, left, 1.0)), np.inf)
        M = np.minimum(np.maximum(np.maximum(best, least), n / p), n / np.sqrt(p))
        T1, E1, own = nbody(m, n, f, p, M)
        return 50 * E1 + 4 * E2, np.maximum(np.maximum(*own), np.log((50 * T1 + 4 * T2) / 2.0))

    y = refine(scan, 0.0, LOG(65536), maximize=False)
    assert y is not None, "there is a design"
    return float(scan(np.array(y))[0])


def halvings(y: Array) -> tuple[Array, list[Array]]:
    names = ("energy_per_flop", "energy_per_word", "memory_power_per_word")
    m = JAKETOWN | {n: JAKETOWN[n] * np.exp(-x) for n, x in zip(names, y, strict=True)}
    p = 4096.0
    runs = (
        (nbody(m, 1e6, 20.0, p, 1e4)[1], 20e12),
        (matmul(m, 35000.0, p, 3e5)[1], 35000.0**3),
        (fft(m, 1e9, p)[1], 1e9 * math.log2(1e9)),
    )
    return sum(y) / LOG(2), [np.log(75e9 * E / work) for E, work in runs]


def portfolio(y: Array) -> tuple[Array, list[Array]]:
    clock, p, M = np.exp(y)
    m = clocked(clock, 0.6 + 0.17 * clock / 1e9)
    T1, E1, own1 = nbody(m, 1e6, 20.0, p, M)
    T2, E2, own2 = matmul(m, 35000.0, p, 3e5)
    price = 900 * p + 0.2 / KWH * (1000 * E1 + 10 * E2) * 1e6
    return price, [*own1, *own2, np.log((1000 * T1 + 10 * T2) / 100.0), np.log(T1 / 0.08)]


PREFIX = "kernels_"
TYPED = {
    "machine_for_75_gflops_per_watt": Typed(
        "halvings", ((0.0, 30 * LOG(2)),) * 3, halvings, points=81, starts=3
    ),
    "clock_for_a_portfolio": Typed(
        "price",
        ((LOG(0.8e9), LOG(3.2e9)), (0.0, LOG(65536)), (0.0, LOG(1e6))),
        portfolio,
        points=61,
        starts=2,
    ),
}
OTHERS = (
    "nbody_and_fft_deadline",
    "conjugate_gradients_on_twelve_platforms",
    "fmm_overlapped_sweep",
    "overlap_within_memory",
    "idle_processors_leak_sweep",
)
NAMES = tuple(PREFIX + n for n in (*TYPED, *OTHERS))


def answer(name: str, source: Mapping[str, Any], index: tuple[int, ...] = ()) -> Found:
    """The optimum of one question of the library; ``index``: at which point of its axes."""
    plain = name.removeprefix(PREFIX)
    if plain in TYPED:
        typed = TYPED[plain]
        return Found(
            typed.goal, searched(typed), "dense grid in logarithms, then SLSQP; kernels typed by hand"
        )
    if plain == "nbody_and_fft_deadline":
        return Found("energy", deadline(), "p scanned densely and refined, memory in closed form")
    if plain == "conjugate_gradients_on_twelve_platforms":
        return Found("energy", _gradients(source), "every machine, each kernel by the paper's equations")
    if plain == "overlap_within_memory":
        return Found("energy", _within_memory(), "dense grid, then SLSQP with the longest time as a variable")
    if plain == "fmm_overlapped_sweep":
        axes = zip(source["sweep"].values(), index, strict=True)
        machine, times = (reading.axis(entry)[i] for entry, i in axes)
        return Found("energy", _fields(reading.catalogue(machine), times), "the equations, typed by hand")
    leakage = reading.number(reading.axis(source["sweep"]["leakage"])[index[0]])
    return Found("energy", idling(leakage), "every pair of processors, memories refined")


def _gradients(source: Mapping[str, Any]) -> float:
    """One product of 5e7 nonzeros in an iteration, two dot products and three updates of 2e6 unknowns."""
    code = ((1000, 1e8, 4e8), (2000, 4e6, 16e6), (3000, 4e6, 24e6))
    found = []
    for name in source["decide"]["machine"]["values"]:
        m = reading.catalogue(name)
        runs = [(r, oracle_roofline.metrics({"flops": W, "bytes": Q}, m)) for r, W, Q in code]
        if sum(r * float(x["time"]) for r, x in runs) <= 30.0:
            found.append(sum(r * float(x["energy"]) for r, x in runs))
    return min(found)


def _fields(m: Mapping[str, float], times: float) -> float:
    """Energy of both fields at the same time: constant power once, and no more than the usable power above it."""
    flops = (times * 262144 * 27 * 128 * 20, 6.7e8 * 8)
    data = (times * 262144 * (27 * 32 + 8), 6.7e8 * 32)
    dynamic = sum(flops) * m["energy_per_flop_double"] + sum(data) * m["energy_per_byte"]
    longest = max(*(W * m["time_per_flop_double"] for W in flops), *(Q * m["time_per_byte"] for Q in data))
    return dynamic + m["constant_power"] * max(longest, dynamic / m["usable_power"])


def _dynamic(m: Mapping[str, float], F: Array, W: Array) -> Array:
    return m["energy_per_flop"] * F + (m["energy_per_word"] + m["energy_per_message"] / m["max_message"]) * W


def _within_memory() -> float:
    """Least energy of two codes that overlap on the same processors, in 20 000 words each."""
    m = BALANCED

    def parts(p: Array, M1: Array, M2: Array) -> tuple[Array, Array, Array, Array, list[Array]]:
        T1, _, own1 = nbody(m, 2e5, 10.0, p, M1)
        T2, _, own2 = matmul(m, 4000.0, p, M2)
        spent = p * (
            _dynamic(m, 10 * 4e10 / p, 4e10 / (p * M1)) + _dynamic(m, 64e9 / p, 64e9 / (p * np.sqrt(M2)))
        )
        drawn = p * (m["leakage_power"] + m["memory_power_per_word"] * (M1 + M2))
        return T1, T2, spent, drawn, [*own1, *own2, np.log((M1 + M2) / 2e4)]

    def energy(y: Array) -> float:
        _, _, spent, drawn, _ = parts(*np.exp(y[:3]))
        return math.log(float(spent + drawn * np.exp(y[3])))

    def room(y: Array) -> Array:
        T1, T2, _, _, own = parts(*np.exp(y[:3]))
        return -np.array([*own, np.log(T1) - y[3], np.log(T2) - y[3], y[3]])

    box = [(0.0, LOG(65536)), (0.0, LOG(2e4)), (0.0, LOG(2e4))]
    every = np.stack(
        [v.ravel() for v in np.meshgrid(*(np.linspace(*ends, 121) for ends in box), indexing="ij")]
    )
    T1, T2, spent, drawn, own = parts(*np.exp(every))
    T = np.maximum(T1, T2)
    value = np.where(np.max([*own, np.log(T)], axis=0) <= 0, spent + drawn * T, np.inf)
    best = float(value.min())
    for i in np.argsort(value)[:12]:
        start = np.array([*every[:, i], math.log(T[i])])
        options = {"ftol": 1e-15, "maxiter": 400}
        held = {"type": "ineq", "fun": room}
        found = minimize(
            energy, start, method="SLSQP", bounds=[*box, (-30, 0)], constraints=held, options=options
        )
        if room(found.x).min() >= -1e-10:
            best = min(best, math.exp(energy(found.x)))
    return best


def idling(leakage: float) -> float:
    """Least energy of a step of n-body and 20 products in a second, while the larger number of processors leaks."""
    silent = BALANCED | {"leakage_power": 0.0}
    powers = [2.0**k for k in range(11)]
    kernels = (
        (1.0, lambda p, M: nbody(silent, 1e5, 10.0, p, M), lambda p: (1e5 / p, 1e5 / p**0.5)),
        (20.0, lambda p, M: matmul(silent, 1000.0, p, M), lambda p: (1e6 / p, 1e6 / p ** (2 / 3))),
    )
    pairs = []
    for p1, p2 in itertools.product(powers, powers):
        drawn = leakage * max(p1, p2)
        alone = [
            _least(run, p, ends(p), r, drawn, 0.0)
            for (r, run, ends), p in zip(kernels, (p1, p2), strict=True)
        ]
        pairs.append((sum(v for v, _ in alone), p1, p2, sum(t for _, t in alone)))
    best = math.inf
    for free, p1, p2, time in sorted(pairs):
        if free >= best:
            break
        if time <= 1.0:
            best = min(best, free)
            continue
        # the limit binds: each second costs so much more, until the time is met
        least = [
            float(r * run(p, ends(p)[1])[0]) for (r, run, ends), p in zip(kernels, (p1, p2), strict=True)
        ]
        if sum(least) > 1.0:
            continue
        drawn, low, high = leakage * max(p1, p2), 0.0, 1e9
        for _ in range(200):
            price = (low + high) / 2 if low or high < 1e9 else 1.0
            both = [
                _least(run, p, ends(p), r, drawn, price)
                for (r, run, ends), p in zip(kernels, (p1, p2), strict=True)
            ]
            low, high = (price, high) if sum(t for _, t in both) > 1.0 else (low, price)
        best = min(best, sum(v for v, _ in both))
    return best


def _least(
    run: Any, p: float, ends: tuple[float, float], repeat: float, drawn: float, price: float
) -> tuple[float, float]:
    """Energy and time of the runs of one kernel with the memory that is best where a second costs so much more."""

    def at(y: float) -> tuple[float, float]:
        T, E, _ = run(np.array(p), np.array(math.exp(y)))
        return repeat * float(E + drawn * T), repeat * float(T)

    low, high = math.log(ends[0]), math.log(ends[1])
    cost = lambda y: at(y)[0] + price * at(y)[1]  # noqa: E731
    inner = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-10}).x
    return at(min((low, float(inner), high), key=cost))
