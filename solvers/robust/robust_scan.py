"""One design for many worlds, where the designs are few: each is judged in every world, whatever the equations are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations import evaluation
from formulations.tolerances import HOLDS, TIE
from formulations.uncertainty.measures import Weighing
from formulations.uncertainty.worlds import Worlds, judged
from results.solution import Status
from solvers import designs
from solvers.outcome import ENUMERATION, Outcome
from solvers.robust.masters.robust_geometric import DISCRETE, Found

Array = NDArray[np.float64]
SCANNED_AT_ONCE = 2_000_000
"""Designs times worlds in one run of the equations: arrays of 16 MB."""
MOST_SCANNED = 400_000_000
"""Designs times worlds in all: some minutes."""
PROBES = 8


def listed(worlds: Worlds, kept: frozenset[str] | None = None) -> designs.Grid | None:
    """Return all designs that may meet the limits ``kept`` (None: all); None where they cannot be listed.

    What breaks a limit in one world is not a design, so intervals may exclude what they exclude in the first.
    """
    every = designs.everything(worlds.nominal)
    if every is None or every.size > designs.TRIED_TOGETHER:
        first = worlds.at(0)
        if kept is not None:
            own = frozenset(x.name for x in first.model.limits) - kept
            limits = tuple(x for x in first.limits if x.name in kept)
            first = replace(first, limits=limits, waive=first.waive | own)
        every = designs.grid(first)
    return every


def few(worlds: Worlds) -> bool:
    """Tell whether trying every design in every world is the shortest way."""
    every = designs.everything(worlds.nominal)
    return (
        every is not None
        and every.size <= designs.TRIED_TOGETHER
        and every.size * worlds.size <= MOST_SCANNED // 10
    )


def minimise(worlds: Worlds, measure: Weighing, *, kept: frozenset[str] | None = None) -> Found:
    """Judge every design in every world; the least measure of those that hold all limits in all of them.

    Ties go by the question's rule, at the means over the worlds. Raises CannotTake where there are too many designs.
    """
    question = worlds.nominal
    every = listed(worlds, kept)
    if every is None or every.size * worlds.size > MOST_SCANNED:
        raise CannotTake("the decided quantities are not few whole numbers or listed values")
    maximize = bool(question.objectives) and question.objectives[0].maximize
    order = question.tie_order
    pool = np.empty((0, 0))
    hard: list[int] = []
    for start in range(0, every.size, max(SCANNED_AT_ONCE // worlds.size, 1)):
        stop = min(start + max(SCANNED_AT_ONCE // worlds.size, 1), every.size)
        points = every.at(np.arange(start, stop))
        points = points[_may_hold(worlds, every.names, points, hard, kept)]
        if not len(points):
            continue
        at = judged(worlds, {n: c[:, None] for n, c in zip(every.names, points.T, strict=True)})
        ratios = {k: r for k, r in at.ratios.items() if kept is None or k.name in kept}
        holds = np.ones(len(points), bool)
        for ratio in ratios.values():
            holds &= _all_hold(ratio, hard)
        lost = np.zeros(len(points), bool) if at.objective is None else np.isnan(at.objective).any(-1)
        refuse_lost(worlds, every.names, points, ratios.values(), holds & ~lost)
        if at.objective is None:
            goal = np.zeros(len(points))
        else:
            goal = measure.value(at.objective, maximize=maximize) * (-1.0 if maximize else 1.0)
        ties = [
            np.broadcast_to(at.metrics[n][..., : worlds.measured].mean(-1), goal.shape)
            for n in order
            if n in at.metrics
        ]
        levels = np.stack([goal, *ties, *points.T])[:, holds & ~np.isnan(goal)]
        pool = levels if not pool.size else np.concatenate([pool, levels], axis=1)
        if pool.shape[1]:
            pool = pool[:, pool[0] <= pool[0].min() + TIE * abs(pool[0].min())]
    text = f"every design ({every.size}) evaluated in {worlds.words}"
    if not pool.size:
        return Found(Outcome(Status.INFEASIBLE, certificate=f"{text}; none holds", solver=ENUMERATION))
    count = len(every.names)
    ends = zip(every.names, pool[-count:].min(1), pool[-count:].max(1), strict=True)
    ranges = {n: (float(low), float(high)) for n, low, high in ends if low < high}
    bound = float(pool[0].min())
    for level in range(len(pool)):
        pool = pool[:, pool[level] <= pool[level].min() + TIE * abs(pool[level].min())]
    x = dict(zip(every.names, map(float, pool[-count:, 0]), strict=True))
    if not question.objectives:
        return Found(Outcome(Status.FEASIBLE, x, certificate=text, solver=ENUMERATION), ranges=ranges)
    outcome = Outcome(Status.OPTIMAL, x, -bound if maximize else bound, text, ENUMERATION)
    return Found(outcome, ranges=ranges, unweighed=DISCRETE)


def _may_hold(
    worlds: Worlds, names: tuple[str, ...], points: Array, hard: list[int], kept: frozenset[str] | None
) -> NDArray[np.bool_]:
    """Tell which designs hold their limits in the few worlds that others broke before: the rest need no more."""
    if not hard or worlds.size <= 4 * PROBES:
        return np.ones(len(points), bool)
    some = worlds.some(hard[-PROBES:])
    at = judged(some, {n: c[:, None] for n, c in zip(names, points.T, strict=True)})
    ratios = [r for k, r in at.ratios.items() if kept is None or k.name in kept]
    held = np.ones(len(points), bool)
    for ratio in ratios:
        # what is not a number may be one that floats do not reach
        held &= ((ratio <= 1 + HOLDS) | ~np.isfinite(ratio)).all(-1)
    return held


def refuse_lost(
    worlds: Worlds,
    names: tuple[str, ...],
    points: Array,
    ratios: Iterable[Array],
    judged: NDArray[np.bool_],
    may_fail: float = 0,
) -> None:
    """Raise OverflowError where a design is not ``judged``, but breaks no limit for sure: floats end before it.

    ``may_fail``: in how many worlds a limit may be broken. What has no value by 0/0 or by the logarithm of what is
    negative is not a design.
    """
    rest = np.flatnonzero(~judged)
    for ratio in ratios:
        if not rest.size:
            return
        own = np.broadcast_to(ratio, (len(points), ratio.shape[-1]))[rest]
        rest = rest[np.count_nonzero(np.isfinite(own) & (own > 1 + HOLDS), axis=-1) <= may_fail]
    if rest.size and evaluation.beyond_floats(
        worlds.every, {n: c[:, None] for n, c in zip(names, points[rest].T, strict=True)}
    ):
        raise OverflowError("a design that may hold leaves the range of floats in some sample")


def _all_hold(ratio: Array, hard: list[int]) -> NDArray[np.bool_]:
    """Tell which designs hold a limit in all worlds, and note the world that breaks it most."""
    broken = ~(ratio <= 1 + HOLDS)
    if broken.any():
        worst = int(np.argmax(broken.sum(0)))
        if worst not in hard:
            hard.append(worst)
    return np.asarray(~broken.any(-1))


def least_limit(worlds: Worlds, name: str, kept: frozenset[str]) -> float | None:
    """Return the least factor by which a limit would have to give so that the other ``kept`` ones leave a design."""
    every = listed(worlds, kept - {name})
    if every is None or every.size * worlds.size > MOST_SCANNED:
        return None
    least = np.inf
    step = max(SCANNED_AT_ONCE // worlds.size, 1)
    for start in range(0, every.size, step):
        points = every.at(np.arange(start, min(start + step, every.size)))
        at = judged(worlds, {n: c[:, None] for n, c in zip(every.names, points.T, strict=True)})
        others = [r for k, r in at.ratios.items() if k.name != name and k.name in kept]
        holds = np.all([(r <= 1 + HOLDS).all(-1) for r in others], axis=0) if others else True
        own = np.max([r.max(-1) for k, r in at.ratios.items() if k.name == name], axis=0)
        least = min(least, float(np.where(holds & ~np.isnan(own), own, np.inf).min()))
    return least if np.isfinite(least) else None
