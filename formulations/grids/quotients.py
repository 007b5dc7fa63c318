"""Ratios of sums with what divides without a remainder taken out: secants then miss the remainder only.

Energy over time is the example. Energy holds the leakage power times the time, so that N/D = m + R/D with posynomials m
and R. With one more variable s,

    N/D <= 1   if and only if   m + s <= 1  and  R <= s D  for some s.

A secant of log D that lies w above it makes the relaxation of the left side too small by w, of the right side by w
times the share of s in m + s. Where the ratio hardly depends on the design that share is small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.canonical import BOX_MARGIN, LOG_BOX, Canonical, Divisor
from formulations.row_keys import RowKey

ALIKE = 1e-9
"""Exponents closer than this are one."""
LEAST = np.log(1e-15)
"""Of a coefficient at least this share stays, so that no row is without terms."""


def taken(c: Canonical) -> Bools:
    """Which of the monomials that divide without a remainder each point of a problem takes out of its ratios."""
    nothing = np.zeros((len(c.logc), 1), bool)
    return np.concatenate([nothing, *(_quotients(c, d).taken for d in c.divisors)], axis=1)


def apart(c: Canonical) -> Canonical:
    """Return the same problem with one more variable, at the end, for each ratio that can be divided.

    Of many points that take out the same monomials (see ``taken``).
    """
    found = {d.row: q for d in c.divisors if (q := _quotients(c, d)).taken.any()}
    if not found:
        return c
    n, more, count = len(c.names), len(found), len(c.logc)
    place = {row: n + i for i, row in enumerate(found)}
    rows: list[tuple[Array, Array]] = []
    for k in range(c.ptr.size - 1):
        own = slice(c.ptr[k], c.ptr[k + 1])
        exponents, logc = c.exponents[own], c.logc[:, own]
        if k in found:
            exponents, logc = found[k].exponents[found[k].taken[0]], found[k].logc[:, found[k].taken[0]]
        exponents = np.pad(exponents, ((0, 0), (0, more)))
        if k in found:
            new = np.zeros((1, n + more))
            new[0, place[k]] = 1.0
            exponents, logc = np.concatenate([exponents, new]), np.column_stack([logc, np.zeros(count)])
        rows.append((exponents, logc))
    low, high, divisors = [c.low], [c.high], []
    for d in c.divisors:
        base = np.pad(d.base, (0, more))
        if d.row not in found:
            divisors.append(replace(d, base=base))
            continue
        base[place[d.row]] += 1.0
        rest = found[d.row].rest
        own = slice(c.ptr[d.row], c.ptr[d.row + 1])
        divisors.append(replace(d, row=len(rows), base=base))
        rows.append((np.pad(c.exponents[own], ((0, 0), (0, more))), rest))
        least, most = _log_sum_ends(c.exponents[own], rest, c)
        under, over = _log_sum_ends(_terms(c, d), d.logc, c)
        low.append(np.maximum(least - over - BOX_MARGIN, -LOG_BOX)[:, None])
        high.append(np.minimum(most - under + BOX_MARGIN, LOG_BOX)[:, None])
    return replace(
        c,
        names=(*c.names, *(f"rest {row}" for row in found)),
        exponents=np.concatenate([a for a, _ in rows]),
        logc=np.concatenate([b for _, b in rows], axis=1),
        ptr=np.cumsum([0, *(len(a) for a, _ in rows)]),
        keys=(*c.keys, *(RowKey(f"rest {row}", "model") for row in found)),
        low=np.concatenate(low, axis=1),
        high=np.concatenate(high, axis=1),
        divisors=tuple(divisors),
        forms=np.pad(c.forms, ((0, 0), (0, more))),
    )


def _terms(c: Canonical, d: Divisor) -> Array:
    """Exponents (t, n) of a divisor's terms."""
    return np.asarray(d.base + d.coordinates @ c.forms)


@dataclass(frozen=True, slots=True)
class _Quotients:
    """Monomials that a row's divisor goes into: exponents (q, n), log coefficients (N, q), whether a point takes them
    out of the row (N, q), and the coefficients of what is left of it (N, K).
    """  # noqa: D205

    exponents: Array
    logc: Array
    taken: Bools
    rest: Array


def _quotients(c: Canonical, d: Divisor) -> _Quotients:
    own = slice(c.ptr[d.row], c.ptr[d.row + 1])
    top, rest, below = c.exponents[own], c.logc[:, own].copy(), _terms(c, d)
    found = list(_fitting(top, below))
    logc, takes = np.empty((len(rest), len(found))), np.empty((len(rest), len(found)), bool)
    for i, (_, inside) in enumerate(found):
        share = (rest[:, inside] - d.logc).min(1)
        # what is left of a term that was taken out is not taken
        takes[:, i] = (rest[:, inside] >= c.logc[:, own][:, inside] + LEAST / 2).all(1)
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
