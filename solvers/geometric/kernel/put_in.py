"""Programs in which most variables are only as large as rows make them, as maxima are: these rows put in for them.

A variable v that pulls one way only, but in rows ``p(x) <= v`` of its own, is at best the largest of these p and of the
low end of its box (or the other way round the smallest). A policy says which one; put in for every v it leaves a
program of few variables. With any policy v is not too large, so that the program is a relaxation; rows under several
policies side by side are one as well. At the design that comes out the largest p are the policy that is added next: the
true rows are convex, and the policy is true there and next to it. What is found is judged by the rows as they stood,
with the multipliers that follow from the Lagrangian function being flat in every v; what is not proved that way is left
to the kernel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from dse.system.arrays import Array, Indices, Integers
from dse.system.records import dataclass
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.formulas import ANY
from solvers.geometric.kernel.gp_terms import LOG_ZERO, Terms, terms
from solvers.patterns import Rows

NARROWER = 3
"""So many times fewer variables there have to be: several programs are solved in place of one."""
POLICIES = 8
"""Of one program: most settle after two or three."""
MOST_EXPONENTS = 64
"""Exponents that the terms of a row may have under all policies together."""
MOST_PUT_IN = 4096
"""Terms of a row with all that is put in: more take longer to write down than the whole program takes."""
DIGITS_OF_EXPONENTS = 9
"""Digits by which exponents are told apart."""
BEYOND_ANY_GOAL = 1e4
"""In logs: what no goal reaches."""

Exponents = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """A row in what is left: exponents ``kinds`` (k, left), and what adds up to their coefficients.

    Each part is a ``term`` with one kind of each variable that is put in (``put``: which, where, to which power, and
    the kind); parts of one kind stand together, ``begins`` at these places, and make the kinds ``some``.
    """

    kinds: Array
    term: Indices
    put: tuple[tuple[int, Indices, Array, Indices], ...]
    begins: Indices
    some: Indices


@dataclass(frozen=True, slots=True)
class _Held:
    """A variable that ``rows`` hold: ``sign`` 1 from below, -1 from above; to which ``power`` it stands in each."""

    variable: int
    sign: int
    rows: tuple[int, ...]
    power: Array
    forms: tuple[_Form, ...] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What can be put in, in an order in which each needs earlier ones only; variables and rows that are left.

    ``moving``: which of the rows change with the policy, the goal first.
    """

    held: tuple[_Held, ...]
    left: Indices
    rows: tuple[int, ...]
    forms: tuple[_Form, ...]
    moving: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class _Policy(Rows):
    """Which row each variable stands at, of N points (N, held): its place, or how many there are for the box's end.

    ``coefficients`` (N, all kinds): logs of those of what is left, row after row.
    """

    chosen: Indices
    coefficients: Array


def solve(
    kernel: Callable[..., gp.Result],
    A: Array,
    logc: Array,
    ptr: Integers,
    lo: Array,
    hi: Array,
    **how: Any,
) -> gp.Result:
    """Solve N programs as ``kernel`` does, smaller ones where few variables are left once the others are put in."""
    plan = _plan(A.tobytes(), A.shape, np.asarray(ptr, np.int64).tobytes()) if A.ndim == 2 else None
    if plan is None or not len(logc):
        return kernel(A, logc, ptr, lo, hi, **how)
    found = gp.nothing(len(logc), A.shape[1], len(ptr) - 2)
    with np.errstate(all="ignore"):
        rest = _put_proved(found, kernel, plan, terms(A, logc, ptr), lo, hi, how)
    if rest.size:
        found.put(rest, kernel(A, logc[rest], ptr, lo[rest], hi[rest], **_of(how, rest)))
    return found


def _of(how: Mapping[str, Any], points: Indices) -> dict[str, Any]:
    return {name: value[points] if isinstance(value, np.ndarray) else value for name, value in how.items()}


def _put_proved(
    found: gp.Result,
    kernel: Callable[..., gp.Result],
    plan: _Plan,
    T: Terms,
    lo: Array,
    hi: Array,
    how: Mapping[str, Any],
) -> Indices:
    """Put what policies prove into place; returns the points of which they do not."""
    points, policies, given_up = np.arange(len(lo)), list[_Policy](), []
    tol, enough = how.get("tol", 1e-9), how.get("enough")
    chosen = _values(plan, T, lo, hi, (lo + hi) / 2)[1]
    for _ in range(POLICIES):
        own, low, high = T.take(points), lo[points], hi[points]
        policies.append(_policy(plan, own, low, high, chosen))
        r, copies = _relaxed(kernel, plan, policies, low, high, _of(how, points))
        y = np.zeros(low.shape)
        y[:, plan.left] = r.y[:, : plan.left.size]
        y, chosen = _values(plan, own, low, high, y)
        # with the policy that is the right one the kernel has had its try
        ends = np.any([(p.chosen == chosen).all(1) for p in policies], axis=0) | (r.status != gp.OPTIMAL)
        good, some = ends.copy(), np.flatnonzero(ends | (tol >= ANY) | (enough is not None))
        told = [p.take(some) for p in policies]
        judged = _judged(
            plan, own.take(some), told, copies, low[some], high[some], r.take(some), y[some], tol
        )
        good[some] = judged.status != gp.FAILED
        if enough is not None:
            good[some] |= judged.bound >= enough[points[some]]
        found.put(points[some[good[some]]], judged.take(good[some]))
        given_up.append(points[ends & ~good])
        keep = np.flatnonzero(~ends & ~good)
        points, policies, chosen = points[keep], [p.take(keep) for p in policies], chosen[keep]
        if not points.size:
            break
    return np.sort(np.concatenate([*given_up, points]))


@lru_cache(maxsize=64)
def _plan(exponents: bytes, shape: tuple[int, int], offsets: bytes) -> _Plan | None:
    """What can be put in; None unless few variables are left."""
    A, ptr = np.frombuffer(exponents).reshape(shape), np.frombuffer(offsets, np.int64)
    held, needs, taken = list[_Held](), dict[int, set[int]](), {0}
    # those that stand for maxima come behind the others
    for v, sign in itertools.product(reversed(range(shape[1])), (1, -1)):
        own = None if v in needs else _rows_that_hold(A, ptr, v, sign)
        if own is None or not taken.isdisjoint(own.rows):
            continue
        others = {int(i) for k in own.rows for i in np.flatnonzero(A[ptr[k] : ptr[k + 1]].any(0))} - {v}
        every = others.union(*(needs[i] for i in others if i in needs))
        if v not in every:
            needs = {i: want | every if v in want else want for i, want in needs.items()} | {v: every}
            taken.update(own.rows)
            held.append(own)
    left = np.array([v for v in range(shape[1]) if v not in needs], np.intp)
    if NARROWER * left.size > shape[1]:
        return None
    # whoever is needed needs less
    held.sort(key=lambda h: len(needs[h.variable] & needs.keys()))
    reach: dict[int, list[Exponents]] = {}
    made = []
    for h in held:
        if any(_count(A, ptr, k, reach) > MOST_PUT_IN for k in h.rows):
            return None
        said = [_parts(A, ptr, k, left, reach, h, -1.0 / q) for k, q in zip(h.rows, h.power, strict=True)]
        reach[h.variable] = sorted({(0.0,) * left.size}.union(*said))
        if len(reach[h.variable]) > MOST_EXPONENTS:
            return None
        made.append(replace(h, forms=tuple(_form(A, parts, reach[h.variable]) for parts in said)))
    rows = tuple(k for k in range(ptr.size - 1) if k == 0 or k not in taken)
    if any(_count(A, ptr, k, reach) > MOST_PUT_IN for k in rows):
        return None
    every_row = [_parts(A, ptr, k, left, reach) for k in rows]
    if max(map(len, every_row)) > MOST_EXPONENTS:
        return None
    forms = tuple(_form(A, parts, sorted(parts)) for parts in every_row)
    moving = tuple(bool(form.put) for form in forms)
    return (
        None
        if NARROWER * (left.size + moving[0]) > shape[1]
        else _Plan(tuple(made), left, rows, forms, moving)
    )


def _rows_that_hold(A: Array, ptr: Integers, v: int, sign: int) -> _Held | None:
    """The rows that hold a variable from below (``sign`` 1) or from above, if it pulls one way only in all others."""
    counts = np.diff(ptr)
    row = np.repeat(np.arange(counts.size), counts)
    rows = np.unique(row[sign * A[:, v] < 0])
    power = A[ptr[rows], v]
    own = np.isin(row, rows)
    if not rows.size or (A[own, v] != np.repeat(power, counts[rows])).any():
        return None
    # only of sums that stand as they are the powers are sums
    others = A[~own, v]
    summed = (counts[rows] > 1).any() and (
        (power != power[0]).any() or (others[others != 0] != -power[0]).any()
    )
    return None if summed else _Held(v, sign, tuple(map(int, rows)), power)


Parts = dict[Exponents, list[tuple[int, tuple[tuple[int, int], ...]]]]
"""By exponents of what is left: terms, each with a kind of every variable that is put in."""


def _count(A: Array, ptr: Integers, k: int, reach: Mapping[int, Sequence[Exponents]]) -> int:
    """How many parts a row has at most: of each term one for all kinds of what is put in."""
    return sum(math.prod(len(reach[v]) for v in reach if A[j, v]) for j in range(ptr[k], ptr[k + 1]))


def _parts(
    A: Array,
    ptr: Integers,
    k: int,
    left: Indices,
    reach: Mapping[int, Sequence[Exponents]],
    own: _Held | None = None,
    scale: float = 1.0,
) -> Parts:
    """The parts of a row, or of what it says of its ``own`` variable."""
    found: Parts = {}
    for j in range(ptr[k], ptr[k + 1]):
        inside = [v for v in reach if A[j, v] and (own is None or v != own.variable)]
        for kinds in itertools.product(*(range(len(reach[v])) for v in inside)):
            put = tuple(zip(inside, kinds, strict=True))
            more = sum((A[j, v] * np.array(reach[v][i]) for v, i in put), A[j, left])
            exponents = tuple(np.round(more * scale, DIGITS_OF_EXPONENTS) + 0.0)
            found.setdefault(exponents, []).append((j, put))
    return found


def _form(A: Array, parts: Parts, kinds: Sequence[Exponents]) -> _Form:
    """The parts of a row as arrays."""
    some = sorted(parts)
    every = [part for kind in some for part in parts[kind]]
    put = []
    for v in dict.fromkeys(v for _, inside in every for v, _ in inside):
        places = [(at, j, dict(inside)[v]) for at, (j, inside) in enumerate(every) if v in dict(inside)]
        at, terms_there, kind = (np.array(x) for x in zip(*places, strict=True))
        put.append((v, at, A[terms_there, v], kind))
    return _Form(
        np.array(kinds).reshape(len(kinds), -1),
        np.array([j for j, _ in every]),
        tuple(put),
        np.cumsum([0, *(len(parts[kind]) for kind in some[:-1])]),
        np.array([kinds.index(kind) for kind in some]),
    )


def _values(
    plan: _Plan, T: Terms, lo: Array, hi: Array, y: Array, chosen: Indices | None = None
) -> tuple[Array, Indices]:
    """The designs with all that is put in as large as has to be, or as rows ``chosen`` have it; and what is chosen."""
    y, found = y.copy(), np.zeros((len(y), len(plan.held)), np.intp)
    for i, h in enumerate(plan.held):
        end = lo[:, h.variable] if h.sign > 0 else hi[:, h.variable]
        y[:, h.variable] = 0.0
        heights = [_height(T, y, k) / -q for k, q in zip(h.rows, h.power, strict=True)]
        every = np.stack([*heights, end])
        found[:, i] = (h.sign * every).argmax(0) if chosen is None else chosen[:, i]
        y[:, h.variable] = np.take_along_axis(every, found[None, :, i], axis=0)[0]
    return y, found


def _height(T: Terms, y: Array, k: int) -> Array:
    """The value of a row."""
    own = T.row_of == k
    z = T.logc[:, own] + np.einsum("pn,jn->pj", y, T.A[own])
    top = z.max(1)
    return np.asarray(top + np.log(np.add.reduceat(np.exp(z - top[:, None]), [0], axis=1)[:, 0]))


def _policy(plan: _Plan, T: Terms, lo: Array, hi: Array, chosen: Indices) -> _Policy:
    """What is left of the rows with what is chosen put in."""
    logs: dict[int, Array] = {}
    for i, h in enumerate(plan.held):
        end = lo[:, h.variable] if h.sign > 0 else hi[:, h.variable]
        kinds = h.forms[0].kinds
        own = np.where(kinds.any(1), h.sign * LOG_ZERO, end[:, None])
        for place, (form, q) in enumerate(zip(h.forms, h.power, strict=True)):
            own = np.where(chosen[:, [i]] == place, _coefficients(form, T, logs) / -q, own)
        logs[h.variable] = own
    return _Policy(chosen, np.concatenate([_coefficients(form, T, logs) for form in plan.forms], axis=1))


def _coefficients(form: _Form, T: Terms, logs: Mapping[int, Array]) -> Array:
    """Log coefficients (N, kinds) of a row; LOG_ZERO for those that it does not have."""
    z = T.logc[:, form.term]
    for v, at, power, kind in form.put:
        z[:, at] += power * logs[v][:, kind]
    top = np.maximum.reduceat(z, form.begins, axis=1)
    counts = np.diff([*form.begins, form.term.size])
    total = np.add.reduceat(np.exp(z - np.repeat(top, counts, axis=1)), form.begins, axis=1)
    found = np.full((len(z), len(form.kinds)), LOG_ZERO)
    found[:, form.some] = np.maximum(top + np.log(total), LOG_ZERO)
    return found


def _relaxed(
    kernel: Callable[..., gp.Result],
    plan: _Plan,
    policies: Sequence[_Policy],
    lo: Array,
    hi: Array,
    how: Mapping[str, Any],
) -> tuple[gp.Result, list[tuple[int, int]]]:
    """Solve the programs of these policies; also which row under which policy each of their rows is, the goal first.

    A goal that changes with the policy becomes the least value that is above it under all of them.
    """
    above, n = plan.moving[0], plan.left.size
    copies = [(i, p) for i, moves in enumerate(plan.moving) for p in range(len(policies) if moves else 1)]
    begins = np.cumsum([0, *(len(form.kinds) for form in plan.forms)])
    exponents = [
        np.column_stack([plan.forms[i].kinds, np.full(len(plan.forms[i].kinds), -float(i == 0))])
        for i, _ in copies
    ]
    logc = [policies[p].coefficients[:, begins[i] : begins[i + 1]] for i, p in copies]
    far = np.full((len(lo), 1), BEYOND_ANY_GOAL * above)
    low, high = np.column_stack([lo[:, plan.left], -far]), np.column_stack([hi[:, plan.left], far])
    if above:
        exponents, logc = [np.eye(n + 1)[-1:], *exponents], [np.zeros((len(lo), 1)), *logc]
    # one variable at least, if one that stands still
    ptr, width = np.cumsum([0, *map(len, exponents)]), max(n + above, 1)
    table = np.ascontiguousarray(np.concatenate(exponents)[:, :width])
    return kernel(table, np.concatenate(logc, axis=1), ptr, low[:, :width], high[:, :width], **how), copies


def _judged(
    plan: _Plan,
    T: Terms,
    policies: Sequence[_Policy],
    copies: Sequence[tuple[int, int]],
    lo: Array,
    hi: Array,
    r: gp.Result,
    y: Array,
    tol: float,
) -> gp.Result:
    """What the programs of policies prove of those that stood before, at the designs y where they ended.

    Where there is no design, with what is put in as large as these policies have it.
    """
    (count, n), none = lo.shape, r.status == gp.INFEASIBLE
    lam, box = np.zeros((len(T.starts), count)), np.zeros((2, count, n))
    box[0][:, plan.left] = r.lower_multipliers[:, : plan.left.size]
    box[1][:, plan.left] = r.upper_multipliers[:, : plan.left.size]
    shares = r.multipliers if plan.moving[0] else np.column_stack([np.ones(count), r.multipliers])
    shares = np.where(none[:, None] & [i == 0 for i, _ in copies], 0.0, shares)
    every = [_values(plan, T, lo, hi, y, p.chosen)[0] for p in policies]
    for p, (policy, at) in enumerate(zip(policies, every, strict=True)):
        weights, own, force = T.at(at)[1], np.zeros(lam.shape), np.zeros((n, count))
        for (i, which), share in zip(copies, shares.T, strict=True):
            if which == p:
                own[plan.rows[i]] = share
                _push(T, weights, plan.rows[i], share, force)
        for i, h in reversed([*enumerate(plan.held)]):
            pull = np.maximum(h.sign * force[h.variable], 0.0)
            for place, (k, q) in enumerate(zip(h.rows, h.power, strict=True)):
                own[k] = np.where(policy.chosen[:, i] == place, pull / np.abs(q), 0.0)
                _push(T, weights, k, own[k], force)
            box[int(h.sign < 0)][:, h.variable] += np.where(policy.chosen[:, i] == len(h.rows), pull, 0.0)
        lam += own
    for h in plan.held:
        farthest = h.sign * np.max([h.sign * at[:, h.variable] for at in every], axis=0)
        y[:, h.variable] = np.where(none, farthest, y[:, h.variable])
    ends, limits = np.concatenate([*box], axis=1), np.ascontiguousarray(lam[1:].T)
    return gp.judged(T, lo, hi, y, limits, ends, none, np.zeros(count), r.iterations, r.penalised, tol)


def _push(T: Terms, weights: Array, k: int, by: Array, force: Array) -> None:
    """Add to the slopes (n, N) of the Lagrangian function those of a row that counts for so much."""
    own = np.flatnonzero(T.row_of == k)
    for v in np.flatnonzero(T.A[own].any(0)):
        force[v] += by * np.einsum("pj,j->p", weights[:, own], T.A[own, v])
