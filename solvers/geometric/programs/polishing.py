"""Sharpen nearly optimal points by Newton's method on the conditions of optimality of the true functions.

A gap of 1e-9 leaves the variables to 1e-4 or so; the limits that bind at the end of the kernel lead to the optimiser
itself. Rows may divide by sums. Points with the same binding limits go together.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Canonical
from formulations.grids.divided import take
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.formulas import FEASIBLE
from solvers.geometric.programs import newton
from solvers.geometric.programs.crossover import doubtful
from solvers.geometric.programs.newton import Slopes
from solvers.patterns import Rows, groups

POLISHING_STEPS = 5
FORCED = 1e-10
"""Multiplier of a limit that a design is sharpened along."""
ON_THE_BOX = 1e-12
SHARP_RESIDUAL = 1e-9
"""Residual at which a point is sharp."""
FITS = 1e-10
"""Residual at which limits that may bind are found to: the goals of ties weigh 1e-9 and more."""
UNCLEAR = 1e-5
"""A slack and a multiplier that are both smaller do not tell whether a limit binds."""
LOST = 1e-6
"""How far the goal may move where a design is sharpened, beside what the slack that it gives back is worth."""


@dataclass(frozen=True, slots=True)
class Polished(Rows):
    """Points ``y`` (N, n) and ``residual`` (N,): the largest slope of the Lagrangian function that is left, and the
    largest value of a row that should be 0.
    """  # noqa: D205

    y: Array
    multipliers: Array
    residual: Array


def polish(c: Canonical, y: Array, multipliers: Array, at_end: Bools) -> Polished:
    """Find the optimisers near ``y`` (N, n): rows with a multiplier above their slack hold with equality, ``at_end``
    variables stay.

    ``c``: of many points, with a row of coefficients for each. A point is y itself where Newton's method does not
    improve the residual, or leaves the feasible set.
    """  # noqa: D205
    f = canon.values(c, y)
    active = (multipliers > FORCED) & (multipliers > -f[:, 1:])
    free = ~at_end & (c.high - c.low > 1e-13)
    first = _held(c, y, active, free)
    # multiplier and slack of a limit that is hardly felt are both small: whether it holds is what fits better
    small = doubtful(-f[:, 1:], multipliers, UNCLEAR) & (first.residual > SHARP_RESIDUAL)[:, None]
    for held in (active | small, active & ~small):
        some = np.flatnonzero((held != active).any(1) & (first.residual > SHARP_RESIDUAL))
        if some.size:
            other = _held(take(c, some), y[some], held[some], free[some])
            fits = (other.residual < FITS) & (other.multipliers.min(1) >= 0)
            first.put(some[fits], other.take(fits))
    # giving back the granted slack moves the goal by the price of the limits
    change = canon.values(c, first.y)[:, 0] - f[:, 0]
    near = change < LOST + 2 * FEASIBLE * multipliers.sum(1)
    return Polished(
        np.where(near[:, None], first.y, y), first.multipliers, np.where(near, first.residual, np.inf)
    )


def ends_polished(c: Canonical, r: gp.Result, which: Indices) -> Array:
    """The optimisers near the ends ``which`` of restrictions, of the points that ``c`` is of."""
    y = r.y[which]
    at_end = (r.lower_multipliers[which] > y - c.low) | (r.upper_multipliers[which] > c.high - y)
    at_end[:, list(c.allowed)] = True
    return polish(c, y, r.multipliers[which], at_end).y


def _held(c: Canonical, y: Array, active: Bools, free: Bools) -> Polished:
    """Points with the rows ``active`` held and the variables ``free`` moving; as they are where none moves."""
    found = Polished(y.copy(), np.zeros(active.shape), np.zeros(len(y)))
    for which, kind in groups(np.concatenate([active, free], axis=1)):
        rows, moves = np.flatnonzero(kind[: active.shape[1]]), kind[active.shape[1] :]
        if moves.any():
            own = c if len(which) == len(y) else take(c, which)
            found.y[which], found.multipliers[np.ix_(which, rows)], found.residual[which] = newton.settled(
                gp.terms(own.exponents, own.logc, own.ptr), own.low, own.high, y[which], rows, moves,
                POLISHING_STEPS, divided=own, holds=partial(_inside, own),
            )  # fmt: skip
    return found


def _inside(c: Canonical, each: Indices, y: Array, s: Slopes) -> Bools:
    """Which points are in the box and break no limit."""
    within = (y >= c.low[each] - ON_THE_BOX) & (y <= c.high[each] + ON_THE_BOX)
    return np.asarray(within.all(1) & (s.values.max(1, initial=-np.inf) <= FEASIBLE))
