"""Ratios of sums with what divides without a remainder taken out: secants then miss the remainder only.

Energy over time is the example. Energy holds the leakage power times the time, so that N/D = m + R/D with posynomials m
and R. With one more variable t,

    N/D <= 1   if and only if   m + R/t <= 1  and  t <= D  for some t.

A secant of log D that lies w above it makes the relaxation of the left side too small by w, of the right side by w
times the share of R/t in m + R/t. Where the ratio hardly depends on the design that share is small.

Other limits with multiples of D (one on energy beside one on power) are there with t in its place, too, since D is such
a t. What conflicts for every t conflicts however far secants lie from D.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.canonical import LOG_BOX, Canonical, Divisor
from formulations.row_keys import RowKey

ALIKE = 1e-9
"""Exponents, and logarithms of coefficients, closer than this are one."""
LEAST = np.log(1e-15)
"""Of a coefficient at least this share stays, so that no row is without terms."""


def taken(c: Canonical) -> Bools:
    """Which of the monomials that divide without a remainder each point of a problem takes out of its rows."""
    nothing = np.zeros((len(c.logc), 1), bool)
    return np.concatenate([nothing, *(q.taken for d in c.divisors for q in _every(c, d))], axis=1)


def made_of(c: Canonical) -> Bools:
    """What ``apart`` goes by at each point: what is ``taken``, and which divisors are the same sums."""
    pairs = itertools.combinations(c.divisors, 2)
    return np.column_stack([taken(c), *(_same_sum(d, other) for d, other in pairs)])


def apart(c: Canonical) -> Canonical:
    """Return the same problem with one more variable, at the end, for each sum that a ratio can be divided by.

    Of many points that ``made_of`` says the same of.
    """
    divided = {d.row: d for d in c.divisors if any(q.taken.any() for q in _every(c, d))}
    if not divided:
        return c
    sums, variable_of = list[Divisor](), dict[int, int]()
    for k, d in divided.items():
        variable_of[k] = next((i for i, s in enumerate(sums) if _same_sum(d, s).all()), len(sums))
        if variable_of[k] == len(sums):
            sums.append(replace(d, base=np.zeros_like(d.base)))
    more, count = len(sums), len(c.logc)
    variables = np.pad(np.eye(more), ((0, 0), (len(c.names), 0)))
    rows = [
        (np.pad(c.exponents[own], ((0, 0), (0, more))), c.logc[:, own])
        for own in map(slice, c.ptr[:-1], c.ptr[1:])
    ]
    for k, d in divided.items():
        i, q = variable_of[k], _quotients(c, k, d)
        # a sum of its own may lack terms
        factor = np.zeros((count, 1)) if sums[i].logc is d.logc else (d.logc - sums[i].logc)[:, :1]
        divisor = np.pad(d.base, (0, more)) + variables[i]
        rows[k] = q.with_rest(rows[k][0] - divisor, q.rest - factor)
    divisors = [replace(d, base=np.pad(d.base, (0, more))) for d in c.divisors if d.row not in divided]
    low, high = [c.low], [c.high]
    for t, s in zip(variables, sums, strict=True):
        divisors.append(replace(s, row=len(rows), base=np.pad(s.base, (0, more))))
        rows.append((t[None], np.zeros((count, 1))))
        for k in _without_divisor(c):
            q = _quotients(c, k, s)
            if q.taken.any():
                rows.append(q.with_rest(rows[k][0], q.rest, times=t))
        least, most = _log_sum_ends(_terms(c, s), s.logc, c)
        low.append(np.maximum(least, -LOG_BOX)[:, None])
        high.append(np.minimum(most, LOG_BOX)[:, None])
    follow = range(len(rows) - len(c.keys) - 1)
    return replace(
        c,
        names=(*c.names, *(f"divisor {i}" for i in range(more))),
        exponents=np.concatenate([a for a, _ in rows]),
        logc=np.concatenate([b for _, b in rows], axis=1),
        ptr=np.cumsum([0, *(len(a) for a, _ in rows)]),
        keys=(*c.keys, *(RowKey(f"divisor row {i}", "model") for i in follow)),
        low=np.concatenate(low, axis=1),
        high=np.concatenate(high, axis=1),
        divisors=tuple(divisors),
        forms=np.pad(c.forms, ((0, 0), (0, more))),
        tighter=None,
    )


def with_divisors(c: Canonical, y: Array) -> Array:
    """Designs (N, n) of a problem as designs of the problem ``c`` that ``apart`` made of it."""
    z = np.einsum("pi,qi->pq", y, c.forms[:, : y.shape[1]])
    own = c.divisors[len(c.divisors) - (len(c.names) - y.shape[1]) :]
    return np.column_stack([y, *(d.height(z) for d in own)])


def _every(c: Canonical, d: Divisor) -> list[_Quotients]:
    """What a divisor takes out of its own row, and of limits without one."""
    return [_quotients(c, k, d) for k in (d.row, *_without_divisor(c))]


def _without_divisor(c: Canonical) -> list[int]:
    """Limits whose divisors are monomials."""
    own = {d.row for d in c.divisors}
    return [k for k in range(1, c.ptr.size - 1) if k not in own]


def _same_sum(d: Divisor, other: Divisor) -> Bools:
    """Whether two divisors are the same sum at each point, but for a monomial factor."""
    alike = d.coordinates.shape == other.coordinates.shape
    if not (alike and (abs(d.coordinates - other.coordinates) < ALIKE).all()):
        return np.zeros(len(d.logc), bool)
    there = np.isfinite(d.logc).all(axis=1) & np.isfinite(other.logc).all(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(there & (np.ptp(d.logc - other.logc, axis=1) < ALIKE))


def _terms(c: Canonical, d: Divisor) -> Array:
    """Exponents (t, n) of a divisor's terms."""
    return np.asarray(d.base + d.coordinates @ c.forms)


@dataclass(frozen=True, slots=True)
class _Quotients:
    """Monomials that a divisor goes into in a row: exponents (q, n), log coefficients (N, q), whether a point takes
    them out of the row (N, q), and the coefficients of what is left of it (N, K).
    """  # noqa: D205

    exponents: Array
    logc: Array
    taken: Bools
    rest: Array

    def with_rest(self, exponents: Array, rest: Array, times: Array | None = None) -> tuple[Array, Array]:
        """Terms of what is taken out, ``times`` a monomial, and of what is left of the row."""
        first = self.taken[0]
        out = np.pad(self.exponents[first], ((0, 0), (0, exponents.shape[1] - self.exponents.shape[1])))
        out = out if times is None else out + times
        return np.concatenate([out, exponents]), np.concatenate([self.logc[:, first], rest], axis=1)


def _quotients(c: Canonical, row: int, d: Divisor) -> _Quotients:
    own = slice(c.ptr[row], c.ptr[row + 1])
    top, rest, below = c.exponents[own], c.logc[:, own].copy(), _terms(c, d)
    found = list(_fitting(top, below))
    logc, takes = np.empty((len(rest), len(found))), np.empty((len(rest), len(found)), bool)
    for i, (_, inside) in enumerate(found):
        with np.errstate(invalid="ignore"):
            share = (rest[:, inside] - d.logc).min(1)
        # what is left of a term that was taken out is not taken
        takes[:, i] = (rest[:, inside] >= c.logc[:, own][:, inside] + LEAST / 2).all(1) & np.isfinite(share)
        share = np.where(takes[:, i], share, 0.0)
        left = np.exp(share[:, None] + d.logc - rest[:, inside])
        rest[:, inside] += np.where(takes[:, i : i + 1], np.log(np.maximum(1.0 - left, np.exp(LEAST))), 0.0)
        logc[:, i] = share
    exponents = np.array([x for x, _ in found]).reshape(len(found), top.shape[1])
    return _Quotients(exponents, logc, takes, rest)


def _fitting(top: Array, below: Array) -> Iterator[tuple[Array, list[int]]]:
    """Monomials whose product with every term of ``below`` is a term of ``top``, and which these are."""
    for a in top:
        x = a - below[0]
        near = np.abs(x + below[:, None] - top).max(2) < ALIKE
        if near.any(1).all():
            yield x, near.argmax(1).tolist()


def _log_sum_ends(exponents: Array, logc: Array, c: Canonical) -> tuple[Array, Array]:
    """Ends of the logarithm of a sum over the boxes, each term at its own."""
    up, down = np.maximum(exponents, 0.0), np.minimum(exponents, 0.0)

    def over_box(at_up: Array, at_down: Array) -> Array:
        # a BLAS product over all points adds up in an order that depends on how many there are
        return np.asarray(logc + np.einsum("pn,tn->pt", at_up, up) + np.einsum("pn,tn->pt", at_down, down))

    low, high = over_box(c.low, c.high), over_box(c.high, c.low)
    return low.max(1), np.asarray(np.logaddexp.reduce(high, axis=1))
