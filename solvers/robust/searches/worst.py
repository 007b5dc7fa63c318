"""Few designs where limits are nearest to broken, at many points, to tell which limits conflict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import plain
from formulations.row_keys import RowKey
from formulations.uncertainty.worlds import Worlds, differing, judged
from scenarios.question import Decision
from solvers import boxes, designs
from solvers.designs import Grid, Table
from solvers.explaining import known_designs
from solvers.robust.searches import scan

SCATTERED_IN_WORLDS, JUDGED_IN_WORLDS = 256, 500_000
"""Designs that are judged before limits are searched, and in how many worlds all of them together at most."""


@dataclass(frozen=True, slots=True)
class Worst:
    """Few designs at N points, judged where each limit is nearest to broken.

    ``levels`` and ``ratios`` (N, D): the number that a limit limits, and its ratio, in its worst world; of a limit on a
    measure the number that this comes to. ``beyond``: whether these are all designs whatever the bounds on what is
    decided; else those within them.
    """

    table: Table
    levels: dict[RowKey, Array]
    ratios: dict[RowKey, Array]
    beyond: bool


def worst(worlds: Worlds) -> Worst:
    """Judge few designs at N points, to tell which limits can hold together.

    Bounds on decided numbers are limits like others: values beyond them are tried, too, where they are few. Raises
    OverflowError where floats end before it is clear whether a design breaks a limit.
    """
    every = designs.beyond_bounds(worlds.nominal)
    few = designs.TRIED_TOGETHER, scan.MOST_SCANNED // (10 * worlds.size)
    beyond = every is not None and every.size <= min(few)
    if not beyond:
        every = designs.widest(worlds.nominal)
    assert every is not None, "they are few"
    return of_all(worlds, every, beyond=beyond)


def of_all(worlds: Worlds, every: Grid, *, beyond: bool = False) -> Worst:
    """Judge all of some designs at N points; see ``worst``."""
    parts, places = list[dict[RowKey, tuple[Array, Array]]](), np.arange(every.size)
    for some in scan.cut(worlds, places):
        x = scan.columns(every, every.at(some))
        found, lost = _judged(worlds, x, (worlds.points, len(some)))
        parts.append(found)
        unknown = some[lost.any(axis=0)]
        if unknown.size and evaluation.beyond_floats(worlds.every, scan.columns(every, every.at(unknown))):
            raise OverflowError(scan.LOST)
    levels, ratios = (
        {key: np.concatenate([p[key][i] for p in parts], axis=1) for key in parts[0]} for i in range(2)
    )
    return Worst(Table(worlds.nominal, every.designs(places)), levels, ratios, beyond)


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


@dataclass(frozen=True, slots=True)
class Known:
    """Designs of one question in many worlds that are known, by the sets of limits ``names`` that they break, as bits.

    At first these are designs scattered over the question.
    """

    worlds: Worlds
    names: tuple[str, ...]
    broken: set[int] = field(default_factory=set)

    def holds(self, kept: Bools) -> bool:
        """Tell whether one of the designs holds all limits that are ``kept`` (L,) in every world."""
        if not self.broken and self.worlds.nominal.decide:
            self._scatter()
        bits = sum(1 << int(i) for i in np.flatnonzero(kept))
        return any(not mask & bits for mask in self.broken)

    def learn(self, x: Mapping[str, Array]) -> None:
        """Add designs, each quantity (D,)."""
        count = max(map(len, x.values()), default=1)
        with np.errstate(all="ignore"):
            ratios, _ = _judged(self.worlds, {n: v[:, None] for n, v in x.items()}, (1, count))
        own = {key: ratio for key, (_, ratio) in ratios.items()}
        self.broken.update(map(int, np.unique(known_designs.broken(own, self.names, (1, count)))))

    def _scatter(self) -> None:
        """Half of the designs lie within the user's bounds, half are as far beyond as the search goes."""
        question, rng = self.worlds.nominal, np.random.default_rng(0)
        free = tuple(replace(d, minimum=None, maximum=None) for d in question.decide)
        count = min(SCATTERED_IN_WORLDS, max(JUDGED_IN_WORLDS // self.worlds.size, 1))
        for asked in (question, replace(question, decide=free)):
            where = boxes.space(asked)
            points = where.spread(where.low, where.high, rng.random((count, len(where.names))))
            self.learn(
                {d.name: _nearest_allowed(d, v) for d, v in zip(question.decide, points.T, strict=True)}
            )


def _nearest_allowed(d: Decision, x: Array) -> Array:
    if d.values is None:
        return np.round(x) if d.integer else x
    values = np.array(d.values)
    return np.asarray(values[np.abs(x[:, None] - values).argmin(axis=1)])
