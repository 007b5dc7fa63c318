"""Programs below the mean of a ratio of sums over many worlds, of many nodes of a search together.

On a node each world's divisor is replaced by a line in z (see ``solvers.robust.robust_ratios``), so that the mean is a
sum of terms of all worlds. Worlds whose lines have nearly the same slopes are added up, so that a program has some
dozens of terms however many worlds there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Indices
from formulations import canonical as canon
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.canonical import Canonical
from solvers.geometric.kernel.gp_terms import LOG_ZERO
from solvers.geometric.kernel.gp_together import Programs

Asked = tuple[Indices, Programs]
"""Programs, and of which nodes they are."""
TERMS = 60_000
"""Of one program."""
SPREAD = 1 / 4
"""Of the slopes of secants in worlds that are added up: the bound loses some hundredths of what the secants lose."""


def below(
    goal: Canonical,
    worlds: tuple[Array, Array, Array, Array],
    weights: Sequence[Sequence[Array]],
    limits: tuple[Array, Array, Indices],
    box: tuple[Array, Array],
    enough: Array | None,
) -> Iterator[Asked]:
    """The programs of N nodes: posynomials below the weighted means of ``goal``, then the limits.

    ``worlds``: the coefficients of the goal in all worlds, slopes and heights of the lines that are its divisors there,
    and z at which worlds that are added up lose nothing (see ``_added_up``). ``weights``: sets of them for each node;
    what is minimised is the largest mean. ``limits``: exponents (N, K, n), logarithms (N, K), and where each begins.
    """
    (rest, ends, ptr), count_of, n = limits, len(weights), goal.exponents.shape[1]
    of = np.repeat(np.arange(count_of), list(map(len, weights)))
    term, slope, logs, sum_of = _added_up(*worlds, of, np.concatenate(weights))
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


def joined(asked: Sequence[Asked]) -> Asked:
    """Put programs of one shape into one table."""
    every = [p for _, p in asked]
    A, logc, low, high = (
        np.concatenate([getattr(p, name) for p in every]) for name in ("A", "logc", "low", "high")
    )
    enough = None if every[0].enough is None else np.concatenate([p.enough for p in every])
    return np.concatenate([places for places, _ in asked]), replace(
        every[0], A=A, logc=logc, low=low, high=high, enough=enough
    )


def _added_up(
    logc: Array, slope: Array, cut: Array, z: Array, of: Indices, weights: Array
) -> tuple[Indices, Array, Array, Indices]:
    """Terms below weighted sums over the worlds of exp(logc - slope·z - cut): which (T,), slopes (T, q), logs (T,).

    ``logc`` (K, N, W), ``slope`` (N, W, q), ``cut`` (N, W): of nodes in worlds. ``of`` (S,), ``weights`` (S, W): of
    which node each sum is; the last number handed back tells below which sum each term is. Terms with nearly the same
    slopes become their weighted geometric mean, which is below their sum, and equal to it at ``z`` (N, q): with slopes
    that spread by s its logarithm loses s² (z' - z)² / 2 at z'.
    """
    worlds = logc.shape[-1]
    alike = np.repeat(np.arange(of.size), worlds)
    kind = np.floor((slope - slope.min(1, keepdims=True)) / SPREAD + 0.5).astype(np.intp)
    for i in range(kind.shape[-1]):
        alike = _numbered(alike * (kind[..., i].max() + 1) + kind[of, :, i].reshape(-1))
    with np.errstate(divide="ignore"):
        level = np.log(weights) - (cut + canon.along_last(np.add, slope * z[:, None]))[of]
    own = slope[of].reshape(-1, slope.shape[-1])
    tops, sums, means = [], [], []
    for one in logc:
        every = one[of] + level
        top = every.max(1, keepdims=True)
        # of a term that no world has nothing is added
        share = np.exp(every - np.where(np.isfinite(top), top, 0.0)).reshape(-1)
        tops.append(top[:, 0])
        sums.append(np.bincount(alike, share))
        means.append(np.stack([np.bincount(alike, share * v) for v in own.T], axis=1))
    sum_of = np.zeros(len(sums[0]), np.intp)
    sum_of[alike] = np.repeat(np.arange(of.size), worlds)
    some, term = np.nonzero(np.stack(sums, axis=1))
    sum_of, mass = sum_of[some], np.stack(sums)[term, some]
    mean = np.stack(means)[term, some] / mass[:, None]
    logs = np.stack(tops)[term, sum_of] + np.log(mass) + canon.along_last(np.add, mean * z[of[sum_of]])
    return term, mean, logs, sum_of


def _numbered(codes: Indices) -> Indices:
    """Number codes from 0 on, in order, without gaps."""
    there = np.zeros(int(codes.max()) + 1, bool)
    there[codes] = True
    return (np.cumsum(there) - 1)[codes]
