"""What stands beside the optima of a block of geometric programs: ranges, sensitivities, ends of domains, the proof."""

from __future__ import annotations

import json

import numpy as np

from formulations.arithmetics.many import Points
from formulations.grids.batch import Batch
from formulations.grids.divided import Indices, take
from results.dataset import STATUS_CODES
from results.solution import Status
from solvers.geometric import kinks
from solvers.geometric.points.geometric_answers import Answers, Bools
from solvers.geometric.programs.geometric_conflicts import Oracle
from solvers.geometric.programs.optimal_face import Solver
from solvers.geometric.structured import NO_DESIGN, PROOFS
from solvers.judgement import ends_that_hold
from solvers.many_points.block_answers import BlockAnswers
from solvers.mechanisms.conflicts import minimal_conflicts
from solvers.outcome import Conflicts

UNEXPLAINED = "an answer of which not everything is told for many points at once"
"""Why points are left over at full depth: of these a single answer tells more."""


def put(answers: BlockAnswers, points: Points, batch: Batch, a: Answers, solve: Solver) -> Bools:
    """Tell what stands beside the answers of some points; tells of which all of it is known."""
    if batch.discrete is not None:
        return np.zeros(a.status.size, bool)
    best: Bools = (a.status == STATUS_CODES[Status.OPTIMAL]) & a.plain
    if best.any():
        _put_optima(answers, points, batch, a, best)
    none = np.flatnonzero(a.status == STATUS_CODES[Status.INFEASIBLE])
    best[none] = _put_conflicts(answers, points[none], batch, none, a.names, solve)
    return best


def _put_conflicts(
    answers: BlockAnswers, points: Points, batch: Batch, own: Indices, names: tuple[str, ...], solve: Solver
) -> Bools:
    """Name every minimal conflict of some points; tells where all of them are known."""
    found = minimal_conflicts(own.size, len(names), Oracle(batch, own, names, solve).feasible, every=True)
    sets: list[list[tuple[str, ...]]] = [[] for _ in own]
    for owner, conflict in zip(found.owner, found.names(names), strict=True):
        sets[owner].append(conflict)
    answers.texts("conflicts", points, [json.dumps(some) for some in sets])
    proof = f"{NO_DESIGN}{PROOFS[batch.problem.kind]}; {Conflicts((names,), {}).certificate}"
    answers.texts("certificate", points, [proof] * own.size)
    known: Bools = found.every & found.sure
    return known


def _put_optima(answers: BlockAnswers, points: Points, batch: Batch, a: Answers, good: Bools) -> None:
    # the others stand for one that is good, whose numbers nobody reads
    some = np.where(good, np.arange(good.size), np.flatnonzero(good)[0])
    y, force = a.y[some], a.multipliers[some]
    at = kinks.at_rows(take(batch.arrays, some), y, force)
    worth = kinks.weighed(a.judged, [kinks.Attained(batch.problem, y, *at)])
    goal = {o.name for o in batch.question.objectives}
    ranges = {
        v.name: np.where(low < high, (low, high), np.nan)
        for v, low, high in zip(batch.problem.variables, *np.exp(a.ranges).swapaxes(1, 2), strict=True)
        # what is as small as can be has one value, whatever rounding leaves it
        if v.name not in goal
    }
    held = ends_that_hold(batch.question, a.judged.x)
    # what is not unique is not held, whatever is settled on
    open_ones = {n: np.isfinite(ends[0]) for n, ends in ranges.items()}
    alone = {n: np.where(open_ones.get(n, False), 0, a.judged.full(code)) for n, code in held.items()}
    answers.by_name("range_low", points, {n: ends[0] for n, ends in ranges.items()}, good)
    answers.by_name("range_high", points, {n: ends[1] for n, ends in ranges.items()}, good)
    answers.by_name("held", points, dict.fromkeys(a.judged.x, 0) | alone, good)
    rates = {n: np.where(np.isnan(rate), -1, worth.limits_apart[n]) for n, rate in worth.limits.items()}
    answers.by_name("elasticity_one_sided", points, rates, good)
    answers.by_name("sensitivity", points, worth.numbers, good)
    apart = {n: np.where(np.isnan(v), -1, worth.numbers_apart[n]) for n, v in worth.numbers.items()}
    answers.by_name("sensitivity_one_sided", points, apart, good)
    answers.texts("certificate", points[good], [PROOFS[batch.problem.kind]] * int(good.sum()))
