"""The answers of a block of geometric programs: status, design, bound and sensitivities of its limits, as arrays.

The kernel minimises, ``crossover`` tells what binds, ``optimal_face`` breaks ties, ``judgement`` evaluates the designs
and ``sensitivity`` has the elasticities of limits, as for a single question. What has a case of its own there (limits
without a common interior, an optimum on the edge of the search box, a limit about to bind) is left over, with the
reason.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE
from formulations.grids import divided
from formulations.grids.batch import Batch
from formulations.row_keys import RowKey
from results.dataset import STATUS_CODES
from results.solution import Status
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_terms import Array
from solvers.geometric.neighbours.neighbour_proofs import Found
from solvers.geometric.points import geometric_whole
from solvers.geometric.programs import geometric_conflicts, optimal_face, ties
from solvers.geometric.programs.crossover import crossover
from solvers.geometric.programs.optima import STRAINED
from solvers.geometric.programs.optimal_face import Solver, Stages, taken
from solvers.geometric.programs.unbounded import held_by_box, runaway
from solvers.judgement import Judged, judge
from solvers.mechanisms import sensitivity
from solvers.mechanisms.sensitivity import Duals, Optima

Bools = NDArray[np.bool_]
Reasons = NDArray[np.object_]

NOT_FINITE = "a coefficient that is not a finite number"
UNSOLVED = "the interior point ended without a proof"
CONFLICT = "a conflict that was not proved to be minimal, or that an end of the search box has part in"
NO_COMMON_INTERIOR = "limits without a common interior"
AT_EDGE = "an optimum held by an end of the search box"
IN_DOUBT = "limits of which it is not settled whether they bind"
TIED = "designs equally good between which the tie rule did not decide"
NOT_UNIQUE = "multipliers that are not unique"
OTHER_TIES = "a tie rule that asks for what is not a posynomial"
WHOLE = "whole numbers that one branching does not settle"
MISSED = "a design that misses a limit, or a gap that is not closed"


@dataclass(frozen=True, slots=True)
class Answers:
    """What is known of the N points of a block.

    ``status``: its code at each point, 0 where the point is left over. At points that are optimal: their designs as
    they are ``judged``, also ``y`` in logs (N, n), and ``multipliers`` (N, limits); ``elasticity``: of the user's
    limits the least of these where they are not unique. ``conflict``: (N, names) the limits of ``names`` that stand
    in the conflict of an infeasible point. ``ranges`` (2, N, n): ends in logs of what is not unique, NaN elsewhere.
    ``why``: for what reason a point is left over.
    """

    status: NDArray[np.int8]
    judged: Judged
    y: Array
    multipliers: Array
    elasticity: Array
    ranges: Array
    names: tuple[str, ...]
    conflict: Bools
    why: Reasons


def answered(
    batch: Batch,
    solve: Solver,
    *,
    why: bool = True,
    rule: Stages | None = None,
    near: Found | None = None,
    strained: float = STRAINED,
    ranged: bool = False,
) -> Answers | None:
    """Answer the points of a block; None where the tie rule asks for what is not geometric.

    ``why``: find out for points without a design which limits are in conflict. ``rule``: the tie rule, if it is at
    hand. ``near``: points that are settled already. ``strained``: points with larger multipliers are left over.
    ``ranged``: find out how far variables range that are not unique.
    """
    rule = rule or ties.of_batch(batch, solve)
    if rule is None:
        return None
    t, size = batch.table, batch.size
    status, why_left = np.zeros(size, np.int8), np.full(size, NOT_FINITE, object)
    y = np.full((size, t.exponents.shape[1]), np.nan)
    multipliers = np.zeros((size, len(batch.keys)))
    elasticity, value = multipliers.copy(), np.full(size, np.nan)
    ranges = np.full((2, *y.shape), np.nan)
    if near is not None:
        status[near.conflicting] = STATUS_CODES[Status.INFEASIBLE]
        status[near.best] = STATUS_CODES[Status.OPTIMAL]
        y[near.best], value[near.best], multipliers[near.best] = near.y, near.bound, near.multipliers
        elasticity[near.best] = near.multipliers
    points = np.flatnonzero(np.isfinite(t.logc).all(1) & (status == 0))
    r = solve(t.exponents, t.logc[points], t.ptr, batch.low[points], batch.high[points])
    why_left[points] = np.where(r.status == gp.INFEASIBLE, CONFLICT, UNSOLVED)
    best, regular = points[r.status == gp.OPTIMAL], taken(r, r.status == gp.OPTIMAL)
    names, conflict = _refuted(batch, points[r.status == gp.INFEASIBLE], solve, status, why=why)
    if near is not None:
        conflict[near.conflicting] = near.members
    if runaway(divided.take(batch.arrays, 0), batch.problem.variables):
        status[best] = STATUS_CODES[Status.UNBOUNDED]
    else:
        why_left[best] = _irregular(batch, best, regular, strained)
        good = why_left[best] == ""
        _put_settled_designs(
            rule,
            best[good],
            taken(regular, good),
            status,
            y,
            value,
            multipliers,
            elasticity,
            why_left,
            ranges if ranged else None,
        )
    return _checked(batch, status, y, value, multipliers, elasticity, ranges, names, conflict, why_left)


def _put_settled_designs(
    rule: Stages,
    best: NDArray[np.intp],
    regular: gp.Result,
    status: NDArray[np.int8],
    y: Array,
    value: Array,
    multipliers: Array,
    elasticity: Array,
    why: Reasons,
    ranges: Array | None,
) -> None:
    """Put designs by the tie rule, bounds and multipliers of the optima ``best`` into place, or why there are none."""
    batch = rule.batch
    if batch.discrete is not None:
        y[best], value[best], clear = geometric_whole.settled(rule, best, regular)
        why[best] = WHOLE
    else:
        regular, known = crossover(batch.table.take(best), batch.low[best], batch.high[best], regular)
        chosen = optimal_face.choose(rule, best, regular, after=None if ranges is None else 0)
        if ranges is not None:
            ranges[:, best] = chosen.low, chosen.high
        y[best], sure = chosen.y, chosen.sure
        multipliers[best], value[best] = regular.multipliers, regular.bound
        _, d = weighed(batch, best, y[best], regular.multipliers, asked(batch.keys))
        elasticity[best], clear = d.value, known & sure & d.known
        why[best] = np.select([~known, ~sure], [IN_DOUBT, TIED], NOT_UNIQUE)
    status[best[clear]] = STATUS_CODES[Status.OPTIMAL]


def _refuted(
    batch: Batch, points: NDArray[np.intp], solve: Solver, status: NDArray[np.int8], *, why: bool
) -> tuple[tuple[str, ...], Bools]:
    """Call points infeasible that are so with the slack limits are granted, and without the edges of the box."""
    if not why:
        status[points[geometric_conflicts.hold(batch, points, solve)]] = STATUS_CODES[Status.INFEASIBLE]
        return (), np.zeros((batch.size, 0), bool)
    names, members, found = geometric_conflicts.first_minimal(batch, points, solve)
    conflict = np.zeros((batch.size, len(names)), bool)
    status[points[found]] = STATUS_CODES[Status.INFEASIBLE]
    conflict[points[found]] = members[found]
    return names, conflict


def _irregular(batch: Batch, points: NDArray[np.intp], r: gp.Result, strained: float) -> Reasons:
    """Why optima need a case of their own; empty text where they do not."""
    why = np.full(points.size, "", object)
    box, pull = (batch.low[points], batch.high[points]), np.maximum(r.lower_multipliers, r.upper_multipliers)
    why[held_by_box(batch.problem.variables, box, r.y, pull).any(1)] = AT_EDGE
    why[r.penalised | (r.multipliers.max(1, initial=0.0) > strained)] = NO_COMMON_INTERIOR
    return why


def _checked(
    batch: Batch,
    status: NDArray[np.int8],
    y: Array,
    bound: Array,
    multipliers: Array,
    elasticity: Array,
    ranges: Array,
    names: tuple[str, ...],
    conflict: Bools,
    why: Reasons,
) -> Answers:
    """Re-evaluate the model at the designs and judge them by that alone."""
    goal, shape = batch.problem.goal, batch.shape
    assert goal is not None, "a batch has a goal"
    x = {
        v.name: canon.si_values(v, y[:, i]).reshape(shape)
        for i, v in enumerate(batch.problem.variables)
        if not v.auxiliary
    }
    judged = judge(batch.question, x, goal.to_user(bound).reshape(shape), shape)
    missed = (status == STATUS_CODES[Status.OPTIMAL]) & ~judged.good
    status[missed], why[missed] = 0, MISSED
    return Answers(status, judged, y, multipliers, elasticity, ranges, names, conflict, why)


def elasticities(batch: Batch, a: Answers) -> dict[str, Array]:
    """Elasticities of the user's limits, by their labels; whole numbers have no rate."""
    return {} if batch.discrete is not None else sensitivity.elasticities(a.judged, batch.keys, a.elasticity)


def weighed(
    batch: Batch, points: NDArray[np.intp], y: Array, multipliers: Array, wanted: Bools | None = None
) -> tuple[Optima, Duals]:
    """Between which ends the multipliers lie at ``points`` with optima ``y``: of all limits, or those ``wanted``."""
    t = batch.table.take(points)
    table, box = (t.exponents, t.logc, t.ptr), (batch.low[points], batch.high[points])
    o = sensitivity.optima(batch.keys, table, box, y, multipliers)
    return o, sensitivity.duals(o, wanted)


def asked(keys: tuple[RowKey, ...]) -> Bools:
    """Which limits are the user's."""
    return np.array([key.side not in ("model", SIDE) for key in keys], dtype=bool)
