"""A fixed design on fresh samples: how often its limits hold, and what its objective comes to.

A design that was chosen on some samples looks better there than it is. So its promises are looked at in others:
independent random ones (Sobol points would make intervals meaningless) with a seed of their own. What is proved of the
samples and what is estimated of the world are two statements, which an answer keeps apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from dse.system.arrays import Indices, Points
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.many import plain
from formulations.grids import divided
from formulations.tolerances import HOLDS
from formulations.uncertainty import worlds
from formulations.uncertainty.worlds import Worlds
from results.telling import estimates
from results.telling.estimates import Array
from results.telling.fresh import Estimate, Fresh, Kept
from scenarios.distributions import Measure
from scenarios.question import Question
from scenarios.uncertainty.promises import Promise

FRESH = 10_000
VALIDATION_SEED = 271_828
"""Of the fresh samples, with the seed that the file gives: never that of the samples the design was chosen on."""
QUANTILES = (0.05, 0.5, 0.95)
WORKED_OUT = 0.5
"""Share of a model's metrics that is worked out in all samples as a rule: what is asked for, and before it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A measure that has a name: which values are its bad ones, and what it ``was`` where the design was chosen."""

    measure: Measure
    large_are_good: bool
    was: float


def validated(
    fresh: Worlds,
    design: Mapping[str, Any],
    promises: Sequence[Promise],
    seed: int,
    quantiles: Sequence[float] = QUANTILES,
    measures: Mapping[str, Chosen] | None = None,
) -> list[Fresh]:
    """Judge a design in fresh worlds, or one at each of many points.

    ``fresh``: independent random worlds, of the choices that the design made among names. ``design``: a number for each
    decided quantity, of N points (N, 1). ``quantiles``: which of the objective are told. ``measures``: those that have
    names. A limit holds to 1e-8, as everywhere.
    """
    first, which = divided.alike(fresh.nominal, design)
    step = max(worlds.NUMBERS_AT_ONCE // fresh.size, 1)
    found, order = [Fresh(fresh.size, seed)] * which.size, np.argsort(which, kind="stable")
    for start in range(0, first.size, step):
        kinds = first[start : start + step]
        there = divided.with_each_number(worlds.many_at(fresh.every, kinds), divided.one_of_equal)
        x = {n: divided.one_of_equal(v) for n, v in _some(design, kinds).items()}
        metrics = worlds.metrics(there, x)
        told = _told(there, x, metrics, (kinds.size, fresh.size), found[0], quantiles, measures or {})
        first_own, beyond = np.searchsorted(which[order], (start, start + step))
        own = order[first_own:beyond]
        for some in np.split(own, range(step, own.size, step)):
            at = which[some] - start
            holds = _holding(worlds.many_at(fresh.every, some), _some(design, some), metrics, at)
            kept = _kept(holds, some.size, promises, measures or {}, fresh.size)
            for point, kind, limits in zip(some, at, kept, strict=True):
                found[point] = replace(told[kind], limits=limits)
    return found


def _some(design: Mapping[str, Any], points: Points) -> dict[str, Any]:
    return {n: v[points] if np.ndim(v) else v for n, v in design.items()}


def _told(
    question: Question,
    x: Mapping[str, Any],
    metrics: Mapping[str, Any],
    shape: tuple[int, int],
    found: Fresh,
    quantiles: Sequence[float],
    named: Mapping[str, Chosen],
) -> list[Fresh]:
    """Say of each of a few kinds of points how the objective is distributed, and what measures come to."""
    goal = next((o.name for o in question.objectives[:1] if o.name not in named), None)
    values = None if goal is None else _full(evaluation.objective(question, x, metrics), shape)
    measured = [(n, was, _full(metrics[n], shape)) for n, was in named.items() if n in metrics]
    return [
        replace(
            _distributed(found, None if values is None else values[i], quantiles),
            measures={n: _measured(was, v[i]) for n, was, v in measured},
        )
        for i in range(shape[0])
    ]


def _kept(
    holds: Mapping[str, Array],
    points: int,
    promises: Sequence[Promise],
    named: Mapping[str, Chosen],
    size: int,
) -> Iterator[tuple[Kept, ...]]:
    """Go through some points: how often the limits hold together that promises are about, and each other one."""
    asked = {p.names for p in promises}
    limits: list[tuple[tuple[str, ...], float | None, Array]] = [
        (p.names, p.probability, reduce(np.logical_and, [holds[n] for n in p.names if n in holds]))
        for p in promises
        if any(n in holds for n in p.names)
    ]
    limits += [((n,), None, h) for n, h in holds.items() if (n,) not in asked and n not in named]
    for i in range(points):
        yield tuple(
            Kept(names, p, _share_estimate(h[i], size))
            for names, p, h in limits
            if p is not None or not h[i].all()
        )


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


def _measured(chosen: Chosen, values: Array) -> Estimate:
    """Estimate a measure in fresh samples; of the worst, in which share of them nothing is worse than it was."""
    measure, was = chosen.measure, chosen.was
    losses, sign = (-values, -1.0) if chosen.large_are_good else (values, 1.0)
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
    return Estimate(-of.value, -of.high, -of.low) if chosen.large_are_good else of


def _holding(
    question: Question, x: Mapping[str, Any], metrics: Mapping[str, Any], kind: Indices
) -> dict[str, Array]:
    """Tell of each limit at which points in which worlds it holds: of one that is the same in all worlds one column.

    ``metrics``: those of kinds of points; ``kind``: which of these each point is of. Both sides of one name count as
    one limit.
    """
    found: dict[str, Array] = {}
    every = {n: np.asarray(plain(metrics[n]), float) for n in evaluation.read_by_limits(question, metrics)}
    own = {n: v[kind] if v.ndim > 1 and len(v) > 1 else v for n, v in every.items()}
    with np.errstate(all="ignore"):
        ratios = evaluation.ratios(evaluation.unraised(question), x, own)
    for key, ratio in ratios.items():
        few = np.atleast_2d(np.asarray(plain(ratio), float) <= 1.0 + HOLDS)
        holds = np.broadcast_to(few, (kind.size, few.shape[-1]))
        found[key.name] = holds & found[key.name] if key.name in found else holds
    return found


def _full(values: Any, shape: tuple[int, int]) -> Array:
    return np.broadcast_to(np.asarray(plain(values), float), shape)


def _share_estimate(holds: Array, size: int) -> Estimate:
    return estimates.share(int(np.count_nonzero(holds)) * (size // holds.size), size)
