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


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """An affine form as one quantity, such as what is left of a whole: its factors are then factors of one number."""

    form: Affine

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Part) and self.form.same_numbers(other.form))

    def __hash__(self) -> int:
        return hash(frozenset(self.form.terms))


Atom = str | Entry | Differs | Maximum | Some | Largest | Part


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
        if any(many.is_zero(c) for c in total.values()):
            total = {a: c for a, c in total.items() if not many.is_zero(c)}
        return Affine(total, self.constant + factor * other.constant)

    def times(self, factor: float) -> Affine:
        """Return factor * self."""
        if factor == 0.0:
            return Affine({})
        if not isinstance(factor, many.Many) and factor == 1.0:
            return self
        if not many.is_between(factor):
            return Affine({a: c * factor for a, c in self.terms.items()}, self.constant * factor)
        form = self._as_one_part() if self._is_left_of_a_whole() else self
        # a plain 0 stays one
        constant = 0.0 if many.is_zero(form.constant) else form.constant * factor
        return Affine({a: c * factor for a, c in form.terms.items()}, constant)

    def _is_left_of_a_whole(self) -> bool:
        """Whether plain numbers take something off a constant: times what lies between ends that has no sign."""
        plain = all(isinstance(c, float) for c in (self.constant, *self.terms.values()))
        return plain and self.constant > 0.0 and any(c < 0.0 for c in self.terms.values())

    def _as_one_part(self) -> Affine:
        whole = self.constant
        return Affine({Part(Affine({a: c / whole for a, c in self.terms.items()}, 1.0)): whole})

    def same_numbers(self, other: Affine) -> bool:
        """Whether all numbers are the same; those of many points only where they are the same arrays."""
        if self.terms.keys() != other.terms.keys():
            return False
        pairs = [(self.constant, other.constant), *((c, other.terms[a]) for a, c in self.terms.items())]
        return all(_same_number(a, b) for a, b in pairs)

    def over(self, other: Affine) -> float | None:
        """Return the number that self is of other, where it is a multiple of it."""
        if self.terms.keys() != other.terms.keys():
            return None
        pairs = [(c, other.terms[a]) for a, c in self.terms.items()] + [(self.constant, other.constant)]
        same = all(_same_number(a, b) for a, b in pairs)
        kept = [(a, b) for a, b in pairs if not (many.is_zero(a) and many.is_zero(b))]
        if not kept or any(many.is_zero(b) for _, b in kept):
            return None
        first = 1.0 if same else kept[0][0] / kept[0][1]
        return first if all(many.close(a, first * b, 1e-14) for a, b in kept) else None


def _same_number(a: float, b: float) -> bool:
    return a is b or not (isinstance(a, many.Many) or isinstance(b, many.Many) or a != b)


def number(value: float) -> Affine:
    """A constant."""
    return Affine({}, many.number(value))


def inner(atom: Atom) -> tuple[Affine, ...]:
    """The forms that an atom is made of."""
    if isinstance(atom, Maximum):
        return atom.arguments
    return (atom.amount,) if isinstance(atom, Some) else (atom.form,) if isinstance(atom, Part) else ()


def atoms(forms: Iterable[Affine]) -> tuple[Atom, ...]:
    """Every atom in these forms and in what their atoms are made of, each once, inner ones first."""
    found: dict[Atom, None] = {}

    def visit(form: Affine) -> None:
        for atom in form.terms:
            if atom not in found:
                for each in inner(atom):
                    visit(each)
                found[atom] = None

    for form in forms:
        visit(form)
    return tuple(found)
