"""Answers for many worlds re-evaluated: stored designs judged in every sample by the model's equations.

Like ``dse.sweeping.checks.checking`` this shares no code with what solves: worlds are drawn again, and the measure is
worked out from its definition. Numbers have a row for each point and a column for each world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from dse.sweeping.checks.findings import Findings
from dse.sweeping.checks.parts import Array, Part, Told, question_at_mask, relative_excess, stored_number
from dse.system.records import dataclass
from formulations import evaluation, handover
from formulations.arithmetics.later import later
from formulations.grids import divided
from formulations.tolerances import HOLDS
from formulations.uncertainty.worlds import NUMBERS_AT_ONCE
from scenarios.distributions import Measure
from scenarios.question import Question, large_are_good
from scenarios.uncertainty.drawing import box, draw

CHECK = "the check of designs for many worlds"
WORST_PROBES = 256
"""Random worlds of a box in which a worst case is tried."""
Rows = list[tuple[str, Array]]
"""By how much each limit is missed, relative to it."""


def check(part: Part, asked: Question, mask: Array, found: Findings) -> None:
    """Judge the stored designs at the points of ``mask``, at which the question is ``asked``."""
    assert asked.uncertain is not None, "only what is uncertain has samples"
    step = max(NUMBERS_AT_ONCE // asked.uncertain.sampling.samples, 1)
    for some in _cut(mask, step):
        with handover.guarded(CHECK, step, handover.ARITHMETIC):
            _judge_in_worlds(part, asked, some, found)
            continue
        # a model of the user's may know plain given numbers only
        for one in _cut(some, 1):
            _judge_in_worlds(part, asked, one, found)


def _cut(mask: Array, points: int) -> Iterator[Array]:
    """Go through the points of a mask, so many together."""
    places = np.flatnonzero(mask)
    for start in range(0, places.size, points):
        some = np.zeros(mask.shape, bool)
        some.flat[places[start : start + points]] = True
        yield some


def _judge_in_worlds(part: Part, asked: Question, mask: Array, found: Findings) -> None:
    one = np.count_nonzero(mask) == 1

    def column(value: Any) -> Any:
        return (float(value[0]) if one else value[:, None]) if isinstance(value, np.ndarray) else value

    question = divided.with_each_number(question_at_mask(asked, part.shape, mask), column)
    uncertain = question.uncertain
    assert uncertain is not None, "only what is uncertain has samples"
    x = {d.name: stored_number(part.plan, d.name, part.arrays)[mask][:, None] for d in question.decide}
    measure, ends = question.measure or Measure("worst"), box(uncertain)
    bounded = bool(np.isfinite(list(ends.values())).all())
    samples = draw(uncertain, uncertain.sampling.samples)
    whole = measure.kind == "worst" and bounded
    inside = dict(_probes(tuple(ends.items()))) if bounded else {}
    metrics, rows = _world_rows(question, x, inside if whole else samples)
    told = Told(part, mask, found)
    wide = bounded and not whole and any(limit.worst for limit in question.limits)
    for name, missed in _limits_in_every_world(
        question, rows, _world_rows(question, x, inside)[1] if wide else []
    ):
        _judge_limit(told, name, missed.max(-1), "a limit is broken in some sample")
    _judge_measures(question, metrics, told)
    nominal = _world_rows(question, x, {})[0] if whole else metrics
    _check_metrics(question, nominal, {} if whole else metrics, told)
    _check_fresh(question, x, told)
    if question.objectives and "objective" in part.arrays:
        goal, stored = question.objectives[0], part.arrays["objective"][mask]
        sign = -1.0 if goal.maximize else 1.0
        losses = sign * np.atleast_2d(metrics.get(goal.name, x.get(goal.name)))
        if whole:
            worse = losses.max(-1) > sign * stored + 2e-6 * np.abs(stored)
            told.tell(worse, "objective", "a point of the box is worse than the stored worst case")
        elif (level := _measure_of_losses(measure, losses)) is not None:
            told.differ("objective", (stored, sign * level))


def _judge_limit(told: Told, name: str, missed: Array, what: str) -> None:
    told.tell(~(missed <= HOLDS), name, what)
    told.found.limit = max(told.found.limit, float(np.max(missed)))


def _check_fresh(question: Question, x: Mapping[str, Array], told: Told) -> None:
    """Judge in which share of fresh samples limits are said to hold: draw them again, and count."""
    plan, uncertain = told.part.plan, question.uncertain
    labels = next((c.values or () for c in plan.coordinates if c.name == "promise"), ())
    count, seed = (int(plan.attributes.get(n, 0)) for n in ("fresh_samples", "fresh_seed"))
    if not count or "kept" not in told.part.arrays or uncertain is None:
        return
    fresh = draw(uncertain, count, method="random", seed=seed)
    groups = {str(label): str(label).split(" and ") for label in labels}
    held = _held(question, x, {n: v[:2] for n, v in fresh.items()}, groups)
    if any(h.shape[-1] > 1 for h in held.values()):
        points, step = np.count_nonzero(told.mask), max(NUMBERS_AT_ONCE // count, 1)
        shares = {label: np.empty(points) for label in held}
        for start in range(0, points, step):
            some = slice(start, start + step)
            there = {n: v[some] for n, v in x.items()}
            for label, h in _held(divided.at(question, some), there, fresh, groups).items():
                shares[label][some] = h.mean(-1)
    else:
        # what has no column for each sample is the same in all of them
        shares = {label: h.mean(-1) for label, h in held.items()}
    stored = dict(zip(groups, np.moveaxis(told.part.arrays["kept"][told.mask], -1, 0), strict=True))
    for label, share in shares.items():
        # within one sample: what lies at the end of its tolerance is rounded to either side
        told.tell(
            ~(np.abs(share - stored[label]) <= 1.0 / count),
            label,
            "said to hold in another share of fresh samples than it does",
        )


def _held(
    question: Question, x: Mapping[str, Array], values: Mapping[str, Any], groups: Mapping[str, list[str]]
) -> dict[str, Array]:
    """Tell where the limits of each group hold together; what is not limited is not worked out."""
    wanted = values if question.model.black_box else {n: later(v) for n, v in values.items()}
    rows = _world_rows(question, x, wanted)[1]
    every = {label: [r <= HOLDS for n, r in rows if n in names] for label, names in groups.items()}
    return {label: reduce(np.logical_and, held) for label, held in every.items() if held}


def _check_metrics(
    question: Question, nominal: Mapping[str, Any], sampled: Mapping[str, Any], told: Told
) -> None:
    """Judge stored metrics: means of the ``nominal`` ones, and measures by their definition over the ``sampled``."""
    # which case holds has no mean, and is not stored where worlds differ in it
    cases = {q.name for q in question.model.metrics if q.flags}
    for variable in told.part.variables("metric"):
        name, stored = variable.key, told.part.arrays[variable.name][told.mask]
        if name not in nominal:
            continue
        if name not in question.measures:
            values = np.atleast_2d(nominal[name])
            mean = values.mean(-1)
            if name in cases:
                mean = np.where(np.ptp(values, axis=-1) > 0, stored, mean)
            told.differ(variable.name, (stored, mean))
        elif name in sampled:
            sign = -1.0 if large_are_good(question, name) else 1.0
            level = _measure_of_losses(question.measures[name], sign * np.atleast_2d(sampled[name]))
            if level is not None:
                told.differ(variable.name, (stored, sign * level))


def _limits_in_every_world(question: Question, rows: Rows, inside: Rows) -> Rows:
    """The limits that hold in every world, those at their worst over the box ``inside``; not those of a probability."""
    joint = () if question.joint is None else question.joint.of
    chance = {x.name for x in question.limits if x.probability is not None or x.name in joint}
    worst = {x.name for x in question.limits if x.worst}
    chance |= {n for n, m in question.measures.items() if m.kind != "worst"}
    wide = [(n, row) for n, row in inside if n in worst]
    over = {n for n, _ in wide}
    return [(n, row) for n, row in rows if n not in chance | over] + wide


def _judge_measures(question: Question, metrics: Mapping[str, Any], told: Told) -> None:
    """Judge the limits on measures, each by its definition."""
    for limit in question.limits:
        measure = question.measures.get(limit.name)
        if measure is None or measure.kind == "worst":
            continue
        values = np.atleast_2d(metrics[limit.name])
        for end, sign in ((limit.maximum, 1.0), (limit.minimum, -1.0)):
            level = None if end is None else _measure_of_losses(measure, sign * values)
            if end is None or level is None:
                continue
            at: Any = np.reshape(end, -1)
            missed = (level - sign * at) / np.where(at == 0, 1.0, np.abs(at))
            _judge_limit(told, limit.name, missed, "the limit on its measure is broken")


def _measure_of_losses(measure: Measure, losses: Array) -> Array | None:
    """The measure of losses along their last dimension by its definition; None of one that is judged elsewhere."""
    if measure.kind == "mean":
        return np.asarray(losses.mean(-1))
    if measure.kind == "worst":
        return np.asarray(losses.max(-1))
    if measure.level is None:
        return None
    ordered, size = np.sort(losses, axis=-1), losses.shape[-1]
    if measure.kind == "quantile":
        # the least value that so many do not exceed
        within = np.arange(1, size + 1) >= measure.level * size - 1e-9 * size
        return np.asarray(ordered[..., within.argmax()])
    # least over t of t + mean(max(loss - t, 0)) / (1 - level), attained at one of the losses
    above = np.cumsum(ordered[..., ::-1], axis=-1)[..., ::-1] - ordered * np.arange(size, 0, -1)
    return np.asarray((ordered + above / size / (1.0 - measure.level)).min(-1))


def _world_rows(
    question: Question, x: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Rows]:
    """Run the model in worlds, and say by how much each limit is missed in each of them."""
    # what differs in limits only is worked out once
    first, which = divided.alike(question, x)
    near = divided.with_each_number(divided.at(question, first), divided.one_of_equal)
    designs = {n: divided.one_of_equal(v[first]) for n, v in x.items()}
    with np.errstate(all="ignore"):
        found = evaluation.metrics(replace(near, given={**near.given, **values}), designs)
        metrics = _AtPoints(found, which)
        asked = replace(question, given={**question.given, **values})
        return metrics, [(name, np.atleast_2d(missed)) for name, missed in relative_excess(asked, x, metrics)]


@dataclass(frozen=True, slots=True)
class _AtPoints(Mapping[str, Any]):
    """Metrics of kinds of points at every point: ``which`` of the kinds it is of."""

    metrics: Mapping[str, Any]
    which: Array

    def __getitem__(self, name: str) -> Any:
        values = np.asarray(self.metrics[name], float)
        return values[self.which] if values.ndim > 1 and len(values) > 1 else values

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)


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
