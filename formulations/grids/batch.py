"""Ratios of posynomials with numbers of their own at every point of a grid: one run of the model's arithmetic for all.

The exponents are the same at every point, the coefficients are arrays. What changes more than coefficients (a swept
exponent, a number that is 0 at some points only, a lower limit that says nothing at some) is kept apart: blocks are cut
there, so that a block has one structure. What divides by sums (average power) keeps its divisors; the rest are
geometric programs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations import canonical as canon
from formulations import handover
from formulations.arithmetics.posynomial import Posynomial
from formulations.canonical import Array, Canonical
from formulations.grids import over_grid
from formulations.grids.over_grid import Region, Spread
from formulations.problem import Goal, Kind, Problem, at_many, farther, formulate
from formulations.row_keys import RowKey
from scenarios.question import HALVINGS, Question
from scenarios.sweep.grids import Grid

Pair = tuple[Posynomial, Posynomial]
Maker = Callable[[Spread, Region], object]
MOST_FORMS = 2
"""Linear forms in the divisors: the search cuts along each of them, so that more are out of reach."""
ROWS_TRIED = 1000
"""Rows of an axis of them that are tried when its structure is looked at."""
FIRSTS_KEPT = 64
"""Stretches of a grid whose first point's problem is kept."""
NOT_ARRAYS = "the equations come out otherwise with many numbers at once"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of log-sum-exp terms: exponents (K, n), log coefficients (N, K), where each row begins (m + 2,)."""

    exponents: Array
    logc: Array
    ptr: NDArray[np.int64]

    @property
    def row(self) -> NDArray[np.int64]:
        """Row number of each term."""
        return np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr))

    def take(self, points: Any) -> Table:
        """Return the same rows for a choice of points."""
        return replace(self, logc=self.logc[points])


@dataclass(frozen=True, slots=True)
class Batch:
    """The programs of the N points of a block, in C order.

    ``question`` holds arrays; ``problem`` is that question in mathematics; ``arrays``: with coefficients (N, K) and
    boxes (N, n), of a discrete variable from its first to its last value.
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
    """Whether sums that something divides by, if any, depend on few variables, each by itself."""
    return len(c.forms) <= MOST_FORMS and bool(((c.forms != 0).sum(1) == 1).all())


def _of_numbers(question: Question) -> bool:
    """Whether a question has one objective and decides numbers, of which not several are all whole or from lists."""
    plain = all(d.choices is None and all(x > 0 for x in d.values or ()) for d in question.decide)
    gaps = sum(d.integer or d.values is not None for d in question.decide)
    plain = plain and (gaps <= 1 or gaps < len(question.decide))
    return bool(question.decide) and plain and len(question.objectives) == 1 and not question.model.black_box


def cases(problem: Problem) -> tuple[Problem, ...]:
    """Return the cases of a problem with maxima, any other problem as its only case."""
    return problem.cases or (problem,)


def apart(grid: Grid, maker: Maker | None = None, found: Spread | None = None) -> Spread:
    """Turn the axes of a grid into arrays; those along which the structure changes are kept apart.

    Whether it does is tried: a model may use a number as an exponent, or ask how large it is. ``maker``: what makes one
    problem of a piece, None where it cannot (default: ``batch``). ``found``: the grid's axes as arrays where known.
    """
    found = found or over_grid.spread(grid)
    alone = list(found.apart)
    start = tuple(0 for _ in alone)
    for i, axis in enumerate(grid.axes):
        if not alone[i]:
            others = tuple(k != i or aside for k, aside in enumerate(found.apart))
            along = _some_rows(found, i) if axis.columns else found
            along = replace(along, apart=others)
            every = along.stretches(i, slice(0, along.grid.shape[i]), whole=True)
            alone[i] = not all(_takes(along, start, i, run, maker or batch) for run in every)
    return replace(found, apart=tuple(alone))


def _some_rows(spread: Spread, i: int) -> Spread:
    """Return a spread with some rows of an axis, in order: of each structure the first one, and others in between."""
    one = tuple(slice(0, n if k == i else 1) for k, n in enumerate(spread.grid.shape))
    part, _ = spread.in_order(one)
    rows = part.grid.shape[i]
    firsts = [s.start for s in part.stretches(i, slice(0, rows), whole=True)]
    some = np.unique([*firsts, *np.linspace(0, rows - 1, min(rows, ROWS_TRIED)).astype(int)])
    return part.part([some if k == i else np.arange(n) for k, n in enumerate(part.grid.shape)])


def _takes(along: Spread, start: tuple[int, ...], i: int, run: slice, maker: Maker) -> bool:
    region = tuple(run if k == i else slice(s, s + 1) for k, s in enumerate(start))
    return made(maker, along, region) is not None


def made(maker: Maker, spread: Spread, region: Region) -> Any:
    """Run the model's arithmetic for a piece; None, with a reason, where that is not the same as for one point."""
    found, size = None, math.prod(over_grid.sides(region))
    with handover.guarded(NOT_ARRAYS, size, handover.ARITHMETIC):
        found = maker(spread, region)
        if found is None:
            handover.hand_over(NOT_ARRAYS, size)
    return found


def pieces(spread: Spread, region: Region, points: int) -> Iterator[Region]:
    """Cut a block of points into pieces of one structure, of at most so many ``points``."""
    runs = [
        [s] if alone else spread.stretches(i, s, whole=True)
        for i, (alone, s) in enumerate(zip(spread.apart, region, strict=True))
    ]
    for part in itertools.product(*runs):
        yield from spread.pieces(part, points)


def runs(spread: Spread, region: Region) -> Region:
    """Return the stretches of one structure that a piece lies in, along each axis of the whole grid."""
    whole = [
        [s] if alone else spread.stretches(i, slice(0, spread.grid.shape[i]), whole=True)
        for i, (alone, s) in enumerate(zip(spread.apart, region, strict=True))
    ]
    return tuple(
        next(run for run in found if run.start <= s.start < run.stop)
        for found, s in zip(whole, region, strict=True)
    )


def of_first(spread: Spread, region: Region, recognise: Callable[[Question], Any]) -> Any:
    """Return what ``recognise`` makes of the first point of the stretches that a piece lies in, made once for each."""
    at = tuple(s.start for s in runs(spread, region))
    if (recognise, at) not in spread.firsts:
        while len(spread.firsts) >= FIRSTS_KEPT:
            spread.firsts.pop(next(iter(spread.firsts)), None)
        spread.firsts[recognise, at] = recognise(spread.grid.question(at))
    return spread.firsts[recognise, at]


def batch(spread: Spread, region: Region) -> tuple[Batch, ...] | None:
    """Run the model's arithmetic once for a piece, for each case; None where that has another structure."""
    first = of_first(spread, region, structure)
    if first is None:
        return None
    return of_question(first, spread.question(region), over_grid.sides(region))


def of_question(
    first: Sequence[Problem], question: Question, shape: tuple[int, ...]
) -> tuple[Batch, ...] | None:
    """Run the model's arithmetic once for a question that holds arrays; a batch for each case.

    ``first``: the question at one point in mathematics, or its cases where maxima are held. None where the arithmetic
    comes out differently with arrays, or does not fit.
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
