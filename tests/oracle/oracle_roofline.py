"""The roofline of Choi et al. 2014, typed again from the paper's (1) and (3), and searched by scans.

One number at most is decided beside the machine; it is scanned densely in its logarithm and refined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import oracle_reading as reading
from oracle_scans import Array, refine

DATA = {"memory": "byte", "L1": "byte_L1", "L2": "byte_L2", "random": "access"}
ENDS = {"throttle": (1.0, 1e9), "intensity": (1e-15, 1e15), "machine.usable_power": (1e-9, 1e9)}


@dataclass(frozen=True)
class Found:
    """The best value of the objective, and on which machine."""

    goal: str
    objective: float
    machine: str


def answer(source: Mapping[str, Any]) -> Found:
    """The optimum of a question in the scenario language (no sweep, one objective)."""
    known = {"title", "model", "machine", "given", "decide", "objective", "limits", "sweep"}
    if set(source) - known:
        raise ValueError(f"unknown keys {set(source) - known}")
    ((sense, goal),) = source["objective"].items()
    names = source.get("decide", {}).get("machine", {}).get("values") or [source["machine"]]
    values = {str(n): best(source, reading.machine(n), goal, sense == "maximize") for n in names}
    machine = (max if sense == "maximize" else min)(values, key=lambda n: values[n])
    return Found(goal, values[machine], machine)


def best(source: Mapping[str, Any], machine: Mapping[str, float], goal: str, maximize: bool) -> float:
    """The best value of the objective on one machine; the worst possible where no design meets the limits."""
    free = [n for n in source.get("decide", {}) if n != "machine"]
    if len(free) > 1:
        raise NotImplementedError(f"this oracle searches one number, not {free}")
    limits = {
        n: tuple(reading.end(e, s, None) for s in ("min", "max")) for n, e in source.get("limits", {}).items()
    }
    given = {
        k: v if v in {*DATA, "single", "double"} else reading.number(v) for k, v in source["given"].items()
    }

    def at(y: Array) -> dict[str, Array]:
        return metrics(given | ({free[0]: np.exp(y)} if free else {}), machine)

    def miss(found: Mapping[str, Array]) -> Array:
        worst = np.array(-np.inf)
        for name, (low, high) in limits.items():
            if high is not None:
                worst = np.maximum(worst, np.log(found[name] / high))
            if low is not None:
                worst = np.maximum(worst, np.log(low / found[name]))
        return worst

    if not free:
        return float(at(np.zeros(()))[goal])
    low, high = ENDS[free[0]]
    entry = source["decide"][free[0]]
    low, high = reading.end(entry, "min", None) or low, reading.end(entry, "max", None) or high

    def scan(y: Array) -> tuple[Array, Array]:
        found = at(y)
        return found[goal] * np.ones_like(y), miss(found) * np.ones_like(y)

    y = refine(scan, math.log(low), math.log(high), maximize)
    if y is None:
        return -math.inf if maximize else math.inf
    return float(at(np.array(y))[goal])


def metrics(x: Mapping[str, Any], machine: Mapping[str, float]) -> dict[str, Array]:
    """(1) and (3), with Q accesses of so many bytes where the level is random."""
    suffix = "" if x.get("precision", "single") == "single" else "_double"
    data = DATA[x.get("level", "memory")]
    W = x["flops"]
    Q = x["bytes"] if "bytes" in x else W / x["intensity"]
    N = Q / x.get("bytes_per_access", 1.0) if data == "access" else Q
    dynamic = W * machine["energy_per_flop" + suffix] + N * machine["energy_per_" + data]
    cap = x.get("machine.usable_power", machine.get("usable_power", math.inf)) / x.get("throttle", 1.0)
    T = np.maximum(
        np.maximum(W * machine["time_per_flop" + suffix], N * machine["time_per_" + data]), dynamic / cap
    )
    E = dynamic + machine["constant_power"] * T
    both = machine["energy_per_flop" + suffix] / machine["time_per_flop" + suffix]
    both = both + machine["energy_per_" + data] / machine["time_per_" + data]
    return {
        "time": T,
        "energy": E,
        "performance": W / T,
        "efficiency": W / E,
        "bandwidth": Q / T,
        "peak_power": machine["constant_power"] + np.minimum(both, cap),
        **{k: np.asarray(v) for k, v in x.items() if not isinstance(v, str)},
    }


def how(source: Mapping[str, Any]) -> str:
    """In words, the search that answered."""
    free = [n for n in source.get("decide", {}) if n != "machine"]
    machines = "every machine" if "machine" in source.get("decide", {}) else ""
    scanned = f"{free[0]} scanned densely and refined" if free else ""
    return ", ".join(p for p in (machines, scanned) if p) or "the equations"
