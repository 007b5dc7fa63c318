"""What is proved at one point of a grid told of others: points whose bounds alone differ form chains.

Limits that can hold together still can where a bound is looser, and a conflict stays one where it is tighter. So of
each chain, from the tightest bound to the loosest, only the points are asked between which the answer changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Indices
from formulations.arithmetics.many import plain
from scenarios.question import Decision, Limit, Question
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN, Feasible
from solvers.patterns import groups

UNTOLD = 2
"""Of a place in a chain: nothing tells of it yet."""


def along_bounds(
    ask: Callable[[Indices, Bools], Any], question: Question, names: Sequence[str], points: int
) -> Feasible:
    """Answer rows by the sets that they keep, as ``conflicts.by_set`` does, and ask only some points.

    ``question``: with arrays along all ``points``. Certain answers alone are told of other points: where one of a chain
    is not known, all that is open there is asked.
    """
    given = _numbered([_along(v, points) for v in question.given.values() if np.size(plain(v)) > 1], points)
    bounds = list(_looseness(question, points))

    def feasible(rows: Indices, kept: Bools) -> Codes:
        found = np.full(len(kept), NOT_KNOWN, np.int8)
        for which, kind in groups(kept):
            left_out = {n for n, k in zip(names, kind, strict=True) if not k}
            own = [values for name, values in bounds if name not in left_out]
            own.sort(key=lambda values: np.unique(values).size)
            of_chain = _numbered([given.astype(float), *own[:-1]], points)
            loose = own[-1] if own else np.zeros(points)
            found[which] = _of_chains(ask, rows[which], of_chain[rows[which]], loose[rows[which]], kind)
        return found

    return feasible


def _looseness(question: Question, points: int) -> Iterator[tuple[str, Array]]:
    """Go through the bounds that differ between points: of what, and how loose each is."""
    every: tuple[Limit | Decision, ...] = (*question.limits, *question.decide)
    for held in every:
        for sign, end in ((1.0, held.maximum), (-1.0, held.minimum)):
            if end is not None and np.size(plain(end)) > 1:
                yield held.name, sign * _along(end, points)


def _along(value: object, points: int) -> Array:
    return np.broadcast_to(np.asarray(plain(value), float).reshape(-1), (points,))


def _numbered(columns: Sequence[Array], points: int) -> Indices:
    """Number points by their values in some columns."""
    if not columns:
        return np.zeros(points, np.intp)
    return np.unique(np.stack(columns), axis=1, return_inverse=True)[1].reshape(-1)


def _of_chains(
    ask: Callable[[Indices, Bools], Any], points: Indices, chain: Indices, loose: Array, kept: Bools
) -> Codes:
    """Answer about the limits ``kept`` at points of chains along which bounds get looser."""
    _, first, place = np.unique(np.stack([chain, loose]), axis=1, return_index=True, return_inverse=True)
    asked, chain = points[first], chain[first]
    codes = np.full(asked.size, UNTOLD, np.int8)
    begin = np.flatnonzero(np.diff(chain, prepend=-1))
    last = np.append(begin[1:], asked.size) - 1
    which = np.repeat(np.arange(begin.size), last - begin + 1)

    def now(some: Indices) -> Codes:
        codes[some] = ask(asked[some], kept)
        return codes[some]

    # the answer changes behind ``low`` and not behind ``high``
    loosest = now(last)
    low, high = np.where(loosest == CANNOT_HOLD, last, begin - 1), last.copy()
    known, middle = loosest != NOT_KNOWN, begin
    while (still := known & (high - low > 1)).any():
        told = now(middle[still])
        low[still] = np.where(told == CANNOT_HOLD, middle[still], low[still])
        high[still] = np.where(told == CAN_HOLD, middle[still], high[still])
        known[still] = told != NOT_KNOWN
        middle = (low + high) // 2
    codes[known[which]] = np.where(np.arange(asked.size) <= low[which], CANNOT_HOLD, CAN_HOLD)[known[which]]
    left = np.flatnonzero(codes == UNTOLD)
    if left.size:
        now(left)
    return codes[place.reshape(-1)]
