"""A fixed design on fresh samples: how often its limits hold, and what its objective comes to.

A design that was chosen on some samples looks better there than it is. So its promises are looked at in others:
independent random ones (Sobol points would make intervals meaningless) with a seed of their own. What is proved of the
samples and what is estimated of the world are two statements, which an answer keeps apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from formulations.tolerances import HOLDS
from formulations.uncertainty import worlds
from formulations.uncertainty.worlds import Judged, Worlds
from results.telling import estimates
from results.telling.estimates import Array
from results.telling.fresh import Estimate, Fresh, Kept
from scenarios.distributions import Measure
from scenarios.uncertainty.promises import Promise

FRESH = 10_000
VALIDATION_SEED = 271_828
"""Of the fresh samples, with the seed that the file gives: never that of the samples the design was chosen on."""
QUANTILES = (0.05, 0.5, 0.95)
WORKED_OUT = 0.5
"""Share of a model's metrics that is worked out in all samples as a rule: what is asked for, and before it."""


def validated(
    fresh: Worlds,
    design: Mapping[str, Any],
    promises: Sequence[Promise],
    seed: int,
    quantiles: Sequence[float] = QUANTILES,
    measures: Mapping[str, tuple[Measure, float]] | None = None,
) -> list[Fresh]:
    """Judge a design in fresh worlds, or one at each of many points.

    ``fresh``: independent random worlds, of the choices that the design made among names. ``design``: a number for each
    decided quantity, of N points (N, 1). ``quantiles``: which of the objective are told. ``measures``: what each name
    is that stands for a measure, and what it was in the samples that the design was chosen on. A limit holds to 1e-8,
    as everywhere.
    """
    points, step = (
        max(fresh.points, *map(np.size, design.values()), 1),
        max(worlds.NUMBERS_AT_ONCE // fresh.size, 1),
    )
    found = list[Fresh]()
    for start in range(0, points, step):
        some = slice(start, start + step)
        there, x = fresh.at_some(some), {n: v[some] if np.ndim(v) else v for n, v in design.items()}
        found += _validated(there, x, promises, seed, quantiles, measures or {})
    return found


def _validated(
    fresh: Worlds,
    design: Mapping[str, Any],
    promises: Sequence[Promise],
    seed: int,
    quantiles: Sequence[float],
    named: Mapping[str, tuple[Measure, float]],
) -> list[Fresh]:
    """Judge designs at few points, whose numbers in all worlds stay in a cache."""
    at = worlds.judged(fresh, design)
    points = len(np.atleast_2d(next(iter(at.metrics.values()))))
    holds = _holding(at, points)
    asked = {p.names for p in promises}
    limits: list[tuple[tuple[str, ...], float | None, Array]] = [
        (p.names, p.probability, reduce(np.logical_and, [holds[n] for n in p.names if n in holds]))
        for p in promises
        if any(n in holds for n in p.names)
    ]
    limits += [((n,), None, h) for n, h in holds.items() if (n,) not in asked and n not in named]
    maximize = any(o.maximize for o in fresh.nominal.objectives)
    told = [(n, m, was, np.atleast_2d(at.metrics[n])) for n, (m, was) in named.items() if n in at.metrics]
    objective = None if at.objective is None else np.atleast_2d(at.objective)
    if any(o.name in named for o in fresh.nominal.objectives[:1]):
        objective = None
    return [
        _distributed(
            Fresh(
                fresh.size,
                seed,
                tuple(
                    Kept(names, p, _share_estimate(h[i], fresh.size))
                    for names, p, h in limits
                    if p is not None or not h[i].all()
                ),
                measures={n: _measured(m, v[i], was, maximize=maximize) for n, m, was, v in told},
            ),
            None if objective is None else objective[i],
            quantiles,
        )
        for i in range(points)
    ]


def _distributed(found: Fresh, values: Array | None, quantiles: Sequence[float]) -> Fresh:
    """Say how the objective is distributed: nothing where it is the same in every world, which needs no estimate."""
    if values is None:
        return found
    # what is not a number is neither end's
    ends = np.array([values.min(), values.max()])
    whole = bool(np.isfinite(ends).all())
    if whole and ends[0] == ends[1]:
        return found
    finite = values if whole else values[np.isfinite(values)]
    if not finite.size:
        return replace(found, finite=0.0)
    every = dict(zip(quantiles, estimates.quantiles(finite, tuple(quantiles)), strict=True))
    return replace(found, mean=estimates.mean(finite), quantiles=every, finite=finite.size / values.size)


def _measured(measure: Measure, values: Array, was: float, *, maximize: bool) -> Estimate:
    """Estimate a measure in fresh samples; of the worst, in which share of them nothing is worse than it ``was``."""
    losses, sign = (-values, -1.0) if maximize else (values, 1.0)
    if measure.kind == "worst":
        return _share_estimate(losses <= sign * was + HOLDS * abs(was), losses.size)
    if measure.kind == "mean":
        return estimates.mean(values)
    level = measure.level or 0.0
    of = (
        estimates.quantiles(losses, (level,))[0]
        if measure.kind == "quantile"
        else estimates.tail(losses, level)
    )
    return Estimate(-of.value, -of.high, -of.low) if maximize else of


def _holding(at: Judged, points: int) -> dict[str, Array]:
    """Tell of each limit at which points in which worlds it holds: of one that is the same in all worlds one column.

    Both sides of one name count as one limit.
    """
    found: dict[str, Array] = {}
    for key, ratio in at.ratios.items():
        few = np.atleast_2d(worlds.differing(ratio) <= 1.0 + HOLDS)
        holds = np.broadcast_to(few, (points, few.shape[-1]))
        found[key.name] = holds & found[key.name] if key.name in found else holds
    return found


def _share_estimate(holds: Array, size: int) -> Estimate:
    return estimates.share(int(np.count_nonzero(holds)) * (size // holds.size), size)
