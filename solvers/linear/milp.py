"""Linear, mixed-integer and linear-fractional programs: the least ratio of two affine forms, with a bound.

A ratio is minimised by Dinkelbach's iteration: with λ the ratio at the best design so far, the least of
numerator - λ denominator is at most 0, and λ plus its lower bound over the least denominator bounds the optimum.
A maximum that something profits from is one of its arguments: each is tried, and the bound is the least of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.models.arithmetic import AMOUNT_ROUNDING
from dse.system.arrays import Array, Bools
from formulations.arithmetics.forms import Entry, Some
from formulations.programs.chosen_maxima import chosen_maxima
from formulations.programs.program import Program, branches, linear_cost
from formulations.programs.row_ends import least_of_terms, sufficient_ends, upper_ends
from formulations.row_keys import RowKey
from formulations.tolerances import TIE
from solvers import designs
from solvers.linear import highs, whole_parts
from solvers.linear.linear_program import End, Numbers, Result, constant_column, no_worse, ratio_at

DINKELBACH_STEPS = 60
RATIO_CLOSED = 1e-13
SHARP_SHARE = 1e-11
CLOSE_RATIO = 1e-11
ABOVE_ZERO = 1e-300
AT_PROGRAM_END = 1e-6


def numbers(
    p: Program,
    *,
    drop: Collection[str | RowKey] = (),
    factors: Mapping[RowKey, float] | None = None,
    more: tuple[Array, ...] = (),
    giving: bool = False,
) -> Numbers:
    """The rows of a program as they stand; of lists without end not what breaks a row whatever else is picked.

    ``drop``: limits left out, by key or by name (a variable's name also makes it continuous); ``factors``: what a
    limit's ratio may be instead of 1; ``more``: further rows; ``giving``: rows may be broken.
    """
    scale = np.array([(factors or {}).get(k, 1.0) if k else 1.0 for k in p.keys])
    rows = p.numerators - p.denominators * scale[:, None]
    kept = kept_rows(p, drop, rows, giving=bool(factors))
    if drop or factors:
        ends = _ends_of_endless(p, drop, rows)
        for row, column, most in p.amounts:
            rows[row, column] = -ends.get(row, most) if kept[row] else 0.0
    divided = {d.name for d in p.question.decide if d.name in drop and not d.count}
    whole = np.array([c not in divided for c in p.columns], dtype=bool)
    some = np.array([isinstance(c, Some) for c in p.columns], dtype=bool)
    low = np.where(p.integer & ~whole, p.divided_lows(divided), p.low)
    maxima = chosen_maxima(p.columns, p.rows, p.equal)
    n = Numbers(rows[kept], p.equal[kept], low, p.high, p.integer & whole, some, maxima=maxima)
    if p.amounts and (drop or factors):
        high = np.maximum(upper_ends(n.rows, n.low, n.high, n.integer), p.low)
        for row, column, most in p.amounts:
            end = _most(p, row, high)
            if math.isfinite(most):
                rows[row, column] = -min(most, end) if end > 0 else -most
        n = replace(n, rows=rows[kept])
    n = n.with_rows(*more) if more else n
    return n if giving else possible(p, _with_what_is_there(p, n))


def _with_what_is_there(p: Program, n: Numbers) -> Numbers:
    """The same, where it is stated that there is some of what has a least amount: without an end no row states it.

    The least amount is that of rows of one number each. ``n``: rows that may not be broken.
    """
    flags = [(i, c.amount) for i, c in enumerate(p.columns) if isinstance(c, Some)]
    if not flags:
        return n
    alone = (np.count_nonzero(n.rows[:, :-1], axis=1) == 1)[:, None] & (n.rows[:, :-1] < 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(alone, n.rows[:, -1:] / -n.rows[:, :-1], -np.inf).max(axis=0, initial=-np.inf)
    low, place = np.maximum(n.low, least), {c: i for i, c in enumerate(p.columns)}
    there = n.low.copy()
    for i, amount in flags:
        parts = [(c, low[place[a]]) for a, c in amount.terms.items()]
        if (
            all(c > 0.0 for c, _ in parts)
            and amount.constant + sum(c * x for c, x in parts) > AMOUNT_ROUNDING
        ):
            there[i] = n.high[i]
    return replace(n, low=there)


def possible(p: Program, n: Numbers, give: Any = 0.0) -> Numbers:
    """The same without the entries of lists without end that break a row whatever else is picked.

    Their numbers are out of all proportion to the others of the row. An entry that alone makes a row hold counts for no
    more there than that takes. ``give``: room that each row is given.
    """
    if not any(d.endless for d in p.question.decide):
        return n
    rows = np.column_stack([n.rows[:, :-1], n.rows[:, -1] - give])
    ends = upper_ends(rows, n.low, n.high, n.integer)
    entries = np.array([isinstance(c, Entry) for c in p.columns], dtype=bool)
    gone = entries & (ends < 1.0)
    found = replace(n, rows=np.where(np.append(gone, False), 0.0, n.rows), high=np.where(gone, n.low, n.high))
    return replace(found, rows=_no_more_than_needed(found, entries))


def _no_more_than_needed(n: Numbers, entries: Bools) -> Array:
    """The rows in which no entry of a menu, picked once, takes off more than all other columns can add together."""
    helps = entries & (n.rows[:, :-1] < 0.0) & ~n.equal[:, None]
    others = np.where(helps, 0.0, -n.rows[:, :-1])
    most = n.rows[:, -1] - least_of_terms(others, n.low, n.high).sum(axis=1)
    enough = np.where(np.isfinite(most) & (most > 0.0), most, np.inf)
    found = n.rows.copy()
    found[:, :-1][helps] = np.maximum(found[:, :-1], -enough[:, None])[helps]
    return found


def of_possible_entries(p: Program) -> Program:
    """The same, as a program: without the entries in what is minimised and in what ties go to, too."""
    n = possible(p, numbers(p, giving=True))
    goal, under = (None if form is None else of_possible(n, form) for form in (p.goal, p.under))
    ties = tuple((name, of_possible(n, top), of_possible(n, bottom)) for name, top, bottom in p.ties)
    return replace(p, goal=goal, under=under, ties=ties)


def of_possible(n: Numbers, form: Array) -> Array:
    """A form without the columns that are 0 at every point: an entry of 1e30 leaves HiGHS no digit for the others."""
    return np.where(np.append((n.low == 0.0) & (n.high == 0.0), False), 0.0, form)


def kept_rows(
    p: Program, drop: Collection[str | RowKey], rows: Array | None = None, *, giving: bool = False
) -> list[bool]:
    """Which rows are left without some limits; ``giving``: whether others are no more what they were.

    ``rows``: the rows as they then are. Where they allow none of an amount that has no bound, there is none of it.
    """
    kept = [k is None or (k not in drop and k.name not in drop) for k in p.keys]
    if drop or giving:
        ends = {} if rows is None else _ends_of_endless(p, drop, rows)
        for row, _, most in p.amounts:
            kept[row] = math.isfinite(ends.get(row, most))
    return kept


def _ends_of_endless(p: Program, drop: Collection[str | RowKey], rows: Array) -> dict[int, float]:
    """The ends of amounts that have none of their own, by the rows that say whether there is any.

    0 of what the other ``rows`` allow none of, else the end that they leave it: what bounds an amount may be the very
    limit that is left out.
    """
    endless = [(row, column) for row, column, most in p.amounts if not math.isfinite(most)]
    if not endless:
        return {}
    others = [k is None or (k not in drop and k.name not in drop) for k in p.keys]
    for row, *_ in p.amounts:
        others[row] = False
    high = np.maximum(upper_ends(rows[others], p.low, p.high, p.integer), p.low)
    return {row: _most(p, row, high) if high[column] >= 1.0 else 0.0 for row, column in endless}


def _most(p: Program, row: int, high: Array) -> float:
    """The most that there can be of the amount of a row."""
    amount = p.numerators[row]
    return float(amount[-1] - least_of_terms(-amount[:-1], p.low, high).sum())


def objective(p: Program) -> tuple[Array, Array]:
    """The numerator and the denominator of what is minimised: 0 where there is no objective."""
    if p.goal is None or p.under is None:
        return np.zeros(len(p.columns) + 1), constant_column(len(p.columns) + 1)
    return p.goal, p.under


def branched(p: Program, n: Numbers) -> list[Numbers]:
    """The same with each way of choosing the exact maxima of ``p``."""
    return [n.with_rows(extra) for extra in branches(p)]


def at_searched_end(p: Program, u: Array, high: Array | None = None) -> Bools:
    """Which columns are at an end that only a search has, at one point or many; ``high``: the ends at those."""
    end = p.high if high is None else high
    return np.asarray((u[..., :-1] >= end * (1.0 - AT_PROGRAM_END)) & p.boxed)


def implied_within(
    p: Program, far: Program, more: Sequence[Array], drop: Collection[str | RowKey] = ()
) -> bool:
    """Whether rows imply ends within those that only a search has: then nothing beyond these is needed.

    ``far``: the same program with ends of the search far out; ``more``: rows beside its own, of which those that
    ``drop`` names are left out.
    """
    boxed = p.boxed & np.isfinite(p.high)
    n = numbers(far, drop=drop, more=tuple(more))
    ends = sufficient_ends(n.rows, n.equal, n.low, n.high, n.integer)
    return bool((ends <= p.high)[boxed].all())


def divisible(n: Numbers) -> Numbers:
    """The same without whole numbers, between the ends that whole ones have: what rows leave less than one of is 0."""
    ends = upper_ends(n.rows, n.low, n.high, n.integer)
    return replace(n, high=np.where(n.integer, np.maximum(ends, n.low), n.high)).relaxed()


def is_least_divided(p: Program, i: int, now: float) -> bool:
    """Whether no design has a better ratio of a limit than ``now``: not even divisible numbers without upper ends.

    Where these are better by no more than a tie, the least of numerator - ratio * denominator is not below 0.
    """
    key = p.keys[i]
    assert key is not None, "only limits have ratios"
    n = numbers(p, drop=[key])
    n = divisible(replace(n, high=np.where(p.boxed, np.inf, n.high)))
    goal, under = (of_possible(n, f[i]) for f in (p.numerators, p.denominators))
    return highs.minimise(n, goal - (now - TIE * abs(now)) * under).bound >= 0.0


def of_fewer(p: Program, n: Numbers, goal: Array, under: Array, best: Result) -> Result:
    """The best ratio at fewer of what only the end of a search holds: of a ratio of sums half of all do as well."""
    if best.u is None or not at_searched_end(p, best.u).any():
        return best
    alike = n.with_rows(no_worse(goal, under, best.value))
    found = highs.minimise(alike, np.append(np.where(p.boxed, 1.0, 0.0), 0.0), share=highs.ROUGH_SHARE)
    value = best.value if found.u is None else float(ratio_at(goal, under, found.u))
    good = found.u is not None and math.isfinite(value) and designs.as_good(value, best.value)
    return replace(best, u=found.u, value=value) if good else best


def runaway(p: Program, u: Array, least_below: Callable[[Array], float], best: float) -> str:
    """The variable of a design that only the end of its box holds (empty: none).

    ``least_below``: what the least is, ``best`` today, where columns have other upper ends.
    """
    ends = at_searched_end(p, u)
    if not ends.any():
        return ""
    worse = least_below(np.where(ends, p.high / 2, p.high)) > best + AT_PROGRAM_END * abs(best)
    return str(p.columns[int(np.flatnonzero(ends)[0])]) if worse else ""


def least(p: Program, n: Numbers, goal: Array, under: Array, start: Array | None = None) -> Result:
    """Minimise (goal . u) / (under . u) over ``n``, over every way of choosing the exact maxima of ``p``.

    ``start``: a design of ``n``, if one is known.
    """
    tried: list[Result] = []
    reached = start
    rough = bool(p.exact) and bool(n.integer.any())
    for extra in branches(p):
        # a branch in which nothing is better than in those before need not be minimised
        branch = _listed(n.with_rows(extra), goal, under, reached) if p.exact else n
        if branch is not None:
            tried.append(ratio(branch, goal, under, reached, rough=rough))
        known = [b for b in tried if b.u is not None]
        reached = min(known, key=lambda b: b.value).u if known else start
    found = [b for b in tried if b.u is not None]
    for end in (End.UNBOUNDED, End.FAILED):
        stopped = next((b for b in tried if b.end is end), None)
        if stopped is not None:
            return stopped
    if not found:
        return Result(End.INFEASIBLE)
    best = min(found, key=lambda b: b.value)
    if start is not None and best.value - float(ratio_at(goal, under, start)) > TIE * abs(best.value):
        # the start meets the rows by rounding only
        return least(p, n, goal, under)
    equals = tuple(b for b in found if b is not best and b.value <= designs.as_good_as(best.value))
    if rough:
        best, *rest = sorted((_sharp(b, goal, under) for b in (best, *equals)), key=lambda b: b.value)
        equals = tuple(rest)
    return replace(best, bound=min(best.value, *(b.bound for b in found)), equals=equals)


def _sharp(best: Result, goal: Array, under: Array) -> Result:
    """The same with the best of what its whole numbers leave."""
    assert best.u is not None, "only a design can be made better"
    assert best.numbers is not None, "only a design can be made better"
    found = ratio(best.numbers.fixed(best.u), goal, under, best.u)
    if found.u is None:
        return Result(End.FAILED)
    return replace(best, u=found.u, value=found.value, bound=min(best.bound, found.value))


def _listed(n: Numbers, goal: Array, under: Array, start: Array | None) -> Numbers | None:
    """The same between the ends of the whole parts as good as ``start`` that it has, if they are few; None for none."""
    if not n.integer.any():
        return n
    at = math.inf if start is None else float(ratio_at(goal, under, start))
    near = n.with_rows(no_worse(goal, under, at, 2.0 * TIE)) if math.isfinite(at) else n
    parts = whole_parts.whole_parts(near)
    if parts is None or not len(parts):
        return n if parts is None else None
    low, high = (
        np.where(n.integer, end, own) for end, own in ((parts.min(0), n.low), (parts.max(0), n.high))
    )
    return replace(n, low=low, high=high)


def ratio(
    n: Numbers, goal: Array, under: Array, start: Array | None = None, *, rough: bool = False
) -> Result:
    """Minimise (goal . u) / (under . u) over one set of rows, with the denominator positive.

    ``start``: a point with a ratio to improve on. If all others are greater, what is returned need not be the least;
    its bound then shows that none is below that of ``start``. ``rough``: what can be divided may be as a search over
    whole numbers leaves it.
    """
    reached = math.inf if start is None else float(ratio_at(goal, under, start))
    reached = float(designs.as_good_as(reached, 2.0 * TIE))
    inverse = bool(under[:-1].any())
    if not inverse or not goal[:-1].any():
        if inverse:
            reached = -1.0 / reached if reached > 0.0 else math.inf
        cost = linear_cost(goal, under)
        found = highs.minimise(n, cost, worse=-math.inf if rough else reached)
        ends = (found.value, found.bound)
        value, bound = map(_inverse_of_negative, ends) if inverse else ends
        return replace(found, value=value, bound=bound, numbers=n, cost=cost)
    found = _dinkelbach(n, goal, under, start)
    # the steps go by whole numbers only
    done = rough or found.end is not End.FOUND or not n.integer.any() or n.integer.all()
    return found if done else _sharp(found, goal, under)


def _inverse_of_negative(negative: float) -> float:
    """1/x from the least of -x: infinite where x is not positive, 0 where it has no end."""
    return -1.0 / negative if negative < -ABOVE_ZERO else math.inf


def _dinkelbach(n: Numbers, goal: Array, under: Array, start: Array | None) -> Result:
    least_goal = -math.inf
    if start is None or under @ start <= 0:
        first = highs.minimise(n, goal, worse=-math.inf)
        if first.u is None:
            return Result(first.end, ray=first.ray)
        start, least_goal = first.u, first.bound
        if under @ start <= 0:
            widest = highs.minimise(n, -under, worse=-math.inf)
            if widest.u is None or under @ widest.u <= 0:
                return Result(End.FAILED if widest.u is None else End.INFEASIBLE, ray=widest.ray)
            start = widest.u
    u = start
    for _ in range(DINKELBACH_STEPS):
        now, size = float(ratio_at(goal, under, u)), abs(float(goal @ u))
        cost = linear_cost(goal, under, now)
        # what even divisible numbers do not better needs no search, which at large numbers may never end
        divided = u is not start and bool(n.integer.any())
        found = highs.minimise(divisible(n), cost) if divided else Result(End.FAILED)
        if found.u is not None and found.bound >= -RATIO_CLOSED * size:
            break
        found = highs.minimise(n, cost, SHARP_SHARE * size, worse=-math.inf)
        if found.u is None:
            return Result(found.end, u if found.end is End.FAILED else None, now, ray=found.ray)
        if under @ found.u <= 0.0 or cost @ found.u >= -RATIO_CLOSED * size:
            if u is start:
                # it need not meet the rows of n; of what does, 0 / 0 is no ratio
                u = found.u if under @ found.u > 0.0 else _widest(n, goal, under, u)
            break
        u = found.u
    bound = now + min(found.bound, 0.0) / _least_denominator(n, under, least_goal, found.bound, now)
    value = float(ratio_at(goal, under, u))
    return Result(End.FOUND, u, value, bound, found.multipliers, numbers=n, cost=cost)


def _widest(n: Numbers, goal: Array, under: Array, u: Array) -> Array:
    """A point with the greatest denominator of those whose ratio is that of ``u``; ``u`` where none has any."""
    alike = n.with_rows(no_worse(goal, under, float(ratio_at(goal, under, u))))
    found = highs.minimise(alike, -under, worse=-math.inf).u
    return u if found is None or under @ found <= 0.0 else found


def _least_denominator(n: Numbers, under: Array, least_goal: float, lost: float, now: float) -> float:
    """A positive lower bound of the denominator over all designs that are no worse than ``now`` (0: none known)."""
    known = max(least_goal / now if now > 0 else 0.0, ABOVE_ZERO)
    if lost >= -CLOSE_RATIO * now * known:
        return known
    return max(highs.minimise(divisible(n), under).bound, known)


def face(best: Result) -> Numbers:
    """The optimal designs of a linear program, exactly: what has a multiplier holds as an equality."""
    n, y, cost = best.numbers, best.multipliers, best.cost
    assert n is not None, "only an optimum has a face"
    assert y is not None, "only an LP's optimum has a face"
    assert cost is not None, "only an optimum has a face"
    assert best.u is not None, "only an optimum has a face"
    size = np.abs(cost[:-1]) + np.abs(y) @ np.abs(n.rows[:, :-1])
    reduced = cost[:-1] + y @ n.rows[:, :-1]
    held = np.abs(reduced) > 1e-7 * np.where(size > 0, size, 1.0)
    # of each column, since each has a unit of its own
    tight = n.equal | (y[:, None] * np.abs(n.rows[:, :-1]) > 1e-9 * np.maximum(size, ABOVE_ZERO)).any(axis=1)
    at = best.u[:-1]
    return replace(n, equal=tight, low=np.where(held, at, n.low), high=np.where(held, at, n.high))
