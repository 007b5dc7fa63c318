"""The eight levels of a computing system, and the reading of quantities by level.

A level's count says how many units of the level below one of its units holds: ``count.die`` is the paper's
n_1, cores per die; ``count.core`` is n_0, the instructions that one core issues per cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add, mul
from typing import Any

from dse.models.arithmetic import maximum
from dse.models.shared.families import nothing
from dse.quantities import Quantity

SOURCE = "Stanley-Marbell 2012"
LEVELS = ("core", "die", "socket", "card", "unit", "rack", "aisle", "system")
ABOVE_CORE = LEVELS[1:]
TITLES = {level: level for level in LEVELS} | {"unit": "rack unit"}
CACHES = ("L1I", "L1D", "L2", "L3")


def below(level: str) -> str:
    """Return the level whose units one unit of this level holds; raises ValueError for the core."""
    place = LEVELS.index(level)
    if place == 0:
        raise ValueError("there is no level below the core")
    return LEVELS[place - 1]


def by_level(q: Quantity, levels: Iterable[str] = LEVELS) -> tuple[Quantity, ...]:
    """Return one quantity per level: count.die of count."""
    return tuple(q.at(level=level) for level in levels)


def of(space: Any, family: str, label: str, otherwise: Any = None) -> Any:
    """Return what a namespace has of a family at a label, or ``otherwise``."""
    return getattr(space, f"{family}.{label}", otherwise)


def total(values: Iterable[Any]) -> Any:
    """Add, leaving plain zeros out, which have no unit; 0 where nothing remains."""
    kept = [v for v in values if not nothing(v)]
    return reduce(add, kept) if kept else 0.0


def product(values: Iterable[Any]) -> Any:
    """Multiply; 1 where there is nothing."""
    every = list(values)
    # 1 times an interval is rounded outwards, too
    return reduce(mul, every) if every else 1.0


def largest(values: Iterable[Any]) -> Any:
    """Return the largest, compared in pairs of pairs, so that expressions stay small; raises IndexError for none."""
    found = list(values)
    while len(found) > 1:
        odd = found[len(found) // 2 * 2 :]
        found = [maximum(a, b) for a, b in zip(found[::2], found[1::2], strict=False)] + odd
    return found[0]


def units(machine: Any) -> Mapping[str, Any]:
    """Return how many units of every level the whole system has: the product of the counts of all levels above."""
    found: dict[str, Any] = {"system": 1.0}
    for level in reversed(ABOVE_CORE):
        found[below(level)] = found[level] * of(machine, "count", level)
    return found
