"""Any way, without answers at which a definition of the file has no value: these points are answered singly.

A single answer is then an error that names the definition, or one that keeps away from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formulations import handover
from results.dataset import STATUS_CODES, Arrays, Layout, layout
from results.solution import Status
from results.variables import Variable
from scenarios.composed import definitions_of
from scenarios.grids import Grid
from solvers.batched.offers import Path

NO_VALUE = "a definition has no value at the design found"
FOUND = [STATUS_CODES[s] for s in (Status.OPTIMAL, Status.FEASIBLE)]


def guarded(grid: Grid, path: Path) -> Path:
    """Return a way that leaves such points over; the way itself where the file defines nothing."""
    names = {d.name for d in definitions_of(next(iter(grid.bases.values())).model)}
    if not names:
        return path
    every = layout(grid).variables
    return Defined(path, tuple(v for v in every if v.role == "metric" and v.key in names))


@dataclass(frozen=True, slots=True)
class Defined:
    """The way itself; see ``solvers.batched.path.Path``. ``variables``: all definitions, kept or not."""

    path: Path
    variables: tuple[Variable, ...]

    @property
    def method(self) -> str:
        """How, in words."""
        return self.path.method

    @property
    def kind(self) -> str:
        """How the grid is cut into chunks."""
        return self.path.kind

    @property
    def work(self) -> float:
        """What a point costs, in declared seconds of one core."""
        return self.path.work

    @property
    def threads(self) -> bool:
        """Whether several threads may use it at once."""
        return bool(getattr(self.path, "threads", False))

    def solve(self, plan: Layout, region: tuple[slice, ...]) -> tuple[Arrays, NDArray[np.bool_]]:
        """Answer a block."""
        kept = {v.name for v in plan.variables}
        more = tuple(v for v in self.variables if v.name not in kept)
        arrays, left = self.path.solve(replace(plan, variables=(*plan.variables, *more)), region)
        found = np.isin(arrays["status"], FOUND) & ~left
        for v in self.variables:
            values = arrays.get(v.name) if v.name in kept else arrays.pop(v.name, None)
            if values is not None and values.shape == found.shape:
                lost = found & ~np.isfinite(values)
                if lost.any():
                    handover.hand_over(NO_VALUE, int(lost.sum()))
                    left = left | lost
        return arrays, left
