"""Few designs where limits are nearest to broken, at many points, to tell which limits conflict.

A limit in a few worlds says the least that it comes to in all of them. That is enough of most designs: only those are
judged in all worlds on which it rests which limits can hold together, or which value of a limit would do.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Integers, Points
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import plain
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from formulations.uncertainty.worlds import Worlds, differing, judged
from solvers import designs
from solvers.designs import Table
from solvers.explaining import settling
from solvers.robust import scan

FEW_OF_ALL = 4
"""Of fewer than so many times the worlds that are asked first all are asked."""


@dataclass(frozen=True, slots=True)
class WorstOf:
    """Few designs at N points, each in all worlds or in a few.

    ``levels``, ``ratios``: of each limit the number that it limits, where it is worst, and its ratio (N, D): of designs
    that are not ``known`` (N, D) as far as the few worlds tell. A limit on a measure has the number that the measure
    comes to.
    """

    worlds: Worlds
    every: designs.Grid
    levels: Mapping[RowKey, Array]
    ratios: Mapping[RowKey, Array]
    known: Bools

    @property
    def table(self) -> Table:
        """The designs."""
        columns = self.every.at(np.arange(self.every.size)).T
        return Table(self.worlds.nominal, dict(zip(self.every.names, columns, strict=True)))

    @property
    def shape(self) -> tuple[int, int]:
        """Points and designs."""
        return self.worlds.points, self.every.size

    def learn(self, point: Points, place: Points) -> None:
        """Judge designs, each at a point of its own, in all worlds."""
        for some in scan.cut_pairs(self.worlds, point.size):
            own, there = point[some], place[some]
            worlds, x = scan.of_pairs(self.worlds, self.every, own, there)
            shape = (own.size, 1) if divided.shape(worlds.every) else (own.size,)
            found, lost = _judged(worlds, {n: v[:, None] for n, v in x.items()}, shape)
            _refuse_lost(self.worlds, self.every, there[np.ravel(lost)])
            for key, (level, ratio) in found.items():
                self.levels[key][own, there], self.ratios[key][own, there] = level.ravel(), ratio.ravel()
            self.known[own, there] = True

    def broken(self) -> Integers:
        """The limits that designs break, as bits."""
        found = np.zeros(self.shape, np.int64)
        for k, ratio in enumerate(self.ratios.values()):
            found |= np.where(ratio <= 1.0 + HOLDS, 0, 1 << k)
        return found

    def settle_sets(self) -> None:
        """Judge designs until none that is not known could break fewer limits than those that are."""
        for k in itertools.count():
            broken = self.broken()
            sure = np.where(self.known, broken, (1 << len(self.ratios)) - 1)
            point, place = settling.undecided(sure, broken, ~self.known, self._nearest(), 2**k)
            if not point.size:
                return
            self.learn(point, place)

    def settle_values(self, points: Points, names: Sequence[str]) -> None:
        """Judge designs until those are known that need the least of some limits at some points."""
        asked = [(k, key) for k, key in enumerate(self.ratios) if key.name in names]
        while True:
            broken, least = self.broken()[points], list[tuple[Points, Points]]()
            for k, key in asked:
                level = self.ratios[key] if key.side == "model" else self.levels[key]
                value = (-level if key.side == "min" else level)[points]
                value = np.where(((broken & ~(1 << k)) == 0) & ~np.isnan(value), value, np.inf)
                place = value.argmin(axis=1)
                reached = np.isfinite(value[np.arange(points.size), place])
                some = np.flatnonzero(reached & ~self.known[points, place])
                least.append((points[some], place[some]))
            point, place = (np.concatenate(part) for part in zip(*least, strict=True))
            if not point.size:
                return
            both = np.unique(point * self.every.size + place)
            self.learn(both // self.every.size, both % self.every.size)

    def _nearest(self) -> Array:
        """How near designs are to the limits that they hold."""
        near = np.full(self.shape, -np.inf)
        for ratio in self.ratios.values():
            near = np.maximum(near, np.where(ratio <= 1.0 + HOLDS, ratio, -np.inf))
        return near


def worst(worlds: Worlds) -> WorstOf:
    """Judge few designs at N points as far as it takes to tell which limits can hold together.

    Bounds on listed values are limits like others: values beyond them are tried, too, as far as they are few. Raises
    OverflowError where floats end before it is clear whether a design breaks a limit.
    """
    every = designs.beyond_bounds(worlds.nominal)
    if (
        every is None
        or every.size > designs.TRIED_TOGETHER
        or every.size * worlds.size > scan.MOST_SCANNED // 10
    ):
        every = designs.widest(worlds.nominal)
    assert every is not None, "they are few"
    first = _first(worlds)
    few = worlds if first is None else worlds.some(first)
    parts, unknown = list[dict[RowKey, tuple[Array, Array]]](), list[Bools]()
    for places in scan.cut(few, np.arange(every.size)):
        found, lost = _judged(few, scan.columns(every, every.at(places)), (few.points, len(places)))
        parts.append(found)
        unknown.append(lost)
    levels, ratios = (
        {key: np.concatenate([p[key][i] for p in parts], axis=1) for key in parts[0]} for i in range(2)
    )
    lost = np.concatenate(unknown, axis=1)
    found_out = WorstOf(worlds, every, levels, ratios, np.full(lost.shape, first is None))
    if first is None:
        _refuse_lost(worlds, every, np.flatnonzero(lost.any(axis=0)))
    else:
        found_out.learn(*np.nonzero(lost))
        found_out.settle_sets()
    return found_out


def _first(worlds: Worlds) -> Sequence[int] | None:
    """The worlds that are asked first, of each uncertain number those with its ends; None where all are to be asked."""
    if worlds.caps or worlds.counted is not None or worlds.limited is not None:
        return None
    ends = {int(of(v)) for v in worlds.uncertain().values() for of in (np.argmin, np.argmax)}
    return sorted(ends) if ends and FEW_OF_ALL * len(ends) <= worlds.size else None


def _judged(
    worlds: Worlds, x: Mapping[str, Array], shape: tuple[int, ...]
) -> tuple[dict[RowKey, tuple[Array, Array]], Bools]:
    """Of each limit the level and the ratio of designs where it is worst; also which may be lost to floats' range."""
    at, caps = judged(worlds, x), {c.key: c for c in worlds.caps}
    there: dict[str, Any] = {**worlds.every.given, **{n: worlds.at_points(v) for n, v in x.items()}}
    found, unknown = dict[RowKey, tuple[Array, Array]](), np.zeros(shape, bool)
    for key, by_world in at.ratios.items():
        wide = at.metrics.get(key.name)
        if wide is None:
            wide = np.broadcast_to(plain(there[key.name]), (*shape, worlds.size))
        values, ratio = wide[..., : by_world.shape[-1]], differing(by_world)
        few = differing(values)
        level = few.min(-1) if key.side == "min" else few.max(-1)
        level = caps[key].level(values) if key in caps else level
        level = worlds.at_points(level[..., None])[..., 0] if key.name in at.metrics else level
        found[key] = _own(level, shape), _own(ratio.max(-1), shape)
        unknown |= (~np.isfinite(ratio)).any(-1) & ~scan.surely_broken(ratio, 0)
    return found, unknown


def _own(values: Array, shape: tuple[int, ...]) -> Array:
    return np.array(np.broadcast_to(values, shape))


def _refuse_lost(worlds: Worlds, every: designs.Grid, places: Points) -> None:
    """Raise OverflowError where floats end on the way to what designs come to."""
    x = scan.columns(every, every.at(np.unique(places)))
    if places.size and evaluation.beyond_floats(worlds.every, x):
        raise OverflowError(scan.LOST)
