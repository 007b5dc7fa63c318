"""Dense scans with refinement, in one dimension and in a few."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray
SLACK = 1e-12  # relative room in a limit: the last digits of a limit that was itself computed
DENSE = 200_001
FINE = 2_001
PART = 8192


def refine(
    scan: Callable[[Array], tuple[Array, Array]],
    low: float,
    high: float,
    maximize: bool,
    points: int = DENSE,
    fine: int = FINE,
) -> float | None:
    """The best y of a dense scan, refined; None where no y meets the limits.

    ``scan`` gives the objective and by how much limits are missed. Where the dense scan meets no feasible
    point, the least miss is refined instead: a feasible set may be a single point.
    """
    for _ in range(40):
        y = np.linspace(low, high, points)
        value, miss = scan(y)
        good = miss <= SLACK
        if good.any():
            i = int(np.argmin(np.where(good, -value if maximize else value, np.inf)))
        else:
            i = int(np.argmin(miss))
        best = float(y[i]), bool(good[i])
        step = (high - low) / (points - 1)
        low, high = max(low, best[0] - 3 * step), min(high, best[0] + 3 * step)
        points = fine
        if step < 1e-15 * max(1.0, abs(best[0])):
            break
    return best[0] if best[1] else None


def zoom(key: Callable[[Array], Array], box: Array, points: int) -> tuple[Array, float]:
    """Least key over a box of few dimensions: a full grid, then smaller ones around the best point.

    Only for keys that are smooth up to the box: along a curved limit the best grid point may lie so far to
    the side of the optimum that a smaller window loses it. There, eliminate a variable or use ``rows``.
    """
    half = (box[:, 1] - box[:, 0]) / 2
    low, high = box[:, 0], box[:, 1]
    best, value = low, math.inf
    while np.any(half > 1e-13):
        axes = [np.linspace(a, b, points) if b > a else np.array([a]) for a, b in zip(low, high, strict=True)]
        grid = np.stack([v.ravel() for v in np.meshgrid(*axes, indexing="ij")])
        # a million at once would only wait for memory
        parts = np.array_split(grid, 1 + grid.shape[1] // PART, axis=1)
        found = np.concatenate([key(np.ascontiguousarray(part)) for part in parts])
        i = int(np.argmin(found))
        if found[i] < value:
            best, value = grid[:, i], float(found[i])
        half = half / 2
        low, high = np.maximum(box[:, 0], best - half), np.minimum(box[:, 1], best + half)
        points = min(points, {1: 2001, 2: 201, 3: 61, 4: 25}[len(box)])
    return best, value


def rows(
    key: Callable[[Array], Array], low: Array, high: Array, points: int, rounds: int
) -> tuple[Array, Array]:
    """For each row the place of the least key between ``low`` and ``high``, refined, and the key there."""
    each = np.arange(len(low))
    for _ in range(rounds):
        y = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, points)
        found = key(y)
        i = np.argmin(found, axis=1)
        step = (high - low) / (points - 1)
        best, value = y[each, i], found[each, i]
        low, high = np.maximum(low, best - 2 * step), np.minimum(high, best + 2 * step)
    return best, value
