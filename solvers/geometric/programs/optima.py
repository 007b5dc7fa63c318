"""From optima that a search has found to the designs that are handed out: of one question, or of many points.

What was found is sharpened by Newton's method. Where a limit is set at the very least value that it can have, only the
designs that attain it are left. Among designs that are equally good the tie rule decides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE
from formulations.arithmetics.posynomial import constant
from formulations.grids.batch import Batch
from formulations.grids.divided import aimed, take
from formulations.problem import Goal, Problem, farther
from formulations.tolerances import SLACK
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.formulas import FEASIBLE
from solvers.geometric.programs import branch, multipliers, nudges, optimal_face, ties
from solvers.geometric.programs.optimal_face import Chosen, Solver, Stages
from solvers.geometric.programs.ties import Box

STRAINED = 1e3
INTERIOR_AT_LEAST = 1e-8
CASE_TIED = 4e-9
"""Of the objective: cases of a maximum that differ by no more are tied, each being within TIE of its own optimum."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What is handed out at N points: designs and ranges (``chosen``), and what the kernel says of the optima.

    ``crossed``: where it is settled which limits bind. ``pinned``: where a limit leaves only the designs that attain
    it; the bound of the goal is then ``chosen.first``.
    """

    chosen: Chosen
    known: gp.Result | None
    crossed: Bools
    pinned: Bools


def eased(problem: Problem) -> Problem:
    """The problem with the ends of the box that are only there to have a box far away, and the slack in its limits."""
    return dataclasses.replace(_with_slack(problem), variables=farther(problem.variables))


def granted(problem: Problem) -> Problem:
    """The problem with the slack in its limits, where all that is decided has gaps: then slack betters no other design.

    What can be divided goes by the limits as they stand as long as it can.
    """
    decided = {d.name for d in problem.question.decide}
    gaps = all(v.discrete for v in problem.variables if v.name in decided)
    return _with_slack(problem) if gaps else problem


def _with_slack(problem: Problem) -> Problem:
    more = constant(1.0 + SLACK)
    # what says which number a maximum is stays exact: slack there would come on top of the limits' own
    rows = tuple(
        r if r.key.side == SIDE else dataclasses.replace(r, denominator=r.denominator * more)
        for r in problem.rows or ()
    )
    return dataclasses.replace(problem, rows=rows)


def settled(
    batch: Batch,
    points: Indices,
    y: Array,
    solve: Solver,
    known: gp.Result | None = None,
    *,
    rule: Stages | None = None,
    sharp: bool = True,
    tied: bool = True,
    after: int | None = 0,
    strained: float = STRAINED,
    within: Box | None = None,
) -> Settled:
    """Settle which of the optimal designs of ``points`` are handed out, ``y`` being some of them.

    ``known``: what the kernel says of these optima. ``rule``: the tie rule, if it is at hand. ``sharp``: sharpen the
    designs, and ask the kernel where nothing is known of them. ``tied``: by the tie rule, otherwise it is any of them.
    ``after``: see ``optimal_face.choose``. ``strained``: multipliers from which a limit is taken to be at the least
    value that it can have. ``within``: ends (N, n) between which all designs lie that are as good, where that is
    known.
    """
    c, goal = take(batch.arrays, points), batch.problem.goal
    if sharp:
        y, known, crossed = multipliers.sharpened(c, y, solve, known)
    elif known is not None:
        known, crossed = multipliers.at(c, y, solve, known)
        y = known.y
    else:
        crossed = np.ones(len(y), bool)
    stages = ties.tie_goals(batch.problem, goal.name if goal else "")
    found = optimal_face.unmoved(y, len(stages))
    pinned = np.zeros(len(y), bool)
    if goal is not None and known is not None:
        pinned = _settled_at_pinned_limits(batch, goal, points, y, known, solve, found, strained)
    rest = np.flatnonzero(~pinned)
    if rest.size and tied:
        own = known if known is None or rest.size == len(y) else known.take(rest)
        ends = None if within is None else (within[0][rest], within[1][rest])
        chosen = ties.choose(
            batch, points[rest], y[rest], stages, solve, own, rule=rule, after=after, within=ends
        )
        found.put(rest, chosen)
    return Settled(found, known, crossed, pinned)


def _settled_at_pinned_limits(
    batch: Batch,
    goal: Goal,
    points: Indices,
    y: Array,
    known: gp.Result,
    solve: Solver,
    found: Chosen,
    strained: float,
) -> Bools:
    """A limit set at the very least value it can have leaves only the designs that attain it; tells where that is so.

    Its multiplier is then boundless, and the slack that feasibility is granted would show in the objective. So the
    limit's own metric is minimised first and the objective among the designs that attain it, exactly.
    """
    pinned = np.zeros(len(y), bool)
    for least, own, reached in _attained_limits(batch, points, known, solve, strained):
        stages = (goal, *ties.tie_goals(batch.problem, goal.name))
        c = take(least.arrays, points[own])
        at, first, _ = multipliers.sharpened(c, reached.y, solve, reached.alone)
        chosen = ties.choose(least, points[own], at, stages, solve, first, after=1)
        found.put(own, dataclasses.replace(chosen, floors=chosen.floors[:, 1:]))
        pinned[own] = True
    return pinned


def is_pinned(batch: Batch, points: Indices, y: Array, solve: Solver) -> bool:
    """Whether a limit at the very least value that it can have holds the designs ``y`` of all points."""
    known, _ = multipliers.at(take(batch.arrays, points), y, solve)
    held = sum(own.size for _, own, _ in _attained_limits(batch, points, known, solve, STRAINED))
    return held == points.size


def _attained_limits(
    batch: Batch, points: Indices, known: gp.Result, solve: Solver, strained: float
) -> Iterator[tuple[Batch, Indices, branch.Searched]]:
    """Go through the limits that leave only the designs which attain them: the batch that makes one least, where, and
    what was found there.
    """  # noqa: D205
    limits = np.array([key.side != SIDE for key in batch.keys], dtype=bool)
    force = np.where(limits, known.multipliers, 0.0)
    some = np.flatnonzero((force.max(1, initial=0.0) > strained) & (not batch.arrays.allowed))
    worst = force[some].argmax(1) if some.size else some
    for k in sorted(set(worst.tolist())):  # np.unique would load numpy.ma
        own = some[worst == k]
        least = dataclasses.replace(batch, arrays=aimed(batch.arrays, int(k)))
        c = take(least.arrays, points[own])
        reached = branch.search(c, solve, value_only=True, gap=nudges.TIED_GAP)
        f = canon.values(c, reached.y)
        there = (f[:, 0] >= -INTERIOR_AT_LEAST) & (f[:, 1:].max(1, initial=-np.inf) <= FEASIBLE)
        if there.any():
            yield least, own[there], reached.take(there)
