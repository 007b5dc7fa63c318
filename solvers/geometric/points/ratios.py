"""Ratios of sums (a cap on average power): all points of a block searched together, each with its own certificate.

What the limits and the objective divide by may be a sum of one or two variables' powers; nothing else is asked of the
model. Large grids are worth a compiler, smaller ones are solved by the same kernel in NumPy.
"""

from __future__ import annotations

from functools import partial

from formulations.grids import divided
from formulations.grids.over_grid import Spread
from scenarios.sweep.grids import Grid
from solvers.geometric.points import geometric
from solvers.many_points import by_piece
from solvers.many_points.by_piece import ByPiece
from solvers.many_points.offers import FEWEST_POINTS, Offer

KIND = "ratios of sums"
DIVIDED_TOGETHER = 2048
"""Points of a piece: each has a dozen nodes open, with exponents of their own."""


def way(grid: Grid) -> Offer:
    """Return this way if every point's question divides by sums of few variables, and most have plain answers."""
    of_few = partial(over, compiled=False)
    return by_piece.offered(grid, KIND, divided.structure, divided.divided, over, FEWEST_POINTS, of_few)


def over(spread: Spread, *, compiled: bool | None = None) -> ByPiece:
    """Return the way over a grid; ``compiled``: see ``geometric.by_terms``."""
    text = "branch and bound with monomial secants, {} over all nodes of all points of a chunk"
    structure, most = divided.structure, DIVIDED_TOGETHER
    return geometric.by_terms(
        spread, structure, divided.divided, "divided {} term", text, "search", most, compiled
    )
