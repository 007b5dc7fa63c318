"""Settings of voltage and frequency for phases (Choi and Vuduc 2016), by trying every combination.

Energies and constant powers are those printed in Table I; times are counts over rates, with the operations per cycle
that the Jetson's file assumes typed again here.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import oracle_listed as listed
from oracle_listed import ROUNDING, Found
from oracle_scans import Array

# per phase: count -> (operations per cycle, whose clock, energy of one)
OPERATIONS = {
    "flops": (384.0, "core_Hz", "eps_SP_J"),
    "flops_double": (16.0, "core_Hz", "eps_DP_J"),
    "integer_operations": (192.0, "core_Hz", "eps_int_J"),
    "bytes": (16.0, "mem_Hz", "eps_mem_J_per_byte"),
}


def answer(source: Mapping[str, Any]) -> Found:
    """The optimum of a question in the scenario language (no sweep, one objective)."""
    name, maximize = listed.goal(source)
    value = best(source)
    how = "every setting" if "decide" in source else "every combination of settings"
    if maximize or name not in {"time", "energy"}:
        raise NotImplementedError(f"this oracle minimises time or energy, not {name}")
    if value is not None:
        return Found(name, value, how)
    return Found(name, None, how, listed.minimal_conflicts(source, lambda q: best(q) is not None))


def best(source: Mapping[str, Any]) -> float | None:
    """The least of the objective; None where no combination meets the limits."""
    metrics = designs(source)
    good = metrics["time"] <= metrics["period"] * (1 + ROUNDING)
    for name, most in listed.limits(source).items():
        good &= metrics[name] <= most * (1 + ROUNDING)
    return float(metrics[listed.goal(source)[0]][good].min()) if good.any() else None


def designs(source: Mapping[str, Any]) -> dict[str, Array]:
    """Time, energy and greatest power of a phase of every combination."""
    listed.check(source)
    given = dict(source["given"])
    phases = given.pop("phases")
    period = listed.number(given.pop("period", np.inf))
    switch_time, switch_energy = (listed.number(given.pop(n, 0.0)) for n in ("switch_time", "switch_energy"))
    if (
        given
        or source["machine"] != "jetson-tk1-choi2016"
        or source.get("decide", {}) not in ({}, {"setting": {}})
    ):
        raise NotImplementedError(f"this oracle knows no such question: {source}")
    rows = list(listed.table("choi2016_jetson_tk1_settings.csv", "row").values())
    costs = [[_cost(phase, row) for row in rows] for phase in phases]
    times, energies = (np.array([[c[k] for c in row] for row in costs]) for k in (0, 1))
    if "decide" in source:
        picks = [np.arange(len(rows))] * len(phases)
    else:
        picks = list(np.indices([len(rows)] * len(phases)).reshape(len(phases), -1))
    switches = sum(((a != b).astype(float) for a, b in pairwise(picks)), np.zeros(1))
    time = [times[k][p] for k, p in enumerate(picks)]
    energy = [energies[k][p] for k, p in enumerate(picks)]
    whole, idle = sum(time) + switches * switch_time, 0.0
    if np.isfinite(period):
        idle = min(float(row["const_power_W"]) for row in rows) * (period - whole)
    return {
        "time": whole,
        "energy": sum(energy) + switches * switch_energy + idle,
        "period": np.full_like(whole, period),
        "phase_power": np.max([e / t for e, t in zip(energy, time, strict=True)], axis=0),
    }


def _cost(phase: Mapping[str, Any], row: Mapping[str, str]) -> tuple[float, float]:
    """Time and energy of one phase at one setting, (9)."""
    counts = {n: listed.number(v) for n, v in phase.items() if n != "name"}
    time = max(counts[n] / (OPERATIONS[n][0] * float(row[OPERATIONS[n][1]])) for n in counts)
    dynamic = sum(counts[n] * float(row[OPERATIONS[n][2]]) for n in counts)
    return time, dynamic + float(row["const_power_W"]) * time


def front(source: Mapping[str, Any]) -> Array:
    """Every (energy, time) that nothing betters, by energy."""
    metrics = designs(source)
    return undominated(metrics["energy"], metrics["time"])


def undominated(energy: Array, time: Array) -> Array:
    """The pairs that no other pair is below, by energy; those that differ by rounding count once."""
    order = np.lexsort((time, energy))
    kept: list[tuple[float, float]] = []
    for e, t in zip(energy[order], time[order], strict=True):
        if not kept or t < kept[-1][1] * (1 - ROUNDING):
            kept.append((float(e), float(t)))
    return np.array(kept)
