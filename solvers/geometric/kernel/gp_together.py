"""Geometric programs of different shapes in one call of the kernel: padded with absent terms and idle variables.

The kernel takes many programs about as fast as one, as long as they have the same table of terms. Limits are put in
order of size, so that little is padded; a limit without terms is absent, and a variable that no term knows moves in an
interval of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from solvers.geometric.kernel import gp, put_in
from solvers.geometric.kernel.formulas import FIXED
from solvers.geometric.kernel.gp_terms import LOG_ZERO

ITERATIONS = 100
"""Of one program: all others wait for it, and one that jams (slopes of 1e-7 along an edge) gains little later."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Some programs of one shape, as ``gp.solve`` takes them: A (K, n) or (N, K, n), logc (N, K), boxes (N, n).

    ``content``: whether an optimum but for a gap of 1e-4 will do, since only its bound and its point are used; for all
    or for each.
    ``enough``: bounds (N,) from which nothing more is asked (see ``gp.solve``).
    """

    A: Array
    logc: Array
    ptr: Indices
    low: Array
    high: Array
    content: bool | Bools = False
    enough: Array | None = None

    @property
    def shape(self) -> tuple[bytes, int]:
        """What programs have to share so that nothing needs padding."""
        return self.ptr.tobytes(), self.A.shape[-1]


def solve(asked: Sequence[Programs]) -> list[gp.Result]:
    """Solve all programs in one call, and hand back the results of each group."""
    return solve_apart([asked])[0]


def solve_apart(calls: Sequence[Sequence[Programs]]) -> list[list[gp.Result]]:
    """Solve several calls, each with the bits that it has alone, in as few as their tables allow."""
    laid = [_laid_out(asked) for asked in calls]
    kinds: dict[tuple[object, ...], list[int]] = {}
    for i, (table, _) in enumerate(laid):
        kinds.setdefault(_kind(table), []).append(i)
    found: list[list[gp.Result]] = [[] for _ in calls]
    for alike in kinds.values():
        every = [laid[i][0] for i in alike]
        first = every[0]
        A = first.A if first.A.ndim == 2 else np.concatenate([p.A for p in every])
        logc, low, high, content = (
            np.concatenate([getattr(p, name) for p in every]) for name in ("logc", "low", "high", "content")
        )
        # a question alone closes gaps that only sharp optima close
        how = {"max_iterations": ITERATIONS, "apart": False, "content": content}
        r = put_in.solve(gp.solve, A, logc, first.ptr, low, high, **how)
        start = 0
        for i in alike:
            for p, (limits, _) in zip(calls[i], laid[i][1], strict=True):
                found[i].append(_results_of_group(r, slice(start, start + len(p.logc)), limits, p))
                start += len(p.logc)
    return found


def _kind(p: Programs) -> tuple[object, ...]:
    """What calls have to share so that their programs do not feel each other in one table."""
    free = (p.high - p.low > FIXED).any(0).tobytes()
    return *p.shape, p.A.tobytes() if p.A.ndim == 2 else b"", free


def _laid_out(asked: Sequence[Programs]) -> tuple[Programs, list[tuple[Indices, Indices]]]:
    """Return the programs of one call in one table, and of each group where its rows and terms stand there."""
    counts = np.array([len(p.logc) for p in asked])
    alike = len({p.shape for p in asked}) == 1
    places = [(np.arange(p.ptr.size - 1), np.arange(p.logc.shape[1])) for p in asked]
    ptr, n = asked[0].ptr, asked[0].A.shape[-1]
    if not alike:
        ptr, n, places = _layout(asked)
    # one matrix of exponents for all is faster, and the usual case of a single question without sums below
    first = asked[0].A
    shared = alike and all(p.A.ndim == 2 and np.array_equal(p.A, first) for p in asked)
    size, total = int(ptr[-1]), int(counts.sum())
    A = first if shared else np.zeros((total, size, n))
    logc = np.full((total, size), LOG_ZERO)
    low, high = np.full((total, n), -1.0), np.full((total, n), 1.0)
    ends = np.cumsum(counts)
    for p, (_, terms), end, count in zip(asked, places, ends, counts, strict=True):
        rows, own = slice(end - count, end), p.A.shape[-1]
        logc[rows, terms] = np.maximum(p.logc, LOG_ZERO)
        low[rows, :own], high[rows, :own] = p.low, p.high
        if not shared:
            A[rows, terms, :own] = p.A
    content = np.repeat([p.content for p in asked], counts)
    return Programs(A, logc, ptr, low, high, content), places


def _layout(asked: Sequence[Programs]) -> tuple[Indices, int, list[tuple[Indices, Indices]]]:
    """A table that holds all, and of each group where its rows and terms go: the goal first, then limits by size."""
    sizes = [np.diff(p.ptr) for p in asked]
    orders = [np.concatenate([[0], 1 + np.argsort(-s[1:], kind="stable")]).astype(np.intp) for s in sizes]
    widths = np.ones(max(s.size for s in sizes), np.intp)
    for s, order in zip(sizes, orders, strict=True):
        widths[: s.size] = np.maximum(widths[: s.size], s[order])
    ptr = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
    places = []
    for s, order, p in zip(sizes, orders, asked, strict=True):
        row = np.empty(s.size, np.intp)
        row[order] = np.arange(s.size)
        inside = np.arange(p.ptr[-1]) - np.repeat(p.ptr[:-1], s)
        places.append((row, np.repeat(ptr[row], s) + inside))
    return ptr, max(p.A.shape[-1] for p in asked), places


def _results_of_group(r: gp.Result, rows: slice, limits: Indices, p: Programs) -> gp.Result:
    """The results of one group, its limits and variables as it has them."""
    own = gp.of_first(r.take(rows), p.A.shape[-1])
    return replace(own, multipliers=own.multipliers[:, limits[1:] - 1])
