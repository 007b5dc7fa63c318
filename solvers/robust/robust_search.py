"""One design for many worlds, where no method here proves one best: a seeded search, with a bound by hindsight.

Differential evolution (Storn and Price, Journal of Global Optimization 11, 1997) looks for the design; the answer is
``feasible``. Whoever knew the world beforehand could do no worse in any of them, and a measure never falls where a loss
rises, so

    measure over worlds of the optimum of each world  ≤  least measure of one design for all worlds.

The left side is computed, with proof, of few worlds. A world that has no design proves that the question has
none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from formulations.grids import batch, divided
from formulations.problem import formulate
from formulations.tolerances import HOLDS
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.wanted import Wanted, reached
from formulations.uncertainty.worlds import Worlds
from results.solution import Status
from solvers import boxes
from solvers.certain import answer
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch
from solvers.outcome import Outcome
from solvers.robust.masters import ends
from solvers.robust.masters.robust_geometric import Found

Array = NDArray[np.float64]
WORLDS_TOGETHER = 1024
"""Worlds that are ratios of sums, whose optima are searched together: some 35 ms each."""
WORLDS, UNSTRUCTURED = 128, 16
"""Worlds of which each optimum is proved for the bound; the fewer where that takes boxes of intervals or SCIP."""
SEARCH_SEED = 0
GENERATIONS, POPULATION = 150, 40
WORST = 1e300
HALF_HELD = 0.5 * HOLDS
SOLVER = "differential evolution"


def minimise(wanted: Wanted, known: Mapping[str, float] | None = None) -> Found:
    """Search for the best design; ``feasible`` with its bound, or infeasible where one world proves it.

    ``known``: a design that another search found, which is taken in place of one of its own.
    """
    worlds, measure = wanted.worlds, wanted.measure
    assert isinstance(measure, Weighing), "a quantile may be exceeded in some worlds"
    hindsight, proved = _hindsight(worlds, measure)
    if proved is not None:
        return Found(proved)
    what = "measure" if worlds.nominal.objectives else "value"
    bound = f"bound: the {what} of the best design of each {worlds.word} by itself"
    if known is not None:
        return Found(Outcome(Status.FEASIBLE, known, hindsight, bound, SOLVER))
    x, tried = _evolved_design(wanted)
    if x is None:
        return Found(Outcome(Status.ERROR, solver=SOLVER, message=f"no design was found in {tried} trials"))
    text = f"searched without proof: {tried} designs evaluated in every {worlds.word}, seed {SEARCH_SEED}"
    text += "" if hindsight is None else f"; {bound}"
    outcome = Outcome(Status.FEASIBLE, x, hindsight, text, SOLVER)
    return Found(outcome, unweighed="the design is not proved best")


def _hindsight(worlds: Worlds, measure: Weighing) -> tuple[float | None, Outcome | None]:
    """The bound by hindsight (None: unknown), or the proof that there is no design."""
    levels = _bounds_of_ratios(worlds)
    problem = formulate(worlds.nominal)
    structured = problem.rows is not None or problem.program is not None or bool(problem.cases)
    left = np.flatnonzero(np.isnan(levels))
    if left.size > (WORLDS if structured else UNSTRUCTURED):
        if left.size == worlds.measured:
            return None, None
        # what all others have a bound for, one of these may have no design for
        left = left[:1]
    for i in map(int, left):
        found = answer(worlds.at(i), neighbours=False, brief=True)
        if found.status is Status.INFEASIBLE:
            text = f"no design meets all limits in {worlds.word} {i}: {found.certificate}"
            return None, Outcome(Status.INFEASIBLE, certificate=text, solver=found.solver)
        levels[i] = math.nan if found.bound is None else found.bound
    if not worlds.nominal.objectives or not np.isfinite(levels).all():
        return None, None
    return float(measure.value(levels, maximize=worlds.nominal.objectives[0].maximize)), None


def _bounds_of_ratios(worlds: Worlds) -> Array:
    """Return the bounds of worlds that are ratios of sums by one search of all; NaN where it closes none."""
    unknown = np.full(worlds.measured, np.nan)
    # no bound may rest on an end that only a search has
    some = ends.farther(worlds.some(np.arange(worlds.measured)))
    first = divided.structure(some.at(0)) if worlds.measured <= WORLDS_TOGETHER else None
    every = first and batch.of_question(first, some.every, (some.size,), divided.by_few_forms)
    made = every[0] if every and len(every) == 1 else None
    if made is None or made.problem.goal is None or not np.isfinite(made.arrays.logc).all():
        return unknown
    found = branch.search(made.arrays, gp.solve, value_only=True)
    return np.where(found.status == gp.OPTIMAL, made.problem.goal.to_user(found.bound), np.nan)


def _evolved_design(wanted: Wanted) -> tuple[dict[str, float] | None, int]:
    from scipy.optimize import differential_evolution

    where = boxes.space(wanted.worlds.nominal)
    best: tuple[float, dict[str, float] | None] = (math.inf, None)
    tried = 0

    def losses(z: Array) -> Array:
        nonlocal best, tried
        points = z.T if z.ndim == 2 else z[None]
        points = where.point(where.spread(where.low, where.high, points))
        found = reached(wanted, dict(zip(where.names, points.T, strict=True)))
        over = np.minimum(found.over(), WORST)
        goal = np.nan_to_num(wanted.sign * found.goal, nan=np.inf)
        tried += len(points)
        holds = over <= HALF_HELD
        if holds.any():
            k = int(np.where(holds, goal, np.inf).argmin())
            if goal[k] < best[0]:
                best = float(goal[k]), dict(zip(where.names, map(float, points[k]), strict=True))
        # what breaks a limit is worse than what does not, the worse the more
        level = np.where(
            holds, np.arctan(goal / (1.0 + abs(goal[np.isfinite(goal)]).max(initial=0.0))), 2.0 + over
        )
        return level if z.ndim == 2 else level[0]

    count = len(where.names)
    differential_evolution(
        losses, [(0.0, 1.0)] * count, rng=np.random.default_rng(SEARCH_SEED), maxiter=GENERATIONS,
        popsize=POPULATION // count + 4, vectorized=True, updating="deferred", polish=False, tol=1e-10,
    )  # fmt: skip
    return best[1], tried
