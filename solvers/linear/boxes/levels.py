"""Between what the factors of limits on products lie: limits A B <= 1 on two ratios of affine forms.

With a level t such a limit is A t <= 1 and B <= t (``formulations.programs.program.limits``), and a program has it.
Branch and bound over levels finds the optimum (``solvers.linear.boxes.program_boxes``): a budget of energy times time,
say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array
from formulations import evaluation
from formulations.programs.program import LEVEL, Program, of_products
from formulations.row_keys import RowKey
from results.solution import Status
from scenarios.question import Question
from solvers.linear import milp, programs
from solvers.linear.linear_program import ratio_at

LEAST_END = 1e-300
"""Where what has no least end above 0 begins."""
WIDEST = 1e-6
"""Part of a level below which a box is cut near its upper end."""


def ends(question: Question) -> dict[str, tuple[float, float]]:
    """Return the levels of limits on products by their names: from the least B to 1 over the least A.

    Empty where there are no such limits, or some A may be as small as any number. Raises NotPosynomial where something
    else is not affine.
    """
    found = {}
    for name, p in of_products(evaluation.nearest(question)).items():
        divisible = replace(p, integer=np.zeros_like(p.integer), others=())
        one, other = (
            _least(replace(divisible, goal=goal, under=under))
            for goal, under in (milp.objective(p), p.others[0][:2])
        )
        if one <= 0.0:
            return {}
        low = max(other, LEAST_END)
        # where the other limits allow none there is none at any level
        found[name] = (low, max(1.0 / one, low)) if max(one, other) < math.inf else (1.0, 1.0)
    return found


def at_design(p: Program, u: Array, names: Sequence[str], low: Array, high: Array) -> tuple[Array, Array]:
    """Return between which levels limits on products, by their names, hold at a design u: B, and 1 over A.

    ``p``: the program of a box of levels from ``low`` to ``high``, which has A at the former and B at the latter.
    """
    rows = {key: ratio_at(p.numerators[i], p.denominators[i], u) for i, key in enumerate(p.keys) if key}
    least = high * [float(rows[RowKey(n, LEVEL)]) for n in names]
    most = low / [float(rows[RowKey(n, "max")]) for n in names]
    return np.asarray(least), np.asarray(most)


def _least(p: Program) -> float:
    """A bound of the ratio that a program without whole numbers makes least, wherever the search for it ends.

    Infinite where there is no design, 0 where no bound is certain.
    """
    settled = programs.optimise(p, ties=False)
    if settled.outcome.status is Status.INFEASIBLE:
        return math.inf
    if settled.best is None or not programs.is_bound_of_all(replace(p, high=p.endless), settled.best):
        return 0.0
    return settled.best.bound
