"""Rows that follow from others and make secants tighter: a sum that one row bounds gives way to its bound in another.

Least or greatest power is the example: what is drawn above the constant power, a sum over time, is at most the usable
power by one row, so the power itself is at most constant plus usable. Secants of the two rows do not see that,
and a search would cut all of a surface of equally good designs to pieces.

The rows hold wherever an unknown of a maximum is the maximum, so t and u are one here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from formulations.arithmetics.maxima import Pair, joined
from formulations.arithmetics.posynomial import Key, Posynomial, Ratio

CANCELLED = 1e-9
MOST_CUTS = 16
MOST_CUT_TERMS = 3


def cuts(goal: Pair, rows: Sequence[Pair], unknowns: Collection[str]) -> tuple[list[Pair], list[Pair]]:
    """Return what follows for the goal (each goal >= numerator/denominator) and as rows (numerator <= denominator).

    ``unknowns``: names of all unknowns of the problem.
    """
    known = [_joined_pair(pair, unknowns) for pair in rows]
    above = [top for top, bottom in known if bottom.is_monomial and len(top.terms) > 1]
    below = [(bottom, top) for top, bottom in known if top.is_monomial and len(bottom.terms) > 1]
    sums = [(a, Posynomial({(): 1.0})) for a in above]
    for_goal = _rows_put_to_bounds(_joined_pair(goal, unknowns), sums, below)
    for_rows = [cut for pair in known for cut in _rows_put_to_bounds(pair, sums, below)]
    return for_goal[:MOST_CUTS], for_rows[:MOST_CUTS]


def _joined_pair(pair: Pair, unknowns: Collection[str]) -> Pair:
    r = Ratio(*(joined(p, unknowns) for p in pair))
    return r.numerator, r.denominator


def _rows_put_to_bounds(pair: Pair, above: Sequence[Pair], below: Sequence[Pair]) -> list[Pair]:
    """A row with a sum in its divisor put up to its bound, or a sum in its numerator put down to its own."""
    top, bottom = pair
    found = []
    if len(bottom.terms) > 1:
        found += [(top, p) for group, bound in above if (p := _put(bottom, group, bound)) is not None]
    if len(top.terms) > 1:
        found += [(p, bottom) for group, bound in below if (p := _put(top, group, bound)) is not None]
    # a row that says 1 <= 1, or that needs secants of many sides, is no help
    return [
        cut
        for cut in found
        if len(cut[1].terms) <= MOST_CUT_TERMS and dict(cut[0].terms) != dict(cut[1].terms)
    ]


def _put(p: Posynomial, group: Posynomial, bound: Posynomial) -> Posynomial | None:
    """Return p with c * monomial * group replaced by c * monomial * bound, for the first monomial that fits."""
    first = next(iter(group.terms))
    for key in p.terms:
        factor = Posynomial({key: 1.0}) * Posynomial({first: 1.0}).power(-1.0)
        inside = (factor * group).terms
        if set(inside) <= set(p.terms):
            share = min(p.terms[k] / c for k, c in inside.items())
            rest = {k: c - share * inside.get(k, 0.0) for k, c in p.terms.items()}
            left: dict[Key, float] = {k: c for k, c in rest.items() if c > CANCELLED * p.terms[k]}
            scaled = Posynomial({k: c * share for k, c in (factor * bound).terms.items()})
            return Posynomial(left) + scaled
    return None
