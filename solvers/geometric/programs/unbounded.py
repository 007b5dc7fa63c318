"""Does the objective keep falling for ever? A property of the exponents alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dse.system.arrays import Array, Bools
from formulations.canonical import Canonical
from formulations.problem import Variable
from solvers import side_by_side

FALLS = 1e-7
EDGE = 1e-6


def runaway(c: Canonical, variables: tuple[Variable, ...]) -> tuple[str, bool] | None:
    """Name of the variable that runs away, and whether it falls; None where none does. Of many points: at the first.

    A direction d in log variables along which no term of a limit grows and some term of the goal falls while none
    grows: the infimum is then not attained at a finite point. One small linear program, solved by the same kernel.
    """
    low = np.array([0.0 if v.real_low or _is_listed_by_user(v) else -1.0 for v in variables])
    high = np.array([0.0 if v.real_high or _is_listed_by_user(v) else 1.0 for v in variables])
    fixed = c.high[0] - c.low[0] < 1e-13
    low[fixed] = high[fixed] = 0.0
    present = np.isfinite(c.logc[0])
    a = c.exponents[present]
    goal = a[c.row_of_term[present] == 0].sum(0)
    steps = _direction(np.vstack([goal[None], a]).tobytes(), low.tobytes(), high.tobytes())
    if steps is None:
        return None
    step, found = max(zip(steps, variables, strict=True), key=lambda p: (not p[1].auxiliary, abs(p[0])))
    return found.name, step < 0.0


@lru_cache(maxsize=256)
def _direction(exponents: bytes, low: bytes, high: bytes) -> tuple[float, ...] | None:
    """Solve the linear program; remembered, since all points of a sweep share their exponents."""
    lo, hi = np.frombuffer(low)[None], np.frombuffer(high)[None]
    if not np.any(hi - lo > 0):
        return None
    a = np.frombuffer(exponents).reshape(-1, lo.size)
    r = side_by_side.solve(a, np.zeros((1, len(a))), np.arange(len(a) + 1), lo, hi)
    if r.status[0] != 0 or r.value[0] > -FALLS:
        return None
    return tuple(np.where(hi[0] - lo[0] > 0, r.y[0], 0.0).tolist())


def held_by_box(variables: Sequence[Variable], box: tuple[Array, Array], y: Array, pull: Array) -> Bools:
    """Which variables (N, n) at optima are held only by an end that is neither the user's nor the domain's own.

    ``box``: (N, n) each; ``pull`` (N, n): multipliers of the nearer ends.
    """
    return at_open_ends(variables, box, y) & (pull > FALLS) & (box[1] > box[0])


def at_open_ends(variables: Sequence[Variable], box: tuple[Array, Array], y: Array) -> Bools:
    """Which variables (N, n) are at an end that is neither the user's nor the domain's own, whatever holds them."""
    found = np.zeros(y.shape, bool)
    for i, v in enumerate(variables):
        if v.auxiliary or _is_listed_by_user(v):
            continue
        if not v.real_low and v.decision.minimum is None:
            found[:, i] |= y[:, i] - box[0][:, i] < EDGE
        if not v.real_high and v.decision.maximum is None:
            found[:, i] |= box[1][:, i] - y[:, i] < EDGE
    return found


def _is_listed_by_user(v: Variable) -> bool:
    """Tell whether the user listed the values one by one (powers go on for ever)."""
    return v.decision.values is not None and not v.decision.endless
