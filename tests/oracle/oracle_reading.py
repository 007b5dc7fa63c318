"""Reads scenario files for the oracle, with a unit table of its own.

Only what the library's files use; anything else raises, so that a file is never read differently by accident.
"""

from __future__ import annotations

import copy
import csv
import math
import tomllib
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from oracle_equations import Ask, Range

ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "dse" / "machines"

SCALES = {
    "p": 1e-12,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
}
SI = (
    "s",
    "s/flop",
    "s/word",
    "s/message",
    "J",
    "J/flop",
    "J/word",
    "J/message",
    "W",
    "W/word",
    "FLOPS",
    "FLOPS/W",
    "s/byte",
    "s/access",
    "J/byte",
    "J/access",
    "byte/access",
    "flop",
    "B",
    "B/s",
)
UNITS = {prefix + unit: scale for prefix, scale in SCALES.items() for unit in SI}
UNITS |= {"word": 1.0, "word/message": 1.0, "byte": 1.0}
BYTES = {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def number(value: Any, word_size: float | None = None) -> float:
    """A number in SI from a number or text with a unit; bytes become words."""
    if not isinstance(value, str) or " " not in value:
        return float(value)
    digits, _, unit = value.partition(" ")
    if not unit:
        return float(digits)
    if unit in BYTES:
        if word_size is None:
            raise ValueError(f"{value}: bytes without a word size")
        return float(digits) * BYTES[unit] / word_size
    return float(digits) * UNITS[unit]


def load(path: Path) -> dict[str, Any]:
    """A scenario file as a plain mapping; rows of a table as the lists that could stand in their place."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    for entry in found.get("sweep", {}).values():
        if "table" in entry:
            entry["paths"] = columns(path.parent / entry.pop("table"), entry.pop("columns"))
    return found


@cache
def machine_file(name: str) -> dict[str, Any]:
    """A machine of the catalogue as its file has it; nobody changes it."""
    return tomllib.loads((MACHINES / f"{name}.toml").read_text(encoding="utf-8"))


def columns(table: Path, wanted: Mapping[str, str]) -> dict[str, list[Any]]:
    """The columns of a table, by what each changes: numbers with the unit of their header."""
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    heads = {head.partition("[")[0].strip(): head for head in rows[0]}
    found: dict[str, list[Any]] = {}
    for path, name in wanted.items():
        unit = heads[name].partition("[")[2].rstrip("]").strip()
        found[path] = [f"{row[heads[name]]} {unit}" if unit else float(row[heads[name]]) for row in rows]
    return found


def machine(entry: str | Mapping[str, Any]) -> dict[str, float]:
    """Machine parameters in SI, by name in the catalogue or from a table."""
    if isinstance(entry, str):
        return catalogue(entry)
    own = {k: v for k, v in entry.items() if k != "base"}
    base = catalogue(entry["base"]) if "base" in entry else {}
    word_size = own.get("word_size", base.get("word_size"))
    return {**base, **{k: number(v, word_size) for k, v in own.items()}}


def ask(source: Mapping[str, Any]) -> Ask:
    """A question of the scenario language (no sweep, one objective) as the oracle understands it."""
    known = {"title", "model", "machine", "given", "decide", "objective", "limits", "waive", "valid", "sweep"}
    if set(source) - known:
        raise ValueError(f"unknown keys {set(source) - known}")
    m = machine(source["machine"])
    words = m.get("word_size")
    decide: dict[str, Range] = {}
    reductions: dict[str, float] = {}
    whole = False
    for name, entry in source.get("decide", {}).items():
        if name.startswith("machine."):
            if set(entry) - {"max_halvings", "integer"}:
                raise ValueError(f"{name}: {entry}")
            reductions[name.removeprefix("machine.")] = float(entry["max_halvings"])
            whole = whole or entry.get("integer", False)
        else:
            decide[name] = decided(entry, words)
    valid = source.get("valid", False)
    if valid:
        # no message is longer than the memory used
        if decide["memory"] != Range():
            raise ValueError("memory has bounds of its own")
        decide["memory"] = Range(low=m["max_message"])
    # the order of ties says which design is handed out, not what it reaches
    goals = {k: v for k, v in source["objective"].items() if k != "ties"}
    (sense,) = goals
    return Ask(
        model=source["model"],
        machine=m,
        given={k: v if v in {"tree", "naive"} else number(v, words) for k, v in source["given"].items()},
        decide=decide,
        goal=goals[sense],
        maximize=sense == "maximize",
        limits={n: (end(e, "min", words), end(e, "max", words)) for n, e in source.get("limits", {}).items()},
        waive=frozenset(source.get("waive", ())),
        reductions=reductions,
        whole_halvings=whole,
        valid=valid,
    )


def decided(entry: Mapping[str, Any], words: float | None) -> Range:
    """What [decide] says of one quantity."""
    if set(entry) - {"min", "max", "integer", "powers_of", "values"}:
        raise ValueError(f"{entry}")
    low, high = end(entry, "min", words), end(entry, "max", words)
    values = entry.get("values")
    if "powers_of" in entry:
        most = math.floor(math.log(high, entry["powers_of"]) + 1e-9) if high else 40
        values = [entry["powers_of"] ** k for k in range(most + 1)]
    return Range(low, high, entry.get("integer", False), None if values is None else tuple(values))


def end(entry: Mapping[str, Any], side: str, words: float | None) -> float | None:
    """One end of a range or limit, None where it is open."""
    return number(entry[side], words) if side in entry else None


def axis(entry: Mapping[str, Any]) -> list[Any]:
    """The values of a sweep axis (factors are returned as they stand); of rows their numbers."""
    if "paths" in entry:
        return list(range(len(next(iter(entry["paths"].values())))))
    if "values" in entry:
        return list(entry["values"])
    if "factors" in entry:
        return list(entry["factors"])
    start, stop, num = number(entry["start"]), number(entry["stop"]), int(entry["num"])
    t = [i / (num - 1) for i in range(num)]
    if entry.get("spacing", "linear") == "log":
        return [start * (stop / start) ** x for x in t]
    return [start + (stop - start) * x for x in t]


def shape(source: Mapping[str, Any]) -> tuple[int, ...]:
    """Number of values on each sweep axis, in file order."""
    return tuple(
        int(entry["num"]) if "num" in entry else len(axis(entry)) for entry in source["sweep"].values()
    )


def indices(source: Mapping[str, Any], every: int) -> list[tuple[int, ...]]:
    """A few grid points: every axis at its ends and at ``every - 1`` places between."""
    places = [sorted({round(i * (n - 1) / every) for i in range(every + 1)}) for n in shape(source)]
    return list(product(*places))


def at_point(source: Mapping[str, Any], index: tuple[int, ...]) -> dict[str, Any]:
    """The scenario at one grid point, without its sweep."""
    point = copy.deepcopy({k: v for k, v in source.items() if k != "sweep"})
    for i, entry in zip(index, source["sweep"].values(), strict=True):
        if "paths" in entry:
            for path, values in entry["paths"].items():
                _change(point, path.split("."), values[i], factor=False)
        else:
            _change(point, entry["path"].split("."), axis(entry)[i], factor="factors" in entry)
    return point


def _change(point: dict[str, Any], path: list[str], value: Any, *, factor: bool) -> None:
    if path == ["machine"]:
        point["machine"] = value
        return
    if path[0] == "machine":
        table = machine(point["machine"])
        table[path[1]] = table[path[1]] * value if factor else value
        point["machine"] = table
        return
    if len(path) == 1:
        path = ["given", *path]
    inner = point
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = number(inner[path[-1]]) * value if factor else value


def catalogue(name: str) -> dict[str, float]:
    """A machine's parameters straight from its data file; values there are text in SI units."""
    entries = machine_file(name)["parameters"]
    return {k: number(entry["value"]) for k, entry in entries.items()}
