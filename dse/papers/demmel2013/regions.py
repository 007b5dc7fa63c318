"""Figure 4: the (p, M) plane of the n-body problem, its budgets as regions, our answers as points in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from dse import models
from dse.papers.asking import ask
from dse.papers.demmel2013 import nbody
from dse.papers.demmel2013.questions import question, settings
from dse.papers.demmel2013.symbols import Setting, as_machine
from dse.system.records import dataclass
from results.solution import Status


@dataclass(frozen=True, slots=True)
class Budgets:
    """One budget of each kind, chosen so that every region of the figure can be seen."""

    E_max: float
    P_proc: float
    T_max: float
    P_tot: float


@dataclass(frozen=True, slots=True)
class Plane:
    """The figure's data: metrics on a grid of p and M (SI), and whether the algorithm runs there."""

    p: np.ndarray
    M: np.ndarray
    metrics: Mapping[str, np.ndarray]
    allowed: np.ndarray


@dataclass(frozen=True, slots=True)
class Mark:
    """A certified answer of the solver, to be drawn as a point."""

    text: str
    p: float
    M: float


@cache
def setting() -> Setting:
    """Return the contrived machine and 64 bodies: M0 = 4 words, E* possible from 16 to 256 processors."""
    return next(s for s in settings() if s.name == "contrived")


@cache
def budgets() -> Budgets:
    """Budgets relative to the landmarks of the parameter set."""
    s = setting()
    M0 = nbody.best_memory(s)
    g = nbody.processor_power(s, M0)
    return Budgets(
        E_max=1.15 * nbody.least_energy(s),
        P_proc=nbody.processor_power(s, 1.25 * M0),
        T_max=2.0 * nbody.time_threshold(s),
        P_tot=g * 60.0,
    )


@cache
def plane(points: int = 241) -> Plane:
    """Every metric on a logarithmic grid over the plane, by the model on arrays."""
    s = setting()
    p, M = np.meshgrid(np.geomspace(1.0, s.n**2, points), np.geomspace(1.0, s.n, points))
    values: dict[str, Any] = {"bodies": s.n, "flops_per_pair": s.f, "processors": p, "memory": M}
    values |= {f"machine.{name}": value for name, value in as_machine(s).items()}
    found = models.evaluate(models.get("nbody"), values)
    spread = {name: np.broadcast_to(value, p.shape) for name, value in found.items()}
    allowed = (found["one_copy"] <= 1.0 + 1e-12) & (found["replication"] <= 1.0 + 1e-12)
    return Plane(p, M, spread, allowed)


@cache
def marks() -> Mapping[str, Mark]:
    """Return the solver's answers inside the figure's regions."""
    s, b = setting(), budgets()
    p_max = 0.5 * (s.n / nbody.best_memory(s)) ** 2
    asked = {
        "energy": ("least time within E_max", question(s, minimize="time", limits={"energy": b.E_max})),
        "processor": (
            f"least time within P_proc, p ≤ {p_max:.0f}",
            question(s, minimize="time", limits={"power_per_processor": b.P_proc}, p_max=p_max),
        ),
        "time": ("least energy within T_max", question(s, minimize="energy", limits={"time": b.T_max})),
        "total": ("least time within P_tot", question(s, minimize="time", limits={"power": b.P_tot})),
    }
    found = {}
    for name, (text, asked_for) in asked.items():
        solution = ask(asked_for)
        p, M = (float(solution.variables.get(key, math.nan)) for key in ("processors", "memory"))
        found[name] = Mark(text if solution.status is Status.OPTIMAL else f"{text}: {solution.status}", p, M)
    return found


def records(step: int = 6) -> list[dict[str, float]]:
    """Return the plane as rows for CSV, every few grid points, where the algorithm runs."""
    grid = plane()
    names = ("energy", "time", "power", "power_per_processor")
    return [
        {"processors": grid.p[i, j], "memory": grid.M[i, j]}
        | {name: float(grid.metrics[name][i, j]) for name in names}
        for i in range(0, grid.p.shape[0], step)
        for j in range(0, grid.p.shape[1], step)
        if grid.allowed[i, j]
    ]


def green_line(s: Setting) -> tuple[float, float, float]:
    """M0 and the two ends in p of the runs that attain E*."""
    M0 = nbody.best_memory(s)
    return M0, s.n / M0, math.pow(s.n / M0, 2.0)
