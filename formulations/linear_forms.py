"""Linear and mixed-integer problems as affine expressions: rows, program, and how large a variable typically is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from formulations.arithmetics.posynomial import Posynomial, linear_row
from formulations.problem import Kind, Problem
from formulations.programs.program import Program, of_rows
from formulations.row_keys import RowKey

NO_TIES: Mapping[str, tuple[Posynomial, Posynomial]] = MappingProxyType({})


def linear_rows(problem: Problem) -> tuple[tuple[RowKey, Posynomial, Posynomial], ...]:
    """The rows of an LP or MILP as affine ``numerator <= denominator``."""
    assert problem.rows is not None, "only problems with structure have linear rows"
    return tuple((r.key, *linear_row(r.numerator, r.denominator)) for r in problem.rows)


def program_of(
    problem: Problem, ties: Mapping[str, tuple[Posynomial, Posynomial]] = NO_TIES
) -> Program | None:
    """The program of a problem that is linear, also of one of positive quantities; None of others.

    ``ties``: of positive quantities, what settles ties, as ratios of affine forms by name.
    """
    if problem.program is not None or problem.kind not in {Kind.LP, Kind.MILP}:
        return problem.program
    goal = problem.aim.numerator, problem.aim.denominator
    return of_rows(problem.question, linear_rows(problem), goal, problem.aim.sign, ties)


def typical_size(problem: Problem, name: str) -> float:
    """Estimate the typical size of a variable of an LP or MILP: its bounds' middle, or what limits make of it, or 1."""
    d = next(v.decision for v in problem.variables if v.name == name)
    ends = [e for e in (d.minimum, d.maximum) if e]
    if d.values is not None:
        ends += [v for v in d.values if v > 0]
    for _, numerator, denominator in linear_rows(problem):
        sides = (numerator.terms, denominator.terms)
        own = max((t.get(((name, 1.0),), 0.0) for t in sides), default=0.0)
        rest = max((t.get((), 0.0) for t in sides), default=0.0)
        if own > 0 and rest > 0:
            ends.append(rest / own)
    return math.exp(sum(math.log(e) for e in ends) / len(ends)) if ends else 1.0
