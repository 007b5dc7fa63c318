"""From a profiler's counters to operation counts (Choi et al. 2016, Table III).

The paper names the counters and says that bytes come from combining them, not how; ``counters.csv`` is our
reading, one line for each counter with its weight and the reason. Of Table III's counters, those of requests
(``gld_request``, ``gst_request``, ``l2_subp0_total_read_sector_queries``) count what the others count already.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import numpy as np

from dse.fitting.reading import Column
from dse.system.arrays import Array
from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter, and what each of its events adds to an operation count."""

    name: str
    count: str
    weight: float
    unit: str
    why: str


@lru_cache(maxsize=1)
def counters() -> tuple[Counter, ...]:
    """Return the documented mapping from counters to operation counts."""
    text = files("dse.fitting").joinpath("counters.csv").read_text(encoding="utf-8")
    return tuple(
        Counter(r["counter"], r["count"], float(r["weight"]), r["unit"], r["why"])
        for r in csv.DictReader(text.splitlines())
    )


def columns() -> tuple[Column, ...]:
    """Return the columns in which a profiler's counters may stand, named as the profiler does."""
    return tuple(Column(c.name) for c in counters())


def counted(numbers: Mapping[str, Array], problems: list[str]) -> dict[str, Array]:
    """Return the operation counts that counters give, for those not measured directly.

    A count of which only some counters are there is noted in ``problems``.
    """
    found: dict[str, Array] = {}
    for count in dict.fromkeys(c.count for c in counters()):
        parts = [c for c in counters() if c.count == count]
        there = [c for c in parts if c.name in numbers]
        if count in numbers or not there:
            continue
        lacking = [c.name for c in parts if c.name not in numbers]
        if lacking:
            which = ", ".join(lacking)
            problems.append(f"{count} needs the counters {which} as well (0 where nothing is counted)")
            continue
        found[count] = np.sum([c.weight * numbers[c.name] for c in there], axis=0)
    return found
