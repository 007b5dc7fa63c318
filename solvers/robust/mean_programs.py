"""Programs below the mean of a ratio of sums over many worlds, of many nodes of a search together.

On a node each world's divisor is replaced by a line in z (see ``solvers.robust.robust_ratios``), so that the mean is a
sum of terms of all worlds. Worlds whose lines have nearly the same slopes are added up, so that a program has some
dozens of terms however many worlds there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dse.system.arrays import Array, Indices
from formulations import canonical as canon
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.canonical import Canonical
from solvers.geometric.kernel.gp_terms import LOG_ZERO
from solvers.geometric.kernel.gp_together import Programs

Lines = tuple[Array, Array, Array, Array, Array]
"""Of nodes in worlds: coefficients of a goal (K, N, W), the logarithms (K, N) of what they are parts of, slopes (N, W,
q) and heights (N, W) of the lines that are its divisors, and z (N, q) at which worlds that are added up lose nothing.
"""
Asked = tuple[Indices, Programs]
"""Programs, and of which nodes they are."""
TERMS = 60_000
"""Of one program."""
NODES_TOGETHER = 16
"""Nodes whose lines in all worlds are worked out together: arrays that stay in a cache."""
SPREAD = 1 / 4
"""Of the slopes of secants in worlds that are added up: the bound loses some hundredths of what the secants lose."""


def below(
    goal: Canonical,
    worlds: Callable[[Indices], Lines],
    weights: Sequence[Sequence[Array]],
    limits: tuple[Array, Array, Indices],
    box: tuple[Array, Array],
    enough: Array | None,
) -> Iterator[Asked]:
    """The programs of N nodes: posynomials below the weighted means of ``goal``, then the limits.

    ``worlds``: ``Lines`` of some of the nodes. ``weights``: sets of them for each node; what is minimised is the
    largest mean. ``limits``: exponents (N, K, n), logarithms (N, K), and where each begins.
    """
    if not weights:
        return
    (rest, ends, ptr), count_of, n = limits, len(weights), goal.exponents.shape[1]
    of = np.repeat(np.arange(count_of), list(map(len, weights)))
    term, slope, logs, sum_of = _terms_of_sums(worlds, weights)
    exponents = goal.exponents[term] - goal.divisors[0].base - np.einsum("tq,qv->tv", slope, goal.forms)
    inside = np.arange(logs.size) - np.searchsorted(sum_of, sum_of)
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


def _terms_of_sums(worlds: Callable[[Indices], Lines], weights: Sequence[Sequence[Array]]) -> tuple[Any, ...]:
    """The terms of all sums (see ``_added_up``), of nodes that are worked out a few at a time."""
    found, first = [], 0
    for start in range(0, len(weights), NODES_TOGETHER):
        own = weights[start : start + NODES_TOGETHER]
        of, lines = np.repeat(np.arange(len(own)), list(map(len, own))), worlds(start + np.arange(len(own)))
        *terms, sum_of = _added_up(*lines, of, np.concatenate(own))
        found.append((*terms, first + sum_of))
        first += of.size
    return tuple(np.concatenate(every) for every in zip(*found, strict=True))


def _added_up(
    part: Array, top: Array, slope: Array, cut: Array, z: Array, of: Indices, weights: Array
) -> tuple[Indices, Array, Array, Indices]:
    """Terms below weighted sums over the worlds of part exp(top - slope·z - cut): which (T,), slopes (T, q), logs (T,).

    ``part`` (K, N, W), ``top`` (K, N), ``slope`` (N, W, q), ``cut`` (N, W): of nodes in worlds. ``of`` (S,),
    ``weights`` (S, W): of which node each sum is; the last number handed back tells below which sum each term is. Terms
    with nearly the same slopes become their weighted geometric mean, which is below their sum, and equal to it at ``z``
    (N, q): with slopes that spread by s its logarithm loses s² (z' - z)² / 2 at z'.
    """
    worlds = part.shape[-1]
    alike = np.repeat(np.arange(of.size), worlds)
    kind = np.floor((slope - slope.min(1, keepdims=True)) / SPREAD + 0.5).astype(np.intp)
    for i in range(kind.shape[-1]):
        alike = _numbered(alike * (kind[..., i].max() + 1) + kind[of, :, i].reshape(-1))
    with np.errstate(divide="ignore"):
        level = np.log(weights) - (cut + canon.along_last(np.add, slope * z[:, None]))[of]
    highest, own = level.max(1), slope[of].reshape(-1, slope.shape[-1])
    factor = np.exp(level - highest[:, None])
    sums, means = [], []
    for one in part:
        share = (one[of] * factor).reshape(-1)
        sums.append(np.bincount(alike, share))
        means.append(np.stack([np.bincount(alike, share * v) for v in own.T], axis=1))
    sum_of = np.zeros(len(sums[0]), np.intp)
    sum_of[alike] = np.repeat(np.arange(of.size), worlds)
    # of a term that no world has nothing is added
    some, term = np.nonzero(np.stack(sums, axis=1))
    sum_of, mass = sum_of[some], np.stack(sums)[term, some]
    mean, node = np.stack(means)[term, some] / mass[:, None], of[sum_of]
    logs = top[term, node] + highest[sum_of] + np.log(mass) + canon.along_last(np.add, mean * z[node])
    return term, mean, logs, sum_of


def _numbered(codes: Indices) -> Indices:
    """Number codes from 0 on, in order, without gaps."""
    there = np.zeros(int(codes.max()) + 1, bool)
    there[codes] = True
    return (np.cumsum(there) - 1)[codes]
