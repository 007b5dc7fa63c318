"""Designs that attain the least value of a limit, of programs that are not convex: what the goal can be among them.

In logs a row is F = log sum_p - log sum_q, sums of exponentials of those variables that enter it, x. Its second
derivatives are variances of the exponents, each term counted by its share. Within a box around x a share changes by a
factor of exp(2 r) at most, if no term changes by more than exp(r), and so does the variance in every direction. So F is
convex there with

    lambda = least eigenvalue of  exp(-2 r_p) Var_p - exp(2 r_q) Var_q,

and where F falls at x by no more than e in any direction that the box allows, what is at most F(x) + d lies no farther
away than  (e + sqrt(e^2 + 2 lambda d)) / lambda.  All that attain the least value have then the same x.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.system.arrays import Array
from formulations import canonical as canon
from formulations.canonical import Canonical
from formulations.grids.divided import take
from solvers.geometric.programs import branch
from solvers.geometric.programs.optimal_face import Solver
from solvers.geometric.programs.tree import ALIKE_NODES

ATTAINED_GAP = 2e-7
"""In logs, of the goal: that of a search among designs that attain a limit."""
SAME_LEVEL = 4e-14
"""In logs: a limit and its least value that differ by no more are the same number."""
NO_EXPONENT = 1e-12
"""An exponent that is no larger is none."""
AT_A_SIDE = 1e-12
"""In logs: a variable that is no farther from an end of the box is there."""


def bound(goal: Canonical, least: Canonical, y: Array, low: Array, high: Array, solve: Solver) -> Array:
    """In logs, the least of the goal of all designs that attain the least value; minus infinity where it is not known.

    ``goal``, ``least``: the same limits with the goal, and with the limit's own metric, as the first row. ``y`` (N, n):
    designs that attain it; ``low``, ``high`` (N, n): between which all lie that do.
    """
    found = np.full(len(y), -np.inf)
    sums, there = _sums(least), _sums(goal)
    if sums is None or there is None:
        return found
    # what enters all terms alike, above and below, cancels
    common = sums[0][0][:1] - sum((a[:1] for a, _ in sums[1:]), np.zeros_like(sums[0][0][:1]))
    apart = np.concatenate([*(a - a[:1] for a, _ in sums), common])
    enters = (np.abs(apart) > NO_EXPONENT).any(0)
    over = np.maximum(-canon.values(least, y)[:, 0], 0.0)
    far = np.array(
        [
            _radius(
                [(a[:, enters], logc[min(i, len(logc) - 1)]) for a, logc in sums],
                y[i, enters],
                (low[i, enters], high[i, enters]),
                (least.low[i, enters], least.high[i, enters]),
                over[i] if over[i] > SAME_LEVEL else 0.0,
            )
            for i in range(len(y))
        ]
    )
    # designs that are worse than the best by more were not kept
    own = np.flatnonzero(np.isfinite(far) & (over <= ALIKE_NODES / 2))
    if own.size:
        c = take(goal, own)
        c = replace(
            c, low=np.where(enters, y[own], c.low), high=np.where(enters, y[own], c.high), tighter=None
        )
        r = branch.search(c, solve, value_only=True, gap=ATTAINED_GAP)
        steepest = sum(float(np.linalg.norm(a[:, enters], axis=1).max(initial=0.0)) for a, _ in there)
        found[own] = r.bound - steepest * far[own]
    return found


def _sums(c: Canonical) -> list[tuple[Array, Array]] | None:
    """The exponents (K, n) and logarithms of the coefficients (N, K) of the sums of the first row; None of others."""
    first = slice(int(c.ptr[0]), int(c.ptr[1]))
    found = [(c.exponents[first], c.logc[:, first])]
    for d in c.divisors:
        if d.row == 0:
            if d.part is not None:
                return None
            found.append((d.base + d.coordinates @ c.forms, np.atleast_2d(d.logc)))
    return found


def _radius(
    sums: list[tuple[Array, Array]],
    y: Array,
    hull: tuple[Array, Array],
    box: tuple[Array, Array],
    over: float,
) -> float:
    """How far from ``y`` a design of the ``hull`` lies at most whose row is no more than ``over`` above that at y."""
    far = np.maximum(np.abs(hull[0] - y), np.abs(hull[1] - y))
    slope, bend = np.zeros(y.size), np.zeros((y.size, y.size))
    for number, (a, logc) in enumerate(sums):
        sign = 1.0 if number == 0 else -1.0
        t = logc + a @ y
        share = np.exp(t - t.max())
        share /= share.sum()
        middle = share @ a
        spread = (a - middle).T @ (share[:, None] * (a - middle))
        change = 2.0 * float((np.abs(a) @ far).max(initial=0.0))
        if not change < 1.0:
            return np.inf
        slope += sign * middle
        bend += sign * np.exp(-sign * change) * spread
    at_low, at_high = y - box[0] <= AT_A_SIDE, box[1] - y <= AT_A_SIDE
    falls = np.where(
        at_low, np.maximum(-slope, 0.0), np.where(at_high, np.maximum(slope, 0.0), np.abs(slope))
    )
    free = far > 0
    if not free.any():
        return 0.0
    least = float(np.linalg.eigvalsh(bend[np.ix_(free, free)]).min())
    if least <= 0.0:
        return np.inf
    fall = float(np.linalg.norm(falls[free]))
    return float((fall + np.sqrt(fall * fall + 2.0 * least * over)) / least)
