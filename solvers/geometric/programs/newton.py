"""Newton's method on the conditions of Karush, Kuhn and Tucker, at many points that hold the same rows.

The conditions are ``grad F_0(y) + sum_{k in W} l_k grad F_k(y) = 0`` and ``F_k(y) = 0`` for k in W. Steps are
least-norm steps, so that nothing moves along an optimal face. Rows may divide by sums; their true functions are meant.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.canonical import Canonical
from formulations.grids.divided import take
from solvers.geometric.kernel.gp_terms import Terms

NO_CURVATURE = 1e-9
"""Curvature, as a part of the largest, that counts as none (as ``tolerances.TIE`` counts)."""
SETTLED = 1e-13
"""Residual of the conditions of optimality that no step makes less."""


@dataclass(frozen=True, slots=True)
class Slopes:
    """At N points: the ``goal``, ``values`` of limits (and of ends, where rows are some), softmax ``weights``.

    In the free variables: slopes ``over`` of the terms above, ``all`` of goal and limits, ``own`` of the inequalities
    that are to hold with equality; ``bends``: by row, how the sums below curve (N, free, free).
    """

    goal: Array
    values: Array
    weights: Array
    over: Array
    all: Array
    own: Array
    bends: list[tuple[int, Array]]


def slopes(
    T: Terms,
    low: Array,
    high: Array,
    y: Array,
    rows: Indices,
    free: Bools,
    divided: Canonical | None = None,
) -> Slopes:
    """Evaluate the inequalities at points; ``divided``: the program of these points whose rows divide by sums."""
    F, weights = T.known(y)
    over = T.slopes(weights)[:, :, free]
    every, bends = over, []
    if divided is not None and divided.divisors:
        every, forms = over.copy(), divided.forms[:, free]
        z = np.einsum("pi,qi->pq", y, divided.forms)
        for d in divided.divisors:
            w, height = d.shares(z)
            mean = np.einsum("pt,tq->pq", w, d.coordinates)
            spread = (d.coordinates - mean[:, None]) * np.sqrt(w)[:, :, None]
            apart = np.einsum("ptq,qi->pti", spread, forms)
            F[:, d.row] -= np.einsum("pi,i->p", y, d.base) + height
            every[:, d.row] -= d.base[free] + np.einsum("pq,qi->pi", mean, forms)
            bends.append((d.row, np.einsum("pti,ptj->pij", apart, apart)))
    m, n = F.shape[1] - 1, y.shape[1]
    sides = rows[rows >= m] - m
    own, values = every[:, 1 + rows[rows < m]], F[:, 1:]
    if sides.size:
        ends = np.concatenate([-np.eye(n), np.eye(n)])[sides][:, free]
        own = np.concatenate([own, np.broadcast_to(ends, (len(y), *ends.shape))], axis=1)
        values = np.concatenate([values, low - y, y - high], axis=1)
    return Slopes(F[:, 0], values, weights, over, every, own, bends)


def fitted(s: Slopes) -> Array:
    """The multipliers that leave the Lagrangian function flattest."""
    found: Array = -np.einsum("pji,pj->pi", np.linalg.pinv(s.own, rcond=NO_CURVATURE), s.all[:, 0])
    return found


def left(s: Slopes, multipliers: Array) -> Array:
    """The slopes of the Lagrangian function."""
    found: Array = s.all[:, 0] + np.einsum("pi,pij->pj", multipliers, s.own)
    return found


def residual(s: Slopes, rows: Indices, multipliers: Array) -> Array:
    """The largest slope of the Lagrangian function and value of a row that should be 0, added up."""
    flat = np.abs(left(s, multipliers)).max(1, initial=0.0)
    return np.asarray(flat + np.abs(s.values[:, rows]).max(1, initial=0.0))


def settled(
    T: Terms,
    low: Array,
    high: Array,
    y: Array,
    rows: Indices,
    free: Bools,
    steps: int,
    *,
    longest: float = np.inf,
    divided: Canonical | None = None,
    holds: Callable[[Indices, Array, Slopes], Bools] = lambda each, y, s: np.ones(each.size, bool),
) -> tuple[Array, Array, Array]:
    """Go on for so many ``steps`` while the residual falls: the best points, their multipliers and residuals.

    ``longest``: how far a variable goes in a step; ``divided``: see ``slopes``; ``holds``: which of some points count.
    """
    best, force, least = y.copy(), np.zeros((len(y), rows.size)), np.full(len(y), np.inf)
    each, now = np.arange(len(y)), y.copy()
    for _ in range(steps):
        s = slopes(T, low[each], high[each], now, rows, free, divided)
        lam = fitted(s)
        off = residual(s, rows, lam)
        good = (off < least[each]) & holds(each, now, s)
        best[each[good]], force[each[good]], least[each[good]] = now[good], lam[good], off[good]
        moves = good & (off >= SETTLED)
        if not moves.any():
            break
        now[:, free] += np.clip(_step(T, s, rows, lam, free), -longest, longest)
        if not moves.all():
            each, now, T = each[moves], now[moves], T.take(moves)
            divided = None if divided is None else take(divided, moves)
    return best, force, least


def _step(T: Terms, s: Slopes, rows: Indices, multipliers: Array, free: Bools) -> Array:
    """One step of Newton's method: by how much the free variables move."""
    count, limits = int(free.sum()), rows[rows < len(T.starts) - 1]
    size = count + rows.size
    A = T.A[:, free]
    force = np.zeros(s.all.shape[:2])
    force[:, 0], force[:, 1 + limits] = 1.0, multipliers[:, : limits.size]
    squares = np.einsum("ki,kj->kij", A, A).reshape(-1, count * count)
    curved = np.einsum("pk,ka->pa", force[:, T.row_of] * s.weights, squares).reshape(-1, count, count)
    curved -= np.einsum("pr,pri,prj->pij", force, s.over, s.over)
    for row, bend in s.bends:
        curved -= force[:, row, None, None] * bend
    system = np.zeros((len(curved), size, size))
    system[:, :count, :count] = curved
    system[:, count:, :count], system[:, :count, count:] = s.own, s.own.swapaxes(1, 2)
    # in C order: a product adds up by how its arrays lie in memory, which may be another way for one point alone
    right = -np.ascontiguousarray(np.concatenate([s.all[:, 0], s.values[:, rows]], axis=1))
    moved = np.einsum("pij,pj->pi", np.linalg.pinv(system, rcond=NO_CURVATURE, hermitian=True), right)
    return np.asarray(moved[:, :count])
