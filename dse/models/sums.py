"""What the totals of a model are made of: declared beside the equations, so that pictures can take them apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a total: the product of inputs, machine parameters and metrics, by the names a scenario uses.

    A part of which a machine does not state a factor is nothing.
    """

    name: str
    factors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """A metric as the sum of its terms; ``by`` says what tells them apart, for models with several ways."""

    metric: str
    by: str
    terms: tuple[Term, ...]


def sum_of(metric: str, by: str, terms: dict[str, str]) -> Sum:
    """Declare a sum: for each part its factors, with spaces between them."""
    return Sum(metric, by, tuple(Term(name, tuple(factors.split())) for name, factors in terms.items()))
