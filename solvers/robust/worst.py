"""Few designs where limits are nearest to broken, at many points, to tell which limits conflict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import plain
from formulations.row_keys import RowKey
from formulations.uncertainty.worlds import Worlds, differing, judged
from solvers import boxes, designs
from solvers.designs import Table
from solvers.explaining import subsets
from solvers.robust import scan

SCATTERED, MOST_JUDGED = 256, 500_000
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


def met(worlds: Worlds, names: Sequence[str], kept: Bools) -> Bools:
    """Tell of sets of limits (R, L) of one point whether one of some scattered designs holds them all in every world.

    Half of the designs lie within the user's bounds on what is decided, half are as far beyond as the search goes.
    """
    question, rng = worlds.nominal, np.random.default_rng(0)
    free = replace(question, decide=tuple(replace(d, minimum=None, maximum=None) for d in question.decide))
    count = min(SCATTERED, max(MOST_JUDGED // worlds.size, 1))
    found = np.zeros(len(kept), bool)
    for asked in (question, free) if question.decide else ():
        where = boxes.space(asked)
        points = where.spread(where.low, where.high, rng.random((count, len(where.names))))
        x = {n: v.copy() for n, v in zip(where.names, points.T, strict=True)}
        for d in question.decide:
            if d.values is not None:
                values = np.array(d.values)
                x[d.name] = values[np.abs(np.log(x[d.name][:, None] / values)).argmin(axis=1)]
            elif d.integer:
                x[d.name] = np.round(x[d.name])
        with np.errstate(all="ignore"):
            ratios, _ = _judged(worlds, x, (1, count))
        masks = subsets.broken({key: own for key, (_, own) in ratios.items()}, names, (1, count))
        bits = kept @ (1 << np.arange(len(names), dtype=np.int64))
        found |= ((np.unique(masks)[None] & bits[:, None]) == 0).any(axis=1)
    return found
