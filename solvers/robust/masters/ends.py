"""Ends that only a search has: how far beyond them a proof over many worlds looks, and what is held by them.

A decided quantity that neither the user nor mathematics ends has a box all the same (``formulations.evaluation.box``).
"Optimal" and "infeasible" are said of many worlds if a search far beyond these ends says so, as they are of one world
(``formulations.evaluation.farthest``). A design at such an end is not called "optimal".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from dse.system.arrays import Array, Bools
from formulations import evaluation
from formulations.evaluation import LARGEST_FLOAT, LEAST_FLOAT
from formulations.tolerances import HOLDS
from formulations.uncertainty.worlds import Worlds, judged
from scenarios.question import Decision, Question

AT_END = 1e-6
AT_LAST_FLOAT = 2.0
"""In logs: so near to the last float a search of a geometric program ends."""
WELL_BEFORE = 1e3
"""What improves by more than the gap over the last part of a search, as wide as this, improves for ever."""
FAR_BEYOND = (2.0**20, 2.0**60)
"""How far beyond an end it is looked whether a limit ends what seems to improve for ever."""
NOT_ASKED = "lies at an end of the search box that the question does not state, so nothing is proved"


def farther(worlds: Worlds) -> Worlds:
    """Return the same worlds with the ends of the search far away."""
    return worlds.changed(evaluation.farthest)


def holds_whole(question: Question) -> bool:
    """Whether the end of a search may forbid or hold designs of whole numbers, which need not show."""
    return any(d.integer and any(e is not None for e in _search_ends(question, d)) for d in question.decide)


def _search_ends(question: Question, d: Decision) -> tuple[float | None, float | None]:
    """The ends that only the search has, where they stand before the user's own; None elsewhere."""
    if d.values is not None and not d.endless:
        return None, None
    box = evaluation.box(question, d.name)
    own, (low, high) = evaluation.bounds(question)[d.name], box.searched
    return (
        box.low if low and not (own[0] or 0.0) >= box.low else None,
        box.high if high and not (math.inf if own[1] is None else own[1]) <= box.high else None,
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
    """Go through the variables of a design that lie at a far end, each with the worlds that stop well before it.

    One with an upper bound of the user's is not unbounded, however far out that is.
    """
    nominal = worlds.nominal
    ended = {name for name, (_, most) in evaluation.bounds(nominal).items() if most is not None}
    for asked in (*([nominal] if nominal.reach > 1.0 else []), evaluation.farthest(nominal)):
        for name, end in _ends_at(asked, x):
            if end < 1.0 or name not in ended:
                yield name, worlds.changed(partial(_stopped, name, end))


def ended_by_limits(worlds: Worlds, x: Mapping[str, float], name: str) -> bool:
    """Whether a limit is broken far beyond a design at an end, in the direction of ``name`` and with all at ends."""
    at_ends = {name, *(n for n, _ in _ends_at(evaluation.farthest(worlds.nominal), x))}
    return all(any(_broken_at(worlds, x, moved, by) for by in FAR_BEYOND) for moved in ({name}, at_ends))


def _broken_at(worlds: Worlds, x: Mapping[str, float], moved: Collection[str], by: float) -> bool:
    there = {n: (v * by if v >= 1.0 else v / by) if n in moved else v for n, v in x.items()}
    ratios = judged(worlds, there).ratios
    return any(bool((np.isfinite(r) & (r > 1.0 + HOLDS)).any()) for r in ratios.values())


def _stopped(name: str, end: float, question: Question) -> Question:
    """A question whose variable stops well before an end."""

    def stopped(d: Decision) -> Decision:
        if d.name != name:
            return d
        return replace(d, maximum=end / WELL_BEFORE) if end > 1 else replace(d, minimum=end * WELL_BEFORE)

    return replace(question, decide=tuple(map(stopped, question.decide)))


def _ends_at(question: Question, x: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Go through the variables of a design that lie at an end of the search, each with that end."""
    for d in question.decide:
        # a geometric program goes as far as floats do
        for end, last in zip(_search_ends(question, d), (LEAST_FLOAT, LARGEST_FLOAT), strict=True):
            if end is None:
                continue
            if abs(x[d.name] - end) <= AT_END * end:
                yield d.name, end
            if x[d.name] > 0 and abs(math.log(x[d.name]) - math.log(last)) <= AT_LAST_FLOAT:
                yield d.name, x[d.name]
