"""Why linear and mixed-integer programs of many points have no design: limits in conflict, and the feasible values.

What ``solvers.linear.milp_conflicts`` tells of one program, by the dual simplex method and the search of many points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Codes, Integers, Points
from formulations import evaluation
from formulations.arithmetics.forms import Entry, Some
from formulations.grids import divided
from formulations.programs import row_ends
from formulations.programs.program import Program, is_inverse, is_ratio
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS, SLACK
from scenarios.question import Question
from solvers import boxes
from solvers.explaining import least_values
from solvers.linear import least_misses, milp, milp_conflicts
from solvers.linear.linear_program import weak_duality
from solvers.linear.points import mixed
from solvers.linear.points.lp import Rows, along, to_user
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers
from solvers.mechanisms import conflicts
from solvers.mechanisms.alike import each_once
from solvers.mechanisms.why import Why
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL

MOST_PICKS = 64
"""Ways to pick from lists up to which each is looked at by itself to prove that none meets the limits."""
FARTHEST_PICK = 1e6
"""Of the least value of a list above 0: how far the greatest may be for rows to tell them apart."""
FAR_BEYOND = 100.0 * SLACK
"""Of the size of limits: where every design misses some limit by so much it is not asked by how much more."""
NEARER_THAN_SEARCH = 1e-7
"""Of an end that only a search has: what rows imply is nearer by more than this."""


def told(
    answers: BlockAnswers,
    question: Question,
    branches: Callable[[Question], Sequence[Program]],
    points: Points,
    mask: Bools,
) -> Bools:
    """Prove that points have no design in any branch, and tell which limits are in conflict.

    ``branches``: the programs of a question of many points, one of each branch.
    """
    made = branches(question)
    sure = np.ones(np.count_nonzero(mask), dtype=bool)
    for p in made:
        sure &= _least_violation_at_points(p, mask, len(made) > 1) > SLACK

    names = milp_conflicts.limit_names(made[0].question, made[0].keys)

    def why(now: Points) -> Why:
        def met(some: Points, kept: Bools) -> Codes:
            if kept.all():
                # these points are proved to have no design
                return np.full(some.size, conflicts.CANNOT_HOLD, np.int8)
            ends = np.stack([_ends_with_limits_kept(p, names, kept, len(mask), now[some]) for p in made])
            failed = np.where((ends == FAILED).any(axis=0), conflicts.NOT_KNOWN, conflicts.CANNOT_HOLD)
            return np.where((ends == OPTIMAL).any(axis=0), conflicts.CAN_HOLD, failed).astype(np.int8)

        def values(some: Points, conflict: Sequence[str]) -> Mapping[str, Array]:
            found = dict[str, Array]()
            for name, here, first, which in each_once(divided.at(question, now[some]), some.size, conflict):
                own = branches(here)

                def factor(k: int, own: Sequence[Program] = own, count: int = first.size) -> Array:
                    every = np.ones(count, bool)
                    return np.asarray(np.min([_least_factor_at_points(p, k, every) for p in own], axis=0))

                found[name] = conflicts.feasible_values(here, own[0].keys, [name], factor)[name][which]
            return found

        return Why(
            names,
            conflicts.by_set(met),
            values,
            lambda some: divided.at(question, now[some]),
            always=question.model.always,
        )

    return blocks.told_why(answers, points, np.flatnonzero(mask)[sure], why)[mask]


def held_together(question: Question, count: int) -> Codes:
    """Tell of so many points whether limits that are all affine can hold together, whatever the objective is.

    That they cannot rests on no end that only a search has; that they can is shown by designs, judged as they are. Of
    other limits nothing is known.
    """
    codes = np.full(count, conflicts.NOT_KNOWN, np.int8)
    # far ends cost digits, and none counts
    near = replace(evaluation.nearest(question), objectives=())
    p = _of_affine_limits(near)
    if p is None:
        return codes
    every = np.ones(count, bool)
    divisible = replace(p, integer=np.zeros_like(p.integer))
    missed = _least_violation_at_points(divisible, every, False, milp_conflicts.beyond_ends(p).low)
    left, picked = missed <= SLACK, _with_each_pick(p, divisible)
    if left.any() and picked:
        each = [_least_violation_at_points(q, left, False, milp_conflicts.beyond_ends(q).low) for q in picked]
        missed[left] = np.min(each, axis=0)
    n = Rows(p, every)
    u = mixed.solved(n.rows, n.equal, n.low, n.high, p.integer, [], count).u
    worst, _ = boxes.measured(divided.flat(near), np.stack(list(p.designs(u).values()), axis=-1))
    codes[missed > SLACK] = conflicts.CANNOT_HOLD
    codes[worst <= 1.0 + HOLDS] = conflicts.CAN_HOLD
    return codes


def _with_each_pick(p: Program, divisible: Program) -> list[Program]:
    """The divisible program with each way to pick from the lists that ``p`` has, if these are few."""
    lists: dict[str, list[int]] = {}
    for i, column in enumerate(p.columns):
        if isinstance(column, Entry):
            lists.setdefault(column.name, []).append(i)
    if not 1 < math.prod(map(len, lists.values())) <= MOST_PICKS:
        return []
    every = np.arange(len(p.columns))
    return [
        replace(divisible, low=np.where(np.isin(every, pick), 1.0, p.low))
        for pick in itertools.product(*lists.values())
    ]


def least(question: Question, count: int) -> tuple[Codes, Array]:
    """Minimise (or maximise) a decided quantity at N points, by rows if limits are affine (see ``least_values``).

    What they do not tell is searched for by intervals.
    """
    status, found = np.full(count, FAILED, np.int8), np.full(count, np.nan)
    (goal,) = question.objectives
    held = replace(evaluation.nearest(question), objectives=())
    # a limit of 1 on it, and its least ratio
    end: Mapping[str, Any] = {"minimum": 1.0} if goal.maximize else {"maximum": 1.0}
    own = [replace(d, **end) if d.name == goal.name else d for d in held.decide]
    # beside far powers, those near by are too small to be told from none
    far = any(max(v) > FARTHEST_PICK * min(v) for d in own if (v := [x for x in d.values or () if x > 0]))
    p = None if far else _of_affine_limits(replace(held, decide=tuple(own)))
    key = RowKey(goal.name, "min" if goal.maximize else "max")
    if p is not None and key in p.keys:
        found = _least_factor_at_points(p, p.keys.index(key), np.ones(count, bool))
        with np.errstate(divide="ignore"):
            found = np.where(np.isposinf(found), found, 1.0 / found) if goal.maximize else found
        status = np.select([np.isfinite(found), np.isposinf(found)], [OPTIMAL, INFEASIBLE], FAILED).astype(
            np.int8
        )
    left = np.flatnonzero(status == FAILED)
    if left.size:
        status[left], found[left] = least_values.least_by_intervals(
            divided.flat(divided.at(question, left)), left.size
        )
    return status, found


def _of_affine_limits(question: Question) -> Program | None:
    """The program of limits that are all affine, where nothing is to be listed."""
    p = milp_conflicts.of_affine_limits(question)
    return None if p is None or p.exact else p


def _least_violation_at_points(p: Program, mask: Bools, turned: bool, least: Array | None = None) -> Array:
    """By how much of its size every design breaks some limit at least (see ``least_misses.least_violation``).

    ``turned``: rows that are not limits and have no denominator choose the term of a maximum; these may give as well.
    ``least``: lower ends by which it is proved, where those of the program are only there for its search.
    """
    n, sizes = Rows(p, mask), along(least_misses.sizes_of_rows(p)[0], mask, 1)
    named = np.array([k is not None for k in p.keys], dtype=bool)
    choosing = (np.abs(n.denominators).max(axis=2, initial=0.0) == 0.0) & ~named & turned
    give = np.where(choosing, np.abs(n.rows).max(axis=2, initial=0.0), sizes)
    rows = np.insert(n.rows - along(least_misses.let_pass(p), mask, 2), -1, -give, axis=2)
    # an end that is only there to have one proves nothing
    low = np.insert(n.low, n.low.shape[1], 0.0, axis=1)
    high = np.insert(along(p.endless, mask, 1), n.low.shape[1], least_misses.LARGEST_MISS, axis=1)
    cost = np.eye(rows.shape[2])[-2]
    # how far beyond the slack no design comes is of no use, and a search for it may be long
    found = mixed.solved(rows, n.equal, low, high, np.append(p.integer, False), [cost], len(rows), FAR_BEYOND)
    low = low if least is None else np.insert(along(least, mask, 1), n.low.shape[1], 0.0, axis=1)
    missed = weak_duality(rows, n.equal, low, high, cost, found.y) if found.bound is None else found.bound
    none = found.end == INFEASIBLE if least is None else np.zeros(len(rows), bool)
    missed = np.select([found.end == OPTIMAL, none], [missed, least_misses.LARGEST_MISS], 0.0)
    return np.where(_within_search(p, n.rows, of_amounts(p), n.low, n.high), missed, 0.0)


def _least_factor_at_points(p: Program, which: int, asked: Bools) -> Array:
    """The least ratio of a limit (see ``conflicts.Factor``) at the points asked for."""
    stays = np.arange(len(p.keys)) != which
    fewer = replace(
        p,
        keys=tuple(k for k, s in zip(p.keys, stays, strict=True) if s),
        numerators=p.numerators[..., stays, :],
        denominators=p.denominators[..., stays, :],
        equal=p.equal[stays],
        goal=p.numerators[..., which, :],
        under=p.denominators[..., which, :],
        sign=1,
    )
    n = Rows(fewer, asked)
    divisor = n.ratio[1] if is_ratio(*n.ratio) else None
    if p.boxed.any():
        # of whole numbers that nothing tells apart the first stands for all
        forms = np.concatenate([n.rows, *(f[:, None] for f in n.ratio)], axis=1)[..., :-1]
        first = np.unique(forms.reshape(-1, forms.shape[-1]), axis=1, return_index=True)[1]
        n.high = np.where(~p.boxed | np.isin(np.arange(len(p.columns)), first), n.high, n.low)
    found = mixed.solved(n.rows, n.equal, n.low, n.high, p.integer, [n.cost], len(n.rows), under=[divisor])
    low = n.low
    y, bound = n.divide(found.u, found.y, found.bound)
    n.keep(p.integer, found.u)
    value, _, closed = n.bounded(found.u, y, bound)
    sure = (found.end == OPTIMAL) & closed
    # an end that is only there to have one says nothing
    high = along(p.high, asked, 1)
    sure &= ~milp.at_searched_end(p, found.u, high).any(axis=1)
    left, none = np.flatnonzero(~sure), np.zeros(len(sure), bool)
    if left.size:
        ends = _ends_beyond_search(p, stays, n.rows[left], low[left], high[left])
        none[left] = ends == INFEASIBLE
    ratio = to_user(value, fewer.sign, over=is_inverse(*n.ratio))
    if p.under is not None:
        still = asked.copy()
        still[asked] = sure & ~milp_conflicts.has_value(along(p.under, asked, 1), found.u)
        if still.any():
            ratio[still[asked]] = _attained(p, which, still, ratio[still[asked]])
    return np.select([sure, none], [ratio, np.inf], np.nan)


def _attained(p: Program, which: int, mask: Bools, ratio: Array) -> Array:
    """What ``milp_conflicts.attained`` tells of one program, at points; NaN where that is not sure."""
    assert p.under is not None, "only an objective has a divisor"
    if p.amounts:
        # what bounds an amount may be the very limit that gives
        return np.full(ratio.size, np.nan)
    n, more, most = Rows(p, mask), ratio * (1.0 + milp_conflicts.BEYOND_STANDSTILL), list[Array]()
    limit, under = along(p.numerators[..., which, :], mask, 1), along(p.under, mask, 1)
    for r in (ratio, more):
        n.rows[:, which] = limit - r[:, None] * n.denominators[:, which]
        found = mixed.solved(n.rows, n.equal, n.low, n.high, p.integer, [-under], r.size)
        most.append(np.where(found.end == OPTIMAL, (under * found.u).sum(axis=1), np.nan))
    told = np.where(most[0] < milp_conflicts.STANDSTILL * most[1], more, ratio)
    return np.where(np.isnan(most).any(axis=0), np.nan, told)


def _ends_with_limits_kept(
    p: Program, names: Sequence[str], kept: Bools, count: int, own: Points
) -> Integers:
    """How the programs of the points ``own`` end with the limits ``kept`` alone and nothing to minimise."""
    left_out = {n for n, k in zip(names, kept, strict=True) if not k}
    stays = np.array(milp.kept_rows(p, left_out), dtype=bool)
    rows = p.rows[..., stays, :]
    rows = rows[own] if rows.ndim == 3 else np.broadcast_to(rows, (len(own), *rows.shape))
    low, high = (np.broadcast_to(e, (count, e.shape[-1]))[own] for e in (p.low, p.high))
    return _ends_beyond_search(p, stays, rows, low, high)


def _ends_beyond_search(p: Program, stays: Bools, rows: Array, low: Array, high: Array) -> Integers:
    """How programs of the rows that stay (points, rows, columns) end with nothing to minimise.

    Without the ends that only a search has, so that "infeasible" rests on none of them.
    """
    far = np.where(p.boxed, np.inf, high)
    end = mixed.solved(rows, p.equal[stays], low, far, p.integer, [], len(rows)).end
    within = _within_search(p, rows, of_amounts(p)[stays], low, high)
    return np.where((end == INFEASIBLE) & ~within, FAILED, end)


def of_amounts(p: Program) -> Bools:
    """Which rows say of an amount whether there is any: an end that only a search has bounds it as well."""
    return np.isin(np.arange(len(p.keys)), [row for row, *_ in p.amounts])


def _within_search(p: Program, rows: Array, amounts: Bools, low: Array, high: Array) -> Bools:
    """At which points rows hold all designs within the ends of a search, where these bound amounts.

    ``amounts``: which rows say nothing of how much there is where there is any, see ``of_amounts``.
    """
    boxed = p.boxed
    if not (amounts.any() and boxed.any()):
        return np.ones(len(rows), dtype=bool)
    endless, some = np.where(boxed, np.inf, high), np.array([isinstance(c, Some) for c in p.columns])
    # of an amount of which there is any, nothing is known
    rows = np.where(amounts[:, None] & np.append(some, False), -row_ends.FOR_OPEN * (rows < 0.0), rows)
    ends = row_ends.upper_ends(rows, low, endless, p.integer)
    return np.asarray((ends * (1.0 + NEARER_THAN_SEARCH) <= high)[:, boxed].all(axis=1))


def amounts_without_limits(p: Program) -> Program:
    """The same with amounts that are as large as they may be without any limit: limits are left out in turn."""
    denominators = p.denominators.copy()
    for row, column, most in p.amounts:
        denominators[..., row, column] = most
    return replace(p, denominators=denominators)
