"""Limits that nothing decided enters: every design breaks such a one, a conflict by itself, or holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dse.system.arrays import Bools, Codes, Points
from formulations import evaluation
from formulations.arithmetics.later import Later, later
from formulations.arithmetics.many import plain
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers import enumeration
from solvers.mechanisms.conflicts import CANNOT_HOLD, Feasible


def broken_by_all(question: Question, names: Sequence[str], count: int) -> Bools:
    """Tell which limits (N, L) of N points are broken by every design there is: nothing that is decided enters them."""
    found = np.zeros((count, len(names)), bool)
    for key, ratio in _ratios(question):
        if key.name in names and not isinstance(ratio, Later):
            own = enumeration.full(ratio, (count, 1))[:, 0]
            found[:, names.index(key.name)] |= np.isfinite(own) & (own > 1 + HOLDS)
    return found


def held_by_all(question: Question) -> frozenset[str]:
    """Name the limits that every design meets at every point, since nothing that is decided enters them.

    They are part of no conflict.
    """
    held: dict[str, bool] = {}
    for key, ratio in _ratios(question):
        holds = not isinstance(ratio, Later) and not (np.asarray(plain(ratio)) > 1 + HOLDS).any()
        held[key.name] = held.get(key.name, True) and holds
    return frozenset(name for name, holds in held.items() if holds)


def _ratios(question: Question) -> Iterator[tuple[RowKey, Any]]:
    """Go through the limits, each with its ratio: one that comes later where something that is decided enters it."""
    if question.model.black_box:
        return
    # what follows from something decided comes later, and is not worked out
    somewhere = {d.name: later(np.array(d.values[0] if d.values else 1.0)) for d in question.decide}
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, somewhere)
        yield from evaluation.ratios(question, somewhere, at).items()


def unless_broken(ask: Feasible, hopeless: Bools) -> Feasible:
    """Answer rows of which a limit is ``hopeless`` (N, L) at their point, and ask the others."""

    def feasible(points: Points, kept: Bools) -> Codes:
        codes = np.full(len(kept), CANNOT_HOLD, np.int8)
        rest = np.flatnonzero(~(hopeless[points] & kept).any(axis=1))
        if rest.size:
            codes[rest] = ask(points[rest], kept[rest])
        return codes

    return feasible
