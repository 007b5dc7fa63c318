"""Why structured problems, or one with cases, have no design: limits in conflict, and what each would have to give."""

from __future__ import annotations

from functools import partial

from formulations.grids import batch
from formulations.problem import Problem
from solvers import side_by_side
from solvers.geometric.programs import relaxed_limits
from solvers.geometric.programs.geometric_conflicts import limit_names, oracle
from solvers.mechanisms.conflicts import FEW_LIMITS, FEW_SEARCHED, ONE
from solvers.mechanisms.why import Why, any_of, of_each


def why(problem: Problem) -> Why:
    """What tells why a structured problem, or one with cases, has no design."""
    names, cases = limit_names(problem), problem.cases or (problem,)
    every = [batch.alone(case, None) for case in cases]
    few = FEW_SEARCHED if any(b.arrays.divisors or b.arrays.allowed for b in every) else FEW_LIMITS
    met = any_of([oracle(b, ONE, names, side_by_side.solve).feasible for b in every])
    ended = set[str]()
    values = of_each(partial(relaxed_limits.of_cases, problem, ended=ended))
    return Why(names, met, values, lambda _: problem.question, few, ended=lambda: frozenset(ended))
