"""The tie rule by moving in the optimal face: one home for one point and for many.

The optimal set of a geometric program is a face: along it no term of the goal and no term of a limit with a positive
multiplier changes. Ties are broken by moving inside that face, so nothing of the objective is given away; only terms
too small to matter (below TIE) are let go, and then the goal itself stays as a row. Points whose optimum rests on the
same terms have the same face, so they move inside it together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.grids.batch import Batch, Table
from formulations.tolerances import TIE
from solvers.geometric.kernel import gp
from solvers.patterns import Rows, groups

Solver = Callable[..., gp.Result]

FORCE = 1e-7
FACE_TIGHT = 1e-6
PUSHED = 1e-7
FACE_ROUNDING = 1e-11
NO_EXPONENT = 1e-12
"""Exponents along a face smaller than this are none."""
OPEN = 1e-9
"""A variable that moves less than this along a face has no range."""
LINE_STEPS = 100
"""Newton steps to the end of a line; what a row touches only takes one for each halving."""
RANGE = 1e-6
"""Ends of a range closer than this (in logs) are one value."""


@dataclass(frozen=True, slots=True)
class Stages:
    """What ties are broken by, in order, as tables; and the goal's own.

    ``forms`` (q, n): further linear forms that keep their value along the face (those that divisors depend on).
    """

    batch: Batch
    goal: Table
    rows: Table
    stages: tuple[Table, ...]
    solve: Solver
    forms: Array


@dataclass(frozen=True, slots=True)
class Chosen(Rows):
    """The designs ``y`` (N, n) in logs, and for which points they are settled (``sure``).

    ``first``: proven lower bound (log) of the first stage over the optimal face. ``low``, ``high`` (N, n): where a
    variable is not unique, the ends of its optimal values; NaN elsewhere, and where nobody asked for ranges.
    ``least``, ``most`` (N, n): where these ends are not proved, what no optimal value lies beyond; NaN elsewhere.
    ``floors`` (N, stages): in logs, where it is not ``sure`` what the stages are proved not to be below.
    """

    y: Array
    sure: Bools
    first: Array
    low: Array
    high: Array
    least: Array
    most: Array
    floors: Array


def unmoved(y: Array, stages: int) -> Chosen:
    """Return designs (N, n) as they are, of which nothing is known yet."""
    count = len(y)
    low, high, least, most = np.full((4, *y.shape), np.nan)
    unknown = np.full((count, stages), -np.inf)
    return Chosen(y.copy(), np.ones(count, bool), np.zeros(count), low, high, least, most, unknown)


def stages(batch: Batch, wanted: Iterable[Table], solve: Solver, forms: Array | None = None) -> Stages:
    """Prepare the tie rule: ``wanted`` in this order."""
    t = batch.table
    first = int(t.ptr[1])
    goal = Table(t.exponents[:first], t.logc[:, :first], t.ptr[:2])
    rows = Table(t.exponents[first:], t.logc[:, first:], t.ptr[1:] - first)
    none = np.zeros((0, t.exponents.shape[1]))
    return Stages(batch, goal, rows, tuple(wanted), solve, none if forms is None else forms)


def choose(s: Stages, points: Indices, r: gp.Result, *, after: int | None = None) -> Chosen:
    """Choose among the designs of ``points`` that are as good as their optima ``r``.

    ``after``: find ranges, those among the designs that are best by so many of the stages (1 where the first one is the
    objective itself); None: nobody asks for ranges.
    """
    t, low, high = s.batch.table.take(points), s.batch.low[points], s.batch.high[points]
    pushed = (r.lower_multipliers > PUSHED) | (r.upper_multipliers > PUSHED) | (high - low < 1e-13)
    first = _log_rows(s.stages[0].take(points), r.y)[:, 0] if s.stages else np.zeros(points.size)
    found = unmoved(r.y, len(s.stages))
    found.first[:] = first
    basis = np.concatenate([t.exponents, np.eye(r.y.shape[1])])
    for which, kind in groups(np.concatenate([matter(t, r.y, r.multipliers), pushed], axis=1)):
        flat = null(np.concatenate([basis[kind], s.forms]))
        _descend(s, points, found, which, flat, 0, after)
    return found


def matter(t: Table, y: Array, multipliers: Array) -> Bools:
    """Tell which terms matter to an optimum: of the goal and of rows with a multiplier, if not too small to count."""
    values, weights = gp.both(t.exponents, t.logc, t.ptr, y)
    force = np.concatenate([np.ones((len(y), 1)), multipliers], axis=1)
    counted = force * (force > FORCE)
    counted[:, 1:] *= -values[:, 1:] < FACE_TIGHT
    found: Bools = counted[:, t.row] * weights > TIE
    return found


def null(rows: Array) -> Array:
    """Orthonormal directions that the rows do not see; single variables stay single."""
    n = rows.shape[1]
    if rows.shape[0] == 0:
        return np.eye(n)
    _, s, v = np.linalg.svd(rows)
    rank = int((s > 1e-9 * max(1.0, float(s.max(initial=0.0)))).sum())
    null = v[rank:].T
    alone = [i for i in range(n) if np.abs(rows[:, i]).max() < 1e-12]
    return np.eye(n)[:, alone] if len(alone) == null.shape[1] else null


def deciding(s: Stages, flat: Array, number: int = 0) -> int | None:
    """Return the first stage from ``number`` on that changes along some direction of ``flat``."""
    there = range(number, len(s.stages))
    return next(
        (i for i in there if np.abs(s.stages[i].exponents @ flat).max(initial=0.0) >= NO_EXPONENT), None
    )


def _log_rows(t: Table, y: Array) -> Array:
    return gp.evaluate(t.exponents, t.logc, t.ptr, y)


def _descend(
    s: Stages, points: Indices, found: Chosen, own: Indices, flat: Array, number: int, after: int | None
) -> None:
    """Move the designs ``own`` inside their face to what the stages from ``number`` on ask for."""
    if not flat.shape[1]:
        return
    decides = deciding(s, flat, number)
    if after is not None and number <= after and (decides is None or decides >= after):
        _extend(s, points, found, own, flat, after)
    if decides is None:
        return
    at, y = points[own], found.y[own]
    t, span = _in_face(s, at, y, flat, s.stages[decides]), _box_diameters(s, at)
    line = _ends_of_line(t, span)
    if line is not None:
        along = line[0] if t.exponents[0, 0] > 0 else line[1]
        found.y[own] = y + along[:, None] * flat[:, 0]
        if decides == 0:
            found.first[own] = _log_rows(s.stages[0].take(at), found.y[own])[:, 0]
        return
    ends = np.repeat(span[:, None], flat.shape[1], axis=1)
    r = s.solve(t.exponents, t.logc, t.ptr, -ends, ends)
    good = r.status == gp.OPTIMAL
    found.sure[own] &= good
    if decides == 0:
        found.first[own] = r.bound
    # what could not be moved goes on from where it is
    found.y[own[good]] = y[good] + _products(r.y[good], flat.T)
    rests = groups(matter(t, r.y, r.multipliers)[good])
    parts = [(own[good][which], flat @ null(t.exponents[kind])) for which, kind in rests]
    for which, rest in [*parts, *([(own[~good], flat)] if not good.all() else [])]:
        _descend(s, points, found, which, rest, decides + 1, after)


def _box_diameters(s: Stages, at: Indices) -> Array:
    low, high = s.batch.low[at], s.batch.high[at]
    span: Array = (high - low).max(1) * np.sqrt(low.shape[1]) + 1.0
    return span


def _products(y: Array, a: Array) -> Array:
    """``y @ a``, each point by itself: a BLAS product adds up in an order that depends on how many points there are."""
    found: Array = np.einsum("pi,ij->pj", y, a)
    return found


def _ends_of_line(t: Table, span: Array) -> tuple[Array, Array] | None:
    """From where to where a face is open that is a line; None where it is none, or where the goal bends on it."""
    if t.exponents.shape[1] > 1 or np.ptp(t.exponents[: t.ptr[1], 0]) > NO_EXPONENT:
        return None
    # both ways at once
    slopes = np.repeat([-t.exponents[:, 0], t.exponents[:, 0]], span.size, axis=0)
    ends = _end_of_line(slopes, t, np.tile(span, 2))
    return -ends[: span.size], ends[span.size :]


def _end_of_line(slopes: Array, t: Table, span: Array) -> Array:
    """How far from 0, where all rows hold, up to ``span``; each end stops by itself.

    Rows are convex: from where one is broken, Newton's steps go towards its end and never beyond. ``slopes`` and
    ``span`` may have several ends of each point, all of one kind after another.
    """
    first, owner = t.ptr[1:-1] - t.ptr[1], t.row[t.ptr[1] :] - 1
    slopes, logc = slopes[:, t.ptr[1] :], np.tile(t.logc[:, t.ptr[1] :], (len(slopes) // len(t.logc), 1))
    end, going = span.copy(), np.arange(span.size)
    for _ in range(LINE_STEPS):
        rising = slopes[going]
        z = logc[going] + rising * end[going, None]
        heights = np.logaddexp.reduceat(z, first, axis=1)
        broken = heights > 0.0
        shares = np.exp(z - np.where(broken, heights, 0.0)[:, owner]) * broken[:, owner]
        rise = np.add.reduceat(shares * rising, first, axis=1)
        steps = np.where(broken & (rise > 0.0), heights, 0.0) / np.where(rise > 0.0, rise, 1.0)
        nearer = np.maximum(end[going] - steps.max(1), 0.0)
        moves = nearer < end[going]
        going = going[moves]
        end[going] = nearer[moves]
        if not going.size:
            break
    return end


def _extend(s: Stages, points: Indices, found: Chosen, own: Indices, flat: Array, after: int) -> None:
    """Find the least and the greatest optimal value of each variable that the face leaves open."""
    at, y = points[own], found.y[own]
    t = _in_face(s, at, y, flat, None, s.stages[:after])
    open_ones = [i for i in range(y.shape[1]) if np.abs(flat[i]).max() > OPEN]
    span = _box_diameters(s, at)
    line = _ends_of_line(t, span)
    if line is not None:
        reached = np.sort(flat[open_ones, 0] * np.stack(line)[:, :, None], axis=0)
        ends = np.moveaxis(reached, 2, 0)
    else:
        # every end is a row of its own with another goal
        goals = np.array([sign * flat[i] for i in open_ones for sign in (1.0, -1.0)])
        exponents = np.repeat(np.repeat(t.exponents[None], len(goals), axis=0), own.size, axis=0)
        exponents[:, 0] = np.repeat(goals, own.size, axis=0)
        box = np.repeat(np.tile(span, len(goals))[:, None], flat.shape[1], axis=1)
        r = s.solve(exponents, np.tile(t.logc, (len(goals), 1)), t.ptr, -box, box)
        value = np.where(r.status == gp.OPTIMAL, r.value, np.nan)
        ends = value.reshape(len(open_ones), 2, own.size) * np.array([1.0, -1.0])[:, None]
    for i, (low, high) in zip(open_ones, ends, strict=True):
        wide = high - low > RANGE
        found.low[own[wide], i], found.high[own[wide], i] = (y[:, i] + low)[wide], (y[:, i] + high)[wide]


def _in_face(
    s: Stages, at: Indices, y: Array, flat: Array, stage: Table | None, also: Iterable[Table] = ()
) -> Table:
    """The stage over the limits, goal and ``also`` kept, the box as rows; in coordinates of the face (y + flat t)."""
    low, high = s.batch.low[at], s.batch.high[at]
    n = y.shape[1]
    free = (high - low > 1e-13).any(0)
    sides = np.concatenate([np.eye(n)[free], -np.eye(n)[free]])
    aim = (
        Table(np.zeros((1, n)), np.zeros((len(y), 1)), np.array([0, 1])) if stage is None else stage.take(at)
    )
    limits = s.rows.take(at)
    kept = [g.take(at) for g in (s.goal, *also)]
    parts = [aim, limits, *kept]
    # what is missed by a rounding is granted
    over = np.maximum(_log_rows(limits, y), 0.0) if limits.ptr.size > 1 else np.zeros((len(y), 0))
    rows = limits.logc - (over + FACE_ROUNDING)[:, limits.row]
    goals = [g.logc - (_log_rows(g, y) + TIE + FACE_ROUNDING) for g in kept]
    exponents = np.concatenate([*(p.exponents for p in parts), sides])
    ptr = np.cumsum([0, *(k for p in parts for k in np.diff(p.ptr)), *(1 for _ in sides)])
    ends = np.concatenate([(y - high)[:, free], (low - y)[:, free]], axis=1)
    inner = np.concatenate([aim.logc, rows, *goals], axis=1)
    inner = inner + _products(y, exponents[: ptr[-1] - len(sides)].T)
    logc = np.concatenate([inner, np.minimum(ends, -FACE_ROUNDING)], axis=1)
    inside = exponents @ flat
    for k in range(1, ptr.size - 1):
        terms = slice(ptr[k], ptr[k + 1])
        if np.abs(inside[terms]).max() < NO_EXPONENT:
            # it cannot change along the face, and holds already
            logc[:, terms] = -np.inf
    return Table(inside, logc, ptr)
