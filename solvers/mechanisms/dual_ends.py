"""Multipliers of the limits that bind at N optima, and between which ends they lie where they are not unique.

Optimal multipliers are a polyhedron; its vertices and extreme directions are enumerated for all points at which the
same rows bind.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.row_keys import RowKey
from solvers.geometric.kernel import gp
from solvers.patterns import groups

ACTIVE_WITHIN = 2e-7
"""Twice the slack that searches leave in rows that two cases of a maximum share where these meet."""
DEPENDENT_GRADIENTS = 1e-6
"""Gradients of binding limits whose combination is smaller than this are dependent."""
LEFT_OF_SLOPE = 1e-7
"""What multipliers may leave of the slope of the objective where they are not unique, as a part of it."""
MOST_VERTICES = 20_000
"""Choices of multipliers that are 0: of a point with more none is tried, and of several points so many at once."""
ONE_SIDED_ABOVE = 1e-6
"""Slopes to both sides that differ by more are two."""


@dataclass(frozen=True, slots=True)
class Optima:
    """N optima of programs with the same rows: values ``f`` (N, m+1) and gradients ``g`` (N, m+1, n) of goal and rows
    there, which variables are at their lower and upper ends (N, n), and the kernel's multipliers (N, m).
    """  # noqa: D205

    keys: tuple[RowKey, ...]
    f: Array
    g: Array
    low: Bools
    high: Bools
    multipliers: Array


@dataclass(frozen=True, slots=True)
class Duals:
    """Multipliers of the rows at N optima (N, m); ``least`` and ``most`` differ where they are not unique."""

    keys: tuple[RowKey, ...]
    value: Array
    least: Array
    most: Array
    known: Bools

    @property
    def one_sided(self) -> Bools:
        """Where only the value for relaxing is meant."""
        return np.asarray(self.most - self.least > ONE_SIDED_ABOVE * (1.0 + np.abs(self.least)))


def optima(
    keys: tuple[RowKey, ...],
    table: tuple[Array, Array, NDArray[Any]],
    box: tuple[Array, Array],
    y: Array,
    multipliers: Array,
) -> Optima:
    """Evaluate rows (exponents, log coefficients, beginnings) at optima ``y`` with some multipliers."""
    f, g = gp.evaluate(*table, y), gp.gradients(*table, y)
    low, high = y - box[0] < ACTIVE_WITHIN, box[1] - y < ACTIVE_WITHIN
    return Optima(keys, f, g, low, high, multipliers)


def duals(o: Optima, wanted: Bools | None = None, proved: Bools | None = None) -> Duals:
    """Find the multipliers at optima, and between which ends they lie where they are not unique.

    ``sum_k l_k grad F_k = -grad F_0`` over all that binds leaves a multiplier open where the gradients have a vanishing
    combination in which its limit has a part. ``wanted`` (m,): limits whose multipliers matter (default: all).
    ``proved`` (N,): where those of the kernel are to be trusted (default: everywhere).
    """
    least, most = o.multipliers.copy(), o.multipliers.copy()
    known = np.ones(len(o.f), bool) if proved is None else proved.copy()
    wanted = np.ones(len(o.keys), bool) if wanted is None else wanted
    for which, rows in patterns(o, np.arange(len(o.f))):
        if not wanted[rows].any():
            continue
        free = ~(o.low | o.high)[which[0]]
        left, size, _ = np.linalg.svd(o.g[which][:, 1 + rows][:, :, free])
        vanishing = np.ones((which.size, rows.size), bool)
        vanishing[:, : size.shape[1]] = size <= DEPENDENT_GRADIENTS
        part = (np.abs(left[:, wanted[rows]]) * vanishing[:, None, :]).max(axis=(1, 2))
        several = which[part > DEPENDENT_GRADIENTS]
        if not several.size:
            continue
        each = np.broadcast_to(np.eye(rows.size), (several.size, rows.size, rows.size))
        low, high = extremes(o, several, rows, each)
        finite, places = np.isfinite(low), np.ix_(several, rows)
        known[several], least[several], most[several] = finite.all(1), 0.0, 0.0
        least[places], most[places] = np.where(finite, np.maximum(low, 0.0), 0.0), np.where(finite, high, 0.0)
    return Duals(o.keys, np.where(known[:, None], least, o.multipliers), least, most, known)


def patterns(o: Optima, which: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Points of ``which`` where the same rows bind and the same variables are at the same ends, and these rows."""
    active = o.f[:, 1:] > -ACTIVE_WITHIN
    for some, kind in groups(np.concatenate([active, o.low, o.high], axis=1)[which]):
        yield which[some], np.flatnonzero(kind[: active.shape[1]])


def extremes(o: Optima, which: Indices, rows: Indices, costs: Array) -> tuple[Array, Array]:
    """Smallest and largest value of costs @ multipliers over all optimal multipliers of points, (points, costs).

    The points share a pattern, with the active ``rows``; ``costs`` (points, costs, rows). Optimal multipliers are the
    polyhedron ``some + z @ axes >= 0``, with ``axes`` a basis of the null space of the gradients that bind. It is a
    product of one polyhedron for each block of multipliers that move together, of which the vertices and extreme
    directions are enumerated. Infinite where a cost has no end, where there are no multipliers, and where a block has
    more than ``MOST_VERTICES`` choices.
    """
    goal, eye = o.g[which, 0], np.eye(o.low.shape[1])
    ends = np.concatenate([-eye[np.all(o.low[which], axis=0)], eye[np.all(o.high[which], axis=0)]])
    ends = np.broadcast_to(ends, (which.size, *ends.shape))
    columns = np.concatenate([o.g[which][:, 1 + rows], ends], axis=1).swapaxes(1, 2)
    costs = np.pad(costs, ((0, 0), (0, 0), (0, ends.shape[1])))
    left, size, axes = np.linalg.svd(columns)
    vanishing = np.pad(size, ((0, 0), (0, axes.shape[1] - size.shape[1]))) <= DEPENDENT_GRADIENTS
    null = axes * vanishing[..., None]
    together = np.abs(null.swapaxes(1, 2) @ null) > DEPENDENT_GRADIENTS
    for _ in range(together.shape[1].bit_length()):
        together = np.linalg.matrix_power(together.astype(float), 2) > 0
    low, high = np.full((2, *costs.shape[:2]), [[[-np.inf]], [[np.inf]]])
    for at, kind in groups(np.concatenate([vanishing, together.reshape(len(together), -1)], axis=1)):
        none, of = kind[: axes.shape[1]], kind[axes.shape[1] :].reshape(together.shape[1:])
        rank = np.count_nonzero(~none)
        parts = np.einsum("pni,pn->pi", left[at, :, :rank], goal[at]) / size[at, :rank]
        some = -np.einsum("pi,pic->pc", parts, axes[at, :rank])
        slack = LEFT_OF_SLOPE * np.abs(goal[at]).max(1, initial=1.0)
        left_over = np.abs(np.einsum("pnc,pc->pn", columns[at], some) + goal[at]).max(1, initial=0.0)
        still = ~of.any(1)
        good = (left_over <= slack) & (some[:, still] >= -slack[:, None]).all(1)
        total = np.zeros((2, at.size, costs.shape[1])) + np.einsum(
            "pkc,pc->pk", costs[at][..., still], some[:, still]
        )
        for block in np.unique(of[~still], axis=0):
            null = axes[np.ix_(at, none, block)]
            total += _of_block(costs[at][..., block], some[:, block], null, slack)
        low[at], high[at] = np.where(good[:, None], total, [[[-np.inf]], [[np.inf]]])
    return low, high


def _of_block(costs: Array, some: Array, null: Array, slack: Array) -> Array:
    """Smallest and largest values (2, points, costs) of multipliers that move together, in the space of ``null``."""
    _, size, axes = np.linalg.svd(null)
    found, infinity = np.full((2, *costs.shape[:2]), [[[-np.inf]], [[np.inf]]]), some.shape[1]
    for alike, there in groups(size > 0.5):
        free = int(np.count_nonzero(there))
        if math.comb(infinity + 1, free) > MOST_VERTICES:
            found[:, alike] = np.where(np.any(costs[alike], axis=2), found[:, alike], 0.0)
            continue
        equal = np.array(list(itertools.combinations(range(infinity + 1), free)), dtype=int)
        endless = (equal == infinity).any(1)
        for at in np.array_split(alike, math.ceil(alike.size * len(equal) / MOST_VERTICES)):
            own = axes[at, :free]
            z, valid = _vertices(some[at], own, equal, slack[at])
            found[:, at] = _least_and_greatest(costs[at], some[at], own, z, valid, endless)
    return found


def _least_and_greatest(
    costs: Array, some: Array, axes: Array, z: Array, valid: Bools, endless: Bools
) -> tuple[Array, Array]:
    """Smallest and largest costs @ (some + z @ axes) over the ``valid`` vertices, (points, costs).

    ``endless`` (vertices,): those that are directions without end, along which a cost is infinite or does not move.
    """
    least_move = DEPENDENT_GRADIENTS * np.abs(costs).max(2, initial=1.0)[..., None]
    along = np.einsum("pkc,pfc->pkf", costs, axes)
    along = np.where(np.abs(along).max(2, initial=0.0)[..., None] > least_move, along, 0.0)
    moved = np.einsum("pkf,pvf->pkv", along, z)
    ends = np.where(np.abs(moved) > least_move, np.copysign(np.inf, moved), np.nan)
    worth = np.where(endless, ends, np.einsum("pkc,pc->pk", costs, some)[..., None] + moved)
    worth[np.broadcast_to(~valid[:, None], worth.shape)] = np.nan
    found = np.any(valid & ~endless, axis=1, keepdims=True)
    low, high = np.fmin.reduce(worth, axis=2), np.fmax.reduce(worth, axis=2)
    return np.where(found, low, -np.inf), np.where(found, high, np.inf)


def _vertices(some: Array, axes: Array, equal: Indices, slack: Array) -> tuple[Array, Bools]:
    """Solve for z (points, choices, z) where chosen inequalities of ``some + z @ axes >= 0`` are equalities.

    ``equal`` (choices, z): which are. Also returns which solutions are vertices: not those of dependent equalities, or
    that violate another inequality by more than ``slack``. The number after the last inequality stands for infinity:
    with it z is a direction, scaled so that its entries add up to 1, in which the other equalities still hold.
    """
    rows = np.concatenate([axes.swapaxes(1, 2), axes.sum(2)[:, None]], axis=1)
    begin = np.where((equal == some.shape[1]).any(1)[:, None], 0.0, some[:, None])
    ahead = np.concatenate([begin, np.full((*begin.shape[:2], 1), -1.0)], axis=2)
    meet = rows[:, equal]
    size = np.abs(np.linalg.det(meet))
    apart = size > DEPENDENT_GRADIENTS
    # a determinant may be small though no singular value is
    doubt = ~apart & (size > DEPENDENT_GRADIENTS**2)
    apart[doubt] = np.linalg.svd(meet[doubt], compute_uv=False).min(-1, initial=np.inf) > DEPENDENT_GRADIENTS
    meet = np.where(apart[..., None, None], meet, np.eye(axes.shape[1]))
    at = np.broadcast_to(equal, (len(some), *equal.shape))
    z = -np.linalg.solve(meet, np.take_along_axis(ahead, at, axis=2)[..., None])[..., 0]
    reached = begin + np.einsum("pcf,pvf->pvc", axes.swapaxes(1, 2), z)
    return z, apart & (reached >= -slack[:, None, None]).all(2)
