"""What is asked of one design for many worlds, and what designs come to in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from formulations.uncertainty.measures import Measured, Quantile
from formulations.uncertainty.worlds import Cap, Judged, Worlds, differing, judged
from scenarios.question import Question


@dataclass(frozen=True, slots=True)
class Chance:
    """What may fail: the limits ``names`` together (none: the level of the objective), in ``may_fail`` samples."""

    names: tuple[str, ...]
    may_fail: int


@dataclass(slots=True, eq=False)
class Level:
    """The best objective known of several choices that are searched side by side: what is worse is not looked for."""

    best: float | None = None

    def reach(self, objective: float, sign: float) -> None:
        """Tell of a design of one of the choices; ``sign``: 1 where the least is the best, else -1."""
        if self.best is None or sign * (objective - self.best) < 0.0:
            self.best = objective


@dataclass(slots=True)
class Effort:
    """Work that is ``left`` to several questions together: boxes times worlds."""

    left: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question in many worlds.

    ``chances``: limits that may fail together in so many worlds; ``kept``: names of the limits that count (None: all).
    ``eased``: the end of a limit whose least factor is looked for, in place of an objective; it does not count itself.
    ``level``: what other choices reach. ``effort``: what this and others may still spend on boxes (None: no end).
    """

    worlds: Worlds
    measure: Measured
    chances: tuple[Chance, ...] = ()
    kept: frozenset[str] | None = None
    eased: RowKey | None = None
    level: Level | None = None
    effort: Effort | None = None

    @property
    def sign(self) -> float:
        """1 where the objective is minimised, -1 where it is maximised."""
        return self.worlds.nominal.sign

    @property
    def exceeded(self) -> int | None:
        """In how many worlds the objective may be worse than its measure; None where that is a mean of several."""
        count = self.worlds.measured
        if isinstance(self.measure, Quantile):
            return count - 1 - self.measure.place(count)
        return 0 if self.measure.share * count <= 1 else None

    @property
    def aims(self) -> bool:
        """Whether something is to be best: an objective, or the factor by which a limit gives."""
        return bool(self.worlds.nominal.objectives) or self.eased is not None

    def counts(self, name: str) -> bool:
        """Whether a limit is asked for."""
        return self.kept is None or name in self.kept

    def caps(self) -> list[Cap]:
        """The limits on measures that are asked for."""
        return [c for c in self.worlds.caps if self.counts(c.name)]

    def failing(self, name: str) -> list[int]:
        """Which chances a limit belongs to; none: it holds in every world."""
        return [g for g, c in enumerate(self.chances) if name in c.names]

    def certain(self) -> Question:
        """The first world with the limits that hold in every world: it has no fewer designs than are asked for."""
        first = self.worlds.at(0)
        limits = tuple(x for x in first.limits if not self.failing(x.name) and self.counts(x.name))
        own = frozenset(x.name for x in first.model.limits if not self.counts(x.name))
        return replace(first, objectives=(), limits=limits, waive=first.waive | own)


@dataclass(frozen=True, slots=True)
class Reached:
    """What D designs come to: ``rows``, at most 1 where limits hold, and the objective, ``goal``; ``at``: by world."""

    rows: Mapping[RowKey, Array]
    goal: Array
    at: Judged

    def over(self) -> Array:
        """By how much designs miss the limit that they miss most; 0 where they miss none."""
        return np.asarray(reduce(np.maximum, self.rows.values(), np.ones_like(self.goal)) - 1.0)


def reached(wanted: Wanted, x: Mapping[str, Any]) -> Reached:
    """Judge designs (D,) in every world.

    Of a limit in all worlds its row is the largest ratio, of one that may fail in k of them the (k+1)-th largest.
    """
    worlds = wanted.worlds
    at = judged(worlds, {n: np.atleast_1d(np.asarray(v, float))[:, None] for n, v in x.items()})
    capped = {c.key for c in worlds.caps}
    rows, together = dict[RowKey, Array](), _ratios_of_chances(wanted, at)
    for key, values in at.ratios.items():
        certain = key in capped or not wanted.failing(key.name)
        if certain and key != wanted.eased and wanted.counts(key.name):
            by_world = differing(values)
            rows[key] = np.where(np.isnan(by_world), np.inf, by_world).max(-1)
    for g, (c, ratios) in enumerate(zip(wanted.chances, together, strict=True)):
        if ratios:
            name = RowKey(" and ".join(c.names), f"chance {g}")
            rows[name] = _exceeded_level(np.max(ratios, axis=0), c.may_fail)
    if wanted.eased is not None:
        own = at.ratios[wanted.eased]
        factor = _factor(wanted, wanted.eased.name, np.where(np.isnan(own), np.inf, own), together)
        return Reached(rows, factor, at)
    if at.objective is None:
        return Reached(rows, np.zeros(len(next(iter(at.metrics.values())))), at)
    goal = wanted.measure.value(at.objective, maximize=wanted.sign < 0)
    return Reached(rows, np.asarray(worlds.at_points(goal[..., None])[..., 0]), at)


def end_that_does(wanted: Wanted, x: Mapping[str, float]) -> float:
    """Return what the end of the limit that gives, on a metric, would have to be at one design.

    Its factor says so only of what cannot be negative.
    """
    key, worlds = wanted.eased, wanted.worlds
    assert key is not None, "some limit gives"
    at, sign = judged(worlds, x), -1.0 if key.side == "min" else 1.0
    values = sign * at.metrics[key.name][..., : worlds.count_of(key.name)]
    own = np.where(np.isnan(values), np.inf, values)
    return sign * float(_factor(wanted, key.name, own, _ratios_of_chances(wanted, at)))


def _ratios_of_chances(wanted: Wanted, at: Judged) -> list[list[Array]]:
    """Of what may fail the ratios of its limits in each world, but for the limit that gives."""
    capped, together = {c.key for c in wanted.worlds.caps}, list[list[Array]]()
    for c in wanted.chances:
        own = [
            ratio
            for key, ratio in at.ratios.items()
            if key.name in c.names and key not in capped and key != wanted.eased and wanted.counts(key.name)
        ]
        together.append([np.where(np.isnan(ratio), np.inf, ratio) for ratio in own])
    return together


def _exceeded_level(values: Array, count: int) -> Array:
    """What only so many worlds exceed."""
    place = values.shape[-1] - 1 - count
    return np.asarray(np.partition(values, place, axis=-1)[..., place])


def _factor(wanted: Wanted, name: str, own: Array, together: list[list[Array]]) -> Array:
    """The least factor by which a limit with these ratios would have to give."""
    groups = wanted.failing(name)
    if not groups:
        return np.asarray(own.max(-1))
    found = []
    for g in groups:
        # where the others of its group fail already it plays no part, and they use up what may fail
        fails = np.any([r > 1.0 + HOLDS for r in together[g]], axis=0) if together[g] else np.zeros(1, bool)
        found.append(_exceeded_level(np.where(fails, np.inf, own), wanted.chances[g].may_fail))
    return np.asarray(np.max(found, axis=0))


def left_out(
    wanted: Wanted, x: Mapping[str, Any], *, all_that_may: bool = False
) -> dict[str, frozenset[int]]:
    """Of each limit that may fail the worlds in which one of its group does, at one design.

    ``all_that_may``: those that come nearest to failing, too, as many as may fail.
    """
    found = dict[str, frozenset[int]]()
    asked = (replace(c, names=tuple(filter(wanted.counts, c.names))) for c in wanted.chances)
    for c in (c for c in asked if c.names):
        ratio = missed(wanted.worlds, c, x)
        fails = np.argsort(-ratio, kind="stable")[: c.may_fail]
        out = frozenset((fails if all_that_may else np.flatnonzero(ratio > 1.0 + HOLDS)).tolist())
        found |= {n: found.get(n, frozenset()) | out for n in c.names}
    return found


def missed(worlds: Worlds, chance: Chance, x: Mapping[str, Any]) -> Array:
    """Return the ratio that a design misses most, of the limits that may fail together, in each world."""
    ratios = [r for key, r in judged(worlds, x).ratios.items() if key.name in chance.names]
    return np.asarray(np.nan_to_num(np.max(ratios, axis=0), nan=np.inf))
