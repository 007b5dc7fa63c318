"""Points of a grid from the answers of a few of them: neighbours have mostly the same limits binding.

Every so many steps along each axis a point is answered in full (an anchor). The others are settled from the nearest
anchors by ``solvers.geometric.neighbours.active_set`` wherever its proofs go through. Where anchors stand depends
on the grid alone, not on how it is cut, so that a point always starts from the same ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Indices, Integers
from dse.system.records import dataclass
from formulations.tolerances import BINDS, SLACK
from solvers.geometric.explaining import geometric_conflicts
from solvers.geometric.kernel import gp
from solvers.geometric.neighbours.known import (
    AS_BINDING,
    AT_HIGH,
    AT_LOW,
    CONFLICT,
    FIXED_VALUE,
    FREE,
    NO_FORCE,
    NOTHING,
    OFF,
    OPTIMUM,
    PINNED_HIGH,
    PINNED_LIMIT,
    PINNED_LOW,
    Known,
)
from solvers.geometric.programs import optimal_face
from solvers.geometric.programs.optimal_face import Stages
from solvers.patterns import groups

TOGETHER = 64
"""Points for one anchor: the others then take most of the time."""
FEWEST_CELLS = 32
"""Anchors along an axis that they are thinned out along: with fewer they are too far from each other."""
FARTHER, FEW = 8, 8
"""Anchors are settled from every eighth of them along an axis, where these are as many at least."""
TRIES = 4
PULLS = 0.1
"""Part of the slopes that is not made up for: what then proves a conflict is an end of the box."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """What is known at the anchors near a piece, and of each of its points which anchors to try, best first."""

    known: Any
    which: Integers


@dataclass(frozen=True, slots=True)
class Found:
    """What was settled: the points that have an optimum (``best``), with design, bound and multipliers of each; the
    ``conflicting`` ones, with the names (points, names) that are in the conflict, where its proof stands (``at``), by
    which weights of the limits, and from which anchor they have it.
    """  # noqa: D205

    best: Indices
    y: Array
    bound: Array
    multipliers: Array
    conflicting: Indices
    members: Bools
    at: Array
    weights: Array
    source: Integers


def strides(shape: Sequence[int], apart: Sequence[bool]) -> tuple[int, ...]:
    """Return how many steps lie between anchors along each axis; all 1 where a grid is too coarse for them."""
    found = [1] * len(shape)
    while np.prod(found) < TOGETHER:
        cells = [0 if alone else n / step for n, step, alone in zip(shape, found, apart, strict=True)]
        longest = int(np.argmax(cells))
        if cells[longest] < 2 * FEWEST_CELLS:
            break
        found[longest] *= 2
    return tuple(found)


def farther(steps: Sequence[int], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the steps of anchors for anchors; None where there would be too few of them along some axis."""
    found = tuple(s if s == 1 else s * FARTHER for s in steps)
    return (
        None if any(n < FEW * s for n, s, old in zip(shape, found, steps, strict=True) if s > old) else found
    )


def anchors(places: Integers, shape: Sequence[int], steps: Sequence[int]) -> tuple[list[Integers], Integers]:
    """Return where the anchors around points stand along each axis, and of each point those to try, -1 where there is
    none.

    ``places`` (axes, N): where the points are; ``shape``: of the grid. Anchors are numbered in C order.
    """  # noqa: D205
    along: list[Integers] = []
    nearest: list[tuple[Integers, Integers]] = []
    for points, n, step in zip(places, shape, steps, strict=True):
        if step == 1:
            found, near = np.unique(points, return_inverse=True)
            along.append(found)
            nearest.append((near, np.full_like(near, -1)))
            continue
        first = int(points.min()) // step * step
        found = np.arange(first, min(int(points.max()) // step * step + step + 1, n), step)
        away = (points - first) / step
        near = np.minimum(np.floor(away + 0.5).astype(np.int64), len(found) - 1)
        other = near + np.where(away > near, 1, -1)
        along.append(found)
        nearest.append((near, np.where((other >= 0) & (other < len(found)) & (away != near), other, -1)))
    counts, tries = [len(a) for a in along], []
    for choice in itertools.islice(itertools.product((0, 1), repeat=len(steps)), TRIES):
        at = np.stack([n[c] for n, c in zip(nearest, choice, strict=True)])
        flat = np.ravel_multi_index(tuple(np.maximum(at, 0)), counts)
        tries.append(np.where((at >= 0).all(axis=0), flat, -1))
    return along, np.ascontiguousarray(np.stack(tries, axis=-1))


def known(
    rule: Stages,
    best: Bools,
    y: Array,
    multipliers: Array,
    conflict: Bools,
    settled: tuple[Anchors, Found] | None = None,
) -> Any:
    """Return what neighbours need to know of answered points (``Known``).

    ``best``: points with an optimum, at the designs ``y`` with ``multipliers``; ``conflict``: names (points, names)
    of limits in conflict at the others. ``settled``: what was settled of them from anchors farther away.
    """
    batch, t = rule.batch, rule.batch.table
    size, n, m = batch.size, t.exponents.shape[1], len(batch.keys)
    found = Known(
        np.zeros(size, np.int8), np.where(np.isfinite(y), y, 0.0), np.zeros((size, m)), np.zeros((size, m), np.int8),
        np.zeros((size, n), np.int8), np.zeros((size, t.exponents.shape[0]), np.int8), np.zeros((size, n)),
        np.full(size, -1, np.int64), np.ascontiguousarray(conflict, np.int8),
        np.zeros((size, conflict.shape[1], n)),
    )  # fmt: skip
    _optima(found, rule, np.flatnonzero(best), multipliers)
    fresh = conflict.any(1) & ~best
    if settled is not None:
        farther, n = settled
        fresh[n.conflicting] = False
        found.kind[n.conflicting], found.y[n.conflicting] = CONFLICT, n.at
        found.multipliers[n.conflicting] = n.weights
        for now, then in zip(found[3:], farther.known[3:], strict=True):
            now[n.conflicting] = then[n.source]
    _keep_conflict_proofs(found, rule, np.flatnonzero(fresh), conflict)
    return found


def _optima(found: Any, rule: Stages, points: Indices, multipliers: Array) -> None:
    batch = rule.batch
    t, y, low, high = batch.table.take(points), found.y[points], batch.low[points], batch.high[points]
    force = np.where(multipliers[points] > NO_FORCE, multipliers[points], 0.0)
    values = gp.evaluate(t.exponents, t.logc, t.ptr, y)
    slopes = gp.gradients(t.exponents, t.logc, t.ptr, y)
    tilt = slopes[:, 0] + (force[:, :, None] * slopes[:, 1:]).sum(1)
    rows = np.where(
        force > 0,
        AS_BINDING,
        np.where(values[:, 1:] > -BINDS, PINNED_LIMIT, OFF),
    )
    ends = np.where(
        high - y < BINDS,
        np.where(tilt < -NO_FORCE, AT_HIGH, PINNED_HIGH),
        FREE,
    )
    ends = np.where(y - low < BINDS, np.where(tilt > NO_FORCE, AT_LOW, PINNED_LOW), ends)
    ends = np.where(high - low < 1e-13, FIXED_VALUE, ends)
    matter = optimal_face.matter(t, y, force)
    held = np.isin(ends, (AT_LOW, AT_HIGH, FIXED_VALUE))
    pins = (rows == PINNED_LIMIT).sum(1) + np.isin(ends, (PINNED_LOW, PINNED_HIGH)).sum(1)
    basis = np.concatenate([t.exponents, np.eye(y.shape[1])])
    for which, kind in groups(np.concatenate([matter, held], axis=1)):
        flat = optimal_face.null(basis[kind])
        depth, stage = flat.shape[1], optimal_face.deciding(rule, flat)
        if depth > 1 or (depth and stage is None):
            continue
        at = points[which[pins[which] == depth]]
        found.kind[at], found.stage[at] = OPTIMUM, -1 if stage is None else stage
        found.flat[at] = flat[:, 0] if depth else 0.0
    found.multipliers[points], found.rows[points] = force, rows
    found.ends[points], found.matter[points] = ends, matter


def _keep_conflict_proofs(found: Any, rule: Stages, points: Indices, conflict: Bools) -> None:
    batch = rule.batch
    if not points.size:
        return
    p = geometric_conflicts.proofs(batch, points, conflict[points], rule.solve)
    ends = np.where(p.tilt > PULLS, AT_LOW, np.where(p.tilt < -PULLS, AT_HIGH, FREE))
    found.kind[points] = np.where(p.sure, CONFLICT, NOTHING)
    found.y[points], found.multipliers[points], found.witness[points] = p.y, p.shares, p.witness
    found.rows[points] = np.where(p.shares > 0, AS_BINDING, OFF)
    found.ends[points] = np.where(batch.high[points] - batch.low[points] < 1e-13, FIXED_VALUE, ends)


def settled(rule: Stages, anchors: Anchors) -> Found:
    """Settle the points of a piece from the anchors around it."""
    from solvers.geometric.neighbours import active_set

    batch, t = rule.batch, rule.batch.table
    size, n, m = batch.size, t.exponents.shape[1], len(batch.keys)
    out = np.zeros((size, 3 + n + m))
    boxes = (batch.low, batch.high, *batch.box(own=False), *batch.box(own=False, far=True))
    active_set.run(
        t,
        boxes,
        float(np.log1p(SLACK)),
        anchors.known,
        anchors.which,
        _stages(rule, anchors),
        geometric_conflicts.whose(batch, geometric_conflicts.limit_names(batch.problem)),
        out,
    )
    best, conflicting = (np.flatnonzero(out[:, 0] == kind) for kind in (OPTIMUM, CONFLICT))
    source = out[conflicting, 1].astype(np.int64)
    members = anchors.known.members[source] > 0
    (y, weights), (at, shares) = ((out[p, 3 : 3 + n], out[p, 3 + n :]) for p in (best, conflicting))
    return Found(best, y, out[best, 2], weights, conflicting, members, at, shares, source)


def _stages(rule: Stages, anchors: Anchors) -> tuple[Array, Array, Integers]:
    """Return the goals that decide ties near some anchor as one table; the others are left empty."""
    n, size = rule.goal.exponents.shape[1], rule.batch.size
    used = set(anchors.known.stage.tolist())
    parts = [s for i, s in enumerate(rule.stages) if i in used]
    counts = [int(s.ptr[-1]) if i in used else 0 for i, s in enumerate(rule.stages)]
    if not parts:
        return np.zeros((0, n)), np.zeros((size, 0)), np.zeros(len(counts) + 1, np.int64)
    exponents = np.concatenate([s.exponents for s in parts])
    return exponents, np.concatenate([s.logc for s in parts], axis=1), np.cumsum([0, *counts])
