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

from formulations.canonical import BOX_MARGIN, LOG_BOX, Array, Canonical, Divisor
from formulations.row_keys import RowKey

ALIKE = 1e-9
"""Exponents closer than this are one."""
LEAST = np.log(1e-15)
"""Of a coefficient at least this share stays, so that no row is without terms."""


def apart(c: Canonical) -> Canonical:
    """Return the same problem of many points with one more variable, at the end, for each ratio that can be divided."""
    found = {d.row: q for d in c.divisors if (q := _quotient_and_remainder(c, d)) is not None}
    if not found:
        return c
    n, more, count = len(c.names), len(found), len(c.logc)
    place = {row: n + i for i, row in enumerate(found)}
    rows: list[tuple[Array, Array]] = []
    for k in range(c.ptr.size - 1):
        own = slice(c.ptr[k], c.ptr[k + 1])
        exponents, logc = c.exponents[own], c.logc[:, own]
        if k in found:
            exponents, logc = found[k][0], found[k][1]
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
        rest = found[d.row][2]
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


def _quotient_and_remainder(c: Canonical, d: Divisor) -> tuple[Array, Array, Array] | None:
    """The quotient of a row, exponents and coefficients, and its remainder's coefficients; None without a quotient."""
    own = slice(c.ptr[d.row], c.ptr[d.row + 1])
    top, rest, below = c.exponents[own], c.logc[:, own].copy(), _terms(c, d)
    exponents, logc = [], []
    for x, inside in _fitting(top, below):
        share = (rest[:, inside] - d.logc).min(1)
        if (rest[:, inside] < c.logc[:, own][:, inside] + LEAST / 2).any():
            # what is left of a term that was taken out
            continue
        left = np.exp(share[:, None] + d.logc - rest[:, inside])
        rest[:, inside] += np.log(np.maximum(1.0 - left, np.exp(LEAST)))
        exponents.append(x)
        logc.append(share)
    if not exponents:
        return None
    return np.array(exponents), np.stack(logc, axis=1), rest


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
    low = logc + c.low @ up.T + c.high @ down.T
    high = logc + c.high @ up.T + c.low @ down.T
    return low.max(1), np.asarray(np.logaddexp.reduce(high, axis=1))
