"""What is decided enters which limits: one that nothing enters is held or broken, a conflict by itself, by all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
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
from solvers.mechanisms.why import Entering, any_may

MOST_ENTRIES_TOGETHER = 4096
"""Combinations of entries of lists for which a limit is looked at."""


def broken_by_all(question: Question, names: Sequence[str], count: int, *, worlds: bool = False) -> Bools:
    """Tell which limits (N, L) of N points are broken by every design there is: nothing that is decided enters them.

    ``worlds``: the last dimension of the question's numbers is that of worlds, in each of which the limit is broken.
    """
    found = np.zeros((count, len(names)), bool)
    for key, ratio in _ratios(question):
        if key.name in names and not isinstance(ratio, Later):
            numbers = np.asarray(plain(ratio), float)
            numbers = numbers.min(axis=-1).reshape(-1, 1) if worlds and numbers.ndim else numbers
            own = enumeration.full(numbers, (count, 1))[:, 0]
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


def held_by_lists(question: Question, names: Collection[str]) -> frozenset[str]:
    """Name limits that hold for all entries of the lists that enter them, if only lists do, none of which is given up.

    ``names``: the limits that may be given up, bounds on decided numbers among them. They are part of no conflict.
    """
    lists = {d.name: d.values for d in question.decide if d.values is not None and d.name not in names}
    held = set[str]()
    for name, enter in _by_limit(question).items():
        if (
            enter
            and enter <= lists.keys()
            and math.prod(len(lists[n]) for n in enter) <= MOST_ENTRIES_TOGETHER
        ):
            every = np.array(list(itertools.product(*(lists[n] for n in enter))))
            x: dict[str, Any] = {d.name: d.values[0] if d.values else 1.0 for d in question.decide}
            x |= dict(zip(enter, every.T, strict=True))
            with np.errstate(all="ignore"):
                rows = evaluation.ratios(question, x, evaluation.metrics(question, x))
            own = [np.asarray(plain(r)) for key, r in rows.items() if key.name == name]
            held |= {name} if all((r <= 1 + HOLDS).all() for r in own) else set()
    return frozenset(held)


def entering(question: Question, names: Collection[str]) -> Entering:
    """Return what tells which of the decided numbers enter limits. ``names``: the limits that a design may break."""
    if question.model.black_box:
        return any_may
    found = _by_limit(question)

    def enter(free: Collection[str], kept: Collection[str]) -> frozenset[str]:
        # of a limit that is not told of anything may
        every = (found.get(n, set(free)) for n in {*kept, *found.keys() - set(names)})
        return frozenset(free).intersection(set().union(*every))

    return enter


def _by_limit(question: Question) -> dict[str, set[str]]:
    """The decided numbers that enter each limit; empty of a black box."""
    found: dict[str, set[str]] = {}
    for d in question.decide:
        for key, ratio in _ratios(question, {d.name}):
            found.setdefault(key.name, set()).update([d.name] if isinstance(ratio, Later) else [])
    return found


def _ratios(question: Question, of: Collection[str] | None = None) -> Iterator[tuple[RowKey, Any]]:
    """Go through the limits, each with its ratio: one that comes later where something that is decided enters it.

    ``of``: of what is decided, what counts; None: all.
    """
    if question.model.black_box:
        return
    # what follows from something decided comes later, and is not worked out
    somewhere: dict[str, Any] = {d.name: np.array(d.values[0] if d.values else 1.0) for d in question.decide}
    somewhere = {n: later(v) if of is None or n in of else v for n, v in somewhere.items()}
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
