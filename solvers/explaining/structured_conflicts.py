"""Why a structured problem, or one with cases, has no design: limits in conflict, and what each would have to give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from formulations import canonical as canon
from formulations.canonical import Array
from formulations.grids import batch
from formulations.problem import Goal, Problem, farther
from formulations.row_keys import RowKey
from solvers import side_by_side
from solvers.geometric.programs import branch, geometric_conflicts
from solvers.geometric.programs.geometric_conflicts import limit_names
from solvers.geometric.programs.ties import coordinate
from solvers.geometric.programs.unbounded import at_open_ends
from solvers.mechanisms import conflicts
from solvers.mechanisms.conflicts import FEW_LIMITS, FEW_SEARCHED, ONE, Bools, Codes, Feasible, Indices, codes
from solvers.mechanisms.why import Why, any_of, of_each

NODES_TO_A_VALUE = 300
"""Nodes of a search for the feasible value: close to a border where designs degenerate, more settle nothing."""
NODES_TO_A_DESIGN = 3000
"""Nodes of such a search where it has not found any design before."""


def why(problem: Problem) -> Why:
    """What tells why a structured problem, or one with cases, has no design."""
    names, cases = limit_names(problem), problem.cases or (problem,)
    arrays = [canon.canonical(case, None) for case in cases]
    few = FEW_SEARCHED if any(c.divisors or c.allowed for c in arrays) else FEW_LIMITS
    met = any_of([_oracle(case, names) for case in cases])
    ended = set[str]()
    values = of_each(partial(structured_feasible_value, problem, ended=ended))
    return Why(names, met, values, lambda _: problem.question, few, ended=lambda: frozenset(ended))


def _far(problem: Problem) -> Problem:
    """Return the problem with the ends that are only there to have a box far away."""
    return replace(problem, variables=farther(problem.variables))


def _at_open_end(problem: Problem, c: canon.Canonical, y: Array) -> bool:
    """Whether an end that is only there to have a box may hold a design."""
    return bool(at_open_ends(problem.variables, (c.low[None], c.high[None]), y[None]).any())


def _oracle(problem: Problem, names: tuple[str, ...]) -> Feasible:
    made = batch.of_problem(problem, None)
    if made is not None and sum(v.discrete for v in problem.variables) <= 1:
        return geometric_conflicts.Oracle(made, ONE, names, side_by_side.solve).feasible

    def one_by_one(points: Indices, kept: Bools) -> Codes:
        sets = [frozenset(n for n, k in zip(names, row, strict=True) if not k) for row in kept]
        arrays = [canon.canonical(_far(problem), None, drop=left_out) for left_out in sets]
        found = side_by_side.run([partial(branch.minimise, c) for c in arrays])
        return codes(np.array([f.status for f in found]))

    return one_by_one


def structured_feasible_value(problem: Problem, name: str, *, ended: set[str] | None = None) -> float | None:
    """The value of one limit at which, all else kept, designs exist; for a model's limit the factor it is missed by.

    None where another conflict remains. A variable's integrality is kept where that is possible. Where the search ends
    before it has proved that nothing less is feasible, the name joins ``ended``.
    """
    ended = set() if ended is None else ended
    cases = problem.cases or (problem,)
    if all(r.key.name != name for case in cases for r in case.rows or ()):
        arrays = [
            canon.canonical(_far(case), coordinate(name, 1.0), drop=frozenset([name])) for case in cases
        ]
        searches = side_by_side.run([partial(branch.minimise, c) for c in arrays])
        ended |= {name} if any(f.status == branch.FAILED for f in searches) else set()
        values = [f.value for f in searches]
        return math.exp(min(values)) if math.isfinite(min(values)) else None
    keys = tuple(dict.fromkeys(r.key for case in cases for r in case.rows or ()))
    found = conflicts.feasible_values(
        problem.question, keys, [name], lambda k: _least_factor_of_cases(cases, keys[k], ended)
    )[name]
    return float(found[0]) if math.isfinite(found[0]) else None


def _least_factor_of_cases(cases: Sequence[Problem], key: RowKey, ended: set[str]) -> Array:
    """The least ratio of one limit over all cases (see ``Factor``)."""
    parts = [case for case in cases if any(r.key == key for r in case.rows or ())]
    return np.exp([min(side_by_side.run([partial(_log_factor, case, key, ended) for case in parts]))])


def _log_factor(problem: Problem, key: RowKey, ended: set[str]) -> float:
    row = next(r for r in problem.rows or () if r.key == key)
    others = [r for r in problem.rows or () if r.key.name == key.name and r is not row]
    goal = Goal(key.name, row.numerator, row.denominator)
    for relax, asked in ((False, problem), (False, _far(problem)), (True, problem), (True, _far(problem))):
        c = canon.canonical(asked, goal, extra=others, drop=frozenset([key.name]), relax_sets=relax)
        found = branch.minimise(c, most=NODES_TO_A_VALUE)
        if asked is problem and (found.y is None or _at_open_end(problem, c, found.y)):
            continue
        if found.status == branch.FAILED and found.y is None:
            found = branch.minimise(c, most=NODES_TO_A_DESIGN)
        if found.status == branch.FAILED:
            ended.add(key.name)
        if found.y is not None:
            return found.value
    return math.inf
