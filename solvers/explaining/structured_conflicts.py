"""Why structured problems, or one with cases, have no design: limits in conflict, and what each would have to give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from formulations.arithmetics.maxima import SIDE
from formulations.canonical import Array
from formulations.grids import batch, divided
from formulations.grids.batch import Batch
from formulations.problem import Problem
from formulations.tolerances import SLACK
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.programs import branch, relaxed_limits
from solvers.geometric.programs.geometric_conflicts import Oracle, limit_names
from solvers.geometric.programs.optimal_face import Solver
from solvers.mechanisms.conflicts import (
    FEW_LIMITS,
    FEW_SEARCHED,
    ONE,
    Codes,
    Feasible,
    codes,
    in_both,
)
from solvers.mechanisms.why import Why, any_of, of_each
from solvers.patterns import Bools, Indices, groups


def why(problem: Problem) -> Why:
    """What tells why a structured problem, or one with cases, has no design."""
    names, cases = limit_names(problem), problem.cases or (problem,)
    every = [batch.alone(case, None) for case in cases]
    few = FEW_SEARCHED if any(b.arrays.divisors or b.arrays.allowed for b in every) else FEW_LIMITS
    met = any_of([_oracle(b, ONE, names, side_by_side.solve) for b in every])
    ended = set[str]()
    values = of_each(partial(relaxed_limits.of_cases, problem, ended=ended))
    return Why(names, met, values, lambda _: problem.question, few, ended=lambda: frozenset(ended))


def of_points(b: Batch, points: Indices, solve: Solver) -> Why:
    """What tells why some points of a batch have no design."""
    names = limit_names(b.problem)

    def values(some: Indices, wanted: Sequence[str]) -> Mapping[str, Array]:
        return relaxed_limits.at(b, points[some], wanted, solve)

    met = _oracle(b, points, names, solve)
    return Why(names, met, values, lambda some: divided.at(b.question, points[some]), FEW_SEARCHED)


def hopeless(b: Batch, points: Indices, solve: Solver) -> Bools:
    """Whether limits conflict also with the slack that they are granted, and far out of the box."""
    names = limit_names(b.problem)
    every = np.ones(len(names), bool)
    return np.asarray(_met(b.farther(), points, names, solve, every, slack=SLACK) == gp.INFEASIBLE)


def _oracle(b: Batch, points: Indices, names: tuple[str, ...], solve: Solver) -> Feasible:
    if not b.arrays.divisors and len(b.arrays.allowed) <= 1:
        return Oracle(b, points, names, solve).feasible

    def searched(box: Batch, own: Indices, kept: Bools) -> Codes:
        sets, found = list(groups(kept)), np.zeros(len(kept), np.int8)
        asked = [partial(_met, box, points[own[which]], names, solve, kind) for which, kind in sets]
        for (which, _), status in zip(sets, side_by_side.run(asked), strict=True):
            found[which] = codes(status)
        return found

    return in_both(partial(searched, b), partial(searched, b.farther()))


def _met(
    b: Batch, points: Indices, names: tuple[str, ...], solve: Solver, kept: Bools, *, slack: float = 0.0
) -> Indices:
    """Whether the limits kept can hold together with some slack, whatever the objective and the user's bounds."""
    wanted = {n for n, k in zip(names, kept, strict=True) if k}
    c = divided.any_design(divided.take(b.arrays, points))
    c = divided.kept(c, [key.name in wanted or key.side == SIDE for key in c.keys])
    whole = {i: logs for i, logs in c.allowed.items() if c.names[i] in wanted}
    low, high = (end[points] for end in b.box(own=False))
    low[:, list(whole)], high[:, list(whole)] = c.low[:, list(whole)], c.high[:, list(whole)]
    c = divided.eased(c, np.log1p(slack)) if slack else c
    found = branch.search(replace(c, low=low, high=high, allowed=whole), solve, any_design=True)
    return np.asarray(found.status, np.intp)
