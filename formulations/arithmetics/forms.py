"""Affine forms over atoms: what linear and mixed-integer programs are written in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dse.system.records import dataclass
from formulations.arithmetics import many


@dataclass(frozen=True, slots=True)
class Entry:
    """1 where the decided variable ``name`` has its allowed value number ``place`` (from 0), else 0."""

    name: str
    place: int


@dataclass(frozen=True, slots=True)
class Differs:
    """1 where two decided variables that pick from a menu do not pick the same, else 0."""

    one: str
    other: str


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """The largest of several affine forms."""

    arguments: tuple[Affine, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """1 where there is any of an amount, else 0; of one amount there is one, however often it is asked for."""

    amount: Affine

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Some) and self.amount.same_numbers(other.amount))

    def __hash__(self) -> int:
        return hash(frozenset(self.amount.terms))


@dataclass(frozen=True, slots=True, eq=False)
class Largest:
    """1 where a maximum is its argument number ``place`` (from 0); one of a maximum's is 1."""

    of: Maximum
    place: int


Atom = str | Entry | Differs | Maximum | Some | Largest


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """constant + sum of coefficient times atom."""

    terms: Mapping[Atom, float]
    constant: float = 0.0

    @property
    def is_constant(self) -> bool:
        """No atom at all."""
        return not self.terms

    def plus(self, other: Affine, factor: float = 1.0) -> Affine:
        """Return self + factor * other."""
        total = dict(self.terms)
        for atom, c in other.terms.items():
            total[atom] = total.get(atom, 0.0) + factor * c
        if 0.0 in total.values():
            total = {a: c for a, c in total.items() if c != 0.0}
        return Affine(total, self.constant + factor * other.constant)

    def times(self, factor: float) -> Affine:
        """Return factor * self."""
        if factor == 0.0:
            return Affine({})
        return Affine({a: c * factor for a, c in self.terms.items()}, self.constant * factor)

    def same_numbers(self, other: Affine) -> bool:
        """Whether all numbers are the same; those of many points only where they are the same arrays."""
        if self.terms.keys() != other.terms.keys():
            return False
        pairs = [(self.constant, other.constant), *((c, other.terms[a]) for a, c in self.terms.items())]
        return all(
            a is b or not (isinstance(a, many.Many) or isinstance(b, many.Many) or a != b) for a, b in pairs
        )

    def over(self, other: Affine) -> float | None:
        """Return the number that self is of other, where it is a multiple of it."""
        if self.terms.keys() != other.terms.keys():
            return None
        pairs = [(c, other.terms[a]) for a, c in self.terms.items()] + [(self.constant, other.constant)]
        kept = [(a, b) for a, b in pairs if a != 0.0 or b != 0.0]
        if not kept or any(b == 0.0 for _, b in kept):
            return None
        first = kept[0][0] / kept[0][1]
        return first if all(many.close(a, first * b, 1e-14) for a, b in kept) else None


def number(value: float) -> Affine:
    """A constant."""
    return Affine({}, many.number(value))


def atoms(forms: Iterable[Affine]) -> tuple[Atom, ...]:
    """Every atom in these forms and in what their atoms are made of, each once, inner ones first."""
    found: dict[Atom, None] = {}

    def visit(form: Affine) -> None:
        for atom in form.terms:
            if atom not in found:
                inner = atom.arguments if isinstance(atom, Maximum) else ()
                for each in (*inner, *((atom.amount,) if isinstance(atom, Some) else ())):
                    visit(each)
                found[atom] = None

    for form in forms:
        visit(form)
    return tuple(found)
