"""Questions over the clock of a measured kernel: every one of many clocks, then finer ones around the best.

Power, time and energy are typed again from the numbers in the model file: power is the larger of a line and a power of
the clock, time a constant and cycles.
"""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
from oracle_gemm import MEASURED, Array, Found

HOW = "a dense scan of clocks and finer ones around the best, by the model file"
UNITS = {"ms": 1e-3, "s": 1.0}


def answer(question: dict[str, Any]) -> Found:
    """Least energy over the clocks measured, within a deadline if there is one."""
    file = tomllib.loads((MEASURED / f"{question['model']}.toml").read_text(encoding="utf-8"))
    column = file["columns"]["core_frequency"]
    low, high = column["least"], column["greatest"]
    deadline = _seconds(question.get("limits", {}).get("time", {}).get("max", "1e9 s"))
    for _ in range(4):
        clocks = np.linspace(low, high, 200_001)
        time, power = _run(file, clocks)
        energy = np.where(time <= deadline * (1 + 1e-12), time * power, np.inf)
        best = int(energy.argmin())
        if not np.isfinite(energy[best]):
            # faster clocks are feasible, but were not measured
            assert file["derived"][0]["terms"][0]["coefficient"] < deadline
            return Found(None, "energy", HOW, (("measured_range.core_frequency.max", "time"),))
        low, high = clocks[max(best - 1, 0)], clocks[min(best + 1, clocks.size - 1)]
    return Found(float(energy[best]), "energy", HOW)


def _run(file: dict[str, Any], clock: Array) -> tuple[Array, Array]:
    """Return time and power: a + b/f, and the larger of p + q f and r f^e."""
    (base, slope), (steep,) = ([t for t in file["terms"] if t["group"] == g] for g in (1, 2))
    assert (base["exponents"], slope["exponents"]) == ({}, {"core_frequency": 1.0})
    line = base["coefficient"] + slope["coefficient"] * clock
    power = np.maximum(line, steep["coefficient"] * clock ** steep["exponents"]["core_frequency"])
    fixed, cycles = next(d for d in file["derived"] if d["name"] == "time")["terms"]
    assert (fixed["exponents"], cycles["exponents"]) == ({}, {"core_frequency": -1.0})
    return fixed["coefficient"] + cycles["coefficient"] / clock, power


def _seconds(value: Any) -> float:
    if isinstance(value, str):
        number, unit = value.split()
        return float(number) * UNITS[unit]
    return float(value)
