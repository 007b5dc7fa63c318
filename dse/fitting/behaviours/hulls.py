"""The convex hull of runs in logarithms: sides that are products of powers, as a geometric program takes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.models.described.fitted import Facet
from dse.models.described.model_files import MOST_FACETS
from dse.system.arrays import Array

MOST_DIMENSIONS = 6
# sides that differ by less are one
SIDE_ROUNDING = 1e-9
MOST_SIDES = 60


def facets(x: Array, names: Sequence[str]) -> tuple[Facet, ...]:
    """Return the sides of the hull of runs ``x`` (logarithms, (N, d)) that are not sides of their box.

    Where the hull has more than MOST_SIDES sides, those that cut off most of the box are kept.
    None where the runs span no volume, or there are more than MOST_DIMENSIONS columns.
    """
    from scipy.spatial import ConvexHull, QhullError

    n, d = x.shape
    if d < 2 or d > MOST_DIMENSIONS or n <= d:
        return ()
    try:
        equations = ConvexHull(np.unique(x, axis=0)).equations
    except QhullError:
        return ()
    sides = np.unique(np.round(equations, 9), axis=0)
    # a side along one column is a side of the box
    sides = sides[(np.abs(sides[:, :-1]) > SIDE_ROUNDING).sum(1) > 1]
    low, high = x.min(0), x.max(0)
    corner = np.where(sides[:, :-1] > 0, high, low)
    cut = (sides[:, :-1] * corner).sum(1) + sides[:, -1]
    kept = sides[np.argsort(-cut, kind="stable")[: min(MOST_SIDES, MOST_FACETS)]]
    found = []
    for side in kept:
        a = np.where(np.abs(side[:-1]) > SIDE_ROUNDING, side[:-1], 0.0)
        top = float((x @ a).max())
        exponents = {c: float(e) for c, e in zip(names, a, strict=True) if e}
        found.append(Facet(exponents, float(np.exp(top) * (1 + SIDE_ROUNDING))))
    return tuple(found)
