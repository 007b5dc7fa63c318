"""The columns and rows of a program: its atoms, with their ends and the rows that make each what it says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dse.models import arithmetic
from dse.system.arrays import Array
from formulations import evaluation
from formulations.arithmetics import largest, many
from formulations.arithmetics.affine import ONE, Linear
from formulations.arithmetics.between import between
from formulations.arithmetics.forms import (
    Affine,
    Atom,
    Differs,
    Entry,
    Maximum,
    Part,
    Some,
    atoms,
    inner,
    number,
)
from formulations.arithmetics.many import Many
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.programs.row_ends import upper_ends
from formulations.row_keys import RowKey
from scenarios.question import Decision, Question

BIG = 1e7
BOX, BOX_END = 1e12, 1e18
SPAN_ROUNDING = 1e-3
PART_ROUNDING = 1e-12
"""Of a whole: by so much rounding may take what is left of it below 0."""
"""How far beyond what a maximum can be its end is: much more than solvers take for rounding, which else call a maximum
that must be one of its terms infeasible."""
PRESOLVE_PASSES = 6


def column_ends(question: Question, d: Decision) -> tuple[float, float]:
    """The ends of a column; an end that only a search has, and that is too far to be of use, is none."""
    box = evaluation.box(question, d.name)
    if not box.searched[1]:
        return box.low, box.high
    return box.low, box.high if box.high <= min(BOX * question.reach, BOX_END) else math.inf


def matrix(forms: Sequence[Affine], place: Mapping[Any, int]) -> Array:
    """Return forms as rows over columns and a constant; of many points the first dimension is theirs."""
    last = len(place)
    numbers: list[tuple[int, int, Any]] = [
        (i, *pair)
        for i, f in enumerate(forms)
        for pair in (*((place[a], c) for a, c in f.terms.items()), (last, f.constant))
    ]
    points = np.broadcast_shapes(*{c.values.shape for _, _, c in numbers if isinstance(c, Many)})
    found = np.zeros((*points, len(forms), last + 1))
    if points:
        for i, column, c in numbers:
            found[..., i, column] = many.plain(c)
    elif numbers:
        rows, columns, plain = zip(*numbers, strict=True)
        found[rows, columns] = plain
    return found


class Rows:
    """The columns and rows of a question: limits, and what defines the atoms in them and in ``stated``.

    Fields are named as those of ``program.Program``; ``searched``: see ``program.program``.
    """

    def __init__(
        self,
        question: Question,
        x: Mapping[str, Linear],
        limits: Mapping[RowKey, Linear],
        stated: Sequence[Linear],
        *,
        searched: bool,
    ) -> None:
        self.question = question
        stated = [*limits.values(), *stated]
        forms = [f for r in stated for f in (r.numerator, r.denominator)]
        self.columns = atoms([*(v.numerator for v in x.values()), *forms])
        pulled = self._pulled(stated)
        held = [a for a in self.columns if isinstance(a, Maximum) and a in pulled]
        whole = any(d.integer or d.values is not None for d in question.decide)
        whole |= any(isinstance(a, Some) for a in self.columns)
        chosen = largest.choices(held, searched=searched and whole)
        self.columns += tuple(z for columns in chosen.values() for z in columns)
        self.place = {atom: i for i, atom in enumerate(self.columns)}
        self.rows: list[tuple[RowKey | None, Affine, Affine, bool]] = [
            (key, r.numerator, r.denominator, False) for key, r in limits.items()
        ]
        self._menus()
        self._bounds()
        self._define(pulled)
        self.rows += [(None, *row) for row in largest.rows(chosen, self._range)]
        self.exact = tuple(
            (self.place[a], matrix(list(a.arguments), self.place)) for a in held if a not in chosen
        )

    @property
    def ends(self) -> tuple[Array, Array]:
        """The ends of the columns."""
        return many.packed(self.low), many.packed(self.high)

    def sides(self) -> tuple[Array, Array]:
        """The numerators and denominators of the rows."""
        return matrix([r[1] for r in self.rows], self.place), matrix([r[2] for r in self.rows], self.place)

    def pair(self, ratio: Linear) -> tuple[Array, Array]:
        """Numerator and denominator of a ratio over the columns."""
        return self.vector(ratio.numerator), self.vector(ratio.denominator)

    def vector(self, form: Affine) -> Array:
        """A form over the columns."""
        return np.asarray(matrix([form], self.place)[..., 0, :])

    def _pulled(self, stated: Sequence[Linear]) -> set[Atom]:
        """The atoms that something profits from being larger than they have to be."""
        pulled: set[Atom] = set()
        seen: set[tuple[int, bool]] = set()
        open_forms = [(r.numerator, 1.0) for r in stated] + [(r.denominator, -1.0) for r in stated]
        while open_forms:
            form, sign = open_forms.pop()
            for atom, c in form.terms.items():
                if isinstance(atom, str | Entry):
                    continue
                up = sign * c < 0
                if up:
                    pulled.add(atom)
                if (id(atom), up) not in seen:
                    seen.add((id(atom), up))
                    open_forms += [(f, -1.0 if up else 1.0) for f in inner(atom)]
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
            elif isinstance(atom, Part):
                self.low[i], self.high[i] = self._range(atom.form)
                if self._is_left_over(atom.form):
                    self.low[i] = max(self.low[i], 0.0)

    def _is_left_over(self, form: Affine) -> bool:
        """Whether rules that nothing waives (shares come to one at most) keep a form from falling below 0."""
        always = self.question.model.always
        for key, above, below, _ in self.rows:
            if key is not None and key.name in always:
                left = below.plus(above, -1.0)
                used = [
                    c / form.terms[a]
                    for a, c in left.terms.items()
                    if c < 0.0 and form.terms.get(a, 0.0) < 0.0
                ]
                form = form.plus(left, -1.0 / min(used)) if used else form
        return bool(self._range(form)[0] >= -PART_ROUNDING)

    def _end(self, atom: Atom) -> tuple[float, float, bool]:
        if isinstance(atom, str):
            d = self.decided[atom]
            return *column_ends(self.question, d), d.integer
        if isinstance(atom, Maximum | Part):
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
            elif isinstance(atom, Part):
                self.rows.append((None, atom.form, Affine({atom: 1.0}), True))
            elif isinstance(atom, Differs):
                self.rows += [(None, *row, False) for row in self._difference(atom, atom in pulled)]
        amounts = [atom for atom in self.columns if isinstance(atom, Some)]
        self.amounts: list[tuple[int, int, float]] = []
        widest = self._own_ends() if amounts else []
        ends = self._implied(widest) if amounts else []
        self.open = False
        for atom in amounts:
            most, alone = (self._most(atom.amount, e) for e in (ends, widest))
            self.open |= not many.finite(alone)
            if not many.finite(most) and ends[self.place[atom]] < 1.0:
                # what a limit forbids altogether is as little as anything
                most = 1.0
            if many.finite(most) or self.question.reach == 1.0:
                self.amounts.append((len(self.rows), self.place[atom], min(alone, self._big)))
                self.rows.append((None, *self._there(atom, most), False))
            if atom in pulled:
                self.rows.append((None, *self._counted(atom), False))

    def _difference(self, atom: Differs, pulled: bool) -> Iterator[tuple[Affine, Affine]]:
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
            if pulled:
                yield own.plus(picks[0]).plus(picks[1]), number(2.0)

    @property
    def _big(self) -> float:
        return BIG * self.question.reach * max(evaluation.SEARCH_REACH, 1.0)

    def _there(self, atom: Some, most: Any) -> tuple[Affine, Affine]:
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

    def _own_ends(self) -> list[Any]:
        """Upper ends of all columns, those of a maximum from its arguments."""
        high = list(self.high)
        for i, atom in enumerate(self.columns):
            if isinstance(atom, Maximum):
                high[i] = many.largest(self._range(f)[1] for f in atom.arguments)
        return high

    def _implied(self, high: list[Any]) -> list[Any]:
        """Upper ends of all columns, with what the limits say of those that have none of their own."""
        rows = matrix([n.plus(d, -1.0) for _, n, d, _ in self.rows], self.place)
        low, upper = many.packed(self.low), many.packed(high)
        if not any(map(many.is_between, self.question.given.values())):
            ends = upper_ends(rows, low, upper, self.integer, passes=PRESOLVE_PASSES)
            return list(ends) if ends.ndim == 1 else [Many(e) for e in ends.T]
        # of numbers between two ends those that allow the most, and no end that only a search has
        count = len(rows) // 2
        searched = [isinstance(a, str) and evaluation.box(self.question, a).searched[1] for a in self.columns]
        upper = np.where(searched, math.inf, upper)
        low, upper = (np.broadcast_to(e, (2 * count, e.shape[-1])) for e in (low, upper))
        ends = upper_ends(rows[:count], low[:count], upper[count:], self.integer, passes=PRESOLVE_PASSES)
        return [between(e, e) for e in ends.T]

    def _most(self, form: Affine, high: Sequence[Any]) -> Any:
        """Upper bound of a form where the columns have these upper ends."""
        terms = [(c, self.place[a]) for a, c in form.terms.items()]
        return form.constant + sum(many.number(c * (high[i] if c > 0 else self.low[i])) for c, i in terms)
