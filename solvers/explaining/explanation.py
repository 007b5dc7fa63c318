"""Elasticities, ranges and next changes: what stands beside an optimal design.

Where every design is tried, the next changes of all limits are found at once (``listed_changes``): a design counts for
a limit if it is better than the answer and breaks no other limit. The answer changes at the least value that such a
design needs of the limit, and goes to the best of those that need no more.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial, reduce

import numpy as np

from dse.names import some_of
from dse.system.arrays import Array
from formulations import evaluation
from formulations.problem import Problem
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS, NEXT_TO
from results.solution import LimitState, Solution, Status
from scenarios.define import composed
from scenarios.question import Limit, Objective, Question
from solvers import designs, enumeration, judgement, side_by_side
from solvers.designs import Grid, Table
from solvers.enumeration import ONE
from solvers.explaining import next_changes
from solvers.geometric.programs import kinks
from solvers.geometric.structured import Optimum
from solvers.judgement import Change
from solvers.mechanisms import conflicts
from solvers.mechanisms.sensitivity import with_limit
from solvers.nonlinear import methods
from solvers.outcome import ENUMERATION

MOST_LISTED_DESIGNS = 4_000_000
"""Designs that are looked through for it: every value of every menu, whatever the user's bounds on them."""

MOST_LIMITS_NAMED = 6
"""Limits that a sentence names."""
CLEAR_CHANGE = 1e-6
"""By how much of the objective a design has to be better where the slack of other limits buys a little, too."""


def explained(problem: Problem, solution: Solution, found: Optimum, neighbours: bool) -> Solution:
    """The solution with the sensitivities of its limits and parameters."""
    solution = dataclasses.replace(solution, ranges=found.ranges or {})
    if not problem.question.objectives or solution.status is not Status.OPTIMAL:
        return solution
    if not found.places and designs.free(problem.question):
        # whatever answered went another way
        problem = dataclasses.replace(problem, cases=())
    goals = [c.goal for c in (problem, *problem.cases) if c.goal is not None]
    if any(not goal.numerator.terms for goal in goals):
        return solution
    if any(v.discrete for v in problem.variables):
        return _with_next_changes(problem, solution) if neighbours else solution
    if not found.places and not all(_variable_values(solution).values()):
        # percent of nothing is not a rate
        return _noted(solution, "sensitivities are not known: a decided number is 0")
    judged = judgement.judge(problem.question, _variable_values(solution))
    told = kinks.of_places(judged, found.places) if found.places else kinks.without_structure(judged)
    differences = "differences tell them where nothing has a kink and the limits that bind explain the slope"
    why = "no finite multipliers of its limits were found" if found.places else differences
    unknown = "" if told.known[0] else f"sensitivities are not known: {why}"
    return _noted(told.beside(solution, 0), unknown or told.note(0))


def _noted(solution: Solution, note: object) -> Solution:
    """The solution whose certificate also says what is not known beside it, if anything."""
    text = f"{solution.certificate}; {note}"
    return dataclasses.replace(solution, certificate=text) if note else solution


def _variable_values(solution: Solution) -> dict[str, float]:
    return {n: float(v) for n, v in solution.variables.items()}


def _with_next_changes(problem: Problem, solution: Solution) -> Solution:
    """For whole-number problems: the limit value at which the answer next changes, and the objective there."""
    limits = dict(solution.limits)
    keys = _keys(problem.question)
    effort = next_changes.Effort()
    assert solution.objective is not None, "there is an objective"
    if solution.solver == ENUMERATION or (problem.rows is None and not problem.cases):
        listed, why = listed_changes(problem.question, solution.objective, keys), ""
        if listed is None and designs.free(problem.question):
            listed = changes_by_intervals(problem.question, solution, keys)
            why = "intervals tell it, in a short search, of limits that do not bind"
        elif listed is None:
            listed = searched_changes(problem.question, solution.objective, keys)
            why = "too many designs are left to look through"
        told = judgement.changed(solution, {evaluation.label(k, keys): v for k, v in listed.items()})
        return _without_next_changes(told, [evaluation.label(k, keys) for k in keys if k not in listed], why)

    def change(key: RowKey) -> Change | None:
        state = limits[evaluation.label(key, keys)]
        found = next_changes.next_change(problem, solution, state, key, effort)
        d = next((d for d in problem.question.decide if d.name == key.name and (d.integer or d.values)), None)
        if found is None or d is None:
            return found
        # searches end next to the value that it is
        near = found[0] * (1.0 + (NEXT_TO if key.side == "min" else -NEXT_TO))
        at = float(conflicts.allowed(d, key.side, np.array(near)))
        return (at, found[1]) if math.isclose(at, found[0], rel_tol=2 * NEXT_TO) else found

    found = side_by_side.run([partial(change, key) for key in keys])
    told = judgement.changed(
        solution, {evaluation.label(k, keys): v for k, v in zip(keys, found, strict=True)}
    )
    ended = [evaluation.label(k, keys) for k in keys if k in effort.ended]
    return _without_next_changes(told, ended, "no search for it was begun, or ended with a proof")


def _without_next_changes(solution: Solution, labels: Sequence[str], why: str) -> Solution:
    """The solution with what it does not say of limits, and why."""
    return _noted(
        solution,
        labels
        and f"where the answer next changes with {some_of(labels, MOST_LIMITS_NAMED)} is not known: {why}",
    )


def _keys(question: Question) -> list[RowKey]:
    """The limits and bounds of the user, each side by itself, but for lower ones that nothing is below."""
    asked = evaluation.bounds(question)
    return [
        RowKey(n, side)
        for n, ends in asked.items()
        for side, end in zip(("min", "max"), ends, strict=True)
        if end or (end is not None and (side == "max" or composed.may_be_negative(question.model, n)))
    ]


def over_choices(others: Sequence[Question], solution: Solution) -> Solution | None:
    """Return the best choice's solution with the limits at which another choice is better before it changes itself.

    ``others``: the questions that the other choices leave. None where their designs are too many to be looked at.
    """
    assert solution.objective is not None, "the best choice has a design"
    for question in others:
        keys = _keys(question)
        listed = listed_changes(question, solution.objective, keys)
        if listed is None:
            listed = searched_changes(question, solution.objective, keys)
        if len(listed) < len(keys):
            return None
        told = {evaluation.label(k, keys): (k, v) for k, v in listed.items() if v is not None}
        goal = question.objectives[0]
        nearer = {
            n: v
            for n, (k, v) in told.items()
            if n in solution.limits and _is_nearer(v, solution.limits[n], k.side, goal)
        }
        solution = judgement.changed(solution, nearer)
    return solution


def _is_nearer(found: Change, known: LimitState, side: str, goal: Objective) -> bool:
    """Whether a limit reaches this change before the one told, or one as near with a better objective."""
    if known.next_change is None or known.next_objective is None:
        return True
    if abs(found[0] - known.next_change) > HOLDS * abs(known.next_change):
        return (found[0] < known.next_change) == (side == "max")
    return (found[1] > known.next_objective) == goal.maximize


def listed_changes(
    question: Question, now: float, keys: Sequence[RowKey]
) -> dict[RowKey, Change | None] | None:
    """Return the next change of each limit of a question whose optimum is ``now``; None where designs are too many.

    In the user's sense and SI units. A limit that no better design needs has none.
    """
    every = designs.beyond_bounds(question)
    if every is None or every.size > MOST_LISTED_DESIGNS:
        return None
    return _changes_among(every, question, now, keys)


def searched_changes(question: Question, now: float, keys: Sequence[RowKey]) -> dict[RowKey, Change | None]:
    """Return the same of a question of so many designs that intervals have to leave some out."""
    goal, step = question.objectives[0], question.gap * abs(now)
    end = now + step if goal.maximize else now - step
    better = Limit(goal.name, minimum=end) if goal.maximize else Limit(goal.name, maximum=end)
    opened = [with_limit(question, key, None) for key in keys]
    # in the terms of ``boxes.enclose``
    target = evaluation.to_minimise(question, end)
    found: dict[RowKey, Change | None] = {}
    for key, free, every in zip(
        keys, opened, designs.each_without(question, keys, opened, target), strict=False
    ):
        if every.size > enumeration.MOST_ENUMERATED:
            continue
        aim = Objective(key.name, maximize=key.side == "min")
        asked = dataclasses.replace(free, limits=(*free.limits, better), objectives=(aim,))
        found |= _changes_among(enumeration.promising(asked, every)[0], question, now, [key])
    return found


def changes_by_intervals(
    question: Question, solution: Solution, keys: Sequence[RowKey]
) -> dict[RowKey, Change | None]:
    """Return the same where a real number is decided beside discrete ones, of the limits of which intervals tell it.

    Of a product programs tell first whether anything is better without the limits that do not bind. A limit with room
    next lets in what is better than the answer at the least value that such a design has. With one that binds the
    objective moves at once, and what of that is another choice no search for one design tells.
    """
    goal, now = question.objectives[0], solution.objective
    assert now is not None, "there is an objective"
    step = max(CLEAR_CHANGE, question.gap) * abs(now)
    if not step:
        return {}
    better = Limit(goal.name, minimum=now + step) if goal.maximize else Limit(goal.name, maximum=now - step)
    loose = [key for key in keys if not solution.limits[evaluation.label(key, keys)].binding]
    if loose and _is_best_product(reduce(lambda q, key: with_limit(q, key, None), loose, question), better):
        return dict.fromkeys(loose)
    found: dict[RowKey, Change | None] = {}
    for key in loose:
        free = with_limit(question, key, None)
        if len(loose) > 1 and _is_best_product(free, better):
            found[key] = None
            continue
        aim = Objective(key.name, maximize=key.side == "min")
        asked = dataclasses.replace(free, limits=(*free.limits, better), objectives=(aim,))
        least = methods.short_answer(asked)
        if least is not None and least.status is Status.INFEASIBLE:
            found[key] = None
        elif least is not None and least.status is Status.OPTIMAL and least.x is not None:
            value = float(evaluation.objective(asked, least.x, evaluation.metrics(asked, least.x)))
            away = value - solution.limits[evaluation.label(key, keys)].bound
            if (away if key.side == "max" else -away) <= 0.0:
                # what fits the limit as it is would be better today
                continue
            there = methods.short_optimum(with_limit(question, key, value))
            if there is not None and there.x is not None and _is_other_choice(question, there.x, solution):
                moved = with_limit(question, key, value)
                found[key] = (
                    value,
                    float(evaluation.objective(moved, there.x, evaluation.metrics(moved, there.x))),
                )
    return found


def _is_best_product(free: Question, better: Limit) -> bool:
    """Whether programs prove that without some limits no product is as good as what is ``better`` than the answer."""
    found = methods.answered_as_product(free)
    return (
        found is not None
        and found.status is Status.OPTIMAL
        and found.bound is not None
        and better.maximum is not None
        and found.bound > better.maximum
    )


def _is_other_choice(question: Question, x: Mapping[str, float], solution: Solution) -> bool:
    discrete = [d.name for d in question.decide if d.integer or d.values is not None]
    return any(x.get(n) != solution.variables[n] for n in discrete)


def _changes_among(
    every: Grid, question: Question, now: float, keys: Sequence[RowKey]
) -> dict[RowKey, Change | None]:
    """The next change of each limit, of these designs."""
    below = question.sign * now - question.gap * abs(now)
    kept = {key: np.empty((2, 0)) for key in keys}
    for part in enumeration.parts(question, every, 1):
        for key, found in _changes_by_limit(part, keys, below):
            kept[key] = _nearest(np.concatenate([kept[key], found], axis=1))
    return {key: _change(found, key, question.sign) for key, found in kept.items()}


def _changes_by_limit(t: Table, keys: Sequence[RowKey], below: float) -> list[tuple[RowKey, Array]]:
    """Return for each limit what better designs that break no other need of it (signed), and what they reach."""
    shape = (1, t.size)
    at = enumeration.metrics(t, t.question, ONE)
    goal = enumeration.full(enumeration.minimised(t, at), shape)[0]
    better = goal < below
    if not better.any():
        return []
    with np.errstate(all="ignore"):
        ratios = evaluation.ratios(t.question, t.x, at)
    broken = {k: ~(enumeration.full(r, shape)[0] <= 1 + HOLDS) for k, r in ratios.items()}
    count = np.sum(list(broken.values()), axis=0) if broken else np.zeros(t.size)
    found = []
    for key in keys:
        some = better & (count - broken[key] == 0)
        if some.any():
            value = enumeration.full(at[key.name] if key.name in at else t.x[key.name], shape)[0][some]
            found.append((key, np.stack([value if key.side == "max" else -value, goal[some]])))
    return found


def _nearest(found: Array) -> Array:
    """Return those that need no more of a limit than the least, within what a limit is granted."""
    least = found[0].min()
    return found[:, found[0] <= least + HOLDS * abs(least)]


def _change(found: Array, key: RowKey, sign: float) -> Change | None:
    if not found.size:
        return None
    value = float(found[0].min())
    return (value if key.side == "max" else -value), sign * float(found[1].min())
