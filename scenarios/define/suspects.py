"""Parts of definitions that may leave them without a value: under a root or a logarithm, or a divisor."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping
from typing import Any

from dse.models.model import Model
from dse.system.records import dataclass
from scenarios.define.compiling import compiled, constant, plain_lift, size_of_terms
from scenarios.define.composed import DOMAIN_MARGIN, Definition, definitions_of
from scenarios.define.trees import Call, Chain, Expression, Literal, Power, parts
from scenarios.question import Question

NEXT_TO_POLE = 10.0 * DOMAIN_MARGIN
"""A part that is less than this share of its terms is next to 0: searches keep away by about ``DOMAIN_MARGIN``."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A part of a definition that may leave it without a value: under a root or logarithm, or a divisor.

    ``pole``: under a root or a logarithm, at 0 there is no value either.
    """

    definition: Definition
    tree: Expression
    divisor: bool = False
    pole: bool = False


def suspects_of(d: Definition) -> Iterator[Suspect]:
    """Go through the parts of a definition that may leave it without a value."""
    for part in parts(d.tree):
        match part:
            case Chain(inner, _):
                for sign, x in inner:
                    if sign == "/" and not isinstance(x, Literal):
                        yield Suspect(d, x, divisor=True)
            case Power(base, exponent, _):
                number = constant(exponent)
                if number is None or not number.is_integer():
                    yield Suspect(d, base, pole=number is None or number < 0)
                elif number < 0:
                    yield Suspect(d, Power(base, Literal(f"{-number:g}", "", 0), part.at), divisor=True)
            case Call("sqrt" | "log" | "log2" as function, (x,), _, None):
                yield Suspect(d, x, pole=function != "sqrt")


def beside_poles(model: Model, at: Mapping[str, Any]) -> Iterator[tuple[Suspect, Any]]:
    """Go through the parts that make a definition infinite where they are 0, with where they are next to that.

    ``at``: every number of the question and every metric, by name: of one design or of many.
    """
    for d in definitions_of(model):
        for s in suspects_of(d):
            if s.divisor or s.pole:
                yield s, functools.reduce(operator.or_, [_is_next_to_0(x, at) for x in _factors(s.tree)])


def held_by_pole(question: Question, at: Mapping[str, Any]) -> Any:
    """Tell where a design with a number that may be any is next to what makes a definition infinite; one or many."""
    import numpy as np

    found: Any = False
    if any(d.values is None and not d.integer and d.choices is None for d in question.decide):
        with np.errstate(all="ignore"):
            for _, near in beside_poles(question.model, at):
                found = found | near
    return found


def _is_next_to_0(tree: Expression, at: Mapping[str, Any]) -> Any:
    value = compiled(tree, plain_lift)(at)
    return abs(value) <= NEXT_TO_POLE * size_of_terms(tree, None, plain_lift)(at)


def _factors(tree: Expression) -> Iterator[Expression]:
    """Go through the sums that are multiplied or raised to a power: only what is left of terms is next to 0."""
    match tree:
        case Power(base, _, _):
            yield from _factors(base)
        case Chain(inner, _) if inner[0][0] != "+":
            for _, x in inner:
                yield from _factors(x)
        case Call("sqrt", (x,), _, None):
            yield from _factors(x)
        case _:
            yield tree
