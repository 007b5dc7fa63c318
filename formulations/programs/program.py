"""A question whose arithmetic is affine, as the numbers of a linear or mixed-integer program.

Every limit is a row ``numerator - denominator <= 0`` over columns: decided variables, entries of menus, and the
atoms (maxima, differences, indicators) that rows of their own define. A maximum is an epigraph where nothing
profits from a larger value of it; where something does, it is listed in ``exact``, and whoever solves the program
must let one of its arguments be the largest, in turn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.affine import NONE, ONE, Linear, Product, linear, symbol
from formulations.arithmetics.forms import Affine, Atom, Entry, Maximum
from formulations.arithmetics.largest import NoEnd
from formulations.arithmetics.many import Many
from formulations.arithmetics.posynomial import NotPosynomial, Posynomial
from formulations.programs.program_rows import Rows
from formulations.row_keys import RowKey
from scenarios.question import Question

LEVEL = "level"
"""The side of the row that says of a factor of a product that it is at most its level."""
NO_LEVELS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Stated:
    """A question in affine forms: decided variables, limits, what is minimised (and its sign), ties, other goals."""

    x: Mapping[str, Linear]
    limits: Mapping[RowKey, Linear]
    goal: Linear | None
    sign: int
    ties: Mapping[str, Linear]
    others: list[tuple[Linear, int]]


@dataclass(frozen=True, slots=True)
class Run:
    """What a model's equations come to in affine forms of what is decided, whatever the limits are."""

    x: Mapping[str, Linear]
    at: Mapping[str, Any]


def run(question: Question) -> Run:
    """Run the model on affine forms."""
    x = {d.name: symbol(d) for d in question.decide}
    return Run(x, evaluation.metrics(question, x))


_last: ContextVar[tuple[Question, Run] | None] = ContextVar("_last", default=None)


def run_again(question: Question) -> Run:
    """Run the model on affine forms, unless the question asked before differs in limits only."""
    before = _last.get()
    if before is not None and _is_run_alike(before[0], question):
        return before[1]
    made = run(question)
    _last.set((question, made))
    return made


def _is_run_alike(one: Question, other: Question) -> bool:
    decided = [[(d.name, d.values, d.base) for d in q.decide] for q in (one, other)]
    if one.model is not other.model or one.given.keys() != other.given.keys() or decided[0] != decided[1]:
        return False
    # numbers of many points are told apart by what they are, not by what they say
    pairs = ((value, other.given[name]) for name, value in one.given.items())
    return all(a is b or not (isinstance(a, Many) or isinstance(b, Many) or a != b) for a, b in pairs)


def stated(question: Question, known: Run | None = None, levels: Mapping[str, Any] = NO_LEVELS) -> Stated:
    """Read limits and objectives in affine forms; raises NotPosynomial where the arithmetic is not affine.

    ``known``: what ``run`` returned for the same given and decided quantities. ``levels``: see ``limits``.
    """
    made = known or run(question)
    x, at = made.x, made.at
    goals = [_minimised_form(question, x, at, i) for i in range(len(question.objectives))]
    goal, sign = goals.pop(0) if goals else (None, 1)
    every = {**x, **at}
    ties = {n: every[n] for n in question.tie_order if isinstance(every.get(n), Linear)}
    return Stated(x, limits(question, made, levels), goal, sign, ties, goals)


def limits(question: Question, made: Run, levels: Mapping[str, Any] = NO_LEVELS) -> dict[RowKey, Linear]:
    """Return the limits in affine forms; raises NotPosynomial.

    ``levels``: numbers t by the names of limits A B <= 1 on products. Such a limit becomes A t <= 1 and B <= t, which
    imply it, and which a design that keeps it meets where t is its B.
    """
    found = {}
    for key, value in evaluation.ratios(question, made.x, made.at).items():
        if key.name in levels and isinstance(value, Product):
            one, other, t = *_factors(value), levels[key.name]
            found[key] = Linear(one.numerator.times(t), one.denominator)
            found[RowKey(key.name, LEVEL)] = Linear(other.numerator, other.denominator.times(t))
        else:
            found[key] = _named(f"the limit {key.name} ({key.side})", value)
    return found


def _factors(value: Product, *, inverse: bool = False) -> list[Linear]:
    """The factors of a product, or of its ``inverse``; first the one whose numerator is decided, where only one is."""
    found = [Linear(f.denominator, f.numerator) if inverse else f for f in value.factors]
    return sorted(found, key=lambda f: f.numerator.is_constant)


def _minimised_form(
    question: Question, x: Mapping[str, Linear], at: Mapping[str, Any], which: int
) -> tuple[Linear, int]:
    """What of an objective is minimised, and its sign."""
    wanted = question.objectives[which]
    goal = _named(f"the objective {wanted.name}", evaluation.objective(question, x, at, which))
    # what is 0 at every design has no reciprocal, and nothing to be greatest
    nothing = goal.numerator.is_constant and goal.numerator.constant == 0.0
    return (Linear(goal.denominator, goal.numerator), -1) if wanted.maximize and not nothing else (goal, 1)


def _named(what: str, value: object) -> Linear:
    """Read a number of a question; a refusal says ``what`` it is."""
    if isinstance(value, float) and math.isinf(value):
        return Linear(ONE, NONE)
    try:
        return linear(value)
    except NotPosynomial as refusal:
        raise NotPosynomial(f"{what} holds {refusal}") from None


@dataclass(frozen=True, slots=True)
class Program:
    """Minimise (goal . u) / (under . u) where (numerators - denominators) . u <= 0, row by row.

    ``u`` ends with a constant 1. ``keys`` names the rows that are limits (None: rows that define atoms, of which
    ``equal`` hold with equality). ``low``, ``high``, ``integer``: the columns without the constant.
    ``exact``: a column and the arguments of which it must be one. ``sign`` is -1 where the user maximises: the
    ratio is then the reciprocal of the user's objective. ``ties``: the tie-breaking metrics as ratios. ``others``:
    the objectives beside ``goal``, in their order, each with its own goal, under and sign. ``amounts``: the rows
    that say of an amount whether there is any, with the column that says so and a bound of the amount that holds
    without any limit. ``open``: some amounts have no end at all, and nothing says of them that there is any: the
    program then only tells what is impossible. ``run``: what the model came to, from which it is written again.
    """

    question: Question
    columns: tuple[Atom, ...]
    low: Array
    high: Array
    integer: Bools
    keys: tuple[RowKey | None, ...]
    numerators: Array
    denominators: Array
    equal: Bools
    goal: Array | None
    under: Array | None
    sign: int
    exact: tuple[tuple[int, Array], ...]
    ties: tuple[tuple[str, Array, Array], ...]
    others: tuple[tuple[Array, Array, int], ...] = ()
    amounts: tuple[tuple[int, int, float], ...] = ()
    open: bool = False
    run: Run | None = None

    @property
    def rows(self) -> Array:
        """The rows as they stand: rows . u <= 0."""
        return self.numerators - self.denominators

    @property
    def endless(self) -> Array:
        """The upper ends of the columns without those that are only there to have one."""
        return np.where(self.boxed, np.inf, self.high)

    @property
    def boxed(self) -> Bools:
        """The columns whose upper end is only there to have one."""
        found = np.zeros(len(self.columns), dtype=bool)
        for i, atom in enumerate(self.columns):
            if isinstance(atom, str):
                found[i] = evaluation.box(self.question, atom).searched[1]
        return found

    def column(self, name: str) -> Array:
        """A decided variable as a row over the columns."""
        found = np.zeros(len(self.columns) + 1)
        d = next(d for d in self.question.decide if d.name == name)
        for atom, c in symbol(d).numerator.terms.items():
            found[self.columns.index(atom)] = c
        return found

    def divided_lows(self, names: Collection[str]) -> Array:
        """The lower ends of the columns where numbers of these names need not be whole."""
        free = {d.name: evaluation.divided_low(self.question, d) for d in self.question.decide}
        own = [free.get(str(c)) if c in names else None for c in self.columns]
        return np.array([end if f is None else f for f, end in zip(own, self.low, strict=True)])

    def design(self, u: Array) -> dict[str, float]:
        """The value of every decided variable at a point; whole numbers and menus exactly."""
        return {name: float(value) for name, value in self.designs(u).items()}

    def designs(self, u: Array) -> dict[str, Array]:
        """The values of every decided variable at points (..., columns + 1); whole numbers and menus exactly."""
        place, found = {c: i for i, c in enumerate(self.columns)}, {}
        for d in self.question.decide:
            if d.values is not None:
                entries = u[..., [place[Entry(d.name, k)] for k in range(len(d.values))]]
                found[d.name] = np.asarray(d.values, float)[entries.argmax(axis=-1)]
            else:
                value = u[..., place[d.name]]
                found[d.name] = np.round(value) if d.integer else value
        return found


def program(
    question: Question,
    known: Run | None = None,
    *,
    searched: bool = False,
    levels: Mapping[str, Any] = NO_LEVELS,
) -> Program:
    """Write a question as a program; raises NotPosynomial where its arithmetic is not affine.

    ``known``: what the model came to, where it has run already: only its ends are then made anew. ``searched``: for a
    search over whole numbers, which also chooses the largest of several terms; else few sets of such choices are left
    in ``exact``. ``levels``: see ``limits``. Where what is given are numbers of many points
    (``formulations.arithmetics.many``), arrays whose numbers differ have one more dimension first, for the points.
    """
    made = known or run(question)
    s = stated(question, made, levels)
    try:
        found = _built(question, s, searched=searched)
    except NotPosynomial:
        # a metric that only settles ties is no reason to have no answer
        found = _built(question, replace(s, ties={}), searched=searched)
    return replace(found, run=made)


def product(question: Question) -> Program | None:
    """The program of a question whose first objective is a product of two ratios; None for others.

    What is minimised is the product of the program's goal and its only other one: one over the objective where that is
    made greatest. The goal is the factor whose numerator is decided, where only one is. Raises NotPosynomial where a
    limit is not affine.
    """
    if not question.objectives:
        return None
    made = run(question)
    value = evaluation.objective(question, made.x, made.at)
    if not isinstance(value, Product):
        return None
    maximize = question.objectives[0].maximize
    (one, other), sign = _factors(value, inverse=maximize), -1 if maximize else 1
    return _built(question, Stated(made.x, limits(question, made), one, sign, {}, [(other, sign)]))


def of_products(question: Question) -> dict[str, Program]:
    """The programs of limits that are products of two ratios, by their names: both factors, within the other limits.

    Factors stand as in ``product``. Raises NotPosynomial where another limit, or the objective, is not affine.
    """
    made = run(question)
    values = {k: v for k, v in evaluation.ratios(question, made.x, made.at).items() if isinstance(v, Product)}
    s = stated(question, made, {key.name: 1.0 for key in values})
    rest = {key: row for key, row in s.limits.items() if key not in values and key.side != LEVEL}
    pairs = {key.name: _factors(value) for key, value in values.items()}
    return {
        n: _built(question, Stated(made.x, rest, one, 1, {}, [(other, 1)]))
        for n, (one, other) in pairs.items()
    }


def of_rows(
    question: Question,
    rows: Iterable[tuple[RowKey, Posynomial, Posynomial]],
    goal: tuple[Posynomial, Posynomial],
    sign: int,
    ties: Mapping[str, tuple[Posynomial, Posynomial]],
) -> Program:
    """The program of affine rows ``numerator <= denominator`` and a goal; ends that only a search has are none."""
    x = {d.name: symbol(d) for d in question.decide}

    def fraction(above: Posynomial, below: Posynomial) -> Linear:
        return Linear(*(linear(p(**x)).numerator for p in (above, below)))

    held = {key: fraction(above, below) for key, above, below in rows}
    settled = {name: fraction(*pair) for name, pair in ties.items()}
    found = _built(question, Stated(x, held, fraction(*goal), sign, settled, []))
    searched = [isinstance(a, str) and evaluation.box(question, a).searched[0] for a in found.columns]
    return replace(found, low=np.where(searched, 0.0, found.low), high=found.endless)


def of_limits(question: Question) -> Program:
    """The program of the limits alone, with nothing to minimise; raises NotPosynomial where one is not affine.

    What limits are measured by holds no maxima that they do not have themselves, but what is no smaller.
    """
    made, held = run_again(question), {}
    for key, r in limits(question, made).items():
        row = r.numerator.plus(r.denominator, -1.0)
        size = r.denominator
        if any(isinstance(a, Maximum) and a not in row.terms for a in size.terms):
            size = _at_most(size)
        held[key] = Linear(row.plus(size), size)
    return _built(question, Stated(made.x, held, None, 1, {}, []))


def _at_most(form: Affine) -> Affine:
    """A form without maxima that is no smaller, where nothing that is decided is below 0."""
    found = Affine({}, np.abs(form.constant))
    for atom, c in form.terms.items():
        parts = atom.arguments if isinstance(atom, Maximum) else ()
        for part in parts:
            found = found.plus(_at_most(part), np.abs(c))
        found = found if parts else found.plus(Affine({atom: np.abs(c)}))
    return found


def _built(question: Question, s: Stated, *, searched: bool = False) -> Program:
    """Put together what the rows of a question and its goals come to."""
    forms = [*([] if s.goal is None else [s.goal]), *s.ties.values(), *(g for g, _ in s.others)]
    try:
        rows = Rows(question, s.x, s.limits, forms, searched=searched)
    except NoEnd:
        if not searched:
            raise
        rows = Rows(question, s.x, s.limits, forms, searched=False)
    wanted, under = (None, None) if s.goal is None else rows.pair(s.goal)
    return Program(
        question,
        rows.columns,
        *rows.ends,
        rows.integer,
        tuple(r[0] for r in rows.rows),
        *rows.sides(),
        np.array([r[3] for r in rows.rows], dtype=bool),
        wanted,
        under,
        s.sign,
        rows.exact,
        tuple((n, *rows.pair(r)) for n, r in s.ties.items()),
        tuple((*rows.pair(g), sign) for g, sign in s.others),
        tuple(rows.amounts),
        rows.open,
    )


def linear_cost(goal: Array, under: Array, ratio: float = math.nan) -> Array:
    """What is linear and least where goal over under is, of one program or of many.

    The numerator, or minus the denominator where only that is decided; of a ratio of two that are decided the numerator
    less ``ratio`` times the denominator.
    """
    if not under[..., :-1].any():
        return np.asarray(goal / under[..., -1:])
    if not goal[..., :-1].any():
        return np.asarray(under / -goal[..., -1:])
    return goal - ratio * under


def is_ratio(goal: Array, under: Array) -> bool:
    """Whether both forms of a ratio are decided."""
    return bool(goal[..., :-1].any() and under[..., :-1].any())


def is_inverse(goal: Array, under: Array) -> bool:
    """Whether only what a ratio divides by is decided."""
    return bool(under[..., :-1].any() and not goal[..., :-1].any())


def is_linear(question: Question) -> bool:
    """Whether a decided quantity may be 0 or picks from a menu, so that only this arithmetic has it."""
    quantities = [evaluation.quantity(question.model, d.name) for d in question.decide]
    return any(q.floor == 0.0 or q.menu for q in quantities)


def branches(p: Program) -> Iterator[Array]:
    """Rows to add, one set for each way of choosing the largest argument of every exact maximum."""
    for choice in itertools.product(*(range(a.shape[-2]) for _, a in p.exact)):
        rows = [-arguments[..., k, :] for (_, arguments), k in zip(p.exact, choice, strict=True)]
        for row, (place, _) in zip(rows, p.exact, strict=True):
            row[..., place] += 1.0
        yield np.stack(np.broadcast_arrays(*rows), axis=-2) if rows else np.zeros((0, len(p.columns) + 1))


def branch_count(p: Program) -> int:
    """How many sets of rows ``branches`` yields."""
    return math.prod(a.shape[-2] for _, a in p.exact)
