"""Questions over lists, as the oracles of blocks, partitions and settings take them: what they share.

Tables of machines are read from the papers' data in tests/data, not from the machine files of the engine.
"""

from __future__ import annotations

import copy
import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import oracle_reading as reading

DATA = Path(__file__).resolve().parents[1] / "data"
KEYS = {"title", "model", "machine", "given", "decide", "objective", "limits", "sweep"}
UNITS = {"Gop": 1e9, "min": 60.0, "PB": 1e15, "TB": 1e12, "op/s": 1.0, "USD/kWh": 1.0 / 3.6e6}
# a limit that is met but for rounding is met
ROUNDING = 1e-9


@dataclass(frozen=True)
class Found:
    """The best value of the objective, or None where no design meets the limits; and the search that found it."""

    goal: str
    objective: float | None
    how: str
    conflicts: tuple[frozenset[str], ...] = ()


def number(value: Any) -> float:
    """A number in SI; bytes are bytes."""
    if isinstance(value, str) and value.split(" ", 1)[1] in UNITS:
        digits, unit = value.split(" ", 1)
        return float(digits) * UNITS[unit]
    return reading.number(value, 1.0)


def check(source: Mapping[str, Any]) -> None:
    """Refuse what the oracles would not look at."""
    if set(source) - KEYS:
        raise ValueError(f"unknown keys {set(source) - KEYS}")


def limits(source: Mapping[str, Any]) -> dict[str, float]:
    """The most that each limited metric may be."""
    if any(set(entry) != {"max"} for entry in source.get("limits", {}).values()):
        raise NotImplementedError(source["limits"])
    return {n: number(entry["max"]) for n, entry in source.get("limits", {}).items()}


def goal(source: Mapping[str, Any]) -> tuple[str, bool]:
    """What is to be least, or greatest (True)."""
    ((sense, name),) = source["objective"].items()
    return str(name), sense == "maximize"


def table(name: str, key: str) -> dict[str, dict[str, str]]:
    """The rows of a file of tests/data, by one of its columns."""
    with (DATA / name).open(encoding="utf-8") as file:
        return {row[key]: row for row in csv.DictReader(file)}


def data_sheet(name: str) -> tuple[float, float, float, float, float, float] | None:
    """Times of a flop and a byte, their energies, constant and usable power of a machine of tests/data/data_sheets.csv.

    Constant power is the middle of idle and design power; of the rest, flops and bytes at full rate take half each.
    None for a machine that is not in that table.
    """
    row = table("data_sheets.csv", "name").get(name)
    if row is None:
        return None
    flops, data, idle, design = (float(row[k]) for k in ("flop_per_s", "byte_per_s", "idle_W", "design_W"))
    constant = 0.5 * (idle + design)
    half = 0.5 * (design - constant)
    return 1 / flops, 1 / data, half / flops, half / data, constant, 2 * half


def at_point(source: Mapping[str, Any], index: Iterable[int]) -> dict[str, Any]:
    """The question at one grid point, without its sweep."""
    point = copy.deepcopy({k: v for k, v in source.items() if k != "sweep"})
    for i, entry in zip(index, source["sweep"].values(), strict=True):
        inner = point
        *path, last = entry["path"].split(".")
        for key in path:
            inner = inner.setdefault(key, {})
        inner[last] = axis(entry)[i]
    return point


def axis(entry: Mapping[str, Any]) -> list[Any]:
    """The values of an axis."""
    if "values" in entry:
        return list(entry["values"])
    return reading.axis(entry | {end: number(entry[end]) for end in ("start", "stop")})


def minimal_conflicts(
    source: Mapping[str, Any], feasible: Callable[[Mapping[str, Any]], bool]
) -> tuple[frozenset[str], ...]:
    """Every minimal set of the question's limits that cannot hold together, smallest first."""
    found: list[frozenset[str]] = []
    names = sorted(source.get("limits", {}))
    for size in range(1, len(names) + 1):
        for chosen in map(frozenset, combinations(names, size)):
            kept = {n: e for n, e in source["limits"].items() if n in chosen}
            if not any(f <= chosen for f in found) and not feasible({**source, "limits": kept}):
                found.append(chosen)
    return tuple(found)
