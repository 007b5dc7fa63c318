"""A structured problem as arrays in log variables: what the interior-point kernel and the branching work on.

Row k reads F_k(y) = log N_k(exp y) - log D_k(exp y) <= 0 (row 0: the goal). Monomial divisors are folded into N.
A divisor that is a sum keeps log D = base . y + h(z), with h convex in a few linear forms z = forms @ y: on a box of z
its secant is a monomial above D (a relaxation), its tangent a monomial below D (a restriction).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.system.arrays import Array, Indices
from dse.system.records import dataclass
from formulations.arithmetics.many import plain
from formulations.arithmetics.maxima import SIDE, log_ends
from formulations.arithmetics.posynomial import Posynomial
from formulations.cuts import cuts
from formulations.problem import Goal, Problem, Row, Variable, farther
from formulations.row_keys import RowKey

BOX_MARGIN = 0.5
LOG_BOX = 690.0
GOAL = "the goal"
LEAST_PART = 1e-290
ONE_BY_ONE = 7
"""Numbers that are added up one after the other, by arrays along an axis too."""


def along_last(made: np.ufunc, values: Array) -> Array:
    """Reduce along a short last axis: several times as fast one after the other, and to the same bits."""
    if not 0 < values.shape[-1] <= ONE_BY_ONE:
        return np.asarray(made.reduce(values, axis=-1))
    found = values[..., 0]
    for k in range(1, values.shape[-1]):
        found = made(found, values[..., k])
    return np.asarray(found)


@dataclass(frozen=True, slots=True)
class Divisor:
    """A row's divisor that is a sum: log D = base . y + log sum exp(logc + coordinates @ z).

    ``part``: of the same in many worlds (N, W, t), in parts of exp(logc) (N, 1, t): then no world needs exponentials.
    """

    row: int
    base: Array
    coordinates: Array
    logc: Array
    part: Array | None = None

    def _terms(self, z: Array) -> tuple[Array, Array, Array]:
        """Terms (..., t) at z, their sum (...), and the logarithm that both are parts of."""
        t = self.logc + np.einsum("...q,tq->...t", z, self.coordinates)
        top = along_last(np.maximum, t)
        terms = np.exp(t - top[..., None])
        if self.part is None:
            return terms, along_last(np.add, terms), top
        terms = self.part * terms
        # what floats cannot tell from nothing counts as more, as secants may
        return terms, np.maximum(along_last(np.add, terms), LEAST_PART), top

    def height(self, z: Array) -> Array:
        """h(z) for z of shape (..., q)."""
        _, total, top = self._terms(z)
        return np.asarray(top + np.log(total))

    def shares(self, z: Array) -> tuple[Array, Array]:
        """Parts (..., t) that the terms have in their sum at z, and h(z)."""
        terms, total, top = self._terms(z)
        return np.asarray(terms / total[..., None]), np.asarray(top + np.log(total))

    def slope(self, z: Array) -> Array:
        """Gradient of h at z, shape (..., q)."""
        return np.asarray(np.einsum("...t,tq->...q", self.shares(z)[0], self.coordinates))

    def secant(self, z_low: Array, z_high: Array) -> tuple[Array, Array]:
        """Slope (..., q) and height at 0 (...) of an affine function that is above h on z_low..z_high (..., q)."""
        mid, half = (z_low + z_high) / 2, (z_high - z_low) / 2
        active, corners = [i for i in range(mid.shape[-1]) if np.any(self.coordinates[:, i])], []
        for signs in itertools.product((-1.0, 1.0), repeat=len(active)):
            corner = mid.copy()
            corner[..., active] += np.array(signs) * half[..., active]
            corners.append((corner, self.height(corner)))
        wide, rises = half > 1e-9, []
        narrow = None if wide.all() else self.slope(mid)
        for i in range(mid.shape[-1]):
            step = np.zeros_like(mid)
            step[..., i] = half[..., i]
            # of one form the ends are the corners
            few = len(active) == mid.shape[-1] == 1
            ends = [h for _, h in corners] if few else [self.height(z) for z in (mid - step, mid + step)]
            with np.errstate(divide="ignore", invalid="ignore"):
                rise = (ends[1] - ends[0]) / (2 * half[..., i])
            rises.append(rise if narrow is None else np.where(wide[..., i], rise, narrow[..., i]))
        slope = np.stack(rises, axis=-1)
        cuts = [height - along_last(np.add, slope * corner) for corner, height in corners]
        return slope, np.maximum.reduce(cuts)

    def tangent(self, z: Array) -> tuple[Array, Array]:
        """Slope (..., q) and height at 0 (...) of the affine function that touches h at z (..., q) from below."""
        slope = self.slope(z)
        return slope, self.height(z) - along_last(np.add, slope * z)


@dataclass(frozen=True, slots=True)
class Canonical:
    """The arrays of a problem at N points; ``allowed``: logarithms of each discrete variable's list (None: all whole).

    Coefficients (N, K), boxes (N, n) and divisors' terms (N, t): one point is N = 1.

    ``tighter``: the same problem with rows that follow from its own and one more variable, the goal, at the end; its
    relaxations are better, its multipliers mean nothing. ``own``: there, how many rows a design must meet.
    """

    names: tuple[str, ...]
    exponents: Array
    logc: Array
    ptr: Indices
    keys: tuple[RowKey, ...]
    low: Array
    high: Array
    divisors: tuple[Divisor, ...]
    forms: Array
    allowed: Mapping[int, Array | None]
    tighter: Canonical | None = None
    own: int = 1 << 30

    @property
    def row_of_term(self) -> Indices:
        """Row number of each term."""
        return np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr))


def canonical(
    problem: Problem,
    goal: Goal | None,
    *,
    extra: Sequence[Row] = (),
    drop: frozenset[str] = frozenset(),
    relax_sets: bool = True,
    shape: tuple[int, ...] = (),
) -> Canonical:
    """Arrays for a goal over the problem's rows; ``shape``: see ``arrays``.

    ``extra``: more rows. ``drop``: limits of the problem left out by name; a dropped variable name
    loses its bounds and, unless ``relax_sets`` is False, its integrality.
    """
    assert problem.rows is not None, "only structured problems have arrays"
    rows = [*(r for r in problem.rows if r.key.name not in drop), *extra]
    names = tuple(v.name for v in problem.variables)
    one = Posynomial({(): 1.0})
    pairs = [(goal.numerator, goal.denominator) if goal else (one, one)]
    pairs += [(r.numerator, r.denominator) for r in rows]
    low, high, allowed = boxes(problem.variables, shape, drop=drop, relax_sets=relax_sets)
    keys = tuple(r.key for r in rows)
    c = arrays(names, pairs, keys, low, high, allowed, shape)
    if c.divisors and not shape and any(v.auxiliary for v in problem.variables):
        return dataclasses.replace(c, tighter=_tighter(c, pairs))
    return c


def arrays(
    names: tuple[str, ...],
    pairs: Sequence[tuple[Posynomial, Posynomial]],
    keys: tuple[RowKey, ...],
    low: Array,
    high: Array,
    allowed: Mapping[int, Array | None],
    shape: tuple[int, ...] = (),
) -> Canonical:
    """Write ratios of posynomials as arrays; ``shape``: of a block of points (none: a single one)."""
    exponents, logc, ptr, sums = tables(pairs, names, shape)
    forms, coordinates = linear_forms([a for _, a, _ in sums], len(names))
    divisors = tuple(Divisor(k, a[0], c, b) for (k, a, b), c in zip(sums, coordinates, strict=True))
    return Canonical(names, exponents, logc, ptr, keys, low, high, divisors, forms, allowed)


def _tighter(c: Canonical, pairs: Sequence[tuple[Posynomial, Posynomial]]) -> Canonical | None:
    """The problem with its cuts; None where there are none."""
    for_goal, for_rows = cuts(pairs[0], pairs[1:], c.names)
    if not for_goal and not for_rows:
        return None
    value = Posynomial({((GOAL, 1.0),): 1.0})
    one = Posynomial({(): 1.0})
    held = [(top, bottom * value) for top, bottom in (pairs[0], *for_goal)]
    rows = [*pairs[1:], *held, *for_rows]
    keys = (*c.keys, *(RowKey(f"cut {i}", SIDE) for i in range(len(rows) - len(c.keys))))
    box = dict(zip(c.names, zip(c.low[0], c.high[0], strict=True), strict=True))
    ends = [log_ends(p, box) for p in pairs[0]]
    least, most = ends[0][0] - ends[1][1] - BOX_MARGIN, ends[0][1] - ends[1][0] + BOX_MARGIN
    low, high = (np.append(c.low, [[max(least, -LOG_BOX)]], 1), np.append(c.high, [[min(most, LOG_BOX)]], 1))
    wider = arrays((*c.names, GOAL), [(value, one), *rows], keys, low, high, c.allowed)
    return dataclasses.replace(wider, own=len(pairs))


def tables(
    pairs: Sequence[tuple[Posynomial, Posynomial]], names: tuple[str, ...], shape: tuple[int, ...] = ()
) -> tuple[Array, Array, Indices, list[tuple[int, Array, Array]]]:
    """Rows of terms: exponents (K, n), log coefficients (N, K), where each row begins.

    And of the rows whose divisors are sums: which they are, and the terms of these.
    """
    exponents, logc, sizes, sums = [], [], [0], []
    for k, (top, bottom) in enumerate(pairs):
        a, b = _exponents_and_logs(top, names, shape)
        d, e = _exponents_and_logs(bottom, names, shape)
        if len(d) == 1:
            a, b = a - d[0], b - e
        else:
            sums.append((k, d, e))
        exponents.append(a)
        logc.append(b)
        sizes.append(len(a))
    return np.concatenate(exponents), np.concatenate(logc, axis=-1), np.cumsum(sizes), sums


def _exponents_and_logs(
    p: Posynomial, names: tuple[str, ...], shape: tuple[int, ...] = ()
) -> tuple[Array, Array]:
    place = {v: i for i, v in enumerate(names)}
    a = np.zeros((len(p.terms), len(names)))
    for j, key in enumerate(p.terms):
        for v, e in key:
            a[j, place[v]] = e
    if not shape:
        return a, np.log(np.array([list(p.terms.values())], dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.broadcast_to(np.log(plain(c)), shape).ravel() for c in p.terms.values()]
    return a, np.stack(logs, axis=-1) if logs else np.zeros((math.prod(shape), 0))


def linear_forms(blocks: Sequence[Array], n: int) -> tuple[Array, list[Array]]:
    """A small basis of linear forms that all exponent differences within each divisor are made of.

    Reduced row echelon form, so that single variables stay single wherever that is possible.
    """
    if not blocks:
        return np.zeros((0, n)), []
    differences = np.concatenate([a - a[0] for a in blocks])
    basis: list[Array] = []
    pivots: list[int] = []
    rest = differences.copy()
    for column in range(n):
        i = int(np.abs(rest[:, column]).argmax())
        if abs(rest[i, column]) < 1e-9:
            continue
        row = rest[i] / rest[i, column]
        rest = rest - np.outer(rest[:, column], row)
        basis = [b - b[column] * row for b in basis]
        basis.append(row)
        pivots.append(column)
    forms = np.where(np.abs(np.array(basis)) < 1e-12, 0.0, np.array(basis))
    return forms, [(a - a[0])[:, pivots] for a in blocks]


def boxes(
    variables: Sequence[Variable],
    shape: tuple[int, ...] = (),
    *,
    drop: frozenset[str] = frozenset(),
    relax_sets: bool = True,
    far: bool = False,
) -> tuple[Array, Array, dict[int, Array | None]]:
    """Logarithmic boxes (N, n) of a block of points, and the logarithms of listed values (see ``Canonical``).

    ``drop``, ``relax_sets``: as in ``canonical``. ``far``: ends that are only there to have a box far away.
    """
    ends = np.empty((2, *shape, len(variables)))
    allowed: dict[int, Array | None] = {}
    for i, v in enumerate(farther(variables) if far else variables):
        d, dropped = v.decision, v.name in drop
        least = None if d.minimum is None or not np.all(np.asarray(d.minimum) > 0) else d.minimum
        divided = v.divided_low if dropped and relax_sets else None
        lo: Any = np.log(v.low if divided is None else divided)
        hi: Any = np.log(v.high)
        if least is not None:
            below = np.log(least)
            lo = np.minimum(lo, below) if dropped else np.maximum(np.minimum(lo, below), below - BOX_MARGIN)
        if d.maximum is not None and np.all(np.asarray(d.maximum) > 0):
            above = np.log(d.maximum)
            hi = np.maximum(hi, above) if dropped else np.minimum(np.maximum(hi, above), above + BOX_MARGIN)
        if v.discrete and not (dropped and relax_sets):
            user: Any = (None, None) if dropped else (d.minimum, d.maximum)
            lo, hi, allowed[i] = _discrete(v, lo, hi, *user)
        ends[0, ..., i], ends[1, ..., i] = np.maximum(lo, -LOG_BOX), np.minimum(hi, LOG_BOX)
    low, high = ends.reshape(2, math.prod(shape), len(variables))
    return low, high, allowed


def _discrete(v: Variable, lo: Any, hi: Any, least: Any, most: Any) -> tuple[Any, Any, Array | None]:
    """Logarithms of the least and greatest value that a discrete variable may have, and of those listed."""
    least, most = 0.0 if least is None else least, math.inf if most is None else most
    if v.decision.values is None:
        first = np.maximum(1.0, np.ceil(np.maximum(least, np.exp(lo)) - 1e-9))
        last = np.floor(np.minimum(most, np.exp(hi)) * (1 + 1e-12) + 1e-9)
        return np.log(first), np.log(np.maximum(first, last)), None
    values = np.array(v.decision.values, dtype=float)
    a = np.searchsorted(values, np.asarray(least) * (1 - 1e-12))
    b = np.searchsorted(values, np.asarray(most) * (1 + 1e-12), side="right") - 1
    logs, none, end = np.log(values), a > b, values.size - 1
    return logs[np.where(none, 0, np.minimum(a, end))], logs[np.where(none, end, np.maximum(b, 0))], logs


def si_values(v: Variable, y: Array) -> Array:
    """SI values of a variable; discrete ones exactly."""
    if not v.discrete:
        return np.exp(y)
    if v.decision.values is None:
        return np.asarray(np.round(np.exp(y)))
    values = np.array(v.decision.values)
    logs = np.log(values)
    place = np.searchsorted((logs[1:] + logs[:-1]) / 2, np.where(np.isnan(y), logs[0], y))
    return np.where(np.isnan(y), np.nan, values[place])


def relaxation(c: Canonical, z_low: Array, z_high: Array) -> tuple[Array, Array, Indices]:
    """Arrays (N, K, n), (N, K), ptr with each divisor replaced by a monomial above it on z_low..z_high (N, q).

    Forms of several variables bring their interval as rows of their own, after the problem's rows.
    """
    a, b = _divide(c, len(z_low), [d.secant(z_low, z_high) for d in c.divisors])
    for k in np.flatnonzero((c.forms != 0).sum(1) > 1):
        sides = np.broadcast_to(np.stack([c.forms[k], -c.forms[k]]), (len(z_low), 2, c.forms.shape[1]))
        a = np.concatenate([a, sides], axis=1)
        b = np.concatenate([b, -z_high[:, [k]], z_low[:, [k]]], axis=1)
    more = np.arange(1, b.shape[1] - c.logc.shape[-1] + 1)
    return a, b, np.concatenate([c.ptr, c.ptr[-1] + more])


def restriction(c: Canonical, y: Array) -> tuple[Array, Array]:
    """Arrays with each divisor replaced by its tangent monomial at y (N, n); their points hold the true rows.

    Exponents are (N, K, n), without divisors (K, n).
    """
    if not c.divisors:
        return c.exponents, np.broadcast_to(c.logc, (len(y), c.logc.shape[-1]))
    z = np.einsum("pi,qi->pq", y, c.forms)
    return _divide(c, len(y), [d.tangent(z) for d in c.divisors])


def _divide(c: Canonical, count: int, lines: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    a = np.broadcast_to(c.exponents, (count, *c.exponents.shape)).copy()
    b = np.broadcast_to(c.logc, (count, c.logc.shape[-1])).copy()
    for d, (slope, cut) in zip(c.divisors, lines, strict=True):
        rows = slice(c.ptr[d.row], c.ptr[d.row + 1])
        a[:, rows] -= (d.base + np.einsum("pq,qi->pi", slope, c.forms))[:, None, :]
        b[:, rows] -= cut[:, None]
    return a, b


def forms_held(c: Canonical, y: Array) -> Canonical:
    """Arrays of many points, right where the forms of their divisors have the values that they have at y (N, n)."""
    exponents, logc = c.exponents.copy(), c.logc.copy()
    z = np.einsum("pi,qi->pq", y, c.forms)
    for d in c.divisors:
        rows = slice(c.ptr[d.row], c.ptr[d.row + 1])
        exponents[rows] -= d.base
        logc[:, rows] -= d.height(z)[:, None]
    none = np.zeros((0, c.forms.shape[1]))
    return dataclasses.replace(c, exponents=exponents, logc=logc, divisors=(), forms=none, tighter=None)


def values(c: Canonical, y: Array) -> Array:
    """F_k at points y (N, n): (N, m+1), the true functions with their true divisors."""
    # a BLAS product over all points adds up in an order that depends on how many there are
    t = c.logc + np.einsum("pi,ki->pk", y, c.exponents)
    top = np.maximum.reduceat(t, c.ptr[:-1], axis=1)
    f = top + np.log(np.add.reduceat(np.exp(t - top[:, c.row_of_term]), c.ptr[:-1], axis=1))
    z = np.einsum("pi,qi->pq", y, c.forms)
    for d in c.divisors:
        f[:, d.row] -= np.einsum("pi,i->p", y, d.base) + d.height(z)
    return np.asarray(f)


def form_box(c: Canonical, low: Array, high: Array) -> tuple[Array, Array]:
    """The interval of every form over boxes low..high of shape (N, n)."""
    up, down = np.maximum(c.forms, 0.0), np.minimum(c.forms, 0.0)
    ends = [
        np.einsum("pi,qi->pq", a, up) + np.einsum("pi,qi->pq", b, down) for a, b in ((low, high), (high, low))
    ]
    return ends[0], ends[1]
