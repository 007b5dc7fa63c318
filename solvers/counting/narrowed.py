"""Of a large table the few designs that say something at some of many points.

All designs are evaluated on a mesh: every decided quantity has an axis of its own, so that a number is only as large as
what it depends on. One point of each kind of given numbers is enough, since limits are only compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Indices, Points
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.later import kept, later
from formulations.arithmetics.many import Differ, Many, plain
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers.designs import TRIED_TOGETHER, Grid, Table
from solvers.many_points.best_of import SURE

LARGE_TABLE = 2000
"""Designs from which it is worth looking for these few."""
SHARE_LISTED = 0.1
"""Of a large table, designs that are looked at as a list: of more, numbers on a mesh are fewer."""
NEAR_THE_PROCESSOR = 8192
"""Numbers that are compared with bounds together."""
CELLS = 400_000
"""Designs times points that are evaluated together."""
CELLS_COMPARED = 4_000_000
"""Designs times points that are compared at once."""


@dataclass(frozen=True, slots=True)
class Asked:
    """All designs of one combination of names at many points.

    ``question``: at the points; ``plain``: at one of them; ``near``: at the points that differ in what is given;
    ``which`` of these each point is like.
    """

    every: Grid
    question: Question
    near: Question
    which: Indices
    plain: Question

    def at(self, own: Points) -> Asked:
        """Return the same at some of the points."""
        kinds, which = np.unique(self.which[own], return_inverse=True)
        question, near = divided.at(self.question, own), divided.at(self.near, kinds)
        return replace(self, question=question, near=near, which=which.reshape(-1))

    def tables(self, narrow: Callable[[Grid, Asked], Sequence[Points]]) -> list[Table]:
        """Return the designs as a table; of many those that ``narrow`` leaves, each choice as a table."""
        x = self.every
        if x.size < LARGE_TABLE:
            return [x.table(self.question)]
        return [Table(self.question, x.designs(k)) for k in narrow(x, self)]


def in_parts(asked: Asked, t: Table) -> Iterator[tuple[Points, Table, Asked]]:
    """Cut points into parts whose designs of a table are compared together, each with the table and what is asked."""
    step = max(CELLS // max(t.size, 1), 1)
    for start in range(0, len(asked.which), step):
        some = np.arange(start, min(start + step, len(asked.which)))
        here = asked.at(some)
        yield some, replace(t, question=here.question), here


def unbroken(every: Grid, asked: Asked) -> tuple[Indices]:
    """Designs that somewhere, with the loosest bounds, break no limit for certain."""
    kinds, left = np.unique(asked.which), listed(asked)
    x = every.mesh() if left is None else every.designs(left)
    found = np.zeros(every.mesh_shape if left is None else left.shape, bool)

    def take(kinds: Points, mesh: Mesh) -> None:
        np.logical_or(found, _breaks_few(asked, kinds, mesh, 0), out=found)

    if found.size:
        _by_kinds(x, asked, kinds, found.size, take)
    return (np.flatnonzero(found) if left is None else left[found],)


def listed(asked: Asked) -> Indices | None:
    """Designs that break no limit for certain that is the same number at all points, with its loosest bounds.

    None where they are so many that a mesh of all designs is less work.
    """
    every, x = asked.every, asked.every.mesh()
    kinds = np.unique(asked.which)
    try:
        # numbers that lead to equations of their own do so at any design
        one = mesh_of({n: v[:1] for n, v in x.items()}, asked, kinds)
        first = mesh_of(x, asked, kinds[:1])
        loose = divided.with_ends(asked.question, np.min, np.max)
        fixed = {key for key, ratio in one.rows(loose) if np.ndim(ratio()) <= one.axes}
        broken = [_surely_broken(ratio()) for key, ratio in first.rows(loose) if key in fixed]
    except Differ:
        broken = []
    left = np.ones(every.mesh_shape, bool)
    for own in broken:
        left &= ~own
    return np.flatnonzero(left) if np.count_nonzero(left) <= every.size * SHARE_LISTED else None


def worked_out(asked: Asked) -> int:
    """Count the designs whose numbers are worked out at each kind of points."""
    left = listed(asked) if asked.every.size >= LARGE_TABLE else None
    return asked.every.size if left is None else left.size


def telling(every: Grid, asked: Asked, over: Mapping[str, Any] | None = None) -> tuple[Indices, Indices]:
    """Designs for each way to break limits, and those that somewhere break no more than one limit for certain.

    A way is which limits are broken at which of the points that are alike in what is given. ``over``: what the
    equations run on in the place of the designs, with intervals, of which the lower ends of limits tell.
    """
    ways, few = [], np.zeros(every.mesh_shape, bool)

    def take(kinds: Points, mesh: Mesh) -> None:
        np.logical_or(few, _breaks_few(asked, kinds, mesh, 1), out=few)
        for k, kind in enumerate(kinds):
            own = _broken(every, asked, np.flatnonzero(asked.which == kind), mesh.at(k))
            ways.append(_first_of_each_way(own, every))

    _by_kinds(over or every.mesh(), asked, np.unique(asked.which), every.size, take)
    return np.unique(np.concatenate(ways)), np.flatnonzero(few)


@dataclass(frozen=True, slots=True)
class Mesh:
    """Designs at some points ``near`` that differ in what is given: a list, or all with an axis for each quantity.

    ``metrics``: those that limits are read from, of all designs, with those points in front where they differ.
    """

    x: Mapping[str, Any]
    near: Question
    metrics: Mapping[str, Any]

    @property
    def axes(self) -> int:
        """Dimensions of designs."""
        return _dimensions(self.x)

    def at(self, k: int) -> Mesh:
        """Return the same at one of its points."""

        def there(values: Array) -> Array:
            return values[[k]] if np.ndim(values) > self.axes and len(values) > 1 else values

        own = {n: with_each_end(v, there) for n, v in self.metrics.items()}
        return Mesh(self.x, divided.at(self.near, np.array([k])), own)

    def rows(self, question: Question) -> list[tuple[RowKey, Callable[[], Array]]]:
        """Limits as ratios, each worked out when asked for, of a question that has the bounds of some points."""
        here = replace(divided.before_axes(question, self.axes), given=self.near.given)
        with np.errstate(all="ignore"):
            found = evaluation.ratios(here, self.x, self.metrics)
        return [(key, partial(least, ratio)) for key, ratio in found.items()]


def least(numbers: Any) -> Array:
    """Return numbers, of intervals the lower ends."""
    if isinstance(numbers, Interval):
        return np.where(np.isnan(numbers.lo), -np.inf, numbers.lo)
    return np.asarray(plain(numbers), float)


def with_each_end(numbers: Any, made: Callable[[Array], Array]) -> Any:
    """Return what is made of numbers, or of both ends of intervals."""
    if isinstance(numbers, Interval):
        return Interval(made(numbers.lo), made(numbers.hi))
    return made(np.asarray(plain(numbers), float))


def _dimensions(x: Mapping[str, Any]) -> int:
    return max(np.ndim(v.lo) if isinstance(v, Interval) else np.ndim(v) for v in x.values())


def mesh_of(x: Mapping[str, Any], asked: Asked, kinds: Points) -> Mesh:
    """Designs at some kinds of points; nothing is worked out but what limits ask for."""
    near = divided.before_axes(divided.at(asked.near, kinds), _dimensions(x))
    as_it_is = (np.ndarray, Interval) if near.model.black_box else Interval
    designs = {n: v if isinstance(v, as_it_is) else later(v) for n, v in x.items()}
    with np.errstate(all="ignore"):
        every = evaluation.metrics(near, designs)
    return Mesh(x, near, kept({n: every[n] for n in evaluation.read_by_limits(asked.question, every)}))


def _by_kinds(
    x: Mapping[str, Any], asked: Asked, kinds: Points, size: int, take: Callable[[Points, Mesh], None]
) -> None:
    """Look at so many designs at kinds of points that differ in what is given, as many together as are comparable."""
    piece_by_piece(kinds, size, lambda now: take(now, mesh_of(x, asked, now)))


def piece_by_piece(points: Points, size: int, take: Callable[[Points], None]) -> None:
    """Take points of so many designs each, as many together as fit, and apart where they have to be told apart."""
    step = max(TRIED_TOGETHER // size, 1)
    waiting = [points]
    while waiting:
        now = waiting.pop()
        if now.size > step:
            waiting += [now[:step], now[step:]]
            continue
        try:
            take(now)
        except Differ as apart:
            holds = apart.holds.reshape(-1)
            if holds.size != now.size or now.size == 1:
                raise
            waiting += [now[holds], now[~holds]]


def _surely_broken(ratio: Array) -> Bools:
    return np.isfinite(ratio) & (ratio > 1.0 + SURE)


def _breaks_few(asked: Asked, kinds: Points, mesh: Mesh, most: int) -> Any:
    """Which designs break no more than so many limits for certain, with the loosest bounds of some kind of points."""
    points = np.flatnonzero(np.isin(asked.which, kinds))
    place = np.searchsorted(kinds, asked.which[points])

    def loosest(of: np.ufunc, start: float) -> Callable[[Array], Many]:
        def made(values: Array) -> Many:
            found = np.full(kinds.size, start)
            of.at(found, place, values.reshape(-1))
            return Many(found[:, None])

        return made

    ends = loosest(np.minimum, np.inf), loosest(np.maximum, -np.inf)
    broken: Any = np.int8(0)
    for _, ratio in mesh.rows(divided.with_ends(divided.at(asked.question, points), *ends)):
        broken = broken + _surely_broken(ratio())
    few = np.asarray(broken <= most)
    return few.any(axis=0) if few.ndim > mesh.axes else few


def _broken(every: Grid, asked: Asked, points: Points, mesh: Mesh) -> list[Any]:
    """At how many of some points, alike in what is given, each design breaks each limit.

    What breaks a bound breaks all that are tighter, so that their number tells which.
    """
    found: dict[RowKey, Any] = {}
    # few points at once: numbers of many designs at several do not stay near the processor
    step = max(NEAR_THE_PROCESSOR // every.size, 1)
    for some in np.split(points, range(step, points.size, step)):
        for key, ratio in mesh.rows(divided.at(asked.question, some)):
            own = ~(ratio() <= 1.0 + HOLDS)
            many = own.sum(axis=0) if own.ndim > mesh.axes else own * some.size
            found.setdefault(key, np.zeros(many.shape, np.min_scalar_type(points.size)))
            found[key] += many.astype(found[key].dtype)
    return sorted(found.values(), key=np.size)


def _first_of_each_way(broken: Sequence[Any], every: Grid) -> Indices:
    """The first of all designs that have the same numbers."""
    number: Any = np.zeros(1, np.uint8)
    numbers = 1
    for count in broken:
        most = int(count.max()) + 1
        # few numbers, of which most are the same at all designs; small ones stay near the processor
        if count.min() < most - 1:
            numbers *= most
            kind = np.min_scalar_type(numbers)
            number = number.astype(kind) * kind.type(most) + count
        if numbers > number.size:
            kinds, own = np.unique(number, return_inverse=True)
            number, numbers = own.reshape(number.shape), int(kinds.size)
    first = np.full(numbers, -1)
    first[np.broadcast_to(number, every.mesh_shape).reshape(-1)[::-1]] = np.arange(every.size)[::-1]
    return first[first >= 0]
