"""The least measure of a ratio of two sums over many worlds, by programs of their difference.

Of N/D, D > 0, the measure is at most r where that of N - r D is at most 0: where D is the same in every world, and for
the worst also where it is not (``formulations.uncertainty.program_losses``). From a design of ratio r the difference is
made least; a design at which it is below 0 has a smaller ratio, and where none is, r is the least (Dinkelbach,
Management Science 13, 1967). What is made least is r + (N - r D) / D(u), which has the size of the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array
from formulations.uncertainty.measures import WORST
from solvers.linear import highs
from solvers.linear.linear_program import Result
from solvers.robust.masters.master import MASTER_CLOSE
from solvers.robust.masters.program_master import Cuts, Master, Measured

RATIO_STEPS = 30
"""Steps converge faster than linearly: a few do."""
CLOSED = 1e-10
"""A design whose ratio is smaller by no more, relative, is none that is better."""
RATIO_ROUNDED = 4e-16
"""Relative: what a ratio is off by in floats."""


def ratio_steps(
    master: Master, goal: Measured, under: Cuts, least_goal: Result, u: Array
) -> tuple[Result, Array | None, Measured]:
    """Make a ratio least: the result that bounds it, its design, and what was measured last.

    ``goal``: the measure of what is divided, of which ``least_goal`` and ``u`` are the least; ``under``: what divides.
    Raises CannotTake where a design has no ratio.
    """
    found, best = least_goal, u
    if not (under(u) @ u > 0.0).all():
        widest = Measured(lambda u: -under(u), WORST)
        master.cuts = [widest.cut(u)]
        found, there = master.least(widest, MASTER_CLOSE, master.solve)
        if there is None:
            return found, None, widest
        u = there
    for _ in range(RATIO_STEPS):
        divisor = under(u) @ u
        if not (divisor > 0.0).all():
            raise CannotTake("a ratio that has no value at a design")
        now, size = float(goal.weighing.value((goal.of(u) @ u) / divisor)), float(divisor.min())
        step = Measured(_difference(goal.of, under, now, size), goal.weighing)
        master.cuts = [step.cut(u)]
        found, there = master.least(step, MASTER_CLOSE, master.solve)
        if there is None:
            return found, None, step
        if step.value(there) >= now - CLOSED * abs(now):
            # of what has no divisor at all 0 / 0 is no ratio
            best = there if (under(there) @ there > 0.0).all() else u
            break
        best = u = there
    # of what is lost, rounding of the ratio itself is no part
    lost, divided_by = min(found.bound + RATIO_ROUNDED * abs(now) - now, 0.0) * size, under(u)
    # a design whose ratio is no greater divides by at least this, where it is the same in every world
    alike = bool((divided_by == divided_by[0]).all()) and now > 0.0
    known = max(least_goal.bound, 0.0) / now if alike else 0.0
    bound = now if lost == 0.0 else now + lost / max(_least_divisor(master, divided_by), known)
    return replace(found, bound=bound), best, step


def _difference(of: Cuts, under: Cuts, now: float, size: float) -> Callable[[Array], Array]:
    def forms(u: Array) -> Array:
        found = (of(u) - now * under(u)) / size
        found[:, -1] += now
        return np.asarray(found)

    return forms


def _least_divisor(master: Master, forms: Array) -> float:
    """A lower bound of what divides, over all designs and worlds; next to 0 where none is known."""
    if (master.low < 0.0).any():
        return math.ulp(0.0)
    row = master.wide(forms.min(axis=0))
    return max(highs.minimise(master.numbers().relaxed(), row).bound, 0.0) or math.ulp(0.0)
