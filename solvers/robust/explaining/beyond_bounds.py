"""Few designs in many worlds, with whole and listed numbers a little beyond the bounds on them.

They show that limits can hold together, and which bound would do; that no design does they never show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Points
from dse.system.records import dataclass
from formulations.grids import divided
from formulations.tolerances import HOLDS
from formulations.uncertainty.worlds import Worlds
from solvers import designs
from solvers.explaining import known_designs
from solvers.robust.searches import scan, worst

DOUBLINGS = 3
"""How often the distance is doubled to which a bound is given up."""
A_DOUBLING = 2
"""Values in a doubling at which limits are looked at: whether they can hold together does not ask for each."""
MOST_BEYOND = 4096
"""Designs that are looked at beyond bounds, at one point."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """Designs beyond the bounds on decided numbers, of a question at N points. ``names``: limits that may conflict."""

    worlds: Worlds
    names: tuple[str, ...]

    def show(self, points: Points, wider: Collection[str], free: Collection[str]) -> Bools:
        """Tell at which points (R,) a design shows that all limits but those ``free`` can hold together.

        ``wider``: the decided numbers that may leave their bounds.
        """
        found = np.zeros(points.size, bool)
        for grid in self._farther(wider, sparse=True):
            left = np.flatnonzero(~found)
            if not left.size:
                break
            at = worst.of_all(self._at(points[left]), grid)
            rows = [r for key, r in at.ratios.items() if key.name not in free]
            found[left] = np.all(
                [np.broadcast_to(r <= 1.0 + HOLDS, rows[0].shape) for r in rows], axis=0
            ).any(1)
        return found

    def value(self, points: Points, name: str) -> Array:
        """The value of a bound on a decided number that would do, at each point; NaN where none near it does."""
        found = np.full(points.size, np.nan)
        for grid in self._farther([name]):
            left = np.flatnonzero(np.isnan(found))
            if not left.size:
                break
            at = worst.of_all(self._at(points[left]), grid)
            levels = {key.name: v for key, v in at.levels.items()}
            told = known_designs.listed_value(at.table, levels, at.ratios, name, (left.size, grid.size))
            found[left] = np.where(np.isfinite(told), told, np.nan)
        return found

    def _at(self, points: Points) -> Worlds:
        worlds = replace(self.worlds, near=None)
        return worlds.at_some(points) if divided.shape(worlds.every) else worlds

    def _farther(self, wider: Collection[str], *, sparse: bool = False) -> Iterator[designs.Grid]:
        """Go through designs farther and farther beyond bounds, as far as they are few."""
        question = divided.with_ends(self.worlds.nominal, np.min, np.max)
        for k in range(1, DOUBLINGS + 1):
            far = 2.0**k
            decide = (
                replace(
                    d,
                    minimum=None if d.minimum is None else d.minimum / far,
                    maximum=None if d.maximum is None else d.maximum * far,
                )
                if d.name in wider
                else d
                for d in question.decide
            )
            grid = designs.everything(replace(question, decide=tuple(decide)))
            if grid is None:
                return
            if sparse:
                axes = (
                    _thinned(designs.axis_values(a)) if n in wider else a
                    for n, a in zip(grid.names, grid.axes, strict=True)
                )
                grid = replace(grid, axes=tuple(axes))
            if grid.size > MOST_BEYOND or grid.size * self.worlds.size > scan.MOST_SCANNED // 10:
                return
            yield grid


def _thinned(values: Array) -> Array:
    """Return few of ascending values, evenly by factors."""
    if not values.size:
        return values
    near = np.geomspace(max(values[0], 1.0), values[-1], A_DOUBLING * DOUBLINGS + 2)
    return np.asarray(values[np.unique(np.minimum(np.searchsorted(values, near), values.size - 1))])
