"""Why a structured problem, or one with cases, has no design: limits in conflict, and what each would have to give."""

from __future__ import annotations

from functools import partial

import numpy as np

from formulations import canonical as canon
from formulations.grids import batch
from formulations.problem import Problem
from solvers import side_by_side
from solvers.geometric.programs import branch, geometric_conflicts, relaxed_limits
from solvers.geometric.programs.geometric_conflicts import limit_names
from solvers.mechanisms.conflicts import FEW_LIMITS, FEW_SEARCHED, ONE, Bools, Codes, Feasible, Indices, codes
from solvers.mechanisms.why import Why, any_of, of_each


def why(problem: Problem) -> Why:
    """What tells why a structured problem, or one with cases, has no design."""
    names, cases = limit_names(problem), problem.cases or (problem,)
    arrays = [canon.canonical(case, None) for case in cases]
    few = FEW_SEARCHED if any(c.divisors or c.allowed for c in arrays) else FEW_LIMITS
    met = any_of([_oracle(case, names) for case in cases])
    ended = set[str]()
    values = of_each(partial(relaxed_limits.of_cases, problem, ended=ended))
    return Why(names, met, values, lambda _: problem.question, few, ended=lambda: frozenset(ended))


def _oracle(problem: Problem, names: tuple[str, ...]) -> Feasible:
    made = batch.of_problem(problem, None)
    if made is not None and sum(v.discrete for v in problem.variables) <= 1:
        return geometric_conflicts.Oracle(made, ONE, names, side_by_side.solve).feasible

    def one_by_one(points: Indices, kept: Bools) -> Codes:
        sets = [frozenset(n for n, k in zip(names, row, strict=True) if not k) for row in kept]
        arrays = [canon.canonical(problem, None, drop=left_out) for left_out in sets]
        found = side_by_side.run([partial(branch.minimise, c) for c in arrays])
        return codes(np.array([f.status for f in found]))

    return one_by_one
