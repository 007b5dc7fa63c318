"""What answering a point of a grid costs: seconds of one core, declared once and never read from a clock.

A way counts what it has to do at a point (terms of a program, designs of a table); ``work.csv`` holds the seconds that
one of each took when ``python -m benchmarks.kernels.declaring`` was last run. Chunks are cut by these numbers, so that
a grid is cut alike in every run and on every machine, and the time that a sweep may take is told from them. They are
right within a factor of a few; chunks, what is told, and which of two ways is less work depend on them, no answer does.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from formulations.problem import Kind, Problem, formulate
from formulations.programs.program import is_linear
from scenarios.question import Question, Search, combinations
from scenarios.sweep.grids import Grid
from scenarios.uncertainty.promises import promises

TABLE = "work.csv"
OTHER, MOST_DESIGNS = "alone other", 2e5
"""The row for questions that cannot be formulated with the numbers of their first point."""


@lru_cache(maxsize=1)
def declared() -> dict[str, float]:
    """Return the declared seconds of each kind of work, by name."""
    with Path(__file__).with_name(TABLE).open(encoding="utf-8") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return {row["work"]: float(row["seconds"]) for row in rows}


def seconds(name: str, units: float = 1.0) -> float:
    """Return the declared seconds of so many units of work; raises KeyError where there is no work of that name."""
    return declared()[name] * units


def total(units: Mapping[str, float]) -> float:
    """Return the declared seconds of so many units of each work."""
    return sum(seconds(name, count) for name, count in units.items())


def alone(question: Question) -> float:
    """Return the declared seconds of a question that is answered by itself, without what would change it next."""
    if question.search is not None or question.model.black_box:
        return seconds("alone trial", (question.search or Search()).trials if question.decide else 1)
    choices = math.prod(len(d.choices) for d in question.decide if d.choices is not None)
    _, asked = next(combinations(question))
    problem = _formulated(asked)
    if problem is None:
        return seconds(OTHER, choices)
    kind = _class(problem)
    each = seconds("alone design", _listed_designs(problem)) if kind == "list" else 0.0
    worlds = 0.0 if asked.uncertain is None else _worlds(asked)
    return seconds(f"alone {kind}", choices) + choices * (each + worlds)


def is_rough(question: Question) -> bool:
    """Tell whether what a question takes by itself may be a tenth of what is declared, or ten times that.

    So it is of one design for many worlds and of searches by boxes, whose number is seen only as they go.
    """
    if question.search is not None or question.model.black_box or not question.decide:
        return False
    _, asked = next(combinations(question))
    problem = None if asked.uncertain is not None else _formulated(asked)
    return problem is None or problem.kind in (Kind.NLP, Kind.MINLP)


def _worlds(question: Question) -> float:
    """Return what one design for many worlds takes more; what may fail, or is a quantile, has a search of its own."""
    goals = [question.measures.get(o.name, question.measure) for o in question.objectives[:1]]
    limited = [question.measures.get(x.name) for x in question.limits]
    quantiles = sum(m is not None and m.kind == "quantile" for m in (*goals, *limited))
    chances = len(promises(question)) + quantiles
    failing = chances * question.uncertainty.sampling.samples * is_linear(question)
    return seconds("alone worlds") + seconds("alone chance", chances) + seconds("alone failing", failing)


def _listed_designs(problem: Problem) -> float:
    """Return how many designs a list has; of more than are tried outright, intervals leave so many at most."""
    count = 1.0
    for v in problem.variables:
        values = v.decision.values
        count *= len(values) if values is not None else max(v.high - v.low + 1.0, 1.0)
    return min(count, MOST_DESIGNS)


def _class(problem: Problem) -> str:
    """Name the class of a problem, as far as that tells how long it takes."""
    whole = bool(problem.variables) and all(v.discrete for v in problem.variables)
    if problem.cases:
        return f"{problem.kind.value} with maxima"
    if whole and problem.rows is None and problem.program is None:
        return "list"
    if problem.rows is None and problem.program is None and is_linear(problem.question):
        return "boxes"
    mixed = problem.kind is Kind.MILP and not whole
    return f"mixed {problem.kind.value}" if mixed else problem.kind.value


def first_problem(grid: Grid) -> Problem | None:
    """Return the question at the first point in mathematics (of the first of its choices); None where it cannot be."""
    return _formulated(next(asked for _, asked in combinations(grid.first)))


def terms(problem: Problem | None) -> int:
    """Return how many terms objective and limits of a problem have; 1 where they have none."""
    if problem is None or problem.rows is None:
        return 1
    sums = [r.numerator for r in problem.rows] + (
        [problem.goal.numerator] if problem.goal is not None else []
    )
    return max(sum(len(s.terms) for s in sums), 1)


def metrics(question: Question) -> int:
    """Return how many numbers are computed of a design: metrics and the model's own limits."""
    return len(question.model.metrics) + len(question.model.limits)


def given_share(grid: Grid) -> float:
    """Return the share of points at which what is given differs: limits and bounds are only compared with."""
    given = {c.along for c in grid.changes if c.target.kind not in {"limit", "decide"}}
    return 1.0 / math.prod(n for i, n in enumerate(grid.shape) if i not in given)


def _formulated(question: Question) -> Problem | None:
    try:
        return formulate(question)
    except ArithmeticError:  # a number that is 0 or overflows: the point itself tells of it
        return None
