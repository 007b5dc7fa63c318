"""Worlds drawn from what is uncertain: SI values by path, one row for each world."""

from __future__ import annotations

import math
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any

from scenarios.distributions import Uncertain

if TYPE_CHECKING:
    from scenarios.distributions import Array

# where a sequence stands at 0 or 1, half a step of Sobol numbers (30 bits) inside
_EDGE = 2.0**-31
MOST_REMEMBERED = 1_000_000
"""Numbers of worlds that are remembered together: 8 MB."""
_drawn: deque[tuple[Uncertain, tuple[int, str | None, int | None, int], dict[str, Array]]] = deque(maxlen=8)


def draw(
    uncertain: Uncertain,
    count: int,
    *,
    method: str | None = None,
    seed: int | None = None,
    skip: int = 0,
) -> dict[str, Array]:
    """Draw ``count`` worlds: arrays of SI values by path, entry i of each is world i.

    ``method`` (None: that of the sampling): "sobol", a scrambled Sobol sequence; "random", independent; "latin", a
    Latin hypercube. ``skip``: worlds of the same sequence that are left out at its head, so that
    ``draw(u, 4)`` and ``draw(u, 4, skip=4)`` are the halves of ``draw(u, 8)``. Dependence is a Gaussian copula;
    numbers of one table are from the same row of it. The arrays are not to be written to: who draws the same worlds for
    every point of a grid gets those drawn before. Raises ValueError where a Latin hypercube is to be continued.
    """
    asked = (count, method, seed, skip)
    for before, what, drawn in tuple(_drawn):
        if what == asked and before == uncertain:
            return dict(drawn)
    found = _draw(uncertain, count, method, seed, skip)
    for values in found.values():
        values.flags.writeable = False
    if count * len(found) <= MOST_REMEMBERED:
        _drawn.append((uncertain, asked, found))
    return dict(found)


def _draw(
    uncertain: Uncertain, count: int, method: str | None, seed: int | None, skip: int
) -> dict[str, Array]:
    import numpy as np

    columns: dict[str, int] = {}
    for path, marginal in uncertain.marginals.items():
        columns.setdefault(marginal.table or path, len(columns))
    sampling = uncertain.sampling
    way = sampling.method if method is None else method
    start = sampling.seed if seed is None else seed
    u = np.clip(_uniform(way, len(columns), count, start, skip), _EDGE, 1 - _EDGE)
    mixing = correlated(uncertain)
    if mixing is not None:
        u = _copula(u, mixing, columns)
    return {
        path: marginal.quantile(u[:, columns[marginal.table or path]])
        for path, marginal in uncertain.marginals.items()
    }


def box(uncertain: Uncertain) -> dict[str, tuple[float, float]]:
    """Return the least and the greatest value (SI) of each uncertain number; infinite ends where it is unbounded."""
    found = {path: m.support() for path, m in uncertain.marginals.items()}
    return {
        path: ends if uncertain.marginals[path].bounded else (ends[0], math.inf)
        for path, ends in found.items()
    }


def listed(uncertain: Uncertain, most: int) -> dict[str, Array] | None:
    """Return every combination of values (SI) that the uncertain numbers can have, entry i of each is one of them.

    Numbers of one table are from the same row of it. None where a number has a continuous distribution, or where there
    are more than ``most`` combinations.
    """
    import numpy as np

    rows: dict[str, int] = {}
    for path, m in uncertain.marginals.items():
        if not m.discrete:
            return None
        rows[m.table or path] = len(m.numbers)
    if math.prod(rows.values()) > most:
        return None
    places = dict(zip(rows, np.indices(tuple(rows.values())).reshape(len(rows), -1), strict=True))
    possible = np.ones(math.prod(rows.values()), bool)
    for path, m in uncertain.marginals.items():
        if m.weights:
            possible &= np.asarray(m.weights)[places[path]] > 0
    return {
        path: np.asarray(m.numbers, float)[places[m.table or path]][possible]
        for path, m in uncertain.marginals.items()
    }


def _uniform(method: str, columns: int, count: int, seed: int, skip: int) -> Array:
    import numpy as np
    from scipy.stats import qmc

    made: Any
    if method == "random":
        # filled row by row, so that more worlds leave the first ones as they are
        return np.random.default_rng(seed).random((skip + count, columns))[skip:]
    if method == "latin":
        if skip:
            raise ValueError("a Latin hypercube cannot be continued; draw Sobol or random numbers")
        made = qmc.LatinHypercube(columns, rng=np.random.default_rng(seed))
        return np.asarray(made.random(count))
    made = qmc.Sobol(columns, scramble=True, rng=np.random.default_rng(seed))
    with warnings.catch_warnings():
        # any number of worlds may be asked for
        warnings.filterwarnings("ignore", "The balance properties", UserWarning)
        if skip:
            made.fast_forward(skip)
        return np.asarray(made.random(count))


def correlated(uncertain: Uncertain) -> tuple[list[str], Array] | None:
    """Return the paths that are correlated, and the Cholesky factor of their correlations; None without any.

    Raises numpy.linalg.LinAlgError where the correlations are not positive definite.
    """
    import numpy as np

    pairs = uncertain.sampling.correlation
    if not pairs:
        return None
    paths = list(dict.fromkeys(p for a, b, _ in pairs for p in (a, b)))
    matrix = np.eye(len(paths))
    for a, b, r in pairs:
        i, j = paths.index(a), paths.index(b)
        matrix[i, j] = matrix[j, i] = r
    factor: Any = np.linalg.cholesky(matrix)
    return paths, factor


def _copula(u: Array, mixing: tuple[list[str], Array], columns: dict[str, int]) -> Array:
    from scipy.special import ndtr, ndtri

    paths, factor = mixing
    at = [columns[p] for p in paths]
    normal = ndtri(u[:, at])
    found = u.copy()
    for i, column in enumerate(at):
        # term by term: a world has the same numbers whatever is drawn beside it
        mixed = sum(factor[i, j] * normal[:, j] for j in range(i + 1))
        found[:, column] = ndtr(mixed)
    return found
