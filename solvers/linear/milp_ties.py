"""Which of several optimal designs of a linear or mixed-integer program is handed out, and how far they range.

Ties go by the question's ``tie_order``, then to the smaller decided quantities in file order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.forms import Largest, Some
from formulations.program import Program
from formulations.tolerances import TIE
from solvers.linear import highs, milp
from solvers.linear.linear_program import Array, End, Numbers, constant_column
from solvers.linear.milp import Best

RANGE_APART = 1e-7
# of what the slack of "no worse" lets a divisible quantity wander
WANDER_SHARE = 1e-2
MOST_RANGED = 40
TIE_SEED = 20260101


@dataclass(frozen=True, slots=True)
class Chosen:
    """The design handed out, and the lowest and highest optimal value of every variable that is not unique."""

    u: Array
    ranges: dict[str, tuple[float, float]]


def chosen(p: Program, best: Best) -> Chosen:
    """Settle which optimal design is handed out, those of other branches included."""
    every = [_chosen_optimum(p, b) for b in (best, *best.equals)]
    left = every
    for goal, under in _stages(p) if len(every) > 1 else ():
        values = [float(goal @ c.u) / float(under @ c.u) for c in left]
        left = [c for c, v in zip(left, values, strict=True) if v <= min(values) + TIE * abs(min(values))]
    return left[0] if len(every) == 1 else Chosen(left[0].u, _union(p, every))


def _union(p: Program, every: list[Chosen]) -> dict[str, tuple[float, float]]:
    """How far variables range over several sets of equally good designs."""
    found = {}
    for d in p.question.decide[:MOST_RANGED]:
        ends = [e for c in every for e in c.ranges.get(d.name, (float(p.column(d.name) @ c.u),))]
        if _is_clearly_wider(min(ends), max(ends), WANDER_SHARE):
            found[d.name] = (min(ends), max(ends))
    return found


def _is_clearly_wider(low: float, high: float, by: float) -> bool:
    return high > low + by * max(abs(low), min(abs(high), 1e9), 1e-3)


def _chosen_optimum(p: Program, best: Best) -> Chosen:
    assert best.u is not None, "only a design can be settled"
    assert best.numbers is not None, "only a design can be settled"
    n = best.numbers
    if n.integer.any():
        kept = n.with_rows(_no_worse(p, best)) if p.goal is not None else n
        settled = Chosen(best.u, {}) if _one_choice(p, kept, best.u) else _among_choices(p, kept, best.u)
        rest = _rest(p, n, settled.u)
        return settled if rest is None else Chosen(rest.u, {**rest.ranges, **settled.ranges})
    if best.multipliers is None:
        return Chosen(best.u, {})
    return on_face(p, milp.face(best), best.u)


def _no_worse(p: Program, best: Best) -> Array:
    assert p.goal is not None, "only with an objective is one design worse"
    assert p.under is not None, "only with an objective is one design worse"
    return p.goal - (best.ratio + TIE * abs(best.ratio)) * p.under


def _rest(p: Program, n: Numbers, u: Array) -> Chosen | None:
    """Settle the continuous part once the whole numbers are known."""
    fixed = n.fixed(u)
    goal, under = (p.goal, p.under) if p.goal is not None else (np.zeros(len(u)), constant_column(len(u)))
    assert under is not None, "an objective has a denominator"
    again = milp.ratio(fixed, goal, under)
    if again.u is None or again.multipliers is None:
        return None
    return on_face(p, milp.face(again), again.u)


def _direction(n: Numbers, of: NDArray[np.bool_]) -> Array:
    weights = np.random.default_rng(TIE_SEED).uniform(1.0, 2.0, len(n.low))
    return np.append(np.where(of, weights, 0.0), 0.0)


def _one_choice(p: Program, kept: Numbers, u: Array) -> bool:
    """Whether no other whole numbers are as good: none differ along a direction in which all differ.

    An indicator says nothing of its own: where there is none of its amount, it may often be 1 as well; and of equal
    terms of a maximum either is the largest.
    """
    decided = np.array([not isinstance(c, Some | Largest) for c in p.columns], dtype=bool)
    w = _direction(kept, kept.integer & decided)
    return all(
        (found := highs.minimise(kept, s * w)).u is None or abs(float(w @ found.u - w @ u)) < RANGE_APART
        for s in (1.0, -1.0)
    )


def _one_point(n: Numbers, u: Array) -> bool:
    w = _direction(n, np.ones(len(n.low), dtype=bool))
    ends = [highs.minimise(n, s * w) for s in (1.0, -1.0)]
    return all(e.u is not None and float(np.abs(e.u - u).max()) < RANGE_APART for e in ends)


def _stages(p: Program) -> Iterator[tuple[Array, Array]]:
    yield from ((goal, under) for _, goal, under in p.ties)
    for d in p.question.decide[:MOST_RANGED]:
        yield p.column(d.name), constant_column(len(p.columns) + 1)


def _among_choices(p: Program, kept: Numbers, u: Array) -> Chosen:
    ranges = _optimal_ranges(p, kept, WANDER_SHARE)
    for goal, under in _stages(p):
        found = milp.ratio(kept, goal, under)
        if found.u is None or _boxed(p, found.u):
            continue
        u = found.u
        slack = TIE * abs(found.ratio) * under + TIE * 1e-3 * constant_column(len(under))
        kept = kept.with_rows(goal - found.ratio * under - slack)
    return Chosen(u, ranges)


def on_face(p: Program, n: Numbers, u: Array) -> Chosen:
    """Settle which of the equally good designs of ``n``, all divisible, is handed out; ``u`` is one of them."""
    if _one_point(n, u):
        return Chosen(u, {})
    ranges = _optimal_ranges(p, n)
    if not ranges:
        return Chosen(u, {})
    for goal, under in _stages(p):
        found = milp.ratio(n, goal, under)
        if found.end is not End.FOUND or found.u is None or _boxed(p, found.u):
            continue
        u = found.u
        if found.multipliers is not None:
            n = milp.face(found)
    return Chosen(u, ranges)


def _boxed(p: Program, u: Array) -> bool:
    """Whether only the end of a box holds what was asked to be least: an aim without end settles nothing."""
    return bool(np.any(p.boxed & (u[:-1] >= p.high * (1.0 - milp.AT_PROGRAM_END))))


def _optimal_ranges(p: Program, n: Numbers, by: float = RANGE_APART) -> dict[str, tuple[float, float]]:
    found = {}
    for d in p.question.decide[:MOST_RANGED]:
        column = p.column(d.name)
        ends = [highs.minimise(n, s * column) for s in (1.0, -1.0)]
        low, high = (None if e.u is None else float(column @ e.u) for e in ends)
        if ends[1].end is End.UNBOUNDED:
            high = math.inf
        if low is None or high is None:
            continue
        if ends[1].u is not None and _boxed(p, ends[1].u):
            high = math.inf
        if _is_clearly_wider(low, high, by):
            found[d.name] = (low, high)
    return found


def without_goal(p: Program) -> Program:
    """The program whose first tie-breaker is its goal: what is handed out where nothing is asked to be least."""
    if p.goal is not None or not p.ties:
        return p
    _, goal, under = p.ties[0]
    return replace(p, goal=goal, under=under)
