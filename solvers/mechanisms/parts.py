"""A question answered in parts, the best of which is the answer: choices among names, cases of a maximum.

What the bounds of all parts prove, and which parts are as good: of one question (arrays over its parts), or of many
(parts, N). The first of the parts with the least value wins; values and bounds are of what is minimised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.system.arrays import Array, Bools
from results.solution import Status
from scenarios.question import Question
from solvers import designs

EQUAL_DESIGNS = 1e-6
"""Of each number: designs of two parts that differ by no more are one design."""
OPEN = np.finfo(float).max
WITHOUT_DESIGN = {Status.UNBOUNDED: -np.inf, Status.ERROR: OPEN, Status.INFEASIBLE: np.inf}
"""The values of parts that have no best design: what has no end wins, what has no design loses."""


def of_one(
    question: Question, every: Sequence[tuple[Status, float | None, float | None]]
) -> tuple[Array, Array]:
    """Return values and bounds of the parts of one question: NaN where there is none; what is evaluated has its own.

    ``every``: status, objective and bound of each, in the user's sense.
    """
    values = [WITHOUT_DESIGN.get(status, question.sign * (value or 0.0)) for status, value, _ in every]
    known = (value if status is Status.EVALUATED else bound for status, value, bound in every)
    return np.array(values), np.array([np.nan if bound is None else question.sign * bound for bound in known])


def bound_of_all(possible: Bools, bounds: Array) -> Array:
    """Return the bound of all parts: no design of any is better; NaN where one that is ``possible`` has none."""
    return np.asarray(np.where(possible, bounds, np.inf).min(axis=0))


def tied(values: Array, within: float) -> Bools:
    """Tell which parts have a design that is as good as the best; ``within``: a part of its value."""
    return np.asarray((np.abs(values) < OPEN) & (values <= designs.as_good_as(values.min(axis=0), within)))


def ranges_over(
    every: Sequence[tuple[Mapping[str, tuple[float, float]], Mapping[str, float]]], x: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest optimal value of what is not unique, over parts that are as good.

    ``every``: the ranges and the design of each. ``x``: the design that is handed out.
    """
    found: dict[str, tuple[float, float]] = {}
    for n in x:
        ends = [ranges.get(n, (float(there[n]), float(there[n]))) for ranges, there in every]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        if high > low * (1 + EQUAL_DESIGNS):
            found[n] = (low, high)
    return found
