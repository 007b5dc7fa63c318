"""Of a large table lines of designs, which differ in one decided quantity only, looked at as a whole.

The equations run on a mesh of lines, with an interval in the place of that quantity, say which limits every design of a
line breaks for certain, and the least that a limit comes to on it. Designs are looked at one by one only on lines on
which it rests which limits can hold together, or which value of a limit would do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Indices, Integers, Points
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.later import later
from formulations.arithmetics.many import Differ, plain
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from scenarios.question import Question
from solvers import enumeration
from solvers.counting import narrowed
from solvers.counting.narrowed import Asked
from solvers.designs import axis_values
from solvers.explaining import known_designs, settling

SHORTEST = 32
"""Designs of a line, on average, from which it is less work than these."""
ROUNDS, WIDER = 4, 4
"""How often lines are looked at, of each set of limits so many times as many as before; then a mesh is less work."""
NEAR_A_BOUND = 1e-9
"""Relative distance from a bound at which a value is on the side where it holds."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of designs at N points, U of them, that tell which limits conflict there.

    ``x``: what is the same along a line (U,); ``along``: what differs, ``values`` (U, n): its values, some of them more
    than once. ``ratios``, ``levels``: of each limit the least ratio that a design of a line may have, and the least
    number that it limits, minus the largest of a lower limit (N, U).
    """

    asked: Asked
    x: Mapping[str, Array]
    along: str
    values: Array
    ratios: Mapping[RowKey, Array]
    levels: Mapping[RowKey, Array]

    @property
    def shape(self) -> tuple[int, int]:
        """Points and lines."""
        return len(self.asked.which), len(self.values)

    def broken(self, names: Sequence[str]) -> tuple[Integers, Bools]:
        """Return sets of limits, as bits, that designs break (N, M), by which it is told which can hold together.

        Also at which points this is so: at the others more lines would have to be looked at.
        """
        least = known_designs.broken(self.ratios, names, self.shape)
        order = _nearest(self.ratios.values(), self.shape)
        open_ones = np.ones(self.shape, bool)
        # what breaks all limits tells nothing
        found = np.full((len(least), 1), (1 << len(names)) - 1)
        for k in range(ROUNDS):
            point, line = settling.undecided(found, least, open_ones, order, WIDER**k)
            if not point.size:
                break
            open_ones[point, line] = False
            own, ratios, _ = self._each(point, line)
            sets = known_designs.broken(ratios, names, (own.size, self.values.shape[1]))
            found = np.concatenate([found, _by_point(own, sets, found[:, :1])], axis=1)
        # of lines that break one limit at most all are here, of others one of each kind
        known = ~open_ones & (np.sum([r > 1.0 + HOLDS for r in self.ratios.values()], axis=0) <= 1)
        return found, (known | settling.covered(found, least)).all(axis=1)

    def at(self, some: Points) -> Lines:
        """Return the same at some of the points."""
        ratios, levels = ({k: v[some] for k, v in of.items()} for of in (self.ratios, self.levels))
        return replace(self, asked=self.asked.at(some), ratios=ratios, levels=levels)

    def feasible_values(self, name: str) -> Array:
        """Return the feasible value of a limit (see ``subsets.feasible_value``).

        NaN where more lines would have to be looked at.
        """
        found = np.full(self.shape[0], np.inf)
        for key in sorted(k for k in self.ratios if k.name == name):
            left = np.flatnonzero(np.isposinf(found))
            if left.size:
                found[left] = self.at(left)._least(key)
        return found

    def _least(self, key: RowKey) -> Array:
        """Return the least number with which one limit holds beside all others, infinite where none does."""
        count = self.shape[0]
        others = np.zeros(self.shape, bool)
        for other, ratio in self.ratios.items():
            if other != key:
                others |= ratio > 1.0 + HOLDS
        bound = np.where(others, np.inf, self.levels[key])
        best = np.full(count, np.inf)
        for k in range(ROUNDS):
            order = np.argsort(bound, axis=1)[:, : WIDER**k]
            wanted = np.take_along_axis(bound, order, 1) < best[:, None]
            point, place = np.nonzero(wanted)
            if not point.size:
                break
            line = order[point, place]
            bound[point, line] = np.inf
            own, ratios, level = self._each(point, line, key)
            assert level is not None, "it is asked for"
            shape = (own.size, self.values.shape[1])
            held = enumeration.excess(ratios, shape, but=key) <= HOLDS
            value = np.where(held & ~np.isnan(level), level, np.inf).min(axis=1)
            np.minimum.at(best, point, value)
        best[(bound < best[:, None]).any(axis=1)] = np.nan
        return np.where(np.isfinite(best), -best, best) if key.side == "min" else best

    def _each(
        self, point: Points, line: Points, key: RowKey | None = None
    ) -> tuple[Points, dict[RowKey, Array], Array | None]:
        """Return limits as ratios of the designs of lines (P, n), each at a point of its own; and the levels of one."""
        parts = list[tuple[Points, dict[RowKey, Array], Array | None]]()

        def take(now: Points) -> None:
            parts.append((now, *self._at_pairs(point[now], line[now], key)))

        narrowed.piece_by_piece(np.arange(point.size), self.values.shape[1], take)
        order = np.argsort(np.concatenate([p[0] for p in parts]))
        ratios = {k: np.concatenate([p[1][k] for p in parts])[order] for k in parts[0][1]}
        level = None if key is None else np.concatenate([p[2] for p in parts])[order]
        return point, ratios, level

    def _at_pairs(
        self, point: Points, line: Points, key: RowKey | None
    ) -> tuple[dict[RowKey, Array], Array | None]:
        asked = self.asked
        question = divided.before_axes(divided.at(asked.question, point), 1)
        x = {n: v[line][:, None] for n, v in self.x.items()} | {self.along: self.values[line]}
        shape = (point.size, self.values.shape[1])
        with np.errstate(all="ignore"):
            at = evaluation.metrics(question, {n: later(v) for n, v in x.items()})
            ratios = {
                k: enumeration.full(narrowed.least(r), shape)
                for k, r in evaluation.ratios(question, x, at).items()
            }
        if key is None:
            return ratios, None
        return ratios, enumeration.full(narrowed.least(_limited(key, ratios, question, x, at)), shape)


def lines(asked: Asked) -> Lines | None:
    """Return lines of a table; None where designs are as little work, or intervals say nothing."""
    every = asked.every
    j = int(np.argmax(every.shape))
    along = every.names[j]
    parts = _cut_at_bounds(asked.question, along, np.sort(axis_values(every.axes[j])))
    if len(every.shape) < 2 or every.shape[j] < SHORTEST * len(parts):
        return None
    axes = (*every.axes[:j], np.arange(float(len(parts))), *every.axes[j + 1 :])
    grid = replace(every, axes=axes)
    mesh = grid.mesh()
    ends = [np.array([of(p) for p in parts]) for of in (np.min, np.max)]
    wide = {**mesh, along: Interval(*(e.reshape(mesh[along].shape) for e in ends))}
    try:
        found = np.union1d(*narrowed.telling(grid, asked, wide))
        x = grid.designs(found)
        part = x.pop(along).astype(int)
        here = narrowed.mesh_of(
            {**x, along: Interval(*(e[part] for e in ends))}, asked, np.arange(asked.which.max() + 1)
        )
        at = {
            n: narrowed.with_each_end(v, lambda own: _spread(own, asked.which))
            for n, v in here.metrics.items()
        }
        with np.errstate(all="ignore"):
            rows = evaluation.ratios(asked.question, here.x, at)
    except (CannotTake, ArithmeticError):
        return None
    except Differ as apart:
        # told of the points that differ in what is given
        raise (
            Differ(apart.holds[asked.which]) if len(apart.holds) == asked.which.max() + 1 else apart
        ) from None
    shape = (len(asked.which), found.size)
    ratios = {k: enumeration.full(narrowed.least(r), shape) for k, r in rows.items()}
    levels = {
        k: enumeration.full(narrowed.least(_limited(k, rows, asked.question, here.x, at)), shape)
        for k in rows
    }
    width = max(map(len, parts))
    values = np.stack([np.pad(p, (0, width - len(p)), mode="edge") for p in parts])
    return Lines(asked, x, along, values[part], ratios, levels)


def _cut_at_bounds(question: Question, name: str, values: Array) -> list[Array]:
    """Cut the values of a decided quantity where the user's bounds on it end at some point."""
    low, high = evaluation.bounds(question).get(name, (None, None))
    cuts = set[int]()
    for end, near in ((low, 1.0 - NEAR_A_BOUND), (high, 1.0 + NEAR_A_BOUND)):
        if end is not None:
            ends = near * np.ravel(plain(end))
            cuts |= {int(np.searchsorted(values, float(of(ends)))) for of in (np.min, np.max)}
    return [p for p in np.split(values, sorted(cuts)) if p.size]


def _limited(
    key: RowKey, ratios: Mapping[RowKey, Any], question: Question, x: Mapping[str, Any], at: Mapping[str, Any]
) -> Any:
    """Return what is to be small for a limit to hold."""
    if key.side == "model":
        return ratios[key]
    value = plain({**question.given, **x, **at}[key.name])
    return -value if key.side == "min" else value


def _spread(values: Array, which: Indices) -> Array:
    return values[which] if values.ndim > 1 and len(values) > 1 else values


def _nearest(ratios: Iterable[Array], shape: tuple[int, int]) -> Array:
    """How near what holds limits is to them."""
    near = np.full(shape, -np.inf)
    for ratio in ratios:
        near = np.maximum(near, np.where(ratio <= 1.0 + HOLDS, ratio, -np.inf))
    return near


def _by_point(own: Points, sets: Integers, nothing: Integers) -> Integers:
    """Return sets (P, n), each of one of N points, in a row for each point; ``nothing`` (N, 1) fills what is left."""
    order = np.argsort(own, kind="stable")
    counts = np.bincount(own, minlength=len(nothing))
    place = np.arange(own.size) - np.repeat(np.cumsum(counts) - counts, counts)
    found = np.repeat(nothing, counts.max() * sets.shape[1], axis=1).reshape(len(nothing), counts.max(), -1)
    found[own[order], place] = sets[order]
    return found.reshape(len(nothing), -1)
