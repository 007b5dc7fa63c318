"""The optimal multipliers that belong to designs."""

from __future__ import annotations

import dataclasses

import numpy as np

from formulations import canonical as canon
from formulations.canonical import Array, Canonical
from formulations.grids.batch import Table
from formulations.grids.divided import take
from solvers.geometric.kernel import gp
from solvers.geometric.programs.crossover import crossover
from solvers.geometric.programs.optimal_face import Solver, taken
from solvers.patterns import Bools


def at(c: Canonical, y: Array, solve: Solver, known: gp.Result | None = None) -> tuple[gp.Result, Bools]:
    """Solve the programs whose divisors are their tangents at y (N, n), of which an optimal y is an optimum.

    Also returns where it is settled which limits bind. ``known``: what the kernel says of these programs, where they
    have been solved already.
    """
    r = solve(*canon.restriction(c, y), c.ptr, c.low, c.high) if known is None else known
    settled = np.zeros(len(y), bool)
    some = np.flatnonzero((r.status == gp.OPTIMAL) & (not c.divisors))
    if not some.size:
        return r, settled
    if some.size == len(y):
        return crossover(Table(c.exponents, c.logc, c.ptr), c.low, c.high, r)
    own = take(c, some)
    crossed, settled[some] = crossover(Table(c.exponents, own.logc, c.ptr), own.low, own.high, taken(r, some))
    found = {n: np.array(getattr(r, n)) for n in gp.Result.__slots__}
    for name, values in found.items():
        values[some] = getattr(crossed, name)
    return gp.Result(**found), settled


def held_whole(c: Canonical, y: Array) -> Canonical:
    """The same problems with the discrete variables held at their values of ``y``."""
    if not c.allowed:
        return c
    low, high, whole = c.low.copy(), c.high.copy(), list(c.allowed)
    low[:, whole] = high[:, whole] = y[:, whole]
    return dataclasses.replace(c, low=low, high=high, allowed={})
