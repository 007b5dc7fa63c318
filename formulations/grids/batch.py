"""Ratios of posynomials with numbers of their own at every point of a grid: one run of the model's arithmetic for all.

The exponents are the same at every point, the coefficients are arrays. Points that differ in more than coefficients (a
swept exponent, a number that is 0 at some points only) are told apart as the model runs. What divides by sums (average
power) keeps its divisors; the rest are geometric programs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.system.arrays import Array, Integers
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations.arithmetics.posynomial import Posynomial
from formulations.canonical import Canonical
from formulations.grids.over_grid import Spread
from formulations.problem import Goal, Kind, Problem, at_many, farther, formulate
from formulations.row_keys import RowKey
from scenarios.question import HALVINGS, Question

Pair = tuple[Posynomial, Posynomial]
MOST_FORMS = 2
"""Linear forms in the divisors: the search cuts along each of them, so that more are out of reach."""
FIRSTS_KEPT = 64
"""Points of a grid whose problem is kept."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of log-sum-exp terms: exponents (K, n), log coefficients (N, K), where each row begins (m + 2,)."""

    exponents: Array
    logc: Array
    ptr: Integers

    @property
    def row(self) -> Integers:
        """Row number of each term."""
        return np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr))

    def take(self, points: Any) -> Table:
        """Return the same rows for a choice of points."""
        return replace(self, logc=self.logc[points])


@dataclass(frozen=True, slots=True)
class Batch:
    """The programs of the N points of a block, in C order.

    ``question`` has many numbers (``Many``); ``problem`` is that question in mathematics; ``arrays``: with coefficients
    (N, K) and boxes (N, n), of a discrete variable from its first to its last value.
    """

    question: Question
    problem: Problem
    shape: tuple[int, ...]
    arrays: Canonical

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    @property
    def table(self) -> Table:
        """Goal and rows."""
        return Table(self.arrays.exponents, self.arrays.logc, self.arrays.ptr)

    @property
    def keys(self) -> tuple[RowKey, ...]:
        """What the rows are called."""
        return self.arrays.keys

    @property
    def low(self) -> Array:
        """Lower ends of the logarithmic boxes (N, n)."""
        return self.arrays.low

    @property
    def high(self) -> Array:
        """Upper ends of the logarithmic boxes (N, n)."""
        return self.arrays.high

    def of(self, pairs: Sequence[Pair]) -> Table:
        """Return the table of further expressions, which must have monomial divisors."""
        return table(tuple(v.name for v in self.problem.variables), pairs, self.shape)

    def box(self, *, own: bool = True, far: bool = False) -> tuple[Array, Array]:
        """Logarithmic boxes: without the user's bounds unless ``own``; ``far``: ends that are only there to have a box
        far away.
        """  # noqa: D205
        dropped = frozenset() if own else frozenset(v.name for v in self.problem.variables)
        return canon.boxes(self.problem.variables, self.shape, drop=dropped, far=far)[:2]

    def farther(self) -> Batch:
        """Return the same programs with the ends that are only there to have a box where floats end."""
        problem = replace(self.problem, variables=farther(self.problem.variables))
        low, high, allowed = canon.boxes(problem.variables, self.shape)
        c = replace(self.arrays, low=low, high=high, allowed=allowed, tighter=None)
        return replace(self, problem=problem, arrays=c)


def structure(question: Question) -> tuple[Problem, ...] | None:
    """Return a question (of plain numbers) in mathematics if it is ratios of posynomials with an objective, else None.

    It is a geometric program, or divides by sums of few variables. Where maxima can be held in several ways, each of
    these cases is one. What decides whole numbers or listed values only is left to tables, but for one variable alone;
    beside sums none may be counted in halvings.
    """
    if not _of_numbers(question):
        return None
    found = cases(formulate(question))
    if any(p.rows is None or p.goal is None or not p.goal.numerator.terms for p in found):
        return None
    if not any(map(divides, found)):
        return found
    halved = question.objectives[0].name == HALVINGS.name or any(d.base is not None for d in question.decide)
    if halved or all(p.kind not in (Kind.NLP, Kind.MINLP) for p in found):
        return None
    return found if all(_in_reach(canon.canonical(p, p.goal)) for p in found) else None


def divides(problem: Problem) -> bool:
    """Whether the goal or a row of a problem divides by a sum."""
    stated = (*(problem.rows or ()), *((problem.goal,) if problem.goal else ()))
    return not all(s.denominator.is_monomial for s in stated)


def _in_reach(c: Canonical) -> bool:
    """Whether sums that something divides by, if any, depend on few variables or products of their powers."""
    return len(c.forms) <= MOST_FORMS


def _of_numbers(question: Question) -> bool:
    """Whether a question has one objective and decides numbers, of which not several are all whole or from lists."""
    plain = all(d.choices is None and all(x > 0 for x in d.values or ()) for d in question.decide)
    gaps = sum(d.integer or d.values is not None for d in question.decide)
    plain = plain and (gaps <= 1 or gaps < len(question.decide))
    return bool(question.decide) and plain and len(question.objectives) == 1 and not question.model.black_box


def cases(problem: Problem) -> tuple[Problem, ...]:
    """Return the cases of a problem with maxima, any other problem as its only case."""
    return problem.cases or (problem,)


def structure_at(spread: Spread, place: tuple[int, ...]) -> tuple[Problem, ...] | None:
    """Return the structure of the question at a point of a grid; of the first points asked for it is kept."""
    # several threads ask: nothing is taken out that another one is about to read
    found: tuple[Problem, ...] | None = spread.firsts.get(place)
    if found is None:
        found = structure(spread.grid.question(place))
        if len(spread.firsts) < FIRSTS_KEPT:
            spread.firsts[place] = found
    return found


def of_question(
    first: Sequence[Problem], question: Question, shape: tuple[int, ...]
) -> tuple[Batch, ...] | None:
    """Run the model's arithmetic once for a question of many points; a batch for each case.

    ``first``: the question at one point in mathematics, or its cases where maxima are held. None where the arithmetic
    comes out differently with many numbers, or does not fit. Raises Differ where the points have several structures.
    """
    problems = at_many(first, question)
    made = tuple(b for p in problems if (b := of_problem(p, p.goal, shape)) is not None)
    return made if made and len(made) == len(problems) else None


def of_problem(problem: Problem, goal: Goal | None, shape: tuple[int, ...] = ()) -> Batch | None:
    """Return a problem as arrays, for this goal or for any design (None); None where its divisors are out of reach.

    A problem of plain numbers, with no ``shape``, is a batch of one.
    """
    c = canon.canonical(problem, goal, shape=shape or (1,))
    return Batch(problem.question, problem, shape, c) if _in_reach(c) else None


def alone(problem: Problem, goal: Goal | None) -> Batch:
    """Return a problem of plain numbers as a batch of one; it may divide by sums."""
    return Batch(problem.question, problem, (), canon.canonical(problem, goal))


def table(names: tuple[str, ...], pairs: Sequence[Pair], shape: tuple[int, ...]) -> Table:
    """Write ratios of a posynomial and a monomial as rows of terms."""
    exponents, logc, ptr, sums = canon.tables(pairs, names, shape)
    assert not sums, "monomial divisors"
    return Table(exponents, logc, ptr)
