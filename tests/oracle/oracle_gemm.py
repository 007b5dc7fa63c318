"""Brute force for questions over the fitted models that ship: every whole design, by the numbers in the model file."""

from __future__ import annotations

import itertools
import math
import tomllib
from dataclasses import dataclass
from typing import Any

import numpy as np
import oracle_reading as reading
from numpy.typing import NDArray

Array = NDArray[np.float64]
MEASURED = reading.ROOT / "dse" / "models" / "measured"
UNITS = {"us": 1e-6, "ms": 1e-3, "MB": 1e6}
HOW = "every whole design, by the model file"


@dataclass(frozen=True)
class Found:
    """The best objective (None: no design), what is sought, and how."""

    objective: float | None
    goal: str
    how: str = HOW
    conflicts: tuple[tuple[str, ...], ...] = ()


def answer(question: dict[str, Any]) -> Found:
    """Try every whole number (or power) of what is decided."""
    file = tomllib.loads((MEASURED / f"{question['model']}.toml").read_text(encoding="utf-8"))
    names = list(question["decide"])
    menus = [_values(file["columns"][n], question["decide"][n]) for n in names]
    chosen = np.array(list(itertools.product(*menus)), float).T
    at = {n: float(v) for n, v in question["given"].items()} | dict(zip(names, chosen, strict=True))
    at |= metrics(file, at)
    fits = np.ones(chosen.shape[1], bool)
    for name, bounds in question.get("limits", {}).items():
        fits &= at[name] <= _number(bounds["max"]) * (1 + 1e-9)
    goal = question["objective"]["maximize"]
    best = float(np.max(at[goal][fits])) if fits.any() else None
    # every design of the range breaks the limits: where there is one, it is the conflict
    conflicts = () if best is not None else (tuple(question["limits"]),)
    return Found(best, goal, conflicts=conflicts)


def metrics(file: dict[str, Any], at: dict[str, Any]) -> dict[str, Array]:
    """What the file says at these columns, in logarithms: another order of operations than the model's."""
    s = file["sharpness"]
    logs = {n: np.log(v) for n, v in at.items()}
    top = np.stack([s * _log(t, logs) for t in np.atleast_1d(file["terms"])])
    latency = np.exp(np.logaddexp.reduce(top, axis=0) / s)
    found = {"latency": latency, "latency_high": latency * file["error"]["high"]}
    logs["latency"] = np.log(latency)
    for d in file["derived"]:
        found[d["name"]] = sum(np.exp(_log(t, logs)) for t in d["terms"])
    return found


def _log(term: dict[str, Any], logs: dict[str, Any]) -> Array:
    powers = sum((e * logs[n] for n, e in term["exponents"].items()), np.zeros_like(logs["m"]))
    return np.asarray(math.log(term["coefficient"]) + powers)


def _values(column: dict[str, float], decision: dict[str, Any]) -> list[float]:
    low, high = column["least"], column["greatest"]
    if "powers_of" in decision:
        base = decision["powers_of"]
        return [v for v in (float(base**i) for i in range(64)) if low <= v <= high]
    return [float(v) for v in range(math.ceil(low), math.floor(high) + 1)]


def _number(value: Any) -> float:
    if isinstance(value, str):
        number, unit = value.split()
        return float(number) * UNITS[unit]
    return float(value)
