"""Programs below the mean of a ratio of sums over many worlds, of many nodes of a search together.

On a node each world's divisor is replaced by a line in z (see ``robust_ratios``), so that the mean is a sum of terms of
all worlds. Worlds whose lines have nearly the same slopes are added up, so that a program has some dozens of terms
however many worlds there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dse.system.arrays import Array, Indices
from formulations import canonical as canon
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.canonical import Canonical
from formulations.uncertainty.worlds import few_at_once
from solvers.geometric.kernel.gp_terms import LOG_ZERO
from solvers.geometric.kernel.gp_together import Programs
from solvers.patterns import ranks

Coefficients = tuple[Array, Array]
"""Of K terms at P points in W worlds: parts (K, P, W) of the largest, and its logarithm (K, P)."""
Lines = tuple[Indices, Array, Array, Array]
"""Of nodes in worlds: their points (N,), slopes (N, W, q) and heights (N, W) of the lines that are the goal's divisors,
and z (N, q) at which worlds that are added up lose nothing.
"""
Asked = tuple[Indices, Programs]
"""Programs, and of which nodes they are."""
TERMS = 60_000
"""Of one program."""
SPREAD = 1 / 4
"""Of the slopes of secants in worlds that are added up: the bound loses some hundredths of what the secants lose."""


def below(
    goal: Canonical,
    coefficients: Coefficients,
    worlds: Callable[[Indices], Lines],
    weights: Sequence[Sequence[Array]],
    limits: tuple[Array, Array, Indices],
    box: tuple[Array, Array],
    enough: Array | None,
) -> Iterator[Asked]:
    """The programs of N nodes: posynomials below the weighted means of ``goal``, then the limits.

    ``coefficients``: above the goal's divisor. ``worlds``: ``Lines`` of some of the nodes. ``weights``: sets of them
    for each node; what is minimised is the largest mean. ``limits``: exponents (N, K, n), logarithms (N, K), and where
    each begins.
    """
    if not weights:
        return
    (rest, ends, ptr), count_of, n = limits, len(weights), goal.exponents.shape[1]
    of = np.repeat(np.arange(count_of), list(map(len, weights)))
    term, slope, logs, sum_of = _terms_of_sums(coefficients, worlds, weights)
    exponents = goal.exponents[term] - goal.divisors[0].base - np.einsum("tq,qv->tv", slope, goal.forms)
    inside = ranks(sum_of)
    sums, size = np.bincount(of, minlength=count_of), np.zeros(count_of, np.intp)
    np.maximum.at(size, of[sum_of], inside + 1)
    # programs of the same length go to the kernel in one table
    size = 1 << np.ceil(np.log2(size)).astype(np.intp)
    if (size * sums).max() > TERMS:
        raise NotPosynomial(f"the mean of a ratio of sums over {weights[0][0].size} samples")
    for count, width in sorted(set(zip(sums.tolist(), size.tolist(), strict=True))):
        mine = np.flatnonzero((sums == count) & (size == width))
        some = np.flatnonzero(np.isin(of[sum_of], mine))
        row = np.searchsorted(np.flatnonzero(np.isin(of, mine)), sum_of[some])
        levels = np.full((mine.size * count, width), LOG_ZERO)
        table = np.zeros((*levels.shape, n))
        table[row, inside[some]], levels[row, inside[some]] = exponents[some], logs[some]
        means, logs_of = table.reshape(mine.size, -1, n), levels.reshape(mine.size, -1)
        low, high = (end[mine] for end in box)
        rows, sizes = [(means, logs_of), (rest[mine], ends[mine])], [[width], np.diff(ptr)]
        if count > 1:
            # the measure is the largest of the means: one more unknown above them all
            reach, depth = (
                (logs_of + side(means * low[:, None], means * high[:, None]).sum(2))
                .reshape(mine.size, count, width)
                .max(2)
                for side in (np.maximum, np.minimum)
            )
            low = np.column_stack([low, depth.min(1) - 1.0])
            high = np.column_stack([high, reach.max(1) + math.log(width) + 1.0])
            unknown = np.zeros((mine.size, 1, n + 1)), np.zeros((mine.size, 1))
            unknown[0][..., -1] = 1.0
            rows = [(np.pad(a, [(0, 0), (0, 0), (0, 1)]), b) for a, b in rows[::-1]]
            rows[1][0][..., -1] = -1.0
            rows, sizes = [unknown, *rows], [[1], sizes[1], [width] * count]
        A, logc = (np.concatenate(every, axis=1) for every in zip(*rows, strict=True))
        above = None if enough is None else enough[mine]
        starts = np.cumsum(np.concatenate([[0], *sizes]))
        yield mine, Programs(A, logc, starts, low, high, enough=above)


def _terms_of_sums(
    coefficients: Coefficients, worlds: Callable[[Indices], Lines], weights: Sequence[Sequence[Array]]
) -> tuple[Array, ...]:
    """The terms of all sums (see ``_added_up``), of nodes that are worked out a few at a time."""
    found, first = [], 0
    for few in few_at_once(len(weights), weights[0][0].size):
        own = [weights[k] for k in few]
        of = np.repeat(np.arange(len(own)), list(map(len, own)))
        *terms, sum_of = _added_up(coefficients, worlds(few), of, np.concatenate(own))
        found.append((*terms, first + sum_of))
        first += of.size
    return tuple(np.concatenate(every) for every in zip(*found, strict=True))


def _added_up(
    coefficients: Coefficients, lines: Lines, of: Indices, weights: Array
) -> tuple[Indices, Array, Array, Indices]:
    """Terms below weighted sums of a goal's terms over the worlds: which (T,), slopes (T, q), logs (T,).

    ``of`` (S,), ``weights`` (S, W): of which node each sum is; the last number handed back tells below which sum each
    term is. Terms with nearly the same slopes become their weighted geometric mean, which is below their sum, and equal
    to it at the z of the node: with slopes that spread by s its logarithm loses s² (z' - z)² / 2 at z'.
    """
    (part, top), (point, slope, cut, z) = coefficients, lines
    kind, *more = np.moveaxis((slope - slope.min(1, keepdims=True)) / SPREAD + 0.5, -1, 0).astype(np.intp)
    for one in more:
        kind = kind * (one.max() + 1) + one
    line = cut + canon.along_last(np.add, slope * z[:, None])
    least, own = line.min(1), point[of]
    factor = weights * np.exp(least[:, None] - line)[of]
    masses, means, places = [], [], []
    kinds = np.flatnonzero(np.bincount(kind.ravel()))
    for k in kinds:
        alike = kind == k
        some = np.flatnonzero(alike.any(1)[of])
        share = factor if kinds.size == 1 else factor[some] * alike[of[some]]
        parts = part[:, own[some]]
        masses.append(np.einsum("ksw,sw->sk", parts, share))
        moments = [np.einsum("ksw,sw->sk", parts, share * v[of[some]]) for v in np.moveaxis(slope, -1, 0)]
        means.append(np.stack(moments, axis=-1))
        places.append(some)
    order = np.argsort(np.concatenate(places), kind="stable")
    every = np.concatenate(masses)[order]
    # of a term that no world has nothing is added
    row, term = np.nonzero(every)
    sum_of, mass = np.concatenate(places)[order][row], every[row, term]
    mean, node = np.concatenate(means)[order][row, term] / mass[:, None], of[sum_of]
    logs = top[term, own[sum_of]] - least[node] + np.log(mass) + canon.along_last(np.add, mean * z[node])
    return term, mean, logs, sum_of
