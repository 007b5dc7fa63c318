"""One design for many worlds, where the designs are few: each is judged in every world, whatever the equations are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Points
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import plain
from formulations.grids import divided
from formulations.tolerances import HOLDS
from formulations.uncertainty import wanted as what
from formulations.uncertainty.wanted import Reached, Wanted
from formulations.uncertainty.worlds import Judged, Worlds, differing, judged, many_at, metrics
from results.solution import Status
from solvers import designs
from solvers.outcome import ENUMERATION, Outcome
from solvers.robust.masters.robust_geometric import DISCRETE, Found

SCANNED_AT_ONCE = 200_000
"""Designs times worlds in one run of the equations: arrays of 1.6 MB, which stay in a cache. Of larger ones, which the
system gives and takes back each time, a number costs four times as much."""
MOST_SCANNED = 400_000_000
"""Designs times worlds in all: some minutes."""
PROBES = 8
"""Worlds that are asked first."""
FEW_HELD = 2
"""Designs at a point that are judged at once, without an order."""
RULED_OUT = 1e-7
"""What misses a limit by more at every point is no design anywhere."""
LOST = "a design that may hold leaves the range of floats in some sample"


def few(worlds: Worlds) -> bool:
    """Tell whether trying every design in every world is the shortest way."""
    every = designs.widest(worlds.nominal)
    return (
        every is not None
        and every.size <= designs.TRIED_TOGETHER
        and every.size * worlds.size <= MOST_SCANNED // 10
    )


@dataclass(frozen=True, slots=True)
class Best:
    """The designs ``x`` (M, n) of which some are the best at each of N points.

    ``tied`` (N, M): which; ``first`` (N,): the one that is handed out, -1 where none holds; ``value`` (N,): what is
    minimised there; ``missed`` (N,): the least, over all designs, by which some limit is broken.
    """

    x: Array
    tied: Bools
    first: Points
    value: Array
    missed: Array


def best(wanted: Wanted, every: designs.Grid) -> Best:
    """Judge every design in every world at each point; the least measure of those that hold all limits.

    Ties go by the question's rule, at the means over the worlds. Raises OverflowError where a design that may hold
    leaves the range of floats.
    """
    worlds, count = wanted.worlds, wanted.worlds.points
    held, goal = _may_hold(wanted, every), np.full((count, every.size), -np.inf)
    if worlds.nominal.objectives and wanted.eased is None and np.count_nonzero(held) > FEW_HELD * count:
        goal[held] = _goals(wanted, every, held)
    order = np.argsort(np.where(held, goal, np.inf), axis=1, kind="stable")
    taken, low, missed = np.zeros(held.shape, bool), np.full(count, np.inf), np.full(count, np.inf)
    start, width = 0, 1
    # the best that may hold come first: where one of them does, limits say nothing of the rest
    while start < every.size:
        columns = order[:, start : start + width]
        wanted_still = held & (goal <= designs.as_good_as(low)[:, None])
        point, k = np.nonzero(np.take_along_axis(wanted_still, columns, 1))
        for some in cut_pairs(worlds, point.size):
            own, place = point[some], columns[point[some], k[some]]
            found = _reached(wanted, every, own, place)
            held_all = ~np.isnan(found.goal) & np.all([r <= 1.0 + HOLDS for r in found.rows.values()], axis=0)
            held_all = _flat(held_all, own.size)
            _refuse_lost(wanted, every, place, found.at, held_all)
            goal[own, place] = np.where(held_all, wanted.sign * _flat(found.goal, own.size), np.inf)
            taken[own, place] = held_all
            np.minimum.at(missed, own, _flat(found.over(), own.size))
        low = np.where(taken, goal, np.inf).min(axis=1, initial=np.inf)
        start, width = start + width, 2 * width
    tied = taken & (goal <= designs.as_good_as(low)[:, None])
    kept = tied.any(0)
    x, tied = every.at(np.flatnonzero(kept)), tied[:, kept]
    owner, column = np.nonzero(tied)
    ties = [level[owner, column] for level in _tie_levels(worlds, every, x, tied)]
    first = designs.first_of_tied(owner, count, [*ties, *x[column].T])
    return Best(x, tied, np.where(first < 0, -1, column[first]) if column.size else first, low, missed)


def cut_pairs(worlds: Worlds, size: int) -> Iterator[slice]:
    """Cut pairs of points and designs into pieces that are judged at once."""
    step = max(SCANNED_AT_ONCE // worlds.size, 1)
    yield from (slice(start, start + step) for start in range(0, size, step))


def _flat(values: Any, size: int) -> Any:
    return np.broadcast_to(np.asarray(values).reshape(-1), (size,))


def _reached(wanted: Wanted, every: designs.Grid, point: Points, place: Points) -> Reached:
    """What designs come to, each at a point of its own."""
    worlds, x = of_pairs(wanted.worlds, every, point, place)
    return what.reached(replace(wanted, worlds=worlds), x)


def of_pairs(
    worlds: Worlds, every: designs.Grid, point: Points, place: Points
) -> tuple[Worlds, dict[str, Array]]:
    """Return the worlds at points, and designs, one for each of these."""
    x = every.at(place)
    if divided.shape(worlds.every):
        near, own = None, x
        if worlds.near is not None and worlds.kinds < worlds.points:
            # what differs in limits only is worked out once
            kind = worlds.near[1][point]
            _, first, of = np.unique(kind * every.size + place, return_index=True, return_inverse=True)
            near, own = (many_at(worlds.near[0], kind[first]), of), x[first]
        worlds, x = replace(worlds, every=many_at(worlds.every, point), near=near), own[:, :, None]
    return worlds, dict(zip(every.names, np.moveaxis(x, 1, 0), strict=True))


def _goals(wanted: Wanted, every: designs.Grid, held: Bools) -> Array:
    """What is minimised at the designs that may hold at each point, minus infinity where it is no number."""
    worlds = wanted.worlds
    near, which = worlds.near or (worlds.every, np.arange(worlds.points))
    some = np.zeros((worlds.kinds, every.size), bool)
    np.logical_or.at(some, which, held)
    kind, place = np.nonzero(some)
    found = np.empty(kind.size)
    for own in cut_pairs(worlds, kind.size):
        x, there = every.at(place[own])[:, :, None], near
        if divided.shape(near):
            x, there = x[..., None], many_at(near, kind[own])
        named = dict(zip(every.names, np.moveaxis(x, 1, 0), strict=True))
        with np.errstate(all="ignore"):
            values = evaluation.objective(there, named, metrics(there, named))
        shape = (*np.shape(x)[:1], *np.shape(x)[2:-1], worlds.size)
        by_world = np.broadcast_to(np.asarray(plain(values), float), shape)[..., : worlds.measured]
        found[own] = _flat(wanted.measure.value(by_world, maximize=wanted.sign < 0), len(x))
    goal = np.full(some.shape, -np.inf)
    goal[some] = np.where(np.isnan(found), -np.inf, wanted.sign * found)
    return np.asarray(goal[which][held])


def _tie_levels(worlds: Worlds, every: designs.Grid, x: Array, tied: Bools) -> list[Array]:
    """Return what settles ties, means of metrics (N, M) of designs ``x`` (M, n): NaN of those that are not tied."""
    several = np.flatnonzero(tied[tied.sum(1) > 1].any(0))
    levels = dict[str, Array]()
    for some in cut(worlds, several):
        at = judged(worlds, columns(every, x[some])).metrics
        for name in (n for n in worlds.nominal.tie_order if n in at):
            level = worlds.at_points(mean(at[name][..., : worlds.measured]))[..., 0]
            levels.setdefault(name, np.full(tied.shape, np.nan))[:, some] = level
    return list(levels.values())


def mean(by_world: Array) -> Array:
    """Return the mean over worlds: of rows one behind the other, so that it has the same bits beside any others."""
    return np.asarray(np.ascontiguousarray(differing(by_world)).mean(-1, keepdims=True))


def minimise(wanted: Wanted) -> Found:
    """Find the best of all designs. Raises CannotTake where there are too many."""
    worlds, every = wanted.worlds, listed(wanted)
    found = best(wanted, every)
    text = f"every design ({every.size}) evaluated in {worlds.words}"
    if found.first[0] < 0:
        none = "none holds" if not wanted.chances else "each fails in more than it may"
        return Found(Outcome(Status.INFEASIBLE, certificate=f"{text}; {none}", solver=ENUMERATION))
    ends = zip(every.names, found.x.min(0), found.x.max(0), strict=True)
    ranges = {n: (float(low), float(high)) for n, low, high in ends if low < high}
    x = dict(zip(every.names, map(float, found.x[found.first[0]]), strict=True))
    status, value = (
        (Status.OPTIMAL, wanted.sign * float(found.value[0])) if wanted.aims else (Status.FEASIBLE, None)
    )
    outcome = Outcome(status, x, value, text, ENUMERATION)
    return Found(outcome, ranges=ranges, left_out=what.left_out(wanted, x), unweighed=DISCRETE)


def listed(wanted: Wanted) -> designs.Grid:
    """Return all designs that may meet the limits; raises CannotTake where they cannot be listed.

    What breaks a limit in one world is not a design, so intervals may exclude what they exclude in the first.
    """
    worlds = wanted.worlds
    every = designs.widest(worlds.nominal)
    if every is None or every.size > designs.TRIED_TOGETHER:
        every = designs.grid(wanted.certain())
    if every is None or every.size * worlds.size > MOST_SCANNED:
        raise CannotTake("the decided quantities are not few whole numbers or listed values")
    return every


def cut(worlds: Worlds, places: Points) -> Iterator[Points]:
    """Cut the places of designs into pieces that are judged at once."""
    step = max(SCANNED_AT_ONCE // max(worlds.size * worlds.kinds, worlds.points), 1)
    yield from (places[start : start + step] for start in range(0, len(places), step))


def _may_hold(wanted: Wanted, every: designs.Grid) -> Bools:
    """Which designs (N, D) may hold at each point: a few worlds break most of those that do not."""
    worlds = wanted.worlds
    held = np.ones((worlds.points, every.size), bool)
    if worlds.size <= 4 * PROBES or every.size <= FEW_HELD:
        return held
    few = worlds.some(range(PROBES))
    for places in cut(few, np.arange(every.size)):
        at = judged(few, columns(every, every.at(places)))
        # what is not a number may be one that floats do not reach
        rows = [
            ((r <= 1.0 + RULED_OUT) | ~np.isfinite(r)).all(-1)
            for k, r in at.ratios.items()
            if wanted.counts(k.name) and not wanted.failing(k.name)
        ]
        held[:, places] = np.broadcast_to(np.all(rows, axis=0), (len(held), len(places)))
    return held


def columns(every: designs.Grid, points: Array) -> dict[str, Array]:
    """Return designs as columns, for numbers of which the last dimension is that of the worlds."""
    return {n: c[:, None] for n, c in zip(every.names, points.T, strict=True)}


def _refuse_lost(wanted: Wanted, every: designs.Grid, places: Points, at: Judged, taken: Bools) -> None:
    """Raise OverflowError where a design (P,) is not ``taken``, but breaks no limit for sure: floats end before it.

    What has no value by 0/0 or by the logarithm of what is negative is not a design.
    """
    told = taken
    for key, ratio in at.ratios.items():
        if wanted.counts(key.name) and key != wanted.eased:
            few, groups = differing(ratio), wanted.failing(key.name)
            may_fail = min((wanted.chances[g].may_fail for g in groups), default=0)
            told = told | _flat(surely_broken(few, may_fail * few.shape[-1] // ratio.shape[-1]), taken.size)
    if not told.all() and evaluation.beyond_floats(
        wanted.worlds.every, columns(every, every.at(places[~told]))
    ):
        raise OverflowError(LOST)


def surely_broken(ratio: Array, may_fail: int) -> Bools:
    """Tell which designs break a limit in more worlds than they may, by numbers that floats hold."""
    broken: Array = np.count_nonzero(np.isfinite(ratio) & (ratio > 1 + HOLDS), axis=-1)
    return broken > may_fail
