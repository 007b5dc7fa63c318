"""Rows of posynomials that are linear once they are multiplied by a variable."""

from __future__ import annotations

from formulations.arithmetics import posynomial
from formulations.arithmetics.posynomial import Posynomial


def linear_row(numerator: Posynomial, denominator: Posynomial) -> tuple[Posynomial, Posynomial]:
    """Return ``numerator <= denominator`` multiplied by one variable where that makes ``c/x <= d`` linear."""
    if set(denominator.terms) == {()} and numerator.is_monomial:
        ((key, c),) = numerator.terms.items()
        if len(key) == 1 and key[0][1] == -1.0:
            return posynomial.constant(c), Posynomial({((key[0][0], 1.0),): denominator.terms[()]})
    return numerator, denominator
