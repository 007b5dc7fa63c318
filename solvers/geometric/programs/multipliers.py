"""The optimal multipliers that belong to designs, and designs sharpened by them."""

from __future__ import annotations

import dataclasses

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from formulations import canonical as canon
from formulations.canonical import Canonical
from formulations.grids.batch import Table
from formulations.grids.divided import take
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.formulas import FEASIBLE
from solvers.geometric.programs.crossover import crossover
from solvers.geometric.programs.optimal_face import Solver
from solvers.geometric.programs.polishing import SHARP_RESIDUAL, polish

SHARPENED_AGAIN = 3
"""Tangents at a design that is not yet sharp are taken again, so often at most."""


def at(c: Canonical, y: Array, solve: Solver, known: gp.Result | None = None) -> tuple[gp.Result, Bools]:
    """Solve the programs whose divisors are their tangents at y (N, n), of which an optimal y is an optimum.

    Also returns where it is settled which limits bind. ``known``: what the kernel says of these programs, where they
    have been solved already.
    """
    r = solve(*canon.restriction(c, y), c.ptr, c.low, c.high) if known is None else known
    if c.divisors:
        return r, np.zeros(len(y), bool)
    return crossover(Table(c.exponents, c.logc, c.ptr), c.low, c.high, r)


def held_whole(c: Canonical, y: Array) -> Canonical:
    """The same problems with the discrete variables held at their values of ``y``."""
    if not c.allowed:
        return c
    low, high, whole = c.low.copy(), c.high.copy(), list(c.allowed)
    low[:, whole] = high[:, whole] = y[:, whole]
    return dataclasses.replace(c, low=low, high=high, allowed={})


def sharpened(
    c: Canonical, y: Array, solve: Solver, known: gp.Result | None = None
) -> tuple[Array, gp.Result, Bools]:
    """Designs (N, n) sharpened with the whole numbers held, the multipliers there, and where it is settled what binds.

    ``known``: what the kernel says of the programs whose divisors are their tangents at ``y``, these held, too.
    """
    c = held_whole(c, y)
    known, crossed = at(c, y, solve, known)
    y, rest = _polished(c, y, known)
    for _ in range(SHARPENED_AGAIN - 1 if c.divisors else 0):
        if not rest.size:
            break
        own = take(c, rest)
        y[rest], more = _polished(own, y[rest], at(own, y[rest], solve)[0])
        rest = rest[more]
    return y, known, crossed


def _polished(c: Canonical, y: Array, r: gp.Result) -> tuple[Array, Indices]:
    """Sharpen from the optima of the programs with tangents at y; also tells which points are not sharp yet."""
    start = np.where((r.status == gp.OPTIMAL)[:, None], r.y, y)
    held = canon.values(c, start)[:, 1:].max(1, initial=-np.inf) <= FEASIBLE
    start = np.where(held[:, None], start, y)
    at_end = (r.lower_multipliers > start - c.low) | (r.upper_multipliers > c.high - start)
    found = polish(c, start, r.multipliers, at_end)
    return found.y, np.flatnonzero(found.residual > SHARP_RESIDUAL)
