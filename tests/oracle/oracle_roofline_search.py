"""Roofline questions with several decided numbers, searched by SLSQP from many starts.

Not the engine's way: the term that bounds the time, and the one that bounds the peak power, are each assumed in turn,
which leaves smooth functions of the logarithms; limits are those of the oracle's own equations. What is found
is a design, so the best can only be too bad, never too good.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import oracle_reading as reading
import oracle_roofline as roofline
from oracle_scans import Array
from scipy.optimize import minimize

# the machine's numbers that these questions decide
OWN = (
    "time_per_flop",
    "time_per_byte",
    "energy_per_flop",
    "energy_per_byte",
    "constant_power",
    "usable_power",
)
STARTS = 6
MET = 1e-9


@dataclass(frozen=True)
class Search:
    """A question as logarithms: box of the decided numbers, and the logarithm of each metric."""

    source: Mapping[str, Any]
    machine: Mapping[str, float]
    names: tuple[str, ...]
    low: Array
    high: Array

    def at(self, y: Array) -> dict[str, float]:
        """The oracle's metrics at a point, the maxima taken as they are."""
        x = dict(zip(self.names, np.exp(y), strict=True))
        return {n: float(v) for n, v in metrics(x, self.source["given"], self.machine).items()}

    def miss(self, y: Array) -> float:
        """By how much (log) the worst limit is missed; negative where all hold."""
        return max((float(v) for v in slacks(self.source, self.at(y))), default=-np.inf)


def search(source: Mapping[str, Any]) -> Search:
    """Read a question whose decided numbers all have both ends."""
    names = tuple(source["decide"])
    ends = [[math.log(float(source["decide"][n][s])) for s in ("min", "max")] for n in names]
    low, high = np.array(ends).T
    return Search(source, reading.machine(source["machine"]), names, low, high)


def metrics(x: Mapping[str, Any], given: Mapping[str, Any], machine: Mapping[str, float]) -> dict[str, Array]:
    """The oracle's roofline with any of the machine's numbers decided, and the average power."""
    own = dict(machine) | {n.removeprefix("machine."): v for n, v in x.items() if n.startswith("machine.")}
    run = {n: float(v) for n, v in given.items()} | {n: v for n, v in x.items() if "." not in n}
    found = roofline.metrics(run, own) | dict(x)
    return found | {
        "power": found["energy"] / found["time"],
        "energy_delay": found["energy"] * found["time"],
    }


def slacks(source: Mapping[str, Any], at: Mapping[str, Any]) -> list[Any]:
    """log(value/limit) of every limit, turned so that it must not be positive."""
    found = []
    for name, entry in source.get("limits", {}).items():
        if "max" in entry:
            found.append(np.log(at[name] / float(entry["max"])))
        if "min" in entry:
            found.append(np.log(float(entry["min"]) / at[name]))
    return found


def best(asked: Search, seed: int = 0, starts: int = STARTS) -> tuple[float, Array | None]:
    """The best objective over all starts and all terms, with its design; None where no design was found."""
    ((sense, goal),) = asked.source["objective"].items()
    sign = -1.0 if sense == "maximize" else 1.0
    random = np.random.default_rng(seed)
    found: tuple[float, Array | None] = (math.inf, None)
    for which, start in itertools.product(range(3), range(starts)):
        y0 = random.uniform(asked.low, asked.high) if start else 0.5 * (asked.low + asked.high)
        for cap in (False, True):
            y = _local(asked, goal, sign, which, cap, y0)
            if y is not None and asked.miss(y) <= MET:
                found = min(found, (sign * asked.at(y)[goal], y), key=lambda pair: pair[0])
    return sign * found[0], found[1]


def _local(asked: Search, goal: str, sign: float, which: int, cap: bool, y0: Array) -> Array | None:
    """One descent with the time's term and the peak's term assumed."""

    seen: dict[bytes, tuple[dict[str, Any], list[float]]] = {}

    def smooth(y: Array) -> tuple[dict[str, Any], list[float]]:
        # SLSQP asks for the value and the room of the same points, and of those beside them
        if (key := y.tobytes()) not in seen:
            x = dict(zip(asked.names, np.exp(y).tolist(), strict=True))
            seen[key] = _assumed(asked, x, which, cap)
        return seen[key]

    def value(y: Array) -> float:
        return sign * math.log(smooth(y)[0][goal])

    def room(y: Array) -> Array:
        at, order = smooth(y)
        return -np.array([*slacks(asked.source, at), *order])

    r = minimize(
        value,
        y0,
        jac=_slope(value),
        bounds=list(zip(asked.low, asked.high, strict=True)),
        constraints={"type": "ineq", "fun": room, "jac": _slope(room)},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 200},
    )
    return np.clip(r.x, asked.low, asked.high) if np.all(np.isfinite(r.x)) else None


def _assumed(
    asked: Search, x: Mapping[str, float], which: int, cap: bool
) -> tuple[dict[str, Any], list[float]]:
    """Metrics with the time equal to its term number ``which``, and what must be <= 0 for that to be so."""
    m = dict(asked.machine) | {n.removeprefix("machine."): v for n, v in x.items()}
    flops = float(asked.source["given"]["flops"])
    data = flops / x["intensity"] if "intensity" in x else _bytes(asked.source["given"])
    dynamic = flops * m["energy_per_flop"] + data * m["energy_per_byte"]
    usable = m["usable_power"] / x.get("throttle", float(asked.source["given"].get("throttle", 1.0)))
    terms = (flops * m["time_per_flop"], data * m["time_per_byte"], dynamic / usable)
    time = terms[which]
    energy = dynamic + m["constant_power"] * time
    full = m["energy_per_flop"] / m["time_per_flop"] + m["energy_per_byte"] / m["time_per_byte"]
    at = {
        "time": time,
        "energy": energy,
        "power": energy / time,
        "performance": flops / time,
        "efficiency": flops / energy,
        "energy_delay": energy * time,
        "bandwidth": data / time,
        "peak_power": m["constant_power"] + (usable if cap else full),
        **x,
    }
    order = [math.log(t / time) for i, t in enumerate(terms) if i != which]
    return at, [*order, math.log(usable / full) * (1.0 if cap else -1.0)]


def _bytes(given: Mapping[str, Any]) -> float:
    return float(given["bytes"]) if "bytes" in given else float(given["flops"]) / float(given["intensity"])


def _slope(f: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """Central differences in logarithms: these functions are smooth and of order one there."""

    def slope(y: Array) -> Array:
        step = 1e-6
        columns = [
            (np.asarray(f(y + step * e)) - np.asarray(f(y - step * e))) / (2 * step) for e in np.eye(y.size)
        ]
        return np.stack(columns, axis=-1)

    return slope
