"""The points of a block of a grid, in groups that differ in numbers only, each group one question with many numbers."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dse.system.arrays import Array, Bools, Indices, Integers, Points
from dse.system.records import dataclass
from formulations import handover
from formulations.arithmetics.many import Differ, Many
from formulations.grids import over_grid
from formulations.grids.over_grid import Region, Spread
from results.dataset import Arrays, Layout
from scenarios.question import Question
from scenarios.sweep.grids import Change, Grid
from solvers import work
from solvers.many_points.block_answers import BlockAnswers
from solvers.many_points.offers import OF_A_STRUCTURE
from solvers.mechanisms.why import Why

WAY = "many numbers at once"
APART = "points whose numbers lead to structures of their own"
UNSURE = "an optimum or a conflict that is not certain (a tie, a degenerate vertex, a limit just missed)"
BEATEN = "a bound that proves it worse than what is known beside it"
ANY_NUMBER = sys.maxsize
GROUPS = 64
"""So many times may the points of a group be told apart by their numbers, of many as often as leaves
``OF_A_STRUCTURE`` together on average."""
ROWS_TRIED = 1000
"""Values of an axis that are tried when it is looked at how many structures it has."""

Answer = Callable[[Question, Points], Bools]


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a grid; its points are numbered in C order.

    ``below``: objectives at its points that something else reaches; what is surely worse may be left over with a bound
    that proves it (NaN: nothing is known; None: of no point), for the reason BEATEN. ``asked``: the points that are
    asked (None: all).
    """

    spread: Spread
    region: Region
    below: Array | None = None
    asked: Bools | None = None

    @property
    def grid(self) -> Grid:
        """The whole grid."""
        return self.spread.grid

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return over_grid.sides(self.region)

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def question(self, points: Points, further: int = 0) -> Question:
        """Return the question at points that differ in numbers only, these as ``Many``.

        ``further``: dimensions of length 1 behind that of the points.
        """
        index = self.places(points)

        def many(values: Any) -> Many:
            return Many(values.reshape(-1, *(1,) * further))

        first = tuple(int(i[0]) for i in index)
        asked = self.spread.with_numbers(first, lambda i, values: many(values[index[i]]))
        if self.grid.tied is None:
            return asked
        return self.grid.tied.written(asked, self.region, lambda v: many(v.reshape(-1)[points]))

    def places(self, points: Points) -> list[Points]:
        """Return where points are in the grid, along each axis."""
        along = np.unravel_index(points, self.shape)
        return [s.start + p for s, p in zip(self.region, along, strict=True)]

    def place(self, point: int) -> tuple[int, ...]:
        """Return where a point is in the grid."""
        return tuple(int(p) for p in self.places(np.array(point)))

    def alike_given(self, points: Points) -> tuple[Indices, Indices]:
        """Tell points apart that differ in what is given: the first of each kind, and which kind each is of.

        Points of one kind differ in limits and bounds only. Both are places among ``points``.
        """
        _, first, which = np.unique(self._given(points), return_index=True, return_inverse=True)
        return first, which.reshape(-1)

    def of_one_end(self, points: Points) -> None:
        """Raise Differ where bounds of what is decided differ between points: those of the first, and the others."""
        places, alike = self.places(points), np.ones(len(points), bool)
        for change in self.grid.changes:
            if change.target.kind == "decide":
                values = np.asarray(change.of.values)[places[change.along]]
                alike &= values == values[0]
        if not alike.all():
            raise Differ(alike)

    def _given(self, points: Points) -> Points:
        """Number points by their values along the axes that change what is given."""
        places = np.unravel_index(points, self.shape)
        found: Points = np.zeros(len(points), dtype=np.int64)
        for change in self.grid.changes:
            if change.target.kind not in {"limit", "decide"}:
                values, marks = np.unique(self._texts(change), return_inverse=True)
                both = found * len(values) + marks[places[change.along]]
                # numbered anew, so that many of them stay small
                found = np.unique(both, return_inverse=True)[1].reshape(-1)
        return found

    def alike(self) -> Iterator[Points]:
        """Go through the groups of points that differ in numbers only, none in what is asked."""
        apart = [self._kinds(k) for k in range(len(self.region))]
        for kinds in itertools.product(*(range(int(a.max(initial=-1)) + 1) for a in apart)):
            own = [np.flatnonzero(a == kind) for a, kind in zip(apart, kinds, strict=True)]
            if all(len(o) for o in own):
                points = np.ravel_multi_index(np.ix_(*own), self.shape).reshape(-1)
                points = points if self.asked is None else points[self.asked[points]]
                if points.size:
                    yield points

    def _kinds(self, k: int) -> Integers:
        """Number the kinds of values along an axis of the block."""
        named = [self._texts(c) for c in self.grid.changes if c.along == k and c.apart]
        marks: list[NDArray[Any]] = [np.unique(texts, return_inverse=True)[1] for texts in named]
        marks += self.spread.there(k, self.region[k])
        if not marks:
            return np.zeros(self.shape[k], dtype=np.int64)
        found: Integers = np.unique(np.stack(marks), axis=1, return_inverse=True)[1].reshape(-1)
        return found

    def _texts(self, change: Change) -> Any:
        return np.asarray(change.of.values[self.region[change.along]])

    def answered(
        self,
        answer: Answer,
        piece: int,
        *,
        by_given: bool = False,
        kinds: int = ANY_NUMBER,
        crowd: int = 1,
    ) -> Bools:
        """Have all points answered, up to ``piece`` of them together, by so many threads; tells those that were not.

        ``by_given``: points that differ in limits only are kept together as far as that goes; ``kinds``: so many
        kinds of others are put together at most.

        ``answer`` tells which of its points it answered. It may raise Differ with a mask along them, and they are then
        asked apart; whatever else it raises, they are left to be solved one by one.
        """
        left = np.zeros(self.size, dtype=bool)

        def answer_piece(points: Points) -> None:
            for missed in together(points, lambda now: answer(self.question(now), now)):
                left[missed] = True

        pieces = (
            p for every in self.alike() for p in self._pieces(every, piece, by_given=by_given, kinds=kinds)
        )
        handover.side_by_side(answer_piece, pieces, crowd)
        return left.reshape(self.shape)

    def _pieces(self, points: Points, piece: int, *, by_given: bool, kinds: int) -> Iterator[Points]:
        """Cut points into pieces; where one kind of given numbers does not fill a piece it is not cut."""
        given = self._given(points) if by_given or kinds < ANY_NUMBER else np.zeros(len(points), np.intp)
        order = np.argsort(given, kind="stable")
        start = 0
        while start < len(points):
            end = min(start + piece, len(points))
            ends = np.flatnonzero(np.diff(given[order[start : end + 1]])) + 1
            if ends.size >= kinds or (ends.size and end < len(points)):
                end = start + int(ends[min(kinds, ends.size) - 1])
            yield points[order[start:end]]
            start = end


@dataclass(frozen=True, slots=True)
class OverGrid:
    """What ways over the axes of a grid have; see ``offers.Path``."""

    spread: Spread

    @property
    def grid(self) -> Grid:
        """The grid that is answered."""
        return self.spread.grid

    def part(self, places: Sequence[Points]) -> Self:
        """Return the same way for some places along each axis of its grid."""
        return replace(self, spread=self.spread.part(places))


@dataclass(frozen=True, slots=True)
class ByGroup(OverGrid):
    """A way to answer many points in groups that differ in numbers only.

    ``answer``: puts the answers of points into a block, and tells which are answered; ``most``: points that it gets
    together. ``units``: what a point is of each work (see ``solvers.work``); ``without``: what more it is where it has
    no design. ``by_given``, ``kinds``: see ``Block.answered``. ``ordered``: whether it answers points from others near
    by, so that scattered rows are put in order before. ``threads``, ``explains``: see ``offers.Path``.
    """

    answer: Callable[[BlockAnswers, Block, Question, Points], Bools]
    most: int
    method: str
    kind: str
    units: Mapping[str, float]
    by_given: bool = False
    kinds: int = ANY_NUMBER
    ordered: bool = False
    threads: bool = False
    explains: bool = False
    without: Mapping[str, float] = field(default_factory=dict)

    def where_some_have_none(self, share: float) -> ByGroup:
        """Return the way with the work that it is where such a share of the points has no design."""
        return replace(self, units={**self.units, **{n: share * count for n, count in self.without.items()}})

    @property
    def work(self) -> float:
        """Declared seconds of a point."""
        return work.total(self.units)

    def solve(
        self, plan: Layout, region: Region, asked: Bools | None = None, below: Array | None = None
    ) -> tuple[Arrays, Bools]:
        """Answer a block: see ``offers.Path``. ``below``: objectives at the points of the block; see ``Block``."""
        if self.ordered and self.spread.scattered and asked is None:
            return over_grid.in_order(self, plan, region)
        block = Block(
            self.spread,
            region,
            below=None if below is None else below.reshape(-1),
            asked=None if asked is None else asked.reshape(-1),
        )
        answers = BlockAnswers(plan, block.shape)

        def put(question: Question, points: Points) -> Bools:
            return self.answer(answers, block, question, points)

        # the compiler has a lock: a thread that waits for it finds what the other one compiled
        crowd = threads() if self.threads else 1
        left = block.answered(put, self.most, by_given=self.by_given, kinds=self.kinds, crowd=crowd)
        return answers.arrays, left


def threads() -> int:
    """How many threads may work side by side: a worker's own, in another process one for each core."""
    if "distributed.worker" in sys.modules:
        from distributed import get_worker

        try:
            return int(get_worker().state.nthreads)
        except ValueError:  # no worker is at work in this thread
            pass
    from dask.system import CPU_COUNT

    return int(CPU_COUNT)


def together(points: Points, answer: Callable[[Points], Bools]) -> Iterator[Points]:
    """Answer points together, and apart where they have to be told apart. Yields those that were not answered."""
    waiting, number, most = [points], 0, max(GROUPS, 2 * len(points) // OF_A_STRUCTURE)
    while waiting:
        now, number = waiting.pop(), number + 1
        if number > most:
            handover.hand_over(APART, len(now))
            yield now
            continue
        missed = now
        with handover.guarded(WAY, len(now), handover.ARITHMETIC):
            try:
                with handover.collected() as inside:
                    missed = now[~answer(now)]
                inside.complete(len(missed), UNSURE)
                inside.pass_on()
            except Differ as differ:
                holds = differ.holds.reshape(len(differ.holds), -1)
                if len(holds) != len(now) or (holds != holds[:, :1]).any():
                    handover.hand_over(APART, len(now))
                else:
                    waiting += [now[holds[:, 0]], now[~holds[:, 0]]]
                    continue
        yield missed


def told_why(answers: BlockAnswers, points: Points, none: Points, why: Callable[[Points], Why]) -> Bools:
    """Tell why some of the ``points`` have no design; tells of which it is told.

    ``none``: their places. ``why``: what tells it of places.
    """
    told = np.zeros(len(points), dtype=bool)
    told[none] = True
    for left in together(none, lambda now: answers.conflicts(points[now], why(now))) if none.size else ():
        told[left] = False
    return told


def alike_along(spread: Spread, made: Callable[[Block, Question, Points], object]) -> list[float]:
    """Return how many points of a grid have one structure along each axis, on average.

    ``made``: what runs the model, which tells points of several structures apart.
    """
    found, shape = [], spread.grid.shape
    for k, n in enumerate(shape):
        some = np.unique(np.linspace(0, n - 1, min(n, ROWS_TRIED)).astype(int))
        part = spread.part([some if i == k else np.zeros(1, int) for i in range(len(shape))])
        # the first point is that of the whole grid, of which it is known what was recognised
        part.firsts.update({p: kind for p, kind in spread.firsts.items() if not any(p)})
        groups = _structures(part, made)
        # where rows that were left out may have structures of their own
        found.append((n if groups * OF_A_STRUCTURE <= len(some) else len(some)) / max(groups, 1))
    return found


def _structures(spread: Spread, made: Callable[[Block, Question, Points], object]) -> int:
    """Return how many structures the points of a grid have; one that cannot be made counts by itself."""
    block = Block(spread, over_grid.whole(spread.grid))
    groups = 0

    def count(question: Question, points: Points) -> Bools:
        nonlocal groups
        some = made(block, question, points) is not None
        groups += some
        return np.full(len(points), some)

    return int(block.answered(count, ROWS_TRIED).sum()) + groups
