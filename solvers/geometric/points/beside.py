"""What stands beside the answers of a block: ranges, sensitivities, ends of domains, all conflicts, the proof."""

from __future__ import annotations

import json

import numpy as np

from dse.system.arrays import Bools, Points
from formulations.evaluation import told_range
from formulations.grids.batch import Batch
from formulations.grids.divided import take
from formulations.problem import Kind
from results.dataset import STATUS_CODES
from results.solution import Status
from solvers.geometric.explaining.geometric_conflicts import Oracle
from solvers.geometric.points.geometric_answers import NO_DESIGN, PROOFS, Answers, of_search
from solvers.geometric.programs import kinks
from solvers.geometric.programs.optimal_face import Solver
from solvers.judgement import ends_that_hold
from solvers.many_points.block_answers import BlockAnswers
from solvers.mechanisms.conflicts import minimal_conflicts
from solvers.outcome import Conflicts

UNEXPLAINED = "an answer of which not everything is told for many points at once"
"""Why points are left over at full depth: of these a single answer tells more."""


def put(answers: BlockAnswers, points: Points, batch: Batch, a: Answers, solve: Solver) -> Bools:
    """Tell what stands beside the answers of some geometric programs; tells of which all of it is known."""
    if batch.arrays.allowed:
        return np.zeros(a.status.size, bool)
    best: Bools = (a.status == STATUS_CODES[Status.OPTIMAL]) & a.plain & np.isnan(a.beyond).all((0, 2))
    _put_optima(answers, points, batch, a, best)
    none = np.flatnonzero(a.status == STATUS_CODES[Status.INFEASIBLE])
    best[none] = _put_conflicts(
        answers, points[none], batch.problem.kind, Oracle(batch, none, a.names, solve)
    )
    return best


def _put_conflicts(answers: BlockAnswers, points: Points, kind: Kind, ask: Oracle) -> Bools:
    """Name every minimal conflict of some points; tells where all of them are known."""
    found = minimal_conflicts(points.size, len(ask.names), ask.feasible, every=True, few=ask.few)
    sets: list[list[tuple[str, ...]]] = [[] for _ in points]
    for owner, conflict in zip(found.owner, found.names(ask.names), strict=True):
        sets[owner].append(conflict)
    answers.each("conflicts", points, [json.dumps(some) for some in sets])
    proof = f"{NO_DESIGN}{PROOFS[kind]}; {Conflicts((ask.names,), {}).certificate}"
    answers.each("certificate", points, [proof] * points.size)
    known: Bools = found.every & found.sure
    return known


def _put_optima(answers: BlockAnswers, points: Points, batch: Batch, a: Answers, good: Bools) -> None:
    """Tell what stands beside the optima of the points that are ``good``."""
    if not good.any():
        return
    # the others stand for one that is good, whose numbers nobody reads
    some, judged = np.where(good, np.arange(good.size), np.flatnonzero(good)[0]), a.judged
    at = kinks.at_rows(take(batch.arrays, some), a.y[some], a.multipliers[some])
    worth = kinks.weighed(judged, [kinks.Attained(batch.problem, a.y[some], *at)])
    goal = {o.name for o in batch.question.objectives}
    ranges = {
        v.name: np.where(low < high, told_range(batch.question, v.name, low, high), np.nan)
        for v, low, high in zip(batch.problem.variables, *np.exp(a.ranges).swapaxes(1, 2), strict=True)
        # what is as small as can be has one value, whatever rounding leaves it
        if v.name not in goal and not v.auxiliary
    }
    held = ends_that_hold(batch.question, judged.x)
    # what is not unique is not held, whatever is settled on
    open_ones = {n: np.isfinite(both[0]) for n, both in ranges.items()}
    alone = {n: np.where(open_ones.get(n, False), 0, judged.full(code)) for n, code in held.items()}
    answers.by_name("range_low", points, {n: both[0] for n, both in ranges.items()}, good)
    answers.by_name("range_high", points, {n: both[1] for n, both in ranges.items()}, good)
    answers.by_name("held", points, dict.fromkeys(judged.x, 0) | alone, good)
    rates = {n: np.where(np.isnan(rate), -1, worth.limits_apart[n]) for n, rate in worth.limits.items()}
    answers.by_name("elasticity_one_sided", points, rates, good)
    answers.by_name("sensitivity", points, worth.numbers, good)
    apart = {n: np.where(np.isnan(v), -1, worth.numbers_apart[n]) for n, v in worth.numbers.items()}
    answers.by_name("sensitivity_one_sided", points, apart, good)
    texts = [
        "; ".join(t for t in (of_search(PROOFS[batch.problem.kind], int(a.nodes[i])), worth.note(i)) if t)
        for i in np.flatnonzero(good).tolist()
    ]
    answers.each("certificate", points[good], texts)
