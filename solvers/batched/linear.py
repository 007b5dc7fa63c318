"""Linear programs of many points: written once with all their numbers, solved by the dual simplex method, proved again.

Each optimum comes with multipliers, from which its bound follows by weak duality; each point without a design with the
multipliers that prove it. What the tableau cannot say for certain (a limit that binds at a degenerate vertex, an end
that is only there to have one) is left to be solved point by point.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations import evaluation
from formulations.evaluation import RowKey
from formulations.many import Array, Points, same
from formulations.program import Program, is_linear, program
from results.dataset import Arrays, Layout
from scenarios.grids import Grid
from scenarios.question import Question
from solvers import milp, milp_conflicts, milp_ties, programs
from solvers.batched import blocks, lp
from solvers.batched.blocks import Block
from solvers.batched.ends import FAILED, FOUND, INFEASIBLE
from solvers.batched.lp import Vertices
from solvers.batched.told import Designs, Told
from solvers.milp_explained import ACTIVE

FEWEST = 300
"""Points of a grid below which loading the compiled code takes longer than solving them one by one."""
PIECE = 16_384
"""Points written and solved together."""
GAP = 1e-9
SETS = 4
"""More limits than that have too many sets to be in conflict."""
AWAY = 1e-7
"""Of a number's size: less from its end it may be at it, and the vertex degenerate."""

Mask = NDArray[np.bool_]


class NotLinear(ValueError):
    """The question is no linear program that can be solved for many points at once."""


def way(grid: Grid) -> Linear | None:
    """Return this way where most points of a grid are linear programs."""
    if grid.size < FEWEST or any(len(q.objectives) != 1 for q in grid.bases.values()):
        return None
    if not any(_plain(q) for q in blocks.kinds(grid)):
        return None
    return Linear(grid) if blocks.worthwhile(Linear(blocks.thinned(grid))) else None


def _plain(question: Question) -> bool:
    """Whether a question is a linear program at all, told before anything is compiled."""
    if not question.decide or question.idle or any(d.choices is not None for d in question.decide):
        return False
    if not is_linear(question):
        return False
    try:
        p = program(question)
    except (ValueError, ArithmeticError):
        return False
    return not p.integer.any() and not p.exact


@dataclass(frozen=True, slots=True)
class Linear:
    """The way itself; see ``solvers.batched.path.Path``."""

    grid: Grid
    method: str = "linear programs solved together by the dual simplex method; bounds from their multipliers"
    kind: str = "array"

    def solve(self, plan: Layout, region: tuple[slice, ...]) -> tuple[Arrays, Mask]:
        """Answer a block."""
        block = Block(self.grid, region)
        told = Told(plan, block.shape)
        left = block.answered(lambda question, points: self.answer(told, question, points), PIECE)
        return told.arrays, left

    def answer(self, told: Told, question: Question, points: Points) -> Mask:
        """Answer some points; tells which are answered."""
        p = program(question)
        _check(p)
        count = len(points)
        found = _solved(p, count)
        good = np.zeros(count, dtype=bool)
        optimal = found.end == FOUND
        if optimal.any():
            good[optimal] = _optimal(told, p, question, points, found, optimal)
        none = found.end == INFEASIBLE
        if none.any():
            good[none] = _none(told, p, points, found, none)
        return good


def _check(p: Program) -> None:
    """Raise NotLinear where a program is of another kind."""
    if p.integer.any() or p.exact or p.others:
        raise NotLinear("whole numbers, or maxima that are to be large")
    if p.goal is None or p.under is None:
        raise NotLinear("nothing is to be least")
    ratios = [under for _, _, under in p.ties]
    if any(r[..., :-1].any() for r in ratios) or (p.under[..., :-1].any() and p.goal[..., :-1].any()):
        raise NotLinear("a ratio of two things that are decided")


def _cost(p: Program) -> Array:
    """What is minimised, linear: the numerator, or minus the denominator where only that is decided."""
    assert p.goal is not None, "there is an objective"
    assert p.under is not None, "there is an objective"
    if not p.under[..., :-1].any():
        return np.asarray(p.goal / p.under[..., -1:])
    return np.asarray(p.under / -p.goal[..., -1:])


def _aims(p: Program) -> list[Array]:
    """What is minimised, what settles ties, and every decided quantity, in order of importance."""
    decided = [p.column(d.name) for d in p.question.decide[: milp_ties.MOST]]
    return [_cost(p), *(goal / under[..., -1:] for _, goal, under in p.ties), *decided]


def _solved(p: Program, count: int) -> Vertices:
    """Solve all programs."""
    return lp.solved(p.rows, p.equal, p.low, p.high, _aims(p), count)


def _optimal(told: Told, p: Program, question: Question, points: Points, found: Vertices, mask: Mask) -> Mask:
    """Judge and take over the points with an optimum."""
    u, y = found.u[mask], found.y[mask]
    n = Rows(p, mask)
    value = (n.cost * u).sum(axis=1)
    bound = lp.weak_duality(n.rows, n.equal, n.low, n.high, n.cost, y)
    size = (np.abs(n.cost) * np.abs(u)).sum(axis=1)
    good = value - bound <= GAP * np.maximum(np.abs(value), 1e-3 * size)
    good &= ~((u[:, :-1] >= n.high * (1.0 - milp.AT_END)) & p.boxed).any(axis=1)
    rates, sure = _rates(p, n, u, y, value)
    good &= sure
    place = {c: i for i, c in enumerate(p.columns)}
    x = {d.name: u[:, place[d.name]] for d in question.decide}
    asked = blocks.part(question, mask)
    designs = Designs(x, _to_user(p, n, np.minimum(bound, value)), {}, rates)
    return told.best(asked, points[mask], designs, good)


class Rows:
    """The rows, ends and costs of the programs of some points."""

    def __init__(self, p: Program, mask: Mask) -> None:
        count = len(mask)

        def of(a: Array, dims: int) -> Array:
            return np.broadcast_to(a, (count, *a.shape[a.ndim - dims :]))[mask]

        self.rows, self.low, self.high = of(p.rows, 2), of(p.low, 1), of(p.high, 1)
        self.room, self.equal = of(p.denominators, 2), p.equal
        self.cost = of(_cost(p), 1)


def _to_user(p: Program, n: Rows, value: Array) -> Array:
    """The user's objective from what was minimised."""
    assert p.under is not None, "there is an objective"
    ratio = -1.0 / value if p.under[..., :-1].any() else value
    return np.asarray(ratio if p.sign > 0 else 1.0 / ratio)


def _rates(p: Program, n: Rows, u: Array, y: Array, value: Array) -> tuple[dict[str, Array], Mask]:
    """Elasticities of the objective by limit (see ``solvers.milp_explained.rates``), and where they are certain.

    Relaxing and tightening a limit that binds are mirrors of each other where the vertex is not degenerate.
    """
    assert p.under is not None, "there is an objective"
    keys = [k for k in p.keys if k is not None]
    parts = np.abs(n.rows * u[:, None, :]).max(axis=2)
    left = np.abs(np.einsum("pij,pj->pi", n.rows, u)) / np.maximum(parts, 1e-300)
    size = np.maximum(np.abs(u[:, :-1]), 1e-3)
    at_end = (u[:, :-1] - n.low <= AWAY * size) | (n.high - u[:, :-1] <= AWAY * size)
    # as many rows and ends hold with equality as there are numbers: no more, or the vertex is degenerate
    tight = (left <= AWAY).sum(axis=1) + at_end.sum(axis=1)
    simple = tight == u.shape[1] - 1
    found: dict[str, Array] = {}
    by = -value if p.under[..., :-1].any() else value
    # of what may be below zero nothing is worth a percentage
    sure = by > 0.0
    for i, key in enumerate(p.keys):
        if key is None or key.side == "model":
            continue
        active = left[:, i] <= ACTIVE
        room = np.einsum("pj,pj->p", n.room[:, i], u)
        change = -y[:, i] * room
        rate = (-1.0 if key.side == "min" else 1.0) * p.sign * change / by
        found[evaluation.label(key, keys)] = np.where(active & (np.abs(rate) >= ACTIVE), rate, 0.0)
        sure &= ~active | simple
        sure &= active | (left[:, i] > AWAY)
    return found, sure


def _none(told: Told, p: Program, points: Points, found: Vertices, mask: Mask) -> Mask:
    """Prove that points have no design, and tell which limits are in conflict."""
    n = Rows(p, mask)
    named = np.array([k is not None for k in p.keys], dtype=bool)
    y = found.y[mask]
    missed = lp.weak_duality(n.rows, n.equal, n.low, n.high, np.zeros_like(n.cost), y)
    give = np.where(named, np.abs(n.room).max(axis=2, initial=0.0), 0.0)
    weight = np.where(n.equal, np.abs(y), np.maximum(y, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        sure = missed / (weight * give).sum(axis=1) > programs.SLACK
    own = np.flatnonzero(mask)[sure]
    good = np.zeros(len(mask), dtype=bool)
    good[own] = True

    def answer(now: Points) -> Mask:
        conflict = _conflict(p, len(mask), now)
        told.none(points[now], conflict)
        return np.ones(len(now), dtype=bool)

    for left in blocks.together(own, answer):
        good[left] = False
    return good[mask]


def _conflict(p: Program, count: int, own: Points) -> Collection[str]:
    """The first minimal set of limits that contradict each other, the same at all points ``own``.

    Raises Differ where it is not, and NotLinear where there are too many sets.
    """
    names = milp_conflicts.limit_names(p)
    if len(names) > SETS:
        raise NotLinear("too many limits may be in conflict")

    def feasible(kept: frozenset[str]) -> bool:
        stays = np.array([_stays(k, names, kept) for k in p.keys], dtype=bool)
        rows = p.rows[..., stays, :]
        rows = rows[own] if rows.ndim == 3 else rows
        low, high = (np.broadcast_to(e, (count, e.shape[-1]))[own] for e in (p.low, p.high))
        found = lp.solved(rows, p.equal[stays], low, high, [], len(own))
        if (found.end == FAILED).any():
            raise NotLinear("a program could not be solved")
        return same(found.end == FOUND)

    first = milp_conflicts.sets(names, feasible)
    return first[0] if first else ()


def _stays(key: RowKey | None, names: Collection[str], kept: Collection[str]) -> bool:
    return key is None or key.name not in names or key.name in kept
