"""The optimal multipliers that belong to a design."""

from __future__ import annotations

from formulations import canonical as canon
from formulations.canonical import Array, Canonical
from formulations.grids.batch import Table
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.programs.crossover import crossover


def at(c: Canonical, y: Array, known: gp.Result | None = None) -> gp.Result:
    """Solve the program whose divisors are their tangents at y; an optimal y is optimal there, multipliers and all.

    ``known``: what the kernel says of that program, where it has been solved already.
    """
    r = known
    if r is None:
        a, b = canon.restriction(c, y[None])
        r = side_by_side.solve(a, b, c.ptr, c.low[None], c.high[None])
    if r.status[0] == gp.OPTIMAL and not c.divisors:
        r, _ = crossover(Table(c.exponents, c.logc[None], c.ptr), c.low[None], c.high[None], r)
    return r
