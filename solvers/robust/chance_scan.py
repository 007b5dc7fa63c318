"""Limits that may fail in some worlds, and quantiles, where the designs are few: each is judged in every world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake
from formulations.tolerances import HOLDS, TIE
from formulations.uncertainty.measures import Measured
from formulations.uncertainty.worlds import Judged, Worlds, judged
from results.solution import Status
from solvers import designs
from solvers.outcome import ENUMERATION, Outcome
from solvers.robust import robust_scan
from solvers.robust.promises.chance import Chance, Chosen

Array = np.ndarray[Any, Any]


def few(worlds: Worlds) -> bool:
    """Tell whether trying every design in every world is the shortest way."""
    return robust_scan.few(worlds)


def minimise(
    worlds: Worlds, measure: Measured, chances: Sequence[Chance], kept: frozenset[str] | None
) -> Chosen:
    """Judge every design in every world; the least measure of those of which each chance fails seldom enough.

    Ties go by the question's rule, at the means over the worlds. Raises CannotTake where designs cannot be listed.
    """
    question = worlds.nominal
    every = designs.everything(question)
    if every is None:
        raise CannotTake("the decided quantities are not few whole numbers or listed values")
    maximize = bool(question.objectives) and question.objectives[0].maximize
    count = len(every.names)
    pool: Array = np.empty((0, 0))
    step = max(robust_scan.SCANNED_AT_ONCE // worlds.size, 1)
    for start in range(0, every.size, step):
        points = every.at(np.arange(start, min(start + step, every.size)))
        at = judged(worlds, {n: c[:, None] for n, c in zip(every.names, points.T, strict=True)})
        holds = np.ones(len(points), bool)
        for fails, most in _failing(at, chances, kept, len(points), worlds.measured):
            holds &= np.count_nonzero(fails, axis=-1) <= most
        known = np.ones(len(points), bool) if at.objective is None else ~np.isnan(at.objective).any(-1)
        ratios = [r for k, r in at.ratios.items() if kept is None or k.name in kept]
        most = max((c.may_fail for c in chances), default=0)
        robust_scan.refuse_lost(worlds, every.names, points, ratios, holds & known, most)
        goal = np.zeros(len(points))
        if at.objective is not None:
            goal = measure.value(at.objective, maximize=maximize) * (-1.0 if maximize else 1.0)
        ties = [
            np.broadcast_to(at.metrics[n].mean(-1), goal.shape) for n in question.tie_order if n in at.metrics
        ]
        levels = np.stack([goal, *ties, *points.T])[:, holds & np.isfinite(goal)]
        pool = levels if not pool.size else np.concatenate([pool, levels], axis=1)
        if pool.shape[1]:
            pool = pool[:, pool[0] <= pool[0].min() + TIE * abs(pool[0].min())]
    text = f"every design ({every.size}) evaluated in every {worlds.word} ({worlds.size})"
    if not pool.size:
        none = f"{text}; each fails in more than it may"
        return Chosen(Outcome(Status.INFEASIBLE, certificate=none, solver=ENUMERATION), whole=True)
    bound = float(pool[0].min())
    for level in range(len(pool)):
        pool = pool[:, pool[level] <= pool[level].min() + TIE * abs(pool[level].min())]
    x = dict(zip(every.names, map(float, pool[-count:, 0]), strict=True))
    at = judged(worlds, x)
    out = tuple(
        frozenset(np.flatnonzero(fails[0]).tolist())
        for fails, _ in _failing(at, [c for c in chances if c.names], kept, 1, worlds.measured)
    )[: sum(1 for c in chances if c.names)]
    status = Status.OPTIMAL if question.objectives else Status.FEASIBLE
    value = (-bound if maximize else bound) if question.objectives else None
    return Chosen(Outcome(status, x, value, text, ENUMERATION), out, whole=True)


def _failing(
    at: Judged, chances: Sequence[Chance], kept: frozenset[str] | None, designs: int, worlds: int
) -> list[tuple[Array, int]]:
    """In which worlds each chance fails, and in how many it may; last what holds everywhere."""
    free = [c for c in chances if c.names]
    found = [*(np.zeros((designs, worlds), bool) for _ in free), np.zeros((designs, 1), bool)]
    for key, ratio in at.ratios.items():
        if kept is None or key.name in kept:
            fails = ~(np.atleast_2d(ratio) <= 1.0 + HOLDS)
            mine = [g for g, c in enumerate(free) if key.name in c.names]
            for g in mine:
                found[g] |= fails
            if not mine:
                found[-1] |= fails.any(-1, keepdims=True)
    return list(zip(found, [*(c.may_fail for c in free), 0], strict=True))


def least_limit(worlds: Worlds, chances: Sequence[Chance], name: str, kept: frozenset[str]) -> float | None:
    """Return the least factor by which a limit would have to give so that the other ``kept`` ones leave a design."""
    every = designs.everything(worlds.nominal)
    if every is None:
        return None
    least, others = np.inf, kept - {name}
    own = [(g, c.may_fail) for g, c in enumerate(c for c in chances if c.names) if name in c.names]
    step = max(robust_scan.SCANNED_AT_ONCE // worlds.size, 1)
    for start in range(0, every.size, step):
        points = every.at(np.arange(start, min(start + step, every.size)))
        at = judged(worlds, {n: c[:, None] for n, c in zip(every.names, points.T, strict=True)})
        failing = _failing(at, chances, others, len(points), worlds.measured)
        holds = np.all([np.count_nonzero(f, axis=-1) <= most for f, most in failing], axis=0)
        ratio = np.max([r for k, r in at.ratios.items() if k.name == name], axis=0)
        factor = np.zeros(len(points))
        for g, most in own:
            # where the others of its group fail already it plays no part, and they use up what may fail
            open_ones = np.where(failing[g][0], np.inf, ratio)
            factor = np.maximum(factor, -np.partition(-open_ones, most, axis=-1)[..., most])
        if not own:
            factor = np.broadcast_to(ratio.max(-1), factor.shape)
        least = min(least, float(np.where(holds & ~np.isnan(factor), factor, np.inf).min()))
    return least if np.isfinite(least) else None
