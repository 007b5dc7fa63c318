"""Geometric programs with one discrete variable, for many points at once.

The least value at a fixed logarithm of that variable is a convex function of it. So the best allowed value is a
neighbour of the best of all, and one cut between the two neighbours leaves two geometric programs whose bounds
together are the bound: branch and bound that ends after one branching. Where it does not (two values are equally good,
a cut whose optimum is not at the cut), the point is left to the search for a single question.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from formulations.batch import Batch
from solvers import gp
from solvers.batched import geometric_ties
from solvers.batched.geometric_conflicts import neighbours
from solvers.batched.geometric_ties import Bools, Stages
from solvers.gp_terms import Array

APART = 1e-8
"""Two values whose objectives differ by less (in logs) may both be optimal: the tie rule has to look at them."""
SAME = 1e-9


def settled(rule: Stages, points: NDArray[np.intp], relaxed: gp.Result) -> tuple[Array, Array, Bools]:
    """Return design and bound (logs) of ``points`` by the tie rule, and for which of them that is certain.

    ``relaxed``: their optima if the variable were continuous.
    """
    batch = rule.batch
    v = batch.discrete
    assert v is not None, "a batch with a discrete variable"
    low, high = batch.low[points], batch.high[points]
    y, sure = geometric_ties.choose(rule, points, relaxed)
    below, above = neighbours(batch.problem.variables[v].decision, y[:, v], low[:, v], high[:, v])
    cut = above - below > 1e-13
    values, bounds = np.full((2, points.size), np.inf), np.full((2, points.size), np.inf)
    at = [below, above]
    some = np.flatnonzero(cut)
    for side in (0, 1):
        ends = [low[some].copy(), high[some].copy()]
        ends[1 - side][:, v] = at[side][some]
        r = rule.solve(batch.table.exponents, batch.table.logc[points[some]], batch.table.ptr, *ends)
        sure[some] &= r.status != gp.FAILED
        good = r.status == gp.OPTIMAL
        values[side, some[good]], bounds[side, some[good]] = r.value[good], r.bound[good]
    with np.errstate(invalid="ignore"):  # neither has a design
        sure &= ~cut | (np.abs(values[0] - values[1]) > APART)
    chosen = np.where(cut & (values[1] < values[0]), above, below)
    bound = np.where(cut, bounds.min(0), relaxed.bound)
    target = np.where(cut, values.min(0), relaxed.value)
    fixed = _fixed(batch, points, chosen)
    t = batch.table.take(points)
    r = rule.solve(t.exponents, t.logc, t.ptr, fixed.low[points], fixed.high[points])
    sure &= (r.status == gp.OPTIMAL) & (np.abs(r.value - target) <= SAME + np.abs(target) * SAME)
    at_it = dataclasses.replace(rule, batch=fixed)
    good = np.flatnonzero(sure)
    y[good], ok = geometric_ties.choose(at_it, points[good], geometric_ties.taken(r, good))
    sure[good] &= ok
    y[:, v] = chosen
    return y, np.minimum(bound, r.value), sure


def _fixed(batch: Batch, points: NDArray[np.intp], chosen: Array) -> Batch:
    """The same points with the discrete variable held."""
    v = batch.discrete
    low, high = batch.low.copy(), batch.high.copy()
    low[points, v] = high[points, v] = chosen
    return dataclasses.replace(batch, low=low, high=high)
