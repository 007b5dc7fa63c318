"""Search without proof, for what no other method here can answer: Optuna's NSGA-II, then a local search.

Says what it did (trials, seed) and never claims an optimum. The bound is what intervals prove over the whole
box: weak, but a bound.
"""

from __future__ import annotations

import numpy as np
import optuna

from results.solution import Status
from scenarios.question import Question
from solvers import boxes, descent
from solvers.boxes import FEASIBLE, Array, Space
from solvers.outcome import Outcome

SOLVER = "Optuna NSGA-II"
TRIALS = 2000
POPULATION = 50


def solve(question: Question, *, trials: int = TRIALS, seed: int = 0) -> Outcome:
    """Look for a good design with a seeded sampler.

    The outcome is ``feasible``, or ``error`` where none was found.

    ``infeasible`` only where interval arithmetic proves it before the search begins.
    """
    where = boxes.space(question)
    kept = boxes.tighten(question, where)
    if kept is None:
        text = "interval arithmetic: no part of the box can meet all limits"
        return Outcome(Status.INFEASIBLE, certificate=text, solver="interval arithmetic")
    x, worst = _searched(question, where, kept, trials, seed)
    better = descent.descend(question, where, x)
    if better is not None:
        held, goal = boxes.measured(question, np.stack([x, better]))
        if held[1] <= 1 + FEASIBLE and not (held[0] <= 1 + FEASIBLE and goal[0] <= goal[1]):
            x, worst = better, float(held[1])
    effort = f"{trials} trials of {SOLVER}, seed {seed}, and a local search"
    if not worst <= 1 + FEASIBLE:
        return Outcome(Status.ERROR, solver=SOLVER, message=f"no design that meets all limits in {effort}")
    point = dict(zip(where.names, map(float, x), strict=True))
    text = f"no proof of optimality: {effort}"
    return Outcome(Status.FEASIBLE, point, _bound(question, kept), text, SOLVER)


def _bound(question: Question, kept: tuple[Array, Array]) -> float | None:
    """Return what intervals prove about the objective over the box that the limits leave."""
    if not question.objectives:
        return None
    low = float(boxes.enclose(question, kept[0][None], kept[1][None]).low[-1, 0])
    if not np.isfinite(low) or (question.objectives[0].maximize and low <= 0):
        return None
    return 1.0 / low if question.objectives[0].maximize else low


def _searched(
    question: Question, where: Space, kept: tuple[Array, Array], trials: int, seed: int
) -> tuple[Array, float]:
    """Run the sampler.

    Return its best design (the least violating one if none holds) and its largest ratio.
    """
    tried: list[Array] = []

    def objective(trial: optuna.Trial) -> float:
        x = np.array([_suggested(trial, where, j, *kept) for j in range(len(where.names))])
        worst, goal = boxes.measured(question, x[None])
        excess = float(np.nan_to_num(worst[0], nan=1e300, posinf=1e300, neginf=-1.0)) - 1 - FEASIBLE
        trial.set_constraint("limits", excess)
        tried.append(x)
        return float(np.nan_to_num(goal[0], nan=1e300, posinf=1e300))

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=trials)
    finally:
        optuna.logging.set_verbosity(before)
    worst, goal = boxes.measured(question, np.array(tried))
    held = worst <= 1 + FEASIBLE
    i = int(np.argmin(np.where(held, goal, np.inf))) if held.any() else int(np.nanargmin(worst))
    return tried[i], float(worst[i])


def _suggested(trial: optuna.Trial, where: Space, j: int, low: Array, high: Array) -> float:
    """Suggest a value of one variable, SI, spread evenly in its logarithm."""
    allowed, name = where.values[j], where.names[j]
    if allowed is not None:
        inside = allowed[(allowed >= low[j]) & (allowed <= high[j])]
        return float(inside[trial.suggest_int(name, 0, len(inside) - 1)])
    if low[j] == 0:
        share = np.full(len(low), trial.suggest_float(name, 0.0, 1.0))
        x = float(where.spread(low, high, share)[j])
        return float(round(x)) if where.integer[j] else x
    if where.integer[j]:
        return float(trial.suggest_int(name, int(low[j]), int(high[j]), log=True))
    return float(np.exp(trial.suggest_float(name, float(np.log(low[j])), float(np.log(high[j])))))
