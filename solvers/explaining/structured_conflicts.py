"""Why a structured problem, or one with cases, has no design: limits in conflict, and what each would have to give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE
from formulations.canonical import Array
from formulations.problem import Goal, Problem
from formulations.row_keys import RowKey
from solvers import side_by_side
from solvers.explaining import conflicts
from solvers.explaining.conflicts import FEW, FEW_SEARCHED, Bools, Codes, Feasible, Indices, codes
from solvers.explaining.ties import coordinate
from solvers.explaining.why import Why, any_of, of_each
from solvers.geometric import branch


def why(problem: Problem) -> Why:
    """What tells why a structured problem, or one with cases, has no design."""
    names, cases = limit_names(problem), problem.cases or (problem,)
    arrays = [canon.canonical(case, None) for case in cases]
    few = FEW_SEARCHED if any(c.divisors or c.allowed for c in arrays) else FEW
    met = any_of([_oracle(case, names) for case in cases])
    values = of_each(partial(would_do, problem))
    return Why(names, met, values, lambda _: problem.question, few)


def limit_names(problem: Problem) -> tuple[str, ...]:
    """Names of all limits, in the order of the file; the integrality of a variable goes under its name."""
    rows = [r for case in problem.cases or (problem,) for r in case.rows or ()]
    named = [r.key.name for r in rows if r.key.side != SIDE]
    named += [v.name for v in problem.variables if v.discrete]
    return tuple(dict.fromkeys(named))


def _oracle(problem: Problem, names: tuple[str, ...]) -> Feasible:
    def one_by_one(points: Indices, kept: Bools) -> Codes:
        sets = [frozenset(n for n, k in zip(names, row, strict=True) if not k) for row in kept]
        arrays = [canon.canonical(problem, None, drop=left_out) for left_out in sets]
        found = side_by_side.run([partial(branch.minimise, c) for c in arrays])
        return codes(np.array([f.status for f in found]))

    def together(points: Indices, kept: Bools) -> Codes:
        whole = canon.canonical(problem, None, drop=frozenset(v.name for v in problem.variables))
        logc = np.broadcast_to(full.logc, (len(kept), full.logc.size)).copy()
        for k, key in enumerate(full.keys, start=1):
            if key.side != SIDE:
                logc[~kept[:, names.index(key.name)], full.ptr[k] : full.ptr[k + 1]] = -np.inf
        low, high = (np.broadcast_to(end, (len(kept), end.size)) for end in (whole.low, whole.high))
        return codes(side_by_side.solve(full.exponents, logc, full.ptr, low, high).status)

    full = canon.canonical(problem, None)
    return one_by_one if full.divisors or full.allowed else together


def would_do(problem: Problem, name: str) -> float | None:
    """The value of one limit at which, all else kept, designs exist; for a model's limit the factor it is missed by.

    None where another conflict remains. A variable's integrality is kept where that is possible.
    """
    cases = problem.cases or (problem,)
    if all(r.key.name != name for case in cases for r in case.rows or ()):
        arrays = [canon.canonical(case, coordinate(name, 1.0), drop=frozenset([name])) for case in cases]
        values = [f.value for f in side_by_side.run([partial(branch.minimise, c) for c in arrays])]
        return math.exp(min(values)) if math.isfinite(min(values)) else None
    keys = tuple(dict.fromkeys(r.key for case in cases for r in case.rows or ()))
    found = conflicts.values_that_would_do(
        problem.question, keys, [name], lambda k: _least_factor(cases, keys[k])
    )[name]
    return float(found[0]) if math.isfinite(found[0]) else None


def _least_factor(cases: Sequence[Problem], key: RowKey) -> Array:
    """The least ratio of one limit over all cases (see ``Factor``)."""
    parts = [case for case in cases if any(r.key == key for r in case.rows or ())]
    return np.exp([min(side_by_side.run([partial(_log_factor, case, key) for case in parts]))])


def _log_factor(problem: Problem, key: RowKey) -> float:
    row = next(r for r in problem.rows or () if r.key == key)
    others = [r for r in problem.rows or () if r.key.name == key.name and r is not row]
    goal = Goal(key.name, row.numerator, row.denominator)
    for relax in (False, True):
        c = canon.canonical(problem, goal, extra=others, drop=frozenset([key.name]), relax_sets=relax)
        found = branch.minimise(c)
        if found.y is not None:
            return found.value
    return math.inf
