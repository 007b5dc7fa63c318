"""Which of many designs have to be looked at to tell which limits can hold together.

Of a design it may be known which limits it breaks at least. That is enough where another one, of which all is known,
breaks no others: whatever holds with the first holds with the second, too.
"""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array, Bools, Integers, Points

NUMBERED_LIMITS = 12
"""Limits of which all sets are numbered."""


def undecided(
    sure: Integers, least: Integers, open_ones: Bools, order: Array, width: int
) -> tuple[Points, Points]:
    """Return points and places of designs to look at next, none where sets of limits are told by what is sure.

    ``sure`` (N, M): sets of limits, as bits, that known designs break; ``least`` (N, D): those that others break at
    least, which are ``open_ones`` (N, D). Of the designs of a set the first in ``order`` (N, D), up to ``width``.
    """
    point, place = np.nonzero(open_ones)
    sets, code = _numbered(np.concatenate([sure.ravel(), least[point, place]]))
    of_sure, code = code[: sure.size].reshape(sure.shape), code[sure.size :]
    within = _within(sets)
    shown, there = (np.zeros((len(least), sets.size), bool) for _ in range(2))
    shown[np.arange(len(sure))[:, None], of_sure] = True
    there[point, code] = True
    there &= ~(shown @ within)
    # of larger sets is told where the smaller ones turn out as they look
    there &= ~(there @ (within & ~np.eye(sets.size, dtype=bool)))
    some = there[point, code]
    point, place, code = point[some], place[some], code[some]
    own = np.lexsort((order[point, place], code, point))
    number = (point * sets.size + code)[own]
    later = np.append(np.zeros(min(own.size, width), bool), number[width:] == number[:-width])
    first = own[~later]
    return point[first], place[first]


def covered(sure: Integers, least: Integers) -> Bools:
    """Tell of which sets (N, D) a part is among those that are ``sure`` (N, M)."""
    sets, code = _numbered(np.concatenate([sure.ravel(), least.ravel()]))
    shown = np.zeros((len(sure), sets.size), bool)
    shown[np.arange(len(sure))[:, None], code[: sure.size].reshape(sure.shape)] = True
    told = np.take_along_axis(shown @ _within(sets), code[sure.size :].reshape(least.shape), 1)
    return np.asarray(told)


def each_once(sets: Integers, limits: int) -> Integers:
    """Return each set (N, D) of so many limits once in a row; what breaks all limits fills what is left."""
    if limits > NUMBERED_LIMITS:
        return sets
    there = np.zeros((len(sets), 1 << limits), bool)
    there[np.arange(len(sets))[:, None], sets] = True
    some = np.flatnonzero(there.any(axis=0))
    return np.where(there[:, some], some, (1 << limits) - 1)


def _numbered(every: Integers) -> tuple[Integers, Integers]:
    """Return the sets that there are, in order, and which of them each one is."""
    if every.max(initial=0) >> NUMBERED_LIMITS:
        sets, code = np.unique(every, return_inverse=True)
        return sets, code.reshape(-1)
    there = np.zeros(1 << NUMBERED_LIMITS, bool)
    there[every] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[every]


def _within(sets: Integers) -> Bools:
    return np.asarray((sets[:, None] & ~sets) == 0)
