"""The answers of a block of geometric programs: status, design, bound and what its limits are worth, as arrays.

Each step does for all points what the path of a single question does for one (``structured``, ``ties``, ``answer``,
``sensitivity``). Wherever that path has a case of its own (limits without a common interior, multipliers that are not
unique, an optimum on the edge of the search box, a limit about to bind), the point is left to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations import evaluation
from formulations.batch import Batch
from formulations.canonical import Canonical
from formulations.evaluation import RowKey
from formulations.problem import Goal, Variable
from formulations.tolerances import BINDS, HOLDS
from results.dataset import STATUS_CODES
from results.solution import Status
from scenarios.question import HALVINGS
from solvers import gp
from solvers.batched import geometric_conflicts, geometric_ties, geometric_whole
from solvers.batched.geometric_near import Found
from solvers.batched.geometric_ties import Solver, Stages, taken
from solvers.crossover import crossover
from solvers.gp_terms import Array
from solvers.patterns import groups
from solvers.sensitivity import ACTIVE
from solvers.structured import STRAINED
from solvers.unbounded import FALLS, runaway

Bools = NDArray[np.bool_]
Reasons = NDArray[np.object_]

NOT_FINITE = "a coefficient that is no finite number"
UNSOLVED = "the interior point ended without a proof"
CONFLICT = "a conflict that was not proved to be minimal, or that an end of the search box has part in"
PINNED = "limits without a common interior"
AT_EDGE = "an optimum held by an end of the search box"
IN_DOUBT = "limits of which it is not settled whether they bind"
TIED = "designs equally good between which the tie rule did not decide"
NOT_UNIQUE = "multipliers that are not unique"
OTHER_TIES = "a tie rule that asks for what is no posynomial"
WHOLE = "whole numbers that one branching does not settle"
MISSED = "a design that misses a limit, or a gap that is not closed"
EDGE = 1e-6
DEPENDENT = 1e-6
"""Gradients of binding limits whose combination is smaller than this are dependent."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What is known of the N points of a block.

    ``status``: its code at each point, 0 where the point is left over. The rest at points that are optimal: ``x`` by
    name, metrics ``at`` them and limits' ``ratios``, ``objective``, ``bound`` and ``gap``, ``multipliers`` (N, limits).
    ``conflict``: (N, names) the limits of ``names`` that stand in the conflict of an infeasible point. ``why``: for
    what reason a point is left over.
    """

    status: NDArray[np.int8]
    x: Mapping[str, Array]
    at: Mapping[str, Any]
    ratios: Mapping[RowKey, Any]
    objective: Array
    bound: Array
    gap: Array
    multipliers: Array
    names: tuple[str, ...]
    conflict: Bools
    why: Reasons


def answered(
    batch: Batch,
    solve: Solver,
    *,
    why: bool = True,
    rule: Stages | None = None,
    near: Found | None = None,
    strained: float = STRAINED,
) -> Answers | None:
    """Answer the points of a block; None where the tie rule asks for what is not geometric.

    ``why``: find out for points without a design which limits are in conflict. ``rule``: the tie rule, if it is at
    hand. ``near``: points that are settled already. ``strained``: points with larger multipliers are left over.
    """
    rule = rule or geometric_ties.stages(batch, solve)
    if rule is None:
        return None
    t, size = batch.table, batch.size
    status, why_left = np.zeros(size, np.int8), np.full(size, NOT_FINITE, object)
    y = np.full((size, t.exponents.shape[1]), np.nan)
    multipliers = np.zeros((size, len(batch.keys)))
    value = np.full(size, np.nan)
    if near is not None:
        status[near.conflicting] = STATUS_CODES[Status.INFEASIBLE]
        status[near.best] = STATUS_CODES[Status.OPTIMAL]
        y[near.best], value[near.best], multipliers[near.best] = near.y, near.bound, near.multipliers
    points = np.flatnonzero(np.isfinite(t.logc).all(1) & (status == 0))
    r = solve(t.exponents, t.logc[points], t.ptr, batch.low[points], batch.high[points])
    why_left[points] = np.where(r.status == gp.INFEASIBLE, CONFLICT, UNSOLVED)
    best, regular = points[r.status == gp.OPTIMAL], taken(r, r.status == gp.OPTIMAL)
    names, conflict = _refuted(batch, points[r.status == gp.INFEASIBLE], solve, status, why=why)
    if near is not None:
        conflict[near.conflicting] = near.members
    if runaway(_first(batch), batch.problem.variables):
        status[best] = STATUS_CODES[Status.UNBOUNDED]
    else:
        why_left[best] = _irregular(batch, best, regular, strained)
        good = why_left[best] == ""
        _settle(rule, best[good], taken(regular, good), status, y, value, multipliers, why_left)
    return _checked(batch, status, y, value, multipliers, names, conflict, why_left)


def _settle(
    rule: Stages,
    best: NDArray[np.intp],
    regular: gp.Result,
    status: NDArray[np.int8],
    y: Array,
    value: Array,
    multipliers: Array,
    why: Reasons,
) -> None:
    """Put designs by the tie rule, bounds and multipliers of the optima ``best`` into place, or why there are none."""
    batch = rule.batch
    if batch.discrete is not None:
        y[best], value[best], clear = geometric_whole.settled(rule, best, regular)
        why[best] = WHOLE
    else:
        regular, told = crossover(batch.table.take(best), batch.low[best], batch.high[best], regular)
        y[best], sure = geometric_ties.choose(rule, best, regular)
        multipliers[best], value[best] = regular.multipliers, regular.bound
        unique = _unique(batch, best, y[best])
        clear = told & sure & unique
        why[best] = np.select([~told, ~sure], [IN_DOUBT, TIED], NOT_UNIQUE)
    status[best[clear]] = STATUS_CODES[Status.OPTIMAL]


def _first(batch: Batch) -> Canonical:
    """The first point as the unboundedness test wants it: only exponents and fixed variables count."""
    t = batch.table
    n = t.exponents.shape[1]
    names = tuple(v.name for v in batch.problem.variables)
    none = np.zeros((0, n))
    return Canonical(
        names, t.exponents, t.logc[0], t.ptr, batch.keys, batch.low[0], batch.high[0], (), none, {}
    )


def _refuted(
    batch: Batch, points: NDArray[np.intp], solve: Solver, status: NDArray[np.int8], *, why: bool
) -> tuple[tuple[str, ...], Bools]:
    """Call points infeasible that are so with the slack limits are granted, and without the edges of the box."""
    if not why:
        status[points[geometric_conflicts.hold(batch, points, solve)]] = STATUS_CODES[Status.INFEASIBLE]
        return (), np.zeros((batch.size, 0), bool)
    names, members, found = geometric_conflicts.first_minimal(batch, points, solve)
    conflict = np.zeros((batch.size, len(names)), bool)
    status[points[found]] = STATUS_CODES[Status.INFEASIBLE]
    conflict[points[found]] = members[found]
    return names, conflict


def _irregular(batch: Batch, points: NDArray[np.intp], r: gp.Result, strained: float) -> Reasons:
    """Why optima need a case of their own; empty text where they do not."""
    low, high = batch.low[points], batch.high[points]
    why = np.full(points.size, "", object)
    why[r.penalised | (r.multipliers.max(1, initial=0.0) > strained)] = PINNED
    for i, v in enumerate(batch.problem.variables):
        if v.decision.values is not None and not v.decision.endless:
            continue
        pull = np.maximum(r.lower_multipliers[:, i], r.upper_multipliers[:, i]) > FALLS
        at_low = (r.y[:, i] - low[:, i] < EDGE) & (not v.real_low and v.decision.minimum is None)
        at_high = (high[:, i] - r.y[:, i] < EDGE) & (not v.real_high and v.decision.maximum is None)
        why[(at_low | at_high) & pull & (why == "")] = AT_EDGE
    return why


def _unique(batch: Batch, points: NDArray[np.intp], y: Array) -> Bools:
    """Whether the multipliers of the user's limits that bind at the designs are unique.

    ``sum_k l_k grad F_k = -grad F_0`` over all that binds leaves the multiplier of a limit open where the gradients
    have a vanishing combination in which that limit has a part. Where only the model's limits bind, all of the user's
    are 0.
    """
    t = batch.table.take(points)
    f = gp.evaluate(t.exponents, t.logc, t.ptr, y)[:, 1:]
    low, high = batch.low[points], batch.high[points]
    ends = (y - low < ACTIVE) | (high - y < ACTIVE)
    asked = np.array([key.side != "model" for key in batch.keys], dtype=bool)
    good = np.ones(points.size, bool)
    for which, kind in groups(np.concatenate([f > -ACTIVE, ends], axis=1)):
        bound, fixed = kind[: f.shape[1]], kind[f.shape[1] :]
        rows = np.flatnonzero(bound)
        if not (bound & asked).any():
            continue
        part = t.take(which)
        g = gp.gradients(part.exponents, part.logc, part.ptr, y[which])[:, 1:][:, rows][:, :, ~fixed]
        if rows.size == 1:
            good[which] = np.linalg.norm(g[:, 0], axis=1) > DEPENDENT
            continue
        left, size, _ = np.linalg.svd(g)
        vanishing = np.ones((which.size, rows.size), bool)
        vanishing[:, : size.shape[1]] = size <= DEPENDENT
        held = np.abs(left[:, asked[rows]]) * vanishing[:, None, :]
        good[which] = held.max(axis=(1, 2)) <= DEPENDENT
    return good


def _checked(
    batch: Batch,
    status: NDArray[np.int8],
    y: Array,
    bound: Array,
    multipliers: Array,
    names: tuple[str, ...],
    conflict: Bools,
    why: Reasons,
) -> Answers:
    """Re-evaluate the model at the designs and judge them by that alone."""
    question, shape = batch.question, batch.shape
    goal = batch.problem.goal
    assert goal is not None, "a batch has a goal"
    x = {v.name: si_values(v, y[:, i]) for i, v in enumerate(batch.problem.variables)}
    there = {n: values.reshape(shape) for n, values in x.items()}
    with np.errstate(all="ignore"):
        at = evaluation.metrics(question, there)
        ratios = evaluation.ratios(question, there, at)
        flat = {key: np.broadcast_to(np.asarray(v, float), shape).ravel() for key, v in ratios.items()}
        objective = np.array(np.broadcast_to(evaluation.objective(question, there, at), shape), float).ravel()
        if goal.name == HALVINGS.name:
            objective = np.where(np.abs(objective) < 1e-9, 0.0, objective)
        proven = _to_user(goal, bound)
        gap = np.abs(objective - proven) / np.maximum(np.abs(objective), 1e-12)
        good = np.isfinite(objective) & (gap <= question.gap)
        for key, ratio in flat.items():
            good &= slack(batch, key, ratio, at) >= -HOLDS
    missed = (status == STATUS_CODES[Status.OPTIMAL]) & ~good
    status[missed], why[missed] = 0, MISSED
    return Answers(status, x, at, flat, objective, proven, gap, multipliers, names, conflict, why)


def si_values(v: Variable, y: Array) -> Array:
    """SI values of a variable; discrete ones exactly."""
    if not v.discrete:
        return np.exp(y)
    if v.decision.values is None:
        return np.asarray(np.round(np.exp(y)))
    values = np.array(v.decision.values)
    logs = np.log(values)
    place = np.searchsorted((logs[1:] + logs[:-1]) / 2, np.where(np.isnan(y), logs[0], y))
    return np.where(np.isnan(y), np.nan, values[place])


def slack(batch: Batch, key: RowKey, ratio: Array, at: Mapping[str, Any]) -> Array:
    """Relative slack of a limit (see ``solvers.answer.limit_state``)."""
    if key.name != HALVINGS.name:
        return np.asarray(1.0 - ratio)
    low, high = evaluation.bounds(batch.question)[key.name]
    limit: Any = high if key.side == "max" else low
    value = np.asarray(at[key.name], float)
    room = (limit - value) * (1.0 if key.side == "max" else -1.0) / np.maximum(np.abs(limit), 1.0)
    return np.asarray(np.broadcast_to(room, batch.shape)).ravel()


def _to_user(goal: Goal, log_value: Array) -> Array:
    """Do what ``Goal.to_user`` does, for arrays."""
    if goal.log2:
        value = goal.sign * log_value / np.log(2.0)
        return np.where(np.abs(value) < 1e-9, 0.0, value)
    return np.asarray(np.exp(np.minimum(goal.sign * log_value, 700.0)))


def binding(batch: Batch, a: Answers, key: RowKey) -> Bools:
    """Whether a limit binds."""
    return np.asarray(np.abs(slack(batch, key, a.ratios[key], a.at)) <= BINDS)


def elasticity(batch: Batch, a: Answers, key: RowKey) -> Array:
    """Percent of the objective per percent of a limit of the user's (see ``solvers.sensitivity.limit_elasticity``)."""
    goal = batch.problem.goal
    assert goal is not None, "a batch has a goal"
    side: Any = -1.0 if key.side == "max" else 1.0
    if key.name == HALVINGS.name:
        low, high = evaluation.bounds(batch.question)[key.name]
        limit: Any = high if key.side == "max" else low
        side = side * np.log(2.0) * np.broadcast_to(limit, batch.shape).ravel()
    share: Any = float(goal.sign)
    if goal.name == HALVINGS.name:
        halved = np.broadcast_to(np.asarray(a.at[HALVINGS.name], float), batch.shape).ravel() * np.log(2.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(np.abs(halved) > 1e-12, 1.0 / halved, np.nan)
    if batch.discrete is not None:
        # what changes by leaps has no rate
        return np.full(batch.size, np.nan)
    worth = side * a.multipliers[:, batch.keys.index(key)] * share if key in batch.keys else 0.0
    return np.where(binding(batch, a, key), worth, 0.0)
