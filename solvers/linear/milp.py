"""Linear, mixed-integer and linear-fractional programs: the least ratio of two affine forms, with a bound.

A ratio is minimised by Dinkelbach's iteration: with λ the ratio at the best design so far, the least of
numerator - λ denominator is at most 0, and λ plus its lower bound over the least denominator bounds the optimum.
A maximum that something profits from is one of its arguments: each is tried, and the bound is the least of all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from dse.system.records import dataclass
from formulations.program import Program
from formulations.program_branches import branches
from formulations.row_keys import RowKey
from solvers.linear import highs
from solvers.linear.linear_program import Array, End, Numbers

DINKELBACH_STEPS = 60
RATIO_CLOSED = 1e-13
SHARP_SHARE = 1e-11
ABOVE_ZERO = 1e-300
AT_PROGRAM_END = 1e-6
EQUAL_RATIOS = 1e-9


@dataclass(frozen=True, slots=True)
class Best:
    """The design of least ratio: ``u`` as in ``Program``, its ratio, and a proven lower bound of every ratio.

    ``numbers`` and ``multipliers``: the program whose optimum it is (for the branch that won, where there are
    branches) and, where that is an LP, the multipliers of its rows; ``cost``: what was minimised there; ``equals``:
    the best of other branches that are as good.
    """

    end: End
    u: Array | None = None
    ratio: float = math.inf
    bound: float = -math.inf
    numbers: Numbers | None = None
    multipliers: Array | None = None
    cost: Array | None = None
    ray: Array | None = None
    equals: tuple[Best, ...] = ()


def numbers(
    p: Program,
    *,
    drop: Collection[str | RowKey] = (),
    factors: Mapping[RowKey, float] | None = None,
    more: tuple[Array, ...] = (),
) -> Numbers:
    """The rows of a program as they stand.

    ``drop``: limits left out, by key or by name (a variable's name also makes it continuous); ``factors``: what a
    limit's ratio may be instead of 1; ``more``: further rows.
    """
    scale = np.array([(factors or {}).get(k, 1.0) if k else 1.0 for k in p.keys])
    rows = p.numerators - p.denominators * scale[:, None]
    kept = [k is None or (k not in drop and k.name not in drop) for k in p.keys]
    if drop or factors:
        # what bounds an amount may be the very limit that gives
        for row, column, most in p.amounts:
            rows[row, column] = -most
            kept[row] = math.isfinite(most)
    whole = np.array([not (isinstance(c, str) and c in drop) for c in p.columns], dtype=bool)
    n = Numbers(rows[kept], p.equal[kept], p.low, p.high, p.integer & whole)
    return n.with_rows(*more) if more else n


def runaway(p: Program, best: Best) -> str:
    """The variable that only the end of its box holds (empty: none)."""
    assert best.u is not None, "only a design can be held"
    ends = p.boxed & (best.u[:-1] >= p.high * (1.0 - AT_PROGRAM_END))
    if not ends.any():
        return ""
    n = numbers(p)
    nearer = replace(n, high=np.where(ends, n.high / 2, n.high))
    assert p.goal is not None, "only an objective sends a variable away"
    assert p.under is not None, "only an objective sends a variable away"
    there = least(p, nearer, p.goal, p.under)
    worse = there.u is None or there.ratio > best.ratio + AT_PROGRAM_END * abs(best.ratio)
    return str(p.columns[int(np.flatnonzero(ends)[0])]) if worse else ""


def least(p: Program, n: Numbers, goal: Array, under: Array) -> Best:
    """Minimise (goal . u) / (under . u) over ``n``, over every way of choosing the exact maxima of ``p``."""
    if not p.exact:
        return ratio(n, goal, under)
    tried = [ratio(n.with_rows(extra), goal, under) for extra in branches(p)]
    found = [b for b in tried if b.u is not None]
    for end in (End.UNBOUNDED, End.FAILED):
        stopped = next((b for b in tried if b.end is end), None)
        if stopped is not None:
            return stopped
    if not found:
        return Best(End.INFEASIBLE)
    best = min(found, key=lambda b: b.ratio)
    equals = tuple(b for b in found if b is not best and b.ratio <= best.ratio * (1.0 + EQUAL_RATIOS))
    return replace(best, bound=min(b.bound for b in found), equals=equals)


def ratio(n: Numbers, goal: Array, under: Array) -> Best:
    """Minimise (goal . u) / (under . u) over one set of rows, with the denominator positive."""
    if not under[:-1].any():
        return _least_linear(n, goal / under[-1])
    if not goal[:-1].any():
        found = _least_linear(n, under / -goal[-1])
        return replace(
            found, ratio=_inverse_of_negative(found.ratio), bound=_inverse_of_negative(found.bound)
        )
    return _dinkelbach(n, goal, under)


def _inverse_of_negative(negative: float) -> float:
    """1/x from the least of -x: infinite where x is not positive, 0 where it has no end."""
    return -1.0 / negative if negative < -ABOVE_ZERO else math.inf


def _least_linear(n: Numbers, cost: Array) -> Best:
    found = highs.minimise(n, cost)
    return Best(found.end, found.u, found.value, found.bound, n, found.multipliers, cost, found.ray)


def _dinkelbach(n: Numbers, goal: Array, under: Array) -> Best:
    start = highs.minimise(n, goal)
    if start.u is None:
        return Best(start.end, ray=start.ray)
    u = start.u
    if under @ u <= 0:
        widest = highs.minimise(n, -under)
        if widest.u is None or under @ widest.u <= 0:
            return Best(End.FAILED if widest.u is None else End.INFEASIBLE, ray=widest.ray)
        u = widest.u
    for _ in range(DINKELBACH_STEPS):
        now = float(goal @ u) / float(under @ u)
        cost = goal - now * under
        found = highs.minimise(n, cost, SHARP_SHARE * abs(float(goal @ u)))
        if found.u is None:
            return Best(found.end, u if found.end is End.FAILED else None, now, ray=found.ray)
        if found.value >= -RATIO_CLOSED * abs(float(goal @ u)):
            break
        u = found.u
    bound = now + min(found.bound, 0.0) / _least_denominator(n, under, start.bound, now)
    return Best(End.FOUND, u, now, bound, n, found.multipliers, cost)


def _least_denominator(n: Numbers, under: Array, least_goal: float, now: float) -> float:
    """A positive lower bound of the denominator over all designs that are no worse than ``now`` (0: none known)."""
    low = highs.minimise(n.relaxed(), under).bound
    return max(low, least_goal / now if now > 0 else 0.0, ABOVE_ZERO)


def face(best: Best) -> Numbers:
    """The optimal designs of a linear program, exactly: what has a multiplier holds as an equality."""
    n, y, cost = best.numbers, best.multipliers, best.cost
    assert n is not None, "only an optimum has a face"
    assert y is not None, "only an LP's optimum has a face"
    assert cost is not None, "only an optimum has a face"
    assert best.u is not None, "only an optimum has a face"
    size = np.abs(cost[:-1]) + np.abs(y) @ np.abs(n.rows[:, :-1])
    reduced = cost[:-1] + y @ n.rows[:, :-1]
    held = np.abs(reduced) > 1e-7 * np.where(size > 0, size, 1.0)
    row_size = np.abs(n.rows[:, :-1]).max(axis=1, initial=0.0)
    tight = n.equal | (y * row_size > 1e-9 * max(float(np.abs(cost).max(initial=0.0)), ABOVE_ZERO))
    at = best.u[:-1]
    return replace(n, equal=tight, low=np.where(held, at, n.low), high=np.where(held, at, n.high))
