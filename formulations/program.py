"""A question whose arithmetic is affine, as the numbers of a linear or mixed-integer program.

Every limit is a row ``numerator - denominator <= 0`` over columns: decided variables, entries of menus, and the
atoms (maxima, differences, indicators) that rows of their own define. A maximum is an epigraph where nothing
profits from a larger value of it; where something does, it is listed in ``exact``, and whoever solves the program
must let one of its arguments be the largest, in turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models import arithmetic
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics import largest, many
from formulations.arithmetics.affine import ONE, Linear, Product, linear, symbol
from formulations.arithmetics.forms import Affine, Atom, Differs, Entry, Maximum, Some, atoms, number
from formulations.arithmetics.many import Many
from formulations.arithmetics.posynomial import NotPosynomial, Posynomial
from formulations.row_ends import upper_ends
from formulations.row_keys import RowKey
from formulations.stated import Run, limits, run, stated
from scenarios.question import Decision, Question

Array = NDArray[np.float64]
BIG = 1e7
BOX, BOX_END = 1e12, 1e18
SPAN_ROUNDING = 1e-3
"""How far beyond what a maximum can be its end is: much more than solvers take for rounding, which else call a maximum
that must be one of its terms infeasible."""
PRESOLVE_PASSES = 6


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
    integer: NDArray[np.bool_]
    keys: tuple[RowKey | None, ...]
    numerators: Array
    denominators: Array
    equal: NDArray[np.bool_]
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
    def boxed(self) -> NDArray[np.bool_]:
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

    def design(self, u: Array) -> dict[str, float]:
        """The value of every decided variable at a point; whole numbers and menus exactly."""
        at = dict(zip(self.columns, u, strict=False))
        found = {}
        for d in self.question.decide:
            if d.values is not None:
                place = max(range(len(d.values)), key=lambda k: at[Entry(d.name, k)])
                found[d.name] = float(d.values[place])
            else:
                value = float(at[d.name])
                found[d.name] = float(round(value)) if d.integer else value
        return found


def program(question: Question, known: Run | None = None) -> Program:
    """Write a question as a program; raises NotPosynomial where its arithmetic is not affine.

    ``known``: what the model came to, where it has run already: only its ends are then made anew.
    Where what is given are numbers of many points (``formulations.arithmetics.many``), arrays whose numbers differ
    have one more dimension before the others, for the points.
    """
    made = known or run(question)
    s = stated(question, made)
    try:
        found = _Builder(question, s.x).build(s.limits, s.goal, s.sign, s.ties, s.others)
    except NotPosynomial:
        # a metric that only settles ties is no reason to have no answer
        found = _Builder(question, s.x).build(s.limits, s.goal, s.sign, {}, s.others)
    return replace(found, run=made)


def product(question: Question) -> Program | None:
    """The program of a question whose first objective is to make a product of two ratios least; None for others.

    The product is that of the program's goal and its only other one. The goal is the factor whose numerator is
    decided, where only one is. Raises NotPosynomial where a limit is not affine.
    """
    if not question.objectives or question.objectives[0].maximize:
        return None
    made = run(question)
    value = evaluation.objective(question, made.x, made.at)
    if not isinstance(value, Product):
        return None
    one, other = sorted(value.factors, key=lambda f: f.numerator.is_constant)
    return _Builder(question, made.x).build(limits(question, made), one, 1, {}, [(other, 1)])


def of_rows(
    question: Question,
    rows: Iterable[tuple[RowKey, Posynomial, Posynomial]],
    goal: tuple[Posynomial, Posynomial],
    sign: int,
) -> Program:
    """The program of affine rows ``numerator <= denominator`` and a goal; ends that only a search has are none."""
    x = {d.name: symbol(d) for d in question.decide}

    def form(p: Posynomial) -> Affine:
        return linear(p(**x)).numerator

    limits = {key: Linear(form(above), form(below)) for key, above, below in rows}
    found = _Builder(question, x).build(limits, Linear(*map(form, goal)), sign, {}, [])
    searched = [isinstance(a, str) and evaluation.box(question, a).searched[0] for a in found.columns]
    return replace(found, low=np.where(searched, 0.0, found.low), high=found.endless)


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


def column_ends(question: Question, d: Decision) -> tuple[float, float]:
    """The ends of a column; an end that only a search has, and that is too far to be of use, is none."""
    box = evaluation.box(question, d.name)
    if not box.searched[1]:
        return box.low, box.high
    return box.low, box.high if box.high <= min(BOX * question.reach, BOX_END) else math.inf


def matrix(forms: Sequence[Affine], place: Mapping[Any, int]) -> Array:
    """Return forms as rows over columns and a constant; of many points the first dimension is theirs."""
    last = len(place)
    numbers = [
        (i, *pair)
        for i, f in enumerate(forms)
        for pair in (*((place[a], c) for a, c in f.terms.items()), (last, f.constant))
    ]
    plain = [many.plain(c) if isinstance(c, Many) else c for _, _, c in numbers]
    points = np.broadcast_shapes(*{np.shape(c) for c in plain})
    found = np.zeros((*points, len(forms), last + 1))
    if points:
        for (i, column, _), c in zip(numbers, plain, strict=True):
            found[..., i, column] = c
    elif numbers:
        found[[n[0] for n in numbers], [n[1] for n in numbers]] = plain
    return found


def is_linear(question: Question) -> bool:
    """Whether a decided quantity may be 0 or picks from a menu, so that only this arithmetic has it."""
    quantities = [evaluation.quantity(question.model, d.name) for d in question.decide]
    return any(q.floor == 0.0 or q.menu for q in quantities)


class _Builder:
    """Numbers the atoms and collects the rows."""

    def __init__(self, question: Question, x: Mapping[str, Linear]) -> None:
        self.question, self.x = question, x

    def build(
        self,
        limits: Mapping[RowKey, Linear],
        goal: Linear | None,
        sign: int,
        ties: Mapping[str, Linear],
        others: list[tuple[Linear, int]],
    ) -> Program:
        stated = [*limits.values(), *([goal] if goal is not None else []), *ties.values()]
        stated += [g for g, _ in others]
        forms = [f for r in stated for f in (r.numerator, r.denominator)]
        self.columns = atoms([*(v.numerator for v in self.x.values()), *forms])
        pulled = self._pulled(stated)
        held = [a for a in self.columns if isinstance(a, Maximum) and a in pulled]
        chosen = largest.choices(held)
        self.columns += tuple(z for columns in chosen.values() for z in columns)
        self.place = {atom: i for i, atom in enumerate(self.columns)}
        self.rows: list[tuple[RowKey | None, Affine, Affine, bool]] = [
            (key, r.numerator, r.denominator, False) for key, r in limits.items()
        ]
        self._menus()
        self._bounds()
        self._define(pulled)
        self.rows += [(None, *row) for row in largest.rows(chosen, self._range)]
        exact = tuple((self.place[a], matrix(list(a.arguments), self.place)) for a in held if a not in chosen)
        return Program(
            self.question,
            self.columns,
            many.packed(self.low),
            many.packed(self.high),
            self.integer,
            tuple(r[0] for r in self.rows),
            matrix([r[1] for r in self.rows], self.place),
            matrix([r[2] for r in self.rows], self.place),
            np.array([r[3] for r in self.rows], dtype=bool),
            None if goal is None else self.vector(goal.numerator),
            None if goal is None else self.vector(goal.denominator),
            sign,
            exact,
            tuple((n, self.vector(r.numerator), self.vector(r.denominator)) for n, r in ties.items()),
            tuple((self.vector(g.numerator), self.vector(g.denominator), s) for g, s in others),
            tuple(self.amounts),
            self.open,
        )

    def vector(self, form: Affine) -> Array:
        found: Array = matrix([form], self.place)[..., 0, :]
        return found

    def _pulled(self, stated: list[Linear]) -> set[Atom]:
        """The atoms that something profits from being larger than they have to be."""
        pulled: set[Atom] = set()
        seen: set[tuple[int, bool]] = set()
        open_forms = [(r.numerator, 1.0) for r in stated] + [(r.denominator, -1.0) for r in stated]
        while open_forms:
            form, sign = open_forms.pop()
            for atom, c in form.terms.items():
                up = sign * c < 0
                if up:
                    pulled.add(atom)
                inner = (
                    atom.arguments
                    if isinstance(atom, Maximum)
                    else (atom.amount,)
                    if isinstance(atom, Some)
                    else ()
                )
                if inner and (id(atom), up) not in seen:
                    seen.add((id(atom), up))
                    open_forms += [(f, -1.0 if up else 1.0) for f in inner]
        return pulled

    def _menus(self) -> None:
        for d in self.question.decide:
            if d.values is not None:
                entries = Affine({Entry(d.name, k): 1.0 for k in range(len(d.values))})
                self.rows.append((None, entries, ONE, True))

    def _bounds(self) -> None:
        self.decided = {d.name: d for d in self.question.decide}
        ends = [self._end(atom) for atom in self.columns]
        self.low: list[Any] = [e[0] for e in ends]
        self.high: list[Any] = [e[1] for e in ends]
        self.integer = np.array([e[2] for e in ends], dtype=bool)
        for i, atom in enumerate(self.columns):
            if isinstance(atom, Maximum):
                spans = [self._range(f) for f in atom.arguments]
                self.low[i] = many.largest(e[0] for e in spans)
                # more, so that rounding forbids nothing
                self.high[i] = many.largest(e[1] for e in spans)
                self.high[i] = self.high[i] + SPAN_ROUNDING * many.largest(abs(e[1]) for e in spans)

    def _end(self, atom: Atom) -> tuple[float, float, bool]:
        if isinstance(atom, str):
            d = self.decided[atom]
            return *column_ends(self.question, d), d.integer
        if isinstance(atom, Maximum):
            return -math.inf, math.inf, False
        return 0.0, 1.0, not isinstance(atom, Differs)

    def _range(self, form: Affine) -> tuple[float, float]:
        low = high = form.constant
        for atom, c in form.terms.items():
            i = self.place[atom]
            ends = c * self.low[i], c * self.high[i]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _define(self, pulled: set[Atom]) -> None:
        """Rows that make every atom what it says; indicators last, since their rows need ends that others imply."""
        for atom in self.columns:
            if isinstance(atom, Maximum):
                own = Affine({atom: 1.0})
                self.rows += [(None, f, own, False) for f in atom.arguments]
            elif isinstance(atom, Differs):
                self.rows += [(None, left, right, False) for left, right in self._difference(atom)]
        amounts = [atom for atom in self.columns if isinstance(atom, Some)]
        self.amounts: list[tuple[int, int, float]] = []
        if amounts and any(isinstance(c, Many) for c in self._numbers()):
            raise NotPosynomial("whether there is any of an amount, at many points at once")
        widest, ends = (self._own_ends(), self._implied()) if amounts else (np.zeros(0), np.zeros(0))
        self.open = False
        for atom in amounts:
            most, alone = (self._most(atom.amount, e) for e in (ends, widest))
            self.open |= not math.isfinite(alone)
            if math.isfinite(most) or self.question.reach == 1.0:
                self.amounts.append((len(self.rows), self.place[atom], min(alone, self._big)))
                self.rows.append((None, *self._there(atom, most), False))
            if atom in pulled:
                self.rows.append((None, *self._counted(atom), False))

    def _difference(self, atom: Differs) -> Iterator[tuple[Affine, Affine]]:
        one, other = (
            {v: k for k, v in enumerate(self.decided[n].values or ())} for n in (atom.one, atom.other)
        )
        for value in dict.fromkeys((*one, *other)):
            picks = [
                Affine({Entry(n, places[value]): 1.0}) if value in places else number(0.0)
                for n, places in ((atom.one, one), (atom.other, other))
            ]
            own = Affine({atom: 1.0})
            yield picks[0], own.plus(picks[1])
            yield own.plus(picks[0]).plus(picks[1]), number(2.0)

    def _numbers(self) -> Iterator[Any]:
        """All numbers of the rows so far and of the ends of columns."""
        yield from (*self.low, *self.high)
        for _, left, right, _ in self.rows:
            yield from (*left.terms.values(), left.constant, *right.terms.values(), right.constant)

    @property
    def _big(self) -> float:
        return BIG * self.question.reach * max(evaluation.SEARCH_REACH, 1.0)

    def _there(self, atom: Some, most: float) -> tuple[Affine, Affine]:
        """The row that says that there is some of an amount, which is at most ``most``."""
        if not most <= self._big:
            text = "whether there is any of an amount without an upper limit: give each of its parts a max"
            raise NotPosynomial(text)
        return atom.amount, Affine({atom: most})

    def _counted(self, atom: Some) -> tuple[Affine, Affine]:
        """The row that says that there is some of an amount only where there is."""
        whole = all(self.integer[self.place[a]] and c >= 1 for a, c in atom.amount.terms.items())
        # of what can be divided, more than what counts as none
        least = 1.0 if whole and atom.amount.constant >= 0 else arithmetic.AMOUNT_ROUNDING * (1.0 + 1e-3)
        return Affine({atom: least}), atom.amount

    def _own_ends(self) -> Array:
        """Upper ends of all columns, those of a maximum from its arguments."""
        high = np.array(self.high)
        for i, atom in enumerate(self.columns):
            if isinstance(atom, Maximum):
                high[i] = max(self._range(f)[1] for f in atom.arguments)
        return high

    def _implied(self) -> Array:
        """Upper ends of all columns, with what the limits say of those that have none of their own."""
        rows = matrix([n.plus(d, -1.0) for _, n, d, _ in self.rows], self.place)
        return upper_ends(rows, np.array(self.low), self._own_ends(), self.integer, passes=PRESOLVE_PASSES)

    def _most(self, form: Affine, high: Array) -> float:
        """Upper bound of a form where the columns have these upper ends."""
        terms = [(c, self.place[a]) for a, c in form.terms.items()]
        return form.constant + sum(float(c * (high[i] if c > 0 else self.low[i])) for c, i in terms)
