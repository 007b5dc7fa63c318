"""The equations of Demmel et al. 2013, typed again from the paper.

"Perfect Strong Scaling Using No Additional Energy", (1), (2) and the counts of section IV, in SI units, on
NumPy arrays; logarithms of the FFT are to base 2. Nothing here comes from the engine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Range:
    """Where a decided quantity may lie; ``values`` are the only ones allowed, ``whole`` asks for integers."""

    low: float | None = None
    high: float | None = None
    whole: bool = False
    values: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Ask:
    """One question: names as in a scenario file, machine parameters without their prefix in ``machine``.

    ``limits`` maps a name to (least, most); ``reductions`` maps a decided machine parameter to its largest
    number of halvings, ``whole_halvings`` allows whole ones only. ``valid``: the least memory is one message.
    """

    model: str
    machine: Mapping[str, float]
    given: Mapping[str, float | str]
    decide: Mapping[str, Range]
    goal: str
    maximize: bool = False
    limits: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    waive: frozenset[str] = frozenset()
    reductions: Mapping[str, float] = field(default_factory=dict)
    whole_halvings: bool = False
    valid: bool = False


@dataclass(frozen=True)
class Best:
    """The optimum: its objective and everything known there; ``fastest``: p of the fastest optimal design."""

    feasible: bool
    objective: float = math.nan
    at: Mapping[str, float] = field(default_factory=dict)
    fewest: float = math.nan
    fastest: float = math.nan


def counts(
    model: str, g: Mapping[str, float | str], p: Array, M: Array, m: float
) -> tuple[Array, Array, Array]:
    """Flops, words and messages of one processor, section IV."""
    if model == "nbody":
        n, f = float(g["bodies"]), float(g["flops_per_pair"])
        F, W = f * n**2 / p, n**2 / (p * M)
        return F, W, W / m
    if model == "matmul":
        n = float(g["order"])
        F, W = n**3 / p, n**3 / (p * np.sqrt(M))
        return F, W, W / m
    if model == "strassen":
        n, w = float(g["order"]), float(g["exponent"])
        F, W = n**w / p, n**w / (p * M ** (w / 2 - 1))
        return F, W, W / m
    if model == "lu":
        n = float(g["order"])
        F, W = n**3 / p, n**3 / (p * np.sqrt(M))
        return F, W, n**2 / W
    if model == "fft":
        n = float(g["points"])
        F = n * math.log2(n) / p
        if g["all_to_all"] == "tree":
            return F, n * np.log2(p) / p, np.log2(p)
        return F, n / p, p * np.ones_like(M)
    raise KeyError(model)


def metrics(ask: Ask, p: Array, M: Array, machine: Mapping[str, Array] | None = None) -> dict[str, Array]:
    """Everything a design costs, (1) and (2)."""
    k = {**ask.machine, **(machine or {})}
    F, W, S = counts(ask.model, ask.given, p, M, k["max_message"])
    T = k["time_per_flop"] * F + k["time_per_word"] * W + k["time_per_message"] * S
    E = p * (
        k["energy_per_flop"] * F
        + k["energy_per_word"] * W
        + k["energy_per_message"] * S
        + k["memory_power_per_word"] * M * T
        + k["leakage_power"] * T
    )
    return {
        "time": T,
        "energy": E,
        "power": E / T,
        "power_per_processor": E / T / p,
        "performance": p * F / T,
        "efficiency": p * F / E,
        "energy_delay": E * T,
        "flops": F,
        "words": W,
        "messages": S,
        "processors": p * np.ones_like(M),
        "memory": M * np.ones_like(p),
    }


def replication_ends(ask: Ask, p: Array) -> tuple[Array, Array]:
    """Least and most memory per processor: one copy of the data, and as many as shorten messages."""
    if ask.model == "nbody":
        n = float(ask.given["bodies"])
        ends = n / p, n / np.sqrt(p)
    else:
        n = float(ask.given["order"])
        w = float(ask.given["exponent"]) if ask.model == "strassen" else 3.0
        ends = n**2 / p, n**2 / p ** (2 / w)
    low, high = np.broadcast_arrays(*ends)
    if "one_copy" in ask.waive:
        low = np.full_like(low, 1.0)
    if "replication" in ask.waive:
        high = np.full_like(high, 1e18)
    return low, high


def processor_ends(ask: Ask, M: Array) -> tuple[Array, Array]:
    """The same two limits read as fewest and most processors at memory M."""
    if ask.model == "nbody":
        n = float(ask.given["bodies"])
        low, high = n / M, (n / M) ** 2
    else:
        n = float(ask.given["order"])
        w = float(ask.given["exponent"]) if ask.model == "strassen" else 3.0
        low, high = n**2 / M, (n**2 / M) ** (w / 2)
    if "one_copy" in ask.waive:
        low = np.ones_like(low)
    if "replication" in ask.waive:
        high = np.full_like(high, 1e15)
    return low, high
