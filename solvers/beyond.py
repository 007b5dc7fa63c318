"""What is beyond the ends that only a search has, or beyond floats: whether limits leave anything there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools
from formulations import evaluation
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers import boxes
from solvers.boxes import Space, space, tighten


class Within(Protocol):
    """What has ends for every variable."""

    @property
    def low(self) -> Array:
        """The lower ends."""

    @property
    def high(self) -> Array:
        """The upper ends."""


def outside(near: Within, low: Array, high: Array) -> Iterator[tuple[Array, Array]]:
    """Go through boxes that cover a box but for what lies within ends nearer by; a side may have one value only."""
    low, high = low.copy(), high.copy()
    for j in range(low.size):
        if low[j] < near.low[j]:
            yield low, _with_side(high, j, min(high[j], near.low[j]))
        if high[j] > near.high[j]:
            yield _with_side(low, j, max(low[j], near.high[j])), high
        low, high = (
            _with_side(low, j, max(low[j], near.low[j])),
            _with_side(high, j, min(high[j], near.high[j])),
        )
        if low[j] > high[j]:
            return


def nothing_beyond(question: Question) -> bool:
    """Whether the limits certainly leave nothing beyond the ends that only a search has."""
    return all(tighten(question, shell) is None for shell in beyond(question))


def beyond(question: Question) -> list[Space]:
    """Return boxes that cover what is beyond the ends that only a search has, whatever of it is whole or listed.

    What has no such end keeps its list and its whole numbers.
    Numbers of the question may be arrays; what the user says of decided quantities is left to the limits.
    """
    plain = tuple(replace(d, minimum=None, maximum=None) for d in question.decide)
    near, farthest = space(replace(question, decide=plain)), replace(question, reach=math.inf)
    for j, d in enumerate(question.decide):
        # a search goes to the user's own ends, however far out these are
        if d.minimum is not None:
            near.low[j] = min(near.low[j], np.min(d.minimum) * (1 - HOLDS))
        if d.maximum is not None:
            near.high[j] = max(near.high[j], np.max(d.maximum) * (1 + HOLDS))
    low, high = near.low.copy(), near.high.copy()
    for j, d in enumerate(question.decide):
        box = evaluation.box(farthest, d.name)
        if d.values is not None and not d.endless:
            continue
        if box.searched[0] and d.minimum is None:
            low[j] = max(box.low, 1.0) if d.integer else box.low
        if box.searched[1] and d.maximum is None:
            high[j] = box.high
    if (low == near.low).all() and (high == near.high).all():
        return []
    open_ = (low != near.low) | (high != near.high)
    values = tuple(None if o else v for o, v in zip(open_, near.values, strict=True))
    any_value = replace(near, values=values, integer=near.integer & ~open_)
    return [replace(any_value, low=a, high=b) for a, b in outside(near, low, high) if (a < b).any()]


def least(question: Question, best: float) -> float:
    """A bound of what is minimised at designs beyond the ends that only a search has; infinite where none is better.

    ``best``: what the best known design comes to.
    """
    found = math.inf
    for shell in beyond(question):
        try:
            where = replace(shell, low=shell.low[None], high=shell.high[None])
            low, high = boxes.tightened(question, where, target=best)
            if (low <= high).all():
                # nor do floats end what nothing else does
                endless = np.where(high >= where.high, np.inf, high)
                with np.errstate(invalid="ignore"):
                    lowest = boxes.enclose(question, low, endless).low[-1].min()
                found = min(found, -math.inf if math.isnan(lowest) else float(lowest))
        except (CannotTake, ArithmeticError):
            return -math.inf
    return found


def searched(question: Question) -> str:
    """Say how far a search without a design went, where what is beyond is not known."""
    where = space(question)
    endless = [d.endless or where.ends[j][1] for j, d in enumerate(question.decide)]
    ends = [f"{n} up to {high:g}" for n, high, e in zip(where.names, where.high, endless, strict=True) if e]
    return f"no design with {', '.join(ends)}; what is beyond is not known"


def _with_side(ends: Array, j: int, end: float) -> Array:
    found = ends.copy()
    found[j] = end
    return found


def surely_broken(question: Question, x: Mapping[str, Array]) -> Bools:
    """Tell of which designs (a number of each for every decided quantity) intervals prove that they break a limit.

    So of what floats cannot evaluate it may be known all the same.
    """
    every = np.stack([x[d.name] for d in question.decide], axis=1)
    try:
        e = boxes.enclose(question, every, every)
    except (CannotTake, ArithmeticError):
        return np.zeros(len(every), bool)
    return np.asarray((e.low[: len(e.keys)] > 1.0 + HOLDS).any(axis=0))
