"""Among designs that are as good as the best, those that are best in something else: how far they reach.

The goal is nudged by a tiny power of it: unlike a row that holds the goal at its optimum this leaves the feasible set
as wide as it is. What such a search finds is near; its end is exact in the program whose divisors are their tangents.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.canonical import Canonical
from formulations.grids.batch import Batch, Table
from formulations.grids.divided import take
from formulations.tolerances import TIE
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch, multipliers, optimal_face
from solvers.geometric.programs.optimal_face import RANGE, Solver

SETTLED_WIDTH = 1e-2
"""In logs: what can be divided, and forms, that reach no farther are settled."""
NUDGE = 1e-7
NUDGES = tuple(NUDGE * 10.0 ** (-k / 2) for k in range(5))
"""Where a nudge moves the goal by more than a tie may differ by, a smaller one is tried."""
TIED_GAP = NUDGE * SETTLED_WIDTH / 10
"""What a nudge has to show through."""
MOST_TIE_NODES, MOST_END_NODES = 300, 1000
"""Nodes of a search for what ties go to, and for an end of a range that is told."""
TANGENTS, NO_STEP = 20, 1e-10
"""How often tangents are taken again on the way to an end, and in logs, what is no way any more."""

Stages = Callable[[Array], Sequence[Table]]
"""What is to be least, in order, as tables that are right at a design (1, n)."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Ends (2, N, q) of linear forms that some designs have, and ``outer`` ones beyond which no design has any.

    Where an end is proved it is its outer end, else a search for it was not closed.
    """

    ends: Array
    outer: Array


@dataclass(frozen=True, slots=True)
class Ends:
    """How far numbers reach (2, N, n) over all designs that are as good, NaN where that was not searched.

    ``outer``: see ``Reached``. ``wide`` (N, n): which reach farther than a search for them may be wrong.
    """

    ends: Array
    outer: Array
    wide: Bools


def reaches(
    batch: Batch,
    c: Canonical,
    y: Array,
    directions: Array,
    solve: Solver,
    asked: Bools,
    *,
    sharp: bool = False,
) -> Reached:
    """Find the ends of linear forms (q, n) over the designs that are as good as ``y`` (N, n), at many points.

    ``c``: the arrays of these points of the batch. Where they are not ``asked`` for (N, q) they are those of ``y``.
    Where nothing is to be minimised, the form itself is, in place of a goal that is nudged. ``sharp``: as ends are
    told, else to SETTLED_WIDTH.
    """
    boxes = canon.form_box(dataclasses.replace(c, forms=directions), c.low, c.high)
    each = [
        partial(_least_of_form, batch, c, y, sign * d, solve, asked[:, k], sign * box[:, k], sharp=sharp)
        for k, d in enumerate(directions)
        for sign, box in zip((1.0, -1.0), boxes, strict=True)
    ]
    # what is found and what is proved, of each form and side
    found = np.array(side_by_side.run(each)).reshape(len(directions), 2, 2, len(y))
    ends, outer = np.moveaxis(found * np.array([1.0, -1.0])[:, None, None], (2, 1, 3, 0), (0, 1, 2, 3))
    return Reached(ends, outer)


def _least_of_form(
    batch: Batch,
    c: Canonical,
    y: Array,
    way: Array,
    solve: Solver,
    asked: Bools,
    floor: Array,
    *,
    sharp: bool,
) -> tuple[Array, Array]:
    """The least of a form (N,) over the designs that are as good as ``y``, and what is proved not to be above it.

    ``way`` (n,): the form, or its negative. ``floor`` (N,): what it is nowhere below.
    """
    there, outer, left = y.copy(), floor.copy(), np.flatnonzero(asked)
    closed = ~asked
    for nudge in NUDGES:
        if not left.size:
            break
        own, free = take(c, left), is_free(c)
        gap = RANGE / 10 if free else nudge * SETTLED_WIDTH / 10
        nudged = goal_times_powers(own, way * (1.0 if free else nudge))
        found = least_nudged(nudged, y[left], solve, gap, MOST_END_NODES if sharp else MOST_TIE_NODES)
        # of a design that is as good the goal is no more than that of y and a tie
        goal = 0.0 if free else canon.values(own, y[left])[:, 0] + TIE
        outer[left] = np.maximum(outer[left], (found.bound - goal) / (1.0 if free else nudge))
        good = as_good(own, y[left], found.y)
        there[left[good]], closed[left[good]] = found.y[good], found.status[good] == gp.OPTIMAL
        left = left[~good]
    table = Table(way[None], np.zeros((1, 1)), np.array([0, 1]))
    for i in np.flatnonzero(asked) if sharp else ():
        there[[i]] = to_the_end(batch, take(c, [i]), there[[i]], lambda _: [table], solve)
    ends = np.asarray(np.einsum("pi,i->p", there, way))
    return ends, np.where(closed, ends, np.minimum(outer, ends))


def ends_of(
    batch: Batch,
    c: Canonical,
    y: Array,
    solve: Solver,
    directions: Array,
    reached: Reached,
    loose: Bools,
) -> Ends:
    """How far all decided numbers reach where something is ``loose`` (N, q), of ``directions`` that are ``reached``."""
    tied = np.asarray(loose.any(1))
    ends, outer, wide = *np.full((2, 2, *y.shape), np.nan), np.zeros(y.shape, bool)
    alone = {int(np.flatnonzero(d)[0]): k for k, d in enumerate(directions) if np.count_nonzero(d) == 1}
    rest = [i for i in decided(batch) if i not in alone]
    for i, k in alone.items():
        ends[:, tied, i], outer[:, tied, i] = reached.ends[:, tied, k], reached.outer[:, tied, k]
        wide[:, i] = loose[:, k]
    if rest and tied.any():
        asked = np.repeat(tied[:, None], len(rest), axis=1)
        found = reaches(batch, c, y, np.eye(y.shape[1])[rest], solve, asked, sharp=True)
        ends[..., rest], outer[..., rest] = (
            np.where(tied[:, None], x, np.nan) for x in (found.ends, found.outer)
        )
        wide[:, rest] = found.ends[1] - found.ends[0] > SETTLED_WIDTH
    return Ends(ends, outer, wide)


def unsearched(batch: Batch, c: Canonical, tied: Bools) -> Ends:
    """The same where nobody has searched: no number is known to reach less far than its box."""
    nothing = np.full((2, *c.low.shape), np.nan)
    outer = nothing.copy()
    for i in decided(batch):
        outer[:, tied, i] = c.low[tied, i], c.high[tied, i]
    return Ends(nothing, outer, np.zeros(c.low.shape, bool))


def decided(batch: Batch) -> list[int]:
    """The variables that are somebody's decision."""
    return [i for i, v in enumerate(batch.problem.variables) if not v.auxiliary]


def to_the_end(batch: Batch, c: Canonical, y: Array, wanted: Stages, solve: Solver) -> Array:
    """Move a design ``y`` (1, n) to where what is ``wanted`` is least near by, of all that are as good.

    The whole numbers of ``y`` are held, and divisors are their tangents there, below them: each such program holds
    designs of the problem alone, and its optimal face is known exactly.
    """
    own, start = multipliers.held_whole(c, y), y
    none = np.zeros((0, y.shape[1]))
    for _ in range(TANGENTS if c.divisors else 1):
        a, b = canon.restriction(own, y)
        rows = dataclasses.replace(
            own, exponents=a.reshape(-1, a.shape[-1]), logc=b, divisors=(), forms=none, tighter=None
        )
        known, _ = multipliers.at(rows, y, solve)
        rule = optimal_face.stages(dataclasses.replace(batch, arrays=rows), wanted(y), solve)
        there = optimal_face.choose(rule, np.arange(1), dataclasses.replace(known, y=y)).y
        if not as_good(c, start, there)[0]:
            break
        moved, y = np.abs(there - y).max(), there
        if moved <= NO_STEP:
            break
    return y


def reach_of_all(batch: Batch, y: Array, solve: Solver) -> tuple[Array, Array]:
    """The ends (2, N, n) of each variable over all designs that meet the limits; NaN of one that has one value.

    Also the outer ends where these are not proved, NaN elsewhere. ``batch``: with nothing to minimise. ``y``: a design
    of each point.
    """
    own = np.eye(y.shape[1])
    found = reaches(batch, batch.arrays, y, own, solve, np.ones(y.shape, bool), sharp=True)
    alone = found.ends[1] - found.ends[0] <= RANGE
    return np.where(alone, np.nan, found.ends), beyond(found.outer, found.ends)


def beyond(outer: Array, ends: Array) -> Array:
    """Outer ends (2, N, n) that lie farther out than the ends by more than a search may be wrong; NaN elsewhere."""
    gaps = np.array([1.0, -1.0])[:, None, None] * (ends - outer)
    return np.where(gaps > SETTLED_WIDTH, outer, np.nan)


def least_nudged(
    c: Canonical, y: Array, solve: Solver, gap: float = TIED_GAP, most: int = MOST_TIE_NODES
) -> branch.Searched:
    """Search the least of nudged goals from designs ``y``, in so many nodes at ``most``."""
    return branch.search(c, solve, value_only=True, gap=gap, most=most, start=y, strictly=True)


def as_good(c: Canonical, y: Array, other: Array) -> Bools:
    """Whether other designs (N, n or more) lose no more against ``y`` than a tie may."""
    return np.asarray(canon.values(c, other[:, : y.shape[1]])[:, 0] - canon.values(c, y)[:, 0] <= TIE)


def is_free(c: Canonical) -> bool:
    """Whether nothing is to be minimised."""
    return not c.exponents[: c.ptr[1]].any() and all(d.row > 0 for d in c.divisors)


def goal_times_powers(c: Canonical, powers: Array) -> Canonical:
    """Return the same problem with its goal times powers of its first variables."""
    exponents = c.exponents.copy()
    exponents[: c.ptr[1], : powers.size] += powers
    tighter = None if c.tighter is None else goal_times_powers(c.tighter, powers)
    return dataclasses.replace(c, exponents=exponents, tighter=tighter)
