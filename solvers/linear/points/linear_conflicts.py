"""Why linear programs of many points have no design: proofs, limits in conflict, and what each would have to give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.arithmetics.many import Array, Points
from formulations.programs.program import Program
from formulations.tolerances import SLACK
from scenarios.question import Question
from solvers.linear import milp, milp_conflicts
from solvers.linear.linear_program import least_ratios, weak_duality
from solvers.linear.points import lp
from solvers.linear.points.lp import PROGRAM_GAP, Rows, Vertices, along, to_user
from solvers.many_points import blocks
from solvers.many_points.block_answers import BlockAnswers
from solvers.mechanisms import conflicts
from solvers.mechanisms.why import Why
from solvers.outcome import FAILED, INFEASIBLE, OPTIMAL

Mask = NDArray[np.bool_]


def put_conflicts(
    answers: BlockAnswers,
    question: Question,
    made: Sequence[Program],
    points: Points,
    found: Sequence[Vertices],
    mask: Mask,
) -> Mask:
    """Prove that points have no design in any branch, and tell which limits are in conflict."""
    sure = np.ones(np.count_nonzero(mask), dtype=bool)
    for p, f in zip(made, found, strict=True):
        sure &= _least_violation_at_points(p, f, mask, len(made) > 1) > SLACK
    own = np.flatnonzero(mask)[sure]
    good = np.zeros(len(mask), dtype=bool)
    good[own] = True

    names = milp_conflicts.limit_names(made[0].question, made[0].keys)

    def answer(now: Points) -> Mask:
        def met(some: Points, kept: Mask) -> conflicts.Codes:
            ends = np.stack([_ends_with_limits_kept(p, names, kept, len(mask), now[some]) for p in made])
            failed = np.where((ends == FAILED).any(axis=0), conflicts.NOT_KNOWN, conflicts.CANNOT_HOLD)
            return np.where((ends == OPTIMAL).any(axis=0), conflicts.CAN_HOLD, failed).astype(np.int8)

        def values(some: Points, conflict: Sequence[str]) -> Mapping[str, Array]:
            asked = np.isin(np.arange(len(mask)), now[some])
            here = blocks.part(question, asked)

            def factor(which: int) -> Array:
                return np.asarray(np.min([_least_factor_at_points(p, which, asked) for p in made], axis=0))

            return conflicts.feasible_values(here, made[0].keys, conflict, factor)

        why = Why(names, conflicts.by_set(met), values, lambda some: blocks.part(question, now[some]))
        return answers.conflicts(points[now], why)

    for left in blocks.together(own, answer):
        good[left] = False
    return good[mask]


def _least_violation_at_points(p: Program, found: Vertices, mask: Mask, turned: bool) -> Array:
    """By how much of its size every design breaks some limit at least (see ``milp_conflicts.least_violation``).

    ``turned``: rows that are not limits and have no denominator choose the term of a maximum; these may give as well.
    """
    n = Rows(p, mask)
    named = np.array([k is not None for k in p.keys], dtype=bool)
    y = found.y[mask]
    # an end that is only there to have one proves nothing
    high = np.where(p.boxed, np.inf, n.high)
    missed = weak_duality(n.rows, n.equal, n.low, high, np.zeros_like(n.cost), y)
    sizes = along(milp_conflicts.sizes_of_rows(p)[0], mask, 1)
    choosing = (np.abs(n.denominators).max(axis=2, initial=0.0) == 0.0) & ~named & turned
    give = np.where(choosing, np.abs(n.rows).max(axis=2, initial=0.0), sizes)
    weight = np.where(n.equal, np.abs(y), np.maximum(y, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(missed > 0.0, missed / (weight * give).sum(axis=1), 0.0))


def _least_factor_at_points(p: Program, which: int, asked: Mask) -> Array:
    """The least ratio of a limit (see ``conflicts.Factor``) at the points asked for."""
    if p.amounts:
        return np.full(int(asked.sum()), np.nan)
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
    of_ratio = all(form[..., :-1].any() for form in milp.objective(fewer))
    found, value, sure = (_least_ratio if of_ratio else _least_cost)(fewer, asked)
    # an end that is only there to have one says nothing
    sure &= ~milp.at_searched_end(p, found.u, along(p.high, asked, 1)).any(axis=1)
    return np.select([sure, found.end == INFEASIBLE], [value, np.inf], np.nan)


def _least_cost(p: Program, asked: Mask) -> tuple[Vertices, Array, Mask]:
    n = Rows(p, asked)
    found = lp.solved(n.rows, n.equal, n.low, n.high, [n.cost], len(n.rows))
    value, _, closed = n.bounded(found.u, found.y)
    return found, to_user(p, n, value), (found.end == OPTIMAL) & closed


def _least_ratio(p: Program, asked: Mask) -> tuple[Vertices, Array, Mask]:
    goal, under = (along(form, asked, 1) for form in milp.objective(p))
    n = Rows(p, asked, p.goal)

    def solved(cost: Array) -> Vertices:
        return lp.solved(n.rows, n.equal, n.low, n.high, [cost], len(n.rows))

    first = last = solved(goal)

    def least(cost: Array, size: Array) -> tuple[Array, Mask]:
        nonlocal last
        last = solved(cost)
        return last.u, last.end == OPTIMAL

    u, ratio, cost = least_ratios(least, goal, under, first.u)
    bound = weak_duality(n.rows, n.equal, n.low, n.high, cost, last.y)
    closed = bound >= -PROGRAM_GAP * np.abs((goal * u).sum(axis=1))
    met = (first.end == OPTIMAL) & (last.end == OPTIMAL) & ((under * u).sum(axis=1) > 0.0)
    return Vertices(first.end, u, first.y), ratio, met & closed


def _ends_with_limits_kept(
    p: Program, names: Sequence[str], kept: Mask, count: int, own: Points
) -> NDArray[np.int64]:
    """How the programs of the points ``own`` end with the limits ``kept`` alone and nothing to minimise."""
    left_out = {n for n, k in zip(names, kept, strict=True) if not k}
    stays = np.array(milp.kept_rows(p, left_out), dtype=bool)
    rows = p.rows[..., stays, :]
    rows = rows[own] if rows.ndim == 3 else rows
    low, high = (np.broadcast_to(e, (count, e.shape[-1]))[own] for e in (p.low, p.endless))
    return lp.solved(rows, p.equal[stays], low, high, [], len(own)).end
