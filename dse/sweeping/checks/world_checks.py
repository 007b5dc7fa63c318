"""Answers for many worlds re-evaluated: a stored design judged in every sample by the model's equations.

Like ``dse.sweeping.checks.checking`` this shares no code with what solves: worlds are drawn again, and the measure is
worked out from its definition.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from dse.sweeping.checks.findings import Findings, Wrong
from dse.sweeping.checks.parts import stored_number
from formulations import evaluation
from formulations.tolerances import HOLDS
from results.dataset import Layout
from scenarios.distributions import Measure
from scenarios.question import Question, fixed
from scenarios.uncertainty.drawing import box, draw

MEASURES_AGREE = 1e-9
WORST_PROBES = 256
"""Random worlds of a box in which a worst case is tried."""


def check(
    question: Question, plan: Layout, place: tuple[int, ...], at: Mapping[str, Any], found: Findings
) -> None:
    """Judge one stored answer with a design; ``at``: the numbers stored at its ``place``, by variable."""
    uncertain = question.uncertain
    assert uncertain is not None, "only what is uncertain has samples"
    named = {d.name for d in question.decide if d.choices}
    texts = {
        v.key: str(json.loads(v.attributes["choices"])[int(at[v.name])])
        for v in plan.variables
        if v.role == "decided" and v.dtype != "float64" and v.key in named
    }
    asked = fixed(question, texts) if texts else question
    x = {d.name: np.float64(stored_number(plan, d.name, at)) for d in asked.decide}
    measure = question.measure or Measure("worst")
    ends = box(uncertain)
    bounded = bool(np.isfinite(list(ends.values())).all())
    samples = draw(uncertain, uncertain.sampling.samples)
    whole = measure.kind == "worst" and bounded
    inside = dict(_probes(tuple(ends.items()))) if bounded else {}
    metrics, rows = _world_rows(asked, x, inside if whole else samples)

    def tell(variable: str, what: str) -> None:
        found.wrong += 1
        found.examples.append(Wrong(place, variable, what))

    wide = bounded and not whole and any(limit.worst for limit in asked.limits)
    rows = _limits_in_every_world(asked, rows, _world_rows(asked, x, inside)[1] if wide else {})
    for key, ratio in rows.items():
        missed = float(np.max(ratio)) - 1.0
        if not missed <= HOLDS:
            tell(key.name, f"the limit is broken by {missed:.2g} in some sample")
        found.limit = max(found.limit, missed)
    told, _ = _world_rows(asked, x, {}) if whole else (metrics, rows)
    sign = -1.0 if any(o.maximize for o in question.objectives) else 1.0
    _judge_measures(question, metrics, found, tell)
    _check_metrics(question, plan, at, told, {} if whole else metrics, found, tell)
    _fresh(asked, plan, x, at, tell)
    if question.objectives and "objective" in at:
        goal = question.objectives[0]
        values = np.asarray(metrics.get(goal.name, x.get(goal.name)), float)
        stored = float(at["objective"])
        if whole:
            if float(np.max(sign * values)) > sign * stored + 2e-6 * abs(stored):
                tell("objective", "a point of the box is worse than the stored worst case")
        elif (level := _measure_of_losses(measure, sign * values)) is not None:
            _agree("objective", stored, sign * level, found, tell)


def _fresh(asked: Question, plan: Layout, x: Mapping[str, Any], at: Mapping[str, Any], tell: Any) -> None:
    """Judge in which share of fresh samples limits are said to hold: draw them again, and count."""
    labels = next((c.values or () for c in plan.coordinates if c.name == "promise"), ())
    count, seed = (int(plan.attributes.get(n, 0)) for n in ("fresh_samples", "fresh_seed"))
    if not count or "kept" not in at or asked.uncertain is None:
        return
    rows = _world_rows(asked, x, draw(asked.uncertain, count, method="random", seed=seed))[1]
    for label, stored in zip(map(str, labels), np.asarray(at["kept"], float), strict=True):
        held = [np.asarray(r) <= 1.0 + HOLDS for k, r in rows.items() if k.name in label.split(" and ")]
        share = float(np.mean(np.broadcast_to(np.all(held, axis=0), (count,)))) if held else math.nan
        # within one sample: what lies at the end of its tolerance is rounded to either side
        if held and not abs(share - stored) <= 1.0 / count:
            tell(label, f"said to hold in {stored:.6g} of fresh samples, and holds in {share:.6g}")


def _check_metrics(
    question: Question,
    plan: Layout,
    at: Mapping[str, Any],
    told: Mapping[str, Any],
    sampled: Mapping[str, Any],
    found: Findings,
    tell: Any,
) -> None:
    """Judge stored metrics: means of what is ``told``, and measures by their definition over what is ``sampled``."""
    sign = -1.0 if any(o.maximize for o in question.objectives) else 1.0
    # which case holds has no mean, and is not stored where worlds differ in it
    cases = {
        q.name for q in question.model.metrics if q.flags and np.ptp(np.asarray(told.get(q.name, 0.0))) > 0
    }
    for variable in plan.variables:
        name = variable.key
        if variable.role != "metric" or name not in told or variable.name not in at or name in cases:
            continue
        stored = float(at[variable.name])
        if name not in question.measures:
            value = told[name]
            _agree(variable.name, stored, float(np.mean(value) if np.ndim(value) else value), found, tell)
        elif name in sampled:
            level = _measure_of_losses(question.measures[name], sign * np.asarray(sampled[name], float))
            if level is not None:
                _agree(variable.name, stored, sign * level, found, tell)


def _limits_in_every_world(
    question: Question, rows: dict[Any, Any], inside: dict[Any, Any]
) -> dict[Any, Any]:
    """The limits that hold in every world, those at their worst over the box ``inside``; not those of a probability."""
    joint = () if question.joint is None else question.joint.of
    chance = {x.name for x in question.limits if x.probability is not None or x.name in joint}
    worst = {x.name for x in question.limits if x.worst}
    chance |= {n for n, m in question.measures.items() if m.kind != "worst"}
    found = {k: v for k, v in rows.items() if k.name not in chance}
    return found | {k: v for k, v in inside.items() if k.name in worst}


def _judge_measures(question: Question, metrics: Mapping[str, Any], found: Findings, tell: Any) -> None:
    """Judge the limits on measures, each by its definition."""
    for limit in question.limits:
        measure = question.measures.get(limit.name)
        if measure is None or measure.kind == "worst":
            continue
        values = np.asarray(metrics[limit.name], float)
        for end, sign in ((limit.maximum, 1.0), (limit.minimum, -1.0)):
            level = None if end is None else _measure_of_losses(measure, sign * values)
            if end is None or level is None:
                continue
            missed = (level - sign * end) / (abs(end) or 1.0)
            if not missed <= HOLDS:
                tell(limit.name, f"the limit on its measure is broken by {missed:.2g}")
            found.limit = max(found.limit, missed)


def _agree(name: str, stored: float, computed: float, found: Findings, tell: Any) -> None:
    size = max(abs(stored), abs(computed))
    off = 0.0 if stored == computed or np.isnan([stored, computed]).all() else abs(stored - computed) / size
    if not off <= MEASURES_AGREE:
        tell(name, "differs from what the model computes for the design over all samples")
    else:
        found.difference = max(found.difference, off)


def _measure_of_losses(measure: Measure, losses: Any) -> float | None:
    """The measure of losses by its definition; None of one that is judged elsewhere."""
    if measure.kind == "mean":
        return float(np.mean(losses))
    if measure.kind == "worst":
        return float(np.max(losses))
    if measure.level is None:
        return None
    if measure.kind == "quantile":
        flat = np.sort(np.broadcast_to(losses, np.shape(losses) or (1,)))
        # the least value that so many do not exceed
        within = np.arange(1, flat.size + 1) >= measure.level * flat.size - 1e-9 * flat.size
        return float(flat[within.argmax()])
    # least over t of t + mean(max(loss - t, 0)) / (1 - level), attained at one of the losses
    flat = np.sort(np.broadcast_to(losses, np.shape(losses) or (1,)))
    above = (np.cumsum(flat[::-1])[::-1] - flat * np.arange(flat.size, 0, -1)) / flat.size
    return float(np.min(flat + above / (1.0 - measure.level)))


def _world_rows(
    question: Question, x: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[Any, Any]]:
    asked = replace(question, given={**question.given, **values})
    with np.errstate(all="ignore"):
        metrics = evaluation.metrics(asked, x)
        return metrics, evaluation.ratios(asked, x, metrics)


@lru_cache(maxsize=8)
def _probes(ends: tuple[tuple[str, tuple[float, float]], ...]) -> Mapping[str, Any]:
    """Random worlds of a box, half of them vertices: the same for all points of a sweep."""
    dice = np.random.default_rng(0)
    found = {}
    for name, (low, high) in ends:
        u = dice.random(WORST_PROBES)
        u[::2] = np.round(u[::2])
        found[name] = low + u * (high - low)
    return found
