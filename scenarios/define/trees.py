"""Expressions of definitions as trees; where a part stands in its text plays no role when two are compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from dse.models.described.fitted import Function
from dse.system.records import dataclass

LONGEST_QUOTED = 200
"""Characters of a name in backquotes."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A number with its unit ("" for none), as written; ``at``: where it begins."""

    number: str
    unit: str
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a quantity."""

    name: str
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Negative:
    """Minus an operand."""

    of: Expression
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Chain:
    """Operands with "+" and "-", or with "*" and "/", before them; the first has "+" or "*"."""

    parts: tuple[tuple[str, Expression], ...]
    places: tuple[int, ...] = field(compare=False)

    @property
    def at(self) -> int:
        """Where the first operator behind an operand stands."""
        return self.places[1]


@dataclass(frozen=True, slots=True)
class Power:
    """A base to an exponent."""

    base: Expression
    exponent: Expression
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of operands; ``fitted``: that of a fitted model, and how its operands are ``written``."""

    function: str
    of: tuple[Expression, ...]
    at: int = field(compare=False)
    fitted: Function | None = None
    written: tuple[str, ...] = field(default=(), compare=False)


Expression = Literal | Name | Negative | Chain | Power | Call


def names(tree: Expression) -> dict[str, int]:
    """Return the names that an expression uses, each with its first place, in the order in which they stand there."""
    found: dict[str, int] = {}
    for part in parts(tree):
        if isinstance(part, Name):
            found[part.name] = min(part.at, found.get(part.name, part.at))
    return dict(sorted(found.items(), key=lambda item: item[1]))


def fitted_calls(tree: Expression) -> list[Call]:
    """Return where an expression uses functions of fitted models, in the order in which they stand there."""
    found = [p for p in parts(tree) if isinstance(p, Call) and p.fitted is not None]
    return sorted(found, key=lambda call: call.at)


def parts(tree: Expression) -> Iterator[Expression]:
    """Go through an expression and all that it is made of."""
    open_ones: list[Expression] = [tree]
    while open_ones:
        part = open_ones.pop()
        yield part
        match part:
            case Negative(of, _):
                open_ones.append(of)
            case Chain(parts, _):
                open_ones += [x for _, x in parts]
            case Power(base, exponent, _):
                open_ones += [base, exponent]
            case Call(_, of, _):
                open_ones += of
