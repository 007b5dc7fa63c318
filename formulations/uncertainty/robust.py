"""Geometric programs in many worlds: posynomials with a coefficient for each world.

Where the uncertain numbers stand in coefficients only, a metric is in world i a posynomial

    fᵢ(x) = Σⱼ cᵢⱼ Πᵥ xᵥ^(aⱼᵥ)            with the same exponents in every world.

What bounds them from below: ``formulations.uncertainty.world_cuts``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TypeVar

import numpy as np

from dse.system.arrays import Indices
from dse.system.records import dataclass
from formulations.arithmetics import maxima
from formulations.arithmetics.many import Many, plain
from formulations.arithmetics.maxima import is_maximum, names_in, split
from formulations.arithmetics.posynomial import ONE, NotPosynomial, Posynomial, Ratio
from formulations.grids import divided
from formulations.problem import Goal, Problem, Row, Variable, formulate, symbolic, symbols
from formulations.row_keys import RowKey
from formulations.uncertainty.worlds import Worlds
from scenarios.question import Question

Held = TypeVar("Held", Goal, Row)
MOST_APART = 256
"""Worlds that are run one by one where they do not have the same terms."""
GAINS = "a maximum from which something gains"
SUM = "the larger of two quotients by sums"


@dataclass(frozen=True, slots=True)
class Posed:
    """A question in N worlds in mathematics: coefficients are numbers, or arrays (N,).

    ``taken``: what each unknown of a maximum is the largest of. ``known``: metrics of the nominal question without
    maxima, by which ties go. ``caps``: of each limit on a measure its ratio in each world.
    """

    worlds: Worlds
    variables: tuple[Variable, ...]
    goal: Goal | None
    rows: tuple[Row, ...]
    taken: Mapping[str, tuple[Ratio, ...]]
    known: Mapping[str, Ratio]
    caps: Mapping[RowKey, Row] = field(default_factory=dict)

    def at(self, points: Indices) -> Posed:
        """Return a question at many points at some of them: of ``known`` coefficients have one number for each."""

        def own(p: Posynomial, dims: int) -> Posynomial:
            return Posynomial({k: c[points] if np.ndim(c) == dims else c for k, c in p.terms.items()})

        def stated(of: Held) -> Held:
            return replace(of, numerator=own(of.numerator, 2), denominator=own(of.denominator, 2))

        def ratio(of: Ratio, dims: int) -> Ratio:
            return Ratio(own(of.numerator, dims), own(of.denominator, dims))

        known = {n: ratio(r, 1) for n, r in self.known.items()}
        taken = {n: tuple(ratio(r, 2) for r in of) for n, of in self.taken.items()}
        goal = None if self.goal is None else stated(self.goal)
        rows = tuple(map(stated, self.rows))
        return replace(
            self, worlds=self.worlds.at_some(points), goal=goal, rows=rows, taken=taken, known=known
        )


def posed_at_points(worlds: Worlds, first: Question) -> Posed:
    """Pose a question at P points, of ``Many`` numbers (P, 1), at once: coefficients (P, N), (P, 1), (N,) or numbers.

    ``first``: the question at the first point, of plain numbers. Raises NotPosynomial, with the reason, where it
    cannot be posed in this way.
    """
    return _posed_anew(worlds, first)


def posed(worlds: Worlds) -> Posed:
    """Run the model on symbols with arrays for coefficients; raises NotPosynomial with the reason where it cannot.

    Where exponents are uncertain, or numbers are 0 in some worlds only, each of up to MOST_APART worlds is run alone.
    Refused, beside what is not a ratio of posynomials: maxima from which something gains. The same worlds are asked
    about several times, with other limits: they are posed once.
    """
    for known in tuple(_posed):
        if known.worlds is worlds:
            return known
    found = _posed_anew(worlds)
    _posed.append(found)
    return found


# of all questions that are answered side by side
_posed: deque[Posed] = deque(maxlen=128)


def _posed_anew(worlds: Worlds, first: Question | None = None) -> Posed:
    nominal = formulate(first or worlds.nominal)
    if nominal.rows is None and not nominal.cases:
        raise NotPosynomial(nominal.refusal or "whole numbers and menus of sums")
    try:
        with maxima.named() as taken:
            goal, rows = symbolic(divided.with_each_number(worlds.with_caps_in_each(), plain))
    except (NotPosynomial, TypeError, ValueError) as refusal:
        if first is not None:
            raise NotPosynomial(str(refusal)) from None
        return _posed_by_world(worlds, nominal, str(refusal))
    pairs = [(r.numerator, r.denominator) for r in rows]
    pairs += [] if goal is None else [(goal.numerator, goal.denominator)]
    _only_harm(pairs, taken.terms)
    metrics = nominal.known
    if first is not None:
        metrics = symbols(
            divided.with_each_number(worlds.nominal, lambda v: np.ravel(v) if isinstance(v, Many) else v)
        )
    known = {
        n: r for n, r in metrics.items() if not any(map(is_maximum, names_in((r.numerator, r.denominator))))
    }
    caps, rows = _caps(worlds, rows)
    return Posed(worlds, nominal.variables, goal, rows, dict(taken.terms), known, caps)


def _caps(worlds: Worlds, rows: tuple[Row, ...]) -> tuple[dict[RowKey, Row], tuple[Row, ...]]:
    """Tell limits on measures from those that hold in each world."""
    keys = {c.key for c in worlds.caps}
    return {r.key: r for r in rows if r.key in keys}, tuple(r for r in rows if r.key not in keys)


def kept(asked: Posed, names: frozenset[str] | None) -> Posed:
    """Return the question with only these limits of it (None: all)."""
    if names is None:
        return asked
    worlds = replace(asked.worlds, caps=tuple(c for c in asked.worlds.caps if c.name in names))
    # a box would keep the user's bounds otherwise
    variables = tuple(
        v if v.name in names else replace(v, decision=replace(v.decision, minimum=None, maximum=None))
        for v in asked.variables
    )
    rows = tuple(r for r in asked.rows if r.key.name in names)
    return replace(asked, worlds=worlds, variables=variables, rows=rows)


def _posed_by_world(worlds: Worlds, nominal: Problem, why: str) -> Posed:
    """Run the model in each world by itself: terms that some worlds do not have are 0 there."""
    if worlds.size > MOST_APART:
        raise NotPosynomial(f"exponents or zeros that differ between more than {MOST_APART} samples ({why})")
    each = replace(worlds, every=worlds.with_caps_in_each())
    problems = [formulate(each.at(i)) for i in range(worlds.size)]
    if any(p.rows is None or p.cases for p in problems):
        raise NotPosynomial("maxima whose exponents or zeros differ between samples")
    every = [{r.key: r for r in p.rows or ()} for p in problems]
    keys = dict.fromkeys(key for rows in every for key in rows)
    none = Posynomial({})
    rows = tuple(
        Row(
            key,
            _united([rows[key].numerator if key in rows else none for rows in every]),
            _united([rows[key].denominator if key in rows else ONE for rows in every]),
        )
        for key in keys
    )
    goal = nominal.goal
    if goal is not None:
        goals = [p.goal or goal for p in problems]
        top, bottom = _united([g.numerator for g in goals]), _united([g.denominator for g in goals])
        goal = replace(goal, numerator=top, denominator=bottom)
    caps, rows = _caps(worlds, rows)
    return Posed(worlds, nominal.variables, goal, rows, {}, nominal.known, caps)


def _united(each: list[Posynomial]) -> Posynomial:
    """One posynomial with a coefficient for each world, from that of each world."""
    keys = dict.fromkeys(key for p in each for key in p.terms)
    found = {key: np.array([float(p.terms.get(key, 0.0)) for p in each]) for key in keys}
    return Posynomial({key: float(c[0]) if np.ptp(c) == 0 else c for key, c in found.items()})


def _only_harm(pairs: list[tuple[Posynomial, Posynomial]], terms: Mapping[str, tuple[Ratio, ...]]) -> None:
    """Refuse maxima that stand where a larger value helps, here or inside another maximum in use."""
    fresh, seen = list(pairs), set[str]()
    while fresh:
        pair = fresh.pop()
        if any(n.endswith(maxima.UP) for n in names_in(split(pair))):
            raise NotPosynomial(GAINS)
        for name in names_in(pair) - seen:
            seen.add(name)
            for argument in terms.get(name, ()):
                if not argument.denominator.is_monomial:
                    raise NotPosynomial(SUM)
                fresh.append((argument.numerator, argument.denominator))
