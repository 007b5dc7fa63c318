"""Optima that many designs share, far from each other: which one is handed out, for many points that divide by sums.

The rule is that of ``solvers.geometric.programs.ties``. The goal times a tiny power of a form tells how far the
optimal designs reach along it. Where that is far, the goal times tiny powers of what ties go to, each less than the one
before, has the design of the tie rule as its optimum; these searches are those of the goal itself (``branch``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations import canonical as canon
from formulations.arithmetics.posynomial import Posynomial
from formulations.canonical import Array, Canonical
from formulations.problem import Goal
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from scenarios.question import Decision
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch
from solvers.geometric.programs.optimal_face import Solver
from solvers.geometric.programs.ties import NEXT, NUDGE, SETTLED_WIDTH

Bools = NDArray[np.bool_]
EVERYWHERE = math.log(1e30)
"""A stage that gives way to an earlier one may grow by any factor."""
TIED_GAP = NUDGE * SETTLED_WIDTH / 10
"""What a nudge has to show through."""


def reaching(c: Canonical, y: Array, solve: Solver, discrete: Mapping[int, Decision]) -> Bools:
    """Tell at which points the optimal designs reach far along some form; ``y``: an optimal design of each."""
    best, found = canon.values(c, y)[:, 0], np.zeros(len(y), bool)
    for form in c.forms:
        ends = []
        for sign in (1.0, -1.0):
            nudged = _goal_times_powers(c, sign * NUDGE * form)
            there = branch.search(nudged, solve, discrete, value_only=True, gap=TIED_GAP, start=y).y
            alike = np.abs(canon.values(c, there)[:, 0] - best) <= 10 * TIE
            ends.append(np.where(alike[:, None], there, y) @ form)
        found |= ends[1] - ends[0] > SETTLED_WIDTH
    return found


def by_rule(
    c: Canonical, y: Array, stages: Sequence[Goal], solve: Solver, discrete: Mapping[int, Decision]
) -> tuple[Canonical, Array, Bools]:
    """Search the designs that the tie rule wants, from optimal designs ``y``; ``stages``: what ties go to.

    Returns the problem with its goal nudged and one more variable for each stage, its optima, and where they are
    proved.
    """
    nudged, start = _with_stages(c, y, [g for g in stages if g.denominator.is_monomial])
    found = branch.search(nudged, solve, discrete, value_only=True, gap=TIED_GAP, start=start)
    return nudged, found.y, found.status == gp.OPTIMAL


def _with_stages(c: Canonical, y: Array, stages: Sequence[Goal]) -> tuple[Canonical, Array]:
    """Add one variable for each stage, above that stage's value; the goal times tiny powers of them."""
    count, n = y.shape
    more = tuple(f"least {g.name}" for g in stages)
    point = dict(zip(c.names, np.exp(y).T, strict=True))
    # a stage of numbers alone is one number for all points
    now = [np.log(np.broadcast_to(g.numerator(**point) / g.denominator(**point), (count,))) for g in stages]
    pairs = [
        (g.numerator, g.denominator * Posynomial({((name, 1.0),): 1.0}))
        for g, name in zip(stages, more, strict=True)
    ]
    names, wider = (*c.names, *more), ((0, 0), (0, len(more)))
    exponents, logc, ptr, _ = canon.tables(pairs, names, (count,))
    made = replace(
        c,
        names=names,
        exponents=np.concatenate([np.pad(c.exponents, wider), exponents]),
        logc=np.concatenate([c.logc, logc], axis=1),
        ptr=np.concatenate([c.ptr, c.ptr[-1] + ptr[1:]]),
        keys=(*c.keys, *(RowKey(name, "model") for name in more)),
        low=np.column_stack([c.low, *(x - EVERYWHERE for x in now)]),
        high=np.column_stack([c.high, *(x + EVERYWHERE for x in now)]),
        divisors=tuple(replace(d, base=np.pad(d.base, wider[1])) for d in c.divisors),
        forms=np.pad(c.forms, wider),
    )
    powers = NUDGE * NEXT ** np.arange(len(more))
    return _goal_times_powers(made, np.concatenate([np.zeros(n), powers])), np.column_stack([y, *now])


def _goal_times_powers(c: Canonical, powers: Array) -> Canonical:
    """Return the same problem with its goal times powers of the variables."""
    exponents = c.exponents.copy()
    exponents[: c.ptr[1]] += powers
    return replace(c, exponents=exponents)
