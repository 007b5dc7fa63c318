"""Which argument of a maximum is the largest, as a whole-number choice within one program.

A maximum that something profits from is one of its arguments. Where few sets of choices are possible each is a
program of its own (``formulations.programs.program.branches``); where there are many, each argument k of a maximum t
gets a column z_k:

    t - a_k <= (t_most - a_k,least) (1 - z_k),    Σ_k z_k = 1
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from formulations.arithmetics import many
from formulations.arithmetics.affine import ONE
from formulations.arithmetics.forms import Affine, Largest, Maximum, number
from formulations.arithmetics.posynomial import NotPosynomial

WAYS, WAYS_SEARCHED = 256, 4
"""Sets of choices that are still tried one after another; fewer where whole numbers are searched for anyway."""
Span = Callable[[Affine], tuple[float, float]]


class NoEnd(NotPosynomial):
    """A maximum that must be one of its arguments has no end, so that no row can hold it there."""


def choices(maxima: Sequence[Maximum], *, searched: bool) -> Mapping[Maximum, tuple[Largest, ...]]:
    """Return the columns to add for each of these maxima; none where the sets of choices are few.

    ``searched``: whether a search over whole numbers chooses in any case.
    """
    if math.prod(len(a.arguments) for a in maxima) <= (WAYS_SEARCHED if searched else WAYS):
        return {}
    return {a: tuple(Largest(a, k) for k in range(len(a.arguments))) for a in maxima}


def rows(chosen: Mapping[Maximum, Sequence[Largest]], span: Span) -> Iterator[tuple[Affine, Affine, bool]]:
    """Go through the rows left <= right (True: left = right) that these columns mean; ``span``: ends of a form.

    Raises NoEnd.
    """
    for a, columns in chosen.items():
        own = Affine({a: 1.0})
        yield Affine(dict.fromkeys(columns, 1.0)), ONE, True
        most = span(own)[1]
        for z, argument in zip(columns, a.arguments, strict=True):
            slack = most - span(argument)[0]
            if not many.finite(slack):
                raise NoEnd("many maxima that something profits from, and of one no end is known")
            yield own.plus(argument, -1.0).plus(Affine({z: 1.0}), slack), number(slack), False
