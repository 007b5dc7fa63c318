"""The tie rule among listed designs: of those that are equally good the first by the order of ties is handed out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from formulations.arithmetics.many import Array, Points
from formulations.tolerances import TIE


def as_good_as(least: Any) -> Any:
    """Return the largest value that counts as being as small as the least."""
    return np.where(np.isfinite(least), least + TIE * np.abs(least), least)


def alike(value: float, best: float) -> bool:
    """Whether an objective is as good as the best one, whichever way it is to go."""
    return abs(value - best) <= TIE * abs(best)


def first(owner: Points, points: int, levels: Iterable[Any]) -> Points:
    """Return the place of the design that each of ``points`` hands out, of designs that are equally good (-1: none).

    ``owner`` (K,): the point of each design. ``levels``: what settles ties, one after the other, for each design (K,);
    what does not exist (NaN) comes last. Of designs that no level tells apart the first one is handed out.
    """
    left = np.arange(owner.size)
    for level in levels:
        values: Array = np.nan_to_num(np.asarray(level, dtype=float)[left], nan=np.inf, posinf=np.inf)
        least = np.full(points, np.inf)
        np.minimum.at(least, owner[left], values)
        left = left[values <= as_good_as(least)[owner[left]]]
    found = np.full(points, -1, dtype=np.int64)
    found[owner[left[::-1]]] = left[::-1]
    return found
