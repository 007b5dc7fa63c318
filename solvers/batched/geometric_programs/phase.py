"""Where the interior-point iteration of one point stands: its phase, slacks, and their products with multipliers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from solvers.batched.geometric_programs.compiled import compiled
from solvers.batched.geometric_programs.rows import Room


class Phase(NamedTuple):
    """What an iteration carries beside its arrays.

    ``weight``: of the objective (0: phase one); ``rho``: of t; ``stage``: 0 first go, 1 phase one, 2 after it;
    ``short``: steps since the last good one; ``age``: iterations in this mode; ``cautious``: monotone barrier, with
    its parameter ``target``; ``slight``: a proved miss of the limits too small to count.
    """

    t: float
    rho: float
    weight: float
    elastic: bool
    stage: int
    short: int
    age: int
    cautious: bool
    target: float
    slight: float


@compiled
def slacks(w: Any, r: Room, F: int, y: int, t: float, lo: Any, hi: Any, S: int) -> None:
    """Put the true slacks of all inequalities to S; 1 for those that do not exist."""
    for k in range(r.m):
        w[S + k] = t - w[F + k + 1] if w[r.on + k] > 0 else 1.0
    w[S + r.m] = t if w[r.on + r.m] > 0 else 1.0
    lower = r.m + 1
    for v in range(r.n):
        fixed = w[r.on + lower + v] == 0
        w[S + lower + v] = 1.0 if fixed else w[y + v] - lo[v]
        w[S + lower + r.n + v] = 1.0 if fixed else hi[v] - w[y + v]


@compiled
def greatest_limit(w: Any, r: Room) -> float:
    """Return the greatest of the limits that take part: above 0 one is broken."""
    greatest = -np.inf
    for k in range(r.m):
        if w[r.on + k] > 0:
            greatest = max(greatest, w[r.F + k + 1])
    return greatest


@compiled
def recentre(w: Any, r: Room, mu: float) -> None:
    """Make all products of slack and multiplier alike."""
    for k in range(r.M):
        w[r.L + k] = mu / w[r.S + k] if w[r.on + k] > 0 else 0.0


@compiled
def products(w: Any, r: Room) -> tuple[float, float, float]:
    """Sum and greatest of slack times multiplier, and how many there are."""
    total, most, count = 0.0, 0.0, 0.0
    for k in range(r.M):
        if w[r.on + k] > 0:
            total += w[r.S + k] * w[r.L + k]
            most = max(most, w[r.S + k] * w[r.L + k])
            count += 1.0
    return total, most, max(count, 1.0)
