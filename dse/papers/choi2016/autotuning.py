"""Section II-E: is the fastest setting the one of least energy? Table II, and the model on microbenchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from dse.papers.asking import ask, told
from dse.papers.choi2016.jetson import MACHINE, cells, name_of, settings_of
from dse.papers.choi2016.rows import answers
from dse.papers.comparer import Found
from dse.papers.sources import table
from dse.system.arrays import Array
from dse.system.records import dataclass

# the intensities of the paper are not printed: sixteen to an octave, from 1/16 to 256 operations per byte
INTENSITIES = 2.0 ** (np.arange(12 * 16 + 1) / 16.0 - 4.0)
DATA = 1e10
# kinds of microbenchmarks whose rates the machine file states
KINDS = {
    "single precision": "flops",
    "double precision": "flops_double",
    "integer": "integer_operations",
}
ENERGY_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Race:
    """Energy that race-to-halt loses on a microbenchmark, by intensity, as fractions of the least energy.

    ``kind``: among equally fast settings it takes the most frugal one; ``highest``: it takes the highest
    clocks of core and memory, which are always among the fastest.
    """

    kind: Array
    highest: Array


@cache
def race(operations: str) -> Race:
    """Run a microbenchmark of one kind of operation and bytes from memory at all settings."""
    amounts = {operations: INTENSITIES * DATA}
    found = settings_of([{"name": "run", operations: DATA, "bytes": DATA}], **amounts)
    least = found["energy"].min(axis=1)
    return Race(found["race_energy"][:, 0] / least - 1.0, found["energy"][:, _highest()] / least - 1.0)


def _highest() -> int:
    return [name_of(row) for row in cells()].index("852-924")


@answers("a_consistent")
def _consistent(row: Mapping[str, str]) -> Found:
    wrong, of = int(row["mispredictions"]), int(row["cases"])
    mean, low, high = (float(row[f"energy_lost_{k}_pct"]) for k in ("mean", "min", "max"))
    ordered = low <= mean <= high and wrong <= of
    # where even the least loss is above 0, the loss was made in some case
    together = ordered and (wrong > 0) == (high > 0.0)
    line = f"{row['benchmark']}, {row['strategy']}".replace("_", " ")
    ours = "together" if together else "not together"
    return Found(ours, corrected=ours, told={"line": line})


@answers("a_single", "a_single:model")
def _misprediction_count(mispredictions: str) -> float:
    return float(mispredictions)


@answers("a_eleven")
def _eleven(limit: str) -> Found:
    every = {
        k: [float(line[f"energy_lost_{k}_pct"]) >= float(limit) for line in table("choi2016/table2")]
        for k in ("mean", "max")
    }
    return Found(sum(every["mean"]), told={"most": sum(every["max"])})


@answers("a_fastest")
def _fastest_costs_energy(kind: str) -> Found:
    lost = race(KINDS[kind])
    wrong = int((lost.kind > ENERGY_TIE).sum())
    shown = {"count": len(INTENSITIES), "wrong": wrong}
    losses = {"lost": 100 * lost.kind.max(), "highest": 100 * lost.highest.max()}
    return Found(wrong > 0, told=shown | losses)


@answers("a_uniform")
def _uniform(intensity: str) -> Found:
    phase = {"name": "run", "flops": float(intensity) * DATA, "bytes": DATA}
    question = {"model": "dvfs", "machine": MACHINE, "given": {"phases": [phase]}}
    saved = told(ask(question | {"objective": {"minimize": "energy"}}), "race_saving")
    if not isinstance(saved, float):
        return Found(False, remark=saved)
    return Found(saved > 0.0, remark=f"{100 * saved:.2f} % less than race-to-halt, proved optimal")
