"""Which of several optimal designs of a linear or mixed-integer program is handed out, and how far they range.

Ties go by the question's ``tie_order``, then to the smaller decided quantities in file order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.draws import FIXED_SEED
from dse.system.records import dataclass
from formulations.arithmetics.forms import Largest, Some
from formulations.programs.program import Program
from formulations.tolerances import TIE
from solvers import designs
from solvers.linear import highs, milp, whole_parts
from solvers.linear.linear_program import End, Numbers, Result, constant_column, no_worse, ratio_at
from solvers.linear.scaling import balance

RANGE_APART = 1e-7
WHOLE_APART = 0.5
AT_QUANTITY_END = 1e-12
MOST_PARTS_SOLVED = 8
RANK_ROUNDING = 1e-9
# of what the slack of "no worse" lets a divisible quantity wander
WANDER_SHARE, WANDER_SPAN = 1e-2, 1e-4
MOST_RANGED = 40


@dataclass(frozen=True, slots=True)
class Chosen:
    """The design handed out, and the lowest and highest optimal value of every variable that is not unique.

    ``rest``: the optimum of the linear program that its whole numbers leave, where there are any.
    """

    u: Array
    ranges: dict[str, tuple[float, float]]
    rest: Result | None = None


def chosen(p: Program, best: Result) -> Chosen:
    """Settle which optimal design is handed out, those of other branches included."""
    every = [c for b in (best, *best.equals) for c in _chosen(p, b)]
    if len(every) == 1:
        return every[0]
    u = np.stack([c.u for c in every])
    levels = (ratio_at(goal, under, u) for goal, under, _ in tie_steps(p))
    first = int(designs.first_of_tied(np.zeros(len(every), np.intp), 1, levels)[0])
    return replace(every[first], ranges=_union(p, every))


def _union(p: Program, every: list[Chosen]) -> dict[str, tuple[float, float]]:
    """How far variables range over several sets of equally good designs."""
    found = {}
    for d in p.question.decide[:MOST_RANGED]:
        ends = [e for c in every for e in c.ranges.get(d.name, (float(p.column(d.name) @ c.u),))]
        if _apart(min(ends), max(ends), RANGE_APART if p.integer.all() else WANDER_SHARE):
            found[d.name] = (min(ends), max(ends))
    return found


def _apart(low: float, high: float, by: float, unit: float = 1.0) -> bool:
    return high > low + by * max(abs(low), min(abs(high), 1e9), 1e-3 * unit)


def _chosen(p: Program, best: Result) -> list[Chosen]:
    """The designs of one branch among which ties decide."""
    assert best.u is not None, "only a design can be settled"
    if best.numbers is None:
        # a search that failed on its way may have come by a design
        return [Chosen(best.u, {})]
    n = best.numbers
    if not n.integer.any():
        return [on_face(p, milp.face(best), best.u) if best.multipliers is not None else Chosen(best.u, {})]
    if best.sole and p.goal is not None:
        return [Chosen(best.u, {})]
    kept = n
    if p.goal is not None:
        kept = highs.held_to(n, no_worse(*milp.objective(p), best.value))
        few = _few(p, n, best, whole_parts.whole_parts(kept))
        if few:
            return few
    others = _other_choices(p, kept, best.u)
    settled = _among_choices(p, kept, best.u, others) if others else Chosen(best.u, {})
    return [settled if n.integer.all() else _rest(p, n, settled)]


def _few(p: Program, n: Numbers, best: Result, parts: Array | None) -> list[Chosen]:
    """The designs that are as good, each with what its whole numbers leave settled; none where they are many."""
    if parts is None:
        return []
    points = np.column_stack([parts, np.ones(len(parts))])
    if n.integer.all():
        return [Chosen(u, {}) for u in points]
    if len(points) > MOST_PARTS_SOLVED:
        return []
    found = [_rest(p, n, Chosen(u, {})) for u in points]
    return [c for c in found if c.rest is not None and c.rest.value <= designs.as_good_as(best.value)]


def _rest(p: Program, n: Numbers, settled: Chosen) -> Chosen:
    """Settle the continuous part once the whole numbers are known."""
    fixed = n.fixed(settled.u)
    again = milp.ratio(fixed, *milp.objective(p))
    if again.u is None or again.multipliers is None:
        return settled
    rest = on_face(p, milp.face(again), again.u)
    return Chosen(rest.u, {**rest.ranges, **settled.ranges}, again)


def _ends_apart(n: Numbers, of: Bools) -> list[Result]:
    """Both ends of a program along a direction in which points differ that differ in the columns ``of``."""
    weights = np.random.default_rng(FIXED_SEED).uniform(1.0, 2.0, len(n.low))
    w = np.append(np.where(of, weights / _units(n), 0.0), 0.0)
    return [highs.minimise(n, s * w, worse=-math.inf) for s in (1.0, -1.0)]


def _other_choices(p: Program, kept: Numbers, u: Array) -> list[Array]:
    """Designs that are as good with other whole numbers; none if there are no such.

    An indicator says nothing of its own: where there is none of its amount, it may often be 1 as well; and of equal
    terms of a maximum either is the largest.
    """
    decided = np.array([not isinstance(c, Some | Largest) for c in p.columns], dtype=bool)
    of, shares = kept.integer & decided, np.zeros(len(decided), dtype=bool)
    if _divisible_indicators(p, kept) or kept.maxima:
        # what is left of them need not be there with the same indicators, or the same terms as the largest ones
        shares = ~kept.integer & np.array([isinstance(c, str) for c in p.columns], dtype=bool)
    if (kept.low == kept.high)[of | shares].all():
        return []
    found = [e.u for e in _ends_apart(kept, of | shares) if e.u is not None]
    return found if any(_other_share(kept, v, u, of, shares) for v in found) else []


def _divisible_indicators(p: Program, n: Numbers) -> bool:
    """Whether some indicator of an amount that can be divided is open."""
    whole = dict(zip(p.columns, p.integer, strict=True))
    return any(
        isinstance(c, Some) and low < high and not all(whole[a] for a in c.amount.terms)
        for c, low, high in zip(p.columns, n.low, n.high, strict=True)
    )


def _other_share(n: Numbers, v: Array, u: Array, of: Bools, shares: Bools) -> bool:
    """Whether points have other whole numbers, or what can be divided is farther apart than slack lets it wander."""
    apart = np.abs(v - u)[:-1]
    span = np.where(np.isfinite(n.high), n.high - n.low, 0.0)
    near = np.maximum(WANDER_SHARE * np.maximum(np.abs(v), np.abs(u))[:-1], WANDER_SPAN * span)
    return bool((apart[of] > WHOLE_APART).any() or (apart > near)[shares].any())


def alone(n: Numbers, u: Array) -> bool:
    """Whether no point but ``u`` meets the rows of a linear program."""
    return _determined(n) or not _others(n, u)


def _others(n: Numbers, u: Array) -> list[Array]:
    """Points of a linear program beside ``u``; none where there is no other."""
    ends = _ends_apart(n, np.ones(len(n.low), dtype=bool))
    near = RANGE_APART * np.maximum(np.abs(u), np.append(_units(n), 1.0))
    if all(e.u is not None and (np.abs(e.u - u) <= near).all() for e in ends):
        return []
    return [u, *(e.u for e in ends if e.u is not None)]


def _units(n: Numbers) -> Array:
    """By what columns are measured: 1, or the largest end that they have or a row of one number gives them, if less."""
    size = np.abs(n.rows[:, :-1])
    alone = (np.count_nonzero(size, axis=1) == 1)[:, None] & (size > 0.0)
    ends = np.divide(np.abs(n.rows[:, -1:]), size, out=np.zeros_like(size), where=alone).max(
        axis=0, initial=0.0
    )
    ends = np.maximum(ends, np.where(np.isfinite(n.high), np.abs(n.high), 0.0))
    return np.where((ends > 0.0) & (ends < 1.0), ends, 1.0)


def _determined(n: Numbers) -> bool:
    """Whether the rows that hold as equalities leave one value to every column."""
    return bool(_constant_forms(n, np.eye(len(n.low), len(n.low) + 1)).all())


def _constant_forms(n: Numbers, forms: Array) -> Bools:
    """Which affine forms have one value wherever the equalities of a program hold."""
    free = n.low < n.high
    row, column = balance(n)
    found = forms[:, :-1][:, free] * column[free]
    size = np.abs(found).max(axis=1, initial=0.0)
    held = (n.rows[:, :-1] * row[:, None] * column)[n.equal][:, free]
    if held.size and size.any():
        _, s, directions = np.linalg.svd(held, full_matrices=False)
        of = directions[s > RANK_ROUNDING * max(s.max(), 1e-300)]
        found = found - (found @ of.T) @ of
    return np.asarray(np.abs(found).max(axis=1, initial=0.0) <= RANK_ROUNDING * size)


@dataclass(frozen=True, slots=True)
class _Decided:
    """The decided quantities in file order as forms (D, columns + 1), and between which ends they lie (D,).

    ``unit`` (D,): what they are measured by.
    """

    names: tuple[str, ...]
    forms: Array
    low: Array
    high: Array
    unit: Array

    def at_end(self, k: int | None, u: Array) -> bool:
        """Whether quantity k, if it is one, is at its lower end."""
        return k is not None and bool(
            self.forms[k] @ u <= self.low[k] + AT_QUANTITY_END * max(abs(self.low[k]), self.unit[k])
        )

    def held(self, n: Numbers, k: int, u: Array) -> Numbers:
        """The program with quantity k at its lower end, as at ``u``."""
        used = self.forms[k][:-1] != 0.0
        at = np.where(n.integer, np.round(u[:-1]), u[:-1]) if np.count_nonzero(used) > 1 else n.low
        return replace(n, low=np.where(used, at, n.low), high=np.where(used, at, n.high))


def _decided(p: Program, n: Numbers) -> _Decided:
    every = p.question.decide[:MOST_RANGED]
    forms = np.array([p.column(d.name) for d in every]).reshape(len(every), len(p.columns) + 1)
    place = np.abs(forms[:, :-1]).argmax(axis=1)
    endless = np.where(p.boxed, np.inf, n.high)
    low = [n.low[i] if d.values is None else min(d.values) for d, i in zip(every, place, strict=True)]
    high = [endless[i] if d.values is None else max(d.values) for d, i in zip(every, place, strict=True)]
    ends = np.array(low, float), np.array(high, float)
    return _Decided(tuple(d.name for d in every), forms, *ends, _units(n)[place])


def _among_choices(p: Program, kept: Numbers, u: Array, others: list[Array]) -> Chosen:
    """Settle which whole numbers are handed out; ``others``: more designs that are as good."""
    decided = _decided(p, kept)
    pool = [u, *others]
    ranges = _ranges(p, kept, decided, pool, WANDER_SHARE)
    return Chosen(_first_by_rule(p, kept, u, decided, pool), ranges)


def _first_by_rule(p: Program, n: Numbers, u: Array, decided: _Decided, pool: Iterable[Array] = ()) -> Array:
    """The first of the designs of ``n`` by what ties go by; ``u`` is one of them, as are those of ``pool``."""
    whole = bool(n.integer.any())
    for goal, under, k in tie_steps(p):
        first = _first_part(n, decided) if whole and k == 0 else None
        if first is not None:
            return first
        ended = (v for v in (u, *pool) if decided.at_end(k, v) and (not whole or highs.meets(n, v)))
        there = next(ended, None)
        if k is not None and there is not None:
            u = there
            n = decided.held(n, k, u)
        elif not _told_before(p, n, goal, under):
            found = (
                highs.minimise(n, goal, worse=_vague(n, goal))
                if whole and k is not None
                else milp.ratio(n, goal, under, u)
            )
            if found.end is not End.FOUND or found.u is None or milp.at_searched_end(p, found.u).any():
                # an aim that only the end of a box holds settles nothing
                continue
            u = found.u
            if whole:
                n = _no_larger(n, goal, under, u)
            elif found.multipliers is not None:
                n = milp.face(found)
        if (n.low == n.high)[n.integer].all() if whole else _determined(n):
            break
    return u


def _no_larger(n: Numbers, goal: Array, under: Array, u: Array) -> Numbers:
    """The program with a ratio held at what it is at a point."""
    value = float(ratio_at(goal, under, u))
    slack = TIE * abs(value) * under + TIE * 1e-3 * constant_column(len(under))
    return n.with_rows(goal - value * under - slack)


def _first_part(kept: Numbers, decided: _Decided) -> Array | None:
    """The design that is first by what is decided, if all that is whole and the designs are few; None elsewhere."""
    parts = None if decided.forms[:, :-1][:, ~kept.integer].any() else whole_parts.whole_parts(kept)
    if parts is None or not len(parts):
        return None
    points = np.column_stack([parts, np.ones(len(parts))])
    order = np.lexsort((points @ decided.forms.T).T[::-1])
    for k in order[:MOST_PARTS_SOLVED]:
        found = highs.minimise(kept.fixed(points[k]), np.zeros(len(points[k])))
        if found.u is not None:
            return found.u
    return None


def _vague(n: Numbers, form: Array) -> float:
    """What makes ``highs.minimise`` leave the divisible columns as they are if a form has none of them."""
    return math.inf if form[:-1][~n.integer].any() else -math.inf


def tie_steps(p: Program) -> Iterator[tuple[Array, Array, int | None]]:
    """What ties go by, in order, as ratios of two forms; with the place of what is decided."""
    yield from ((goal, under, None) for _, goal, under in p.ties)
    unit = constant_column(len(p.columns) + 1)
    yield from ((p.column(d.name), unit, k) for k, d in enumerate(p.question.decide[:MOST_RANGED]))


def _told_before(p: Program, n: Numbers, goal: Array, under: Array) -> bool:
    """Whether an aim is the objective itself, or has one value."""
    if not n.integer.any():
        return bool(_constant_forms(n, np.stack([goal, under])).all())
    if p.goal is not None and p.under is not None and (goal == p.goal).all() and (under == p.under).all():
        return True
    return not ((goal != 0.0) | (under != 0.0))[:-1][n.low < n.high].any()


def on_face(p: Program, n: Numbers, u: Array) -> Chosen:
    """Settle which of the equally good designs of ``n``, all divisible, is handed out; ``u`` is one of them."""
    decided = _decided(p, n)
    known = [] if _constant_forms(n, decided.forms).all() else _others(n, u)
    ranges = _ranges(p, n, decided, known) if known else {}
    if not ranges:
        return Chosen(u, {})
    return Chosen(_first_by_rule(p, n, u, decided), ranges)


def _ranges(
    p: Program, n: Numbers, decided: _Decided, known: list[Array], by: float = RANGE_APART
) -> dict[str, tuple[float, float]]:
    """The least and greatest value of every decided quantity that has several; ``known``: some of the designs."""
    forms, d = decided.forms, decided
    moves = ~_constant_forms(n, forms) if not n.integer.any() else np.ones(len(forms), dtype=bool)
    low = high = forms @ known[0]
    low, high = low.copy(), high.copy()
    low[moves] = _least_of_each(p, n, forms[moves], d.low[moves], d.unit[moves], known)
    high[moves] = -_least_of_each(p, n, -forms[moves], -d.high[moves], d.unit[moves], known)
    return {
        name: (float(one), float(other))
        for name, one, other, unit in zip(d.names, low, high, d.unit, strict=True)
        if not math.isnan(one + other) and _apart(one, other, by, unit)
    }


def _least_of_each(
    p: Program, n: Numbers, forms: Array, ends: Array, unit: Array, known: list[Array]
) -> Array:
    """The least value of each form: minus infinity if there is no end, NaN if it is not found.

    ``ends``: values below which no form is; ``unit``: by what each is measured.

    A form that a known design takes to its end needs no program of its own;
    so the sum of all others is minimised first, for as long as that takes some of them to their ends.
    """
    found = np.full(len(forms), np.nan)
    weights = 1.0 / np.maximum(np.abs(forms[:, :-1]).max(axis=1, initial=0.0), 1e-300)[:, None]

    def learn(u: Array) -> bool:
        there = np.isnan(found) & (forms @ u <= ends + AT_QUANTITY_END * np.maximum(np.abs(ends), unit))
        found[there] = ends[there]
        return bool(there.any())

    for u in known:
        learn(u)
    # entries of a menu do not add up
    alone = np.count_nonzero(forms[:, :-1], axis=1) == 1
    asked = np.isnan(found) & np.isfinite(ends) & alone
    while np.count_nonzero(asked) > 1:
        form = (weights * forms)[asked].sum(axis=0)
        answer = highs.minimise(n, form, worse=_vague(n, form))
        if answer.u is None or not learn(answer.u):
            break
        known.append(answer.u)
        asked &= np.isnan(found)
    for k in range(len(forms)):
        if not math.isnan(found[k]):
            continue
        answer = highs.minimise(n, forms[k], worse=_vague(n, forms[k]))
        if answer.u is not None:
            learn(answer.u)
            known.append(answer.u)
            found[k] = (
                -math.inf
                if milp.at_searched_end(p, answer.u).any() and forms[k].sum() < 0.0
                else forms[k] @ answer.u
            )
        elif answer.end is End.UNBOUNDED:
            found[k] = -math.inf
    return found


def without_goal(p: Program) -> Program:
    """The program whose first tie-breaker is its goal: what is handed out where nothing is asked to be least."""
    if p.goal is not None or not p.ties:
        return p
    _, goal, under = p.ties[0]
    return replace(p, goal=goal, under=under)
