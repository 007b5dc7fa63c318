"""What relaxing each limit, or bettering each given number, would buy: the envelope theorem, for one optimum and many.

Where the multipliers l are unique, moving a number moves the least log objective by the Lagrangian's slope in it; a
limit's own slope is its multiplier. Where they are not, a small change one way is worth the least or the greatest slope
over all of them (``solvers.mechanisms.dual_ends``): then the value for relaxing a limit, or for moving a number the way
that betters the objective, is meant. So it is where goal or rows have a kink in the number (``two_sides``): at a jump
there is none.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Indices
from formulations import evaluation
from formulations.arithmetics.many import Many, plain
from formulations.arithmetics.posynomial import LEAST_DIVISOR
from formulations.problem import Problem, moved
from formulations.row_keys import RowKey
from scenarios.define import composed
from scenarios.question import HALVINGS, Decision, Limit, Question
from solvers.judgement import Judged, bound_of
from solvers.mechanisms import dual_ends, two_sides
from solvers.mechanisms.dual_ends import ONE_SIDED_ABOVE, Duals, Optima
from solvers.mechanisms.two_sides import Sides

_Holder = TypeVar("_Holder", Limit, Decision)
DIFFERENCE_SHARE = 1e-4
ACTIVE_FROM = -1e-6
"""Logarithm of a limit's ratio from which it counts as binding where slopes are differences."""
EXPLAINED = 1e-4
"""What multipliers may leave of the slope of the objective, as a part of it."""
LEAST_SENSITIVITY = 1e-8
"""A number that is worth less is not felt."""
JUMPS = "no sensitivity to the numbers at which the model jumps or one of its limits breaks: "
DIFFERENCE_WIDTH = math.log1p(DIFFERENCE_SHARE) - math.log1p(-DIFFERENCE_SHARE)


def limit_elasticity(judged: Judged, key: RowKey, multiplier: Array) -> Array:
    """Percent of the objective per percent of a limit's value (negative: relaxing a max lowers a minimum), (N,).

    0 where the limit does not bind, NaN where there is no rate.
    """
    side: Any = -1.0 if key.side == "max" else 1.0
    if key.name == HALVINGS.name:
        side = side * math.log(2.0) * judged.full(bound_of(judged.question, key))
    return np.asarray(np.where(judged.binding(key), side * multiplier * share(judged), 0.0))


def of_differences(case: Problem, keys: Sequence[RowKey]) -> list[int]:
    """Return the places of the limits on what is no ratio of posynomials: their rows are no ratios to their bounds.

    Definitions that may be negative count even where nothing is subtracted at these numbers: ``judgement.relaxed``
    treats them all alike.
    """
    user, model = ("min", "max"), case.question.model
    asked = [(k, key.name) for k, key in enumerate(keys) if key.side in user and key.name != HALVINGS.name]
    return [k for k, name in asked if name not in case.known or composed.may_be_negative(model, name)]


def shares_of_bounds(case: Problem, judged: Judged, y: Array, keys: Sequence[RowKey]) -> Array:
    """How much of each row's multiplier a limit's own value is worth, (N, m): 1, but of limits on differences.

    ``P - M <= b`` is the row ``P <= M + b``: a percent of b moves it by b / (M + b) of a percent. NaN where b is 0.
    ``y``: the designs of the variables of ``case`` in logs (N, n).
    """
    found, places = np.ones((judged.gap.size, len(keys))), of_differences(case, keys)
    if not places:
        return found
    count, asked = 2 * len(places), judged.question
    for i, k in enumerate(places):
        factors = np.ones((count, *(1 for _ in judged.shape)))
        factors[2 * i], factors[2 * i + 1] = 1.0 + DIFFERENCE_SHARE, 1.0 - DIFFERENCE_SHARE
        asked = with_limit(asked, keys[k], plain(bound_of(asked, keys[k])) * factors)
    rows = dict(
        zip([r.key for r in case.rows or ()], _logs_at(case, asked, y, judged.shape)[1:], strict=True)
    )
    for i, k in enumerate(places):
        log = np.broadcast_to(rows[keys[k]], (count, *judged.shape)).reshape(count, -1)
        slope = (log[2 * i] - log[2 * i + 1]) / DIFFERENCE_WIDTH
        found[:, k] = np.where(slope == 0.0, np.nan, -slope if keys[k].side == "max" else slope)
    return found


def elasticities(judged: Judged, keys: Sequence[RowKey], multipliers: Array) -> dict[str, Array]:
    """Return the elasticities of the user's limits, by their labels; ``multipliers`` (N, m): of the rows ``keys``.

    A limit that has no row says nothing, and is worth nothing.
    """
    places, none = {key: k for k, key in enumerate(keys)}, np.zeros(judged.gap.size)
    return {
        evaluation.label(key, judged.ratios): limit_elasticity(
            judged, key, multipliers[:, places[key]] if key in places else none
        )
        for key in judged.ratios
        if key.side != "model"
    }


def share(judged: Judged) -> Array:
    """Turns a slope of the log of what is minimised into percent of the user's objective, (N,)."""
    wanted = judged.question.objectives[0]
    if wanted.name != HALVINGS.name:
        return np.full(judged.gap.size, -1.0 if wanted.maximize else 1.0)
    halved = judged.full(judged.at[HALVINGS.name]) * math.log(2.0)
    with np.errstate(divide="ignore"):
        return np.where(np.abs(halved) > 1e-12, 1.0 / halved, np.nan)


def numbers(question: Question) -> list[str]:
    """Names of the given numbers that percent have a meaning for."""
    return [n for n, v in question.given.items() if not isinstance(v, str) and np.all(np.asarray(v) > 0)]


def slopes(
    case: Problem | None,
    judged: Judged,
    y: Array,
    keys: tuple[RowKey, ...],
) -> Sides:
    """Slopes of the logarithms of goal and rows in the log of each given number, the design as it is.

    NaN of a number whose change the forms of a case do not take (the exponent of an unknown).

    (numbers, N, m+1), by differences: one evaluation of the model for all numbers and points, and more where one has
    a kink. ``case``: what holds the maxima that the model takes, where it takes any; ``y``: the design of its
    variables in logs (N, n).
    """
    names, size = numbers(judged.question), judged.gap.size
    if not names:
        return two_sides.smooth(np.zeros((0, size, len(keys) + 1)))
    # of maxima, and of limits on differences, the rows are no ratios of the model's
    own = case is not None and (any(v.auxiliary for v in case.variables) or bool(of_differences(case, keys)))

    def at(factors: Array, which: Indices) -> Array:
        shape = (which.size * factors.size, *judged.shape)
        given: dict[str, Any] = dict(judged.question.given)
        for i, k in enumerate(which):
            each = np.ones((which.size, factors.size))
            each[i] = factors
            given[names[k]] = given[names[k]] * each.reshape(-1, *(1 for _ in judged.shape))
        asked = dataclasses.replace(judged.question, given=given)
        if case is not None and own:
            try:
                rows = _logs_at(case, asked, y, judged.shape)
            except CannotTake:
                if which.size == 1:
                    return np.full((factors.size, 1, size, len(keys) + 1), np.nan)
                halves = np.split(which, [which.size // 2])
                return np.concatenate([at(factors, half) for half in halves], axis=1)
        else:
            x = {n: np.broadcast_to(v, shape) for n, v in judged.x.items()}
            goal, logs = _log_objective_and_ratios(asked, x, shape)
            rows = [goal, *(logs[key] for key in keys)]
        each_row = [np.broadcast_to(row, shape).reshape(which.size, factors.size, size) for row in rows]
        return np.stack(each_row, axis=-1).swapaxes(0, 1)

    # at the numbers as they are nothing is moved, whatever the first of them is
    now = at(np.ones(1), np.arange(1))[0, 0]
    found = two_sides.sides(at, now, len(names), DIFFERENCE_SHARE)
    # that one number divides another is left aside: next to those that do no number does
    divisions = {limit.name for limit in judged.question.model.limits if limit.divides}
    own_ones = [1 + k for k, key in enumerate(keys) if key.side == "model" and key.name in divisions]
    for part, nothing in (
        (found.behind, 0.0),
        (found.ahead, 0.0),
        (found.leaps, False),
        (found.broken, False),
    ):
        part[..., own_ones] = nothing
    return found


def _logs_at(case: Problem, asked: Question, y: Array, shape: tuple[int, ...]) -> list[Array]:
    """Logarithms of goal and rows of a case at other given numbers: the same maxima, held in the same way."""
    goal, rows = moved(case, asked)
    assert goal is not None, "only questions with an objective get here"
    point = {v.name: np.exp(y[:, i]).reshape(shape) for i, v in enumerate(case.variables)}
    pairs = [(goal.numerator, goal.denominator), *((r.numerator, r.denominator) for r in rows)]
    with np.errstate(all="ignore"):
        return [np.log(top(**point)) - np.log(bottom(**point)) for top, bottom in pairs]


def straight(d: Duals, slope: Array) -> Array:
    """The Lagrangian's slopes, (numbers, N)."""
    # what does not bind may have no slope
    return np.asarray(slope[..., 0] + np.where(d.value > 0, slope[..., 1:] * d.value, 0.0).sum(-1))


def both_ways(o: Optima, d: Duals, s: Sides) -> tuple[Array, Array]:
    """Slopes of the least log objective in each given number, (numbers, N), where that falls and where it rises.

    NaN of a number without slopes, and of one that is ``jumping``.
    """
    # a number without slopes has none in the end, and must not stop the others
    none = ((np.isnan(s.behind) | np.isnan(s.ahead)) & _that_count(d)).any(-1) | jumping(d, s)
    less, more = (np.where(none[..., None] | np.isnan(side), 0.0, side) for side in (s.behind, s.ahead))
    falling, rising = straight(d, less), straight(d, more)
    for which, rows in dual_ends.patterns(o, np.flatnonzero(d.known & d.one_sided.any(1))):
        for found, slope, end in ((falling, less, 0), (rising, more, 1)):
            costs = slope[:, which[:, None], 1 + rows].swapaxes(0, 1)
            found[:, which] = slope[:, which, 0] + dual_ends.extremes(o, which, rows, costs)[end].T
    falling[none] = rising[none] = np.nan
    return falling, rising


def jumping(d: Duals, s: Sides) -> Bools:
    """At which given numbers the goal or a row that counts jumps, or a limit breaks at once, (numbers, N)."""
    return np.asarray((s.leaps & _that_count(d)).any(-1) | s.broken[..., 1:].any(-1))


def _that_count(d: Duals) -> Bools:
    """The goal, and the rows that may have multipliers, (N, m+1)."""
    return np.concatenate([np.ones((len(d.value), 1), bool), (d.value > 0) | (d.most > 0)], axis=1)


def felt(judged: Judged, falling: Array, rising: Array) -> tuple[Array, Bools]:
    """What is felt of each given number at each point, (numbers, N), in percent of the objective per percent.

    NaN where nothing is; and which of them are worth that one way only.
    """
    # of less and more of a number what betters the objective
    less, more = np.maximum(falling, 0.0), np.minimum(rising, 0.0)
    values = share(judged) * np.where(less >= -more, less, more)
    known = np.isfinite(values) & (np.abs(values) > LEAST_SENSITIVITY)
    return np.where(known, values, np.nan), known & (np.abs(rising - falling) > ONE_SIDED_ABOVE)


def jump_note(names: Sequence[str]) -> str:
    """Say in the certificate at which given numbers a model jumps; empty where at none."""
    return f"{JUMPS}{', '.join(names)}" if names else ""


def jumps_told(certificate: str) -> list[str]:
    """Return the given numbers that a certificate names in ``jump_note``."""
    told = [part for part in certificate.split("; ") if part.startswith(JUMPS)]
    return [name for part in told for name in part.removeprefix(JUMPS).split(", ")]


def numeric_duals(judged: Judged) -> tuple[Optima, Duals]:
    """Optima and multipliers where the arithmetic gave no structure: gradients of logarithms by central differences.

    Non-negative least squares on the active limits; ``known`` only where they explain the gradient of the
    objective, and where neither it nor an active limit has a kink (the two sides of a maximum meet), since there
    a central difference is the slope of nothing. ``judged``: designs of one question, or of points along one axis.
    """
    from scipy.optimize import nnls

    names, size = [d.name for d in judged.question.decide], judged.gap.size
    count, keys = len(names), list[RowKey]()

    def at(factors: Array, which: Indices) -> Array:
        moved = np.ones((which.size, factors.size, count))
        moved[np.arange(which.size), :, which] = factors
        point = {n: judged.full(judged.x[n]) * moved[..., i].reshape(-1, 1) for i, n in enumerate(names)}
        goal, rows = _log_objective_and_ratios(judged.question, point, (which.size * factors.size, size))
        keys[:] = rows
        f = np.stack([goal, *rows.values()])
        return f.reshape(len(f), which.size, factors.size, size).transpose(2, 1, 0, 3)

    f = at(np.ones(1), np.arange(1))[0, 0]
    s = two_sides.sides(at, f, count, DIFFERENCE_SHARE)
    slope = s.behind.swapaxes(0, 1)
    # a limit on a step has no slope where it steps
    kinked = (s.behind != s.ahead).any(0)
    counted = (f > ACTIVE_FROM) & np.isfinite(f)
    counted[0] = True
    known = ~(counted & (kinked | ~np.isfinite(slope).all(1))).any(0)
    value = np.zeros((size, len(keys)))
    for i in map(int, np.flatnonzero(known)):
        own, aim = np.flatnonzero(counted[1:, i]), -slope[0, :, i]
        left = largest = np.abs(aim).max(initial=0.0)
        if own.size:
            value[i, own], left = nnls(slope[1 + own, :, i].T, aim)
        known[i] = left <= EXPLAINED * max(1.0, largest)
    # a point without multipliers has no limit that binds, nor does one count that has no slope beside it
    now = np.where(known & np.isfinite(slope).all(1), f, -np.inf).T
    gradients = np.moveaxis(slope, 2, 0)
    none = np.zeros((size, count), bool)
    found = Optima(tuple(keys), now, gradients, none, none, value)
    return found, dual_ends.duals(found, proved=known)


def _log_objective_and_ratios(
    question: Question, x: Mapping[str, Array], shape: tuple[int, ...]
) -> tuple[Array, dict[RowKey, Array]]:
    """Logarithm of what is minimised, and of every limit's ratio, at many points."""
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, x)
        wanted = question.objectives[0]
        value = np.broadcast_to(np.asarray(evaluation.objective(question, x, at), dtype=float), shape)
        log = value * math.log(2.0) if wanted.name == "halvings" else np.log(value)
        rows = {
            key: np.broadcast_to(_log_ratio(key, ratio, at), shape)
            for key, ratio in evaluation.ratios(question, x, at).items()
        }
    return np.asarray(-log if wanted.maximize else log), rows


def _log_ratio(key: RowKey, ratio: Array, at: Mapping[str, Array]) -> Array:
    if key.name == "halvings":
        return np.asarray(at["halvings"]) * (math.log(2.0) if key.side == "max" else -math.log(2.0))
    return np.log(ratio)


def with_limit(question: Question, key: RowKey, value: Any) -> Question:
    """Give the same question with one of the user's limits or bounds at another value (None: gone)."""

    def moved(holder: _Holder) -> _Holder:
        if holder.name != key.name:
            return holder
        if key.side == "max":
            return holder if holder.maximum is None else dataclasses.replace(holder, maximum=value)
        return holder if holder.minimum is None else dataclasses.replace(holder, minimum=value)

    limits, decide = tuple(map(moved, question.limits)), tuple(map(moved, question.decide))
    return dataclasses.replace(question, limits=limits, decide=decide)


def off_zero(question: Question, name: str) -> Question:
    """Give the same question with a bound of 0 that something breaks at 1: no value is a multiple of 0."""
    sides = ("min", "max") if composed.may_be_negative(question.model, name) else ("max",)
    for side, bound in zip(("min", "max"), evaluation.bounds(question).get(name, (None, None)), strict=True):
        zero = bound is not None and np.less(np.abs(plain(bound)), LEAST_DIVISOR)
        if side in sides and name != HALVINGS.name and np.any(zero):
            there = Many(np.where(zero, 1.0, plain(bound))) if isinstance(bound, Many) else 1.0
            return with_limit(question, RowKey(name, side), there)
    return question
