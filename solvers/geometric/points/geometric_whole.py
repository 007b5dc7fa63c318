"""Geometric programs with one discrete variable, for many points at once.

The least value at a fixed logarithm of that variable is a convex function of it. So the best allowed value is a
neighbour of the best of all, and one cut between the two neighbours leaves two geometric programs whose bounds
together are the bound: branch and bound that ends after one branching. Where it does not (a cut whose optimum is not at
the cut), the point is left to the search for a single question.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from formulations.grids.batch import Batch
from formulations.tolerances import TIE
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_terms import Array
from solvers.geometric.programs import optimal_face
from solvers.geometric.programs.crossover import crossover
from solvers.geometric.programs.nodes import values_beside
from solvers.geometric.programs.optimal_face import Stages
from solvers.patterns import Bools

EQUAL_OPTIMUM = 3e-9
"""How far (in logs) the design handed out may lie above the best: a tie, and the slack of two solves."""


def settled(rule: Stages, points: NDArray[np.intp], relaxed: gp.Result) -> tuple[Array, Array, Bools, Bools]:
    """Return design and bound (logs) of ``points`` by the tie rule, and for which of them that is certain.

    And which have no design with an allowed value. ``relaxed``: their optima if the variable were continuous.
    """
    batch = rule.batch
    v = batch.discrete
    assert v is not None, "a batch with a discrete variable"
    low, high = batch.low[points], batch.high[points]
    first = optimal_face.choose(rule, points, relaxed)
    y, sure = first.y, first.sure
    below, above = values_beside(batch.arrays.allowed[v], y[:, v], low[:, v], high[:, v])
    cut = above - below > 1e-13
    none = cut.copy()
    values, bounds = np.full((2, points.size), np.inf), np.full((2, points.size), np.inf)
    neighbour = [below, above]
    some = np.flatnonzero(cut)
    for side in (0, 1):
        ends = [low[some].copy(), high[some].copy()]
        ends[1 - side][:, v] = neighbour[side][some]
        r = rule.solve(batch.table.exponents, batch.table.logc[points[some]], batch.table.ptr, *ends)
        sure[some] &= r.status != gp.FAILED
        none[some] &= r.status == gp.INFEASIBLE
        good = r.status == gp.OPTIMAL
        values[side, some[good]], bounds[side, some[good]] = r.value[good], r.bound[good]
    sure &= ~cut | np.isfinite(values).any(0)
    chosen = np.where(cut & (values[1] < values[0]), above, below)
    with np.errstate(invalid="ignore"):  # neither has a design
        alike = np.flatnonzero(sure & cut & (np.abs(values[0] - values[1]) <= TIE))
    chosen[alike] = _by_rule(rule, points[alike], below[alike], above[alike])
    bound = np.where(cut, bounds.min(0), relaxed.bound)
    target = np.where(cut, values.min(0), relaxed.value)
    fixed = _fixed(batch, points, chosen)
    t = batch.table.take(points)
    r = rule.solve(t.exponents, t.logc, t.ptr, fixed.low[points], fixed.high[points])
    sure &= (r.status == gp.OPTIMAL) & (np.abs(r.value - target) <= EQUAL_OPTIMUM)
    at_it = dataclasses.replace(rule, batch=fixed)
    good = np.flatnonzero(sure)
    at = points[good]
    held, known = crossover(t.take(good), fixed.low[at], fixed.high[at], r.take(good))
    settled = optimal_face.choose(at_it, at, held)
    y[good] = settled.y
    sure[good] &= settled.sure & known
    y[:, v] = chosen
    return y, np.minimum(bound, r.value), sure, none


def _by_rule(rule: Stages, points: NDArray[np.intp], below: Array, above: Array) -> Array:
    """Which of two values that are equally good the tie rule prefers; the lower one if it does not mind."""
    found: list[tuple[Array, Bools]] = []
    t = rule.batch.table.take(points)
    for chosen in (below, above):
        at_it = dataclasses.replace(rule, batch=_fixed(rule.batch, points, chosen))
        low, high = at_it.batch.low[points], at_it.batch.high[points]
        r = rule.solve(t.exponents, t.logc, t.ptr, low, high)
        found.append((optimal_face.choose(at_it, points, r).y, r.status == gp.OPTIMAL))
    (first, met), (second, other) = found
    upper = other & (~met | optimal_face.precedes(rule, points, second, first))
    return np.where(upper, above, below)


def _fixed(batch: Batch, points: NDArray[np.intp], chosen: Array) -> Batch:
    """The same points with the discrete variable held."""
    v = batch.discrete
    low, high = batch.low.copy(), batch.high.copy()
    low[points, v] = high[points, v] = chosen
    return dataclasses.replace(batch, arrays=dataclasses.replace(batch.arrays, low=low, high=high))
