"""Fronts that a sampler finds: the designs it tried that no other design it tried betters in all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fronts.front_grids import in_order
from dse.fronts.front_search import Front, undominated
from formulations import evaluation
from results.along_fronts import hypervolume
from results.solution import Solution, Status
from scenarios.question import Question
from scenarios.question import Search as Asked
from solvers.answer import answer
from solvers.certain import checked
from solvers.fronts.asking import at_level
from solvers.outcome import Outcome

if TYPE_CHECKING:
    from solvers.sampling.sampler import Found, Tried

Array = np.ndarray[Any, Any]
MOST_SAMPLED = 200
EQUAL_GOALS = 1e-9


def find(question: Question, points: int | None) -> Front:
    """Find the front of a question by its sampler: NSGA-II where it names none.

    ``points``: at most so many, spread as evenly as can be (default: at most 200). Raises StudyError.
    """
    from solvers.sampling import sampled, studies  # with Optuna, slow to import
    from solvers.sampling.trials import WORST_GOAL

    asked = question.search or Asked()
    found = studies.search(question, asked)
    compare = asked.compare and not question.model.black_box
    # what divides by zero somewhere has no place on a front of numbers
    held = [t for t in found.held if all(abs(g) < WORST_GOAL for g in t.score.goals)]
    if not held:
        proof = _certified(question, 0) if compare or found.empty else None
        return Front(question, refusal=sampled.nothing(question, found, proof), solves=found.trials)
    values = _signed(question, held)
    best = undominated(values, EQUAL_GOALS * np.abs(values))
    best = best if len(question.objectives) == 2 else in_order(best, values)
    chosen = _farthest_rows(values[best], points or MOST_SAMPLED)
    kept = [held[best[i]] for i in chosen]
    effort = sampled.effort(question, found, polished=False)
    method = f"{effort}; {len(best)} of {len(values)} designs within the limits are dominated by no other"
    if len(kept) < len(best):
        method += f", {len(kept)} of them shown"
    if compare:
        method += "".join(f"; {text}" for text in _distances(question, found))
    told = [_point(question, t, effort, found.solver) for t in kept]
    growth = (
        None
        if len(question.objectives) > hypervolume.MOST_OBJECTIVES
        else _growth(question, found, held, best)
    )
    return Front(
        question,
        tuple(s for s in told if s.status is Status.FEASIBLE),
        solves=found.trials,
        failed=found.failed,
        method=f"no proof: {method}",
        growth=growth,
    )


def _growth(
    question: Question, found: Found, held: Sequence[Tried], best: Sequence[int]
) -> hypervolume.Growth | None:
    """Return how the hypervolume grew, up to a little beyond the worst of the front that was found."""
    values = _signed(question, held)
    corner = hypervolume.reference(values[best])
    volumes = hypervolume.volumes(values, [t.trial for t in held], found.trials, corner)
    sign = [-1.0 if g.maximize else 1.0 for g in question.objectives]
    units = [evaluation.quantity(question.model, g.name).unit for g in question.objectives]
    return hypervolume.Growth(
        tuple(volumes.tolist()),
        {g.name: s * float(c) for g, s, c in zip(question.objectives, sign, corner, strict=True)},
        "*".join(u for u in units if u) or "1",
    )


def _certified(question: Question, which: int) -> Solution:
    """Answer for one of the objectives by a method that proves it."""
    asked = replace(question, objectives=(question.objectives[which],), search=None)
    return answer(asked, neighbours=False)


def _distances(question: Question, found: Found) -> list[str]:
    """Say of each objective how far its best design is from the certified optimum."""
    from solvers.sampling import sampled

    told = []
    for i, goal in enumerate(question.objectives):
        reached = [t.score.goals[i] for t in found.held]
        alone = replace(question, objectives=(goal,))
        best = max(reached) if goal.maximize else min(reached)
        words = sampled.distance(alone, best, _certified(question, i))
        told.append(f"{'greatest' if goal.maximize else 'least'} {goal.name} {words}")
    return told


def _signed(question: Question, tried: Sequence[Tried]) -> Array:
    """What is to be small, (designs, objectives)."""
    sign = np.array([-1.0 if g.maximize else 1.0 for g in question.objectives])
    return np.asarray(np.array([t.score.goals for t in tried]) * sign)


def _farthest_rows(values: Array, most: int) -> list[int]:
    """Choose at most so many rows: the best of each objective, then always the one farthest from all chosen."""
    if len(values) <= most:
        return list(range(len(values)))
    width = np.ptp(values, axis=0)
    at = (values - values.min(axis=0)) / np.where(width > 0, width, 1.0)
    chosen = list(dict.fromkeys(int(i) for i in at.argmin(axis=0)))[:most]
    far = np.min([np.abs(at - at[i]).max(axis=1) for i in chosen], axis=0)
    while len(chosen) < most:
        chosen.append(int(far.argmax()))
        far = np.minimum(far, np.abs(at - at[chosen[-1]]).max(axis=1))
    return sorted(chosen)


def _point(question: Question, tried: Tried, effort: str, solver: str) -> Solution:
    """A design as an answer: least first objective, the others limited to what they are there."""
    first, *others = question.objectives
    own = dict(zip((g.name for g in others), tried.score.goals[1:], strict=True))
    left = replace(tried.design.question, search=None, objectives=question.objectives)
    asked = at_level(left, first, own)
    text = f"no proof that no design is better: {effort}"
    found = checked(asked, Outcome(Status.FEASIBLE, tried.design.x, None, text, solver))
    return replace(found, variables={**tried.design.chosen, **found.variables})
