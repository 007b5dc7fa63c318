"""Why there is no design: every minimal set of limits that cannot hold together, and what each would have to give."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from formulations import canonical as canon
from formulations.evaluation import RowKey
from formulations.maxima import SIDE
from formulations.problem import Goal, Problem
from scenarios.question import Question
from solvers import branch, gp
from solvers.outcome import Conflicts
from solvers.sensitivity import bound_of
from solvers.ties import coordinate

AT_ONCE = 8


def explain(problem: Problem) -> Conflicts:
    """Conflicts of a structured problem, or of one with cases, that has been proved infeasible."""
    names = limit_names(problem)
    minimal = minimal_sets(names, _any_case(problem, names))
    first = minimal[0] if minimal else ()
    return Conflicts(tuple(minimal), {n: would_do(problem, n) for n in first})


def limit_names(problem: Problem) -> tuple[str, ...]:
    """Names of all limits, in the order of the file; the integrality of a variable goes under its name."""
    rows = [r for case in problem.cases or (problem,) for r in case.rows or ()]
    named = [r.key.name for r in rows if r.key.side != SIDE]
    named += [v.name for v in problem.variables if v.discrete]
    return tuple(dict.fromkeys(named))


def minimal_sets(
    names: tuple[str, ...], feasible: Callable[[list[frozenset[str]]], list[bool]]
) -> list[tuple[str, ...]]:
    """All minimal infeasible subsets, smallest first; ``feasible`` answers for many subsets at once.

    Subsets of a feasible set are feasible and supersets of a conflict are infeasible, so few need asking.
    """
    nearly_all = [frozenset(names) - {n} for n in names]
    good = [s for s, ok in zip(nearly_all, feasible(nearly_all), strict=True) if ok]
    found: list[frozenset[str]] = []
    for size in range(len(names) + 1):
        open_sets = [
            s
            for s in map(frozenset, itertools.combinations(names, size))
            if not any(s <= g for g in good) and not any(f <= s for f in found)
        ]
        if open_sets:
            found += [s for s, ok in zip(open_sets, feasible(open_sets), strict=True) if not ok]
    return [tuple(n for n in names if n in s) for s in found]


def _any_case(problem: Problem, names: tuple[str, ...]) -> Callable[[list[frozenset[str]]], list[bool]]:
    """Limits can hold together where they can in one of the cases."""
    oracles = [_oracle(case, names) for case in problem.cases or (problem,)]

    def feasible(sets: list[frozenset[str]]) -> list[bool]:
        good: set[frozenset[str]] = set()
        for ask in oracles:
            left = [s for s in sets if s not in good]
            good |= {s for s, ok in zip(left, ask(left), strict=True) if ok} if left else set()
        return [s in good for s in sets]

    return feasible


def _oracle(problem: Problem, names: tuple[str, ...]) -> Callable[[list[frozenset[str]]], list[bool]]:
    def one_by_one(sets: list[frozenset[str]]) -> list[bool]:
        return [
            branch.minimise(canon.canonical(problem, None, drop=frozenset(names) - s)).status
            != branch.INFEASIBLE
            for s in sets
        ]

    def together(sets: list[frozenset[str]]) -> list[bool]:
        whole = canon.canonical(problem, None, drop=frozenset(v.name for v in problem.variables))
        full = canon.canonical(problem, None)
        logc = np.broadcast_to(full.logc, (len(sets), full.logc.size)).copy()
        for i, s in enumerate(sets):
            for k, key in enumerate(full.keys, start=1):
                if key.name not in s and key.side != SIDE:
                    logc[i, full.ptr[k] : full.ptr[k + 1]] = -np.inf
        boxes = (
            np.broadcast_to(whole.low, (len(sets), whole.low.size)),
            np.broadcast_to(whole.high, (len(sets), whole.high.size)),
        )
        r = gp.solve(full.exponents, logc, full.ptr, *boxes)
        return [bool(status != branch.INFEASIBLE) for status in r.status]

    c = canon.canonical(problem, None)
    plain = not c.divisors and not c.allowed and len(names) <= AT_ONCE
    return together if plain else one_by_one


def would_do(problem: Problem, name: str) -> float | None:
    """The value of one limit at which, all else kept, designs exist; for a model's limit the factor it is missed by.

    None where another conflict remains. A variable's integrality is kept where that is possible.
    """
    cases = problem.cases or (problem,)
    if all(r.key.name != name for case in cases for r in case.rows or ()):
        values = [
            branch.minimise(canon.canonical(case, coordinate(name, 1.0), drop=frozenset([name]))).value
            for case in cases
        ]
        return math.exp(min(values)) if math.isfinite(min(values)) else None
    factors = [factor for case in cases for factor in _factors(case, name)]
    if not factors:
        return None
    log_factor, key = min(factors)
    return _allowed(problem, key, _as_value(problem.question, key, log_factor))


def _factors(problem: Problem, name: str) -> list[tuple[float, RowKey]]:
    """The least (log) factor by which each of a name's limits would have to give, the other one kept."""
    rows = [r for r in problem.rows or () if r.key.name == name]
    factors = []
    for row in rows:
        others = [r for r in rows if r is not row]
        goal = Goal(name, row.numerator, row.denominator)
        for relax in (False, True):
            c = canon.canonical(problem, goal, extra=others, drop=frozenset([name]), relax_sets=relax)
            found = branch.minimise(c)
            if found.y is not None:
                factors.append((found.value, row.key))
                break
    return factors


def _allowed(problem: Problem, key: RowKey, value: float) -> float:
    """The nearest value on the generous side that a discrete variable may have."""
    v = next((v for v in problem.variables if v.name == key.name and v.discrete), None)
    if v is None:
        return value
    up = key.side == "max"
    if v.decision.values is None:
        return float(math.ceil(value * (1 - 1e-9)) if up else math.floor(value * (1 + 1e-9)))
    good = [x for x in v.decision.values if (x >= value * (1 - 1e-9) if up else x <= value * (1 + 1e-9))]
    return (min(good) if up else max(good)) if good else value


def _as_value(question: Question, key: RowKey, log_factor: float) -> float:
    """A (log) factor on a limit as the value the limit would need."""
    bound = bound_of(question, key)
    if bound is None:
        return math.exp(log_factor)
    toward = 1.0 if key.side == "max" else -1.0
    if key.name == "halvings":
        return bound + toward * log_factor / math.log(2.0)
    return bound * math.exp(toward * log_factor)
