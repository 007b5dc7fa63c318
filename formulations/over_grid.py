"""A question with arrays where its grid has axes, so that one evaluation answers a block of points.

An input on an axis becomes an array along its own dimension; a limit on an axis becomes an array of bounds. The
equations spread them only as far as the other numbers they meet them with, so nothing is meshed beforehand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scenarios.grids import Grid

if TYPE_CHECKING:
    from scenarios.axes import Target
    from scenarios.question import Limit, Question

Array = np.ndarray[Any, Any]
Region = tuple[slice, ...]
NO_BOUND = -math.inf


def sides(region: Region) -> tuple[int, ...]:
    """Return how many values a block has along each axis; its slices may have steps."""
    return tuple(len(range(s.start, s.stop, s.step or 1)) for s in region)


def numbered(piece: Region, region: Region) -> Array:
    """Return the numbers (C order) that the points of a piece have among those of the block it is cut from."""
    own = [np.arange(p.start - s.start, p.stop - s.start) for p, s in zip(piece, region, strict=True)]
    return np.ravel_multi_index(np.ix_(*own), sides(region)).reshape(-1)


@dataclass(frozen=True, slots=True)
class Spread:
    """A grid with the values of its axes as arrays.

    ``apart``: axes along which more than one number changes (names, whole machines, the size of a word): a block
    has one value of each. ``values``: the numbers on the others.
    """

    grid: Grid
    apart: tuple[bool, ...]
    values: tuple[Array, ...]

    @property
    def runs(self) -> int:
        """How many runs of the model the whole grid takes at least."""
        return math.prod(n if alone else 1 for alone, n in zip(self.apart, self.grid.shape, strict=True))

    def pieces(self, region: Region, points: int | None = None) -> Iterator[Region]:
        """Cut a block of points into those that one evaluation answers, of at most so many ``points``."""
        sides = [1 if alone else s.stop - s.start for alone, s in zip(self.apart, region, strict=True)]
        if points is not None:
            _shrink(sides, points)
        yield from itertools.product(
            *(
                [slice(i, min(i + n, s.stop)) for i in range(s.start, s.stop, n)]
                for n, s in zip(sides, region, strict=True)
            )
        )

    def question(self, region: Region) -> Question:
        """Return the question at a piece: arrays along the piece in what is given and in the limits.

        A lower limit that says nothing at some points of an axis has ``NO_BOUND`` there.
        """
        asked = self.grid.question(tuple(s.start for s in region))
        given, limits = dict(asked.given), asked.limits
        for i, aim in enumerate(self.grid.targets):
            if self.apart[i]:
                continue
            along: Any = self.values[i][region[i]].reshape([-1 if k == i else 1 for k in range(len(region))])
            if aim.kind == "given":
                given[aim.name] = along
            elif aim.kind == "limit":
                limits = tuple(self._limit(x, aim, along) if x.name == aim.name else x for x in limits)
        return replace(asked, given=given, limits=limits)

    def _limit(self, limit: Limit, aim: Target, along: Any) -> Limit:
        if aim.side == "max":
            return replace(limit, maximum=along)
        nothing: Any = np.where(along > self.grid.vacuous[aim.name], along, NO_BOUND)
        return replace(limit, minimum=nothing)


def spread(grid: Grid) -> Spread:
    """Turn the axes of a grid into arrays."""
    apart = tuple(not a.numeric or t.structural for a, t in zip(grid.axes, grid.targets, strict=True))
    values = (
        np.empty(0) if alone else np.asarray(a.values, float)
        for a, alone in zip(grid.axes, apart, strict=True)
    )
    return Spread(grid, apart, tuple(values))


def _shrink(sides: list[int], points: int) -> None:
    """Shorten the sides of a piece, the first ones first: along the last axis memory runs on."""
    for i, side in enumerate(sides):
        rest = math.prod(sides[i + 1 :])
        sides[i] = max(1, min(side, points // rest))
