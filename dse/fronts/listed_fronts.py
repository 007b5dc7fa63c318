"""Fronts of three objectives and more whose designs are few: every one is evaluated."""

from __future__ import annotations

import numpy as np

from dse.fronts.front_grids import ALL_FOUND
from dse.fronts.front_search import Front, Search
from dse.system.arrays import Array, Bools, Integers
from scenarios.question import Objective
from solvers import enumeration
from solvers.fronts import front_points, program_front
from solvers.fronts.asking import Scale

HEAD_COMPARED, REST_COMPARED = 256, 4096
"""Designs that others are compared with at once, and how many others."""
MOST_PAIRS_COMPARED = 500_000_000
"""Pairs of designs that are compared: one or two seconds. A front of more is found point by point."""


def find(search: Search, points: int | None, most: int) -> Front | None:
    """Find all designs that none betters, or ``points`` of them, spread evenly, at most ``most``.

    None where something decided is divisible or has no end, there are too many designs, or too many that none betters,
    or none holds all limits: why is told by the search. Of designs that are equal in all objectives the first in the
    order of the file is kept.
    """
    listed = program_front.few_designs(search.question)
    if listed is None:
        return None
    owners, menus = listed
    tables = [(o, t) for o, of in zip(owners, menus, strict=True) for t in enumeration.parts(o.question, of)]
    parts = []
    for _, t in tables:
        parts.append(program_front.coordinates(t))
        search.count()
    at = np.concatenate([np.empty((0, len(search.goals))), *parts])
    held = np.flatnonzero(np.isfinite(at).all(axis=1))
    if not held.size:
        return None
    found_among = _undominated(program_front.rounded_levels(at[held]))
    if found_among is None:
        return None
    best = held[found_among]
    chosen = best[evenly(at[best], search.goals, min(points or most, most))]
    method = f"{ALL_FOUND}: all {sum(of.size for of in menus)} combinations were evaluated"
    if chosen.size < best.size:
        method = part_in_words(method, chosen.size, best.size)
    ends = np.cumsum([len(p) for p in parts])
    found = []
    for i in chosen:
        k = int(np.searchsorted(ends, i, side="right"))
        owner, t = tables[k]
        x = {n: float(v[i - ends[k] + t.size]) for n, v in t.x.items()}
        bound = -at[i, 0] if search.goals[0].maximize else at[i, 0]
        found.append(front_points.stated(owner, x, float(bound), method))
    return Front(search.question, tuple(found), solves=search.solves, method=method)


def _undominated(at: Array) -> Integers | None:
    """Return which rows no other row betters, by rising first column; of equal ones the first.

    None where so many are undominated that comparing them takes long.
    """
    left, found, compared = np.lexsort(at.T[::-1]), list[Integers](), 0
    # whatever betters a row comes before it
    while left.size:
        head, left = left[:HEAD_COMPARED], left[HEAD_COMPARED:]
        head = head[~_bettered(at[head], at[head], np.tri(head.size, k=-1, dtype=bool))]
        found.append(head)
        compared += head.size * left.size
        if compared > MOST_PAIRS_COMPARED:
            return None
        for start in range(0, left.size, REST_COMPARED):
            rows = left[start : start + REST_COMPARED]
            left[start : start + REST_COMPARED] = np.where(_bettered(at[rows], at[head]), -1, rows)
        left = left[left >= 0]
    return np.concatenate(found)


def _bettered(rows: Array, by: Array, among: Bools | None = None) -> Bools:
    """Tell which rows some other row betters in nothing less than equally; ``among``: which pairs count."""
    pairs = np.ones((len(rows), len(by)), bool) if among is None else among.copy()
    for own, other in zip(rows.T, by.T, strict=True):
        pairs &= own[:, None] >= other[None]
    return np.asarray(pairs.any(axis=1))


def part_in_words(method: str, count: int, every: int) -> str:
    """How a front was found of which so many points of all are told."""
    return f"{count} of the {every} points of the {method}"


def evenly(at: Array, goals: tuple[Objective, ...], count: int) -> list[int]:
    """Places of so many points, in their order: the best of each objective, then the farthest from those chosen."""
    if len(at) <= count:
        return list(range(len(at)))
    columns = []
    for goal, own in zip(goals, at.T, strict=True):
        values = -own if goal.maximize else own
        scale = Scale(goal, float(values[own.argmin()]), float(values[own.argmax()]))
        columns.append([scale.coordinate(float(v)) for v in values])
    spots = np.array(columns).T
    chosen = list(dict.fromkeys(spots.argmin(axis=0).tolist()))[:count]
    distance = np.min([np.linalg.norm(spots - spots[k], axis=1) for k in chosen], axis=0)
    while len(chosen) < count:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(spots - spots[chosen[-1]], axis=1))
    return sorted(chosen)
