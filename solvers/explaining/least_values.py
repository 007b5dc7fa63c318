"""The value of one limit that makes a question without rows feasible, all others kept: its least value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Codes
from formulations import evaluation
from formulations.grids import divided
from formulations.row_keys import RowKey
from scenarios.question import Decision, Objective, Question, has_asked_gaps
from solvers import boxes
from solvers.mechanisms.sensitivity import with_limit
from solvers.mechanisms.why import relaxation_factor
from solvers.nonlinear import methods, search
from solvers.outcome import FAILED, OPTIMAL

Least = Callable[[Question, int], tuple[Codes, Array]]


def feasible_values(question: Question, count: int, name: str, least: Least) -> Array:
    """Return the values of one limit that would make a question at N points feasible with all others kept.

    Infinite where none does, NaN where that is not known. ``least`` minimises the objective of a question at so many
    points: how each search ended, and the least values. Of a limit with two ends that counts which has to give less. A
    variable's bound is first moved with its whole numbers, powers or listed values kept; only where none of them does,
    it may have any value: between its bounds, else the nearest one beyond them.
    """
    found, left = np.full(count, np.inf), np.arange(count)
    for together in _relaxations(question, name):
        if not left.size:
            break
        of = divided.at(question, left)
        value, gives = np.full((2, left.size), np.inf)
        open_ones = np.zeros(left.size, bool)
        for relaxed, goal in together:
            status, level = least(replace(divided.at(relaxed, left), objectives=(goal,)), left.size)
            open_ones |= status == FAILED
            factor = relaxation_factor(of, name, level)
            nearer = (status == OPTIMAL) & ((factor < gives) | np.isinf(value))
            value, gives = np.where(nearer, level, value), np.where(nearer, factor, gives)
        found[left] = np.where(open_ones, np.nan, value)
        left = left[np.isinf(found[left])]
    return found


def least_by_intervals(
    question: Question, count: int, most: int = methods.SHORT_SEARCH
) -> tuple[Codes, Array]:
    """Minimise the objective at N points by a search over at most so many intervals (see ``feasible_values``)."""
    found = search.minimise(question, boxes.spaces(question, count), most)
    value, met = np.full(count, np.nan), np.flatnonzero(found.status == OPTIMAL)
    if met.size:
        value[met] = at_designs(divided.at(question, met), found.x[met])
    return found.status, value


def at_designs(question: Question, x: Array) -> Array:
    """Return the objective of a question at the designs x (N, decided), one of each of its points."""
    named = {d.name: x[:, j] for j, d in enumerate(question.decide)}
    value = evaluation.objective(question, named, evaluation.metrics(question, named))
    return np.broadcast_to(np.asarray(value, float), len(x))


def _relaxations(question: Question, name: str) -> list[list[tuple[Question, Objective]]]:
    """Questions with one side of the limit open, each with what then measures how far it has to move.

    Those of the sides stand together, of which any will do; what follows is for where none of these does.
    """
    low, high = evaluation.bounds(question).get(name, (None, None))
    sides = [
        (with_limit(question, RowKey(name, side), None), Objective(name, maximize=side == "min"))
        for side, end in (("max", high), ("min", low))
        if end is not None
    ]
    out = [sides]
    for i, d in enumerate(question.decide):
        if d.name == name and has_asked_gaps(d):
            for free, goal in without_gaps(d):
                decide = (*question.decide[:i], free, *question.decide[i + 1 :])
                out.append([(replace(question, decide=decide), goal)])
    if any(own.name == name for own in question.model.limits):
        out.append([(replace(question, waive=question.waive | {name}), Objective(name))])
    return out


def without_gaps(d: Decision) -> Iterator[tuple[Decision, Objective]]:
    """Go through a variable with any value between its ends, then beyond its upper end, and then below its lower one.

    Each with what then is to be best: the value that is nearest to what was asked.
    """
    low, high = d.minimum, d.maximum
    if d.values is not None and not d.endless:
        low, high = (d.values[0] if low is None else low), (d.values[-1] if high is None else high)
    free = replace(d, integer=d.count, values=None, minimum=low, maximum=high)
    yield free, Objective(d.name)
    if high is not None:
        yield replace(free, maximum=None), Objective(d.name)
    if low is not None:
        yield replace(free, minimum=None), Objective(d.name, maximize=True)
