"""Where in a box of uncertain numbers a limit or an objective is worst: at which vertices, if that is proved.

With the uncertain numbers u as further unknowns, a metric is N(x, u)/D(x, u). Two facts, read off the exponents, hold
for every design x:

- the slope of log(N/D) in log u lies between (least exponent of u in N) − (greatest in D) and (greatest in N) −
  (least in D), since it is a difference of weighted means of exponents; a maximum's slope is that of one of its
  arguments, a pick's that of one of the entries of its list. Where this interval does not cross 0, the worst u is
  known: one end;
- in all other u together, log N is convex in log u, so is a maximum of convex functions or a pick of one, and so is
  log(N/D) if D depends on them through one factor u^e only. A convex function is largest at a vertex.

So the worst case is among the vertices with the first kind at their known end; where neither holds, nothing is proved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.system.records import dataclass
from formulations.arithmetics import maxima
from formulations.arithmetics.maxima import Pair, is_maximum
from formulations.arithmetics.posynomial import NotPosynomial, Posynomial, Ratio
from formulations.problem import symbolic
from formulations.row_keys import RowKey
from scenarios.question import Decision, Question

MOST_UNSIGNED = 12
"""Numbers without a proved sign up to which all their vertices are tried: 4096."""
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Worst:
    """Where one limit (``key``; None: the objective) is worst.

    ``signs``: of each uncertain number 1 or -1 where the worst end is proved, else 0. ``proved``: whether a vertex
    with these ends is worst whatever is decided.
    """

    key: RowKey | None
    signs: Mapping[str, int]
    proved: bool

    def vertices(self, names: Sequence[str]) -> Iterator[tuple[int, ...]]:
        """Go through the vertices among which the worst one is; 0 stands for the low end, 1 for the high one."""
        ends = [{1: (1,), -1: (0,), 0: (0, 1)}[self.signs[n]] for n in names]
        return itertools.product(*ends)


def worst(nominal: Question, names: Sequence[str]) -> list[Worst]:
    """Say of each limit and of the objective where they are worst over a box of these given numbers.

    Raises NotPosynomial where the model is not a ratio of posynomials in them.
    """
    rest = {n: v for n, v in nominal.given.items() if n not in names}
    unknown = tuple(Decision(n) for n in names)
    question = replace(nominal, given=rest, decide=(*nominal.decide, *unknown))
    with maxima.named(picks=True) as taken:
        goal, rows = symbolic(question)
    stated: list[tuple[RowKey | None, Pair]] = [(r.key, (r.numerator, r.denominator)) for r in rows]
    if goal is not None:
        stated.append((None, (goal.numerator, goal.denominator)))
    return [_monotone_ends(key, pair, names, taken.terms) for key, pair in stated]


def _monotone_ends(
    key: RowKey | None, pair: Pair, names: Sequence[str], terms: Mapping[str, tuple[Ratio, ...]]
) -> Worst:
    spans = {n: _log_slope_span(pair, n, terms) for n in names}
    signs = {n: 1 if low >= 0 else -1 if high <= 0 else 0 for n, (low, high) in spans.items()}
    loose = [n for n in names if not signs[n]]
    return Worst(key, signs, len(loose) <= MOST_UNSIGNED and _convex(pair, loose, terms))


def _log_slope_span(pair: Pair, name: str, terms: Mapping[str, tuple[Ratio, ...]]) -> Span:
    """Ends of the slope of log(N/D) in the logarithm of a number."""
    (low, high), (least, most) = (_exponents(p, name, terms) for p in pair)
    return low - most, high - least


def _exponents(p: Posynomial, name: str, terms: Mapping[str, tuple[Ratio, ...]]) -> Span:
    """Least and greatest power of a number in the terms of a sum, those inside maxima included."""
    ends = []
    for key in p.terms:
        low = high = 0.0
        for v, e in key:
            if v == name:
                low, high = low + e, high + e
            elif v in terms:
                inner = [_log_slope_span((a.numerator, a.denominator), name, terms) for a in terms[v]]
                sides = e * min(s[0] for s in inner), e * max(s[1] for s in inner)
                low, high = low + min(sides), high + max(sides)
        ends.append((low, high))
    # what is 0 in every world has no terms
    return min((e[0] for e in ends), default=0.0), max((e[1] for e in ends), default=0.0)


def _convex(pair: Pair, loose: Sequence[str], terms: Mapping[str, tuple[Ratio, ...]]) -> bool:
    """Whether log(N/D) is convex in the logarithms of some numbers together."""
    if not loose:
        return True
    top, bottom = pair
    for n in loose:
        low, high = _exponents(bottom, n, terms)
        if low != high:
            return False
    for key in top.terms:
        for v, e in key:
            if is_maximum(v) and any(_exponents(top, n, terms) != (0.0, 0.0) for n in loose):
                inner = ((a.numerator, a.denominator) for a in terms[v])
                if e < 0 or not all(_convex(argument, loose, terms) for argument in inner):
                    return False
    return True


def corners(found: Sequence[Worst], box: Mapping[str, Span]) -> dict[str, np.ndarray]:
    """Return the vertices that any of these can be worst at: of each number the values (N,).

    Raises NotPosynomial where there would be more than 2^MOST_UNSIGNED.
    """
    names = list(box)
    places: dict[tuple[int, ...], None] = {}
    for one in found:
        if sum(not s for s in one.signs.values()) > MOST_UNSIGNED:
            raise NotPosynomial(f"more than {MOST_UNSIGNED} uncertain numbers whose worse end is not proved")
        places.update(dict.fromkeys(one.vertices(names)))
    at = np.array(list(places), dtype=int).reshape(len(places), len(names))
    ends = np.array([box[n] for n in names])
    return {n: ends[k][at[:, k]] for k, n in enumerate(names)}
