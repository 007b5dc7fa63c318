"""The optimal multipliers that belong to a design."""

from __future__ import annotations

from dataclasses import dataclass

from formulations import canonical as canon
from formulations.batch import Table
from formulations.canonical import Array, Canonical
from solvers import gp, side_by_side
from solvers.crossover import crossover


@dataclass(frozen=True, slots=True)
class Multipliers:
    """Multipliers of the rows and of the box ends; ``y``: where the program they come from is least.

    ``proved``: the kernel closed its gap there.
    """

    y: Array
    rows: Array
    low: Array
    high: Array
    proved: bool


def at(c: Canonical, y: Array) -> Multipliers:
    """Solve the program whose divisors are their tangents at y; an optimal y is optimal there, multipliers and all."""
    a, b = canon.restriction(c, y[None])
    r = side_by_side.solve(a, b, c.ptr, c.low[None], c.high[None])
    if r.status[0] == gp.OPTIMAL and not c.divisors:
        r, _ = crossover(Table(c.exponents, c.logc[None], c.ptr), c.low[None], c.high[None], r)
    return Multipliers(
        r.y[0], r.multipliers[0], r.lower_multipliers[0], r.upper_multipliers[0], bool(r.status[0] == 0)
    )
