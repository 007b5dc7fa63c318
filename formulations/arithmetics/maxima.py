"""The larger of several ratios of posynomials as further unknowns: exact rows for it, found from its own use.

``maximum(a, b)`` becomes an unknown t. Where something is helped by a smaller t (it stands in a numerator), the rows
a <= t and b <= t hold it up: an epigraph. Where something is helped by a larger t (least power = energy/time divides
by it), a second unknown u stands there, held down by one of the terms, u <= a or u <= b: each in turn, and
the best of these alternatives is the answer. Both are exact: a t too large and a u too small only ever harm, and at
t = u = the maximum the question stands as it was.

Which of the two stands where is read off the exponents, never declared.

A sum under a power that is not a whole number, (a + b)^0.5, becomes an unknown too: the largest of one term.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import reduce
from typing import Any

import numpy as np

from dse.system.records import dataclass
from formulations.arithmetics import posynomial
from formulations.arithmetics.posynomial import ONE, NotPosynomial, Posynomial, Ratio, ratio, symbol
from formulations.row_keys import RowKey
from scenarios.question import Decision

Pair = tuple[Posynomial, Posynomial]
Ends = Mapping[str, tuple[Any, Any]]
"""Least and greatest values by name: numbers, or arrays of them for many questions."""
Boxes = Callable[[str], tuple[Any, Any]]
"""Gives the ends of an unknown by its name."""

SIDE = "maximum"
DOWN, UP = "largest ", " from below"
MOST_ALTERNATIVES = 32
SMALLER = 1.0 - 1e-9
SCALE_MARGIN = 5.0
LARGEST_EXPONENT = 690.0


@dataclass(slots=True)
class Maxima:
    """The maxima that a model has taken, in the order taken: what each is the largest of, by its unknown's name."""

    terms: dict[str, tuple[Ratio, ...]] = field(default_factory=dict)
    taken: int = 0

    def larger(self, a: Ratio, *others: Ratio) -> Ratio:
        """Return the unknown that stands for the largest of some, or for one alone."""
        self.taken += 1
        if not others:
            return self._named((a,))
        several = [t for x in (a, *others) for t in self._flat(x) if t.numerator.terms]
        if len(several) < 2:
            return several[0] if several else ratio(0.0)
        return self._named(several)

    def picked(self, entries: Sequence[Ratio]) -> Ratio:
        """Return the unknown that stands for one of some: that is what its slopes and its shape are, too."""
        some = [e for e in entries if e.numerator.terms]
        self.taken += bool(some)
        return self._named(some) if some else ratio(0.0)

    def _named(self, terms: Iterable[Ratio]) -> Ratio:
        name = f"{DOWN}{self.taken}"
        self.terms[name] = tuple(terms)
        return symbol(name)

    def _flat(self, a: Ratio) -> tuple[Ratio, ...]:
        """The terms of what is itself a maximum, or a positive multiple of one."""
        if not (a.numerator.is_monomial and a.denominator.same_as(ONE)):
            return (a,)
        ((key, c),) = a.numerator.terms.items()
        inner = [v for v, e in key if v in self.terms and e == 1.0]
        if len(inner) != 1:
            return (a,)
        factor = Ratio(Posynomial({tuple(part for part in key if part[0] != inner[0]): c}))
        return tuple(factor * term for term in self.terms[inner[0]])

    def over(self, name: str) -> dict[RowKey, Pair]:
        """The rows a_i <= t."""
        t = symbol(name).numerator
        return {
            RowKey(f"{name} reaches its term {i}", SIDE): _epigraph_row(a.numerator, a.denominator, t)
            for i, a in enumerate(self.terms[name])
        }

    def under(self, name: str, i: int) -> tuple[RowKey, Pair]:
        """The row u <= a_i."""
        a, u = self.terms[name][i], symbol(name + UP).numerator
        top, bottom = split((a.denominator, a.numerator))
        return RowKey(f"{name} is within its term {i}", SIDE), _as_pair(u * top, bottom)

    def rows(self) -> dict[RowKey, Pair]:
        """Every row that any alternative may hold."""
        found: dict[RowKey, Pair] = {}
        for name, terms in self.terms.items():
            found |= self.over(name)
            found |= dict(self.under(name, i) for i in range(len(terms)))
        return found

    def candidates(self, name: str) -> list[int]:
        """The terms that can be the largest at all: none of the others is larger term by term."""
        terms = self.terms[name]
        return [
            i
            for i, a in enumerate(terms)
            if not any(_below_term_by_term(a, b) for j, b in enumerate(terms) if j != i)
        ]

    def used(self, pairs: Iterable[Pair], chosen: Mapping[str, int]) -> set[str]:
        """Unknowns t and u that these expressions rest on, directly or through other maxima.

        ``chosen``: the term that holds each u down, where one is chosen yet.
        """
        found: set[str] = set()
        fresh = [v for pair in pairs for v in names_in(pair) if is_maximum(v)]
        while fresh:
            name = fresh.pop()
            if name in found:
                continue
            found.add(name)
            base = name.removesuffix(UP)
            if base == name:
                more = list(self.over(name).values())
            else:
                more = [self.under(base, chosen[base])[1]] if base in chosen else []
            fresh += [v for pair in more for v in names_in(pair) if is_maximum(v)]
        return found

    def boxes(self, box: Ends, decide: Iterable[Decision]) -> Boxes:
        """Return a function that gives the unknown of a maximum its box, which its own rows never reach.

        ``box``: the boxes of the decided numbers. The function raises NotPosynomial where, within the bounds of the
        user, all values of the maximum are too large or too small for the logarithm of any box.
        """
        wide, asked = self._ends(box), self._ends({d.name: _within_bounds(d, *box[d.name]) for d in decide})

        def of(name: str) -> tuple[Any, Any]:
            (low, high), (least, most) = (logs[name.removesuffix(UP)] for logs in (wide, asked))
            if np.any(least > LARGEST_EXPONENT - SCALE_MARGIN) or np.any(
                most < SCALE_MARGIN - LARGEST_EXPONENT
            ):
                raise NotPosynomial("a maximum near where floats end")
            return (
                np.exp(np.maximum(low - SCALE_MARGIN, -LARGEST_EXPONENT)),
                np.exp(np.minimum(high + SCALE_MARGIN, LARGEST_EXPONENT)),
            )

        return of

    def _ends(self, box: Ends) -> Ends:
        """Ends of logarithms: of the decided numbers, and of the maxima of them."""
        logs = {n: (np.log(low), np.log(high)) for n, (low, high) in box.items()}
        for name, terms in self.terms.items():
            lows, highs = zip(*(_range(a, logs) for a in terms), strict=True)
            logs[name] = reduce(np.maximum, lows), reduce(np.maximum, highs)
        return logs


def _within_bounds(d: Decision, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the box of a decided number within the bounds of the user."""
    least = low if d.minimum is None else np.maximum(low, d.minimum)
    return least, high if d.maximum is None else np.minimum(high, d.maximum)


@contextmanager
def named(*, picks: bool = False) -> Iterator[Maxima]:
    """Let maxima of symbols be unknowns of their own while a model runs; outside they are refused.

    ``picks``: so is what an unknown picks, which no row tells from the largest: of use for slopes alone.
    """
    maxima = Maxima()
    before = posynomial.larger.set(maxima.larger)
    before_picks = posynomial.picked.set(maxima.picked if picks else None)
    try:
        yield maxima
    finally:
        posynomial.larger.reset(before)
        posynomial.picked.reset(before_picks)


@dataclass(frozen=True, slots=True)
class Alternative:
    """Unknowns of maxima and rows that say, beside the question's own rows, what they are; exact as they stand."""

    names: tuple[str, ...]
    rows: Mapping[RowKey, Pair]


def alternatives(maxima: Maxima, pairs: Sequence[Pair], wished: Sequence[Pair] = ()) -> list[Alternative]:
    """Every way the maxima behind these expressions, already split, can be held.

    ``pairs``: numerator and denominator of what is minimised and of each limit (<= 1). ``wished``: expressions that
    ties may turn on; their maxima come along where they need no alternative of their own. Raises NotPosynomial where
    there would be more than MOST_ALTERNATIVES alternatives.
    """
    found: list[Alternative] = []
    open_ones: list[dict[str, int]] = [{}]
    while open_ones:
        chosen = open_ones.pop()
        names = maxima.used(pairs, chosen)
        loose = _loose(names, chosen)
        if loose:
            first = next(n for n in maxima.terms if n in loose)
            open_ones += [{**chosen, first: i} for i in reversed(maxima.candidates(first))]
        else:
            for extra in wished:
                more = names | maxima.used([extra], chosen)
                names = names if _loose(more, chosen) else more
            found.append(_alternative(maxima, names, chosen))
        if len(found) + len(open_ones) > MOST_ALTERNATIVES:
            raise NotPosynomial(f"maxima that can be held in more than {MOST_ALTERNATIVES} ways")
    return found


def _loose(names: Iterable[str], chosen: Mapping[str, int]) -> set[str]:
    """Maxima whose u is in use and held down by no term yet."""
    return {n.removesuffix(UP) for n in names if n.endswith(UP)} - set(chosen)


def _alternative(maxima: Maxima, names: set[str], chosen: Mapping[str, int]) -> Alternative:
    ordered = tuple(n for base in maxima.terms for n in (base, base + UP) if n in names)
    rows: dict[RowKey, Pair] = {}
    for n in ordered:
        base = n.removesuffix(UP)
        rows |= maxima.over(n) if n == base else dict([maxima.under(base, chosen[base])])
    return Alternative(ordered, rows)


def is_maximum(name: str) -> bool:
    """Whether an unknown stands for a maximum; names that users know hold no blanks."""
    return name.startswith(DOWN)


def split(pair: Pair) -> Pair:
    """Put u for every maximum t that makes numerator/denominator smaller by growing, term by term."""
    top, bottom = pair
    return _with_raised_maxima(top, -1.0), _with_raised_maxima(bottom, 1.0)


def joined(p: Posynomial, unknowns: Collection[str] = ()) -> Posynomial:
    """Put one unknown for each maximum again, so that what the user wrote can be compared.

    ``unknowns``: those of the problem, where u stands for a maximum whose t is not among them; none: t throughout.
    """
    if not any(v.endswith(UP) for key in p.terms for v, _ in key):
        return p
    total = Posynomial({})
    for key, c in p.terms.items():
        term = Posynomial({(): c})
        for v, e in key:
            base = v.removesuffix(UP)
            term = term * Posynomial({((base if base in unknowns or not unknowns else v, e),): 1.0})
        total = total + term
    return total


def _with_raised_maxima(p: Posynomial, sign: float) -> Posynomial:
    if not any(is_maximum(v) for key in p.terms for v, _ in key):
        return p
    return Posynomial(
        {
            tuple(sorted((v + UP if is_maximum(v) and sign * e > 0 else v, e) for v, e in key)): c
            for key, c in p.terms.items()
        }
    )


def names_in(pair: Pair) -> set[str]:
    """Every unknown of numerator and denominator."""
    return {v for p in pair for key in p.terms for v, _ in key}


def _epigraph_row(top: Posynomial, bottom: Posynomial, t: Posynomial) -> Pair:
    """Row top/bottom <= t, with what stands in the ratio split but t itself as it is."""
    top, bottom = split((top, bottom))
    return _as_pair(top, bottom * t)


def _as_pair(top: Posynomial, bottom: Posynomial) -> Pair:
    r = Ratio(top, bottom)
    return r.numerator, r.denominator


def _below_term_by_term(a: Ratio, b: Ratio) -> bool:
    """Whether a < b wherever both are defined, seen term by term; not where a number differs between many points.

    What holds at the points of a block need not hold at those beside it, and cases are the same however a grid is cut.
    """
    left, right = a.numerator * b.denominator, b.numerator * a.denominator
    both = [(c, right.terms.get(key, 0.0)) for key, c in left.terms.items()]
    return all(np.ndim(c) == np.ndim(other) == 0 and c <= SMALLER * other for c, other in both)


def _range(a: Ratio, logs: Ends) -> tuple[Any, Any]:
    """Ends of log(a) over a box of logarithms; each term at its own ends."""
    (low, high), (least, most) = log_ends(a.numerator, logs), log_ends(a.denominator, logs)
    return low - most, high - least


def log_ends(p: Posynomial, logs: Ends) -> tuple[Any, Any]:
    """Ends of log(p) over a box of logarithms; each term at its own ends."""
    lows, highs = [], []
    for key, c in p.terms.items():
        # of a negative exponent the greatest value gives the least
        sides = [logs[v] if e > 0 else logs[v][::-1] for v, e in key]
        lows.append(np.log(c) + sum(e * s[0] for (_, e), s in zip(key, sides, strict=True)))
        highs.append(np.log(c) + sum(e * s[1] for (_, e), s in zip(key, sides, strict=True)))
    return reduce(np.maximum, lows), reduce(np.maximum, highs) + math.log(len(highs))
