"""Lists of designs: every combination of the few values that decided quantities may have, and the tie rule among them.

``solvers.enumeration`` evaluates them, at one point or at many. Of designs that are equally good (within 1e-9 relative)
the first by the order of ties is handed out: ``first_of_tied``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Integers, Points
from dse.system.records import dataclass
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from scenarios.question import HALVINGS, Question, combinations
from solvers import boxes
from solvers.boxes import Space

TRIED_TOGETHER = 100_000
"""Designs that are evaluated together; a question of no more is answered by trying them all."""
OUTRIGHT = 1_000_000
"""Designs that are all tried before intervals are asked what limits leave of them: about as quick as asking."""
MOST_SLOPES = 100_000_000
"""Slopes in a round over all limits that may give, some seconds of work."""
LARGEST_COUNTED = 2**53
"""Whole numbers up to here are floats each."""
MANY_DESIGNS = 40_000
"""Designs that are worth evaluating at many points."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Every combination of allowed values in a box, numbered with the last variable fastest."""

    names: tuple[str, ...]
    axes: tuple[Array | range, ...]

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each variable has."""
        return tuple(map(_axis_length, self.axes))

    @property
    def mesh_shape(self) -> tuple[int, ...]:
        """How many values each variable of several has: NumPy has no dimensions for many that are held."""
        return tuple(n for n in self.shape if n != 1) or (1,)

    def mesh(self) -> dict[str, Array]:
        """Return the values of each variable along a dimension of its own, if it has several."""
        found, beyond = {}, len(self.mesh_shape)
        for n, axis, count in zip(self.names, self.axes, self.shape, strict=True):
            beyond -= count != 1
            found[n] = axis_values(axis).reshape(-1, *(1,) * (beyond if count != 1 else 0))
        return found

    def table(self, question: Question) -> Table:
        """Return all combinations as a table."""
        mesh = self.mesh()
        x = {n: np.broadcast_to(v, self.mesh_shape).reshape(-1) for n, v in mesh.items()}
        return Table(question, x, mesh)

    def designs(self, number: Integers) -> dict[str, Array]:
        """Return the combinations of these numbers by variable."""
        return dict(zip(self.names, self.at(number).T, strict=True))

    def at(self, number: Integers) -> Array:
        """Return the combinations of these numbers as rows, SI."""
        columns: list[Array] = []
        for axis in reversed(self.axes):
            number, place = np.divmod(number, _axis_length(axis))
            first = axis.start + place if isinstance(axis, range) else axis[place]
            columns.append(np.asarray(first, dtype=float))
        return np.stack(columns[::-1], axis=1) if columns else np.zeros((len(number), 0))

    def parts(self, question: Question) -> Iterator[Table]:
        """Go through the combinations, a chunk at a time."""
        if 0 < self.size <= TRIED_TOGETHER:
            yield self.table(question)
            return
        # the first variable with several values is cut, so that the order stays
        j = next((j for j, n in enumerate(self.shape) if n != 1), 0)
        step = max(TRIED_TOGETHER * self.shape[j] // max(self.size, 1), 1)
        for start in range(0, self.shape[j] if self.size else 0, step):
            axes = (*self.axes[:j], self.axes[j][start : start + step], *self.axes[j + 1 :])
            yield from replace(self, axes=axes).parts(question)


@dataclass(frozen=True, slots=True)
class Table:
    """Designs of one combination of names: the value of every decided quantity in each.

    ``mesh``: where these are all combinations of some values, each quantity along a dimension of its own.
    """

    question: Question
    x: Mapping[str, Array]
    mesh: Mapping[str, Array] | None = None

    @property
    def size(self) -> int:
        """Number of designs."""
        return len(next(iter(self.x.values()))) if self.x else 1

    def take(self, which: Any) -> Table:
        """Return some of the designs."""
        return Table(self.question, {n: v[which] for n, v in self.x.items()})

    def joined(self, other: Table) -> Table:
        """Return these designs and those of another table."""
        return Table(self.question, {n: np.concatenate([v, other.x[n]]) for n, v in self.x.items()})


def _axis_length(axis: Array | range) -> int:
    """How many values an axis has; ``len`` of a range ends at 2**63."""
    return max(axis.stop - axis.start, 0) if isinstance(axis, range) else len(axis)


def axis_values(axis: Array | range) -> Array:
    """Return the values of an axis."""
    own = axis.start + np.arange(_axis_length(axis)) if isinstance(axis, range) else axis
    return np.asarray(own, dtype=float)


def grid(question: Question, target: float = math.inf) -> Grid | None:
    """All combinations that may meet the limits.

    None where a decided variable is continuous or a choice among names.

    Whole numbers are bounded by the user, by the quantity's domain, and, where that leaves more than ``OUTRIGHT``, by
    what intervals prove about the limits: to try a few designs that break one costs less than such a proof.
    ``target``: combinations that are certainly worse are left out, too (of what is minimised, see boxes.enclose).
    """
    if not question.decide or any(d.choices is not None for d in question.decide):
        return None
    where = boxes.spaces(question, 1)
    return _grids(question, where, target)[0] if np.all(where.discrete) else None


def each_without(
    question: Question, keys: Sequence[RowKey], opened: Sequence[Question], target: float
) -> list[Grid]:
    """All combinations that may meet a target and all limits but one, for each of ``keys``; ``opened``: without it.

    None of them where a decided variable is continuous, or so much is decided that bounds of it all take long.
    """
    if len(keys) * boxes.slopes(question) > MOST_SLOPES:
        return []
    every = [boxes.spaces(q, 1) for q in opened]
    if not every or not np.all(every[0].discrete):
        return []
    low, high = (np.concatenate([getattr(where, end) for where in every]) for end in ("low", "high"))
    return _grids(question, replace(every[0], low=low, high=high), target, keys)


def _grids(question: Question, where: Space, target: float, given_up: Sequence[RowKey] = ()) -> list[Grid]:
    """The combinations of several boxes, where they are many those that limits leave (see ``boxes.tightened``)."""
    low, high = where.low.copy(), where.high.copy()
    known = [_every(where, *ends) for ends in zip(low, high, strict=True)]
    large = np.array([k for k, g in enumerate(known) if g is None or g.size > OUTRIGHT], dtype=int)
    if large.size:
        own = [given_up[int(k)] for k in large] if given_up else []
        low[large], high[large] = boxes.tightened(question, where.at(large), target=target, given_up=own)
    return [_all_combinations(where, *ends) for ends in zip(low, high, strict=True)]


def few(question: Question) -> int | None:
    """Count all combinations where they are so few that trying them is the shortest way; None elsewhere."""
    if not question.decide or not plain(question) or question.search is not None:
        return None
    every = everything(question)
    return every.size if every is not None and every.size <= TRIED_TOGETHER else None


def plain(question: Question) -> bool:
    """Whether designs are judged by the model's equations alone: not by idle time, limits on halvings, or a program."""
    limited = any(x.name == HALVINGS.name for x in question.limits)
    return not (question.idle or question.model.black_box or limited)


def free(question: Question) -> int:
    """Count the decided numbers that may be any number of an interval."""
    return sum(1 for d in question.decide if not d.integer and d.values is None and d.choices is None)


def everything(question: Question) -> Grid | None:
    """Every combination there is, whatever limits say.

    None where something decided is continuous, a choice among names, or has an end that only a search has.
    """
    if free(question) or any(d.choices is not None for d in question.decide):
        return None
    if boxes.searched_above(question):
        # an end that is only there to have one proves nothing
        return None
    where = boxes.space(question)
    return _every(where, where.low, where.high)


def _every(where: Space, low: Array, high: Array) -> Grid | None:
    """Every combination between two ends, whatever limits say; None where something has no end."""
    return _all_combinations(where, low, high) if np.isfinite([low, high]).all() else None


def _all_combinations(where: Space, low: Array, high: Array) -> Grid:
    """Every combination between two ends; none where a lower one is above its upper one."""
    if np.any(low > high):
        return Grid(where.names, (range(0),) * len(where.names))
    return Grid(where.names, tuple(_axis(where, j, low, high) for j in range(len(where.names))))


def _axis(where: Space, j: int, low: Array, high: Array) -> Array | range:
    allowed = where.values[j]
    if allowed is None:
        first, last = int(low[j]), int(high[j])
        if last > LARGEST_COUNTED and last - first <= OUTRIGHT:
            # beyond, every float is whole, and several whole numbers are one float
            return np.unique(np.array(range(first, last + 1), dtype=float))
        return range(first, last + 1)
    return np.asarray(allowed[(allowed >= low[j]) & (allowed <= high[j])])


def tables(question: Question, most: int = MANY_DESIGNS) -> list[Grid] | None:
    """All designs of each combination of names of a question at many points.

    None where something decided is not a list, or there are more than so many.
    """
    found: list[Grid] = []
    for _, asked in combinations(question):
        every = widest(asked)
        if every is None or every.size + sum(t.size for t in found) > most:
            return None
        found.append(every)
    return found


def widest(question: Question) -> Grid | None:
    """All combinations of numbers within the widest of the user's bounds at many points."""
    return everything(divided.with_ends(question, np.min, np.max)) if question.decide else Grid((), ())


def beyond_bounds(question: Question) -> Grid | None:
    """All combinations of listed values, whatever the user's bounds on them; see ``everything``."""
    free = tuple(replace(d, minimum=None, maximum=None) for d in question.decide)
    return everything(replace(question, decide=free))


def as_good_as(least: Any, within: float = TIE) -> Any:
    """Return the largest value that counts as being as small as the least; ``within``: a part of it."""
    return least + within * np.where(np.isfinite(least), np.abs(least), 0.0)


def as_good(value: float, best: float) -> bool:
    """Whether an objective is as good as the best one, whichever way it is to go."""
    return abs(value - best) <= TIE * abs(best)


def first_of_tied(owner: Points, points: int, levels: Iterable[Any], within: float = TIE) -> Points:
    """Return the place of the design that each of ``points`` hands out, of designs that are equally good (-1: none).

    ``owner`` (K,): the point of each design. ``levels``: what settles ties, one after the other, for each design (K,);
    what does not exist (NaN) comes last; ``within``: see ``as_good_as``. Of designs that no level tells apart the first
    one is handed out.
    """
    left = np.arange(owner.size)
    for level in levels:
        values: Array = np.nan_to_num(np.asarray(level, dtype=float)[left], nan=np.inf, posinf=np.inf)
        least = np.full(points, np.inf)
        np.minimum.at(least, owner[left], values)
        left = left[values <= as_good_as(least, within)[owner[left]]]
    found = np.full(points, -1, dtype=np.int64)
    found[owner[left[::-1]]] = left[::-1]
    return found


def first_by_rule(
    question: Question, numbers: Sequence[Mapping[str, Array]], tied: Bools, within: float = TIE
) -> Points:
    """Return which of some designs that are ``tied`` (designs, N) each of N points hands out (-1: none).

    ``numbers``: of each design its metrics and what is decided, at the points. ``within``: see ``as_good_as``.
    """
    design, point = np.nonzero(tied)
    order = (*question.tie_order, *(d.name for d in question.decide))
    levels = (
        np.stack([own[name] for own in numbers])[design, point]
        for name in order
        if all(name in own for own in numbers)
    )
    first = first_of_tied(point, tied.shape[1], levels, within)
    return np.where(first < 0, -1, design[first]) if design.size else first
