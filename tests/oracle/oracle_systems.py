"""Platforms and dies of ready scenarios, as arrays of designs: every choice, menu entry and count, from the equations.

A clock that is free is eliminated: at a given voltage and count, power, cost and performance all grow with it, so the
best one is the least that meets the demand or the largest that voltage and cap allow, both found by bisection.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import oracle_listed as listed
import oracle_reading as reading
from oracle_listed import ROUNDING, Found

LEVELS = ["core", "die", "socket", "card", "unit", "rack", "aisle", "system"]
UNITS = {
    "s": 1.0, "ns": 1e-9, "hour": 3600.0, "Hz": 1.0, "MHz": 1e6, "GHz": 1e9, "V": 1.0, "F": 1.0, "nF": 1e-9,
    "A": 1.0, "K": 1.0, "W": 1.0, "kW": 1e3, "MW": 1e6, "W/GiB": 1 / 2**30, "cycle": 1.0, "byte": 1.0, "bit": 1 / 8,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "GB/s": 1e9, "Gbit/s": 1e9 / 8, "mohm": 1e-3, "uohm": 1e-6,
    "mm^2": 1e-6, "1/m^2": 1.0, "FIT": 1e-9 / 3600, "USD": 1.0, "USD/W": 1.0, "USD/Hz": 1.0, "USD/kWh": 1 / 3.6e6,
    "instruction/s": 1.0, "%": 0.01,
}  # fmt: skip
CHUNK = 200_000
COARSE = 3000
STEPS = 60
# never asked in the library: what would need more equations
UNREAD = ("miss_rate", "demand", "parallelism", "overhead_work", "misprediction_rate", "nre_cost", "activity")
Values = Mapping[str, Any]


def number(value: Any) -> float:
    """A number in SI."""
    if not isinstance(value, str):
        return float(value)
    digits, unit = value.split(" ", 1)
    return float(digits) * UNITS[unit]


def at_point(source: Mapping[str, Any], index: Iterable[int]) -> dict[str, Any]:
    """The question at one grid point, without its sweep."""
    point = copy.deepcopy({k: v for k, v in source.items() if k != "sweep"})
    found: dict[str, Any] = dict(point.get("machine", {}))
    for i, entry in zip(index, source["sweep"].values(), strict=True):
        path = entry["path"]
        if not path.startswith("machine"):
            raise NotImplementedError(path)
        found["base" if path == "machine" else path.removeprefix("machine.")] = entry["values"][i]
    return point | {"machine": found}


def answer(source: Mapping[str, Any]) -> Found:
    """The optimum of a question in the scenario language."""
    listed.check(source)
    goal, maximize = listed.goal(source)
    decide = {k.removeprefix("machine."): v for k, v in source.get("decide", {}).items()}
    kinds = decide.pop("machine", {"values": [None]})["values"]
    sign = -1.0 if maximize else 1.0
    best = min(_best(source, kind, decide, goal, sign) for kind in kinds)
    how = "every choice and count" + (", the clock eliminated" if "frequency" in decide else "")
    if "io_pins.socket" in decide:
        how += ", all pins in use"
    return Found(
        goal, None if best == math.inf else sign * best, how if source.get("decide") else "the equations"
    )


def machine(spec: Any) -> dict[str, float]:
    """The parameters of a machine: those of a file of the catalogue, and those in the question over them."""
    spec = {"base": spec} if isinstance(spec, str) else dict(spec)
    found: dict[str, float] = {}
    if "base" in spec:
        data = reading.machine_file(spec.pop("base"))
        found = {k: number(e["value"]) for k, e in data["parameters"].items()}
    return found | {k: number(v) for k, v in spec.items()}


def _best(source: Mapping[str, Any], kind: str | None, decide: Values, goal: str, sign: float) -> float:
    """The least of the objective times ``sign`` on one machine; infinite where nothing meets the limits."""
    own = dict(source.get("machine", {}))
    m = machine(own if kind is None else own | {"base": kind})
    given = dict(source["given"])
    rows = [
        (number(r["distance"]) if "distance" in r else math.inf, number(r["share"]))
        for r in given.pop("data_reuse")
    ]
    if any(name.startswith(UNREAD) for name in given):
        raise NotImplementedError(given)
    g = {k: number(v) for k, v in given.items()}
    limits = {
        (n, side): number(v) for n, entry in source.get("limits", {}).items() for side, v in entry.items()
    }
    menus = {k: [number(v) for v in d["values"]] for k, d in decide.items() if "values" in d}
    best = math.inf
    for entries in product(*menus.values()):
        fixed = m | dict(zip(menus, entries, strict=True))
        for designs in _designs(decide):
            if _beyond(fixed | {k: v.flat[0] for k, v in designs.items()}, g, rows, limits, decide):
                # power grows with a count
                break
            best = min(best, _of(fixed | designs, g, rows, limits, decide.get("frequency"), goal, sign))
    if "frequency" in decide and best < math.inf:
        best = min(best, _refined(m, menus, g, rows, limits, decide, goal, sign))
    return best


def _beyond(m: Values, g: Values, rows: Any, limits: Values, decide: Values) -> bool:
    cap = limits.get(("power", "max"))
    return cap is not None and "frequency" not in decide and bool(measure(m, g, rows)["power"] > 2 * cap)


def _counts(decide: Values) -> dict[str, int]:
    return {k: int(float(d["max"])) for k, d in decide.items() if d.get("integer")}


def _designs(decide: Values) -> Iterator[dict[str, Any]]:
    """All vectors of counts, in pieces; a wide range where a clock is free only coarsely."""
    counts = _counts(decide)
    if not counts:
        yield {}
    elif "io_pins.socket" in counts:
        # more signal pins never harm: all that supply leaves
        cores, pins = np.meshgrid(
            *(np.arange(1.0, counts[k] + 1) for k in ("count.die", "supply_pins.socket"))
        )
        rest = counts["io_pins.socket"] - pins
        good = rest >= 1
        yield {"count.die": cores[good], "supply_pins.socket": pins[good], "io_pins.socket": rest[good]}
    else:
        ((name, most),) = counts.items()
        if "frequency" in decide:
            yield {name: np.unique(np.round(np.geomspace(1, most, COARSE)))}
            return
        for start in range(1, most + 1, CHUNK):
            yield {name: np.arange(start, min(start + CHUNK, most + 1), dtype=float)}


def _refined(
    m: Values, menus: Values, g: Values, rows: Any, limits: Values, decide: Values, goal: str, sign: float
) -> float:
    """The best around the best coarse counts of each entry of the menus, until every count between has been tried."""
    ((name, most),) = _counts(decide).items()
    best = math.inf
    for entries in product(*menus.values()):
        fixed = m | dict(zip(menus, entries, strict=True))
        coarse = np.unique(np.round(np.geomspace(1, most, COARSE)))
        while True:
            values = _values(fixed | {name: coarse}, g, rows, limits, decide["frequency"], goal, sign)
            k = int(np.argmin(values))
            best = min(best, float(values[k]))
            low, high = coarse[max(k - 1, 0)], coarse[min(k + 1, coarse.size - 1)]
            finer = np.unique(np.round(np.linspace(low, high, COARSE)))
            if not np.isfinite(values[k]) or finer.size == coarse.size or high - low <= 2:
                break
            coarse = finer
    return best


def _of(m: Values, g: Values, rows: Any, limits: Values, clock: Any, goal: str, sign: float) -> float:
    return float(np.min(_values(m, g, rows, limits, clock, goal, sign)))


def _values(m: Values, g: Values, rows: Any, limits: Values, clock: Any, goal: str, sign: float) -> Any:
    """The objective times ``sign`` of each design; infinite where a limit is not met."""
    ends = [m] if clock is None else _clocked(m, g, rows, limits, clock)
    found = []
    for design in ends:
        x = measure(design, g, rows)
        good = np.ones(np.shape(x["power"]), bool)
        for name in ("pins", "area", "clock"):
            good = good & (x[name] <= 1 + ROUNDING)
        for (name, side), value in limits.items():
            good = good & (
                x[name] <= value * (1 + ROUNDING) if side == "max" else x[name] >= value * (1 - ROUNDING)
            )
        found.append(np.where(good, sign * x[goal], math.inf))
    return np.minimum.reduce(found)


def _clocked(m: Values, g: Values, rows: Any, limits: Values, clock: Values) -> list[dict[str, Any]]:
    """The designs at the least clock that meets the demand, and at the largest that voltage and cap allow."""
    over = max(m["voltage"] - m["threshold_voltage"], 0.0)
    fastest = m["clock_constant"] * over ** m.get("clock_exponent", 1.3) / m["voltage"]
    shape = np.shape(m["count.rack"])
    low = np.full(shape, number(clock["min"]))
    high = np.full(shape, max(min(number(clock["max"]), fastest), number(clock["min"])))
    ends = []
    for (name, side), value in (
        (("performance", "min"), limits.get(("performance", "min"))),
        (
            ("power", "max"),
            limits.get(("power", "max")),
        ),
    ):
        a, b = low.copy(), high.copy()
        if value is None:
            ends.append(dict(m) | {"frequency": a if side == "min" else b})
            continue
        for _ in range(STEPS):
            middle = (a + b) / 2
            above = measure(dict(m) | {"frequency": middle}, g, rows)[name] >= value
            a, b = np.where(above, a, middle), np.where(above, middle, b)
        ends.append(dict(m) | {"frequency": b if side == "min" else a})
    return ends


def _missing(rows: Any, size: Any) -> Any:
    return sum(share * (distance > size) for distance, share in rows)


def measure(m: Values, g: Values, rows: Any) -> dict[str, Any]:
    """All that a ready scenario asks about, for a design or arrays of them."""
    f, volts = m["frequency"], m["voltage"]
    line, moving = 64.0, 0.5
    issue = min(m.get("count.core", 1.0), 4.0)
    hidden = m.get("reorder_buffer", 0.0) / issue
    l1, l2 = m["cache.L1D"], m["cache.L2"]
    cores = m.get("count.die", 1.0)
    far = l2 if "cache.L3" not in m else np.maximum(l2, m["cache.L3"] / cores)
    from_l2, from_far, from_memory = _missing(rows, l1), _missing(rows, l2), _missing(rows, far)
    alone = 1.0 / issue + moving * m.get("latency.L2", 0.0) * from_l2
    alone = alone + moving * from_memory * np.maximum(m.get("latency.DRAM", 0.0) * f - hidden, 0.0)
    alone = alone + moving * (from_far - from_memory) * np.maximum(m.get("latency.L3", 0.0) - hidden, 0.0)
    each = line * moving * from_memory
    in_socket = cores * m.get("count.socket", 1.0)
    supply = m["bandwidth.socket"] if "bandwidth.socket" in m else m["io_pins.socket"] * m["bit_rate.socket"]
    cycles = np.maximum(alone, each * f * in_socket / supply)
    counts = [m.get(f"count.{level}", 1.0) for level in LEVELS[1:]]
    copies = [math.prod(counts[i:]) for i in range(len(counts))] + [1.0]
    time = g["instructions"] / copies[0] * cycles / f
    power, ohmic, own = _power(m, volts, f, supply)
    lost = sum(n * m.get(f"failure_rate.{level}", 0.0) for n, level in zip(copies, LEVELS, strict=True))
    return {
        "time": time,
        "performance": g["instructions"] / time,
        "power": power[0],
        "power_processors": copies[0] * own,
        "power_ohmic": copies[2] * ohmic,
        "mtbf": 1.0 / lost if np.any(np.asarray(lost) > 0) else math.inf,
        "memory_traffic": f / alone * each,
        "cost": _cost(m, g, power, copies, time),
        "pins": _pins(m),
        "area": _area(m, cores),
        "clock": _clock(m, f, volts),
    }


def _pins(m: Values) -> Any:
    used = m.get("supply_pins.socket", 1.0) + m.get("io_pins.socket", 0.0)
    return used / m.get("package_pins.socket", math.inf)


def _power(m: Values, volts: Any, f: Any, supply: Any) -> tuple[tuple[Any, Any], Any, Any]:
    """Power of the system at peak and idle, ohmic loss of one socket, and power of one core, at peak."""
    leak = volts * m.get("leakage_current", 0.0)
    leak = leak * math.exp(-m.get("threshold_voltage", 0.0) / (8.617333262e-5 * m.get("temperature", 300.0)))
    switching = m["dynamic_capacitance"] * volts**2 * f
    link = 0.0
    if "bit_rate.socket" in m:
        gigabits = m["bit_rate.socket"] * 8e-9
        link = 8e-12 * (0.0170 * gigabits**1.86 + 2.36) * supply
    whole, ohmics = [], []
    for drawn in (leak + switching, leak + 0.0 * switching):
        below = drawn
        for level in LEVELS[1:]:
            fed = m.get(f"count.{level}", 1.0) * below
            ohmic = (
                (fed / volts) ** 2
                * m.get(f"supply_resistance.{level}", 0.0)
                / m.get(f"supply_pins.{level}", 1.0)
            )
            if level == "socket":
                ohmics.append(ohmic)
                fed = fed + link
            below = (fed + ohmic + m.get(f"glue_power.{level}", 0.0)) / m.get(
                f"power_efficiency.{level}", 1.0
            )
        whole.append(below)
    return (whole[0], whole[1]), ohmics[0], leak + switching


def _cost(m: Values, g: Values, power: tuple[Any, Any], copies: list[Any], time: Any) -> Any:
    each: Any = m.get("packaging_cost.core", 0.0)
    spares = copies[0] * m.get("failure_rate.core", 0.0) * each
    for level, n in zip(LEVELS[1:], copies[1:], strict=True):
        each = m.get(f"count.{level}", 1.0) * each + m.get(f"packaging_cost.{level}", 0.0)
        spares = spares + n * m.get(f"failure_rate.{level}", 0.0) * each
    joules = power[0] * time
    span = time
    if "lifetime" in g:
        span = g["lifetime"]
        joules = span * (g["peak_share"] * power[0] + g["idle_share"] * power[1])
    bought = each + m.get("supply_cost", 0.0) * power[0]
    return bought + joules * g.get("energy_price", 4.14e-8) + span * spares


def _area(m: Values, cores: Any) -> Any:
    if "die_area" not in m or "transistor_density" not in m:
        return 0.0
    each = m.get("transistors.core", 0.0) + m.get("functional_units.INT", 0.0) * m.get(
        "unit_transistors.INT", 0.0
    )
    each = each + sum(m.get(f"cache.{c}", 0.0) * m.get(f"cache_transistors.{c}", 0.0) for c in ("L1D", "L2"))
    return cores * each / (m["transistor_density"] * m.get("density_gain", 1.0)) / m["die_area"]


def _clock(m: Values, f: Any, volts: float) -> Any:
    if "clock_constant" not in m:
        return 0.0
    over = max(volts - m.get("threshold_voltage", 0.0), 0.0)
    return f / (m["clock_constant"] * over ** m.get("clock_exponent", 1.3) / volts) if over > 0 else math.inf
