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
from solvers.geometric.programs import attained, branch, multipliers, nudges, optimal_face, ties
from solvers.geometric.programs.optimal_face import Chosen, Solver, Stages
from solvers.geometric.programs.ties import Box

STRAINED = 1e3
INTERIOR_AT_LEAST = 1e-8
WORTH_OF_SLACK = 1e-5
"""In logs, of the objective: what the slack of a limit at the least value that it can have is worth at most, where a
search has found no design that is better than those which attain it."""
CASE_TIED = 4e-9
"""Of the objective: cases of a maximum that differ by no more are tied, each being within TIE of its own optimum."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What is handed out at N points: designs and ranges (``chosen``), and what the kernel says of the optima.

    ``crossed``: where it is settled which limits bind. ``pinned``: where a limit leaves only the designs that attain
    it; the goal has the ``bound`` there.
    """

    chosen: Chosen
    known: gp.Result | None
    crossed: Bools
    pinned: Bools
    bound: Array


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
    bound: Array | None = None,
) -> Settled:
    """Settle which of the optimal designs of ``points`` are handed out, ``y`` being some of them.

    ``known``: what the kernel says of these optima. ``rule``: the tie rule, if it is at hand. ``sharp``: sharpen the
    designs, and ask the kernel where nothing is known of them. ``tied``: by the tie rule, otherwise it is any of them.
    ``after``: see ``optimal_face.choose``. ``strained``: multipliers from which a limit is taken to be at the least
    value that it can have. ``within``: ends (N, n) between which all designs lie that are as good, where that is
    known. ``bound``: what is proved of the goal, of programs that are not convex.
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
    pinned, proved = np.zeros(len(y), bool), np.full(len(y), -np.inf)
    if goal is not None and known is not None:
        for some, best, least in _at_pinned_limits(batch, goal, points, known, solve, strained, bound):
            found.put(some, best)
            pinned[some], proved[some] = True, least
    rest = np.flatnonzero(~pinned)
    if rest.size and tied:
        own = known if known is None or rest.size == len(y) else known.take(rest)
        ends = None if within is None else (within[0][rest], within[1][rest])
        chosen = ties.choose(
            batch, points[rest], y[rest], stages, solve, own, rule=rule, after=after, within=ends
        )
        found.put(rest, chosen)
    return Settled(found, known, crossed, pinned, proved)


def _at_pinned_limits(
    batch: Batch,
    goal: Goal,
    points: Indices,
    known: gp.Result,
    solve: Solver,
    strained: float,
    bound: Array | None,
) -> Iterator[tuple[Indices, Chosen, Array]]:
    """A limit set at the very least value it can have leaves only the designs that attain it: where, and the best.

    Its multiplier is then boundless, and the slack that feasibility is granted would show in the objective. So the
    limit's own metric is minimised first and the objective among the designs that attain it, exactly: of a program that
    is not convex those near one of them, which stand for all as far as a ``bound`` of the goal leaves nothing better.
    """
    for least, own, reached in _attained_limits(batch, points, known, solve, strained):
        stages = (goal, *ties.tie_goals(batch.problem, goal.name))
        c = take(least.arrays, points[own])
        at, first, _ = multipliers.sharpened(c, reached.y, solve, reached.alone)
        chosen = ties.choose(least, points[own], at, stages, solve, first, after=1)
        chosen = dataclasses.replace(chosen, floors=chosen.floors[:, 1:])
        if bound is None or not batch.arrays.divisors:
            yield own, chosen, chosen.first
            continue
        wide = take(batch.arrays, points[own])
        value = canon.values(wide, chosen.y)[:, 0]
        proved = np.maximum(bound[own], attained.bound(wide, c, at, reached.low, reached.high, solve))
        near = value <= proved + WORTH_OF_SLACK
        yield own[near], chosen.take(near), proved[near]


def is_strained(batch: Batch, points: Indices, y: Array, solve: Solver) -> bool:
    """Whether a limit at designs ``y`` of all points has a boundless multiplier, as at the least value it can have."""
    known, _ = multipliers.at(take(batch.arrays, points), y, solve)
    return bool((_forces(batch, known).max(1, initial=0.0) > STRAINED).all())


def is_pinned(batch: Batch, points: Indices, y: Array, solve: Solver, bound: Array) -> bool:
    """Whether a limit at the very least value that it can have leaves all points designs that are the best.

    ``y``: a design of each; ``bound``: what is proved of the goal.
    """
    known, _ = multipliers.at(take(batch.arrays, points), y, solve)
    goal = batch.problem.goal
    assert goal is not None, "what has none needs no search to the end"
    found = _at_pinned_limits(batch, goal, points, known, solve, STRAINED, bound)
    return sum(own.size for own, *_ in found) == points.size


def _forces(batch: Batch, known: gp.Result) -> Array:
    """The multipliers of limits."""
    limits = np.array([key.side != SIDE for key in batch.keys], dtype=bool)
    return np.where(limits, known.multipliers, 0.0)


def _attained_limits(
    batch: Batch, points: Indices, known: gp.Result, solve: Solver, strained: float
) -> Iterator[tuple[Batch, Indices, branch.Searched]]:
    """Go through the limits that leave only the designs which attain them: the batch that makes one least, where, and
    what was found there.
    """  # noqa: D205
    force = _forces(batch, known)
    some = np.flatnonzero((force.max(1, initial=0.0) > strained) & (not batch.arrays.allowed))
    worst = force[some].argmax(1) if some.size else some
    for k in sorted(set(worst.tolist())):  # np.unique would load numpy.ma
        own = some[worst == k]
        least = dataclasses.replace(batch, arrays=aimed(batch.arrays, int(k)))
        c = take(least.arrays, points[own])
        # of what is not convex it matters where the others lie that attain it
        reached = branch.search(c, solve, value_only=not c.divisors, gap=nudges.TIED_GAP)
        f = canon.values(c, reached.y)
        there = (f[:, 0] >= -INTERIOR_AT_LEAST) & (f[:, 1:].max(1, initial=-np.inf) <= FEASIBLE)
        if there.any():
            yield least, own[there], reached.take(there)
