"""A question with arrays where its grid has axes, so that one evaluation answers a block of points.

An input on an axis becomes an array along its own dimension; a limit on an axis becomes an array of bounds. The
equations spread them only as far as the other numbers they meet them with, so nothing is meshed beforehand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.many import Many, plain
from formulations.grids import row_order
from scenarios.decisions import halved
from scenarios.sweep.grids import Grid, with_end

if TYPE_CHECKING:
    from scenarios.axes.axes import Target
    from scenarios.question import Limit, Question

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
Region = tuple[slice, ...]
NO_BOUND = -math.inf


def sides(region: Region) -> tuple[int, ...]:
    """Return how many values a block has along each axis; its slices may have steps."""
    return tuple(len(range(s.start, s.stop, s.step or 1)) for s in region)


def within(piece: Region, region: Region) -> Region:
    """Return where a piece is in the arrays of the block that it is cut from."""
    return tuple(slice(p.start - s.start, p.stop - s.start) for p, s in zip(piece, region, strict=True))


@dataclass(frozen=True, slots=True)
class Spread:
    """A grid with the values of its axes as arrays.

    ``apart``: axes along which more than one number changes (names, whole machines, the size of a word): a block
    has one value of each. ``values``: the numbers of each change of the grid, none of what is more than a number.
    ``kinds``: of an axis of rows in which names stand, the number of each row's combination of them; a block has one
    of these. ``ordered``: whether rows that are alike are neighbours. ``firsts``: what was recognised at some points
    (``batch.structure_at``).
    """

    grid: Grid
    apart: tuple[bool, ...]
    values: tuple[Array, ...]
    kinds: tuple[Array | None, ...]
    ordered: bool = False
    firsts: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def scattered(self) -> bool:
        """Whether neighbours in its rows need not be alike, so that they are to be put in order first."""
        return not self.ordered and any(a.columns for a in self.grid.axes)

    @property
    def runs(self) -> int:
        """How many runs of the model the whole grid takes at least."""
        along = zip(self.apart, self.kinds, self.grid.shape, strict=True)
        return math.prod(
            n if alone else 1 if kind is None else int(kind.max()) + 1 for alone, kind, n in along
        )

    def numbers(self) -> Iterator[tuple[int, Target, Array]]:
        """Go through the numbers that change inside a block: along which axis, what, and its values there."""
        for change, values in zip(self.grid.changes, self.values, strict=True):
            if not self.apart[change.along] and not change.apart:
                yield change.along, change.target, values

    def there(self, i: int, along: slice) -> list[NDArray[np.bool_]]:
        """Tell of each number that changes along an axis where it is there, and not 0 or a limit that says nothing."""
        return [values[along] > self.grid.least(aim) for k, aim, values in self.numbers() if k == i]

    def stretches(self, i: int, along: slice) -> list[slice]:
        """Cut an axis where names change."""
        kind = self.kinds[i]
        cut = [] if kind is None else along.start + 1 + np.flatnonzero(np.diff(kind[along]))
        cuts = [along.start, *cut, along.stop]
        return [slice(int(a), int(b)) for a, b in itertools.pairwise(cuts)]

    def pieces(self, region: Region, points: int | None = None) -> Iterator[Region]:
        """Cut a block of points into those that one evaluation answers, of at most so many ``points``."""
        for part in itertools.product(*(self.stretches(i, s) for i, s in enumerate(region))):
            sides = [1 if alone else s.stop - s.start for alone, s in zip(self.apart, part, strict=True)]
            if points is not None:
                _shrink(sides, points)
            yield from itertools.product(
                *(
                    [slice(i, min(i + n, s.stop)) for i in range(s.start, s.stop, n)]
                    for n, s in zip(sides, part, strict=True)
                )
            )

    def question(self, region: Region) -> Question:
        """Return the question at a piece: arrays along the piece in what is given, in limits and ends of decisions.

        A lower limit that says nothing there is none; where it does at some points only, it has ``NO_BOUND`` there.
        """

        def along(i: int, values: Array) -> Array:
            return values[region[i]].reshape([-1 if k == i else 1 for k in range(len(region))])

        found = self.with_numbers(tuple(s.start for s in region), along)
        return found if self.grid.tied is None else self.grid.tied.written(found, region, lambda v: v)

    def with_numbers(self, index: tuple[int, ...], made: Callable[[int, Array], Any]) -> Question:
        """Return the question at a point with other numbers along the axes, ``made`` of an axis' place and values."""
        asked = self.grid.untied(index)
        given, limits, decide = dict(asked.given), asked.limits, asked.decide
        for i, aim, values in self.numbers():
            along = made(i, values)
            if aim.kind == "given":
                given[aim.name] = along
            elif aim.kind == "limit":
                limits = tuple(self._limit(x, aim, along) if x.name == aim.name else x for x in limits)
            elif aim.kind == "decide":
                decide = tuple(with_end(d, aim, along, _halved) for d in decide)
            elif aim.kind == "within":
                limits = tuple(replace(x, within=along) if x.name == aim.name else x for x in limits)
        return replace(asked, given=given, limits=limits, decide=decide)

    def _limit(self, limit: Limit, aim: Target, along: Any) -> Limit:
        if aim.side == "max":
            return replace(limit, maximum=along)
        there = plain(along) > self.grid.least(aim)
        some: Any = along if there.all() else np.where(there, along, NO_BOUND)
        return replace(limit, minimum=some if there.any() else None)

    def part(self, places: Sequence[Array]) -> Spread:
        """Return some places along each axis, in this order."""
        changes = zip(self.grid.changes, self.values, strict=True)
        values = tuple(v[places[c.along]] if v.size else v for c, v in changes)
        kinds = tuple(None if k is None else k[p] for k, p in zip(self.kinds, places, strict=True))
        return replace(self, grid=self.grid.part(places), values=values, kinds=kinds, firsts={})

    def in_order(self, region: Region) -> tuple[Spread, tuple[Array, ...]]:
        """Return a block with its rows in an order in which neighbours are alike, and where each place of it was."""
        places = tuple(
            s.start + self._order(i, s) if a.columns else np.arange(s.start, s.stop)
            for i, (a, s) in enumerate(zip(self.grid.axes, region, strict=True))
        )
        return replace(self.part(places), ordered=True), places

    def _order(self, i: int, along: slice) -> Array:
        kind = self.kinds[i]
        kinds = [*([kind[along]] if kind is not None else []), *self.there(i, along)]
        numbers = [values[along] for k, _, values in self.numbers() if k == i]
        if not (kinds or numbers):
            return np.arange(along.stop - along.start)
        return row_order.order(kinds, numbers)


def spread(grid: Grid) -> Spread:
    """Turn the axes of a grid into arrays."""
    alone = tuple(
        not a.columns and any(c.apart for c in grid.changes if c.along == i) for i, a in enumerate(grid.axes)
    )
    values = tuple(np.empty(0) if c.apart else np.asarray(c.of.values, float) for c in grid.changes)
    kinds = tuple(_kinds(grid, i) if a.columns else None for i, a in enumerate(grid.axes))
    return Spread(grid, alone, values, kinds)


def whole(grid: Grid) -> Region:
    """Return all of a grid as a block."""
    return tuple(slice(0, n) for n in grid.shape)


def in_order(way: Any, plan: Any, region: Region) -> tuple[Arrays, Any]:
    """Have a way answer a block with scattered rows in an order in which neighbours are alike.

    ``way``: a dataclass with a ``spread``, whose ``solve`` gives arrays and a mask along the axes.
    """
    part, places = way.spread.in_order(region)
    found, left = replace(way, spread=part).solve(plan, whole(part.grid))
    back = [np.argsort(p) for p in places]
    if len(back) == 1:
        return {name: a.take(back[0], axis=0) for name, a in found.items()}, left[back[0]]
    at = np.ix_(*back)
    return {name: a[at] for name, a in found.items()}, left[at]


def _kinds(grid: Grid, i: int) -> Array | None:
    """Number the combinations of names in the rows of an axis; None where there are no names."""
    named = [c.of.values for c in grid.changes if c.along == i and c.apart]
    if not named:
        return None
    known: dict[object, int] = {}
    return np.array([known.setdefault(values, len(known)) for values in zip(*named, strict=True)])


def _halved(base: float, halvings: Any) -> Any:
    found = np.vectorize(halved)(base, plain(halvings))
    return Many(found) if isinstance(halvings, Many) else found


def _shrink(sides: list[int], points: int) -> None:
    """Shorten the sides of a piece, the first ones first: along the last axis memory runs on."""
    for i, side in enumerate(sides):
        rest = math.prod(sides[i + 1 :])
        sides[i] = max(1, min(side, points // rest))
