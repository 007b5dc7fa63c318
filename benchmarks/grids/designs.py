"""Grids that decide whole numbers, menus and names: all points of a chunk together, beside each point by itself.

The ready scenarios, each over two axes of about a factor of ten: a limit, and a number that is given.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dse
from benchmarks.harness import Bench, Way, agrees
from scenarios import Scenario, grid
from solvers.answer import answer

TITLE = "Grids of designs, time per point"
LIBRARY = Path(dse.__file__).parents[1] / "scenarios" / "library"
FEW = 6
"""Points that are solved by themselves."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A ready scenario and its axes: path, first and last value of each."""

    name: str
    scenario: str
    axes: tuple[tuple[str, float, float], ...]


GRIDS = (
    Grid(
        "exabounds: cores and caches of a die",
        "hardware_units_or_caches",
        (("machine.die_area", 1e-4, 4e-4), ("given.instructions", 1e13, 1e14)),
    ),
    Grid(
        "exabounds: a platform and how many, longest MTBF",
        "platforms_longest_mtbf",
        (("limits.performance.min", 1e13, 1e14), ("given.instructions", 1e13, 1e14)),
    ),
    Grid(
        "exabounds: a platform and how many, correlator",
        "correlator_fastest_in_10_mw",
        (("limits.power.max", 3e6, 3e7), ("given.instructions", 1e11, 1e12)),
    ),
    Grid(
        "blocks: fastest of twelve kinds",
        "blocks_fastest_nameplate_power",
        (("limits.nameplate_power.max", 200.0, 1800.0), ("given.intensity", 20.0, 200.0)),
    ),
    Grid(
        "blocks: least energy of twelve kinds with a host",
        "blocks_least_energy_with_host",
        (("limits.nameplate_power.max", 300.0, 3000.0), ("given.flops", 3e14, 3e15)),
    ),
    Grid(
        "blocks: least energy of five kinds by a deadline",
        "blocks_least_energy_deadline",
        (("limits.nameplate_power.max", 270.0, 2400.0), ("given.flops", 3e15, 3e16)),
    ),
    Grid(
        "dvfs: settings of five phases by a deadline",
        "dvfs_deadline",
        (("limits.time.max", 6.1, 8.2), ("given.phases.near.flops", 3e11, 7e11)),
    ),
    Grid(
        "dvfs: settings of five phases under a cap",
        "dvfs_phase_power_cap",
        (("limits.phase_power.max", 6.0, 16.0), ("given.phases.near.flops", 3e11, 9e11)),
    ),
)


def benches(points: int = 1024) -> list[Bench]:
    """Every grid once."""
    return [_bench(g, points) for g in GRIDS]


def asked(of: Grid, points: int) -> Scenario:
    """Return the scenario with its axes."""
    found: dict[str, Any] = tomllib.loads((LIBRARY / f"{of.scenario}.toml").read_text(encoding="utf-8"))
    side = math.isqrt(points)
    found["sweep"] = {
        f"axis{i}": {"path": path, "start": start, "stop": stop, "num": side, "spacing": "log"}
        for i, (path, start, stop) in enumerate(of.axes)
    }
    return dse.load(found)


def _bench(of: Grid, points: int) -> Bench:
    scenario = asked(of, points)
    every = grid(scenario)
    few = np.unique(np.linspace(0, every.size - 1, FEW).astype(int))

    def together() -> Any:
        return dse.sweep(scenario, progress=False, audit=0)["objective"].to_numpy().ravel()

    def alone() -> Any:
        found = np.full(every.size, np.nan)
        for i in few:
            place = tuple(int(k) for k in np.unravel_index(i, every.shape))
            value = answer(every.question(place), neighbours=False).objective
            found[i] = math.nan if value is None else value
        return found

    return Bench(
        f"{every.size} points, {of.name}",
        Way("dse.sweep in memory", together, bound="yes", points=every.size),
        (Way(f"dse, each by itself ({few.size} points)", alone, bound="yes", points=few.size),),
        check=agrees,
        warm=True,
        rounds=3,
    )
