"""Whether the limits of many points leave a design: in their boxes, and beyond the ends that only a search has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.grids.divided import at
from scenarios.question import Question
from solvers import beyond, boxes
from solvers.boxes import Space
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN, Codes
from solvers.nonlinear.search import FEASIBLE_BOXES, minimise
from solvers.outcome import INFEASIBLE


def feasible(question: Question, where: Space) -> Codes:
    """Tell of N points whether a design meets all limits in their boxes (see ``minimise``)."""
    found = minimise(replace(question, objectives=()), where, FEASIBLE_BOXES)
    codes = np.select([found.met, found.status == INFEASIBLE], [CAN_HOLD, CANNOT_HOLD], NOT_KNOWN)
    return codes.astype(np.int8)


def anywhere(question: Question, count: int) -> Codes:
    """Tell of N points whether a design meets all limits; not known where only an end that a search has excludes it."""
    told = feasible(question, boxes.spaces(question, count))
    out = np.flatnonzero(told == CANNOT_HOLD)
    if out.size:
        told[out[~nothing_beyond(at(question, out), out.size)]] = NOT_KNOWN
    return told


def nothing_beyond(question: Question, count: int) -> NDArray[np.bool_]:
    """Tell at which of N points the limits leave nothing beyond the ends that only a search has (``beyond.beyond``)."""
    sure = np.ones(count, bool)
    for shell in beyond.beyond(question):
        low, high = (np.tile(end, (count, 1)) for end in (shell.low, shell.high))
        sure &= feasible(question, replace(shell, low=low, high=high)) == CANNOT_HOLD
    return sure
