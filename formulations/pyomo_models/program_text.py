"""A linear or mixed-integer program in words: its objective and limits as formulas, and how it is solved."""

from __future__ import annotations

import math

import numpy as np

from dse.system.arrays import Array
from formulations import evaluation
from formulations.arithmetics.forms import Affine, Atom, Differs, Entry, Largest, Maximum, Part
from formulations.problem import Kind
from formulations.programs.program import Program, branch_count
from formulations.pyomo_models.program_model import entry_name, is_ratio, labels
from formulations.row_keys import RowKey

MOST_ENTRIES = 12
"""Terms of a sum, and entries of a maximum, that are shown."""
FEW_ENTRIES = 4
WIDEST_LINE = 72
METHODS = {
    Kind.LP: ("simplex (HiGHS)", "optimal, bound from its multipliers by weak duality"),
    Kind.MILP: ("branch and bound on a linear program (HiGHS)", "optimal, bound of HiGHS' branch and bound"),
}
RATIO = (
    "Dinkelbach's iteration on numerator - λ denominator, each step by ",
    ", over the least denominator",
)


class Formulas:
    """Writes the forms of one program; maxima too long to stand inside are named, and told by ``where``.

    Of long sums and menus only the start is written, unless all is asked for (``full``).
    """

    def __init__(self, p: Program, *, full: bool = False) -> None:
        self.p = p
        self.most: int | None = None if full else MOST_ENTRIES
        self.entries: int | None = None if full else FEW_ENTRIES
        self.names = dict(zip(p.columns, labels(p), strict=True))
        self.used: list[Maximum] = []

    def objective(self) -> str:
        """The user's objective; empty without one."""
        p = self.p
        if p.goal is None or p.under is None:
            return ""
        return self._fraction(p.goal, p.under) if p.sign > 0 else self._fraction(p.under, p.goal)

    def limit(self, key: RowKey) -> str:
        """A limit as the program has it; empty where it has none of that name."""
        if key not in self.p.keys:
            return ""
        i = self.p.keys.index(key)
        above, below = self.p.numerators[i], self.p.denominators[i]
        low, high = evaluation.bounds(self.p.question).get(key.name, (None, None))
        bound = {"max": high, "min": low}.get(key.side)
        if bound is None or bound <= 0:
            return f"{self._fraction(above, below)} ≤ 1"
        if key.side == "max":
            return f"{self._fraction(above * bound, below)} ≤ {bound:.4g}"
        return f"{self._fraction(below, above / bound)} ≥ {bound:.4g}"

    def where(self) -> list[str]:
        """What the named maxima of all that was written so far are."""
        lines, written = [], 0
        while written < len(self.used):
            atom = self.used[written]
            written += 1
            lines.append(f"  {self.names[atom]} = max(")
            lines += [f"      {self._form(f)}," for f in atom.arguments[: self.most]]
            more = len(atom.arguments) - (self.most or len(atom.arguments))
            lines.append(f"      … {more} more)" if more > 0 else "  )")
        return lines

    def _fraction(self, above: Array, below: Array) -> str:
        if not below[:-1].any() and below[-1] != 0:
            return self._vector(above / below[-1])
        return f"{_bracketed(self._vector(above))} / {_bracketed(self._vector(below))}"

    def _vector(self, row: Array) -> str:
        terms = {self.p.columns[i]: float(row[i]) for i in np.flatnonzero(row[:-1])}
        return self._form(Affine(terms, float(row[-1])))

    def _form(self, form: Affine) -> str:
        pieces: list[tuple[float, str]] = []
        named: set[str] = set()
        for atom, c in form.terms.items():
            if isinstance(atom, Entry):
                if atom.name not in named:
                    named.add(atom.name)
                    pieces.append(self._menu(atom.name, form))
            else:
                pieces.append((c, self._atom(atom)))
        if form.constant != 0:
            pieces.append((form.constant, ""))
        return sum_text(pieces, self.most)

    def _menu(self, name: str, form: Affine) -> tuple[float, str]:
        """What a pick adds: a multiple of the picked value, or a number for each entry."""
        d = next(d for d in self.p.question.decide if d.name == name)
        values = d.values or ()
        added = [form.terms.get(Entry(name, k), 0.0) for k in range(len(values))]
        factor = added[-1] / values[-1] if values[-1] else 0.0
        if all(math.isclose(a, factor * v, rel_tol=1e-12) for a, v in zip(added, values, strict=True)):
            return factor, name
        shown = [f"{entry_name(self.p, Entry(name, k))} {a:.4g}" for k, a in enumerate(added[: self.entries])]
        more = f", … {len(added)} in all" if len(added) > len(shown) else ""
        return 1.0, f"[{name}: {', '.join(shown)}{more}]"

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, str):
            return atom
        if isinstance(atom, Entry):
            return f"[{self.names[atom]}]"
        if isinstance(atom, Differs):
            return f"[{atom.one} ≠ {atom.other}]"
        if isinstance(atom, Maximum):
            return self._maximum(atom)
        if isinstance(atom, Largest):
            return f"[{self.names[atom]}]"
        return (
            f"({self._form(atom.form)})" if isinstance(atom, Part) else f"[any of {self._form(atom.amount)}]"
        )

    def _maximum(self, atom: Maximum) -> str:
        if atom not in self.used:
            before = len(self.used)
            inside = f"max({', '.join(self._form(f) for f in atom.arguments)})"
            if len(inside) <= WIDEST_LINE:
                return inside
            # what its arguments name is named again where they are written out
            del self.used[before:]
            self.used.append(atom)
        return self.names[atom]


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text


def sum_text(pieces: list[tuple[float, str]], most: int | None = MOST_ENTRIES) -> str:
    """Write coefficients and what they stand before as a sum, of which at most so many terms are shown."""
    pieces = pieces or [(0.0, "")]
    shown = [_term_text(c, what) for c, what in pieces[:most]]
    text = shown[0] if pieces[0][0] >= 0 else f"-{shown[0]}"
    for (c, _), term in zip(pieces[1:most], shown[1:], strict=True):
        text += f" {'+' if c >= 0 else '-'} {term}"
    return f"{text} + … ({len(pieces)} terms)" if len(pieces) > len(shown) else text


def _term_text(c: float, what: str) -> str:
    if not what:
        return f"{abs(c):.4g}"
    return what if math.isclose(abs(c), 1.0) else f"{abs(c):.4g}·{what}"


def method(p: Program) -> tuple[str, str]:
    """Say how a program is solved and what proof to expect."""
    how, proof = METHODS[Kind.MILP if p.integer.any() else Kind.LP]
    if p.goal is None:
        return how, "feasible: a design that meets all limits; or a proof that there is none"
    if is_ratio(p):
        how, proof = f"{RATIO[0]}{how}", f"{proof}{RATIO[1]}"
    count = branch_count(p)
    if count > 1:
        how = f"{count} programs, one for each way of saying which terms are the largest, each by {how}"
        proof = f"{proof}; the least bound of all {count}"
    return how, proof
