"""Ends that only a search has: how far beyond them a proof over many worlds looks, and what is held by them.

A decided quantity that neither the user nor mathematics ends has a box all the same (``formulations.evaluation.box``).
"Optimal" and "infeasible" are said of many worlds if a search far beyond these ends says so, as they are of one world
(``formulations.evaluation.farthest``). A design at such an end is not called "optimal".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from dse.system.arrays import Array, Bools
from formulations import evaluation
from formulations.evaluation import LARGEST_FLOAT, LEAST_FLOAT
from formulations.uncertainty.worlds import Worlds
from scenarios.question import Decision, Question
from solvers import boxes

AT_END = 1e-6
AT_LAST_FLOAT = 2.0
"""In logs: so near to the last float a search of a geometric program ends."""
WELL_BEFORE = 1e3
"""What improves by more than the gap over the last part of a search, as wide as this, improves for ever."""
NOT_ASKED = "lies at an end of the search box that the question does not state, so nothing is proved"


def farther(worlds: Worlds) -> Worlds:
    """Return the same worlds with the ends of the search far away."""
    return worlds.changed(evaluation.farthest)


def holds_whole(question: Question) -> bool:
    """Whether the end of a search may forbid or hold designs of whole numbers, which need not show."""
    return any(
        d.integer and (d.values is None or d.endless) and _ended_by_search(question, d)
        for d in question.decide
    )


def _ended_by_search(question: Question, d: Decision) -> bool:
    """Whether an end that only the search has stands before the user's own."""
    box = evaluation.box(question, d.name)
    low, high = box.searched
    return (low and not (d.minimum or 0.0) >= box.low) or (
        high and not (math.inf if d.maximum is None else d.maximum) <= box.high
    )


def held(question: Question, x: Mapping[str, float]) -> str:
    """Name the variables of a design that lie at an end of the search, the near one or the far one."""
    found = [*_ends_at(question, x), *_ends_at(evaluation.farthest(question), x)]
    return ", ".join(dict.fromkeys(name for name, _ in found))


def near_end(question: Question, name: str, x: Array) -> Bools:
    """Tell which values of a variable lie at an end that only a search has, the near one or the far one."""
    found = np.zeros(np.shape(x), bool)
    for asked in (question, evaluation.farthest(question)):
        box = evaluation.box(asked, name)
        for end, mine in zip((box.low, box.high), box.searched, strict=True):
            if mine:
                found |= np.abs(x - end) <= AT_END * end
    for last in (LEAST_FLOAT, LARGEST_FLOAT):
        found |= np.abs(np.log(x) - math.log(last)) <= AT_LAST_FLOAT
    return found


def any_near(question: Question, x: Mapping[str, Array]) -> Bools:
    """Tell which designs have a value at an end that only a search has."""
    return np.asarray(np.any([near_end(question, d.name, x[d.name]) for d in question.decide], axis=0))


def short_of(worlds: Worlds, x: Mapping[str, float]) -> Iterator[tuple[str, Worlds]]:
    """Go through the variables of a design that lie at a far end, each with the worlds that stop well before it."""
    for name, end in _ends_at(evaluation.farthest(worlds.nominal), x):
        yield name, worlds.changed(partial(_stopped, name, end))


def _stopped(name: str, end: float, question: Question) -> Question:
    """A question whose variable stops well before an end."""

    def stopped(d: Decision) -> Decision:
        if d.name != name:
            return d
        return replace(d, maximum=end / WELL_BEFORE) if end > 1 else replace(d, minimum=end * WELL_BEFORE)

    return replace(question, decide=tuple(map(stopped, question.decide)))


def _ends_at(question: Question, x: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Go through the variables of a design that lie at an end of the search, each with that end."""
    where = boxes.space(question)
    for name, low, high, own in zip(where.names, where.low, where.high, where.ends, strict=True):
        for end, mine in zip((low, high), own, strict=True):
            if mine and abs(x[name] - end) <= AT_END * end:
                yield name, float(end)
        # a geometric program goes as far as floats do
        for last, mine in zip((LEAST_FLOAT, LARGEST_FLOAT), own, strict=True):
            if mine and x[name] > 0 and abs(math.log(x[name]) - math.log(last)) <= AT_LAST_FLOAT:
                yield name, x[name]
