"""Affine forms of whole numbers as rows, at one point or at many, and what is left of them where some are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.system.records import dataclass
from formulations.arithmetics.many import Array
from solvers.linear import least_parts

MET_ROUNDING = 1e-9
"""What a constant row may be above 0 by rounding."""

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Forms:
    """Rows ``a . u + k`` over some ``columns`` (c,): a (m, c, P), k (m, P); P is 1 where all points have the same."""

    columns: Indices
    a: Array
    k: Array

    @property
    def alike(self) -> bool:
        """Whether they are the same at all points."""
        return bool(self.a.shape[2] == self.k.shape[1] == 1)

    @property
    def loosest(self) -> Forms:
        """What they say at least at every point, of columns that are not below 0."""
        return Forms(self.columns, self.a.min(axis=2, keepdims=True), self.k.min(axis=1, keepdims=True))

    def left(self, known: Array) -> Forms:
        """What is left of them where some columns (those that are not NaN) are known."""
        own = known[self.columns]
        free = np.isnan(own)
        there = np.flatnonzero(~free & (own != 0.0))
        k = self.k + np.einsum("j,ijp->ip", own[there], self.a[:, there]) if there.size else self.k
        return Forms(self.columns[free], self.a[:, free], k)

    def asking(self, low: Array, high: Array) -> Forms:
        """Those of them that something between the ends (n,) breaks, or may break somewhere."""
        if self.columns.size and not self.alike:
            return self
        ends = (e[self.columns, None] for e in (low, high))
        most = least_parts.most(self.a, self.k, *ends) if self.columns.size else self.k - MET_ROUNDING
        broken = (most > 0.0).any(axis=1)
        return Forms(self.columns, self.a[broken], self.k[broken])

    def at(self, u: Array) -> Array:
        """Their values at a design of each point (n, P)."""
        return np.asarray(np.einsum("ijp,jp->ip", self.a, u[self.columns]) + self.k)


def joined(every: Sequence[Forms], columns: Indices) -> Forms:
    """Rows as one, over these columns."""
    wide = [
        max((x.shape[-1] for x in parts), default=1) for parts in ([f.a for f in every], [f.k for f in every])
    ]
    a = np.zeros((sum(len(f.k) for f in every), len(columns), wide[0]))
    for rows, f in zip(np.split(a, np.cumsum([len(f.k) for f in every])), every, strict=False):
        rows[:, np.searchsorted(columns, f.columns)] = f.a
    k = [np.zeros((0, wide[1])), *(np.broadcast_to(f.k, (len(f.k), wide[1])) for f in every)]
    return Forms(columns, a, np.concatenate(k))
